# Built from source/07_optimizers/07_optimizers.py by `tinytorch build`; change it there.
"""Optimizers: steps that change parameters in place, clipping of gradients, schedules of the step size."""

import math

import numpy as np

from tinytorch_ref.tensor import Tensor

__all__ = [
    "Optimizer", "SGD", "Adam", "AdamW", "clip_grad_norm_", "Scheduler", "StepLR", "CosineAnnealingLR",
    "LinearLR", "SequentialLR", "expected_state", "copy_state", "load_state",
]


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
        for parameter in self.parameters:
            parameter.grad = None

    def step(self):
        """Change every parameter that has a gradient, in place."""
        for parameter, state in zip(self.parameters, self.state):
            if parameter.grad is None:
                continue
            data = parameter.data
            if not state:
                state.update(self.start(data))
            self.update(data, parameter.grad, state, self.scratch_like(data))
            parameter.version += 1


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
        return {"velocity": np.zeros_like(data)} if self.momentum else {}

    def update(self, data, grad, state, scratch):
        """One step, in place on `data` and `state["velocity"]`, without a new array."""
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
        return {"steps": 0, "mean": np.zeros_like(data), "square": np.zeros_like(data)}

    def update(self, data, grad, state, scratch):
        """One step, in place, after weight decay was added to the gradient."""
        if self.weight_decay:
            np.multiply(data, self.weight_decay, out=scratch)
            scratch += grad
            grad = scratch
        self.move(data, grad, state, scratch)

    def move(self, data, grad, state, scratch):
        """Adam's formula, in place on `data` and `state`; `grad` may be the same array as `scratch`."""
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
        data *= 1 - self.lr * self.weight_decay
        self.move(data, grad, state, scratch)


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
    """
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = math.sqrt(sum(float(np.square(grad, dtype=np.float64).sum()) for grad in grads))
    if math.isfinite(norm) and norm > max_norm:
        for grad in grads:
            grad *= max_norm / norm
    return norm


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
        return self.base_lr * self.gamma ** (t // self.step_size)


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
        part = min(t / self.T_max, 1.0)
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * part)) / 2


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
        part = min(t / self.total_iters, 1.0)
        return self.base_lr * (self.start_factor + (self.end_factor - self.start_factor) * part)


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


def copy_state(optimizer):
    """The learning rate and all that an optimizer remembers.

    Parameters
    ----------
    optimizer : Optimizer

    Returns
    -------
    dict of str to float, int or numpy.ndarray
        "lr", and "number.name" for each entry in the state of each parameter; arrays are copies.
    """
    state = {"lr": optimizer.lr}
    for number, entries in enumerate(optimizer.state):
        for name, value in entries.items():
            state[f"{number}.{name}"] = value.copy() if isinstance(value, np.ndarray) else value
    return state


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
    """
    expected = expected_state(optimizer, state)
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
