"""Learning paths: which modules in which week, for courses of three lengths.

A module that a path leaves out is taken from the reference package, so every path holds together.
"""

from typing import NamedTuple

from course import catalog

NOTE = "A module that a path leaves out is taken from the reference package; there is nothing to set up."


class LearningPath(NamedTuple):
    """One way through the course: `plan` has for each week the numbers of its modules."""

    name: str
    plan: tuple

    @property
    def weeks(self):
        return len(self.plan)

    @property
    def modules(self):
        """The modules that a student builds, in order."""
        numbers = sorted({number for week in self.plan for number in week})
        return [catalog.MODULES[number - 1] for number in numbers]

    @property
    def left_out(self):
        """The modules that the reference package stands in for, up to the last one that is built."""
        last = self.modules[-1].number
        return [module for module in catalog.MODULES[:last] if module not in self.modules]

    def milestones(self, week):
        """Milestones that are due in a week, counted from 1: its last week of the module that they follow."""
        later = {number for numbers in self.plan[week:] for number in numbers}
        finished = set(self.plan[week - 1]) - later
        return [milestone for milestone in catalog.MILESTONES if milestone.after in finished]


PATHS = (
    LearningPath(
        "the foundations, then what makes a framework fast and small",
        ((1,), (2,), (3,), (4,), (5,), (6,), (6,), (7,), (8,),
         (14,), (15,), (16,), (17,), (18,), (19,), (20,)),
    ),
    LearningPath(
        "from the tensor to the Transformer, and into eight bits",
        ((1,), (2, 3), (4, 5), (6,), (7,), (8,), (9,), (10, 11), (12,), (13,), (13,), (15,)),
    ),
    LearningPath(
        "the foundations, and a Transformer on top",
        ((1,), (2, 3), (4, 5), (6,), (7,), (8,), (13,), (13,)),
    ),
)  # fmt: skip


def spans(modules):
    """Numbers of modules in short.

    Examples
    --------
    >>> spans(catalog.MODULES[:3] + catalog.MODULES[4:5])
    '01-03, 05'
    """
    runs = []
    for number in sorted(module.number for module in modules):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a:02d}" if a == b else f"{a:02d}-{b:02d}" for a, b in runs)


def rows(path):
    """For each week of a path: its number, its modules and its milestones, as texts."""
    for week, numbers in enumerate(path.plan, start=1):
        modules = [module for module in path.modules if module.number in numbers]
        yield (
            str(week),
            ", ".join(f"{module.number:02d} {module.title}" for module in modules),
            ", ".join(f"{milestone.year} {milestone.title}" for milestone in path.milestones(week)),
        )


def heading(path):
    """A path in one line."""
    return f"{path.weeks} weeks: {path.name} ({spans(path.modules)})"


def left_out(path):
    """What the reference package stands in for, in one line; empty if there is nothing."""
    return f"From the reference package: {spans(path.left_out)}." if path.left_out else ""


def page():
    """The text of `docs/paths.md`."""
    parts = ["# Learning paths", f"Three ways through the course, as `tinytorch paths` prints them.\n{NOTE}"]
    for path in PATHS:
        table = ["| Week | Modules | Milestones |", "|---|---|---|"]
        table += ["| " + " | ".join(row) + " |" for row in rows(path)]
        parts += [f"## {heading(path)}", "\n".join(table)]
        parts.append(left_out(path))
    parts.append("Generated from `course/paths.py` by `tinytorch build`; change it there.")
    return "\n\n".join(filter(None, parts)) + "\n"
