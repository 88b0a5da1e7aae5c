# Built from source/04_losses/04_losses.py by `tinytorch build`; change it there.
"""Losses: one number that says how wrong a prediction is, and that goes down smoothly as it gets better."""

import numpy as np

from tinytorch_ref.activations import shift_by_max, sum_along
from tinytorch_ref.tensor import Tensor, apply, as_tensor

__all__ = [
    "reduce_losses", "mse_loss_forward", "mse_loss", "check_targets", "row_losses", "cross_entropy_forward",
    "plain_target", "cross_entropy", "binary_cross_entropy_with_logits_forward",
    "binary_cross_entropy_with_logits",
]


def reduce_losses(losses, reduction, count=None):
    """Many losses as one number, or as they are.

    Parameters
    ----------
    losses : numpy.ndarray
        Any shape.
    reduction : {"none", "mean", "sum"}
    count : int, optional
        By how many "mean" divides; by default the number of losses. Losses that do not count are 0
        already, so if `count` is 0, the mean is 0.

    Returns
    -------
    numpy.ndarray or NumPy number, of the dtype of `losses`

    Raises
    ------
    ValueError
        For any other `reduction`; the message repeats it.

    Examples
    --------
    >>> reduce_losses(np.array([1.0, 2.0, 0.0]), "mean", count=2)
    np.float64(1.5)
    """
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction == "mean":
        return losses.sum() / max(losses.size if count is None else count, 1)
    raise ValueError(f"reduction {reduction!r} is unknown; there are 'none', 'mean' and 'sum'")


def mse_loss_forward(prediction, target, reduction="mean"):
    """Squared distance of predictions from targets.

    Parameters
    ----------
    prediction, target : numpy.ndarray
        Of one shape.
    reduction : {"none", "mean", "sum"}

    Returns
    -------
    loss : numpy.ndarray or NumPy number
    difference : numpy.ndarray
        prediction - target, of their dtype, which the gradient rule wants again.

    Raises
    ------
    ValueError
        If the shapes differ in any way; the message names both.

    Examples
    --------
    >>> mse_loss_forward(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
    (np.float64(2.5), array([ 1., -2.]))
    """
    if prediction.shape != target.shape:
        raise ValueError(f"prediction {prediction.shape} and target {target.shape} must have the same shape")
    difference = prediction - target
    return reduce_losses(difference * difference, reduction), difference


def mse_loss(prediction, target, reduction="mean"):
    """Mean squared error of a Tensor of predictions against targets of the same shape, Tensor or array."""
    return apply(mse_loss_forward, prediction, as_tensor(target, prediction), reduction=reduction)


def check_targets(target, classes, ignore_index=-100):
    """Which targets count, once all are known to be sound.

    Parameters
    ----------
    target : numpy.ndarray
        Class indices, of any shape and integer type.
    classes : int
    ignore_index : int
        Targets of this value do not count and are not checked.

    Returns
    -------
    numpy.ndarray of bool, of the shape of `target`

    Raises
    ------
    TypeError
        If the targets are not integers; the message names their dtype.
    ValueError
        If a target that counts is below 0 or not below `classes`; the message names it and `classes`.

    Examples
    --------
    >>> check_targets(np.array([0, -100, 2]), 3)
    array([ True, False,  True])
    """
    if target.dtype.kind not in "iu":
        raise TypeError(f"targets are class indices, which are integers, but these have dtype {target.dtype}")
    counts = target != ignore_index
    wrong = counts & ((target < 0) | (target >= classes))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        label = f"label {target[place]} at index {place}"
        raise ValueError(f"{label} is no class: {classes} classes go from 0 to {classes - 1}")
    return counts


def row_losses(logits, target, label_smoothing=0.0):
    """Cross-entropy of each row, with one array of the size of `logits`.

    Parameters
    ----------
    logits : numpy.ndarray of shape (N, C)
    target : numpy.ndarray of int, shape (N,)
        Class indices, known to be sound.
    label_smoothing : float
        The share of the target that is spread evenly over all classes.

    Returns
    -------
    losses : numpy.ndarray of shape (N,)
    saved : tuple
        `exps` of shape (N, C) and `totals` of shape (N, 1): exps / totals is softmax(logits).

    Examples
    --------
    >>> row_losses(np.array([[0.0, 0.0]]), np.array([1]))
    (array([0.69314718]), (array([[1., 1.]]), array([[2.]])))
    """
    z = shift_by_max(logits)
    wanted = z[np.arange(len(z)), target]
    if label_smoothing:
        mean = sum_along(z, -1)[:, 0] / z.shape[-1]
        wanted = (1 - label_smoothing) * wanted + label_smoothing * mean
    exps = np.exp(z, out=z)
    totals = sum_along(exps, -1)
    totals[totals == 0] = 1
    return np.log(totals[:, 0]) - wanted, (exps, totals)


def cross_entropy_forward(logits, target, reduction="mean", ignore_index=-100, label_smoothing=0.0):
    """Cross-entropy of logits against class indices.

    Parameters
    ----------
    logits : numpy.ndarray of shape (..., C)
        The classes are the last axis.
    target : numpy.ndarray of int, shape (...)
    reduction : {"none", "mean", "sum"}
        "mean" is over the targets that count; 0 if none does.
    ignore_index : int
        Targets of this value have loss 0 and do not count.
    label_smoothing : float
        The share of the target that is spread evenly over all classes.

    Returns
    -------
    loss : numpy.ndarray or NumPy number, of the dtype of `logits`
    saved : tuple
        `exps` of shape (N, C) and `totals` of shape (N, 1) of the N rows, as from `row_losses`.

    Raises
    ------
    ValueError
        If the shapes do not match, or a label is no class.
    TypeError
        If the targets are not integers.

    Examples
    --------
    >>> loss, saved = cross_entropy_forward(np.array([[0.0, 0.0], [5.0, 1.0]]), np.array([1, -100]))
    >>> loss
    np.float64(0.6931471805599453)
    """
    if logits.shape[:-1] != target.shape:
        needed = logits.shape[:-1]
        raise ValueError(f"logits {logits.shape} need targets {needed}, but these have shape {target.shape}")
    counts = check_targets(target, logits.shape[-1], ignore_index)
    rows = logits.reshape(-1, logits.shape[-1])
    labels = np.where(counts, target, 0).reshape(-1)
    losses, saved = row_losses(rows, labels, label_smoothing)
    losses = np.where(counts, losses.reshape(target.shape), 0.0)
    return reduce_losses(losses, reduction, int(counts.sum())), saved


def plain_target(target):
    """The array of a target that comes as a Tensor, an array or a list."""
    return target.data if isinstance(target, Tensor) else np.asarray(target)


def cross_entropy(logits, target, reduction="mean", ignore_index=-100, label_smoothing=0.0):
    """Cross-entropy of a Tensor of logits (..., C) against class indices (...).

    Parameters
    ----------
    logits : Tensor
        The classes are the last axis.
    target : Tensor, numpy.ndarray or list of int
    reduction, ignore_index, label_smoothing
        As in `cross_entropy_forward`.

    Returns
    -------
    Tensor
    """
    params = {"reduction": reduction, "ignore_index": ignore_index, "label_smoothing": label_smoothing}
    return apply(cross_entropy_forward, logits, target=plain_target(target), **params)


def binary_cross_entropy_with_logits_forward(logits, target, reduction="mean"):
    """Cross-entropy of yes-or-no questions, each answered by one logit.

    Parameters
    ----------
    logits : numpy.ndarray
        Any shape.
    target : numpy.ndarray
        Of the same shape: numbers from 0 to 1, or booleans.
    reduction : {"none", "mean", "sum"}

    Returns
    -------
    numpy.ndarray or NumPy number, of the dtype of `logits`

    Raises
    ------
    ValueError
        If the shapes differ (the message names both), or a target lies outside 0 to 1.

    Examples
    --------
    >>> binary_cross_entropy_with_logits_forward(np.array([0.0, 200.0]), np.array([1.0, 0.0]), "none")
    array([  0.69314718, 200.        ])
    """
    if logits.shape != target.shape:
        raise ValueError(f"logits have shape {logits.shape} and targets {target.shape}; they must be equal")
    target = target.astype(logits.dtype)
    if ((target < 0) | (target > 1)).any():
        raise ValueError(f"targets lie between 0 and 1, but these go from {target.min()} to {target.max()}")
    losses = np.log1p(np.exp(-np.abs(logits)))
    losses += np.maximum(logits, 0) - logits * target
    return reduce_losses(losses, reduction)


def binary_cross_entropy_with_logits(logits, target, reduction="mean"):
    """Cross-entropy of a Tensor of logits against targets from 0 to 1, of the same shape."""
    params = {"target": plain_target(target), "reduction": reduction}
    return apply(binary_cross_entropy_with_logits_forward, logits, **params)
