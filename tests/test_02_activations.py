"""The activations of the reference package: against closed formulas, against PyTorch, and as properties."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tinytorch_ref import activations
from tinytorch_ref.activations import (
    BLOCK, blocks, gelu, gelu_forward, log_softmax, relu, row_blocks, shift_by_max, sigmoid, softmax, sum_along,
    tanh,
)
from tinytorch_ref.tensor import Tensor

ELEMENTWISE = {"relu": relu, "sigmoid": sigmoid, "tanh": tanh, "gelu": gelu}
ALONG_AN_AXIS = {"softmax": softmax, "log_softmax": log_softmax}
LOGITS = hnp.arrays(np.float32, hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6),
                    elements=st.floats(-1e4, 1e4, width=32))


def formula(name, x):
    """The function as printed, in float64, for numbers of moderate size."""
    u = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return {"relu": np.maximum(x, 0), "sigmoid": 1 / (1 + np.exp(-x)), "tanh": np.tanh(x),
            "gelu": 0.5 * x * (1 + np.tanh(u))}[name]


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("dtype, rtol", [(np.float32, 2e-6), (np.float64, 1e-12)])
def test_values_follow_the_formula(name, dtype, rtol):
    x = np.linspace(-8, 8, 401)
    result = ELEMENTWISE[name](Tensor(x, dtype=dtype))
    assert result.dtype == dtype
    np.testing.assert_allclose(result.data, formula(name, x), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_no_number_is_too_large_and_nothing_warns(name):
    limits = {"relu": (0, 1e30), "sigmoid": (0, 1), "tanh": (-1, 1), "gelu": (0, 1e4)}[name]
    far = 1e4 if name == "gelu" else 1e30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = ELEMENTWISE[name](Tensor([-far, far]))
    np.testing.assert_allclose(result.data, limits)


@given(LOGITS)
def test_softmax_is_a_distribution_and_log_softmax_its_logarithm(x):
    for axis in range(-x.ndim, x.ndim):
        p = softmax(Tensor(x), axis=axis).data
        assert p.dtype == np.float32 and (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=axis), 1, rtol=1e-5)
        np.testing.assert_allclose(np.exp(log_softmax(Tensor(x), axis=axis).data), p, rtol=1e-3, atol=1e-6)


@given(LOGITS, st.floats(-100, 100))
def test_softmax_ignores_a_common_shift(x, shift):
    x = np.round(x)  # so that the shift itself does not round
    np.testing.assert_allclose(softmax(Tensor(x + round(shift))).data, softmax(Tensor(x)).data, rtol=1e-5, atol=1e-7)


@given(LOGITS)
def test_inputs_are_never_changed(x):
    for function in (*ELEMENTWISE.values(), *ALONG_AN_AXIS.values()):
        given_x = Tensor(x)
        result = function(given_x)
        np.testing.assert_array_equal(given_x.data, x)
        assert not np.shares_memory(result.data, given_x.data)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_row_that_is_masked_as_a_whole_has_no_probability(axis):
    x = np.array([[-np.inf, -np.inf], [0.0, -np.inf]], dtype=np.float32)
    x = x if axis == 1 else x.T
    expected = np.array([[0, 0], [1, 0]]) if axis == 1 else np.array([[0, 1], [0, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p, log_p = softmax(Tensor(x), axis=axis), log_softmax(Tensor(x), axis=axis)
    np.testing.assert_array_equal(p.data, expected)
    np.testing.assert_array_equal(log_p.data, np.where(expected == 1, 0, -np.inf))


def test_log_softmax_keeps_what_softmax_cannot_hold():
    x = Tensor([0.0, -120.0])
    assert softmax(x).data[1] == 0
    assert log_softmax(x).data[1] == -120


@given(LOGITS)
def test_sum_along_is_a_sum(x):
    for axis in range(-x.ndim, x.ndim):
        expected = x.sum(axis=axis, keepdims=True, dtype=np.float64)
        np.testing.assert_allclose(sum_along(x, axis), expected, rtol=1e-5, atol=1e-5 * np.abs(x).max() * x.size)


def test_shift_by_max_makes_the_largest_zero():
    x = np.array([[1.0, 3.0], [-np.inf, 5.0], [-np.inf, -np.inf]])
    np.testing.assert_array_equal(shift_by_max(x), [[-2, 0], [-np.inf, 0], [-np.inf, -np.inf]])


@pytest.mark.parametrize("shape", [(), (3,), (0, 3), (7, BLOCK), (BLOCK, 7), (5, 3, BLOCK), (2, 4 * BLOCK, 1)])
def test_row_blocks_are_whole_along_the_axis(shape):
    a = np.zeros(shape)
    for axis in range(-a.ndim, a.ndim):
        for (piece,) in row_blocks(axis, a):
            assert piece.shape[axis] == shape[axis] and np.shares_memory(piece, a) or not a.size
            piece += 1
        np.testing.assert_array_equal(a, 1)
        a[...] = 0


@pytest.mark.parametrize("shape", [(5, BLOCK), (BLOCK, 5), (3, 40, 2000)])
def test_softmax_of_an_array_of_several_blocks(shape):
    x = np.random.default_rng(6).normal(size=shape) * 3
    for axis in range(-x.ndim, x.ndim):
        exps = np.exp(x - x.max(axis=axis, keepdims=True))
        expected = exps / exps.sum(axis=axis, keepdims=True)
        np.testing.assert_allclose(softmax(Tensor(x, dtype=np.float64), axis).data, expected, rtol=1e-10)
        np.testing.assert_allclose(softmax(Tensor(x.T, dtype=np.float64), -1 - axis).data, expected.T, rtol=1e-10)


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (BLOCK,), (BLOCK + 1,), (3, BLOCK - 1)])
def test_blocks_go_through_every_element_once(shape):
    a, out = np.arange(math.prod(shape)).reshape(shape), np.full(shape, -1)
    for piece, written in blocks(a, out):
        assert piece.shape == written.shape == (piece.size,) and piece.size <= BLOCK
        written += 1 + piece
    np.testing.assert_array_equal(out, a)


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.T, lambda a: a[::2, ::-3], lambda a: a[1, 2]])
def test_gelu_of_an_array_of_several_blocks(view):
    a = view(np.random.default_rng(3).normal(size=(400, 300)) * 3)
    output, gate = gelu_forward(np.asarray(a))
    np.testing.assert_allclose(output, formula("gelu", a), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gate * a, output)


def test_gelu_keeps_a_float_dtype_and_answers_integers_in_float64():
    for dtype, expected in [("float16", "float16"), ("float32", "float32"), ("int8", "float64"), ("int64", "float64")]:
        assert [array.dtype for array in gelu_forward(np.array([-1, 2], dtype))] == [expected] * 2


def test_gelu_lets_nan_through_to_its_own_place():
    x = np.ones((3, BLOCK), np.float32)
    x[1, 5] = np.nan
    np.testing.assert_array_equal(np.isnan(gelu_forward(x)[0]), np.isnan(x))


def test_constants_are_python_numbers():
    """An np.float64 among them would turn float32 arrays into float64."""
    assert type(activations.GELU_SCALE) is float and type(activations.GELU_CUBIC) is float


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("name", [*ELEMENTWISE, *ALONG_AN_AXIS])
def test_values_are_pytorchs(name, axis):
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(7).normal(size=(3, 5, 7)).astype(np.float32) * 4
    theirs = {"relu": torch.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
              "gelu": lambda t: torch.nn.functional.gelu(t, approximate="tanh"),
              "softmax": lambda t: torch.softmax(t, axis), "log_softmax": lambda t: torch.log_softmax(t, axis)}[name]
    if name in ALONG_AN_AXIS:
        mine = ALONG_AN_AXIS[name](Tensor(x), axis=axis)
    else:
        mine = ELEMENTWISE[name](Tensor(x))
    np.testing.assert_allclose(mine.data, theirs(torch.from_numpy(x)).numpy(), rtol=2e-5, atol=2e-6)
