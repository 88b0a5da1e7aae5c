"""The folder that a student gets for one module, as a folder or a zip file."""

import io
import re
import shutil
import tempfile
import zipfile
from pathlib import Path

from course import build, catalog
from course.layout import CourseError, replace_files

HERE = Path(__file__).resolve().parent
COURSE = "__init__ catalog cells check doctor layout mine package student_cli use".split()
COURSE += "milestone paths progress".split()
DOCS = "common-errors debugging paths".split()
AUTOGRADER = "__init__ checks compare figures".split()
AUTOGRADER += sorted(f"counters/{path.stem}" for path in HERE.parent.glob("autograder/counters/*.py"))
PACKAGES = "jupyterlab matplotlib nbgrader numpy rich typer".split()
ZIP_TIME = (2020, 1, 1, 0, 0, 0)

README = """\
# {title}: {number} of TinyTorch

With Python 3.11 or newer, in this folder:

    python -m venv .venv
    .venv/bin/pip install -r requirements.txt       (Windows: .venv\\Scripts\\pip)
    .venv/bin/jupyter lab {id}/{id}.ipynb

Solve the notebook cell by cell, then ask for a verdict:

{verdict}
    .venv/bin/tinytorch progress       how far you are; --hours {word}=2.5 notes the time that you took
    .venv/bin/tinytorch doctor         says what is wrong with this installation, if anything

Where an error leaves you without an idea, `docs/common-errors.md` may know it, and `docs/debugging.md` says
how to find its cause.

Hand in the folder `{id}/`; an untouched copy of the notebook stays in `release/`.
More tests run when it is graded: they try your code on other inputs.

What you built before, and your progress, come along if you copy `my_tinytorch/` and `.tinytorch/` from the
folder of the last hand-out into this one.
"""

MODULE_VERDICT = """\
    .venv/bin/tinytorch check {word}       which checks pass, and why the others do not
    .venv/bin/tinytorch package {word}     puts your code into my_tinytorch/
    .venv/bin/tinytorch use mine       from now on, imports of tinytorch_ref find your modules first"""

MILESTONE_VERDICT = """\
    .venv/bin/tinytorch milestone {word}           runs it, and says whether its bar is reached
    .venv/bin/tinytorch milestone {word} --mine    the same on your own modules, in my_tinytorch/"""

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "tinytorch"
version = "{version}"
description = "Student tools of the TinyTorch course"
requires-python = ">=3.11"
dependencies = [{dependencies}]

[project.scripts]
tinytorch = "course.student_cli:main"

[tool.setuptools]
packages = ["autograder", "autograder.counters", "course", "tinytorch_ref"]
"""


def hand_out(course, item, to):
    """Write what a student gets for `item`.

    Parameters
    ----------
    course : layout.Course
    item : catalog.Module or catalog.Milestone
    to : pathlib.Path
        A folder that does not exist yet or is empty, or a file name that ends in ``.zip``, which is replaced.

    Returns
    -------
    list of str
        The paths inside, sorted.

    Raises
    ------
    CourseError
        If the release is missing or older than its source, or the folder has something in it.
    """
    _refuse_stale(course, item)
    files = contents(course, item)
    to = Path(to)
    if to.suffix == ".zip":
        replace_files({to: _zip(files, item)})
    else:
        _write_folder(to, files)
    return sorted(files)


def contents(course, item):
    """Content by path of all files in a hand-out."""
    released = course.release(item).parent
    files = {}
    for path in _files(released):
        name = path.relative_to(released).as_posix()
        files[f"{item.id}/{name}"] = files[f"release/{item.id}/{name}"] = path.read_bytes()
    own = [(course.reference, [module.file for module in course.modules_before(item)] + ["__init__"])]
    own += [(HERE, COURSE), (HERE.parent / "autograder", AUTOGRADER)]
    for folder, names in own:
        files |= {f"{folder.name}/{name}.py": (folder / f"{name}.py").read_bytes() for name in sorted(names)}
    needs_data = not isinstance(item, catalog.Module) or item.number >= 5
    for path in _files(course.reference / "datasets") if needs_data else []:
        files[path.relative_to(course.root).as_posix()] = path.read_bytes()
    for page in (course.root / "docs" / f"{name}.md" for name in DOCS):
        if page.exists():
            files[f"docs/{page.name}"] = page.read_bytes()
    return files | {name: text.encode("utf-8") for name, text in _texts(course, item).items()}


def _files(folder):
    paths = sorted(folder.rglob("*")) if folder.exists() else []
    return [
        path
        for path in paths
        if path.is_file() and not {".ipynb_checkpoints", "__pycache__"} & set(path.parts)
    ]


def _texts(course, item):
    pins = pinned((course.root / "requirements.lock").read_text(encoding="utf-8"))
    word = f"{item.number:02d}" if isinstance(item, catalog.Module) else str(item.year)
    version = re.search(
        r'^version = "(.+)"', (course.root / "pyproject.toml").read_text(encoding="utf-8"), re.M
    )[1]
    dependencies = ", ".join(f'"{name}"' for name in PACKAGES)
    return {
        "README.md": _readme(item, word),
        "pyproject.toml": PYPROJECT.format(version=version, dependencies=dependencies),
        "requirements.txt": "".join(f"{name}=={pins[name]}\n" for name in PACKAGES) + "-e .\n",
    }


def _readme(item, word):
    if isinstance(item, catalog.Module):
        number, verdict = f"module {word}", MODULE_VERDICT
    else:
        number, verdict = f"a milestone after module {item.after:02d}", MILESTONE_VERDICT
    verdict = verdict.format(word=word)
    return README.format(title=item.title, number=number, id=item.id, word=word, verdict=verdict)


def pinned(lock):
    """Version by name of the packages in the text of a lock file."""
    return dict(re.findall(r"^([a-z0-9][a-z0-9._-]*)==([^\s;\\]+)", lock, re.MULTILINE))


def _refuse_stale(course, item):
    if not course.release(item).exists():
        raise CourseError(f"{item.id} has not been built: run `tinytorch build` first.")
    before = [module.id for module in course.modules_before(item) if course.source(module).exists()]
    if wrong := build.stale([*before, item.id], course):
        raise CourseError(f"Not what the source says: {', '.join(wrong)}. Run `tinytorch build` first.")


def _zip(files, item):
    """The same bytes for the same files, on every machine and day."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"tinytorch_{item.id}/{name}", ZIP_TIME)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            archive.writestr(entry, content)
    return stream.getvalue()


def _write_folder(to, files):
    """All files or none: the folder is filled beside its place, then moved there."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise CourseError(f"{to} is not an empty folder: name a new one.")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".new-") as scratch:
        inside = Path(scratch) / "handout"
        for name, content in files.items():
            path = inside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if to.exists():
            to.rmdir()
        shutil.move(inside, to)
