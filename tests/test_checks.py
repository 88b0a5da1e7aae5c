"""The checks that grade students: what passes, what fails, and what the failure says."""

import doctest

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from autograder import checks as check
from autograder.counters import count, peak_memory


class Box:
    """The least that counts as a Tensor: something with an array in .data."""

    def __init__(self, data):
        self.data = np.asanyarray(data)


class Proxy:
    """Stands for an object of another process: every read is a copy, and `==` and truth raise."""

    def __init__(self, array):
        self._array = array

    data = property(lambda self: np.array(self._array))

    def __peek__(self):
        return np.array(self._array)

    def __poke__(self, index, value):
        self._array[index] = value

    def _refuse(self, *others):
        raise RuntimeError("a proxy was compared")

    __eq__ = __ne__ = __bool__ = _refuse
    __hash__ = None


class Liar:
    """Equal to everything, whatever is asked."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return hash("a")

    def __repr__(self):
        raise RuntimeError("shown by its own repr")


class LyingInt(int):
    __eq__, __ne__, __hash__ = Liar.__eq__, Liar.__ne__, int.__hash__


class LyingStr(str):
    __eq__, __ne__, __hash__ = Liar.__eq__, Liar.__ne__, str.__hash__


class LyingTuple(tuple):
    __eq__, __ne__, __hash__ = Liar.__eq__, Liar.__ne__, tuple.__hash__

    def __getitem__(self, index):
        return index + 3


class LyingFloat64(np.float64):
    __eq__, __ne__, __hash__ = Liar.__eq__, Liar.__ne__, np.float64.__hash__


class LyingArray(np.ndarray):
    __eq__ = Liar.__eq__

    def __array_ufunc__(self, ufunc, *args, **kwargs):
        return 0.0 if ufunc in (np.subtract, np.absolute) else True

    shape = property(lambda self: (2, 3))


def message(function, *args, **kwargs):
    """The message of the failure that must come; its three parts are there."""
    with pytest.raises(check.Failed) as caught:
        function(*args, **kwargs)
    text = str(caught.value)
    parts = [line.split(":")[0] for line in text.splitlines()]
    assert parts == ["Expected", "Got", "Likely cause"] and all(len(line) < 700 for line in text.splitlines())
    assert not text.endswith(": ")
    return text


def test_docstring_examples():
    result = doctest.testmod(check)
    assert result.attempted >= 15 and result.failed == 0


# equal

@pytest.mark.parametrize("got, expected", [
    (24, 24), (np.int64(24), 24), (24, np.int32(24)), (np.float32(0.5), 0.5), (1, 1.0), (24.0, 24),
    (np.bool_(True), True),
    (float("nan"), float("nan")), ("ab", "ab"), (None, None), (b"x", b"x"), ((2, 3), (2, 3)), ([], []),
    ((), ()),
    ([1, (2.0, "x")], [1, (2.0, "x")]), ({"add": 3, "exp": 1}, {"exp": 1, "add": 3}), ({}, {}),
    ((np.int64(2), 3), (2, 3)),
    (np.dtype("float32"), np.float32), (np.float32, "float32"), ("float32", np.dtype("float32")),
    (np.dtype(bool), bool), (np.float32, np.float32), (np.dtype("int64"), "int64"), (float, np.float64),
    ([np.dtype("float32")], ["float32"]),
    (np.array([1, 2]), np.array([1, 2])), (Box([1.5]), np.array([1.5])),
])
def test_equal_passes(got, expected):
    check.equal(got, expected)


@pytest.mark.parametrize("got, expected", [
    (24, 25), (24.5, 24), (True, 1), (1.0, True), (1, True), (True, 1.0), (np.bool_(True), 1), ("24", 24), (24, "24"),
    (None, 0),
    (0, None), (None, "float64"), (None, np.float64), (1 + 0j, 1), ("ab", b"ab"), (float("nan"), 0.0),
    (-1, 1),
    ([2, 3], (2, 3)), ((2, 3), [2, 3]), ((2, 3, 4), (2, 3)), ((2,), (2, 3)), ([1, [2, True]], [1, [2, 1]]),
    ({"a": 1}, {"b": 1}), ({"a": 1}, {"a": 2}), ({"a": 1}, {"a": 1, "b": 2}), ({1: 2}, {True: 2}), ([], {}),
    (np.dtype("float64"), np.float32), (np.float64, "float32"), ("float32", np.float64),
    (object(), np.float64),
    ("not a dtype {", np.float64), (Liar(), 24), (Liar(), "a"), (Liar(), None), (Liar(), (1,)),
    (Liar(), {"a": 1}), (Liar(), np.float32),
    ([Liar()], [1]), ({"a": Liar()}, {"a": 1}), ({Liar(): 1}, {"a": 1}), (Liar, "x"),
    (LyingInt(3), 4), (LyingInt(4), 4), (LyingStr("b"), "a"), (LyingTuple((1, 2)), (3, 4)),
    (LyingFloat64(1), 2.0),
    (Proxy(np.zeros(3)), 24), (Proxy(np.zeros(3)), (24,)), (Box(3), 3), (np.array(3), 3),
    (np.array([1, 2]), [1, 2]),
    (np.array([1, 2]), np.array([1, 3])), (np.array([1.0]), np.array([1.0 + 1e-9])), (Liar(), np.array([1])),
])
def test_equal_fails(got, expected):
    message(check.equal, got, expected)


@pytest.mark.parametrize("expected", [Liar(), {1, 2}, [Box(1)], np.sum])
def test_equal_refuses_what_is_not_plain_as_expected(expected):
    with pytest.raises(TypeError, match="plain"):
        check.equal([1] if type(expected) is list else 1, expected)


def test_equal_says_where_and_why():
    text = message(check.equal, [1, 2, (3, 4)], [1, 2, (3, 5)], because="one axis too many")
    assert text.splitlines() == [
        "Expected: [1, 2, (3, 5)]", "Got: [1, 2, (3, 4)] ([2][1]: 4 instead of 5)",
        "Likely cause: one axis too many"]
    assert "(['add']: 1 instead of 2)" in message(check.equal, {"add": 1}, {"add": 2})
    assert "(the length: 2 instead of 3)" in message(check.equal, [1, 2], [1, 2, 3])
    assert "return" in message(check.equal, None, 24, because="something else")
    assert "an object of type Liar" in message(check.equal, Liar(), 24)
    assert "(24,)" in message(check.equal, (25,), (24,))


def test_equal_shortens_but_keeps_the_difference():
    text = message(check.equal, "a" * 3000 + "b" + "c" * 50, "a" * 3000 + "x" + "c" * 50)
    assert "from character 3000: 'bccc" in text and len(text) < 700
    assert "character" not in message(check.equal, "copy", "view")
    text = message(check.equal, list(range(5000)), list(range(4999)) + [7])
    assert "[4999]: 4999 instead of 7" in text and len(text) < 700


def test_an_int_too_long_to_print():
    huge = 10 ** 5000
    check.equal(huge, 10 ** 5000)
    assert "an int of 16610 bits" in message(check.equal, huge, 1)
    message(check.equal, [1], [huge])
    message(check.close, huge, 1)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=8)


def same_kind_and_value(a, b):
    """Another way to say what `equal` means, which an int that stands for a float may pass."""
    if type(b) is float and type(a) is int:
        return a == b
    if type(a) is not type(b):
        return False
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(map(same_kind_and_value, a, b))
    if type(a) is dict:
        return a.keys() == b.keys() and all(same_kind_and_value(a[key], b[key]) for key in a)
    return a == b or a != a and b != b


@given(plain, plain)
def test_equal_agrees_with_its_definition(a, b):
    check.equal(a, a)
    if same_kind_and_value(a, b):
        check.equal(a, b)
    else:
        message(check.equal, a, b)


# close, same_shape, same_dtype

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("got, expected", [
    (np.float32([0.1, 0.2]), [0.1, 0.2]), (Box([1.0, 2.0]), [1, 2]), (Proxy(np.ones(3)), np.ones(3)),
    (3, 3.0),
    ([NAN, INF, -INF], [NAN, INF, -INF]), ([True, False], np.array([True, False])),
    (np.zeros((0, 3)), np.zeros((0, 3))),
    (np.uint8([255]), np.int64([255])), ([[1, 2], [3, 4]], np.array([[1.0, 2], [3, 4]])),
    ([Box([1.0])], [[1.0]]),
    (Box(2.5), 2.5), (1e30, 1e30 * (1 + 1e-7)), (np.array([1 + 1j]), [1 + 1j]), (1.7e308, 1.7e308),
    (Proxy(np.ones(3)), Proxy(np.ones(3))), (np.int8([-128]), np.float32([-128])),
])
def test_close_passes(got, expected):
    check.close(got, expected)


@pytest.mark.parametrize("got, expected", [
    ([1.0, 2.0], [1.0, 2.1]), ([NAN], [0.0]), ([0.0], [NAN]), ([INF], [1e30]), ([1e30], [INF]),
    ([INF], [-INF]),
    ([1.7e308], [-1.7e308]), ([1, 0], np.array([True, False])), (np.array([True]), [1.0]),
    (np.uint8([0]), [256]),
    ([2 ** 53 + 1], [2 ** 53]), (np.int8([-127]), np.float32([-128])), (np.ones(3), np.ones((1, 3))),
    ([1.0], 1.0),
    (np.zeros((0, 3)), np.zeros((3, 0))), (np.ones(3), np.ones(4)), (None, [1]), ("text", [1]), (Liar(), [1]),
    (Box("text"), [1]), (np.array([None]), [1]), ([[1, 2], [3]], [[1, 2], [3, 4]]),
    (Proxy(np.ones(3)), np.zeros(3)),
    (np.ones((2, 3)).view(LyingArray), np.zeros((2, 3))),
    (Box(np.ones((2, 3)).view(LyingArray)), np.zeros((2, 3))),
    (np.ones(6).view(LyingArray), np.ones((2, 3))), ([Liar()], [1]), (LyingFloat64(1), 1.0),
    (1.001, 1.0),
])
def test_close_fails(got, expected):
    message(check.close, got, expected)


def test_close_says_where_how_many_and_why():
    got, expected = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    got[0, 2] += 0.5
    got[1, 1] -= 3
    assert message(check.close, got, expected, because="the axis") == (
        "Expected: 2 at index [0, 2]\nGot: 2.5 there; 2 of 6 values differ, the largest difference is 3\n"
        "Likely cause: the axis")
    assert message(check.close, np.ones(3), np.ones((2, 3)), "no batch").splitlines()[:2] == [
        "Expected: shape (2, 3)", "Got: shape (3,)"]
    assert "0 / 0" in message(check.close, [1.0, NAN], [1.0, 2.0])
    assert "largest" not in message(check.close, [1.0, NAN], [1.0, 2.0])
    assert "Expected: 1.000000001\n" in message(check.close, 1.0, 1.000000001, rtol=0, atol=0)
    assert "return" in message(check.close, None, [1.0], because="the axis")
    assert "Box whose .data is 3" in message(check.close, type("Box", (), {"data": 3})(), 3)


def test_close_is_silent_on_standard_error(recwarn):
    message(check.close, [NAN, INF, 1.7e308], [INF, -INF, -1.7e308])
    check.close([NAN, INF], [NAN, INF])
    assert not recwarn.list


numbers = hnp.arrays(st.sampled_from([np.float64, np.float32, np.int64, np.uint8, np.bool_]),
                     hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))


@given(numbers, st.data())
def test_close_accepts_a_copy_and_finds_any_one_change(array, data):
    check.close(array.copy(), array)
    if array.size:
        index = data.draw(st.integers(0, array.size - 1))
        other = array.copy()
        other.flat[index] = 0 if array.flat[index] == 1 else 1
        text = message(check.close, other, array, rtol=0, atol=0)
        place = ", ".join(map(str, np.unravel_index(index, array.shape)))
        assert f"at index [{place}]" in text or array.ndim == 0


@given(hnp.arrays(np.float64, 4), hnp.arrays(np.float64, 4))
def test_close_agrees_with_numpy(a, b):
    if np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True):
        check.close(a, b)
    else:
        message(check.close, a, b)


def test_same_shape():
    check.same_shape(np.zeros((2, 3)), (2, 3))
    check.same_shape(Proxy(np.zeros(3)), 3)
    check.same_shape(2.0, ())
    assert "Got: shape (3, 2)" in message(check.same_shape, Box(np.zeros((3, 2))), (2, 3))
    message(check.same_shape, np.ones(6).view(LyingArray), (2, 3))
    message(check.same_shape, None, ())


@pytest.mark.parametrize("dtype", [np.float32, "float32", np.dtype("float32")])
def test_same_dtype(dtype):
    check.same_dtype(Box(np.zeros(3, dtype=np.float32)), dtype)
    check.same_dtype(np.float32(1), dtype)
    assert "NumPy's default" in message(check.same_dtype, Proxy(np.zeros(3)), dtype)
    message(check.same_dtype, np.zeros(3, dtype=np.int32), dtype)
    message(check.same_dtype, Liar(), dtype)


# raises

def across(name, text=""):
    """An error as the trusted side raises it when only the name of its type came across."""
    error = RuntimeError(text)
    error.student_type = name
    return error


def run_raises(error, *args, **kwargs):
    with check.raises(*args, **kwargs):
        if error is not None:
            raise error


@pytest.mark.parametrize("error, kind", [
    (ValueError("x"), ValueError), (KeyError("x"), LookupError), (KeyError("x"), (ValueError, KeyError)),
    (NotImplementedError(), NotImplementedError), (NameError(), NameError), (ValueError(), Exception),
    (StopIteration(), StopIteration), (RuntimeError(), RuntimeError), (AssertionError(), AssertionError),
    (across("ValueError"), ValueError), (across("KeyError"), LookupError), (across("ValueError"), Exception),
    (across("GraphError"), type("GraphError", (Exception,), {})),
    (across("NotImplementedError"), NotImplementedError),
])
def test_raises_passes(error, kind):
    run_raises(error, kind)


@pytest.mark.parametrize("error, kind", [
    (None, ValueError), (TypeError("x"), ValueError), (TypeError("x"), (ValueError, KeyError)),
    (NotImplementedError(), Exception), (NotImplementedError(), RuntimeError), (NameError("f"), Exception),
    (UnboundLocalError("f"), Exception), (check.Failed("inner"), Exception),
    (check.Failed("inner"), AssertionError),
    (across("ValueError"), TypeError), (across("KeyError"), RuntimeError),
    (across("NotImplementedError"), Exception), (across("NotImplementedError"), RuntimeError),
    (across("NameError"), (ValueError, Exception)),
])
def test_raises_fails(error, kind):
    message(run_raises, error, kind)


def test_raises_says_what_came():
    assert "Got: no error\nLikely cause: no test" in message(run_raises, None, ValueError, "no test")
    assert "Got: TypeError: a list" in message(run_raises, TypeError("a list\nand more"), ValueError)
    assert "Got: GraphError: twice" in message(run_raises, across("GraphError", "twice"), ValueError)
    run_raises(ValueError("Shapes (2, 3) and (4,)"), ValueError, mentions=["shape", "(4,)"])
    text = message(run_raises, ValueError("bad"), ValueError, mentions=["shape", "BAD"])
    assert "mentions 'shape'" in text and "BAD" not in text
    message(run_raises, ValueError("bad"), ValueError, mentions="shape")


def test_raises_lets_an_interrupt_through():
    with pytest.raises(KeyboardInterrupt):
        run_raises(KeyboardInterrupt(), (Exception, KeyboardInterrupt)[:1])


# Memory

@given(numbers.filter(lambda array: array.size > 0))
def test_views_and_copies_are_told_apart_and_values_restored(array):
    before = array.tobytes()
    for wrap in (lambda x: x, Box, Proxy):
        view, copy = wrap(array[...]), wrap(array.copy())
        check.shares_memory(wrap(array), view)
        check.own_memory(wrap(array), copy)
        message(check.own_memory, wrap(array), view)
        message(check.shares_memory, wrap(array), copy)
        assert array.tobytes() == before


@pytest.mark.parametrize("values", [[0.0, 1.0, NAN, INF, -0.0], [0, 1, -1, 2 ** 63 - 1], [True, False]])
def test_a_view_of_one_element_is_seen_from_both_sides(values):
    x = np.array(values)
    before = x.tobytes()
    for i in range(len(x)):
        check.shares_memory(x, x[i:i + 1])
        check.shares_memory(x[i:i + 1], x)
        check.own_memory(x[:i], x[i:])
    assert x.tobytes() == before


def test_transposed_strided_and_reinterpreted_views_share():
    x = np.arange(12.0).reshape(3, 4)
    for view in (x.T, x[::2, ::-1], x.view(np.int64), x.reshape(4, 3), np.broadcast_to(x, (2, 3, 4))):
        check.shares_memory(x, view)
        check.shares_memory(view, x)
        message(check.own_memory, Box(x), Box(view))


def test_read_only_arrays():
    x = np.arange(4.0)
    view = x[1:]
    view.flags.writeable = False
    check.shares_memory(view, x)
    check.shares_memory(x, view)
    check.own_memory(view, x.copy())
    x.flags.writeable = False
    check.shares_memory(x, view)
    check.own_memory(x, x.copy()[:])
    message(check.shares_memory, Proxy(x), Proxy(view))
    message(check.own_memory, Proxy(x), Proxy(view))


def test_empty_arrays_share_nothing():
    empty, x = np.zeros((0, 3)), np.zeros(3)
    for wrap in (lambda x: x, Box, Proxy):
        check.shares_memory(wrap(empty), wrap(empty))
        check.own_memory(wrap(empty), wrap(empty))
        check.own_memory(wrap(x), wrap(x[:0]))
        check.own_memory(wrap(x[:0]), wrap(x))
        assert "empty" in message(check.shares_memory, wrap(x), wrap(x[:0]))
        assert "empty" in message(check.shares_memory, wrap(x[:0]), wrap(x))


def test_data_that_is_made_anew_at_each_read_is_no_memory():
    fresh = type("Fresh", (), {"data": property(lambda self: np.ones(3))})()
    assert "lost" in message(check.own_memory, fresh, Box(np.ones(3)))
    message(check.shares_memory, fresh, fresh)


def test_two_processes_have_no_memory_in_common():
    x = np.ones(3)
    for test in (check.own_memory, check.shares_memory):
        with pytest.raises(TypeError, match="process"):
            test(Proxy(x), x)


def test_hooks_of_an_instance_are_not_believed():
    box = Box(np.ones(3))
    box.__peek__ = lambda: np.zeros(3)
    box.__poke__ = lambda index, value: None
    check.shares_memory(box, box.data)


def change(x, index, value):
    x[index] = value


@pytest.mark.parametrize("wrap", [lambda x: x, Box, Proxy])
def test_unchanged(wrap):
    x, y = np.array([1.0, NAN, 3.0]), np.arange(4).reshape(2, 2)
    with check.unchanged(wrap(x), wrap(y)):
        x + 1
    def block():
        with check.unchanged(wrap(x), wrap(y), because="in place"):
            change(y, (1, 0), 9)
    text = message(block)
    assert "array 2 unchanged: 2 at index [1, 0]" in text and "Got: 9 there" in text and "in place" in text


def test_unchanged_sees_shape_and_dtype_and_lets_errors_through():
    box = Box(np.ones(4))
    def block(data):
        with check.unchanged(box):
            box.data = data
    message(block, np.ones((2, 2)))
    message(block, np.ones((2, 2), dtype=np.float32))
    with pytest.raises(ZeroDivisionError), check.unchanged(box):
        1 / 0
    with pytest.raises(TypeError), check.unchanged():
        pass


# gradient: a toy autodiff, with rules that can be made wrong

def unbroadcast(grad, shape):
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1)
    return np.asarray(grad.sum(axis=axes, keepdims=True))


RULES = {
    "add": lambda g, a, b: (unbroadcast(g, a.shape), unbroadcast(g, b.shape)),
    "mul": lambda g, a, b: (unbroadcast(g * b, a.shape), unbroadcast(g * a, b.shape)),
    "sub": lambda g, a, b: (unbroadcast(g, a.shape), unbroadcast(-g, b.shape)),
    "matmul": lambda g, a, b: (g @ b.T, a.T @ g),
    "exp": lambda g, a: (g * np.exp(a),),
    "sum": lambda g, a: (np.full(a.shape, g),),
    "square": lambda g, a: (2 * a * g,),
}
FORWARD = {"add": np.add, "mul": np.multiply, "sub": np.subtract, "matmul": np.matmul, "exp": np.exp,
           "sum": lambda a: np.asarray(a.sum()), "square": np.square}


def toy(accumulate=True, dtype=None, **wrong):
    """A Tensor class with these wrong rules."""
    rules = {**RULES, **wrong}

    class Toy:
        def __init__(self, data, dtype=None, requires_grad=False, back=None):
            self.data, self.grad, self.back = np.array(data, dtype=dtype or np.float32), None, back

        def backward(self, grad):
            assert type(grad) is np.ndarray and grad.shape == self.data.shape and grad.dtype == np.float64
            self.receive(grad)

        def receive(self, grad):
            if self.grad is None or not accumulate:
                self.grad = grad
            else:
                self.grad = self.grad + grad
            if self.back:
                name, inputs = self.back
                for x, g in zip(inputs, rules[name](grad, *[x.data for x in inputs])):
                    if g is not None:
                        x.receive(g)

    def operation(name):
        def run(*inputs):
            out = FORWARD[name](*[x.data for x in inputs])
            return Toy(out, dtype=dtype or out.dtype, back=(name, inputs))
        return run

    for name in FORWARD:
        setattr(Toy, name, operation(name))
    return Toy


A, B = np.random.default_rng(1).normal(size=(2, 3)), np.random.default_rng(2).normal(size=(2, 3))
SQUARE, ROW, COLUMN = A[:, :2].copy(), B[0].copy(), A[:, :1].copy()
ONE = np.array(0.7)

CASES = {
    "add": (lambda a, b: a.add(b), [A, B]),
    "broadcast row": (lambda a, b: a.mul(b), [A, ROW]),
    "broadcast column": (lambda a, b: a.sub(b), [COLUMN, ROW]),
    "0-d": (lambda a, b: a.mul(b), [ONE, A]),
    "matmul": (lambda a, b: a.matmul(b), [A, B.T.copy()]),
    "reused": (lambda a: a.mul(a).add(a), [A]),
    "sum to 0-d": (lambda a: a.exp().sum(), [A]),
    "empty": (lambda a, b: a.mul(b), [np.zeros((0, 3)), ROW]),
    "square": (lambda a: a.square(), [1e3 * A]),
}


@pytest.mark.parametrize("case", CASES)
def test_right_gradients_pass(case):
    fn, inputs = CASES[case]
    before = [x.copy() for x in inputs]
    for seed in range(3):
        check.gradient(fn, inputs, toy(), seed=seed)
    for x, old in zip(inputs, before):
        assert np.array_equal(x, old)


WRONG = {
    "no unbroadcast": ("broadcast row", dict(mul=lambda g, a, b: (g * b, g * a)), "shape (3,)"),
    "unbroadcast by mean": ("broadcast row", dict(
        mul=lambda g, a, b: (g * b, (g * a).mean(axis=0))), "0.5 times"),
    "unbroadcast of the wrong axis": ("broadcast column", dict(
        sub=lambda g, a, b: (np.repeat(g.sum(axis=0)[:1, None], 2, axis=0), -g.sum(axis=0))), "input 1 of 2"),
    "sign": ("broadcast column", dict(
        sub=lambda g, a, b: (unbroadcast(g, a.shape), unbroadcast(g, b.shape))), "the sign"),
    "dropped factor": ("square", dict(square=lambda g, a: (a * g,)), "0.5 times"),
    "operands exchanged": ("broadcast row", dict(
        mul=lambda g, a, b: (g * a, unbroadcast(g * b, b.shape))), "input 1 of 2"),
    "matmul without transposes": ("matmul", dict(matmul=lambda g, a, b: ((b @ g.T).T, a.T @ g.T)), "input"),
    "upstream ignored in exp": ("sum to 0-d", dict(exp=lambda g, a: (np.exp(a),)), "input 1"),
    "upstream ignored": ("add", dict(add=lambda g, a, b: (np.ones(a.shape), np.ones(b.shape))), "input 1"),
    "only the sum of the upstream": ("add", dict(
        add=lambda g, a, b: (np.full(a.shape, g.mean()), np.full(b.shape, g.mean()))), "input 1"),
    "saved output instead of input": ("square", dict(square=lambda g, a: (2 * a ** 2 * g,)), "input 1"),
    "second input forgotten": ("add", dict(add=lambda g, a, b: (g, None)), "input 2 of 2"),
    "zero gradient": ("add", dict(add=lambda g, a, b: (g, 0 * g)), "zero everywhere"),
    "reused operand counted once": ("reused", dict(accumulate=False), "input 1 of 1"),
    "float32 gradient": ("add", dict(add=lambda g, a, b: (np.float32(g), g)), "float32"),
    "float32 output": ("add", dict(dtype=np.float32), "float32"),
    "NaN": ("add", dict(add=lambda g, a, b: (g * NAN, g)), "nan"),
    "kept dimension": ("0-d", dict(mul=lambda g, a, b: ((g * b).sum(keepdims=True), g * a)), "shape ()"),
    "slightly off": ("square", dict(square=lambda g, a: (2.0005 * a * g,)), "input 1"),
}


@pytest.mark.parametrize("mutant", WRONG)
def test_wrong_gradients_fail_and_say_why(mutant):
    case, wrong, part = WRONG[mutant]
    fn, inputs = CASES[case]
    for seed in range(3):
        assert part in message(check.gradient, fn, inputs, toy(**wrong), seed=seed)


def test_a_rule_that_is_right_only_for_all_ones_is_caught():
    x = SQUARE
    ones = np.ones((2, 2))
    wrong = toy(mul=lambda g, a, b: (b, a), matmul=lambda g, a, b: (ones @ b.T, a.T @ ones))
    for fn in (lambda a, b: a.mul(b), lambda a, b: a.matmul(b)):
        tensors = [wrong(x, dtype=np.float64) for _ in range(2)]
        fn(*tensors).backward(ones)  # where a check with all ones finds nothing wrong
        right = toy()
        others = [right(x, dtype=np.float64) for _ in range(2)]
        fn(*others).backward(ones)
        assert all(np.allclose(a.grad, b.grad) for a, b in zip(tensors, others))
        message(check.gradient, fn, [x, x + 1], wrong)


def test_gradient_names_the_input_the_index_and_both_values():
    mutant = toy(mul=lambda g, a, b: (g * b, np.where(np.arange(3) == 1, 0.0, unbroadcast(g * a, b.shape))))
    text = message(check.gradient, lambda a, b: a.mul(b), [A, ROW], mutant, because="a mask")
    assert "Expected: gradient of input 2 of 2: " in text and "at index [1]" in text
    assert "Got: 0 there; 1 of 3 values differ" in text and "Likely cause: a mask" in text


def test_a_rule_may_reuse_the_array_that_it_is_given():
    def in_place(g, a):
        g *= 2 * a
        return (g,)
    check.gradient(lambda a: a.square(), [A], toy(square=in_place))


def test_transposed_gradient_is_named():
    mutant = toy(square=lambda g, a: ((2 * a * g).T,))
    assert "transposed" in message(check.gradient, lambda a: a.square(), [SQUARE], mutant)


def test_gradient_that_never_arrives():
    cut = toy()
    text = message(check.gradient, lambda a: cut(a.data, dtype=np.float64).exp(), [A], cut)
    assert "Got: None" in text


def test_a_forward_pass_of_nan_does_not_excuse_a_gradient_of_nan():
    Toy = toy(exp=lambda g, a: (g * NAN,))
    def fn(a):
        return Toy(a.data * NAN, dtype=np.float64, back=("exp", (a,)))
    assert "finite" in message(check.gradient, fn, [A], Toy)


@pytest.mark.parametrize("inputs", [[], [np.float32([1])], [[1.0]], [np.array([1])], np.ones((2, 3))])
def test_gradient_wants_float64_arrays(inputs):
    with pytest.raises(TypeError, match="float64"):
        check.gradient(lambda *x: x[0], inputs, toy())


# counts

class Counted:
    def __init__(self, **values):
        self.complete, self.why = True, ""
        vars(self).update(values)


def test_counts():
    counted = Counted(flops=24, arrays=np.int64(2), by_kind={"add": 3, "exp": 0})
    check.counts(counted, flops=24, arrays=2)
    check.counts(counted, arrays=range(1, 3), by_kind={"add": 3})
    text = message(check.counts, counted, "twice", flops=12)
    assert text == "Expected: flops = 12\nGot: 24\nLikely cause: twice"
    assert "arrays from 0 to 1" in message(check.counts, counted, arrays=range(0, 2))
    assert "['add']: 3 instead of 4" in message(check.counts, counted, by_kind={"add": 4})
    message(check.counts, counted, by_kind={"exp": 1, "add": 3})
    message(check.counts, Counted(flops=Liar()), flops=24)
    message(check.counts, Counted(flops=24.0), flops=range(0, 100))
    message(check.counts, Counted(by_kind=Liar()), by_kind={"add": 1})


def test_counts_of_the_real_counters():
    a, b = np.ones((2, 3)), np.ones((3, 4))
    with count() as counted:
        a @ b
    check.counts(counted, flops=48, arrays=1, by_kind={"multiply": 24, "add": 24})
    message(check.counts, counted, flops=24)
    message(check.counts, counted, by_kind={"multiply": 24})
    with peak_memory() as memory:
        kept = np.ones(1000)
    check.counts(memory, kept_bytes=kept.nbytes, arrays_left=1, peak_bytes=range(8000, 20000))


def test_counts_of_peak_memory_have_no_complete():
    check.counts(type("Peak", (), {"peak_bytes": 80, "kept_bytes": 0})(), peak_bytes=80, kept_bytes=0)


@pytest.mark.parametrize("complete", [False, Liar(), None])
def test_an_incomplete_count_fails_with_the_reason(complete):
    text = message(check.counts, Counted(flops=24, complete=complete, why="a value left"), flops=24)
    assert "a value left" in text


@pytest.mark.parametrize("expected", [{}, {"flop": 3}])
def test_counts_refuses_a_misspelt_name(expected):
    with pytest.raises(TypeError, match="flops"):
        check.counts(Counted(flops=3), **expected)


# avoids

def product(a, b):
    """Not np.matmul: a loop. The word einsum stands only here."""
    total = 0  # nor a @ b
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


def local_names(sum):
    dot = sum + 1
    return [max for max in [dot]]


class Method:
    def uses(self, other):
        """Indented, with a decorator-free body."""
        other = np.asarray(other)
        return (self
                .matmul(other))

    def operator(self, other):
        other @= self
        return other @ self

    def imports(self):
        from numpy.linalg import norm as length
        return length(self)

    def spins(self):
        while True:
            return [x for x in self]


def test_avoids_passes():
    check.avoids(product, "matmul", "dot", "@", "einsum", "while")
    check.avoids(local_names, "dot", "sum", "max")
    check.avoids(Method.uses, "@", "dot", "for")
    check.avoids(Method().uses, "@")


@pytest.mark.parametrize("function, name, line", [
    (product, "for", "line 4: for i in range(len(a)):"), (product, "range", "line 4"),
    (product, "len", "line 4"),
    (Method.uses, "matmul", "line 5: .matmul(other))"), (Method.uses, "np", "line 3"),
    (Method.operator, "@", "line 2: other @= self"), (Method.imports, "norm", "line 2"),
    (Method.imports, "linalg", "line 2"), (Method.spins, "while", "line 2"), (Method.spins, "for", "line 3"),
    (Method, "matmul", "line 6"),
])
def test_avoids_fails_and_names_the_line(function, name, line):
    text = message(check.avoids, function, "absent", name, because="by hand")
    assert f"source without `{name}`" in text and f"`{name}` in {line}" in text and "by hand" in text


def test_avoids_without_source_fails():
    namespace = {}
    exec("def f(x):\n    return x", namespace)
    for function in (namespace["f"], np.matmul, len, 3, None):
        assert "no source" in message(check.avoids, function, "matmul")


@pytest.mark.parametrize("source, fails", [
    ("    def f(a, b):\n        return a.dot(b)\n", True), ("def f(a, b):\n    return a\n", False),
    ("def f(:\n", True), (None, True),
])
def test_avoids_asks_the_class_of_a_proxy(source, fails):
    function = type("Function", (), {"__source__": lambda self: source})()
    function.__source__ = lambda: "def f(): pass"  # of the instance: not asked
    if fails:
        message(check.avoids, function, "dot")
    else:
        check.avoids(function, "dot")


@pytest.mark.parametrize("names", [(), ("+",), ("np.dot",)])
def test_avoids_refuses_names_that_it_cannot_find(names):
    with pytest.raises(TypeError, match="names"):
        check.avoids(product, *names)


# partial

def score(*blocks, points=4):
    p = check.partial(points)
    for worth, name, block in blocks:
        with p.part(worth, name):
            block()
    return p.score()


def fails():
    check.equal((3,), (2, 3), because="the batch axis")


def stops():
    raise IndexError("too far\nand more")


def test_partial_full_marks_print_nothing(capsys):
    earned = score((2, "the data", lambda: None), (2, "the gradient", lambda: None))
    assert type(earned) is float and earned == 4.0 and capsys.readouterr().out == ""


def test_partial_prints_one_line_for_each_lost_part(capsys):
    earned = score((1, "the data", fails), (1, "the order", stops), (0.5, "the gradient", lambda: None),
                   (1.5, "the name", lambda: None))
    assert type(earned) is float and earned == 2.0
    assert capsys.readouterr().out.splitlines() == [
        "lost 1 of 1, the data: Expected: (2, 3); Got: (3,) (the length: 1 instead of 2); "
        "Likely cause: the batch axis",
        "lost 1 of 1, the order: IndexError: too far"]


def test_partial_raises_the_first_failure_when_all_fail():
    with pytest.raises(IndexError, match="too far"):
        score((2, "one", stops), (2, "two", fails))


def test_a_part_that_never_ran_is_lost(capsys):
    p = check.partial(3)
    p.part(1, "left out")
    with p.part(2, "run"):
        pass
    assert p.score() == 2.0 and "lost 1 of 1, left out" in capsys.readouterr().out
    p = check.partial(1)
    p.part(1, "left out")
    with pytest.raises(check.Failed, match="never ran"):
        p.score()


def test_an_interrupt_is_not_a_lost_part():
    p = check.partial(1)
    with pytest.raises(KeyboardInterrupt), p.part(1, "one"):
        raise KeyboardInterrupt
    assert p.parts[0].error is not None


@pytest.mark.parametrize("worths", [[], [1, 2], [3, 2], [5, -1], [4, 0]])
def test_points_must_add_up(worths):
    with pytest.raises(ValueError, match="points"):
        score(*[(worth, "part", lambda: None) for worth in worths])


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.25, 0.5, 1, 2]), st.booleans()), min_size=1, max_size=8))
def test_partial_earns_what_held(parts):
    total, held = sum(worth for worth, _ in parts), sum(worth for worth, holds in parts if holds)
    blocks = [(worth, "part", (lambda: None) if holds else fails) for worth, holds in parts]
    if held:
        earned = score(*blocks, points=total)
        assert earned == pytest.approx(held) and 0 <= earned <= total
    else:
        with pytest.raises(check.Failed):
            score(*blocks, points=total)


def test_a_notebook_shows_the_line_and_the_reason_instead_of_a_traceback():
    """IPython shows what `_render_traceback_` gives; frames of the checks themselves would only confuse."""
    with pytest.raises(check.Failed) as caught:
        check.equal(1, 2, because="off by one")
    first, *rest = caught.value._render_traceback_()
    assert first.startswith("Check failed in line ") and "check.equal(1, 2" in first
    assert rest == ["Expected: 2", "Got: 1", "Likely cause: off by one"]
    with pytest.raises(check.Failed) as caught:
        with check.raises(ValueError):
            pass
    assert "contextlib" not in caught.value._render_traceback_()[0]
