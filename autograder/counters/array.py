"""The counted array: a window on a plain one that reports what is done with it."""

import numpy as np
from numpy import frombuffer, memmap, ndarray

from autograder.counters import formulas
from autograder.counters.costs import held, root, words
from autograder.counters.functions import charged, construct, move, run_function
from autograder.counters.tally import leave, live, quiet
from autograder.counters.ufuncs import run_ufunc
from autograder.counters.windows import NUMERIC, as_objects, bare, register, wrap, wrap_python

_base_of = ndarray.base.__get__


class _ArrayType(type):
    """`Counted` goes by the name ``np.ndarray`` inside a block: ``isinstance`` must go on accepting every
    array, and a class derived there (by a module imported in the block, say) derives from the real one."""

    def __new__(mcls, name, bases, space, **kwargs):
        if "Counted" not in globals():
            return super().__new__(mcls, name, bases, space)
        return type(name, tuple([ndarray if base is Counted else base for base in bases]), space, **kwargs)

    def __instancecheck__(cls, value):
        return isinstance(value, ndarray)

    def __subclasscheck__(cls, other):
        return issubclass(other, ndarray)


class Counted(ndarray, metaclass=_ArrayType):
    """A window on a plain array (its ``base``), of the same shape and memory."""

    def __new__(cls, *args, **kwargs):
        if cls is not Counted:                             # ndarray.__new__(Derived, ...)
            return ndarray.__new__(cls, *args, **kwargs)
        return construct(ndarray, args, kwargs)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return run_ufunc(ufunc, method, inputs, **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return run_function(function, args, kwargs)

    def __getitem__(self, key):
        plain, key = bare(self), bare(key)
        result = plain[key]
        tally = live()
        if tally is None:
            return result
        if not isinstance(result, ndarray):
            tally.charge(read=plain.itemsize)
        elif root(result) is not root(plain):
            tally.charge(read=result.nbytes + held(key), written=result.nbytes, arrays=1)
        return wrap(result)

    def __setitem__(self, key, value):
        plain, key, value = bare(self), bare(key), bare(value)
        plain[key] = value
        tally = live()
        if tally is not None:
            tally.charge(read=held(value) + held(key), written=plain[key].size * plain.itemsize)

    def __setattr__(self, name, value):
        if name in ("shape", "strides", "dtype"):          # geometry set in place: the window follows
            setattr(bare(self), name, value)
        ndarray.__setattr__(self, name, bare(value))

    def __getattr__(self, name):
        return getattr(bare(self), name)                   # np.memmap's own methods

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value):
        return bool((self == value).any())

    def __float__(self):
        return leave(float(bare(self)), "float()")

    def __complex__(self):
        return leave(complex(bare(self)), "complex()")

    def __reduce_ex__(self, protocol):
        plain = bare(self)
        return _rebuild, (plain.tobytes(), plain.dtype, plain.shape)

    def item(self, *args):
        return _fetch(bare(self).item, args, self.itemsize)

    def tolist(self):
        return _fetch(bare(self).tolist, (), self.nbytes)

    def astype(self, dtype, *args, **kwargs):
        if np.dtype(dtype) == object and live():
            return as_objects(bare(self))
        return move(ndarray.astype, (self, dtype, *args), kwargs)

    def view(self, *args, **kwargs):
        args = [ndarray if a is Counted else a for a in args]
        if kwargs.get("type") is Counted:
            kwargs["type"] = ndarray
        return move(ndarray.view, (self, *args), kwargs)

    def trace(self, offset=0, axis1=0, axis2=1, dtype=None, out=None):
        return self.diagonal(offset, axis1, axis2).sum(-1, dtype=dtype, out=out)

    def fill(self, value):
        self[...] = value

    def put(self, indices, values, mode="raise"):
        indices, values = bare(indices), bare(values)
        with quiet:
            bare(self).put(indices, values, mode)
            n = np.size(indices)
        if tally := live():
            tally.charge(read=held(indices) + held(values), written=n * self.itemsize)


def _rebuild(data, dtype, shape):
    with quiet:
        plain = frombuffer(data, dtype).reshape(shape).copy()
    return wrap(plain) if live() else plain


def _fetch(function, args, size):
    """Values leave an array as Python's numbers, and still count."""
    result = function(*bare(args))
    tally = live()
    if tally is None:
        return result
    tally.charge(read=size)
    return wrap_python(result)


def _shown(function):
    def method(self, *args):
        with quiet:
            return function(bare(self), *args)
    return method


def _property(name):
    def get(self):
        value = getattr(bare(self), name)
        return wrap(value) if live() else value

    def put(self, value):
        get(self)[...] = value
    return property(get, put if name in ("flat", "real", "imag") else None)


def _mover(name):
    own = getattr(ndarray, name)
    return lambda self, *args, **kwargs: move(own, (self, *args), kwargs)


def _kernel(name, cost):
    own = getattr(ndarray, name)
    return lambda self, *args, **kwargs: charged(cost, own, (self, *args), kwargs)


def _spread(name):
    """var or std: beside the result, the array ``x - mean`` is written, squared in place and summed."""
    whole = _kernel(name, formulas.moment(name))

    def method(self, *args, **kwargs):
        result = whole(self, *args, **kwargs)
        if tally := live():
            size = self.size * result.dtype.itemsize
            tally.charge(read=held(bare(self)) + 3 * size, written=2 * size, arrays=1)
        return result
    return method


for _name, _function in {"repr": repr, "str": str, "format": format}.items():
    setattr(Counted, f"__{_name}__", _shown(_function))
for _name in words("T mT base flags flat real imag"):
    setattr(Counted, _name, _property(_name))
for _name in words("""byteswap choose compress copy __copy__ __deepcopy__ diagonal flatten getfield ravel
        repeat reshape squeeze swapaxes take transpose nonzero"""):
    setattr(Counted, _name, _mover(_name))
for _name, _cost in {
        "cumsum": formulas.each("add"), "cumprod": formulas.each("multiply"), "dot": formulas.dot,
        "conj": formulas.each("conjugate"), "conjugate": formulas.each("conjugate"),
        "argmax": formulas.compare, "argmin": formulas.compare, "partition": formulas.compare,
        "argpartition": formulas.compare, "sort": formulas.sort, "argsort": formulas.sort,
        "searchsorted": formulas.searchsorted, "round": formulas.rounding,
        "mean": formulas.moment("mean")}.items():
    setattr(Counted, _name, _kernel(_name, _cost))
Counted.var, Counted.std = _spread("var"), _spread("std")


def _open(window):
    base = _base_of(window)
    return base if type(base) is ndarray or type(base) is memmap else ndarray.view(window, ndarray)


def _close(array):
    return ndarray.view(array, Counted) if array.dtype.kind in NUMERIC else array


register(Counted, _open, [ndarray, memmap], _close)
