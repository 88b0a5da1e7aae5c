"""What every instructor notebook must keep to, checked before anything is built from it."""

import ast
import re

from course import catalog, package
from course.cells import python_only

WORDS = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u26ff\u2705\u274c\u2728]")
HIDDEN = ("### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS")
SOLUTION = ("### BEGIN SOLUTION", "### END SOLUTION")
WIDTH, DRAWING_WIDTH = 110, 88  # of code, which scrolls, and of drawings between ```, which break


def complaints(cells, item):
    """What is wrong with an instructor notebook.

    Parameters
    ----------
    cells : list of cells.Cell
    item : catalog.Module or catalog.Milestone

    Returns
    -------
    list of str
        One sentence each; empty if all is well.
    """
    found = [complaint for cell in cells for complaint in _about_cell(cell)]
    found += _about_ids(cells)
    if isinstance(item, catalog.Module):
        found += _about_module(cells)
    return found


def notes(cells):
    """What could be nicer but stops nothing.

    Returns
    -------
    list of str
    """
    wide = [
        cell.where
        for cell in cells
        if cell.kind == "code" and any(_wide(line) for line in cell.source.split("\n"))
    ]
    return [f"lines longer than {WIDTH} characters in {len(wide)} cells, first in {wide[0]}"] if wide else []


def _wide(line):
    return len(line) > WIDTH


def _about_module(cells):
    total = sum(cell.points for cell in cells)
    if total != 100:
        yield f"The points add up to {total:g}; a module has 100."
    exported = [cell for cell in cells if cell.exported]
    if not exported:
        yield "No cell is tagged export, so there would be no module."
    elif not _docstring(exported[0].source):
        yield f"{exported[0].where}: the first exported cell begins with the docstring of the module."


def _docstring(source):
    try:
        return ast.get_docstring(ast.parse(package.clean(source)))
    except SyntaxError:
        return None


def _about_ids(cells):
    ids = [cell.grade_id for cell in cells if cell.grade_id]
    for grade_id in sorted({name for name in ids if ids.count(name) > 1}):
        yield f"{grade_id}: two cells have this id."


def _about_cell(cell):
    where = cell.where
    if cell.grade_id is not None and not WORDS.fullmatch(cell.grade_id):
        yield f"{where}: an id is made of words, such as tensor_matmul_check."
    if cell.nbgrader and cell.nbgrader.get("schema_version") != 3:
        yield f"{where}: nbgrader metadata need schema_version 3."
    if EMOJI.search(cell.source):
        yield f"{where}: no emoji; they break on some terminals and say nothing."
    yield from _about_roles(cell)
    if cell.kind != "code":
        yield from _about_drawings(cell)
        return
    yield from _about_regions(cell)
    try:
        ast.parse(python_only(cell.source))
    except SyntaxError as error:
        yield f"{where}: {error.msg} (line {error.lineno})."


def _about_drawings(cell):
    for number, text in enumerate(re.split(r"^```.*$", cell.source, flags=re.MULTILINE)):
        widest = max(text.split("\n"), key=len)
        if number % 2 and len(widest) > DRAWING_WIDTH:
            yield f"{cell.where}: a laptop's screen breaks lines of over {DRAWING_WIDTH} characters between ```: {widest}"


def _about_roles(cell):
    if cell.graded and not cell.nbgrader.get("locked"):
        yield f"{cell.where}: a graded cell is locked."
    if cell.nbgrader.get("grade") and not cell.points:
        yield f"{cell.where}: a graded cell has points."
    if cell.exported and cell.graded:
        yield f"{cell.where}: a test is not exported."


def _about_regions(cell):
    hidden, solution = _region(cell.source, HIDDEN), _region(cell.source, SOLUTION)
    if "broken" in (hidden, solution):
        yield f"{cell.where}: a BEGIN without its END, or the reverse."
    if hidden == "none" and (cell.grade_id or "").endswith("_hidden"):
        yield f"{cell.where}: hidden tests stand between {HIDDEN[0]} and {HIDDEN[1]}."
    if hidden != "none" and not (cell.grade_id or "").endswith("_hidden"):
        yield f"{cell.where}: the id of a cell with hidden tests ends in _hidden."
    if hidden != "none" and not cell.graded:
        yield f"{cell.where}: a cell with hidden tests is graded."
    if (solution != "none") != cell.solution:
        yield f"{cell.where}: a cell is marked as a solution exactly if it has a solution region."
    if re.search(r"^### BEGIN SOLUTION\n(class|def) ", cell.source, re.MULTILINE):
        yield f"{cell.where}: put the region inside the function or method, so that its signature stays."


def _region(source, markers):
    """Whether a source has "none" of a kind of region, "whole" ones, or "broken" ones."""
    lines = [line.strip() for line in source.splitlines() if line.strip() in markers]
    if not lines:
        return "none"
    return "whole" if lines == list(markers) * (len(lines) // 2) else "broken"
