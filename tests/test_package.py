"""From exported cells to a module that reads as written by hand."""

import ast

import pytest
from building import NOTEBOOKS, built_course, change, solve

from course import catalog, mine, notebook, package
from course.cells import cells
from course.layout import CourseError

FIRST = catalog.find("01")

EXPECTED = '''\
"""A box around a list of numbers."""

import math

import numpy as np

__all__ = ["Box", "norm"]


class Box:
    """Numbers in a box.

    Parameters
    ----------
    values : list of float
    """

    def __init__(self, values):
        self.data = np.array(values, dtype=np.float32)

    def total(self):
        """Sum of all numbers.

        Returns
        -------
        float
        """
        return float(self.data.sum())


def norm(box):
    """Length of the numbers in a box, as a vector."""
    return math.sqrt(float((box.data**2).sum()))
'''


def test_the_small_module_reads_as_written_by_hand():
    made = notebook.read_script((NOTEBOOKS / "01_tensor.py").read_text(encoding="utf-8"))
    assert package.module_text([cell.source for cell in cells(made) if cell.exported]) == EXPECTED


def test_imports_are_gathered_once_in_groups_and_unused_ones_go():
    text = package.module_text(
        [
            "import numpy as np\nimport sys\nfrom tinytorch_ref.tensor import Tensor, apply\nx = np.ones(3)",
            "import numpy as np\nimport math\ndef f(t: Tensor):\n    return math.pi * np.e",
        ]
    )
    head = text.split("__all__")[0]
    assert head == "import math\n\nimport numpy as np\n\nfrom tinytorch_ref.tensor import Tensor\n\n"


def test_names_only_used_in_a_decorator_or_a_default_keep_their_import():
    text = package.module_text(
        ["import functools\nimport math\n@functools.cache\ndef f(x=math.pi):\n    return x"]
    )
    assert "import functools\nimport math\n" in text


def test_shows_prints_and_expressions_go_and_registrations_stay():
    text = package.module_text(
        ["RULES = {}\nx = 1\nx\nprint(x)\nRULES.update(a=1)\nplt.show()\nplt.plot([1]).x()"]
    )
    assert text == '__all__ = ["RULES", "x"]\n\nRULES = {}\nx = 1\nRULES.update(a=1)\n'


def test_comments_that_touch_a_statement_stay_and_others_go():
    text = package.module_text(["# About this cell.\n\n# Why two.\nTWO = 2\n\n# Nothing below.\n"])
    assert text == '__all__ = ["TWO"]\n\n# Why two.\nTWO = 2\n'


def test_two_empty_lines_around_definitions_and_own_spacing_between_constants():
    text = package.module_text(["A = 1\nB = 2\n\nC = 3\n@staticmethod\ndef f():\n    pass\nD = 4"])
    assert (
        text.split("]\n\n")[1] == "A = 1\nB = 2\n\nC = 3\n\n\n@staticmethod\ndef f():\n    pass\n\n\nD = 4\n"
    )


@pytest.mark.parametrize(
    "docstring, left",
    [
        ('"""Adds.\n\n    Hints: use +.\n    """', '"""Adds."""'),
        ('"""Adds.\n\n    Hint: use +,\n    not -."""', '"""Adds."""'),
        ('"""Adds.\n\n    Hints: use +.\n\n    Returns\n    -------\n    int\n    """', None),
        ('"""Adds, with Hints: none."""', '"""Adds, with Hints: none."""'),
        ('"""Adds."""\n    # Hints: use +\n    # and think.', '"""Adds."""'),
    ],
)
def test_hints_go_and_the_rest_of_the_docstring_stays(docstring, left):
    text = package.module_text([f"def add(a, b):\n    {docstring}\n    return a + b"])
    assert text.rstrip().endswith("return a + b") and "use +" not in text
    left = left or '"""Adds.\n\n    Returns\n    -------\n    int\n    """'
    assert f"def add(a, b):\n    {left}\n    return" in text


def test_strings_keep_their_content_to_the_byte():
    value = "a  \n\n\n  ### not a marker \t\n"
    text = package.module_text([f'X = """{value}"""'])
    assert ast.literal_eval(text.split("X = ")[1]) == value


def test_a_module_may_have_its_own_all():
    assert package.module_text(['__all__ = ["f"]\ndef f(): pass\ndef g(): pass']).count("__all__") == 1


def test_public_names_include_each_target_and_leave_loops_and_private_names_out():
    text = package.module_text(["a, b = 1, 2\nc: int = 3\n_d = 4\nfor e in ():\n    pass"])
    assert '__all__ = ["a", "b", "c"]' in text


def test_two_statements_on_one_line_come_once():
    assert package.module_text(["a = 1; b = 2"]).count("a = 1") == 1


def test_unsolved_names_the_stubs_and_not_an_error_that_is_meant():
    source = (
        "class A:\n    def f(self):\n        # YOUR CODE HERE\n        raise NotImplementedError()\n"
        "    def g(self):\n        raise NotImplementedError('module 06')"
    )
    assert package.unsolved(source) == ["f"]


def test_a_solved_notebook_packages_to_what_the_reference_is(tmp_path):
    course = built_course(tmp_path)
    solve(course, FIRST)
    packaged = mine.package_own(course, FIRST)
    assert packaged.warnings == []
    reference = (course.reference / "tensor.py").read_text(encoding="utf-8")
    assert packaged.path.read_text(encoding="utf-8").split("\n", 1)[1] == reference.split("\n", 1)[1]


def test_lost_tags_are_known_by_the_released_notebook(tmp_path):
    course = built_course(tmp_path)
    path = solve(course, FIRST)
    path.write_text(path.read_text(encoding="utf-8").replace('"export"', '"lost"'), encoding="utf-8")
    assert (
        mine.package_own(course, FIRST)
        .path.read_text(encoding="utf-8")
        .endswith(EXPECTED.split("\n\n", 1)[1])
    )


def test_an_unsolved_exercise_is_packaged_with_a_warning(tmp_path):
    course = built_course(tmp_path)
    warnings = mine.package_own(course, FIRST).warnings
    assert warnings == ["total is not written yet (tiny_box).", "norm is not written yet (tiny_norm)."]


def test_a_module_that_cannot_be_imported_is_refused_and_the_old_one_stays(tmp_path):
    course = built_course(tmp_path)
    path = solve(course, FIRST)
    before = mine.package_own(course, FIRST).path.read_bytes()
    change(path, '"class Box:\\n",', '"class Box(Crate):\\n",')
    with pytest.raises(CourseError, match="NameError: name 'Crate' is not defined"):
        mine.package_own(course, FIRST)
    assert (course.mine / "tensor.py").read_bytes() == before
    assert [path.name for path in course.mine.iterdir()] == ["tensor.py"]


def test_a_cell_that_does_not_parse_is_left_out_by_name(tmp_path):
    course = built_course(tmp_path)
    path = solve(course, FIRST)
    change(path, '"def norm(box):\\n",', '"def norm(box:\\n",')
    packaged = mine.package_own(course, FIRST)
    assert len(packaged.warnings) == 1 and packaged.warnings[0].startswith("tiny_norm is left out: ")
    assert "norm" not in packaged.path.read_text(encoding="utf-8")


def test_a_milestone_makes_no_module(tmp_path):
    with pytest.raises(CourseError, match="milestone"):
        mine.package_own(built_course(tmp_path), catalog.find("1986"))


def test_hints_go_from_docstrings_at_every_depth():
    source = '''class A:
    """A class."""

    def method(self):
        """A method.

        Hints: one.
        """

    def other(self):
        """Another.

        Hints: two.
        """


def function():
    """A function.

    Hints: three.
    """
'''
    text = package.clean(source)
    assert "Hints" not in text
    assert [text.count(doc) for doc in ('"""A method."""', '"""Another."""', '"""A function."""')] == [1, 1, 1]
