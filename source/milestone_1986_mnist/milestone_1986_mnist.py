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
# # Milestone 3 · 1986: backpropagation on MNIST
#
# Today all that you have built reads handwriting: your data, layers, gradients, optimizer and training loop.
#
# | | |
# |---|---|
# | **Needs** | Modules 01 to 08 |
# | **Time** | 2 to 3 hours; the solved notebook runs in about a quarter of a minute |
# | **Points** | 20: visible checks 14, hidden tests 3, one written answer 3 |
# | **Bar** | MNIST, digits that were held out: at least 95 % correct; at least 97 % on the full MNIST where it is present |
#
# ```
#   28 x 28 pixels                                        error: what the outputs
#   ┌─────────┐                                           were, minus what they
#   │  ▄▄▄▄   │   784        128            10            should have been
#   │    ▄▀   │ ──────► Linear, ReLU ──► Linear ──► softmax ──┐
#   │   █     │            ▲                ▲                 │
#   └─────────┘            └── w1, b1 ◄─────┴── w2, b2 ◄──────┘   the way back
# ```
#
# ## What happened in 1986
#
# In 1986 *Nature* printed four pages by David Rumelhart, Geoffrey Hinton and Ronald Williams: "Learning representations
# by back-propagating errors". They ran a network forward, compared its output with the wanted one, and passed the error
# backward through the same connections, layer by layer, so that each weight got its share of the blame. Even hidden
# units, which nobody tells what they should have said, found something useful to say. The paper has the momentum that
# you use, too. Its examples are small: whether a row of six inputs is symmetric, and who is whose aunt in two families,
# English and Italian, of the same shape.
#
# They were not the first. Backpropagation is the chain rule, evaluated from the end. Seppo Linnainmaa had published it
# for any computation in 1970, and Paul Werbos had applied it to networks by 1982. David Parker and Yann LeCun, says the
# paper itself, found variants of it independently. What it is remembered for is the demonstration that hidden units
# learn *representations*. The authors were careful, too: in its current form, they wrote, the procedure is not a
# plausible model of learning in brains.
#
# Would it work on something real? In 1989 LeCun and his colleagues at Bell Labs trained a network on 7,291 digits from
# zip codes on United States mail. It took three days on a workstation. By 1998 networks of this kind read millions of
# checks a day.
#
# The digits that you use, *MNIST*, come from two collections of the National Institute of Standards and Technology: one
# written by employees of the Census Bureau, one by high school students. On the full set, which has 60,000 digits to
# learn and 10,000 to test, the paper of 1998 by LeCun and others reports 4.7 % errors for a network with one hidden
# layer of 300 units. You learn from 8,000. So 95 % is not a low bar.
#
# *Sources:* D. Rumelhart, G. Hinton and R. Williams, Nature 323 (1986), 533-536, and chapter 8 of *Parallel Distributed
# Processing*, volume 1, MIT Press, 1986; S. Linnainmaa, master's thesis, University of Helsinki, 1970; J. Schmidhuber,
# "Annotated history of modern AI and deep learning", arXiv:2212.11279, 2022, on Linnainmaa and Werbos; D. Parker,
# "Learning-logic", report TR-47, MIT, 1985; Y. LeCun, "Une procédure d'apprentissage pour réseau à seuil asymétrique",
# Cognitiva 85, Paris, 1985, 599-604; Y. LeCun and others, "Backpropagation applied to handwritten zip code recognition",
# Neural Computation 1 (1989), 541-551; Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, "Gradient-based learning applied
# to document recognition", Proceedings of the IEEE 86 (1998), 2278-2324.

# %% nbgrader={"grade": false, "grade_id": "mnist_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tinytorch_ref
from autograder import checks as check
from autograder.figures import figure, show
from tinytorch_ref.activations import softmax
from tinytorch_ref.autograd import no_grad
from tinytorch_ref.data import DataLoader, Shifted, TensorDataset, load_mnist
from tinytorch_ref.layers import Linear, ReLU, Sequential
from tinytorch_ref.losses import cross_entropy
from tinytorch_ref.optimizers import SGD
from tinytorch_ref.tensor import Tensor
from tinytorch_ref.training import accuracy, evaluate, fit

BUNDLED = Path(tinytorch_ref.__file__).parent / "datasets"


def pixels(images):
    """Images (..., 28, 28) of 0 to 255 as rows (..., 784) from 0 to 1, in float32."""
    return images.reshape(*images.shape[:-2], 784) / np.float32(255)


def network(seed):
    """784 pixels, 128 hidden units, 10 logits; the weights are drawn from `seed`."""
    rng = np.random.default_rng(seed)
    return Sequential(Linear(784, 128, rng=rng), ReLU(), Linear(128, 10, rng=rng))


def twice(function, *arrays):
    """The results of two calls with the same arrays: they differ if the first call changed the arrays."""
    return function(*arrays), function(*arrays)


train_set = load_mnist(root=BUNDLED, transform=pixels)
test_set = load_mnist(train=False, root=BUNDLED, transform=pixels)

# %%
# The data: name and number, and the first digit of each class.
print(train_set)
print(test_set)
images, labels = train_set.arrays
row = np.hstack([images[np.flatnonzero(labels == digit)[0]] for digit in range(10)])
fig, axes = figure(8, 1.4)
axes.imshow(row, cmap="Greys")
axes.set(xticks=[], yticks=[])
axes.grid(False)
show(fig, alt="Ten handwritten digits in a row, from 0 to 9, black on white.")

# %% [markdown]
# *The figure:* one training digit of each class.
#
# ## 1 · The way back, by hand
#
# Since module 06 `backward` does this for you. Once, do it yourself, for one hidden layer and a batch of $N$ rows.
# Forward, from $X$ of shape `(N, in)` to the activities $H$ `(N, hidden)` and the logits $Z$ `(N, C)`:
#
# $$A = X W_1^\top + b_1, \qquad H = \max(A, 0), \qquad Z = H W_2^\top + b_2$$
#
# The loss is the mean cross-entropy of softmax$(Z)$. (The paper had logistic units and squared errors; the idea is the
# same.) Then each row has an *error* at each output, $E$. And each hidden unit gets an error, $D$: those of the outputs
# that it feeds, weighted by how strongly it feeds them, but only where it was active.
#
# $$E = \tfrac1N\,(\mathrm{softmax}(Z) - Y), \qquad D = (E\,W_2) \odot [A > 0]$$
#
# Each row of $Y$ is *one-hot*: 1 at the label, 0 elsewhere. $[A > 0]$ is 1 where $A$ is positive and 0 elsewhere, and
# $\odot$ multiplies number by number. The same sentence then holds for both layers: the slope of a weight is the error
# at its output end times the activity at its input end, summed over the batch. The slope of a bias is the error, summed
# over the batch.


# %% nbgrader={"grade": false, "grade_id": "mnist_backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def backpropagate(x, labels, w1, b1, w2, b2):
    """Slopes of the mean cross-entropy of a network with one hidden layer of ReLU units, in plain NumPy.

    Parameters
    ----------
    x : numpy.ndarray of shape (N, in)
    labels : numpy.ndarray of int, shape (N,)
    w1, b1 : numpy.ndarray of shapes (hidden, in) and (hidden,)
    w2, b2 : numpy.ndarray of shapes (C, hidden) and (C,)

    Returns
    -------
    tuple of numpy.ndarray
        The slopes of w1, b1, w2 and b2, each of the shape of its array. The inputs are not changed.

    Examples
    --------
    >>> one, zero = np.ones((1, 1)), np.zeros((2, 1))
    >>> [slope.tolist() for slope in backpropagate(one, np.array([0]), one, one[0], zero, zero[:, 0])]
    [[[0.0]], [0.0], [[-1.0], [1.0]], [-0.5, 0.5]]

    Hints: subtract each row's maximum before `np.exp`. `error[np.arange(N), labels] -= 1` takes away the
    one-hot.
    """
    ### BEGIN SOLUTION
    N = len(x)
    a = x @ w1.T + b1
    h = np.maximum(a, 0)
    z = h @ w2.T + b2
    exps = np.exp(z - z.max(axis=1, keepdims=True))
    error = exps / exps.sum(axis=1, keepdims=True)
    error[np.arange(N), labels] -= 1
    error /= N
    back = (error @ w2) * (a > 0)
    return back.T @ x, back.sum(axis=0), error.T @ h, error.sum(axis=0)
    ### END SOLUTION


# %%
# Try it: your formula, and your framework, on 64 digits. How far may they differ, in float32?
model = network(seed=0)
x, labels = train_set.batch(np.arange(64))
cross_entropy(model(x), labels).backward()
by_hand = backpropagate(x.data, labels.data, *[parameter.data for parameter in model.parameters()])
for (name, parameter), slope in zip(model.named_parameters(), by_hand):
    print(f"{name:8} {str(parameter.shape):10} largest difference {np.abs(parameter.grad - slope).max():.1e}")

# %% nbgrader={"grade": true, "grade_id": "mnist_backward_check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Check (4 points): against finite differences of the loss, number by number.
rng = np.random.default_rng(0)
x, labels = rng.normal(size=(5, 4)), np.array([0, 2, 1, 2, 2])
numbers = [rng.normal(size=shape) for shape in [(6, 4), (6,), (3, 6), (3,)]]


def loss():
    w1, b1, w2, b2 = numbers
    z = np.maximum(x @ w1.T + b1, 0) @ w2.T + b2
    return float(np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(5), labels]))


slopes = []
for array in numbers:
    slope = np.zeros_like(array)
    for i in np.ndindex(array.shape):
        before = array[i]
        array[i] = before + 1e-6
        above = loss()
        array[i] = before - 1e-6
        slope[i] = (above - loss()) / 2e-6
        array[i] = before
    slopes.append(slope)
got = backpropagate(x, labels, *numbers)
check.equal(len(got), 4, because="w1, b1, w2 and b2 have a slope each")
parts = check.partial(4)
for points, first, layer, cause in [
    (
        2,
        2,
        "output layer",
        "the error is (softmax - one-hot) / N, and a weight's slope is error times activity h",
    ),
    (2, 0, "hidden layer", "the errors come back through w2, and stop at units that were not active"),
]:
    with parts.part(points, f"the {layer}"):
        check.close(got[first], slopes[first], rtol=1e-4, because=f"weight of the {layer}: {cause}")
        check.close(
            got[first + 1], slopes[first + 1], rtol=1e-4, because=f"bias of the {layer}: the error, summed"
        )
parts.score()

# %% nbgrader={"grade": true, "grade_id": "mnist_backward_hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (1 point): one example, other sizes, huge logits beside small ones, inputs untouched.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(6)
for N, sizes in [(1, (3, 2, 4)), (9, (2, 7, 2)), (4, (5, 5, 5))]:
    x, labels = rng.normal(size=(N, sizes[0])), rng.integers(0, sizes[2], size=N)
    w1, b1 = rng.normal(size=(sizes[1], sizes[0])), rng.normal(size=sizes[1])
    w2, b2 = rng.normal(size=(sizes[2], sizes[1])), rng.normal(size=sizes[2])
    a = x @ w1.T + b1
    z = np.maximum(a, 0) @ w2.T + b2
    error = (np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) - np.eye(sizes[2])[labels]) / N
    back = (error @ w2) * (a > 0)
    expected = [back.T @ x, back.sum(axis=0), error.T @ np.maximum(a, 0), error.sum(axis=0)]
    got, again = twice(backpropagate, x, labels, w1, b1, w2, b2)
    for slope, second, right in zip(got, again, expected):
        check.close(slope, right, because=f"{N} rows, layers of {sizes}")
        check.close(second, right, because="a second call: the first should not change its arrays")
x, one = np.array([[1.0], [0.0]]), np.ones((1, 1))
got = backpropagate(x, np.array([1, 1]), one, np.zeros(1), np.array([[2000.0], [0.0]]), np.zeros(2))
check.close(
    got[3],
    np.array([0.75, -0.75]),
    because="a logit of 2000 overflows exp; take away the maximum of each row first",
)
check.close(got[0], np.array([[1000.0]]), because="and the errors come back through the weights as they are")
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · Train
#
# From here on the framework works for you. A training is three lines: a loader that shuffles, an optimizer with
# momentum, and `fit`. After each epoch `fit` also measures the loss on digits that are not learned; no decision hangs on
# that here, it is for the picture.


# %% nbgrader={"grade": false, "grade_id": "mnist_train", "locked": false, "schema_version": 3, "solution": true, "task": false}
def train_digits(model, train_set, unseen, epochs, seed=0, batch_size=64, lr=0.05, momentum=0.9):
    """Train a classifier by cross-entropy and SGD with momentum.

    Parameters
    ----------
    model : Module
        Gives logits; is changed.
    train_set : Dataset
        Samples (x, label), in batches of `batch_size` as a shuffling DataLoader with this seed gives them.
    unseen : Dataset
        The loss on it is measured after each epoch, in batches of 500.
    epochs, seed, batch_size : int
    lr, momentum : float

    Returns
    -------
    dict of str to list of float
        "train" and "validation": the losses of each epoch, as `fit` returns them.

    Hints: `fit`, of module 08, takes the model, a loader, a loss function, an optimizer and the number of
    epochs, and by name, as `validation`, a loader of the unseen samples. `help(fit)` tells the rest.
    """
    ### BEGIN SOLUTION
    loader = DataLoader(train_set, batch_size, shuffle=True, seed=seed)
    optimizer = SGD(model.parameters(), lr=lr, momentum=momentum)
    return fit(model, loader, cross_entropy, optimizer, epochs, validation=DataLoader(unseen, 500))
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "mnist_train_check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Check (3 points): a single layer on 100 rows, batch by batch, against the same training in NumPy.
rng = np.random.default_rng(2)
rows, labels = rng.normal(size=(100, 5)), rng.integers(0, 3, size=100)
others, other_labels = rng.normal(size=(30, 5)), rng.integers(0, 3, size=30)
model = Sequential(Linear(5, 3, rng=4))
w, b = [np.asarray(parameter.data, dtype=float) for parameter in model.parameters()]
v_w, v_b, losses, unseen = np.zeros_like(w), np.zeros_like(b), [], []


def row_losses(x, t):
    z = x @ w.T + b
    logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -logs[np.arange(len(t)), t], np.exp(logs) - np.eye(3)[t]


for epoch in range(3):
    order, total = np.random.default_rng([7, epoch]).permutation(100), 0.0
    for batch in (order[:64], order[64:]):
        loss, error = row_losses(rows[batch], labels[batch])
        total += loss.sum()
        v_w = 0.9 * v_w + error.T @ rows[batch] / len(batch)
        v_b = 0.9 * v_b + error.mean(axis=0)
        w, b = w - 0.05 * v_w, b - 0.05 * v_b
    losses.append(total / 100)
    unseen.append(row_losses(others, other_labels)[0].mean())
history = train_digits(model, TensorDataset(rows, labels), TensorDataset(others, other_labels), 3, seed=7)
parts = check.partial(3)
with parts.part(2, "the training"):
    check.close(
        model[0].weight,
        w,
        rtol=1e-3,
        because="3 epochs, shuffled with the seed, batches of 64, SGD with momentum",
    )
    check.close(
        np.array(history["train"]),
        np.array(losses),
        rtol=1e-3,
        because="the mean training loss of each epoch",
    )
with parts.part(1, "the loss on unseen samples"):
    check.close(
        np.array(history["validation"]),
        np.array(unseen),
        rtol=1e-3,
        because="measured on the second data set, once after each epoch",
    )
parts.score()

# %% nbgrader={"grade": true, "grade_id": "mnist_train_hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (1 point): other batch sizes, rates, momenta and seeds; one batch that holds everything.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(5)
rows, labels = rng.normal(size=(23, 4)), rng.integers(0, 3, size=23)
others, other_labels = 5 * rng.normal(size=(7, 4)), rng.integers(0, 3, size=7)
for seed, size, lr, momentum in [(3, 10, 0.1, 0.5), (0, 1, 0.01, 0.0), (1, 40, 0.3, 0.9)]:
    model = Sequential(Linear(4, 3, rng=seed))
    w, b = [np.asarray(parameter.data, dtype=float) for parameter in model.parameters()]
    v_w, v_b = np.zeros_like(w), np.zeros_like(b)
    for epoch in range(2):
        order = np.random.default_rng([seed, epoch]).permutation(23)
        for start in range(0, 23, size):
            batch = order[start : start + size]
            z = rows[batch] @ w.T + b
            error = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) - np.eye(3)[labels[batch]]
            v_w = momentum * v_w + error.T @ rows[batch] / len(batch)
            v_b = momentum * v_b + error.mean(axis=0)
            w, b = w - lr * v_w, b - lr * v_b
    train_digits(
        model,
        TensorDataset(rows, labels),
        TensorDataset(others, other_labels),
        2,
        seed=seed,
        batch_size=size,
        lr=lr,
        momentum=momentum,
    )
    check.close(
        model[0].weight,
        w,
        rtol=1e-3,
        atol=1e-5,
        because=f"seed {seed}, batches of {size}, lr {lr}, momentum {momentum}",
    )
    check.close(model[0].bias, b, rtol=1e-3, atol=1e-5, because="the bias learns as well")
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "mnist_experiment_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
class Runs(dict):
    """What `experiment` has trained, by name."""

    def __missing__(self, name):
        raise LookupError(f"{name!r} is not trained yet: run the cell with its experiment first")


runs = Runs()


def experiment(name, train_set, test_set, epochs, seed=0):
    """Train a new network, keep it in `runs`, and print what it is worth on the test set and what it took."""
    model, start = network(seed), time.process_time()
    history = train_digits(model, train_set, test_set, epochs, seed)
    seconds = time.process_time() - start
    share = evaluate(model, DataLoader(test_set, 500), accuracy)[0]
    runs[name] = {"model": model, "history": history, "share": share, "seconds": seconds}
    print(f"{name}: {share:.2%} of {len(test_set):,} unseen digits, {seconds:.1f} s of processor time")


def random_split(seed):
    """All 10,000 bundled digits, mixed, and again split into 8,000 to learn and 2,000 to test."""
    images, labels = [np.concatenate(pair) for pair in zip(train_set.arrays, test_set.arrays)]
    order = np.random.default_rng(seed).permutation(len(labels))
    return [
        TensorDataset(images[part], labels[part], transform=pixels) for part in (order[:8000], order[8000:])
    ]


# %%
# Try it: the 8,000 training digits, twenty times.
experiment("as they are", train_set, test_set, epochs=20)

# %% [markdown]
# Just below the bar; another seed or learning rate may lift it just above. And it knew the training digits by heart long
# before the end. More epochs don't help; more *digits* would.
#
# There are some for nothing. A 7 that stands a pixel further left is still a 7. `Shifted`, of module 05, gives each digit
# five times: in place, and moved by a pixel each way.

# %%
# Try it: five epochs of five times as many digits. Is that more work than twenty epochs of the plain ones?
experiment("shifted as well", Shifted(load_mnist(root=BUNDLED), pixels), test_set, epochs=5)

# %%
# Losses on what is learned, and on what is not.
fig, axes = figure(7, 3.8)
for name, epoch, colour in [("as they are", 8_000, "#0072B2"), ("shifted as well", 40_000, "#D55E00")]:
    history = runs[name]["history"]
    digits = np.arange(1, len(history["train"]) + 1) * epoch
    axes.plot(digits, history["train"], color=colour, linestyle="-", label=f"{name}, training")
    axes.plot(digits, history["validation"], color=colour, linestyle="--", label=f"{name}, unseen")
axes.set(xlabel="digits shown", ylabel="cross-entropy (nats)", yscale="log")
axes.legend()
show(
    fig,
    alt="Losses against digits shown. Plain: the training loss falls below 0.01, the unseen one stays at 0.2."
    " Shifted: the training loss falls less far, the unseen one is lower.",
)

# %% [markdown]
# *The figure:* solid lines are losses on training digits, dashed ones on unseen digits. Without shifts the two part: the
# training loss goes to nearly nothing, while the unseen loss hardly falls after eight epochs. With shifts there is more
# to learn, the network can't learn it by heart so soon, and what it learns is worth more elsewhere.
#
# ## 3 · The bar
#
# The check first compares the slopes that `backward` gives with the formula of section 1. Then it trains a network of
# its own, with another seed, on the shifted digits; it makes sure that the test digits are the right ones, and computes
# the answers itself. If you have the full MNIST (in the folder that the environment variable
# `TINYTORCH_DATA` names, or in the cache after `load_mnist(download=True)`), it takes that as well: 60,000 digits, six
# epochs, no shifts.

# %%
# What is reached, in a line or two; `tinytorch milestone 1986` shows it.
if load_mnist(train=False).name == "MNIST (60k)":
    experiment(
        "full MNIST", load_mnist(transform=pixels), load_mnist(train=False, transform=pixels), epochs=6
    )
for name in ("shifted as well", "full MNIST"):
    if run := runs.get(name):
        took = f"{run['seconds']:.1f} s of processor time"
        print(f"Result: {name}: {run['share']:.1%} of unseen digits, {took}")

# %% nbgrader={"grade": true, "grade_id": "mnist_bar_check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Check (4 points): the bar. 95 % of 2,000 unseen digits, and 97 % on the full MNIST if it is there.
import hashlib

rng = np.random.default_rng(1)
x, t = rng.normal(size=(7, 5)), rng.integers(0, 3, size=7)
model = Sequential(Linear(5, 6, rng=1), ReLU(), Linear(6, 3, rng=2))
cross_entropy(model(Tensor(x)), t).backward()
w1, b1, w2, b2 = [parameter.data for parameter in model.parameters()]
a = x @ w1.T + b1
error = np.exp(np.maximum(a, 0) @ w2.T + b2)
error = (error / error.sum(axis=1, keepdims=True) - np.eye(3)[t]) / 7
for layer, slope in [(2, error.T @ np.maximum(a, 0)), (0, ((error @ w2) * (a > 0)).T @ x)]:
    check.close(
        model[layer].weight.grad,
        slope,
        rtol=1e-4,
        because=f"`backward` should give layer {layer} the slopes of section 1: see modules 03, 04 and 06",
    )
tests = [
    ("MNIST (10k)", load_mnist(train=False, root=BUNDLED), Shifted(load_mnist(root=BUNDLED), pixels), 5, 0.95)
]
if load_mnist(train=False).name == "MNIST (60k)":
    tests.append(("MNIST (60k)", load_mnist(train=False), load_mnist(transform=pixels), 6, 0.97))
for name, held_out, learned, epochs, bar in tests:
    images, labels = [np.asarray(array) for array in held_out.arrays]
    if bar == 0.95:
        check.equal(
            hashlib.sha256(images.tobytes() + labels.astype(np.int64).tobytes()).hexdigest()[:16],
            "3f92f543822e3674",
            because="the test digits should be those that are bundled with the course",
        )
    model = network(1)
    unseen = TensorDataset(images[:500], labels[:500], transform=pixels)
    train_digits(model, learned, unseen, epochs, seed=1)
    w1, b1, w2, b2 = [parameter.data for parameter in model.parameters()]
    h = np.maximum(images.reshape(-1, 784) / np.float32(255) @ w1.T + b1, 0)
    share = float(((h @ w2.T + b2).argmax(axis=1) == labels).mean())
    check.equal(
        share >= bar,
        True,
        because=f"{share:.2%} of the test digits of {name} are read correctly; the bar is {bar:.0%}",
    )

# %% [markdown]
# ## 4 · What it gets wrong
#
# A number such as 96 % says nothing about the other 4. Look at them. Most telling are those of which the network is
# *sure*: the largest probability first.


# %% nbgrader={"grade": false, "grade_id": "mnist_mistakes", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mistakes(model, dataset):
    """The samples that a classifier gets wrong, those of which it is most certain first.

    Parameters
    ----------
    model : Module
        Gives logits of shape (N, C).
    dataset : Dataset
        Of N samples (x, label).

    Returns
    -------
    numbers : numpy.ndarray of int, shape (M,)
        Which samples are wrong, by falling probability of the answer that was given.
    answers : numpy.ndarray of int, shape (M,)
        What the model says that they are.
    chances : numpy.ndarray of shape (M,)
        With which probability.

    Hints: `dataset.batch(np.arange(N))` is all of it. `no_grad()`: nothing is learned here. `softmax` makes
    probabilities of logits. `np.argsort(-a)` sorts from the largest down.
    """
    ### BEGIN SOLUTION
    x, labels = dataset.batch(np.arange(len(dataset)))
    with no_grad():
        chances = softmax(model(x)).data
    answers = chances.argmax(axis=1)
    wrong = np.flatnonzero(answers != labels.data)
    numbers = wrong[np.argsort(-chances.max(axis=1)[wrong], kind="stable")]
    return numbers, answers[numbers], chances.max(axis=1)[numbers]
    ### END SOLUTION


# %%
# The fourteen surest mistakes of the network that learned shifted digits. Which of them would be yours, too?
numbers, answers, chances = mistakes(runs["shifted as well"]["model"], test_set)
sure = np.sum(chances > 0.9)
print(f"{len(numbers)} of {len(test_set):,} are wrong, {sure} of them with a probability above 90 %")
images, labels = test_set.arrays
tiles = [np.pad(images[number], ((12, 0), (2, 2))) for number in numbers[:14]]
fig, axes = figure(8, 3.4)
axes.imshow(np.vstack([np.hstack(tiles[:7]), np.hstack(tiles[7:])]), cmap="Greys")
for place, (number, answer) in enumerate(zip(numbers[:14], answers)):
    axes.text(32 * (place % 7) + 8, 40 * (place // 7) + 11, f"{labels[number]}: {answer}?", color="#D55E00")
axes.set(xticks=[], yticks=[])
axes.grid(False)
show(
    fig,
    alt="Fourteen handwritten digits that the network misread, each with its label and the network's answer: "
    + ", ".join(f"{labels[number]} read as {answer}" for number, answer in zip(numbers[:14], answers)),
)

# %% [markdown]
# *The figure:* test digits that the network gets wrong although it is sure, each with its label and, with a question mark,
# the network's answer. Some are badly written, a few could be either, and some any child would read.

# %% nbgrader={"grade": true, "grade_id": "mnist_mistakes_check", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Check (3 points): which samples are wrong, in which order, and the answers; for a layer that copies.
model = Sequential(Linear(3, 3))
model[0].weight[...] = np.eye(3)
model[0].bias[...] = np.zeros(3)
logits = np.array([[9.0, 0, 0], [0, 1, 0], [5, 5.5, 0], [0, 0, 4], [8, 8, 9], [0, 3, 0], [7, 0, 7.2]])
labels = np.array([0, 2, 0, 0, 2, 1, 0])
numbers, answers, chances = mistakes(model, TensorDataset(logits, labels))
parts = check.partial(3)
with parts.part(1, "which are wrong"):
    check.equal(
        sorted(np.asarray(numbers).tolist()),
        [1, 2, 3, 6],
        because="samples whose largest logit is not their label",
    )
with parts.part(1, "their order"):
    check.equal(
        np.asarray(numbers).tolist(),
        [3, 2, 1, 6],
        because="by the probability of the answer, 0.96, 0.62, 0.58, 0.55: not by the logit, nor by number",
    )
with parts.part(1, "the answers"):
    check.equal(
        np.asarray(answers).tolist(),
        [2, 1, 1, 2],
        because="the class with the largest logit, in the same order",
    )
    expected = [np.exp(logits[i]).max() / np.exp(logits[i]).sum() for i in [3, 2, 1, 6]]
    check.close(np.asarray(chances), np.array(expected), because="the probability of that answer, by softmax")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "mnist_mistakes_hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (1 point): nothing wrong, everything wrong, huge logits, a transform, many samples.
### BEGIN HIDDEN TESTS
model = Sequential(Linear(2, 2))
model[0].weight[...] = np.eye(2)
model[0].bias[...] = np.zeros(2)
logits = np.array([[1.0, 0.0], [0.0, 900.0]])
numbers, answers, chances = mistakes(model, TensorDataset(logits, np.array([0, 1])))
check.equal(
    (len(numbers), len(answers), len(chances)), (0, 0, 0), because="nothing is wrong, so all three are empty"
)
numbers, answers, chances = mistakes(model, TensorDataset(logits, np.array([1, 0])))
check.equal(np.asarray(numbers).tolist(), [1, 0], because="all are wrong; a logit of 900 is surest")
check.close(
    np.asarray(chances), np.array([1.0, 1 / (1 + math.exp(-1))]), because="huge logits do not overflow"
)
rng = np.random.default_rng(9)
images, labels = rng.integers(0, 256, size=(60, 28, 28)).astype(np.uint8), rng.integers(0, 10, size=60)
model = network(3)
w1, b1, w2, b2 = [np.asarray(parameter.data, dtype=float) for parameter in model.parameters()]
z = np.maximum(images.reshape(60, 784) / 255 @ w1.T + b1, 0) @ w2.T + b2
chance = (np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)).max(axis=1)
wrong = np.flatnonzero(z.argmax(axis=1) != labels)
numbers, answers, chances = mistakes(model, TensorDataset(images, labels, transform=pixels))
expected = wrong[np.argsort(-chance[wrong])]
check.equal(
    np.asarray(numbers).tolist(), expected.tolist(), because="sixty images, through the data set's transform"
)
check.equal(
    np.asarray(answers).tolist(), z.argmax(axis=1)[expected].tolist(), because="and what they are taken for"
)
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · Which digits did you hold out?
#
# The 60,000 training digits of MNIST are by about 250 people, its authors write, and its 10,000 test digits by others.
# All of your 10,000 are from the training digits. So the course had to hold out some itself, and who wrote which is not
# known. It took the last fifth of each class, in the order of the collection, in the hope that a person's digits stand
# near each other there. What if you mix all 10,000 and hold out 2,000 at random? Then nearly everybody has digits in
# both parts.

# %%
# Try it: the same network and training as the first, as many digits, but a random split.
experiment("random split", *random_split(seed=1), epochs=20)
print(f"split by order, as above: {runs['as they are']['share']:.2%}")

# %% [markdown]
# Now explain, in two to five sentences:
#
# 1. In 1958 a hidden unit could not learn, since nobody says what it should have answered. What is a hidden unit told
#    here, and where in `backpropagate` is that?
# 2. Why does the random split give the better number, and which of the two would you tell somebody who wants to read the
#    post?
# 3. In the first training, the loss on training digits went to nearly nothing. Why did that not help the test digits, and
#    why did shifting help?

# %% [markdown] nbgrader={"grade": true, "grade_id": "mnist_explain", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Rubric (3 points).**
#
# - 1: no target, but a slope: how the loss would change with its activity. That is the errors of all outputs, each weighted
#   by the weight that leads to it, `error @ w2`, and 0 where the unit was not active.
# - 1: the random split puts digits of the same writers, often nearly the same digits, on both sides, so it measures partly
#   how well known hands are read. The mail comes from strangers: the lower number, from the split by order, is the honest
#   one.
# - 1: a small training loss says that these digits are known, by heart if need be; with 101,770 numbers for 8,000 digits that is
#   easy. Once the loss is nearly 0 the slopes are too, and nothing more is learned. Shifted digits are new examples that carry
#   a fact about the world (place does not matter), which the network can't get by heart so easily.
#
# *A good answer.* "A hidden unit is told how much the loss would change if it were a bit more active: it collects the
# output errors through its outgoing weights (error @ w2), and hears nothing if it was off. At random, digits of one writer
# land in both parts, so the network has met the hand before; letters come from people whom it has not met, so I'd report the
# split by order. The training loss near 0 means that it has memorised 8,000 digits, and then its gradient is gone;
# shifting makes 40,000, and tells it that a digit's class does not depend on a pixel's shift." 3 points.
#
# *A weak answer.* "Backpropagation gives the hidden units an error. The random split is more random, so it is more
# accurate. The network overfits, and augmentation is regularisation." The second sentence is wrong, the others are names.
# 0.5 points for the first.
# ### END SOLUTION

# %% [markdown]
# ## What you have seen
#
# | | 1958 | 1969 | 1986 |
# |---|---|---|---|
# | numbers learned | 401 | 33 | 101,770 |
# | examples | 500 cards | 4 corners | 8,000 digits |
# | who tells the hidden units | there are none | the gradient, of all examples | the gradient, of 64 at a time |
# | on unseen examples | 100 % | there are none | about 96 % |
# | processor time of one training | well below a second | a tenth of a second | two or three seconds |
#
# Nothing in today's network knows that a picture is flat. Shuffle the 784 pixels, in all digits in the same way, and the
# network learns just as well; you would not. Shifting the digits by hand was a first, clumsy way to tell it. In module 09 you
# build that knowledge into the layers, and the milestone of 1998 shows what it is worth.
