"""What one elementary operation costs, and how many bytes an operand holds."""

import math

import numpy as np
from numpy import generic, ndarray


def words(text):
    return frozenset(text.split())


APART = words("compare logic integer")  # entries that are not FLOPs
_COMPARE = words("""greater greater_equal less less_equal equal not_equal isnan isinf isfinite isnat
    signbit""")
_LOGIC = words("""logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor invert
    left_shift right_shift bitwise_count""")
_COMPLEX = {"add": 2, "subtract": 2, "negative": 2, "multiply": 6, "divide": 11, "absolute": 4}


def _code(value):
    """Letter of the type: i (bool too), f or c; empty for others."""
    if isinstance(value, (ndarray, generic)):
        kind = value.dtype.kind
        return "i" if kind in "biu" else kind if kind in "fc" else ""
    return "f" if isinstance(value, float) else "c" if isinstance(value, complex) else ""


def floating(values):
    return any(_code(value) in ("f", "c") for value in values)


def kind_of(name, values):
    """Entry of ``by_kind`` that an operation belongs to."""
    if name in _COMPARE:
        return "compare"
    if name in _LOGIC:
        return "logic"
    return name if floating(values) else "integer"


def weight(name, values):
    """FLOPs of one elementary operation."""
    if name == "positive":
        return 0
    if any(_code(value) == "c" for value in values):
        return _COMPLEX.get(name, 1)
    return 0 if name == "conjugate" else 1


def entries(name, n, values):
    """What `n` elementary operations cost, as pairs of kind and number."""
    if name == "clip":
        return entries("maximum", n, values) + entries("minimum", n, values)
    return [(kind_of(name, values), n * weight(name, values))]


def products(pairs, sums, values):
    return entries("multiply", pairs, values) + entries("add", sums, values)


def masked(array, where):
    """Number of elements that a ``where=`` mask lets through."""
    return np.size(array) if where is True else int(np.count_nonzero(np.broadcast_to(where, np.shape(array))))


def root(array):
    """The object that owns an array's memory."""
    while True:
        owner = getattr(array, "base", None)
        if owner is None:
            return array.obj if isinstance(array, memoryview) else array
        array = owner


def held(value):
    """Bytes that an operand holds: a broadcast axis (stride 0) counts once. Lists and tuples are searched."""
    if isinstance(value, ndarray):
        if 0 not in value.strides:
            return value.nbytes
        return value.itemsize * math.prod(n for n, step in zip(value.shape, value.strides) if step or not n)
    return sum(map(held, value)) if type(value) in (list, tuple) else 0
