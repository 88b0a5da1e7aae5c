"""The losses of the reference package: against closed formulas, against PyTorch, and as properties."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinytorch_ref.losses import (
    binary_cross_entropy_with_logits,
    check_targets,
    cross_entropy,
    cross_entropy_forward,
    mse_loss,
    mse_loss_forward,
    reduce_losses,
    row_losses,
)
from tinytorch_ref.tensor import Tensor

REDUCTIONS = ("none", "mean", "sum")


@st.composite
def problems(draw):
    """Logits (N, C) and targets (N,), some of them ignored."""
    N, C = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    logits = rng.normal(size=(N, C)) * draw(st.sampled_from([0.1, 3.0, 1000.0]))
    target = rng.integers(0, C, N)
    target[rng.random(N) < draw(st.sampled_from([0.0, 0.4, 1.0]))] = -100
    return logits, target


def log_probabilities(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@given(problems(), st.sampled_from([0.0, 0.1, 1.0]))
def test_cross_entropy_is_the_formula(problem, smoothing):
    logits, target = problem
    N, C = logits.shape
    counts = target != -100
    wanted = np.full((N, C), smoothing / C)
    wanted[np.arange(N), np.where(counts, target, 0)] += 1 - smoothing
    losses = np.where(counts, -(wanted * log_probabilities(logits)).sum(axis=1), 0)
    expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / max(counts.sum(), 1)}
    for reduction in REDUCTIONS:
        mine = cross_entropy(Tensor(logits, dtype=np.float64), target, reduction, label_smoothing=smoothing)
        np.testing.assert_allclose(mine.data, expected[reduction], rtol=1e-10, atol=1e-10)


@given(problems())
def test_what_is_saved_is_softmax(problem):
    logits, target = problem
    _, (exps, totals) = cross_entropy_forward(logits, target)
    np.testing.assert_allclose(exps / totals, np.exp(log_probabilities(logits)), rtol=1e-10)


@given(problems())
def test_nothing_given_is_changed(problem):
    logits, target = problem
    x, t = Tensor(logits), target.copy()
    cross_entropy(x, t)
    mse_loss(x, Tensor(-logits))
    binary_cross_entropy_with_logits(x, np.ones(logits.shape))
    np.testing.assert_array_equal(x.data, logits.astype(np.float32))
    np.testing.assert_array_equal(t, target)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(dtype, reduction):
    x = Tensor(np.ones((2, 3)), dtype=dtype)
    for loss in (cross_entropy(x, [0, 1], reduction), mse_loss(x, Tensor(np.zeros((2, 3)), dtype=dtype), reduction),
                 binary_cross_entropy_with_logits(x, np.ones((2, 3)), reduction)):
        assert loss.dtype == dtype


def test_no_logit_is_too_large_and_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cross_entropy(Tensor([[1e4, -1e4]]), [1]).item() == 2e4
        assert cross_entropy(Tensor([[1e4, -1e4]]), [0]).item() == 0
        assert binary_cross_entropy_with_logits(Tensor([1e4]), [0]).item() == 1e4
        assert binary_cross_entropy_with_logits(Tensor([-1e4]), [0]).item() == 0


def test_a_batch_in_which_nothing_counts_has_loss_0():
    x = Tensor(np.ones((2, 3)))
    assert cross_entropy(x, [-100, -100]).item() == 0
    assert cross_entropy(x, [-100, -100], "sum").item() == 0
    assert cross_entropy(Tensor(np.ones((0, 3))), np.zeros(0, int)).item() == 0
    assert reduce_losses(np.zeros(0), "mean") == 0


def test_an_impossible_class_has_an_infinite_loss():
    losses, (exps, totals) = row_losses(np.array([[0.0, -np.inf], [-np.inf, -np.inf]]), np.array([1, 0]))
    np.testing.assert_array_equal(losses, [np.inf, np.inf])
    np.testing.assert_array_equal(exps / totals, [[1, 0], [0, 0]])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_any_integer_is_an_index(dtype):
    loss = cross_entropy(Tensor(np.zeros((2, 100))), np.array([0, 99], dtype))
    assert loss.item() == pytest.approx(math.log(100))


@pytest.mark.parametrize("target, error, words", [
    ([0, 3], ValueError, ["label 3", "(1,)", "3 classes"]),
    ([-1, 0], ValueError, ["label -1", "(0,)"]),
    ([0.0, 1.0], TypeError, ["float64"]),
    ([True, False], TypeError, ["bool"]),
    ([0], ValueError, ["(2, 3)", "(1,)"]),
])
def test_a_wrong_target_is_named(target, error, words):
    with pytest.raises(error) as caught:
        cross_entropy(Tensor(np.zeros((2, 3))), target)
    assert all(word in str(caught.value) for word in words)


def test_ignored_targets_may_be_out_of_range():
    np.testing.assert_array_equal(check_targets(np.array([255, 1], np.uint8), 3, ignore_index=255), [False, True])


@pytest.mark.parametrize("first, second", [((3, 1), (3,)), ((2, 3), (1, 3)), ((2,), ())])
def test_shapes_do_not_broadcast(first, second):
    for loss in (mse_loss, binary_cross_entropy_with_logits):
        with pytest.raises(ValueError, match="shape"):
            loss(Tensor(np.zeros(first)), Tensor(np.zeros(second)))


def test_mse_hands_out_the_difference():
    loss, difference = mse_loss_forward(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
    assert loss == 2.5
    np.testing.assert_array_equal(difference, [1, -2])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_is_pytorchs(reduction, smoothing):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(8)
    x, target = rng.normal(size=(4, 6, 9)).astype(np.float32) * 3, rng.integers(0, 9, (4, 6))
    target[rng.random((4, 6)) < 0.3] = -100
    mine = cross_entropy(Tensor(x), target, reduction, label_smoothing=smoothing)
    theirs = torch.nn.functional.cross_entropy(  # there the classes are the second axis
        torch.from_numpy(x).transpose(1, 2), torch.from_numpy(target), reduction=reduction, label_smoothing=smoothing)
    np.testing.assert_allclose(mine.data, theirs.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_other_losses_are_pytorchs(reduction):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(9)
    x, t = rng.normal(size=(5, 7)).astype(np.float32) * 8, rng.random((5, 7)).astype(np.float32)
    functional, tensors = torch.nn.functional, (torch.from_numpy(x), torch.from_numpy(t))
    np.testing.assert_allclose(mse_loss(Tensor(x), Tensor(t), reduction).data,
                               functional.mse_loss(*tensors, reduction=reduction).numpy(), rtol=1e-5)
    np.testing.assert_allclose(binary_cross_entropy_with_logits(Tensor(x), t, reduction).data,
                               functional.binary_cross_entropy_with_logits(*tensors, reduction=reduction).numpy(),
                               rtol=1e-5, atol=1e-6)


def test_where_pytorch_differs():
    """The differences that the recap names."""
    torch = pytest.importorskip("torch")
    functional, logits = torch.nn.functional, torch.zeros(2, 3, requires_grad=True)
    nothing = functional.cross_entropy(logits, torch.tensor([-100, -100]))
    nothing.backward()
    assert math.isnan(nothing.item()) and not logits.grad.any()
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        functional.cross_entropy(logits, torch.tensor([0, 3]))
    with pytest.warns(UserWarning, match="different to the input size"):
        assert functional.mse_loss(torch.zeros(3, 1), torch.tensor([0.0, 0.0, 3.0])).item() == 3
    assert functional.binary_cross_entropy_with_logits(torch.zeros(2), torch.tensor([-1.0, 3.0])).isfinite()
