"""Build the course: from the instructors' notebooks to the students' notebooks and the reference package.

For each module, in order: read the script, check its style, run it, let nbgrader make the release, look for
leaks, score the solution and the blank release, and only then replace the files in `release/` and
`tinytorch_ref/`. At last come the pages of `docs/` that are gathered from all of them.
"""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from course import assign, catalog, errors, execute, notebook, package, paths, style, verify
from course.cells import cells
from course.layout import CourseError, find_course, find_item, replace_files
from course.use import OVERLAY

HERE = Path(__file__).resolve().parent
BUILDER = [
    HERE / f"{name}.py" for name in "assign build cells execute notebook package style use verify".split()
]
BUILDER += [HERE.parent / "autograder" / f"{name}.py" for name in ("checks", "compare", "figures")]
BUILDER += sorted(HERE.parent.glob("autograder/counters/*.py"))


class Built(NamedTuple):
    """What became of one module: `run` is None if it was up to date."""

    item: object
    run: object


def build(ids=None, force=False, course=None, say=print):
    """Build the given modules and milestones, or all; those that are up to date are skipped.

    Parameters
    ----------
    ids : list of str, optional
        Names as `catalog.find` takes them; by default all that have a source.
    force : bool
        Build even what is up to date.
    course : layout.Course, optional
        By default the course around the current folder.
    say : callable
        Takes a line of text about each module.

    Returns
    -------
    list of Built

    Raises
    ------
    CourseError
        At the first module that cannot be built. Its old release and reference module are untouched.
    """
    course = course or find_course()
    _write({course.reference / "__init__.py": OVERLAY.encode()})
    built = [_build_one(course, item, force, say) for item in _chosen(course, ids)]
    _write(_pages(course))
    return built


def stale(ids=None, course=None):
    """Generated files that are not what their source says now, found without running anything.

    Returns
    -------
    list of str
        Paths from the root of the course: files that differ, are missing, or should not be there.
    """
    course = course or find_course()
    expected = {course.reference / "__init__.py": OVERLAY.encode()} | ({} if ids else _pages(course))
    for item in _chosen(course, ids):
        expected |= _products(course, item, _read(course, item))
    wrong = [path for path, content in expected.items() if not _holds(path, content)]
    for item in _chosen(course, ids):
        wrong += _left_over(course, item, expected)
    return sorted(path.relative_to(course.root).as_posix() for path in wrong)


def _chosen(course, ids):
    items = [find_item(word) for word in ids] if ids else course.sources()
    for item in items:
        if not course.source(item).exists():
            raise CourseError(f"{item.id} has no source: {course.source(item)} does not exist.")
    return items


def _build_one(course, item, force, say):
    stamp = _stamp(course, item)
    before = _recorded(course).get(item.id, {}).get("stamp")
    if not force and before == stamp | {"made": _made(course, item)}:
        say(f"{item.id}: up to date")
        return Built(item, None)
    solved = _read(course, item)
    replace_files({course.solved(item): notebook.to_bytes(solved)})
    run = execute.run(course, item, solved)
    files = _products(course, item, solved)
    released = notebook.read_bytes(files[course.release(item)])
    verify.verify(course, item, solved, released)
    replace_files(files)
    for path in _left_over(course, item, files):
        path.unlink()
    _record(course, item, {"stamp": stamp | {"made": _made(course, item)}, "run": run._asdict()})
    for note in style.notes(cells(solved)):
        say(f"{item.id}: note: {note}")
    say(f"{item.id}: built; it runs in {run.seconds:.1f} s, {run.peak_bytes / 2**20:.0f} MiB at most")
    return Built(item, run)


def _read(course, item):
    """The instructor's notebook, which keeps to the style."""
    solved = notebook.read_script(course.source(item).read_text(encoding="utf-8"))
    if found := style.complaints(cells(solved), item):
        raise CourseError(
            "\n".join([f"{item.id} does not keep to the style:", *(f"  {line}" for line in found)])
        )
    return solved


def _products(course, item, solved):
    """Path and content of all files that a notebook is built into."""
    folder = course.release(item).parent
    files = {folder / name: content for name, content in assign.release_files(course, item, solved).items()}
    if isinstance(item, catalog.Module):
        files[course.reference / f"{item.file}.py"] = _reference_module(course, item, solved)
    return files


def _reference_module(course, item, solved):
    source = course.source(item).relative_to(course.root).as_posix()
    exported = [cell.source for cell in cells(solved) if cell.exported]
    note = f"Built from {source} by `tinytorch build`; change it there."
    return package.module_text(exported, note=note).encode("utf-8")


def _pages(course):
    """Pages of the documentation that are made of what the whole course says."""
    docs = course.root / "docs"
    texts = {docs / "common-errors.md": errors.page(course), docs / "paths.md": paths.page()}
    return {path: text.encode("utf-8") for path, text in texts.items()}


def _write(files):
    """Write those files that do not hold what they should."""
    replace_files({path: content for path, content in files.items() if not _holds(path, content)})


def _holds(path, content):
    return path.exists() and path.read_bytes() == content


def _left_over(course, item, expected):
    """Files in the release folder that its source no longer makes."""
    folder = course.release(item).parent
    present = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in present if path not in expected and ".ipynb_checkpoints" not in path.parts]


def _stamp(course, item):
    """Hashes of all that a build depends on."""
    folder = course.source(item).parent
    own = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".ipynb"]
    before = [course.reference / f"{module.file}.py" for module in course.modules_before(item)]
    builder = [*BUILDER, course.root / "nbgrader_config.py"]
    return {"source": _hash(own), "before": _hash(before), "builder": _hash(builder)}


def _made(course, item):
    """Hash of what a build left, so that a file changed by hand counts as out of date."""
    paths = [path for path in course.release(item).parent.rglob("*") if path.is_file()]
    if isinstance(item, catalog.Module):
        paths.append(course.reference / f"{item.file}.py")
    return _hash([*paths, course.solved(item)])


def _hash(paths):
    digest = hashlib.sha256()
    for path in sorted(path for path in paths if path.exists()):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _recorded(course):
    try:
        return json.loads((course.state / "build.json").read_text())
    except (OSError, ValueError):
        return {}


def _record(course, item, entry):
    text = json.dumps(_recorded(course) | {item.id: entry}, indent=1, sort_keys=True)
    replace_files({course.state / "build.json": text.encode()})
