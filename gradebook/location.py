"""Where the records of a class live, and how they are written: whole or not at all."""

import json
import os
import sys
import tempfile
from pathlib import Path

CONFIG = "nbgrader_config.py"


def find_root(start=None):
    """Folder of the course: the nearest one, going up from `start`, that holds nbgrader_config.py.

    Parameters
    ----------
    start : path, optional
        The current folder by default.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    FileNotFoundError
        If no folder on the way up is a course.
    """
    start = Path(start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / CONFIG).is_file():
            return folder
    raise FileNotFoundError(f"{start} is not inside a course: no {CONFIG} here or above")


def database_url(root):
    """URL of nbgrader's database; the environment variable TINYTORCH_GRADEBOOK, if set, names another one."""
    return (
        os.environ.get("TINYTORCH_GRADEBOOK")
        or f"sqlite:///{Path(root).resolve() / 'gradebook' / 'gradebook.db'}"
    )


def ledger_folder(root):
    """Folder of the results of runs, by content."""
    return Path(root) / "gradebook" / "ledger"


def status_folder(root, assignment):
    """Folder with one status file a student."""
    return Path(root) / "gradebook" / "status" / assignment


def status_file(root, assignment, student):
    """The file that says what came of one submission."""
    return status_folder(root, assignment) / f"{student}.json"


def read_status(root, assignment, student):
    """What came of the last grading of one submission.

    Returns
    -------
    dict or None
        None if it was never graded by us, or if the file cannot be read.
    """
    return read_json(status_file(root, assignment, student))


def read_statuses(root, assignment):
    """All statuses of an assignment, as ``{student: dict}``, in order of the students' names."""
    found = {file.stem: read_json(file) for file in sorted(status_folder(root, assignment).glob("*.json"))}
    return {student: status for student, status in found.items() if status}


def read_json(path):
    """A JSON object from `path`; None if there is none or if it is damaged."""
    try:
        value = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def write_json(path, value):
    """Write `value` to `path` in one step."""
    write_whole(path, json.dumps(value, ensure_ascii=False, indent=1).encode())


def write_whole(path, content):
    """Write bytes to `path`, so that a reader sees the old file or the new one, never a part."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def import_nbgrader_quickly():
    """Call this before the first import of nbgrader in a process of our own.

    jsonschema compiles a whole grammar of IRIs when it finds `rfc3987_syntax`: two seconds, for a check that
    no notebook needs. nbgrader also starts `alembic` by name, so the folder of this Python goes on PATH.
    """
    if "jsonschema" not in sys.modules:
        sys.modules.setdefault("rfc3987_syntax", None)
    scripts = str(Path(sys.executable).parent)
    if scripts not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = scripts + os.pathsep + os.environ.get("PATH", "")
