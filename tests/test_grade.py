"""Grading a class: scores, reasons, and that nothing stops the batch or leaves a false zero."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from tiny_course import (
    ASSIGNMENT,
    REPO,
    PlainRunner,
    by_label,
    cell,
    copy_course,
    hand_in,
    make_course,
    released,
    solved,
    source_notebook,
    write_source,
)

from autograder import sandbox
from autograder.grade import Course, GradingError, grade
from autograder.intake import Rejected
from autograder.ledger import Ledger, grader_version
from gradebook import tables
from gradebook.location import ledger_folder, read_status, status_file

needs_sandbox = pytest.mark.skipif(not sandbox.available()[0], reason="no sandbox here")


@pytest.fixture
def course(tmp_path):
    return copy_course(tmp_path / "tiny")


@pytest.fixture
def plain_runner(monkeypatch):
    """Runs without processes, and counts the runs."""
    PlainRunner.runs = 0
    monkeypatch.setattr(Course, "new_runner", lambda self: PlainRunner())
    return PlainRunner


def grade_one(course, notebook, student="ann", **options):
    hand_in(course, student, notebook)
    return next(s for s in grade(ASSIGNMENT, root=course, **options) if s.student == student)


def points(status):
    return {name: told["score"] for name, told in status.cells.items()}


# --- with the real runner ---


@needs_sandbox
def test_a_class(tmp_path):
    course = make_course(tmp_path / "new")
    hand_in(course, "ann", solved(course, why="One addition."))
    hand_in(course, "bob", solved(course, add="def add(a, b):\n    return a - b"))
    hand_in(course, "cy", released(course))
    hand_in(
        course,
        "dee",
        solved(course, scale="def scale(a, factor):\n    return [factor * x for x in a] or None"),
    )
    hand_in(course, "eve", solved(course, add="import os\nos._exit(0)"))
    hand_in(course, "fay", "{not json")
    seen = []
    statuses = grade(ASSIGNMENT, root=course, progress=lambda *told: seen.append(told[1:]))
    by_name = {status.student: status for status in statuses}
    assert [status.student for status in statuses] == ["ann", "bob", "cy", "dee", "eve", "fay"]
    assert seen == [(n, 6) for n in range(1, 7)]
    assert points(by_name["ann"]) == {"add_check": 4, "add_hidden": 3, "scale_check": 4, "why": None}
    assert points(by_name["bob"]) == {"add_check": 0, "add_hidden": 0, "scale_check": 4, "why": 0}
    assert points(by_name["cy"]) == {"add_check": 0, "add_hidden": 0, "scale_check": 0, "why": 0}
    assert points(by_name["dee"])["scale_check"] == 3
    assert by_name["fay"].state == "failed"
    assert "not valid JSON" in by_name["fay"].reason
    assert "Expected: 5" in by_name["bob"].cells["add_check"]["reason"]
    assert "an empty list" in by_name["dee"].cells["scale_check"]["reason"]
    assert by_name["bob"].cells["add_hidden"]["hidden"]
    assert by_name["eve"].state == "failed" or points(by_name["eve"])["add_check"] == 0


@needs_sandbox
def test_plain_nbgrader_runs_the_split_runner(course):
    """`nbgrader generate_assignment`, `autograde`, `export`, as an instructor would type them."""
    hand_in(
        course,
        "ann",
        solved(course, add="import warnings\nwarnings.warn('loud')\ndef add(a, b):\n    return a + b"),
    )
    environment = os.environ | {"PYTHONPATH": str(REPO)}
    (course / "gradebook" / "gradebook.db").unlink()
    for command in ("generate_assignment --force", "autograde", "generate_feedback"):
        line = [sys.executable, "-m", "nbgrader", *command.split(), f"--assignment={ASSIGNMENT}"]
        done = subprocess.run(line, cwd=course, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "not recognized" not in done.stderr
    row = tables.scores(ASSIGNMENT, course)[0]
    assert (row.state, row.auto, row.max) == ("graded", 11, 16)
    page = (course / "feedback" / "ann" / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()
    assert "secret cause" not in page
    assert "-217" not in page


def test_plain_nbgrader_refuses_links(course, tmp_path):
    """nbgrader would copy what the link points to, and show it in the feedback."""
    import nbformat

    from autograder.preprocessors import RebuildOnRelease

    folder = hand_in(course, "ann", solved(course))
    (folder / "data.csv").symlink_to(course / "gradebook" / "gradebook.db")
    names = {"student": "ann", "assignment": ASSIGNMENT, "notebook": ASSIGNMENT}
    notebook = nbformat.read(folder / f"{ASSIGNMENT}.ipynb", 4)
    with pytest.raises(Rejected, match="is a link"):
        RebuildOnRelease()(notebook, {"nbgrader": names, "metadata": {"path": str(folder)}})


@needs_sandbox
def test_killed_in_the_middle(course):
    """After kill -9 a second run grades everybody, once."""
    for n in range(6):
        hand_in(course, f"student{n}", solved(course, why=f"Answer {n}."))
    script = f"from autograder.grade import grade; grade({ASSIGNMENT!r}, jobs=1, root={str(course)!r})"
    environment = os.environ | {"PYTHONPATH": str(REPO)}
    process = subprocess.Popen([sys.executable, "-c", script], env=environment, start_new_session=True)
    deadline = time.monotonic() + 60
    while not list(course.glob("autograded/*/*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL, "it ended before it could be killed"
    statuses = grade(ASSIGNMENT, root=course)
    assert [(s.student, s.state) for s in statuses] == [(f"student{n}", "graded") for n in range(6)]
    rows = tables.scores(ASSIGNMENT, course)
    assert [(row.student, row.auto) for row in rows] == [(f"student{n}", 11) for n in range(6)]


# --- around the runner ---


def test_nothing_is_graded_twice(course, plain_runner):
    hand_in(course, "ann", solved(course))
    hand_in(course, "bob", solved(course, scale="def scale(a, factor):\n    return a"))
    assert not any(status.again for status in grade(ASSIGNMENT, root=course))
    assert plain_runner.runs == 2
    assert all(status.again for status in grade(ASSIGNMENT, root=course))
    hand_in(course, "bob", solved(course))
    again = {status.student: status.again for status in grade(ASSIGNMENT, root=course)}
    assert again == {"ann": True, "bob": False}
    assert plain_runner.runs == 2, "the same work was run before: it is in the ledger"
    assert not any(status.again for status in grade(ASSIGNMENT, root=course, force=True))
    assert plain_runner.runs == 4


def test_recording_does_not_run_again(course, plain_runner):
    """What the gradebook replays is what was run, data files and all."""
    folder = hand_in(course, "ann", solved(course))
    (folder / "points.csv").write_text("1,2\n")
    (course / "source" / ASSIGNMENT / "table.csv").write_text("3,4\n")
    assert grade(ASSIGNMENT, root=course)[0].state == "graded"
    assert plain_runner.runs == 1
    assert len(list(ledger_folder(course).glob("*/*.json"))) == 1


def test_lost_database_is_filled_again(course, plain_runner):
    grade_one(course, solved(course))
    (course / "gradebook" / "gradebook.db").unlink()
    status = grade(ASSIGNMENT, root=course)[0]
    assert (status.state, status.again, plain_runner.runs) == ("graded", False, 1)
    assert tables.scores(ASSIGNMENT, course)[0].auto == 11


def test_damaged_records_are_made_again(course, plain_runner):
    grade_one(course, solved(course))
    for file in ledger_folder(course).glob("*/*.json"):
        file.write_text('{"key": ')
    status_file(course, ASSIGNMENT, "ann").write_text("")
    assert grade(ASSIGNMENT, root=course)[0].state == "graded"
    assert plain_runner.runs == 2


def test_failure_leaves_no_zero(course, plain_runner):
    hand_in(course, "ann", "{")
    hand_in(course, "bob", solved(course))
    assert [s.state for s in grade(ASSIGNMENT, root=course)] == ["failed", "graded"]
    assert tables.cells(ASSIGNMENT, "ann", course) == []
    row = tables.scores(ASSIGNMENT, course)[0]
    assert (row.student, row.state, row.score) == ("ann", "failed", None)


def test_failure_after_an_earlier_grade_hides_the_old_score(course, plain_runner):
    assert grade_one(course, solved(course)).state == "graded"
    status = grade_one(course, "{")
    assert status.state == "failed"
    assert "earlier submission was graded" in status.notes[0]
    assert tables.scores(ASSIGNMENT, course)[0].score is None
    assert grade_one(course, solved(course)).state == "graded"
    assert tables.scores(ASSIGNMENT, course)[0].score == 11


def test_crash_of_the_runner_fails_one_and_goes_on(course, monkeypatch):
    class Crashing(PlainRunner):
        def run(self, payload):
            if "boom" in json.dumps(payload):
                raise OSError("the machine is on fire")
            return super().run(payload)

    monkeypatch.setattr(Course, "new_runner", lambda self: Crashing())
    hand_in(course, "ann", solved(course, add="boom = 1"))
    hand_in(course, "bob", solved(course))
    ann, bob = grade(ASSIGNMENT, root=course)
    assert (ann.state, bob.state) == ("failed", "graded")
    assert "the machine is on fire" in ann.reason
    assert "on fire" in (status_file(course, ASSIGNMENT, "x").parent / "errors.log").read_text()
    assert tables.cells(ASSIGNMENT, "ann", course) == []


def test_crash_while_recording_leaves_no_half_submission(course, plain_runner, monkeypatch):
    from autograder.preprocessors import MarkReviews

    def fail(self, nb, resources):
        raise OSError("disk full")

    monkeypatch.setattr(MarkReviews, "preprocess", fail)
    status = grade_one(course, solved(course))
    assert status.state == "failed"
    assert "disk full" in status.reason
    assert tables.cells(ASSIGNMENT, "ann", course) == []


def test_failed_run_is_not_kept(course, monkeypatch):
    class Refusing(PlainRunner):
        def run(self, payload):
            return {"status": "failed", "reason": "no sandbox on this machine", "cells": {}, "version": ""}

    monkeypatch.setattr(Course, "new_runner", lambda self: Refusing())
    status = grade_one(course, solved(course))
    assert (status.state, status.reason) == ("failed", "no sandbox on this machine")
    assert not list(ledger_folder(course).glob("*/*.json"))


def test_review_is_marked_for_a_person(course, monkeypatch):
    class Doubting(PlainRunner):
        def _told(self, cell, names):
            doubt = "the count looks forged" if cell["grade_id"] == "add_check" else None
            return super()._told(cell, names) | {"review": doubt}

    monkeypatch.setattr(Course, "new_runner", lambda self: Doubting())
    status = grade_one(course, solved(course))
    assert status.cells["add_check"]["review"] == "the count looks forged"
    needs = {cell.cell: cell.needs_manual for cell in tables.cells(ASSIGNMENT, "ann", course)}
    assert needs == {"add_check": True, "add_hidden": False, "scale_check": False, "why": False}
    assert "add_check: the count looks forged" in tables.reasons(ASSIGNMENT, "ann", course)


@pytest.mark.parametrize("score", [0.0, 1.5, 4.0, None])
def test_the_gradebook_holds_the_runners_score(course, monkeypatch, score):
    class Scoring(PlainRunner):
        def _told(self, cell, names):
            noise = {"stdout": "Traceback 0.0\n", "result": "99"}
            return (
                super()._told(cell, names)
                | noise
                | ({"score": score} if cell["grade_id"] == "scale_check" else {})
            )

    monkeypatch.setattr(Course, "new_runner", lambda self: Scoring())
    assert points(grade_one(course, solved(course)))["scale_check"] == (4.0 if score is None else score)


@pytest.mark.parametrize(
    "name", ["Zoë Müller", "-rf", "o'neil", "a+b", "名前", "x" * 120, 'say "hi"', "50%", "a,b", "#1"]
)
def test_odd_names_are_graded(course, plain_runner, name):
    status = grade_one(course, solved(course), student=name)
    assert (status.state, status.reason) == ("graded", "")
    assert [row.student for row in tables.scores(ASSIGNMENT, course)] == [name]


@pytest.mark.parametrize("name", ["a[b]", "a*", "who?", ".hidden", " space", "new\nline", "x" * 121])
def test_impossible_names_are_refused_with_a_reason(course, plain_runner, name):
    hand_in(course, "bob", solved(course))
    hand_in(course, name, solved(course))
    states = {status.student: status.state for status in grade(ASSIGNMENT, root=course)}
    assert states == {name: "failed", "bob": "graded"}


def test_answers_cannot_reach_another_students_folder(course, plain_runner):
    """A name is one folder under submitted/, whoever asks."""
    hand_in(course, "bob", solved(course))
    status = grade(ASSIGNMENT, students=["../bob"], root=course)[0]
    assert status.state == "failed"
    assert not (course / "gradebook" / "status" / "bob.json").exists()


def test_new_points_grade_everybody_again(course, plain_runner):
    grade_one(course, solved(course))
    notebook = source_notebook()
    by_label(notebook)["add_check"]["metadata"]["nbgrader"]["points"] = 6
    write_source(course, notebook)
    status = grade(ASSIGNMENT, root=course)[0]
    assert not status.again
    assert points(status)["add_check"] == 6


def test_new_cells_after_grading_are_refused_with_advice(course, plain_runner):
    grade_one(course, solved(course))
    extra = cell("code", "# Check (1 point): more.\nassert True", "more", 1, grade=True, locked=True)
    write_source(course, source_notebook([extra]))
    with pytest.raises(GradingError, match="nbgrader db assignment remove"):
        grade(ASSIGNMENT, root=course)
    assert (course / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb").is_file()
    assert tables.scores(ASSIGNMENT, course)[0].auto == 11


def test_stale_release_is_refused(course, plain_runner):
    hand_in(course, "ann", solved(course))
    release = course / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    old = release.read_text()
    notebook = source_notebook()
    by_label(notebook)["add_check"]["source"] += "\n"
    by_label(notebook)["add_check"]["source"] = by_label(notebook)["add_check"]["source"].replace("5", "6")
    write_source(course, notebook)
    release.write_text(old)
    with pytest.raises(GradingError, match="build it again"):
        grade(ASSIGNMENT, root=course)


def test_missing_source(course):
    with pytest.raises(GradingError, match="is missing"):
        grade("02_activations", root=course)


def test_two_graders_do_not_meet(course, plain_runner):
    def again(*_):
        with pytest.raises(GradingError, match="another process"):
            grade(ASSIGNMENT, root=course)

    hand_in(course, "ann", solved(course))
    grade(ASSIGNMENT, root=course, progress=again)


def test_status_on_disk_is_what_was_returned(course, plain_runner):
    status = grade_one(course, solved(course))
    told = read_status(course, ASSIGNMENT, "ann")
    assert told["cells"] == status.cells
    assert (told["state"], told["key"], told["digest"]) == ("graded", status.key, status.digest)


def test_ledger_keys_depend_on_all_that_matters(tmp_path):
    ledger = Ledger(tmp_path)
    payload, limits = {"cells": [], "seed": 1}, {"cell_seconds": 10}
    keys = {ledger.key(payload, limits), ledger.key({**payload, "seed": 2}, limits), ledger.key(payload, {})}
    assert len(keys) == 3
    assert ledger.key({"seed": 1, "cells": []}, limits) == ledger.key(payload, limits)
    assert len(grader_version()) == 16


def test_ledger_does_not_take_a_result_under_another_name(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.put("ab" * 32, {"status": "ok"})
    assert ledger.get("ab" * 32) == {"status": "ok"}
    ledger.path("ac" * 32).parent.mkdir()
    ledger.path("ab" * 32).rename(ledger.path("ac" * 32))
    assert ledger.get("ac" * 32) is None
