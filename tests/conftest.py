"""What several tests look at: the sample class of module 01, graded once in a course folder of its own."""

from pathlib import Path
from typing import NamedTuple

import pytest
from course import demo
from course.layout import find_course, find_item


class GradedClass(NamedTuple):
    """The sample class after grading."""

    item: object
    folder: Path
    statuses: dict


@pytest.fixture(scope="session")
def graded_class(tmp_path_factory):
    """The sample class, handed in and graded; one of its notebooks loops for ever, so this takes most of a minute."""
    course, item, folder = find_course(Path(__file__).parent), find_item("01"), tmp_path_factory.mktemp("class") / "course"
    demo.set_up(course, item, folder)
    demo.hand_in(course, item, folder)
    return GradedClass(item, folder, {status.student: status for status in demo.grade(item, folder)})
