# Built from source/01_tensor/01_tensor.py by `tinytorch build`; change it there.
"""Tensor: an array that keeps its precision, knows its cost and sends every operation through one door."""

import math

import numpy as np

__all__ = [
    "Operations", "Tensor", "memory_footprint", "broadcast_shape", "add", "subtract", "multiply", "divide",
    "power", "negative", "absolute", "exp", "log", "sqrt", "equal", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "scalar_power", "cast", "FLOAT64", "keep_precision", "Recorder", "as_tensor",
    "apply", "binary", "matmul", "reduce_sum", "reduce_max", "reduce_mean", "reshape", "permute", "index",
    "plain_key", "one_or_many",
]


class Operations:
    """What can be done with a Tensor: each operator and method hands its operands to a function below."""

    __slots__ = ()

    # Arithmetic, with broadcasting
    def __add__(self, other):
        return binary(add, self, other)

    def __radd__(self, other):
        return binary(add, other, self)

    def __sub__(self, other):
        return binary(subtract, self, other)

    def __rsub__(self, other):
        return binary(subtract, other, self)

    def __mul__(self, other):
        return binary(multiply, self, other)

    def __rmul__(self, other):
        return binary(multiply, other, self)

    def __truediv__(self, other):
        return binary(divide, self, other)

    def __rtruediv__(self, other):
        return binary(divide, other, self)

    def __matmul__(self, other):
        return apply(matmul, self, as_tensor(other, self))

    def __rmatmul__(self, other):
        return apply(matmul, as_tensor(other, self), self)

    def __pow__(self, exponent):
        if isinstance(exponent, (int, float)):
            return apply(scalar_power, self, exponent=exponent)
        return binary(power, self, exponent)

    def __rpow__(self, base):
        return binary(power, base, self)

    def __neg__(self):
        return apply(negative, self)

    def __abs__(self):
        return apply(absolute, self)

    abs = __abs__

    def exp(self):
        """e to the power of each element."""
        return apply(exp, self)

    def log(self):
        """Natural logarithm of each element."""
        return apply(log, self)

    def sqrt(self):
        """Square root of each element."""
        return apply(sqrt, self)

    # Comparison: tensors of booleans, element by element
    def __eq__(self, other):
        return binary(equal, self, other)

    def __ne__(self, other):
        return binary(not_equal, self, other)

    def __lt__(self, other):
        return binary(less, self, other)

    def __le__(self, other):
        return binary(less_equal, self, other)

    def __gt__(self, other):
        return binary(greater, self, other)

    def __ge__(self, other):
        return binary(greater_equal, self, other)

    __hash__ = object.__hash__  # by identity, since == answers element by element

    # Reductions
    def sum(self, axis=None, keepdims=False):
        """Sum over `axis`: None for all, an int, or a tuple of ints."""
        return apply(reduce_sum, self, axis=axis, keepdims=keepdims)

    def mean(self, axis=None, keepdims=False):
        """Mean over `axis`: None for all, an int, or a tuple of ints."""
        return apply(reduce_mean, self, axis=axis, keepdims=keepdims)

    def max(self, axis=None, keepdims=False):
        """Largest element over `axis`: None for all, an int, or a tuple of ints."""
        return apply(reduce_max, self, axis=axis, keepdims=keepdims)

    def argmax(self, axis=None):
        """Index of the largest element; integers carry no gradient."""
        return Tensor.wrap(np.argmax(self.data, axis=axis))

    # Shape
    def reshape(self, *shape):
        """The same elements in another shape; one length may be -1."""
        return apply(reshape, self, shape=one_or_many(shape))

    def permute(self, *axes):
        """The axes in another order."""
        return apply(permute, self, axes=one_or_many(axes))

    def transpose(self, axis0, axis1):
        """The tensor with two of its axes exchanged."""
        axes = list(range(self.ndim))
        axes[axis0], axes[axis1] = axes[axis1], axes[axis0]
        return self.permute(*axes)

    def to(self, dtype):
        """The elements in another precision."""
        return apply(cast, self, dtype=np.dtype(dtype))

    def __getitem__(self, key):
        return apply(index, self, key=plain_key(key))

    def __setitem__(self, key, value):
        if isinstance(value, Tensor):
            if value.requires_grad:
                raise RuntimeError("this would lose the gradient of the value; assign value.data on purpose")
            value = value.data
        self.data[plain_key(key)] = value
        self.version += 1


class Tensor(Operations):
    """An n-dimensional array of numbers of one dtype.

    Parameters
    ----------
    data : number, nested list, numpy.ndarray or Tensor
        The values, of any shape; they are copied.
    dtype : dtype, optional
        Precision. By default real numbers become float32; integers and booleans keep their type.
    requires_grad : bool
        Whether module 06 shall compute a gradient for this tensor.

    Attributes
    ----------
    data : numpy.ndarray
        The values.
    grad : numpy.ndarray or None
        The gradient, of the shape and dtype of `data`, once there is one.
    node : object or None
        The operation that made this tensor, where one was recorded.
    version : int
        How often the values were changed in place, such as by `tensor[key] = value`.

    Raises
    ------
    TypeError
        If `data` does not hold numbers.
    """

    __slots__ = ("data", "grad", "requires_grad", "node", "_version", "__weakref__")
    __array_ufunc__ = None  # so that array * tensor asks the tensor, not NumPy

    def __init__(self, data, dtype=None, requires_grad=False):
        if isinstance(data, Tensor):
            data = data.data
        array = np.array(data, dtype=dtype)
        if array.dtype.kind not in "fiub":
            raise TypeError(
                f"a Tensor holds numbers, but this data has dtype {array.dtype}: {data!r:.60}"
            )
        if dtype is None and array.dtype.kind == "f":
            array = array.astype(np.float32, copy=False)
        self.data = array
        self.grad = None
        self.requires_grad = requires_grad
        self.node = None
        self._version = 0

    @classmethod
    def wrap(cls, array):
        """A tensor around `array` itself: no copy, no change of dtype. NumPy scalars become 0-d arrays."""
        tensor = cls.__new__(cls)
        tensor.data = array if isinstance(array, np.ndarray) else np.asarray(array)
        tensor.grad = None
        tensor.requires_grad = False
        tensor.node = None
        tensor._version = 0
        return tensor

    # What it is
    @property
    def shape(self):
        """Length of each axis, a tuple of ints."""
        return self.data.shape

    @property
    def ndim(self):
        """Number of axes."""
        return self.data.ndim

    @property
    def size(self):
        """Number of elements."""
        return self.data.size

    @property
    def dtype(self):
        """Type of the elements, a numpy.dtype."""
        return self.data.dtype

    @property
    def nbytes(self):
        """Bytes that the elements take: their number times the bytes of one."""
        return self.size * self.dtype.itemsize

    @property
    def T(self):
        """The tensor with its axes reversed, a view."""
        return self.permute(*reversed(range(self.ndim)))

    def memory_footprint(self):
        """Bytes of the data and, once there is one, of the gradient."""
        return memory_footprint(self)

    def item(self):
        """The only element, as a Python number. Raises ValueError if there are more."""
        return self.data.item()

    def numpy(self):
        """The values as an array, not a copy. Raises RuntimeError on a tensor that wants a gradient."""
        if self.requires_grad:
            raise RuntimeError(
                "this tensor requires a gradient, and NumPy would lose it; use tensor.data on purpose"
            )
        return self.data

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __len__(self):
        if not self.ndim:
            raise TypeError("a 0-d tensor has no length")
        return len(self.data)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self.data)

    def __float__(self):
        return float(self.data)

    def __repr__(self):
        values = np.array2string(
            self.data, separator=", ", prefix="Tensor(", threshold=20, precision=4
        )
        grad = ", requires_grad=True" if self.requires_grad else ""
        return f"Tensor({values}, dtype={self.dtype}{grad})"

    # Gradients
    @property
    def version(self):
        """How often the values were changed in place; whoever changes them adds 1, and a recorder is told."""
        return self._version

    @version.setter
    def version(self, count):
        self._version = count
        if Recorder.current is not None:
            Recorder.current.changed(self)

    def backward(self, gradient=None, retain_graph=False):
        """Gradients of this tensor with respect to all that it was made from; module 06 brings them.

        Raises
        ------
        RuntimeError
            While nothing records operations.
        """
        if Recorder.current is None:
            raise RuntimeError(
                "backward() comes with module 06 (autograd): until then nothing records what was computed"
            )
        Recorder.current.backward(self, gradient, retain_graph)


def memory_footprint(tensor):
    """Bytes that a tensor's values take and, once there is one, its gradient.

    Parameters
    ----------
    tensor : Tensor
        Of any shape and dtype.

    Returns
    -------
    int
        Bytes. A view counts what it shows, not the buffer behind it.

    Examples
    --------
    >>> memory_footprint(Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    24
    """
    gradient = 0 if tensor.grad is None else tensor.grad.nbytes
    return tensor.data.nbytes + gradient


def broadcast_shape(first, second):
    """Shape of an elementwise operation on two shapes.

    Parameters
    ----------
    first, second : tuple of int
        Shapes of the two operands.

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError
        If the shapes do not fit; the message names both shapes and the two lengths that clash.

    Examples
    --------
    >>> broadcast_shape((32, 10), (10,))
    (32, 10)
    >>> broadcast_shape((3,), (3, 1))
    (3, 3)
    """
    ndim = max(len(first), len(second))
    padded_first = (1,) * (ndim - len(first)) + tuple(first)
    padded_second = (1,) * (ndim - len(second)) + tuple(second)
    shape = []
    for m, n in zip(padded_first, padded_second):
        if m != n and 1 not in (m, n):
            raise ValueError(
                f"shapes {tuple(first)} and {tuple(second)} do not fit: aligned from the right, "
                f"one axis has length {m} and {n}; lengths must be equal, or one of them 1"
            )
        shape.append(n if m == 1 else m)
    return tuple(shape)


# Primitives on arrays, element by element: NumPy's functions as they are.
add, subtract, multiply, divide, power = np.add, np.subtract, np.multiply, np.divide, np.power
negative, absolute, exp, log, sqrt = np.negative, np.absolute, np.exp, np.log, np.sqrt
equal, not_equal, less, less_equal = np.equal, np.not_equal, np.less, np.less_equal
greater, greater_equal = np.greater, np.greater_equal


def scalar_power(a, exponent):
    """`a` to the power of one Python number; squares and cubes as products, which are far faster."""
    if exponent == 2:
        return a * a
    if exponent == 3:
        return a * a * a
    return a**exponent


def cast(a, dtype):
    """The elements of `a` in another precision."""
    return a.astype(dtype)


FLOAT64 = np.dtype(np.float64)


def keep_precision(result, arrays):
    """`result`, in float32 if it became float64 although no input was, as integers do when divided."""
    if result.dtype == FLOAT64 and not any(array.dtype == FLOAT64 for array in arrays):
        return result.astype(np.float32)
    return result


class Recorder:
    """Where module 06 plugs in.

    While `current` is None nothing is recorded. A recorder has three methods:
    `record(output, primitive, inputs, saved, params)`, called for every operation that passes the door,
    `changed(tensor)`, called when values were changed in place, and `backward(tensor, gradient, retain_graph)`.
    """

    current = None


def as_tensor(value, like):
    """`value` as a tensor that can meet the tensor `like`.

    Parameters
    ----------
    value : Tensor, number, list or numpy.ndarray
        A Tensor is returned as it is.
    like : Tensor
        If it holds real numbers, a plain value takes its dtype; otherwise `Tensor(value)` decides.

    Returns
    -------
    Tensor
    """
    if isinstance(value, Tensor):
        return value
    if like.dtype.kind == "f":
        return Tensor.wrap(np.asarray(value, dtype=like.dtype))
    return Tensor(value)


def apply(primitive, *inputs, **params):
    """The one door: run a primitive on the arrays of `inputs` and wrap what it returns.

    Parameters
    ----------
    primitive : function
        Takes one array an input, and `params`; returns an array, or a tuple `(array, saved)` where `saved` is
        whatever its gradient rule will want again.
    *inputs : Tensor
        The operands.
    **params
        Plain values, such as an axis.

    Returns
    -------
    Tensor
        Of the precision of the inputs: float64 only if an input is.
    """
    arrays = [tensor.data for tensor in inputs]
    result = primitive(*arrays, **params)
    result, saved = result if isinstance(result, tuple) else (result, None)
    output = Tensor.wrap(keep_precision(result, arrays))
    recorder = Recorder.current
    if recorder is not None:
        recorder.record(output, primitive, inputs, saved, params)
    return output


def binary(primitive, left, right):
    """Apply a primitive to two operands, of which either may be a plain number, list or array.

    Raises
    ------
    ValueError
        If their shapes do not broadcast.
    """
    if not isinstance(right, Tensor):
        right = as_tensor(right, left)
    elif not isinstance(left, Tensor):
        left = as_tensor(left, right)
    try:
        return apply(primitive, left, right)
    except ValueError:
        broadcast_shape(left.shape, right.shape)  # if the shapes are to blame, this says so clearly
        raise


def matmul(a, b):
    """Matrix product of two arrays, as `np.matmul` defines it.

    Parameters
    ----------
    a : numpy.ndarray of shape (..., M, K) or (K,)
    b : numpy.ndarray of shape (..., K, N) or (K,)

    Returns
    -------
    numpy.ndarray of shape (..., M, N), without M or N where an operand has one axis

    Raises
    ------
    ValueError
        If an operand has no axis, or the inner lengths differ; the message names both shapes.
    """
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(
            f"matmul of shapes {a.shape} and {b.shape}: a single number is multiplied with *, not with @"
        )
    inner_a, inner_b = a.shape[-1], b.shape[-2:][0]
    if inner_a != inner_b:
        raise ValueError(
            f"matmul of shapes {a.shape} and {b.shape}: the inner lengths {inner_a} and {inner_b} differ"
        )
    return np.matmul(a, b)


def reduce_sum(a, axis=None, keepdims=False):
    """Sum of an array over `axis` (None: all; an int; a tuple of ints)."""
    return a.sum(axis=axis, keepdims=keepdims)


def reduce_max(a, axis=None, keepdims=False):
    """Largest element over `axis`. Raises ValueError if there is none to choose from."""
    return a.max(axis=axis, keepdims=keepdims)


def reduce_mean(a, axis=None, keepdims=False):
    """Mean of an array over `axis`.

    Parameters
    ----------
    a : numpy.ndarray
    axis : None, int or tuple of int
        The axes that go; negative numbers count from the end.
    keepdims : bool
        Whether they stay with length 1.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> reduce_mean(np.array([[1.0, 2.0], [3.0, 6.0]]), axis=0)
    array([2., 4.])
    """
    if axis is None:
        axis = tuple(range(a.ndim))
    axes = (axis,) if isinstance(axis, int) else axis
    return reduce_sum(a, axis, keepdims) / math.prod(a.shape[i] for i in axes)


def reshape(a, shape):
    """The elements of `a` in another shape; one length may be -1. A view where the memory layout allows.

    Raises
    ------
    ValueError
        If the number of elements does not fit.
    """
    return a.reshape(shape)


def permute(a, axes):
    """The axes of `a` in another order, a view: `permute(a, (1, 0))` transposes a matrix."""
    return a.transpose(axes)


def index(a, key):
    """The part of `a` that `key` selects: a view for slices and integers, a copy for lists and masks.

    Parameters
    ----------
    a : numpy.ndarray
    key : int, slice, None, Ellipsis, list, numpy.ndarray, or a tuple of these
    """
    return a[key]


def plain_key(key):
    """An index in which tensors have become arrays."""
    if isinstance(key, tuple):
        return tuple(plain_key(part) for part in key)
    return key.data if isinstance(key, Tensor) else key


def one_or_many(values):
    """`(2, 3)` for the arguments 2, 3 as well as for one argument (2, 3)."""
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], (tuple, list)) else values
