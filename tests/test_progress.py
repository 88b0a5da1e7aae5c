"""`tinytorch progress`: what was checked, what it took, and what is still to do."""

import json

import pytest
from building import built_course, change, solve, tinytorch

from course import catalog, progress
from course.layout import CourseError

FIRST, SECOND, MILESTONE = catalog.find("01"), catalog.find("02"), catalog.find("1958")


@pytest.fixture
def course(tmp_path):
    return built_course(tmp_path / "course")


def line(text, name):
    """The words of a row of a printed table."""
    return " ".join(next(line for line in text.splitlines() if name in line).split())


def test_before_the_first_check_everything_is_to_do(course):
    done = tinytorch(course.root, "progress")
    assert done.returncode == 0, done.stderr
    assert line(done.stdout, "Tensor") == "01 Tensor to do"
    assert "0 of 20 modules done, 0 of 9 milestones reached." in done.stdout
    assert "Layers" not in done.stdout and "hours of yours" not in done.stdout


def test_a_check_is_remembered_with_its_points(course):
    path = solve(course, FIRST)
    change(path, "return math.sqrt(", "return 2 * math.sqrt(")
    tinytorch(course.root, "check", "01")
    assert line(tinytorch(course.root, "progress").stdout, "Tensor") == "01 Tensor begun 40 of 70"
    solve(course, FIRST)
    tinytorch(course.root / "source", "check", "01")
    assert line(tinytorch(course.root, "progress").stdout, "Tensor") == "01 Tensor done 70 of 70"
    tinytorch(course.root, "package", "01")
    text = tinytorch(course.root, "progress").stdout
    assert line(text, "Tensor") == "01 Tensor done, packaged 70 of 70"
    assert line(text, "Activations") == "02 Activations to do"
    assert "1 of 20 modules done" in text


def test_hours_stand_against_the_estimate_of_the_notebook(course):
    path = solve(course, FIRST)
    change(path, "Two exercises", 'Two\\n",\n"| **Time** | 4 to 6 hours: the first |\\n",\n"exercises')
    done = tinytorch(course.root, "progress", "--hours", "01=5.5", "--hours", "tensor=6.5", "--hours", "2=3")
    assert done.returncode == 0, done.stderr
    assert line(done.stdout, "Tensor") == "01 Tensor to do 4 to 6 6.5"
    assert line(done.stdout, "Activations") == "02 Activations to do 3"
    assert "6.5 hours of yours for what is estimated at 4 to 6." in done.stdout


def test_what_is_known_comes_along_into_the_folder_of_the_next_hand_out(course):
    progress.record(course, SECOND, got=100, points=100, time="3 to 5 hours", hours=4)
    course.release(SECOND).unlink()
    assert progress.standings(course)[1] == progress.Standing(SECOND, "done", 100, 100, (3, 5), 4)


def test_a_check_remembers_the_estimate(course):
    path = solve(course, FIRST)
    change(path, "Two exercises", 'Two\\n",\n"| **Time** | 2 hours |\\n",\n"exercises')
    tinytorch(course.root, "check", "01")
    assert progress.recorded(course) == {FIRST.id: {"got": 70, "points": 70, "time": "2 hours"}}


@pytest.mark.parametrize(
    "words, hours",
    [
        ("4 to 6 hours", (4, 6)),
        ("7 to 9 hours: the hardest module", (7, 9)),
        ("1.5 to 2 hours", (1.5, 2)),
        ("1 hour", (1, 1)),
        ("a while", None),
        ("", None),
    ],
)
def test_an_estimate_is_read_from_its_words(words, hours):
    assert progress.estimate(words) == hours


@pytest.mark.parametrize("word", ["01", "01=", "01=x", "01=-1", "01=nan", "=5", "99=5", "01=5,5"])
def test_hours_that_cannot_be_understood_are_refused_and_nothing_is_noted(course, word):
    with pytest.raises(CourseError):
        progress.record_hours(course, ["02=1", word])
    assert progress.recorded(course) == {}


def test_milestones_stand_behind_their_module(course):
    progress.record(course, MILESTONE, got=14, points=14, reached=True, basis="your own modules")
    progress.record(course, catalog.find("03"), got=1, points=2)
    progress.record(course, catalog.find("1969"), got=1, points=2, reached=False, basis="the reference package")
    progress.record(course, catalog.find("04"), hours=1)
    told = [(row.item.title, row.state) for row in progress.standings(course)]
    assert told == [
        ("Tensor", "to do"),
        ("Activations", "to do"),
        ("Layers", "begun"),
        ("Rosenblatt's perceptron", "reached on your own modules"),
        ("Losses", "to do"),
        ("XOR and the hidden layer", "missed on the reference package"),
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"01_tensor": 5}'])
def test_a_damaged_record_is_named_and_kept(course, text):
    file = course.state / "progress.json"
    file.write_text(text, encoding="utf-8")
    done = tinytorch(course.root, "progress", "--hours", "01=1")
    assert done.returncode == 1 and "progress.json is damaged" in done.stderr
    assert file.read_text(encoding="utf-8") == text
    with pytest.raises(CourseError):
        progress.record(course, FIRST, hours=1)


def test_facts_are_added_and_replaced(course):
    progress.record(course, FIRST, got=1, points=2)
    progress.record(course, FIRST, hours=3.0)
    progress.record(course, FIRST, got=2)
    assert json.loads((course.state / "progress.json").read_text()) == {
        FIRST.id: {"got": 2, "points": 2, "hours": 3.0}
    }
