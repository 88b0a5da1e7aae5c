# %% tags=["export"]
"""Losses: one number that says how wrong a prediction is."""

import numpy as np

from tinytorch_ref.activations import shift_by_max, sum_along
from tinytorch_ref.tensor import Tensor, apply

# %% tags=["export"]
def reduce_losses(losses, reduction, count=None):
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction == "mean":
        return losses.sum() / max(losses.size if count is None else count, 1)
    raise ValueError(f"reduction {reduction!r} is unknown: use 'none', 'mean' or 'sum'")


def mse_loss_forward(prediction, target, reduction="mean"):
    """Both are inputs. Returns (loss, difference)."""
    if prediction.shape != target.shape:
        raise ValueError(f"shapes {prediction.shape} and {target.shape} differ")
    difference = prediction - target
    return reduce_losses(difference * difference, reduction), difference


def check_targets(target, classes, ignore_index=-100):
    """Mask of the targets that count."""
    if target.dtype.kind not in "iu":
        raise TypeError(f"targets are class indices, integers, but these have dtype {target.dtype}")
    counted = target != ignore_index
    wrong = counted & ((target < 0) | (target >= classes))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(f"label {target[place]} at index {place} is no class: with {classes} classes labels go from 0 to {classes - 1}")
    return counted


def row_losses(logits, target, label_smoothing=0.0):
    """Losses (N,) of rows (N, C), and what the gradient wants again: (exps (N, C), totals (N, 1))."""
    shifted = shift_by_max(logits)
    rows = np.arange(len(shifted))
    correct = shifted[rows, target]
    if label_smoothing:
        mean = sum_along(shifted, -1)[:, 0] / logits.shape[-1]
        correct = (1 - label_smoothing) * correct + label_smoothing * mean
    exps = np.exp(shifted, out=shifted)
    totals = sum_along(exps, -1)
    totals[totals == 0] = 1
    return np.log(totals[:, 0]) - correct, (exps, totals)


def cross_entropy_forward(logits, target, reduction="mean", ignore_index=-100, label_smoothing=0.0):
    """Returns (loss, (exps, totals)) with exps (N, C), totals (N, 1), N the product of target's shape."""
    if logits.shape[:-1] != target.shape:
        raise ValueError(f"logits of shape {logits.shape} need targets of shape {logits.shape[:-1]}, not {target.shape}")
    counted = check_targets(target, logits.shape[-1], ignore_index)
    rows = logits.reshape(-1, logits.shape[-1])
    losses, saved = row_losses(rows, np.where(counted, target, 0).reshape(-1), label_smoothing)
    losses = np.where(counted, losses.reshape(target.shape), 0.0)
    return reduce_losses(losses, reduction, int(counted.sum())), saved


def binary_cross_entropy_with_logits_forward(logits, target, reduction="mean"):
    if logits.shape != target.shape:
        raise ValueError(f"shapes {logits.shape} and {target.shape} differ")
    losses = np.log1p(np.exp(-np.abs(logits)))
    losses += np.maximum(logits, 0) - logits * target
    return reduce_losses(losses, reduction)


def plain(target):
    return target.data if isinstance(target, Tensor) else np.asarray(target)


def mse_loss(prediction, target, reduction="mean"):
    return apply(mse_loss_forward, prediction, target, reduction=reduction)


def cross_entropy(logits, target, reduction="mean", ignore_index=-100, label_smoothing=0.0):
    return apply(cross_entropy_forward, logits, target=plain(target), reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing)


def binary_cross_entropy_with_logits(logits, target, reduction="mean"):
    return apply(binary_cross_entropy_with_logits_forward, logits, target=plain(target), reduction=reduction)
