"""Scores and reasons of a class, from nbgrader's database and our status files; nothing here writes."""

import csv
import io
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gradebook.location import database_url, find_root, read_status, read_statuses, write_whole

SUBMISSIONS = """
select student_id as student, timestamp, (
    select coalesce(sum(late_submission_penalty), 0) from submitted_notebook
    where submitted_notebook.assignment_id = submitted_assignment.id) as penalty
from submitted_assignment join assignment on assignment.id = submitted_assignment.assignment_id
where assignment.name = :assignment
"""

GRADES = """
select submitted_assignment.student_id as student, base_cell.name as cell, grade.auto_score as auto,
    grade.manual_score as manual, coalesce(grade.extra_credit, 0) as extra,
    grade.needs_manual_grade as needs_manual,
    coalesce(grade_cell.max_score, task_cell.max_score, 0) as points,
    coalesce(grade_cell.cell_type, task_cell.cell_type) as kind,
    exists (select 1 from solution_cells as solution_cell join base_cell other on other.id = solution_cell.id
        where other.name = base_cell.name and other.notebook_id = base_cell.notebook_id) as answer
from grade
join base_cell on base_cell.id = grade.cell_id
left join grade_cells as grade_cell on grade_cell.id = base_cell.id
left join task_cells as task_cell on task_cell.id = base_cell.id
join submitted_notebook on submitted_notebook.id = grade.notebook_id
join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id
join assignment on assignment.id = submitted_assignment.assignment_id
where assignment.name = :assignment
"""


@dataclass
class CellScore:
    """One graded cell of one submission; `auto` or `manual` is None where nobody has scored it yet."""

    cell: str
    auto: float | None
    manual: float | None
    extra: float
    max: float
    needs_manual: bool
    by_hand: bool

    @property
    def score(self):
        """Points that count: a person's where there are some, else the autograder's."""
        return (self.auto or 0.0 if self.manual is None else self.manual) + self.extra


@dataclass
class Row:
    """One student and one assignment. The scores are None unless `state` is "graded"."""

    student: str
    assignment: str
    state: str
    score: float | None = None
    max: float | None = None
    auto: float | None = None
    manual: float | None = None
    penalty: float = 0.0
    needs_manual: bool = False
    reasons: list = field(default_factory=list)
    notes: list = field(default_factory=list)


def scores(assignment, root=None):
    """Scores of all students who handed in an assignment.

    A submission that could not be graded has the state "failed" and no score, even if the database still
    holds the score of an earlier one.

    Parameters
    ----------
    assignment : str
        Id such as ``01_tensor``.
    root : path, optional
        The course; found from the current folder by default.

    Returns
    -------
    list of Row
        In order of the students' names. `state` is "graded", "failed", or "ungraded" (nbgrader began and
        did not finish).
    """
    root = Path(root or find_root())
    statuses = read_statuses(root, assignment)
    with _connect(root) as run:
        submissions = {row["student"]: row for row in run(SUBMISSIONS, assignment=assignment)}
        graded = _by_student(run(GRADES, assignment=assignment))
    students = sorted(set(statuses) | set(submissions))
    return [
        _row(student, assignment, statuses.get(student), submissions.get(student), graded.get(student, []))
        for student in students
    ]


def cells(assignment, student, root=None):
    """Scores of the graded cells of one submission.

    Returns
    -------
    list of CellScore
        Empty if the database knows no such submission.
    """
    with _connect(Path(root or find_root())) as run:
        rows = run(
            GRADES + " and submitted_assignment.student_id = :student", assignment=assignment, student=student
        )
    return _by_student(rows).get(student, [])


def reasons(assignment, student, root=None):
    """Why a submission lost points or was not graded: each reason once, after the cells that it holds for."""
    return _reasons(read_status(Path(root or find_root()), assignment, student))


def write_csv(path, rows):
    """Write rows to a CSV file, in one step.

    A value that a spreadsheet would take for a formula gets an apostrophe in front.

    Parameters
    ----------
    path : path
    rows : list of Row, or of dict with the same keys
    """
    rows = [row if isinstance(row, dict) else asdict(row) for row in rows]
    text = io.StringIO()
    names = list(rows[0]) if rows else list(Row.__dataclass_fields__)
    writer = csv.DictWriter(text, names, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({name: _harmless(value) for name, value in row.items()} for row in rows)
    write_whole(path, text.getvalue().encode("utf-8-sig"))


def _harmless(value):
    if isinstance(value, (list, tuple)):
        value = "; ".join(str(item) for item in value)
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")):
        return "'" + value
    return "" if value is None else value


def _row(student, assignment, status, submission, grades):
    row = Row(student, assignment, _state(status, grades), reasons=_reasons(status))
    row.notes = list(status.get("notes", [])) if status else []
    if row.state != "graded":
        return row
    row.penalty = submission["penalty"]
    row.max = sum(cell.max for cell in grades)
    row.auto = sum(cell.auto or 0.0 for cell in grades)
    by_person = [cell.manual for cell in grades if cell.manual is not None]
    row.manual = sum(by_person) if by_person else None
    row.score = sum(cell.score for cell in grades) - row.penalty
    row.needs_manual = any(cell.needs_manual for cell in grades)
    return row


def _state(status, grades):
    if status and status.get("state") == "failed":
        return "failed"
    waiting = any(cell.auto is None and cell.manual is None and not cell.by_hand for cell in grades)
    return "graded" if grades and not waiting else "ungraded"


def _reasons(status):
    if not status:
        return []
    if status.get("state") == "failed":
        return [status.get("reason") or "no reason is on record"]
    cells_by_reason = {}
    for name, cell in status.get("cells", {}).items():
        for reason in filter(None, (cell.get("reason"), cell.get("review"))):
            cells_by_reason.setdefault(reason, []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in cells_by_reason.items()]


def _by_student(rows):
    found = {}
    for row in rows:
        by_hand = bool(row["answer"]) or row["kind"] == "markdown"
        cell = CellScore(
            row["cell"],
            row["auto"],
            row["manual"],
            row["extra"],
            row["points"],
            bool(row["needs_manual"]),
            by_hand,
        )
        found.setdefault(row["student"], []).append(cell)
    return found


class _connect:
    """A read-only connection to the gradebook, as a function ``run(sql, **parameters)``."""

    def __init__(self, root):
        self.url = database_url(root)

    def __enter__(self):
        from sqlalchemy import create_engine

        url, options = self.url, {}
        if url.startswith("sqlite:///"):
            file = Path(url.removeprefix("sqlite:///"))
            if not file.is_file():
                return lambda *_, **__: []
            url = "sqlite:///file:" + _quoted(file) + "?mode=ro&uri=true"
        self.engine = create_engine(url, **options)
        return self._run

    def _run(self, sql, **parameters):
        from sqlalchemy import text

        with self.engine.connect() as connection:
            return [dict(row) for row in connection.execute(text(sql), parameters).mappings()]

    def __exit__(self, *_):
        if hasattr(self, "engine"):
            self.engine.dispose()


def _quoted(file):
    """A path in the form that SQLite's URIs take."""
    from urllib.parse import quote

    return quote(str(file.resolve()))
