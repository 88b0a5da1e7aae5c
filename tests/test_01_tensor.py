"""The Tensor of the reference package against NumPy, on shapes and values that hypothesis makes up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tinytorch_ref import tensor as module
from tinytorch_ref.tensor import Recorder, Tensor, apply, broadcast_shape

NUMBERS = st.floats(-100, 100, width=32)
ARRAYS = hnp.arrays(np.float32, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4), elements=NUMBERS)


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4))
def test_broadcast_shape_agrees_with_numpy(shapes):
    assert broadcast_shape(*shapes.input_shapes) == shapes.result_shape


@given(st.lists(st.integers(0, 3), max_size=4), st.lists(st.integers(0, 3), max_size=4))
def test_broadcast_shape_refuses_what_numpy_refuses(first, second):
    try:
        expected = np.broadcast_shapes(tuple(first), tuple(second))
    except ValueError:
        with pytest.raises(ValueError, match="do not fit"):
            broadcast_shape(tuple(first), tuple(second))
    else:
        assert broadcast_shape(tuple(first), tuple(second)) == expected


@given(ARRAYS, st.floats(0.1, 10))
def test_operators_agree_with_numpy_and_keep_float32(array, number):
    x = Tensor(array)
    pairs = [
        (x + number, array + np.float32(number)),
        (number - x, np.float32(number) - array),
        (x * x, array * array),
        (x / number, array / np.float32(number)),
        (-x, -array),
        (x**2, array * array),
    ]
    for mine, expected in pairs:
        assert mine.dtype == np.float32 and mine.shape == array.shape
        np.testing.assert_allclose(mine.data, expected, rtol=1e-6)


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=4, max_side=4), elements=NUMBERS), st.data())
def test_reductions_agree_with_numpy(array, data):
    axes = data.draw(st.none() | st.integers(-array.ndim, array.ndim - 1) | hnp.valid_tuple_axes(array.ndim))
    keepdims = data.draw(st.booleans())
    x = Tensor(array, dtype=np.float64)
    for name in ("sum", "mean", "max"):
        mine = getattr(x, name)(axis=axes, keepdims=keepdims)
        expected = getattr(array, name)(axis=axes, keepdims=keepdims)
        np.testing.assert_allclose(mine.data, expected, rtol=1e-12, atol=1e-12)


def test_numpy_functions_refuse_a_tensor():
    """They would lose the gradient without a word."""
    with pytest.raises(TypeError):
        np.exp(Tensor([1.0]))
    with pytest.raises(RuntimeError, match="gradient"):
        np.asarray(Tensor([1.0], requires_grad=True))


def test_assigning_what_needs_a_gradient_is_refused():
    x, w = Tensor([1.0, 2.0]), Tensor([3.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="gradient"):
        x[:1] = w
    x[:1] = w.data
    assert x.version == 1 and x.data.tolist() == [3.0, 2.0]


def test_every_operation_passes_the_door():
    """A recorder sees each of them: none computes on its own."""
    seen = []

    class Spy:
        def record(self, output, primitive, inputs, saved, params):
            seen.append(primitive)

    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    before, Recorder.current = Recorder.current, Spy()
    try:
        operations = [
            lambda: x + 1, lambda: 1 - x, lambda: x * x, lambda: x / 2, lambda: x @ x, lambda: x**2, lambda: x**x,
            lambda: 2**x, lambda: -x, lambda: abs(x), lambda: x.exp(), lambda: x.log(), lambda: x.sqrt(), lambda: x > 1,
            lambda: x.sum(), lambda: x.mean(0), lambda: x.max(1), lambda: x.reshape(4), lambda: x.T,
            lambda: x.transpose(0, 1), lambda: x[0], lambda: x.to(np.float64), lambda: [1, 2] @ x,
        ]  # fmt: skip
        for number, operation in enumerate(operations, 1):
            operation()
            assert len(seen) == number
    finally:
        Recorder.current = before


def test_backward_says_which_module_brings_it(monkeypatch):
    monkeypatch.setattr(Recorder, "current", None)
    with pytest.raises(RuntimeError, match="module 06"):
        Tensor([1.0]).backward()


def test_apply_drops_what_a_primitive_saved_when_nobody_records():
    output = apply(lambda a: (a + 1, "saved"), Tensor([1.0]))
    assert output.data.tolist() == [2.0] and output.node is None


def test_all_names_exist():
    assert all(hasattr(module, name) for name in module.__all__)
