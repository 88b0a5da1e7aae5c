"""A course of one small assignment in a temporary folder, for the tests of grading."""

import atexit
import functools
import json
import shutil
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
ASSIGNMENT = "01_tensor"

ADD = """def add(a, b):
    \"\"\"Sum of two numbers.\"\"\"
    ### BEGIN SOLUTION
    return a + b
    ### END SOLUTION"""

SCALE = """def scale(a, factor):
    \"\"\"A list with every item multiplied.\"\"\"
    ### BEGIN SOLUTION
    return [item * factor for item in a]
    ### END SOLUTION"""

ADD_CHECK = """# Check (4 points): adds two numbers.
check.equal(add(2, 3), 5, because="the two operands are added")"""

ADD_HIDDEN = """# Hidden tests (3 points): negative numbers.
### BEGIN HIDDEN TESTS
check.equal(add(-217, 3), -214, because="secret cause of a hidden test")
### END HIDDEN TESTS"""

SCALE_CHECK = """# Check (4 points): the values, and an empty list.
p = check.partial(4)
with p.part(3, "the values"):
    check.equal(scale([1, 2], 2), [2, 4], because="every item is multiplied")
with p.part(1, "an empty list"):
    check.equal(scale([], 2), [], because="there is nothing to multiply")
p.score()"""

ANSWERS = {
    "add": "def add(a, b):\n    return b + a",
    "scale": "def scale(a, factor):\n    return [factor * x for x in a]",
}


def cell(kind, source, label=None, points=None, **flags):
    """One cell of a source notebook."""
    metadata = {}
    if label:
        told = {
            "grade": False,
            "locked": False,
            "solution": False,
            "task": False,
            "schema_version": 3,
            **flags,
        }
        metadata["nbgrader"] = {"grade_id": label, **told, **({} if points is None else {"points": points})}
    made = {
        "cell_type": kind,
        "id": label or f"cell-{abs(hash(source)) % 10**6}",
        "metadata": metadata,
        "source": source,
    }
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def source_notebook(extra=()):
    """The source notebook: two exercises, a hidden test, partial credit and a written answer, 16 points."""
    cells = [
        cell("markdown", "# A tiny assignment\n\nIf $a<b$ then `a < b`."),
        cell("code", "import math\n\nimport numpy as np", "setup", locked=True),
        cell("code", ADD, "add", solution=True),
        cell("code", "# Try it\nadd(1, 2)"),
        cell("code", ADD_CHECK, "add_check", 4, grade=True, locked=True),
        cell("code", ADD_HIDDEN, "add_hidden", 3, grade=True, locked=True),
        cell("code", SCALE, "scale", solution=True),
        cell("code", SCALE_CHECK, "scale_check", 4, grade=True, locked=True),
        cell("markdown", "Why is `add` cheap?", "why", 5, grade=True, solution=True),
        *extra,
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def make_course(root, notebook=None):
    """Write a course into `root`: configuration, source, release, and an empty reference package."""
    root.mkdir(parents=True, exist_ok=True)
    shutil.copy(REPO / "nbgrader_config.py", root)
    (root / "gradebook").mkdir(exist_ok=True)
    (root / "tinytorch_ref").mkdir(exist_ok=True)
    (root / "tinytorch_ref" / "__init__.py").write_text('"""Empty."""\n')
    write_source(root, notebook or source_notebook())
    return root


@functools.cache
def _template():
    """A course whose database exists: making one starts alembic, which takes seconds."""
    root = make_course(Path(tempfile.mkdtemp(prefix="tiny-course-")) / "tiny")
    atexit.register(shutil.rmtree, root.parent, ignore_errors=True)
    shutil.copy(root / "build.db", root / "gradebook" / "gradebook.db")
    return root


def copy_course(root):
    """A course as from `make_course`, faster: its database has already been made."""
    shutil.copytree(_template(), root)
    return root


def write_source(root, notebook):
    """Write the source notebook, and generate its release with nbgrader as `tinytorch build` does."""
    from gradebook.location import import_nbgrader_quickly

    import_nbgrader_quickly()
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config.loader import PyFileConfigLoader

    folder = root / "source" / ASSIGNMENT
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{ASSIGNMENT}.ipynb").write_text(json.dumps(notebook))
    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    # A database of its own, which knows no submissions: the course's learns of changes by grading.
    config.CourseDirectory.db_url = f"sqlite:///{root / 'build.db'}"
    GenerateAssignment(
        coursedir=CourseDirectory(config=config, assignment_id=ASSIGNMENT), config=config, force=True
    ).start()


def released(root):
    """The released notebook, parsed."""
    return json.loads((root / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").read_text())


def by_label(notebook):
    """Cells of a notebook by their grade ids."""
    return {c["metadata"].get("nbgrader", {}).get("grade_id"): c for c in notebook["cells"]}


def solved(root, **answers):
    """The released notebook with the answers filled in; the right ones unless others are given."""
    notebook = released(root)
    for label, text in {**ANSWERS, **answers}.items():
        by_label(notebook)[label]["source"] = text
    return notebook


def hand_in(root, student, notebook):
    """Write a submission; `notebook` is a dict, or the text or bytes of the file. Returns its folder."""
    folder = root / "submitted" / student / ASSIGNMENT
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps(notebook) if isinstance(notebook, dict) else notebook
    content = content.encode() if isinstance(content, str) else content
    (folder / f"{ASSIGNMENT}.ipynb").write_bytes(content)
    return folder


class PlainRunner:
    """Stands in for the split runner where a test is about what goes on around it: one namespace for all."""

    runs = 0

    def run(self, payload):
        PlainRunner.runs += 1
        import math

        import numpy as np

        from autograder import checks

        names = {"np": np, "math": math, "check": checks}
        return {"status": "ok", "reason": "", "version": "0", "cells": {
            str(cell["index"]): self._told(cell, names) for cell in payload["cells"]
        }}  # fmt: skip

    def _told(self, cell, names):
        told = {"stdout": "", "result": None, "error": None, "score": None, "review": None, "seconds": 0.0}
        try:
            exec(cell["source"], names)  # noqa: S102
            told["score"] = cell["points"]
        except Exception as error:  # noqa: BLE001
            told["error"] = {"name": type(error).__name__, "message": str(error), "where": ""}
            told["score"] = 0.0
        return told

    def close(self):
        pass
