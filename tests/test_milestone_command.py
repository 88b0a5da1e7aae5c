"""`tinytorch milestone`: on which modules it runs, what was reached, and whether that is enough."""

import json
import shutil
from pathlib import Path

import pytest
from building import NOTEBOOKS, REPO, built_course, change, solve, tinytorch

from course import build, catalog, cells, handout, milestone, notebook, package
from course.layout import Course, CourseError, find_item, replace_files

FIRST, MILESTONE = catalog.find("01"), catalog.find("1958")
REAL = [item for item in catalog.MILESTONES if Course(REPO).source(item).exists()]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A course with two small modules and a small milestone, made once; its third module is missing."""
    course = built_course(tmp_path_factory.mktemp("made") / "course")
    folder = course.root / "source" / MILESTONE.id
    folder.mkdir()
    shutil.copy(NOTEBOOKS / f"{MILESTONE.id}.py", folder)
    solved = build._read(course, MILESTONE)
    files = build._products(course, MILESTONE, solved) | {course.solved(MILESTONE): notebook.to_bytes(solved)}
    replace_files(files)
    return course


@pytest.fixture
def course(made, tmp_path):
    shutil.copytree(made.root, tmp_path / "course", symlinks=True)
    return Course((tmp_path / "course").resolve())


def own_tensor(course, old="self.data.sum()", new="self.data.sum()"):
    """Package a module 01 of the student's own, with one change."""
    change(solve(course, FIRST), old, new)
    assert tinytorch(course.root, "package", "01").returncode == 0


def test_it_says_on_what_it_runs_then_runs_then_tells_result_and_bar(course):
    done = tinytorch(course.root, "milestone", "1958")
    assert done.returncode == 0, done.stdout + done.stderr
    told = ["on the reference package: milestone_1958_perceptron.py", "tinytorch_ref/tensor.py", "missing",
            "On the way", "sum_check", "Bar: a sum of at least 5", "Result: a sum of 5",
            "The bar is reached."]  # fmt: skip
    text = done.stdout.replace("\\", "/")
    places = [text.rindex(words) for words in told]
    assert places == sorted(places)
    assert "activations.py" in text and "losses" not in text


def test_hidden_tests_are_not_part_of_it(course):
    text = tinytorch(course.root, "milestone", "1958").stdout
    assert "sum_hidden" not in text and "hidden test" not in text


def test_on_ones_own_modules_it_is_ones_own_code_that_counts(course):
    own_tensor(course, new="self.data.sum() / 2")
    missed = tinytorch(course.root, "milestone", "1958", "--mine")
    assert missed.returncode == 1
    assert "on 1 of your own and 1 reference modules" in missed.stdout and "my_tinytorch" in missed.stdout
    assert "missed on 1 of your" in tinytorch(course.root, "progress").stdout
    assert "Result: a sum of 2.5" in missed.stdout and "the bar is a sum of 5" in missed.stdout
    assert "The bar is missed: 1 of 1 checks do not pass." in missed.stdout
    assert tinytorch(course.root, "milestone", "1958").returncode == 0


def test_each_origin_is_the_one_that_imports_find(course):
    own_tensor(course)
    prepared = milestone.prepare(course, MILESTONE, "mine")
    assert [origin.whose for origin in prepared.origins] == ["mine", "reference", "missing"]
    assert prepared._replace(origins=prepared.origins[:1]).basis == "your own modules"
    where = "import tinytorch_ref.activations as a, tinytorch_ref.tensor as t; print(t.__file__, a.__file__)"
    change(course.source(MILESTONE), 'print("On the way")', where)
    done = tinytorch(course.root, "milestone", "1958", "--mine")
    assert f"{course.mine / 'tensor.py'} {course.reference / 'activations.py'}" in done.stdout


def test_without_a_word_it_runs_on_what_is_in_use(course):
    own_tensor(course)
    assert tinytorch(course.root, "use", "mine").returncode == 0
    assert "on 1 of your own" in tinytorch(course.root, "milestone", "1958").stdout
    assert "on the reference package" in tinytorch(course.root, "milestone", "1958", "--reference").stdout
    told = tinytorch(course.root, "milestone", "1958", "--mine", TINYTORCH_USE="reference")
    assert "on 1 of your own" in told.stdout and told.returncode == 0


@pytest.mark.parametrize(
    "word, options, message",
    [
        ("1958", {"whose": "mine"}, "You have no module of your own yet"),
        ("1969", {}, "There is no notebook"),
        ("1959", {}, "No module or milestone is called '1959'"),
        ("1958", {"notebook": Path("nowhere.ipynb")}, "There is no notebook"),
    ],
)
def test_what_cannot_run_is_explained(made, word, options, message):
    with pytest.raises(CourseError, match=message):
        milestone.prepare(made, find_item(word), **options)


def test_an_explanation_is_a_sentence_with_an_exit_code(made):
    done = tinytorch(made.root, "milestone", "01")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == "01_tensor is a module: `tinytorch check 01` runs its checks.\n"


def test_in_a_hand_out_it_runs_the_students_notebook(course, tmp_path):
    solved = solve(course, MILESTONE).read_bytes()
    (course.reference / "layers.py").write_text("")
    folder = tmp_path / "handout"
    handout.hand_out(course, MILESTONE, folder)

    def run(*words):
        return tinytorch(folder, *words, program="course.student_cli", PYTHONPATH=str(folder))

    blank = run("milestone", "1958")
    assert blank.returncode == 1 and "Not written yet" in blank.stdout
    assert "missed on the reference" in run("progress").stdout
    (folder / MILESTONE.id / f"{MILESTONE.id}.ipynb").write_bytes(solved)
    done = run("milestone", "1958")
    assert done.returncode == 0 and "milestone_1958_perceptron.ipynb" in done.stdout, done.stderr
    assert "reached on the reference" in run("progress").stdout
    assert "tinytorch milestone 1958 --mine" in (folder / "README.md").read_text(encoding="utf-8")


def test_a_bar_is_not_reached_by_deleting_the_check(course):
    path = solve(course, MILESTONE)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["cells"] = [cell for cell in content["cells"] if cell["id"] != "sum_check"]
    path.write_text(json.dumps(content), encoding="utf-8")
    done = tinytorch(course.root, "milestone", "1958")
    assert done.returncode == 1 and "The check is gone" in done.stdout
    course.release(MILESTONE).unlink()
    assert tinytorch(course.root, "milestone", "1958").returncode == 1


@pytest.mark.parametrize(
    "text, where",
    [
        ("x = 1\n1 / 0\n", "my_tinytorch/tensor.py, line 2: ZeroDivisionError: division by zero"),
        ("def f(:\n", "my_tinytorch/tensor.py, line 1: SyntaxError: invalid syntax"),
        ("from tinytorch_ref.activations import nothing\n", "my_tinytorch/tensor.py, line 1: ImportError: "),
    ],
)
def test_a_module_of_ones_own_that_cannot_be_imported_is_named_with_file_and_line(course, text, where):
    own_tensor(course)
    (course.mine / "tensor.py").write_text(text)
    done = tinytorch(course.root, "milestone", "1958", "--mine")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"Your module 01 cannot be imported: {where}")
    assert done.stderr.endswith("\nMend 01_tensor, then `tinytorch package 01`.\n")
    assert tinytorch(course.root, "milestone", "1958", "--reference").returncode == 0


def test_an_error_on_the_way_is_told_and_misses_the_bar(course):
    own_tensor(course, new="{}[0]")
    done = tinytorch(course.root, "milestone", "1958", "--mine")
    assert done.returncode == 1 and "Outside the checks: cell" in done.stdout and "KeyError" in done.stdout
    assert "my_tinytorch/tensor.py, line" in " ".join(done.stdout.split())


@pytest.mark.parametrize("item", REAL, ids=lambda item: item.id)
def test_each_milestone_of_the_course_keeps_the_convention(item):
    script = notebook.read_script(Course(REPO).source(item).read_text(encoding="utf-8"))
    found = cells.cells(script)
    assert {"Bar", "Time"} <= set(cells.title_table(found))
    assert any(cell.graded and cell.grade_id.endswith("_check") for cell in found)
    assert any('"Result: ' in cell.source for cell in found if cell.kind == "code" and not cell.nbgrader)


@pytest.mark.parametrize("item", REAL, ids=lambda item: item.id)
def test_each_milestone_of_the_course_reaches_its_bar(item, tmp_path):
    done = tinytorch(course_of_sources(tmp_path), "milestone", str(item.year))
    assert done.returncode == 0 and "\nResult: " in done.stdout, done.stdout + done.stderr


def course_of_sources(folder):
    """A course whose reference package is what the sources of this one say now; nothing else is built."""
    from building import make_course

    real, course = Course(REPO), make_course(folder / "course", "01_tensor")
    shutil.rmtree(course.root / "source")
    shutil.copytree(real.root / "source", course.root / "source", ignore=shutil.ignore_patterns("*.ipynb"))
    shutil.copytree(real.reference / "datasets", course.reference / "datasets")
    shutil.copy(real.reference / "__init__.py", course.reference)
    for item in course.sources():
        if isinstance(item, catalog.Module):
            script = notebook.read_script(course.source(item).read_text(encoding="utf-8"))
            exported = [cell.source for cell in cells.cells(script) if cell.exported]
            (course.reference / f"{item.file}.py").write_text(package.module_text(exported), encoding="utf-8")
    return course.root
