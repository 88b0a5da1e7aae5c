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
# # Milestone 2 · 1969: XOR and the hidden layer
#
# Today your gradients train what Rosenblatt's rule could not: a network with a hidden layer, on the problem that gave
# the perceptron a bad name.
#
# | | |
# |---|---|
# | **Needs** | 01 tensor, 02 activations, 03 layers, 04 losses, 06 autograd |
# | **Time** | 1 to 2 hours |
# | **Points** | 20: visible checks 14, hidden tests 3, one written answer 3 |
# | **Bar** | XOR with one hidden layer: 4 of 4 corners, from at least 9 of 10 seeds |
#
# ```
#   x1 ──┬──► hidden unit 1 ──┐
#        ├──► hidden unit 2 ──┤
#        │         …          ├──► output: above 0 means "exactly one of the two is 1"
#   x2 ──┴──► hidden unit 8 ──┘
#             Linear(2, 8), tanh      Linear(8, 1)
# ```
#
# ## What happened in 1969
#
# In 1969 Marvin Minsky and Seymour Papert of MIT published *Perceptrons*. It is told ever since that they showed that
# a perceptron can't compute XOR, and so ended the first age of neural networks. Both halves of that are too simple.
#
# The book is mathematics. It asks what a machine can compute that adds up the votes of many small detectors, each of
# which sees only part of a picture. *Parity*, whether the number of black cells is odd, needs a detector that sees them
# all. Whether a figure is in one piece needs detectors that see more and more cells as the picture grows. XOR is the
# parity of two cells, the smallest case, and you proved it yourself in the milestone of 1958, with four inequalities.
#
# A *hidden layer* can do it, and that was known. Warren McCulloch and Walter Pitts had built logic out of threshold
# units on paper in 1943, and a whole part of Rosenblatt's book of 1962 is about machines with more layers. What was
# missing was a good way to *train* one. Minsky and Papert have a page on that. There is no reason to suppose, they
# write, that the virtues of the perceptron carry over to many layers, and they call it an important research problem
# to "elucidate (or reject)" what they say is an intuitive judgement: "that the extension is sterile". The judgement
# was wrong, and it was no theorem.
#
# Did the book end the research? Money and people did go elsewhere. The sociologist Mikel Olazaran calls the story that
# the book proved the whole approach hopeless an *official history*. It prevailed, he argues, as the rival symbolic AI
# became the established approach, with funds and authority; strictly speaking, the proofs are about a class of machines
# with one layer that learns; and work on networks never stopped altogether.
#
# The method that you use today came in parts: Shun-ichi Amari proposed gradient descent for layered networks in 1967,
# Seppo Linnainmaa described the backward pass, for any computation, in 1970. They became widely known, together, in
# 1986: the next milestone.
#
# *Sources:* M. Minsky and S. Papert, *Perceptrons*, MIT Press, 1969, pages 231-232 for many layers; W. McCulloch and
# W. Pitts, "A logical calculus of the ideas immanent in nervous activity", Bulletin of Mathematical Biophysics 5
# (1943), 115-133; F. Rosenblatt, *Principles of Neurodynamics*, Spartan Books, 1962; S. Amari, "A theory of adaptive
# pattern classifiers", IEEE Transactions on Electronic Computers 16 (1967), 299-307; S. Linnainmaa, master's thesis,
# University of Helsinki, 1970; M. Olazaran, "A sociological study of the official history of the perceptrons
# controversy", Social Studies of Science 26 (1996), 611-659; J. Schmidhuber, "Annotated history of modern AI and deep
# learning", arXiv:2212.11279, 2022, on Amari and Linnainmaa.

# %% nbgrader={"grade": false, "grade_id": "xor_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import matplotlib.pyplot as plt
import numpy as np

import tinytorch_ref.autograd  # from here on, operations are recorded
from autograder import checks as check
from autograder.figures import figure, show
from tinytorch_ref.layers import Linear, Module, Sequential, Tanh
from tinytorch_ref.losses import binary_cross_entropy_with_logits
from tinytorch_ref.tensor import Tensor

CORNERS = Tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
TARGETS = {
    "AND": Tensor([[0.0], [0.0], [0.0], [1.0]]),
    "OR": Tensor([[0.0], [1.0], [1.0], [1.0]]),
    "XOR": Tensor([[0.0], [1.0], [1.0], [0.0]]),
}


class Threshold(Module):
    """1 where the input is above 0, else 0: the unit of 1943, and of Rosenblatt."""

    def forward(self, x):
        return Tensor((x.data > 0).astype(np.float32))


def network(hidden, seed):
    """Two inputs, one hidden layer of tanh units, one output; the weights are drawn from `seed`."""
    rng = np.random.default_rng(seed)
    return Sequential(Linear(2, hidden, rng=rng), Tanh(), Linear(hidden, 1, rng=rng))


def blank(*layers):
    """A chain of layers, with all their numbers set to 0."""
    model = Sequential(*layers)
    for parameter in model.parameters():
        parameter[...] = 0.0
    return model


# %% [markdown]
# ## 1 · By hand
#
# First, what was known in 1943: two units that draw a line each, and a third that looks at their answers.
#
# ```
#      x2
#       1   ■ · · · □        A hidden unit is 1 on one side of its line, 0 on the other.
#       ·   ·       ·        Find two lines, so that one more line, in the plane of the
#       ·   ·       ·        two answers (h1, h2), separates ■ from □.
#       0   □ · · · ■
#           0       1   x1
# ```
#
# Choose the nine numbers. Keep the lines away from the corners: the machine should still be right if each input is off by
# up to 0.1.


# %% nbgrader={"grade": false, "grade_id": "xor_hand", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wire(machine):
    """Set the numbers of a machine with two hidden threshold units so that it computes XOR.

    Parameters
    ----------
    machine : Sequential
        Linear(2, 2), Threshold(), Linear(2, 1); changed in place. Its output should be above 0 for (0, 1) and
        (1, 0), below 0 for (0, 0) and (1, 1), and still so if each input is off by up to 0.1 either way.

    Examples
    --------
    A unit with weight (1, 1) and bias -1.5 is 1 only if both inputs are 1: it computes AND.

    Hints: `machine[0]` and `machine[2]` are the linear layers. `layer.weight[...] = [[1, 2], [3, 4]]` writes
    one row a unit. OR is true at three corners, "not both" at three; where are both true?
    """
    ### BEGIN SOLUTION
    hidden, output = machine[0], machine[2]
    hidden.weight[...] = [[1.0, 1.0], [-1.0, -1.0]]  # OR, and "not both"
    hidden.bias[...] = [-0.5, 1.5]
    output.weight[...] = [[1.0, 1.0]]  # AND of the two
    output.bias[...] = [-1.5]
    ### END SOLUTION


# %%
# Try it: the four corners, what the hidden units say, and the output.
machine = blank(Linear(2, 2), Threshold(), Linear(2, 1))
wire(machine)
for corner in CORNERS:
    hidden = machine[1](machine[0](corner))
    print(corner.data, "->", hidden.data, "->", machine(corner).item())

# %% nbgrader={"grade": true, "grade_id": "xor_hand_check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Check (3 points): XOR at the corners, and near them. The answers are computed here, from your nine numbers.
machine = blank(Linear(2, 2), Threshold(), Linear(2, 1))
wire(machine)
w1, b1, w2, b2 = [parameter.data for parameter in machine.parameters()]
off = np.array([[0.0, 0.0], [0.1, 0.1], [0.1, -0.1], [-0.1, 0.1], [-0.1, -0.1]])
parts = check.partial(3)
for points, places, where in [(2, off[:1], "at the corners"), (1, off, "up to 0.1 away from the corners")]:
    with parts.part(points, where):
        for corner in ([0, 0], [0, 1], [1, 0], [1, 1]):
            hidden = (np.array(corner) + places) @ w1.T + b1 > 0
            output = hidden @ w2.T + b2
            check.equal(
                np.sign(output[:, 0]).tolist(),
                [1.0 if sum(corner) == 1 else -1.0] * len(places),
                because=f"{corner} has {sum(corner)} inputs of 1; only with one should the output be above 0",
            )
parts.score()

# %% [markdown]
# Nine numbers, chosen by a person who saw the picture. With a hundred inputs nobody sees the picture. So how could the
# machine find them?
#
# ## 2 · One step downhill
#
# Rosenblatt's rule needs to be told what each unit should have answered, and nobody says that of a hidden unit. The
# gradient does not need it. It asks of each number in the network: if this one grew a little, would the loss grow?
#
# For that the loss must change at all when a number does. A threshold's output does not: it is flat everywhere, apart
# from the jump. So the hidden units are now `tanh`, a smooth step, from -1 to 1. And the loss is the binary
# cross-entropy of the outputs $z_i$, one for each of $N$ examples, a smooth relative of the number of mistakes:
#
# $$L = -\frac1N \sum_i \big( t_i \log \sigma(z_i) + (1 - t_i) \log (1 - \sigma(z_i)) \big)$$
#
# with targets $t_i$ of 0 and 1. Then every number $p$ takes a step against its slope, all at once:
#
# $$p \leftarrow p - \eta \, \frac{\partial L}{\partial p}$$
#
# $\eta$, the *learning rate*, is called `lr` here. That is all of *gradient descent*; module 07 has better ways to step.


# %% nbgrader={"grade": false, "grade_id": "xor_step", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gradient_step(model, x, targets, lr):
    """One step of gradient descent on the binary cross-entropy of all examples, in place.

    Parameters
    ----------
    model : Module
        Its outputs for `x` are logits of shape (N, 1).
    x : Tensor of shape (N, in)
    targets : Tensor of shape (N, 1), numbers 0 and 1
    lr : float
        The learning rate.

    Returns
    -------
    float
        The loss before the step.

    Examples
    --------
    >>> model = blank(Linear(2, 1))
    >>> gradient_step(model, CORNERS, TARGETS["OR"], lr=2.0), model[0].weight.data, model[0].bias.data
    (0.6931472420692444, array([[0.5, 0.5]], dtype=float32), array([0.5], dtype=float32))

    Hints: `backward` adds to the gradients that are there, so forget the old ones first. `loss.item()` is a
    plain number.
    """
    ### BEGIN SOLUTION
    model.zero_grad()
    loss = binary_cross_entropy_with_logits(model(x), targets)
    loss.backward()
    for parameter in model.parameters():
        parameter[...] = parameter.data - lr * parameter.grad
    return loss.item()
    ### END SOLUTION


# %%
# Try it: three steps on XOR. What would a learning rate of 100 do?
model = network(8, seed=0)
print([round(gradient_step(model, CORNERS, TARGETS["XOR"], lr=1.0), 4) for _ in range(3)])

# %% nbgrader={"grade": true, "grade_id": "xor_step_check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Check (4 points): two steps of one layer on OR; its slopes are the means of (σ(z) - t) x and of σ(z) - t.
corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
t = np.array([[0.0], [1.0], [1.0], [1.0]])
model, w, b = blank(Linear(2, 1)), np.zeros((1, 2)), np.zeros(1)
parts = check.partial(4)
for points, step, cause in [
    (2, "the first step", "each number takes away lr times its slope"),
    (2, "the second step", "the slopes of the second step are its own; those of the first are forgotten"),
]:
    z = corners @ w.T + b
    loss = float(np.mean(np.logaddexp(0, z) - t * z))
    error = (1 / (1 + np.exp(-z)) - t) / 4
    w, b = w - 2 * error.T @ corners, b - 2 * error.sum(axis=0)
    with parts.part(points, step):
        got = gradient_step(model, Tensor(corners), Tensor(t), 2.0)
        check.close(got, loss, because="the mean loss of the four corners, before the step")
        check.close(model[0].weight, w, because=f"weight: {cause}")
        check.close(model[0].bias, b, because=f"bias: {cause}")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "xor_step_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): a hidden layer, gradients left over, other data, inputs untouched, same objects.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(4)
rows, t = rng.normal(size=(7, 2)), rng.integers(0, 2, size=(7, 1)).astype(float)
model = network(5, 11)
w1, b1, w2, b2 = [np.asarray(parameter.data, dtype=float) for parameter in model.parameters()]
x, targets, held = Tensor(rows), Tensor(t), model[0].weight
binary_cross_entropy_with_logits(model(x), targets).backward()
for step in range(6):
    h = np.tanh(rows @ w1.T + b1)
    z = h @ w2.T + b2
    loss = float(np.mean(np.logaddexp(0, z) - t * z))
    error = (1 / (1 + np.exp(-z)) - t) / 7
    back = (error @ w2) * (1 - h * h)
    w1, b1 = w1 - 0.3 * back.T @ rows, b1 - 0.3 * back.sum(axis=0)
    w2, b2 = w2 - 0.3 * error.T @ h, b2 - 0.3 * error.sum(axis=0)
    with check.unchanged(x, targets, because="a step changes the parameters only"):
        got = gradient_step(model, x, targets, 0.3)
    check.close(got, loss, rtol=1e-4, because="the loss before the step; gradients from before do not count")
for parameter, expected in zip(model.parameters(), [w1, b1, w2, b2]):
    check.close(
        parameter, expected, rtol=1e-3, atol=1e-5, because="both layers, weights and biases, take their steps"
    )
check.close(held, w1, rtol=1e-3, atol=1e-5, because="whoever holds a parameter sees it learn")
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · Many steps
#
# Now repeat. And count what in the end matters: of how many corners is the answer right?


# %% nbgrader={"grade": false, "grade_id": "xor_train", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train(model, x, targets, steps, lr):
    """Take `steps` steps of gradient descent; returns a list of the losses, each before its step."""
    ### BEGIN SOLUTION
    return [gradient_step(model, x, targets, lr) for _ in range(steps)]
    ### END SOLUTION


def correct(model, x, targets):
    """How many answers are right, an int: a logit above 0 where the target is 1, not above 0 where it is 0.

    Hints: compare arrays of one shape, (N, 1). A logit of 0 is a probability of 1/2.
    """
    ### BEGIN SOLUTION
    return int(((model(x).data > 0) == (targets.data == 1)).sum())
    ### END SOLUTION


# %%
# Try it: ten seeds.
fig, axes = figure()
for seed in range(10):
    model = network(8, seed)
    axes.plot(
        train(model, CORNERS, TARGETS["XOR"], steps=500, lr=1.0), color="#0072B2", linestyle="-", alpha=0.5
    )
axes.axhline(math.log(2), color="#D55E00", linestyle="--", label="log 2: one half for every corner")
axes.set(xlabel="step", ylabel="loss (nats)", yscale="log")
axes.legend()
show(
    fig,
    alt="Ten curves of the loss on XOR fall from about 0.7 to a few thousandths; none stays at log 2.",
)

# %% [markdown]
# *The figure:* the loss of ten networks with eight hidden units, on a logarithmic axis. Each falls from about 0.7 to a few
# thousandths in 500 steps, some sooner than others. The dashed line is what a network pays that knows nothing.

# %% nbgrader={"grade": true, "grade_id": "xor_train_check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Check (2 points): the losses of 40 steps of one layer on OR, and the number of right answers.
corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
t = np.array([[0.0], [1.0], [1.0], [1.0]])
w, b, expected = np.zeros((1, 2)), np.zeros(1), []
for _ in range(41):
    z = corners @ w.T + b
    expected.append(float(np.mean(np.logaddexp(0, z) - t * z)))
    error = (1 / (1 + np.exp(-z)) - t) / 4
    w, b = w - 0.5 * error.T @ corners, b - 0.5 * error.sum(axis=0)
layer = blank(Linear(2, 1))
losses = train(layer, Tensor(corners), Tensor(t), 40, 0.5)
check.equal(np.shape(losses), (40,), because="one loss a step, and as many steps as asked for")
check.close(
    np.array(losses),
    np.array(expected[:40]),
    rtol=1e-4,
    because="loss i is the one before step i, and each step has the learning rate that was given",
)
after = gradient_step(layer, Tensor(corners), Tensor(t), 0.5)
check.close(after, expected[40], rtol=1e-4, because="the model that was given is trained, by 40 steps")
layer = blank(Linear(2, 1))
check.equal(
    correct(layer, Tensor(corners), Tensor(t)), 1, because="a logit of 0 is not above 0: only (0, 0) is right"
)
layer[0].weight[...] = np.array([[1.0, 1.0]])
layer[0].bias[...] = np.array([-0.6])
check.equal(correct(layer, Tensor(corners), Tensor(t)), 4, because="a logit of 0.4 is above 0, so it says 1")
check.equal(
    correct(layer, Tensor(corners), Tensor(1 - t)), 0, because="with the targets turned round none is right"
)

# %% nbgrader={"grade": true, "grade_id": "xor_train_hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (1 point): training in two halves, other learning rates, no steps, other numbers of examples.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(8)
rows, t = rng.normal(size=(9, 2)), rng.integers(0, 2, size=(9, 1)).astype(float)
whole, halves = network(4, 2), network(4, 2)
losses = train(whole, Tensor(rows), Tensor(t), 10, 0.2)
first = train(halves, Tensor(rows), Tensor(t), 4, 0.2)
second = train(halves, Tensor(rows), Tensor(t), 6, 0.2)
check.close(
    np.array(list(first) + list(second)),
    np.array(losses),
    rtol=1e-4,
    because="training goes on from where it stood",
)
check.equal(len(train(whole, Tensor(rows), Tensor(t), 0, 0.2)), 0, because="no step, no loss")
still = network(4, 2)
losses = train(still, Tensor(rows), Tensor(t), 3, 0.0)
check.close(np.array(losses), np.full(3, losses[0]), because="with a learning rate of 0 nothing moves")
w1, b1, w2, b2 = [parameter.data for parameter in still.parameters()]
z = np.tanh(rows @ w1.T + b1) @ w2.T + b2
check.equal(
    correct(still, Tensor(rows), Tensor(t)),
    int(((z > 0) == (t == 1)).sum()),
    because="nine examples, one answer each",
)
check.equal(
    correct(still, Tensor(rows[:1]), Tensor(t[:1])) in (0, 1), True, because="one example, one answer"
)
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · The bar
#
# Ten networks that differ in nothing but the seed of their weights; at least nine must have all four corners right. The
# check computes the answers itself.

# %%
# What is reached, in one line; `tinytorch milestone 1969` shows it.
wins = 0
for seed in range(10):
    model = network(8, seed)
    losses = train(model, CORNERS, TARGETS["XOR"], steps=500, lr=1.0)
    wins += correct(model, CORNERS, TARGETS["XOR"]) == 4
print(f"Result: XOR, 4 of 4 corners, from {wins} of 10 seeds; 33 numbers, 500 steps")

# %% nbgrader={"grade": true, "grade_id": "xor_bar_check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Check (3 points): the bar of this milestone. All four corners, from at least 9 of 10 seeds.
corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
right = []
for seed in range(10):
    model = network(8, seed)
    train(model, Tensor(corners), Tensor([[0.0], [1.0], [1.0], [0.0]]), 500, 1.0)
    w1, b1, w2, b2 = [parameter.data for parameter in model.parameters()]
    z = np.tanh(corners @ w1.T + b1) @ w2.T + b2
    right.append(int(((z[:, 0] > 0) == np.array([False, True, True, False])).sum()))
wins = right.count(4)
check.equal(
    wins >= 9,
    True,
    because=f"the seeds have {right} corners right, so {wins} of 10 have all four; 9 should",
)

# %%
# What one of them has learned, everywhere on the plane.
model = network(8, seed=0)
losses = train(model, CORNERS, TARGETS["XOR"], steps=500, lr=1.0)
ticks = np.linspace(-0.5, 1.5, 101)
plane = Tensor(np.stack(np.meshgrid(ticks, ticks), axis=-1))
chance = 1 / (1 + np.exp(-model(plane).data[..., 0]))
fig, axes = figure(4.8, 3.8)
picture = axes.contourf(ticks, ticks, chance, levels=np.linspace(0, 1, 11), cmap="PuOr")
fig.colorbar(picture, label="probability of 1")
for (x1, x2), target in zip(CORNERS.data, TARGETS["XOR"].data[:, 0]):
    axes.plot(x1, x2, "s", color="black", markerfacecolor="black" if target else "white", markersize=10)
axes.set(xlabel="x1", ylabel="x2", xticks=[0, 1], yticks=[0, 1])
show(
    fig,
    alt="Map of the plane, cut by two curves: high probability at (0, 1) and (1, 0), low at the others.",
)

# %% [markdown]
# *The figure:* the probability that the network gives to "exactly one". Black corners are those with target 1. Between
# the corners and beyond them its answer is its own: nobody told it where to draw the lines.
#
# ## 5 · Why start at random?
#
# All the weights were drawn at random. Why not start from zeros, as the perceptron did?
#
# If all numbers are 0, each `tanh` gives 0, so the output's weights have slope 0. And since these are 0, nothing comes back
# to the hidden layer. Only the bias of the output has a slope: the network learns *one* number, the same answer for every
# input.
#
# Predict where that ends. The best single answer is the probability $q$, the share of targets that are 1. What loss is
# left? First as a formula; then train, and compare.


# %% nbgrader={"grade": false, "grade_id": "xor_zeros", "locked": false, "schema_version": 3, "solution": true, "task": false}
def loss_from_zeros(targets):
    """The loss, in nats, at which training from zeros ends.

    Parameters
    ----------
    targets : list of int
        0 and 1, at least one of each.

    Returns
    -------
    float

    Examples
    --------
    >>> round(loss_from_zeros([0, 1, 1, 1, 1]), 4)
    0.5004
    """
    ### BEGIN SOLUTION
    q = sum(targets) / len(targets)
    return -(q * math.log(q) + (1 - q) * math.log(1 - q))
    ### END SOLUTION


# %%
# Try it: predicted, and measured. Which of the three does a single number answer best?
for name, targets in TARGETS.items():
    losses = train(blank(Linear(2, 8), Tanh(), Linear(8, 1)), CORNERS, targets, steps=200, lr=1.0)
    predicted = loss_from_zeros([int(t) for t in targets.data[:, 0]])
    print(f"{name:3}: predicted {predicted:.4f}, from zeros {losses[-1]:.4f}")

# %% nbgrader={"grade": true, "grade_id": "xor_zeros_check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Check (2 points): the formula, for several shares of ones, and what your own training from zeros comes to.
for ones, zeros in [(2, 2), (1, 3), (3, 1), (1, 9), (30, 10)]:
    q = ones / (ones + zeros)
    expected = -(q * math.log(q) + (1 - q) * math.log(1 - q))
    check.close(
        loss_from_zeros([1] * ones + [0] * zeros),
        expected,
        because=f"the mean loss, in nats, if all of {ones} ones and {zeros} zeros get the probability {q:g}",
    )
x = Tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
for targets in ([0, 0, 0, 1], [0, 1, 1, 0]):
    model = blank(Linear(2, 4), Tanh(), Linear(4, 1))
    measured = train(model, x, Tensor(np.array([targets]).T.astype(float)), 200, 1.0)[-1]
    check.close(
        measured, loss_from_zeros(targets), rtol=1e-3, because="what training from zeros really comes to"
    )
    check.close(
        model[0].weight, np.zeros((4, 2)), because="the hidden layer never moves: nothing comes back to it"
    )

# %% [markdown]
# ## 6 · How many hidden units?
#
# By hand you needed two. Does gradient descent manage with two?

# %%
# Try it: ten seeds for each width.
for hidden in (1, 2, 3, 8):
    corners_right = []
    for seed in range(10):
        model = network(hidden, seed)
        losses = train(model, CORNERS, TARGETS["XOR"], steps=500, lr=1.0)
        corners_right.append(correct(model, CORNERS, TARGETS["XOR"]))
    wins = corners_right.count(4)
    print(f"hidden units: {hidden}; corners right: {corners_right}; all four from {wins} of 10 seeds")

# %%
# One of those that failed with two units: its loss, its slopes, and its answers.
model = network(2, seed=0)
losses = train(model, CORNERS, TARGETS["XOR"], steps=2000, lr=1.0)
print(
    f"loss {losses[-1]:.4f}, largest slope {max(float(np.abs(p.grad).max()) for p in model.parameters()):.4f}"
)
print("probabilities", (1 / (1 + np.exp(-model(CORNERS).data[:, 0]))).round(2))

# %% [markdown]
# One unit is one line, and never enough. Two are enough for a person, and for seven of these seeds. The other three come to
# rest on a plain where all slopes are close to 0, far above the loss that two units could reach. With eight units, more
# than are needed, none of the ten gets stuck. Networks larger than necessary are often *easier* to train. The paper of
# 1986, of the next milestone, reports the same: its networks got stuck only if they had just enough connections.
#
# Now explain, in two to five sentences:
#
# 1. Why can't `gradient_step` train the machine of section 1, with its threshold units?
# 2. Why does the network that starts from zeros stay where it is, when a network with random weights does not?
# 3. What has the network that got stuck, with two hidden units and seed 0, learned, and what not? Use its loss: it is close
#    to $\frac12 \log 2$.

# %% [markdown] nbgrader={"grade": true, "grade_id": "xor_explain", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Rubric (3 points).**
#
# - 1: the slope of a threshold is 0 wherever it has one, so no gradient reaches the hidden layer; `tanh` is smooth. (That our
#   `Threshold` breaks the recorded graph is also true, and alone worth half a point.)
# - 1: from zeros the hidden outputs are 0, so the output's weights have slope 0, and as these are 0 the hidden weights have
#   slope 0; random weights make the units differ and both factors non-zero. Also right: units that start alike get the same
#   gradient and stay alike.
# - 1: two corners are answered almost perfectly, loss 0; the other two get the probability 1/2, loss log 2 each, and the mean
#   of the four is (log 2) / 2. The two corners share one output, although one has target 1 and the other 0.
#
# *A good answer.* "A threshold is flat on both sides of its jump, so the chain rule multiplies everything that comes back by
# 0 and the hidden weights have no slope. From zeros, h = 0 makes the slope of the second layer 0 and w2 = 0 makes that of
# the first 0, so only the output bias moves; with random weights neither product is 0. The stuck network says 0 and 1 for
# two corners and 0.5 for the other two, which costs (0 + 0 + log 2 + log 2) / 4: its units no longer tell these two apart,
# and pushing one up pushes the other up as well." 3 points.
#
# *A weak answer.* "Thresholds can't be differentiated, zeros cause vanishing gradients, and the network is in a local
# minimum." It names three things without saying how any comes about, and does not use the loss. 1 point at most.
# ### END SOLUTION

# %% [markdown]
# ## What you have seen
#
# | | By hand, 1943 | One layer, 1958 | Hidden layer, gradient |
# |---|---|---|---|
# | units | threshold | threshold | tanh |
# | numbers | 9 | 3 | 33 |
# | XOR | 4 of 4 | at most 3 of 4 | 4 of 4, from all ten seeds |
# | who chose the numbers | a person | nobody can | 500 steps of gradient descent |
# | guarantee | a proof, corner by corner | a theorem: impossible | none: it may get stuck |
#
# The last row is the price. Rosenblatt's rule came with a theorem; that gradient descent works with hidden units is
# experience. Does it still work when the problem is larger than four corners? After modules 07 and 08 you try it on eight
# thousand digits: the milestone of 1986.
