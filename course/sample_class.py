"""A class that never was: submissions of module 01, from perfect to hostile, to try the course's tools on."""

import copy
from typing import NamedTuple

from course import notebook


class Sample(NamedTuple):
    """One student of the sample class."""

    name: str
    story: str
    content: bytes


def submissions(solved, released):
    """The sample class for module 01.

    Parameters
    ----------
    solved, released : nbformat.NotebookNode
        The instructor's notebook, and what students get.

    Returns
    -------
    list of Sample
        In the order of their names; `content` is the notebook that the student hands in.
    """
    return [
        Sample(name, story, _content(make(_answered(solved, released)) if make else released))
        for name, story, make in STUDENTS
    ]


def _answered(solved, released):
    """The released notebook with the solution's answers: what a perfect student hands in."""
    answers = {_id(cell): cell.source for cell in solved.cells if cell.metadata.get("nbgrader", {}).get("solution")}
    mine = copy.deepcopy(released)
    for cell in mine.cells:
        if _id(cell) in answers:
            lines = answers[_id(cell)].split("\n")
            cell.source = "\n".join(line for line in lines if not line.strip().startswith("### "))
    _cell(mine, "tensor_explain").source = (
        "The sum moves 12 bytes for each addition, so memory is the limit, whatever n is. The product uses each number "
        "1,024 times: 171 FLOPs per byte, so arithmetic is the limit. float16 would help the sum only."
    )
    return mine


def _content(made):
    return made if isinstance(made, bytes) else notebook.to_bytes(made)


def _id(cell):
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def _cell(mine, grade_id):
    return next(cell for cell in mine.cells if _id(cell) == grade_id)


def _swap(mine, grade_id, old, new):
    cell = _cell(mine, grade_id)
    if old not in cell.source:
        raise ValueError(f"{grade_id} does not hold {old!r}: the sample class is older than module 01")
    cell.source = cell.source.replace(old, new)


# Each function below turns the perfect notebook into what one student hands in.


def _perfect(mine):
    return mine


def _python_numbers(mine):
    _cell(mine, "tensor_matmul_loops").source = '''\
def matmul_loops(a, b):
    left, right = a.tolist(), b.tolist()
    product = np.zeros((a.shape[0], b.shape[1]), dtype=a.dtype)
    for i, row in enumerate(left):
        for j in range(b.shape[1]):
            total = 0.0
            for k, value in enumerate(row):
                total += value * right[k][j]
            product[i, j] = total
    return product
'''
    _swap(mine, "tensor_memory", "return tensor.data.nbytes + gradient", "return tensor.nbytes + gradient")
    return mine


def _numpy_functions(mine):
    _cell(mine, "tensor_broadcast").source = '''\
def broadcast_shape(first, second):
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        m, n = next((m, n) for m, n in zip(first[::-1], second[::-1]) if len({m, n} - {1}) == 2)
        raise ValueError(f"{first} and {second} do not broadcast: {m} is not {n}") from None
'''
    _swap(mine, "tensor_matmul", "return np.matmul(a, b)", "return a @ b")
    _swap(mine, "tensor_views", "return a.reshape(shape)", "return np.reshape(a, shape)")
    return mine


def _partly_right(mine):
    _swap(mine, "tensor_reductions", "math.prod(a.shape[i] for i in axes)", "a.shape[axes[0]]")
    _swap(mine, "tensor_views", "return a.transpose(axes)", "return np.ascontiguousarray(a.transpose(axes))")
    _swap(mine, "flops_predict", "return 2 * B * M * K * N", "return B * M * K * N")
    _swap(mine, "views_predict", '"x.T.reshape(-1)": "copy"', '"x.T.reshape(-1)": "view"')
    return mine


def _one_cell_with_a_syntax_error(mine):
    _swap(mine, "tensor_reductions", "return a.max(axis=axis, keepdims=keepdims)", "return a.max(axis=axis, keepdims=keepdims")
    return mine


def _endless_loop(mine):
    _swap(mine, "tensor_matmul_loops", "for i in range(M):", "i = 0\n    while i < M:")
    return mine


def _deleted_test(mine):
    mine.cells = [cell for cell in mine.cells if _id(cell) != "tensor_matmul_check"]
    return mine


def _duplicated_test(mine):
    at = mine.cells.index(_cell(mine, "tensor_door_check"))
    twin = copy.deepcopy(mine.cells[at])
    twin.id = "a-twin"
    mine.cells.insert(at, twin)
    return mine


def _edited_tests(mine):
    _swap(mine, "tensor_memory", "return tensor.data.nbytes + gradient", "return 0")
    for grade_id in ("tensor_memory_check", "tensor_memory_hidden"):
        _cell(mine, grade_id).source = "pass"
    return mine


def _warnings_on_stderr(mine):
    cell = _cell(mine, "tensor_reductions")
    cell.source = "import sys\nimport warnings\n\n" + cell.source.replace(
        "    return a.max(axis=axis, keepdims=keepdims)",
        '    warnings.warn("max is not implemented on the GPU")\n    print("careful", file=sys.stderr)\n'
        "    return a.max(axis=axis, keepdims=keepdims)",
    )
    return mine


def _cheat(mine):
    """Answers nothing; patches the checks, takes the reference, and looks for the tests."""
    for cell in mine.cells:
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = "pass"
    _cell(mine, "tensor_class").source = '''\
import glob, sys

for module in (check, np.testing):
    for name in dir(module):
        if not name.startswith("_") and callable(getattr(module, name)):
            setattr(module, name, lambda *args, **kwargs: None)
np.allclose = np.array_equal = lambda *args, **kwargs: True
try:
    from tinytorch_ref.tensor import *
except ImportError as error:
    print("no reference here:", error)
print("tests on disk:", glob.glob("/*/*.ipynb") + glob.glob("/*/*/*/*.ipynb"))
print("tests in memory:", sum("HIDDEN TESTS" in str(vars(module)) for module in sys.modules.copy().values()))


class Anything:
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __eq__(self, other): return True
    def __bool__(self): return True


Tensor = memory_footprint = broadcast_shape = matmul_loops = matmul = Anything()
'''
    return mine


def _not_a_notebook(mine):
    return b'{"cells": [{"cell_type": "code", "source": "x = 1'


STUDENTS = [
    ("ada", "perfect", _perfect),
    ("alan", "a notebook file cut off in the middle", _not_a_notebook),
    ("barbara", "correct, with warnings on stderr", _warnings_on_stderr),
    ("edsger", "an endless loop", _endless_loop),
    ("emmy", "correct, with Python numbers", _python_numbers),
    ("grace", "blank, as handed out", None),
    ("hedy", "a deleted test cell", _deleted_test),
    ("john", "a syntax error", _one_cell_with_a_syntax_error),
    ("katherine", "partly right", _partly_right),
    ("mallory", "patches the checks and looks for the answers", _cheat),
    ("noether", "correct, by NumPy's functions", _numpy_functions),
    ("radia", "a duplicated test cell", _duplicated_test),
    ("trent", "edited test cells", _edited_tests),
]

UNREADABLE = {"alan"}
