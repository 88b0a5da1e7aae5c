"""The page of common errors: the sections "What can go wrong" of all notebooks, gathered by the build."""

import re
import textwrap
from typing import NamedTuple

from course import catalog, notebook
from course.cells import cells
from course.layout import CourseError

SECTION = re.compile(r"^## What can go wrong\n(.*?)(?=^##? |\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"\*\*(.+?)(?:\*\*[:.]|[:.]\*\*)\s+(.*)", re.DOTALL)
INTRO = """\
# Common errors

What goes wrong most often, by module, with its cause and its cure. Search this page for the words of your
message; the shapes and numbers in it will be others. If nothing fits: [Debugging](debugging.md)."""
WIDTH = 120


class Entry(NamedTuple):
    """One error: its message, or what is seen where there is none, and the cause with the cure."""

    message: str
    text: str


def entries(notebook_cells):
    """The errors in a notebook's section "What can go wrong".

    Parameters
    ----------
    notebook_cells : list of cells.Cell

    Returns
    -------
    list of Entry
        An entry begins with a paragraph whose first words are bold, ``**`the message`**: cause and cure``.

    Raises
    ------
    CourseError
        If a paragraph begins in bold that does not end with a colon.
    """
    text = "\n\n".join(cell.source for cell in notebook_cells if cell.kind == "markdown")
    found = []
    for section in SECTION.findall(text + "\n"):
        for paragraph in re.split(r"\n\s*\n", section.strip()):
            if paragraph.startswith("**"):
                found.append(_entry(paragraph))
            elif found:
                found[-1] = found[-1]._replace(text=f"{found[-1].text}\n\n{paragraph}")
    return found


def _entry(paragraph):
    match = ENTRY.match(paragraph)
    if match is None:
        start = paragraph.splitlines()[0]
        raise CourseError(f'What can go wrong: "{start}" should be **a message**: its cause and cure.')
    message, text = (" ".join(part.split()) for part in match.groups())
    return Entry(message, textwrap.fill(text[0].upper() + text[1:], WIDTH, break_long_words=False,
                                        break_on_hyphens=False))  # fmt: skip


def page(course):
    """The text of `docs/common-errors.md`.

    Parameters
    ----------
    course : layout.Course

    Returns
    -------
    str
    """
    parts = [INTRO]
    for item in course.sources():
        script = notebook.read_script(course.source(item).read_text(encoding="utf-8"))
        try:
            found = entries(cells(script))
        except CourseError as error:
            raise CourseError(f"{item.id}: {error}") from None
        if found:
            parts.append(f"## {_heading(item)}")
            parts += [f"### {entry.message}\n\n{entry.text}" for entry in found]
    parts.append("Gathered from the notebooks in `source/` by `tinytorch build`; change it there.")
    return "\n\n".join(parts) + "\n"


def _heading(item):
    number = f"{item.number:02d}" if isinstance(item, catalog.Module) else f"Milestone {item.year}"
    return f"{number} · {item.title}"
