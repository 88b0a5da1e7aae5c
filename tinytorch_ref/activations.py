# Built from source/02_activations/02_activations.py by `tinytorch build`; change it there.
"""Activations: the functions between the layers of a network, right for numbers of any size."""

import math

import numpy as np

from tinytorch_ref.tensor import apply

__all__ = [
    "relu_forward", "relu", "sigmoid_forward", "sigmoid", "tanh_forward", "tanh", "BLOCK", "blocks",
    "GELU_SCALE", "GELU_CUBIC", "gelu_forward", "gelu", "sum_along", "row_blocks", "shift_by_max",
    "softmax_forward", "softmax", "log_softmax_forward", "log_softmax",
]


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
    """
    return np.maximum(a, 0)


def relu(x):
    """The positive part of each element of a Tensor.

    Parameters
    ----------
    x : Tensor

    Returns
    -------
    Tensor of the same shape and dtype
    """
    return apply(relu_forward, x)


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
    """
    return np.exp(np.minimum(a, 0)) / (1 + np.exp(-np.abs(a)))


def sigmoid(x):
    """1 / (1 + exp(-x)) of each element of a Tensor: from 0 to 1."""
    return apply(sigmoid_forward, x)


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
    return np.tanh(a)


def tanh(x):
    """Hyperbolic tangent of each element of a Tensor: from -1 to 1."""
    return apply(tanh_forward, x)


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
    """
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


def gelu(x):
    """Gaussian error linear unit of each element of a Tensor, in its tanh form."""
    return apply(gelu_forward, x)


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
    """
    largest = a.max(axis=axis, keepdims=True)
    return a - np.where(largest == -np.inf, 0.0, largest)


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
    """
    p = np.empty(a.shape, np.result_type(a, 0.0))
    for x, out in row_blocks(axis, a, p):
        np.exp(shift_by_max(x, axis), out=out)
        total = sum_along(out, axis)
        total[total == 0] = 1
        out /= total
    return p


def softmax(x, axis=-1):
    """Probabilities along `axis` from the logits in a Tensor; all 0 where all logits are -inf."""
    return apply(softmax_forward, x, axis=axis)


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
    """
    shifted = shift_by_max(a, axis)
    total = sum_along(np.exp(shifted), axis)
    total[total == 0] = 1
    shifted -= np.log(total)
    return shifted


def log_softmax(x, axis=-1):
    """Logarithms of the probabilities along `axis`, from the logits in a Tensor."""
    return apply(log_softmax_forward, x, axis=axis)
