"""The cells of a notebook as plain values; needs neither nbformat nor nbgrader, so students' tools use it."""

import ast
import json
import re
from typing import NamedTuple

from course.layout import CourseError


class Cell(NamedTuple):
    """One cell of a notebook.

    `kind` is "code", "markdown" or "raw"; `nbgrader` is the cell's nbgrader metadata, empty if it has none.
    """

    index: int
    kind: str
    source: str
    id: str
    tags: tuple
    nbgrader: dict

    @property
    def grade_id(self):
        return self.nbgrader.get("grade_id")

    @property
    def points(self):
        return float(self.nbgrader.get("points") or 0)

    @property
    def solution(self):
        return bool(self.nbgrader.get("solution"))

    @property
    def graded(self):
        """Whether it is a test that a machine grades."""
        return bool(self.nbgrader.get("grade")) and not self.solution and self.kind == "code"

    @property
    def manual(self):
        """Whether it is an answer that a person grades."""
        return bool(self.nbgrader.get("grade")) and self.solution

    @property
    def exported(self):
        return "export" in self.tags

    @property
    def where(self):
        """How to name the cell to a person."""
        return self.grade_id or f"cell {self.index + 1}"


def cells(notebook):
    """The cells of a notebook given as a dictionary, such as a parsed .ipynb file."""
    return [_cell(index, raw) for index, raw in enumerate(notebook["cells"])]


def _cell(index, raw):
    source = raw.get("source", "")
    metadata = raw.get("metadata", {})
    return Cell(
        index=index,
        kind=raw["cell_type"],
        source=source if isinstance(source, str) else "".join(source),
        id=raw.get("id", ""),
        tags=tuple(metadata.get("tags", ())),
        nbgrader=metadata.get("nbgrader", {}),
    )


def read(path):
    """The cells of the notebook file at `path`.

    Raises
    ------
    CourseError
        If there is no such file, or it is not a notebook.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        return cells(notebook)
    except FileNotFoundError:
        raise CourseError(f"There is no notebook {path}.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CourseError(f"{path} cannot be read as a notebook ({type(error).__name__}: {error}).") from None


def title_table(cells):
    """The table of a notebook's title cell as a dictionary, such as {"Time": "4 to 6 hours"}."""
    title = next((cell.source for cell in cells if cell.kind == "markdown"), "")
    return dict(re.findall(r"^\| \*\*(.+?)\*\* \| (.*?) *\|$", title, re.MULTILINE))


def python_only(source):
    """`source` with notebook magics and shell lines (`%...`, `!...`) turned into `pass`."""
    try:
        ast.parse(source)
        return source
    except (SyntaxError, ValueError):
        return re.sub(r"^([ \t]*)[%!].*$", r"\1pass", source, flags=re.MULTILINE)
