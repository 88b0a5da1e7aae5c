"""`tinytorch`: the course on the command line. What a command does lives in a module of its own."""

import contextlib
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from course import catalog
from course.layout import CourseError, find_item
from course.student_cli import Word, app, console, enter_course, main, plain, table

__all__ = ["app", "main"]

INSTRUCTOR = "Running the course"
NO_SANDBOX = "Without a sandbox, each submission can read, change and send away whatever you can."

Words = Annotated[
    Optional[list[str]], typer.Argument(metavar="[NN]...", help="Modules or milestones; all if none.")
]
Students = Annotated[Optional[list[str]], typer.Option("--student", metavar="ID", help="Only these.")]
Force = Annotated[bool, typer.Option("--force", help="Do it again even where nothing changed.")]


@app.command(rich_help_panel=INSTRUCTOR)
def build(words: Words = None, force: Force = False):
    """Build the students' notebooks and the reference package from source/.

    A module that cannot be built leaves its old release as it was.
    """
    from course import build as building

    course, _ = enter_course()
    building.build(words, force=force, course=course)


@app.command(rich_help_panel=INSTRUCTOR)
def release(
    word: Word, to: Annotated[Path, typer.Option("--to", metavar="DIR|ZIP", help="Where to write it.")]
):
    """Write what a student gets for a module: a new folder, or a zip file."""
    from course import handout

    course, before = enter_course()
    files = handout.hand_out(course, find_item(word), before / to)
    print(f"Written: {to} ({len(files)} files)")


@app.command(rich_help_panel=INSTRUCTOR)
def grade(
    word: Word,
    student: Students = None,
    jobs: Annotated[
        Optional[int], typer.Option("--jobs", min=1, help="How many at once; by default one a core.")
    ] = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox/--no-sandbox", help="Shut submissions in, or trust them.")
    ] = True,
    force: Force = False,
):
    """Grade what was handed in under submitted/ID/NN_name/; only what changed is run again.

    Exit code 1 says that a submission could not be graded; the others are.
    """
    from gradebook.location import import_nbgrader_quickly

    course, _ = enter_course()
    item = find_item(word)
    import_nbgrader_quickly()
    grading = grading_module()
    if sandbox:
        _refuse_without_sandbox(course)
    else:
        print(NO_SANDBOX, file=sys.stderr)
    try:
        with progress(len(student or grading.submitted(item.id, course.root))) as advance:
            statuses = grading.grade(
                item.id,
                students=student or None,
                jobs=jobs,
                sandbox=None if sandbox else "none",
                force=force,
                progress=advance,
                root=course.root,
            )
    except grading.GradingError as error:
        raise CourseError(str(error)) from None
    failed = [status for status in statuses if status.state != "graded"]
    again = sum(status.again for status in statuses)
    unchanged = f", {again} of them unchanged since the last time" if again else ""
    print(f"{len(statuses) - len(failed)} of {len(statuses)} graded{unchanged}.")
    for status in failed:
        print(f"{status.student}: failed to grade, because {status.reason}")
    raise typer.Exit(1 if failed or not statuses else 0)


def _refuse_without_sandbox(course):
    """Say what to install before a whole class fails for the same reason."""
    from autograder.sandbox import available
    from course.assign import configuration

    works, why = available()
    if not works and configuration(course, course.root).SplitExecute.sandbox != "none":
        raise CourseError(f"No sandbox: {why}.\nOr trust every submission, with --no-sandbox. {NO_SANDBOX}")


def grading_module():
    """The grader, or an explanation where it cannot run."""
    try:
        from autograder import grade as grading
    except ImportError as error:
        if error.name != "fcntl":
            raise
        raise CourseError("Grading needs Linux: on Windows use WSL2, on other systems a container.") from None
    return grading


@contextlib.contextmanager
def progress(total):
    """A bar with the time that is left; gives the function that `grade` calls after each submission."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console()) as bar:
        task = bar.add_task("Grading", total=total)
        yield lambda status, done, of: bar.update(task, completed=done, total=of, description=status.student)


@app.command(rich_help_panel=INSTRUCTOR)
def feedback(
    word: Word,
    student: Students = None,
):
    """Write each student's feedback page to feedback/ID/NN_name/."""
    from gradebook.location import import_nbgrader_quickly

    course, _ = enter_course()
    item = find_item(word)
    import_nbgrader_quickly()
    from gradebook.feedback import feedback as write

    pages = write(item.id, students=student or None, root=course.root)
    failed = {name: page for name, page in pages.items() if isinstance(page, Exception)}
    print(f"{len(pages) - len(failed)} pages written to feedback/*/{item.id}/.")
    for name, error in failed.items():
        print(f"{name}: no page, because {error}")
    raise typer.Exit(1 if failed or not pages else 0)


@app.command(rich_help_panel=INSTRUCTOR)
def grades(
    words: Words = None,
    csv: Annotated[
        Optional[Path], typer.Option("--csv", metavar="FILE", help="Write them to a file instead.")
    ] = None,
    reasons: Annotated[bool, typer.Option("--reasons", help="Say why each point was lost.")] = False,
):
    """Show the scores of a class, or write them to a CSV file."""
    from gradebook import tables

    course, before = enter_course()
    items = [find_item(word) for word in words] if words else catalog.MODULES + catalog.MILESTONES
    rows = [row for item in items for row in tables.scores(item.id, course.root)]
    if csv:
        tables.write_csv(before / csv, rows)
        print(f"Written: {csv} ({len(rows)} rows)")
    elif rows:
        console().print(score_table(rows, reasons))
    else:
        print("Nothing has been graded yet.")


def score_table(rows, reasons=False):
    """A rich table of `gradebook.tables.Row`s; with `reasons`, one line for each lost point."""
    shown = table("Assignment", "Student", ">Score", ">Of", "State", *(["Why"] if reasons else []))
    shown.show_lines = reasons
    for row in rows:
        state = "needs a person" if row.state == "graded" and row.needs_manual else row.state
        cells = [row.assignment, row.student, _number(row.score), _number(row.max), state]
        shown.add_row(*map(plain, cells + (["\n".join(row.reasons)] if reasons else [])))
    return shown


def _number(value):
    return "" if value is None else f"{value:g}"


@app.command(rich_help_panel=INSTRUCTOR)
def demo():
    """Take a sample class through the course: build, hand out, grade, feedback, and a table of scores."""
    from course import demo as demonstration

    enter_course()
    raise typer.Exit(demonstration.run() or 0)


if __name__ == "__main__":
    main()
