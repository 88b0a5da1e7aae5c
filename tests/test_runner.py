"""The split runner on honest notebooks: scores, messages, limits, and what graded cells can do."""

import base64
import json
import textwrap

import pytest
from payloads import needs_bubblewrap, payload, scores

from autograder.runner import Runner, run_one

pytestmark = needs_bubblewrap
LIMITS = {"cell_seconds": 0.5, "submission_seconds": 25}

TENSOR = '''
class ShapeError(ValueError):
    """Wrong shape."""

class Tensor:
    __array_ufunc__ = None
    made = 0

    def __init__(self, data, dtype=None):
        self.data, self.grad = np.array(data, dtype=dtype or np.float32), None

    def __add__(self, other):
        return Tensor(self.data + getattr(other, "data", other))

    __radd__ = __add__

    def __neg__(self):
        return Tensor(-self.data)

    def __rsub__(self, other):
        return Tensor(other - self.data)

    def __pow__(self, power):
        return Tensor(self.data ** power)

    def __matmul__(self, other):
        if self.data.shape[-1] != other.data.shape[0]:
            raise ShapeError(f"{self.data.shape} and {other.data.shape} do not fit")
        return Tensor(self.data @ other.data)

    def __gt__(self, other):
        return Tensor(self.data > other, dtype=bool)

    def __getitem__(self, index):
        view = Tensor(0)
        view.data = self.data[index]
        return view

    def __setitem__(self, index, value):
        self.data[index] = value

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        return (Tensor(row) for row in self.data)

    def __contains__(self, value):
        return bool((self.data == value).any())

    def __float__(self):
        return float(self.data)

    def __repr__(self):
        return f"Tensor({self.data.tolist()})"

    def __array__(self, dtype=None, copy=None):
        return self.data

    def __enter__(self):
        Tensor.made += 1
        return self

    def __exit__(self, *error):
        Tensor.made -= 1
        return True

class Odd(int):
    def __eq__(self, other):
        return True

def plain(value):
    print("secret:", value)
    return value

def matmul_loops(a, b):
    out = np.zeros((len(a), len(b[0])))
    for i in range(len(a)):
        for j in range(len(b[0])):
            for k in range(len(b)):
                out[i, j] += a[i, k] * b[k, j]
    return out
'''


@pytest.fixture(scope="module")
def runner():
    with Runner(LIMITS) as worker:
        yield worker


def judge(runner, check, student=TENSOR, **more):
    """The result of one graded cell."""
    result = runner.run(payload(("student", "tensor", student), ("graded", "tensor_check", check), **more))
    assert result["status"] == "ok", result["reason"]
    return result["cells"]["2"]


PASSES = {
    "arithmetic": """
        x = Tensor([1.0, 2.0])
        check.close(x + 1, [2, 3])
        check.close(np.ones(2) + x, [2, 3])
        check.close(3 - x, [2, 1])
        check.close(-x, [-1, -2])
        check.close(x ** 2, [1, 4])
        x += 1
        check.close(x, [2, 3])
    """,
    "comparison": "check.equal((Tensor([1, 3]) > 2).data.tolist(), [False, True])",
    "items": """
        x = Tensor([[1, 2], [3, 4]])
        check.close(x[1], [3, 4])
        check.close(x[..., 0], [1, 3])
        check.close(x[::2, np.array([True, False])], [[1]])
        x[0, 0] = 9
        check.close(x, [[9, 2], [3, 4]])
    """,
    "iteration": """
        x = Tensor([[1, 2], [3, 4]])
        check.equal(len(x), 2)
        a, b = x
        check.close(b, [3, 4])
        assert 3 in x and 7 not in x
    """,
    "numbers": """
        check.equal(float(Tensor(2.5)), 2.5)
        check.equal(repr(Tensor([1])), "Tensor([1.0])")
        check.equal(f"{Tensor([1])}", "Tensor([1.0])")
    """,
    "attributes": """
        x = Tensor([1])
        x.grad = np.ones(1, np.float32)
        check.same_dtype(x.grad, np.float32)
        assert x.grad is not None and hasattr(x, "data") and not hasattr(x, "nothing")
    """,
    "types": """
        assert isinstance(Tensor([1]), Tensor) and not isinstance(3, Tensor)
        assert issubclass(ShapeError, ValueError) and callable(Tensor) and not callable(Tensor(1))
        check.equal(Tensor.__name__, "Tensor")
        check.same_dtype(Tensor([1], dtype=np.float64), np.float64)
    """,
    "arrays are plain copies": """
        x = Tensor([1, 2])
        x.data[0] = 9
        check.close(x, [1, 2])
        assert type(x.data) is np.ndarray
    """,
    "as array": """
        check.close(np.asarray(Tensor([1, 2])), [1, 2])
        check.same_dtype(np.asarray(Tensor([1, 2])), np.float32)
        assert np.allclose(Tensor([1, 2]), [1, 2])
        np.testing.assert_allclose(np.sum(Tensor([1, 2]).data), 3)
    """,
    "errors": """
        for kind in (ShapeError, ValueError):
            with check.raises(kind, mentions="(1,)"):
                Tensor([1]) @ Tensor([1, 2])
    """,
    "views": """
        x = Tensor([1, 2, 3, 4])
        check.shares_memory(x, x[1:])
        check.own_memory(x, x + 0)
        with check.unchanged(x):
            x + 1
        check.close(x, [1, 2, 3, 4])
    """,
    "context": """
        x = Tensor([1])
        with x as y:
            check.equal(Tensor.made, 1)
            assert x is y
        check.equal(Tensor.made, 0)
    """,
    "identity": "x = Tensor([1])\nx.grad = x\nassert x.grad is x and {x: 1}[x] == 1",
    "functions": """
        check.close(matmul_loops(np.eye(2), np.ones((2, 3))), np.ones((2, 3)))
        check.avoids(matmul_loops, "@", "dot")
        check.avoids(Tensor.__add__, "@")
    """,
    "keywords": "check.close(Tensor(data=[1, 2], dtype=float), [1, 2])",
    "own names": """
        from math import pi
        def total(t):
            return float(sum(t.data))
        check.equal(total(Tensor([1, 2])), 3.0)
        assert pi > 3
    """,
    "containers": "value = {'a': [1, (2.5, None)], 3: 'x'}\ncheck.equal(plain(value), value)",
    "subclass arrives plain": "check.equal(plain(5), 5)\nassert type(Odd(3)) is int and Odd(3) != 4",
}

FAILS = {
    "an object says it is equal": ("x = Tensor([1])\nassert x == x", "compare plain values"),
    "an object compared with an array": ("assert (Tensor([1]) == np.ones(1)).all()", "compare plain values"),
    "an array compared with an object": ("assert (np.ones(1) == Tensor([1])).all()", "compare plain values"),
    "an object as a truth value": ("assert Tensor([1])", "no truth value"),
    "a swallowed failure": ("with Tensor([1]):\n    check.equal(1, 2)", "Expected: 2"),
    "a function handed over": ("plain(lambda: 1)", "plain values"),
    "@ in the source": ("check.avoids(Tensor.__matmul__, '@')", "without `@`"),
    "an array watched": ("a = np.ones(3)\nwith check.unchanged(a):\n    Tensor(a)", "an object of the notebook"),
    "a missing name": ("softmax(1)", "softmax is not defined: was the cell that defines it left unsolved?"),
    "an error in the student's code": ("Tensor([1]) @ Tensor([1, 2])", "do not fit"),
}


def judge_all(runner, checks, **more):
    """The results of several graded cells, by their names, from one run."""
    cells = [("graded", name, textwrap.dedent(source)) for name, source in checks.items()]
    result = runner.run(payload(("student", "tensor", TENSOR), *cells, **more))
    assert result["status"] == "ok", result["reason"]
    return {name: result["cells"][str(index)] for index, name in enumerate(checks, 2)}


@pytest.fixture(scope="module")
def passed(runner):
    return judge_all(runner, PASSES)


@pytest.mark.parametrize("name", PASSES)
def test_what_a_graded_cell_can_do(passed, name):
    assert passed[name]["error"] is None and passed[name]["score"] == 2.0, passed[name]


@pytest.fixture(scope="module")
def failed(runner):
    return judge_all(runner, {name: source for name, (source, _) in FAILS.items()})


@pytest.mark.parametrize("name", FAILS)
def test_what_fails_a_graded_cell(failed, name):
    told, message = failed[name], FAILS[name][1]
    assert told["score"] == 0.0 and message in told["error"]["message"], told


def test_where_names_the_cells_and_nothing_else(runner):
    told = judge(runner, "x = Tensor([1])\n\nx @ Tensor([1, 2])")
    assert told["error"]["name"] == "ShapeError"
    assert told["error"]["where"] == "cell `tensor_check`, line 3\ncell `tensor`, line 28, in __matmul__"


def test_a_place_in_the_reference_package_is_named(runner):
    reference = [["__init__.py", ""], ["tool.py", "def half(x):\n    return x / 0\n"]]
    told = judge(
        runner, "go()", "from tinytorch_ref.tool import half\ndef go():\n    half(1)", reference=reference
    )
    assert told["error"]["where"].endswith("tinytorch_ref/tool.py, line 2, in half")


def test_prints_of_student_code_during_a_check_are_dropped(runner):
    result = runner.run(
        payload(("student", TENSOR), ("graded", "check", "print('mine')\ncheck.equal(plain(7734.25), 7734.25)"))
    )
    assert result["cells"]["2"]["stdout"] == "mine\n"
    assert "7734.25" not in json.dumps(result)


# --- Scores -------------------------------------------------------------------------------------------------


def test_blank_partial_and_full(runner):
    checks = [
        ("graded", "a_check", "check.equal(double(2), 4)", 3.0),
        ("hidden", "a_hidden",
         "p = check.partial(4)\nwith p.part(1, 'ints'):\n    check.equal(double(3), 6)\n"
         "with p.part(3, 'arrays'):\n    check.close(double(np.ones(2)), [2, 2])\np.score()", 4.0),
    ]  # fmt: skip
    blank, half, full = (
        runner.run(payload(("student", "a", f"def double(x):\n    {body}"), *checks))
        for body in (
            "raise NotImplementedError()",
            "return int(x) * 2 if isinstance(x, int) else 0",
            "return 2 * x",
        )
    )
    assert scores(blank) == [0.0, 0.0] and blank["cells"]["2"]["error"]["name"] == "NotImplementedError"
    assert scores(half) == [3.0, 1.0] and "arrays" in half["cells"]["3"]["stdout"]
    assert half["cells"]["3"]["result"] == "1.0"
    assert scores(full) == [3.0, 4.0] and full["cells"]["3"]["result"] == "4.0"


def test_a_last_line_that_is_no_number_of_points_is_an_error(runner):
    values = ["'text'", "True", "2.5", "-1", "np.nan", "[1]", "Tensor([1])"]
    for value, told in judge_all(runner, dict(zip(values, values))).items():
        assert told["error"]["name"] == "GraderError" and told["score"] == 0.0, value


def test_partial_credit_may_be_any_number_of_points(runner):
    values = {"0": 0.0, "2": 2.0, "np.float64(0.5)": 0.5}
    assert {
        value: told["score"] for value, told in judge_all(runner, dict(zip(values, values))).items()
    } == values


def test_each_cell_has_a_snapshot_of_its_own(runner):
    result = runner.run(
        payload(
            ("student", "state = []\ndef grow():\n    state.append(1)\n    return len(state)"),
            ("graded", "one", "check.equal(grow(), 1)\ncheck.equal(grow(), 2)"),
            ("student", "grow()"),
            ("hidden", "two", "check.equal(grow(), 2)"),
            ("graded", "three", "check.equal(grow(), 2)\nfirst = 1"),
            ("graded", "four", "first"),
        )
    )
    assert scores(result) == [2.0, 2.0, 2.0, 0.0]


def test_random_numbers_are_the_same_each_time(runner):
    made = payload(("student", "x = float(np.random.rand())"), ("graded", "c", "print(x, np.random.rand())"))
    first, second = (runner.run(made)["cells"]["2"]["stdout"] for _ in range(2))
    assert first == second and len(set(first.split())) == 2


def test_only_names_of_solution_and_setup_cells_come_from_the_student(runner):
    student = ("student", "def double(x):\n    return 2 * x\nhelper = 3\nmax = 1")
    asks = [("graded", name, source) for name, source in zip("abcd", ("double(1) and None", "helper and None",
            "check.equal(max(1, 2), 2)", "check.equal(peak_memory is not None, True)"))]  # fmt: skip
    assert scores(runner.run(payload(student, *asks, names=["double"]))) == [2.0, 0.0, 2.0, 2.0]
    assert scores(runner.run(payload(student, *asks))) == [2.0, 2.0, 2.0, 2.0]


# --- Student cells ------------------------------------------------------------------------------------------


def run_student(runner, *sources, **more):
    result = runner.run(payload(*(("student", source) for source in sources), **more))
    assert result["status"] == "ok", result["reason"]
    return [result["cells"][str(index)] for index in range(1, len(sources) + 1)]


def test_output_value_and_error_of_student_cells(runner):
    printed, value, wrong, syntax = run_student(
        runner, "print('hello')", "1 + 1", "x = 1\nx.nothing", "def f(:"
    )
    assert (printed["stdout"], printed["result"], printed["error"]) == ("hello\n", None, None)
    assert (value["result"], value["score"]) == ("2", None)
    assert wrong["error"]["name"] == "AttributeError" and wrong["error"]["where"] == "cell `3`, line 2"
    assert syntax["error"]["name"] == "SyntaxError" and "cell `4`, line 1" in syntax["error"]["where"]


def test_ipython_lines_are_skipped_and_lines_keep_their_numbers(runner):
    magic, cell_magic, honest = run_student(
        runner,
        "%matplotlib inline\n!ls\nx = 7\nif x:\n    %time x\n1 / 0",
        "%%timeit\nx = 8",
        "y = (10\n  % 4)\n(x, y)",
    )
    assert magic["error"]["where"] == "cell `1`, line 6" and "[skipped: !ls]" in magic["stdout"]
    assert "%%timeit" in cell_magic["stdout"] and honest["result"] == "(7, 2)"


def test_pictures_progress_bars_and_display_do_nothing_and_cost_nothing(runner):
    source = """
        import matplotlib
        import matplotlib.pyplot as plt
        from matplotlib.ticker import FuncFormatter
        from IPython.display import HTML, display
        from tqdm.auto import tqdm
        from autograder.figures import figure, show
        fig, axes = plt.subplots(2, 2, figsize=(6, 4))
        for ax in axes.flat:
            line, = ax.plot([1, 2], label="x")
        fig, (left, right) = plt.subplots(1, 2)
        counts, edges, patches = plt.hist([1, 2])
        with plt.style.context("dark"):
            plt.plot([1], "o")
        plt.rcParams["font.size"] = 11
        plt.show()
        fig, ax = figure()
        ax.set(xlabel="x")
        show(fig, alt="nothing")
        display(HTML("<b>"))
        sum(i for i in tqdm(range(4)))
    """
    (told,) = run_student(runner, textwrap.dedent(source))
    assert told["error"] is None and told["result"] == "6" and told["seconds"] < 1


def test_files_and_data_can_be_read(runner):
    encoded = base64.b64encode(b"1 2 3").decode()
    told = run_student(
        runner,
        "np.loadtxt('numbers.txt').sum()",
        "from importlib.resources import files\n(files('tinytorch_ref') / 'datasets/a.bin').read_bytes()",
        files={"numbers.txt": encoded}, reference=[["__init__.py", ""]], data={"datasets/a.bin": encoded},
    )  # fmt: skip
    assert [cell["error"] for cell in told] == [None, None] and told[1]["result"] == "b'1 2 3'"


def test_warnings_and_stderr_cost_nothing(runner):
    result = runner.run(
        payload(("student", "import sys\ndef f(x):\n    print('!', file=sys.stderr)\n    return np.log(x)"),
                ("graded", "c", "check.close(f(np.zeros(())), -np.inf)\nz = np.zeros(1) / 0")))  # fmt: skip
    assert scores(result) == [2.0]


def test_input_is_at_its_end(runner):
    (told,) = run_student(runner, "input('name? ')")
    assert told["error"]["name"] == "EOFError"


def test_a_cell_over_its_time_is_interrupted_and_the_next_runs(runner):
    slow, late, after = run_student(
        runner, "while True:\n    pass", "try:\n    while 1: pass\nexcept Exception: pass", "3"
    )
    assert slow["error"]["message"] == "ran longer than 0.5 s" and slow["error"]["where"].startswith(
        "cell `1`, line "
    )
    assert late["error"]["name"] == "LimitReached" and after["result"] == "3"


def test_a_cell_that_cannot_be_interrupted_is_left_out(runner):
    source = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nwhile True: pass"
    result = runner.run(
        payload(("student", "a", source), ("student", "x = 1"), ("graded", "c", "check.equal(x, 1)"))
    )
    assert (
        "cell `a` ran longer than 0.5 s and could not be interrupted"
        in result["cells"]["1"]["error"]["message"]
    )
    assert scores(result) == [2.0]


def test_a_slow_function_costs_its_own_check_only(runner):
    slow = """
        def spin():
            while True: pass
        def deaf():
            while True:
                try: spin()
                except BaseException: pass
    """
    patient = "with check.raises(Exception):\n    deaf()"
    result = runner.run(
        payload(("student", textwrap.dedent(slow)), ("graded", "a", "spin()"), ("graded", "b", patient),
                ("graded", "c", "check.equal(callable(spin), True)")))  # fmt: skip
    assert scores(result) == [0.0, 0.0, 2.0]
    assert "ran longer than 0.5 s" in result["cells"]["2"]["error"]["message"]


def test_the_whole_submission_has_a_limit():
    made = payload(*[("student", "import time; time.sleep(2)")] * 3)
    result = run_one(made, {"cell_seconds": 10, "submission_seconds": 1})
    assert result["status"] == "failed" and "longer than 1 s" in result["reason"]


# --- The worker ---------------------------------------------------------------------------------------------


def test_without_a_sandbox_the_result_is_the_same(runner):
    made = payload(("student", TENSOR + "\nprint(1)"), ("graded", "c", "check.close(Tensor([1]) + 1, [2])"))
    open_air, inside = run_one(made, LIMITS, sandbox="none"), runner.run(made)
    for result in (open_air, inside):
        del result["version"]  # the worker may be older than the file on disk
        for cell in result["cells"].values():
            cell.pop("seconds")
    assert open_air == inside and scores(inside) == [2.0]


def test_a_dead_worker_is_replaced():
    with Runner(LIMITS) as worker:
        made = payload(("student", "x = 1"), ("graded", "c", "check.equal(x, 1)"))
        assert scores(worker.run(made)) == [2.0]
        worker.process.kill()
        assert scores(worker.run(made)) == [2.0]
    assert worker.process is None


def test_a_worker_that_keeps_dying_gives_a_failed_result(monkeypatch):
    monkeypatch.setattr("sys.executable", "/bin/false")
    with Runner(LIMITS) as worker:
        result = worker.run(payload())
    assert result["status"] == "failed" and "died twice" in result["reason"]


# --- Counting -----------------------------------------------------------------------------------------------

MATMUL = """
a, b = np.ones((3, 4)), np.ones((4, 5))
with count() as c:
    matmul_loops(a, b)
check.counts(c, flops=2 * 3 * 4 * 5, because="a multiply-add for each triple")
"""


def test_counts_come_from_the_students_side(runner):
    told = judge(runner, MATMUL)
    assert told["error"] is None and told["review"] is None, told


def test_memory_is_measured_on_the_students_side(runner):
    student = "def big():\n    return np.zeros(1_000_000, np.uint8).sum()"
    told = judge(
        runner,
        "with peak_memory() as m:\n    big()\nassert 1e6 <= m.peak_bytes < 1.2e6, m.peak_bytes",
        student,
    )
    assert told["error"] is None and told["review"] is None, told


def test_loops_over_elements_count_completely_and_slowly_without_a_review(runner):
    told = judge(
        runner,
        "a = np.ones((16, 16))\nwith count() as c:\n    matmul_loops(a, a)\ncheck.counts(c, flops=2 * 16**3)",
    )
    assert told["error"] is None and told["review"] is None, told


def test_a_count_of_tensors_and_of_numbers_that_come_back(runner):
    source = """
        x = Tensor([[1, 2], [3, 4]])
        with count() as c:
            x @ x
            top = plain(x.data)
            first(x)
        check.counts(c, flops=2 * 2 * 2 * 2 + 4)
        with peak_memory() as m:
            for _ in range(5):
                big(250_000)
        assert 1e6 <= m.peak_bytes < 1.1e6, m.peak_bytes
        check.counts(m, arrays_left=0, kept_bytes=0)
    """
    student = (
        TENSOR
        + "\ndef first(x):\n    return x.data.sum()\ndef big(n):\n    return Tensor(np.ones(n, np.float32))"
    )
    told = judge(runner, textwrap.dedent(source), student.replace("np.array(data", "np.asarray(data"))
    assert told["error"] is None, told


def test_a_forged_count_is_put_up_for_review():
    forger = """
        import autograder.counters, autograder.student_side, time
        autograder.student_side.METERED += ("_name", "_cross_check")
        class Fake(autograder.counters.count):
            flops, complete, _name, _cross_check = 120, True, "none", 0
        autograder.counters.count = Fake
        def matmul_loops(a, b):
            started = time.process_time()
            while time.process_time() - started < 1.3:
                np.ones((200, 200)) @ np.ones((200, 200))
            return a @ b
    """
    told = judge_alone(forger, MATMUL)
    assert "needs review" in told["review"] and "processor time" in told["review"]


def judge_alone(student, check):
    made = payload(("student", textwrap.dedent(student)), ("graded", "c", check))
    return run_one(made, LIMITS | {"cell_seconds": 4})["cells"]["2"]


def test_a_forged_peak_is_put_up_for_review():
    forger = """
        import autograder.counters
        class Fake(autograder.counters.peak_memory):
            peak_bytes = property(lambda self: 100, lambda self, value: None)
        autograder.counters.peak_memory = Fake
        def big():
            return float(np.ones(20_000_000).sum())
    """
    told = judge_alone(forger, "with peak_memory() as m:\n    big()\ncheck.equal(m.peak_bytes, 100)")
    assert told["score"] == 2.0 and "needs review: the count says 100 bytes" in told["review"]
