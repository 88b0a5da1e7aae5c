"""The whole way with a sample class: build, hand out, grade, record, feedback, and a table of scores.

It happens in `demo/`, a course folder of its own with its own gradebook, so that a real class is not touched.
"""

import shutil

from course import build, handout, notebook, sample_class
from course.layout import find_course, find_item, replace_files


def run():
    """Take the sample class of module 01 through the course and print what came of it.

    Returns
    -------
    int
        Exit code: 0 if each submission came to the end that was meant for it.
    """
    course, item = find_course(), find_item("01")
    folder = course.root / "demo"
    print("1. Build: source/ to release/ and tinytorch_ref/")
    build.build([item.id], course=course)
    set_up(course, item, folder)
    print("2. Hand out: what a student gets")
    handout.hand_out(course, item, folder / "handout.zip")
    samples = hand_in(course, item, folder)
    print(f"3. Grade {len(samples)} submissions")
    grade(item, folder)
    print("4. Feedback")
    _feedback(item, folder)
    return _tell(item, folder, samples)


def set_up(course, item, folder):
    """Make `folder` a fresh course folder with one assignment."""
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(course.release(item).parent, folder / "release" / item.id)
    replace_files({folder / "source" / item.id / f"{item.id}.ipynb": notebook.to_bytes(_solved(course, item))})
    shutil.copy(course.root / "nbgrader_config.py", folder)
    shutil.copytree(course.reference, folder / "tinytorch_ref", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "gradebook").mkdir()


def hand_in(course, item, folder):
    """Put the sample class's submissions under `submitted/`, and return them."""
    released = notebook.read_bytes(course.release(item).read_bytes())
    samples = sample_class.submissions(_solved(course, item), released)
    replace_files({folder / "submitted" / s.name / item.id / f"{item.id}.ipynb": s.content for s in samples})
    return samples


def _solved(course, item):
    return notebook.read_script(course.source(item).read_text("utf-8"))


def grade(item, folder):
    """Grade the class, in a sandbox where there is one; elsewhere say what is missing, since these few are harmless."""
    from autograder import sandbox
    from course.cli import grading_module, progress

    available, reason = sandbox.available()
    if not available:
        print(f"   Without a sandbox: {reason}")
    grading = grading_module()
    with progress(len(grading.submitted(item.id, folder))) as advance:
        return grading.grade(item.id, sandbox=None if available else "none", progress=advance, root=folder)


def _feedback(item, folder):
    from gradebook.feedback import feedback

    feedback(item.id, root=folder)


def _tell(item, folder, samples):
    from course.cli import score_table
    from course.student_cli import console
    from gradebook import tables

    rows = tables.scores(item.id, folder)
    console().print(score_table(rows, reasons=True))
    print("The sample class:")
    for sample in samples:
        print(f"   {sample.name:10} {sample.story}")
    print("\nScores are out of 100; 5 of them, for the written answer, wait for a person in formgrader.")
    print("Look around:")
    for what, *where in [
        ("release", "release", item.id, f"{item.id}.ipynb"),
        ("hand-out", "handout.zip"),
        ("feedback", "feedback", "katherine", item.id, f"{item.id}.html"),
        ("gradebook", "gradebook", "gradebook.db"),
    ]:
        print(f"   {what:10} {folder.joinpath(*where).relative_to(folder.parent)}")
    print("   formgrader cd demo && ../.venv/bin/jupyter lab, then Formgrader in the Nbgrader menu")
    graded = {row.student for row in rows if row.state == "graded"}
    return 0 if graded == {sample.name for sample in samples} - sample_class.UNREADABLE else 1
