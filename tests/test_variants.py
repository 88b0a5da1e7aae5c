"""The tests of the tests: every mutant loses points on the cell meant for it, every alternative keeps them all.

Each variant runs in the runner that grades submissions. This is the slow part of the suite: about a third of a second a
variant on two cores. Only the cells that matter to a variant are run.
"""

import copy
import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from course import assign, notebook
from course.catalog import find
from course.layout import Course
from variants import MUTANTS, load

from autograder import sandbox
from autograder.preprocessors import SplitExecute, cell_result
from autograder.runner import Runner

ROOT = MUTANTS.parent.parent
ASSIGNMENTS = sorted(path.stem for path in MUTANTS.glob("*.py"))
VARIANTS = {assignment: [variant for kind in load(assignment) for variant in kind] for assignment in ASSIGNMENTS}
CASES = [
    pytest.param(assignment, number, id=f"{assignment}-{'mutant' if v.caught_by else 'alternative'}-{v.cell}-{v.name}")
    for assignment, variants in VARIANTS.items()
    for number, v in enumerate(variants)
]


@pytest.fixture(scope="module")
def results():
    """Results of all variants of an assignment, which are run side by side when the first of them is asked for."""
    known = {}

    def of(assignment):
        if assignment not in known:
            try:
                known[assignment] = _run_all(assignment, VARIANTS[assignment])
            except Exception as error:  # it would come again for each variant, after the same minutes
                known[assignment] = error
        if isinstance(known[assignment], Exception):
            raise known[assignment]
        return known[assignment]

    return of


@pytest.mark.parametrize("assignment, number", CASES)
def test_variant(results, assignment, number):
    variant, scores = VARIANTS[assignment][number], results(assignment)[number]
    if variant.caught_by is None:
        lost = {grade_id: reason for grade_id, (score, points, reason) in scores.items() if score < points}
        assert not lost, f"a correct solution ({variant.name}) loses points"
    else:
        score, points, reason = scores[variant.caught_by]
        assert score < points, f"{variant.caught_by} does not catch: {variant.name}"
        assert reason.strip(), "points are lost without a word"


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_each_exercise_has_enough_variants(assignment):
    solved = notebook.read_script(Course(ROOT).source(find(assignment)).read_text("utf-8"))
    exercises = [_id(cell) for cell in solved.cells if cell.cell_type == "code" and _told(cell).get("solution")]
    variants = VARIANTS[assignment]
    for exercise in exercises:
        of_it = [v for v in variants if v.cell == exercise]
        assert sum(v.caught_by is not None for v in of_it) >= 5, f"{exercise}: fewer than five mutants"
        assert sum(v.caught_by is None for v in of_it) >= 2, f"{exercise}: fewer than two alternatives"


def _run_all(assignment, variants):
    item, course = find(assignment), Course(ROOT)
    step = SplitExecute(config=assign.configuration(course, ROOT))
    solved = notebook.read_script(course.source(item).read_text("utf-8"))
    resources = {"metadata": {"path": str(course.source(item).parent)}, "nbgrader": {"assignment": item.id}}
    base = step.payload(solved, resources)
    works, _ = sandbox.available()  # the code is ours, so it may run where there is none

    def run(part):
        with Runner(step.limits(), sandbox="bubblewrap" if works else "none") as runner:
            return [(number, _scores(runner, _payload(base, variant))) for number, variant in part]

    numbered = list(enumerate(variants))
    with ThreadPoolExecutor(2) as pool:
        return dict(pair for part in pool.map(run, (numbered[::2], numbered[1::2])) for pair in part)


def _payload(base, variant):
    """The solved notebook with one cell changed, and of the rest only what bears on it."""
    payload = copy.deepcopy(base)
    for cell in payload["cells"]:
        if cell["grade_id"] == variant.cell:
            cell["source"] = variant.apply(cell["source"])
    places = {cell["grade_id"]: cell["index"] for cell in payload["cells"]}
    start, end = places[variant.cell], places[variant.caught_by] if variant.caught_by else math.inf
    payload["cells"] = [cell for cell in payload["cells"] if cell["index"] <= end and _matters(cell, variant, start)]
    return payload


def _matters(cell, variant, start):
    """Whether a cell bears on a variant of the cell with the index `start`; earlier checks cannot see it."""
    if cell["kind"] in ("graded", "hidden"):
        return cell["index"] > start and variant.caught_by in (None, cell["grade_id"])
    return cell["kind"] == "setup" or cell["grade_id"] or _binds(cell["source"])


TO_LOOK_AT = ("# Try it", "# Measure")  # how cells begin that nothing later depends on


def _binds(source):
    """Whether a cell without an id defines something: an exported helper, an import."""
    return not source.startswith(TO_LOOK_AT) and any(line.startswith(("def ", "class ", "import ", "from ", "@")) or " = " in line and line[0] not in " #"
               for line in source.splitlines() if line)


def _scores(runner, payload):
    result = runner.run(payload)
    assert result["status"] == "ok", result["reason"]
    graded = [cell for cell in payload["cells"] if cell["kind"] in ("graded", "hidden")]
    return {cell["grade_id"]: _score(cell, cell_result(result, cell["index"])) for cell in graded}


def _score(cell, told):
    reason = told["error"]["message"] if told["error"] else told["stdout"]
    return told["score"], cell["points"], reason


def _told(cell):
    return cell.metadata.get("nbgrader", {})


def _id(cell):
    return _told(cell).get("grade_id")
