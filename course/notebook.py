"""Notebooks between the two forms in which they are kept: percent scripts and .ipynb files."""

import re

from gradebook.location import import_nbgrader_quickly

import_nbgrader_quickly()

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def read_script(text):
    """A percent script as a notebook.

    Parameters
    ----------
    text : str
        Jupytext percent format; nbgrader metadata and tags stand in the cells' header lines.

    Returns
    -------
    nbformat.NotebookNode
        Valid version 4.5, with the same cell ids and metadata on every call.
    """
    import jupytext

    return settle(jupytext.reads(text, fmt="py:percent"))


def to_script(notebook):
    """The percent script of a notebook."""
    import jupytext

    return jupytext.writes(notebook, fmt="py:percent")


def read_bytes(content):
    """A notebook from the content of an .ipynb file."""
    import nbformat

    return nbformat.reads(content.decode("utf-8"), as_version=4)


def to_bytes(notebook):
    """The content of an .ipynb file: the same bytes for the same notebook."""
    import nbformat

    nbformat.validate(notebook)
    return (nbformat.writes(notebook).rstrip("\n") + "\n").encode("utf-8")


def settle(notebook):
    """Give a notebook the metadata and cell ids that depend on its content only; changes and returns it.

    A cell's id is its nbgrader id, else its number among the others. Traces of other tools go.
    """
    import nbformat

    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for number, cell in enumerate(notebook.cells):
        cell.id = _cell_id(cell, number)
        for leftover in ("lines_to_next_cell", "lines_to_end_of_cell_marker"):
            cell.metadata.pop(leftover, None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def _cell_id(cell, number):
    grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
    return re.sub(r"[^A-Za-z0-9_-]", "-", grade_id)[:64] if grade_id else f"cell-{number + 1:03d}"
