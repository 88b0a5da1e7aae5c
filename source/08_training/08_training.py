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
# # 08 · Training
#
# Today you put everything together: a loop that trains a classifier of real handwritten digits, tells you when something is
# wrong with the gradients, and goes on after a crash as if nothing had happened.
#
# | | |
# |---|---|
# | **Needs** | Modules 01 to 07 |
# | **Time** | 5 to 7 hours; the solved notebook runs in about ten seconds, longer on a busy machine |
# | **Points** | 100: visible checks 50, hidden tests 25, systems 20, one written answer 5 |
# | **Becomes** | `tinytorch_ref/training.py`, the loop of every milestone from here on |
#
# ```
#   01 tensor ─► … ─► 06 autograd ─► 07 optimizers ─► 08 training ─► MNIST
#                                                     ▲ you are here
#
#   fit
#    ├─ train_epoch    for each batch: zero_grad, compute_gradients, clip, step
#    ├─ evaluate       no recording, evaluation mode, and the mode put back
#    └─ EarlyStopping  the best parameters so far, and when to give up
#
#   gradient_report    which gradients are missing, not finite, too large, zero
#   save_checkpoint    all that is needed to go on, in one file
# ```

# %% nbgrader={"grade": false, "grade_id": "training_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import functools
import math
import os
import tempfile

import matplotlib.pyplot as plt
import numpy as np

from autograder import checks as check
from autograder.counters import count, peak_memory
from autograder.figures import figure, show
from tinytorch_ref.data import TensorDataset, load_digits
from tinytorch_ref.layers import Dropout, Linear, Parameter, ReLU, Sequential
from tinytorch_ref.losses import cross_entropy, mse_loss
from tinytorch_ref.optimizers import SGD, Adam, CosineAnnealingLR, StepLR

# %% nbgrader={"grade": false, "grade_id": "training_imports", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
"""Training: gradients of a batch, epochs, evaluation, health reports, checkpoints, and the whole loop."""

import json
import math
import os
import sys
import time
from pathlib import Path

import numpy as np

from tinytorch_ref.autograd import no_grad
from tinytorch_ref.data import DataLoader
from tinytorch_ref.layers import Module
from tinytorch_ref.optimizers import clip_grad_norm_
from tinytorch_ref.tensor import Tensor

# %% [markdown]
# ## The data, and a loop with a mistake
#
# The data are 1,797 handwritten digits of 8 by 8 pixels, the last fifth of each class held back for testing. The next cell
# makes rows of 64 numbers from 0 to 1 of them, and a small classifier.


# %% nbgrader={"grade": false, "grade_id": "training_digits", "locked": true, "schema_version": 3, "solution": false, "task": false}
def rows_of_pixels(images):
    """Images of shape (..., 8, 8) with values 0 to 16 as rows of 64 numbers from 0 to 1."""
    return images.reshape(*images.shape[:-2], 64).astype(np.float32) / 16


train_set = load_digits(transform=rows_of_pixels)
test_set = load_digits(train=False, transform=rows_of_pixels)


def classifier(seed=0, hidden=64, dropout=0.0, rng=None):
    """Two hidden layers, with dropout after each if asked for."""
    init = np.random.default_rng(seed)
    layers = []
    for m in (64, hidden):
        layers += [Linear(m, hidden, rng=init), ReLU()] + ([Dropout(dropout, rng=rng)] if dropout else [])
    return Sequential(*layers, Linear(hidden, 10, rng=init))


print(train_set, "for training,", len(test_set), "for testing")

# %% [markdown]
# A training loop is five lines. Here it runs twice, once without `zero_grad`. No error is raised.

# %%
losses = {"with zero_grad": [], "without": []}
for name in losses:
    model = classifier()
    optimizer = SGD(model.parameters(), lr=0.2)
    for x, y in DataLoader(train_set, batch_size=64, shuffle=True, seed=0):
        if name == "with zero_grad":
            optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses[name].append(loss.item())

fig, axes = figure()
for name, values in losses.items():
    axes.plot(values, label=name)
axes.set(xlabel="step", ylabel="loss of the batch")
axes.legend()
show(
    fig,
    alt="Loss by step: with zero_grad it falls steadily; without, faster at first, then it jumps.",
)

# %% [markdown]
# *The figure:* the loss of each batch in the first epoch. With `zero_grad` it falls steadily. Without, gradients add up
# in `grad`, and each step goes along the sum of all gradients so far: at first that is even faster, then it overshoots, and
# the loss jumps above where it began. Such mistakes do not stop the program, and for a while they may even look like progress.
# Today's functions are short, and each is a place where one can hide.

# %% [markdown]
# ## 1 · Gradients of a batch, whole or in parts
#
# What was a mistake a moment ago is also a tool. Gradients add up, so you can cut a batch into parts and pass one after the
# other forward and backward: the sum is the gradient of the whole. Only the activations of *one* part are in memory at a
# time. This is *gradient accumulation*: the way to train with batches that do not fit.
#
# The loss is a mean. For a batch of $N$ rows in parts of $n_1 + n_2 + \dots = N$ rows, with $\ell_i$ for the loss of row $i$
# and $L_p$ for the mean loss of part $p$:
#
# $$L = \frac1N \sum_{i=1}^{N} \ell_i = \sum_p \frac{n_p}{N}\, L_p, \qquad L_p = \frac{1}{n_p}\sum_{i \in p} \ell_i$$
#
# So each part's loss is scaled by its share of the rows *before* `backward`. (Dividing by the number of parts is right only
# if all parts have the same number of rows.)
#
# Write `compute_gradients`. It adds to the gradients that are there, as `backward` does; the caller decides when to forget
# the old ones.


# %% nbgrader={"grade": false, "grade_id": "training_gradients", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def compute_gradients(model, x, y, loss_fn, parts=1):
    """Add the gradients of the mean loss over a batch to the parameters.

    Parameters
    ----------
    model : Module
    x, y : Tensor of shape (N, ...)
        Inputs and targets.
    loss_fn : function
        Of predictions and targets; gives the mean loss of the rows, a tensor of one number.
    parts : int
        In how many pieces, equal or different by one row, the batch is passed through the model, one after
        the other. If there are fewer rows than that, each row is a piece.

    Returns
    -------
    float
        The mean loss over all N rows.

    Examples
    --------
    A batch of 10 rows in 4 parts may be passed as 3, 3, 2 and 2 rows, with shares 0.3, 0.3, 0.2 and 0.2.

    Hints: `np.array_split(np.arange(N), parts)` cuts row numbers into parts that differ by one at most.
    Slices such as x[3:6] are views. Keep no list of losses: each holds its graph; `.item()` does not.
    """
    ### BEGIN SOLUTION
    total, rows = 0.0, len(x)
    for part in np.array_split(np.arange(rows), min(parts, rows)):
        piece = slice(int(part[0]), int(part[-1]) + 1)
        loss = loss_fn(model(x[piece]), y[piece]) * (len(part) / rows)
        loss.backward()
        total += loss.item()
    return total
    ### END SOLUTION


# %%
# Try it: the same gradient, whole and in parts. How far may they differ, and why do they differ at all?
x, y = train_set.batch(range(100))
model = classifier()
for parts in (1, 3, 8):
    model.zero_grad()
    loss = compute_gradients(model, x, y, cross_entropy, parts)
    print(f"{parts} parts: loss {loss:.6f}, first numbers of a gradient {model[-1].bias.grad[:3]}")


# %% nbgrader={"grade": false, "grade_id": "training_gradients_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a linear model that notes how many rows come, in which mode, and whether it is recorded.
class Watched(Module):
    def __init__(self, features=3, weight=0.5):
        self.linear = Linear(features, 1, rng=0)
        self.linear.weight[...] = weight
        self.calls = []

    def forward(self, x):
        y = self.linear(x)
        self.calls.append((len(x), self.training, y.requires_grad))
        return y


def gradients_of(model):
    return [parameter.grad for parameter in model.parameters()]


def rows_seen(model):
    return [rows for rows, _, _ in model.calls]


# %% nbgrader={"grade": true, "grade_id": "training_gradients_check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
# Check (9 points): the gradient of a linear model by its formula, whole, in equal parts and in unequal ones.
rng = np.random.default_rng(0)
x, y = rng.normal(size=(6, 3)), rng.normal(size=(6, 1))
error = x @ np.full((3, 1), 0.5) - y
slope = 2 * (error * x).mean(axis=0)
parts = check.partial(9)
for points, number, sizes in [(3, 1, [6]), (3, 3, [2, 2, 2]), (3, 4, [1, 1, 2, 2])]:
    with parts.part(points, f"parts={number}"):
        model = Watched()
        loss = compute_gradients(model, Tensor(x), Tensor(y), mse_loss, parts=number)
        check.close(
            loss, (error**2).mean(), because="the mean over all rows: each part counts by its share of them"
        )
        check.equal(sorted(rows_seen(model)), sizes, because="parts that differ by one row at most")
        check.close(
            model.linear.weight.grad,
            slope[None],
            because="each part's loss is scaled by its share of the rows before backward",
        )
        check.close(model.linear.bias.grad, [2 * error.mean()], because="the same for every parameter")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "training_gradients_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): more parts than rows, gradients that are there, sequences, memory, a plain number.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(1)
x, y = rng.normal(size=(3, 3)), rng.normal(size=(3, 1))
error = x @ np.full((3, 1), 0.5) - y
slope = 2 * (error * x).mean(axis=0)
model = Watched()
loss = compute_gradients(model, Tensor(x), Tensor(y), mse_loss, parts=8)
check.equal(rows_seen(model), [1, 1, 1], because="no more parts than rows: an empty part has no mean")
check.close(model.linear.weight.grad, slope[None], because="three rows in three parts")
check.equal(isinstance(loss, float), True, because="a plain number: a tensor would keep its graph alive")
compute_gradients(model, Tensor(x), Tensor(y), mse_loss, parts=2)
check.close(
    model.linear.weight.grad, 2 * slope[None], because="what was in grad stays: the caller calls zero_grad"
)
x, y = rng.normal(size=(5, 4, 3)), rng.normal(size=(5, 4, 1))
error = x @ np.full((3, 1), 0.5) - y
model = Watched()
compute_gradients(model, Tensor(x), Tensor(y), mse_loss, parts=3)
slope = 2 * (error * x).mean(axis=(0, 1))
check.close(model.linear.weight.grad, slope[None], because="rows are counted along the first axis")
model = classifier(hidden=512)
x, y = Tensor(np.ones((512, 64))), Tensor(np.zeros(512, dtype=np.int64))
compute_gradients(model, x, y, cross_entropy)
peaks = []
for parts in (1, 8):
    with peak_memory() as measured:
        compute_gradients(model, x, y, cross_entropy, parts=parts)
    peaks.append(measured.peak_bytes)
check.equal(
    peaks[1] < 0.6 * peaks[0],
    True,
    because="the activations of one part should be gone before the next part comes: go backward in each turn",
)
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · An epoch
#
# An *epoch* is one pass over the data. For each batch, in this order:
#
# | | | forgotten or misplaced |
# |---|---|---|
# | 1 | `optimizer.zero_grad()` | gradients add up; between 2 and 4 it wipes out the gradient |
# | 2 | `compute_gradients(…)` | |
# | 3 | `clip_grad_norm_(optimizer.parameters, max_norm)`, if wanted | before 2 it clips the old gradient, after 4 it is too late |
# | 4 | `optimizer.step()` | nothing is learned |
# | 5 | `scheduler.step()`, if there is one | before 4 the first rate is never used |
#
# Before all of it the model is put into training mode, `model.train()`, so that dropout drops.
#
# The epoch's loss is the mean over all *samples*. The last batch may be smaller: with 1,438 digits in batches of 64, it has
# 30. The mean of the batches' means would count each of these about twice.
#
# The next cell, which is complete, is a bar that shows how far an epoch is: `for batch in progress(loader)`. It writes only to
# a terminal or a notebook, and removes the bar at the end.


# %% nbgrader={"grade": false, "grade_id": "training_progress", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
def somebody_watches():
    """Whether output goes to a terminal or a notebook, and the variable TINYTORCH_PROGRESS is not 0."""
    if os.environ.get("TINYTORCH_PROGRESS") == "0":
        return False
    return sys.stdout.isatty() or "ipykernel" in sys.modules


def progress(items, label="", width=30):
    """Hand on the items one by one and show, in a line that is rewritten in place, how far it is.

    Parameters
    ----------
    items : iterable
        With a length, such as a DataLoader; without one no bar is shown.
    label : str
        Stands before the bar.
    width : int
        Characters of the bar.
    """
    total = len(items) if hasattr(items, "__len__") else 0
    if not total or not somebody_watches():
        yield from items
        return
    line, shown = "", -math.inf
    try:
        for number, item in enumerate(items, 1):
            yield item
            if time.monotonic() - shown > 0.1:
                done = width * number // total
                line = f"{label} [{'#' * done}{'.' * (width - done)}] {number}/{total}"
                print(f"\r{line}", end="", flush=True)
                shown = time.monotonic()
    finally:
        print(f"\r{' ' * len(line)}\r", end="", flush=True)


# %% nbgrader={"grade": false, "grade_id": "training_epoch", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def train_epoch(model, loader, loss_fn, optimizer, parts=1, max_norm=None, scheduler=None):
    """Train on every batch of a loader once.

    Parameters
    ----------
    model : Module
        Is put into training mode, and stays there.
    loader : iterable of (x, y)
        Batches, each a pair of tensors with the same number of rows.
    loss_fn : function
        As for `compute_gradients`.
    optimizer : Optimizer
    parts : int
        In how many parts each batch is passed through the model.
    max_norm : float, optional
        Clip the gradient to this norm.
    scheduler : Scheduler, optional
        Is stepped after each step of the optimizer.

    Returns
    -------
    float
        The mean loss over all samples, each before the step that its batch led to.

    Raises
    ------
    ValueError
        If the loader has no batches.

    Examples
    --------
    Two batches of 3 rows and 1 row with mean losses 1.0 and 5.0 give (3 * 1.0 + 1 * 5.0) / 4 = 2.0, not 3.0.

    Hints: one counter for the sum of losses, one for samples. Ask `max_norm is not None`: 0 is a limit, too.
    """
    ### BEGIN SOLUTION
    model.train()
    total, samples = 0.0, 0
    for x, y in progress(loader):
        optimizer.zero_grad()
        total += compute_gradients(model, x, y, loss_fn, parts) * len(x)
        samples += len(x)
        if max_norm is not None:
            clip_grad_norm_(optimizer.parameters, max_norm)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    if not samples:
        raise ValueError("the loader has no batches: is it empty, or an iterator that was used up?")
    return total / samples
    ### END SOLUTION


# %% [markdown]
# Try it on a network that is bound to fail: eight layers whose weights are twice as large as they should be. Each layer
# doubles the signal on its way forward and the gradient on its way back.


# %%
# Try it: with and without clipping. What does max_norm=10 do? And a learning rate of 0.001, not clipped?
def too_steep(depth=8):
    """A classifier whose hidden layers have weights of twice the right size."""
    rng = np.random.default_rng(0)
    layers = [layer for _ in range(depth) for layer in (Linear(64, 64, rng=rng), ReLU())]
    for layer in layers[::2]:
        layer.weight[...] = 2 * layer.weight.data
    return Sequential(*layers, Linear(64, 10, rng=rng))


for name, max_norm in [("not clipped", None), ("clipped to 1", 1.0)]:
    model, loader = too_steep(), DataLoader(train_set, batch_size=64, shuffle=True)
    optimizer = SGD(model.parameters(), lr=0.03)
    with np.errstate(all="ignore"):  # NumPy would warn of every overflow
        losses = [train_epoch(model, loader, cross_entropy, optimizer, max_norm=max_norm) for _ in range(8)]
    print(f"{name:12}", ", ".join(f"{loss:.3g}" for loss in losses))

# %% [markdown]
# The output has the losses of eight epochs. Without clipping, the gradient of the first batch has a norm of about two thousand; one step along
# it throws the parameters so far away that the loss is `nan`, and `nan` it stays. Clipped, the same network with the same
# learning rate learns, since no step is longer than `lr · max_norm`.


# %% nbgrader={"grade": false, "grade_id": "training_epoch_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a loader of small batches, an iterator that is used up, and what a watched model saw.
def small_loader(x, y, batch_size=4, shuffle=False):
    dataset = TensorDataset(np.asarray(x, np.float32), np.asarray(y, np.float32))
    return DataLoader(dataset, batch_size=batch_size, shuffle=shuffle)


def used_up(loader):
    batches = iter(list(loader))
    for _ in batches:
        pass
    return batches


def modes_seen(model):
    return sorted({mode for _, mode, _ in model.calls})


def recorded(model):
    return sorted({requires_grad for _, _, requires_grad in model.calls})


# %% nbgrader={"grade": true, "grade_id": "training_epoch_check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
# Check (9 points): two epochs by the formula, with a partial last batch; then clipping, parts and a schedule.
rng = np.random.default_rng(2)
x, y = rng.normal(size=(10, 3)), rng.normal(size=(10, 1))
parts = check.partial(9)
with parts.part(4, "steps and loss"):
    model, loader = Watched(), small_loader(x, y)
    optimizer = SGD(model.parameters(), lr=0.1)
    w, b = np.full((3, 1), 0.5), 0.0
    for _ in range(2):
        total = 0.0
        for rows in (slice(0, 4), slice(4, 8), slice(8, 10)):
            error = x[rows] @ w + b - y[rows]
            total += (error**2).sum()
            w, b = w - 0.2 * (error * x[rows]).mean(axis=0)[:, None], b - 0.2 * error.mean()
        got = train_epoch(model, loader, mse_loss, optimizer)
        check.close(
            model.linear.weight,
            w.T,
            because="one step for each batch, along the gradient of that batch alone",
            atol=1e-5,
        )
        check.close(
            got, total / 10, because="each sample counts once: the last batch has 2 rows, not 4", atol=1e-5
        )
with parts.part(1, "mode"):
    model = Watched()
    model.eval()
    train_epoch(model, small_loader(x, y), mse_loss, SGD(model.parameters(), lr=0.1))
    check.equal(
        modes_seen(model), [True], because="a model that was evaluated before goes back to training mode"
    )
    check.equal(model.training, True, because="and it stays in training mode afterwards")
with parts.part(2, "clipping"):
    model = Watched(weight=1000.0)
    train_epoch(
        model, small_loader(x, y, batch_size=10), mse_loss, SGD(model.parameters(), lr=1.0), max_norm=0.5
    )
    moved = math.hypot(*(model.linear.weight.data[0] - 1000.0), model.linear.bias.data[0])
    check.close(moved, 0.5, because="the gradient is clipped before the step, over all parameters", rtol=1e-3)
with parts.part(2, "parts and schedule"):
    model = Watched()
    optimizer = SGD(model.parameters(), lr=0.8)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.5)
    train_epoch(model, small_loader(x, y), mse_loss, optimizer, parts=2, scheduler=scheduler)
    check.equal(rows_seen(model), [2, 2, 2, 2, 1, 1], because="each batch passes in two parts")
    check.close(
        optimizer.lr, 0.1, because="three batches are three steps of the schedule: 0.8, 0.4, 0.2, then 0.1"
    )
parts.score()

# %% nbgrader={"grade": true, "grade_id": "training_epoch_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): no batches, the weight of a batch of one, all options at once, the order of rates.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(3)
x, y = rng.normal(size=(9, 3)), rng.normal(size=(9, 1)) * 5
model, still = Watched(), Watched()
loader = small_loader(x, y)
loss = train_epoch(model, loader, mse_loss, SGD(model.parameters(), lr=0.0))
check.close(
    loss, ((x @ np.full((3, 1), 0.5) - y) ** 2).mean(), because="a last batch of one row counts as one row"
)
check.close(model.linear.weight, np.full((1, 3), 0.5), because="with a rate of 0 nothing moves")
check.equal(loader.epoch, 1, because="one pass over the loader, no more")
dataset = TensorDataset(x.astype(np.float32), y.astype(np.float32))
whole = DataLoader(dataset, batch_size=4, drop_last=True)
loss = train_epoch(model, whole, mse_loss, SGD(model.parameters(), lr=0.0))
check.close(
    loss,
    ((x[:8] @ np.full((3, 1), 0.5) - y[:8]) ** 2).mean(),
    because="count the samples that come: with drop_last they are fewer than the data set has",
)
optimizer = SGD(still.parameters(), lr=0.1)
with check.raises(ValueError, because="a mean over no samples would be 0 / 0"):
    train_epoch(still, used_up(loader), mse_loss, optimizer)
model = Watched()
optimizer = SGD(model.parameters(), lr=0.4)
scheduler = StepLR(optimizer, step_size=1, gamma=0.25)
w, b, rate = np.full((3, 1), 0.5), 0.0, 0.4
for rows in (slice(0, 4), slice(4, 8), slice(8, 9)):
    error = x[rows] @ w + b - y[rows]
    by_w, by_b = 2 * (error * x[rows]).mean(axis=0)[:, None], 2 * error.mean()
    factor = min(1.0, 1.5 / math.sqrt((by_w**2).sum() + by_b**2))
    w, b, rate = w - rate * factor * by_w, b - rate * factor * by_b, rate / 4
train_epoch(model, loader, mse_loss, optimizer, parts=3, max_norm=1.5, scheduler=scheduler)
because = "gradients of all parts, then clipped, then a step with the rate of the moment, then the next rate"
check.close(model.linear.weight, w.T, because=because, atol=1e-4)
check.close(model.linear.bias, [b], because=because, atol=1e-4)
check.close(optimizer.lr, rate, because="three steps of the schedule")
model = Watched(weight=0.0)
train_epoch(model, small_loader(x, y), mse_loss, SGD(model.parameters(), lr=1.0), max_norm=0.0)
check.close(
    model.linear.weight, np.zeros((1, 3)), because="a max_norm of 0 is a limit too; None means no limit"
)
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · Evaluation
#
# The loss on the training data says how well the network knows what it has seen. To know what it has *learned*, measure it on
# samples that it never saw. Take care of four things:
#
# - **No recording.** Nobody will call `backward`; under `no_grad` activations are freed at once.
# - **Evaluation mode**, so that dropout lets everything pass.
# - **Put the mode back**, of every module as it was, also if an error comes in between. A model may be in training with one
#   part of it frozen in evaluation mode, so `model.train()` at the end is not the same.
# - **Weights.** As in training, the last batch counts by its rows.
#
# What is measured? Any function of predictions and targets that is a mean over rows: a loss, or the *accuracy*, the share of
# rows whose largest logit stands at the right class. `evaluate` takes as many as you like and looks at each batch once.


# %% nbgrader={"grade": false, "grade_id": "training_evaluate", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def accuracy(logits, target):
    """The share of rows whose largest logit is that of the right class.

    Parameters
    ----------
    logits : Tensor of shape (..., C)
    target : Tensor of int, shape (...)

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If the shapes do not match: (N,) and (N, 1) would broadcast to (N, N) comparisons.
    """
    ### BEGIN SOLUTION
    if logits.shape[:-1] != target.shape:
        raise ValueError(
            f"logits {logits.shape} need targets {logits.shape[:-1]}, but these have {target.shape}"
        )
    return float(np.mean(np.argmax(logits.data, axis=-1) == target.data))
    ### END SOLUTION


def evaluate(model, loader, *measures):
    """Means of some measures over all samples of a loader.

    Parameters
    ----------
    model : Module
        Works in evaluation mode meanwhile; afterwards every module inside it is in the mode that it was in.
    loader : iterable of (x, y)
    *measures : function
        Of predictions and targets; each returns the mean over its rows, a float or a tensor of one number.

    Returns
    -------
    list of float
        One for each measure.

    Raises
    ------
    ValueError
        If the loader has no batches.

    Examples
    --------
    `loss, right = evaluate(model, test_loader, cross_entropy, accuracy)`

    Hints: `model.modules()` lists all modules, each with its attribute `training`. `try ... finally` does
    its last part in any case. `float(tensor)` is the number in a tensor.
    """
    ### BEGIN SOLUTION
    modes = [(module, module.training) for module in model.modules()]
    totals, samples = [0.0] * len(measures), 0
    model.eval()
    try:
        with no_grad():
            for x, y in loader:
                output = model(x)
                totals = [
                    total + float(measure(output, y)) * len(x) for total, measure in zip(totals, measures)
                ]
                samples += len(x)
    finally:
        for module, mode in modes:
            module.training = mode
    if not samples:
        raise ValueError("the loader has no batches: is it empty, or an iterator that was used up?")
    return [total / samples for total in totals]
    ### END SOLUTION


# %%
# Try it: ten epochs, each evaluated on both sets. What does a hidden width of 8 give?
model, loader = classifier(), DataLoader(train_set, batch_size=64, shuffle=True)
optimizer = Adam(model.parameters(), lr=0.003)
train_loader, test_loader = DataLoader(train_set, batch_size=256), DataLoader(test_set, batch_size=256)
for epoch in range(1, 11):
    train_epoch(model, loader, cross_entropy, optimizer)
    if epoch in (1, 2, 5, 10):
        (seen, right), (unseen, right_unseen) = (
            evaluate(model, each, cross_entropy, accuracy) for each in (train_loader, test_loader)
        )
        print(f"epoch {epoch:2}: loss {seen:.3f}, right {right:.1%}; unseen {unseen:.3f}, {right_unseen:.1%}")


# %% nbgrader={"grade": false, "grade_id": "training_evaluate_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a measure that gives a float, one that fails, and a model with a frozen part.
def mean_error(prediction, target):
    return float(np.mean(np.abs(prediction.data - target.data)))


def fails(prediction, target):
    raise RuntimeError("this measure fails")


def half_frozen():
    model = Sequential(
        Linear(3, 3, rng=0), Dropout(0.5, rng=0), Sequential(Dropout(0.5, rng=0), Linear(3, 1, rng=1))
    )
    model.train()
    model[1].eval()
    return model


def modes_of(model):
    return [module.training for module in model.modules()]


# %% nbgrader={"grade": true, "grade_id": "training_evaluate_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): accuracy, means over samples, mode and recording.
parts = check.partial(8)
with parts.part(2, "accuracy"):
    logits = np.array([[1.0, 3.0, 2.0], [0.0, -1.0, -2.0], [5.0, 5.5, 6.0], [0.1, 0.2, 0.0]])
    check.close(accuracy(Tensor(logits), Tensor([1, 0, 0, 1])), 0.75, because="rows 0, 1 and 3 are right")
    with check.raises(
        ValueError, mentions="(4, 1)", because="targets of shape (4, 1) would be compared with all rows"
    ):
        accuracy(Tensor(logits), Tensor([[1], [0], [0], [1]]))
rng = np.random.default_rng(4)
x, y = rng.normal(size=(10, 3)), rng.normal(size=(10, 1))
error = x @ np.full((3, 1), 0.5) - y
with parts.part(3, "means"):
    model = Watched()
    got = evaluate(model, small_loader(x, y), mse_loss, mean_error)
    check.equal(len(got), 2, because="one number for each measure")
    check.equal(rows_seen(model), [4, 4, 2], because="each batch passes once, for all measures")
    check.close(
        got[0], (error**2).mean(), because="the mean over all samples: a batch of 2 counts less than one of 4"
    )
    check.close(got[1], np.abs(error).mean(), because="each measure for itself, floats as well as tensors")
with parts.part(3, "mode and recording"):
    model = Watched()
    evaluate(model, small_loader(x, y), mse_loss)
    check.equal(
        modes_seen(model), [False], because="the model should be in evaluation mode while it is measured"
    )
    check.equal(recorded(model), [False], because="under no_grad nothing is recorded")
    check.equal(modes_of(model), [True, True], because="the model was in training mode before: put it back")
    check.equal(gradients_of(model), [None, None], because="measuring computes no gradients")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "training_evaluate_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): frozen parts, errors, evaluation mode, no batches, sequences, one sample.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(5)
x, y = rng.normal(size=(7, 3)), rng.normal(size=(7, 1))
loader = small_loader(x, y, batch_size=3)
model = half_frozen()
before = modes_of(model)
evaluate(model, loader, mse_loss)
check.equal(
    modes_of(model), before, because="each module should be in the mode that it was in: one part was frozen"
)
with check.raises(RuntimeError, mentions="this measure fails", because="an error should reach the caller"):
    evaluate(model, loader, fails)
check.equal(modes_of(model), before, because="the modes are put back after an error as well: finally")
model.eval()
first, second = evaluate(model, loader, mse_loss), evaluate(model, loader, mse_loss)
check.close(first, second, because="in evaluation dropout is off, so the answer is always the same")
check.equal(modes_of(model), [False] * len(before), because="a model that was in evaluation mode stays there")
compute_gradients(model, Tensor(x), Tensor(y), mse_loss)
evaluate(model, loader, mse_loss)
check.equal(
    [gradient is None for gradient in gradients_of(model)],
    [False] * 4,
    because="after evaluation recording is on again; and evaluation leaves the gradients that are there",
)
long_x, long_y = rng.normal(size=(7, 4, 3)), rng.normal(size=(7, 4, 1))
check.close(
    evaluate(Watched(), small_loader(long_x, long_y, batch_size=3), mse_loss)[0],
    ((long_x @ np.full((3, 1), 0.5) - long_y) ** 2).mean(),
    because="rows are counted along the first axis, in the sum and in the divisor",
)
for empty in (used_up(loader), []):
    with check.raises(ValueError, because="a mean over no samples is no number"):
        evaluate(model, empty, mse_loss)
check.equal(evaluate(model, loader), [], because="no measures, no numbers")
logits, target = rng.normal(size=(4, 5, 7)), rng.integers(7, size=(4, 5))
check.close(
    accuracy(Tensor(logits), Tensor(target)),
    (logits.argmax(axis=-1) == target).mean(),
    because="classes are the last axis, and every position of a sequence counts",
)
check.close(accuracy(Tensor([[-2.0, -1.0]]), Tensor([1])), 1.0, because="-1 is the largest logit of this row")
check.equal(isinstance(accuracy(Tensor([[0.0, 1.0]]), Tensor([0])), float), True, because="a plain float")
check.equal(isinstance(evaluate(model, loader, mse_loss)[0], float), True, because="plain floats, no tensors")
with check.raises(ValueError, because="three targets do not fit two rows"):
    accuracy(Tensor(np.zeros((2, 4))), Tensor([0, 1, 2]))
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · Are the gradients healthy?
#
# A loss that does not fall has many causes, and most of them show in the gradients. After a backward pass, each parameter is
# in one of five states:
#
# | verdict | meaning | usual causes |
# |---|---|---|
# | `"missing"` | `grad` is None | not part of the graph: unused layer, `detach`, `no_grad` |
# | `"not finite"` | it holds an infinity or NaN | overflow; log or root at 0; a loss that was NaN |
# | `"exploding"` | its norm is above a limit | weights too large, a learning rate too high some steps ago |
# | `"dead"` | its norm is at, or below, a limit near 0 | a relu that is 0 for all inputs, a saturated sigmoid |
# | `"fine"` | its norm lies between the limits | |
#
# The order of the questions matters. NaN compares false with everything, so `norm > limit` says nothing about it; and a norm
# that overflows in `float32` would turn an exploding gradient into one that is not finite.


# %% nbgrader={"grade": false, "grade_id": "training_report", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def gradient_report(model, smallest=0.0, largest=1000.0):
    """A verdict on the gradient of each parameter.

    Parameters
    ----------
    model : Module
        After a backward pass.
    smallest, largest : float
        Norms up to `smallest` are "dead", norms above `largest` "exploding".

    Returns
    -------
    dict of str to str
        For each name of a parameter "missing", "not finite", "exploding", "dead" or "fine".

    Examples
    --------
    >>> gradient_report(Linear(2, 1, rng=0))
    {'weight': 'missing', 'bias': 'missing'}

    Hints: `np.isfinite(array).all()`. As in clipping, compute norms in float64.
    """
    ### BEGIN SOLUTION
    report = {}
    for name, parameter in model.named_parameters():
        grad = parameter.grad
        if grad is None:
            report[name] = "missing"
        elif not np.isfinite(grad).all():
            report[name] = "not finite"
        else:
            norm = math.sqrt(np.square(grad, dtype=np.float64).sum())
            report[name] = "exploding" if norm > largest else "dead" if norm <= smallest else "fine"
    return report
    ### END SOLUTION


# %%
# Try it: four sick networks. Guess each report before you run the cell.
class Unused(Module):
    """A network with a layer that it does not use."""

    def __init__(self):
        self.used, self.unused = Linear(64, 10, rng=0), Linear(64, 10, rng=0)

    def forward(self, x):
        return self.used(x)


dead = classifier()
dead[0].bias[...] = -100.0  # relu gives 0 for every input
broken = classifier()
broken[4].weight[0, 0] = np.inf
x, y = train_set.batch(range(64))
for name, model in [
    ("unused layer", Unused()),
    ("dead relu", dead),
    ("broken", broken),
    ("too steep", too_steep()),
]:
    with np.errstate(all="ignore"):
        compute_gradients(model, x, y, cross_entropy)
    report = gradient_report(model, largest=100.0)
    for verdict in sorted(set(report.values())):
        print(f"{name:12}  {verdict:10}  {', '.join(key for key in report if report[key] == verdict)}")


# %% nbgrader={"grade": false, "grade_id": "training_report_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a module with parameters called "0", "1" ... that have given gradients.
def with_gradients(*gradients):
    model = Module()
    for number, gradient in enumerate(gradients):
        parameter = Parameter(np.zeros(2 if gradient is None else np.shape(gradient)))
        parameter.grad = None if gradient is None else np.asarray(gradient, dtype=np.float32)
        setattr(model, str(number), parameter)
    return model


# %% nbgrader={"grade": true, "grade_id": "training_report_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): each verdict, and the limits.
model = with_gradients(None, [1.0, np.nan], [3.0, 4.0], [0.0, 0.0], [-2000.0, 0.0], [[np.inf, -np.inf]])
report = gradient_report(model)
check.equal(report["0"], "missing", because="None is no gradient at all")
check.equal(report["1"], "not finite", because="one NaN is enough")
check.equal(report["2"], "fine", because="a norm of 5 lies between the limits")
check.equal(report["3"], "dead", because="all zeros: nothing that this parameter does matters to the loss")
check.equal(report["4"], "exploding", because="the norm is 2000; the sign of a gradient does not matter")
check.equal(report["5"], "not finite", because="infinities are not finite: ask this before you compare norms")
check.equal(gradient_report(model, largest=4.9)["2"], "exploding", because="a norm of 5 is above 4.9")
check.equal(gradient_report(model, smallest=5.5)["2"], "dead", because="a norm of 5 is below 5.5")
check.equal(len(report), 6, because="a verdict for each parameter")

# %% nbgrader={"grade": true, "grade_id": "training_report_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): names, norms of large arrays, the limits of float32, zeros among others.
### BEGIN HIDDEN TESTS
model = half_frozen()
check.equal(
    gradient_report(model),
    {"0.weight": "missing", "0.bias": "missing", "2.1.weight": "missing", "2.1.bias": "missing"},
    because="names as named_parameters gives them",
)
model = with_gradients([3e30, -3e30], [1e-30, 0.0], np.full((50, 50), 30.0), np.full(4, 600.0), -0.5)
check.equal(
    gradient_report(model),
    {"0": "exploding", "1": "fine", "2": "exploding", "3": "exploding", "4": "fine"},
    because="norms in float64: squares of 3e30 overflow in float32, of 1e-30 vanish; a norm is no maximum",
)
check.equal(
    gradient_report(model, largest=1500.0)["2"], "fine", because="the norm is exactly 1500, not above it"
)
check.equal(gradient_report(model, smallest=0.5)["4"], "dead", because="a norm at `smallest` is dead")
check.equal(
    gradient_report(with_gradients([1.0, 0.0, 0.0]))["0"], "fine", because="some zeros are no reason to worry"
)
check.equal(
    gradient_report(with_gradients([1.0, -1.0]))["0"], "fine", because="numbers that cancel are not zero"
)
check.equal(
    gradient_report(with_gradients([0.0, np.nan]))["0"], "not finite", because="NaN among zeros is not finite"
)
check.equal(gradient_report(Module()), {}, because="no parameters, no verdicts")
model = with_gradients([2.0, 3.0])
gradient_report(model, largest=1.0)
check.close(gradients_of(model)[0], [2.0, 3.0], because="a report only looks: the gradient stays as it is")
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · Go on after a crash
#
# A training that runs for days will be interrupted. What must be saved so that it goes on *exactly* as it would have, with the
# same losses to the last bit? More than the parameters:
#
# | | without it |
# |---|---|
# | parameters | everything is lost |
# | optimizer: velocities, averages, steps | a jump in the loss, and some hundred steps to recover |
# | scheduler: how many steps | the learning rate starts anew |
# | loader: epoch and seed | samples come in another order, some of them twice |
# | random generators, such as dropout's | other masks |
#
# Two more demands. A file must be *safe to open*: no pickle, which can run any program when it is loaded. An `.npz` file of
# plain arrays will do, with `allow_pickle=False`. And writing must be *atomic*: the crash may come in the middle of it, and
# then the old checkpoint should still be there, whole. So write to a temporary file in the same folder, and when all
# is on the disk put it in place of the old one. `os.replace` does that in one instant; there is no time at which neither exists.
#
# ```
#   save_checkpoint("run.npz", model=model, optimizer=adam, loader=loader, epoch=3)
#
#   in the file    model/0.weight  model/0.bias  …
#                  optimizer/lr  optimizer/0.mean  …
#                  loader/epoch  loader/seed
#                  epoch/value
# ```
#
# Each part is given by a name. The next cell is complete. `entries_of` takes a part apart: whatever has a `state_dict`, loaders,
# generators, and plain values. `fill` puts saved entries back into one part, and `fill_all` into several, all or none: if the
# third does not fit, the first two become again what they were. You write the file.


# %% nbgrader={"grade": false, "grade_id": "training_entries", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
def entries_of(part):
    """What there is to save of a part: a dict from names to arrays of plain numbers or text.

    Parameters
    ----------
    part : object with state_dict, DataLoader, numpy.random.Generator, or number, text, list or array

    Raises
    ------
    TypeError
        If it holds Python objects, which a safe file can't.
    """
    if hasattr(part, "state_dict"):
        entries = part.state_dict()
    elif isinstance(part, DataLoader):
        entries = {"epoch": part.epoch, "seed": json.dumps(part.seed)}
    elif isinstance(part, np.random.Generator):
        entries = {"state": json.dumps(part.bit_generator.state, default=np.ndarray.tolist)}
    else:
        entries = {"value": part}
    arrays = {name: np.asarray(value) for name, value in entries.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(
                f"{name} holds Python objects of type {type(entries[name]).__name__}; save numbers or text"
            )
    return arrays


def fill(part, entries):
    """Give a part, such as a model, the state of saved entries; ValueError if they do not fit."""
    try:
        if hasattr(part, "load_state_dict"):
            part.load_state_dict(entries)
        elif isinstance(part, DataLoader):
            part.epoch, part.seed = int(entries["epoch"]), json.loads(str(entries["seed"]))
        elif isinstance(part, np.random.Generator):
            part.bit_generator.state = json.loads(str(entries["state"]))
        else:
            raise TypeError(f"a {type(part).__name__} can't be filled: plain values are returned")
    except KeyError as missing:
        kind = type(part).__name__
        raise ValueError(f"{', '.join(entries)} do not fit a {kind}: {missing} is missing") from None


def fill_all(parts, saved):
    """Fill several parts, all or none.

    Parameters
    ----------
    parts : dict of str to object
        What to fill, by name.
    saved : dict of str to dict
        For each of these names the saved entries.

    Raises
    ------
    ValueError
        If one part does not fit. Then those before it are filled with what they held.
    """
    before, filled = {name: entries_of(part) for name, part in parts.items()}, []
    try:
        for name, part in parts.items():
            fill(part, saved[name])
            filled.append(name)
    except BaseException:
        for name in filled:
            fill(parts[name], before[name])
        raise


# %% nbgrader={"grade": false, "grade_id": "training_checkpoint", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def save_checkpoint(path, **parts):
    """Save all parts in one file, which takes the place of an older one only when it is complete.

    Parameters
    ----------
    path : str or Path
        Of the file; exactly this name, whatever its ending.
    **parts
        What to save, by name; see `entries_of`.

    Examples
    --------
    `save_checkpoint("run.npz", model=model, epoch=3)`; later `load_checkpoint("run.npz", model=model)` fills
    the model and returns `{"epoch": 3}`.

    Hints: the names in the file are f"{part}/{name}". `np.savez(file, **arrays)` adds ".npz" to a path, but
    not to an open file: `open(neighbour, "wb")`. Before `os.replace` come `file.flush()` and
    `os.fsync(file.fileno())`. If anything fails: `neighbour.unlink(missing_ok=True)`.
    """
    path = Path(path)  # and the temporary file beside it:
    neighbour = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    ### BEGIN SOLUTION
    arrays = {}
    for part, thing in parts.items():
        arrays |= {f"{part}/{name}": array for name, array in entries_of(thing).items()}
    try:
        with open(neighbour, "wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(neighbour, path)
    finally:
        neighbour.unlink(missing_ok=True)
    ### END SOLUTION


def load_checkpoint(path, **parts):
    """Fill parts from a file.

    Parameters
    ----------
    path : str or Path
    **parts
        What to fill, by the names under which it was saved. Other parts of the file are passed over.

    Returns
    -------
    dict
        The plain values in the file, by name: numbers, texts and lists.

    Raises
    ------
    ValueError
        If a part is not in the file (the message names all that are missing), or does not fit, or if the file
        holds Python objects. In each case nothing was filled.
    TypeError
        If a part is a plain value: those are returned, not filled.

    Hints: `np.load(path, allow_pickle=False)`, in a `with`. `name.partition("/")` splits at the first slash.
    Read everything, then look for missing parts, then `fill_all`. `array.tolist()` makes a Python number,
    text or list of an array.
    """
    ### BEGIN SOLUTION
    saved = {}
    with np.load(path, allow_pickle=False) as file:
        for name in file.files:
            part, _, entry = name.partition("/")
            saved.setdefault(part, {})[entry] = file[name]
    missing = sorted(parts.keys() - saved.keys())
    if missing:
        raise ValueError(f"{path} has no {', '.join(missing)}; it holds {', '.join(sorted(saved))}")
    fill_all(parts, saved)
    return {part: entries["value"].tolist() for part, entries in saved.items() if list(entries) == ["value"]}
    ### END SOLUTION


# %%
# Try it: what is in a checkpoint? Then load it into a classifier with 32 hidden units, and read the error.
folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "run.npz")
model = classifier(hidden=16)
optimizer = Adam(model.parameters())
compute_gradients(model, x, y, cross_entropy)
optimizer.step()
save_checkpoint(
    path, model=model, optimizer=optimizer, rng=np.random.default_rng(0), epoch=1, note="first try"
)
with np.load(path, allow_pickle=False) as file:
    print(len(file.files), "arrays:", ", ".join([*file.files[:2], "...", *file.files[-4:]]))
os.path.getsize(path), load_checkpoint(path, model=classifier(hidden=16, seed=1))


# %% nbgrader={"grade": false, "grade_id": "training_checkpoint_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a training with all that can be random, without a break and with one.
scratch = tempfile.TemporaryDirectory()


def in_folder(name):
    return os.path.join(scratch.name, name)


def run_of(seed):
    """All parts of a training, from a seed; the loader's and dropout's seeds too."""
    rng = np.random.default_rng(seed)
    model = classifier(seed=seed, hidden=16, dropout=0.2, rng=rng)
    optimizer = Adam(model.parameters(), lr=0.01)
    return {
        "model": model,
        "optimizer": optimizer,
        "scheduler": CosineAnnealingLR(optimizer, T_max=100),
        "loader": DataLoader(TensorDataset(*train_set.batch(np.arange(200))), 32, shuffle=True, seed=seed),
        "rng": rng,
    }


def epochs_of(run, epochs):
    parts = run["model"], run["loader"], cross_entropy, run["optimizer"]
    return [train_epoch(*parts, scheduler=run["scheduler"]) for _ in range(epochs)]


def losses_without_break(epochs):
    return epochs_of(run_of(0), epochs)


def losses_with_break(epochs, stop, leave_out=()):
    """Save after `stop` epochs, make everything anew from another seed, load, and go on."""
    run = run_of(0)
    losses = epochs_of(run, stop)
    save_checkpoint(in_folder("break.npz"), **run)
    run = run_of(7)
    load_checkpoint(
        in_folder("break.npz"), **{name: part for name, part in run.items() if name not in leave_out}
    )
    return losses + epochs_of(run, epochs - stop)


# %% nbgrader={"grade": false, "grade_id": "training_files_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a disk that is full, a look at the files while they are exchanged, and odd files.
def on_full_disk(name, **parts):
    """Save while the disk is full after some bytes; gives the message and the files that are there."""

    def half(file, *args, **arrays):
        if hasattr(file, "write"):
            file.write(b"half a file")
        else:
            Path(file).write_bytes(b"half a file")
        raise OSError("no space left on device")

    kept = np.savez, np.savez_compressed, np.save
    np.savez = np.savez_compressed = np.save = half
    try:
        save_checkpoint(in_folder(name), **parts)
        message = "no error"
    except OSError as error:
        message = str(error)
    finally:
        np.savez, np.savez_compressed, np.save = kept
    return message, sorted(file for file in os.listdir(scratch.name) if file.startswith(name))


def at_the_swap(name, **parts):
    """Save, and look at both files when one takes the place of the other: are they whole?"""
    kept, seen = (os.replace, os.rename), {"swaps": 0}

    def whole(path):
        try:
            with np.load(path, allow_pickle=False) as file:
                return all(file[name] is not None for name in file.files)
        except Exception:
            return False

    def swap(source, target):
        seen.update(swaps=seen["swaps"] + 1, old=whole(target), new=whole(source))
        kept[0](source, target)

    os.replace, os.rename = swap, swap
    try:
        save_checkpoint(in_folder(name), **parts)
    finally:
        os.replace, os.rename = kept
    return seen


def files_called(name):
    return sorted(file for file in os.listdir(scratch.name) if file.startswith(name))


def arrays_in(name):
    with np.load(in_folder(name), allow_pickle=False) as file:
        return {entry: file[entry] for entry in file.files}


def write_objects(name):
    """A file with a Python object in it, as a stranger might send it."""
    np.savez(in_folder(name), **{"note/value": np.array([{"harm": 1}], dtype=object)})


def saved_as_path(name, **parts):
    save_checkpoint(Path(in_folder(name)), **parts)
    return load_checkpoint(Path(in_folder(name)))


def object_in_a_part(name):
    save_checkpoint(in_folder(name), thing=[{"a": object()}])


# %% nbgrader={"grade": true, "grade_id": "training_checkpoint_check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
# Check (9 points): what is in the file, a training that goes on to the last bit, and a disk that is full.
parts = check.partial(9)
model = Watched(weight=2.0)
with parts.part(2, "the file"):
    save_checkpoint(in_folder("first.npz"), model=model, epoch=3, note="good", losses=[0.5, 0.25])
    check.equal(
        files_called("first"), ["first.npz"], because="one file of that name, and no temporary one beside it"
    )
    names = ["epoch/value", "losses/value", "model/linear.bias", "model/linear.weight", "note/value"]
    check.equal(
        sorted(arrays_in("first.npz")), names, because="names are part/entry, as entries_of gives them"
    )
with parts.part(2, "the way back"):
    other = Watched(weight=0.0)
    values = load_checkpoint(in_folder("first.npz"), model=other)
    check.close(other.linear.weight, np.full((1, 3), 2.0), because="the part is filled from the file")
    check.equal(
        values, {"epoch": 3, "note": "good", "losses": [0.5, 0.25]}, because="plain values are returned"
    )
with parts.part(3, "to the last bit"):
    check.equal(
        losses_with_break(4, stop=2),
        losses_without_break(4),
        because="once all parts are filled, the losses are the same to the last bit",
    )
with parts.part(2, "a full disk"):
    message, files = on_full_disk("first.npz", model=other, epoch=9)
    check.equal(message, "no space left on device", because="the caller should hear of the failure")
    check.equal(files, ["first.npz"], because="no temporary file stays behind")
    check.equal(
        load_checkpoint(in_folder("first.npz"))["epoch"],
        3,
        because="the old checkpoint should still be whole",
    )
parts.score()

# %% nbgrader={"grade": true, "grade_id": "training_checkpoint_hidden", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (5 points): missing parts, misfits, odd names, Python objects, what a break costs.
### BEGIN HIDDEN TESTS
model = Watched(weight=1.0)
optimizer = SGD(model.parameters(), lr=0.5, momentum=0.9)
save_checkpoint(in_folder("second"), model=model, optimizer=optimizer, epoch=1)
check.equal(
    files_called("second"), ["second"], because="exactly this name: np.savez adds .npz to a path by itself"
)
save_checkpoint(in_folder("second"), model=Watched(weight=4.0), optimizer=optimizer, epoch=2)
check.equal(
    load_checkpoint(in_folder("second")), {"epoch": 2}, because="the new checkpoint replaces the old one"
)
other, untouched = Watched(weight=0.0), Watched(weight=0.0)
load_checkpoint(in_folder("second"), model=other)
check.close(other.linear.weight, np.full((1, 3), 4.0), because="a part may be loaded without the others")
with check.raises(
    ValueError, mentions=["scheduler", "rng"], because="the message should name all missing parts"
):
    load_checkpoint(in_folder("second"), model=untouched, scheduler=StepLR(optimizer, 1), rng=optimizer)
check.close(
    untouched.linear.weight, np.zeros((1, 3)), because="if a part is missing, nothing should be filled"
)
with check.raises(ValueError, because="the state of another network does not fit"):
    load_checkpoint(in_folder("second"), model=Watched(features=5))
loader = small_loader(np.zeros((2, 3)), np.zeros((2, 1)))
for name, wrong in [("optimizer", StepLR(optimizer, 1)), ("epoch", loader)]:
    with check.raises(ValueError, because=f"the {name} in the file is of another kind"):
        load_checkpoint(in_folder("second"), model=untouched, **{name: wrong})
    check.close(
        untouched.linear.weight,
        np.zeros((1, 3)),
        because="if a later part does not fit, the model should be as it was: fill_all",
    )
check.equal(saved_as_path("third.ckpt", epoch=5), {"epoch": 5}, because="a Path is as good as text")
check.equal(files_called("third"), ["third.ckpt"], because="any ending is allowed")
write_objects("stranger.npz")
with check.raises(ValueError, because="a pickled object can run any program: allow_pickle=False refuses it"):
    load_checkpoint(in_folder("stranger.npz"))
with check.raises(TypeError, because="what can't be saved safely should be refused at once"):
    object_in_a_part("fourth.npz")
check.equal(files_called("fourth"), [], because="a failed save leaves no file")
save_checkpoint(in_folder("file.npz"), file=7, text="a/b", flag=True, empty=[])
check.equal(
    load_checkpoint(in_folder("file.npz")),
    {"file": 7, "text": "a/b", "flag": True, "empty": []},
    because="any name and any plain value come back",
)
with check.raises(FileNotFoundError, because="a checkpoint that is not there is an error"):
    load_checkpoint(in_folder("nowhere.npz"), model=other)
seen = at_the_swap("second", model=model, epoch=3)
check.equal(seen["swaps"], 1, because="os.replace puts the new file in the place of the old one, in one step")
check.equal(seen["old"], True, because="until then the old file should be there: do not remove it before")
check.equal(seen["new"], True, because="the new file should be complete before os.replace")
message, files = on_full_disk("fifth.npz", model=model)
check.equal(files, [], because="where there was no checkpoint, a failed save leaves none")
straight = losses_without_break(3)
check.equal(losses_with_break(3, stop=1), straight, because="the same losses after a break at any epoch")
for part in ("optimizer", "scheduler", "loader", "rng"):
    got = losses_with_break(3, stop=2, leave_out=(part,))
    check.equal(got[:2], straight[:2], because="saving does not disturb the training")
    check.equal(got[2] == straight[2], False, because=f"without the {part} the training goes on differently")
### END HIDDEN TESTS

# %% [markdown]
# ## 6 · When to stop
#
# Train long enough, and the loss on the training data goes on falling while the loss on unseen data turns and rises: the
# network begins to learn its samples by heart. *Early stopping* watches the loss on unseen data. As long as that improves, it
# keeps a copy of the parameters; when it has not improved for `patience` epochs in a row, it says stop, and the best
# parameters are put back.
#
# A loss improves if it is lower than the best so far by more than `min_delta`. NaN never improves.


# %% nbgrader={"grade": false, "grade_id": "training_stopping", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class EarlyStopping:
    """Watches a loss, keeps the best parameters, and says when to give up.

    Parameters
    ----------
    patience : int
        How many epochs in a row without an improvement are enough.
    min_delta : float
        An improvement is more than this.

    Attributes
    ----------
    best : float
        The lowest loss so far; infinite at first.
    waited : int
        Epochs since then.
    best_state : dict or None
        The `state_dict` of the model at that time.

    Examples
    --------
    With patience 2 and losses 5, 4, 4.5, 3, 3.5, 3.2 the answers are False, five times, and then True.
    """

    def __init__(self, patience=5, min_delta=0.0):
        self.patience = patience
        self.min_delta = min_delta
        self.best = math.inf
        self.waited = 0
        self.best_state = None

    def update(self, loss, model):
        """Note the loss of an epoch; returns whether to stop.

        Hints: `a < b` is False if one of them is NaN. `model.state_dict()` is a copy.
        """
        ### BEGIN SOLUTION
        if loss < self.best - self.min_delta:
            self.best, self.waited, self.best_state = loss, 0, model.state_dict()
        else:
            self.waited += 1
        return self.waited >= self.patience
        ### END SOLUTION

    def restore(self, model):
        """Put the best parameters back into the model, if there was an improvement at all."""
        ### BEGIN SOLUTION
        if self.best_state is not None:
            model.load_state_dict(self.best_state)
        ### END SOLUTION

    def state_dict(self):
        """All of it, for a checkpoint: a dict of numbers and arrays."""
        best = self.best_state or {}
        return {"best": self.best, "waited": self.waited, **{f"model.{name}": best[name] for name in best}}

    def load_state_dict(self, state):
        """Go on from a `state_dict`."""
        self.best, self.waited = float(state["best"]), int(state["waited"])
        best = {name.removeprefix("model."): state[name] for name in state if name.startswith("model.")}
        self.best_state = best or None


# %% nbgrader={"grade": false, "grade_id": "training_stopping_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: the answers to some losses, and the weight, which counts epochs, that is put back.
def answers_to(losses, **options):
    stopping, model, answers = EarlyStopping(**options), Watched(weight=0.0), []
    for epoch, loss in enumerate(losses, 1):
        model.linear.weight[...] = float(epoch)
        answers.append(stopping.update(loss, model))
    stopping.restore(model)
    return answers, model.linear.weight.data[0, 0].item()


# %% nbgrader={"grade": true, "grade_id": "training_stopping_check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Check (4 points): when it says stop, and which parameters come back.
answers, weight = answers_to([5.0, 4.0, 4.5, 3.0, 3.5, 3.2], patience=2)
check.equal(
    answers, [False] * 5 + [True], because="two epochs in a row without an improvement; 4.5 was only one"
)
check.equal(weight, 4.0, because="the best loss came in epoch 4: its parameters, not the last ones")
answers, weight = answers_to([2.0, 1.95, 1.8], patience=1, min_delta=0.1)
check.equal(answers, [False, True, False], because="0.05 less is no improvement, 0.2 less is")
check.equal(weight, 3.0, because="the best loss came in epoch 3")

# %% nbgrader={"grade": true, "grade_id": "training_stopping_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): NaN, equal losses, slow progress, no improvement ever.
### BEGIN HIDDEN TESTS
answers, weight = answers_to([3.0, math.nan, math.nan], patience=2)
check.equal((answers, weight), ([False, False, True], 1.0), because="NaN never improves")
answers, weight = answers_to([math.nan, math.nan], patience=2)
check.equal(
    (answers, weight), ([False, True], 2.0), because="without an improvement there is nothing to put back"
)
answers, weight = answers_to([1.0, 1.0, 1.0], patience=2)
check.equal((answers, weight), ([False, False, True], 1.0), because="as low as the best is no improvement")
answers, weight = answers_to([1.0, 0.95, 0.9, 0.85], patience=3, min_delta=0.08)
check.equal(
    (answers, weight),
    ([False] * 4, 3.0),
    because="compare with the best loss, not with the epoch before: 0.9 improves on 1.0",
)
answers, _ = answers_to([1.0, 2.0, 0.5, 2.0, 0.25, 2.0], patience=2)
check.equal(answers, [False] * 6, because="each improvement starts the count anew")
answers, _ = answers_to([1.0, 2.0, 2.0, 0.5, 2.0, 2.0], patience=3)
check.equal(answers, [False] * 6, because="each improvement starts the count anew, at 0")
answers, _ = answers_to([-1.0, -2.0, -1.5], patience=1)
check.equal(answers, [False, False, True], because="losses may be negative")
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · The whole loop
#
# `fit` trains epoch by epoch, evaluates after each, and stops early if asked to. It has no counter of its own: `loader.epoch`
# says which epoch comes next. So `fit(…, epochs=10)` after a checkpoint of epoch 6 was loaded trains four more, and calling it
# again with `epochs=10` trains none.


# %% nbgrader={"grade": false, "grade_id": "training_fit", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def fit(model, loader, loss_fn, optimizer, epochs, validation=None, stopping=None, **options):
    """Train until `loader` has given `epochs` epochs, or until `stopping` says so.

    Parameters
    ----------
    model : Module
    loader : DataLoader
        Its attribute `epoch` is the number of epochs that it has begun.
    loss_fn : function
    optimizer : Optimizer
    epochs : int
        Epochs in all, those before a checkpoint included.
    validation : iterable of (x, y), optional
        Unseen batches, on which the loss is measured after each epoch.
    stopping : EarlyStopping, optional
        Told the loss on `validation` after each epoch. At the end the best parameters are put back.
    **options
        For `train_epoch`: parts, max_norm, scheduler.

    Returns
    -------
    dict of str to list of float
        "train" and "validation": the losses of the epochs that were trained; the second is empty without
        unseen data.

    Raises
    ------
    ValueError
        If there is `stopping` and no `validation`.

    Examples
    --------
    If `loader.epoch` is 6 and `epochs` is 10, four epochs are trained; called again, none.

    Hints: each pass over the loader adds 1 to `loader.epoch`. `evaluate` gives a list.
    """
    if stopping is not None and validation is None:
        raise ValueError("early stopping needs validation data: it watches the loss on unseen samples")
    history = {"train": [], "validation": []}
    ### BEGIN SOLUTION
    while loader.epoch < epochs:
        history["train"].append(train_epoch(model, loader, loss_fn, optimizer, **options))
        if validation is not None:
            history["validation"] += evaluate(model, validation, loss_fn)
        if stopping is not None and stopping.update(history["validation"][-1], model):
            break
    if stopping is not None:
        stopping.restore(model)
    return history
    ### END SOLUTION


# %%
# Try it: train on 200 digits only, and watch the loss on unseen ones. Add dropout, or weight decay.
few = TensorDataset(*train_set.batch(np.arange(200)))
model, loader = classifier(), DataLoader(few, batch_size=20, shuffle=True)
optimizer, stopping = Adam(model.parameters(), lr=0.003), EarlyStopping(patience=10)
history = fit(model, loader, cross_entropy, optimizer, 100, validation=test_loader, stopping=stopping)

fig, axes = figure()
for name, values in history.items():
    axes.semilogy(range(1, len(values) + 1), values, label=name)
best = int(np.argmin(history["validation"])) + 1
axes.axvline(best, color="#009E73", linestyle=":", label=f"best epoch, {best}")
axes.set(xlabel="epoch", ylabel="loss", xticks=range(0, len(history["train"]) + 1, 5))
axes.legend()
show(
    fig,
    alt="Loss by epoch, log scale: training loss falls on; validation loss turns at a marked epoch.",
)
print("right on unseen digits: {:.1%}".format(*evaluate(model, test_loader, accuracy)))

# %% [markdown]
# *The figure:* the loss on the 200 digits that the network trains on keeps falling, by orders of magnitude. On unseen digits it
# comes down for some epochs, flattens and turns; the dotted line marks the epoch whose parameters were put back. (These
# digits chose the epoch, so the share printed below the figure is a little too good. Where it matters, choose with one set
# and report with another.)
#
# Now the real thing: all 1,438 digits, a schedule, clipping, and a checkpoint after each epoch.

# %%
# Try it: interrupt the kernel in the middle and run the cell again: it goes on.
path = in_folder("digits.npz")
model, loader = classifier(), DataLoader(train_set, batch_size=32, shuffle=True)
optimizer = Adam(model.parameters(), lr=0.003)
scheduler = CosineAnnealingLR(optimizer, T_max=10 * len(loader))
run = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "loader": loader}
options = {"validation": test_loader, "max_norm": 5.0, "scheduler": scheduler}
losses = {"train": [], "validation": []}
if os.path.exists(path):
    losses = json.loads(load_checkpoint(path, **run)["losses"])
for epoch in range(loader.epoch + 1, 11):
    new = fit(model, loader, cross_entropy, optimizer, epoch, **options)
    losses = {name: losses[name] + new[name] for name in losses}
    save_checkpoint(path, losses=json.dumps(losses), **run)
right = evaluate(model, test_loader, accuracy)[0]
print(f"after {loader.epoch} epochs: loss on unseen digits {losses['validation'][-1]:.3f}, right {right:.1%}")


# %% nbgrader={"grade": false, "grade_id": "training_fit_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a small regression, and unseen samples that agree with it or contradict it.
def regression(rows=12, lr=0.1):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    y = x @ np.array([[1.0], [-1.0], [2.0]])
    model = Watched(weight=0.0)
    return model, small_loader(x, y, shuffle=True), mse_loss, SGD(model.parameters(), lr=lr)


def unseen(sign=1.0):
    x = np.random.default_rng(1).normal(size=(6, 3))
    return small_loader(x, sign * x @ np.array([[1.0], [-1.0], [2.0]]))


# %% nbgrader={"grade": true, "grade_id": "training_fit_check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Check (4 points): epochs and losses, going on, and stopping with the best parameters.
model, loader, loss_fn, optimizer = regression()
history = fit(model, loader, loss_fn, optimizer, 5, validation=unseen())
check.equal(
    (len(history["train"]), len(history["validation"])),
    (5, 5),
    because="one loss of each kind for each epoch",
)
check.equal(history["train"][4] < history["train"][0], True, because="training makes the loss smaller")
check.close(
    history["validation"][4],
    evaluate(model, unseen(), loss_fn)[0],
    because="the unseen loss is measured after the epoch, on the validation data",
)
history = fit(model, loader, loss_fn, optimizer, 7)
check.equal(
    (len(history["train"]), history["validation"], loader.epoch),
    (2, [], 7),
    because="5 of the 7 epochs were there already",
)
model, loader, loss_fn, optimizer = regression()
history = fit(
    model, loader, loss_fn, optimizer, 50, validation=unseen(-1.0), stopping=EarlyStopping(patience=3)
)
check.equal(
    len(history["train"]), 4, because="the unseen loss gets worse from the second epoch on: 1 + 3 epochs"
)
check.close(
    evaluate(model, unseen(-1.0), loss_fn)[0],
    min(history["validation"]),
    because="the best parameters are put back",
)

# %% nbgrader={"grade": true, "grade_id": "training_fit_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): options passed on, stopping without a stop, nothing left to do, epochs one by one.
### BEGIN HIDDEN TESTS
model, loader, loss_fn, optimizer = regression()
scheduler = StepLR(optimizer, step_size=3, gamma=0.5)
fit(model, loader, loss_fn, optimizer, 2, parts=2, scheduler=scheduler)
check.equal(rows_seen(model)[:4], [2, 2, 2, 2], because="parts is an option of train_epoch")
check.close(optimizer.lr, 0.025, because="six batches are six steps of the schedule")
check.equal(
    fit(model, loader, loss_fn, optimizer, 2),
    {"train": [], "validation": []},
    because="nothing is left to do",
)
first, second = regression(), regression()
whole = fit(first[0], first[1], first[2], first[3], 4)["train"]
one_by_one = [fit(second[0], second[1], second[2], second[3], epoch)["train"][0] for epoch in (1, 2, 3, 4)]
check.equal(one_by_one, whole, because="four calls of one epoch are one call of four")
model, loader, loss_fn, optimizer = regression(lr=2.0)
stopping = EarlyStopping(patience=100)
history = fit(model, loader, loss_fn, optimizer, 3, validation=unseen(), stopping=stopping)
check.close(
    evaluate(model, unseen(), loss_fn)[0],
    min(history["validation"]),
    because="the best parameters are put back also if all epochs were used",
)
check.close(stopping.best, min(history["validation"]), because="stopping is told the loss on the unseen data")
check.equal(modes_of(model)[0], True, because="evaluation leaves the model in training mode")
### END HIDDEN TESTS

# %% [markdown]
# ## Systems 1 · Memory over a step
#
# In a step of training four things are in memory. Predict the bytes of each for an MLP of some sizes, such as
# `(64, 256, 256, 10)`, with `relu` between its layers, all `float32`, trained with Adam and a batch of `batch` rows:
#
# - parameters: weights and biases;
# - gradients, after the backward pass;
# - state of the optimizer;
# - activations, at the end of the forward pass: count only the outputs of the hidden layers after `relu`. (From module 06
#   you know that this one array serves the rules of `relu` and of the next layer; the array before `relu` is freed. What
#   the loss keeps, ten or so numbers a row, is left out, and so is `x`.)


# %% nbgrader={"grade": false, "grade_id": "step_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_step_memory(sizes, batch):
    """Bytes of "parameters", "gradients", "state" and "activations", as a dict."""
    ### BEGIN SOLUTION
    parameters = 4 * sum(m * n + n for m, n in zip(sizes, sizes[1:]))
    return {
        "parameters": parameters,
        "gradients": parameters,
        "state": 2 * parameters,
        "activations": 4 * batch * sum(sizes[1:-1]),
    }
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "step_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For you and for the checks: an MLP from its sizes, a batch for it, and the bytes of each kind as measured.
def mlp(sizes):
    rng = np.random.default_rng(0)
    layers = [layer for m, n in zip(sizes, sizes[1:]) for layer in (Linear(m, n, rng=rng), ReLU())]
    return Sequential(*layers[:-1])


def batch_for(sizes, batch):
    rng = np.random.default_rng(1)
    return Tensor(rng.normal(size=(batch, sizes[0]))), Tensor(rng.integers(sizes[-1], size=batch))


@functools.cache
def measure_step(sizes, batch):
    """Bytes of each kind: held by the parameters, left by each phase of a step."""
    model, (x, y) = mlp(sizes), batch_for(sizes, batch)
    optimizer = Adam(model.parameters())
    with peak_memory() as forward:
        loss = cross_entropy(model(x), y)
    del loss
    with peak_memory() as backward:
        compute_gradients(model, x, y, cross_entropy)
    optimizer.step()
    return {
        "parameters": sum(parameter.nbytes for parameter in model.parameters()),
        "gradients": backward.kept_bytes,
        "state": optimizer.state_bytes(),
        "activations": forward.kept_bytes,
    }


# %%
# Measure: two batch sizes. Which of the four grow?
for batch in (32, 1024):
    predicted, measured = (
        predict_step_memory((64, 256, 256, 10), batch),
        measure_step((64, 256, 256, 10), batch),
    )
    for kind in predicted:
        print(f"batch {batch:4}: {kind:11} predicted {predicted[kind]:9,}, measured {measured[kind]:9,}")

# %% nbgrader={"grade": true, "grade_id": "step_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): each of the four, predicted and as your own training holds it.
parts = check.partial(8)
cases = [((64, 256, 256, 10), 100), ((20, 300, 5), 64), ((30, 120, 90, 60, 4), 200)]
expected = {}
for sizes, batch in cases:
    numbers = sum(m * n + n for m, n in zip(sizes, sizes[1:]))
    hidden = batch * sum(sizes[1:-1])
    expected[sizes] = {
        "parameters": 4 * numbers,
        "gradients": 4 * numbers,
        "state": 8 * numbers,
        "activations": 4 * hidden,
    }
reasons = {
    "parameters": "a weight (out, in) and a bias (out,) for each layer, 4 bytes a number",
    "gradients": "a gradient for each parameter, of its shape",
    "state": "Adam keeps two averages for each number",
    "activations": "one array of hidden units a row for each hidden layer, 4 bytes a number",
}
for kind, because in reasons.items():
    with parts.part(2, kind):
        for sizes, batch in cases:
            measured, right = measure_step(sizes, batch)[kind], expected[sizes][kind]
            slack = 4 * batch * 3 * (sizes[-1] + 2) + 64 if kind == "activations" else 0
            check.equal(
                right <= measured <= right + slack,
                True,
                because=f"your own step holds {measured:,} bytes and should hold about {right:,}: {because}",
            )
            check.close(predict_step_memory(sizes, batch)[kind], right, because=because, rtol=0)
parts.score()

# %% [markdown]
# *What you just measured.* Parameters, gradients and state, 4x the parameters in all, do not depend on the batch; the
# activations are nothing but batch. For this small network they are level at 664 rows. Which of the two fills the
# memory decides what helps: a leaner optimizer, or smaller batches.

# %% [markdown]
# ## Systems 2 · The peak in parts
#
# Cut a batch into `k` parts, and the activations of only one part are alive at a time. By which factor does the peak of the
# activations fall, for `k` = 1, 2, 4, 8? And if you have `budget` bytes for activations: what is the smallest number of
# parts that fits, counting activations as above? The largest part of a batch of `N` rows has `N / k` rows, rounded up.


# %% nbgrader={"grade": false, "grade_id": "parts_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_peak_ratio(k):
    """Peak of the activations with k equal parts, as a share of the peak with one."""
    ### BEGIN SOLUTION
    return 1 / k
    ### END SOLUTION


def parts_needed(sizes, batch, budget):
    """The smallest number of parts whose largest part's activations take at most `budget` bytes.

    Raises ValueError if not even a single row fits.
    """
    ### BEGIN SOLUTION
    rows = budget // (4 * sum(sizes[1:-1]))
    if rows < 1:
        raise ValueError(f"one row takes {4 * sum(sizes[1:-1])} bytes, but there are only {budget}")
    return math.ceil(batch / rows)
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "parts_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For you and for the checks: peak memory while gradients are computed in parts, and the gradient itself.
def peak_in_parts(sizes, batch, k):
    model, (x, y) = mlp(sizes), batch_for(sizes, batch)
    compute_gradients(model, x, y, cross_entropy, parts=16)  # so that the gradients are there already
    model_gradients = [parameter.grad for parameter in model.parameters()]
    for gradient in model_gradients:
        gradient[...] = 0
    with peak_memory() as measured:
        compute_gradients(model, x, y, cross_entropy, parts=k)
    return measured.peak_bytes, np.concatenate([gradient.ravel() for gradient in model_gradients])


# %%
# Measure: peak against the number of parts, for a batch of 2,048 rows. Why does it stay a little above 1/k?
sizes, ks = (16, 128, 128, 128, 10), [1, 2, 4, 8]
peaks = [peak_in_parts(sizes, 2048, k)[0] / 1e6 for k in ks]
fig, axes = figure()
axes.loglog(ks, peaks, marker="o", label="measured")
axes.loglog(ks, [peaks[0] * predict_peak_ratio(k) for k in ks], marker="s", label="predicted")
axes.minorticks_off()
axes.set(xlabel="parts", ylabel="peak memory (MB)", xticks=ks, xticklabels=ks)
axes.set(yticks=[0.75, 1.5, 3, 6], yticklabels=[0.75, 1.5, 3, 6])
axes.legend()
show(
    fig,
    alt="Peak memory against parts, log-log: measured and predicted fall together, to an eighth at 8 parts.",
)
[round(peak / peaks[0], 3) for peak in peaks]

# %% [markdown]
# *The figure:* the highest level of memory while the gradients of 2,048 rows are computed in 1, 2, 4 and 8 parts, and the
# prediction of 1/k. They fall together; a small rest does not shrink, since the gradients of one part, as large as the
# parameters, are there for a moment before they are added up.

# %% nbgrader={"grade": true, "grade_id": "parts_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): peaks of your own function, the predicted ratio, and the parts that a budget asks for.
parts = check.partial(7)
with parts.part(3, "measured peaks"):
    sizes = (16, 128, 128, 128, 10)
    whole, gradient = peak_in_parts(sizes, 1024, 1)
    for k in (2, 4, 8):
        peak, same = peak_in_parts(sizes, 1024, k)
        check.equal(
            0.8 / k < peak / whole < 1 / k + 0.12,
            True,
            because=f"the peak is {peak / whole:.2f} of the whole, not near 1/{k}: each part's graph should "
            "be gone before the next part begins",
        )
        check.close(
            same, gradient, because="the gradient in parts is that of the whole batch", rtol=1e-3, atol=1e-5
        )
with parts.part(2, "predicted ratio"):
    for k in (1, 2, 4, 8):
        check.close(predict_peak_ratio(k), 1 / k, because="one part of k is alive at a time")
with parts.part(2, "a budget"):
    for sizes, batch, budget, needed in [
        ((64, 256, 256, 10), 1024, 2_097_152, 1),
        ((64, 256, 256, 10), 1024, 2_097_151, 2),
        ((64, 100, 10), 1000, 40_000, 10),
        ((64, 100, 10), 1000, 39_999, 11),
        ((64, 100, 10), 7, 1_000, 4),
    ]:
        check.close(
            parts_needed(sizes, batch, budget),
            needed,
            because="rows that fit, rounded down; then parts, rounded up",
            rtol=0,
        )
    with check.raises(ValueError, because="if one row does not fit, no number of parts helps"):
        parts_needed((64, 100, 10), 1000, 399)
parts.score()

# %% [markdown]
# ## Systems 3 · What a checkpoint weighs
#
# How many bytes does a checkpoint take: a model that learns `numbers` numbers, and its optimizer after some steps? Leave out
# the file's own overhead, a few hundred bytes for each array, and single numbers.


# %% nbgrader={"grade": false, "grade_id": "weight_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_checkpoint_bytes(numbers, name):
    """Bytes of parameters and state; `name` is "SGD", "momentum", "Adam", or None for no optimizer."""
    ### BEGIN SOLUTION
    return 4 * numbers * {None: 1, "SGD": 1, "momentum": 2, "Adam": 3}[name]
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "weight_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For you and for the checks: the size of a checkpoint after one step.
def checkpoint_bytes(sizes, name):
    model, (x, y) = mlp(sizes), batch_for(sizes, 8)
    compute_gradients(model, x, y, cross_entropy)
    kinds = {
        "SGD": lambda: SGD(model.parameters(), lr=0.1),
        "momentum": lambda: SGD(model.parameters(), lr=0.1, momentum=0.9),
        "Adam": lambda: Adam(model.parameters()),
    }
    parts = {"model": model}
    if name is not None:
        parts["optimizer"] = kinds[name]()
        parts["optimizer"].step()
    save_checkpoint(in_folder("weight.npz"), **parts)
    return os.path.getsize(in_folder("weight.npz"))


# %%
# Measure: why is there nothing in the file about gradients and activations?
for name in (None, "SGD", "momentum", "Adam"):
    numbers = sum(m * n + n for m, n in [(64, 500), (500, 500), (500, 10)])
    predicted, measured = predict_checkpoint_bytes(numbers, name), checkpoint_bytes((64, 500, 500, 10), name)
    print(f"{name or 'model only':10} predicted {predicted:9,}, measured {measured:9,}")

# %% nbgrader={"grade": true, "grade_id": "weight_check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Check (5 points): the prediction against files that your function writes.
parts = check.partial(5)
for points, name, arrays in [(1, None, 1), (1, "SGD", 1), (1, "momentum", 2), (2, "Adam", 3)]:
    with parts.part(points, str(name)):
        for sizes in [(64, 200, 300, 10), (30, 700, 5)]:
            numbers = sum(m * n + n for m, n in zip(sizes, sizes[1:]))
            measured = checkpoint_bytes(sizes, name)
            check.equal(
                0 <= measured - 4 * arrays * numbers < 20_000,
                True,
                because=f"your file has {measured:,} bytes and should have about {4 * arrays * numbers:,}: "
                "parameters and state, each number in 4 bytes, and little else",
            )
            check.close(
                predict_checkpoint_bytes(numbers, name),
                4 * arrays * numbers,
                because="the parameters, and as many numbers again for each array of the optimizer's state",
                rtol=0,
            )
parts.score()

# %% [markdown]
# *What you just measured.* With Adam a checkpoint is three times the model. Gradients and activations are not in it: they are
# computed anew in each step. For a model to hand out, save the model alone.

# %% [markdown]
# ## Explain
#
# Two people train the same network with the same seed for 20 epochs. One run is interrupted after epoch 10; its owner had
# saved `model.state_dict()` and goes on from that with a new Adam, a new cosine schedule and a new loader. Her loss jumps up in
# epoch 11, comes down again, and ends a little worse; and a colleague notes that the samples came in the same order in
# epochs 1 and 11.
#
# In three to six sentences: which states were lost, and which of the observations does each explain? How many times larger
# than her file would a complete checkpoint be? Why must it be written to a temporary file first?

# %% [markdown] nbgrader={"grade": true, "grade_id": "training_explain", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Rubric (5 points).**
#
# - 1: Adam's averages and step count were lost: its first steps have full length in every direction, so the loss jumps.
# - 1: the schedule began anew, so the learning rate was at its top again instead of in the middle of the cosine: part of
#   the jump, and the worse end (after 10 epochs it has not come down).
# - 1: the loader began with epoch 0 of its seed, so the order of epoch 1 came again. (Generators of dropout may be named too.)
# - 1: three times as large: parameters, and two averages for each number; loader and schedule are a few numbers.
# - 1: a crash while the file is written would leave half of a new one and nothing of the old one; `os.replace` puts the
#   complete file in place in one instant.
#
# *A good answer.* "Adam's mean and square went back to zero and its step count to 0, so the first steps of epoch 11 are lr long
# in each direction, whatever the gradient: the loss jumps. The cosine started again at the full rate, which adds to the jump,
# and at epoch 20 it is only half way down, so the end is worse. The loader was at epoch 0 again and gave epoch 1's order. A
# complete checkpoint is 3x her file, since Adam keeps two numbers for each parameter. If the machine dies while the file
# is written, the temporary one is broken but the old checkpoint is still whole." 5 points.
#
# *A weak answer.* "The optimizer was not saved, so it had to learn again, and random numbers differ. Checkpoints should save
# everything." The optimizer is named, but not what it lost or why that makes a jump; schedule and size are missing, and
# "random numbers differ" is the opposite of what was seen: the order was the same. 1 point.
# ### END SOLUTION

# %% [markdown]
# ## What can go wrong
#
# **The loss swings, or falls and then rises, and no error is raised**: `zero_grad` is missing, so gradients add up. Or the
# learning rate is too high: divide it by ten and look again.
#
# **The loss is `nan` from some step on**: ask `gradient_report` after each backward pass for the first verdict that is not
# "fine". Exploding: clip, or warm up. Not finite: look for a `log` or a division in the loss.
#
# **`ValueError: the loader has no batches: is it empty, or an iterator that was used up?`**: `loader = iter(…)` or a
# generator gives its batches once. Pass the DataLoader itself.
#
# **Accuracy on the test set changes from one call to the next**: dropout is on. `evaluate` switches it off; a loop of your own
# needs `model.eval()`.
#
# **Memory grows with every batch**: a list keeps the losses as tensors, and each tensor keeps its graph. Keep `loss.item()`.
#
# **`ValueError: Object arrays cannot be loaded when allow_pickle=False`**: the file holds Python objects, so it is no checkpoint
# of this course. Do not "mend" it with `allow_pickle=True`: that runs whatever its author wished.

# %% [markdown]
# ## Recap
#
# | You built | Costs | PyTorch's counterpart | One true difference |
# |---|---|---|---|
# | `compute_gradients(parts=k)` | activations 1/k, the same FLOPs | `loss.backward()` in a loop | PyTorch leaves the scaling by shares to you |
# | `train_epoch`, `fit` | about 3 forward passes a batch | none; Lightning's `Trainer.fit` | PyTorch itself has no loop: everybody writes one |
# | `evaluate` | 1 forward pass, nothing kept | `model.eval()` and `torch.no_grad()` | `model.train()` afterwards thaws parts that were frozen; yours does not |
# | `gradient_report` | about 2 FLOPs a number | `torch.autograd.set_detect_anomaly` | PyTorch's looks for NaN at every node, and slows training |
# | `save_checkpoint` | 3x the parameters with Adam | `torch.save` | PyTorch's file holds a pickle, so `torch.load` restricts by default what it may run; it is not written atomically |
# | `EarlyStopping` | one copy of the parameters | none; Lightning's `EarlyStopping` | Lightning's stops only; another callback keeps the best |
# | `progress` | one line of text | none; `tqdm` | `tqdm` also estimates the time that is left |
#
# You have a framework. Try it in the milestone of 1986, backpropagation on real MNIST digits. In module 09 come layers that
# know what an image is.
