"""What names of NumPy, of `math` and ``float`` mean inside a block, and where they are exchanged."""

import functools
import math
import sys
import types

import numpy as np
from numpy import memmap, ndarray

from autograder.counters.array import Counted
from autograder.counters.costs import words
from autograder.counters.functions import construct, has_cost, run_function
from autograder.counters.number import Number
from autograder.counters.sources import GENERATORS, ITERATORS, Draws, Iterator, drawing
from autograder.counters.tally import live, quiet
from autograder.counters.windows import bare, bare_kwargs, is_counted, wrap, wrap_python

_CONSTRUCTORS = words("""array asarray asanyarray ascontiguousarray asfortranarray zeros ones empty full
    arange linspace logspace geomspace eye identity tri indices fromiter frombuffer fromfile fromstring
    from_dlpack load loadtxt genfromtxt hamming hanning bartlett blackman kaiser""")
_MATH_NAMES = {"fabs": "absolute", "pow": "power", "fmod": "remainder", "asin": "arcsin", "acos": "arccos",
               "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
               "atanh": "arctanh", "fsum": "add", "isnan": "compare", "isinf": "compare",
               "isfinite": "compare", "isclose": "compare"}
# The first six work on integers, prod and sumprod by operators; the others say that a value left.
_MATH_LEFT_ALONE = words("gcd lcm factorial comb perm isqrt prod sumprod dist hypot")
_PUBLIC = words("numpy numpy.linalg numpy.fft numpy.random numpy.lib.stride_tricks")
_OUTSIDE = ("numpy.random.", "numpy.ma", "numpy.testing", "numpy.f2py", "numpy.ctypeslib", "numpy.typing",
            "numpy.polynomial")


def _constructor(function):
    @functools.wraps(function)
    def stand_in(*args, **kwargs):
        return function(*args, **kwargs) if live() is None else construct(function, args, kwargs)
    return stand_in


def _promoting(function):
    """A NumPy function whose plain array arguments become counted, so that the call is seen."""
    @functools.wraps(function)
    def stand_in(*args, **kwargs):
        if live() is None:
            return function(*args, **kwargs)
        if has_cost(function):
            return run_function(function, args, kwargs)
        if args and function.__name__ in ("mean", "var", "std"):
            args = (_counted(args[0]), *args[1:])
        return wrap(function(*[wrap(a) if type(a) is ndarray else a for a in args], **kwargs))
    return stand_in


class _Ufunc:
    """A ufunc that counts on plain arrays, lists and Python numbers too. Equal to the ufunc it stands for."""

    def __init__(self, ufunc):
        self.__wrapped__ = ufunc

    @property
    def __class__(self):
        return np.ufunc

    def __call__(self, *args, **kwargs):
        return self.__wrapped__(*_promoted(args), **kwargs)

    def __getattr__(self, name):
        value = getattr(self.__wrapped__, name)
        if name not in ("reduce", "accumulate", "reduceat", "outer", "at"):
            return value
        return lambda *args, **kwargs: value(*_promoted(args), **kwargs)

    def __eq__(self, other):
        return self.__wrapped__ is getattr(other, "__wrapped__", other)

    def __hash__(self):
        return hash(self.__wrapped__)


def _promoted(args):
    """Arguments of which at least one is counted, so that NumPy tells of the call."""
    if live() is None or not args or any(map(is_counted, args)):
        return args
    return _counted(args[0]), *args[1:]


def _counted(value):
    if type(value) in (list, tuple):
        with quiet:
            value = np.asarray(bare(value))
    return Number(value) if type(value) in (int, float, complex, bool) else wrap(value)


def _math(function):
    """A function of `math` that counts when it is given a counted number."""
    kind = _MATH_NAMES.get(function.__name__, function.__name__)

    @functools.wraps(function)
    def stand_in(*args, **kwargs):
        if kind == "add":
            args = [list(args[0])]
        tally, numbers = live(), args[0] if kind == "add" else args
        if tally is None or not any(map(is_counted, numbers)):
            return function(*args, **kwargs)
        tally.charge([(kind, len(numbers) if kind == "add" else 1)])
        return wrap_python(function(*bare(tuple(args)), **kwargs))
    return stand_in


def _class(original, convert, base=object, **space):
    """A class that makes the original's instances, counted, and accepts the original's in ``isinstance``."""
    class Type(type):
        def __call__(cls, *args, **kwargs):
            if cls is not stand_in:                        # a class derived in the block
                return super().__call__(*args, **kwargs)
            made = original(*bare(args), **bare_kwargs(kwargs))
            return made if live() is None else convert(made, *args)

        def __instancecheck__(cls, value):
            return isinstance(bare(value), original)

        def __subclasscheck__(cls, other):
            return issubclass(other, original)

        def __getattr__(cls, name):
            return getattr(original, name)

        def __eq__(cls, other):
            return other is cls or other is original

        def __hash__(cls):
            return hash(original)

    stand_in = Type(original.__name__, (base,), space)
    return stand_in


# `float` as the walked namespaces see it: ``float(number)`` still counts. NumPy reads the dtype from it.
Float = _class(float, lambda made, value=0.0: Number(made) if is_counted(value) else made,
               float, dtype=np.dtype(float))


@functools.cache
def stand_ins():
    """Stand-ins by the id of what they stand for: those for NumPy's own modules, and all of them."""
    made = [np.lib.stride_tricks.as_strided, *(getattr(np, name) for name in _CONSTRUCTORS)]
    inner = {id(f): (f, _constructor(f)) for f in made}
    outer = {id(ndarray): (ndarray, Counted)}
    for module in (np, np.linalg, np.fft, np.lib.stride_tricks):
        for f in vars(module).values():
            if isinstance(f, np.ufunc):
                outer[id(f)] = f, _Ufunc(f)
            elif hasattr(f, "_implementation") and id(f) not in inner:
                table = outer if isinstance(f._implementation, types.FunctionType) else inner
                table[id(f)] = f, _promoting(f)
    for name, f in vars(np.random).items():
        drawn = isinstance(f, types.BuiltinMethodType) and isinstance(f.__self__, np.random.RandomState)
        if drawn and name not in ("seed", "get_state", "set_state") or f is np.random.default_rng:
            outer[id(f)] = f, drawing(f)
    for kinds, form in ((GENERATORS, Draws), (ITERATORS, Iterator), ((memmap,), wrap)):
        outer |= {id(kind): (kind, _class(kind, lambda made, *args, form=form: form(made))) for kind in kinds}
    for f in vars(math).values():
        if isinstance(f, types.BuiltinFunctionType) and f.__name__ not in _MATH_LEFT_ALONE:
            outer[id(f)] = f, _math(f)
    return inner, inner | outer


@functools.cache
def _originals():
    return {id(stand_in): f for f, stand_in in stand_ins()[1].values()} | {id(Float): float}


def swap_in(value):
    """What a value becomes at the start of a block."""
    found = stand_ins()[1].get(id(value))
    return found[1] if found else value if type(value) in (list, tuple) else wrap(value)


def swap_out(value):
    """What a value becomes at the end of a block."""
    return bare(value) if is_counted(value) else _originals().get(id(value), value)


@functools.lru_cache(maxsize=1)
def places(names):
    """Where the stand-ins go: (namespace, name, original, stand-in)."""
    inner, every = stand_ins()
    found = [(vars(math), name, f, every[id(f)][1]) for name, f in vars(math).items() if id(f) in every]
    for module_name in names:
        if not module_name.startswith(_OUTSIDE):
            table, space = every if module_name in _PUBLIC else inner, vars(sys.modules[module_name])
            found += [(space, name, f, table[id(f)][1]) for name, f in space.items() if id(f) in table]
    return found
