"""Scores of a class as they are read from the gradebook, and their CSV."""

import csv
import sqlite3

import pytest
from tiny_course import ASSIGNMENT, PlainRunner, copy_course, hand_in, solved

from autograder.grade import Course, grade
from gradebook import tables
from gradebook.location import database_url, find_root, read_json, write_json, write_whole


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A graded class: ann's written answer waits for a person, bob got 2 of 5 for his, cy failed."""
    root = copy_course(tmp_path_factory.mktemp("tables") / "tiny")
    hand_in(root, "ann", solved(root, why="An answer."))
    hand_in(root, "bob", solved(root, add="def add(a, b):\n    return 0", why="Another."))
    hand_in(root, "cy", "{")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Course, "new_runner", lambda self: PlainRunner())
        grade(ASSIGNMENT, root=root)
    _score_by_hand(root, "bob", "why", 2.0)
    return root


def _score_by_hand(root, student, cell, score):
    from nbgrader.api import Gradebook

    with Gradebook(database_url(root)) as book:
        grade = book.find_grade(cell, ASSIGNMENT, ASSIGNMENT, student)
        grade.manual_score, grade.needs_manual_grade = score, False
        book.db.commit()


def test_rows(course):
    ann, bob, cy = tables.scores(ASSIGNMENT, course)
    assert (ann.student, ann.state, ann.auto, ann.manual, ann.score, ann.max) == (
        "ann",
        "graded",
        11,
        None,
        11,
        16,
    )
    assert (bob.auto, bob.manual, bob.score) == (4, 2, 6)
    assert (ann.needs_manual, bob.needs_manual) == (True, False)
    assert (cy.state, cy.score, cy.max) == ("failed", None, None)
    assert "not valid JSON" in cy.reasons[0]


def test_scores_agree_with_nbgraders_own(course):
    from nbgrader.api import Gradebook

    with Gradebook(database_url(course)) as book:
        theirs = {s.student.id: (s.score, s.max_score) for s in book.assignment_submissions(ASSIGNMENT)}
    ours = {
        row.student: (row.score, row.max)
        for row in tables.scores(ASSIGNMENT, course)
        if row.state == "graded"
    }
    assert ours == theirs


def test_reasons(course):
    told = tables.reasons(ASSIGNMENT, "bob", course)
    assert any(line.startswith("add_check: ") and "the two operands are added" in line for line in told)
    assert tables.reasons(ASSIGNMENT, "nobody", course) == []


def test_reading_writes_nothing(course):
    database = course / "gradebook" / "gradebook.db"
    before = database.read_bytes()
    tables.scores(ASSIGNMENT, course)
    assert database.read_bytes() == before
    with tables._connect(course) as run, pytest.raises(Exception, match="readonly"):
        run("delete from grade")


def test_no_database_yet(tmp_path):
    assert tables.scores(ASSIGNMENT, tmp_path) == []
    assert not (tmp_path / "gradebook").exists()


def test_unfinished_nbgrader_run_is_no_zero(course):
    """A plain `nbgrader autograde` that dies leaves grades without a score."""
    database = sqlite3.connect(course / "gradebook" / "gradebook.db")
    database.execute("create table if not exists saved as select * from grade")
    database.execute("update grade set auto_score = null")
    database.commit()
    try:
        states = {row.student: (row.state, row.score) for row in tables.scores(ASSIGNMENT, course)}
    finally:
        database.execute(
            "update grade set auto_score = (select auto_score from saved where saved.id = grade.id)"
        )
        database.execute("drop table saved")
        database.commit()
        database.close()
    assert states["ann"] == ("ungraded", None)


def test_csv(course, tmp_path):
    tables.write_csv(tmp_path / "scores.csv", tables.scores(ASSIGNMENT, course))
    with open(tmp_path / "scores.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["student"] for row in rows] == ["ann", "bob", "cy"]
    assert (rows[1]["score"], rows[2]["score"], rows[2]["state"]) == ("6.0", "", "failed")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-2", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_formula_reaches_a_spreadsheet(tmp_path, name):
    tables.write_csv(tmp_path / "t.csv", [tables.Row(name, ASSIGNMENT, "failed", reasons=["=cmd()"])])
    with open(tmp_path / "t.csv", encoding="utf-8-sig", newline="") as file:
        row = next(csv.DictReader(file))
    assert row["student"] == "'" + name
    assert row["reasons"] == "'=cmd()"


def test_empty_table_has_its_heading(tmp_path):
    tables.write_csv(tmp_path / "t.csv", [])
    assert (tmp_path / "t.csv").read_text("utf-8-sig").startswith("student,assignment,state,score")


def test_root_is_found_from_below(course):
    assert find_root(course / "source" / ASSIGNMENT) == course
    with pytest.raises(FileNotFoundError, match="not inside a course"):
        find_root("/")


def test_database_can_be_elsewhere(course, monkeypatch):
    monkeypatch.setenv("TINYTORCH_GRADEBOOK", "postgresql://host/class")
    assert database_url(course) == "postgresql://host/class"


def test_interrupted_write_leaves_the_old_file(tmp_path):
    write_json(tmp_path / "a.json", {"a": 1})
    with pytest.raises(TypeError):
        write_whole(tmp_path / "a.json", "text is not bytes")
    assert read_json(tmp_path / "a.json") == {"a": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
