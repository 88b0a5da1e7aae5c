"""Feedback pages: what a student sees of a graded submission, and why one could not be graded."""

import base64
import html
import re
from pathlib import Path

import nh3
from nbconvert.filters import markdown2html_mistune
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor
from nbgrader.utils import is_grade
from traitlets import List

from gradebook.location import find_root, read_status, read_statuses, write_whole
from gradebook.tables import cells

IMAGES = {"image/png": b"\x89PNG\r\n", "image/jpeg": b"\xff\xd8\xff"}
TAGS = nh3.ALLOWED_TAGS | {"figure", "figcaption", "section"} - {"map", "area"}
LOCAL_IMAGE = re.compile(
    r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=\s]+|(?![a-zA-Z][a-zA-Z0-9+.-]*:|//|\\)[^\\]+"
)


def clean_markdown(source):
    """HTML of a Markdown text, by an allow-list.

    Tables, code, links, mathematics and images that come with the page stay; scripts, handlers, frames,
    forms and anything fetched from elsewhere go. nbconvert uses this in place of its own filter, for
    feedback pages and in formgrader.

    Parameters
    ----------
    source : str

    Returns
    -------
    str
    """
    attributes = {**nh3.ALLOWED_ATTRIBUTES, "*": {"class", "id", "title"}, "a": {"href", "class"}}
    return nh3.clean(
        markdown2html_mistune(source),
        tags=TAGS,
        attributes=attributes,
        attribute_filter=_keep_local_images,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer",
    )


def _keep_local_images(tag, name, value):
    if name == "src" and not LOCAL_IMAGE.fullmatch(value):
        return None
    if name == "href" and value.strip().lower().startswith("data:"):
        return None
    return value


class Step(NbGraderPreprocessor):
    """A step of making a feedback page; HTMLExporter warns of steps that lack the option below."""

    display_data_priority = List(help="Kinds of output, the preferred ones first.").tag(config=True)


class HideHiddenTests(Step, ClearHiddenTests):
    """Shows of a hidden test no more than its title and the points that it gave; it comes after GetGrades."""

    def preprocess_cell(self, cell, resources, cell_index):
        if is_grade(cell) and self._remove_hidden_test_region(cell):
            cell.source = cell.source.strip() or "# Hidden tests"
            cell.outputs = [new_output("stream", name="stdout", text=self._verdict(cell.metadata.nbgrader))]
        return cell, resources

    def _verdict(self, told):
        lost = told["points"] - (told["score"] or 0)
        if lost <= 0:
            return "Passed."
        return f"Lost {lost:g} of {told['points']:g} points. The first line says what is tested."


class PlainOutputs(Step):
    """Keeps text and raster images of a submission's outputs; HTML, SVG, scripts and widgets go."""

    def preprocess(self, nb, resources):
        nb.metadata.pop("widgets", None)
        return super().preprocess(nb, resources)

    def preprocess_cell(self, cell, resources, cell_index):
        cell.pop("attachments", None)
        for output in cell.get("outputs", []):
            if "data" in output:
                output.data = {kind: data for kind, data in output.data.items() if _plain(kind, data)}
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if output.get("data", True)]
        return cell, resources


def _plain(kind, data):
    """Whether an output is text, or really the image it says it is."""
    if kind == "text/plain":
        return True
    try:
        return kind in IMAGES and base64.b64decode(data, validate=False).startswith(IMAGES[kind])
    except (TypeError, ValueError):
        return False


class ShowNotes(Step):
    """Puts the notes about a submission, and a reason for each lost point, at the top of its page."""

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        status = read_status(Path.cwd(), names["assignment"], names["student"])
        waiting = [
            cell.cell
            for cell in cells(names["assignment"], names["student"], Path.cwd())
            if cell.needs_manual
        ]
        lines = _notes(status or {}, waiting)
        if lines:
            nb.cells.insert(0, new_markdown_cell("\n".join(lines)))
        return nb, resources


def _notes(status, waiting):
    lines = []
    if status.get("state") == "failed":
        lines += ["**The latest submission could not be graded.** This page shows an earlier one.", ""]
        lines += [f"- {_literal(status.get('reason', ''))}", ""]
    if status.get("notes"):
        lines += (
            ["**About your submission**", ""] + [f"- {_literal(note)}" for note in status["notes"]] + [""]
        )
    if waiting:
        labels = ", ".join(f"`{label}`" for label in waiting)
        lines += [f"**Not all points are in yet.** Still to be looked at by a person: {labels}.", ""]
    return lines


def _literal(text):
    """Text that Markdown shows as it stands, but for `code` in backticks."""
    parts = text.replace("\n", " ").split("`")
    plain = [
        re.sub(r"([\\*_\[\]<>&$#|~])", r"\\\1", part) if i % 2 == 0 else f"`{part}`"
        for i, part in enumerate(parts)
    ]
    return "".join(plain)


def feedback(assignment, students=None, root=None):
    """Write the feedback pages of an assignment, ``feedback/<student>/<assignment>/<assignment>.html``.

    Parameters
    ----------
    assignment : str
        Id such as ``01_tensor``.
    students : sequence of str, optional
        All who have been graded, by default.
    root : path, optional
        The course; found from the current folder by default.

    Returns
    -------
    dict
        For each student the path of the page, or an Exception that says why there is none.
    """
    root = Path(root or find_root())
    statuses = read_statuses(root, assignment)
    if students is None:
        students = sorted(set(statuses) | _autograded(root, assignment))
    write = _writer(root, assignment)
    pages = {}
    for student in students:
        status = statuses.get(student, {})
        try:
            failed = status.get("state") == "failed"
            pages[student] = _failure_page(root, assignment, student, status) if failed else write(student)
        except Exception as error:  # noqa: BLE001
            pages[student] = error
    return pages


def _autograded(root, assignment):
    return {folder.parent.name for folder in root.glob(f"autograded/*/{assignment}")}


def _writer(root, assignment):
    """A function that writes one student's page through nbgrader's GenerateFeedback."""
    from nbgrader.converters import GenerateFeedback
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.utils import capture_log
    from traitlets.config.loader import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    config.HTMLExporter.template_name = "feedback"

    def write(student):
        coursedir = CourseDirectory(config=config, assignment_id=assignment, student_id=student)
        converter = GenerateFeedback(coursedir=coursedir, config=config, force=True)
        outcome = capture_log(converter)
        if not outcome["success"]:
            raise RuntimeError(outcome.get("log") or outcome["error"])
        return root / "feedback" / student / assignment / f"{assignment}.html"

    return write


def _failure_page(root, assignment, student, status):
    page = root / "feedback" / student / assignment / f"{assignment}.html"
    reason = html.escape(status.get("reason", ""))
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in status.get("notes", []))
    text = FAILURE.format(
        assignment=html.escape(assignment), reason=reason, notes=f"<ul>{notes}</ul>" if notes else ""
    )
    write_whole(page, text.encode())
    return page


FAILURE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{assignment}: not graded</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 40em; margin: 3em auto; padding: 0 1em; }}
</style>
</head>
<body>
<h1>{assignment}: not graded yet</h1>
<p>Your submission could not be graded, because of this: {reason}.</p>
<p>No points were recorded for it. Mend it and hand it in again, or ask your instructor.</p>
{notes}
</body>
</html>
"""
