"""Whose modules `tinytorch_ref` imports: the reference's, or the student's own."""

import os
from typing import NamedTuple

from course import catalog
from course.layout import CourseError, replace_files

OVERLAY = '''"""TinyTorch, one module a file, each built from the notebook of the same number.

A student's own modules live in my_tinytorch/, where `tinytorch package NN` writes them. They take the place
of the reference modules of the same name when the environment variable TINYTORCH_USE is "mine", or, if it is
not set, when the file my_tinytorch/ACTIVE exists, which `tinytorch use mine` makes.
"""

import os

_mine = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "my_tinytorch")
_active = os.path.exists(os.path.join(_mine, "ACTIVE"))
if (os.environ.get("TINYTORCH_USE") or ("mine" if _active else "reference")) == "mine":
    __path__.insert(0, _mine)
'''


class Origin(NamedTuple):
    """Where an import of a module leads: `whose` is "mine", "reference" or "missing"."""

    module: catalog.Module
    whose: str
    path: str


def chosen(course):
    """Which set of modules is in use, "mine" or "reference", and what decides it."""
    if word := os.environ.get("TINYTORCH_USE"):
        return ("mine" if word == "mine" else "reference"), "the environment variable TINYTORCH_USE"
    active = course.mine / "ACTIVE"
    return ("mine", "my_tinytorch/ACTIVE") if active.exists() else ("reference", "the default")


def use(course, word):
    """Switch the student's own modules on ("mine") or off ("reference").

    Raises
    ------
    CourseError
        If there is no module of the student's own yet, or the environment variable says otherwise.
    """
    active = course.mine / "ACTIVE"
    if word == "mine":
        need_own(course)
        replace_files({active: b"Imports of tinytorch_ref find these modules first.\n"})
    else:
        active.unlink(missing_ok=True)
    if chosen(course)[0] != word:
        raise CourseError(f"The environment variable TINYTORCH_USE still says {chosen(course)[0]}: unset it.")


def need_own(course):
    """Raise CourseError if there is no module of the student's own yet."""
    if not any(course.mine.glob("*.py")):
        raise CourseError("You have no module of your own yet: `tinytorch package 01` makes the first.")


def origins(course, whose=None):
    """Where an import of each module leads, in the order of the course.

    Parameters
    ----------
    course : layout.Course
    whose : str, optional
        "mine" or "reference"; by default the set that is in use now.

    Returns
    -------
    list of Origin
    """
    folders = [("mine", course.mine)] if (whose or chosen(course)[0]) == "mine" else []
    folders.append(("reference", course.reference))
    return [_origin(module, folders) for module in catalog.MODULES]


def _origin(module, folders):
    for whose, folder in folders:
        path = folder / f"{module.file}.py"
        if path.exists():
            return Origin(module, whose, str(path))
    return Origin(module, "missing", "")
