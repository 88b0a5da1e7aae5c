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
# # 06 · Autograd
#
# Today you build the part that makes learning possible: your tensors will note every operation, and
# `loss.backward()` will give the gradient of a number with respect to everything that it was computed from.
#
# | | |
# |---|---|
# | **Needs** | Modules 01 to 04 |
# | **Time** | 7 to 9 hours: the hardest module; take a break after exercise 4 |
# | **Points** | 100: visible checks 50, hidden tests 25, systems 20, one written answer 5 |
# | **Becomes** | `tinytorch_ref/autograd.py`, imported by every later module |
#
# ```
#   01 tensor ──► 02 activations ──► 03 layers ──► 04 losses ──► 05 data
#        │               │                │             │
#        └───────────────┴──────┬─────────┴─────────────┘
#                               ▼
#                          06 autograd ──► 07 optimizers ──► 08 training
#                          ▲ you are here
# ```
#
# Exercises 1 to 5 build the engine; 6 to 8 teach it the operations of the earlier modules.

# %% nbgrader={"grade": false, "grade_id": "autograd_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import time

import matplotlib.pyplot as plt
import numpy as np

from autograder import checks as check
from autograder.counters import count, peak_memory
from autograder.figures import figure, show

# %% nbgrader={"grade": false, "grade_id": "autograd_imports", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
"""Autograd: note every operation on tensors, then run them backwards to get gradients."""

import inspect
import itertools
import math
from contextlib import contextmanager
from heapq import heappop, heappush
from weakref import ref

import numpy as np

from tinytorch_ref.activations import (
    blocks, gelu_forward, log_softmax_forward, relu_forward, sigmoid_forward, softmax_forward, tanh_forward,
)
from tinytorch_ref.layers import dropout_forward, linear_forward
from tinytorch_ref.losses import (
    binary_cross_entropy_with_logits_forward, cross_entropy_forward, mse_loss_forward,
)
from tinytorch_ref.tensor import (
    Recorder, Tensor, absolute, add, apply, cast, divide, equal, exp, greater, greater_equal, index, less,
    less_equal, log, matmul, multiply, negative, not_equal, permute, power, reduce_max, reduce_mean, reduce_sum,
    reshape, scalar_power, sqrt, subtract,
)

# %% [markdown]
# ## Why not measure the slopes?
#
# To make a loss smaller you need its slope with respect to every parameter. The definition of a slope
# suggests a way: move one parameter a little, compute the loss again, and see how much it changed. It works.
# Run this and look at the time.

# %%
rng = np.random.default_rng(0)
x = Tensor(rng.normal(size=(32, 784)))
w1, w2 = Tensor(rng.normal(size=(784, 128)) / 28), Tensor(rng.normal(size=(128, 10)) / 11)


def loss_of(w1, w2):
    return (((x @ w1) ** 2) @ w2).mean().item()


start = time.perf_counter()
slopes = []
for column in range(20):  # 20 of the parameters, each moved up and down
    moved = w1.data.copy()
    moved[0, column] += 0.01
    higher = loss_of(Tensor(moved), w2)
    moved[0, column] -= 0.02
    slopes.append((higher - loss_of(Tensor(moved), w2)) / 0.02)
for_20 = time.perf_counter() - start
parameters = w1.size + w2.size
for_all = for_20 / 20 * parameters
print(f"20 slopes: {for_20 * 1e3:.0f} ms; all {parameters:,}: {for_all:.0f} s, for one step of learning")

# %% [markdown]
# Two runs of the network for each parameter. A small language model has a hundred million of them.
#
# *Backpropagation* gives all slopes exactly, for the price of about two more runs in total, however many
# parameters there are. It is nothing but the chain rule, walked from the loss back to the inputs, with each
# intermediate result visited once.
#
# ## Optional: the whole idea with single numbers
#
# If the chain rule is a while ago, read the next cell; there is nothing to write and there are no points.
# Each `Value` remembers what it was made of and the slope towards each parent. `backward` goes through the
# values from the youngest to the oldest and passes on *my gradient times the slope*; what arrives over
# several ways is added up.

# %%
class Value:
    made = 0

    def __init__(self, data, parents=(), slopes=()):
        self.data, self.parents, self.slopes, self.grad = data, parents, slopes, 0.0
        Value.made += 1
        self.order = Value.made

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def backward(self):
        found, todo = {self}, [self]
        while todo:
            new = set(todo.pop().parents) - found
            found |= new
            todo += new
        self.grad = 1.0
        for value in sorted(found, key=lambda value: value.order, reverse=True):
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += value.grad * slope


a, b = Value(2.0), Value(3.0)
c = a * b + a * a  # the slope by a is b + 2a = 7, the slope by b is a = 2
c.backward()
a.grad, b.grad

# %% [markdown]
# With tensors four things are new, and they are today's work: shapes (a gradient has the shape of its tensor,
# so broadcasting must be undone), memory (what the backward pass wants again must be kept until then, and no
# longer), length (a graph may have 500,000 nodes), and errors (a wrong gradient raises nothing; it just
# learns badly).

# %% [markdown]
# ## 1 · Undo a broadcast
#
# Write $L$ for the number at the end, the loss. The *gradient* of a tensor $x$ is the tensor of all
# $\partial L / \partial x_i$; it has the shape of $x$. In the backward pass each operation receives the gradient of its
# output and must return the gradient of each input.
#
# Take `z = x + y` with `x` of shape `(2, 3)` and a bias `y` of shape `(3,)`. Each $y_j$ was used twice, in
# row 0 and in row 1, so it moves the loss in two ways, and the two effects add up:
#
# $$\frac{\partial L}{\partial y_j} = \sum_i \frac{\partial L}{\partial z_{ij}}$$
#
# ```
#   forward: stretch                         backward: sum what was stretched
#   y  1 2 3    ──►   1 2 3                  gradient of z   a b c    ──►   a+d b+e c+f
#                     1 2 3                                  d e f
#   (3,)              (2, 3)                 (2, 3)                         (3,)
# ```
#
# So: where the forward pass repeated a number, the backward pass sums. Axes that broadcasting put in front
# are summed away; axes of length 1 that it stretched are summed and keep length 1. Write `unbroadcast`, which
# does that for any two shapes.

# %% nbgrader={"grade": false, "grade_id": "autograd_unbroadcast", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def unbroadcast(grad, shape):
    """Sum a gradient over the axes along which broadcasting repeated an operand.

    Parameters
    ----------
    grad : numpy.ndarray
        Gradient of the result.
    shape : tuple of int
        Shape of the operand; it broadcasts to the shape of `grad`.

    Returns
    -------
    numpy.ndarray of shape `shape`
        `grad` itself if nothing was repeated.

    Examples
    --------
    >>> unbroadcast(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    >>> unbroadcast(np.ones((2, 3)), (2, 1))
    array([[3.],
           [3.]])

    Hints: line the shapes up from the right. `grad.sum(axis=...)` takes a tuple of axes. A last `reshape(shape)`
    puts back the axes of length 1.
    """
    ### BEGIN SOLUTION
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    stretched = [extra + axis for axis, length in enumerate(shape) if length == 1]
    return grad.sum(axis=(*range(extra), *stretched)).reshape(shape)
    ### END SOLUTION


# %%
# Try it: a gradient of shape (2, 3) for operands of these shapes. How often was each number used?
for shape in [(2, 3), (3,), (1, 3), (2, 1), ()]:
    print(shape, "->", unbroadcast(np.ones((2, 3)), shape).tolist())

# %% nbgrader={"grade": false, "grade_id": "autograd_unbroadcast_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: what happens to the very array that is handed in.
def leaves_alone(grad, shape):
    before = grad.copy()
    unbroadcast(grad, shape)
    return bool((grad == before).all())


def comes_back_uncopied(grad):
    return bool(np.shares_memory(unbroadcast(grad, grad.shape), grad))


# %% nbgrader={"grade": true, "grade_id": "autograd_unbroadcast_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): axes in front, axes of length 1, both, none.
grad = np.arange(6.0).reshape(2, 3)
check.close(unbroadcast(grad, (3,)), grad.sum(axis=0),
            because="the axis put in front is summed away")
check.close(unbroadcast(grad, (2, 1)), grad.sum(axis=1, keepdims=True),
            because="a stretched axis is summed and keeps length 1")
check.close(unbroadcast(grad, (1, 3)), grad.sum(axis=0, keepdims=True),
            because="(1, 3) is not (3,): the axis of length 1 stays")
check.close(unbroadcast(grad, ()), grad.sum(),
            because="a single number was used for every element: sum all, and shape ()")
check.close(unbroadcast(grad, (2, 3)), grad, because="nothing was repeated, so nothing is summed")
square = np.arange(9.0).reshape(3, 3)
check.close(unbroadcast(square, (3,)), square.sum(axis=0),
            because="shapes line up from the right: the first axis is the new one")

# %% nbgrader={"grade": true, "grade_id": "autograd_unbroadcast_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): many axes, lengths that happen to be 1, empty axes, dtype, no work where none is due.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(1)
parts = check.partial(3)
with parts.part(2, "values"):
    cases = [
        ((4, 2, 3), (2, 3), (0,), (2, 3)),
        ((4, 2, 3), (4, 1, 3), (1,), (4, 1, 3)),
        ((4, 2, 3), (2, 1), (0, 2), (2, 1)),
        ((4, 2, 3), (1, 1), (0, 1, 2), (1, 1)),
        ((4, 2, 3), (), (0, 1, 2), ()),
        ((1, 2, 1), (2, 1), (0,), (2, 1)),
        ((1, 1), (1,), (0,), (1,)),
        ((5, 3, 2, 3), (3, 1, 3), (0, 2), (3, 1, 3)),
    ]
    for full, shape, axes, kept in cases:
        grad = rng.normal(size=full)
        check.close(unbroadcast(grad, shape), grad.sum(axis=axes).reshape(kept),
                    because=f"{shape} was repeated along axes {axes} of {full}")
    check.close(unbroadcast(np.zeros((0, 3)), (1, 3)), np.zeros((1, 3)),
                because="stretched to length 0: a sum over nothing is 0")
with parts.part(1, "precision and memory"):
    check.same_dtype(unbroadcast(np.ones((2, 3), np.float32), (3,)), np.float32,
                     because="a float32 gradient stays float32")
    grad = rng.normal(size=(3, 4))
    check.equal(leaves_alone(grad, (4,)), True, because="others may still need the gradient that arrives")
    check.equal(comes_back_uncopied(grad), True,
                because="equal shapes: return grad itself, a copy costs memory and time")
    with count() as counted:
        unbroadcast(np.ones((2, 3)), (2, 3))
    check.counts(counted, flops=0, because="equal shapes need no sum")
parts.score()
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · A rule for each operation
#
# Every operation needs one fact: how its inputs move its output. For `z = x · y`, element by element,
#
# $$\frac{\partial L}{\partial x} = \frac{\partial L}{\partial z} \cdot y, \qquad
#   \frac{\partial L}{\partial y} = \frac{\partial L}{\partial z} \cdot x .$$
#
# In the package this is a *gradient rule*: a function that runs right after the operation, with its arrays at
# hand, and returns a function `backward`, which will run later. Between the two, `backward` is a *closure*:
# **it keeps alive each array that its body names, and no other**. For the gradient of a sum you need shapes
# only, so take them out first:
#
# ```python
# @gradient_rule(add)
# def add_rule(output, a, b):  # the arrays: result, first operand, second operand
#     shape_a, shape_b = a.shape, b.shape  # all that backward names: two small tuples
#
#     def backward(grad):  # the gradient of the result, of its shape
#         return unbroadcast(grad, shape_a), unbroadcast(grad, shape_b)  # one an input
#
#     return backward
# ```
#
# A rule with a parameter `needs` is also told which inputs want a gradient at all, such as `(True, False)`
# for `x * 2`: for the others it may return `None`, do no work and keep nothing. The registry below is
# complete; so are the easy rules.

# %% tags=["export"]
RULES = {}  # primitive -> (rule, whether the rule has a parameter `needs`)


def gradient_rule(primitive):
    """Register the gradient rule of a primitive; a decorator.

    Parameters
    ----------
    primitive : function
        As given to `apply`.

    Notes
    -----
    The rule is called as `rule(output, *arrays, **params)` with the arrays of the operation and the parameters that
    the primitive had. If it has a parameter `needs`, it gets a list of bools, one an input; if the primitive returned
    `(output, saved)`, the rule gets `saved`. It returns `backward`, or None if the result has no gradient.

    `backward(grad)` takes an array of the shape of the output, which it must not change, and returns a tuple with one
    array an input, of the input's shape; None is allowed where none is needed. Each is an array of its own, or
    `grad` itself, or a view of it. The arrays that `backward` names stay in memory until the backward pass.
    """

    def register(rule):
        RULES[primitive] = rule, "needs" in inspect.signature(rule).parameters
        return rule

    return register


def no_gradient(*primitives):
    """Declare that the results of these primitives have no gradient, such as those of comparisons."""
    for primitive in primitives:
        RULES[primitive] = (lambda *arrays, **params: None), False


no_gradient(equal, not_equal, less, less_equal, greater, greater_equal)


@gradient_rule(add)
def add_rule(output, a, b):
    """Both operands move the sum one to one."""
    shape_a, shape_b = a.shape, b.shape

    def backward(grad):
        return unbroadcast(grad, shape_a), unbroadcast(grad, shape_b)

    return backward


@gradient_rule(subtract)
def subtract_rule(output, a, b, needs):
    """The second operand moves the difference the other way."""
    shape_a, shape_b = a.shape, b.shape

    def backward(grad):
        return unbroadcast(grad, shape_a), unbroadcast(-grad, shape_b) if needs[1] else None

    return backward


@gradient_rule(negative)
def negative_rule(output, a):
    """The sign turns round."""
    return lambda grad: (-grad,)


@gradient_rule(absolute)
def absolute_rule(output, a):
    """The slope is the sign; at 0 it is 0."""
    return lambda grad: (grad * np.sign(a),)


@gradient_rule(sqrt)
def sqrt_rule(output, a):
    """The slope is 1 / (2 √a): infinite at 0."""
    return lambda grad: (grad * 0.5 / output,)


@gradient_rule(power)
def power_rule(output, a, b, needs):
    """Slopes b · a^(b - 1) by the base and a^b · log a by the exponent; no NaN where an operand is 0."""
    shape_a, shape_b = a.shape, b.shape

    def backward(grad):
        by_base = grad * b * a ** np.where(b == 0, 0, b - 1) if needs[0] else None
        by_exponent = grad * output * np.log(np.where(a == 0, 1, a)) if needs[1] else None
        return (
            unbroadcast(by_base, shape_a) if needs[0] else None,
            unbroadcast(by_exponent, shape_b) if needs[1] else None,
        )

    return backward


@gradient_rule(cast)
def cast_rule(output, a, dtype):
    """The gradient goes back to the precision of the input; integers have none."""
    before = a.dtype
    return (lambda grad: (grad.astype(before),)) if output.dtype.kind == "f" else None


# %% [markdown]
# Now five rules of yours. Find the slope on paper, multiply it by `grad`, undo the broadcasting, and ask for
# each array that you name in `backward`: is it needed? (The slope of `exp` is its result: keep the result,
# not the input.)
#
# `scalar_power` is $a^p$ for one Python number $p$, with slope $p\,a^{p-1}$. Mind $p = 0$: the result is
# constant, so the slope is 0 everywhere, also at $a = 0$, where $0 \cdot 0^{-1}$ would be NaN.

# %% nbgrader={"grade": false, "grade_id": "autograd_rules", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
@gradient_rule(multiply)
def multiply_rule(output, a, b, needs):
    """Gradient rule of `a * b`, which broadcasts.

    Returns
    -------
    function
        `backward(grad)` returns two gradients, of the shapes of `a` and `b`; None for an operand that needs none.
        It keeps `a` only if `b` needs a gradient, and `b` only if `a` does.

    Examples
    --------
    >>> a, b = np.array([1.0, 2.0]), np.array([3.0])
    >>> multiply_rule(a * b, a, b, needs=(True, True))(np.array([1.0, 10.0]))
    (array([ 3., 30.]), array([21.]))

    Hints: each factor is the slope by the other one. In x * 2 nobody wants the gradient of 2, so x need not be kept:
    give `a if needs[1] else None` a name before you define `backward`.
    """
    ### BEGIN SOLUTION
    shape_a, shape_b = a.shape, b.shape
    slope_a = b if needs[0] else None
    slope_b = a if needs[1] else None

    def backward(grad):
        return (
            None if slope_a is None else unbroadcast(grad * slope_a, shape_a),
            None if slope_b is None else unbroadcast(grad * slope_b, shape_b),
        )

    return backward
    ### END SOLUTION


@gradient_rule(divide)
def divide_rule(output, a, b, needs):
    """Gradient rule of `a / b`, which broadcasts; None for an operand that needs none.

    Hints: 1 / b is the slope by a, and -a / b² that by b. With the output at hand the second is -output / b.
    """
    ### BEGIN SOLUTION
    shape_a, shape_b = a.shape, b.shape
    quotient = output if needs[1] else None

    def backward(grad):
        by_a = grad / b
        return (
            unbroadcast(by_a, shape_a) if needs[0] else None,
            unbroadcast(-by_a * quotient, shape_b) if needs[1] else None,
        )

    return backward
    ### END SOLUTION


@gradient_rule(exp)
def exp_rule(output, a):
    """Gradient rule of the exponential. `backward` returns a tuple even for one input."""
    ### BEGIN SOLUTION
    return lambda grad: (grad * output,)
    ### END SOLUTION


@gradient_rule(log)
def log_rule(output, a):
    """Gradient rule of the natural logarithm."""
    ### BEGIN SOLUTION
    return lambda grad: (grad / a,)
    ### END SOLUTION


@gradient_rule(scalar_power)
def scalar_power_rule(output, a, exponent):
    """Gradient rule of `a` to the power of one Python number.

    Hints: `scalar_power(a, exponent - 1)` is the fast way to the smaller power. For exponent 0 return
    zeros of the dtype of `grad`.
    """
    ### BEGIN SOLUTION
    exponent = float(exponent)  # an np.float64 would turn float32 arrays into float64

    def backward(grad):
        if exponent == 0:
            return (np.zeros_like(grad),)
        return (grad * (exponent * scalar_power(a, exponent - 1)),)

    return backward
    ### END SOLUTION


# %%
# Try it: rules are plain functions on arrays. Which slope has a³ at -2, 0 and 2? And a⁰?
a = np.array([-2.0, 0.0, 2.0])
scalar_power_rule(a**3, a, exponent=3)(np.ones(3)), scalar_power_rule(a**0, a, exponent=0)(np.ones(3))

# %% nbgrader={"grade": false, "grade_id": "autograd_rules_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: does a rule change an array that is not its own, and which arrays does it keep?
def changes_nothing(rule, grad, *arrays, **params):
    before = [array.copy() for array in (grad, *arrays)]
    rule(*arrays, **params)(grad)
    return all(np.array_equal(array, old) for array, old in zip((grad, *arrays), before))


def kept_by(rule, *arrays, **params):
    arrays = [array.copy() for array in arrays]
    backward = rule(*arrays, **params)
    watched = [ref(array) for array in arrays]  # weak: they keep nothing alive
    del arrays
    alive = [reference() is not None for reference in watched]
    del backward
    return alive


# %% nbgrader={"grade": true, "grade_id": "autograd_rules_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): each rule against its formula, with a gradient from above that is not all ones.
rng = np.random.default_rng(2)
a, b, grad = rng.uniform(1, 2, (2, 3)), rng.uniform(1, 2, 3), rng.normal(size=(2, 3))
parts = check.partial(8)
with parts.part(2, "multiply"):
    by_a, by_b = multiply_rule(a * b, a, b, needs=(True, True))(grad)
    check.close(
        by_a, grad * b,
        because="the slope by the first factor is the second, times the gradient that arrives")
    check.close(by_b, (grad * a).sum(axis=0),
                because="the second operand was broadcast: its gradient is summed")
with parts.part(2, "divide"):
    by_a, by_b = divide_rule(a / b, a, b, needs=(True, True))(grad)
    check.close(by_a, grad / b, because="the slope by the numerator is 1 / b")
    check.close(by_b, (-grad * a / b**2).sum(axis=0),
                because="the slope by the denominator is -a / b²")
with parts.part(2, "exp and log"):
    check.close(exp_rule(np.exp(a), a)(grad)[0], grad * np.exp(a), because="exp is its own slope")
    check.close(log_rule(np.log(a), a)(grad)[0], grad / a, because="the slope of log a is 1 / a")
with parts.part(2, "scalar_power"):
    check.close(scalar_power_rule(a**3, a, exponent=3)(grad)[0], grad * 3 * a**2,
                because="the slope of a³ is 3a²")
    check.close(scalar_power_rule(a**0.5, a, exponent=0.5)(grad)[0], grad * 0.5 / np.sqrt(a),
                because="a power may be a fraction")
    check.close(scalar_power_rule(a**0, a, exponent=0)(grad)[0], 0 * grad, because="a⁰ is constant")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "autograd_rules_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): broadcasting, zeros and negative bases, precision, what is kept, changed or not needed.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(3)
parts = check.partial(4)
with parts.part(2, "broadcasting on either side, values of either sign"):
    for first, second in [((3,), (2, 3)), ((2, 1), (1, 3)), ((), (2, 2)), ((2, 3), ()), ((4, 1, 2), (3, 1))]:
        full = np.broadcast_shapes(first, second)
        a, b = (
            rng.choice([-1.0, 1.0], first) * rng.uniform(1, 2, first),
            rng.choice([-1.0, 1.0], second) * rng.uniform(1, 2, second),
        )
        grad = rng.normal(size=full)
        spread = [
            tuple(i for i, n in enumerate((1,) * (len(full) - len(s)) + s) if n == 1) for s in (first, second)
        ]
        wanted = {
            "multiply": (multiply_rule(a * b, a, b, needs=(True, True))(grad), grad * b, grad * a),
            "divide": (divide_rule(a / b, a, b, needs=(True, True))(grad), grad / b, -grad * a / b**2),
        }
        for name, (got, by_a, by_b) in wanted.items():
            check.close(
                got[0],
                by_a.sum(axis=spread[0]).reshape(first),
                because=f"{name} of {first} and {second}: the first operand's gradient",
            )
            check.close(
                got[1],
                by_b.sum(axis=spread[1]).reshape(second),
                because=f"{name} of {first} and {second}: the second operand's gradient",
            )
with parts.part(1, "powers"):
    a = np.array([-2.0, 0.0, 3.0])
    for exponent, slope in [(2, 2 * a), (3, 3 * a**2), (1, np.ones(3)), (0, np.zeros(3)), (4, 4 * a**3)]:
        got = scalar_power_rule(a**exponent, a, exponent=exponent)(np.array([1.0, -2.0, 0.5]))[0]
        check.close(
            got, slope * np.array([1.0, -2.0, 0.5]), because=f"the slope of a^{exponent} at -2, 0 and 3"
        )
    check.close(
        scalar_power_rule(1 / a[::2], a[::2], exponent=-1)(np.ones(2))[0],
        -1 / a[::2] ** 2,
        because="the slope of 1/a is -1/a²",
    )
with parts.part(1, "precision, what is kept and what is not needed"):
    a, b, grad = (rng.uniform(1, 2, 3).astype(np.float32) for _ in range(3))
    for rule, value in [(exp_rule, np.exp(a)), (log_rule, np.log(a))]:
        check.same_dtype(rule(value, a)(grad)[0], np.float32, because="float32 stays float32 on the way back")
    check.same_dtype(
        scalar_power_rule(a**0.5, a, exponent=0.5)(grad)[0],
        np.float32,
        because="float32 stays float32 on the way back",
    )
    check.same_dtype(
        scalar_power_rule(a**0, a, exponent=0)(grad)[0],
        np.float32,
        because="exponent 0: np.zeros makes float64 unless it is told",
    )
    for rule, value in [(multiply_rule, a * b), (divide_rule, a / b)]:
        check.equal(
            rule(value, a, b, needs=(True, False))(grad)[1], None, because="nobody wants the second gradient"
        )
        check.equal(
            rule(value, a, b, needs=(False, True))(grad)[0], None, because="nobody wants the first gradient"
        )
        check.same_dtype(
            rule(value, a, b, needs=(False, True))(grad)[1], np.float32, because="the other one is still due"
        )
    for needs, number, name in [((True, False), 1, "a"), ((False, True), 2, "b")]:
        check.equal(
            kept_by(multiply_rule, a * b, a, b, needs=needs)[number],
            False,
            because=f"nobody needs {name}, but it stays in memory: `backward` names it, if only for {name}.shape",
        )
    for rule, arrays, params in [
        (multiply_rule, (a * b, a, b), {"needs": (True, True)}),
        (divide_rule, (a / b, a, b), {"needs": (True, True)}),
        (exp_rule, (np.exp(a), a), {}),
        (log_rule, (np.log(a), a), {}),
        (scalar_power_rule, (a**3, a), {"exponent": 3}),
    ]:
        check.equal(
            changes_nothing(rule, grad, *arrays, **params),
            True,
            because="others use the gradient and the arrays as well: no *=, no out=",
        )
parts.score()
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · Take notes
#
# Since module 01 every operation passes one door, `apply`, which asks `Recorder.current` to note it. Until
# today nobody stood there. What shall be noted? A *node* for each operation that a gradient has to pass, with
#
# - `backward`: what the rule returned, with the arrays that it keeps;
# - `edges`: one for each input, saying where its gradient goes. An input that was itself computed leads to
#   *its node*. A *leaf*, a tensor that you made and that requires a gradient, leads to the *tensor*, whose
#   `grad` will be filled. An input that needs no gradient has the edge `None`;
# - `order`: the number of nodes that were made before it.
#
# ```
#   x ── leaf ──┐                                        edges of multiply: [x, y]
#               ├── multiply (0) ◄── sum (1) ◄── z.node   edges of sum: [multiply]
#   y ── leaf ──┘
# ```
#
# Why not an edge to the intermediate tensor `x * y`? Because the edge would keep its array alive, though no
# rule may want it. What the rules name is kept; nothing else is.
#
# The next three cells are complete. First `make_backward`, which finds the rule of an operation and runs it.

# %% tags=["export"]
def make_backward(primitive, output, inputs, needs, saved, params):
    """Run the gradient rule of an operation that was just computed.

    Returns
    -------
    function or None
        What the rule returned.

    Raises
    ------
    RuntimeError
        If the primitive has no rule; the message names it.
    """
    rule, wants_needs = RULES.get(primitive, (None, False))
    if rule is None:
        name = primitive.__name__
        raise RuntimeError(
            f"{name} has no gradient rule, and an input requires a gradient: write one with @gradient_rule({name}), "
            f"or compute under no_grad()"
        )
    if wants_needs:
        params["needs"] = needs  # the door made this dict for this one operation
    if saved is not None:
        params["saved"] = saved
    return rule(output.data, *[tensor.data for tensor in inputs], **params)


# %% [markdown]
# An array that a rule has kept may be overwritten before the backward pass; then the gradient would be wrong
# without a word. `kept_arrays` finds what a `backward` function keeps. `Changes` knows which arrays were
# overwritten and when, on the clock by which nodes are counted. Its references are *weak*: they keep no array
# alive.

# %% tags=["export"]
def kept_arrays(value, seen=()):
    """Arrays that a backward function keeps, in its closure or defaults; looks into tuples, lists and functions."""
    if isinstance(value, np.ndarray):
        return [value]
    if any(value is known for known in seen):  # a function that calls itself is in its own closure
        return []
    inside = value
    if not isinstance(value, (tuple, list)):
        inside = [*_closure(value), *(getattr(value, "__defaults__", None) or ())]
    return [array for part in inside for array in kept_arrays(part, (*seen, value))]


def _closure(function):
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name that was never bound, such as one for a gradient that nobody needs
            pass


class Changes:
    """Which arrays were changed in place, and when."""

    def __init__(self):
        self.last = -1  # when the last change came, on the clock of `Node.order`
        self.owners = {}  # id of the array that owns the memory -> (when, weak reference)

    def note(self, array):
        """Note that the values of `array` have just changed."""
        owner = array.base if isinstance(array.base, np.ndarray) else array
        key, self.last = id(owner), next(Node.made)
        self.owners[key] = self.last, ref(owner, lambda _: self.owners.pop(key, None))

    def hit(self, array, order):
        """Whether the memory of `array` was changed after `order`."""
        owners = [reference() for when, reference in list(self.owners.values()) if when > order]
        return any(owner is not None and np.may_share_memory(array, owner) for owner in owners)


# %% [markdown]
# Last the node itself. Read `run`: it refuses what would give a wrong gradient.

# %% tags=["export"]
class Node:
    """One noted operation: where the gradients of its inputs go, and the function that computes them.

    Parameters
    ----------
    primitive : function
        The operation.
    edges : list
        For each input the node that made it, or the tensor if it is a leaf, or None if it needs no gradient.
    backward : function
        As a gradient rule returns it.
    output : numpy.ndarray

    Attributes
    ----------
    order : int
        Counts the nodes as they are made: a node is younger than all that its inputs came from.
    shape, dtype
        Of the output, and so of the gradient that arrives.
    """

    __slots__ = ("primitive", "edges", "backward", "order", "shape", "dtype")
    made, changes = itertools.count(), Changes()

    def __init__(self, primitive, edges, backward, output):
        self.primitive, self.edges, self.backward = primitive, edges, backward
        self.order = next(Node.made)
        self.shape, self.dtype = output.shape, output.dtype

    @property
    def name(self):
        """Name of the operation."""
        return self.primitive.__name__.removesuffix("_forward")

    def run(self, grad):
        """Pass the gradient of the output on to the inputs.

        Returns
        -------
        list
            Pairs (edge, gradient) for the inputs that need one; each gradient has its input's shape and dtype.

        Raises
        ------
        RuntimeError
            If the node was freed, an array that it needs was changed in place, or its rule returned nonsense.
        """
        if self.backward is None:
            raise RuntimeError(
                f"backward() a second time: the arrays that {self.name} kept were freed by the first. "
                f"Call the first with retain_graph=True to keep them"
            )
        if self.order < Node.changes.last:
            self._refuse_changed()
        grads = self.backward(grad)
        if len(grads) != len(self.edges):
            raise RuntimeError(
                f"the gradient rule of {self.name} gave {len(grads)} gradients for {len(self.edges)} inputs"
            )
        pairs = []
        for edge, part in zip(self.edges, grads):
            if edge is not None:
                if part is None or part.shape != edge.shape or part.dtype != edge.dtype:
                    part = self._fitted(part, edge)
                pairs.append((edge, part))
        return pairs

    def free(self):
        """Forget the edges and the kept arrays."""
        self.edges, self.backward = (), None

    def _refuse_changed(self):
        for array in kept_arrays(self.backward):
            if Node.changes.hit(array, self.order):
                raise RuntimeError(
                    f"an array of shape {array.shape} was changed in place (tensor[...] = ...) between "
                    f"{self.name} and backward(), which needs its old values: compute a new tensor instead"
                )

    def _fitted(self, grad, edge):
        """The gradient in its input's dtype if precisions were mixed; any other misfit is the rule's mistake."""
        if edge.dtype.kind != "f":
            raise RuntimeError(f"a gradient for a tensor of {edge.dtype}: only real numbers have gradients")
        if grad is None or grad.shape != edge.shape:
            got = "no gradient" if grad is None else f"a gradient of shape {grad.shape}"
            raise RuntimeError(f"the gradient rule of {self.name} gave {got} for an input of shape {edge.shape}")
        if grad.dtype != self.dtype:
            raise RuntimeError(f"the gradient rule of {self.name} turned {self.dtype} into {grad.dtype}")
        return grad.astype(edge.dtype)


def changed_in_place(grad):
    """What a tensor says to a gradient if it was computed and then changed in place."""
    raise RuntimeError(
        f"a tensor of shape {grad.shape} was computed and then changed in place (tensor[...] = ...): "
        f"its gradient is not known. Compute a new tensor instead"
    )


# %% [markdown]
# Write `record`, which the door calls after each operation, and the two ways to have something not recorded:
# `no_grad()` for a block, in which nothing is noted (evaluation, updates of parameters), and `detach(x)` for
# one tensor: the same values, the same memory, but a constant to autograd.

# %% nbgrader={"grade": false, "grade_id": "autograd_record", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class GradientRecorder:
    """Stands in the door: notes the operations that a gradient has to pass, and runs them backwards."""

    def __init__(self):
        self.recording = True

    def record(self, output, primitive, inputs, saved, params):
        """Note one operation: give `output` its node, and mark it as requiring a gradient.

        Nothing is noted if `self.recording` is False, if no input requires a gradient, or if the result has none
        (`make_backward` returned None).

        Parameters
        ----------
        output : Tensor
            The result, fresh from the door.
        primitive : function
        inputs : tuple of Tensor
        saved : object
            What the primitive returned for its rule.
        params : dict
            Other parameters of the operation.

        Hints: ask each input for `requires_grad`; `make_backward` wants these answers as `needs`. An input's edge is
        its node, or the tensor itself if it has none, or None if it needs no gradient. Do the cheap tests first:
        this runs for every operation.
        """
        ### BEGIN SOLUTION
        if not self.recording:
            return
        needs = [tensor.requires_grad for tensor in inputs]
        if True not in needs:
            return
        backward = make_backward(primitive, output, inputs, needs, saved, params)
        if backward is None:
            return
        edges = [(tensor.node or tensor) if tensor.requires_grad else None for tensor in inputs]
        output.requires_grad = True
        output.node = Node(primitive, edges, backward, output.data)
        ### END SOLUTION

    def changed(self, tensor):
        """Note that a tensor's values were changed in place; if it was computed, its gradient is lost."""
        Node.changes.note(tensor.data)
        if tensor.node is not None:
            tensor.node = Node(changed_in_place, (), changed_in_place, tensor.data)

    def backward(self, tensor, gradient=None, retain_graph=False):
        """What `tensor.backward()` calls: add the gradients of all leaves behind `tensor` to their `grad`."""
        gradient = first_gradient(tensor, gradient)
        if tensor.node is None:
            accumulate(tensor, gradient, gradient)
        else:
            walk(tensor.node, gradient, retain_graph)


# %% nbgrader={"grade": false, "grade_id": "autograd_no_grad", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
@contextmanager
def no_grad():
    """A block in which nothing is recorded: `with no_grad(): ...`. Blocks may be nested.

    Hints: the code before `yield` runs at the start of the block, the code after it at the end. Set
    `recorder.recording`; the recorder itself stays in the door, to be told of changes in place. Put back
    what was there before, also if the block raises: `try ... finally`.
    """
    recorder = Recorder.current
    ### BEGIN SOLUTION
    before = recorder.recording
    recorder.recording = False
    try:
        yield
    finally:
        recorder.recording = before
    ### END SOLUTION


def detach(tensor):
    """A tensor on the same array that no gradient passes.

    Hints: `Tensor.wrap` takes an array without a copy.
    """
    ### BEGIN SOLUTION
    return Tensor.wrap(tensor.data)
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "autograd_switch_on", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
Recorder.current = GradientRecorder()  # from here on operations are noted

# %%
# Try it: which of these have a node, and where do its edges lead?
x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0])
z = x * y + x
for name, tensor in [("x", x), ("y + 1", y + 1), ("z", z), ("detach(z)", detach(z))]:
    node = tensor.node
    edges = node and [type(edge).__name__ for edge in node.edges]
    noted = node and f"{node.name}, order {node.order}, edges {edges}"
    print(f"{name:10} requires_grad {tensor.requires_grad!s:5}", noted)

# %% nbgrader={"grade": false, "grade_id": "autograd_record_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: an operation whose rule is known, one without a rule, and questions about edges.
def mix(a, b, weight):
    return weight * a + (1 - weight) * b, weight


@gradient_rule(mix)
def mix_rule(output, a, b, weight, needs, saved):
    asked = tuple(needs), saved

    def backward(grad):
        return saved * grad, (1 - saved) * grad, asked

    return backward


def untaught(a):
    return a


def asked_for(tensor):
    return tensor.node.backward(1.0)[2]


def edge_is(tensor, position, target):
    return tensor.node.edges[position] is target


def needs_gradient(*tensors):
    return [bool(tensor.requires_grad) for tensor in tensors]


def has_node(*tensors):
    return [tensor.node is not None for tensor in tensors]


def change_is_noticed_under_no_grad(tensor):
    before = Node.changes.last
    with no_grad():
        tensor[...] = 7.0
    return Node.changes.last > before


def grad_switched_off_after_error():
    try:
        with no_grad():
            raise KeyError("inside")
    except KeyError:
        return needs_gradient(Tensor([1.0], requires_grad=True) + 1.0)


# %% nbgrader={"grade": true, "grade_id": "autograd_record_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): what is noted and what is not, edges, the error, no_grad and detach.
x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0])
parts = check.partial(6)
with parts.part(3, "record"):
    z = apply(mix, x, y, weight=0.25)
    check.equal(needs_gradient(z, y + 1.0), [True, False],
                because="a result requires a gradient if and only if an input does")
    check.equal(has_node(z, y + 1.0, x), [True, False, False],
                because="what needs no gradient is not noted")
    check.equal(
        asked_for(z), ((True, False), 0.25),
        because="the rule is told which inputs need a gradient, and what the primitive saved")
    check.equal(edge_is(z, 0, x), True, because="a leaf has no node: its edge is the tensor itself")
    check.equal(edge_is(z, 1, None), True,
                because="an input that needs no gradient has the edge None")
    check.equal(edge_is(apply(mix, z, x, weight=0.5), 0, z.node), True,
                because="an input that was computed leads to its node")
    with check.raises(
        RuntimeError, mentions="untaught",
        because="an operation without a rule must say its name, not drop the gradient"):
        apply(untaught, x)
with parts.part(3, "no_grad and detach"):
    with no_grad():
        silent = apply(mix, x, y, weight=0.25)
    check.equal(needs_gradient(silent), [False], because="inside no_grad nothing is recorded")
    check.equal(needs_gradient(apply(mix, x, y, weight=0.25)), [True],
                because="after the block recording goes on")
    check.equal(needs_gradient(detach(x), x), [False, True],
                because="a detached tensor is a constant; the tensor itself stays what it was")
    check.shares_memory(detach(x), x, because="detach copies nothing")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "autograd_record_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): nesting, errors inside the block, comparisons, the same tensor twice, order.
### BEGIN HIDDEN TESTS
x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0])
parts = check.partial(3)
with parts.part(2, "what is noted"):
    check.equal(needs_gradient(x > 1.0, x == y), [False, False],
                because="a comparison has no gradient")
    check.equal(has_node(x > 1.0), [False], because="where the rule returns None nothing is noted")
    z = apply(mix, x, x, weight=0.5)
    check.equal([edge_is(z, 0, x), edge_is(z, 1, x)], [True, True],
                because="a tensor that is used twice has two edges")
    w = apply(mix, y, z, weight=0.5)
    check.equal([edge_is(w, 0, None), edge_is(w, 1, z.node)], [True, True],
                because="edges stand in the order of the inputs")
    check.equal(asked_for(w)[0], (False, True), because="needs stands in the order of the inputs")
    check.equal(needs_gradient(w), [True],
                because="one input that requires a gradient is enough, whichever it is")
    check.equal(w.node.order > z.node.order, True, because="a later operation has a larger order")
    check.equal(needs_gradient(apply(untaught, y), y), [False, False],
                because="an operation without a rule is fine where no gradient is needed")
    check.equal(edge_is(apply(mix, detach(z), x, weight=0.5), 0, None), True,
                because="no gradient passes a detached tensor")
    check.equal(has_node(z), [True],
                because="detach makes a new tensor and leaves the old one in the graph")
    with no_grad():
        check.equal(needs_gradient(apply(untaught, x)), [False],
                    because="under no_grad no rule is looked for, so none can be missing")
with parts.part(1, "no_grad"):
    with no_grad():
        with no_grad():
            check.equal(needs_gradient(x + 1.0), [False],
                        because="an inner block switches recording off, it does not flip it")
        check.equal(needs_gradient(x + 1.0), [False],
                    because="the end of an inner block does not end the outer one")
    check.equal(needs_gradient(x + 1.0), [True], because="after the outer block recording goes on")
    check.equal(grad_switched_off_after_error(), [True],
                because="an error inside the block must not leave recording off")
    check.equal(change_is_noticed_under_no_grad(Tensor([1.0, 2.0])), True,
                because="the recorder stays in the door, as it must note changes in place also under no_grad")
parts.score()
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · Walk back
#
# Now the heart. Start with the gradient of the last node and pass gradients along the edges. There is one
# thing to get right:
#
# ```
#            ┌── exp (1) ──┐                    the gradient of multiply has two parts:
#   multiply │             ├── add (3) ── sum    one through exp, one through negative
#     (0)    └─ negative ──┘
#                  (2)
# ```
#
# **A node may run only when all parts of its gradient have arrived.** Running `multiply` once for each way
# gives the same sum, but the number of ways doubles with every such diamond: forty of them in a row are a
# trillion ways.
#
# The order gives the answer for free. A node is older than all that use it; so among the nodes that have
# received something, **always run the youngest**: whatever could still send to it is younger and has already
# run. A *heap* hands out its smallest entry first, whatever was put in since: put in with
# `heappush(heap, (-node.order, node))`, take out with `heappop(heap)`.
#
# No recursion: a chain of 500,000 operations must not be deeper than Python's stack. And free each node once
# it has run, so that memory falls while the walk goes on.
#
# Gradients that arrive at a leaf are *added* to its `grad`. That is how gradients of several losses, or of
# several parts of a batch, accumulate; and it is why every training loop sets them to None in between.

# %% nbgrader={"grade": false, "grade_id": "autograd_walk", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def first_gradient(tensor, gradient=None):
    """The gradient with which a backward pass starts.

    Parameters
    ----------
    tensor : Tensor
        On which backward() was called.
    gradient : array, Tensor or None
        Of the shape of `tensor`. None means 1, for a tensor of one element.

    Returns
    -------
    numpy.ndarray
        Of the shape and dtype of `tensor`.

    Raises
    ------
    RuntimeError
        If the tensor requires no gradient, or has several elements and no gradient is given.
    ValueError
        If the gradient has another shape.
    """
    ### BEGIN SOLUTION
    if not tensor.requires_grad:
        raise RuntimeError(
            "backward() on a tensor that does not require a gradient: nothing that it was made from has "
            "requires_grad=True, or it was made under no_grad()"
        )
    if gradient is None:
        if tensor.size != 1:
            raise RuntimeError(
                f"backward() on a tensor of shape {tensor.shape} needs a gradient of that shape: "
                f"without one it starts from a single number, such as a mean"
            )
        return np.ones(tensor.shape, tensor.dtype)
    gradient = np.asarray(gradient.data if isinstance(gradient, Tensor) else gradient, dtype=tensor.dtype)
    if gradient.shape != tensor.shape:
        raise ValueError(f"a gradient of shape {gradient.shape} for a tensor of shape {tensor.shape}")
    return gradient
    ### END SOLUTION


def accumulate(leaf, grad, incoming):
    """Add `grad` to the `grad` of a leaf.

    Parameters
    ----------
    leaf : Tensor
    grad : numpy.ndarray
        What a node computed for it; for a tensor without axes it may be a NumPy scalar, of which
        `np.array` makes the array that `leaf.grad` should be.
    incoming : numpy.ndarray
        The gradient that the node was given. A rule may pass on this very array, or a view (`grad.base is not None`);
        then the leaf needs a copy, since others hold the memory too.
    """
    ### BEGIN SOLUTION
    if leaf.grad is not None:
        leaf.grad += grad
    elif grad is incoming or grad.base is not None:
        leaf.grad = np.array(grad)
    else:
        leaf.grad = np.asarray(grad)
    ### END SOLUTION


def walk(root, gradient, retain_graph=False):
    """Pass a gradient from a node back to all leaves, running each node once.

    Parameters
    ----------
    root : Node
    gradient : numpy.ndarray
        Of the output of `root`.
    retain_graph : bool
        Whether nodes stay usable for another backward pass; otherwise each is freed as soon as it has
        run. The gradient that it was given is dropped in any case.

    Hints: a dict `{node: gradient that has arrived so far}`, whose `pop` takes a gradient out, and a heap
    of the nodes in it. `node.run(grad)` gives pairs (edge, gradient); an edge that is not a `Node` is a
    leaf. Never add in place here: the array may belong to somebody else.
    """
    ### BEGIN SOLUTION
    arrived = {root: gradient}
    heap = [(-root.order, root)]
    while heap:
        node = heappop(heap)[1]
        grad = arrived.pop(node)
        for edge, part in node.run(grad):
            if not isinstance(edge, Node):
                accumulate(edge, part, grad)
            elif edge in arrived:
                arrived[edge] = arrived[edge] + part
            else:
                arrived[edge] = part
                heappush(heap, (-edge.order, edge))
        if not retain_graph:
            node.free()
    ### END SOLUTION


# %%
# Try it: the first gradients of your own framework. Change the formula, and predict before you run.
x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * x + 2.0 * x
y.backward(np.ones(3))
x.grad

# %% nbgrader={"grade": true, "grade_id": "autograd_walk_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): a tensor used twice, operators with numbers, several backward passes, errors.
parts = check.partial(8)
with parts.part(4, "values"):
    x, b = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), Tensor([10.0, 20.0], requires_grad=True)
    z = x * x + b * x
    z.backward(np.array([[1.0, 1.0], [1.0, 2.0]]))
    check.close(
        x.grad, [[12, 24], [16, 56]],
        because="x is used three times: the parts 2x + b add up, times the gradient from above")
    check.close(b.grad, [4, 10], because="b was used for both rows")
    check.same_dtype(x.grad, np.float32, because="a gradient has the dtype of its tensor")
    x = Tensor([2.0], requires_grad=True)
    square = x * x
    (square * square + square).backward()
    check.close(x.grad, [36.0],
                because="three edges lead to the node of x²: add up all three parts before it runs")
    x = Tensor([0.5, -1.0], requires_grad=True)
    (1.0 - x + 2.0 * x - x / 4.0 + x**2 - (-x)).backward(np.array([1.0, 10.0]))
    check.close(x.grad, [1 * (1.75 + 1.0), 10 * (1.75 - 2.0)],
                because="1 - x, 2 * x, x / 4, x ** 2 and -x pass gradients too")
with parts.part(2, "a second pass"):
    x = Tensor([3.0], requires_grad=True)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    check.close(x.grad, [12.0], because="gradients of several passes are added to grad, 6 + 6")
    with check.raises(RuntimeError, mentions="retain_graph",
                      because="the graph was freed, and the error should say what to do"):
        y.backward()
with parts.part(2, "errors"):
    x = Tensor([1.0, 2.0], requires_grad=True)
    with check.raises(
        RuntimeError, mentions="(2,)",
        because="of two numbers there is no gradient without one from above; name the shape"):
        (x * 2.0).backward()
    with check.raises(RuntimeError,
                      because="a tensor that requires no gradient has no backward pass"):
        (Tensor([1.0]) * 2.0).backward()
    with check.raises(ValueError, because="the gradient must have the shape of the tensor"):
        (x * 2.0).backward(np.ones((1, 2)))
parts.score()

# %% nbgrader={"grade": false, "grade_id": "autograd_walk_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the hidden tests: long chains, many ways of different lengths, and counted runs of one rule.
runs = []


def counted_step(a):
    return a + 0.0


@gradient_rule(counted_step)
def counted_step_rule(output, a):
    def backward(grad):
        runs.append(1)
        return (grad,)

    return backward


def chain(tensor, length):
    for _ in range(length):
        tensor = tensor + 1.0
    return tensor


def diamonds(tensor, count):
    for _ in range(count):
        tensor = apply(counted_step, tensor)
        tensor = tensor * 0.5 + tensor * 1.0 * 0.5
    return tensor


def number_of_runs():
    return len(runs)


def shares_its_gradient(first, second):
    return bool(np.shares_memory(first.grad, second.grad))


def is_array(value):
    return type(value) is np.ndarray


def leaves_gradient_alone(x, y, up):
    before = up.copy()
    for _ in range(2):
        (x + y).backward(up)
    return bool((up == before).all())


# %% nbgrader={"grade": false, "grade_id": "autograd_walk_views_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Two more operations: the gradient of one is a view; those of the other look at what is still in memory.
kept_so_far, gradients_so_far = [], []  # weak references
in_memory = []  # for each step back, how many of the two are still there


def turned(a):
    return a[::-1]


@gradient_rule(turned)
def turned_rule(output, a):
    return lambda grad: (grad[::-1],)


def watched_step(a):
    return a + 0.0


@gradient_rule(watched_step)
def watched_step_rule(output, a):
    kept = np.ones(1, a.dtype)
    kept_so_far.append(ref(kept))

    def backward(grad):
        gradients_so_far.append(ref(grad))
        counts = [sum(known() is not None for known in some) for some in (kept_so_far, gradients_so_far)]
        in_memory.append(counts)
        return (grad * kept,)

    return backward


def memory_along(length):
    tensor = Tensor([1.0, 2.0], requires_grad=True)
    for _ in range(length):
        tensor = apply(watched_step, tensor)
    tensor.backward(np.ones(2))
    return [kept for kept, _ in in_memory], max(gradients for _, gradients in in_memory)


# %% nbgrader={"grade": true, "grade_id": "autograd_walk_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): each node once, long chains, gradients that share memory, in-place changes, freeing.
### BEGIN HIDDEN TESTS
parts = check.partial(4)
with parts.part(1, "every node once, and no recursion"):
    x = Tensor([1.0, 2.0], requires_grad=True)
    diamonds(x, 12).backward(np.array([1.0, 3.0]))
    check.equal(
        number_of_runs(), 12, because="a node runs once, when all parts have arrived, not once for each way"
    )
    check.close(x.grad, [1, 3], because="each diamond adds up to 1")
    x = Tensor([1.0], requires_grad=True)
    chain(x, 50_000).backward()
    check.close(x.grad, [1.0], because="a chain of 50,000 operations")
with parts.part(1, "orders and shapes"):
    x, y = Tensor(2.0, requires_grad=True), Tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    old = x * y
    new = (old * old).exp() * 0.001
    (new + old * x).backward(np.array([[1.0, -1.0, 0.5]]))
    up, a = np.array([[1.0, -1.0, 0.5]]), np.array([[2.0, 4.0, 6.0]])
    by_old = up * (2 * a * np.exp(a * a) * 0.001 + 2.0)
    check.close(
        y.grad, by_old * 2.0, because="an old node that is used late waits for the younger ones", rtol=1e-4
    )
    check.close(
        x.grad,
        (by_old * [[1.0, 2.0, 3.0]] + up * a).sum(),
        because="a single number collects from all elements",
        rtol=1e-4,
    )
    check.same_shape(x.grad, (), because="the gradient has the shape of its tensor")
    x = Tensor([[4.0]], requires_grad=True)
    x.backward()
    check.close(
        x.grad,
        [[1.0]],
        because="a leaf may be asked itself, and one element needs no gradient, whatever the shape",
    )
    x = Tensor([3.0, 0.1], dtype=np.float64, requires_grad=True)
    (x * x).backward(Tensor([0.1, 1.0], dtype=np.float64))
    check.close(
        x.grad,
        [0.6, 0.2],
        because="the gradient may be a Tensor, and it keeps the digits of float64",
        rtol=1e-12,
        atol=0,
    )
with parts.part(1, "whose memory"):
    x, y, up = (
        Tensor([1.0, 2.0], requires_grad=True),
        Tensor([3.0, 4.0], requires_grad=True),
        np.array([1.0, 2.0], np.float32),
    )
    for total in [x + y, (x + y) * 2.0, apply(turned, x) + apply(turned, y)]:
        x.grad = y.grad = None
        total.backward(up)
        check.equal(
            shares_its_gradient(x, y),
            False,
            because="the rule of add hands one array, or a view of it, to both: each leaf needs its own",
        )
        check.equal(is_array(x.grad), True, because="grad is a NumPy array, not a Tensor")
    x.grad = y.grad = None
    check.equal(
        leaves_gradient_alone(x, y, up), True, because="the caller's gradient is not scratch space"
    )
    for tensor in (x, y):
        check.close(tensor.grad, [2.0, 4.0], because="two passes add up, for each leaf on its own")
    x.grad = y.grad = None
    first, second = x * 1.0, y * 1.0
    tripled = first * 3.0
    total = tripled + (first + second)
    total.backward(up, retain_graph=True)
    check.close(x.grad, [4.0, 8.0], because="3 ways and 1 way add up")
    check.close(
        y.grad,
        [1.0, 2.0],
        because="add hands one array to two nodes: what is added in place for one of them spoils the other",
    )
    total.backward(up)
    check.close(x.grad, [8.0, 16.0], because="a retained graph gives the same gradient again")
with parts.part(1, "in-place changes and freed memory"):
    x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0], requires_grad=True)
    z = x * y
    y[0] = 100.0
    with check.raises(
        RuntimeError, mentions="in place", because="the product kept y, which has other values now"
    ):
        z.backward(np.ones(2))
    z = x + y
    x[0] = 5.0
    z.backward(np.ones(2))
    check.close(x.grad, [1.0, 1.0], because="a sum keeps no values, so changing x does no harm")
    middle = x * y
    (-middle).backward(np.ones(2))
    check.equal(
        middle.node.backward is None, True, because="every node that has run is freed, not only the last one"
    )
    kept, most = memory_along(8)
    check.equal(
        kept, [8, 7, 6, 5, 4, 3, 2, 1], because="a node is freed as soon as it has run, not when the walk ends"
    )
    check.equal(most <= 4, True, because="a gradient that a node has passed on must not stay in memory")
parts.score()
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · Trust, but measure
#
# A wrong gradient raises no error. The network learns a little worse, or nothing, and you look for the reason
# in the data. So every rule is checked against the definition of a slope before anybody relies on it. For an
# input element
# $x_i$, an output $z$ and a gradient $u$ from above,
#
# $$\frac{\partial L}{\partial x_i} \approx \frac{\sum_j u_j\, z_j(x_i + h) - \sum_j u_j\, z_j(x_i - h)}{2h}.$$
#
# Four details make the difference between a check and a comfort:
#
# - **both sides**: with $x + h$ and $x - h$ the error is of order $h^2$; with one side it is of order $h$;
# - **float64**: in `float32` the difference of two nearly equal numbers is mostly rounding error;
# - **a random $u$**: with all ones, a rule that forgets the gradient from above looks right, and so do many
#   others;
# - **every element of every input**, each from the same starting point.
#
# Write `numerical_gradient` and, with it, `gradcheck`. From exercise 6 on it works for you.

# %% nbgrader={"grade": false, "grade_id": "autograd_gradcheck", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def numerical_gradient(fn, arrays, position, upstream, step=1e-6):
    """Slopes of `sum(fn(*tensors) * upstream)` by each element of one input, from central differences.

    Parameters
    ----------
    fn : function
        Takes one Tensor an input and returns a Tensor.
    arrays : list of numpy.ndarray
        The inputs, float64; they are not changed.
    position : int
        Which of them to move.
    upstream : numpy.ndarray
        Of the shape of the output.
    step : float
        How far to move an element, up and down.

    Returns
    -------
    numpy.ndarray
        Of the shape of `arrays[position]`.

    Examples
    --------
    >>> numerical_gradient(lambda x: x * x, [np.array([3.0])], 0, np.array([1.0])).round(4)
    array([6.])

    Hints: `np.ndindex(shape)` goes through all indices. `Tensor(array, dtype=np.float64)` copies.
    """
    ### BEGIN SOLUTION
    slopes = np.zeros(arrays[position].shape)
    for place in np.ndindex(slopes.shape):
        for move in (step, -step):
            moved = [array.copy() for array in arrays]
            moved[position][place] += move
            output = fn(*[Tensor(array, dtype=np.float64) for array in moved])
            slopes[place] += (output.data * upstream).sum() / (2 * move)
    return slopes
    ### END SOLUTION


def gradcheck(fn, inputs, seed=0, rtol=1e-5, atol=1e-7):
    """Compare the gradients that backward() gives with central differences, in float64.

    Parameters
    ----------
    fn : function
        Takes one Tensor an input and returns a Tensor of any shape; smooth near the inputs.
    inputs : list of arrays
        Small ones: every element costs two calls of `fn`.
    seed : int
        Of the random gradient that arrives from above.
    rtol, atol : float
        Allowed is `atol + rtol * abs(difference quotient)`.

    Returns
    -------
    bool
        True if all agree.

    Raises
    ------
    AssertionError
        If a gradient is missing or wrong; the message says of which input.

    Hints: make tensors with `dtype=np.float64, requires_grad=True`, run `fn`, draw `upstream` with `rng.normal`, call
    `backward(upstream)`, then compare each `grad` with `np.allclose`.
    """
    ### BEGIN SOLUTION
    arrays = [np.array(array, dtype=np.float64) for array in inputs]
    tensors = [Tensor(array, dtype=np.float64, requires_grad=True) for array in arrays]
    output = fn(*tensors)
    upstream = np.random.default_rng(seed).normal(size=output.shape)
    output.backward(upstream)
    for position, tensor in enumerate(tensors):
        if tensor.grad is None:
            raise AssertionError(f"input {position} got no gradient")
        expected = numerical_gradient(fn, arrays, position, upstream)
        if not np.allclose(tensor.grad, expected, rtol=rtol, atol=atol):
            raise AssertionError(
                f"the gradient of input {position} is\n{tensor.grad}\nby differences it is\n{expected}"
            )
    return True
    ### END SOLUTION


# %%
# Try it: check something of your own. Then break a rule in exercise 2, run its cell and this one, and mend it again.
values = np.random.default_rng(0).uniform(1, 2, (2, 3))
gradcheck(lambda x, y: (x / y).log() * x.exp() + y**3, [values, values[0]])

# %% nbgrader={"grade": false, "grade_id": "autograd_gradcheck_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: functions with right gradients, and primitives whose rules are wrong in instructive ways.
def with_rule(rule):
    """A function that computes a * b with the gradient rule given."""

    def product(a, b):
        return a * b

    gradient_rule(product)(rule)
    return lambda x, y: apply(product, x, y)


right = with_rule(lambda output, a, b: lambda grad: (grad * b, grad * a))
turned_sign = with_rule(lambda output, a, b: lambda grad: (grad * b, -grad * a))
no_upstream = with_rule(lambda output, a, b: lambda grad: (b.copy(), a.copy()))
small_error = with_rule(lambda output, a, b: lambda grad: (grad * b * 1.001, grad * a))
wrong_places = with_rule(lambda output, a, b: lambda grad: ((grad * b)[::-1], grad * a))
last_wrong = with_rule(
    lambda output, a, b: (
        lambda grad: (grad * b, grad * a + np.eye(1, a.size, a.size - 1).reshape(a.shape) * 0.01)
    )
)


def cubes(x):
    return x**3


def cut_off(x, y):
    return x * detach(y)


def repeated(x, y):
    return x * y + x * x / y


def coupled(x):
    return x * x.sum()


def upstream_for(seed, a, b):
    drawn = []

    def rule(output, a, b):
        return lambda grad: (drawn.append(grad.copy()) or grad * b, grad * a)

    gradcheck(with_rule(rule), [a, b], seed=seed)
    return drawn[0]


def leaves_inputs_alone(a, b):
    before = a.copy(), b.copy()
    gradcheck(right, [a, b])
    numerical_gradient(right, [a, b], 0, np.ones(a.shape))
    return bool((a == before[0]).all() and (b == before[1]).all())


# %% nbgrader={"grade": true, "grade_id": "autograd_gradcheck_check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Check (4 points): slopes that are known, and rules that are right or wrong.
a, b = np.array([[1.0, -2.0], [3.0, 0.5]]), np.array([[0.5, 1.5], [-1.0, 2.0]])
check.close(
    numerical_gradient(cubes, [a], 0, b),
    3 * a**2 * b,
    because="central differences of x³ in float64 agree with 3x² to many digits",
    rtol=1e-8,
    atol=1e-8,
)
check.close(
    numerical_gradient(right, [a, b], 1, np.ones((2, 2))),
    a,
    because="position says which input moves, the others stay",
    rtol=1e-8,
    atol=1e-8,
)
check.equal(gradcheck(right, [a, b]), True, because="this rule is right")
check.equal(gradcheck(repeated, [a, b]), True, because="a tensor may be used several times")
with check.raises(AssertionError, because="the second gradient of this rule has the wrong sign"):
    gradcheck(turned_sign, [a, b])
with check.raises(
    AssertionError,
    because="this rule forgets the gradient from above, which a gradient of ones would not show",
):
    gradcheck(no_upstream, [a, b])

# %% nbgrader={"grade": true, "grade_id": "autograd_gradcheck_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): small or misplaced errors, missing gradients, precision, parameters, shapes, inputs.
### BEGIN HIDDEN TESTS
a, b = np.array([[1.0, -2.0], [3.0, 0.5]]), np.array([[0.5, 1.5], [-1.0, 2.0]])
parts = check.partial(2)
with parts.part(1, "what is an error"):
    with check.raises(AssertionError, because="an error of one in a thousand is an error"):
        gradcheck(small_error, [a, b])
    with check.raises(AssertionError, because="one wrong element of the last input is an error"):
        gradcheck(last_wrong, [a, b])
    with check.raises(AssertionError,
                      because="right numbers in wrong places are an error: compare each element"):
        gradcheck(wrong_places, [a, b])
    with check.raises(AssertionError,
                      because="an input without a gradient is an error, and should be told as one"):
        gradcheck(cut_off, [a, b])
with parts.part(1, "precision, parameters, shapes, inputs"):
    check.equal(gradcheck(right, [a.astype(np.float32), b.astype(np.float32)]), True,
                because="the check itself runs in float64")
    check.equal(gradcheck(right, [a, b], rtol=1e-8, atol=1e-8), True,
                because="tensors in float64: float32 is good for 7 digits only")
    check.equal(gradcheck(small_error, [a, b], rtol=0.01), True,
                because="rtol is a parameter, and this error is within it")
    check.equal(gradcheck(small_error, [a, b], atol=0.1, rtol=0.0), True,
                because="atol is a parameter, and this error is within it")
    drawn = upstream_for(5, a, b)
    check.close(drawn, upstream_for(5, a, b), because="the same seed draws the same gradient")
    check.equal(bool((drawn == upstream_for(6, a, b)).any()), False,
                because="another seed draws another gradient")
    check.equal(len(set(drawn.ravel().tolist())), 4,
                because="a random number for each element of the output, not one for all")
    check.equal(gradcheck(cubes, [np.array(1.5)]), True, because="a single number has one slope")
    check.equal(leaves_inputs_alone(a, b), True, because="the inputs belong to the caller")
    up = np.array([[1.0, -2.0], [0.5, 3.0]])
    check.close(numerical_gradient(coupled, [a], 0, up, step=0.5), up * a.sum() + (up * a).sum(),
                because="each element moves alone: put the one before it back")
    check.close(numerical_gradient(cubes, [a], 0, b, step=0.5), (3 * a**2 + 0.25) * b,
                because="the step is a parameter: x³ over ± h has the slope 3x² + h²")
parts.score()
### END HIDDEN TESTS

# %% [markdown]
# ## Look inside
#
# The next cell, complete, shows what your graph holds. `draw_graph` draws it from the result down to the
# leaves; `saved_bytes` adds up the buffers that the rules keep, each counted once. A *view* counts as the
# buffer behind it, since that is what stays in memory.

# %% tags=["export"]
def graph_nodes(tensor):
    """The nodes that a backward pass from `tensor` would run, youngest first."""
    found = {tensor.node} - {None}
    todo = list(found)
    while todo:
        edges = {edge for edge in todo.pop().edges if isinstance(edge, Node)} - found
        found |= edges
        todo += edges
    return sorted(found, key=lambda node: -node.order)


def saved_bytes(tensor):
    """Bytes of the arrays that the graph behind `tensor` keeps for its backward pass.

    Each buffer is counted once and whole, however many rules or views share it. Values of parameters and inputs
    count too, where a rule keeps them.
    """
    buffers = {}
    for node in graph_nodes(tensor):
        for array in kept_arrays(node.backward):
            while isinstance(array.base, np.ndarray):
                array = array.base
            buffers[id(array)] = array.nbytes
    return sum(buffers.values())


def draw_graph(tensor, **names):
    """A drawing in plain characters of the graph behind a tensor, from the result down to the leaves.

    Parameters
    ----------
    tensor : Tensor
    **names : Tensor
        Names for leaves: `draw_graph(z, x=x, y=y)`.

    Returns
    -------
    str
        A line for each edge: the operation, its number in the order of computation, the shape of its result
        and the shapes of the arrays that it keeps. What was drawn above is only named. A drawing ends after
        60 lines.
    """
    names = {id(leaf): name for name, leaf in names.items()}
    numbers = {node: number for number, node in enumerate(reversed(graph_nodes(tensor)))}
    lines, drawn, todo = [], set(), [(tensor.node or tensor, "", "")]
    while todo:
        thing, before, below = todo.pop()
        if len(lines) == 60:
            lines.append(f"... of {len(numbers)} operations")
            break
        lines.append(before + _label(thing, names, numbers, drawn))
        if isinstance(thing, Node) and thing not in drawn:
            drawn.add(thing)
            branches = [("|-- ", "|   ")] * (len(thing.edges) - 1) + [("`-- ", "    ")]
            edges = [(edge, below + branch, below + gap) for edge, (branch, gap) in zip(thing.edges, branches)]
            todo += reversed(edges)
    return "\n".join(lines)


def _label(thing, names, numbers, drawn):
    if thing is None:
        return "(needs no gradient)"
    if not isinstance(thing, Node):
        name = names.get(id(thing), "leaf" if thing.requires_grad else "constant")
        return f"{name} {thing.shape}"
    text = f"{thing.name} #{numbers[thing]} {thing.shape}"
    if thing in drawn:
        return f"{text}, drawn above"
    if thing.backward is None:
        return f"{text}, freed"
    shapes = ", ".join(str(array.shape) for array in kept_arrays(thing.backward))
    return f"{text}  keeps {shapes or 'nothing'}"


# %%
# Try it: two inputs, multiply, exp, and a second way from x to the output. What is kept, and by whom?
x, y = Tensor(np.ones((2, 3)), requires_grad=True), Tensor([1.0, 2.0, 3.0], requires_grad=True)
z = (x * y).exp() + x
print(draw_graph(z, x=x, y=y))
print(saved_bytes(z), "bytes kept")
z.backward(np.ones((2, 3)))
print(draw_graph(z, x=x, y=y))
print(saved_bytes(z), "bytes kept")

# %% [markdown]
# ## 6 · The product of matrices
#
# From here on you teach your engine the operations of the earlier modules. First the one that networks spend
# their time on. For $C = A B$, with $G$ the gradient of $C$,
#
# $$\frac{\partial L}{\partial A} = G\, B^\top, \qquad \frac{\partial L}{\partial B} = A^\top G .$$
#
# You need not remember it: the shapes leave no choice. With `A (M, K)`, `B (K, N)` and `G (M, N)` there is
# one way to make `(M, K)` of `G` and `B`.
#
# ```
#   C (M, N)  =  A (M, K)  @  B (K, N)
#   for A     :  G (M, N)  @  B.T (N, K)    two more products of the same size:
#   for B     :  A.T (K, M)  @  G (M, N)    the backward pass costs twice the forward
# ```
#
# The first layer of a network multiplies the data by its weights. Nobody wants the gradient of the data: with
# `needs` you save one of the three products.
#
# `@` knows two more forms. A 1-d operand stands for a row on the left, or a column on the right: give it its
# second axis back, compute, and take the axis away. Batches of matrices broadcast: `swapaxes(-1, -2)`
# transposes each matrix, and `unbroadcast` sums over a batch that shared one operand.

# %% nbgrader={"grade": false, "grade_id": "autograd_matmul", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
@gradient_rule(matmul)
def matmul_rule(output, a, b, needs):
    """Gradient rule of `a @ b`.

    Parameters
    ----------
    output : numpy.ndarray of shape (..., M, N), without M or N where an operand has one axis
    a : numpy.ndarray of shape (..., M, K) or (K,)
    b : numpy.ndarray of shape (..., K, N) or (K,)
    needs : sequence of two bools

    Returns
    -------
    function
        `backward(grad)` returns gradients of the shapes of `a` and `b`; None, and no product, for an operand that
        needs none.

    Examples
    --------
    >>> a, b = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])
    >>> matmul_rule(a @ b, a, b, needs=(True, True))(np.array([[10.0]]))
    (array([[30., 40.]]), array([[10.],
           [20.]]))

    Hints: `rows` is `a`, or `a[None, :]`; `columns` is `b`, or `b[:, None]`. The gradient needs the same axes:
    reshape it. What has the shape of `rows` gets the shape of `a` by `unbroadcast` and `reshape`.
    """
    ### BEGIN SOLUTION
    shape_a, shape_b = a.shape, b.shape
    rows = a if a.ndim > 1 else a[None, :]
    columns = b if b.ndim > 1 else b[:, None]
    if columns.ndim == 2:  # one right operand for the whole batch: its matrices are just more rows
        rows = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
    batch = output.shape[:-2] if a.ndim > 1 else output.shape[:-1]
    full = (*(batch if columns.ndim > 2 else ()), rows.shape[-2], columns.shape[-1])
    shape_rows, shape_columns = rows.shape, columns.shape
    right = columns if needs[0] else None
    left = rows if needs[1] else None

    def backward(grad):
        grad = grad.reshape(full)
        return (
            unbroadcast(grad @ right.swapaxes(-1, -2), shape_rows).reshape(shape_a) if needs[0] else None,
            unbroadcast(left.swapaxes(-1, -2) @ grad, shape_columns).reshape(shape_b) if needs[1] else None,
        )

    return backward
    ### END SOLUTION


# %%
# Try it: which gradient has which shape? And does your check of exercise 5 agree?
rng = np.random.default_rng(0)
for first, second in [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4))]:
    a, b = rng.normal(size=first), rng.normal(size=second)
    print(first, "@", second, gradcheck(lambda x, y: x @ y, [a, b]))

# %% nbgrader={"grade": true, "grade_id": "autograd_matmul_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): two matrices, then vectors, then a batch.
rng = np.random.default_rng(4)
parts = check.partial(6)
with parts.part(3, "two matrices"):
    a, b, grad = rng.normal(size=(2, 3)), rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    by_a, by_b = matmul_rule(a @ b, a, b, needs=(True, True))(grad)
    check.close(by_a, grad @ b.T, because="the gradient of the left operand is G Bᵀ")
    check.close(by_b, a.T @ grad, because="the gradient of the right operand is Aᵀ G")
with parts.part(2, "vectors"):
    by_a, by_b = matmul_rule(a @ b[:, 0], a, b[:, 0], needs=(True, True))(grad[:, 0])
    check.close(by_a, np.outer(grad[:, 0], b[:, 0]),
                because="a matrix times a vector: the outer product of the gradient and the vector")
    check.close(by_b, a.T @ grad[:, 0],
                because="a vector on the right is a column, and its gradient has shape (K,)")
    by_a, by_b = matmul_rule(a[0] @ b, a[0], b, needs=(True, True))(grad[0])
    check.close(by_a, b @ grad[0],
                because="a vector on the left is a row, and its gradient has shape (K,)")
    check.close(by_b, np.outer(a[0], grad[0]),
                because="a vector times a matrix: the outer product of the vector and the gradient")
with parts.part(1, "a batch"):
    a, grad = rng.normal(size=(5, 2, 3)), rng.normal(size=(5, 2, 4))
    by_a, by_b = matmul_rule(a @ b, a, b, needs=(True, True))(grad)
    check.close(by_a, grad @ b.T, because="each matrix of the batch for itself")
    check.close(by_b, np.einsum("bmk,bmn->kn", a, grad),
                because="the whole batch used the same right matrix: sum over it")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "autograd_matmul_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): every combination of vectors, matrices and batches, empty operands, no needless product.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(5)
parts = check.partial(3)
with parts.part(2, "every combination"):
    cases = [
        ((3,), (3,), "k,k->"),
        ((2, 3), (3,), "mk,k->m"),
        ((3,), (3, 4), "k,kn->n"),
        ((3, 3), (3, 3), "mk,kn->mn"),
        ((5, 2, 3), (3,), "bmk,k->bm"),
        ((3,), (5, 3, 4), "k,bkn->bn"),
        ((5, 2, 3), (5, 3, 4), "bmk,bkn->bmn"),
        ((2, 3), (5, 3, 4), "mk,bkn->bmn"),
        ((6, 5, 2, 3), (3, 4), "abmk,kn->abmn"),
        ((6, 5, 2, 3), (5, 3, 4), "abmk,bkn->abmn"),
    ]
    for first, second, formula in cases:
        a, b = rng.normal(size=first), rng.normal(size=second)
        output = np.einsum(formula, a, b)
        grad = rng.normal(size=output.shape)
        (one, two), result = formula.split("->")[0].split(","), formula.split("->")[1]
        by_a, by_b = matmul_rule(output, a, b, needs=(True, True))(grad)
        check.close(
            by_a, np.einsum(f"{result},{two}->{one}", grad, b), because=f"left operand of {first} @ {second}"
        )
        check.close(
            by_b, np.einsum(f"{one},{result}->{two}", a, grad), because=f"right operand of {first} @ {second}"
        )
    a, b, grad = rng.normal(size=(6, 1, 2, 3)), rng.normal(size=(1, 5, 3, 4)), rng.normal(size=(6, 5, 2, 4))
    by_a, by_b = matmul_rule(a @ b, a, b, needs=(True, True))(grad)
    check.close(
        by_a,
        (grad @ b.swapaxes(-1, -2)).sum(axis=1, keepdims=True),
        because="a batch axis of length 1 was stretched: its gradient is summed",
    )
    check.close(
        by_b,
        (a.swapaxes(-1, -2) @ grad).sum(axis=0, keepdims=True),
        because="a batch axis of length 1 was stretched: its gradient is summed",
    )
with parts.part(1, "precision, empty operands, needs"):
    a, b, grad = (rng.normal(size=shape).astype(np.float32) for shape in [(2, 3), (3, 4), (2, 4)])
    by_a, by_b = matmul_rule(a @ b, a, b, needs=(False, True))(grad)
    check.equal(by_a, None, because="nobody wants the gradient of the left operand")
    check.same_dtype(by_b, np.float32, because="float32 stays float32")
    check.equal(
        matmul_rule(a @ b, a, b, needs=(True, False))(grad)[1],
        None,
        because="nobody wants the gradient of the right operand",
    )
    output = a @ b
    for needs in [(True, False), (False, True)]:
        with count() as counted:
            matmul_rule(output, a, b, needs=needs)(grad)
        check.counts(
            counted, flops=range(48, 2 * 48), because="one gradient is due: one product of 48 FLOPs, not two"
        )
    check.equal(
        changes_nothing(matmul_rule, grad, a @ b, a, b, needs=(True, True)),
        True,
        because="others use the gradient and the operands as well",
    )
    a, b = np.ones((0, 3)), np.ones((3, 2))
    by_a, by_b = matmul_rule(a @ b, a, b, needs=(True, True))(np.ones((0, 2)))
    check.close(by_b, np.zeros((3, 2)), because="no rows, no gradient")
    check.same_shape(by_a, (0, 3), because="an empty operand has an empty gradient")
parts.score()
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · Reductions and parts
#
# A sum over an axis has used each element once, so each gets the gradient of its sum: the backward pass
# *repeats* what the forward pass summed, the mirror image of exercise 1. The rules for the other reductions
# follow:
#
# - **mean**: the same, divided by the number of elements that were folded into one result;
# - **max**: only the largest element moved the result. If several are equally large, share: each of $k$
#   gets $1/k$ of the gradient, as in `torch.amax`. (Giving each the whole would multiply the gradient by
#   $k$.)
#
# An index took some elements and left the rest: the gradient has the shape of the whole array, is 0 where
# nothing was taken, and **adds up where an element was taken more than once**. There is a trap: with the key
# `[0, 0, 2]`, `result[key] += grad` adds only one of the two gradients to row 0, while
# `np.add.at(result, key, grad)` adds both. It is slower, so use it only where the key can repeat: where it
# holds a list or an array of integers.
#
# `restore_axes` in the next cell puts reduced axes back with length 1, so that the result broadcasts against
# the input.

# %% tags=["export"]
def restore_axes(reduced, ndim, axis, keepdims):
    """The result of a reduction with the reduced axes back, of length 1; `ndim` counts the axes of its input."""
    if keepdims:
        return reduced
    return np.expand_dims(reduced, tuple(range(ndim)) if axis is None else axis)


def may_repeat(key):
    """Whether an index can take an element twice: it holds a list, tuple or array of integers."""
    parts = key if isinstance(key, tuple) else (key,)
    lists = [part for part in parts if isinstance(part, (list, tuple, np.ndarray))]
    return any(np.asarray(part).dtype.kind in "iu" for part in lists)


@gradient_rule(reshape)
def reshape_rule(output, a, shape):
    """The gradient takes the old shape."""
    before = a.shape
    return lambda grad: (grad.reshape(before),)


@gradient_rule(permute)
def permute_rule(output, a, axes):
    """The axes go back to where they were."""
    back = [0] * len(axes)
    for place, axis in enumerate(axes):
        back[axis] = place
    return lambda grad: (grad.transpose(back),)


# %% nbgrader={"grade": false, "grade_id": "autograd_reductions", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
@gradient_rule(reduce_sum)
def reduce_sum_rule(output, a, axis=None, keepdims=False):
    """Gradient rule of a sum over `axis`: each element gets the gradient of the sum that it went into.

    Hints: restore the axes, then repeat with `np.broadcast_to(..., shape)`, which copies nothing. The shape
    is all that you need of `a`, so keep only that; so it is for mean and index.
    """
    ### BEGIN SOLUTION
    shape = a.shape
    return lambda grad: (np.broadcast_to(restore_axes(grad, len(shape), axis, keepdims), shape),)
    ### END SOLUTION


@gradient_rule(reduce_mean)
def reduce_mean_rule(output, a, axis=None, keepdims=False):
    """Gradient rule of a mean over `axis`.

    Hints: `a.size // output.size` elements were folded into one; an empty array has none.
    """
    ### BEGIN SOLUTION
    shape, folded = a.shape, a.size // max(output.size, 1)
    return lambda grad: (np.broadcast_to(restore_axes(grad / folded, len(shape), axis, keepdims), shape),)
    ### END SOLUTION


@gradient_rule(reduce_max)
def reduce_max_rule(output, a, axis=None, keepdims=False):
    """Gradient rule of a maximum over `axis`: the largest elements share the gradient equally.

    It keeps a mask of the largest elements, a byte each, and none of the arrays.

    Hints: counting in the mask with `mask.sum(..., dtype=grad.dtype)` keeps the precision.
    """
    ### BEGIN SOLUTION
    mask = a == restore_axes(output, a.ndim, axis, keepdims)

    def backward(grad):
        shares = mask.sum(axis=axis, keepdims=True, dtype=grad.dtype)
        return (mask * (restore_axes(grad, mask.ndim, axis, keepdims) / shares),)

    return backward
    ### END SOLUTION


@gradient_rule(index)
def index_rule(output, a, key):
    """Gradient rule of `a[key]`, for every kind of key: slices, integers, None, Ellipsis, lists, arrays, masks.

    Hints: start from zeros of the shape of `a` and the dtype of `grad`. `may_repeat(key)` tells which way to go.
    """
    ### BEGIN SOLUTION
    shape = a.shape

    def backward(grad):
        result = np.zeros(shape, grad.dtype)
        if may_repeat(key):
            np.add.at(result, key, grad)
        else:
            result[key] = grad
        return (result,)

    return backward
    ### END SOLUTION


# %%
# Try it: the gradient of a maximum with a tie, and of an index that repeats. Draw the graph of the second.
x = Tensor([3.0, 7.0, 7.0], requires_grad=True)
x.max().backward()
print(x.grad)
x.grad = None
total = (x[[0, 0, 2]] * 10.0).sum()
print(draw_graph(total, x=x))
total.backward()
print(x.grad)

# %% nbgrader={"grade": true, "grade_id": "autograd_reductions_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): sum, mean, max and index, each against its formula.
rng = np.random.default_rng(6)
a = rng.normal(size=(2, 3, 4))
parts = check.partial(8)
with parts.part(2, "sum"):
    grad = rng.normal(size=(2, 4))
    check.close(
        reduce_sum_rule(a.sum(axis=1), a, axis=1)(grad)[0],
        np.repeat(grad[:, None, :], 3, axis=1),
        because="each element gets the gradient of its own sum",
    )
    check.close(
        reduce_sum_rule(a.sum(), a)(np.array(2.5))[0],
        np.full(a.shape, 2.5),
        because="a sum of all passes its gradient to all",
    )
with parts.part(2, "mean"):
    check.close(
        reduce_mean_rule(a.mean(axis=1), a, axis=1)(grad)[0],
        np.repeat(grad[:, None, :] / 3, 3, axis=1),
        because="divide by the 3 elements that were folded, not by all 24",
    )
    check.close(
        reduce_mean_rule(a.mean(), a)(np.array(2.4))[0],
        np.full(a.shape, 0.1),
        because="a mean of all divides by 24",
    )
with parts.part(2, "max"):
    x, grad = np.array([[1.0, 5.0, 5.0], [7.0, 2.0, 3.0]]), np.array([10.0, 100.0])
    check.close(
        reduce_max_rule(x.max(axis=1), x, axis=1)(grad)[0],
        [[0, 5, 5], [100, 0, 0]],
        because="the largest gets the gradient; two equally large ones share it",
    )
with parts.part(2, "index"):
    x = np.zeros((3, 2))
    check.close(
        index_rule(x[1:], x, key=slice(1, None))(np.array([[1.0, 2.0], [3.0, 4.0]]))[0],
        [[0, 0], [1, 2], [3, 4]],
        because="0 where nothing was taken",
    )
    check.close(
        index_rule(x[[0, 0, 2]], x, key=[0, 0, 2])(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))[0],
        [[4, 6], [0, 0], [5, 6]],
        because="row 0 was taken twice: its gradients add up",
    )
parts.score()

# %% nbgrader={"grade": true, "grade_id": "autograd_reductions_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): every form of axis and key, ties, empty arrays, precision, what is kept.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(7)
a = rng.permutation(120).astype(np.float64).reshape(2, 3, 4, 5)
parts = check.partial(4)
with parts.part(2, "sum, mean and max over every form of axis"):
    for axis in [None, 0, 2, -1, (0, 2), (-1, 1), (0, 1, 2, 3)]:
        for keepdims in (False, True):
            kept = a.sum(axis=axis, keepdims=True)
            up = rng.normal(size=kept.shape)
            grad = up if keepdims else up.reshape(a.sum(axis=axis).shape)
            form = dict(axis=axis, keepdims=keepdims)
            full = np.broadcast_to(up, a.shape)
            check.close(
                reduce_sum_rule(a.sum(**form), a, **form)(grad)[0],
                full,
                because=f"sum over {axis}, keepdims {keepdims}",
            )
            check.close(
                reduce_mean_rule(a.mean(**form), a, **form)(grad)[0],
                full * kept.size / a.size,
                because=f"mean over {axis}, keepdims {keepdims}",
            )
            check.close(
                reduce_max_rule(a.max(**form), a, **form)(grad)[0],
                full * (a == a.max(axis=axis, keepdims=True)),
                because=f"max over {axis}, keepdims {keepdims}",
            )
    x = np.array([[[2.0, 9.0], [9.0, 1.0]], [[9.0, 9.0], [0.0, 3.0]]])
    check.close(
        reduce_max_rule(x.max(), x)(np.array(8.0))[0],
        2.0 * (x == 9),
        because="four equally large elements get a quarter each",
    )
    check.close(
        reduce_max_rule(x.max(axis=(0, 2)), x, axis=(0, 2))(np.array([6.0, 4.0]))[0],
        [[[0, 2], [4, 0]], [[2, 2], [0, 0]]],
        because="ties count within each result, not over all of them",
    )
with parts.part(1, "every form of key"):
    mask = np.zeros((2, 3, 4, 5), bool)
    mask[0, 1, ::2] = True
    keys = [
        0,
        -1,
        slice(None, None, -2),
        (slice(None), 1),
        (Ellipsis, None, -2),
        (1, [2, 0, 2]),
        ([0, 0, 1], [2, 2, 1]),
        mask,
        (slice(None), [True, False, True]),
        np.array([[1, 1], [0, 1]]),
    ]
    for key in keys:
        taken = a[key]
        grad, wanted = rng.normal(size=taken.shape), np.zeros(a.shape)
        np.add.at(wanted, key, grad)
        check.close(
            index_rule(taken, a, key=key)(grad)[0],
            wanted,
            because="each element that was taken gets its gradient, as often as it was taken",
        )
    backward = index_rule(a[0], a, key=0)
    for _ in range(2):
        check.close(
            backward(np.ones((3, 4, 5)))[0].sum(), 60.0, because="each backward pass starts from new zeros"
        )
with parts.part(1, "precision, empty arrays, what is kept"):
    single, up = a.astype(np.float32), np.ones((2, 4, 5), np.float32)
    for rule, result in [
        (reduce_sum_rule, single.sum(axis=1)),
        (reduce_mean_rule, single.mean(axis=1)),
        (reduce_max_rule, single.max(axis=1)),
    ]:
        check.same_dtype(
            rule(result, single, axis=1)(up)[0],
            np.float32,
            because="float32 stays float32; a count of elements is an integer",
        )
    check.same_dtype(
        index_rule(single[0], single, key=0)(single[0])[0],
        np.float32,
        because="np.zeros makes float64 unless it is told",
    )
    for rule, result, params, enough in [
        (reduce_sum_rule, single.sum(axis=1), {"axis": 1}, "the shape"),
        (reduce_mean_rule, single.mean(axis=1), {"axis": 1}, "the shape"),
        (reduce_max_rule, single.max(axis=1), {"axis": 1}, "the mask"),
        (index_rule, single[:, 1], {"key": (slice(None), 1)}, "the shape"),
    ]:
        check.equal(
            kept_by(rule, result, single, **params),
            [False, False],
            because=f"{enough} is enough: `backward` must name neither array, not even as in a.shape",
        )
        check.equal(
            changes_nothing(rule, up, result, single, **params),
            True,
            because="others use the gradient and the arrays as well",
        )
    empty = np.zeros((0, 3))
    check.same_shape(
        reduce_sum_rule(empty.sum(axis=0), empty, axis=0)(np.ones(3))[0],
        (0, 3),
        because="an empty array has an empty gradient",
    )
    check.same_shape(
        reduce_mean_rule(np.zeros(0), empty, axis=1)(np.ones(0))[0],
        (0, 3),
        because="an empty array has an empty gradient",
    )
parts.score()
### END HIDDEN TESTS

# %% [markdown]
# ## 8 · Whole layers
#
# A rule may cover more than one elementary operation. `softmax_forward` is five of NumPy's; recorded one by
# one they would keep several arrays and pass five gradients. One rule for the whole keeps one array and passes
# one. Frameworks call such an operation *fused*. Three are yours:
#
# - **relu**: the slope is 1 where the output is positive, otherwise 0, also at 0. A product with a mask is
#   fast.
# - **softmax**: each probability depends on all scores of its row. With $y$ the output, of which
#   $\partial y_i / \partial x_j = y_i(\delta_{ij} - y_j)$, the sums collapse to
#   $\;\frac{\partial L}{\partial x} = y \cdot \big(g - \sum_j g_j\, y_j\big)$, the sum along `axis`.
# - **linear**: `x @ weight.T + bias` with `weight` of shape `(out, in)`. All axes of `x` before the last
#   are one long batch: make matrices `(B, in)` and `(B, out)` of `x` and the gradient first.
#
# The rules for the other activations and the losses follow complete. Read the one of `cross_entropy`: softmax
# and logarithm together, and what is left of all that algebra is *probability minus one at the right class*.

# %% nbgrader={"grade": false, "grade_id": "autograd_layers", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
@gradient_rule(relu_forward)
def relu_rule(output, a):
    """Gradient rule of relu; the slope at 0 is 0.

    Hints: keep the output, not the input: the next layer keeps it as well, so it costs nothing.
    """
    ### BEGIN SOLUTION
    return lambda grad: (grad * (output > 0),)
    ### END SOLUTION


@gradient_rule(softmax_forward)
def softmax_rule(output, a, axis=-1):
    """Gradient rule of softmax along `axis`.

    Hints: `np.vecdot(grad, output, axis=axis)` is the sum of products; `np.expand_dims` puts its axis back.
    """
    ### BEGIN SOLUTION
    return lambda grad: (output * (grad - np.expand_dims(np.vecdot(grad, output, axis=axis), axis)),)
    ### END SOLUTION


@gradient_rule(linear_forward)
def linear_rule(output, x, weight, bias=None, *, needs):
    """Gradient rule of a linear layer.

    Parameters
    ----------
    output : numpy.ndarray of shape (..., out)
    x : numpy.ndarray of shape (..., in)
    weight : numpy.ndarray of shape (out, in)
    bias : numpy.ndarray of shape (out,), or None
    needs : sequence of bools, one an input

    Returns
    -------
    function
        `backward(grad)` returns two gradients, or three where there is a bias; None where none is needed.

    Hints: `needs` has two or three entries, so its length tells whether there is a bias.
    """
    ### BEGIN SOLUTION
    shape = x.shape
    rows = x.reshape(math.prod(shape[:-1]), shape[-1]) if needs[1] else None
    weight = weight if needs[0] else None

    def backward(grad):
        grad = grad.reshape(math.prod(shape[:-1]), grad.shape[-1])
        by_x = (grad @ weight).reshape(shape) if needs[0] else None
        by_weight = grad.T @ rows if needs[1] else None
        return (by_x, by_weight, grad.sum(axis=0))[: len(needs)]

    return backward
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "autograd_more_rules", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
@gradient_rule(sigmoid_forward)
def sigmoid_rule(output, a):
    """The slope is y (1 - y)."""
    return lambda grad: (grad * output * (1 - output),)


@gradient_rule(tanh_forward)
def tanh_rule(output, a):
    """The slope is 1 - y²."""
    return lambda grad: (grad * (1 - output * output),)


@gradient_rule(gelu_forward)
def gelu_rule(output, a, saved):
    """gelu is a · s with s = sigmoid(v), v = c (a + 0.044715 a³), and `saved` is s: slope s (1 + a (1 - s) dv/da)."""
    c = 2 * math.sqrt(2 / math.pi)

    def backward(grad):
        by_a = np.empty(a.shape, a.dtype)
        for slope, x, s, g in blocks(by_a, a, saved, grad):  # each step works in place, on a piece in the cache
            np.multiply(x, x, out=slope)
            slope *= 3 * 0.044715 * c
            slope += c  # dv/da
            slope *= x
            slope *= 1 - s
            slope += 1
            slope *= s
            slope *= g
        return (by_a,)

    return backward


@gradient_rule(log_softmax_forward)
def log_softmax_rule(output, a, axis=-1):
    """The gradient less the probabilities times its sum along the axis."""
    return lambda grad: (grad - np.exp(output) * grad.sum(axis=axis, keepdims=True),)


@gradient_rule(dropout_forward)
def dropout_rule(output, a, mask):
    """What was dropped passes nothing; the rest is scaled as in the forward pass."""
    return lambda grad: (grad * mask,)


@gradient_rule(mse_loss_forward)
def mse_loss_rule(output, prediction, target, needs, saved, reduction="mean"):
    """Twice the difference, which the forward pass saved; a mean divides by the number of elements."""
    scale = 2 / max(saved.size, 1) if reduction == "mean" else 2

    def backward(grad):
        by_prediction = saved * (grad * scale)
        return (by_prediction if needs[0] else None, -by_prediction if needs[1] else None)

    return backward


@gradient_rule(binary_cross_entropy_with_logits_forward)
def binary_cross_entropy_rule(output, logits, target, reduction="mean"):
    """Probability minus target; a mean divides by the number of elements."""
    scale = 1 / max(logits.size, 1) if reduction == "mean" else 1

    def backward(grad):
        by_logits = sigmoid_forward(logits)
        by_logits -= target
        return (by_logits * (grad * scale),)

    return backward


@gradient_rule(cross_entropy_forward)
def cross_entropy_rule(
    output, logits, target, saved, reduction="mean", ignore_index=-100, label_smoothing=0.0
):
    """Probabilities minus the target distribution, row by row; ignored rows get nothing."""
    shape, classes = logits.shape, logits.shape[-1]
    exps, totals = saved
    target = target.reshape(-1)

    def backward(grad):
        counted = target != ignore_index
        by_logits = exps / totals
        by_logits[np.arange(target.size), np.where(counted, target, 0)] -= 1 - label_smoothing
        if label_smoothing:
            by_logits -= label_smoothing / classes
        if reduction == "mean":
            grad = grad / max(np.count_nonzero(counted), 1)
        by_logits *= np.where(counted, grad if reduction != "none" else grad.reshape(-1), 0)[:, None]
        return (by_logits.reshape(shape),)

    return backward


# %% nbgrader={"grade": true, "grade_id": "autograd_layers_check", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Check (4 points): relu with its corner, softmax along both axes, linear with and without a bias.
rng = np.random.default_rng(8)
parts = check.partial(4)
with parts.part(1, "relu"):
    x = np.array([-1.0, 0.0, 2.0])
    check.close(
        relu_rule(np.maximum(x, 0), x)(np.array([5.0, 7.0, 3.0]))[0],
        [0, 0, 3],
        because="nothing passes where the output is 0, also at 0 itself",
    )
with parts.part(1, "softmax"):
    x, grad = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    for axis in (-1, 0):
        y = np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)
        check.close(
            softmax_rule(y, x, axis=axis)(grad)[0],
            y * (grad - (grad * y).sum(axis=axis, keepdims=True)),
            because=f"y (g - sum of g y) along axis {axis}",
        )
with parts.part(2, "linear"):
    x, weight, bias, grad = (rng.normal(size=shape) for shape in [(4, 3), (2, 3), (2,), (4, 2)])
    backward = linear_rule(x @ weight.T + bias, x, weight, bias, needs=(True, True, True))
    by_x, by_weight, by_bias = backward(grad)
    check.close(by_x, grad @ weight, because="the weight is stored as (out, in), so no transpose is due here")
    check.close(by_weight, grad.T @ x, because="the gradient of the weight has its shape (out, in)")
    check.close(by_bias, grad.sum(axis=0), because="the bias was added to every row")
    check.equal(
        len(linear_rule(x @ weight.T, x, weight, needs=(True, True))(grad)),
        2,
        because="without a bias there are two inputs and two gradients",
    )
parts.score()

# %% nbgrader={"grade": false, "grade_id": "autograd_layers_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the hidden tests: a network of two layers, the second without a bias.
from tinytorch_ref.activations import relu, softmax


def two_layers(x, w1, b1, w2):
    hidden = relu(apply(linear_forward, x, w1, b1))
    return softmax(apply(linear_forward, hidden, w2))


# %% nbgrader={"grade": true, "grade_id": "autograd_layers_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): three axes, inputs that need nothing, precision, whole networks against differences.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(9)
parts = check.partial(2)
with parts.part(1, "values"):
    x, weight, bias, grad = (rng.normal(size=shape) for shape in [(5, 4, 3), (2, 3), (2,), (5, 4, 2)])
    backward = linear_rule(x @ weight.T + bias, x, weight, bias, needs=(True, True, True))
    by_x, by_weight, by_bias = backward(grad)
    check.close(by_x, grad @ weight, because="the gradient of the input has all its axes")
    check.close(by_weight, np.einsum("bto,bti->oi", grad, x), because="every axis before the last is batch")
    check.close(by_bias, grad.sum(axis=(0, 1)), because="every axis before the last is batch")
    by_x, by_weight, _ = linear_rule(x @ weight.T + bias, x, weight, bias, needs=(False, True, True))(grad)
    check.equal(by_x, None, because="nobody wants the gradient of the data")
    backward = linear_rule(x[0, 0] @ weight.T + bias, x[0, 0], weight, bias, needs=(True, True, True))
    by_x, by_weight, by_bias = backward(grad[0, 0])
    check.close(by_weight, np.outer(grad[0, 0], x[0, 0]), because="one example without a batch axis")
    check.same_shape(by_x, (3,), because="one example without a batch axis")
    check.close(by_bias, grad[0, 0], because="one example without a batch axis: nothing to sum")
    y = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    check.close(
        softmax_rule(y, x, axis=1)(x)[0],
        y * (x - (x * y).sum(axis=1, keepdims=True)),
        because="along axis 1 of three",
    )
    inputs = [rng.normal(size=shape) for shape in [(3, 4), (5, 4), (5,), (2, 5)]]
    check.gradient(
        two_layers,
        inputs,
        Tensor,
        because="a network of linear, relu, linear and softmax against finite differences",
    )
with parts.part(1, "precision and memory"):
    half = np.array([[-1.0, 2.0]], np.float32)
    weights, offset = weight[:, :2].astype(np.float32), bias.astype(np.float32)
    for rule, arrays, params in [
        (relu_rule, [np.maximum(half, 0), half], {}),
        (softmax_rule, [half, half], {"axis": -1}),
        (linear_rule, [half @ weights.T + offset, half, weights, offset], {"needs": (True, True, True)}),
    ]:
        for part in rule(*arrays, **params)(half):
            check.same_dtype(part, np.float32, because="float32 stays float32")
        check.equal(
            changes_nothing(rule, half, *arrays, **params),
            True,
            because="others use the gradient and the arrays as well: no *=, no grad[mask] = 0",
        )
parts.score()
### END HIDDEN TESTS

# %% [markdown]
# ## It learns
#
# All pieces are there. A network of modules 03 and 04, your gradients, and the simplest of all updates: a
# small step against the gradient. Module 07 will do that part better. It takes about a second.

# %%
# Try it: 2,000 steps downhill. What do more hidden units change, or fewer?
from tinytorch_ref.layers import Linear, Sequential, Tanh
from tinytorch_ref.losses import mse_loss

rng = np.random.default_rng(0)
x = Tensor(np.linspace(-3, 3, 64)[:, None])
y = Tensor(np.sin(1.5 * x.data))
model = Sequential(Linear(1, 24, rng=rng), Tanh(), Linear(24, 1, rng=rng))
losses, before = [], model(x).data
for step in range(2000):
    loss = mse_loss(model(x), y)
    loss.backward()
    losses.append(loss.item())
    for parameter in model.parameters():
        parameter.data -= 0.05 * parameter.grad
        parameter.grad = None
fig, axes = figure()
axes.plot(x.data, y.data, label="sin 1.5x")
axes.plot(x.data, before, label="network before")
axes.plot(x.data, model(x).data, label=f"network after 2,000 steps, loss {losses[-1]:.4f}")
axes.set(xlabel="x", ylabel="y", ylim=(-1.8, 2.8))
axes.legend(loc="upper center")
show(fig, alt="A sine curve; the network before training is far from it, after training nearly on it.")

# %% [markdown]
# *The figure:* the sine curve that the network was shown, what it answered before training, and after 2,000
# steps, when the two curves nearly coincide.

# %% [markdown]
# ## Systems 1 · What a graph keeps
#
# Activations, not parameters, fill the memory in training: everything that a rule keeps waits for the
# backward pass. You can count it on paper, if you ask of each operation what its rule names.
#
# $$\text{loss} = \operatorname{mean}\big(\tanh(x\, w_1)\, w_2\big)$$
#
# with `x (N, D)`, `w1 (D, H)`, `w2 (H, O)`, all `float32` and all requiring a gradient. (`x` is the result of
# earlier layers, say.) How many bytes does the graph keep? A buffer that two rules share counts once.

# %% nbgrader={"grade": false, "grade_id": "saved_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_saved_bytes(N, D, H, O):
    """Bytes that the graph of mean(tanh(x @ w1) @ w2) keeps before the backward pass.

    Hints: three rules keep arrays. The rule of tanh names its output; which other rule names the same array?
    """
    ### BEGIN SOLUTION
    return 4 * (N * D + D * H + N * H + H * O)
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "systems_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the systems cells: one small network, one deep one, and a chain.
from tinytorch_ref.activations import tanh


def two_products(x, w1, w2):
    return (tanh(x @ w1) @ w2).mean()


def deep_network(x, w, b, layers):
    for _ in range(layers):
        x = tanh(x @ w + b)
    return x.mean()


def tanh_chain(x, length):
    for _ in range(length):
        x = tanh(x)
    return x


# %%
# Measure: which lines of the drawing keep which of the four arrays?
N, D, H, O = 8, 5, 4, 3
x, w1, w2 = (Tensor(rng.normal(size=shape), requires_grad=True) for shape in [(N, D), (D, H), (H, O)])
loss = two_products(x, w1, w2)
print(draw_graph(loss, x=x, w1=w1, w2=w2))
print("predicted", predict_saved_bytes(N, D, H, O), "measured", saved_bytes(loss))

# %% nbgrader={"grade": true, "grade_id": "saved_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): the prediction against what your graph keeps, before and after the backward pass.
parts = check.partial(7)
with parts.part(5, "before the backward pass"):
    for N, D, H, O in [(8, 5, 4, 3), (2, 7, 3, 1)]:
        x, w1, w2 = (Tensor(np.ones(shape), requires_grad=True) for shape in [(N, D), (D, H), (H, O)])
        kept = 4 * (N * D + D * H + N * H + H * O)
        check.equal(
            saved_bytes(two_products(x, w1, w2)),
            kept,
            because="the products keep their four operands; tanh's output is one of them; the mean needs a shape only",
        )
        check.equal(
            predict_saved_bytes(N, D, H, O),
            kept,
            because="x, w1, tanh's output and w2, each once, 4 bytes a number",
        )
with parts.part(2, "after it, and without recording"):
    loss = two_products(x, w1, w2)
    loss.backward()
    check.equal(saved_bytes(loss), 0, because="each node is freed as soon as it has run")
    check.close(
        x.grad,
        np.full((2, 7), 3 * (1 - np.tanh(7.0) ** 2) / 2),
        because="the gradient should be right, too",
        atol=1e-7,
        rtol=1e-2,
    )
    with no_grad():
        check.equal(saved_bytes(two_products(x, w1, w2)), 0, because="what is not recorded keeps nothing")
parts.score()

# %% [markdown]
# *What you just measured.* Of the four terms two grow with the batch size `N`: the activations. The other two
# are parameters, which are in memory anyway. Double the batch, and training needs twice the activations;
# `no_grad` needs none of them.

# %% [markdown]
# ## Systems 2 · What a backward pass costs
#
# For `x @ w` with `x (M, K)` and `w (K, N)`: how many FLOPs does the forward pass execute, and how many the
# backward pass, if `x` requires a gradient and if it does not? `w` always does.

# %% nbgrader={"grade": false, "grade_id": "backward_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_forward_flops(M, K, N):
    """FLOPs of x @ w."""
    ### BEGIN SOLUTION
    return 2 * M * K * N
    ### END SOLUTION


def predict_backward_flops(M, K, N, x_requires_grad):
    """FLOPs of the backward pass through x @ w."""
    ### BEGIN SOLUTION
    products = 2 if x_requires_grad else 1
    return products * 2 * M * K * N
    ### END SOLUTION


# %%
# Measure: a network of three layers. Why is the ratio below 2?
weights = [Tensor(rng.normal(size=(64, 64)) / 8, requires_grad=True) for _ in range(3)]
x = Tensor(rng.normal(size=(32, 64)))
with count() as forward:
    h = x
    for w in weights:
        h = tanh(h @ w)
    loss = h.mean()
with count() as backward_pass:
    loss.backward()
ratio = backward_pass.flops / forward.flops
print(f"forward {forward.flops:,} FLOPs, backward {backward_pass.flops:,}: {ratio:.2f} times as many")

# %% nbgrader={"grade": true, "grade_id": "backward_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): both predictions against what your rules execute.
parts = check.partial(7)
sizes = [(2, 3, 4), (7, 5, 1)]
with parts.part(2, "forward"):
    for M, K, N in sizes:
        check.equal(predict_forward_flops(M, K, N), 2 * M * K * N,
                    because="a multiplication and an addition for each triple")
with parts.part(3, "backward, both gradients"):
    for M, K, N in sizes:
        with count() as counted:
            x, w = Tensor(np.ones((M, K)), requires_grad=True), Tensor(np.ones((K, N)), requires_grad=True)
            y = x @ w
            y.backward(np.ones((M, N)))
        added = M * K + K * N  # allowed to those who add a gradient to zeros
        check.counts(counted, flops=range(6 * M * K * N, 6 * M * K * N + added + 1),
                     because="one product forward and two backward, each of 2·M·K·N")
        check.equal(predict_backward_flops(M, K, N, True), 4 * M * K * N,
                    because="two products of the size of the forward one")
with parts.part(2, "backward, data without a gradient"):
    for M, K, N in sizes:
        with count() as counted:
            x, w = Tensor(np.ones((M, K))), Tensor(np.ones((K, N)), requires_grad=True)
            y = x @ w
            y.backward(np.ones((M, N)))
        check.counts(counted, flops=range(4 * M * K * N, 4 * M * K * N + K * N + 1),
                     because="nobody wants the gradient of the data: one product is saved")
        check.equal(predict_backward_flops(M, K, N, False), 2 * M * K * N,
                    because="only the gradient of w is due")
parts.score()

# %% [markdown]
# *What you just measured.* A step of training costs about three forward passes: one forward, two backward.
# This is where the rule of thumb "6 FLOPs per parameter and example" comes from: 2 for the product, and twice
# that on the way back. The finite differences of the motivation cost two forward passes *for each parameter*.

# %% [markdown]
# ## Systems 3 · How deep, how high
#
# `deep_network(x, w, b, layers)` above computes `tanh(x @ w + b)` in each layer and a mean at the end. How
# many nodes does its graph have? And for `tanh_chain(x, length)`, a chain of `tanh` on one large array: how
# many arrays of that size are in memory at the peak, beside `x` itself, when the operations are recorded, and
# when they run under `no_grad`?

# %% nbgrader={"grade": false, "grade_id": "depth_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_nodes(layers):
    """Nodes in the graph of deep_network, all tensors requiring gradients."""
    ### BEGIN SOLUTION
    return 3 * layers + 1
    ### END SOLUTION


def predict_peak_arrays(length, recording):
    """Arrays of the size of x that a chain of `length` >= 2 results holds at its peak, x not counted."""
    ### BEGIN SOLUTION
    return length if recording else 2
    ### END SOLUTION


# %%
# Measure: peak memory against length. What does the backward pass add to the recorded chain?
x = Tensor(np.ones(50_000), requires_grad=True)
lengths = [2, 10, 20, 40]
peaks = {"forward and backward": [], "forward under no_grad": []}
for length in lengths:
    with peak_memory() as memory:
        end = tanh_chain(x, length)
        end.backward(x.data)
    peaks["forward and backward"].append(memory.peak_bytes / 1e6)
    with peak_memory() as memory, no_grad():
        end = tanh_chain(x, length)
    peaks["forward under no_grad"].append(memory.peak_bytes / 1e6)
fig, axes = figure()
for (name, values), marker in zip(peaks.items(), "os"):
    axes.plot(lengths, values, marker=marker, label=name)
axes.set(xlabel="length of the chain", ylabel="peak memory (MB)")
axes.legend()
show(
    fig,
    alt="Peak memory against the length of the chain: a rising line with a backward pass, a flat one under no_grad.",
)

# %% [markdown]
# *The figure:* peak memory in megabytes against the length of the chain. Recorded, it rises by one array of
# 0.2 MB for each operation; the backward pass adds only two or three arrays, as nodes are freed on the way.
# Under `no_grad` it stays at two.

# %% nbgrader={"grade": true, "grade_id": "depth_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): nodes and peaks of your own graphs.
parts = check.partial(6)
with parts.part(3, "nodes"):
    x, w, b = (Tensor(np.ones(shape), requires_grad=True) for shape in [(2, 3), (3, 3), (3,)])
    for layers in (1, 4):
        check.equal(len(graph_nodes(deep_network(x, w, b, layers))), 3 * layers + 1,
                    because="a product, a sum and a tanh for each layer, and the mean")
        check.equal(predict_nodes(layers), 3 * layers + 1,
                    because="a product, a sum and a tanh for each layer, and the mean")
with parts.part(3, "peaks"):
    x = Tensor(np.ones(100_000), requires_grad=True)
    for length in (5, 12):
        with peak_memory() as memory:
            tanh_chain(x, length)
        check.equal(round(memory.peak_bytes / 400_000), length,
                    because="the rule of tanh keeps its output, so all results stay")
        check.equal(predict_peak_arrays(length, True), length,
                    because="the rule of tanh keeps its output, so all results stay")
        with peak_memory() as memory, no_grad():
            tanh_chain(x, length)
        check.equal(round(memory.peak_bytes / 400_000), 2,
                    because="unrecorded, a result dies as soon as the next one is there")
        check.equal(predict_peak_arrays(length, False), 2,
                    because="only the newest result and the one that it is made from")
parts.score()

# %% [markdown]
# ## Explain
#
# A classmate's network classifies a test set in batches of 256 within 1 GB. Training the same network with
# the same batches stops with a `MemoryError` at 4 GB. "But the parameters are only 50 MB," they say, "and I
# call `backward()` in every step, so nothing can pile up." Explain in three to six sentences what fills the
# memory and when it is given back. Then give two changes that would make it fit, and say what each costs.

# %% [markdown] nbgrader={"grade": true, "grade_id": "autograd_explain", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Rubric (5 points).**
#
# - 2: the arrays that gradient rules keep (activations) wait from the forward pass to the backward pass, so at
#   the end of the forward pass those of all layers are in memory at once; they grow with the batch and the
#   depth, not with the parameters.
# - 1: without recording (evaluation under no_grad, or with nothing that requires a gradient) a result is freed
#   as soon as the next one is computed, so only the two largest neighbours count.
# - 1: backward() frees node by node, but the peak is reached *before* it starts; gradients of the parameters
#   add 50 MB.
# - 1: two changes with their cost: smaller batches (more steps, or accumulated gradients: the same work in more
#   pieces); keeping only some activations and computing the others again (about one more forward pass); half
#   precision (fewer digits); or a rule that keeps less (a mask instead of an array).
#
# *A good answer.* "Each rule keeps what it needs for its gradient, here mostly the activations of the layer,
# N·H·4 bytes each. In evaluation they die at once, so the peak is about two layers. In training the forward
# pass must keep those of all layers until backward() comes by, last layer first; backward frees them, but the
# peak was already there when it began. Parameters and their gradients are 100 MB and don't matter. Batches of
# 64 need a quarter of the activations; four of them accumulate to the same gradient, for the same FLOPs in
# smaller products. Or keep every second layer and recompute the rest on the way back, which costs up to one
# more forward pass." 5 points.
#
# *A weak answer.* "Training needs more memory because of the gradients, which are as big as the parameters,
# so it doubles. Use a smaller model." Gradients of the parameters are 50 MB of the 3 GB that have to be
# explained; the answer confuses gradients with kept activations and names neither batch nor depth. 1 point,
# for the observation that training keeps more.
# ### END SOLUTION

# %% [markdown]
# ## What can go wrong
#
# **`RuntimeError: backward() on a tensor of shape (32, 10) needs a gradient of that shape`**: a gradient is
# of *one* number. End with `.mean()` or `.sum()`, or look for a loss with `reduction="none"`.
#
# **`RuntimeError: backward() a second time: …`**: the loop calls `backward()` twice on one graph, or a tensor
# computed before the loop is used in every turn. Compute it inside the loop, or pass `retain_graph=True` if
# you mean it.
#
# **`RuntimeError: an array … was changed in place … between multiply and backward()`**: `x[...] = value`
# overwrote what a rule had kept. Compute a new tensor instead. (A write through `x.data[...]` is *not*
# noticed: the gradient is silently wrong. After such a write, `x.version += 1` tells the recorder.)
#
# **The loss falls for a while, then goes wild; gradients grow from step to step**: nobody set `grad` to None
# between the steps, so they add up.
#
# **`AttributeError: 'NoneType' object has no attribute …` on `x.grad`**: `x` is no leaf with
# `requires_grad=True`, or the way to it was cut by `detach`, `no_grad` or an integer. Draw the graph.
#
# **`RuntimeError: … has no gradient rule`**: you wrote a primitive and no rule for it. Better this than a
# gradient that is missing without a word.

# %% [markdown]
# ## Recap
#
# | You built | Costs | PyTorch's name | One true difference |
# |---|---|---|---|
# | `gradient_rule` | what `backward` names stays in memory | `torch.autograd.Function`, `save_for_backward` | PyTorch is told what to save; you keep what the closure names |
# | `GradientRecorder`, `Node` | one Python object an operation | `grad_fn` and its `next_functions` | PyTorch's are C++ objects; leaves have `AccumulateGrad` nodes |
# | `walk` | each node once; 2 forward passes | the autograd engine | PyTorch also counts dependencies and runs several devices in parallel |
# | `tensor.backward()` | frees as it goes | `Tensor.backward` | your gradients are plain arrays: no gradient of a gradient |
# | `no_grad`, `detach` | nothing | `torch.no_grad`, `Tensor.detach` | PyTorch's switch is one per thread, yours holds for the whole process |
# | `gradcheck` | two forward passes an element | `torch.autograd.gradcheck` | PyTorch's also knows complex numbers |
# | `x.max()` with ties | a byte an element | `torch.amax` | the same here; `torch.max(dim=)` gives all to one element |
#
# Your framework can compute which way is downhill for every parameter at once. In module 07 you decide how to
# step.
