"""The commands that a student uses; `course.cli` adds the instructors'."""

import os
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from course.layout import CourseError, find_course, find_item

app = typer.Typer(
    help="TinyTorch: build a small deep learning framework, one notebook at a time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
STUDENT = "Working on a module"

Word = Annotated[str, typer.Argument(metavar="NN", help="A module's number or name, such as 01 or tensor.")]
Notebook = Annotated[Optional[Path], typer.Option("--notebook", help="A notebook elsewhere.", metavar="FILE")]


def main():
    """Run a command; errors that a person can mend are shown without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        app()
    except CourseError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)


def enter_course():
    """The course around the current folder, which becomes the current one; the folder that it was before."""
    before = Path.cwd()
    course = find_course(before)
    os.chdir(course.root)
    return course, before


def console():
    """Where tables go: as wide as the terminal, or wide enough to read when there is none."""
    from rich.console import Console

    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=110)


def table(*columns, **options):
    """An empty table with quiet lines; a column whose name begins with > is aligned to the right."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, **options)
    for column in columns:
        made.add_column(
            column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold"
        )
    return made


def plain(text):
    """Text for a table, shown as it stands: square brackets are no markup."""
    from rich.text import Text

    return Text(text)


@app.command(rich_help_panel=STUDENT)
def check(word: Word, notebook: Notebook = None):
    """Run the checks of your notebook and say which pass, and why the others do not.

    Hidden tests and written answers are not in it: they are graded after you hand in.
    """
    from course import check as checking

    course, before = enter_course()
    item = find_item(word)
    report = checking.check(course, item, notebook and before / notebook)
    got, points = _print_checks(course, item, report)
    console().print(f"{got:g} of {points:g} points that these checks give.")
    raise typer.Exit(0 if report.passed else 1)


def _print_checks(course, item, report):
    """Show each check and what other cells raised; return the points, remembered for `tinytorch progress`."""
    from course import progress

    rows = table("Check", ">Points", ">Got", "Reason")
    for row in report.rows:
        rows.add_row(row.name, f"{row.points:g}", f"{row.got:g}", plain(row.reason))
    console().print(rows)
    for trouble in report.troubles:
        console().print(plain(f"Outside the checks: {trouble}"))
    got, points = sum(row.got for row in report.rows), sum(row.points for row in report.rows)
    progress.record_points(course, item, got, points)
    return got, points


@app.command(rich_help_panel=STUDENT)
def milestone(
    word: Annotated[str, typer.Argument(metavar="YYYY", help="A milestone's year or name, such as 1986.")],
    mine: Annotated[
        Optional[bool],
        typer.Option("--mine/--reference", help="Whose modules it runs on; by default those in use."),
    ] = None,
    notebook: Notebook = None,
):
    """Run a milestone on your own modules or on the reference, and say whether its bar is reached.

    Exit code 1 says that it is not.
    """
    from course import milestone as milestones
    from course import progress

    course, before = enter_course()
    item = find_item(word)
    whose = {None: None, True: "mine", False: "reference"}[mine]
    prepared = milestones.prepare(course, item, whose, notebook and before / notebook)
    out = console()
    out.print(plain(f"Milestone {item.year}, {item.title}, on {prepared.basis}: {prepared.path.name}"))
    _print_modules(course, prepared.origins)
    outcome = milestones.run(course, prepared)
    _print_checks(course, item, outcome)
    progress.record(course, item, reached=outcome.reached, basis=prepared.basis)
    for line in [f"Bar: {prepared.bar}", *outcome.results]:
        out.print(plain(line))
    missed = f"missed: {len(outcome.missed)} of {len(outcome.rows)} checks do not pass"
    out.print(f"The bar is {'reached' if outcome.reached else missed}.")
    raise typer.Exit(0 if outcome.reached else 1)


@app.command(rich_help_panel=STUDENT)
def progress(
    hours: Annotated[
        Optional[list[str]],
        typer.Option("--hours", metavar="NN=HOURS", help="Note your hours so far, as in 01=5.5."),
    ] = None,
):
    """Show how far you are: points of your last checks, milestones, and your hours against the estimate."""
    from course import catalog
    from course import progress as progressing

    course, _ = enter_course()
    progressing.record_hours(course, hours or [])
    standings = progressing.standings(course)
    rows = table("", "State", ">Points", ">Estimate (h)", ">Your hours")
    for row in standings:
        rows.add_row(*map(plain, _progress_cells(row)))
    console().print(rows)
    modules = [row for row in standings if isinstance(row.item, catalog.Module)]
    done, reached = sum(row.done for row in modules), sum(row.done for row in standings if row not in modules)
    print(f"{done} of {len(catalog.MODULES)} modules done,", end=" ")
    print(f"{reached} of {len(catalog.MILESTONES)} milestones reached.")
    if compared := progressing.hours_compared(standings):
        print("{:g} hours of yours for what is estimated at {:g} to {:g}.".format(*compared))


def _progress_cells(row):
    name = getattr(row.item, "year", None) or f"{row.item.number:02d}"
    points = "" if row.points is None else f"{row.got:g} of {row.points:g}"
    estimate = " to ".join(f"{hours:g}" for hours in dict.fromkeys(row.estimate or ()))
    hours = "" if row.hours is None else f"{row.hours:g}"
    return f"{name} {row.item.title}", row.state, points, estimate, hours


@app.command(rich_help_panel=STUDENT)
def paths():
    """Show three ways through the course, of 16, 12 and 8 weeks."""
    from course import paths as learning

    print(learning.NOTE)
    for path in learning.PATHS:
        print(f"\n{learning.heading(path)}")
        rows = table(">Week", "Modules", "Milestones")
        for row in learning.rows(path):
            rows.add_row(*row)
        console().print(rows)
        if line := learning.left_out(path):
            print(line)


@app.command(rich_help_panel=STUDENT)
def package(word: Word, notebook: Notebook = None):
    """Put the code of your notebook into my_tinytorch/, as a module that later notebooks can import."""
    from course import mine
    from course import use as using

    course, before = enter_course()
    packaged = mine.package_own(course, find_item(word), notebook and before / notebook)
    for warning in packaged.warnings:
        print(f"Note: {warning}")
    print(f"Written: {packaged.path.relative_to(course.root)}")
    if using.chosen(course)[0] != "mine":
        print("Imports of tinytorch_ref still find the reference; `tinytorch use mine` changes that.")


@app.command(rich_help_panel=STUDENT)
def use(whose: Annotated[str, typer.Argument(metavar="mine|reference", help="Whose modules come first.")]):
    """Let imports of tinytorch_ref find your own modules first, or the reference again."""
    from course import use as using

    if whose not in ("mine", "reference"):
        raise typer.BadParameter("say mine or reference")
    course, _ = enter_course()
    using.use(course, whose)
    _print_origins(course)


@app.command(rich_help_panel=STUDENT)
def doctor():
    """Look for what is wrong with this installation, and say the cure."""
    from course import doctor as doctoring

    course, _ = enter_course()
    rows = table("Looked at", "", "Found")
    findings = doctoring.examine(course)
    for finding in findings:
        what = finding.what + (f"\nCure: {finding.cure}" if finding.cure else "")
        rows.add_row(finding.name, {"ok": "ok", "note": "note", "wrong": "WRONG"}[finding.state], plain(what))
    console().print(rows)
    _print_origins(course)
    raise typer.Exit(1 if any(finding.state == "wrong" for finding in findings) else 0)


def _print_origins(course):
    from course import use as using

    whose, because = using.chosen(course)
    found = [origin for origin in using.origins(course) if origin.whose != "missing"]
    if found:
        _print_modules(course, found, title=f"Imports of tinytorch_ref: {whose} ({because})")
    else:
        console().print("No module of tinytorch_ref is here yet.")


def _print_modules(course, origins, **options):
    rows = table("Module", "Whose", "File", title_justify="left", **options)
    for origin in origins:
        path = Path(origin.path).relative_to(course.root) if origin.path else ""
        rows.add_row(f"{origin.module.number:02d} {origin.module.name}", origin.whose, str(path))
    console().print(rows)
