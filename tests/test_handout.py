"""What a student gets: complete enough to work with, and without any answer."""

import ast
import os
import subprocess
import sys
import zipfile

import pytest
from building import built_course, change, solve, tinytorch

from course import catalog, handout, notebook
from course.cells import cells
from course.layout import CourseError

FIRST, SECOND = catalog.find("01"), catalog.find("02")


@pytest.fixture(scope="module")
def handed(tmp_path_factory):
    """A hand-out of the second small module, as a folder."""
    course = built_course(tmp_path_factory.mktemp("course"))
    folder = tmp_path_factory.mktemp("student") / "handout"
    handout.hand_out(course, SECOND, folder)
    return course, folder


def secrets(course, item):
    """Lines of the solutions and hidden tests of a module that its release does not have."""
    solved = notebook.read_bytes(course.solved(item).read_bytes())
    released = {line.strip() for cell in cells(notebook.read_bytes(course.release(item).read_bytes()))
                for line in cell.source.splitlines()}  # fmt: skip
    lines = {line.strip() for cell in cells(solved) if cell.nbgrader for line in cell.source.splitlines()}
    return lines - released


def test_a_hand_out_holds_the_notebook_the_modules_before_it_and_the_tools(handed):
    _, folder = handed
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {"02_activations/02_activations.ipynb", "release/02_activations/02_activations.ipynb"} < files
    assert {name for name in files if name.startswith("tinytorch_ref/")} == {
        "tinytorch_ref/__init__.py",
        "tinytorch_ref/tensor.py",
    }
    assert {name for name in files if "/" not in name} == {"README.md", "pyproject.toml", "requirements.txt"}
    assert {name.split("/")[1] for name in files if name.startswith("autograder/")} == {
        "__init__.py",
        "checks.py",
        "compare.py",
        "counters",
        "figures.py",
    }
    assert {"autograder/counters/__init__.py", "autograder/counters/session.py"} < files
    assert {"docs/common-errors.md", "docs/paths.md"} < files


def test_no_solution_and_no_hidden_test_is_in_it(handed):
    course, _ = handed
    assert any("self.data.sum()" in line for line in secrets(course, FIRST))
    assert any("-7" in line for line in secrets(course, FIRST))
    for item in (FIRST, SECOND):
        everything = "\n".join(content.decode("utf-8") for content in handout.contents(course, item).values())
        assert [line for line in secrets(course, item) if line in everything] == []


def test_its_python_files_import_nothing_that_it_lacks(handed):
    _, folder = handed
    ours = {"autograder", "course", "gradebook", "tinytorch_ref"}
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ours:
                names = {name.name for name in node.names}
                if names & {"sandbox", "notebook"} or node.module.startswith("gradebook"):
                    assert path.name in ("doctor.py", "milestone.py")  # asked for in an instructor's course only
                    continue
                inside = folder / node.module.replace(".", "/")
                for name in node.names:
                    where = [inside.with_suffix(".py"), inside / f"{name.name}.py"]
                    assert any(file.exists() for file in where), (path, node.module, name.name)


def test_a_zip_has_the_same_bytes_each_time_and_unpacks_to_one_folder(handed, tmp_path):
    course, folder = handed
    handout.hand_out(course, SECOND, tmp_path / "a.zip")
    os.utime(course.release(SECOND), (0, 0))
    handout.hand_out(course, SECOND, tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        for name in archive.namelist():
            top, _, inside = name.partition("/")
            assert top == "tinytorch_02_activations"
            assert archive.read(name) == (folder / inside).read_bytes()


def test_requirements_are_pinned_as_in_the_lock(handed):
    course, folder = handed
    lock = (course.root / "requirements.lock").read_text(encoding="utf-8")
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == "-e ." and len(lines) == len(handout.PACKAGES) + 1
    for line in lines[:-1]:
        assert f"\n{line} " in lock


def test_a_student_checks_packages_and_uses_inside_a_hand_out(handed, tmp_path):
    course, _ = handed
    handout.hand_out(course, SECOND, tmp_path / "h")

    def run(*words):
        return tinytorch(
            tmp_path / "h" / "02_activations",
            *words,
            program="course.student_cli",
            PYTHONPATH=str(tmp_path / "h"),
        )

    blank = run("check", "02")
    assert blank.returncode == 1 and "Not written yet" in blank.stdout
    solved = solve(course, SECOND)
    (tmp_path / "h" / "02_activations" / "02_activations.ipynb").write_bytes(solved.read_bytes())
    done = run("check", "02")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100 of 100 points" in done.stdout
    assert run("package", "02").returncode == 0
    assert (tmp_path / "h" / "my_tinytorch" / "activations.py").exists()
    mine = run("use", "mine")
    assert "my_tinytorch/activations.py" in mine.stdout.replace("\\", "/") and mine.returncode == 0
    program = (
        "import tinytorch_ref.activations as a, tinytorch_ref.tensor as t; print(a.__file__, t.__file__)"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path / "h", capture_output=True, text=True, check=True
    )
    assert "my_tinytorch" in found.stdout.split()[0] and "tinytorch_ref" in found.stdout.split()[1]


@pytest.mark.parametrize(
    "old, new",
    [("Length of the numbers in", "Size of"), ('"points": 30', '"points": 29')],
    ids=["source", "broken"],
)
def test_a_stale_release_is_not_handed_out(tmp_path, old, new):
    course = built_course(tmp_path)
    change(course.source(FIRST), old, new)
    for item in (FIRST, SECOND):
        with pytest.raises(CourseError):
            handout.hand_out(course, item, tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    course = built_course(tmp_path / "course")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(CourseError, match="not an empty folder"):
        handout.hand_out(course, FIRST, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".new-")]
