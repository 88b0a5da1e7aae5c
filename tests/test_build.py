"""Building: runs, checks, leaks nothing, repeats to the byte, and a failure leaves what was there."""

import json
import os

import pytest
from building import built_course, change, make_course

from course import assign, build, catalog, execute, notebook, style, verify
from course.build import build as build_course
from course.build import stale
from course.cells import cells, read
from course.layout import CourseError

FIRST, SECOND = catalog.find("01"), catalog.find("02")


def quiet(line):
    pass


def contents(course):
    folders = [course.root / "release", course.reference]
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def test_a_build_makes_the_release_the_reference_and_the_solved_notebook(tmp_path):
    course = built_course(tmp_path)
    made = {path.relative_to(tmp_path).as_posix() for path in contents(course)}
    assert made == {
        "release/01_tensor/01_tensor.ipynb",
        "release/02_activations/02_activations.ipynb",
        "tinytorch_ref/__init__.py",
        "tinytorch_ref/tensor.py",
        "tinytorch_ref/activations.py",
    }
    assert course.solved(FIRST).exists()
    assert stale(course=course) == []


def test_a_release_has_stubs_and_no_outputs_solutions_or_hidden_tests(tmp_path):
    course = built_course(tmp_path)
    text = course.release(FIRST).read_text(encoding="utf-8")
    for secret in (
        "BEGIN SOLUTION",
        "self.data.sum()",
        "Half the bytes",
        "BEGIN HIDDEN",
        "-7",
        "-2.0",
        "jupytext",
    ):
        assert secret not in text
    assert text.count("raise NotImplementedError()") == 2 and "YOUR ANSWER HERE" in text
    assert all(not cell.get("outputs") for cell in json.loads(text)["cells"])


def test_building_again_does_nothing_and_by_force_gives_the_same_bytes(tmp_path):
    course = built_course(tmp_path)
    before, said = contents(course), []
    assert [built.run for built in build_course(course=course, say=said.append)] == [None, None]
    assert said == ["01_tensor: up to date", "02_activations: up to date"]
    assert build_course(["01"], force=True, course=course, say=quiet)[0].run.seconds > 0
    assert contents(course) == before


def test_the_run_is_measured(tmp_path):
    course = built_course(tmp_path)
    run = execute.run(course, FIRST, notebook.read_bytes(course.solved(FIRST).read_bytes()))
    assert 0.1 < run.seconds < 60
    assert 20 * 2**20 < run.peak_bytes < 2**30


@pytest.mark.parametrize(
    "name", ["release/01_tensor/01_tensor.ipynb", "tinytorch_ref/tensor.py", "tinytorch_ref/__init__.py"]
)
def test_a_generated_file_that_was_changed_is_stale(tmp_path, name):
    course = built_course(tmp_path)
    with (course.root / name).open("a", encoding="utf-8") as stream:
        stream.write("\n")
    assert stale(course=course) == [name]


def test_a_file_that_does_not_belong_into_the_release_is_stale(tmp_path):
    course = built_course(tmp_path)
    (course.release(FIRST).parent / "01_tensor.py").write_text("secret")
    assert stale(course=course) == ["release/01_tensor/01_tensor.py"]


def test_what_was_changed_by_hand_is_built_again(tmp_path):
    course = built_course(tmp_path)
    before = contents(course)
    change(course.reference / "tensor.py", "data**2", "data**3")
    assert build_course(["01"], course=course, say=quiet)[0].run
    assert contents(course) == before


def test_a_changed_solution_rebuilds_its_module_and_those_after_it(tmp_path):
    course = built_course(tmp_path)
    change(course.source(FIRST), "Length of the numbers in a box, as a vector.", "Euclidean length.")
    assert stale(course=course) == ["release/01_tensor/01_tensor.ipynb", "tinytorch_ref/tensor.py"]
    assert all(built.run for built in build_course(course=course, say=quiet))
    assert "Euclidean" in (course.reference / "tensor.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("return float(self.data.sum())", "return 0.0", "tiny_box_check raises Failed"),
        (
            "check.equal(Box([-7, 5]).total(), -2.0",
            "check.equal(Box([-7, 5]).total(), -3.0",
            "tiny_box_hidden raises",
        ),
        ('"points": 40', '"points": 39', "points add up to 99"),
        ("import math\n", "import math, nowhere\n", "No module named 'nowhere'"),
        (
            "# Check (30 points)",
            "import warnings; warnings.warn('x')\n# Check (30 points)",
            "tiny_norm_check writes to stderr",
        ),
        (
            "check.equal(norm(Box([3, 4])), 5.0",
            "check.equal(5.0, 5.0",
            "tiny_norm_check: gives points to a blank",
        ),
        (  # type(Box) is type in a notebook; where submissions run, Box is a proxy
            'because="the root of the sum of squares")',
            'because="the root of the sum of squares")\n20.0 if type(Box) is type else 30.0',
            "tiny_norm_check gives 20.0 of 30 points in JupyterLab",
        ),
        (
            "import math\n",
            "import math\nfrom tinytorch_ref.tensor import Box\n",
            "No module named 'tinytorch_ref.tensor'",
        ),
    ],
)
def test_a_planted_mistake_stops_the_build_and_leaves_the_old_release(tmp_path, old, new, message):
    course = built_course(tmp_path)
    before = contents(course)
    change(course.source(FIRST), old, new)
    with pytest.raises(CourseError, match=message.replace("(", r"\(")):
        build_course(course=course, say=quiet)
    assert contents(course) == before


def test_a_failure_while_files_are_swapped_leaves_no_half_written_file(tmp_path, monkeypatch):
    course = built_course(tmp_path)
    before = contents(course)
    change(course.source(FIRST), "Length of the numbers", "Length of numbers")
    monkeypatch.setattr(verify, "verify", lambda *_: None)

    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        build_course(["01"], course=course, say=quiet)
    assert contents(course) == before


def test_the_solution_and_the_blank_release_are_graded_by_the_runner(tmp_path):
    course = built_course(tmp_path)
    solved = notebook.read_bytes(course.solved(SECOND).read_bytes())
    released = notebook.read_bytes(course.release(SECOND).read_bytes())
    verify.verify(course, SECOND, solved, released)
    wrong = notebook.read_bytes(course.solved(SECOND).read_bytes())
    index = next(cell.index for cell in cells(wrong) if cell.grade_id == "relu")
    wrong.cells[index].source = wrong.cells[index].source.replace("(box.data > 0)", "1")
    with pytest.raises(CourseError, match="relu_check: the solution loses 50 of 100 points"):
        verify.verify(course, SECOND, wrong, released)
    with pytest.raises(CourseError, match="relu_check: gives points to a blank notebook"):
        verify.verify(course, SECOND, solved, solved)


def test_a_leak_is_found():
    notebook_with_leak = {"a.ipynb": b"### BEGIN HIDDEN TESTS"}
    for files in (notebook_with_leak, {"01_tensor.py": b""}):
        with pytest.raises(CourseError, match="would leak"):
            assign._no_leak(FIRST, files)


def test_other_files_of_the_source_come_along_and_go_when_they_go(tmp_path):
    course = make_course(tmp_path)
    picture = course.source(FIRST).parent / "picture.svg"
    picture.write_text("<svg/>")
    build_course(course=course, say=quiet)
    released = course.release(FIRST).parent / "picture.svg"
    assert released.read_text() == "<svg/>"
    picture.unlink()
    build_course(course=course, say=quiet)
    assert not released.exists()


def test_a_module_without_a_source_is_named(tmp_path):
    with pytest.raises(CourseError, match="07_optimizers has no source"):
        build_course(["7"], course=make_course(tmp_path), say=quiet)


STYLE = [
    ('"grade_id": "tiny_norm_check"', '"grade_id": "tiny-norm"', "tiny-norm: an id is made of words"),
    (
        '"grade_id": "tiny_norm_check"',
        '"grade_id": "tiny_box_check"',
        "tiny_box_check: two cells have this id",
    ),
    ("### END HIDDEN TESTS\n", "", "tiny_box_hidden: a BEGIN without its END"),
    (
        '"grade_id": "tiny_box_hidden"',
        '"grade_id": "tiny_box_more"',
        "tiny_box_more: the id of a cell with hidden tests",
    ),
    (
        '"tiny_norm_check", "locked": true',
        '"tiny_norm_check", "locked": false',
        "tiny_norm_check: a graded cell is locked",
    ),
    ('"points": 30', '"points": 0', "tiny_norm_check: a graded cell has points"),
    (
        '"""A box around a list of numbers."""\n',
        "",
        "cell 2: the first exported cell begins with the docstring",
    ),
    ("# Try it.", "# Try it \U0001f600", "cell 5: no emoji"),
    ("def norm(box):", "def norm(box:", "tiny_norm: "),
    (
        "# Two exercises, to try the course's tools on.",
        "# ```\n# " + 89 * "─" + "\n# ```",
        "cell 1: a laptop's screen breaks lines of over 88",
    ),
]


@pytest.mark.parametrize("old, new, complaint", STYLE)
def test_each_breach_of_style_is_named(tmp_path, old, new, complaint):
    course = make_course(tmp_path)
    change(course.source(FIRST), old, new)
    script = course.source(FIRST).read_text(encoding="utf-8")
    found = style.complaints(cells(notebook.read_script(script)), FIRST)
    assert any(line.startswith(complaint) for line in found), found
    with pytest.raises(CourseError, match="does not keep to the style"):
        build.stale(course=course)


def test_a_region_around_a_whole_function_is_refused(tmp_path):
    course = make_course(tmp_path)
    change(course.source(FIRST), "def norm(box):", "### BEGIN SOLUTION\ndef norm(box):")
    change(course.source(FIRST), "    ### BEGIN SOLUTION\n    return math", "    return math")
    script = course.source(FIRST).read_text(encoding="utf-8")
    found = style.complaints(cells(notebook.read_script(script)), FIRST)
    assert found == ["tiny_norm: put the region inside the function or method, so that its signature stays."]


def test_the_course_in_this_repository_is_what_its_sources_say():
    from building import REPO

    from course.layout import Course

    course = Course(REPO)
    if not course.release(FIRST).exists():
        pytest.fail("release/01_tensor is missing: run `tinytorch build`")
    assert stale(course=course) == []
    assert read(course.release(FIRST))
