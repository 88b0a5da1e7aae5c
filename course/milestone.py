"""Run a milestone as a program, on the reference package or on the student's own, against its bar.

Three things in the notebook of a milestone tell the command what to say. The row "Bar" of its title table is
what must be reached. Its visible graded checks decide whether it is. And an ordinary cell prints what was
reached, in a line that begins with "Result:".
"""

from pathlib import Path
from typing import NamedTuple

from course import catalog, cells, check, mine, use
from course.layout import CourseError

CELL_SECONDS = 1800  # a training may take minutes; this only ends what hangs


class Prepared(NamedTuple):
    """A notebook that is ready to run: where it is, its cells, and whose modules it will import."""

    item: catalog.Milestone
    path: Path
    cells: list
    whose: str
    origins: list

    @property
    def bar(self):
        """What must be reached, in words."""
        return cells.title_table(self.cells).get("Bar", "every check passes")

    @property
    def basis(self):
        """On whose modules it runs, in words."""
        own, others = (sum(origin.whose == whose for origin in self.origins) for whose in ("mine", "reference"))
        if own and others:
            return f"{own} of your own and {others} reference modules"
        return "your own modules" if own else "the reference package"


class Outcome(NamedTuple):
    """What a run showed: lines of results, rows of checks as in `check.Report`, errors of other cells."""

    results: list
    rows: list
    troubles: list

    @property
    def reached(self):
        """Whether the bar is reached: there are checks, and all of them pass."""
        return bool(self.rows) and not self.missed

    @property
    def missed(self):
        """The checks that do not pass."""
        return [row for row in self.rows if row.got != row.points]


def prepare(course, item, whose=None, notebook=None):
    """Find the notebook of a milestone and the modules that it will import.

    Parameters
    ----------
    course : layout.Course
    item : catalog.Milestone
    whose : str, optional
        "mine" or "reference"; by default the set that is in use now.
    notebook : pathlib.Path, optional
        By default the student's working copy, or else the instructor's script, or else the release.

    Returns
    -------
    Prepared

    Raises
    ------
    CourseError
        If `item` is a module, its notebook is missing, or the student has no module of their own, or one that
        cannot be imported.
    """
    if not isinstance(item, catalog.Milestone):
        raise CourseError(f"{item.id} is a module: `tinytorch check {item.number:02d}` runs its checks.")
    whose = whose or use.chosen(course)[0]
    if whose == "mine":
        use.need_own(course)
    path = notebook or _path(course, item)
    origins = [origin for origin in use.origins(course, whose) if origin.module.number <= item.after]
    mine.need_importable(course, [origin.module for origin in origins if origin.whose == "mine"])
    return Prepared(item, path, _read(path), whose, origins)


def run(course, prepared):
    """Run all cells of a milestone in a fresh interpreter and show what they print.

    Parameters
    ----------
    course : layout.Course
    prepared : Prepared

    Returns
    -------
    Outcome
    """
    report = check.examine(
        course, prepared.item, prepared.cells, prepared.path.parent, CELL_SECONDS,
        live=True, whose=prepared.whose,
    )  # fmt: skip
    results = [line for line in report.printed.splitlines() if line.startswith("Result:")]
    return Outcome(results, report.rows, report.troubles)


def _path(course, item):
    own = course.working_copy(item)
    source = course.source(item)
    return source if own == course.release(item) and source.exists() else own


def _read(path):
    """The cells of a notebook; those with hidden tests are left out, as students do not have them."""
    if path.suffix != ".py":
        return cells.read(path)
    from course import notebook

    script = notebook.read_script(path.read_text(encoding="utf-8"))
    return [cell for cell in cells.cells(script) if not (cell.grade_id or "").endswith("_hidden")]
