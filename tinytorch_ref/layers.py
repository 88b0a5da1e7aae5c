# Built from source/03_layers/03_layers.py by `tinytorch build`; change it there.
"""Layers: parameters, the modules that hold them, and the walk that finds, switches, saves and loads them."""

import math

import numpy as np

from tinytorch_ref.activations import gelu, relu, sigmoid, tanh
from tinytorch_ref.tensor import Tensor, apply

__all__ = [
    "linear_forward", "Parameter", "Buffer", "Module", "Linear", "ReLU", "GELU", "Sigmoid", "Tanh", "members",
    "unpack", "find_modules", "join", "find_tensors", "Sequential", "dropout_forward", "set_mode", "Dropout",
    "copy_state", "load_state",
]


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
    """
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
        rng = np.random.default_rng(rng)
        scale = math.sqrt(2 / in_features)
        self.weight = Parameter(rng.normal(scale=scale, size=(out_features, in_features)))
        self.bias = Parameter(np.zeros(out_features)) if bias else None

    def forward(self, x):
        """The map of a tensor of shape (..., in_features); the result has shape (..., out_features)."""
        if self.bias is None:
            return apply(linear_forward, x, self.weight)
        return apply(linear_forward, x, self.weight, self.bias)

    def extra_repr(self):
        """Sizes, as PyTorch writes them."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


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
    """
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, (list, tuple)):
        pairs = enumerate(value)
    else:
        return [(name, value)]
    return [found for key, item in pairs for found in unpack(f"{name}.{key}", item)]


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
    """
    seen = set() if seen is None else seen
    if id(module) in seen:
        return []
    seen.add(id(module))
    found = [(name, module)]
    for member, value in members(module):
        if isinstance(value, Module):
            found += find_modules(value, join(name, member), seen)
    return found


def join(prefix, name):
    """Two parts of a dotted name; an empty prefix adds no dot."""
    return f"{prefix}.{name}" if prefix else name


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
    """
    found = {}
    for prefix, part in find_modules(module):
        for name, value in members(part):
            if isinstance(value, kind):
                found.setdefault(id(value), (join(prefix, name), value))
    return list(found.values())


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
        for number, module in enumerate(modules):
            setattr(self, str(number), module)

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
        for module in self:
            x = module(x)
        return x


def dropout_forward(a, mask):
    """`a` with some elements set to 0 and the others scaled.

    Parameters
    ----------
    a : numpy.ndarray
    mask : numpy.ndarray of the shape and dtype of `a`
        0 where an element is dropped, 1 / (1 - p) where it is kept.
    """
    return a * mask


def set_mode(module, training):
    """Set `training` on a module and on all modules inside it."""
    for part in module.modules():
        part.training = training


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
        if not self.training or self.p == 0:
            return x
        mask = (self.rng.random(x.shape) >= self.p).astype(x.dtype)
        if self.p < 1:
            mask /= 1 - self.p
        return apply(dropout_forward, x, mask=mask)

    def extra_repr(self):
        """The probability."""
        return f"p={self.p}"


def copy_state(module):
    """Copies of all parameters and buffers of a module, at any depth.

    Parameters
    ----------
    module : Module

    Returns
    -------
    dict of str to numpy.ndarray
    """
    return {name: tensor.data.copy() for name, tensor in find_tensors(module, (Parameter, Buffer))}


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
    """
    own = dict(find_tensors(module, (Parameter, Buffer)))
    arrays = {
        name: value.data if isinstance(value, Tensor) else np.asarray(value) for name, value in state.items()
    }
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
