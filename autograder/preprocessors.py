"""Steps of grading that nbgrader_config.py puts in the place of nbgrader's own, where those are not safe."""

import base64
import fnmatch
import functools
import hashlib
import json
from pathlib import Path

import nbformat
from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.preprocessors import DeduplicateIds, NbGraderPreprocessor
from nbgrader.utils import is_grade, is_locked, is_solution
from traitlets import Dict, Float, Integer, List, Unicode

from autograder.intake import DATA_FILES, TIMESTAMP, Rejected, rebuild
from autograder.ledger import Ledger, canonical
from gradebook.location import ledger_folder

HIDDEN = "BEGIN HIDDEN TESTS"


class RunFailed(Exception):
    """A submission that could not be run at all; the message says why."""


class RebuildOnRelease(NbGraderPreprocessor):
    """Puts the student's answers back into the released notebook, as `intake` does.

    It is there for a plain `nbgrader autograde`. nbgrader copies what a link points to, so a folder with a
    link in it is refused.
    """

    def preprocess(self, nb, resources):
        names = resources["nbgrader"]
        for file in Path(resources["metadata"].get("path") or ".").rglob("*"):
            if file.is_symlink():
                raise Rejected(f"{file} is a link; `tinytorch grade` leaves links out and grades the rest")
        skeleton = Path("release") / names["assignment"] / f"{names['notebook']}.ipynb"
        if skeleton.is_file():
            notebook, notes = rebuild(nb, json.loads(skeleton.read_bytes()))
            nb = nbformat.from_dict(notebook)
            for note in notes:
                self.log.warning("%s: %s", names["student"], note)
        return nb, resources


class DropDuplicates(DeduplicateIds):
    """Takes the label off a duplicated cell.

    nbgrader leaves an empty one, which later aborts the whole batch (bug 1083).
    """

    def preprocess_cell(self, cell, resources, cell_index):
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if not cell.metadata.get("nbgrader", True):
            del cell.metadata["nbgrader"]
        return cell, resources


class SplitExecute(NbGraderPreprocessor):
    """Runs a submission in the split runner, unless its result is in the ledger, and writes its outputs."""

    cell_seconds = Float(10, help="Time for one cell, in seconds.").tag(config=True)
    submission_seconds = Float(300, help="Time for a whole submission, in seconds.").tag(config=True)
    memory_mb = Integer(2048, help="Memory for the student's processes, in megabytes.").tag(config=True)
    processes = Integer(64, help="How many processes and threads a submission may have at once.").tag(
        config=True
    )
    file_mb = Integer(32, help="Largest file that a submission may write, in megabytes.").tag(config=True)
    output_kb = Integer(64, help="How much a cell may print, in kilobytes; the rest is dropped.").tag(
        config=True
    )
    sandbox = Unicode("bubblewrap", help="What keeps a submission in; see autograder/sandbox.py.").tag(
        config=True
    )
    data_files = List(Unicode(), DATA_FILES, help="Patterns of data files taken from a submission.").tag(
        config=True
    )
    reference = Dict(help="For each assignment, the files of tinytorch_ref that it may import.").tag(
        config=True
    )
    datasets = List(Unicode(), help="Assignments that may read tinytorch_ref/datasets.").tag(config=True)

    def limits(self):
        """Limits of a run, as the runner takes them."""
        names = ("cell_seconds", "submission_seconds", "memory_mb", "processes", "file_mb", "output_kb")
        return {name: getattr(self, name) for name in names}

    def payload(self, nb, resources):
        """What the runner needs to know of a sanitised notebook, as JSON.

        The seed follows from the rest, so that the same work always meets the same random numbers, and nobody
        knows them before the work is handed in.
        """
        payload = {
            "cells": [_task(index, cell) for index, cell in enumerate(nb.cells) if cell.cell_type == "code"],
            "files": self._files(Path(resources["metadata"].get("path") or ".")),
            "reference": self.reference_sources(resources["nbgrader"]["assignment"]),
            "data": self.reference_data(resources["nbgrader"]["assignment"]),
        }
        payload["seed"] = int.from_bytes(hashlib.sha256(canonical(payload)).digest()[:4])
        return payload

    def _files(self, folder):
        files = [file for file in sorted(folder.iterdir()) if file.is_file() and not file.is_symlink()]
        wanted = [file for file in files if any(fnmatch.fnmatchcase(file.name, p) for p in self.data_files)]
        return {
            file.name: base64.b64encode(file.read_bytes()).decode()
            for file in wanted
            if file.name != TIMESTAMP
        }

    def reference_sources(self, assignment):
        """The part of the reference package that an assignment may import, as ``[[name, text], ...]``."""
        names = self.reference.get(assignment, [])
        try:
            return [[name, (Path("tinytorch_ref") / name).read_text("utf-8")] for name in names]
        except OSError as error:
            raise RunFailed(f"{error.filename} is missing: build the reference package first") from None

    def reference_data(self, assignment):
        """The data sets that come with the reference package, as ``{name: base64}``."""
        files = sorted(Path("tinytorch_ref/datasets").rglob("*")) if assignment in self.datasets else []
        files = [file for file in files if file.is_file() and "__pycache__" not in file.parts]
        named = {file.relative_to("tinytorch_ref").as_posix(): file.resolve() for file in files}
        return {name: _base64(file, file.stat().st_mtime_ns) for name, file in named.items()}

    def preprocess(self, nb, resources):
        payload = self.payload(nb, resources)
        ledger = Ledger(ledger_folder(Path.cwd()))
        key = ledger.key(payload, self.limits())
        result = ledger.get(key) or self._run(payload, ledger, key)
        write_outputs(nb, result)
        resources["tinytorch_result"] = result
        return nb, resources

    def _run(self, payload, ledger, key):
        from autograder.runner import Runner

        with Runner(self.limits(), sandbox=self.sandbox) as runner:
            result = runner.run(payload)
        if result["status"] != "ok":
            raise RunFailed(result["reason"])
        ledger.put(key, result)
        return result


@functools.lru_cache(maxsize=100)
def _base64(file, changed):
    """A file as text; kept, because every submission of a class gets the same."""
    return base64.b64encode(file.read_bytes()).decode()


def _task(index, cell):
    """One code cell as the runner takes it."""
    graded = is_grade(cell) and not is_solution(cell)
    if graded:
        kind = "hidden" if HIDDEN in cell.source else "graded"
    else:
        kind = "setup" if is_locked(cell) else "student"
    return {
        "index": index,
        "kind": kind,
        "grade_id": cell.metadata.get("nbgrader", {}).get("grade_id"),
        "points": float(cell.metadata.nbgrader.points) if graded else 0.0,
        "source": cell.source,
    }


def cell_result(result, index):
    """What a result says of the cell at `index`, whether or not it has been through JSON."""
    cells = result["cells"]
    return cells.get(index) or cells.get(str(index)) or NOT_RUN


def review(told):
    """Why a person should look at a graded cell; None if nobody needs to."""
    error = told.get("error") or {}
    mistake = (
        f"the test itself is at fault: {error['message']}" if error.get("name") == "GraderError" else None
    )
    return told.get("review") or mistake


NOT_RUN = {
    "stdout": "",
    "result": None,
    "error": {"name": "NotRun", "message": "This cell was not reached.", "where": ""},
    "score": 0.0,
    "review": None,
}


def write_outputs(nb, result):
    """Write a result into a notebook as outputs, so that nbgrader's own scoring agrees with it."""
    count = 0
    for index, cell in enumerate(nb.cells):
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = _outputs(cell, cell_result(result, index), count)


def _outputs(cell, told, count):
    outputs = [new_output("stream", name="stdout", text=told["stdout"])] if told["stdout"] else []
    if told["error"]:
        return outputs + [_error(told["error"])]
    graded = is_grade(cell) and not is_solution(cell)
    shown = _partial(told, float(cell.metadata.nbgrader.points)) if graded else told["result"]
    if shown is not None:
        outputs.append(new_output("execute_result", data={"text/plain": shown}, execution_count=count))
    return outputs


def _partial(told, points):
    """The value that tells nbgrader the points of a partly right cell; without one it gives all."""
    score = told["score"]
    return None if score is None or score >= points else repr(max(float(score), 0.0))


def _error(error):
    lines = [line for line in (error.get("where"), f"{error['name']}: {error['message']}") if line]
    return new_output(
        "error", ename=error["name"], evalue=error["message"], traceback="\n".join(lines).split("\n")
    )


class MarkReviews(NbGraderPreprocessor):
    """Marks the grades that the runner wants a person to look at; it comes after SaveAutoGrades."""

    def preprocess(self, nb, resources):
        result = resources.get("tinytorch_result", {"cells": {}})
        told = [(cell, cell_result(result, i)) for i, cell in enumerate(nb.cells) if is_grade(cell)]
        labels = [cell.metadata.nbgrader.grade_id for cell, said in told if review(said)]
        if labels:
            self._mark(labels, resources["nbgrader"])
        return nb, resources

    def _mark(self, labels, names):
        with Gradebook(names["db_url"]) as book:
            for label in labels:
                grade = book.find_grade(label, names["notebook"], names["assignment"], names["student"])
                grade.needs_manual_grade = True
            book.db.commit()
