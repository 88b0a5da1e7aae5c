"""Processor time to grade one submission, `tinytorch grade` against nbgrader's own `autograde`.

Ten of the course's sample class, some perfect and some wrong. Left out are a file that is no notebook, an
endless loop, whose cost is the time limit, and a duplicated test cell, at which plain nbgrader gives up the
whole class. Each round grades the class for the first time, in a fresh copy of a course folder whose
gradebook knows the assignment already.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.cases import Missing, Samples, case
from benchmarks.processes import ROOT, SCRIPTS, cpu_seconds

STUDENTS = {"ada", "barbara", "emmy", "grace", "hedy", "john", "katherine", "mallory", "noether", "trent"}
PLAIN = """
c = get_config()
c.CourseDirectory.course_id = "plain"
"""


@case("grading", "CPU time to grade a submission of module 01", "`nbgrader autograde`", target=0.2)
def grading(effort):
    from course.layout import find_course, find_item

    course, item = find_course(ROOT), find_item("01")
    if not course.release(item).exists():
        raise Missing("module 01 is not built: run `tinytorch build 01`")
    rounds = 3 if effort.rounds > 5 else 1
    return compare(course, item, {"ada"} if effort.tiny else STUDENTS, rounds)


def compare(course, item, students, rounds):
    """Grade some of the sample class in turns, our way and nbgrader's: ratios of processor time."""
    from autograder.sandbox import available

    works, reason = available()
    if not works:
        raise Missing(reason)
    with tempfile.TemporaryDirectory(prefix="tinytorch-benchmark-") as folder:
        ways = [way(course, item, students, Path(folder)) for way in (Ours, Plain)]
        ours, theirs = zip(*[[way.seconds() / len(students) for way in ways] for _ in range(rounds)])
    details = {"ours_seconds": _middle(ours), "theirs_seconds": _middle(theirs), "submissions": len(students)}
    return Samples([a / b for a, b in zip(ours, theirs)], details)


def _middle(values):
    return sorted(values)[len(values) // 2]


class Way:
    """A course folder, ready to grade a class, and the command that does it."""

    def __init__(self, course, item, students, folder):
        from course import demo

        self.item, self.students = item, students
        self.folder, self.template = folder / type(self).__name__, folder / f"{type(self).__name__}-template"
        demo.set_up(course, item, self.template)
        self.register(course)
        for sample in demo.hand_in(course, item, self.template):
            if sample.name not in students:
                shutil.rmtree(self.template / "submitted" / sample.name)

    def run(self, command, folder, expected=(0,)):
        return cpu_seconds(command, folder, self.template.parent / "log", expected)

    def seconds(self):
        """CPU time of grading all of a fresh copy."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.template, self.folder, symlinks=True)
        used = self.run(self.command(), self.folder)
        pages = self.folder.glob(f"autograded/*/*/{self.item.id}.ipynb")
        graded = {page.parents[1].name for page in pages}
        if graded != self.students:
            raise RuntimeError(f"{type(self).__name__}: not graded were {self.students - graded}")
        return used


class Ours(Way):
    """`tinytorch grade`, sandbox and all."""

    def register(self, course):
        shutil.copy(course.root / "pyproject.toml", self.template)
        os.symlink(course.root / "course", self.template / "course")
        self.run(self.command(), self.template, expected=(1,))  # 1: nobody has handed in yet

    def command(self):
        return [sys.executable, "-P", "-m", "course", "grade", self.item.id]


class Plain(Way):
    """nbgrader as it comes: a Jupyter kernel for each submission, which runs tests and answers alike."""

    def register(self, course):
        (self.template / "nbgrader_config.py").write_text(PLAIN)
        self.run([*self.nbgrader("generate_assignment"), "--force"], self.template)

    def command(self):
        return self.nbgrader("autograde")

    def nbgrader(self, verb):
        return [str(SCRIPTS / "nbgrader"), verb, self.item.id]
