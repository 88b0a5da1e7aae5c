"""Small courses in temporary folders, for the tests of building and handing out."""

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from course import build
from course.layout import Course

REPO = Path(__file__).resolve().parents[1]
NOTEBOOKS = Path(__file__).parent / "notebooks"
NEUTRAL = {"PYTHONPATH": str(REPO), "TINYTORCH_USE": "", "TINYTORCH_GRADEBOOK": ""}


def make_course(folder, *names):
    """A course with the small notebooks of the given modules, nothing built yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("pyproject.toml", "requirements.lock", "nbgrader_config.py"):
        shutil.copy(REPO / name, folder / name)
    (folder / "course").symlink_to(REPO / "course")
    (folder / "gradebook").mkdir()
    for name in names or ("01_tensor",):
        (folder / "source" / name).mkdir(parents=True)
        shutil.copy(NOTEBOOKS / f"{name}.py", folder / "source" / name)
    return Course(folder.resolve())


@functools.cache
def _built():
    folder = Path(tempfile.mkdtemp(prefix="tinytorch-test-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    course = make_course(folder / "course", "01_tensor", "02_activations")
    build.build(course=course, say=lambda line: None)
    return course


def built_course(folder):
    """A copy of a course with two small modules, built."""
    shutil.copytree(_built().root, folder, symlinks=True, dirs_exist_ok=True)
    return Course(folder.resolve())


def change(path, old, new):
    """Replace a piece of a text file that occurs there once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path} holds {old!r} {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")


def solve(course, item):
    """Put the solved notebook where a student works, without its hidden tests."""
    from course import notebook
    from course.cells import cells

    solved = notebook.read_bytes(course.solved(item).read_bytes())
    released = notebook.read_bytes(course.release(item).read_bytes())
    for cell in cells(solved):
        if cell.solution:
            released.cells[cell.index].source = cell.source
    path = course.root / item.id / f"{item.id}.ipynb"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(notebook.to_bytes(released))
    return path


def tinytorch(folder, *words, program="course.cli", **environment):
    """Run the command line in a folder; gives the finished process with its output as text."""
    return subprocess.run(
        [sys.executable, "-P", "-c", f"from {program} import main; main()", *words],
        cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=300,
        env=os.environ | NEUTRAL | environment,
    )  # fmt: skip
