"""Grade the solution and the blank release as a student's work would be: full marks, and none."""

import contextlib

from course import assign
from course.cells import cells
from course.layout import CourseError


def verify(course, item, solved, released):
    """Make sure that the solution gets all points that a machine gives, and the release as handed out none.

    Parameters
    ----------
    course : layout.Course
    item : catalog.Module or catalog.Milestone
    solved, released : nbformat.NotebookNode
        With the same cells in the same order.

    Raises
    ------
    CourseError
        Naming each cell whose score is wrong, and why.
    """
    graded = [cell for cell in cells(solved) if cell.graded]
    full, none = _scores(course, item, [solved, _blank(solved, released)])
    wrong = [
        f"  {cell.where}: the solution loses {_lost(cell, full)}" for cell in graded if _lost(cell, full)
    ]
    wrong += [f"  {cell.where}: gives points to a blank notebook" for cell in graded if none[cell.index][0]]
    if wrong:
        raise CourseError("\n".join([f"{item.id}: graded as a student's work would be,", *wrong]))


def _lost(cell, scores):
    score, reason = scores[cell.index]
    return (
        f"{cell.points - score:g} of {cell.points:g} points\n      {reason}" if score != cell.points else ""
    )


def _blank(solved, released):
    """The notebook as it is graded when nothing was written: released answers, hidden tests in place."""
    blank = type(solved)(solved)
    blank.cells = [
        released.cells[cell.index] if cell.solution else solved.cells[cell.index] for cell in cells(solved)
    ]
    return blank


def _scores(course, item, notebooks):
    """Score and reason by cell index of each notebook, from the runner that grades submissions."""
    from autograder import sandbox
    from autograder.preprocessors import SplitExecute
    from autograder.runner import Runner

    step = SplitExecute(config=assign.configuration(course, course.root))
    resources = {"metadata": {"path": str(course.source(item).parent)}, "nbgrader": {"assignment": item.id}}
    trusted = "bubblewrap" if sandbox.available()[0] else "none"  # the code is the course's own
    with contextlib.chdir(course.root), Runner(step.limits(), sandbox=trusted) as runner:
        results = [runner.run(step.payload(notebook, resources)) for notebook in notebooks]
    return [_read(item, notebook, result) for notebook, result in zip(notebooks, results)]


def _read(item, notebook, result):
    from autograder.preprocessors import cell_result

    if result["status"] != "ok":
        raise CourseError(f"{item.id}: the runner says: {result['reason']}")
    return {
        cell.index: _score(cell, cell_result(result, cell.index)) for cell in cells(notebook) if cell.graded
    }


def _score(cell, told):
    if told["error"]:
        return 0.0, f"{told['error']['name']}: {told['error']['message']}"
    score = cell.points if told["score"] is None else told["score"]
    return score, told["stdout"].strip()
