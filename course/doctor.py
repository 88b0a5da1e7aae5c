"""What is wrong with an installation, and the cure."""

import importlib.metadata
import os
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

MATTERS = "numpy matplotlib jupyterlab nbgrader nbclient nbconvert jupytext typer rich".split()


class Finding(NamedTuple):
    """One thing looked at: `state` is "ok", "note" (worth knowing) or "wrong"; `cure` says what to do."""

    name: str
    state: str
    what: str
    cure: str = ""


def examine(course):
    """Look at everything that the course needs.

    Parameters
    ----------
    course : layout.Course

    Returns
    -------
    list of Finding
    """
    found = [_python(), _versions(course), _kernel(), _scripts()]
    if (course.root / "nbgrader_config.py").exists():
        found += [_sandbox(), _gradebook(course)]
    return found


def _python():
    version = sys.version.split()[0]
    if sys.version_info < (3, 11):
        return Finding(
            "Python", "wrong", version, "Install Python 3.11 or newer, and make the .venv with it."
        )
    return Finding("Python", "ok", f"{version} ({sys.executable})")


def _versions(course):
    """Installed versions against the lock, or against the pins of a hand-out."""
    name = next((n for n in ("requirements.lock", "requirements.txt") if (course.root / n).exists()), None)
    if name is None:
        return Finding(
            "Packages", "wrong", "no requirements.lock", "Restore it from the course's repository."
        )
    text = (course.root / name).read_text(encoding="utf-8")
    pins = dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", text, re.MULTILINE))
    wrong = [
        problem for package in MATTERS if package in pins and (problem := _version(package, pins[package]))
    ]
    if wrong:
        return Finding("Packages", "wrong", ", ".join(wrong), f"{sys.executable} -m pip install -r {name}")
    return Finding("Packages", "ok", f"as in {name}")


def _version(package, pin):
    try:
        installed = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return f"{package} is missing"
    return "" if installed == pin else f"{package} is {installed}, not {pin}"


def _kernel():
    """The kernel that notebooks ask for by the name python3 must run this very Python."""
    cure = f"{sys.executable} -m ipykernel install --sys-prefix --name python3"
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError:
        return Finding(
            "Kernel", "wrong", "jupyter_client is missing", f"{sys.executable} -m pip install jupyterlab"
        )
    try:
        command = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except NoSuchKernel:
        return Finding("Kernel", "wrong", "there is no kernel called python3", cure)
    found = sys.executable if command in ("python", "python3") else shutil.which(command)
    if found is None or not os.path.exists(found) or Path(found).parent != Path(sys.executable).parent:
        return Finding("Kernel", "wrong", f"python3 starts {command}, not {sys.executable}", cure)
    return Finding("Kernel", "ok", "python3 is this Python")


def _scripts():
    """nbgrader calls alembic and jupyter by name, so this Python's own must be found first."""
    here = Path(sys.executable).parent
    missing = [name for name in ("alembic", "jupyter") if not shutil.which(name, path=str(here))]
    if missing:
        return Finding(
            "PATH", "wrong", f"{' and '.join(missing)} not in {here}", "Install the packages of the lock."
        )
    others = [name for name in ("alembic", "jupyter") if _folder_of(name) != here]
    if others:
        cure = f"Only for plain nbgrader commands: put {here} first on PATH (activate the .venv)."
        return Finding("PATH", "note", f"a plain {' or '.join(others)} is not this Python's", cure)
    return Finding(
        "PATH", "ok", f"begins with {here}" if _first_on_path(here) else f"finds the scripts in {here}"
    )


def _folder_of(name):
    found = shutil.which(name)
    return Path(found).parent if found else None


def _first_on_path(folder):
    return os.environ.get("PATH", "").split(os.pathsep)[0] == str(folder)


def _sandbox():
    from autograder import sandbox

    ready, why = sandbox.available()
    return (
        Finding("Sandbox", "ok", why)
        if ready
        else Finding("Sandbox", "wrong", "none: submissions run open", why)
    )


def _gradebook(course):
    from gradebook.location import database_url

    url = database_url(course.root)
    if not url.startswith("sqlite:///"):
        return _server(url)
    file = Path(url.removeprefix("sqlite:///"))
    if os.access(file.parent, os.W_OK) and (not file.exists() or os.access(file, os.W_OK)):
        return Finding("Gradebook", "ok", f"{file} can be written")
    return Finding(
        "Gradebook",
        "wrong",
        f"{file} cannot be written",
        f"Give yourself the right to write in {file.parent}.",
    )


def _server(url):
    import sqlalchemy

    try:
        with sqlalchemy.create_engine(url).connect():
            return Finding("Gradebook", "ok", "the database server of TINYTORCH_GRADEBOOK answers")
    except Exception as error:
        cure = "Look at the address in TINYTORCH_GRADEBOOK, its driver, and whether the server runs."
        return Finding(
            "Gradebook", "wrong", f"the database server does not answer ({type(error).__name__})", cure
        )
