"""How far a student is: points of the last checks, milestones, and hours against the estimate.

What happened is kept in `.tinytorch/progress.json`, by the id of a module or milestone.
"""

import json
import re
from typing import NamedTuple

from course import catalog, cells
from course.layout import CourseError, find_item, replace_files


class Standing(NamedTuple):
    """Where a student is with one module or milestone.

    `got` and `points` are None before the first check, `estimate` is a range of hours or None, `hours` are the
    student's own or None.
    """

    item: object
    state: str
    got: float
    points: float
    estimate: tuple
    hours: float

    @property
    def done(self):
        return self.state.startswith(("done", "reached"))


def record(course, item, **facts):
    """Remember facts about a module or milestone, beside or in the place of older ones.

    Parameters
    ----------
    course : layout.Course
    item : catalog.Module or catalog.Milestone
    **facts
        `got` and `points` of a check; `reached` and `basis` of a milestone's run; `time`, the estimate in the
        words of the notebook; `hours`.
    """
    known = recorded(course)
    known[item.id] = known.get(item.id, {}) | facts
    text = json.dumps(known, indent=1, sort_keys=True) + "\n"
    replace_files({_file(course): text.encode("utf-8")})


def record_points(course, item, got, points):
    """Remember the points of a check, and the estimate that the notebook gives."""
    record(course, item, got=got, points=points, time=_time(course, item) or "")


def recorded(course):
    """All facts so far, by the id of a module or milestone.

    Raises
    ------
    CourseError
        If the file that holds them is damaged.
    """
    try:
        known = json.loads(_file(course).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        known = None
    if not isinstance(known, dict) or not all(isinstance(facts, dict) for facts in known.values()):
        raise CourseError(f"{_file(course)} is damaged: mend it, or delete it and check again.")
    return known


def record_hours(course, words):
    """Remember hours that a student worked.

    Parameters
    ----------
    course : layout.Course
    words : list of str
        Each a module or milestone and its hours in all, such as "01=5.5".

    Raises
    ------
    CourseError
        If one cannot be understood; then none is recorded.
    """
    for item, hours in [_hours(word) for word in words]:
        record(course, item, hours=hours)


def _hours(word):
    name, _, number = word.partition("=")
    if not re.fullmatch(r"\d+(\.\d+)?", number):
        raise CourseError(f"{word!r} is no number of hours: say it as in 01=5.5.")
    return find_item(name), float(number)


def estimate(text):
    """The range of hours in the words of a title table.

    Returns
    -------
    tuple of float or None

    Examples
    --------
    >>> estimate("4 to 6 hours"), estimate("1 hour"), estimate("a while")
    ((4.0, 6.0), (1.0, 1.0), None)
    """
    match = re.match(r"(\d+(?:\.\d+)?)(?: to (\d+(?:\.\d+)?))? hour", text)
    return (float(match[1]), float(match[2] or match[1])) if match else None


def standings(course):
    """Where the student is with all that is here or was checked once, in the order of the course.

    Returns
    -------
    list of Standing
        Milestones follow the module after which they are due.
    """
    known = recorded(course)
    items = sorted(catalog.MODULES + catalog.MILESTONES, key=_order)
    return [_standing(course, item, known.get(item.id, {})) for item in items
            if item.id in known or course.working_copy(item).exists()]  # fmt: skip


def _order(item):
    return item.number if isinstance(item, catalog.Module) else item.after + 0.5


def _standing(course, item, facts):
    time = _time(course, item) or facts.get("time", "")
    state = _module(course, item, facts) if isinstance(item, catalog.Module) else _milestone(facts)
    return Standing(item, state, facts.get("got"), facts.get("points"), estimate(time), facts.get("hours"))


def _time(course, item):
    """The words for the time that a notebook takes, where it is here and says so."""
    path = course.working_copy(item)
    return cells.title_table(cells.read(path)).get("Time") if path.exists() else None


def _module(course, item, facts):
    if "points" not in facts:
        return "to do"
    state = "done" if facts["got"] == facts["points"] else "begun"
    return f"{state}, packaged" if (course.mine / f"{item.file}.py").exists() else state


def _milestone(facts):
    if "reached" not in facts:
        return "begun" if "points" in facts else "to do"
    return f"{'reached' if facts['reached'] else 'missed'} on {facts['basis']}"


def hours_compared(rows):
    """Hours of one's own, and the range that was estimated for the same modules and milestones.

    Returns
    -------
    tuple of float or None
        (own, least, most); None if there is nothing to compare.
    """
    both = [row for row in rows if row.hours is not None and row.estimate]
    if not both:
        return None
    return tuple(map(sum, zip(*[(row.hours, *row.estimate) for row in both])))


def _file(course):
    return course.state / "progress.json"
