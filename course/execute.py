"""Run an instructor notebook from top to bottom, in a real kernel, with what its module may use."""

import os
import re
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from course.cells import cells
from course.layout import CourseError

CELL_SECONDS = 300
PEAK = """
def peak():
    import sys
    if sys.platform.startswith("linux"):
        return 1024 * int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
    if sys.platform == "win32":
        import psutil
        return psutil.Process().memory_info().peak_wset
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak())
"""


class Run(NamedTuple):
    """What a run cost."""

    seconds: float
    peak_bytes: int


def run(course, item, notebook):
    """Execute a copy of `notebook` in a scratch folder; only the modules before `item` can be imported.

    Parameters
    ----------
    course : layout.Course
    item : catalog.Module or catalog.Milestone
    notebook : nbformat.NotebookNode

    Returns
    -------
    Run

    Raises
    ------
    CourseError
        If a cell raises, or a graded cell loses points or writes to stderr (plain nbgrader would give it none).
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    executed = nbformat.from_dict(notebook)
    executed.cells = [nbformat.from_dict(cell) for cell in notebook.cells]
    executed.cells.append(nbformat.v4.new_code_cell(PEAK))
    with tempfile.TemporaryDirectory(prefix="tinytorch-") as scratch:
        environment = _prepare(course, item, Path(scratch))
        client = NotebookClient(
            executed,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": str(Path(scratch) / "work")}},
        )
        log = Path(scratch) / "kernel.log"
        start = time.perf_counter()
        try:
            with _environment(environment), log.open("wb") as stderr:
                client.execute(stderr=stderr)
        except CellExecutionError as error:
            raise CourseError(f"{item.id}: {_first_failure(executed, error)}") from None
        except (CellTimeoutError, DeadKernelError) as error:
            raise CourseError(f"{item.id}: {error}\n{log.read_text(errors='replace')}".strip()) from None
        seconds = time.perf_counter() - start
    _no_warnings_in_tests(item, executed)
    _all_points(item, executed)
    return Run(seconds, int(executed.cells[-1].outputs[0].text))


def _prepare(course, item, scratch):
    """Lay out the folder in which the notebook runs; returns the kernel's environment."""
    library = scratch / "library"
    package = library / "tinytorch_ref"
    package.mkdir(parents=True)
    for name in ["__init__.py"] + [f"{module.file}.py" for module in course.modules_before(item)]:
        if (course.reference / name).exists():
            shutil.copy(course.reference / name, package / name)
    if (course.reference / "datasets").exists():
        shutil.copytree(course.reference / "datasets", package / "datasets")
    ignored = shutil.ignore_patterns("*.py", "*.ipynb", ".*", "__pycache__")
    shutil.copytree(course.source(item).parent, scratch / "work", ignore=ignored)
    here = Path(__file__).resolve().parent.parent  # where the `autograder` that notebooks import lives
    return {
        "PYTHONPATH": os.pathsep.join([str(library), str(here)]),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "TINYTORCH_USE": "reference",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",  # as in grading; two threads that wait for each other crawl on a busy machine
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",
        "IPYTHONDIR": str(scratch / "ipython"),
    }


@contextmanager
def _environment(extra):
    before = dict(os.environ)
    os.environ.update(extra)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _first_failure(executed, error):
    """Which cell raised what, and in which of its lines."""
    for cell, raw in zip(cells(executed), executed.cells):
        failure = next((out for out in raw.get("outputs", ()) if out.output_type == "error"), None)
        if failure is not None:
            return f"{cell.where} raises {failure.ename}: {failure.evalue}{_line(failure)}"
    return str(error).strip().splitlines()[-1]


def _line(failure):
    plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(failure.traceback))
    match = re.search(r"^-+> *(\d+) (.*)$", plain, re.MULTILINE)
    return f"\n    line {match[1]}: {match[2].strip()}" if match else ""


def _no_warnings_in_tests(item, executed):
    for cell, raw in zip(cells(executed), executed.cells):
        text = "".join(out.text for out in raw.get("outputs", ()) if out.get("name") == "stderr")
        if cell.graded and text:
            last = text.strip().splitlines()[-1]
            raise CourseError(f"{item.id}: {cell.where} writes to stderr, which nbgrader scores 0: {last}")


def _all_points(item, executed):
    """In a student's JupyterLab, too, the solution gets all points of cells that print their score."""
    for cell, raw in zip(cells(executed), executed.cells):
        results = [out.data["text/plain"] for out in raw.get("outputs", ()) if out.output_type == "execute_result"]
        if cell.graded and results and results != [str(float(cell.points))]:
            raise CourseError(f"{item.id}: {cell.where} gives {results[0]} of {cell.points:g} points in JupyterLab")
