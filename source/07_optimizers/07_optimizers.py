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
# # 07 · Optimizers
#
# Today you build what turns gradients into learning: `SGD`, `Adam` and `AdamW`, the clipping of gradients, and the
# schedules that change the step size while training runs.
#
# | | |
# |---|---|
# | **Needs** | Modules 01 to 06 |
# | **Time** | 4 to 6 hours |
# | **Points** | 100: visible checks 50, hidden tests 25, systems 20, one written answer 5 |
# | **Becomes** | `tinytorch_ref/optimizers.py`, used in every training from here on |
#
# ```
#   01 tensor ──► … ──► 05 data ──► 06 autograd ──► 07 optimizers ──► 08 training
#                                                   ▲ you are here
#
#   one step of training
#
#   zero_grad ─► model(x) ─► loss ─► backward ─► clip ─► optimizer.step
#                                       │                 │   ▲
#                      parameter.grad ◄─┘                 │   └─ lr, set by a scheduler
#                                                         └─► parameter.data, in place
# ```

# %% nbgrader={"grade": false, "grade_id": "optimizers_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import math
import time

import matplotlib.pyplot as plt
import numpy as np

from autograder import checks as check
from autograder.counters import count, peak_memory
from autograder.figures import figure, show
import tinytorch_ref.autograd  # switches the recording of operations on
from tinytorch_ref.layers import Parameter

# %% nbgrader={"grade": false, "grade_id": "optimizers_imports", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
"""Optimizers: steps that change parameters in place, clipping of gradients, schedules of the step size."""

import math

import numpy as np

from tinytorch_ref.tensor import Tensor

# %% [markdown]
# ## One line of learning, and its limits
#
# A gradient points uphill, so a step against it goes down: `p.data = p.data - lr * p.grad`. That line is an optimizer.
# Try it on a valley: a function of two numbers that is a hundred times steeper across than along. The lowest point is at
# (0, 0), and the walk starts at (10, 1).

# %%
STEEPNESS = np.array([0.01, 1.0], dtype=np.float32)  # along the valley, and across


def valley(p):
    """Height at the point `p`, a tensor of two numbers."""
    return (p * p * STEEPNESS).sum() * 0.5


for lr in (0.1, 1.0, 1.9, 2.1):
    p = Parameter([10.0, 1.0])
    for _ in range(100):
        p.grad = None
        valley(p).backward()
        p.data = p.data - lr * p.grad
    print(f"lr {lr}: after 100 steps at ({p.data[0]:.3f}, {p.data[1]:.3g})")

# %% [markdown]
# No step size is right. With a small one the walk creeps along the valley; with a large one it jumps from wall to wall,
# and beyond 2 it is thrown out. Real losses are like this in thousands of directions. Momentum, Adam and schedules are
# three answers.
#
# The line has a second fault, one of bookkeeping. It makes two new arrays in every step and throws the old parameter
# away. Whoever held the old array, a graph or another layer, still holds the old values. Today's steps write into the
# memory that is there.

# %% [markdown]
# ## 1 · What all optimizers share
#
# An optimizer holds a list of parameters and, for each, a *state*: what it remembers from earlier steps, such as an
# average of the gradients. All kinds do the same around the formula, and so that part is written once, in `step`:
#
# ```
#   for each parameter:
#       no gradient?       leave it, and its state, alone
#       no state yet?      state.update(self.start(data))   # arrays and counters
#       self.update(data, grad, state, scratch)             # the formula, in place
#       parameter.version += 1                              # autograd looks at it
# ```
#
# - **No gradient** means that the loss did not depend on the parameter, or that you froze it. A zero gradient is something
#   else: under momentum a parameter with gradient 0 moves on. That is why `zero_grad` sets `None` and not zeros.
# - **Version.** In module 06 a graph refuses to run backwards if a tensor that it needs was changed: it compares the
#   tensor's `version`. Writing with `tensor[...] = value` counts that up, writing into `tensor.data` does not. Optimizers
#   write into `data`, so `step` counts the change itself.
# - **Scratch** is an array of the parameter's shape whose values may be overwritten. The formulas keep intermediate results
#   in it, and one piece of memory serves all parameters.
#
# `Optimizer` is complete but for its last two methods, `zero_grad` and `step`.


# %% nbgrader={"grade": false, "grade_id": "optimizers_base", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class Optimizer:
    """Base of all optimizers: define `update`, and `start` if there is something to remember.

    Parameters
    ----------
    parameters : iterable of Tensor
        What shall be learned, such as `model.parameters()`.
    lr : float
        Learning rate, the size of the steps; not negative. Schedulers change the attribute.

    Attributes
    ----------
    parameters : list of Tensor
    lr, initial_lr : float
        The learning rate now, and as it was given.
    state : list of dict
        What is remembered for each parameter; empty until its first step.

    Raises
    ------
    TypeError
        If `parameters` is a single tensor.
    ValueError
        If there is no parameter, one is listed twice, or `lr` is negative.
    """

    def __init__(self, parameters, lr):
        if isinstance(parameters, Tensor):
            raise TypeError("an optimizer takes a list of parameters; write [parameter] for a single one")
        self.parameters = list(parameters)
        if not self.parameters:
            raise ValueError("an optimizer without parameters: does the model keep them as attributes?")
        if len({id(parameter) for parameter in self.parameters}) < len(self.parameters):
            raise ValueError("a parameter is listed twice and would be changed twice in each step")
        if not lr >= 0:
            raise ValueError(f"the learning rate should not be negative, but it is {lr}")
        self.lr = self.initial_lr = float(lr)
        self.state = [{} for _ in self.parameters]
        self._scratch = {}

    def start(self, data):
        """What to remember of a parameter before its first step: a dict of arrays and ints."""
        return {}

    def update(self, data, grad, state, scratch):
        """Change `data` and `state` in place; `scratch` is free to use, `grad` stays as it is."""
        raise NotImplementedError(f"{type(self).__name__} does not define update")

    def scratch_like(self, array):
        """Memory of the shape and dtype of `array`, its values to be overwritten; all parameters share it."""
        flat = self._scratch.get(array.dtype)
        if flat is None or flat.size < array.size:
            size = max(p.size for p in self.parameters if p.dtype == array.dtype)
            flat = self._scratch[array.dtype] = np.empty(size, array.dtype)
        return flat[: array.size].reshape(array.shape)

    def state_bytes(self):
        """Bytes of the arrays that are remembered."""
        values = [value for state in self.state for value in state.values()]
        return sum(value.nbytes for value in values if isinstance(value, np.ndarray))

    def state_dict(self):
        """A copy of the learning rate and of all that is remembered: a dict of numbers and arrays."""
        return copy_state(self)

    def load_state_dict(self, state):
        """Go on from a `state_dict`. Raises ValueError if it does not fit, and then changes nothing."""
        load_state(self, state)

    def zero_grad(self):
        """Forget the gradients of all parameters: each becomes None."""
        ### BEGIN SOLUTION
        for parameter in self.parameters:
            parameter.grad = None
        ### END SOLUTION

    def step(self):
        """Change every parameter that has a gradient, in place."""
        # Hints: zip(self.parameters, self.state) gives each parameter with its dict. The lines of the sketch
        # are the body of the loop; `self.scratch_like(parameter.data)` is the scratch.
        ### BEGIN SOLUTION
        for parameter, state in zip(self.parameters, self.state):
            if parameter.grad is None:
                continue
            data = parameter.data
            if not state:
                state.update(self.start(data))
            self.update(data, parameter.grad, state, self.scratch_like(data))
            parameter.version += 1
        ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "optimizers_base_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: an optimizer that adds the number of the step, one without state, and a look at memory.
class Counting(Optimizer):
    def start(self, data):
        return {"steps": 0, "sum": np.zeros_like(data)}

    def update(self, data, grad, state, scratch):
        state["steps"] += 1
        state["sum"] += grad
        assert scratch.shape == data.shape and scratch.dtype == data.dtype
        scratch[...] = 1000.0  # whoever mistakes scratch for something else shall see it
        data += state["steps"]


class Forgetful(Optimizer):
    """An optimizer that remembers nothing."""

    def update(self, data, grad, state, scratch):
        data -= grad


def parameters_of(*shapes):
    return [Parameter(np.zeros(shape)) for shape in shapes]


def same_array_after_step(optimizer, parameter):
    """Whether a step changes the array of a parameter, and not what the parameter holds."""
    array, before = parameter.data, parameter.data.copy()
    optimizer.step()
    return parameter.data is array and not np.array_equal(array, before)


# %% nbgrader={"grade": true, "grade_id": "optimizers_base_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): parameters with and without gradient, their states and versions, and zero_grad.
first, second = parameters_of((2,), (3, 2))
optimizer = Counting([first, second], lr=0.1)
first.grad = np.ones(2, dtype=np.float32)
optimizer.step()
optimizer.step()
check.close(
    first,
    np.array([3.0, 3.0]),
    because="update once a step, on the parameter's own array, with the same state: 1 + 2",
)
check.close(optimizer.state[0]["sum"], np.array([2.0, 2.0]), because="update gets the parameter's gradient")
check.close(second, np.zeros((3, 2)), because="a parameter whose grad is None should be left alone")
check.equal(len(optimizer.state[1]), 0, because="and nothing should be remembered for it")
check.equal(
    (first.version, second.version), (2, 0), because="version counts the changes; autograd compares it"
)
check.equal(same_array_after_step(optimizer, first), True, because="a step writes into the parameter's array")
optimizer.zero_grad()
check.equal(
    (first.grad, second.grad), (None, None), because="zero_grad sets None: a gradient of zeros is a gradient"
)
check.equal(optimizer.state[0]["steps"], 3, because="zero_grad forgets the gradients, and not the state")

# %% nbgrader={"grade": true, "grade_id": "optimizers_base_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): a gap in the middle, late gradients, a stale graph, no state, zero gradients.
### BEGIN HIDDEN TESTS
one, two, three = parameters_of((2,), (5,), ())
optimizer = Counting([one, two, three], lr=0.1)
one.grad, three.grad = np.ones(2, dtype=np.float32), np.ones((), dtype=np.float32)
optimizer.step()
check.close(three, 1.0, because="a parameter without gradient should not end the loop: others follow")
two.grad = np.zeros(5, dtype=np.float32)
optimizer.step()
check.close(two, np.ones(5), because="its own first step, though the others took two; a gradient of 0 is one")
check.close(three, 3.0, because="a parameter without axes takes part like any other")
check.close(optimizer.state[1]["sum"], np.zeros(5), because="the state of a parameter is its own")
p = Parameter(np.array([1.0, 2.0]))
loss = (p * p).sum()
loss.backward(retain_graph=True)
Counting([p], lr=0.1).step()
with check.raises(RuntimeError, because="autograd should notice that the step changed what the graph needs"):
    loss.backward()
simple = Forgetful([one], lr=0.1)
one.grad = np.full(2, 0.5, dtype=np.float32)
simple.step()
with count() as counted:
    simple.step()
check.counts(counted, arrays=0, because="scratch_like gives memory that is there; a step makes no new array")
check.close(one, np.array([2.0, 2.0]), because="an optimizer may have nothing to remember: 3 - 0.5 - 0.5")
check.equal(one.version, 4, because="two steps of each optimizer changed this parameter")
optimizer.zero_grad()
optimizer.step()
check.close(one, np.array([2.0, 2.0]), because="after zero_grad no parameter has a gradient")
### END HIDDEN TESTS

# %% [markdown]
# ## 2 · SGD and momentum
#
# *Stochastic gradient descent* steps against the gradient of one batch. With $\theta$ for the parameters, $\eta$ for the
# learning rate and $g$ for the gradient:
#
# $$\theta \leftarrow \theta - \eta\, g$$
#
# *Momentum* lets the walk gather speed. The *velocity* $v$ starts at 0 and keeps the share $\mu$ of itself in each step.
# Where one gradient is like the next, $v$ grows to $1/(1-\mu)$ gradients; where they change sign, they cancel. *Nesterov's*
# form looks ahead: it steps along the gradient and the new velocity.
#
# $$v \leftarrow \mu v + g, \qquad \theta \leftarrow \theta - \eta\, v \quad\text{or, Nesterov,}\quad
# \theta \leftarrow \theta - \eta\,(g + \mu v)$$
#
# *Weight decay* $\lambda$ pulls every parameter towards 0, as if $\tfrac{\lambda}{2}\theta^2$ were part of the loss: it
# comes first, $g \leftarrow g + \lambda\theta$.
#
# How to write this in place? NumPy's functions take `out=`: `np.multiply(grad, lr, out=scratch)` writes the product into
# memory that is there, and `data -= scratch` subtracts it. Leave `grad` as it is: it belongs to the caller, who may
# add to it, or print its norm.


# %% nbgrader={"grade": false, "grade_id": "optimizers_sgd", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class SGD(Optimizer):
    """Stochastic gradient descent.

    Parameters
    ----------
    parameters : iterable of Tensor
    lr : float
    momentum : float
        How much of the velocity stays in each step, 0 <= momentum < 1; with 0 there is no velocity.
    nesterov : bool
        Whether to look ahead; needs momentum.
    weight_decay : float
        Times the parameter, added to its gradient.

    Raises
    ------
    ValueError
        For Nesterov without momentum, and as `Optimizer`.

    Examples
    --------
    With lr 0.1, momentum 0.5 and a gradient of 1 in each step, a parameter that starts at 0 goes to
    -0.1 (v = 1), -0.25 (v = 1.5), -0.425 (v = 1.75).
    """

    def __init__(self, parameters, lr, momentum=0.0, nesterov=False, weight_decay=0.0):
        super().__init__(parameters, lr)
        if nesterov and not momentum:
            raise ValueError("Nesterov's form needs a momentum, but it is 0")
        self.momentum = momentum
        self.nesterov = nesterov
        self.weight_decay = weight_decay

    def start(self, data):
        """A velocity of zeros if there is momentum; nothing otherwise."""
        ### BEGIN SOLUTION
        return {"velocity": np.zeros_like(data)} if self.momentum else {}
        ### END SOLUTION

    def update(self, data, grad, state, scratch):
        """One step, in place on `data` and `state["velocity"]`, without a new array."""
        # Hints: if there is weight decay, put g into scratch and let `grad = scratch`. The Nesterov step is
        # two steps, one along g and one along v. `out` may be an input: np.multiply(scratch, 2, out=scratch).
        ### BEGIN SOLUTION
        if self.weight_decay:
            np.multiply(data, self.weight_decay, out=scratch)
            scratch += grad
            grad = scratch
        rate = self.lr
        if self.momentum:
            velocity = state["velocity"]
            velocity *= self.momentum
            velocity += grad
            if self.nesterov:
                data -= np.multiply(grad, rate, out=scratch)
                rate *= self.momentum
            grad = velocity
        data -= np.multiply(grad, rate, out=scratch)
        ### END SOLUTION


# %%
# Try it: the valley again. Which momentum is best? Is there one that is too large?
def walk(kind, steps=100, **options):
    """The points of a walk down the valley, as an array of shape (steps + 1, 2)."""
    p = Parameter([10.0, 1.0])
    optimizer, path = kind([p], **options), [p.data.copy()]
    for _ in range(steps):
        optimizer.zero_grad()
        valley(p).backward()
        optimizer.step()
        path.append(p.data.copy())
    return np.array(path)


for momentum in (0.0, 0.5, 0.8, 0.9, 0.99):
    path = walk(SGD, lr=1.0, momentum=momentum)
    print(f"momentum {momentum}: height {valley(Parameter(path[-1])).item():.2e} after 100 steps")


# %% nbgrader={"grade": false, "grade_id": "optimizers_sgd_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: a parameter after one step for each gradient, all given in one array that is overwritten.
def after_steps(kind, start, gradients, **options):
    parameter = Parameter(start, dtype=start.dtype)
    parameter.grad = np.empty_like(parameter.data)
    optimizer = kind([parameter], **options)
    for gradient in gradients:
        parameter.grad[...] = gradient
        optimizer.step()
    return parameter


def stepped(kind, shapes, steps=1, **options):
    """An optimizer after some steps with gradients of ones, and its parameters."""
    parameters = [Parameter(np.full(shape, 2.0)) for shape in shapes]
    for parameter in parameters:
        parameter.grad = np.ones_like(parameter.data)
    optimizer = kind(parameters, **options)
    for _ in range(steps):
        optimizer.step()
    return optimizer


# %% nbgrader={"grade": true, "grade_id": "optimizers_sgd_check", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
# Check (10 points): a hundred steps against the formulas, in float64, and no new array.
rng = np.random.default_rng(1)
start, gradients = rng.normal(size=(3, 2)), rng.normal(size=(100, 3, 2))
parts = check.partial(10)
with parts.part(2, "plain"):
    check.close(
        after_steps(SGD, start, gradients, lr=0.1),
        start - 0.1 * gradients.sum(axis=0),
        because="each step subtracts lr times the gradient",
    )
with parts.part(2, "weight decay"):
    p = start
    for g in gradients:
        p = p - 0.1 * (g + 0.2 * p)
    got = after_steps(SGD, start, gradients, lr=0.1, weight_decay=0.2)
    check.close(got, p, because="weight_decay times the parameter is added to the gradient")
with parts.part(3, "momentum"):
    p, v = start, 0.0
    for g in gradients:
        v = 0.9 * v + g
        p = p - 0.1 * v
    got = after_steps(SGD, start, gradients, lr=0.1, momentum=0.9)
    check.close(
        got, p, because="v ← momentum · v + g with the whole g, starting at 0; then lr · v is subtracted"
    )
with parts.part(2, "Nesterov"):
    p, v = start, 0.0
    for g in gradients:
        v = 0.9 * v + g
        p = p - 0.1 * (g + 0.9 * v)
    got = after_steps(SGD, start, gradients, lr=0.1, momentum=0.9, nesterov=True)
    check.close(got, p, because="the step goes along g + momentum · v, with the new v")
with parts.part(1, "in place"):
    optimizer = stepped(SGD, [(4, 5), (7,)], lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)
    with count() as counted:
        optimizer.step()
    check.counts(
        counted, arrays=0, because="a step should write into data, velocity and scratch only: use out="
    )
parts.score()

# %% nbgrader={"grade": true, "grade_id": "optimizers_sgd_hidden", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (5 points): all options together, the gradient untouched, precision, no needless velocity.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(2)
start, gradients = rng.normal(size=(4,)), rng.normal(size=(60, 4))
for momentum, nesterov in [(0.8, False), (0.8, True)]:
    p, v = start, 0.0
    for step in gradients:
        g = step + 0.3 * p
        v = momentum * v + g
        p = p - 0.05 * (g + momentum * v if nesterov else v)
    options = {"lr": 0.05, "momentum": momentum, "nesterov": nesterov, "weight_decay": 0.3}
    got = after_steps(SGD, start, gradients, **options)
    check.close(
        got, p, because="the decay belongs to g, before the velocity, and g is taken from the old parameter"
    )
optimizer = stepped(SGD, [(3,), (2, 2)], steps=3, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.5)
for parameter in optimizer.parameters:
    check.close(parameter.grad, np.ones(parameter.shape), because="the gradient belongs to the caller")
    check.same_dtype(parameter, np.float32, because="float32 parameters stay float32")
    check.equal(parameter.version, 3, because="one version for each step")
check.own_memory(
    optimizer.state[0]["velocity"],
    optimizer.parameters[0].grad,
    because="the velocity is an array of its own, not the first gradient",
)
check.same_dtype(
    optimizer.state[0]["velocity"], np.float32, because="the velocity has the parameter's precision"
)
check.equal(stepped(SGD, [(3,)], lr=0.1).state_bytes(), 0, because="without momentum nothing is remembered")
check.equal(stepped(SGD, [(3,)], lr=0.1, momentum=0.5).state_bytes(), 12, because="one velocity a parameter")
optimizer = stepped(SGD, [(2,)], lr=0.5)
check.close(optimizer.parameters[0], np.full(2, 1.5), because="2 - 0.5 · 1")
optimizer.lr = 0.25
optimizer.step()
check.close(
    optimizer.parameters[0],
    np.full(2, 1.25),
    because="the learning rate counts as it is now: schedulers change it",
)
optimizer = stepped(SGD, [()], steps=2, lr=0.5, momentum=0.5)
check.close(optimizer.parameters[0], 0.75, because="2 - 0.5 · (1 + 1.5)")
optimizer.lr = 0.25
optimizer.step()
check.close(
    optimizer.parameters[0],
    0.75 - 0.25 * 1.75,
    because="the velocity sums gradients, not steps: lr stays out of it, so that a new lr counts at once",
)
for options in [{}, {"weight_decay": 0.1}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}]:
    optimizer = stepped(SGD, [(4, 5)], lr=0.1, **options)
    with count() as counted:
        optimizer.step()
    check.counts(counted, arrays=0, because=f"no new array with the options {options} either")
### END HIDDEN TESTS

# %% [markdown]
# ## 3 · Adam
#
# In the valley each direction wants a step size of its own. *Adam* (Kingma and Ba, 2015) keeps two running averages for
# every single number: the mean $m$ of its gradients and the mean $s$ of their squares, and divides one by the root of
# the other. A direction in which gradients are always large gets no longer steps for it.
#
# $$m \leftarrow \beta_1 m + (1-\beta_1)\, g \qquad s \leftarrow \beta_2 s + (1-\beta_2)\, g^2$$
#
# Both start at 0, so for a long time they are too small: after $t$ steps they have seen weights that sum to
# $1-\beta^t$ only. Adam divides by that, the *bias correction*. With $\beta_2 = 0.999$ the first $s$ is a thousandth of
# $g^2$; uncorrected, the first steps would be three times as long as meant.
#
# $$\theta \leftarrow \theta - \eta\; \frac{m / (1-\beta_1^t)}{\sqrt{s / (1-\beta_2^t)} + \varepsilon}$$
#
# In the first step the fraction is $g/|g|$: every number moves by $\eta$, whatever the size of its gradient. The small
# $\varepsilon$ stands outside the root and keeps a gradient of exactly 0 from dividing 0 by 0.
#
# Write `start`, and `move`, the formula above. `update` is complete: it adds weight decay to the gradient, as `SGD` does,
# and then calls `move`. Note that `grad` may then *be* the scratch: read it before you overwrite it.


# %% nbgrader={"grade": false, "grade_id": "optimizers_adam", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class Adam(Optimizer):
    """Adam: steps scaled by running averages of the gradient and of its square.

    Parameters
    ----------
    parameters : iterable of Tensor
    lr : float
    betas : pair of float
        How much of each average stays in a step: of the gradient, and of its square.
    eps : float
        Added to the root, outside it.
    weight_decay : float
        Times the parameter, added to its gradient, so that it passes the averages as well.

    Examples
    --------
    With lr 0.1, a parameter that starts at 1 and has gradients 4 and -4 goes to 0.9 (m = 0.4, s = 0.016),
    then to 0.9053 (m = -0.04, s = 0.031984).
    """

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(parameters, lr)
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay

    def start(self, data):
        """Both averages as zeros, "mean" and "square", and "steps" = 0."""
        ### BEGIN SOLUTION
        return {"steps": 0, "mean": np.zeros_like(data), "square": np.zeros_like(data)}
        ### END SOLUTION

    def update(self, data, grad, state, scratch):
        """One step, in place, after weight decay was added to the gradient."""
        if self.weight_decay:
            np.multiply(data, self.weight_decay, out=scratch)
            scratch += grad
            grad = scratch
        self.move(data, grad, state, scratch)

    def move(self, data, grad, state, scratch):
        """Adam's formula, in place on `data` and `state`; `grad` may be the same array as `scratch`."""
        # Hints: `mean -= g; mean *= beta; mean += g` moves an average towards g and needs no scratch. For
        # squares it would lose digits: scale them in the scratch. Then build denominator, fraction and step
        # there; np.sqrt, np.divide and the others all take out=.
        ### BEGIN SOLUTION
        state["steps"] += 1
        steps, mean, square = state["steps"], state["mean"], state["square"]
        beta1, beta2 = self.betas
        mean -= grad
        mean *= beta1
        mean += grad
        np.multiply(grad, grad, out=scratch)
        scratch *= 1 - beta2
        square *= beta2
        square += scratch
        root = math.sqrt(1 - beta2**steps)  # taken out of the denominator, where it costs a pass
        np.sqrt(square, out=scratch)
        scratch += self.eps * root
        np.divide(mean, scratch, out=scratch)
        scratch *= self.lr * root / (1 - beta1**steps)
        data -= scratch
        ### END SOLUTION


# %%
# Try it: three walks down the same valley. Change a learning rate: which walk minds least?
fig, axes = figure()
for name, path in [
    ("SGD, lr 1.9", walk(SGD, lr=1.9)),
    ("momentum 0.8, lr 1", walk(SGD, lr=1.0, momentum=0.8)),
    ("Adam, lr 0.5", walk(Adam, lr=0.5)),
]:
    axes.semilogy(np.maximum((path * path * STEEPNESS).sum(axis=1) / 2, 1e-12), label=name)
axes.set(xlabel="step", ylabel="height above the lowest point")
axes.legend()
show(
    fig,
    alt="Height by step, log scale: SGD falls slowly, momentum ends lowest, Adam leads early, then swings.",
)

# %% [markdown]
# *The figure:* the height above the lowest point for 100 steps of SGD, of momentum and of Adam. SGD comes down slowly.
# Momentum falls steadily and ends lowest. Adam is ahead of both up to step 30 or so, since its steps have full length in
# both directions from the start. Then it swings about the goal: $m$ still points the old way when the walk has passed it.

# %% nbgrader={"grade": true, "grade_id": "optimizers_adam_check", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
# Check (10 points): the first step, a hundred steps against the published formula, and no new array.
parts = check.partial(10)
with parts.part(3, "the first step"):
    for size in (1e-3, 1.0, 1e3):
        got = after_steps(Adam, np.zeros(2), np.array([[size, -size]]), lr=0.1)
        check.close(
            got,
            np.array([-0.1, 0.1]),
            because="with bias correction the first step has length lr, whatever the size of the gradient",
            rtol=1e-4,
        )
with parts.part(5, "a hundred steps"):
    rng = np.random.default_rng(3)
    start, gradients = (
        rng.normal(size=(3, 2)),
        rng.normal(size=(100, 3, 2)) * [[1.0, 10.0], [0.1, 1.0], [3.0, 1e-3]],
    )
    p, m, s = start, 0.0, 0.0
    for t, g in enumerate(gradients, 1):
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        p = p - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
    got = after_steps(Adam, start, gradients, lr=0.01)
    check.close(got, p, because="compare m, s, both corrections and the fraction with the formula", atol=1e-8)
with parts.part(2, "in place"):
    optimizer = stepped(Adam, [(4, 5), (7,)], lr=0.1, weight_decay=0.1)
    with count() as counted:
        optimizer.step()
    check.counts(counted, arrays=0, because="a step should write into data, state and scratch only: use out=")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "optimizers_adam_hidden", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (5 points): where eps stands, other betas, decay, steps at different times, zeros.
### BEGIN HIDDEN TESTS
rng = np.random.default_rng(4)
start, gradients = rng.normal(size=(5,)), rng.normal(size=(80, 5)) * [1e-4, 1e-2, 1.0, 10.0, 100.0]
for betas, eps, decay, because in [
    ((0.9, 0.999), 0.05, 0.0, "self.eps is added outside the root, after the correction of s"),
    ((0.5, 0.9), 1e-8, 0.0, "the betas are those of self.betas: the first for m, the second for s"),
    ((0.0, 0.99), 1e-3, 0.2, "with decay grad is the scratch itself: read it before you write there"),
]:
    p, m, s = start, 0.0, 0.0
    for t, step in enumerate(gradients, 1):
        g = step + decay * p
        m, s = betas[0] * m + (1 - betas[0]) * g, betas[1] * s + (1 - betas[1]) * g * g
        p = p - 0.02 * (m / (1 - betas[0] ** t)) / (np.sqrt(s / (1 - betas[1] ** t)) + eps)
    got = after_steps(Adam, start, gradients, lr=0.02, betas=betas, eps=eps, weight_decay=decay)
    check.close(got, p, because=because, atol=1e-8)
    check.close(got.grad, gradients[-1], because="the gradient is the caller's: square it in the scratch")
early, late = parameters_of((2,), (6,))
optimizer = Adam([early, late], lr=0.1)
early.grad = np.ones(2, dtype=np.float32)
for _ in range(5):
    optimizer.step()
late.grad = np.full(6, 3.0, dtype=np.float32)
optimizer.step()
check.close(
    late,
    np.full(6, -0.1),
    because="each parameter counts its own steps: this was the first of `late`",
    rtol=1e-4,
)
check.equal(
    [optimizer.state[i]["steps"] for i in (0, 1)], [6, 1], because="steps are counted for each parameter"
)
optimizer = stepped(Adam, [(3,), (2, 2)], steps=3, lr=0.1, weight_decay=0.5)
for parameter in optimizer.parameters:
    check.close(parameter.grad, np.ones(parameter.shape), because="the gradient belongs to the caller")
    check.same_dtype(parameter, np.float32, because="float32 parameters stay float32")
check.equal(optimizer.state_bytes(), 2 * 7 * 4, because="two float32 averages for each of 7 numbers, no more")
check.own_memory(
    optimizer.state[0]["mean"], optimizer.state[0]["square"], because="the two averages are two arrays"
)
zero = Parameter(np.ones(3))
zero.grad = np.zeros(3, dtype=np.float32)
Adam([zero], lr=0.1).step()
check.close(zero, np.ones(3), because="a gradient of 0 in the first step: 0 / (0 + eps) is 0, not NaN")
check.close(
    after_steps(Adam, np.zeros(1), np.array([[4.0], [-4.0]]), lr=0.1)[0],
    -0.1 + 0.1 * (0.04 / 0.19) / 4,
    because="m is -0.04 after a 4 and a -4, and 0.19 corrects it",
)
check.close(
    stepped(Adam, [()], steps=2, lr=0.5).parameters[0], 1.0, because="a parameter without axes", rtol=1e-4
)
optimizer = stepped(Adam, [(2,)], lr=0.5)
optimizer.lr = 0.25
optimizer.step()
check.close(
    optimizer.parameters[0],
    np.full(2, 1.25),
    because="the learning rate counts as it is now: schedulers change it",
    rtol=1e-4,
)
### END HIDDEN TESTS

# %% [markdown]
# ## 4 · AdamW: decay that is not divided
#
# For `SGD` weight decay has a plain meaning: in each step every parameter loses the share $\eta\lambda$ of itself. In Adam
# the same term $\lambda\theta$ goes into the averages and is then divided by $\sqrt{s}$, like everything else. A parameter
# with large gradients hardly decays, one with small gradients decays faster than was asked for. Nobody meant that.
#
# *AdamW* (Loshchilov and Hutter, 2019) takes decay out of the gradient. First each parameter shrinks, then Adam moves it
# by the gradient alone:
#
# $$\theta \leftarrow \theta - \eta\lambda\,\theta, \qquad \text{then Adam's step with the gradient } g$$
#
# It is two lines, and most language models are trained with it. A common choice is to decay weights but not biases; you can
# do that with two optimizers, one for each list of parameters.


# %% nbgrader={"grade": false, "grade_id": "optimizers_adamw", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class AdamW(Adam):
    """Adam with weight decay that acts on the parameters themselves.

    Parameters
    ----------
    parameters, lr, betas, eps
        As for `Adam`.
    weight_decay : float
        In each step a parameter loses the share `lr * weight_decay` of itself.

    Examples
    --------
    With lr 0.1, weight_decay 0.5 and a gradient of 0, a parameter goes from 1 to 0.95, 0.9025, 0.857375.
    """

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(parameters, lr, betas, eps, weight_decay)

    def update(self, data, grad, state, scratch):
        """One step, in place: decay, then Adam's formula with the gradient as it is."""
        ### BEGIN SOLUTION
        data *= 1 - self.lr * self.weight_decay
        self.move(data, grad, state, scratch)
        ### END SOLUTION


# %%
# Try it: two parameters, one with gradients of size 10, one of size 0.01, all of them noise. How much decays?
noise = np.random.default_rng(0).normal(size=(300, 2)) * [10.0, 0.01]
for kind in (Adam, AdamW):
    left = after_steps(kind, np.ones(2), noise, lr=0.003, weight_decay=1.0)
    print(f"{kind.__name__:5}: of 1 is left {left.data.round(2)}; decay alone would leave {0.997**300:.2f}")

# %% nbgrader={"grade": true, "grade_id": "optimizers_adamw_check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Check (5 points): decay alone, decay with a gradient, and the same without decay as Adam.
parts = check.partial(5)
rng = np.random.default_rng(5)
start, gradients = rng.normal(size=(2, 3)), rng.normal(size=(50, 2, 3)) * 4
with parts.part(2, "decay alone"):
    got = after_steps(AdamW, np.array([1.0, -8.0]), np.zeros((3, 2)), lr=0.1, weight_decay=0.5)
    check.close(
        got,
        np.array([1.0, -8.0]) * 0.95**3,
        because="without a gradient each step leaves the share 1 - lr · weight_decay",
    )
with parts.part(2, "decay and gradient"):
    p, m, s = start, 0.0, 0.0
    for t, g in enumerate(gradients, 1):
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        p = p * (1 - 0.1 * 0.5)
        p = p - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
    got = after_steps(AdamW, start, gradients, lr=0.1, weight_decay=0.5)
    check.close(got, p, because="decay first, and it stays out of the averages; then Adam's step", atol=1e-8)
with parts.part(1, "no decay"):
    got = after_steps(AdamW, start, gradients, lr=0.01, weight_decay=0.0)
    expected = after_steps(Adam, start, gradients, lr=0.01)
    check.close(got, expected.data, because="without decay AdamW is Adam")
parts.score()

# %% nbgrader={"grade": true, "grade_id": "optimizers_adamw_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): the learning rate of the moment, the default, memory, precision.
### BEGIN HIDDEN TESTS
optimizer = stepped(AdamW, [(4,), (2, 3)], lr=0.1, weight_decay=0.5)
with count() as counted:
    optimizer.step()
check.counts(counted, arrays=0, because="decay in place too: data *= a number")
check.equal(optimizer.state_bytes(), 2 * 10 * 4, because="decay needs no state")
check.close(optimizer.parameters[0].grad, np.ones(4), because="the gradient belongs to the caller")
check.same_dtype(optimizer.parameters[0], np.float32, because="float32 parameters stay float32")
check.close(
    optimizer.parameters[1],
    np.full((2, 3), (2.0 * 0.95 - 0.1) * 0.95 - 0.1),
    because="decay, then a step of length lr, twice",
    rtol=1e-4,
)
optimizer.lr = 0.0
with check.unchanged(
    optimizer.parameters[0], because="with a learning rate of 0 nothing moves, decay included"
):
    optimizer.step()
zeros = np.zeros((10, 1))
check.close(after_steps(AdamW, np.ones(1), zeros, lr=1.0), [0.99**10], because="the default decay is 0.01")
rng = np.random.default_rng(6)
start, gradients = np.array([3.0, -2.0]), rng.normal(size=(40, 2)) * [100.0, 0.01]
p, m, s = start, 0.0, 0.0
for t, g in enumerate(gradients, 1):
    m, s = 0.8 * m + 0.2 * g, 0.95 * s + 0.05 * g * g
    p = p * (1 - 0.2 * 0.3) - 0.2 * (m / (1 - 0.8**t)) / (np.sqrt(s / (1 - 0.95**t)) + 1e-2)
got = after_steps(AdamW, start, gradients, lr=0.2, betas=(0.8, 0.95), eps=1e-2, weight_decay=0.3)
check.close(got, p, because="every parameter decays at the same rate, whatever its gradients", atol=1e-8)
### END HIDDEN TESTS

# %% [markdown]
# ## 5 · Clipping the gradient
#
# Sometimes one batch gives a gradient a thousand times larger than usual, and one step along it destroys what a thousand
# steps have learned. *Clipping* bounds the length of the gradient and keeps its direction. Take the gradients of *all*
# parameters as one long vector; if its length, the *norm*, is larger than allowed, scale all of them by the same factor:
#
# $$\|g\| = \sqrt{\sum_{\text{parameters}}\ \sum_i g_i^2}, \qquad
# g \leftarrow g \cdot \frac{\text{max\_norm}}{\|g\|} \quad\text{if } \|g\| > \text{max\_norm}$$
#
# Three things to take care of:
#
# - One norm for all, not one for each parameter: else the direction changes.
# - Squares overflow. A `float32` holds numbers up to 3.4e38, so a gradient of 1e20, just what clipping is for, has an
#   infinite square. Sum in `float64`.
# - A norm that is infinite or NaN can't be mended by a factor: `inf * 0` is NaN. Then leave the gradients as they are and
#   let the caller see the norm.


# %% nbgrader={"grade": false, "grade_id": "optimizers_clip", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def clip_grad_norm_(parameters, max_norm):
    """Scale the gradients, in place, so that their common norm is at most `max_norm`.

    Parameters
    ----------
    parameters : iterable of Tensor
        Those without a gradient are passed over.
    max_norm : float

    Returns
    -------
    float
        The norm before clipping. If it is infinite or NaN, the gradients were left as they are.

    Examples
    --------
    Gradients [3.0] and [4.0] have the norm 5. Clipped to 1 they become [0.6] and [0.8], and 5.0 is returned.

    Hints: make a list of the gradients first: an iterable may be used up by one loop.
    `np.square(g, dtype=np.float64)` computes in float64. `math.isfinite` tells numbers from inf and NaN.
    """
    ### BEGIN SOLUTION
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = math.sqrt(sum(float(np.square(grad, dtype=np.float64).sum()) for grad in grads))
    if math.isfinite(norm) and norm > max_norm:
        for grad in grads:
            grad *= max_norm / norm
    return norm
    ### END SOLUTION


# %%
# Try it: the factor is the same for both. What would clipping each for itself do to the direction?
a, b = parameters_of((1,), (1,))
a.grad, b.grad = np.array([30.0], dtype=np.float32), np.array([0.4], dtype=np.float32)
clip_grad_norm_([a, b], max_norm=1.0), a.grad, b.grad


# %% nbgrader={"grade": false, "grade_id": "optimizers_clip_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: given gradients, clipped; gives the norm that was returned and the gradients after it.
def clipped(gradients, max_norm, once=False):
    parameters = [Parameter(np.zeros(np.shape(g) if g is not None else 2)) for g in gradients]
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = None if gradient is None else gradient.copy()
    arrays = [parameter.grad for parameter in parameters]
    norm = clip_grad_norm_(iter(parameters) if once else parameters, max_norm)
    in_place = all(p.grad is array for p, array in zip(parameters, arrays))
    return norm, [parameter.grad for parameter in parameters], in_place


# %% nbgrader={"grade": true, "grade_id": "optimizers_clip_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): the norm, gradients that are too long and that are not, and a parameter without gradient.
a, b = np.array([[3.0, 0.0]], dtype=np.float32), np.array([4.0], dtype=np.float32)
norm, grads, in_place = clipped([a, b], 1.0)
check.close(norm, 5.0, because="the norm before clipping, of all gradients together: the root of 9 + 16")
check.close(grads[0], a / 5, because="all gradients are scaled by the one factor max_norm / norm")
check.close(grads[1], b / 5, because="all gradients are scaled by the one factor max_norm / norm")
check.equal(in_place, True, because="the arrays that the parameters hold are scaled, not replaced")
norm, grads, _ = clipped([a, b], 10.0)
check.close(norm, 5.0, because="the norm is returned also if nothing is clipped")
check.close(grads[0], a, because="gradients below the limit are not made longer")
norm, grads, _ = clipped([a, None, b], 2.5)
check.close(
    grads[2], b / 2, because="scaled by max_norm / norm = 0.5; a parameter without gradient is passed over"
)
check.same_dtype(grads[0], np.float32, because="a gradient keeps its precision")

# %% nbgrader={"grade": true, "grade_id": "optimizers_clip_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): huge and tiny gradients, infinities, an iterator, nothing at all, the limit itself.
### BEGIN HIDDEN TESTS
a, b = np.array([3.0, -1.0], dtype=np.float32), np.array([[2.0], [-1.0]], dtype=np.float32)
norm, grads, _ = clipped([a * 1e25, b * 1e25], 1.0)
check.close(norm / 1e25, math.sqrt(15), because="squares of 1e25 overflow in float32: sum in float64")
check.close(grads[0], a / math.sqrt(15), because="a huge gradient is clipped like any other")
norm, grads, _ = clipped([a * 1e-25, b * 1e-25], 1e-25)
check.close(norm * 1e25, math.sqrt(15), because="squares of 1e-25 are 0 in float32: sum in float64")
norm, grads, _ = clipped([a, b], 0.5, once=True)
check.close(
    grads[0], a * (0.5 / math.sqrt(15)), because="parameters may be an iterator, which one loop uses up"
)
bad = np.array([1.0, np.inf], dtype=np.float32)
norm, grads, _ = clipped([bad, b], 1.0)
check.equal(norm, math.inf, because="an infinite gradient has an infinite norm, and the caller should see it")
check.close(grads[0], bad, because="no factor mends an infinity: inf * 0 would be NaN")
check.close(grads[1], b, because="and the other gradients are left too")
norm, grads, _ = clipped([np.array([np.nan], dtype=np.float32), b], 1.0)
check.equal(math.isnan(norm), True, because="NaN should not be hidden")
check.close(grads[1], b, because="one NaN should not spread to all gradients")
check.close(clipped([None, None], 1.0)[0], 0.0, because="no gradients have the norm 0")
norm, grads, _ = clipped([np.zeros(3, dtype=np.float32)], 0.0)
check.close(grads[0], np.zeros(3), because="a zero gradient stays zero: 0 / 0 is not a factor")
norm, grads, _ = clipped([np.array(-2.0, dtype=np.float32), None, a], 1e9)
check.close(norm, math.sqrt(14), because="gradients without axes count, and signs do not")
### END HIDDEN TESTS

# %% [markdown]
# ## 6 · Schedules
#
# A fixed learning rate is a compromise: large enough to get anywhere, small enough to settle. A *schedule* changes the rate
# as training goes on. Three common ones, with $\eta_0$ for the rate that the optimizer was given and $t$ for the number of steps of
# the scheduler so far:
#
# | | rate at step $t$ |
# |---|---|
# | `StepLR` | $\eta_0\,\gamma^{\lfloor t / \text{step\_size} \rfloor}$: constant, then a fraction, then a fraction of that |
# | `CosineAnnealingLR` | $\eta_{\min} + \tfrac12(\eta_0-\eta_{\min})\big(1+\cos(\pi\, t/T_{\max})\big)$, and $\eta_{\min}$ after $T_{\max}$ |
# | `LinearLR` | $\eta_0$ times a factor that goes in a straight line from `start_factor` to `end_factor` in `total_iters` steps, and stays |
#
# `LinearLR` with a small start is called a *warm-up*. Large models trained with Adam usually get one: at first its averages
# rest on few gradients, so the first steps have full length in a direction that is mostly noise.
#
# Each schedule is a function of $t$, `rate(t)`, so no rounding adds up, and training can go on from any step. `Scheduler` is
# complete: it counts steps and sets `optimizer.lr`. You write the three functions `rate`, with `self.base_lr` for $\eta_0$.


# %% nbgrader={"grade": false, "grade_id": "optimizers_scheduler", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
class Scheduler:
    """Base of schedules: define `rate(t)`. Sets `optimizer.lr` at once, and again at each `step()`.

    Parameters
    ----------
    optimizer : Optimizer

    Attributes
    ----------
    steps : int
        How often `step` was called.
    base_lr : float
        The learning rate that the optimizer was given at first.
    """

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.base_lr = optimizer.initial_lr
        self.steps = 0
        optimizer.lr = self.rate(0)

    def rate(self, t):
        """Learning rate after `t` steps of the scheduler."""
        raise NotImplementedError(f"{type(self).__name__} does not define rate")

    def step(self):
        """Go to the next learning rate; call it after `optimizer.step()`."""
        self.steps += 1
        self.optimizer.lr = self.rate(self.steps)

    def state_dict(self):
        """What `load_state_dict` needs to go on: a dict of numbers."""
        return {"steps": self.steps, "base_lr": self.base_lr}

    def load_state_dict(self, state):
        """Go on from a `state_dict`."""
        self.steps, self.base_lr = int(state["steps"]), float(state["base_lr"])
        self.optimizer.lr = self.rate(self.steps)


# %% nbgrader={"grade": false, "grade_id": "optimizers_schedules", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class StepLR(Scheduler):
    """The rate times `gamma` once in every `step_size` steps.

    Parameters
    ----------
    optimizer : Optimizer
    step_size : int
    gamma : float

    Examples
    --------
    From 1.0, with step_size 2 and gamma 0.1: 1, 1, 0.1, 0.1, 0.01 ...
    """

    def __init__(self, optimizer, step_size, gamma=0.1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer)

    def rate(self, t):
        """Learning rate after `t` steps."""
        ### BEGIN SOLUTION
        return self.base_lr * self.gamma ** (t // self.step_size)
        ### END SOLUTION


class CosineAnnealingLR(Scheduler):
    """Down along half a cosine from the first rate to `eta_min` in `T_max` steps; `eta_min` from then on.

    Parameters
    ----------
    optimizer : Optimizer
    T_max : int
    eta_min : float

    Examples
    --------
    From 1.0 with T_max 4: 1, 0.854, 0.5, 0.146, 0, 0 ...
    """

    def __init__(self, optimizer, T_max, eta_min=0.0):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def rate(self, t):
        """Learning rate after `t` steps."""
        ### BEGIN SOLUTION
        part = min(t / self.T_max, 1.0)
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * part)) / 2
        ### END SOLUTION


class LinearLR(Scheduler):
    """The rate times a factor from `start_factor` to `end_factor` in `total_iters` steps: a warm-up.

    Parameters
    ----------
    optimizer : Optimizer
    start_factor, end_factor : float
    total_iters : int

    Examples
    --------
    From 1.0 with start_factor 0.2 and total_iters 4: 0.2, 0.4, 0.6, 0.8, 1, 1 ...
    """

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5):
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer)

    def rate(self, t):
        """Learning rate after `t` steps."""
        ### BEGIN SOLUTION
        part = min(t / self.total_iters, 1.0)
        return self.base_lr * (self.start_factor + (self.end_factor - self.start_factor) * part)
        ### END SOLUTION


# %% [markdown]
# One schedule after the other, such as a warm-up and then a cosine, is again a schedule. It is complete: each part counts
# from the step at which its turn began.


# %% nbgrader={"grade": false, "grade_id": "optimizers_sequential", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
class SequentialLR(Scheduler):
    """One schedule after the other.

    Parameters
    ----------
    optimizer : Optimizer
    schedulers : list of Scheduler
        In order, all for the same optimizer. Only this one is stepped.
    milestones : list of int
        The steps at which the second, third ... begin; each then counts from 0.
    """

    def __init__(self, optimizer, schedulers, milestones):
        if len(milestones) != len(schedulers) - 1 or sorted(milestones) != list(milestones):
            raise ValueError(f"{len(schedulers)} schedules need one milestone less, in order: {milestones}")
        self.schedulers, self.begins = list(schedulers), [0, *milestones]
        super().__init__(optimizer)

    def rate(self, t):
        """Learning rate after `t` steps."""
        turn = sum(begin <= t for begin in self.begins) - 1
        return self.schedulers[turn].rate(t - self.begins[turn])


# %%
# Try it: the rate over 100 steps. Change the warm-up to 30 steps.
def rates(make, steps=100):
    """Learning rates of a scheduler that `make` builds around an optimizer with rate 1."""
    optimizer = SGD(parameters_of((1,)), lr=1.0)
    scheduler, seen = make(optimizer), []
    for _ in range(steps):
        seen.append(optimizer.lr)
        scheduler.step()
    return seen


def warm_up_and_cosine(optimizer):
    warm_up = LinearLR(optimizer, start_factor=0.01, total_iters=10)
    return SequentialLR(optimizer, [warm_up, CosineAnnealingLR(optimizer, T_max=90)], milestones=[10])


fig, axes = figure()
axes.plot(rates(lambda o: StepLR(o, step_size=30, gamma=0.3)), label="StepLR")
axes.plot(rates(lambda o: CosineAnnealingLR(o, T_max=100)), label="CosineAnnealingLR")
axes.plot(rates(warm_up_and_cosine), label="LinearLR, then cosine")
axes.set(xlabel="step", ylabel="learning rate")
axes.legend()
show(
    fig,
    alt="Rate by step: stairs of 1, 0.3, 0.09, 0.027; a cosine from 1 to 0; a line up, then a cosine to 0.",
)

# %% [markdown]
# *The figure:* three schedules over 100 steps. `StepLR` goes down in stairs, the cosine falls slowly, then fast, then
# slowly; the third climbs to 1 in ten steps before its cosine begins.


# %% nbgrader={"grade": false, "grade_id": "optimizers_schedules_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: the rates that an optimizer has while a scheduler is stepped, from the beginning on.
def rates_seen(kind, lr, steps, **options):
    optimizer = SGD([Parameter([0.0])], lr=lr)
    scheduler, seen = kind(optimizer, **options), [optimizer.lr]
    for _ in range(steps):
        scheduler.step()
        seen.append(optimizer.lr)
    return seen


def rates_resumed(kind, lr, steps, **options):
    """The same, but before each step it is saved and loaded around an optimizer with another rate."""
    optimizer = SGD([Parameter([0.0])], lr=lr)
    scheduler, seen = kind(optimizer, **options), [optimizer.lr]
    for _ in range(steps):
        state = scheduler.state_dict()
        optimizer = SGD([Parameter([0.0])], lr=9.0)
        scheduler = kind(optimizer, **options)
        scheduler.load_state_dict(state)
        scheduler.step()
        seen.append(optimizer.lr)
    return seen


def rates_of_sequence(lr, steps):
    def make(optimizer):
        parts = [
            LinearLR(optimizer, start_factor=0.25, total_iters=3),
            StepLR(optimizer, step_size=2, gamma=0.5),
        ]
        return SequentialLR(optimizer, parts, milestones=[3])

    return rates_seen(make, lr, steps)


# %% nbgrader={"grade": true, "grade_id": "optimizers_schedules_check", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
# Check (7 points): the rates of each schedule, from the first step to beyond the last.
parts = check.partial(7)
with parts.part(2, "StepLR"):
    got = rates_seen(StepLR, 0.5, 7, step_size=3, gamma=0.1)
    because = "the rate falls at steps 3, 6, 9 ...: gamma to the power of t // step_size"
    check.close(got, [0.5, 0.5, 0.5, 0.05, 0.05, 0.05, 0.005, 0.005], because=because, atol=1e-9)
with parts.part(3, "CosineAnnealingLR"):
    got = rates_seen(CosineAnnealingLR, 2.0, 6, T_max=4)
    expected = [2.0, 1 + math.sqrt(0.5), 1.0, 1 - math.sqrt(0.5), 0.0, 0.0, 0.0]
    check.close(got, expected, because="half a cosine: 0 at T_max, and it stays there", atol=1e-9)
with parts.part(2, "LinearLR"):
    got = rates_seen(LinearLR, 2.0, 5, start_factor=0.25, total_iters=3)
    check.close(
        got, [0.5, 1.0, 1.5, 2.0, 2.0, 2.0], because="a straight line in 3 steps, then constant", atol=1e-9
    )
parts.score()

# %% nbgrader={"grade": true, "grade_id": "optimizers_schedules_hidden", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (4 points): smallest rates, other ends, defaults, saved and loaded, one after the other.
### BEGIN HIDDEN TESTS
expected = [0.1 + 0.4 * (1 + math.cos(math.pi * t / 10)) for t in range(10)] + [0.1] * 3
got = rates_seen(CosineAnnealingLR, 0.9, 12, T_max=10, eta_min=0.1)
check.close(got, expected, because="the cosine runs between the first rate and eta_min", atol=1e-9)
got = rates_seen(LinearLR, 1.0, 5, start_factor=1.0, end_factor=0.2, total_iters=4)
check.close(got, [1.0, 0.8, 0.6, 0.4, 0.2, 0.2], because="the line may go down, to end_factor", atol=1e-9)
got = rates_seen(LinearLR, 3.0, 6)
expected = [1 + 2 * min(t, 5) / 5 for t in range(7)]
check.close(got, expected, because="by default from a third to one in 5 steps", atol=1e-9)
got = rates_seen(StepLR, 1.0, 5, step_size=1, gamma=0.5)
check.close(
    got, [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125], because="a step size of 1 halves at each step", atol=1e-9
)
check.close(
    rates_seen(StepLR, 1.0, 2, step_size=2), [1.0, 1.0, 0.1], because="gamma is 0.1 by default", atol=1e-9
)
for kind, options in [
    (StepLR, {"step_size": 2}),
    (CosineAnnealingLR, {"T_max": 5, "eta_min": 0.01}),
    (LinearLR, {"total_iters": 4}),
]:
    check.close(
        rates_resumed(kind, 0.7, 7, **options),
        rates_seen(kind, 0.7, 7, **options),
        because="the rate follows from t and base_lr, and from nothing that the optimizer holds",
        atol=1e-9,
    )
expected = [0.25, 0.5, 0.75, 1.0, 1.0, 0.5, 0.5, 0.25]
check.close(rates_of_sequence(1.0, 7), expected, because="each part is a function of its own t", atol=1e-9)
### END HIDDEN TESTS

# %% [markdown]
# ## 7 · Save the state
#
# Training is interrupted: by a crash, by the end of a job's time, by a laptop lid. In module 08 you will save a network and
# its optimizer and go on as if nothing had happened. For that the optimizer's memory must be saved too. Lose it, and Adam
# takes its first uncertain steps once more.
#
# A state is a flat dict that fits into one file of arrays. The parameters have no names here, only numbers:
#
# ```
#   {"lr": 0.001, "0.steps": 500, "0.mean": array, "0.square": array, "1.steps": 500, …}
# ```
#
# A parameter that never had a gradient has no entries. Copies go in, and copies come out. And as with modules, all or
# nothing: a state that does not fit raises an error that names what is wrong, and changes nothing. What fits?
# `expected_state`, complete, tells: the entries that the saved parameters should have, as `start` makes them.


# %% nbgrader={"grade": false, "grade_id": "optimizers_expected", "locked": true, "schema_version": 3, "solution": false, "task": false} tags=["export"]
def expected_state(optimizer, names):
    """Entries that a state with these names should have, with values as before the first step.

    Parameters
    ----------
    optimizer : Optimizer
    names : iterable of str
        Names in a saved state, such as "2.mean": parameter 2 had taken steps.

    Returns
    -------
    dict of str to float, int or numpy.ndarray
        The arrays are new.
    """
    numbers = {name.partition(".")[0] for name in names}
    expected = {"lr": optimizer.lr}
    for number, parameter in enumerate(optimizer.parameters):
        if str(number) in numbers:
            entries = optimizer.start(parameter.data)
            expected |= {f"{number}.{name}": value for name, value in entries.items()}
    return expected


# %% nbgrader={"grade": false, "grade_id": "optimizers_state", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def copy_state(optimizer):
    """The learning rate and all that an optimizer remembers.

    Parameters
    ----------
    optimizer : Optimizer

    Returns
    -------
    dict of str to float, int or numpy.ndarray
        "lr", and "number.name" for each entry in the state of each parameter; arrays are copies.

    Hints: `enumerate(optimizer.state)` gives number and dict. Arrays have a method `copy`; ints need none.
    """
    ### BEGIN SOLUTION
    state = {"lr": optimizer.lr}
    for number, entries in enumerate(optimizer.state):
        for name, value in entries.items():
            state[f"{number}.{name}"] = value.copy() if isinstance(value, np.ndarray) else value
    return state
    ### END SOLUTION


def load_state(optimizer, state):
    """Make an optimizer go on from a state.

    Parameters
    ----------
    optimizer : Optimizer
    state : dict
        As from `copy_state`; numbers may have become arrays without axes, as files make them.

    Raises
    ------
    ValueError
        If an entry is missing or unexpected, or has another shape; the message names all of them, and
        nothing has changed.

    Hints: collect the wrong names first: `expected.keys() ^ state.keys()` are those that stand in only one of
    two dicts, and `np.shape` works for numbers too. Then fill the fresh arrays of `expected` in place.
    `name.split(".")` gives number and name.
    """
    expected = expected_state(optimizer, state)
    ### BEGIN SOLUTION
    wrong = expected.keys() ^ state.keys()
    wrong |= {
        name for name in expected.keys() & state.keys() if np.shape(expected[name]) != np.shape(state[name])
    }
    if wrong:
        raise ValueError(
            f"this state does not fit {type(optimizer).__name__}: look at {', '.join(sorted(wrong))}"
        )
    optimizer.lr = float(state["lr"])
    optimizer.state = [{} for _ in optimizer.parameters]
    for name, value in expected.items():
        if name != "lr":
            number, entry = name.split(".")
            if isinstance(value, np.ndarray):
                value[...] = state[name]
            else:
                value = int(state[name])
            optimizer.state[int(number)][entry] = value
    ### END SOLUTION


# %%
# Try it: look at a state, break it, and read the message.
state = stepped(Adam, [(2,), (3, 2)], lr=0.1).state_dict()
print({name: np.shape(value) for name, value in state.items()})
del state["1.mean"]
try:
    stepped(Adam, [(2,), (3, 2)], lr=0.1).load_state_dict(state)
except ValueError as error:
    print(error)


# %% nbgrader={"grade": false, "grade_id": "optimizers_state_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For the checks: steps with a break, in which all is saved and given to a fresh optimizer.
def with_a_break(kind, start, gradients, stop, as_arrays=False, **options):
    parameter = Parameter(start)
    for number, gradient in enumerate(gradients):
        if number in (0, stop):
            fresh = kind([parameter], **options)
            if number:
                state = optimizer.state_dict()
                if as_arrays:  # what a file makes of a state
                    state = {name: np.array(value) for name, value in state.items()}
                fresh.load_state_dict(state)
                for value in [*state.values(), *optimizer.state[0].values()]:
                    if isinstance(value, np.ndarray):
                        value[...] = 99  # the new optimizer must not notice: it has copies
            optimizer = fresh
        parameter.grad = gradient.astype(np.float32)
        optimizer.step()
    return parameter


def state_survives_training(optimizer):
    """Whether a state stays as it was while its optimizer steps on."""
    state = optimizer.state_dict()
    before = {name: np.array(value) for name, value in state.items()}
    optimizer.step()
    return all(np.array_equal(before[name], state[name]) for name in before)


# %% nbgrader={"grade": true, "grade_id": "optimizers_state_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): what a state holds, the way back, and the error.
optimizer = stepped(Adam, [(2,), (3, 2)], steps=4, lr=0.5)
state = optimizer.state_dict()
names = ["lr", "0.steps", "0.mean", "0.square", "1.steps", "1.mean", "1.square"]
check.equal(sorted(state), sorted(names), because="the rate, and three entries for each parameter")
check.equal((state["lr"], state["1.steps"]), (0.5, 4), because="the entries hold the values")
check.close(state["0.mean"], np.full(2, 1 - 0.9**4), because="the entries hold the values")
check.equal(
    state_survives_training(optimizer), True, because="a state is a copy: training on must not change it"
)
start, gradients = np.ones(3), np.random.default_rng(7).normal(size=(10, 3))
for kind, options in [(SGD, {"momentum": 0.9}), (Adam, {})]:
    got = with_a_break(kind, start, gradients, 5, lr=0.1, **options)
    expected = after_steps(kind, start.astype(np.float32), gradients, lr=0.1, **options)
    check.equal(
        got.data, expected.data, because="with a copy of the whole state, steps go on as without a break"
    )
wrong = optimizer.state_dict()
wrong["0.velocity"] = wrong.pop("1.mean")
wrong["0.square"] = np.zeros((2, 1), dtype=np.float32)
with check.raises(
    ValueError,
    mentions=["0.velocity", "1.mean", "0.square"],
    because="one error should name all: missing, unexpected, and of another shape",
):
    optimizer.load_state_dict(wrong)

# %% nbgrader={"grade": true, "grade_id": "optimizers_state_hidden", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (3 points): a failed load changes nothing, parameters without steps, files, rates, other kinds.
### BEGIN HIDDEN TESTS
optimizer = stepped(Adam, [(2,), (3, 2)], steps=2, lr=0.5)
wrong = {**optimizer.state_dict(), "lr": 9.0, "0.mean": np.full(2, 7.0), "1.square": np.zeros(6)}
before = optimizer.state_dict()
with check.raises(ValueError, mentions="1.square", because="6 numbers are not of shape (3, 2)"):
    optimizer.load_state_dict(wrong)
check.equal(optimizer.lr, 0.5, because="a load that fails should change nothing, the rate included")
check.close(
    optimizer.state[0]["mean"], before["0.mean"], because="look at all entries before the first one is loaded"
)
for name in ("lr", "0.steps"):
    wrong = optimizer.state_dict()
    del wrong[name]
    with check.raises(ValueError, mentions=name, because=f"{name} is missing"):
        optimizer.load_state_dict(wrong)
with check.raises(ValueError, mentions="7.mean", because="there is no parameter 7"):
    optimizer.load_state_dict({**optimizer.state_dict(), "7.mean": np.zeros(2)})
with check.raises(ValueError, because="the state of SGD with momentum does not fit Adam"):
    optimizer.load_state_dict(stepped(SGD, [(2,), (3, 2)], lr=0.1, momentum=0.9).state_dict())
start, gradients = np.ones((2, 2)), np.random.default_rng(8).normal(size=(9, 2, 2))
for kind in (Adam, AdamW):
    got = with_a_break(kind, start, gradients, 3, as_arrays=True, lr=0.1)
    expected = after_steps(kind, start.astype(np.float32), gradients, lr=0.1)
    check.equal(
        got.data, expected.data, because="a file makes arrays without axes of numbers: turn them back"
    )
first, second = parameters_of((2,), (3,))
optimizer = Adam([first, second], lr=0.1)
check.equal(list(optimizer.state_dict()), ["lr"], because="before the first step there is only the rate")
second.grad = np.ones(3, dtype=np.float32)
optimizer.step()
optimizer.lr = 0.02
check.equal(
    sorted(optimizer.state_dict()),
    ["1.mean", "1.square", "1.steps", "lr"],
    because="a parameter that took no step has no entries",
)
fresh = Adam(parameters_of((2,), (3,)), lr=0.5)
fresh.load_state_dict(optimizer.state_dict())
check.equal(fresh.lr, 0.02, because="the rate of the moment is part of the state")
check.equal(fresh.initial_lr, 0.5, because="initial_lr says how the optimizer was made; a load leaves it")
check.equal(len(fresh.state[0]), 0, because="a parameter without entries begins anew")
check.equal(fresh.state[1]["steps"], 1, because="steps are an int again")
stepped_on = stepped(Adam, [(2,), (3,)], steps=3, lr=0.1)
stepped_on.load_state_dict(optimizer.state_dict())
check.equal(len(stepped_on.state[0]), 0, because="what was remembered before the load is gone")
many = stepped(SGD, [(2,)] * 12, lr=0.1, momentum=0.9)
fresh_many = SGD(parameters_of(*[(2,)] * 12), lr=0.1, momentum=0.9)
fresh_many.load_state_dict(many.state_dict())
check.equal(
    [len(entries) for entries in fresh_many.state],
    [1] * 12,
    because='the number may have several digits: "11.velocity" belongs to parameter 11',
)
wide = {name: np.asarray(value, dtype=np.float64) for name, value in optimizer.state_dict().items()}
fresh.load_state_dict(wide)
check.same_dtype(fresh.state[1]["mean"], np.float32, because="the state has the precision of the parameter")
check.equal(
    list(stepped(SGD, [(2,)], lr=0.3).state_dict()), ["lr"], because="plain SGD has nothing else to save"
)
### END HIDDEN TESTS

# %% [markdown]
# ## Systems 1 · The optimizer's share of memory
#
# To train `P` numbers in `float32` you hold the parameters, 4·P bytes, their gradients, 4·P bytes, and the state of the
# optimizer. (Activations come on top; they grow with the batch and not with `P`.)
#
# Predict the bytes of the state, and of parameters, gradients and state together. Do not count single integers such as
# `steps`, nor the scratch, which is as large as the largest parameter and not part of the state.


# %% nbgrader={"grade": false, "grade_id": "memory_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_state_bytes(name, numbers):
    """Bytes that an optimizer remembers for so many float32 numbers.

    `name` is "SGD", "momentum" (SGD with momentum), "Adam" or "AdamW".
    """
    ### BEGIN SOLUTION
    return {"SGD": 0, "momentum": 1, "Adam": 2, "AdamW": 2}[name] * 4 * numbers
    ### END SOLUTION


def predict_training_bytes(name, numbers):
    """Bytes of parameters, gradients and state together."""
    ### BEGIN SOLUTION
    return 2 * 4 * numbers + predict_state_bytes(name, numbers)
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "memory_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
# For you and for the checks: each kind of optimizer by its name, and parameters with gradients.
KINDS = {
    "SGD": (SGD, {"lr": 0.01}),
    "momentum": (SGD, {"lr": 0.01, "momentum": 0.9}),
    "Adam": (Adam, {"lr": 0.01}),
    "AdamW": (AdamW, {"lr": 0.01}),
}


def with_ones(*shapes):
    """Parameters of these shapes, with gradients of ones."""
    parameters = parameters_of(*shapes)
    for parameter in parameters:
        parameter.grad = np.ones_like(parameter.data)
    return parameters


def first_step(name, parameters):
    """An optimizer by its name, after one step."""
    kind, options = KINDS[name]
    optimizer = kind(parameters, **options)
    optimizer.step()
    return optimizer


# %%
# Measure: one million numbers in four parameters, then the same multiples for 175 billion, the size of GPT-3.
MILLION = [(500, 500)] * 4
print("           1 M numbers                            175 B numbers")
print("           state   with parameters  + gradients   all together")
for name in KINDS:
    state = first_step(name, with_ones(*MILLION)).state_bytes() / 1e6
    total, large = (predict_training_bytes(name, n) for n in (1_000_000, 175_000_000_000))
    print(
        f"{name:9} {state:4.1f} MB {state + 4:8.1f} MB ({(state + 4) / 4:.0f}x) {total / 1e6:8.1f} MB"
        f" {large / 1e9:12,.0f} GB"
    )

# %% nbgrader={"grade": true, "grade_id": "memory_check", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
# Check (8 points): the prediction against what your own optimizers hold, for a million numbers and more.
parts = check.partial(8)
arrays = {"SGD": 0, "momentum": 1, "Adam": 2, "AdamW": 2}
with parts.part(4, "state"):
    for name in arrays:
        parameters = with_ones(*[(500, 500)] * 4)
        with peak_memory() as measured:
            optimizer = first_step(name, parameters)
        expected = arrays[name] * 4_000_000
        check.equal(
            optimizer.state_bytes(), expected, because=f"{arrays[name]} arrays as large as the parameters"
        )
        check.counts(
            measured,
            kept_bytes=range(expected, expected + 1_000_001),
            because="beside the state only the scratch stays, as large as the largest parameter",
        )
        check.close(
            predict_state_bytes(name, 1_000_000),
            expected,
            because="one velocity, or two averages, with 4 bytes a number",
            rtol=0,
        )
with parts.part(2, "in training"):
    for name in arrays:
        expected = (2 + arrays[name]) * 4 * 1_000_000
        check.close(
            predict_training_bytes(name, 1_000_000),
            expected,
            because="parameters 1x, gradients 1x, and the state: 2x, 3x or 4x in all",
            rtol=0,
        )
with parts.part(2, "175 billion numbers"):
    for name in arrays:
        check.close(
            predict_training_bytes(name, 175_000_000_000) / 1e9,
            (2 + arrays[name]) * 700.0,
            because="700 GB of parameters, and the same multiples as for a million",
        )
parts.score()

# %% [markdown]
# *What you just measured.* Parameters and state together take 1x, 2x and 3x the parameters for SGD, momentum and Adam; the
# gradients are one more each time. At 175 billion numbers Adam needs 2.8 TB before the first activation: 35 accelerators of 80 GB
# only to hold it. That is why large trainings split the state over many machines, or keep it in fewer bits.

# %% [markdown]
# ## Systems 2 · What a step costs
#
# How many FLOPs does a step take for each number of the parameters? It depends on how you wrote it: read your own `update`
# and `move`, and count the operations on whole arrays. Arithmetic on single Python numbers, such as `1 - beta2**steps`,
# is not worth counting. Assume no weight decay.


# %% nbgrader={"grade": false, "grade_id": "step_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
def predict_step_flops(name, numbers):
    """FLOPs of one of your steps for so many numbers; `name` is "SGD", "momentum" or "Adam"."""
    ### BEGIN SOLUTION
    return {"SGD": 2, "momentum": 4, "Adam": 12}[name] * numbers
    ### END SOLUTION


# %%
# Measure: FLOPs by kind for a million numbers, and the same for a training step of an MLP that has as many.
for name in ("SGD", "momentum", "Adam"):
    optimizer = first_step(name, with_ones(*MILLION))
    with count() as counted:
        optimizer.step()
    kinds = ", ".join(f"{kind} {flops // 1_000_000}" for kind, flops in counted.by_kind.items())
    predicted = predict_step_flops(name, 1_000_000)
    print(f"{name:9} predicted {predicted:,}, counted {counted.flops:,}; for each number: {kinds}")
print(f"forward and backward on 64 rows: about {6 * 64 * 1_000_000:,}")

# %% nbgrader={"grade": true, "grade_id": "step_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): the prediction against what your own step executes.
parts = check.partial(6)
limits = {"SGD": range(2, 5), "momentum": range(4, 8), "Adam": range(11, 19)}
for name in limits:
    with parts.part(2, name):
        for shapes in [[(20, 30)], [(7,), (3, 5), ()]]:
            numbers = sum(math.prod(shape) for shape in shapes)
            optimizer = first_step(name, with_ones(*shapes))
            with count() as counted:
                optimizer.step()
            check.counts(
                counted,
                flops=range(limits[name][0] * numbers, limits[name][-1] * numbers + 1),
                because="a step should do little more than the formula asks for",
            )
            check.close(
                predict_step_flops(name, numbers),
                counted.flops,
                because="one FLOP for each operation on whole arrays in your own code, and each number",
                rtol=0,
            )
parts.score()

# %% [markdown]
# *What you just measured.* Adam's 12 operations look many, but a forward and backward pass takes about 6 for each number
# *and each row* of the batch: 384 for 64 rows. What the step does cost is traffic: every one of those operations reads and
# writes whole arrays, and for 12 FLOPs more than a hundred bytes pass.

# %% [markdown]
# ## Systems 3 · Temporaries
#
# Here is Adam as one would write it first, close to the formula. It gives the same values up to rounding. How many new arrays
# does it make in each step for each parameter, and how many does yours? And how far does memory rise during a step of yours
# above what is held before it, in arrays of the parameter's size? (The first step, which makes the state, does not count.)


# %% nbgrader={"grade": false, "grade_id": "temporaries_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
class AdamComposed(Adam):
    """Adam close to its formula; every operator makes a new array."""

    def move(self, data, grad, state, scratch):
        state["steps"] += 1
        steps, (beta1, beta2) = state["steps"], self.betas
        state["mean"] = beta1 * state["mean"] + (1 - beta1) * grad
        state["square"] = beta2 * state["square"] + (1 - beta2) * grad * grad
        mean = state["mean"] / (1 - beta1**steps)
        square = state["square"] / (1 - beta2**steps)
        data -= self.lr * mean / (np.sqrt(square) + self.eps)


KINDS["Adam, composed"] = (AdamComposed, {"lr": 0.01})


# %% nbgrader={"grade": false, "grade_id": "temporaries_predict", "locked": false, "schema_version": 3, "solution": true, "task": false}
# New arrays in one step for one parameter, after the first step.
arrays_made = {"Adam, composed": None, "Adam": None}
# How far memory rises in such a step, in arrays of the parameter's size, rounded.
rise_in_arrays = None
### BEGIN SOLUTION
arrays_made = {"Adam, composed": 13, "Adam": 0}
rise_in_arrays = 0
### END SOLUTION

# %%
# Measure: arrays, bytes moved and time of both, for a million numbers.
for name in ("Adam, composed", "Adam"):
    optimizer = first_step(name, with_ones(*MILLION))
    with count() as counted:
        optimizer.step()
    with peak_memory() as measured:
        optimizer.step()
    begin = time.perf_counter()
    optimizer.step()
    elapsed = time.perf_counter() - begin
    print(
        f"{name:15} {counted.arrays / 4:.0f} arrays a parameter, {counted.bytes_moved / 1e6:.0f} MB moved, "
        f"memory rises by {measured.peak_bytes / 1e6:.2f} MB, {elapsed * 1e3:.1f} ms"
    )

# %% nbgrader={"grade": true, "grade_id": "temporaries_check", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
# Check (6 points): the prediction against both forms.
parts = check.partial(6)
with parts.part(2, "composed"):
    optimizer = first_step("Adam, composed", with_ones((40, 50), (300,)))
    with count() as counted:
        optimizer.step()
    check.close(
        arrays_made["Adam, composed"],
        counted.arrays // 2,
        because="one new array for each operator but the last -=",
        rtol=0,
    )
with parts.part(2, "yours"):
    optimizer = first_step("Adam", with_ones((40, 50), (300,)))
    with count() as counted:
        optimizer.step()
    check.counts(counted, arrays=0, because="out= and the operators with = write into memory that is there")
    check.close(
        arrays_made["Adam"], 0, because="out= and the operators with = write into memory that is there"
    )
with parts.part(2, "the rise"):
    optimizer = first_step("Adam", with_ones((500, 500)))
    with peak_memory() as measured:
        optimizer.step()
    check.counts(
        measured, peak_bytes=range(0, 50_000), because="the scratch is there already since the first step"
    )
    check.close(rise_in_arrays, 0, because="nothing is allocated but some small Python objects")
parts.score()

# %% [markdown]
# *What you just measured.* About the same arithmetic and the same bytes moved, but thirteen arrays less for each parameter,
# and on most machines a step several times faster. For large parameters each of those arrays is memory that the operating system must
# find, clear and take back in every step.

# %% [markdown]
# ## Explain
#
# A group wants to fine-tune a language model of 7 billion numbers in `float32` on a machine with 80 GB of memory. "The model
# is 28 GB, so there is plenty of room," they say, choose Adam, and run out of memory before the first batch is through.
#
# In three to six sentences: what fills the memory, in GB and by name? Would SGD with momentum fit, and what would they
# give up? Name one way to keep Adam, and say what it costs.

# %% [markdown] nbgrader={"grade": true, "grade_id": "optimizers_explain", "locked": false, "points": 5, "schema_version": 3, "solution": true, "task": false}
# ### BEGIN SOLUTION
# **Rubric (5 points).**
#
# - 2: the sum: parameters 28 GB, gradients 28 GB, Adam's two averages 56 GB, 112 GB together, more than 80 before any
#   activation. One item missing or wrong costs 1.
# - 1: SGD with momentum: 28 + 28 + 28 = 84 GB, which does not fit either; plain SGD is at 56 GB. (Saying "momentum is smaller
#   than Adam" without the sum gets no point.)
# - 1: what is given up: a step size of its own for every number, so the learning rate must be tuned with more care and
#   language models usually train worse.
# - 1: one way to keep Adam and its price: state in 8 or 16 bits (rounding; 56 GB become 14 or 28), the state split over
#   several machines (communication), only part of the parameters trained, such as the last layers or small added matrices
#   (less freedom; gradients and state shrink with the part), state kept in main memory (traffic in each step).
#
# *A good answer.* "Training holds 28 GB of parameters, 28 GB of gradients and 2 · 28 GB for Adam's averages: 112 GB. It stops at
# the first step, when the averages are made. Momentum needs 84 GB, still too much; plain SGD would fit in 56 GB plus
# activations, but one learning rate for all numbers suits language models badly. I would train only the last quarter of the
# layers: gradients and state drop to 7 + 14 GB, so 49 GB in all, and the price is that the other layers can't adapt." All
# points, with numbers. 5 points.
#
# *A weak answer.* "Adam uses twice the memory of SGD because of momentum and variance, so use SGD or a smaller batch size." The
# averages are named, but nothing is added up, gradients are missing, and a smaller batch changes the activations only, which
# are not what fills the memory here. 1 point.
# ### END SOLUTION

# %% [markdown]
# ## What can go wrong
#
# **`ValueError: an optimizer without parameters: does the model keep them as attributes?`**: `model.parameters()` is an empty
# list. The layers stand in a local variable, or in a set; keep them in attributes, lists or dicts.
#
# **The loss becomes `nan` after some steps**: the learning rate is too large, and each step overshoots more than the one
# before. Divide it by ten, clip the gradient, or begin with a warm-up.
#
# **The loss does not move at all**: the optimizer holds the parameters of another model, made before this one, or `zero_grad`
# stands between `backward` and `step`, so that no parameter has a gradient.
#
# **`RuntimeError: an array of shape … was changed in place … between multiply and backward()`**: `optimizer.step()` came
# before a second `backward()` on the same graph. Compute the loss anew after each step.
#
# **`ValueError: this state does not fit Adam: look at 0.mean, 0.square, 0.steps, 0.velocity`**: the state comes from another
# kind of optimizer, here `SGD` with momentum. If only arrays are named, such as `0.mean, 0.square`, it comes from a model
# whose parameters have other shapes or another order.

# %% [markdown]
# ## Recap
#
# | You built | State, times the parameters | FLOPs a number | PyTorch's name | One true difference |
# |---|---|---|---|---|
# | `SGD` | 0x | 2 | `torch.optim.SGD` | PyTorch's parameter groups may each have their own rate |
# | `SGD(momentum=…)` | 1x | 4 | `torch.optim.SGD` | PyTorch has `dampening`, and `maximize` |
# | `Adam` | 2x | 12 | `torch.optim.Adam` | PyTorch can update all parameters in one call, `fused=True`; `amsgrad` adds 1x |
# | `AdamW` | 2x | 13 | `torch.optim.AdamW` | PyTorch's is its `Adam` with `decoupled_weight_decay=True`; formula and default, 0.01, are yours |
# | `clip_grad_norm_` | none | 2 to 3 | `torch.nn.utils.clip_grad_norm_` | PyTorch divides by the norm + 1e-6, and an infinite gradient becomes NaN |
# | `StepLR`, `LinearLR`, `SequentialLR` | one counter | none | the same names | PyTorch multiplies the last rate; yours is a function of the step |
# | `CosineAnnealingLR` | one counter | none | the same name | after `T_max` PyTorch's rate rises again; yours stays |
# | `state_dict` | a copy | none | the same name | PyTorch's holds references, nested by parameter and group |
#
# You have all the parts of learning now: data, a model, a loss, gradients, a step. In module 08 you put them into a loop
# that trains a classifier of real digits, survives a crash, and reports when something is wrong.
