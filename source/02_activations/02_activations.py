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
# # 02 · Activations
#
# Today you build the functions that stand between the layers of a network: `relu`, `sigmoid`, `tanh`, `gelu`, `softmax`
# and `log_softmax`, each right for numbers of any size and lean with memory.
#
# | | |
# |---|---|
# | **Needs** | Module 01 |
# | **Time** | 3 to 5 hours |
# | **Points** | 100: visible checks 50, hidden tests 25, systems 20, one written answer 5 |
# | **Becomes** | `tinytorch_ref/activations.py` |
#
# ```
#   01 tensor ─► 02 activations ─► 03 layers ─► 04 losses ─► 05 data
#      │         ▲ you are here      │            │
#      └───────────────┴─────────────┴────────────┴─► 06 autograd ─► 07 …
# ```

# %% nbgrader={"grade": false, "grade_id": "activations_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import timeit

import matplotlib.pyplot as plt
import numpy as np

from autograder import checks as check
from autograder.counters import count, peak_memory
from autograder.figures import figure, show

# %% tags=["export"]
"""Activations: the functions between the layers of a network, right for numbers of any size."""

import math

import numpy as np

from tinytorch_ref.tensor import Tensor, apply

# %% [markdown]
# ## Why layers alone are not enough
#
# A layer multiplies by a matrix. Two layers multiply by two matrices, so surely they can do more than one? Run this.

# %%
rng = np.random.default_rng(0)
examples = Tensor(rng.normal(size=(4, 5)))
first, second = Tensor(rng.normal(size=(5, 100))), Tensor(rng.normal(size=(100, 3)))

deep = examples @ first @ second
flat = examples @ (first @ second)  # one matrix of shape (5, 3) instead of two
print("largest difference between two layers and one:", np.abs(deep.data - flat.data).max())

# %% [markdown]
# No difference but rounding: a product of matrices is a matrix, so a hundred layers are worth one. A function that bends
# the numbers between two layers ends that. It may be very simple.
#
# Simple to write down, at least. Here is the formula of *softmax*, which turns a row of scores into probabilities, typed
# as every textbook prints it:

# %%
def softmax_from_the_book(a):
    exps = np.exp(a)
    return exps / exps.sum(axis=-1, keepdims=True)


scores = np.array([[1.0, 2.0, 3.0], [1001.0, 1002.0, 1003.0]], dtype=np.float32)
with np.errstate(all="ignore"):
    print(softmax_from_the_book(scores))

# %% [markdown]
# Both rows should give the same probabilities, since only differences between scores matter. The second gives `nan`, *not a
# number*, and one `nan` in a network spreads to every parameter at the next step. Today's functions must be right for any
# input, and you will count what that costs: a few operations an element.

# %% [markdown]
# ## 1 · ReLU, and the way through the door
#
# The *rectified linear unit* keeps what is positive and replaces the rest by zero:
#
# $$\text{relu}(x) = \max(x, 0)$$
#
# It works on each element alone, so an input of shape `(N, D)`, `N` examples of `D` numbers, stays `(N, D)`. If the inputs
# are spread evenly around zero, half of the results are exactly 0. A unit whose input is negative for every example passes
# nothing on: it is *dead*.
#
# Every operation of the package has two halves, and so has every function of today:
#
# ```
#   relu(x)           what users call: a Tensor in, a Tensor out
#   relu_forward(a)   the primitive, with the arithmetic: an array in, an array out
# ```
#
# The primitive knows nothing of tensors and gradients. In module 06 a gradient rule will be attached to it, by its name.
#
# Write both halves: the arithmetic in `relu_forward`, and in `relu` one call of `apply`, the door of module 01. One detail:
# a `nan` that comes in should go out again, here and in all functions of today. It is the sign that something broke
# earlier, and a function that turns it into 0 hides the accident.

# %% nbgrader={"grade": false, "grade_id": "activations_relu", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def relu_forward(a):
    """The positive part of each element.

    Parameters
    ----------
    a : numpy.ndarray
        Any shape; real numbers or integers.

    Returns
    -------
    numpy.ndarray
        A new array of the shape and dtype of `a`; NaN stays NaN.

    Examples
    --------
    >>> relu_forward(np.array([-2.0, 0.5]))
    array([0. , 0.5])

    Hints: NumPy has the larger of two, element by element. A comparison with NaN is always False.
    """
    ### BEGIN SOLUTION
    return np.maximum(a, 0)
    ### END SOLUTION


def relu(x):
    """The positive part of each element of a Tensor.

    Parameters
    ----------
    x : Tensor

    Returns
    -------
    Tensor of the same shape and dtype

    Hints: `apply`, from module 01, takes a primitive and the tensors it works on.
    """
    ### BEGIN SOLUTION
    return apply(relu_forward, x)
    ### END SOLUTION


# %%
# Try it: two layers with relu between them are no longer one. What share of the hidden numbers is zero?
hidden = relu(examples @ first)
print("largest difference:", np.abs((hidden @ second).data - flat.data).max())
print("share of zeros:", (hidden.data == 0).mean())

# %% nbgrader={"grade": false, "grade_id": "activations_door_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: the names of the primitives that pass the door while a function runs.
from tinytorch_ref.tensor import Recorder


class Doorkeeper:
    def __init__(self):
        self.names = []

    def record(self, output, primitive, inputs, saved, params):
        self.names.append(primitive.__name__)

    def changed(self, tensor):
        """Changes in place are of no interest here."""


def through_the_door(function, *args):
    before, Recorder.current = Recorder.current, Doorkeeper()
    try:
        function(*args)
        return Recorder.current.names
    finally:
        Recorder.current = before


# %% nbgrader={"grade": true, "grade_id": "activations_relu_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): values, the door, precision, and that the input stays as it was.
x = Tensor([[-2.0, -0.5, 0.0], [0.5, 2.0, 1e4]])
check.close(relu(x), np.array([[0, 0, 0], [0.5, 2, 1e4]]),
            because="negative numbers become 0, the others stay")
check.equal(isinstance(relu(x), Tensor), True,
            because="relu goes through apply, which makes a Tensor")
check.equal(through_the_door(relu, x), ["relu_forward"],
            because="relu is one call of apply: module 06 sees only what passes this door")
check.same_dtype(relu_forward(np.ones(3, np.float32)), np.float32,
                 because="a primitive keeps float32")
check.same_dtype(relu(Tensor([1.0], dtype=np.float64)), np.float64,
                 because="float64 was asked for and stays")
fresh = Tensor([-2.0, 2.0])
with check.unchanged(fresh,
                     because="writing into the input would change an earlier layer's result"):
    relu(fresh)

# %% nbgrader={"grade": true, "grade_id": "activations_relu_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): infinities, NaN, integers, empty and 0-d tensors, memory of its own.
### BEGIN HIDDEN TESTS
check.close(relu(Tensor([-np.inf, np.inf, np.nan])), np.array([0, np.inf, np.nan]),
            because="-inf becomes 0 (not -inf * 0), and NaN stays NaN")
check.same_dtype(relu(Tensor([-1, 2])), np.int64, because="integers stay integers")
check.close(relu(Tensor([-1, 2])), np.array([0, 2]),
            because="integers are rectified like other numbers")
check.equal(relu(Tensor(np.zeros((0, 3)))).shape, (0, 3), because="an empty tensor stays empty")
check.close(relu(Tensor(-3.0)), 0.0, because="a single number is a tensor too")
check.close(relu(Tensor([-1e-30, 1e-30])), np.array([0, 1e-30]), rtol=1e-5, atol=0,
            because="the border is 0, not a small number")
x = Tensor([1.0, 2.0])
check.own_memory(relu(x), x, because="even where nothing changes, the result is a new array")
rng = np.random.default_rng(21)
values = rng.normal(size=(2, 3, 4))
check.close(relu(Tensor(values)), np.maximum(values, 0), because="any number of axes")
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · Sigmoid, whatever the size
#
# The *sigmoid* squeezes any number into the interval from 0 to 1. It is how a network says "70 % yes":
#
# $$\sigma(x) = \frac{1}{1 + e^{-x}} = \frac{e^{x}}{1 + e^{x}}$$
#
# Both forms are the same on paper. In `float32` the number $e^{89}$ is already too large: it *overflows* to `inf`.
#
# ```
#       x        1 / (1 + exp(-x))             exp(x) / (1 + exp(x))
#     +100       1 / (1 + tiny)  =  1          inf / inf   =  nan
#     -100       1 / (1 + inf)   =  0  (!)     tiny / 1    =  tiny
# ```
#
# The result marked (!) is right, but NumPy warns of the overflow on the way, and a warning that you get used to ignoring
# hides the next one. The way out: use each form where its exponent is negative. With $z = e^{-|x|}$, which lies between 0
# and 1 for every $x$,
#
# $$\sigma(x) = \frac{1}{1+z} \ \text{ for } x \ge 0, \qquad \sigma(x) = \frac{z}{1+z} \ \text{ for } x < 0 .$$
#
# Small results should keep their digits: $\sigma(-30)$ is about $9.4 \cdot 10^{-14}$, and that is not 0. So the
# third form, $(1 + \tanh(x/2))/2$, will not do: it rounds at $10^{-7}$.

# %% nbgrader={"grade": false, "grade_id": "activations_sigmoid", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def sigmoid_forward(a):
    """1 / (1 + exp(-a)) of each element, without an overflow on the way.

    Parameters
    ----------
    a : numpy.ndarray
        Any shape; real numbers or integers, of any size.

    Returns
    -------
    numpy.ndarray
        Of the shape and precision of `a`, between 0 and 1; small values keep their digits.

    Examples
    --------
    >>> sigmoid_forward(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])

    Hints: the denominator is 1 + exp(-|a|) on both sides. The numerator is 1 or exp(a), whichever is smaller.
    `np.where` computes both branches for all elements before it chooses: an overflow in either one warns.
    """
    ### BEGIN SOLUTION
    return np.exp(np.minimum(a, 0)) / (1 + np.exp(-np.abs(a)))
    ### END SOLUTION


def sigmoid(x):
    """1 / (1 + exp(-x)) of each element of a Tensor: from 0 to 1."""
    return apply(sigmoid_forward, x)


# %%
# Try it: sigmoid(x) and sigmoid(-x) add up to 1. Which of the two has more digits when x is 20?
for value in (0.0, 1.0, 5.0, 20.0, 1000.0):
    print(value, sigmoid(Tensor(value)).item(), sigmoid(Tensor(-value)).item())

# %% nbgrader={"grade": false, "grade_id": "activations_complaints_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# What NumPy complains of while a function runs: "overflow", "invalid value" (inf / inf), "divide by zero".
def complaints(function, *args):
    found = set()
    with np.errstate(all="call", under="ignore", call=lambda kind, flag: found.add(kind)):
        function(*args)
    return ", ".join(sorted(found)) or "nothing"


# %% nbgrader={"grade": true, "grade_id": "activations_sigmoid_check", "locked": true, "points": 9, "schema_version": 3, "solution": false, "task": false}
# Check (9 points): values, both signs, far out, and no complaint from NumPy.
x = Tensor([[-2.0, -0.5, 0.0], [0.5, 2.0, 4.0]])
check.close(sigmoid(x), 1 / (1 + np.exp(-np.array([[-2, -0.5, 0], [0.5, 2, 4]]))),
            because="1 / (1 + exp(-x)): mind the sign of x")
check.close(sigmoid(Tensor([-1e4, 1e4])), np.array([0.0, 1.0]),
            because="exp(1e4) is inf, and inf / inf is nan: keep the exponent negative")
check.equal(complaints(sigmoid, Tensor([-1e4, 1e4])), "nothing",
            because="exp of a large number overflows, even in a branch of np.where that is thrown away")
check.close(sigmoid(Tensor([-30.0])), np.array([9.357623e-14]), rtol=1e-4, atol=0,
            because="a difference of numbers near 1 has lost these digits: use exp(x) / (1 + exp(x)) here")
check.same_dtype(sigmoid_forward(np.zeros(3, np.float32)), np.float32,
                 because="a primitive keeps float32: a constant made by NumPy may be float64")
with check.unchanged(x, because="the input is not scratch space"):
    sigmoid(x)

# %% nbgrader={"grade": true, "grade_id": "activations_sigmoid_hidden", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (5 points): digits on both sides, infinities, NaN, float64, integers, 0-d and empty tensors.
### BEGIN HIDDEN TESTS
values = np.linspace(-80, 80, 321)
expected = 1 / (1 + np.exp(-values))  # in float64, which has room for exp(80)
check.close(sigmoid(Tensor(values)), expected, rtol=2e-5, atol=0,
            because="every value keeps its digits, on both sides")
check.close(sigmoid(Tensor(values, dtype=np.float64)), expected, rtol=1e-12, atol=0,
            because="float64 has twice the digits")
check.same_dtype(sigmoid(Tensor([1.0], dtype=np.float64)), np.float64, because="float64 stays")
check.close(sigmoid(Tensor([-np.inf, np.inf, np.nan])), np.array([0, 1, np.nan]),
            because="the limits are 0 and 1; NaN stays NaN")
check.equal(complaints(sigmoid, Tensor([-1e30, -100.0, 0.0, 100.0, 1e30])), "nothing",
            because="no exponent may be positive")
check.close(sigmoid(Tensor(0.0)), 0.5, because="a single number is a tensor too")
check.equal(sigmoid(Tensor(np.zeros((2, 0)))).shape, (2, 0), because="an empty tensor stays empty")
check.close(sigmoid(Tensor([-1, 0, 1])), 1 / (1 + np.exp([1.0, 0.0, -1.0])),
            because="integers have a sigmoid as well")
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · Tanh: the same formula, other digits
#
# The hyperbolic tangent is a sigmoid stretched to the interval from -1 to 1:
#
# $$\tanh(x) = \frac{e^{x} - e^{-x}}{e^{x} + e^{-x}} = 2\,\sigma(2x) - 1$$
#
# It is centred on zero, which keeps the numbers of the next layer centred too. For small $x$ it is nearly $x$ itself, and
# there the right-hand form shows a weakness: at $x = 10^{-5}$ it subtracts 1 from a number that differs from 1 only from the
# sixth digit on, and `float32` has about seven. One or two digits of the result are right, the others are rounding. This
# loss of digits when nearly equal numbers are subtracted is called *cancellation*.
#
# NumPy's own `np.tanh` does better, near zero and far out. Use it.

# %% nbgrader={"grade": false, "grade_id": "activations_tanh", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def tanh_forward(a):
    """Hyperbolic tangent of each element: from -1 to 1, and nearly `a` where `a` is small.

    Parameters
    ----------
    a : numpy.ndarray
        Any shape.

    Returns
    -------
    numpy.ndarray of the same shape and precision

    Examples
    --------
    >>> tanh_forward(np.array([-1000.0, 0.0, 0.5]))
    array([-1.        ,  0.        ,  0.46211716])
    """
    ### BEGIN SOLUTION
    return np.tanh(a)
    ### END SOLUTION


def tanh(x):
    """Hyperbolic tangent of each element of a Tensor: from -1 to 1."""
    return apply(tanh_forward, x)


# %%
# Try it: the two forms near zero. How many digits agree?
for value in (1.0, 1e-3, 1e-5, 1e-8):
    small = Tensor(value)
    stretched = 2 * sigmoid(2 * small) - 1
    print(f"x = {value:<6} tanh(x) = {tanh(small).item():.7e}   2·sigmoid(2x) - 1 = {stretched.item():.7e}")

# %% nbgrader={"grade": true, "grade_id": "activations_tanh_check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Check (4 points): values, far out, and the digits near zero.
check.close(tanh(Tensor([-1.0, 0.0, 0.5])), np.array([-0.76159416, 0.0, 0.46211716]),
            because="from -1 to 1, odd, and steeper than the sigmoid")
check.close(tanh(Tensor([-1e4, 1e4])), np.array([-1.0, 1.0]),
            because="exp(1e4) overflows; np.tanh does not")
check.close(tanh(Tensor([1e-5])), np.array([1e-5]), rtol=1e-5, atol=0,
            because="2·sigmoid(2x) - 1 loses the digits of a small x by cancellation")
check.same_dtype(tanh_forward(np.zeros(3, np.float32)), np.float32,
                 because="a primitive keeps float32")

# %% nbgrader={"grade": true, "grade_id": "activations_tanh_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): digits over the whole range, warnings, float64, the input.
### BEGIN HIDDEN TESTS
values = np.concatenate([-np.geomspace(1e-20, 40, 61), np.geomspace(1e-20, 40, 61)])
check.close(tanh(Tensor(values)), np.tanh(values), rtol=1e-5, atol=0,
            because="small values keep their digits")
check.equal(complaints(tanh, Tensor([-1e30, 1e30])), "nothing", because="no overflow on the way")
check.same_dtype(tanh(Tensor([1.0], dtype=np.float64)), np.float64, because="float64 stays")
check.close(tanh(Tensor([-np.inf, np.inf, np.nan])), np.array([-1, 1, np.nan]),
            because="the limits are -1 and 1; NaN stays NaN")
x = Tensor(np.ones((2, 3)))
with check.unchanged(x, because="the input is not scratch space"):
    tanh(x)
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · GELU: a gate for every number
#
# `relu` multiplies by 0 or by 1. The *Gaussian error linear unit*, used in GPT and BERT, multiplies by something between:
# the probability that a normal random number of mean 0 and variance 1 lies below $x$. The usual approximation is
#
# $$\text{gelu}(x) = \tfrac{1}{2}\,x\,\bigl(1 + \tanh u\bigr), \qquad u = \sqrt{2/\pi}\,\bigl(x + 0.044715\,x^{3}\bigr).$$
#
# Since $\tfrac{1}{2}(1 + \tanh u) = \sigma(2u)$, this is the same as
#
# $$\text{gelu}(x) = x \cdot \underbrace{\sigma(2u)}_{\text{the gate}},$$
#
# which needs one `exp` and no `tanh`, and keeps the digits of small results.
#
# The gradient rule of module 06 will want the gate again, so the primitive hands it out beside the result, as a pair
# `(output, gate)`. The door keeps the second only if somebody records.
#
# Two habits for code that runs on every number of a network. Write $x^3$ as `x * x * x`: on an array, `x**3` calls a general
# power function that is dozens to hundreds of times slower. And make constants with `math`: a `float64` from NumPy, such as
# `np.sqrt(2 / np.pi)`, turns every `float32` array that it meets into `float64`.
#
# One thing is optional. A formula of eight steps goes eight times over its array. An array of a few million numbers does not
# fit the cache of the processor, so each step waits for main memory. The generator `blocks` in the next cell, complete, cuts
# arrays into matching pieces that do fit: take all eight steps on one piece, then go on to the next, and only the first step
# waits. On millions of numbers that saves up to a third of the time, on small arrays none. You may do without it.

# %% tags=["export"]
BLOCK = 2**16  # elements: in float32 256 KB, so that a few such pieces fit the cache of one core together


def blocks(*arrays):
    """Go through arrays of one shape together, in pieces that fit the cache.

    Parameters
    ----------
    *arrays : numpy.ndarray
        All of the same shape. Make those that you write into with `np.empty(a.shape, dtype)`: the pieces of
        such an array are views, those of a transposed one are copies.

    Yields
    ------
    list of numpy.ndarray
        The next piece of each array: one axis, at most BLOCK elements.

    Examples
    --------
    >>> a, double = np.ones((300, 300)), np.empty((300, 300))
    >>> for piece, twice in blocks(a, double):
    ...     twice[:] = 2 * piece
    >>> double.sum()
    np.float64(180000.0)
    """
    flat = [a.reshape(-1) for a in arrays]
    for start in range(0, flat[0].size, BLOCK):
        yield [a[start : start + BLOCK] for a in flat]


# %% nbgrader={"grade": false, "grade_id": "activations_gelu", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
GELU_SCALE = math.sqrt(2 / math.pi)
GELU_CUBIC = 0.044715


def gelu_forward(a):
    """a · sigmoid(2u) of each element, with u = √(2/π) · (a + 0.044715 a³).

    Parameters
    ----------
    a : numpy.ndarray
        Any shape; real numbers.

    Returns
    -------
    output : numpy.ndarray
        Of the shape and dtype of `a`.
    gate : numpy.ndarray
        sigmoid(2u), of the same shape and dtype; the gradient rule wants it again.

    Examples
    --------
    >>> gelu_forward(np.array([0.0, 1.0]))
    (array([0.        , 0.84119199]), array([0.5       , 0.84119199]))

    Hints: you have a sigmoid that no number can upset. Or compute exp(-2u) in one array with `out=`; there an
    overflow is harmless, as 1 / (1 + inf) is 0: `np.errstate(over="ignore")` around it says that you know.
    Faster: make both results first and fill them piece by piece, in a loop over `blocks(a, output, gate)`.
    """
    ### BEGIN SOLUTION
    dtype = np.result_type(a, 1.0)  # that of `a`; float64 for integers
    output, gate = np.empty(a.shape, dtype), np.empty(a.shape, dtype)
    for x, y, s in blocks(a, output, gate):
        np.multiply(-2 * GELU_SCALE * GELU_CUBIC, x, out=s)
        s *= x
        s -= 2 * GELU_SCALE
        s *= x  # this is -2u
        with np.errstate(over="ignore"):  # 1 / (1 + inf) is 0, as it should be
            np.exp(s, out=s)
        s += 1
        np.reciprocal(s, out=s)
        np.multiply(x, s, out=y)
    return output, gate
    ### END SOLUTION


def gelu(x):
    """Gaussian error linear unit of each element of a Tensor, in its tanh form."""
    return apply(gelu_forward, x)


# %%
# Try it: the four functions so far. Where does gelu differ most from relu?
x = Tensor(np.linspace(-4, 4, 161))
fig, axes = figure()
for name, function in [("relu", relu), ("gelu", gelu), ("sigmoid", sigmoid), ("tanh", tanh)]:
    axes.plot(x.data, function(x).data, label=name)
axes.set(xlabel="x", ylabel="f(x)", ylim=(-1.2, 2.2))
axes.legend()
show(fig, alt="Four curves: relu with a kink at 0, gelu with a dip to -0.17, sigmoid and tanh flat far out.")

# %% [markdown]
# *The figure:* `relu` has a kink at 0; `gelu` follows it smoothly and dips to -0.17 near x = -0.75; `sigmoid` rises from 0 to
# 1 and `tanh` from -1 to 1, both flat far out, where their gradient will be nearly zero.

# %% nbgrader={"grade": true, "grade_id": "activations_gelu_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): values, the gate, precision, far out.
values = np.array([[-3.0, -1.0, -0.5], [0.0, 0.5, 2.0]])
u = math.sqrt(2 / math.pi) * (values + 0.044715 * values**3)
x = Tensor(values)
check.close(gelu(x), 0.5 * values * (1 + np.tanh(u)),
            because="x · sigmoid(2u), with u = √(2/π) · (x + 0.044715 x³)")
output, gate = gelu_forward(values.astype(np.float32))
check.close(gate, 0.5 * (1 + np.tanh(u)), because="the second of the pair is the gate, sigmoid(2u)")
check.same_dtype(output, np.float32,
                 because="np.sqrt(2 / np.pi) is a float64 and turns the array into one; math.sqrt is not. "
                         "np.empty(shape) is one too, unless you name the dtype")
check.same_dtype(gate, np.float32,
                 because="the gate is kept for the gradient: in float64 it would take twice the memory")
check.close(gelu(Tensor([-1e4, 1e4])), np.array([0.0, 1e4]), because="far out gelu is relu")
check.equal(complaints(gelu, Tensor([-1e4, 1e4])), "nothing",
            because="exp(-2u) overflows for large negative x")
with check.unchanged(x,
                     because="the input is not scratch space: make one array, then write into that"):
    gelu(x)

# %% nbgrader={"grade": true, "grade_id": "activations_gelu_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): both precisions, large and transposed arrays, the pair through the door.
### BEGIN HIDDEN TESTS
values = np.linspace(-12, 12, 385).reshape(5, 7, 11)
u = math.sqrt(2 / math.pi) * (values + 0.044715 * values**3)
check.close(gelu(Tensor(values)), 0.5 * values * (1 + np.tanh(u)), rtol=1e-5, atol=2e-6,
            because="any number of axes")
check.close(gelu(Tensor(values, dtype=np.float64)), 0.5 * values * (1 + np.tanh(u)), rtol=1e-9,
            atol=1e-13,
            because="float64 has twice the digits: is a constant cut short?")
check.same_dtype(gelu(Tensor([1.0], dtype=np.float64)), np.float64, because="float64 stays")
check.equal(isinstance(gelu(Tensor([1.0])), Tensor), True, because="the door takes the pair apart")
check.equal(gelu(Tensor(np.zeros((0, 2)))).shape, (0, 2), because="an empty tensor stays empty")
check.close(gelu(Tensor([-1e10, 1e10])), np.array([0.0, 1e10]),
            because="x³ itself is still finite here: 1e30")
x = Tensor([1.0, 2.0])
check.own_memory(gelu(x), x, because="the result is a new array")
values = np.linspace(-7, 7, 70_000).reshape(100, 700)
gate = 1 / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (values + 0.044715 * values**3)))
check.close(gelu(Tensor(values)), values * gate, rtol=1e-5, atol=2e-6,
            because="an array of more than one block: all are to be filled, the last one too")
check.close(gelu(Tensor(values).T), (values * gate).T, rtol=1e-5, atol=2e-6,
            because="of a transposed array `np.empty_like` makes a transposed one, whose pieces are copies: "
                    "np.empty(a.shape, dtype)")
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · Softmax, composed of tensor operations
#
# *Softmax* turns a row of `C` scores, called *logits*, into `C` probabilities: positive, and with sum 1.
#
# $$\text{softmax}(x)_{i} = \frac{e^{x_i}}{\sum_{j} e^{x_j}}
#   = \frac{e^{x_i - m}}{\sum_{j} e^{x_j - m}} \quad \text{for any number } m$$
#
# Unlike the functions before, it works on a whole row: change one logit and all probabilities move. Hence the `axis`: the
# one along which the result sums to 1. For logits of shape `(N, C)`, a row for each of `N` examples, that is the last.
#
# The second form is the cure for the `nan` at the top of this page. Take the row's largest logit for $m$: then the largest
# exponent is 0, every `exp` lies between 0 and 1, and the sum is at least 1. Nothing can overflow.
#
# Write it first in the operations of your `Tensor`: `max`, `-`, `exp`, `sum`, `/`. This version is short and right, and you
# will measure what it costs.

# %% nbgrader={"grade": false, "grade_id": "activations_composed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax_composed(x, axis=-1):
    """Softmax along `axis`, from the operations of Tensor.

    Parameters
    ----------
    x : Tensor
    axis : int
        The axis along which the result sums to 1.

    Returns
    -------
    Tensor of the same shape

    Examples
    --------
    >>> softmax_composed(Tensor([[0.0, 0.0], [1000.0, 1000.0]]))
    Tensor([[0.5, 0.5],
            [0.5, 0.5]], dtype=float32)

    Hints: subtract the largest of each row, with `keepdims=True` so that it broadcasts.
    """
    ### BEGIN SOLUTION
    shifted = x - x.max(axis=axis, keepdims=True)
    exps = shifted.exp()
    return exps / exps.sum(axis=axis, keepdims=True)
    ### END SOLUTION


# %%
# Try it: the scores from the top of the page. Then divide them by 10, and multiply them by 10.
softmax_composed(Tensor(scores))

# %% nbgrader={"grade": true, "grade_id": "activations_composed_check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Check (5 points): values, the axis, large logits, and the operations of Tensor.
values = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 5.0]])
exps = np.exp(values)
check.close(softmax_composed(Tensor(values)), exps / exps.sum(axis=-1, keepdims=True),
            because="each row is divided by its own sum: keepdims=True")
check.close(softmax_composed(Tensor(values), axis=0), exps / exps.sum(axis=0),
            because="along axis 0 each column sums to 1")
check.close(softmax_composed(Tensor([[1e4, 1e4 - 1.0]])), np.array([[0.7310586, 0.2689414]]),
            because="exp(1e4) is inf: subtract the largest logit first")
x = Tensor(values)
check.equal(isinstance(softmax_composed(x), Tensor), True, because="a Tensor in, a Tensor out")
check.equal("exp" in through_the_door(softmax_composed, x), True,
            because="compute with tensors, as in x.exp(): NumPy on x.data does not pass the door")

# %% nbgrader={"grade": true, "grade_id": "activations_composed_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): rows of very different size, middle axes, the input.
### BEGIN HIDDEN TESTS
x = Tensor([[1.0, 2.0, 3.0]])
with check.unchanged(x, because="the input is not scratch space"):
    softmax_composed(x)
check.close(softmax_composed(Tensor([[1e3, 0.0, 0.0]])), np.array([[1.0, 0.0, 0.0]]),
            because="shifted by the mean of the row, its largest logit would still overflow")
check.close(softmax_composed(Tensor([[1e4, 1e4], [-1e4, -1e4]])), np.full((2, 2), 0.5),
            because="the largest of each row, not of the whole tensor: exp(-2e4) is 0, and 0 / 0 is nan")
values = np.random.default_rng(22).normal(size=(2, 3, 4))
x = Tensor(values)
for axis in (0, 1, 2, -2):
    exps = np.exp(values)
    check.close(softmax_composed(x, axis=axis), exps / exps.sum(axis=axis, keepdims=True),
                because=f"axis {axis} sums to 1")
### END HIDDEN TESTS

# %% [markdown]
# ## 6 · Softmax, lean
#
# Your composed softmax makes a new array at every step. Each costs memory, and the time to write it and read it again. As
# a primitive on arrays you can do better: make *one* array, `a - m`, and let every later step write into it.
#
# ```
#   composed:   x ─► shifted ─► exps ─► result        three arrays the size of x
#   lean:       a ─► p = a - m, exp in place, divide in place: p        one
# ```
#
# `np.exp(p, out=p)` writes into `p`; so does `p /= total`. Never do that to the input: it belongs to someone else.
#
# One more case needs a decision. In module 12 a *mask* will forbid some positions by a logit of `-inf`; then `exp` gives 0
# and the others share the 1. But what if a whole row is masked, as for a sentence that is all padding? Then $m$ is `-inf`,
# `-inf - -inf` is `nan`, and even without that the sum would be 0, and `0 / 0` is `nan` too. This course decides: **such a
# row has no candidates, so all its probabilities are 0.** They do not sum to 1, but 0 times anything adds nothing, which is
# what a caller wants from padding. PyTorch gives `nan`.
#
# The next cell is complete. `sum_along` adds up along an axis; for the last one it multiplies by ones, which NumPy does
# faster than a sum of short rows. `row_blocks` is optional: like `blocks` in exercise 4 it cuts large arrays into pieces, but
# leaves each row whole, so that all steps work on a few rows that are still in the cache.
#
# Below it, write `shift_by_max`, which log-softmax and the loss of module 04 will want as well, and `softmax_forward`.

# %% tags=["export"]
def sum_along(a, axis):
    """Sum along an axis, which stays with length 1; along the last one by a product with ones: faster."""
    if axis in (-1, a.ndim - 1):
        return np.vecdot(a, np.ones(a.shape[-1], a.dtype))[..., None]
    return a.sum(axis=axis, keepdims=True)


def row_blocks(axis, *arrays):
    """Go through arrays of one shape together, in pieces that fit the cache and are whole along `axis`.

    Yields
    ------
    list of numpy.ndarray
        The next piece of each array, a view: some entries of its first axis, about 2 · BLOCK elements.
        Small arrays, and those to be kept whole along their first axis, come as one piece.
    """
    shape, size = arrays[0].shape, arrays[0].size
    if size <= 2 * BLOCK or axis in (0, -len(shape)):
        yield list(arrays)
        return
    step = max(1, 2 * BLOCK * shape[0] // size)
    for start in range(0, shape[0], step):
        yield [a[start : start + step] for a in arrays]


# %% nbgrader={"grade": false, "grade_id": "activations_softmax", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def shift_by_max(a, axis=-1):
    """`a` minus its largest element along `axis`, so that exp of the result lies between 0 and 1.

    Parameters
    ----------
    a : numpy.ndarray
        May hold -inf.
    axis : int

    Returns
    -------
    numpy.ndarray
        A new array of the shape and dtype of `a`. Where all elements along `axis` are -inf, they stay -inf.

    Examples
    --------
    >>> shift_by_max(np.array([[1.0, 3.0], [-np.inf, -np.inf]]))
    array([[ -2.,   0.],
           [-inf, -inf]])

    Hints: replace a largest element of -inf by 0 before you subtract it.
    """
    ### BEGIN SOLUTION
    largest = a.max(axis=axis, keepdims=True)
    return a - np.where(largest == -np.inf, 0.0, largest)
    ### END SOLUTION


def softmax_forward(a, axis=-1):
    """Softmax along `axis`, with one array of the size of `a`.

    Parameters
    ----------
    a : numpy.ndarray
        Logits; -inf for what is masked.
    axis : int
        The axis along which the result sums to 1.

    Returns
    -------
    numpy.ndarray
        Of the shape and dtype of `a`. Where all elements along `axis` are -inf, all are 0.

    Examples
    --------
    >>> softmax_forward(np.array([[0.0, 0.0], [5.0, -np.inf], [-np.inf, -np.inf]]))
    array([[0.5, 0.5],
           [1. , 0. ],
           [0. , 0. ]])

    Hints: after the shift every step can write into the same array. Make a total of 0 a 1 before you divide.
    """
    ### BEGIN SOLUTION
    p = np.empty(a.shape, np.result_type(a, 0.0))
    for x, out in row_blocks(axis, a, p):
        np.exp(shift_by_max(x, axis), out=out)
        total = sum_along(out, axis)
        total[total == 0] = 1
        out /= total
    return p
    ### END SOLUTION


def softmax(x, axis=-1):
    """Probabilities along `axis` from the logits in a Tensor; all 0 where all logits are -inf."""
    return apply(softmax_forward, x, axis=axis)


# %%
# Try it: mask one position after the other. What becomes of the probabilities?
logits = Tensor([1.0, 2.0, 3.0])
for position in range(3):
    print(softmax(logits))
    logits[position] = -np.inf
softmax(logits)

# %% nbgrader={"grade": true, "grade_id": "activations_softmax_check", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
# Check (10 points): values and axis, large logits, masks, precision and memory.
values = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 5.0]])
exps = np.exp(values)
x = Tensor(values)
parts = check.partial(10)
with parts.part(3, "values"):
    with check.unchanged(x, because="p = a is the same array: the first step must make a new one"):
        softmax(x)
    check.close(softmax(x), exps / exps.sum(axis=-1, keepdims=True),
                because="each row is divided by its own sum")
    check.close(softmax(x, axis=0), exps / exps.sum(axis=0),
                because="along axis 0 each column sums to 1")
with parts.part(2, "large logits"):
    large = Tensor([[1e4, 1e4 - 1.0], [-1e4, -1e4]])
    check.close(softmax(large), np.array([[0.7310586, 0.2689414], [0.5, 0.5]]),
                because="subtract the largest of each row first")
with parts.part(3, "masks"):
    masked = Tensor([[2.0, 2.0, -np.inf], [-np.inf, -np.inf, -np.inf]])
    check.close(softmax(masked), np.array([[0.5, 0.5, 0], [0, 0, 0]]),
                because="a masked logit gets 0; in a row that is masked as a whole, -inf - -inf makes nan")
    masked = np.array([[1.0, 3.0], [-np.inf, -np.inf]])
    check.close(shift_by_max(masked), np.array([[-2, 0], [-np.inf, -np.inf]]),
                because="the largest becomes 0; a row of -inf stays as it is")
with parts.part(2, "precision and memory"):
    check.same_dtype(softmax_forward(values.astype(np.float32)), np.float32,
                     because="a primitive keeps float32")
    large = Tensor(np.zeros((1000, 500)))
    with peak_memory() as measured:
        softmax(large)
    check.counts(measured, peak_bytes=range(int(1.5 * 1000 * 500 * 4)),
                 because="one array of 2,000,000 bytes: let exp and the division write into it")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "activations_softmax_hidden", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (6 points): every axis, masks along other axes, warnings, float64, large arrays, no rows.
### BEGIN HIDDEN TESTS
values = np.random.default_rng(23).normal(size=(2, 3, 4)) * 3
exps = np.exp(values)
for axis in (0, 1, 2, -1, -2, -3):
    check.close(softmax(Tensor(values), axis=axis), exps / exps.sum(axis=axis, keepdims=True),
                because=f"axis {axis} sums to 1")
    double = softmax(Tensor(values, dtype=np.float64), axis=axis)
    check.close(double, exps / exps.sum(axis=axis, keepdims=True), rtol=1e-12, atol=1e-12,
                because="float64 has twice the digits")
check.close(softmax(Tensor(values)).data.sum(axis=-1), np.ones((2, 3)),
            because="without an axis the last one sums to 1")
check.same_dtype(softmax(Tensor([1.0], dtype=np.float64)), np.float64, because="float64 stays")
masked = Tensor([[-np.inf, 1.0], [-np.inf, -np.inf], [-np.inf, 1.0]])
check.close(softmax(masked, axis=0), np.array([[0, 0.5], [0, 0], [0, 0.5]]),
            because="a whole column may be masked too")
check.equal(complaints(softmax, masked), "nothing",
            because="neither -inf - -inf nor 0 / 0 should ever be computed")
check.equal(complaints(softmax, Tensor([[1e4, -1e4]])), "nothing",
            because="no exponent may be positive")
check.close(softmax(Tensor([[-1e38, 1e38]])), np.array([[0.0, 1.0]]),
            because="logits may be as large as float32 allows")
check.close(softmax(Tensor([[-200.0, -199.0], [-1e30, -1e30]])),
            np.array([[0.2689414, 0.7310586], [0.5, 0.5]]),
            because="logits that are all very negative are not masked")
check.close(softmax(Tensor([[7.0], [-np.inf]])), np.array([[1.0], [0.0]]),
            because="a single candidate is certain, unless it is masked")
check.close(softmax(Tensor([1.0, 1.0])), np.array([0.5, 0.5]), because="a single row of one axis")
check.equal(softmax(Tensor(np.zeros((0, 3)))).shape, (0, 3), because="no rows, no work")
large = np.random.default_rng(25).normal(size=(7, 300, 100))
for axis in (0, 1, 2):
    exps = np.exp(large)
    check.close(softmax(Tensor(large), axis=axis), exps / exps.sum(axis=axis, keepdims=True),
                because=f"a large array, axis {axis}: all of its pieces are to be filled")
check.close(softmax(Tensor([[1.0, np.nan], [0.0, 0.0]])), np.array([[np.nan, np.nan], [0.5, 0.5]]),
            because="NaN spoils its own row, no other, and is not hidden")
for array in (x := Tensor(values), masked):
    with check.unchanged(array, because="the input is not scratch space, masked or not"):
        softmax(array)
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · Log-softmax
#
# The loss of module 04 wants the *logarithm* of a probability. Taking it afterwards fails where it matters most: a network
# that is confidently wrong gives the right class a probability such as $e^{-120}$, which is 0 in `float32`, and the log of
# 0 is `-inf`. The number that you want is simply -120. So bring the logarithm inside, where it undoes the `exp`:
#
# $$\log \text{softmax}(x)_i = (x_i - m) - \log \sum_j e^{x_j - m}$$
#
# The sum is at least 1, so its logarithm is at least 0 and never `-inf`. Two arrays of the size of `a` are needed for a
# moment, the shifted logits and their `exp`; the shifted ones can become the result.
#
# By the decision above, a row that is masked as a whole has probabilities 0 and so logarithms `-inf`.

# %% nbgrader={"grade": false, "grade_id": "activations_log_softmax", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def log_softmax_forward(a, axis=-1):
    """Logarithm of softmax along `axis`, without computing softmax.

    Parameters
    ----------
    a : numpy.ndarray
        Logits; -inf for what is masked.
    axis : int

    Returns
    -------
    numpy.ndarray
        Of the shape and dtype of `a`, at most 0. Where all elements along `axis` are -inf, all are -inf.

    Examples
    --------
    >>> log_softmax_forward(np.array([[0.0, -120.0], [-np.inf, -np.inf]]))
    array([[   0., -120.],
           [-inf, -inf]])

    Hints: `shift_by_max`, then subtract the log of the sum of exp. For a row of -inf the sum is 0: make it 1.
    """
    ### BEGIN SOLUTION
    shifted = shift_by_max(a, axis)
    total = sum_along(np.exp(shifted), axis)
    total[total == 0] = 1
    shifted -= np.log(total)
    return shifted
    ### END SOLUTION


def log_softmax(x, axis=-1):
    """Logarithms of the probabilities along `axis`, from the logits in a Tensor."""
    return apply(log_softmax_forward, x, axis=axis)


# %%
# Try it: at which distance does the log of the softmax give up?
for distance in (1.0, 50.0, 100.0, 110.0):
    logits = Tensor([0.0, -distance])
    with np.errstate(divide="ignore"):
        print(distance, softmax(logits).log().data[1], log_softmax(logits).data[1])

# %% nbgrader={"grade": true, "grade_id": "activations_log_softmax_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): values, axis, logits far apart, masks.
values = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 5.0]])
x = Tensor(values)
with check.unchanged(x, because="the input is not scratch space"):
    log_softmax(x)
check.close(log_softmax(x), values - np.log(np.exp(values).sum(axis=-1, keepdims=True)),
            because="x minus the log of the sum of exp, row by row")
check.close(log_softmax(x, axis=0), values - np.log(np.exp(values).sum(axis=0)),
            because="along axis 0 the columns are normalised")
check.close(log_softmax(Tensor([[0.0, -1e4], [1e4, 0.0]])), np.array([[0, -1e4], [0, -1e4]]),
            because="the log of softmax is -inf here: take the log inside, where it undoes the exp")
masked = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
check.close(log_softmax(Tensor(masked)), masked,
            because="log 0 is -inf, and -inf - -inf would be nan")
check.same_dtype(log_softmax_forward(values.astype(np.float32)), np.float32,
                 because="a primitive keeps float32")

# %% nbgrader={"grade": true, "grade_id": "activations_log_softmax_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): every axis, many columns, warnings, float64, single columns, NaN.
### BEGIN HIDDEN TESTS
values = np.random.default_rng(24).normal(size=(2, 3, 4)) * 5
for axis in (0, 1, 2, -1, -2, -3):
    expected = values - np.log(np.exp(values).sum(axis=axis, keepdims=True))
    check.close(log_softmax(Tensor(values), axis=axis), expected, because=f"axis {axis} is normalised")
    check.close(log_softmax(Tensor(values, dtype=np.float64), axis=axis), expected, rtol=1e-12,
                atol=1e-12,
                because="float64 has twice the digits")
check.same_dtype(log_softmax(Tensor([1.0], dtype=np.float64)), np.float64, because="float64 stays")
masked = Tensor([[-np.inf, 1.0], [-np.inf, -np.inf], [-np.inf, 1.0]])
half = -math.log(2)
check.close(log_softmax(masked, axis=0),
            np.array([[-np.inf, half], [-np.inf, -np.inf], [-np.inf, half]]),
            because="a whole column may be masked too")
check.equal(complaints(log_softmax, masked), "nothing",
            because="neither -inf - -inf nor log 0 should ever be computed")
check.close(log_softmax(Tensor(np.full((3, 50000), 1e4))), np.full((3, 50000), -math.log(50000)),
            because="many equal logits: each has probability 1 / 50,000")
check.equal(log_softmax(Tensor(np.zeros((0, 3)))).shape, (0, 3), because="no rows, no work")
check.close(log_softmax(Tensor([[7.0], [-7.0]])), np.zeros((2, 1)),
            because="a single candidate is certain: log 1 is 0")
check.close(log_softmax(Tensor([[1.0, np.nan], [0.0, 0.0]])),
            np.array([[np.nan, np.nan], [half, half]]),
            because="NaN spoils its own row, no other, and is not hidden")
### END HIDDEN TESTS

# %% [markdown]
# ## Systems 1 · How many operations for an element?
#
# The convention, as in module 01: each elementwise operation of NumPy counts 1 an element, `exp` and `np.maximum` included; a
# reduction of `n` elements counts `n`; a product with ones counts 2 (it multiplies and adds); comparing, choosing
# (`np.where`) and copying count 0.
#
# Below are three of today's formulas as a textbook prints them, softmax with its shift. Read them operation by operation and
# predict what they cost: the first two for `n` elements, softmax for an array of shape `(N, C)`. Then count them, and your
# own functions beside them: what does it cost to be right for numbers of any size?

# %% nbgrader={"grade": false, "grade_id": "activations_printed_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
def sigmoid_as_printed(a):
    return 1 / (1 + np.exp(-a))


def gelu_as_printed(a):
    return 0.5 * a * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a * a * a)))


def softmax_as_printed(x):  # on a Tensor
    shifted = x - x.max(axis=-1, keepdims=True)
    exps = shifted.exp()
    return exps / exps.sum(axis=-1, keepdims=True)


# %% nbgrader={"grade": false, "grade_id": "activations_flops_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_sigmoid_flops(n):
    """FLOPs of sigmoid_as_printed for n elements."""
    ### BEGIN SOLUTION
    return 4 * n  # negative, exp, add, divide
    ### END SOLUTION


def predict_gelu_flops(n):
    """FLOPs of gelu_as_printed for n elements."""
    ### BEGIN SOLUTION
    return 9 * n  # inside: three products, a sum, a product; tanh; a sum; two products
    ### END SOLUTION


def predict_softmax_flops(N, C):
    """FLOPs of softmax_as_printed for an array of shape (N, C)."""
    ### BEGIN SOLUTION
    return 5 * N * C  # max, subtract, exp, sum, divide
    ### END SOLUTION


# %%
# Measure: count what runs. The kinds show where a prediction went wrong.
x = Tensor(np.random.default_rng(1).normal(size=(8, 10)))
for function, argument in [(sigmoid_as_printed, x.data), (sigmoid, x), (gelu_as_printed, x.data), (gelu, x),
                           (softmax_as_printed, x), (softmax, x)]:
    with count() as counted:
        function(argument)
    kinds = ", ".join(f"{kind} {number / x.size:g}" for kind, number in counted.by_kind.items())
    print(f"{function.__name__:18} {counted.flops / x.size:g} FLOPs an element: {kinds}")

# %% nbgrader={"grade": true, "grade_id": "activations_flops_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): each prediction against the formula as it executes, and your own functions within bounds.
parts = check.partial(7)
with parts.part(2, "sigmoid"):
    for n in (30, 7):
        with count() as counted:
            sigmoid_as_printed(np.ones(n))
        check.counts(counted, flops=4 * n, because="the cell that defines the formula was changed")
        check.close(predict_sigmoid_flops(n), counted.flops, rtol=0, atol=0,
                    because="a minus sign is an operation too")
        with count() as counted:
            sigmoid_forward(np.ones(n))
        check.counts(counted, flops=range(1, 16 * n + 1),
                     because="your sigmoid does far more than the formula asks for")
with parts.part(2, "gelu"):
    for n in (30, 7):
        with count() as counted:
            gelu_as_printed(np.ones(n))
        check.counts(counted, flops=9 * n, because="the cell that defines the formula was changed")
        check.close(predict_gelu_flops(n), counted.flops, rtol=0, atol=0,
                    because="a product of two constants is free, a product with an array is not")
        with count() as counted:
            gelu_forward(np.ones(n))
        check.counts(counted, flops=range(7 * n, 24 * n + 1),
                     because="your gelu does far more than the formula asks for")
with parts.part(3, "softmax"):
    for N, C in [(6, 5), (3, 40)]:
        with count() as counted:
            softmax_as_printed(Tensor(np.ones((N, C))))
        check.counts(counted, flops=5 * N * C,
                     because="the cell that defines the formula was changed")
        check.close(predict_softmax_flops(N, C), counted.flops, rtol=0, atol=0,
                    because="a reduction counts every element that it reads: max and sum count N·C each")
        with count() as counted:
            softmax_forward(np.ones((N, C)))
        check.counts(counted, flops=range(5 * N * C, 9 * N * C + 1),
                     because="max, subtract, exp, sum and divide; a sum may count twice")
parts.score()

# %% [markdown]
# *What you just measured.* A handful of operations an element, safe or not. The matrix product that made the element took
# 2·K, where K, the number of its inputs, is in the hundreds. So activations are cheap in FLOPs. What they do cost is memory
# traffic, since each operation reads and writes a whole array; the next measurement is about that. And FLOPs are not
# seconds: the product with ones in `sum_along` counts twice what a sum counts, and is the faster of the two on short rows.

# %% [markdown]
# ## Systems 2 · What memory does softmax need?
#
# A `float32` array of shape `(N, C)` takes `4·N·C` bytes. While softmax runs, arrays of that size come and go. At the worst
# moment, how many bytes are there beyond the input? Follow `softmax_as_printed` and your own `softmax_forward` line by line:
# an array lives as long as a name or a running expression holds it. Leave out what has only one number a row.

# %% nbgrader={"grade": false, "grade_id": "activations_memory_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_printed_peak(N, C):
    """Peak bytes, beyond the input, of softmax_as_printed for float32 logits of shape (N, C)."""
    ### BEGIN SOLUTION
    return 3 * 4 * N * C  # shifted and exps are held by their names while the result is made
    ### END SOLUTION


def predict_lean_peak(N, C):
    """Peak bytes, beyond the input, of a lean softmax for float32 logits of shape (N, C)."""
    ### BEGIN SOLUTION
    return 4 * N * C  # the result, into which every step writes
    ### END SOLUTION


# %%
# Measure: peak memory and the shortest of 20 times. Times vary from run to run; bytes do not.
x = Tensor(np.random.default_rng(2).normal(size=(1000, 1000)))
for function in (softmax_as_printed, softmax_composed, softmax):
    with peak_memory() as measured:
        function(x)
    milliseconds = 1e3 * min(timeit.repeat(lambda: function(x), number=1, repeat=20))
    print(f"{function.__name__:18} peak {measured.peak_bytes / x.nbytes:.2f} arrays, {milliseconds:.1f} ms")

# %% nbgrader={"grade": true, "grade_id": "activations_memory_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): predictions and measured peaks, both against the number of arrays that must live at once.
parts = check.partial(8)
with parts.part(4, "as printed"):
    for N, C in [(500, 1000), (250, 3000)]:
        x = Tensor(np.ones((N, C)))
        with peak_memory() as measured:
            softmax_as_printed(x)
        check.close(measured.peak_bytes / (4 * N * C), 3.0, rtol=0.05,
                    because="the cell that defines the formula was changed")
        check.close(1.0 * predict_printed_peak(N, C), 3 * 4 * N * C, rtol=0.05,
                    because="which arrays have a name while the last one is made? The result counts too")
with parts.part(4, "lean"):
    for N, C in [(500, 1000), (250, 3000)]:
        x = Tensor(np.ones((N, C)))
        with peak_memory() as measured:
            softmax(x)
        check.counts(measured, peak_bytes=range(4 * N * C, int(1.4 * 4 * N * C)),
                     because="your softmax should need one array that all steps share")
        check.close(1.0 * predict_lean_peak(N, C), 4 * N * C, rtol=0.05,
                    because="the input is not counted, the result is")
parts.score()

# %% [markdown]
# *What you just measured.* The same arithmetic in a third of the memory. In a language model with a vocabulary of 50,000,
# softmax over 2,048 tokens has an array of 410 MB: three of them do not fit beside the model on a small machine, one does.
# This is why frameworks write such functions by hand instead of composing them; the word for it is *fusion*.

# %% [markdown]
# ## Systems 3 · Where does exp overflow?
#
# The largest `float32` is about $3.4 \cdot 10^{38}$. Above which x is `exp(x)` infinite? Write it as a formula for any
# precision; `np.finfo(dtype).max` is the largest number of a dtype. Then find the border by measuring.

# %% nbgrader={"grade": false, "grade_id": "activations_overflow_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_overflow(dtype):
    """The x above which exp(x) is infinite in `dtype` (np.float16, np.float32 or np.float64)."""
    ### BEGIN SOLUTION
    return math.log(np.finfo(dtype).max)
    ### END SOLUTION


# %%
# Measure: halve the interval that holds the border, thirty times.
def measure_overflow(dtype):
    low, high = 0.0, 1000.0
    for _ in range(30):
        middle = (low + high) / 2
        with np.errstate(over="ignore"):
            finite = np.isfinite(np.exp(np.array(middle, dtype)))
        low, high = (middle, high) if finite else (low, middle)
    return low


for dtype in (np.float16, np.float32, np.float64):
    print(f"{np.dtype(dtype).name}: exp(x) is finite up to x = {measure_overflow(dtype):.2f}")

# %% nbgrader={"grade": true, "grade_id": "activations_overflow_check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Check (5 points): the prediction against the border, just below and just above it.
parts = check.partial(5)
for points, dtype in [(3, np.float32), (1, np.float16), (1, np.float64)]:
    with parts.part(points, np.dtype(dtype).name):
        border = predict_overflow(dtype)
        with np.errstate(over="ignore"):
            around = np.exp(np.array([float(border) - 0.05, float(border) + 0.05], dtype))
        check.equal([bool(finite) for finite in np.isfinite(around)], [True, False],
                    because="exp(x) equals the largest number of the dtype when x is its natural logarithm")
parts.score()

# %% [markdown]
# *What you just measured.* A logit of 89 is no rarity in a network that has gone astray, and in `float16` the border is 11. No
# precision is wide enough: even `float64` ends at 710. Shifting by the maximum works in all of them and costs 2 operations
# an element.

# %% [markdown]
# ## Explain
#
# A colleague computes a loss as `softmax(x).log()`. Training runs well for an hour; then the loss is `inf` and all
# parameters are `nan`. Her logits at that moment were `(0, -120)`, the second class being the right one. Explain in two to
# five sentences, with numbers, what happened, and why subtracting the maximum did not save her. Then say what she should
# call, and how many arrays of the size of the logits each of the two ways needs at its peak.

# %% [markdown] nbgrader={"grade": true, "grade_id": "activations_explain", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Rubric (5 points).**
#
# - 2: the probability of the second class is exp(-120), about 10⁻⁵², which is below the smallest `float32` (about 10⁻⁴⁵)
#   and becomes 0; the log of 0 is -inf.
# - 1: the shift by the maximum prevents overflow, not underflow; here the maximum is 0 already and the shift changes nothing.
# - 1: `log_softmax`, which never takes the exp of the wanted number and then its log: it gives -120.
# - 1: softmax and then log need two arrays at the peak (the probabilities, and their logs); log_softmax two as well (the
#   shifted logits, which become the result, and their exp). Another count is right if it follows from the answer's own code.
#
# *A good answer.* "softmax gives the right class exp(-120) ≈ 8e-53, too small for float32 (smallest 1.4e-45), so it is 0 and
# its log -inf; the loss is inf, and its gradient nan. The maximum of (0, -120) is 0, so the shift changes nothing: it guards
# against exp of large positive numbers only. log_softmax computes -120 - log(1 + 8e-53) = -120. Both hold two arrays at the
# peak, so it costs no memory to be right." Every number has its reason. 5 points.
#
# *A weak answer.* "The logits were too large and exp overflowed; she should have clipped the probabilities at 1e-7." There
# was no overflow, and clipping gives a loss of 16 with a gradient of zero, so the worst mistakes teach nothing. 0 points; 1
# if it had named log_softmax.
# ### END SOLUTION

# %% [markdown]
# ## What can go wrong
#
# **`RuntimeWarning: overflow encountered in exp`**: some exponent is positive and large. Shift by the maximum, or use the
# form of the sigmoid whose exponent is negative. `np.where` does not protect you: it computes both branches.
#
# **`RuntimeWarning: invalid value encountered in subtract`, then `nan` in a row**: the row is `-inf` as a whole, and
# `-inf - -inf` has no value. Replace a maximum of `-inf` by 0.
#
# **Probabilities that sum to 1 down the columns instead of along the rows**: softmax ran along axis 0. For logits of shape
# `(N, C)` it is `axis=-1`. With `N = C` no error and no shape will tell you.
#
# **`ValueError: shapes (32, 10) and (32,) do not fit: aligned from the right, …`, or from NumPy `operands could not be
# broadcast together with shapes (32,10) (32,)`**: a maximum or sum without `keepdims=True`.
#
# **A result of `float64`, twice the memory, half the speed**: a constant came from NumPy (`np.sqrt(2 / np.pi)`). A Python
# number does not change the precision of an array; a NumPy number does.
#
# **An earlier layer's output changes when you apply an activation**: a primitive wrote into its input. In-place steps belong
# on an array that the primitive made itself.

# %% [markdown]
# ## Recap
#
# | You built | Costs an element | Peak memory | PyTorch's name | One true difference |
# |---|---|---|---|---|
# | `relu` | 1 FLOP | 1 array | `torch.relu` | PyTorch also has a version in place, `relu_` |
# | `sigmoid` | 7 FLOPs, two of them `exp` | 3 arrays | `torch.sigmoid` | PyTorch makes one pass over memory; yours makes seven |
# | `tanh` | 1 FLOP, a `tanh` | 1 array | `torch.tanh` | the same values to the last digit or two |
# | `gelu` | 8 FLOPs, one of them `exp` | 2 arrays, one of them the gate | `F.gelu(approximate="tanh")` | PyTorch's default is the exact form with erf |
# | `softmax` | 6 FLOPs, one of them `exp` | 1 array | `torch.softmax` | a row masked as a whole: PyTorch gives `nan`, yours 0 |
# | `log_softmax` | 6 FLOPs, one of them `exp` | 2 arrays | `torch.log_softmax` | the same row: `nan` there, `-inf` here; and `dim` has no default there |
#
# In module 03 you put matrices and these functions together to make layers, and build whole networks of them. `log_softmax`
# comes back in module 04, where it becomes a loss.
