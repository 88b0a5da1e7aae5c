"""Run a student's notebook on the student's own machine: which checks pass, and why the others do not.

The notebook runs in a fresh interpreter, started on this same file: one namespace, cell after cell.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from course import cells

CELL_SECONDS = 30
GRACE_SECONDS = 5
UNSOLVED = "Not written yet."


class Row(NamedTuple):
    """One graded check: its name, its points, how many of them were got, and why not all."""

    name: str
    points: float
    got: float
    reason: str


class Report(NamedTuple):
    """All checks of a notebook, what went wrong in its other cells, and what all of them printed."""

    rows: list
    troubles: list
    printed: str

    @property
    def passed(self):
        return all(row.got == row.points for row in self.rows)


def check(course, item, notebook=None, seconds=CELL_SECONDS):
    """Run the visible checks of a student's notebook.

    Parameters
    ----------
    course : layout.Course
    item : catalog.Module or catalog.Milestone
    notebook : pathlib.Path, optional
        By default the student's working copy, or else the released notebook.
    seconds : float
        Time that a cell may take.

    Returns
    -------
    Report
        Hidden tests and questions that a person grades are not in it.

    Raises
    ------
    CourseError
        If the notebook is missing or unreadable.
    """
    path = Path(notebook) if notebook else course.working_copy(item)
    return examine(course, item, cells.read(path), path.parent, seconds)


def examine(course, item, own, folder, seconds, **options):
    """As `check`, for cells that were read before; `options` are those of `run`."""
    results = run([cell for cell in own if cell.kind == "code"], folder, course.root, seconds, **options)
    rows = [_row(cell, results.get(cell.index)) for cell in own if _is_check(cell)]
    printed = "".join(result["printed"] for result in results.values())
    return Report(rows + _deleted(course, item, own), _troubles(own, results), printed)


def _is_check(cell):
    """Whether a cell is a visible check: nothing but comments is left of a hidden test in a release."""
    return cell.graded and any(
        line.strip() and not line.lstrip().startswith("#") for line in cell.source.splitlines()
    )


def _deleted(course, item, own):
    """Rows for checks of the released notebook that this one no longer has."""
    released = course.release(item)
    if not released.exists():
        return []
    present = {cell.grade_id for cell in own if cell.graded}
    missing = [cell for cell in cells.read(released) if _is_check(cell) and cell.grade_id not in present]
    return [Row(cell.grade_id, cell.points, 0.0, "The check is gone from your notebook.") for cell in missing]


def _row(cell, result):
    if result is None:
        return Row(cell.where, cell.points, 0.0, "Not reached.")
    if result["error"]:
        return Row(cell.where, cell.points, 0.0, result["error"])
    score = result["score"]
    got = cell.points if score is None else min(max(score, 0.0), cell.points)
    return Row(cell.where, cell.points, got, "" if got == cell.points else result["printed"].strip())


def _troubles(own, results):
    """What other cells raised, but for exercises that are still to be written."""
    found = []
    for cell in own:
        error = (results.get(cell.index) or {}).get("error")
        if error and not cell.graded and error != UNSOLVED:
            found.append(f"{cell.where}: {error}")
    return found


# The two ends of one run: here the parent, which waits and holds the watch.


def run(code, folder, root, seconds, live=False, whose=None):
    """Run cells in a fresh interpreter.

    Parameters
    ----------
    code : list of cells.Cell
        Code cells, in order.
    folder : pathlib.Path
        Where they run.
    root : pathlib.Path
        Folder of the packages that they import.
    seconds : float
        A cell that takes longer is interrupted; if that does not help, the run ends there.
    live : bool
        Whether what the cells print is shown as they run.
    whose : str, optional
        Whose modules they import, "mine" or "reference"; by default those in use now.

    Returns
    -------
    dict of int to dict
        By the index of each cell that was begun: "error" (str, empty if none), "score" (float or None),
        "printed" (str).
    """
    with tempfile.TemporaryDirectory(prefix="tinytorch-") as scratch:
        task, answers = Path(scratch) / "task.json", Path(scratch) / "answers"
        sources = [[cell.index, cell.where, cells.python_only(cell.source)] for cell in code]
        work = {"cells": sources, "seconds": seconds, "live": live}
        task.write_text(json.dumps(work), encoding="utf-8")
        answers.touch()
        path = [str(root), str(Path(__file__).resolve().parent.parent), os.environ.get("PYTHONPATH", "")]
        environment = {"OPENBLAS_NUM_THREADS": "1"} | os.environ | {  # as in grading
            "PYTHONPATH": os.pathsep.join(part for part in path if part),
            "MPLBACKEND": "agg",
            "PYTHONUTF8": "1",
        }
        if whose:
            environment["TINYTORCH_USE"] = whose
        heard = None if live else subprocess.DEVNULL
        sys.stdout.flush()
        process = subprocess.Popen(
            [sys.executable, "-m", "course.check", str(task), str(answers)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=heard,
            stderr=heard,
        )
        try:
            _wait(process, answers, seconds + GRACE_SECONDS)
        finally:
            process.kill()
            process.wait()
        return _read_answers(answers, seconds)


def _wait(process, answers, patience):
    """Until the process ends, or says nothing new for too long."""
    size, since = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(0.05)
        if answers.stat().st_size != size:
            size, since = answers.stat().st_size, time.monotonic()
        if time.monotonic() - since > patience:
            return


def _read_answers(answers, seconds):
    results = {}
    for line in answers.read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)
        results[answer.pop("index")] = answer
    for answer in results.values():
        if answer.pop("begun", False):
            answer["error"] = (
                f"It ended Python, or took more than {seconds:g} s and could not be interrupted."
            )
    return results


# The other end: the child, which runs the cells.


def _child(task, answers):
    """Run the cells of the file `task`, and append one line to the file `answers` as each begins and ends."""
    import types

    work = json.loads(Path(task).read_text(encoding="utf-8"))
    main = types.ModuleType("__main__")
    main.display = lambda *things, **options: None
    sys.modules["__main__"] = main
    sys.path[0] = os.getcwd()
    with open(answers, "a", encoding="utf-8") as stream:
        for index, name, source in work["cells"]:
            _say(stream, {"index": index, "begun": True, "error": "", "score": None, "printed": ""})
            _say(stream, {"index": index, **_run_cell(main.__dict__, name, source, work)})


def _say(stream, answer):
    stream.write(json.dumps(answer) + "\n")
    stream.flush()


def _printed(live):
    """A stream that remembers what is printed, and if `live` passes it on."""
    import io

    shown = sys.stdout

    class Tee(io.StringIO):
        def write(self, text):
            if live:
                shown.write(text)
                shown.flush()
            return super().write(text)

        def isatty(self):
            return live and shown.isatty()

    return Tee()


def _run_cell(namespace, name, source, work):
    import _thread
    import contextlib
    import linecache
    import threading

    filename, seconds = f"<{name}>", work["seconds"]
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    printed, score, error = _printed(work["live"]), None, ""
    watch = threading.Timer(seconds, _thread.interrupt_main)
    watch.start()
    try:
        with contextlib.redirect_stdout(printed):
            score = _number(_execute(source, filename, namespace))
    except KeyboardInterrupt:
        error = f"It took more than {seconds:g} s."
    except BaseException as raised:
        error = _explain(raised, filename)
    finally:
        watch.cancel()
    return {"error": error, "score": score, "printed": printed.getvalue()[-4000:]}


def _execute(source, filename, namespace):
    """Run a cell; its value is that of its last line, if that is an expression."""
    import ast

    tree = ast.parse(source, filename)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, filename, "exec"), namespace)
    if last is not None:
        return eval(compile(ast.Expression(last.value), filename, "eval"), namespace)


def _number(value):
    """A score, as nbgrader reads one from the last line of a test: a plain number, but no truth value."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _explain(raised, filename):
    """A failed check's own message; for other errors name, message, line in the cell, and place in the package."""
    import traceback

    if isinstance(raised, NotImplementedError) and not str(raised):
        return UNSOLVED
    if isinstance(raised, AssertionError) and str(raised):
        return str(raised)
    text = f"{type(raised).__name__}: {raised}".rstrip(": ")
    if isinstance(raised, SyntaxError):
        return f"{type(raised).__name__}: {raised.msg} (line {raised.lineno})"
    frames = traceback.extract_tb(raised.__traceback__)
    places = [f"line {frame.lineno}" for frame in frames if frame.filename == filename][-1:]
    package = [frame for frame in frames if Path(frame.filename).parent.name in ("my_tinytorch", "tinytorch_ref")]
    for frame in package[-1:]:
        path = Path(frame.filename)
        places.append(f"{path.parent.name}/{path.name}, line {frame.lineno}")
    return f"{text} ({'; '.join(places)})" if places else text


if __name__ == "__main__":
    _child(*sys.argv[1:])
