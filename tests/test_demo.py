"""The sample class of the demo: each submission gets the score that it deserves, with a reason for each lost point."""

import pytest
from course import sample_class

from gradebook import tables
from gradebook.feedback import feedback

ALL = 95  # by machine; the five points of the written answer are a person's to give
SCORES = {
    "ada": ALL,
    "alan": None,
    "barbara": ALL,
    "edsger": ALL - 9,
    "emmy": ALL,
    "grace": 0,
    "hedy": ALL,
    "john": ALL - 12,
    "katherine": ALL - 18,
    "mallory": 0,
    "noether": ALL,
    "radia": ALL,
    "trent": ALL - 6,
}
LOST = {
    "edsger": {"tensor_matmul_loops_check", "tensor_matmul_loops_hidden"},
    "john": {"tensor_reductions_check", "tensor_reductions_hidden", "flops_check"},
    "katherine": {
        "tensor_reductions_check", "tensor_reductions_hidden", "tensor_views_check", "flops_check", "views_check",
    },
    "trent": {"tensor_memory_check", "tensor_memory_hidden"},
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(graded_class):
    return {row.student: row for row in tables.scores(graded_class.item.id, graded_class.folder)}


def test_the_list_of_scores_covers_the_class():
    assert list(SCORES) == [name for name, _, _ in sample_class.STUDENTS]


@pytest.mark.parametrize("student", SCORES)
def test_score(rows, student):
    assert rows[student].score == SCORES[student]


@pytest.mark.parametrize("student", SCORES)
def test_each_lost_point_has_a_reason(graded_class, student):
    cells = graded_class.statuses[student].cells
    lost = {name for name, cell in cells.items() if cell["score"] is not None and cell["score"] < cell["max"]}
    machine = {name for name in lost if name != "tensor_explain"}
    if student in LOST:
        assert machine == LOST[student]
    assert all(cells[name]["reason"] for name in lost)


def test_an_unreadable_notebook_is_no_silent_zero(rows):
    assert rows["alan"].state == "failed"
    assert "not valid JSON" in rows["alan"].reasons[0]


def test_what_was_repaired_is_told(graded_class):
    for student, word in {"hedy": "tensor_matmul_check", "radia": "tensor_door_check", "trent": "tensor_memory_check"}.items():
        assert any(word in note for note in graded_class.statuses[student].notes), student


def test_the_endless_loop_is_named(graded_class):
    reason = graded_class.statuses["edsger"].cells["tensor_matmul_loops_check"]["reason"]
    assert "longer than" in reason


def test_feedback_shows_no_hidden_test(graded_class):
    pages = feedback(graded_class.item.id, root=graded_class.folder)
    assert len(pages) == len(SCORES)
    for page in graded_class.folder.glob("feedback/*/*/*.html"):
        text = page.read_text("utf-8")
        assert "BEGIN HIDDEN" not in text
        assert "every_other_row(np" not in text, "a line of a hidden test"
