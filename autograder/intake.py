"""From what a student handed in to a clean folder that is safe to grade.

Nothing is trusted. Files are opened without following links and only up to a size. Of the notebook only
text survives, that of the answers and of the student's own cells; it is put back into the notebook that was
released.
"""

import contextlib
import copy
import errno
import fnmatch
import functools
import hashlib
import importlib.util
import json
import os
import re
import shutil
import stat
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

NOTEBOOK_BYTES = 10 << 20
FILE_BYTES = 4 << 20
TOTAL_BYTES = 16 << 20
ENTRIES = 1000
CELLS = 2000
CELL_CHARACTERS = 200_000
NOTES = 50
DATA_FILES = ("*.csv", "*.txt", "*.json", "*.npy", "*.npz")
TIMESTAMP = "timestamp.txt"
BINDING = re.compile(r"^(?:async +)?(?:def|class) +(\w+)|^(\w+) *=(?!=)", re.MULTILINE)
OURS = {
    "autograder",
    "gradebook",
    "course",
    "tinytorch_ref",
    "my_tinytorch",
    "sitecustomize",
    "usercustomize",
}


class Rejected(Exception):
    """A submission that cannot be graded; the message says why, in words for the student."""


class LeftOut(Exception):
    """A file that is not taken over; the message says why."""


def intake(src_dir, dst_dir, skeleton_notebook, keep=DATA_FILES):
    """Take a submission over into a clean folder.

    Parameters
    ----------
    src_dir : path
        The submission as it came, ``submitted/<student>/<assignment>``.
    dst_dir : path
        The clean folder. If it exists it is replaced, in one step.
    skeleton_notebook : path
        The notebook as it was released; its file name is the one expected of the submission.
    keep : sequence of str
        Patterns of the data files that are taken over beside the notebook.

    Returns
    -------
    list of str
        Notes for the student and the instructor: what was odd, and what was done about it.

    Raises
    ------
    Rejected
        If there is no notebook that can be read.
    """
    skeleton_notebook, dst_dir = Path(skeleton_notebook), Path(dst_dir)
    skeleton = json.loads(skeleton_notebook.read_bytes())
    with _folder(Path(src_dir)) as folder:
        names = sorted(os.listdir(folder))
        name, notes = _choose_notebook(names, skeleton_notebook.name)
        submitted, more = _read_notebook(folder, name)
        notebook, changes = rebuild(submitted, skeleton)
        files, left_out = _read_files(folder, [n for n in names if n != name], keep)
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    _write_folder(dst_dir, {skeleton_notebook.name: text.encode(), **files})
    return _at_most(notes + more + changes + left_out)


def digest(folder):
    """Hash of all files of a clean folder: 64 hexadecimal digits."""
    total = hashlib.sha256()
    for file in sorted(Path(folder).iterdir()):
        total.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def _at_most(notes):
    return notes if len(notes) <= NOTES else notes[:NOTES] + [f"… and {len(notes) - NOTES} more notes"]


# --- files ---


@contextlib.contextmanager
def _folder(path):
    """Descriptor of a submission's folder; neither it nor the student's folder may be a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        parent = os.open(path.parent, flags)
        try:
            folder = os.open(path.name, flags, dir_fd=parent)
        finally:
            os.close(parent)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Rejected("the submission's folder is a link or not a folder") from None
        raise Rejected(f"the submission's folder cannot be opened: {error.strerror}") from None
    try:
        yield folder
    finally:
        os.close(folder)


def _read(folder, name, limit):
    """Bytes of a plain file of at most `limit` bytes; anything else is left out."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        raise LeftOut(
            "is a link" if error.errno == errno.ELOOP else f"cannot be opened ({error.strerror})"
        ) from None
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise LeftOut("is not a plain file")
        if facts.st_nlink != 1:
            raise LeftOut("is a hard link to another file")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise LeftOut(f"is larger than {limit >> 20} MB")
    return content


def _read_files(folder, names, keep):
    """The files to take over beside the notebook, and a note for each that stays behind."""
    if len(names) > ENTRIES:
        return {}, [f"the submission holds {len(names)} files; none but the notebook was taken"]
    files, notes, total = {}, [], 0
    for name in names:
        try:
            content = _read_one(folder, name, keep)
            total += len(content)
            if total > TOTAL_BYTES:
                raise LeftOut(f"makes the submission larger than {TOTAL_BYTES >> 20} MB")
            files[name] = content
        except LeftOut as reason:
            if not name.startswith("."):
                notes.append(f"`{_shown(name)}` {reason}; it was left out")
    return files, notes


def _read_one(folder, name, keep):
    if name == TIMESTAMP:
        return _read_timestamp(folder)
    if name.endswith(".ipynb"):
        raise LeftOut("is another notebook")
    if _shadows(name):
        raise LeftOut("would hide the module of that name")
    if not name.isprintable() or name.startswith((".", "-")) or len(name) > 100:
        raise LeftOut("has a name that is not allowed")
    if not any(fnmatch.fnmatchcase(name, pattern) for pattern in keep):
        raise LeftOut("is not a data file that this course takes")
    return _read(folder, name, FILE_BYTES)


def _read_timestamp(folder):
    """nbgrader's note of when the work came in, if it is a date; it decides about late penalties."""
    text = _read(folder, TIMESTAMP, 200).decode("utf-8", "replace").strip()
    try:
        datetime.fromisoformat(re.sub(r" (UTC|GMT|[A-Z][A-Za-z_]+/[A-Za-z_/]+)$", "", text))
    except ValueError:
        raise LeftOut("holds no date") from None
    return text.encode()


@functools.lru_cache(maxsize=1000)
def _shadows(name):
    """Whether a file or folder of this name would be imported in place of an installed module."""
    module, _, ending = name.partition(".")
    if ending not in ("", "py", "pyc") and not ending.endswith("so"):
        return False
    if module in OURS or module in sys.stdlib_module_names:
        return True
    try:
        return module.isidentifier() and importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return True


def _shown(name):
    """A file name that can be printed and stored whatever it holds."""
    name = name.encode("utf-8", "replace").decode().replace("`", "'")
    return "".join(c if c.isprintable() else "?" for c in name)[:80]


def _write_folder(path, files):
    """Make the folder `path` hold exactly `files`, in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=path.parent, prefix=".intake-"))
    try:
        for name, content in files.items():
            (fresh / name).write_bytes(content)
        fresh.chmod(0o755)
        if path.exists():
            shutil.rmtree(path)
        os.replace(fresh, path)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


# --- reading a notebook ---


class Cell(NamedTuple):
    """What is looked at in a submitted cell; everything else of it is forgotten."""

    kind: str
    text: str
    id: str | None
    label: str | None


def _choose_notebook(names, expected):
    """Name of the notebook to grade, and notes."""
    if expected in names:
        return expected, []
    others = [name for name in names if name.endswith(".ipynb")]
    alike = [name for name in others if name.startswith(expected.removesuffix(".ipynb"))]
    for candidates in (others, alike):
        if len(candidates) == 1:
            return candidates[0], [
                f"the notebook is called `{_shown(candidates[0])}`; it was taken for `{expected}`"
            ]
    found = ", ".join(_shown(name) for name in others[:5]) or "no notebook at all"
    raise Rejected(f"there is no notebook called {expected}; found: {found}")


def _read_notebook(folder, name):
    """The submitted notebook as JSON, and notes."""
    try:
        content = _read(folder, name, NOTEBOOK_BYTES)
    except LeftOut as reason:
        raise Rejected(f"the notebook {reason}") from None
    notes = []
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
        notes.append("the notebook is not in UTF-8; it was read as Latin-1")
    try:
        return json.loads(text), notes
    except RecursionError:
        raise Rejected("the notebook is nested too deeply to be one") from None
    except ValueError as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise Rejected(
            f"the notebook is not valid JSON{where}; it may be damaged or only partly uploaded"
        ) from None


def _text(value):
    """Text of a cell's source, given as a string or as a list of lines."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "".join(value)
    if not isinstance(value, str):
        raise Rejected("the source of a cell is not text")
    if len(value) > CELL_CHARACTERS:
        raise Rejected(f"a cell holds more than {CELL_CHARACTERS:,} characters")
    return value.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")


def _cells(notebook):
    """Cells of a notebook of format 3 or 4, and notes."""
    if not isinstance(notebook, dict):
        raise Rejected("the file is JSON, but not a notebook")
    raw, notes = notebook.get("cells"), []
    if raw is None and isinstance(notebook.get("worksheets"), list):
        sheets = [sheet for sheet in notebook["worksheets"] if isinstance(sheet, dict)]
        raw = [cell for sheet in sheets for cell in sheet.get("cells") or []]
        notes.append("the notebook is in the old format 3; it was converted")
    if not isinstance(raw, list) or not all(isinstance(cell, dict) for cell in raw):
        raise Rejected("the file is JSON, but not a notebook: it has no list of cells")
    if len(raw) > CELLS:
        raise Rejected(f"the notebook has more than {CELLS} cells")
    return [_cell(cell) for cell in raw], notes


def _cell(raw):
    metadata = raw.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    label = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    kind = raw.get("cell_type")
    text = _text(raw.get("source", raw.get("input", "")))
    if kind == "heading":
        kind, text = "markdown", "# " + text
    return Cell(
        kind=kind if kind in ("code", "markdown", "raw") else "raw",
        text=text,
        id=raw["id"] if isinstance(raw.get("id"), str) else None,
        label=label if isinstance(label, str) else None,
    )


# --- putting the answers back into the released notebook ---


class Slot:
    """One cell of the released notebook, and the submitted cells that claim to be it."""

    def __init__(self, cell):
        nbgrader = cell["metadata"].get("nbgrader", {})
        self.kind = cell["cell_type"]
        self.text = _text(cell["source"])
        self.cell = {**cell, "source": self.text}
        self.label = nbgrader.get("grade_id")
        self.answer = bool(nbgrader.get("solution"))
        self.locked = not self.answer and any(nbgrader.get(flag) for flag in ("grade", "locked", "task"))
        self.claims = []
        self.after = []

    def same(self, cell):
        return cell.kind == self.kind and cell.text.strip() == self.text.strip()

    def chosen(self):
        """The submitted cell that counts: the last one that was worked on."""
        worked_on = [cell for cell in self.claims if not self.same(cell)]
        return (worked_on or self.claims or [None])[-1]

    def notes(self):
        if not self.label:
            return []
        if not self.claims:
            what = "the stub counts as its answer" if self.answer else "the released version was used"
            return [f"cell `{self.label}` is missing; {what}"]
        notes, chosen = [], self.chosen()
        if len(self.claims) > 1:
            what = (
                "the last one that was worked on was graded"
                if self.answer
                else "the released version was used"
            )
            notes.append(f"cell `{self.label}` appears {len(self.claims)} times; {what}")
        if self.locked and chosen.kind == self.kind and not self.same(chosen):
            notes.append(f"cell `{self.label}` was edited; the released version was used")
        if chosen.kind != self.kind:
            what = f"was turned from {self.kind} into {chosen.kind}"
            notes.append(f"cell `{self.label}` {what}; it counts as {self.kind}")
        return notes

    def result(self):
        """The cell for the clean notebook."""
        cell, chosen = copy.deepcopy(self.cell), self.chosen()
        if (
            chosen is None
            or self.locked
            or self.same(chosen)
            or (not self.answer and chosen.kind != self.kind)
        ):
            return cell
        cell["source"] = chosen.text if self.kind == "code" else defuse(chosen.text)
        cell.pop("attachments", None)
        return cell


def rebuild(submitted, skeleton):
    """The released notebook with the student's text in it.

    Locked cells come from the release. Answers, and the plain cells that a student may change, keep the
    student's text. The student's own cells follow the cell that they followed. Rebuilding a rebuilt notebook
    changes nothing.

    Parameters
    ----------
    submitted : object
        The submitted notebook, as parsed from JSON.
    skeleton : dict
        The released notebook, format 4.

    Returns
    -------
    notebook : dict
        Without outputs, attachments, widgets, and any metadata of the student's.
    notes : list of str

    Raises
    ------
    Rejected
        If `submitted` is not a notebook.
    """
    cells, notes = _cells(submitted)
    slots = [Slot(cell) for cell in skeleton["cells"]]
    claimed = _match(cells, slots)
    notes += _lost_labels(cells, slots)
    claimed, by_name = _match_by_name(cells, slots, claimed)
    notes += by_name + [note for slot in slots for note in slot.notes()] + _moved(claimed, slots)
    before = _place_own_cells(cells, slots, claimed)
    body = before + [cell for slot in slots for cell in (slot.result(), *slot.after)]
    return {**skeleton, "cells": _finish(body), "nbformat": 4, "nbformat_minor": 5}, notes


def _match(cells, slots):
    """For each submitted cell the slot that it claims, by label, id or text; None for the student's own."""
    by_label = {slot.label: slot for slot in slots if slot.label}
    by_id = {slot.cell.get("id"): slot for slot in slots}
    claimed = []
    for cell in cells:
        slot = by_label.get(cell.label)
        if slot is None and cell.label is None and cell.id:
            slot = by_id.get(cell.id)
        if slot is None and cell.text.strip():
            slot = next((s for s in slots if s.same(cell) and not s.claims), None)
        if slot is not None:
            slot.claims.append(cell)
        claimed.append(slot)
    return claimed


def _match_by_name(cells, slots, claimed):
    """Give answers that lost their label back to their slots, by the functions and classes they define."""
    claimed, notes = list(claimed), []
    lost = [slot for slot in slots if slot.answer and slot.kind == "code" and not slot.claims]
    defined = {
        i: _defined(cell.text) for i, cell in enumerate(cells) if claimed[i] is None and cell.kind == "code"
    }
    for slot in lost:
        wanted = _defined(slot.text)
        hits = [i for i, names in defined.items() if wanted and wanted <= names and claimed[i] is None]
        if hits:
            slot.claims.append(cells[hits[-1]])
            claimed[hits[-1]] = slot
            notes.append(f"cell `{slot.label}` had lost its label; it was recognised by the names it defines")
    return claimed, notes


def _defined(source):
    """Names that a cell binds at its left margin, not parsed: hostile text can exhaust Python's parser."""
    return {first or second for first, second in BINDING.findall(source)}


def _lost_labels(cells, slots):
    if any(cell.label for cell in cells) or not any(slot.label for slot in slots):
        return []
    return ["the notebook has lost nbgrader's labels; its cells were matched by their ids, texts and names"]


def _moved(claimed, slots):
    """A note about labelled cells that come before one that should precede them."""
    order = {id(slot): place for place, slot in enumerate(slots)}
    moved, furthest = [], -1
    for slot in claimed:
        if slot is None or not slot.label:
            continue
        if order[id(slot)] < furthest and len(slot.claims) == 1:
            moved.append(f"`{slot.label}`")
        furthest = max(furthest, order[id(slot)])
    return [f"moved cells: {', '.join(moved)}; the released order was used"] if moved else []


def _place_own_cells(cells, slots, claimed):
    """Hang the student's own cells behind the slots they follow; returns those that come before all."""
    before = []
    place = before
    for cell, slot in zip(cells, claimed):
        if slot is not None:
            place = slot.after
        elif cell.kind != "raw" and cell.text.strip():
            place.append(_own_cell(cell))
    return before


def _own_cell(cell):
    if cell.kind == "code":
        return {"cell_type": "code", "metadata": {}, "source": cell.text}
    return {"cell_type": "markdown", "metadata": {}, "source": defuse(cell.text)}


def _finish(cells):
    """Cells with no outputs and with an id each."""
    for place, cell in enumerate(cells):
        cell.setdefault("id", f"own-{place}")
        if cell["cell_type"] == "code":
            cell.update(outputs=[], execution_count=None)
    return cells


def defuse(markdown):
    """A student's Markdown with nothing in it that a browser would act on.

    It is shown on the instructor's own origin, so HTML, entities, links and images are taken apart by one
    space each: ``a<b`` reads ``a< b``, which means the same in prose, in mathematics and in code. That asks
    for no parser, and so can't be fooled by the difference between two parsers.

    Examples
    --------
    >>> defuse("if $x<y$ then <script>alert(1)</script>")
    'if $x< y$ then < script>alert(1)< /script>'
    >>> defuse("[here](javascript:alert(1))")
    '[here] (javascript:alert(1))'
    """
    markdown = re.sub(r"<(?=[A-Za-z/!?])", "< ", markdown)
    markdown = re.sub(r"&(?=#|[A-Za-z][A-Za-z0-9]*;)", "& ", markdown)
    return re.sub(r"\](?=[(:])", "] ", markdown)
