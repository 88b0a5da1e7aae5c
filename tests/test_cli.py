"""The command line: it helps, works from any subfolder, and explains errors without tracebacks."""

import os
import shutil
import subprocess
import sys

import pytest
from building import REPO, built_course, change, make_course, solve, tinytorch

from course import catalog, doctor, use
from course.layout import Course, CourseError, find_course, replace_files

FIRST = catalog.find("01")
STUDENT = {"check", "milestone", "package", "paths", "progress", "use", "doctor"}
INSTRUCTOR = {"build", "release", "grade", "feedback", "grades", "demo"}


@pytest.fixture
def course(tmp_path):
    return built_course(tmp_path / "course")


def test_help_names_every_command_and_the_students_only_theirs(tmp_path):
    for program, commands in [("course.cli", STUDENT | INSTRUCTOR), ("course.student_cli", STUDENT)]:
        text = tinytorch(tmp_path, "--help", program=program).stdout
        assert {name for name in STUDENT | INSTRUCTOR if f"│ {name} " in text} == commands


@pytest.mark.parametrize("command", sorted(STUDENT | INSTRUCTOR))
def test_each_command_explains_itself(tmp_path, command):
    done = tinytorch(tmp_path, command, "--help")
    assert done.returncode == 0 and len(done.stdout.split()) > 15


def test_help_does_not_import_what_is_slow():
    program = (
        "import sys; from course import cli; slow = 'numpy nbformat nbgrader jupytext sqlalchemy'; "
        "print([name for name in slow.split() if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPO, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_commands_work_from_any_subfolder(course):
    done = tinytorch(course.root / "source" / "01_tensor", "build")
    assert done.returncode == 0 and done.stdout.splitlines() == [
        "01_tensor: up to date",
        "02_activations: up to date",
    ]


@pytest.mark.parametrize(
    "words, code, message",
    [
        (["build", "77"], 1, "No module or milestone is called '77'"),
        (["build", "03"], 1, "03_layers has no source"),
        (["check", "03"], 1, "There is no notebook"),
        (["check"], 2, "Missing argument"),
        (["bild"], 2, "No such command"),
        (["use", "yours"], 2, "say mine or reference"),
        (["use", "mine"], 1, "You have no module of your own yet"),
        (["release", "03", "--to", "x"], 1, "has not been built"),
        (["grade", "01"], 1, "0 of 0 graded"),
        (["feedback", "01"], 1, "0 pages written"),
        (["grades"], 0, "Nothing has been graded yet"),
    ],
)
def test_errors_are_sentences_with_an_exit_code(course, words, code, message):
    done = tinytorch(course.root, *words)
    assert done.returncode == code, done.stdout + done.stderr
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_grading_refuses_to_run_without_a_sandbox_and_says_what_to_install(course):
    submitted = course.root / "submitted" / "ada" / FIRST.id
    shutil.copytree(course.release(FIRST).parent, submitted)
    done = tinytorch(course.root, "grade", "01", PATH="/nowhere")
    assert done.returncode == 1 and "--no-sandbox" in done.stderr and "nstall" in done.stderr
    assert not (course.root / "gradebook" / "status").exists()


def test_outside_of_a_course_it_says_so_and_makes_nothing(tmp_path):
    done = tinytorch(tmp_path, "grades")
    assert done.returncode == 1 and "is not inside a course folder" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_build_that_fails_says_where(course):
    change(course.source(FIRST), "return float(self.data.sum())", "return 1 / 0")
    done = tinytorch(course.root, "build", "01")
    assert done.returncode == 1
    assert "01_tensor: tiny_box_check raises ZeroDivisionError" in done.stderr
    assert "Traceback" not in done.stderr


def test_release_writes_where_the_caller_stands(course, tmp_path):
    done = tinytorch(course.root / "source", "release", "1", "--to", "../out.zip")
    assert done.returncode == 0, done.stderr
    assert (course.root / "out.zip").exists()


def test_check_takes_a_notebook_and_sets_the_exit_code(course, tmp_path):
    assert tinytorch(course.root, "check", "tensor").returncode == 1
    shutil.copy(solve(course, FIRST), tmp_path / "mine.ipynb")
    done = tinytorch(course.root / "release", "check", "01", "--notebook", str(tmp_path / "mine.ipynb"))
    assert done.returncode == 0 and "70 of 70 points" in done.stdout


def test_check_shows_square_brackets_of_a_reason(course):
    path = solve(course, FIRST)
    change(path, "return math.sqrt(", "raise ValueError('[red]x[/red]') # ")
    assert "[red]x[/red]" in tinytorch(course.root, "check", "01").stdout


def test_package_and_use_change_what_imports_find(course):
    solve(course, FIRST)
    assert "Written: my_tinytorch" in tinytorch(course.root, "package", "01").stdout
    assert use.chosen(course) == ("reference", "the default")
    assert tinytorch(course.root, "use", "mine").returncode == 0
    assert [(o.module.number, o.whose) for o in use.origins(course)[:3]] == [
        (1, "mine"),
        (2, "reference"),
        (3, "missing"),
    ]
    assert imported(course, {}) == "my_tinytorch"
    assert imported(course, {"TINYTORCH_USE": "reference"}) == "tinytorch_ref"
    assert tinytorch(course.root, "use", "reference").returncode == 0
    assert imported(course, {}) == "tinytorch_ref"
    assert imported(course, {"TINYTORCH_USE": "mine"}) == "my_tinytorch"


def imported(course, environment):
    """The folder in which an import of the first module ends, in a fresh interpreter."""
    program = "import os, tinytorch_ref.tensor as t; print(os.path.basename(os.path.dirname(t.__file__)))"
    clean = {name: value for name, value in os.environ.items() if name != "TINYTORCH_USE"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=course.root,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_an_environment_variable_that_contradicts_is_named(course, monkeypatch):
    solve(course, FIRST)
    tinytorch(course.root, "package", "01")
    monkeypatch.setenv("TINYTORCH_USE", "reference")
    with pytest.raises(CourseError, match="TINYTORCH_USE still says reference"):
        use.use(course, "mine")


def test_doctor_finds_what_is_wrong_and_says_the_cure(course):
    findings = {finding.name: finding for finding in doctor.examine(course)}
    assert findings["Python"].state == "ok" and findings["Gradebook"].state == "ok"
    assert findings["Kernel"].state == "ok", findings["Kernel"]
    lock = course.root / "requirements.lock"
    lock.write_text(lock.read_text(encoding="utf-8").replace("\nnumpy==", "\nnumpy==99"), encoding="utf-8")
    finding = {finding.name: finding for finding in doctor.examine(course)}["Packages"]
    assert finding.state == "wrong" and "numpy is " in finding.what and "pip install" in finding.cure
    done = tinytorch(course.root, "doctor")
    assert done.returncode == 1 and "WRONG" in done.stdout and "Cure" in done.stdout


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_doctor_sees_a_gradebook_that_cannot_be_written(course):
    (course.root / "gradebook").chmod(0o500)
    findings = {finding.name: finding for finding in doctor.examine(course)}
    assert findings["Gradebook"].state == "wrong"


def test_the_course_is_found_upward(tmp_path):
    course = make_course(tmp_path / "a")
    assert find_course(course.source(FIRST).parent) == course
    with pytest.raises(CourseError):
        find_course(tmp_path)


def test_replacing_files_is_all_or_nothing_where_writing_fails(tmp_path):
    old = tmp_path / "old.txt"
    old.write_text("old")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        replace_files({old: b"new", tmp_path / "file" / "below": b"new"})
    assert old.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "old.txt"]


def test_the_lock_names_no_place_of_one_machine_and_hashes_everything():
    text = (REPO / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text and "find-links" not in text and "index-url" not in text
    requirements = [line for line in text.splitlines() if "==" in line and not line.startswith((" ", "#"))]
    assert len(requirements) > 50 and all(line.endswith("\\") for line in requirements)


def test_modules_see_the_right_modules_before_them():
    course = Course(REPO)
    assert [module.number for module in course.modules_before(catalog.find("03"))] == [1, 2]
    assert [module.number for module in course.modules_before(catalog.find("1969"))] == [1, 2, 3, 4, 5, 6]
