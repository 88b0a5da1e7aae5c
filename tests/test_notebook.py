"""Notebooks between script and .ipynb: nothing is lost, nothing is random."""

import json

import nbformat
import pytest
from building import NOTEBOOKS

from course import notebook
from course.cells import cells, python_only, read
from course.layout import CourseError

TEXT = (NOTEBOOKS / "01_tensor.py").read_text(encoding="utf-8")

HEADER = """\
# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Bogus
#     language: python
#     name: bogus
# ---

"""


def test_a_script_becomes_a_valid_notebook_with_its_nbgrader_metadata_and_tags():
    made = notebook.read_script(TEXT)
    nbformat.validate(made)
    found = {cell.grade_id: cell for cell in cells(made) if cell.grade_id}
    assert found["tiny_box"].exported and found["tiny_box"].solution
    assert found["tiny_box_check"].graded and found["tiny_box_check"].points == 40
    assert found["tiny_why"].manual and found["tiny_why"].kind == "markdown"


def test_the_same_script_gives_the_same_bytes():
    assert notebook.to_bytes(notebook.read_script(TEXT)) == notebook.to_bytes(notebook.read_script(TEXT))


def test_cell_ids_are_grade_ids_or_numbers():
    ids = [cell.id for cell in cells(notebook.read_script(TEXT))]
    assert ids[:4] == ["cell-001", "cell-002", "tiny_setup", "tiny_box"]
    assert len(set(ids)) == len(ids)


def test_every_notebook_asks_for_the_kernel_python3_and_names_no_tool():
    made = notebook.read_script(HEADER + TEXT)
    assert made.metadata.kernelspec.name == "python3"
    assert "jupytext" not in json.dumps(made)
    assert "lines_to_next_cell" not in json.dumps(made)


def test_a_notebook_goes_back_to_the_script_it_came_from():
    made = notebook.read_script(TEXT)
    again = notebook.read_script(notebook.to_script(made))
    assert notebook.to_bytes(again) == notebook.to_bytes(made)


def test_cells_are_read_without_nbformat_also_where_sources_are_lists(tmp_path):
    raw = {"cell_type": "code", "source": ["x = 1\n", "x"], "metadata": {"tags": ["export"]}}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [raw]}))
    (cell,) = read(tmp_path / "a.ipynb")
    assert cell.source == "x = 1\nx" and cell.exported and cell.where == "cell 1"


@pytest.mark.parametrize("content", ["", "[]", '{"cells": 3}', '{"cells": [{}]}', "{", '{"cells": [7]}'])
def test_what_is_no_notebook_is_refused_by_name(tmp_path, content):
    (tmp_path / "a.ipynb").write_text(content)
    with pytest.raises(CourseError, match="a.ipynb cannot be read as a notebook"):
        read(tmp_path / "a.ipynb")


@pytest.mark.parametrize(
    "source, plain",
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("if True:\n    !ls", "if True:\n    pass"),
        ("x = (7\n% 2)", "x = (7\n% 2)"),
    ],
)
def test_magics_become_pass_and_operators_stay(source, plain):
    assert python_only(source) == plain
