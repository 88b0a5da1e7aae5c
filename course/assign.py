"""The student's notebook, made by nbgrader itself in a scratch course with a scratch gradebook."""

import contextlib
import logging
import sqlite3
import tempfile
from pathlib import Path

from course import notebook
from course.layout import CourseError

LEAKS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN TESTS", "END HIDDEN TESTS", "BEGIN MARK SCHEME")


def release_files(course, item, solved):
    """What `release/NN_name/` holds for an instructor notebook.

    Parameters
    ----------
    course : layout.Course
    item : catalog.Module or catalog.Milestone
    solved : nbformat.NotebookNode

    Returns
    -------
    dict of str to bytes
        Content by path inside the folder: the notebook, and other files of the source such as pictures.

    Raises
    ------
    CourseError
        If nbgrader refuses, or a solution or a hidden test is left in the result.
    """
    with tempfile.TemporaryDirectory(prefix="tinytorch-") as scratch:
        scratch = Path(scratch)
        files = _source_files(course, item)
        files[f"{item.id}.ipynb"] = notebook.to_bytes(solved)
        _write_all(scratch / "source" / item.id, files)
        _empty_gradebook(scratch / "gradebook.db")
        _generate(course, item, scratch)
        files = _read_all(scratch / "release" / item.id)
    name = f"{item.id}.ipynb"
    files[name] = notebook.to_bytes(notebook.settle(notebook.read_bytes(files[name])))
    _no_leak(item, files)
    return files


def configuration(course, scratch):
    """The course's nbgrader configuration, moved to a scratch folder."""
    from traitlets.config import Config
    from traitlets.config.loader import PyFileConfigLoader

    config = Config()
    if (course.root / "nbgrader_config.py").exists():
        config = PyFileConfigLoader("nbgrader_config.py", path=str(course.root)).load_config()
    config.CourseDirectory.root = str(scratch)
    config.CourseDirectory.db_url = f"sqlite:///{scratch / 'gradebook.db'}"
    return config


def _empty_gradebook(path):
    """A database that looks stamped: to stamp one, nbgrader starts a process that takes seconds."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        database.commit()


def _generate(course, item, scratch):
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory

    config = configuration(course, scratch)
    directory = CourseDirectory(config=config)
    directory.assignment_id = item.id
    converter = GenerateAssignment(coursedir=directory, config=config)
    log = logging.Logger("tinytorch.assign")
    heard = _Heard()
    log.addHandler(heard)
    converter.log = directory.log = log
    try:
        converter.start()
    except SystemExit:
        raise CourseError(f"{item.id}: nbgrader refuses the notebook. {heard.last()}") from None
    except Exception as error:
        raise CourseError(f"{item.id}: nbgrader refuses the notebook. {error}") from error


class _Heard(logging.Handler):
    """Remembers errors, to show the last one."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())

    def last(self):
        text = next((message for message in self.messages if "rror" in message), "")
        return text.strip().splitlines()[-1] if text.strip() else ""


def _source_files(course, item):
    folder = course.source(item).parent
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in (".py", ".ipynb") and not _private(path.relative_to(folder))
    }


def _private(path):
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)


def _write_all(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _read_all(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _no_leak(item, files):
    for name, content in files.items():
        text = content.decode("utf-8", errors="replace")
        leak = next((mark for mark in LEAKS if mark in text), None)
        if name.endswith(".py") or leak:
            raise CourseError(f"{item.id}: release/{item.id}/{name} would leak ({leak or 'a Python file'}).")
