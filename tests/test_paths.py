"""The learning paths: the right modules, in an order that can be taught, and the same in the docs."""

import pytest
from building import REPO, tinytorch

from course import catalog, paths

MODULES = {
    16: [*range(1, 9), *range(14, 21)],
    12: [*range(1, 14), 15],
    8: [*range(1, 9), 13],
}
MILESTONES = {
    16: [1958, 1969, 1986, 1990, 2019, 2018],
    12: [1958, 1969, 1986, 1998, 2003, 2017],
    8: [1958, 1969, 1986, 2017],
}
by_weeks = pytest.mark.parametrize("path", paths.PATHS, ids=lambda path: f"{path.weeks} weeks")


def test_there_are_three():
    assert [path.weeks for path in paths.PATHS] == [16, 12, 8]


@by_weeks
def test_a_path_has_its_modules_in_the_order_of_the_course(path):
    assert [module.number for module in path.modules] == MODULES[path.weeks]
    numbers = [number for week in path.plan for number in week]
    assert numbers == sorted(numbers) and all(path.plan)


@by_weeks
def test_milestones_come_when_their_module_is_finished(path):
    due = {milestone: week for week in range(1, path.weeks + 1) for milestone in path.milestones(week)}
    assert [milestone.year for milestone in due] == MILESTONES[path.weeks]
    for milestone, week in due.items():
        assert milestone.after in path.plan[week - 1]
        assert milestone.after not in {number for numbers in path.plan[week:] for number in numbers}


@by_weeks
def test_what_is_left_out_is_named(path):
    known = {module.number for module in path.modules + path.left_out}
    assert known == set(range(1, max(MODULES[path.weeks]) + 1))
    assert not set(path.modules) & set(path.left_out)


def test_numbers_in_short():
    assert paths.spans([]) == ""
    assert paths.spans(catalog.MODULES[:3] + catalog.MODULES[4:5]) == "01-03, 05"
    assert paths.spans(catalog.MODULES) == "01-20"


@pytest.mark.parametrize("program", ["course.cli", "course.student_cli"])
def test_the_command_prints_every_week_of_every_path(program):
    done = tinytorch(REPO, "paths", program=program)
    assert done.returncode == 0, done.stderr
    for path in paths.PATHS:
        assert paths.heading(path) in done.stdout
        for row in paths.rows(path):
            assert " ".join(" ".join(row).split()) in " ".join(done.stdout.split())
    assert "From the reference package: 09-13." in done.stdout


def test_the_page_is_what_the_data_say():
    assert (REPO / "docs" / "paths.md").read_text(encoding="utf-8") == paths.page(), "run `tinytorch build`"
