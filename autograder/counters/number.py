"""The counted number: a NumPy scalar or Python float that came from a counted array."""

import math
import operator

import numpy as np
from numpy import asarray, generic, ndarray

from autograder.counters.costs import kind_of, weight, words
from autograder.counters.functions import run_function
from autograder.counters.tally import leave, live
from autograder.counters.ufuncs import run_ufunc
from autograder.counters.windows import bare, bare_kwargs, register, scalar_types, wrap, wrap_python

_REALS = frozenset([float, np.float16, np.float32, np.float64])
_SCALARS = (int, float, complex, generic)
_ARRAY_METHODS = words("""sum mean prod max min std var cumsum cumprod dot clip round trace argmax argmin
    conj conjugate all any""")


def _scalar(name, result, *values):
    """Charge one operation on numbers and give its counted result."""
    tally = live()
    if tally is None:
        return result
    if type(result) in _REALS and name != "positive":      # the common case, kept short: loops live here
        tally.tick(name)
        return Number(result)
    tally.charge([(kind_of(name, (result, *values)), weight(name, values))])
    return wrap_python(result)


class Number:
    """Behaves as its value in promotion, hash and ``isinstance``; counts its arithmetic."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    @property
    def __class__(self):                # so that isinstance answers as for the value
        return type(self.value)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return run_ufunc(ufunc, method, inputs, **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return run_function(function, args, kwargs)

    def __array__(self, dtype=None, copy=None):
        return leave(asarray(self.value, dtype), "conversion to a plain array")

    def __float__(self):
        return leave(float(self.value), "float()")

    def __complex__(self):
        return leave(complex(self.value), "complex()")

    def __reduce_ex__(self, protocol):
        return _rebuild, (self.value,)

    def __getitem__(self, key):
        return wrap(self.value[bare(key)])

    def __round__(self, digits=None):
        return _scalar("rint", round(self.value) if digits is None else round(self.value, digits), self.value)

    def __floor__(self):
        return _scalar("floor", math.floor(self.value), self.value)

    def __ceil__(self):
        return _scalar("ceil", math.ceil(self.value), self.value)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __getattr__(self, name):
        if name.startswith("__array_"):                    # compiled code shall ask __array__, which says so
            raise AttributeError(name)
        if name in _ARRAY_METHODS and isinstance(self.value, generic):
            return getattr(wrap(asarray(self.value)), name)
        attribute = getattr(self.value, name)
        if not callable(attribute):
            return wrap_python(attribute) if live() else attribute
        return lambda *args, **kwargs: wrap_python(attribute(*bare(args), **bare_kwargs(kwargs)))


def _rebuild(value):
    return wrap_python(value) if live() else value


def _as_value(function):
    return lambda self, *args: function(self.value, *args)


def _unary(symbol, name):
    op = getattr(operator, symbol)
    return lambda self: _scalar(name, op(self.value), self.value)


def _binary(symbol, ufunc):
    op, name = getattr(operator, symbol), ufunc.__name__

    def forward(self, other):
        right = other.value if type(other) is Number else other
        if isinstance(right, _SCALARS):
            return _scalar(name, op(self.value, right), self.value, right)
        if isinstance(right, ndarray):
            return ufunc(self, other)
        if isinstance(self.value, generic) and type(right) in (list, tuple):
            op(self.value, bare(right))                    # raises as the scalar would
            return ufunc(self, other)
        return NotImplemented

    def reflected(self, other):
        if isinstance(other, _SCALARS):
            return _scalar(name, op(other, self.value), other, self.value)
        return ufunc(other, self) if isinstance(other, ndarray) else NotImplemented

    return forward, reflected


for _name, _function in {"int": int, "index": operator.index, "bool": bool, "hash": hash, "repr": repr,
                         "str": str, "format": format, "trunc": math.trunc}.items():
    setattr(Number, f"__{_name}__", _as_value(_function))

for _name, _ufunc in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(Number, f"__{_name}__", _unary(f"__{_name}__", _ufunc))

for _name, _ufunc in {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "pow": np.power,
        "floordiv": np.floor_divide, "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or,
        "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift}.items():
    _forward, _reflected = _binary(f"__{_name}__", _ufunc)
    setattr(Number, f"__{_name}__", _forward)
    setattr(Number, f"__r{_name}__", _reflected)

for _name, _ufunc in {"lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
                      "gt": np.greater, "ge": np.greater_equal}.items():
    setattr(Number, f"__{_name}__", _binary(f"__{_name}__", _ufunc)[0])

register(Number, operator.attrgetter("value"), scalar_types)
