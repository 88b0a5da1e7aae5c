"""What a student may change must not decide about other cells: each graded and each locked cell stands on firm ground.

Cells without an id ("Try it", motivation) are the student's to edit and delete, so no check may need a name from them.
"""

import ast
import builtins

import pytest
from course import notebook
from course.cells import cells, python_only
from course.layout import find_course

COURSE = find_course(__file__)
GIVEN = {*dir(builtins), "np", "math", "check", "count", "peak_memory"}


@pytest.mark.parametrize("item", COURSE.sources(), ids=lambda item: item.id)
def test_no_check_needs_a_cell_that_the_student_may_delete(item):
    firm, loose = set(GIVEN), {}
    for cell in cells(notebook.read_script(COURSE.source(item).read_text("utf-8"))):
        if cell.kind != "code":
            continue
        tree = ast.parse(python_only(cell.source))
        if cell.graded or cell.nbgrader.get("locked") or cell.exported:
            needed = {name: loose[name] for name in _loads(tree) - _binds(tree) - firm if name in loose}
            assert not needed, f"{cell.where} needs what only a free cell binds: {needed}"
        if cell.solution or cell.nbgrader.get("locked") or cell.exported:
            firm |= set() if cell.graded else _binds(tree)
        else:
            loose |= {name: cell.where for name in _binds(tree)}


def _loads(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _binds(tree):
    """All names that a cell binds anywhere; parameters are among them."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names
