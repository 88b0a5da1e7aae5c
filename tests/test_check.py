"""`tinytorch check`: each check with its points and a reason, whatever the notebook does."""

import json
import time

import pytest
from building import built_course, change, solve

from course import catalog
from course.check import check

FIRST, SECOND = catalog.find("01"), catalog.find("02")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    made = built_course(tmp_path_factory.mktemp("course"))
    return made


@pytest.fixture
def notebook(course, tmp_path):
    """The solved first notebook in a folder of its own."""
    path = tmp_path / "01_tensor.ipynb"
    path.write_bytes(solve(course, FIRST).read_bytes())
    return path


def rows(report):
    return {row.name: (row.got, row.reason) for row in report.rows}


def test_a_solved_notebook_gets_all_points_of_its_visible_checks(course, notebook):
    report = check(course, FIRST, notebook)
    assert rows(report) == {"tiny_box_check": (40.0, ""), "tiny_norm_check": (30.0, "")}
    assert report.passed and report.troubles == []


def test_a_blank_notebook_gets_none_and_is_told_what_to_write(course):
    report = check(course, FIRST, course.release(FIRST))
    assert rows(report) == {
        "tiny_box_check": (0.0, "Not written yet."),
        "tiny_norm_check": (0.0, "Not written yet."),
    }
    assert not report.passed and report.troubles == []


def test_a_wrong_answer_gets_the_message_of_the_check(course, notebook):
    change(notebook, "return math.sqrt(", "return 2 * math.sqrt(")
    got, reason = rows(check(course, FIRST, notebook))["tiny_norm_check"]
    assert got == 0
    assert "Expected: 5.0" in reason and "Got: 10.0" in reason and "the root of the sum of squares" in reason


def test_part_of_the_points_comes_with_its_reason(course, tmp_path):
    path = tmp_path / "02.ipynb"
    path.write_bytes(solve(course, SECOND).read_bytes())
    change(path, "(box.data > 0)", "1")
    got, reason = rows(check(course, SECOND, path))["relu_check"]
    assert got == 50 and "the negative number" in reason


def test_an_error_names_its_type_and_line(course, notebook):
    change(notebook, "check.equal(norm(Box([3, 4])), 5.0", "norm(Box(['a']))\\n\",\n\"check.equal(1, 1.0")
    got, reason = rows(check(course, FIRST, notebook))["tiny_norm_check"]
    assert got == 0 and reason.startswith("ValueError: ") and reason.endswith("(line 2)")


def test_a_syntax_error_in_one_cell_leaves_the_others(course, notebook):
    change(notebook, "def norm(box):", "def norm(box:")
    report = check(course, FIRST, notebook)
    assert rows(report)["tiny_box_check"] == (40.0, "")
    assert "NameError" in rows(report)["tiny_norm_check"][1]
    assert report.troubles[0].startswith("tiny_norm: SyntaxError")


def test_an_endless_loop_is_interrupted_and_the_rest_runs(course, notebook):
    change(notebook, "return float(self.data.sum())", "while True: pass")
    start = time.monotonic()
    report = check(course, FIRST, notebook, seconds=8)
    assert rows(report) == {"tiny_box_check": (0.0, "It took more than 8 s."), "tiny_norm_check": (30.0, "")}
    assert time.monotonic() - start < 20


def test_a_loop_that_ignores_the_interrupt_ends_the_run_but_not_the_command(course, notebook, monkeypatch):
    monkeypatch.setattr("course.check.GRACE_SECONDS", 1)
    stubborn = 'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\\n",\n"        while True: pass'
    change(notebook, "return float(self.data.sum())", stubborn)
    report = check(course, FIRST, notebook, seconds=8)
    assert "could not be interrupted" in rows(report)["tiny_box_check"][1]
    assert rows(report)["tiny_norm_check"] == (0.0, "Not reached.")


def test_a_dying_interpreter_is_a_reason_too(course, notebook):
    change(notebook, "return float(self.data.sum())", "import os; os._exit(0)")
    report = check(course, FIRST, notebook)
    assert "ended Python" in rows(report)["tiny_box_check"][1]
    assert not report.passed


def test_sys_exit_is_an_error_of_one_cell(course, notebook):
    change(notebook, "return float(self.data.sum())", "import sys; sys.exit()")
    assert rows(check(course, FIRST, notebook))["tiny_norm_check"] == (30.0, "")


def test_a_deleted_check_is_missed(course, notebook):
    content = json.loads(notebook.read_text(encoding="utf-8"))
    content["cells"] = [cell for cell in content["cells"] if cell["id"] != "tiny_norm_check"]
    notebook.write_text(json.dumps(content), encoding="utf-8")
    report = check(course, FIRST, notebook)
    assert rows(report)["tiny_norm_check"] == (0.0, "The check is gone from your notebook.")
    assert not report.passed


def test_output_magics_unicode_and_a_noisy_cell_do_no_harm(course, notebook):
    noise = ["%matplotlib inline", "print('é∑' * 10**6)", "import sys; print('noise', file=sys.stderr)"]
    change(notebook, '"# Try it.', "".join(f'"{line}\\n",\n' for line in noise) + '"# Try it.')
    assert check(course, FIRST, notebook).passed


def test_the_notebook_runs_in_its_own_folder_and_leaves_nothing(course, notebook):
    (notebook.parent / "numbers.txt").write_text("3 4")
    change(notebook, "# Try it.", "assert open('numbers.txt').read() == '3 4'")
    before = sorted(notebook.parent.iterdir())
    assert check(course, FIRST, notebook).troubles == []
    assert sorted(notebook.parent.iterdir()) == before
