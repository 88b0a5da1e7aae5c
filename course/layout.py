"""Where things are in a course folder, and how files there are replaced."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from course import catalog


class CourseError(Exception):
    """Something that a person can mend; the command line shows it without a traceback."""


@dataclass(frozen=True)
class Course:
    """A course folder: the repository, or the smaller folder that a student gets.

    Parameters
    ----------
    root : pathlib.Path
        The folder that holds `pyproject.toml`, absolute.
    """

    root: Path

    def source(self, item):
        """The instructor's notebook of `item`, as a script."""
        return self.root / "source" / item.id / f"{item.id}.py"

    def solved(self, item):
        """The instructor's notebook of `item`, as the notebook that the build pairs with the script."""
        return self.source(item).with_suffix(".ipynb")

    def release(self, item):
        """The notebook that students get, untouched."""
        return self.root / "release" / item.id / f"{item.id}.ipynb"

    def working_copy(self, item):
        """The notebook in which a student works; the released one where there is no copy of it."""
        own = self.root / item.id / f"{item.id}.ipynb"
        return own if own.exists() else self.release(item)

    @property
    def reference(self):
        """Folder of the reference package."""
        return self.root / "tinytorch_ref"

    @property
    def mine(self):
        """Folder of the student's own modules."""
        return self.root / "my_tinytorch"

    @property
    def state(self):
        """Folder of what the build remembers; safe to delete."""
        return self.root / ".tinytorch"

    def sources(self):
        """Modules, then milestones, that have an instructor notebook, in the order of the course."""
        return [item for item in catalog.MODULES + catalog.MILESTONES if self.source(item).exists()]

    def modules_before(self, item):
        """The modules whose reference code the notebook of `item` may import.

        Parameters
        ----------
        item : catalog.Module or catalog.Milestone
            A module N may use modules 1 to N-1, a milestone those that it comes after.
        """
        last = item.number - 1 if isinstance(item, catalog.Module) else item.after
        return catalog.MODULES[:last]


def find_course(start=None):
    """The course that holds the folder `start`, by default the current one.

    Raises
    ------
    CourseError
        If no folder from there upward is a course.
    """
    start = Path(start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "pyproject.toml").exists() and (folder / "course" / "catalog.py").exists():
            return Course(folder)
    raise CourseError(f"{start} is not inside a course folder: change to one first, then try again.")


def find_item(word):
    """As `catalog.find`, with an error for people."""
    try:
        return catalog.find(word)
    except ValueError as error:
        raise CourseError(f"{str(error)[0].upper()}{str(error)[1:]}.") from None


def replace_files(files):
    """Write files so that a reader sees each either old or new, and a failure leaves all of them old.

    Parameters
    ----------
    files : dict of pathlib.Path to bytes
        All contents are on disk beside their targets before the first target is replaced.
    """
    waiting = []
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            waiting.append((name, path))
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            os.chmod(name, 0o644)
        while waiting:
            os.replace(*waiting[0])
            waiting.pop(0)
    finally:
        for name, _ in waiting:
            Path(name).unlink(missing_ok=True)
