"""A student's own notebook as a module of `my_tinytorch/`."""

import os
import re
import subprocess
import sys
from typing import NamedTuple

from course import catalog, cells, package
from course.layout import CourseError, replace_files


class Packaged(NamedTuple):
    """The file that was written, and what in it is not finished."""

    path: object
    warnings: list


def package_own(course, item, notebook=None):
    """Write the module that a student's notebook builds to `my_tinytorch/`.

    Parameters
    ----------
    course : layout.Course
    item : catalog.Module
    notebook : pathlib.Path, optional
        By default the student's working copy.

    Returns
    -------
    Packaged

    Raises
    ------
    CourseError
        If the module cannot be imported; what was there before stays.
    """
    if not isinstance(item, catalog.Module):
        raise CourseError(f"{item.id} is a milestone: it runs modules and makes none.")
    path = notebook or course.working_copy(item)
    sources, warnings = [], []
    for cell in _exported(course, item, cells.read(path)):
        source = cells.python_only(cell.source)
        try:
            warnings += [f"{name} is not written yet ({cell.where})." for name in package.unsolved(source)]
            sources.append(source)
        except SyntaxError as error:
            warnings.append(f"{cell.where} is left out: {error.msg} (line {error.lineno}).")
    text = package.module_text(
        sources, note=f"Packaged from {path.name} by `tinytorch package {item.number:02d}`."
    )
    _refuse_broken(course, item, text, warnings)
    target = course.mine / f"{item.file}.py"
    replace_files({target: text.encode("utf-8")})
    return Packaged(target, warnings)


def need_importable(course, modules):
    """Import a student's own modules, in order, in a fresh interpreter.

    Parameters
    ----------
    course : layout.Course
    modules : list of catalog.Module
        Modules that are in `my_tinytorch/`.

    Raises
    ------
    CourseError
        For the first that cannot be imported: which, where, why, and what to do.
    """
    if not modules:
        return
    program = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    print(name, flush=True)\n"
        "    importlib.import_module('tinytorch_ref.' + name)"
    )
    path = os.pathsep.join(filter(None, [str(course.root), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program, *(module.file for module in modules)],
        env=os.environ | {"TINYTORCH_USE": "mine", "PYTHONPATH": path},
        cwd=course.root,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode:
        failed = next(module for module in modules if module.file == done.stdout.split()[-1])
        lines = done.stderr.strip().splitlines() or ["Python ended."]
        places = re.findall(rf'File ".*[\\/]{failed.file}\.py", line (\d+)', done.stderr)
        where = f"{failed.file}.py" + (f", line {places[-1]}" if places else "")
        raise CourseError(
            f"Your module {failed.number:02d} cannot be imported: my_tinytorch/{where}: {lines[-1]}\n"
            f"Mend {failed.id}, then `tinytorch package {failed.number:02d}`."
        )


def _exported(course, item, own):
    """The cells tagged export, here or in the released notebook: tags are easily lost."""
    released = cells.read(course.release(item)) if course.release(item).exists() else []
    known = {name for cell in released if cell.exported for name in (cell.grade_id, cell.id) if name}
    return [
        cell for cell in own if cell.kind == "code" and (cell.exported or {cell.grade_id, cell.id} & known)
    ]


def _refuse_broken(course, item, text, warnings):
    """Import the module in a fresh interpreter, in the place that it will have."""
    program = (
        "import sys, types; import tinytorch_ref; name = 'tinytorch_ref.' + sys.argv[1]\n"
        "module = sys.modules[name] = types.ModuleType(name)\n"
        "exec(compile(sys.stdin.buffer.read(), sys.argv[1] + '.py', 'exec'), module.__dict__)"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", program, item.file],
        input=text.encode("utf-8"),
        cwd=course.root,
        capture_output=True,
        timeout=120,
    )
    if done.returncode:
        lines = done.stderr.decode("utf-8", errors="replace").strip().splitlines() or ["Python ended."]
        reasons = [f"The module cannot be imported: {lines[-1]}", *warnings]
        raise CourseError("\n".join([f"my_tinytorch/{item.file}.py is not written.", *reasons]))
