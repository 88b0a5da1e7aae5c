# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04 · Losses
#
# Today you build the functions that say in one number how wrong a network is: `mse_loss`, `cross_entropy` and
# `binary_cross_entropy_with_logits`. Training is nothing but making that number smaller.
#
# | | |
# |---|---|
# | **Needs** | Modules 01 and 02 |
# | **Time** | 4 to 6 hours |
# | **Points** | 100: visible checks 50, hidden tests 25, systems 20, one written answer 5 |
# | **Becomes** | `tinytorch_ref/losses.py` |
#
# ```
#   01 tensor ─► 02 activations ─► 03 layers ─► 04 losses ─► 05 data
#       │              │               │         ▲ you are here
#       └──────────────┴───────────────┴─────────┴──► 06 autograd ─► 07 …
# ```

# %% nbgrader={"grade": false, "grade_id": "losses_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import time

import matplotlib.pyplot as plt
import numpy as np

from autograder import checks as check
from autograder.counters import count, peak_memory
from autograder.figures import figure, show

# %% tags=["export"]
"""Losses: one number that says how wrong a prediction is, and that goes down smoothly as it gets better."""

import numpy as np

from tinytorch_ref.activations import log_softmax, shift_by_max, softmax, sum_along
from tinytorch_ref.tensor import Tensor, apply, as_tensor

# %% [markdown]
# ## Why not just count the mistakes?
#
# Two networks sort four pictures into three classes. Both get three right. Are they equally good?

# %%
labels = np.array([0, 1, 2, 2])
hesitant = Tensor([[1.0, 0.8, 0.9], [0.2, 0.4, 0.3], [0.1, 0.0, 0.2], [0.6, 0.1, 0.5]])
certain = Tensor([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0], [200.0, 0.0, 0.0]])

for name, logits in [("hesitant", hesitant), ("certain", certain)]:
    right = logits.argmax(axis=-1).data == labels
    chosen = softmax(logits).data[np.arange(4), labels]
    with np.errstate(divide="ignore"):
        loss = -np.log(chosen).mean()
    print(f"{name}: {right.mean():.0%} right, p of the right class {chosen}, mean of -log p {loss:.2f}")

# %% [markdown]
# Accuracy can't tell them apart, and it has a worse fault: change a logit a little and it does not move at all, so it
# gives no direction to improve in. The negative logarithm of the right class's probability has neither fault. It is 0 for
# a certain and right answer, large for a certain and wrong one, and it changes smoothly with every logit.
#
# But typed as it stands, it answers `inf` for the second network. One such batch, and after the next training step every
# parameter is `nan`. Today's losses give the true number, 50, and need less memory than the line above.

# %% [markdown]
# ## 1 · From many numbers to one
#
# A batch of `N` examples has `N` losses. What to do with them is the loss function's last step, its *reduction*:
#
# | reduction | result | used |
# |---|---|---|
# | `"none"` | the losses as they are | to look at single examples |
# | `"sum"` | their sum | to add up over several batches |
# | `"mean"` | their sum divided by how many *count* | to train: the size of a step does not depend on the batch |
#
# How many count? All of them, as a rule. But texts of one batch differ in length, and the short ones are filled up with
# *padding*. The losses at those places are set to 0 and must not dilute the mean. So the divisor can be given.
#
# What is the mean if *nothing* counts, as in a batch that is all padding? This course decides: **0**. Nothing was wrong,
# nothing is to be learned, and training goes on. PyTorch divides 0 by 0 and gets `nan`; its gradient is 0 there, but the
# `nan` enters every average of losses that you print.
#
# And a misspelt reduction? It should be an error that names the three: a silent default would be found weeks later.

# %% nbgrader={"grade": false, "grade_id": "losses_reduce", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
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

    Hints: the sum of no losses is 0 already; dividing it by at least 1 keeps it 0.
    """
    ### BEGIN SOLUTION
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction == "mean":
        return losses.sum() / max(losses.size if count is None else count, 1)
    raise ValueError(f"reduction {reduction!r} is unknown; there are 'none', 'mean' and 'sum'")
    ### END SOLUTION


# %%
# Try it: the same losses, reduced in each way. Add count=2: which line changes?
for reduction in ("none", "sum", "mean"):
    print(reduction, reduce_losses(np.array([1.0, 2.0, 0.0]), reduction))

# %% nbgrader={"grade": true, "grade_id": "losses_reduce_check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Check (5 points): the three reductions, a given count, and a misspelt name.
losses = np.array([[1.0, 2.0], [3.0, 0.0]])
check.close(reduce_losses(losses, "none"), losses, because="none leaves the losses as they are")
check.close(reduce_losses(losses, "sum"), 6.0, because="the sum of all, over every axis")
check.close(reduce_losses(losses, "mean"), 1.5, because="the sum divided by the number of losses, 4")
check.close(reduce_losses(losses, "mean", count=3), 2.0,
            because="a count that is given replaces the number of losses")
with check.raises(ValueError, mentions="average",
                  because="an unknown reduction should be an error that repeats it"):
    reduce_losses(losses, "average")

# %% nbgrader={"grade": true, "grade_id": "losses_reduce_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): nothing that counts, no losses, precision, None.
### BEGIN HIDDEN TESTS
check.close(reduce_losses(np.zeros(3), "mean", count=0), 0.0,
            because="if nothing counts the mean is 0, not 0 / 0")
check.close(reduce_losses(np.zeros(0), "mean"), 0.0, because="the mean of no losses is 0 as well")
check.close(reduce_losses(np.array([3.0]), "mean", count=1), 3.0, because="one loss is its own mean")
check.close(reduce_losses(np.array([3.0, 5.0]), "sum", count=1), 8.0, because="a sum divides by nothing")
for reduction in ("mean", "sum"):
    check.same_dtype(reduce_losses(np.ones(3, np.float32), reduction), np.float32,
                     because="float32 losses have a float32 mean and sum: float() makes float64")
for wrong in (None, "Mean", ""):
    with check.raises(ValueError, because="only the three names are reductions"):
        reduce_losses(np.ones(2), wrong)
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · Mean squared error
#
# To predict numbers, such as prices or temperatures, square the distance:
#
# $$\text{mse}(p, t) = \frac{1}{n}\sum_i (p_i - t_i)^2$$
#
# Twice as far costs four times as much, and the sign does not matter.
#
# Recall broadcasting from module 01: predictions `(N, 1)` minus targets `(N,)` make a square `(N, N)`, and its mean is a
# plausible number: a bug that gives no sign. So shapes must be *equal* here, and if not, the error names both.
#
# As in module 02 the primitive returns a pair: the loss, and what a gradient rule will want again. The derivative of
# $d^2$ is $2d$, so that is the difference $d = p - t$.

# %% nbgrader={"grade": false, "grade_id": "losses_mse", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
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

    Hints: compare the shapes first. `reduce_losses` does the rest; a product is quicker than a power.
    """
    ### BEGIN SOLUTION
    if prediction.shape != target.shape:
        raise ValueError(f"prediction {prediction.shape} and target {target.shape} must have the same shape")
    difference = prediction - target
    return reduce_losses(difference * difference, reduction), difference
    ### END SOLUTION


def mse_loss(prediction, target, reduction="mean"):
    """Mean squared error of a Tensor of predictions against targets of the same shape, Tensor or array."""
    return apply(mse_loss_forward, prediction, as_tensor(target, prediction), reduction=reduction)


# %%
# Try it: one outlier among ten. How much of the loss is its doing?
prediction, target = Tensor(np.full(10, 1.0)), Tensor([1.1, 0.9, 1.0, 1.2, 0.8, 1.1, 0.9, 1.0, 1.0, 4.0])
print(mse_loss(prediction, target), mse_loss(prediction, target, reduction="none"))

# %% nbgrader={"grade": true, "grade_id": "losses_mse_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): values, reductions, the difference, and shapes that do not match.
prediction, target = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[0.0, 4.0], [3.0, 2.0]])
check.close(mse_loss(Tensor(prediction), Tensor(target)), 3.5,
            because="(1 + 4 + 0 + 9) / 4: the mean over all numbers, not over the rows")
check.close(mse_loss(Tensor(prediction), Tensor(target), reduction="sum"), 14.0,
            because="without the division")
check.close(mse_loss(Tensor(prediction), Tensor(target), reduction="none"), np.array([[1, 4], [0, 9]]),
            because="one loss for each number")
loss, difference = mse_loss_forward(prediction, target)
check.close(difference, prediction - target,
            because="the second of the pair is prediction - target, with its sign")
with check.raises(ValueError, mentions=["(3, 1)", "(3,)"],
                  because="(3, 1) and (3,) would broadcast to (3, 3) in silence"):
    mse_loss(Tensor(np.ones((3, 1))), Tensor(np.ones(3)))

# %% nbgrader={"grade": true, "grade_id": "losses_mse_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): a batch of one, other shapes, precision, unmodified operands.
### BEGIN HIDDEN TESTS
check.close(mse_loss(Tensor([[2.0]]), Tensor([[5.0]])), 9.0, because="a batch of one")
check.equal(mse_loss(Tensor([1.0, 2.0]), Tensor([1.0, 1.0])).shape, (),
            because="a loss is one number: a 0-d tensor")
check.close(mse_loss(Tensor(3.0), Tensor(1.0)), 4.0, because="single numbers have a distance too")
check.close(mse_loss(Tensor(np.zeros((0, 2))), Tensor(np.zeros((0, 2)))), 0.0,
            because="nothing is wrong in an empty batch")
for first, second in [((2, 3), (1, 3)), ((2, 3), (3,)), ((2,), ()), ((2, 3), (3, 2))]:
    with check.raises(ValueError, because="shapes must be equal, even where they would broadcast"):
        mse_loss(Tensor(np.ones(first)), Tensor(np.ones(second)))
single = mse_loss_forward(np.ones(2, np.float32), np.zeros(2, np.float32))
check.same_dtype(single[1], np.float32,
                 because="a float64 difference takes twice the memory until the gradient is made")
check.same_dtype(mse_loss(Tensor([1.0], dtype=np.float64), Tensor([0.0], dtype=np.float64)), np.float64,
                 because="float64 stays")
rng = np.random.default_rng(41)
prediction, target = Tensor(rng.normal(size=(4, 5, 2))), Tensor(rng.normal(size=(4, 5, 2)))
check.close(mse_loss(prediction, target), ((prediction.data - target.data) ** 2).mean(),
            because="any number of axes")
with check.unchanged(prediction, target, because="the operands are not scratch space"):
    mse_loss(prediction, target)
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · Cross-entropy, as the formula reads
#
# To choose among `C` classes, a network gives a row of logits; softmax makes probabilities of them; and the loss is the
# *surprise* at the right class:
#
# $$\text{loss} = -\log p_{t} = -\sum_{c} y_c \log p_c, \qquad y_c = 1 \text{ if } c = t, \text{ else } 0$$
#
# The vector $y$, all zeros but for a one, is the target $t$ in *one-hot* form. With it the loss is a sum of products:
#
# ```
#   target   one_hot       log_softmax(logits)        products       loss
#     2      0  0  1   ×   -1.4  -2.4  -0.4     =    0   0  -0.4  ──► 0.4
#     0      1  0  0       -0.1  -3.0  -3.0        -0.1  0   0    ──► 0.1
#    (N,)    (N, C)        (N, C)                   (N, C)            (N,)
# ```
#
# Write `one_hot`, and from it and your tensor operations the loss, averaged over the batch. It is short and it is the
# formula. It is not what a framework runs, and the systems part shows why.

# %% nbgrader={"grade": false, "grade_id": "losses_composed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def one_hot(target, classes):
    """Rows of zeros with a one at the place of the target.

    Parameters
    ----------
    target : numpy.ndarray of int
        Class indices from 0 to classes - 1, of any shape.
    classes : int

    Returns
    -------
    numpy.ndarray of float32
        Of the shape of `target` and one more axis of length `classes`.

    Examples
    --------
    >>> one_hot(np.array([2, 0]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)

    Hints: compare `target`, given an axis more, with `np.arange(classes)`. Rows of `np.eye(classes)` would do
    for few classes; for the 50,000 of the systems part that matrix alone takes 20 GB.
    """
    ### BEGIN SOLUTION
    return (target[..., None] == np.arange(classes)).astype(np.float32)
    ### END SOLUTION


def cross_entropy_composed(logits, target):
    """Mean of -log p of the right class.

    Parameters
    ----------
    logits : Tensor of shape (N, C)
    target : numpy.ndarray of int, shape (N,)

    Returns
    -------
    Tensor of shape ()

    Examples
    --------
    >>> cross_entropy_composed(Tensor([[0.0, 0.0]]), np.array([1]))
    Tensor(0.6931, dtype=float32)

    Hints: `log_softmax` along the last axis; sum over the classes, mean over the rows, and mind the sign.
    """
    ### BEGIN SOLUTION
    chosen = one_hot(target, logits.shape[-1]) * log_softmax(logits)
    return -chosen.sum(axis=-1).mean()
    ### END SOLUTION


# %%
# Try it: both networks from the top of the page. What does the hesitant one lose by hesitating?
cross_entropy_composed(hesitant, labels), cross_entropy_composed(certain, labels)

# %% nbgrader={"grade": true, "grade_id": "losses_composed_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): one-hot rows, then the loss, small and large.
check.close(one_hot(np.array([2, 0]), 3), np.array([[0.0, 0, 1], [1, 0, 0]]),
            because="a row for each target, a one at its place")
check.same_dtype(one_hot(np.array([2, 0]), 3), np.float32,
                 because="it will be multiplied with float32 logits")
values, target = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]]), np.array([2, 1])
log_p = values - np.log(np.exp(values).sum(axis=1, keepdims=True))
check.close(cross_entropy_composed(Tensor(values), target), -(log_p[0, 2] + log_p[1, 1]) / 2,
            because="minus the log of the right class: sum over the classes, mean over the rows")
check.close(cross_entropy_composed(Tensor(np.zeros((4, 10))), np.array([3, 1, 4, 1])), math.log(10),
            because="ten equal classes: each has probability 1/10")
check.equal(isinstance(cross_entropy_composed(Tensor(values), target), Tensor), True,
            because="the loss is a Tensor: only tensor operations can be followed back in module 06")
check.close(cross_entropy_composed(Tensor([[1e4, 0.0]]), np.array([1])), 1e4,
            because="log_softmax holds this number; the log of softmax does not")

# %% nbgrader={"grade": true, "grade_id": "losses_composed_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): other shapes and integer types, a batch of one, unmodified operands.
### BEGIN HIDDEN TESTS
check.close(one_hot(np.array([[0, 1], [1, 1]]), 2), np.eye(2)[np.array([[0, 1], [1, 1]])],
            because="one axis more than the target has")
check.close(one_hot(np.array([3], dtype=np.uint8), 5), np.array([[0.0, 0, 0, 1, 0]]),
            because="any integer type is an index")
check.equal(one_hot(np.zeros(0, int), 4).shape, (0, 4), because="no targets, no rows")
rng = np.random.default_rng(42)
for N, C in [(1, 3), (7, 2), (5, 40)]:
    values, target = rng.normal(size=(N, C)) * 3, rng.integers(0, C, N)
    log_p = values - np.log(np.exp(values).sum(axis=1, keepdims=True))
    logits = Tensor(values)
    check.close(cross_entropy_composed(logits, target), -log_p[np.arange(N), target].mean(),
                because="the mean is over the rows only")
    with check.unchanged(logits, because="the logits are not scratch space"):
        cross_entropy_composed(logits, target)
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · Targets worth trusting
#
# The one-hot rows are nearly all zeros, so from here on the target stays an index. An index can be wrong, and NumPy may
# accept it all the same: index -1 means *the last* class, and an array of booleans is taken for a mask. A wrong label then
# trains the wrong class, without a word. So check before you index:
#
# - **Type.** Targets are integers, of any width. A float is probably a probability or a forgotten cast: a `TypeError` that
#   says which dtype came.
# - **Range.** From 0 to `C - 1`. Otherwise a `ValueError` with the label and the number of classes: whoever reads "label 10"
#   and "10 classes" side by side knows that the labels count from 1.
# - **Ignored.** One value, `ignore_index`, marks targets that do not count; -100 by custom, since no class has that number.
#
# `check_targets` answers with a mask: which targets count.

# %% nbgrader={"grade": false, "grade_id": "losses_targets", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
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

    Hints: `dtype.kind` is "i" or "u" for integers. Masks combine with `&` and `|`; mind the parentheses.
    """
    ### BEGIN SOLUTION
    if target.dtype.kind not in "iu":
        raise TypeError(f"targets are class indices, which are integers, but these have dtype {target.dtype}")
    counts = target != ignore_index
    wrong = counts & ((target < 0) | (target >= classes))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        label = f"label {target[place]} at index {place}"
        raise ValueError(f"{label} is no class: {classes} classes go from 0 to {classes - 1}")
    return counts
    ### END SOLUTION


# %%
# Try it: what would NumPy have made of each of these?
for target in (np.array([0, 3]), np.array([0, -1]), np.array([0.0, 1.0]), np.array([True, False])):
    try:
        print(target, check_targets(target, 3))
    except (TypeError, ValueError) as error:
        print(target, type(error).__name__, error)

# %% nbgrader={"grade": true, "grade_id": "losses_targets_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): the mask, and an error that helps for each kind of wrong target.
check.equal(check_targets(np.array([0, -100, 2]), 3), np.array([True, False, True]),
            because="-100 does not count, the others do")
check.equal(check_targets(np.array([0, 1]), 2, ignore_index=1), np.array([True, False]),
            because="any value may be the one that is ignored")
with check.raises(ValueError, mentions=["7", "3"],
                  because="7 is no class of 3: the message should name the label and the number of classes"):
    check_targets(np.array([0, 7, 1]), 3)
with check.raises(ValueError, mentions="-1", because="NumPy would take -1 for the last class"):
    check_targets(np.array([0, -1]), 3)
with check.raises(ValueError, mentions="3", because="the labels of 3 classes are 0, 1 and 2"):
    check_targets(np.array([3]), 3)
with check.raises(TypeError, mentions="float",
                  because="a float is no index; the message should name the dtype"):
    check_targets(np.array([0.0, 1.0]), 3)

# %% nbgrader={"grade": true, "grade_id": "losses_targets_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): every integer type, booleans, several axes, no targets, ignored and out of range.
### BEGIN HIDDEN TESTS
for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
    check.equal(check_targets(np.array([0, 2, 1], dtype), 3), np.array([True, True, True]),
                because="an integer of any width is an index")
check.equal(check_targets(np.array([200], np.uint8), 201), np.array([True]),
            because="200 is a class here; as an int8 it would be -56")
check.equal(check_targets(np.array([255, 3], np.uint8), 5, ignore_index=255), np.array([False, True]),
            because="255 is ignored, though it is no class")
check.equal(check_targets(np.array([[0, -100], [-100, 1]]), 2), np.array([[True, False], [False, True]]),
            because="targets may have several axes")
check.equal(check_targets(np.zeros(0, int), 3), np.zeros(0, bool), because="no targets, nothing wrong")
check.equal(check_targets(np.array([-100, -100]), 3), np.array([False, False]), because="all may be ignored")
with check.raises(TypeError, mentions="bool", because="booleans index as a mask, not as 0 and 1"):
    check_targets(np.array([True, False]), 2)
with check.raises(ValueError, mentions="-100", because="-100 is ignored only if ignore_index says so"):
    check_targets(np.array([-100, 0]), 2, ignore_index=-1)
with check.raises(ValueError, mentions="9", because="a wrong label among ignored ones is still wrong"):
    check_targets(np.array([[-100, -100], [1, 9]]), 3)
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · The fused loss of a row
#
# Of a row of log-probabilities only one is wanted. Write the logarithm out and see how little is needed, with
# $z = x - \max x$ from `shift_by_max`:
#
# $$-\log p_t = \log \sum_c e^{z_c} - z_t$$
#
# So: make `z`, pick $z_t$ by index, *then* let `exp` write into `z`, and sum. One array of shape `(N, C)`, where the composed
# form has three. And that array is not lost: divided by its row sums it is softmax, which the gradient needs. So the function
# hands out the pair `(exps, totals)` beside the losses, undivided, as the division can wait until somebody wants it.
#
# **Label smoothing** asks for a little less than certainty: instead of 1 for the right class and 0 for the others, the target
# is $1 - \varepsilon + \varepsilon/C$ and $\varepsilon/C$. Put into the formula, $z_t$ becomes a mixture:
#
# $$\text{loss} = \log \sum_c e^{z_c} - \Bigl[(1 - \varepsilon)\, z_t + \varepsilon \cdot \frac{1}{C}\sum_c z_c\Bigr]$$
#
# As in module 02, a logit of `-inf` says that its class is impossible. If the true class is, the loss is infinite, as is
# right. A row of nothing but `-inf` has `exps` of 0; give it a total of 1. And leave the mean of `z` out when there is no
# smoothing: it may be `-inf`, and 0 times that is `nan`.

# %% nbgrader={"grade": false, "grade_id": "losses_rows", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
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

    Hints: `z[np.arange(N), target]` picks one number a row. Pick, and take the row's mean for smoothing,
    before exp overwrites z. `sum_along(z, -1)` sums each row and keeps the axis.
    """
    ### BEGIN SOLUTION
    z = shift_by_max(logits)
    wanted = z[np.arange(len(z)), target]
    if label_smoothing:
        mean = sum_along(z, -1)[:, 0] / z.shape[-1]
        wanted = (1 - label_smoothing) * wanted + label_smoothing * mean
    exps = np.exp(z, out=z)
    totals = sum_along(exps, -1)
    totals[totals == 0] = 1
    return np.log(totals[:, 0]) - wanted, (exps, totals)
    ### END SOLUTION


# %%
# Try it: smooth the loss of a row that is already right. Where is it smallest now?
for logit in (0.0, 2.0, 4.0, 8.0, 16.0):
    row = np.array([[logit, 0.0, 0.0]])
    print(logit, row_losses(row, np.array([0]))[0], row_losses(row, np.array([0]), label_smoothing=0.1)[0])

# %% nbgrader={"grade": false, "grade_id": "losses_rows_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# The losses of the rows of a Tensor, for the checks that watch memory.
def losses_of(logits, target):
    return row_losses(logits.data, target)[0]


# %% nbgrader={"grade": true, "grade_id": "losses_rows_check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
# Check (9 points): losses, what is saved, large logits, smoothing, memory.
values, target = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]]), np.array([2, 1])
log_p = values - np.log(np.exp(values).sum(axis=1, keepdims=True))
parts = check.partial(9)
with parts.part(3, "losses"):
    check.close(row_losses(values, target)[0], -log_p[[0, 1], target],
                because="log of the sum of exp(z), minus z of the right class, picked before the exp")
    check.close(row_losses(np.array([[1e4, 0.0], [0.0, 1.0]]), np.array([1, 0]))[0],
                np.array([1e4, math.log(1 + math.e)]),
                because="exp(1e4) is inf: shift each row by its own maximum")
with parts.part(2, "saved"):
    losses, (exps, totals) = row_losses(values, target)
    check.same_shape(totals, (2, 1),
                     because="one total a row, on an axis of its own, so that exps / totals broadcasts")
    check.close(exps / totals, np.exp(log_p), because="exps / totals should be softmax")
with parts.part(2, "label smoothing"):
    smooth = np.full((2, 3), 0.2 / 3)
    smooth[[0, 1], target] += 0.8
    check.close(row_losses(values, target, label_smoothing=0.2)[0], -(smooth * log_p).sum(axis=1),
                because="the right class gets 1 - ε + ε/C, each other ε/C")
with parts.part(2, "precision and memory"):
    single = Tensor(np.arange(100_000.0).reshape(200, 500))
    with check.unchanged(single, because="z must be a new array, the logits are not scratch space"):
        losses_of(single, np.zeros(200, int))
    single_losses = losses_of(single, np.zeros(200, int))
    check.same_dtype(single_losses, np.float32, because="float32 logits have float32 losses")
    with peak_memory() as measured:
        losses_of(single, np.zeros(200, int))
    check.counts(measured, peak_bytes=range(int(1.5 * 200 * 500 * 4)),
                 because="one array the size of the logits: exp can write into the shifted ones")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "losses_rows_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): a batch of one, masked logits, no rows, small integer types, precision, warnings.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(43)
for N, C in [(1, 1), (1, 5), (6, 2), (4, 30)]:
    values, target = rng.normal(size=(N, C)) * 4, rng.integers(0, C, N)
    log_p = values - np.log(np.exp(values).sum(axis=1, keepdims=True))
    check.close(row_losses(values, target)[0], -log_p[np.arange(N), target], rtol=1e-10, atol=1e-12,
                because=f"{N} rows of {C}")
    smooth = np.full((N, C), 0.1 / C)
    smooth[np.arange(N), target] += 0.9
    check.close(row_losses(values, target, 0.1)[0], -(smooth * log_p).sum(axis=1), rtol=1e-10, atol=1e-12,
                because="smoothing, in float64")
    check.close(row_losses(values, target, 1.0)[0], -log_p.mean(axis=1), rtol=1e-10, atol=1e-12,
                because="smoothing of 1 forgets the label")
masked = np.array([[0.0, -np.inf, 0.0], [-np.inf, -np.inf, -np.inf]])
losses, (exps, totals) = row_losses(masked, np.array([2, 0]))
check.close(losses[:1], np.array([math.log(2)]),
            because="a masked class takes no part; without smoothing leave out the mean: 0 · -inf is nan")
check.close(losses[1:], np.array([np.inf]), because="where all classes are masked the true one is impossible")
check.close(exps / totals, np.array([[0.5, 0, 0.5], [0, 0, 0]]),
            because="a row that is masked as a whole has probabilities 0")
check.close(row_losses(np.array([[0.0, -np.inf]]), np.array([1]))[0], np.array([np.inf]),
            because="the true class has probability 0")
check.equal(row_losses(np.zeros((0, 3)), np.zeros(0, int))[0].shape, (0,), because="no rows, no losses")
check.close(row_losses(np.zeros((2, 300)), np.array([200, 255], np.uint8))[0], np.full(2, math.log(300)),
            because="a uint8 is an index too")
logits = Tensor(np.arange(12.0).reshape(3, 4))
with check.unchanged(logits, because="z must be a new array, the logits are not scratch space"):
    losses_of(logits, np.array([0, 1, 2]))
### END HIDDEN TESTS

# %% [markdown]
# ## 6 · Cross-entropy, whole
#
# Now put the parts together. Logits have the shape `(N, C)`, or `(B, T, C)` for `B` texts of `T` tokens: **the classes are
# always the last axis**, and the targets have the shape of the rest, `(N,)` or `(B, T)`. (PyTorch wants the classes second,
# `(B, C, T)`.)
#
# 1. Compare the shapes; an error names both.
# 2. `check_targets` tells which targets count.
# 3. Flatten to rows. Ignored targets have no valid index: put 0 there, any class will do.
# 4. `row_losses`; then set the losses of ignored rows to 0. Set them, do not multiply: if padding's logits are `nan`, 0 times
#    that is `nan`.
# 5. Reduce. The mean is over the targets that count.
#
# Return the pair of loss and what `row_losses` saved.

# %% nbgrader={"grade": false, "grade_id": "losses_cross_entropy", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
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

    Hints: `logits.shape[:-1]` is what the targets should have. `np.where(mask, this, that)` chooses.
    """
    ### BEGIN SOLUTION
    if logits.shape[:-1] != target.shape:
        needed = logits.shape[:-1]
        raise ValueError(f"logits {logits.shape} need targets {needed}, but these have shape {target.shape}")
    counts = check_targets(target, logits.shape[-1], ignore_index)
    rows = logits.reshape(-1, logits.shape[-1])
    labels = np.where(counts, target, 0).reshape(-1)
    losses, saved = row_losses(rows, labels, label_smoothing)
    losses = np.where(counts, losses.reshape(target.shape), 0.0)
    return reduce_losses(losses, reduction, int(counts.sum())), saved
    ### END SOLUTION


# %% tags=["export"]
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


# %%
# Try it: both networks once more, then a text of two rows in which the last tokens are padding.
print(cross_entropy(hesitant, [0, 1, 2, 2]), cross_entropy(certain, [0, 1, 2, 2]))
tokens = Tensor(np.random.default_rng(0).normal(size=(2, 4, 5)))
padded = np.array([[1, 0, 4, -100], [2, 3, -100, -100]])
print(cross_entropy(tokens, padded, reduction="none"), cross_entropy(tokens, padded))

# %% nbgrader={"grade": true, "grade_id": "losses_cross_entropy_check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
# Check (9 points): reductions, ignored targets, sequences, large logits, errors.
values, target = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0], [0.0, 0.0, 9.0]]), np.array([2, 1, 0])
log_p = values - np.log(np.exp(values).sum(axis=1, keepdims=True))
losses = -log_p[np.arange(3), target]
logits = Tensor(values)
parts = check.partial(9)
with parts.part(2, "reductions"):
    check.close(cross_entropy(logits, target), losses.mean(), because="the mean over the rows")
    check.close(cross_entropy(logits, target, reduction="sum"), losses.sum(), because="without the division")
    check.close(cross_entropy(logits, target, reduction="none"), losses, because="one loss for each row")
with parts.part(3, "ignored targets"):
    some = np.array([2, -100, 0])
    check.close(cross_entropy(logits, some, reduction="none"), np.array([losses[0], 0, losses[2]]),
                because="an ignored target has loss 0")
    check.close(cross_entropy(logits, some), (losses[0] + losses[2]) / 2,
                because="the mean is over the two that count, not over all three")
    check.close(cross_entropy(logits, np.full(3, -100)), 0.0,
                because="if nothing counts, the loss is 0 and not 0 / 0")
with parts.part(2, "sequences"):
    text = Tensor(values.reshape(1, 3, 3))
    check.close(cross_entropy(text, target.reshape(1, 3), reduction="none"), losses.reshape(1, 3),
                because="the classes are the last axis, and none keeps the shape of the targets")
with parts.part(2, "numbers and errors"):
    check.close(cross_entropy(Tensor([[1e4, 0.0], [0.0, 1e4]]), [1, 1]), 5e3,
                because="(1e4 + 0) / 2: no overflow")
    with check.raises(ValueError, mentions=["(3, 3)", "(2,)"],
                      because="three rows and two targets: the message should name both shapes"):
        cross_entropy(logits, np.array([0, 1]))
    with check.raises(ValueError, mentions="5", because="check_targets should see every label that counts"):
        cross_entropy(logits, np.array([0, 5, 1]))
parts.score()

# %% nbgrader={"grade": true, "grade_id": "losses_cross_entropy_hidden", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (5 points): a batch of one, integer types, smoothing and ignored targets, NaN in padding.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(44)
values = rng.normal(size=(2, 3, 4)) * 3
log_p = values - np.log(np.exp(values).sum(axis=-1, keepdims=True))
target = np.array([[0, 3, 7], [7, 7, 1]])
counts = target != 7
chosen = np.take_along_axis(log_p, np.where(counts, target, 0)[..., None], -1)[..., 0]
losses = np.where(counts, -chosen, 0)
logits = Tensor(values)
for dtype in (np.int8, np.int32, np.int64, np.uint8):
    check.close(cross_entropy(logits, target.astype(dtype), ignore_index=7), losses.sum() / 3,
                because="any integer type; one mean over all that count, not a mean of means")
check.close(cross_entropy(logits, Tensor(target), ignore_index=7, reduction="sum"), losses.sum(),
            because="a target may be a Tensor of integers")
smooth = np.where(counts, -(0.9 * chosen + 0.1 * log_p.mean(axis=-1)), 0)
check.close(cross_entropy(logits, target, ignore_index=7, label_smoothing=0.1), smooth.sum() / 3,
            because="an ignored target has no loss, smoothed or not")
check.close(cross_entropy(Tensor([[0.0, 0.0, 0.0]]), [1]), math.log(3), because="a batch of one")
check.close(cross_entropy(Tensor([0.0, 0.0]), 1), math.log(2),
            because="logits of one example, (C,), with a single target")
check.close(cross_entropy(Tensor([[np.nan, 0.0], [0.0, 0.0]]), [-100, 0]), math.log(2),
            because="NaN in a row that does not count is set to 0, not multiplied by it")
check.close(cross_entropy(Tensor([[np.nan, 0.0], [0.0, 0.0]]), [1, 0]), np.nan,
            because="NaN in a row that counts must show")
check.close(cross_entropy(Tensor(np.zeros((0, 3))), np.zeros(0, int)), 0.0,
            because="nothing is wrong in an empty batch")
check.same_dtype(cross_entropy(Tensor([[1.0, 2.0]], dtype=np.float64), [0]), np.float64,
                 because="float64 stays")
single = cross_entropy_forward(np.ones((2, 3), np.float32), np.array([0, 1]), reduction="none")
check.same_dtype(single[0], np.float32, because="float32 logits have float32 losses: np.zeros makes float64")
with check.raises(TypeError, mentions="float", because="targets of floats are refused"):
    cross_entropy(logits, np.zeros((2, 3)))
with check.raises(ValueError, because="an unknown reduction is refused"):
    cross_entropy(logits, np.zeros((2, 3), int), reduction="average")
with check.raises(ValueError,
                  because="targets (3, 2) do not fit logits (2, 3, 4), though there are six of both"):
    cross_entropy(logits, np.zeros((3, 2), int))
loss, (exps, totals) = cross_entropy_forward(values, target, ignore_index=7)
check.close(exps / totals, np.exp(log_p).reshape(6, 4),
            because="exps / totals is softmax, a row for each target")
given = Tensor([[0, 3, -100], [-100, 2, 1]])
with check.unchanged(logits, given, because="neither logits nor targets are scratch space"):
    cross_entropy(logits, given)
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · Yes or no
#
# For questions with two answers one logit $x$ is enough: $\sigma(x)$ is the probability of *yes*. A target `t` of 1 means yes,
# 0 no, and a number between how likely:
#
# $$\text{loss} = -\bigl[t \log \sigma(x) + (1 - t) \log (1 - \sigma(x))\bigr]$$
#
# Typed like this it has the old fault: at $x = 200$, $1 - \sigma(x)$ is 0 and its log `-inf`. Put the definition of $\sigma$
# in, and everything that can overflow cancels. For $x \ge 0$ take $e^{-x}$ as in the sigmoid of module 02, for $x < 0$ take
# $e^{x}$; both cases become one:
#
# $$\text{loss} = \max(x, 0) - x\,t + \log\bigl(1 + e^{-|x|}\bigr)$$
#
# The last term is tiny for large $|x|$, and `1 + tiny` rounds to 1. `np.log1p(y)` computes $\log(1 + y)$ without adding the
# 1 first.
#
# The loss takes *logits*, hence its long name. If it took probabilities, they would be rounded to 0 or 1 before it begins.

# %% nbgrader={"grade": false, "grade_id": "losses_binary", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
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

    Hints: `target.astype(logits.dtype)` makes numbers of booleans and keeps the precision.
    """
    ### BEGIN SOLUTION
    if logits.shape != target.shape:
        raise ValueError(f"logits have shape {logits.shape} and targets {target.shape}; they must be equal")
    target = target.astype(logits.dtype)
    if ((target < 0) | (target > 1)).any():
        raise ValueError(f"targets lie between 0 and 1, but these go from {target.min()} to {target.max()}")
    losses = np.log1p(np.exp(-np.abs(logits)))
    losses += np.maximum(logits, 0) - logits * target
    return reduce_losses(losses, reduction)
    ### END SOLUTION


def binary_cross_entropy_with_logits(logits, target, reduction="mean"):
    """Cross-entropy of a Tensor of logits against targets from 0 to 1, of the same shape."""
    params = {"target": plain_target(target), "reduction": reduction}
    return apply(binary_cross_entropy_with_logits_forward, logits, **params)


# %%
# Try it: the answer should be yes. How much does each loss complain as the logit moves to the wrong side?
logits = Tensor(np.linspace(-8, 8, 161))
yes = np.ones(161)
cross = binary_cross_entropy_with_logits(logits, yes, reduction="none").data
probability = 1 / (1 + np.exp(-logits.data))
fig, axes = figure()
axes.plot(logits.data, cross, label="cross-entropy")
axes.plot(logits.data, (probability - 1) ** 2, label="squared error of the probability")
axes.set(xlabel="logit x (the answer is yes)", ylabel="loss")
axes.legend()
show(fig, alt="Loss against logit: on the wrong side cross-entropy rises to 8, squared error stays at 1.")

# %% [markdown]
# *The figure:* two losses for the answer yes. On the wrong side the cross-entropy goes on rising by 1 for each step of the
# logit; the squared error of the probability levels off at 1, where its slope, the signal to learn from, is gone.

# %% nbgrader={"grade": false, "grade_id": "losses_complaints_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# What NumPy complains of while a function runs: "overflow", "invalid value" (inf / inf), "divide by zero".
def complaints(function, *args):
    found = set()
    with np.errstate(all="call", under="ignore", call=lambda kind, flag: found.add(kind)):
        function(*args)
    return ", ".join(sorted(found)) or "nothing"


# %% nbgrader={"grade": true, "grade_id": "losses_binary_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): values, large logits on either side, targets between 0 and 1, shapes.
values, target = np.array([-2.0, -0.5, 1.0, 3.0]), np.array([0.0, 1.0, 0.3, 1.0])
p = 1 / (1 + np.exp(-values))
losses = -(target * np.log(p) + (1 - target) * np.log(1 - p))
check.close(binary_cross_entropy_with_logits(Tensor(values), target), losses.mean(),
            because="max(x, 0) - x·t + log(1 + exp(-|x|)), and its mean")
check.close(binary_cross_entropy_with_logits(Tensor(values), target, reduction="none"), losses,
            because="one loss for each question")
far, answers = Tensor([1e4, 1e4, -1e4, -1e4]), np.array([0.0, 1.0, 0.0, 1.0])
check.close(binary_cross_entropy_with_logits(far, answers, reduction="none"), np.array([1e4, 0, 0, 1e4]),
            because="the log of 0 is -inf: use the form in which no large exponent is left")
check.equal(complaints(binary_cross_entropy_with_logits, far, answers), "nothing",
            because="exp of a large positive number overflows: the exponent is -|x|")
with check.raises(ValueError, mentions=["(3, 1)", "(3,)"],
                  because="(3, 1) and (3,) would broadcast to (3, 3) in silence"):
    binary_cross_entropy_with_logits(Tensor(np.ones((3, 1))), np.ones(3))

# %% nbgrader={"grade": true, "grade_id": "losses_binary_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): tiny losses, booleans, integers, targets out of range, precision, a batch of one.
### BEGIN HIDDEN TESTS
tiny = binary_cross_entropy_with_logits(Tensor([-30.0, -20.0]), np.zeros(2), reduction="none")
check.close(tiny, np.array([9.357623e-14, 2.0611537e-9]), rtol=1e-4, atol=0,
            because="log(1 + tiny) rounds to 0: np.log1p keeps it")
x = Tensor([[0.5, -1.0], [2.0, 0.0]])
expected = binary_cross_entropy_with_logits(x, np.array([[1.0, 0.0], [0.0, 1.0]])).item()
check.close(binary_cross_entropy_with_logits(x, np.array([[True, False], [False, True]])), expected,
            because="booleans are 0 and 1")
check.close(binary_cross_entropy_with_logits(x, Tensor([[1, 0], [0, 1]])), expected,
            because="a Tensor of integers will do as well")
for wrong in (-0.1, 1.5, 2, -1):
    with check.raises(ValueError,
                      because="a target outside 0 to 1 is no probability: is it a label of {-1, 1}?"):
        binary_cross_entropy_with_logits(Tensor([0.0, 0.0]), np.array([0, wrong]))
check.close(binary_cross_entropy_with_logits(Tensor([[0.0]]), np.array([[1]])), math.log(2),
            because="a batch of one")
check.close(binary_cross_entropy_with_logits(Tensor(np.zeros((0, 1))), np.zeros((0, 1))), 0.0,
            because="nothing is wrong in an empty batch")
check.same_dtype(binary_cross_entropy_with_logits_forward(np.zeros(3, np.float32), np.zeros(3)), np.float32,
                 because="float64 targets must not make the loss float64")
check.same_dtype(binary_cross_entropy_with_logits(Tensor([1.0], dtype=np.float64), np.array([1])), np.float64,
                 because="float64 logits stay")
given = Tensor([[1.0, 0.0], [0.0, 1.0]])
with check.unchanged(x, given, because="the operands are not scratch space"):
    binary_cross_entropy_with_logits(x, given)
### END HIDDEN TESTS

# %% [markdown]
# ## Systems 1 · One-hot or index?
#
# A language model with a vocabulary of 50,000 learns from batches of 4,096 tokens. Its targets can be kept as one-hot rows of
# `float32`, or as indices of `int64`. Write the bytes of each as a function of the number of targets `N` and of classes `C`.

# %% nbgrader={"grade": false, "grade_id": "losses_bytes_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_one_hot_bytes(N, C):
    """Bytes of N one-hot targets for C classes, in float32."""
    ### BEGIN SOLUTION
    return 4 * N * C
    ### END SOLUTION


def predict_index_bytes(N):
    """Bytes of N targets as int64 indices."""
    ### BEGIN SOLUTION
    return 8 * N
    ### END SOLUTION


# %%
# Measure: 16 targets at a vocabulary of 50,000, then the batch of 4,096 by your formulas.
target = np.arange(16)
print(f"16 targets: one-hot {one_hot(target, 50_000).nbytes:,} bytes, indices {target.nbytes:,} bytes")
one_hot_bytes, index_bytes = predict_one_hot_bytes(4096, 50_000), predict_index_bytes(4096)
factor = one_hot_bytes // index_bytes
print(f"4,096 targets: {one_hot_bytes / 1e6:,.0f} MB or {index_bytes / 1e3:,.0f} kB, a factor of {factor:,}")

# %% nbgrader={"grade": true, "grade_id": "losses_bytes_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): the formulas against arrays, at a vocabulary of 50,000.
parts = check.partial(6)
with parts.part(3, "one-hot"):
    for N, C in [(16, 50_000), (5, 7)]:
        rows = one_hot(np.arange(N) % C, C)
        check.equal((rows.shape, rows.nbytes), ((N, C), 4 * N * C),
                    because="your one_hot should make N rows of C numbers in float32")
        check.equal(predict_one_hot_bytes(N, C), rows.nbytes, because="N · C numbers of 4 bytes each")
with parts.part(3, "indices"):
    for N in (16, 4096):
        check.equal(predict_index_bytes(N), np.zeros(N, np.int64).nbytes,
                    because="one int64 of 8 bytes for each target, however many classes there are")
parts.score()

# %% [markdown]
# *What you just measured.* 819 MB against 33 kB: a factor of `C / 2`, so 25,000, for the same information. One-hot rows are
# useful in a formula, where they turn a choice into a product; a program keeps the index.

# %% [markdown]
# ## Systems 2 · What does the loss hold while it runs?
#
# Three ways to the same number. The first two are printed below; the third is your own `cross_entropy`. Go through each
# line by line: how many bytes in arrays of shape `(N, C)` are there at the worst moment, beyond the logits? Arrays with a
# name stay until the function returns. Remember what `log_softmax` itself needs while it runs (module 02, systems part).

# %% nbgrader={"grade": false, "grade_id": "losses_printed_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
def loss_with_one_hot(logits, target):
    log_p = log_softmax(logits)
    rows = np.zeros(logits.shape, np.float32)
    rows[np.arange(len(target)), target] = 1
    chosen = log_p * rows
    return -chosen.sum() / len(target)


def loss_in_two_passes(logits, target):
    log_p = log_softmax(logits)
    chosen = log_p[np.arange(len(target)), target]
    return -chosen.mean()


# %% nbgrader={"grade": false, "grade_id": "losses_memory_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_one_hot_peak(N, C):
    """Peak bytes, beyond the logits, of loss_with_one_hot for float32 logits of shape (N, C)."""
    ### BEGIN SOLUTION
    return 3 * 4 * N * C  # log_p, rows and chosen
    ### END SOLUTION


def predict_two_pass_peak(N, C):
    """Peak bytes, beyond the logits, of loss_in_two_passes for float32 logits of shape (N, C)."""
    ### BEGIN SOLUTION
    return 2 * 4 * N * C  # inside log_softmax: the shifted logits and their exp
    ### END SOLUTION


def predict_fused_peak(N, C):
    """Peak bytes, beyond the logits, of the fused cross_entropy for float32 logits of shape (N, C)."""
    ### BEGIN SOLUTION
    return 4 * N * C  # the shifted logits, which become their exp
    ### END SOLUTION


# %%
# Measure: peak memory and wall time of the three. Times vary from run to run; bytes do not.
rng = np.random.default_rng(3)
logits, target = Tensor(rng.normal(size=(100, 20_000))), rng.integers(0, 20_000, 100)
for loss in (loss_with_one_hot, loss_in_two_passes, cross_entropy):
    with peak_memory() as measured:
        value = loss(logits, target)
    start = time.perf_counter()
    for _ in range(3):
        loss(logits, target)
    milliseconds = (time.perf_counter() - start) / 3 * 1e3
    arrays = measured.peak_bytes / logits.nbytes
    print(f"{loss.__name__:18} {value.item():.5f}, peak {arrays:.2f} arrays, {milliseconds:.1f} ms")

# %% nbgrader={"grade": true, "grade_id": "losses_memory_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): predictions and measured peaks, both against the number of arrays that must live at once.
parts = check.partial(8)
shapes = [(500, 1000), (30, 20_000)]
with parts.part(3, "one-hot"):
    for N, C in shapes:
        logits = Tensor(np.zeros((N, C)))
        with peak_memory() as measured:
            loss_with_one_hot(logits, np.zeros(N, int))
        check.close(measured.peak_bytes / (4 * N * C), 3.0, rtol=0.05,
                    because="the cell that defines this loss was changed")
        check.close(1.0 * predict_one_hot_peak(N, C), 3 * 4 * N * C, rtol=0.05,
                    because="log_p and the one-hot rows are held by their names while the products are made")
with parts.part(2, "two passes"):
    for N, C in shapes:
        logits = Tensor(np.zeros((N, C)))
        with peak_memory() as measured:
            loss_in_two_passes(logits, np.zeros(N, int))
        check.close(measured.peak_bytes / (4 * N * C), 2.0, rtol=0.05,
                    because="the cell that defines this loss was changed")
        check.close(1.0 * predict_two_pass_peak(N, C), 2 * 4 * N * C, rtol=0.05,
                    because="log_softmax holds the shifted logits and their exp")
with parts.part(3, "fused"):
    for N, C in shapes:
        logits = Tensor(np.zeros((N, C)))
        with peak_memory() as measured:
            cross_entropy(logits, np.zeros(N, int))
        check.counts(measured, peak_bytes=range(4 * N * C, int(1.4 * 4 * N * C)),
                     because="your loss should need one array that all steps share")
        check.close(1.0 * predict_fused_peak(N, C), 4 * N * C, rtol=0.05,
                    because="the shifted logits become their exp, in place")
parts.score()

# %% [markdown]
# *What you just measured.* Three arrays, two, one. At 4,096 tokens and 50,000 classes each is 819 MB: the last layer of a
# language model, its loss included, can need more memory than all its other layers together. And the one array left over is just what the
# gradient needs. A loss that composes its steps would keep all of its intermediate arrays until the gradient is computed;
# you will see that in module 06.

# %% [markdown]
# ## Systems 3 · What should the first loss be?
#
# Before training a network knows nothing: its logits are all about equal. Which cross-entropy should you then see for `C`
# classes? And which for a yes-or-no question? A first loss that differs from it shows a mistake before any time is spent on
# training.

# %% nbgrader={"grade": false, "grade_id": "losses_first_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_first_loss(C):
    """Cross-entropy of equal logits for C classes."""
    ### BEGIN SOLUTION
    return math.log(C)
    ### END SOLUTION


def predict_first_binary_loss():
    """Binary cross-entropy of a logit of 0, whatever the target."""
    ### BEGIN SOLUTION
    return math.log(2)
    ### END SOLUTION


# %%
# Measure: nearly equal logits for 10 and for 50,000 classes, then logits that are too large for a start.
rng = np.random.default_rng(4)
for classes in (10, 50_000):
    target = rng.integers(0, classes, 64)
    for scale in (0.01, 5.0):
        logits = Tensor(scale * rng.normal(size=(64, classes)))
        print(f"{classes:6} classes, logits of size {scale}: loss {cross_entropy(logits, target).item():.3f}")

# %% nbgrader={"grade": true, "grade_id": "losses_first_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): the predictions against your own losses.
parts = check.partial(6)
with parts.part(4, "classes"):
    for C in (2, 10, 50_000):
        measured = cross_entropy(Tensor(np.zeros((3, C))), np.array([0, 1, C - 1])).item()
        check.close(measured, math.log(C), because="your loss of equal logits is -log(1 / C)")
        check.close(predict_first_loss(C), measured,
                    because="equal logits give each class the probability 1 / C; its surprise is -log(1 / C)")
with parts.part(2, "yes or no"):
    measured = binary_cross_entropy_with_logits(Tensor([0.0, 0.0]), np.array([0, 1])).item()
    check.close(measured, math.log(2), because="your loss of a logit of 0 is -log(1/2)")
    check.close(predict_first_binary_loss(), measured, because="a logit of 0 is a probability of one half")
parts.score()

# %% [markdown]
# *What you just measured.* 2.30 for ten classes, 10.82 for 50,000, 0.69 for yes or no. A first loss far above that says that
# the initial logits are too large. One far below is a mistake too: labels that leak into the inputs, or a mean that divides
# by too many. It costs one batch to look.

# %% [markdown]
# ## Explain
#
# A text model is evaluated on two batches. In the first, 100 tokens count (the rest is padding) and their mean loss is 2.0; in
# the second, 300 count and the mean is 4.0. A colleague reports a loss of 3.0. Another has written a loss that divides by
# *all* tokens, 400 in each batch, padding included. In two to five sentences, with numbers: what is the right loss over both
# batches, what does the second colleague's loss give for each batch, and why would that harm training? Then say what goes
# wrong without this module's decision about batches in which nothing counts.

# %% [markdown] nbgrader={"grade": true, "grade_id": "losses_explain", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Rubric (5 points).**
#
# - 2: the right loss is (100 · 2.0 + 300 · 4.0) / 400 = 3.5: sums are added and divided once; a mean of means weighs a token
#   of the short batch three times as much.
# - 1: dividing by all tokens gives 200 / 400 = 0.5 and 1200 / 400 = 3.0.
# - 1: so the loss, and with it the gradient, shrinks with the share of padding: batches with short texts teach less, for no
#   reason that lies in the texts.
# - 1: the mean of nothing is 0 / 0 = nan, and so is every average that it enters; where the gradient is divided by the same
#   0, it is nan too, and after the next step every parameter. One of these consequences is enough.
#
# *A good answer.* "Together 200 + 1200 = 1400 over 400 tokens, 3.5; 3.0 counts each token of the first batch three times as
# much as one of the second. Dividing by 400 each time gives 0.5 and 3.0: the first batch's gradient is a quarter of what it
# should be, only because it has more padding. A batch that is all padding would be 0/0 = nan, and the mean loss of the whole
# evaluation would be nan with it; with 0 it changes nothing." All four points, with numbers. 5 points.
#
# *A weak answer.* "One should use a weighted mean because the batches have different sizes. Dividing by padding makes the
# loss too small, and nan is bad for training." The direction is right, but nothing is computed, and it is not said why a
# small loss matters. 2 points.
# ### END SOLUTION

# %% [markdown]
# ## What can go wrong
#
# **`ValueError: label 10 at index (3,) is no class: 10 classes go from 0 to 9`**: labels that count from 1. Subtract 1, once,
# where the data is loaded.
#
# **`TypeError: targets are class indices, which are integers, but these have dtype float64`**: labels read from a file of
# numbers, or made by `np.zeros(n)`. Say `.astype(np.int64)`, or `np.zeros(n, int)`.
#
# **`ValueError: logits (2, 5, 9) need targets (2, 5), but these have shape (2, 9)`**: the classes are not on the last axis.
# Use `logits.transpose(1, 2)`.
#
# **`ValueError: prediction (32, 1) and target (32,) must have the same shape`**: a layer with one output keeps its axis.
# Write `prediction.reshape(-1)`. Without this error the loss would be the mean of a 32 by 32 square.
#
# **A loss that stays near ln C**: softmax was applied before `cross_entropy`, which applies its own. Probabilities taken for
# logits differ by 1 at most, so for ten classes the loss can't fall below 1.46. Give it the logits.
#
# **`inf` or `nan` after a while**: a log of a probability that was rounded to 0. The losses of this module take logits and
# avoid it; look for `.log()` in your own code.

# %% [markdown]
# ## Recap
#
# | You built | Peak memory | PyTorch's name | One true difference |
# |---|---|---|---|
# | `mse_loss` | 2 arrays | `F.mse_loss` | PyTorch warns of unequal shapes and broadcasts; yours refuses |
# | `cross_entropy` | 1 array | `F.cross_entropy` | the classes are axis 1 there, for sequences `(B, C, T)`; here always the last |
# | … all targets ignored | | | `nan` there (with a gradient of 0), 0 here |
# | … a label out of range | | | an `IndexError` that names the label there; yours adds its place and the number of classes |
# | `binary_cross_entropy_with_logits` | 4 arrays | `F.binary_cross_entropy_with_logits` | PyTorch does not look whether targets lie in 0 to 1 |
#
# An array is one of the size of the predictions or logits, in their precision, counted beyond what you pass in. `F` is
# `torch.nn.functional`.
#
# A network now has layers and a measure of its mistakes. Module 05 brings it data. Then, in module 06, you build what tells
# each parameter which way to move to make the loss smaller.
