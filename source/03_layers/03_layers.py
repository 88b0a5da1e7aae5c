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
# # 03 · Layers
#
# Today you build `Module`, the container that knows which numbers of a network can be learned, and the layers that
# fill it: `Linear`, `Dropout` and `Sequential`.
#
# | | |
# |---|---|
# | **Needs** | 01 tensor, 02 activations |
# | **Time** | 4 to 6 hours |
# | **Points** | 100: visible checks 50, hidden tests 25, systems 20, one written answer 5 |
# | **Becomes** | `tinytorch_ref/layers.py`, used by every network that you build from here on |
#
# ```
#   01 tensor ──► 02 activations ──► 03 layers ──► 04 losses ──► 05 data
#                                    ▲ you are here
#
#   Sequential ─┬─ "0" Linear ──┬─ weight  (128, 784)     called 0.weight
#               │               └─ bias    (128,)                0.bias
#               ├─ "1" ReLU
#               └─ "2" Linear ──┬─ weight  (10, 128)             2.weight
#                               └─ bias    (10,)                 2.bias
# ```
#
# A network is a tree of modules whose leaves are parameters. Whoever trains it, saves it, counts it or draws it walks
# that tree, and today you write the walk.

# %% nbgrader={"grade": false, "grade_id": "layers_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math

import matplotlib.pyplot as plt
import numpy as np

from autograder import checks as check
from autograder.counters import count, peak_memory
from autograder.figures import figure, show

# %% nbgrader={"grade": false, "grade_id": "layers_imports", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
"""Layers: parameters, the modules that hold them, and the walk that finds, switches, saves and loads them."""

import math

import numpy as np

from tinytorch_ref.activations import gelu, relu, sigmoid, tanh
from tinytorch_ref.tensor import Tensor, apply

# %% [markdown]
# ## A network without layers
#
# You have all the arithmetic of a network already: products from module 01, activations from module 02. So build one
# by hand: twelve times multiply by a matrix of random numbers, then `relu`. The inputs are of standard deviation 1.

# %%
rng = np.random.default_rng(0)
x = Tensor(rng.normal(size=(64, 100)))
for depth in range(1, 13):
    x = relu(x @ Tensor(rng.normal(size=(100, 100))))
    if depth % 3 == 0:
        print(f"after {depth:2} layers: standard deviation {x.data.std():.3g}")

# %% [markdown]
# Two things went wrong.
#
# The numbers grow about sevenfold in each layer: after twelve they stand near $10^{10}$, and after some thirty more they
# would leave what `float32` can hold. The matrices were random, but on the wrong scale.
#
# And the matrices are gone. They were temporary objects in a loop; nobody can train, count or save them. You could
# keep twelve variables, and twelve more for the biases, and pass all of them to every function. Sooner or later you
# would forget one.
#
# A layer solves both. It makes its numbers at the right scale, and it keeps them where they can be found.

# %% [markdown]
# ## 1 · A linear map
#
# A linear layer turns `in` features into `out` features: each output is a weighted sum of all inputs, plus a bias.
#
# $$y_{nj} = \sum_i x_{ni}\, W_{ji} + b_j \qquad\text{or}\qquad y = x\,W^{\mathsf T} + b$$
#
# ```
#     x  (N, in)    @    Wᵀ (in, out)    +    b (out,)    =    y (N, out)
# ```
#
# The weight is stored as `(out, in)`, one row for each output, as in PyTorch: row `j` holds all that makes output
# `j`, and files of weights can be exchanged. The bias may be absent.
#
# First write it as the formula reads, with tensors and their operators.


# %% nbgrader={"grade": false, "grade_id": "layers_composed", "locked": false, "schema_version": 3, "solution": true, "task": false}
def linear_composed(x, weight, bias=None):
    """A linear map from the operators of Tensor.

    Parameters
    ----------
    x : Tensor of shape (..., in)
    weight : Tensor of shape (out, in)
    bias : Tensor of shape (out,), or None

    Returns
    -------
    Tensor of shape (..., out)

    Examples
    --------
    >>> linear_composed(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0], [5.0, 6.0]]), Tensor([0.5, 0.0]))
    Tensor([[11.5, 17. ]], dtype=float32)

    Hints: `.T` transposes a matrix. Ask `bias is None`, not `if bias`: a tensor of several numbers is
    neither true nor false.
    """
    ### BEGIN SOLUTION
    y = x @ weight.T
    return y if bias is None else y + bias
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "layers_door_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: which primitives pass the door while a function runs, and with how many tensors.
from tinytorch_ref.tensor import Recorder


class Doorkeeper:
    def __init__(self):
        self.seen = []

    def record(self, output, primitive, inputs, saved, params):
        self.seen.append((primitive.__name__, len(inputs)))

    def changed(self, tensor):
        """Changes in place are of no interest here."""


def through_the_door(function, *args):
    before, Recorder.current = Recorder.current, Doorkeeper()
    try:
        function(*args)
        return Recorder.current.seen
    finally:
        Recorder.current = before


# %% nbgrader={"grade": true, "grade_id": "layers_composed_check", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Check (2 points): the formula, with a bias and without, in the operators of Tensor.
x, weight, bias = (
    np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 3.0]]),
    np.array([[3.0, 4.0], [5.0, 6.0]]),
    np.array([0.5, -1.0]),
)
y = linear_composed(Tensor(x), Tensor(weight), Tensor(bias))
check.close(y, x @ weight.T + bias,
            because="row j of the weight makes output j: x meets the transposed weight; then add the bias")
check.close(linear_composed(Tensor(x), Tensor(weight)), x @ weight.T,
            because="without a bias nothing is added")
check.equal(("matmul", 2) in through_the_door(linear_composed, Tensor(x), Tensor(weight)), True,
            because="x @ ... with tensors: a product of NumPy arrays does not pass the door")

# %% [markdown]
# That makes two arrays: the product, and a new one of the same size for the sum. The sum reads all of the product and
# writes all of it again, only to add a number. A *fused* primitive adds the bias into the product's own memory.
#
# It also decides how to treat more axes than two. An input `(B, T, in)`, a batch of sequences, is the same map
# applied to `B·T` rows. Seen as one matrix `(B·T, in)` it needs one large product instead of `B` small ones.
#
# Write `linear_forward`, a primitive on arrays. Module 06 will give it a gradient rule of its own.


# %% nbgrader={"grade": false, "grade_id": "layers_linear_forward", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def linear_forward(x, weight, bias=None):
    """The linear map `x @ weight.T + bias`, with one new array.

    Parameters
    ----------
    x : numpy.ndarray of shape (..., in)
    weight : numpy.ndarray of shape (out, in)
    bias : numpy.ndarray of shape (out,), or None

    Returns
    -------
    numpy.ndarray of shape (..., out)

    Raises
    ------
    ValueError
        If the last axis of `x` does not have `in` features; the message names both shapes.

    Examples
    --------
    >>> linear_forward(np.array([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0]]), np.array([0.5, 0.0]))
    array([11.5, 17. ])

    Hints: `x.reshape(-1, n)` shows all rows as one matrix, mostly without a copy. `y += bias` works in
    place. Give the result the axes of `x`, with `out` in the last place.
    """
    ### BEGIN SOLUTION
    out_features, in_features = weight.shape
    if x.shape[-1:] != (in_features,):
        raise ValueError(
            f"a linear map with a weight of shape {weight.shape} wants {in_features} features in the last "
            f"axis, but its input has shape {x.shape}"
        )
    y = x.reshape(-1, in_features) @ weight.T
    if bias is not None:
        y += bias
    return y.reshape(*x.shape[:-1], out_features)
    ### END SOLUTION


# %%
# Try it: which shapes may x have? Add one that does not fit and read the message.
weight, bias = np.ones((4, 3), dtype=np.float32), np.arange(4, dtype=np.float32)
for shape in [(3,), (5, 3), (2, 5, 3), (0, 3)]:
    print(shape, "->", linear_forward(np.ones(shape, dtype=np.float32), weight, bias).shape)


# %% nbgrader={"grade": false, "grade_id": "layers_linear_forward_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: whether a primitive leaves its arguments as they were.
def arguments_survive(primitive, *arguments):
    before = [argument.copy() for argument in arguments]
    primitive(*arguments)
    return all(bool((argument == old).all()) for argument, old in zip(arguments, before))


# %% nbgrader={"grade": true, "grade_id": "layers_linear_forward_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): values, one row and many axes, and a message that helps.
rng = np.random.default_rng(1)
weight, bias = rng.normal(size=(4, 3)), rng.normal(size=4)
for shape in [(5, 3), (2, 5, 3)]:
    x = rng.normal(size=shape)
    check.close(linear_forward(x, weight, bias), x @ weight.T + bias,
                because="each row of the last axis is mapped for itself")
    check.close(linear_forward(x, weight), x @ weight.T, because="the bias may be absent")
x = rng.normal(size=3)
check.close(linear_forward(x, weight, bias), x @ weight.T + bias,
            because="one row without a batch axis gives one row: shape (4,)")
with check.raises(ValueError, mentions=["(5, 4)", "(4, 3)"],
                  because="the message should name the shapes of the input and of the weight"):
    linear_forward(np.ones((5, 4)), weight, bias)

# %% nbgrader={"grade": true, "grade_id": "layers_linear_forward_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): arguments untouched, precision, accidental fits, empty batches, many axes.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(2)
x, weight, bias = (rng.normal(size=shape).astype(np.float32) for shape in [(2, 3, 5), (4, 5), (4,)])
check.equal(arguments_survive(linear_forward, x, weight, bias), True,
            because="the bias is added into the product, not into an argument")
check.same_dtype(linear_forward(x, weight, bias), np.float32, because="float32 in, float32 out")
check.same_dtype(linear_forward(x.astype(float), weight.astype(float), bias.astype(float)),
                 np.float64,
                 because="float64 stays")
check.same_shape(linear_forward(np.zeros((0, 5)), weight, bias), (0, 4),
                 because="an empty batch has an empty result")
many = rng.normal(size=(2, 1, 3, 2, 5))
check.close(linear_forward(many, weight, bias), many @ weight.T + bias,
            because="any number of axes may stand before the last", atol=1e-5)
turned = rng.normal(size=(5, 3)).T
check.close(linear_forward(turned, weight, bias), turned @ weight.T + bias,
            because="a transposed view is as good as an array", atol=1e-5)
with check.raises(ValueError, mentions=["(4, 10)", "(4, 5)"],
                  because="40 numbers are 8 rows of 5 only by accident: the last axis has 10 features"):
    linear_forward(np.ones((4, 10)), weight, bias)
with check.raises(ValueError,
                  because="a square weight does not excuse an input of the wrong width"):
    linear_forward(np.ones((3, 2)), np.ones((3, 3)), np.ones(3))
with count() as counted:
    linear_forward(x, weight, bias)
check.counts(counted, flops=6 * (2 * 5 * 4 + 4), arrays=1,
             because="the bias is added in place: the product is the only new array")
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · Parameters, modules, and the right scale
#
# A *parameter* is a tensor that learning may change. It differs from other tensors in one flag, `requires_grad=True`,
# and in its class, by which it is recognised. A *buffer* is a tensor that belongs to a network but is not learned;
# you will need one in module 09. Both are complete here.


# %% nbgrader={"grade": false, "grade_id": "layers_parameter", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
class Parameter(Tensor):
    """A tensor that learning may change.

    Parameters
    ----------
    data : array of real numbers, nested list or Tensor
        The values, copied; float32 unless `dtype` says otherwise.
    dtype : dtype, optional

    Raises
    ------
    TypeError
        If the values are not real numbers: an integer has no gradient.
    """

    __slots__ = ()

    def __init__(self, data, dtype=None):
        super().__init__(data, dtype=dtype, requires_grad=True)
        if self.dtype.kind != "f":
            raise TypeError(f"a parameter holds real numbers, but this data has dtype {self.dtype}")


class Buffer(Tensor):
    """A tensor that belongs to a module and is saved with it, but is not learned."""

    __slots__ = ()


# %% [markdown]
# A *module* holds parameters, buffers and other modules as ordinary attributes: `self.weight = Parameter(...)`.
# Nothing is registered. When somebody asks for the parameters, the module looks through its own attributes,
# `vars(self)`.
#
# Here is `Module`, complete. Calling a module runs its `forward`. The other methods hand their work to the functions
# of exercises 3, 4, 6 and 7, which do not exist yet. Read the names of the methods: they are all PyTorch's.


# %% nbgrader={"grade": false, "grade_id": "layers_module", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
class Module:
    """Base of all layers and networks: define `forward`, and keep parameters and modules as attributes.

    Parameters, buffers and modules are found in attributes, and in lists, tuples and dicts of them, at any
    depth. Each is counted once, under the first of its names. Names are dotted: ``layers.1.bias``.

    Attributes
    ----------
    training : bool
        Whether layers that behave differently in training, such as Dropout, shall do so.
    """

    training = True

    def __call__(self, *inputs, **options):
        return self.forward(*inputs, **options)

    def forward(self, *inputs, **options):
        """What the module computes; each kind of module defines its own."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward")

    # What is inside
    def named_modules(self):
        """Pairs (name, module) of this module, named "", and all inside it."""
        return list(find_modules(self))

    def modules(self):
        """This module and all inside it, each once."""
        return [module for _, module in self.named_modules()]

    def named_children(self):
        """Pairs (name, module) of the modules that this one holds itself."""
        return [(name, value) for name, value in members(self) if isinstance(value, Module)]

    def named_parameters(self):
        """Pairs (name, parameter) of all parameters, each once."""
        return list(find_tensors(self, Parameter))

    def parameters(self):
        """All parameters, each once."""
        return [parameter for _, parameter in self.named_parameters()]

    def named_buffers(self):
        """Pairs (name, buffer) of all buffers, each once."""
        return list(find_tensors(self, Buffer))

    # What can be done to all of it
    def train(self, mode=True):
        """Switch this module and all inside it to training; returns the module."""
        set_mode(self, mode)
        return self

    def eval(self):
        """Switch this module and all inside it to evaluation; returns the module."""
        return self.train(False)

    def zero_grad(self):
        """Forget the gradients of all parameters."""
        for parameter in self.parameters():
            parameter.grad = None

    def state_dict(self):
        """A copy of all parameters and buffers: a dict from names to arrays."""
        return copy_state(self)

    def load_state_dict(self, state):
        """Take the values of `state`, a dict as from `state_dict`. Raises ValueError if it does not fit."""
        load_state(self, state)

    # What it looks like
    def extra_repr(self):
        """What stands between the brackets of the repr, such as sizes."""
        return ""

    def __repr__(self):
        lines = [f"({name}): {child!r}" for name, child in self.named_children()]
        if not lines:
            return f"{type(self).__name__}({self.extra_repr()})"
        inside = "\n".join(lines).replace("\n", "\n  ")
        return f"{type(self).__name__}(\n  {inside}\n)"


# %% [markdown]
# **The scale of random weights.** Let the inputs of a layer be numbers of mean square $E[x^2]$, and draw its weights
# independently, with mean 0 and variance $\sigma^2$. An output is a sum of `in` products, so
#
# $$\mathrm{Var}(y) = \text{in} \cdot \sigma^2 \cdot E[x^2].$$
#
# `relu` sets the negative half of $y$ to 0, so the next layer receives $E[x^2] = \mathrm{Var}(y)/2$. With $\sigma = 1$ and
# 100 inputs the mean square grows by $100/2 = 50$ in each layer, and its root by 7: that is what you saw. The scale stays
# the same from layer to layer if
#
# $$\text{in} \cdot \sigma^2 \cdot \tfrac12 = 1, \qquad \sigma = \sqrt{2 / \text{in}}.$$
#
# This is *He initialisation* (He et al., 2015), and your `Linear` will use it. The bias starts at 0.
#
# The random numbers come from `np.random.default_rng(rng)`: it makes a generator from a seed, and hands a generator
# back as it is. So a caller passes one generator to all layers, and each draws the numbers that follow.


# %% nbgrader={"grade": false, "grade_id": "layers_linear", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class Linear(Module):
    """A linear map with a weight and a bias: `y = x @ weight.T + bias`.

    Parameters
    ----------
    in_features, out_features : int
        Length of the last axis of the input and of the output.
    bias : bool
        Whether there is a bias.
    rng : numpy.random.Generator, int or None
        Where the weights come from: a generator, a seed for one, or None for numbers that differ in each run.

    Attributes
    ----------
    weight : Parameter of shape (out_features, in_features)
        Drawn from a normal distribution of mean 0 and variance 2 / in_features.
    bias : Parameter of shape (out_features,), or None
        Zeros.

    Examples
    --------
    >>> Linear(3, 2, rng=0)(Tensor([[0.0, 0.0, 0.0]]))
    Tensor([[0., 0.]], dtype=float32)
    """

    def __init__(self, in_features, out_features, bias=True, rng=None):
        self.in_features = in_features
        self.out_features = out_features
        # Hints: `rng = np.random.default_rng(rng)`, then `rng.normal(scale=..., size=...)`, and `math.sqrt`.
        ### BEGIN SOLUTION
        rng = np.random.default_rng(rng)
        scale = math.sqrt(2 / in_features)
        self.weight = Parameter(rng.normal(scale=scale, size=(out_features, in_features)))
        self.bias = Parameter(np.zeros(out_features)) if bias else None
        ### END SOLUTION

    def forward(self, x):
        """The map of a tensor of shape (..., in_features); the result has shape (..., out_features)."""
        # Hint: `apply(linear_forward, ...)`, with the tensors that there are as inputs.
        ### BEGIN SOLUTION
        if self.bias is None:
            return apply(linear_forward, x, self.weight)
        return apply(linear_forward, x, self.weight, self.bias)
        ### END SOLUTION

    def extra_repr(self):
        """Sizes, as PyTorch writes them."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


# %%
# Try it: twenty layers with relu between them, and three ways to draw the weights.
def signal(scale, depth=20, width=100):
    """Root mean square of the signal after each layer, with weights scaled by `scale`."""
    rng = np.random.default_rng(0)
    x, sizes = Tensor(rng.normal(size=(64, width))), []
    for _ in range(depth):
        x = relu(Linear(width, width, rng=rng)(x) * scale)
        sizes.append(math.sqrt((x.data**2).mean()))
    return sizes


fig, axes = figure()
scales = {"variance 1": math.sqrt(50), "variance 2 / in": 1.0, "variance 1 / (3 in)": math.sqrt(1 / 6)}
for name, scale in scales.items():
    axes.semilogy(range(1, 21), signal(scale), marker="o", label=name)
axes.set(xlabel="layer", ylabel="root mean square of the signal", xticks=range(0, 21, 5))
axes.legend()
show(fig, alt="Signal by layer: variance 1 rises to 1e17, 2/in stays near 1, 1/(3 in) falls to 1e-8.")

# %% [markdown]
# *The figure:* with variance 1 the signal grows by a factor of 7 a layer, with $2/\text{in}$ it stays, and with
# $1/(3\,\text{in})$ it shrinks by a factor of 2.4. The third is what `torch.nn.Linear` draws by default, and one reason
# why deep networks in PyTorch are often initialised by hand.


# %% nbgrader={"grade": false, "grade_id": "layers_linear_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: layers that draw from one generator, and what is left of a signal after many layers.
def pair_of_layers(seed):
    rng = np.random.default_rng(seed)
    return Linear(6, 5, rng=rng), Linear(6, 5, rng=rng)


def signal_after(depth, width, seed=0):
    rng = np.random.default_rng(seed)
    x = Tensor(rng.normal(size=(200, width)))
    for _ in range(depth):
        x = relu(Linear(width, width, rng=rng)(x))
    return float((x * x).mean())


# %% nbgrader={"grade": true, "grade_id": "layers_linear_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): what a layer holds, what it computes, and the variance of what comes out.
layer = Linear(300, 200, rng=0)
check.equal((layer.weight.shape, layer.bias.shape), ((200, 300), (200,)),
            because="the weight is (out, in), the bias (out,)")
check.equal(isinstance(layer.weight, Parameter) and isinstance(layer.bias, Parameter), True,
            because="a plain Tensor is not learned")
check.close(layer.bias, np.zeros(200), because="the bias starts at 0")
x = np.random.default_rng(1).normal(size=(500, 300)).astype(np.float32)
y = layer(Tensor(x))
check.close(y, x @ layer.weight.data.T + layer.bias.data,
            because="forward is the linear map of exercise 1", rtol=1e-4, atol=1e-4)
check.close(y.data.var(), 2.0,
            because="inputs of mean square 1 should give outputs of variance 2: weights of variance 2 / in",
            rtol=0.05)
check.equal(through_the_door(layer, Tensor(x)), [("linear_forward", 3)],
            because="one apply, with x, weight and bias as inputs: only inputs will get a gradient")
check.equal(Linear(4, 3, bias=False, rng=0).bias, None,
            because="bias=False means no bias at all, not one of zeros")
check.close(Linear(4, 3, rng=5).weight, Linear(4, 3, rng=5).weight.data,
            because="the same seed gives the same weights")

# %% nbgrader={"grade": true, "grade_id": "layers_linear_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): scale at other widths and in depth, one generator for two layers, precision.
### BEGIN HIDDEN TESTS
for width, out in [(50, 2000), (800, 100)]:
    weight = Linear(width, out, rng=3).weight.data
    check.close(weight.var() * width, 2.0,
                because="the variance goes with the number of inputs, not of outputs", rtol=0.05)
    check.close(weight.mean() * width**0.5, 0.0, because="the mean of the weights is 0", atol=0.03)
check.equal(0.4 < signal_after(20, 128) < 2.5, True,
            because="after 20 layers with relu the mean square should still be near 1")
first, second = pair_of_layers(seed=8)
check.equal(bool(np.allclose(first.weight.data, second.weight.data)), False,
            because="two layers that share a generator draw different numbers")
check.equal(bool(np.allclose(Linear(6, 5, rng=1).weight.data, Linear(6, 5, rng=2).weight.data)),
            False,
            because="seeds should matter")
check.equal(bool(np.allclose(Linear(6, 5).weight.data, Linear(6, 5).weight.data)), False,
            because="without a seed two layers differ")
layer = Linear(5, 4, bias=False, rng=0)
x = np.random.default_rng(4).normal(size=(2, 3, 5)).astype(np.float32)
check.close(layer(Tensor(x)), x @ layer.weight.data.T,
            because="without a bias nothing is added", rtol=1e-4)
check.equal((layer.weight.requires_grad, layer.weight.grad), (True, None),
            because="a parameter wants a gradient and has none yet")
check.same_dtype(layer.weight, np.float32, because="NumPy draws float64; a parameter is float32")
check.same_dtype(layer(Tensor(x)), np.float32, because="float32 in, float32 out")
layer = Linear(3, 2, rng=0)
layer.bias[:] = [5.0, -5.0]
check.close(layer(Tensor(np.zeros((4, 3)))), np.tile([5.0, -5.0], (4, 1)),
            because="the bias takes part, and its present values do")
### END HIDDEN TESTS

# %% [markdown]
# The activations become modules as well, so that they can stand in a list of layers. They hold nothing.


# %% nbgrader={"grade": false, "grade_id": "layers_activations", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
class ReLU(Module):
    """`relu` as a module."""

    def forward(self, x):
        return relu(x)


class GELU(Module):
    """`gelu` as a module."""

    def forward(self, x):
        return gelu(x)


class Sigmoid(Module):
    """`sigmoid` as a module."""

    def forward(self, x):
        return sigmoid(x)


class Tanh(Module):
    """`tanh` as a module."""

    def forward(self, x):
        return tanh(x)


# %% [markdown]
# ## 3 · What is inside a module
#
# Real networks keep their parts in many ways: one module as an attribute, twelve blocks in a list, heads in a dict by
# name. A walk that looks only at attributes misses the list, and what it misses is neither trained nor saved. No
# error tells you; the loss is merely worse than it should be.
#
# ```
#   net.stem    = Linear(…)                     stem
#   net.blocks  = [Linear(…), Linear(…)]        blocks.0   blocks.1
#   net.heads   = {"left": (Linear(…), …)}      heads.left.0   …
# ```
#
# Two functions do it. `members(module)` lists everything that a module's attributes hold, with lists, tuples and dicts
# unpacked and names joined by dots; it does not look inside other modules. It is complete but for `unpack`, which you
# write. `find_modules(module)`, which you write too, does look inside: it gives a module and all modules inside it,
# outer before inner. Two cares:
#
# - **Once.** The same object may be reached by two paths. Compare by identity, `id(module)`, and let the first name
#   win.
# - **Names.** Names are joined along the way, `blocks.0.norm`; the outermost module is called `""` and adds no dot.


# %% nbgrader={"grade": false, "grade_id": "layers_walk", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def members(module):
    """What the attributes of a module hold, with lists, tuples and dicts unpacked; other modules stay closed.

    Parameters
    ----------
    module : Module

    Returns
    -------
    list of (str, object)
        Dotted names and the things themselves, of whatever kind, in the order of the attributes.

    Examples
    --------
    A module with `self.size = 3` and `self.blocks = [first, second]` has the members
    `[("size", 3), ("blocks.0", first), ("blocks.1", second)]`.
    """
    return [member for name, value in vars(module).items() for member in unpack(name, value)]


def unpack(name, value):
    """A list of (name, item): `value` itself, or all items inside a list, tuple or dict, at any depth.

    Examples
    --------
    >>> unpack("size", 3), unpack("heads", {"left": [1, 2], "right": []})
    ([('size', 3)], [('heads.left.0', 1), ('heads.left.1', 2)])

    Hints: the function calls itself. `enumerate(value)` and `value.items()` both give pairs of key and item;
    the name of an item is f"{name}.{key}".
    """
    ### BEGIN SOLUTION
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, (list, tuple)):
        pairs = enumerate(value)
    else:
        return [(name, value)]
    return [found for key, item in pairs for found in unpack(f"{name}.{key}", item)]
    ### END SOLUTION


def find_modules(module, name="", seen=None):
    """A module and all modules inside it, each once, outer before inner.

    Parameters
    ----------
    module : Module
    name : str
        What `module` itself is called.
    seen : set of int, optional
        The `id` of each module that was found before; those are left out.

    Returns
    -------
    list of (str, Module)

    Hints: the function calls itself for each member that is a Module, with the joined name and the same set.
    `join(name, member)` joins two names by a dot.
    """
    ### BEGIN SOLUTION
    seen = set() if seen is None else seen
    if id(module) in seen:
        return []
    seen.add(id(module))
    found = [(name, module)]
    for member, value in members(module):
        if isinstance(value, Module):
            found += find_modules(value, join(name, member), seen)
    return found
    ### END SOLUTION


def join(prefix, name):
    """Two parts of a dotted name; an empty prefix adds no dot."""
    return f"{prefix}.{name}" if prefix else name


# %% nbgrader={"grade": false, "grade_id": "layers_walk_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Modules for you and for the checks: one with parameters only, and one that keeps its parts in every way.
class Leaf(Module):
    def __init__(self, size):
        self.weight = Parameter(np.full((size, size), 0.5))
        self.bias = Parameter(np.zeros(size))


class Tree(Module):
    def __init__(self):
        self.scale = Parameter([1.0, 2.0])
        self.stem = Leaf(2)
        self.sizes = [2, 3]
        self.blocks = [Leaf(3), Leaf(3)]
        self.heads = {"left": (Leaf(1), Leaf(1)), "right": Leaf(4)}
        self.nothing = None


class Forest(Module):
    """Trees and leaves, some of them twice; and one parameter that two leaves share."""

    def __init__(self):
        self.first, self.second = Leaf(2), Leaf(2)
        self.second.weight = self.first.weight
        self.trees = [[Tree()], self.second]
        self.again = self.trees[0][0].stem
        self.own = {"gain": Parameter([3.0])}


def circle():
    """Two modules that hold each other."""
    parent, child = Module(), Leaf(1)
    parent.child, child.parent = child, parent
    return parent


# %%
# Try it: add an attribute to the tree, such as a list of dicts of modules, and see where it turns up.
tree = Tree()
for name, module in find_modules(tree):
    print(f"{name!r:14} {type(module).__name__}")

# %% nbgrader={"grade": true, "grade_id": "layers_walk_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): members of every kind, and the modules inside a module.
tree = Tree()
names = ["scale", "stem", "sizes.0", "sizes.1", "blocks.0", "blocks.1"]
names += ["heads.left.0", "heads.left.1", "heads.right", "nothing"]
check.equal([name for name, _ in members(tree)], names,
            because="lists, tuples and dicts are unpacked at any depth; modules stay closed")
check.equal(dict(members(tree))["sizes.1"], 3,
            because="members are given as they are, of whatever kind")
names = ["", "stem", "blocks.0", "blocks.1", "heads.left.0", "heads.left.1", "heads.right"]
check.equal([name for name, _ in tree.named_modules()], names,
            because="the module itself comes first, named '', then all inside it")
check.equal([name for name, _ in Leaf(2).named_modules()], [""],
            because="a module without modules has only itself")

# %% nbgrader={"grade": true, "grade_id": "layers_walk_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): modules in modules, things that occur twice, circles, empty lists, a second walk.
### BEGIN HIDDEN TESTS
forest = Forest()
names = ["", "first", "second", "trees.0.0", "trees.0.0.stem", "trees.0.0.blocks.0", "trees.0.0.blocks.1"]
names += ["trees.0.0.heads.left.0", "trees.0.0.heads.left.1", "trees.0.0.heads.right"]
found = [name for name, _ in forest.named_modules()]
check.equal(found, names,
            because="names are joined along the way, and a module that occurs twice keeps its first name")
check.equal([name for name, _ in forest.named_modules()], names,
            because="a second walk finds the same: nothing is remembered between walks")
check.equal([name for name, _ in Tree().named_modules()][1], "stem",
            because="nor is anything remembered from another module")
check.equal([name for name, _ in circle().named_modules()], ["", "child"],
            because="a module that was seen is not entered again")
module = Module()
module.empty, module.nested = [], {"a": {}, "b": [[], ()]}
check.equal([name for name, _ in members(module)], [], because="an empty container holds nothing")
module.text = "words"
module.blocks = {0: Leaf(1), 1: [Leaf(1)]}
check.equal([name for name, _ in members(module)], ["text", "blocks.0", "blocks.1.0"],
            because="a text is not a container; keys may be numbers")
check.equal([isinstance(part, Leaf) for part in module.modules()], [False, True, True],
            because="the pairs hold the modules themselves")
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · All parameters, each once
#
# The optimizers of module 07 ask a network for its parameters and change each of them in every step. A parameter that
# is listed twice is changed twice. That is not a rare case: language models often use one matrix both to read tokens
# and to predict them (*weight tying*), so the same `Parameter` object sits in two layers. It must be counted once,
# trained once and saved once.
#
# What counts is identity, not equality. Two layers may happen to hold equal numbers, such as biases of zeros, and are
# still two.
#
# Write `find_tensors`, which walks the modules of exercise 3 and collects the tensors of one kind. In each module its
# own tensors come first, in the order of its attributes.


# %% nbgrader={"grade": false, "grade_id": "layers_parameters", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def find_tensors(module, kind):
    """The tensors of one kind in a module and all modules inside it, each once.

    Parameters
    ----------
    module : Module
    kind : class or tuple of classes
        Parameter, Buffer, or both.

    Returns
    -------
    list of (str, Tensor)
        Dotted names and tensors; a tensor that occurs more than once has the first of its names.

    Examples
    --------
    The names in `Linear(3, 2)` are `["weight", "bias"]`; in a list `self.layers` of two of them,
    `["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]`.

    Hints: loop over `find_modules(module)` and, inside, over `members` of each. A dict from `id(tensor)` to
    the pair keeps the first of several with `setdefault`.
    """
    ### BEGIN SOLUTION
    found = {}
    for prefix, part in find_modules(module):
        for name, value in members(part):
            if isinstance(value, kind):
                found.setdefault(id(value), (join(prefix, name), value))
    return list(found.values())
    ### END SOLUTION


# %%
# Try it: how many numbers does the forest learn? Then give both leaves a weight of their own.
forest = Forest()
print([name for name, _ in forest.named_parameters()][:5], "...")
sum(parameter.size for parameter in forest.parameters())

# %% nbgrader={"grade": true, "grade_id": "layers_parameters_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): names in order, the parameters themselves, and a shared one.
tree = Tree()
parts = ["stem", "blocks.0", "blocks.1", "heads.left.0", "heads.left.1", "heads.right"]
names = ["scale"] + [f"{part}.{kind}" for part in parts for kind in ("weight", "bias")]
check.equal([name for name, _ in tree.named_parameters()], names,
            because="parameters of modules in lists, tuples and dicts are found too")
check.equal(sum(parameter.size for parameter in tree.parameters()), 56,
            because="2 + (4 + 2) + 2 · (9 + 3) + 2 · (1 + 1) + (16 + 4)")
check.shares_memory(tree.parameters()[1], tree.stem.weight,
                    because="the parameters themselves, not copies: an optimizer will change them")
forest = Forest()
names = [name for name, _ in forest.named_parameters()]
check.equal("second.weight" in names, False,
            because="a shared parameter is listed once, under its first name, first.weight")
check.equal("second.bias" in names, True,
            because="equal values are not the same parameter: compare identity, not numbers")

# %% nbgrader={"grade": true, "grade_id": "layers_parameters_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): a deep module, buffers, tensors that are neither, a module without parameters.
### BEGIN HIDDEN TESTS
forest = Forest()
names = [name for name, _ in forest.named_parameters()]
check.equal(names[:5], ["own.gain", "first.weight", "first.bias", "second.bias", "trees.0.0.scale"],
            because="a module's own come first, then its modules in order")
check.equal(len(names), 4 + 13,
            because="13 in the tree, each once, though its stem is reached by two paths")
check.equal(sum(parameter.size for parameter in forest.parameters()), 1 + 4 + 2 + 2 + 56,
            because="each number is counted once")
check.equal(len(forest.parameters()), 17, because="a second walk finds the same")
module = Module()
module.constant, module.steps = Tensor([1.0]), Buffer([0])
module.inner, module.weight = Leaf(1), Parameter([1.0])
check.equal([name for name, _ in module.named_parameters()],
            ["weight", "inner.weight", "inner.bias"],
            because="a plain Tensor and a Buffer are not learned")
check.equal([name for name, _ in module.named_buffers()], ["steps"],
            because="only tensors of the kind that is asked for")
check.equal([name for name, _ in find_tensors(module, (Parameter, Buffer))],
            ["steps", "weight", "inner.weight", "inner.bias"],
            because="the kind may be a tuple of classes, as isinstance takes it")
check.equal(ReLU().parameters(), [], because="a module may have none")
module.zero_grad()
check.equal(circle().named_parameters()[0][0], "child.weight",
            because="a circle of modules is walked once")
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · One after the other
#
# Most networks are chains: the output of each module is the input of the next. `Sequential` holds such a chain and is
# a module itself, so chains can hold chains.
#
# ```
#   Sequential(Linear(784, 128), ReLU(), Linear(128, 10))
#
#   x (N, 784) ──► "0" ──► (N, 128) ──► "1" ──► (N, 128) ──► "2" ──► y (N, 10)
# ```
#
# Where does it keep its modules? If they stood in a list `self.layers`, your walk would call the first weight
# `layers.0.weight`. PyTorch's name is `0.weight`. Your walk reads names from `vars(self)`, so let the attributes be
# called `"0"`, `"1"`, `"2"`. Python has no objection to such a name as long as you use `setattr`.
#
# A chain may hold the same module twice: `ReLU` has no state, so one object can serve everywhere. The walk lists it
# once, but `forward` must run it as often as it occurs.


# %% nbgrader={"grade": false, "grade_id": "layers_sequential", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class Sequential(Module):
    """Modules in a chain: each one's output is the next one's input.

    Parameters
    ----------
    *modules : Module
        In order; they become the attributes "0", "1", and so on.

    Examples
    --------
    >>> model = Sequential(Linear(3, 4), ReLU(), Linear(4, 2))
    >>> len(model), [name for name, _ in model.named_parameters()]
    (3, ['0.weight', '0.bias', '2.weight', '2.bias'])
    >>> model[-1].weight.shape
    (2, 4)
    """

    def __init__(self, *modules):
        # Hint: setattr(self, "0", module) makes an attribute whose name is a number.
        ### BEGIN SOLUTION
        for number, module in enumerate(modules):
            setattr(self, str(number), module)
        ### END SOLUTION

    def __iter__(self):
        """The modules in order."""
        return (getattr(self, str(number)) for number in range(len(self)))

    def __len__(self):
        """How many modules there are."""
        return sum(name.isdigit() for name in vars(self))

    def __getitem__(self, index):
        """The module at an index, negative ones from the end, or a shorter chain for a slice."""
        modules = list(self)[index]
        return Sequential(*modules) if isinstance(index, slice) else modules

    def __setitem__(self, index, module):
        """Put another module in the place of one."""
        setattr(self, str(range(len(self))[index]), module)

    def forward(self, x):
        """What the last module makes of what the others made of `x`."""
        # Hint: `for module in self` gives the modules in order.
        ### BEGIN SOLUTION
        for module in self:
            x = module(x)
        return x
        ### END SOLUTION


# %%
# Try it: look at a model, then at a part of it. What does model[:2] compute?
rng = np.random.default_rng(0)
model = Sequential(Linear(784, 128, rng=rng), ReLU(), Linear(128, 10, rng=rng))
print(model)
print(model(Tensor(np.zeros((5, 784)))).shape, model[:2](Tensor(np.zeros((5, 784)))).shape)


# %% nbgrader={"grade": false, "grade_id": "layers_sequential_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# Modules for the checks whose order shows in the result.
class Add(Module):
    def __init__(self, number):
        self.number = number

    def forward(self, x):
        return x + self.number


class Double(Module):
    def forward(self, x):
        return x * 2.0


# %% nbgrader={"grade": true, "grade_id": "layers_sequential_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): order, names, length and parts.
x = Tensor([1.0, 2.0])
chain = Sequential(Add(3.0), Double())
check.close(chain(x), np.array([8.0, 10.0]),
            because="(x + 3) · 2: first the first module; 2 · x + 3 is the wrong order")
check.close(Sequential(Double(), Add(3.0))(x), np.array([5.0, 7.0]), because="2 · x + 3")
check.equal(len(chain), 2, because="two modules were given")
check.close(chain[1](x), np.array([2.0, 4.0]), because="chain[1] is the second module")
model = Sequential(Leaf(2), Double(), Leaf(3))
names = ["0.weight", "0.bias", "2.weight", "2.bias"]
check.equal([name for name, _ in model.named_parameters()], names,
            because="the attributes are called '0', '1', '2'")

# %% nbgrader={"grade": true, "grade_id": "layers_sequential_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): a module twice, chains in chains, no module, more than ten, one exchanged.
### BEGIN HIDDEN TESTS
x = Tensor([1.0, 2.0])
double, add = Double(), Add(1.0)
check.close(Sequential(double, add, double)(x), np.array([6.0, 10.0]),
            because="a module that stands twice in the chain runs twice")
check.close(Sequential(Sequential(add, double), Sequential(add))(x), np.array([5.0, 7.0]),
            because="a chain may hold chains")
check.close(Sequential()(x), np.array([1.0, 2.0]), because="a chain of nothing changes nothing")
long = Sequential(Double(), *[Add(float(number)) for number in range(11)], Double())
check.close(long(x), np.array([114.0, 118.0]),
            because="module 10 comes after module 9, not after module 1")
check.equal(len(long), 13, because="thirteen modules were given")
check.close(long[-1](x), np.array([2.0, 4.0]), because="negative indices count from the end")
inner = Sequential(Sequential(Leaf(1)), Leaf(1))
check.equal([name for name, _ in inner.named_modules()], ["", "0", "0.0", "1"],
            because="names are joined through chains")
chain = Sequential(Add(1.0), Double())
chain[0] = Add(5.0)
check.close(chain(x), np.array([12.0, 14.0]),
            because="forward uses the modules that the chain holds now")
check.equal([name for name, _ in Sequential(Leaf(1), Leaf(1), Leaf(1))[1:].named_children()],
            ["0", "1"],
            because="a slice is a chain of its own")
with check.unchanged(x, because="no module may change its input"):
    Sequential(add, double)(x)
### END HIDDEN TESTS

# %% [markdown]
# ## 6 · Dropout, and two modes
#
# A network with many parameters can learn its training data by heart. *Dropout* (Srivastava et al., 2014) makes that
# harder: in training, each activation is set to 0 with probability $p$, anew in each pass, so no unit can rely on
# another. In evaluation nothing is dropped.
#
# Then the next layer would see sums that are larger by a factor of $1/(1-p)$ than those it was trained on. So what
# survives is scaled up in training (*inverted dropout*), and the expected value stays:
#
# $$E[y] = (1-p) \cdot \frac{x}{1-p} + p \cdot 0 = x$$
#
# ```
#   p = 0.5        x      1.0  2.0  3.0  4.0
#                  mask   2.0  0.0  0.0  2.0      training: kept ones carry 1 / (1 - p)
#                  y      2.0  0.0  0.0  8.0
#                  y      1.0  2.0  3.0  4.0      evaluation: x itself
# ```
#
# How does a `Dropout` deep inside a network know which mode is on? `net.eval()` sets `training = False` on the
# network *and on every module inside it*. Write that as `set_mode`, then `Dropout`. The mask goes through the door as
# a plain array: it is a constant, not something to be learned.


# %% nbgrader={"grade": false, "grade_id": "layers_dropout_forward", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
def dropout_forward(a, mask):
    """`a` with some elements set to 0 and the others scaled.

    Parameters
    ----------
    a : numpy.ndarray
    mask : numpy.ndarray of the shape and dtype of `a`
        0 where an element is dropped, 1 / (1 - p) where it is kept.
    """
    return a * mask


# %% nbgrader={"grade": false, "grade_id": "layers_dropout", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def set_mode(module, training):
    """Set `training` on a module and on all modules inside it."""
    ### BEGIN SOLUTION
    for part in module.modules():
        part.training = training
    ### END SOLUTION


class Dropout(Module):
    """In training, sets each element to 0 with probability p and scales the others by 1 / (1 - p).

    Parameters
    ----------
    p : float
        From 0, nothing is dropped, to 1, everything is.
    rng : numpy.random.Generator, int or None
        Where the masks come from: a generator, a seed for one, or None for masks that differ in each run.

    Attributes
    ----------
    rng : numpy.random.Generator
        The next mask is drawn from it.

    Raises
    ------
    ValueError
        If p is not between 0 and 1.
    """

    def __init__(self, p=0.5, rng=None):
        if not 0 <= p <= 1:
            raise ValueError(f"the probability p of dropout lies between 0 and 1, but it is {p}")
        self.p = p
        self.rng = np.random.default_rng(rng)

    def forward(self, x):
        """A tensor of the shape and dtype of `x`; in evaluation, or if p is 0, `x` itself."""
        # Hints: `self.rng.random(x.shape)` is uniform from 0 up to, but without, 1: it is at least p with
        # probability 1 - p. `.astype(x.dtype)` makes 0 and 1 of booleans. With p = 1 nothing is left to
        # scale.
        ### BEGIN SOLUTION
        if not self.training or self.p == 0:
            return x
        mask = (self.rng.random(x.shape) >= self.p).astype(x.dtype)
        if self.p < 1:
            mask /= 1 - self.p
        return apply(dropout_forward, x, mask=mask)
        ### END SOLUTION

    def extra_repr(self):
        """The probability."""
        return f"p={self.p}"


# %%
# Try it: three passes, three masks. What is the mean of each? Then call layer.eval() before the loop.
layer = Dropout(0.5, rng=0)
x = Tensor(np.ones(12))
for _ in range(3):
    print(layer(x))

# %% nbgrader={"grade": true, "grade_id": "layers_dropout_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): how many are dropped, how the others are scaled, the door, and the two modes.
x = Tensor(np.ones((100, 200)))
y = Dropout(0.25, rng=0)(x).data
check.close(y[y != 0], np.full((y != 0).sum(), 4 / 3),
            because="kept elements are scaled by 1 / (1 - p), here 4/3")
check.close((y == 0).mean(), 0.25, because="p is the probability to drop, not to keep", atol=0.02)
check.close(y.mean(), 1.0, because="dropping and scaling cancel: the mean stays", rtol=0.03)
layer = Dropout(0.25, rng=0)
check.equal(bool((layer(x).data == layer(x).data).all()), False,
            because="each pass draws a new mask")
check.equal(bool(through_the_door(layer, x)), True,
            because="apply(dropout_forward, x, mask=mask): what does not pass the door gets no gradient")
layer.eval()
check.close(layer(x), np.ones((100, 200)),
            because="in evaluation nothing is dropped and nothing is scaled")
net = Tree()
net.eval()
net.eval()
check.equal([module.training for module in net.modules()], [False] * 7,
            because="eval(), even twice, switches off all modules inside, also those in lists and dicts")
net.train()
check.equal([module.training for module in net.modules()], [True] * 7,
            because="train() switches all of them back")

# %% nbgrader={"grade": true, "grade_id": "layers_dropout_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): p of 0, 1 and others, elements on their own, seeds, precision, modes deep inside.
### BEGIN HIDDEN TESTS
values = np.random.default_rng(6).normal(size=(50, 40)) + 3
x = Tensor(values)
check.close(Dropout(0.0, rng=0)(x), values, because="with p = 0 nothing is dropped")
check.close(Dropout(1.0, rng=0)(x), np.zeros((50, 40)),
            because="with p = 1 everything is: 0, not NaN from 0 / 0")
y = Dropout(0.8, rng=1)(x).data
check.close((y == 0).mean(), 0.8, because="p is the probability to drop", atol=0.03)
check.close(y[y != 0], 5.0 * values[y != 0],
            because="kept elements are scaled by 1 / (1 - 0.8)", rtol=1e-4)
dropped = (y == 0).mean(axis=0)
check.equal(bool(0 < dropped.min() and dropped.max() < 1), True,
            because="each element is dropped on its own, not a whole column")
dropped = (y == 0).mean(axis=1)
check.equal(bool(0 < dropped.min() and dropped.max() < 1), True,
            because="each element is dropped on its own, not a whole row")
layer = Dropout(0.25, rng=5)
counts = {int((layer(x).data == 0).sum()) for _ in range(5)}
check.equal(len(counts) > 1, True,
            because="how many are dropped differs from pass to pass: each element has its own chance")
check.shares_memory(Dropout(0.5, rng=0).eval()(x), x, because="in evaluation the result is x itself")
check.close(Dropout(0.5, rng=7)(x), Dropout(0.5, rng=7)(x).data,
            because="the same seed gives the same first mask")
check.equal(bool((Dropout(0.5, rng=7)(x).data == Dropout(0.5, rng=8)(x).data).all()), False,
            because="other seeds give other masks")
check.same_dtype(Dropout(0.5, rng=0)(x), np.float32,
                 because="the mask takes the precision of the input")
check.same_dtype(Dropout(0.5, rng=0)(Tensor(values, dtype=np.float64)), np.float64,
                 because="float64 stays")
with check.unchanged(x, because="the input is not dropped in place"):
    Dropout(0.5, rng=0)(x)
net = Sequential(Double(), Sequential(Dropout(0.5, rng=0)))
net.eval()
check.close(net(x), 2 * values, because="eval() reaches a Dropout two levels down")
check.equal((Module().training, Dropout(0.5).training), (True, True),
            because="a fresh module is in training: the mode is set on objects, not on the class")
check.equal(bool((net.train()(x).data == 0).any()), True,
            because="train() returns the module and switches back on")
check.close(Dropout(0.5, rng=0).eval()(Tensor(2.0)), 2.0,
            because="a tensor without axes is allowed")
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · Saved and loaded
#
# The *state* of a network is what it has learned: a dict from names to arrays. Your walk gives the names, so saving
# is short. Two decisions matter.
#
# **Copies.** `best = net.state_dict()` should mean the network as it is now. If the dict held the parameters' own
# arrays, training on would change `best` too. (PyTorch's `state_dict` does hold references: there you would write
# `copy.deepcopy(net.state_dict())`.)
#
# **All or nothing.** A state may not fit: a layer was renamed, one was added, a width changed. A loader that stops at
# the first mismatch leaves half of a network from one file and half from another. So compare everything first, raise
# *one* error that lists every missing name, every unexpected name and every name with another shape, and only then
# copy.
#
# ```
#   ValueError: this state does not fit Sequential: missing 2.bias;
#               unexpected 3.weight, 3.bias;
#               of another shape 0.weight (128, 784) instead of (64, 784)
# ```
#
# Loading writes into the arrays that the parameters have. Whoever holds a parameter, an optimizer say, still holds
# it.


# %% nbgrader={"grade": false, "grade_id": "layers_state", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def copy_state(module):
    """Copies of all parameters and buffers of a module, at any depth.

    Parameters
    ----------
    module : Module

    Returns
    -------
    dict of str to numpy.ndarray

    Hints: `find_tensors` takes a tuple of classes: (Parameter, Buffer).
    """
    ### BEGIN SOLUTION
    return {name: tensor.data.copy() for name, tensor in find_tensors(module, (Parameter, Buffer))}
    ### END SOLUTION


def load_state(module, state):
    """Copy the values of a state into the parameters and buffers of a module.

    Parameters
    ----------
    module : Module
    state : dict of str to numpy.ndarray or Tensor

    Raises
    ------
    ValueError
        If a name is missing or unexpected, or a shape differs. The message lists all such names, and both
        shapes where they differ; nothing has changed.

    Hints: make the three lists first. `tensor[...] = array` writes all values in place, but it broadcasts:
    compare shapes before.
    """
    own = dict(find_tensors(module, (Parameter, Buffer)))
    arrays = {
        name: value.data if isinstance(value, Tensor) else np.asarray(value) for name, value in state.items()
    }
    ### BEGIN SOLUTION
    differing = [name for name in own if name in arrays and arrays[name].shape != own[name].shape]
    problems = {
        "missing": [name for name in own if name not in arrays],
        "unexpected": [name for name in arrays if name not in own],
        "of another shape": [
            f"{name} {arrays[name].shape} instead of {own[name].shape}" for name in differing
        ],
    }
    complaints = [f"{what} {', '.join(names)}" for what, names in problems.items() if names]
    if complaints:
        raise ValueError(f"this state does not fit {type(module).__name__}: {'; '.join(complaints)}")
    for name, tensor in own.items():
        tensor[...] = arrays[name]
    ### END SOLUTION


# %%
# Try it: break the state in another way, and read the message.
model = Sequential(Linear(4, 3, rng=0), ReLU(), Linear(3, 2, rng=1))
state = model.state_dict()
state["3.weight"] = state.pop("2.bias")
try:
    model.load_state_dict(state)
except ValueError as error:
    print(error)


# %% nbgrader={"grade": false, "grade_id": "layers_state_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: what becomes of a state when the module changes, and of a module when the state does.
def state_after_training(module):
    state = module.state_dict()
    for parameter in module.parameters():
        parameter[...] = parameter.data + 1.0
    return state


def spoil_state_after_loading(module):
    state = module.state_dict()
    module.load_state_dict(state)
    for values in state.values():
        values[...] = 9.0


def arrays_survive_loading(module):
    before = [parameter.data for parameter in module.parameters()]
    module.load_state_dict(module.state_dict())
    return all(parameter.data is old for parameter, old in zip(module.parameters(), before))


# %% nbgrader={"grade": true, "grade_id": "layers_state_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): what a state holds, the way back, and the error.
tree = Tree()
state = tree.state_dict()
check.equal(list(state), [name for name, _ in tree.named_parameters()],
            because="one entry for each parameter, under its name")
check.close(state["scale"], np.array([1.0, 2.0]),
            because="the entry holds the values of the parameter")
check.equal(isinstance(state["scale"], Tensor), False, because="a state holds plain arrays")
state = state_after_training(tree)
check.close(state["scale"], np.array([1.0, 2.0]),
            because="a state is a copy: training on must not change it")
check.close(tree.scale, np.array([2.0, 3.0]),
            because="asking for the state does not change the module")
tree.load_state_dict(state)
check.close(tree.scale, np.array([1.0, 2.0]), because="loading brings the saved values back")
spoil_state_after_loading(tree)
check.close(tree.scale, np.array([1.0, 2.0]),
            because="loading copies as well: the state and the module share no memory")
wrong = tree.state_dict()
wrong["extra.weight"] = wrong.pop("stem.bias")
wrong["blocks.1.weight"] = np.zeros((3, 4))
mentions = ["stem.bias", "extra.weight", "blocks.1.weight", "(3, 4)", "(3, 3)"]
with check.raises(ValueError, mentions=mentions,
                  because="one error should list all: missing, unexpected, and of another shape"):
    tree.load_state_dict(wrong)

# %% nbgrader={"grade": true, "grade_id": "layers_state_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): a failed load changes nothing, shapes that broadcast, parameters kept, buffers.
### BEGIN HIDDEN TESTS
tree = Tree()
wrong = {name: values + 1 for name, values in tree.state_dict().items()}
del wrong["heads.right.bias"]
with check.unchanged(tree.scale, tree.stem.weight, tree.heads["right"].weight,
                     because="a load that fails should change nothing"):
    with check.raises(ValueError, mentions="heads.right.bias",
                      because="the last parameter is missing from the state"):
        tree.load_state_dict(wrong)
for shape in [(1,), (), (1, 2), (2, 1)]:
    wrong = tree.state_dict()
    wrong["scale"] = np.full(shape, 5.0)
    with check.raises(ValueError, mentions="scale",
                      because="a shape that only broadcasts is another shape"):
        tree.load_state_dict(wrong)
with check.raises(ValueError, mentions="unknown",
                  because="an unexpected name is an error, not something to pass over"):
    tree.load_state_dict({**tree.state_dict(), "unknown": np.zeros(1)})
with check.raises(ValueError, because="an empty state fits no module with parameters"):
    Leaf(1).load_state_dict({})
held = tree.stem.weight
tree.load_state_dict({name: values + 1 for name, values in tree.state_dict().items()})
check.close(held, np.full((2, 2), 1.5),
            because="loading writes into the parameters that there are: an optimizer holds them")
check.shares_memory(held, tree.stem.weight, because="the module keeps its parameter objects")
check.equal(arrays_survive_loading(tree), True,
            because="loading writes into the arrays that there are, tensor[...] = array")
chain = Sequential(Leaf(1), Leaf(1))
values = {"1.weight": [[5.0]], "1.bias": [6.0], "0.weight": [[7.0]], "0.bias": [8.0]}
chain.load_state_dict({name: np.array(value) for name, value in values.items()})
check.close(chain[0].weight, np.array([[7.0]]), because="values go by their names, not by their order")
check.equal((tree.scale.requires_grad, isinstance(tree.scale, Parameter)), (True, True),
            because="a parameter stays a parameter")
tree.load_state_dict({name: values.astype(np.float64) for name, values in tree.state_dict().items()})
check.same_dtype(tree.scale, np.float32, because="the parameter keeps its own precision")
forest = Forest()
check.equal(len(forest.state_dict()), 17, because="a shared parameter is saved once")
module = Leaf(1)
module.steps = Buffer([3])
state = module.state_dict()
check.equal("steps" in list(state), True, because="buffers belong to the state")
module.steps[:] = 4
module.load_state_dict(state)
check.equal(int(module.steps.data[0]), 3, because="buffers are loaded too")
other = Tree()
other.load_state_dict({name: Tensor(values) for name, values in tree.state_dict().items()})
check.close(other.heads["left"][1].weight, tree.heads["left"][1].weight.data,
            because="values may be tensors; the state of one tree fits another")
### END HIDDEN TESTS

# %% [markdown]
# ## Systems 1 · What does a network weigh?
#
# An *MLP*, a multi-layer perceptron, is a chain of linear layers with `relu` between them. Its sizes say all: `(784,
# 128, 10)` is 784 inputs, 128 hidden units, 10 outputs.
#
# Predict, for any sizes, how many numbers it learns, and how many bytes these take in training, when each has a
# gradient of its own shape beside it. All is `float32`.


# %% nbgrader={"grade": false, "grade_id": "layers_mlp_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For you and for the checks: an MLP from its sizes, and all that its modules give.
def mlp(sizes, seed=0):
    """Linear layers of these sizes, with ReLU between them."""
    rng = np.random.default_rng(seed)
    layers = []
    for m, n in zip(sizes, sizes[1:]):
        layers += [Linear(m, n, rng=rng), ReLU()]
    return Sequential(*layers[:-1])


def outputs_of(model, x):
    """The output of each module of a chain, all of them kept."""
    outputs = []
    for module in model:
        x = module(x)
        outputs.append(x)
    return outputs


# %% nbgrader={"grade": false, "grade_id": "weight_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_parameters(sizes):
    """How many numbers an MLP of these sizes learns, weights and biases."""
    ### BEGIN SOLUTION
    return sum(m * n + n for m, n in zip(sizes, sizes[1:]))
    ### END SOLUTION


def predict_training_bytes(sizes):
    """Bytes of all its parameters together with a gradient for each, in float32."""
    ### BEGIN SOLUTION
    return 2 * 4 * predict_parameters(sizes)
    ### END SOLUTION


# %%
# Measure: your walk finds the parameters, and each tells its bytes.
sizes = (784, 128, 10)
model = mlp(sizes)
print(f"predicted {predict_parameters(sizes):,}, found {sum(p.size for p in model.parameters()):,}")
print(f"{sum(p.memory_footprint() for p in model.parameters()):,} bytes before there are gradients")

# %% nbgrader={"grade": true, "grade_id": "weight_check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Check (5 points): the prediction against what your own modules hold.
parts = check.partial(5)
with parts.part(3, "parameters"):
    for sizes in [(784, 128, 10), (5, 7), (3, 4, 4, 2)]:
        found = sum(parameter.size for parameter in mlp(sizes).parameters())
        check.equal(found, sum(m * n + n for m, n in zip(sizes, sizes[1:])),
                    because="your walk should find each weight and each bias once")
        check.close(predict_parameters(sizes), found, rtol=0, atol=0,
                    because="each layer has a weight (out, in) and a bias (out,)")
with parts.part(2, "bytes in training"):
    for sizes in [(784, 128, 10), (3, 4, 4, 2)]:
        parameters = mlp(sizes).parameters()
        for parameter in parameters:
            parameter.grad = np.zeros(parameter.shape, dtype=np.float32)
        measured = sum(parameter.memory_footprint() for parameter in parameters)
        check.equal(measured, 8 * sum(m * n + n for m, n in zip(sizes, sizes[1:])),
                    because="4 bytes a number, for values and gradients")
        check.close(predict_training_bytes(sizes), measured, rtol=0, atol=0,
                    because="the gradients take as much again as the parameters")
parts.score()

# %% [markdown]
# *What you just measured.* Nearly all of the 101,770 numbers of this MLP stand in the first weight. Adam, in module
# 07, will add two more arrays of the same size: four in all.

# %% [markdown]
# ## Systems 2 · What does a forward pass cost?
#
# Predict the FLOPs of a forward pass of an MLP for a batch of `batch` rows: a multiply-add is 2, the bias adds 1 for
# each output, and each `relu` is 1 for each element (there is none after the last layer).
#
# Then compare your two linear maps, `linear_composed` and `linear_forward`, for 32 rows, 1,000 outputs and a bias. How
# many arrays does each make (a view is not a new array)? And how many bytes do its arrays take at most at one time?


# %% nbgrader={"grade": false, "grade_id": "forward_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_forward_flops(sizes, batch):
    """FLOPs of a forward pass of an MLP of these sizes, for a batch of rows."""
    ### BEGIN SOLUTION
    linear = sum(2 * m * n + n for m, n in zip(sizes, sizes[1:]))
    return batch * (linear + sum(sizes[1:-1]))
    ### END SOLUTION


# How many arrays each makes, and the most bytes its arrays take at one time, for 32 rows and 1,000 outputs.
# Write numbers in place of None, then delete the two lines below them.
arrays_made = {"linear_composed": None, "linear_forward": None}
peak_of_arrays = {"linear_composed": None, "linear_forward": None}
### BEGIN SOLUTION
arrays_made = {"linear_composed": 2, "linear_forward": 1}
peak_of_arrays = {"linear_composed": 2 * 32 * 1000 * 4, "linear_forward": 32 * 1000 * 4}
### END SOLUTION

# %%
# Measure: FLOPs by kind, for the whole network.
model, x = mlp((784, 128, 10)), Tensor(np.zeros((64, 784)))
with count() as counted:
    model(x)
print(f"predicted {predict_forward_flops((784, 128, 10), 64):,}, counted {counted.flops:,}")
print(dict(counted.by_kind))

# %%
# Measure: arrays and bytes of the two linear maps.
x, weight, bias = Tensor(np.ones((32, 20))), Tensor(np.ones((1000, 20))), Tensor(np.ones(1000))
calls = {
    "linear_composed": lambda: linear_composed(x, weight, bias),
    "linear_forward": lambda: apply(linear_forward, x, weight, bias),
}
for name, call in calls.items():
    with count() as counted:
        call()
    with peak_memory() as measured:
        call()
    print(f"{name:15} {counted.arrays} new, at most {measured.peak_bytes:,} bytes at one time")

# %% nbgrader={"grade": true, "grade_id": "forward_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): FLOPs, arrays and peak memory, each against what your own code does.
parts = check.partial(7)
with parts.part(4, "FLOPs of a forward pass"):
    for sizes, batch in [((784, 128, 10), 8), ((6, 5), 3), ((4, 3, 3, 2), 1)]:
        model, x = mlp(sizes), Tensor(np.zeros((batch, sizes[0])))
        with count() as counted:
            model(x)
        flops = batch * (sum(2 * m * n + n for m, n in zip(sizes, sizes[1:])) + sum(sizes[1:-1]))
        check.counts(counted, flops=flops,
                     because="your network should do no more than the formula asks for")
        check.close(predict_forward_flops(sizes, batch), counted.flops, rtol=0, atol=0,
                    because="each row passes all layers: 2 · in · out, the bias, and relu between layers")
x, weight, bias = Tensor(np.ones((32, 20))), Tensor(np.ones((1000, 20))), Tensor(np.ones(1000))
with parts.part(1, "arrays"):
    with count() as composed:
        linear_composed(x, weight, bias)
    with count() as fused:
        apply(linear_forward, x, weight, bias)
    check.counts(fused, arrays=1, flops=composed.flops,
                 because="the fused form adds the bias into the product, with the same arithmetic")
    check.equal(arrays_made, {"linear_composed": composed.arrays, "linear_forward": fused.arrays},
                because="a product, and a sum that is a new array or not")
with parts.part(2, "peak"):
    for name, arrays in [("linear_composed", 2), ("linear_forward", 1)]:
        check.close(peak_of_arrays[name], arrays * 32 * 1000 * 4, rtol=0, atol=0,
                    because="arrays alive at one time, of 32 · 1000 numbers of 4 bytes")
    with peak_memory() as measured:
        apply(linear_forward, x, weight, bias)
    check.counts(measured, peak_bytes=range(128_000, 200_000),
                 because="one array of the output's size, and some small objects")
parts.score()

# %% [markdown]
# *What you just measured.* Fusing saves no arithmetic; it saves an array. For large batches that is memory which need not
# be asked for, written and read again, and adding a bias costs hardly any time apart from that. The measured peaks lie a
# little above your numbers, since NumPy needs some working memory of its own.

# %% [markdown]
# ## Systems 3 · What does a batch weigh?
#
# To compute gradients, module 06 will need what the layers computed on the way: the *activations*. Suppose that
# training keeps the output of every module until the backward pass. (Module 06 will show which of them can go.) In
# evaluation nothing is kept: each module needs only its input and its output.
#
# Predict, in bytes of `float32`, not counting the input `x` itself:
#
# 1. the activations that training keeps, for an MLP with `relu` between its layers;
# 2. the highest level of memory in evaluation: the largest sum of the outputs of two neighbouring modules;
# 3. the smallest batch at which the kept activations take more bytes than the parameters.


# %% nbgrader={"grade": false, "grade_id": "activations_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def output_sizes(sizes):
    """Features that each module of an MLP puts out: for sizes (784, 128, 10) that is [128, 128, 10]."""
    ### BEGIN SOLUTION
    return [n for n in sizes[1:-1] for _ in ("linear", "relu")] + [sizes[-1]]
    ### END SOLUTION


def predict_kept_bytes(sizes, batch):
    """Bytes of the outputs of all modules for a batch of rows."""
    ### BEGIN SOLUTION
    return 4 * batch * sum(output_sizes(sizes))
    ### END SOLUTION


def predict_evaluation_peak(sizes, batch):
    """Most bytes that are alive at one time if nothing is kept, for an MLP of at least two linear layers."""
    ### BEGIN SOLUTION
    outputs = output_sizes(sizes)
    return 4 * batch * max(first + second for first, second in zip(outputs, outputs[1:]))
    ### END SOLUTION


def batch_that_outweighs(sizes):
    """The smallest batch whose kept activations take more bytes than the parameters."""
    ### BEGIN SOLUTION
    return predict_parameters(sizes) // sum(output_sizes(sizes)) + 1
    ### END SOLUTION


# %%
# Measure: parameters do not care about the batch, activations grow with it.
sizes, batches = (784, 256, 256, 256, 10), [16, 64, 256, 1024, 4096]
model = mlp(sizes)
kept, peaks = [], []
for batch in batches:
    x = Tensor(np.zeros((batch, 784)))
    with peak_memory() as measured:
        outputs = outputs_of(model, x)
    kept.append(measured.kept_bytes / 1e6)
    del outputs
    with peak_memory() as measured:
        model(x)
    peaks.append(measured.peak_bytes / 1e6)
fig, axes = figure()
axes.loglog(batches, kept, marker="o", label="activations kept in training")
axes.loglog(batches, peaks, marker="s", label="peak in evaluation")
axes.axhline(predict_parameters(sizes) * 4 / 1e6, color="#009E73", linestyle="-.", label="parameters")
axes.set(xlabel="batch size", ylabel="megabytes", xticks=batches, xticklabels=batches)
axes.legend()
show(fig, alt="Bytes by batch size: activations and peak rise in proportion, parameters stay at 1.3 MB.")

# %% [markdown]
# *The figure:* bytes against batch size for the MLP 784-256-256-256-10, on logarithmic axes. The parameters stay at
# 1.3 MB. What training keeps grows in proportion to the batch and passes the parameters at 217 rows; the peak in
# evaluation grows as well, but is only a third as high, and would stay there however many layers you added.

# %% nbgrader={"grade": true, "grade_id": "activations_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): each prediction against the memory that your own modules take.
parts = check.partial(8)
with parts.part(3, "kept in training"):
    for sizes, batch in [((784, 128, 10), 100), ((20, 300, 200, 5), 64)]:
        model, x = mlp(sizes), Tensor(np.zeros((batch, sizes[0])))
        with peak_memory() as measured:
            outputs = outputs_of(model, x)
        expected = 4 * batch * (2 * sum(sizes[1:-1]) + sizes[-1])
        check.counts(measured, kept_bytes=expected,
                     because="each module should make one array of its output's size and keep no other")
        check.close(predict_kept_bytes(sizes, batch), expected, rtol=0, atol=0,
                    because="a hidden layer has two outputs, of the linear map and of relu; the last one")
with parts.part(3, "peak in evaluation"):
    for sizes, batch in [((784, 128, 10), 1000), ((20, 300, 200, 5), 500)]:
        model, x = mlp(sizes), Tensor(np.zeros((batch, sizes[0])))
        with peak_memory() as measured:
            model(x)
        expected = 4 * batch * 2 * max(sizes[1:-1])
        check.counts(measured, peak_bytes=range(expected, expected + 40_000),
                     because="an input can go once the next output is there")
        check.close(predict_evaluation_peak(sizes, batch), expected, rtol=0, atol=0,
                    because="relu of the widest hidden layer: its input and its output are alive together")
with parts.part(2, "batch that outweighs the parameters"):
    for sizes in [(784, 128, 10), (20, 300, 200, 5), (3, 1, 4)]:
        parameters = 4 * sum(parameter.size for parameter in mlp(sizes).parameters())
        expected = parameters // (4 * (2 * sum(sizes[1:-1]) + sizes[-1])) + 1
        check.close(batch_that_outweighs(sizes), expected, rtol=0, atol=0,
                    because="more bytes, not as many: compare one row's activations with the parameters")
parts.score()

# %% [markdown]
# ## Explain
#
# A friend trains the MLP 784-1024-1024-10 on a device with 256 MB. At batch 64 it runs; at batch 16,384 it fails for
# lack of memory. "The model is too big", says the friend, and halves its hidden layers. Yet evaluation at batch
# 16,384 runs.
#
# In two to five sentences: what takes the memory (give bytes for parameters with gradients, and for kept
# activations)? Why does evaluation run? What would you change instead?

# %% [markdown] nbgrader={"grade": true, "grade_id": "layers_explain", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Rubric (5 points).**
#
# - 2: bytes. 1,863,690 parameters take 7.5 MB, with gradients 15 MB; the outputs kept are 4·1,024 + 10 numbers a row,
#   16 kB, so 269 MB at batch 16,384 (1 MB at 64). Right within rounding; one slip costs 1.
# - 1: concludes that activations, which grow with the batch, are the limit, and not the model, which does not.
# - 1: evaluation keeps only two neighbouring outputs, 2·1,024·4·16,384 = 134 MB, so it fits.
# - 1: changes the batch (8,192 or less), or keeps fewer activations; says that halving the hidden layers works only
#   because it halves the activations as well, and gives up half of the model's width for it.
#
# *A good answer.* "The parameters and their gradients take 15 MB at any batch. The kept outputs take 16 kB a row, so
# 1 MB at batch 64 but 269 MB at 16,384: the batch is too big, not the model. Evaluation needs only the input and
# output of one module at a time, 134 MB at most. I would train with batch 4,096 (67 MB) and keep the model as it is;
# half the width also fits, but only since it halves the activations." All points, with numbers. 5 points.
#
# *A weak answer.* "A bigger batch needs more memory because there is more data, so use a smaller batch or a better
# GPU." The cure is right, but nothing is counted, activations are not named (the data itself is only 51 MB), and
# evaluation is not explained. 1 point.
# ### END SOLUTION

# %% [markdown]
# ## What can go wrong
#
# **`ValueError: a linear map with a weight of shape (10, 128) wants 128 features in the last axis, but its input has
# shape (64, 784)`**: a layer was left out of the chain, or two stand in the wrong order. Images of shape `(64, 28,
# 28)` must be reshaped to `(64, 784)` first.
#
# **A loss that falls, but not as far as it should, and `len(model.parameters())` is too small**: a parameter is kept
# where the walk does not look, such as a set, or a plain `Tensor` was stored where a `Parameter` was meant. Print
# `named_parameters()`.
#
# **Results that differ from call to call in evaluation**: `model.eval()` was forgotten, and `Dropout` is still at
# work.
#
# **Layers of the same size start with the same weights**: each was given the same seed, `rng=0`. Make one generator,
# `rng = np.random.default_rng(0)`, and give it to every layer.
#
# **`ValueError: this state does not fit Sequential: missing 2.bias; unexpected 3.weight`**: the state was saved from
# a network with other names. The message lists all of them; rename the keys, or build the network as it was.

# %% [markdown]
# ## Recap
#
# | You built | Costs | PyTorch's name | One true difference |
# |---|---|---|---|
# | `linear_forward` | 2·in·out + out FLOPs a row, one array | `torch.nn.functional.linear` | PyTorch fills the result with the bias, and BLAS adds the product to it |
# | `Linear` | (in + 1)·out parameters, 4 bytes each | `torch.nn.Linear` | PyTorch draws weights of variance 1/(3·in), and random biases |
# | `Parameter`, `Module` | a walk over `vars(self)` when asked | `torch.nn.Module` | PyTorch registers parts as they are assigned, and needs `ModuleList` for lists |
# | `Sequential` | nothing of its own | `torch.nn.Sequential` | PyTorch's also takes an ordered dict, whose keys become the names |
# | `Dropout` | 2 FLOPs an element, and a mask as large as the input | `torch.nn.Dropout` | PyTorch draws from one global generator, yours from the layer's own |
# | `state_dict` | a copy of all parameters | `Module.state_dict` | PyTorch's holds references, and lists a shared parameter under each of its names |
# | `load_state_dict` | nothing new: it writes in place | `Module.load_state_dict` | PyTorch copies what fits before it raises |
#
# Your networks compute, but they have learned nothing, and nothing yet says how wrong they are. That is the loss, and
# module 04 builds it. Before that comes the first milestone, the perceptron of 1958: a single linear layer with a
# learning rule of its own.
