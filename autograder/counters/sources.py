"""Things that hand out values one after the other: iterators over arrays, and random generators."""

import functools
import operator

import numpy as np
from numpy import flatiter, generic, ndarray

from autograder.counters.costs import held
from autograder.counters.functions import move
from autograder.counters.tally import live
from autograder.counters.windows import bare, register, wrap, wrap_python

GENERATORS = (np.random.Generator, np.random.RandomState)
ITERATORS = (np.nditer, np.broadcast)


class _Source:
    """Stands before another object, whose class it claims to have."""

    def __init__(self, source):
        self.__dict__["source"] = source

    @property
    def __class__(self):
        return type(self.source)

    def __setattr__(self, name, value):
        setattr(self.source, name, value)


class Iterator(_Source):
    """`ndarray.flat`, `np.nditer` or `np.broadcast` whose values count."""

    def __iter__(self):
        return self

    def __next__(self):
        return _read(next(self.source))

    def __len__(self):
        return len(self.source)

    def __getitem__(self, key):
        return _read(self.source[bare(key)], held(bare(key)))

    def __setitem__(self, key, value):
        key, value = bare(key), bare(value)
        self.source[key] = value
        if tally := live():
            tally.charge(read=held(value), written=getattr(self.source[key], "nbytes", 0))

    def __array__(self, dtype=None, copy=None):
        return np.array(self.source, dtype)

    def __enter__(self):
        self.source.__enter__()
        return self

    def __exit__(self, *exc):
        return self.source.__exit__(*exc)

    def __getattr__(self, name):
        value = getattr(self.source, name)
        if name == "copy" and isinstance(self.source, flatiter):
            return lambda: self[:]
        return (lambda *args, **kwargs: move(value, args, kwargs)) if callable(value) else wrap(value)


def _read(value, index=0):
    """An element or a copy of some was read; nditer's 0-d views read nothing yet."""
    tally = live()
    if tally is None:
        return value
    if isinstance(value, generic):
        tally.charge(read=value.nbytes)
    elif isinstance(value, ndarray) and value.base is None:
        tally.charge(read=value.nbytes + index, written=value.nbytes, arrays=1)
    return wrap(value)


class Draws(_Source):
    """A random generator whose arrays and floats count."""

    def __getattr__(self, name):
        attribute = getattr(self.source, name)
        return drawing(attribute) if callable(attribute) and not name.startswith("_") else attribute

    def __reduce_ex__(self, protocol):
        return self.source.__reduce_ex__(protocol)


def drawing(function):
    """A function that draws: constants, which cost no FLOPs."""
    @functools.wraps(function)
    def stand_in(*args, **kwargs):
        return wrap_python(move(function, args, kwargs, "draw"))
    return stand_in


_source_of = operator.attrgetter("source")
register(Iterator, _source_of, [flatiter])
register(Draws, _source_of, GENERATORS)
