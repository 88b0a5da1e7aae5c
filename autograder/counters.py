"""Count the arithmetic that NumPy executes in a block, and the bytes it touches.

    with count() as c:
        y = x @ w
    c.flops, c.by_kind, c.bytes_read, c.bytes_written, c.arrays, c.complete, c.why

    with peak_memory() as m:
        y = x @ w
    m.peak_bytes, m.kept_bytes, m.arrays_left

A count is a figure about the algorithm, not about the way it is written: three loops over Python numbers, a
broadcast product that is summed, ``einsum`` and ``@`` all count ``2 * M * K * N`` for a product of ``(M, K)``
with ``(K, N)``.


How it works
------------
Inside the block, arrays are `Counted`: a subclass of ``ndarray`` that is a window on a plain array (its
``base``) and reports, through NumPy's protocols ``__array_ufunc__`` and ``__array_function__``, what is done
with it. An element of such an array is a `Number`: it holds a NumPy scalar or a Python float, behaves as that
scalar does (promotion, hash, ``isinstance``) and counts its own arithmetic. ``item()`` and ``tolist()`` give
Numbers too, so loops over Python floats count.

Arrays made before the block are found by a walk. It starts at the caller's local and global names, follows
dicts, lists, tuples, attributes and slots of objects, bound methods, closures, defaults and globals of
functions, and does not enter the standard library or installed packages (``tinytorch_ref`` and
``my_tinytorch`` excepted). Each array is exchanged for one window on the same memory; nothing is copied.
While the block runs, names of NumPy (``np.zeros``, ``np.exp``, ``np.random.default_rng`` ...), of `math`, and
``float`` as the walked namespaces see it, are stand-ins that keep results counted. References to those
functions that were bound earlier (``from numpy import zeros``) are exchanged as well. At the end of the
block, also after an exception, a second walk puts the plain arrays back (the very same objects) and the
originals return to their places. Outside a block nothing is patched and nothing costs anything.


Convention for FLOPs
--------------------
* A multiply-add is 2: one "multiply" and one "add".
* Elementwise arithmetic costs 1 per element of the result: add, subtract, multiply, divide, negative,
  absolute, square, maximum, minimum, power, remainder, floor ... So does every function: exp, log, sqrt,
  tanh, sin ... Each is its own entry in ``by_kind``, under NumPy's name. ``clip`` with two bounds is a
  maximum and a minimum.
* A reduction of n elements costs n (not n - 1), so does an accumulation. A loop that starts from ``s = 0.0``
  does just that, which is why loops and reductions agree. A loop that starts from the first term really does
  one addition less per output, and counts so.
* ``mean`` is n adds and a divide per output; ``var`` is 4n + 2k for k outputs (mean, subtract, multiply, sum,
  divide); ``std`` adds k square roots.
* ``matmul``, ``dot``, ``inner``, ``vdot``, ``vecdot``, ``matvec``, ``vecmat``, ``tensordot``: 2 * (outputs) *
  (summed length). ``outer`` has nothing to sum: 1 an output.
* ``einsum``, with P the product of all index ranges: P multiplies for each operand after the first, and P
  adds if any index is summed. Three operands or more with ``optimize`` follow the path that
  `numpy.einsum_path` reports.
* ``convolve`` and ``correlate``: a multiply-add for each pair of overlapping elements.
* FFT of length n: 5 n log2 n complex, 2.5 n log2 n real (the figure by which FFTW's benchmarks normalise; an
  estimate, rounded).
* Complex numbers: add, subtract, negative 2; multiply 6; divide 11; absolute 4; other functions 1.
* Listed apart, not in ``flops``: "compare" (<, ==, isnan ..., argmax n, sorting n elements n * ceil(log2 n),
  searching), "logic" (and, or, not, shifts) and "integer" (all arithmetic in which no floating-point number
  takes part, such as index computations). Python's ``max(a, b)`` compares; ``np.maximum`` is counted as
  arithmetic.
* Moving is free in FLOPs: copies, casts, indexing, ``where``, ``concatenate``, ``transpose``, and constants
  (``zeros``, ``arange``, ``linspace``, random draws).


Convention for bytes and arrays
-------------------------------
* ``bytes_read``: for each operation, the bytes of its array operands; ``bytes_written``: those of its array
  results. An operand used twice is read twice; a broadcast operand is read at the size it holds, not the size
  it is stretched to. Python numbers and NumPy scalars are free; reading one element of an array reads its
  itemsize.
* A view reads and writes nothing. Indexing by an array reads what it fetches and the index. ``zeros``,
  ``empty`` and the like write their result.
* ``arrays``: results that own new memory. Views and ``out=`` make none.
* Functions that NumPy writes in C are one operation; buffers inside them (BLAS, casts) are not seen.
  Functions that NumPy writes in Python count the operations that they call, temporaries included.


What can't be seen
------------------
Wherever a value is known to leave for where its arithmetic can't be followed, ``complete`` turns False and
``why`` says how: ``float()`` in a module that is not walked, a NumPy scalar type called on a number
(``np.float32(s)``), ``"%f" % s`` (an f-string is fine), and LAPACK (``solve``, ``svd`` ...), which has no
exact count. Integers from ``int()``, ``item()`` and ``tolist()`` are plain: integer work is not in FLOPs.

Not noticed: operators on plain arrays that no walked name reaches (made by compiled libraries, or held by
iterators made before the block) unless the other operand is counted; masked arrays and matrices; arithmetic
on Python floats that never were in an array; the bytes of a copy made by a type call on an array
(``np.float32(a)``). ``type(s) is float`` is False for a Number: use ``isinstance``. A value handed out by
``return`` inside the block stays a window; what is computed from it afterwards is plain.

All threads count while a block is open. Blocks may be nested: each counts.
"""

import builtins
import collections
import functools
import gc
import math
import operator
import os
import sys
import sysconfig
import threading
import tracemalloc
import types

import numpy as np

__all__ = ["count", "peak_memory"]

_ndarray = np.ndarray
_generic, _memmap = np.generic, np.memmap
_array, _asarray = np.array, np.asarray
_base_of = np.ndarray.base.__get__
_NUMERIC = "biufc"
_APART = {"compare", "logic", "integer"}


def _words(text):
    return frozenset(text.split())


# --- State --------------------------------------------------------------------------------------------------

class _Local(threading.local):
    quiet = 0


_local = _Local()
_lock = threading.RLock()
_session = None                     # the open _Session, or None


def _live():
    """The open session, or None when nothing counts: outside a block, or in what is charged as a whole."""
    return None if _local.quiet else _session


class _Quiet:
    """Within it nothing counts: for the inner workings of an operation that is charged as a whole."""

    def __enter__(self):
        _local.quiet += 1

    def __exit__(self, *exc):
        _local.quiet -= 1


_quiet = _Quiet()


# --- Windows on arrays, and numbers -------------------------------------------------------------------------

def bare(value):
    """The plain value behind a counted one; lists and tuples are searched."""
    kind = type(value)
    if kind is Counted:
        base = _base_of(value)
        return base if type(base) is _ndarray or type(base) is _memmap else _ndarray.view(value, _ndarray)
    if kind is Number:
        return value.value
    if kind is list:
        return [bare(item) for item in value]
    if kind is tuple:
        return tuple([bare(item) for item in value])
    if kind is _Draws or kind is _Iterator:
        return value.source
    return value


def _bare_kwargs(kwargs):
    return {name: bare(value) for name, value in kwargs.items()} if kwargs else kwargs


def wrap(value):
    """Counted form of a value that NumPy returned: arrays, scalars, tuples and lists of them. Others pass."""
    kind = type(value)
    if kind is _ndarray or kind is _memmap:
        return _ndarray.view(value, Counted) if value.dtype.kind in _NUMERIC else value
    if kind is Counted or kind is Number:
        return value
    if isinstance(value, _generic):
        return Number(value) if value.dtype.kind in _NUMERIC else value
    if kind is tuple:
        return tuple([wrap(item) for item in value])
    if kind is list:
        return [wrap(item) for item in value]
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(wrap, value))
    return value


def _wrap_python(value):
    """As `wrap`, but Python's floats become Numbers too: for `item`, `tolist` and random draws."""
    if type(value) is float or type(value) is complex:
        return Number(value)
    if type(value) is list:
        return [_wrap_python(item) for item in value]
    return wrap(value)


def _as_objects(array):
    """Object array whose floats are Numbers, so that what np.vectorize calls still counts."""
    objects = array.astype(object)
    if array.dtype.kind in "fc":
        for index, item in enumerate(objects.flat):
            objects.flat[index] = Number(item)
    return objects


_PROTOCOLS = frozenset(["__new__", "__array_ufunc__", "__array_function__"])


class _ArrayType(type):
    """`Counted` goes by the name ``np.ndarray`` inside a block: ``isinstance`` must go on accepting every
    array, and a class derived there (by a module imported in the block, say) derives from the real one."""

    def __new__(mcls, name, bases, space, **kwargs):
        if "Counted" not in globals():
            return super().__new__(mcls, name, bases, space)
        return type(name, tuple([_ndarray if base is Counted else base for base in bases]), space, **kwargs)

    def __getattribute__(cls, name):
        """A method taken from the class (``np.ndarray.view``) must also serve arrays that are not counted."""
        attribute = super().__getattribute__(name)
        if not isinstance(attribute, types.FunctionType) or name in _PROTOCOLS:
            return attribute

        def method(self, *args, **kwargs):
            own = attribute if type(self) is Counted else getattr(_ndarray, name)
            return own(self, *args, **kwargs)
        return method

    def __instancecheck__(cls, value):
        return isinstance(value, _ndarray)

    def __subclasscheck__(cls, other):
        return issubclass(other, _ndarray)


class Counted(_ndarray, metaclass=_ArrayType):
    """A window on a plain array, of the same shape and memory, that reports what is done with it."""

    def __new__(cls, *args, **kwargs):
        if cls is not Counted:                             # ndarray.__new__(Derived, ...)
            return _ndarray.__new__(cls, *args, **kwargs)
        return _construct(_ndarray, args, kwargs)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _run_ufunc(ufunc, method, inputs, **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return _run_function(function, args, kwargs)

    def __getitem__(self, key):
        plain, key = bare(self), bare(key)
        result = plain[key]
        session = _live()
        if session is None:
            return result
        if type(result) in _REALS:
            session.charge(read=plain.itemsize)
            return Number(result)
        if isinstance(result, _ndarray):
            if _root(result) is not _root(plain):
                session.charge(read=result.nbytes + _held(key), written=result.nbytes, arrays=1)
        elif plain.dtype.kind in _NUMERIC:
            session.charge(read=plain.itemsize)
        return wrap(result)

    def __setitem__(self, key, value):
        plain, key, value = bare(self), bare(key), bare(value)
        plain[key] = value
        session = _live()
        if session is not None:
            session.charge(read=_held(value) + _held(key), written=plain[key].size * plain.itemsize)

    def __setattr__(self, name, value):
        if name in ("shape", "strides", "dtype"):          # geometry set in place: the window follows
            setattr(bare(self), name, value)
        _ndarray.__setattr__(self, name, bare(value))

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value):
        return bool((self == value).any())

    def __float__(self):
        return _leave(float(bare(self)), "float()")

    def __complex__(self):
        return _leave(complex(bare(self)), "complex()")

    def __int__(self):
        return int(bare(self))

    def __repr__(self):
        with _quiet:
            return repr(bare(self))

    def __str__(self):
        with _quiet:
            return str(bare(self))

    def __format__(self, spec):
        with _quiet:
            return format(bare(self), spec)

    def __reduce_ex__(self, protocol):
        plain = bare(self)
        return _unpickle, (plain.tobytes(), plain.dtype, plain.shape)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy(order="K")

    def __getattr__(self, name):
        return getattr(bare(self), name)                   # np.memmap's own methods

    def item(self, *args):
        return _fetch(self, "item", args)

    def tolist(self):
        return _fetch(self, "tolist", ())

    def astype(self, dtype, *args, **kwargs):
        if np.dtype(dtype) == object and _live():
            return _as_objects(bare(self))
        return _move(bare(self).astype, (dtype, *args), kwargs, self)

    def view(self, *args, **kwargs):
        args = tuple([_ndarray if a is Counted else a for a in args])
        if kwargs.get("type") is Counted:
            kwargs["type"] = _ndarray
        return _move(bare(self).view, args, kwargs, self)

    @property
    def T(self):
        return wrap(bare(self).T) if _live() else bare(self).T

    @property
    def mT(self):
        return wrap(bare(self).mT) if _live() else bare(self).mT

    @property
    def base(self):
        base = bare(self).base
        return wrap(base) if _live() else base

    @property
    def flags(self):
        return bare(self).flags

    @property
    def flat(self):
        return _Flat(bare(self))

    @flat.setter
    def flat(self, value):
        self.flat[:] = value

    @property
    def real(self):
        return wrap(bare(self).real) if _live() else bare(self).real

    @real.setter
    def real(self, value):
        self.real[...] = value

    @property
    def imag(self):
        return wrap(bare(self).imag) if _live() else bare(self).imag

    @imag.setter
    def imag(self, value):
        self.imag[...] = value

    def mean(self, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
        return _moment(self, "mean", where, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, **kwargs):
        kwargs.update(axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)
        return _moment(self, "var", where, out, **kwargs)

    def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, **kwargs):
        kwargs.update(axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)
        return _moment(self, "std", where, out, **kwargs)

    def dot(self, other, out=None):
        return np.dot(self, other, out=out)

    def trace(self, offset=0, axis1=0, axis2=1, dtype=None, out=None):
        return self.diagonal(offset, axis1, axis2).sum(-1, dtype=dtype, out=out)


class Number:
    """A NumPy scalar or Python float from a counted array: behaves as its value, counts its arithmetic."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    @property
    def __class__(self):                                   # so that isinstance answers as for the value
        return type(self.value)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _run_ufunc(ufunc, method, inputs, **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        return _run_function(function, args, kwargs)

    def __array__(self, dtype=None, copy=None):
        return _leave(_asarray(self.value, dtype), "conversion to a plain array")

    def __float__(self):
        return _leave(float(self.value), "float()")

    def __complex__(self):
        return _leave(complex(self.value), "complex()")

    def __int__(self):
        return int(self.value)

    def __index__(self):
        return operator.index(self.value)

    def __bool__(self):
        return bool(self.value)

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return repr(self.value)

    def __str__(self):
        return str(self.value)

    def __format__(self, spec):
        return format(self.value, spec)

    def __reduce_ex__(self, protocol):
        return _same, (self.value,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __getitem__(self, key):
        return wrap(self.value[bare(key)])

    def __round__(self, digits=None):
        return _scalar("rint", round(self.value) if digits is None else round(self.value, digits), self.value)

    def __floor__(self):
        return _scalar("floor", math.floor(self.value), self.value)

    def __ceil__(self):
        return _scalar("ceil", math.ceil(self.value), self.value)

    def __trunc__(self):
        return math.trunc(self.value)

    def __getattr__(self, name):
        if name.startswith("__array_"):                    # compiled code shall ask __array__, which says so
            raise AttributeError(name)
        if name in _ARITHMETIC_METHODS and isinstance(self.value, _generic):
            return getattr(wrap(_asarray(self.value)), name)
        attribute = getattr(self.value, name)
        if not callable(attribute):
            return _wrap_python(attribute) if _session else attribute
        return lambda *args, **kwargs: _wrap_python(attribute(*bare(args), **_bare_kwargs(kwargs)))


def _same(value):
    return value


def _unpickle(data, dtype, shape):
    with _quiet:
        plain = np.frombuffer(data, dtype).reshape(shape).copy()
    return wrap(plain) if _live() else plain


_ARITHMETIC_METHODS = _words("""sum mean prod max min std var cumsum cumprod dot clip round trace argmax
    argmin conj conjugate all any""")


def _leave(value, how):
    """A value goes where its arithmetic can't be seen."""
    session = _live()
    if session is not None:
        session.mark(f"a value left by {how}")
    return value


def _scalar(name, result, *values):
    """Charge one scalar operation and wrap its result."""
    session = _live()
    if session is None:
        return result
    if type(result) in _REALS and name != "positive":      # the common case, kept short: loops live here
        session.tick(name)
        return Number(result)
    session.charge([(_kind(name, (result, *values)), _weight(name, values))])
    return _wrap_python(result)


_REALS = frozenset([float, np.float16, np.float32, np.float64])
_SCALARS = (int, float, complex, _generic)


def _binary(symbol, ufunc):
    op = getattr(operator, symbol)
    name = ufunc.__name__

    def forward(self, other):
        right = other.value if type(other) is Number else other
        if isinstance(right, _SCALARS):
            return _scalar(name, op(self.value, right), self.value, right)
        if isinstance(right, _ndarray):
            return ufunc(self, other)
        if isinstance(self.value, _generic) and type(right) in (list, tuple):
            op(self.value, bare(right))                    # raises as the scalar would
            return ufunc(self, other)
        return NotImplemented

    def reflected(self, other):
        if isinstance(other, _SCALARS):
            return _scalar(name, op(other, self.value), other, self.value)
        if isinstance(other, _ndarray):
            return ufunc(other, self)
        return NotImplemented

    return forward, reflected


for _symbol, _ufunc in {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "pow": np.power,
        "floordiv": np.floor_divide, "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or,
        "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift}.items():
    _forward, _reflected = _binary(f"__{_symbol}__", _ufunc)
    setattr(Number, f"__{_symbol}__", _forward)
    setattr(Number, f"__r{_symbol}__", _reflected)

for _symbol, _ufunc in {"lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
                        "gt": np.greater, "ge": np.greater_equal}.items():
    setattr(Number, f"__{_symbol}__", _binary(f"__{_symbol}__", _ufunc)[0])


def _unary(symbol, name):
    op = getattr(operator, symbol)
    return lambda self: _scalar(name, op(self.value), self.value)


for _symbol, _name in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(Number, f"__{_symbol}__", _unary(f"__{_symbol}__", _name))

Number.__divmod__ = lambda self, other: (self // other, self % other)
Number.__rdivmod__ = lambda self, other: (other // self, other % self)


class _Flat:
    """`ndarray.flat` whose elements count."""

    def __init__(self, plain):
        self.plain, self.iterator = plain, plain.flat

    def __iter__(self):
        return self

    def __next__(self):
        value = next(self.iterator)
        session = _live()
        if session is None:
            return value
        session.charge(read=self.plain.itemsize)
        return wrap(value)

    def __len__(self):
        return len(self.iterator)

    def __getitem__(self, key):
        result = self.iterator[bare(key)]
        session = _live()
        if session is None:
            return result
        if isinstance(result, _ndarray):
            session.charge(read=result.nbytes + _held(bare(key)), written=result.nbytes, arrays=1)
        else:
            session.charge(read=self.plain.itemsize)
        return wrap(result)

    def __setitem__(self, key, value):
        key, value = bare(key), bare(value)
        self.iterator[key] = value
        session = _live()
        if session is not None:
            session.charge(read=_held(value), written=np.size(self.iterator[key]) * self.plain.itemsize)

    def __array__(self, dtype=None, copy=None):
        return self.iterator.__array__()

    def __getattr__(self, name):
        return _wrap_python(getattr(self.iterator, name)) if name != "copy" else lambda: self[:]


# --- What an operation costs --------------------------------------------------------------------------------

_COMPARE = _words("""greater greater_equal less less_equal equal not_equal isnan isinf isfinite isnat
    signbit""")
_LOGIC = _words("""logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor invert
    left_shift right_shift bitwise_count""")
_COMPLEX = {"add": 2, "subtract": 2, "negative": 2, "multiply": 6, "divide": 11, "absolute": 4}
_PRODUCTS = {"matmul", "vecdot", "matvec", "vecmat"}
_FFT = {"fft": 5, "ifft": 5, "rfft_n_even": 2.5, "rfft_n_odd": 2.5, "irfft": 2.5}


def _root(array):
    """The object that owns an array's memory."""
    while True:
        owner = getattr(array, "base", None)
        if owner is None:
            return array.obj if isinstance(array, memoryview) else array
        array = owner


def _held(value):
    """Bytes that an operand holds: a broadcast axis (stride 0) counts once. Lists and tuples are searched."""
    if isinstance(value, _ndarray):
        if 0 not in value.strides:
            return value.nbytes
        return value.itemsize * math.prod(n for n, step in zip(value.shape, value.strides) if step or not n)
    if type(value) in (list, tuple):
        return sum(map(_held, value))
    return 0


def _code(value):
    """Letter of the type: i (bool too), f or c; empty for others."""
    if isinstance(value, (_ndarray, _generic)):
        kind = value.dtype.kind
        return "i" if kind in "biu" else kind if kind in "fc" else ""
    return "f" if isinstance(value, float) else "c" if isinstance(value, complex) else ""


def _kind(name, values):
    """Entry of ``by_kind`` that an operation belongs to."""
    if name in _COMPARE:
        return "compare"
    if name in _LOGIC:
        return "logic"
    return name if any(_code(value) in ("f", "c") for value in values) else "integer"


def _weight(name, values):
    """FLOPs of one elementary operation."""
    if name == "positive":
        return 0
    if any(_code(value) == "c" for value in values):
        return _COMPLEX.get(name, 1)
    return 0 if name == "conjugate" else 1


def _entries(name, n, values):
    """What `n` elementary operations cost, as pairs of kind and number."""
    if name == "clip":
        return _entries("maximum", n, values) + _entries("minimum", n, values)
    return [(_kind(name, values), n * _weight(name, values))]


def _products(pairs, sums, values):
    return _entries("multiply", pairs, values) + _entries("add", sums, values)


def _masked(n, shape, where):
    """Number of elements that a ``where=`` mask lets through."""
    return n if where is True else int(np.count_nonzero(np.broadcast_to(where, shape)))


def _run_ufunc(ufunc, method, inputs, out=None, **kwargs):
    """Run a ufunc on plain arrays, charge it, and give counted results."""
    session = _live()
    plain = bare(inputs)
    kwargs = _bare_kwargs(kwargs)
    if session is not None and ufunc.types and all(types.strip("O") == "->" for types in ufunc.types):
        plain = tuple([_as_objects(a) if isinstance(a, _ndarray) and a.dtype.kind in "fc" else a
                       for a in inputs])
    if out is not None:
        kwargs["out"] = bare(out)
        if any(type(o) is Number for o in out):            # NumPy's own code asked for a 0-d array by out=...
            kwargs["out"] = tuple([_array(o) if isinstance(o, _generic) else o for o in kwargs["out"]])
    _local.quiet += 1
    try:
        result = getattr(ufunc, method)(*plain, **kwargs)
        if session is not None and result is not NotImplemented:
            _charge_ufunc(session, ufunc, method, plain, kwargs, out is not None, result)
    finally:
        _local.quiet -= 1
    if out is not None:
        for number, array in zip(out, kwargs["out"]):
            if type(number) is Number:
                number.value = array[()]
        return out[0] if len(out) == 1 else out
    return result if session is None else wrap(result)


def _charge_ufunc(session, ufunc, method, plain, kwargs, given, result):
    name = ufunc.__name__
    if method == "at":
        n = plain[0][plain[1]].size
        touched = n * plain[0].itemsize
        session.charge(_entries(name, n, plain), touched + _held(plain[1:]), touched)
        return
    results = result if isinstance(result, tuple) else (result,)
    first, output = plain[0], results[0]
    if not isinstance(output, (_ndarray, _generic, float, int, complex, bool)):
        return
    values = (*plain, *results)
    size = getattr(output, "size", 1)
    where = kwargs.get("where", True)
    if getattr(output, "dtype", None) == object:
        costs = []
    elif ufunc.signature is not None:
        costs = _gufunc_entries(session, name, plain, kwargs, output, values)
    elif method in ("reduce", "accumulate"):
        costs = _entries(name, _masked(np.size(first), np.shape(first), where), values)
    elif method == "reduceat":
        costs = _entries(name, _covered(first, plain[1], kwargs.get("axis", 0)), values)
    else:
        costs = _entries(name, len(results) * _masked(size, getattr(output, "shape", ()), where), values)
    fresh = [r for r in results if isinstance(r, _ndarray)]
    written = sum(r.nbytes for r in fresh)
    session.charge(costs, _held(plain) + _held(where), written, 0 if given else len(fresh))


def _covered(array, indices, axis):
    """Elements that `ufunc.reduceat` visits."""
    array, indices = np.asarray(array), np.asarray(indices)
    length = array.shape[axis]
    ends = np.append(indices[1:], length)
    return int(np.maximum(ends - indices, 1).sum()) * (array.size // max(length, 1))


def _gufunc_entries(session, name, plain, kwargs, output, values):
    if name in _PRODUCTS:
        axis = kwargs["axes"][0][-1] if "axes" in kwargs and name != "vecdot" else kwargs.get("axis", -1)
        if name == "vecdot" and "axes" in kwargs:
            axis = np.ravel(kwargs["axes"][0])[0]
        pairs = np.size(output) * np.shape(plain[0])[axis]
        return _products(pairs, pairs, values)
    if name in _FFT:
        axis = kwargs["axes"][-1][0] if "axes" in kwargs else -1
        n = output.shape[axis]
        transforms = output.size // max(n, 1)
        if name.startswith("rfft"):
            n = 2 * (n - 1) + (name == "rfft_n_odd")
        return [("fft", transforms * round(_FFT[name] * n * math.log2(n)) if n > 1 else 0)]
    session.mark(f"{name} has no exact count")
    return []


_PRINTERS = _words("array_repr array_str array2string save savez savez_compressed savetxt")
_QUESTIONS = _words("""shape ndim size result_type can_cast min_scalar_type common_type iscomplexobj
    isrealobj may_share_memory shares_memory einsum_path""")
_FETCHES = _words("""take take_along_axis compress extract choose diagonal diag tril triu delete unstack
    split array_split nonzero argwhere flatnonzero""")
_MOVES = _FETCHES | _words("""concatenate concat stack hstack vstack dstack column_stack block where copy
    reshape ravel transpose permute_dims matrix_transpose moveaxis rollaxis swapaxes squeeze expand_dims
    atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays repeat tile roll rot90 flip fliplr flipud
    hsplit vsplit dsplit select diagflat insert append resize zeros_like ones_like empty_like full_like
    sliding_window_view as_strided packbits unpackbits unravel_index ravel_multi_index trim_zeros meshgrid ix_
    linspace logspace geomspace count_nonzero""")
_FRESH = _words("zeros_like ones_like empty_like full_like linspace logspace geomspace")


def _run_function(function, args, kwargs):
    """Run a NumPy function that was given something counted."""
    session = _live()
    name = function.__name__
    implementation = getattr(function, "_implementation", None)
    if session is None or name in _PRINTERS or name in _QUESTIONS:
        with _quiet:
            return function(*bare(args), **_bare_kwargs(kwargs))
    if name in _FORMULAS:
        return _FORMULAS[name](session, function, args, kwargs)
    if name in _MOVES:
        return _move(function, args, kwargs)
    if isinstance(implementation, types.FunctionType):     # NumPy's Python: what it calls counts itself
        return wrap(implementation(*args, **kwargs))
    with _quiet:
        result = function(*bare(args), **_bare_kwargs(kwargs))
    if any(_code(value) in ("f", "c") for value in (result if isinstance(result, tuple) else (result,))):
        session.mark(f"{name} has no exact count")
    return wrap(result)


def _move(function, args, kwargs, source=None):
    """Run something that moves values without computing: no FLOPs, but bytes and perhaps new arrays."""
    windows = (source, *args)
    args, kwargs = bare(args), _bare_kwargs(kwargs)
    with _quiet:
        result = function(*args, **kwargs)
    session = _live()
    if session is None:
        return result
    _charge_move(session, function.__name__, (bare(source), *args, *kwargs.values()), result, "out" in kwargs)
    return _window_of(result, windows)


def _window_of(result, windows):
    """Wrap a result; one that is an operand itself (``asarray``, ``copy=False``) stays the same object."""
    for window in windows:
        if type(window) is Counted and bare(window) is result:
            return window
    return wrap(result)


def _arrays_in(values):
    for value in values:
        if isinstance(value, _ndarray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _arrays_in(value)


def _charge_move(session, name, operands, result, given=False):
    sources = list(_arrays_in(operands))
    owners = {id(_root(a)) for a in sources}
    fresh = [r for r in _arrays_in([result]) if given or id(_root(r)) not in owners]
    if not fresh:
        return
    written = sum(r.nbytes for r in fresh)
    if name in _FRESH:
        read = 0
    elif name in _FETCHES:
        read = written + sum(map(_held, sources[1:]))
    else:
        read = sum(map(_held, sources))
    session.charge(read=read, written=written, arrays=0 if given else len(fresh))


def _fetch(array, name, args):
    """`item` and `tolist`: values leave the array as Numbers."""
    plain = bare(array)
    result = getattr(plain, name)(*bare(args))
    session = _live()
    if session is None:
        return result
    session.charge(read=plain.itemsize if name == "item" else plain.nbytes)
    return _wrap_python(result)


def _moment(array, name, where, out=None, **kwargs):
    """mean, var and std: NumPy's own functions, charged as a whole."""
    plain, where = bare(array), bare(where)
    if where is not True:
        kwargs["where"] = where
    with _quiet:
        result = getattr(plain, name)(out=bare(out), **_bare_kwargs(kwargs))
        n = _masked(plain.size, plain.shape, where)
    session = _live()
    if session is None:
        return result
    k, values = np.size(bare(result)), (plain, result)
    costs = _entries("add", n, values) + _entries("divide", k, values)
    fresh = isinstance(result, _ndarray)
    read, written, arrays = _held(plain), result.nbytes if fresh else 0, int(fresh and out is None)
    if name != "mean":
        for step in ("subtract", "multiply", "add"):
            costs += _entries(step, n, values)
        costs += _entries("divide", k, values)
        deviations = plain.size * result.dtype.itemsize    # the temporary x - mean: squared in place, summed
        read, written, arrays = 2 * read + 3 * deviations, written + 2 * deviations, arrays + 1
    if name == "std":
        costs += _entries("sqrt", k, values)
    session.charge(costs, read, written, arrays)
    return out if out is not None else wrap(result)


# --- C kernels by formula: each gives the cost of one call, from plain arguments and result -----------------

def _log2(n):
    return max(n - 1, 0).bit_length()                      # ceil(log2(n))


def _sorted_cost(array, axis=-1):
    n = array.size if axis is None else array.shape[axis] if array.ndim else 1
    return [("compare", array.size * _log2(n))]


def _cost_dot(result, a, b, out=None):
    a, b = np.asarray(a), np.asarray(b)
    pairs = np.size(result) * (a.shape[-1] if a.ndim and b.ndim else 1)
    return _products(pairs, pairs if a.ndim and b.ndim else 0, (a, b, result))


def _cost_vdot(result, a, b):
    return _products(np.size(a), np.size(a), (a, b, result))


def _cost_bincount(result, x, weights=None, minlength=0):
    return [("integer", np.size(x))] if weights is None else [("add", np.size(x))]


def _cost_correlate(result, a, v, mode="valid"):
    n, m = sorted((np.size(a), np.size(v)))
    overlaps = [min(k + 1, n, n + m - 1 - k) for k in range(n + m - 1)]
    skip = (len(overlaps) - np.size(result) + (mode == "same" and n % 2 == 0)) // 2
    pairs = sum(overlaps[skip:skip + np.size(result)])
    return _products(pairs, pairs, (a, v, result))


def _cost_convolve(result, a, v, mode="full"):
    return _cost_correlate(result, a, v, mode)


def _einsum_labels(args):
    """Labels of each operand and of the output (None when implied), from either form of call."""
    if isinstance(args[0], str):
        inputs, arrow, output = args[0].replace(" ", "").replace("...", "\0").partition("->")
        operands, inputs = args[1:], [list(term) for term in inputs.split(",")]
        output = list(output) if arrow else None
        dots = "\0"
    else:
        pairs = len(args) // 2
        operands, inputs = args[0:2 * pairs:2], [list(term) for term in args[1:2 * pairs:2]]
        output = list(args[-1]) if len(args) % 2 else None
        dots = Ellipsis
    return operands, inputs, output, dots


def _cost_einsum(result, *args, optimize=False, **kwargs):
    operands, inputs, output, dots = _einsum_labels(args)
    operands = [np.asarray(o) for o in operands]
    size, terms, seen = {}, [], collections.Counter()
    for operand, term in zip(operands, inputs):
        labels = []
        for label in term:
            hidden = operand.ndim - len(term) + 1
            labels += [(dots, -i) for i in range(hidden, 0, -1)] if label == dots else [label]
        for label, n in zip(labels, operand.shape):
            size[label] = max(n, size.get(label, n)) if 0 not in (n, size.get(label)) else 0
        seen.update(labels)
        terms.append(set(labels))
    stretched = {label for label in size if isinstance(label, tuple)}
    if output is None:
        kept = {label for label, times in seen.items() if times == 1} | stretched
    else:
        kept = set(output) - {dots} | (stretched if dots in output else set())
    steps = [tuple(range(len(terms)))]
    if len(terms) > 2 and optimize is not False:
        steps = np.einsum_path(*args, optimize=optimize)[0][1:]
    pairs = sums = 0
    for step in steps:
        joined = [terms.pop(i) for i in sorted(step, reverse=True)]
        labels = set().union(*joined)
        alive = labels & kept.union(*terms)
        volume = math.prod(size[label] for label in labels)
        pairs += volume * (len(joined) - 1)
        sums += volume if alive != labels else 0
        terms.append(alive)
    return _products(pairs, sums, (*operands, result))


def _formula(cost):
    """Handler of a C function whose cost is known."""
    def run(session, function, args, kwargs):
        out = kwargs.get("out")
        plain, named = bare(args), _bare_kwargs(kwargs)
        with _quiet:
            result = function(*plain, **named)
            named.pop("out", None)
            costs = cost(result, *plain, **named)
        fresh = isinstance(result, _ndarray)
        session.charge(costs, _held(plain), result.nbytes if fresh else 0, 1 if fresh and out is None else 0)
        return out if out is not None else wrap(result)
    return run


def _into(written):
    """Handler of a C function that moves values into its first argument."""
    def run(session, function, args, kwargs):
        args, kwargs = bare(args), _bare_kwargs(kwargs)
        with _quiet:
            result = function(*args, **kwargs)
            n = written(*args, **kwargs)
        session.charge(read=_held(args[1:]), written=n * args[0].itemsize)
        return result
    return run


def _no_count(session, function, args, kwargs):
    with _quiet:
        result = function(*bare(args), **_bare_kwargs(kwargs))
    session.mark(f"{function.__name__} has no exact count")
    return wrap(result)


_FORMULAS = {
    "dot": _formula(_cost_dot), "inner": _formula(_cost_dot), "vdot": _formula(_cost_vdot),
    "einsum": _formula(_cost_einsum), "bincount": _formula(_cost_bincount),
    "correlate": _formula(_cost_correlate), "convolve": _formula(_cost_convolve),
    "lexsort": _formula(lambda result, keys, axis=-1: _sorted_cost(np.asarray(keys))),
    "interp": _no_count,
    "copyto": _into(lambda dst, src, casting=None, where=True: _masked(dst.size, dst.shape, where)),
    "putmask": _into(lambda a, mask, values: np.count_nonzero(mask)),
    "place": _into(lambda arr, mask, vals: np.count_nonzero(mask)),
    "put": _into(lambda a, ind, v, mode=None: np.size(ind)),
    "put_along_axis": _into(lambda arr, indices, values, axis=-1: np.size(indices)),
}


def _move_method(name):
    def method(self, *args, **kwargs):
        return _move(getattr(bare(self), name), args, kwargs, self)
    method.__name__ = name
    return method


for _name in _words("""byteswap choose compress copy diagonal flatten getfield ravel repeat reshape squeeze
        swapaxes take transpose nonzero"""):
    setattr(Counted, _name, _move_method(_name))


def _kernel_method(name, cost):
    """A method that NumPy computes in C; `cost(plain, result, *args, **kwargs)`."""
    def method(self, *args, out=None, **kwargs):
        plain, args, kwargs = bare(self), bare(args), _bare_kwargs(kwargs)
        if out is not None:
            kwargs["out"] = bare(out)
        with _quiet:
            result = getattr(plain, name)(*args, **kwargs)
            kwargs.pop("out", None)
            costs = cost(plain, result, *args, **kwargs)
        session = _live()
        if session is None:
            return result
        fresh = isinstance(result, _ndarray) and result is not plain
        written = result.nbytes if fresh else 0
        session.charge(costs, _held(plain) + _held(args), written, int(fresh and out is None))
        return out if out is not None else wrap(result)
    method.__name__ = name
    return method


def _round_cost(plain, result, decimals=0, out=None):
    scaled = plain.size if decimals else 0
    return [*_entries("multiply", scaled, (plain,)), *_entries("rint", plain.size, (plain,)),
            *_entries("divide", scaled, (plain,))]


for _name, _cost in {
        "cumsum": lambda p, r, *a, **k: _entries("add", p.size, (p, r)),
        "cumprod": lambda p, r, *a, **k: _entries("multiply", p.size, (p, r)),
        "argmax": lambda p, r, *a, **k: [("compare", p.size)],
        "argmin": lambda p, r, *a, **k: [("compare", p.size)],
        "sort": lambda p, r, axis=-1, *a, **k: _sorted_cost(p, axis),
        "argsort": lambda p, r, axis=-1, *a, **k: _sorted_cost(p, axis),
        "partition": lambda p, r, *a, **k: [("compare", p.size)],
        "argpartition": lambda p, r, *a, **k: [("compare", p.size)],
        "searchsorted": lambda p, r, v, *a, **k: [("compare", np.size(v) * _log2(p.size + 1))],
        "conj": lambda p, r: _entries("conjugate", p.size, (p,)),
        "conjugate": lambda p, r: _entries("conjugate", p.size, (p,)),
        "round": _round_cost}.items():
    setattr(Counted, _name, _kernel_method(_name, _cost))


def _write_method(name, n):
    def method(self, *args, **kwargs):
        plain, args = bare(self), bare(args)
        result = getattr(plain, name)(*args, **_bare_kwargs(kwargs))
        session = _live()
        if session is not None:
            session.charge(read=_held(args), written=n(plain, args) * plain.itemsize)
        return result
    return method


Counted.fill = _write_method("fill", lambda plain, args: plain.size)
Counted.put = _write_method("put", lambda plain, args: np.size(args[0]))
for _name in _words("tobytes tofile dump dumps"):
    setattr(Counted, _name, _write_method(_name, lambda plain, args: 0))


# --- Stand-ins: what names of NumPy and math mean inside a block --------------------------------------------

def _construct(function, args, kwargs):
    """Run a constructor and give its result as counted. Making constants costs no FLOPs."""
    objects = kwargs.get("dtype", args[1] if len(args) > 1 else None) in (object, "O")
    source = bare(args[0]) if args else kwargs.get("object")
    if objects and isinstance(source, _ndarray) and source.dtype.kind in "fc":
        return _as_objects(source)
    windows = args
    args, kwargs = bare(args), _bare_kwargs(kwargs)
    if args and type(args[0]) is _ndarray and args[0].dtype == object and not objects:
        plain = args[0].copy()
        for index, item in enumerate(plain.flat):
            plain.flat[index] = bare(item)
        args = (plain, *args[1:])
    with _quiet:
        result = function(*args, **kwargs)
    session = _live()
    if session is None:
        return result
    name = function.__name__
    if name in _CONSTANTS:
        name = "linspace"
    _charge_move(session, name, (*args, *kwargs.values()), result, "out" in kwargs)
    return _window_of(result, windows)


_CONSTANTS = _words("ndarray zeros ones empty full arange eye identity tri")
_CONSTRUCTORS = _words("""array asarray asanyarray ascontiguousarray asfortranarray zeros ones empty full
    arange linspace logspace geomspace eye identity tri indices fromiter frombuffer fromfile fromstring
    from_dlpack load loadtxt genfromtxt hamming hanning bartlett blackman kaiser""")


def _constructor(function):
    @functools.wraps(function)
    def stand_in(*args, **kwargs):
        if _live() is None:
            return function(*args, **kwargs)
        return _construct(function, args, kwargs)
    return stand_in


def _promoting(function):
    """A NumPy function whose plain array arguments become counted, so that the call is seen."""
    plain_c = not isinstance(function._implementation, types.FunctionType)

    @functools.wraps(function)
    def stand_in(*args, **kwargs):
        if _live() is None:
            return function(*args, **kwargs)
        if plain_c or function.__name__ in _FORMULAS or function.__name__ in _MOVES:
            return _run_function(function, args, kwargs)
        if args and function.__name__ in ("mean", "var", "std"):
            args = (_counted(args[0]), *args[1:])
        return wrap(function(*[wrap(a) if type(a) is _ndarray else a for a in args], **kwargs))
    return stand_in


class _Ufunc:
    """A ufunc that counts on plain arrays, lists and Python numbers too. Equal to the ufunc it stands for."""

    def __init__(self, ufunc):
        self.__wrapped__ = ufunc

    @property
    def __class__(self):
        return np.ufunc

    def __call__(self, *args, **kwargs):
        return self._call("__call__", args, kwargs)

    def _call(self, method, args, kwargs):
        if _live() is not None and not any(type(a) is Counted or type(a) is Number for a in args):
            args = (_counted(args[0]), *args[1:]) if args else args
        return getattr(self.__wrapped__, method)(*args, **kwargs)

    def reduce(self, *args, **kwargs):
        return self._call("reduce", args, kwargs)

    def accumulate(self, *args, **kwargs):
        return self._call("accumulate", args, kwargs)

    def reduceat(self, *args, **kwargs):
        return self._call("reduceat", args, kwargs)

    def outer(self, *args, **kwargs):
        return self._call("outer", args, kwargs)

    def at(self, *args, **kwargs):
        return self._call("at", args, kwargs)

    def __getattr__(self, name):
        return getattr(self.__wrapped__, name)

    def __eq__(self, other):
        return self.__wrapped__ is getattr(other, "__wrapped__", other)

    def __hash__(self):
        return hash(self.__wrapped__)

    def __repr__(self):
        return repr(self.__wrapped__)


def _counted(value):
    if type(value) in (list, tuple):
        with _quiet:
            value = np.asarray(bare(value))
    if type(value) in (int, float, complex, bool):
        return Number(value)
    return wrap(value)


class _Draws:
    """A random generator whose arrays and floats are counted."""

    def __init__(self, source):
        self.source = source

    @property
    def __class__(self):
        return type(self.source)

    def __getattr__(self, name):
        attribute = getattr(self.source, name)
        return _drawing(attribute) if callable(attribute) and not name.startswith("_") else attribute

    def __reduce_ex__(self, protocol):
        return self.source.__reduce_ex__(protocol)

    def __repr__(self):
        return repr(self.source)


def _drawing(function):
    @functools.wraps(function)
    def stand_in(*args, **kwargs):
        args, kwargs = bare(args), _bare_kwargs(kwargs)
        with _quiet:
            result = function(*args, **kwargs)
        session = _live()
        if session is None:
            return result
        _charge_move(session, "linspace", (*args, *kwargs.values()), result, "out" in kwargs)
        if isinstance(result, _GENERATORS):
            return _Draws(result)
        if function.__name__ == "spawn":
            return [_Draws(generator) for generator in result]
        return _wrap_python(result)
    return stand_in


_GENERATORS = (np.random.Generator, np.random.RandomState)

_MATH_NAMES = {"fabs": "absolute", "pow": "power", "fmod": "remainder", "asin": "arcsin", "acos": "arccos",
               "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
               "atanh": "arctanh"}
_MATH_COMPARE = {"isnan", "isinf", "isfinite", "isclose"}
_MATH_SUMS = {"fsum": ("add",), "prod": ("multiply",), "sumprod": ("multiply", "add"),
              "dist": ("subtract", "multiply", "add"), "hypot": ("multiply", "add")}
_MATH_INTEGERS = {"gcd", "lcm", "factorial", "comb", "perm", "isqrt"}


def _has_number(value):
    return type(value) is Number or type(value) is Counted or (
        type(value) in (list, tuple) and any(_has_number(item) for item in value))


def _math(function):
    """A function of `math` that counts when it is given a Number."""
    name = function.__name__
    kind = "compare" if name in _MATH_COMPARE else _MATH_NAMES.get(name, name)

    @functools.wraps(function)
    def stand_in(*args, **kwargs):
        if name in _MATH_SUMS and name != "hypot":
            args = tuple([a if type(a) in _ATOMS else list(a) if hasattr(a, "__iter__") else a for a in args])
        session = _live()
        if session is None or not _has_number(args):
            return function(*args, **kwargs)
        plain = bare(args)
        result = function(*plain, **kwargs)
        if name in _MATH_SUMS:
            n = len(plain) if name == "hypot" else len(plain[0])
            session.charge([(k, n) for k in _MATH_SUMS[name]])
            if name in ("dist", "hypot"):
                session.charge([("sqrt", 1)])
        else:
            session.charge([(kind, 1)])
        return _wrap_python(result)
    return stand_in


def _class(original, convert):
    """A class whose instances are counted: it makes the original's and accepts them in ``isinstance``."""
    class Type(type):
        def __call__(cls, *args, **kwargs):
            made = original(*bare(args), **_bare_kwargs(kwargs))
            return made if _live() is None else convert(made)

        def __instancecheck__(cls, value):
            return isinstance(bare(value), original)

        def __subclasscheck__(cls, other):
            return issubclass(other, original)

        def __getattr__(cls, name):
            return getattr(original, name)

    return Type(original.__name__, (), {})


class _FloatType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, float)

    def __subclasscheck__(cls, other):
        return issubclass(other, float)

    def __eq__(cls, other):
        return other is cls or other is float

    def __hash__(cls):
        return hash(float)

    def __repr__(cls):
        return repr(float)


class _Float(float, metaclass=_FloatType):
    """`float` as the walked namespaces see it inside a block: ``float(number)`` stays a Number."""

    dtype = np.dtype(float)

    def __new__(cls, value=0.0, /):
        if type(value) is Number or type(value) is Counted:
            plain = float(bare(value))
            return plain if _live() is None else Number(plain)
        return float(value)


_Float.__name__ = _Float.__qualname__ = "float"


class _Iterator:
    """`np.nditer` or `np.broadcast` whose values count."""

    def __init__(self, source):
        self.__dict__["source"] = source

    @property
    def __class__(self):
        return type(self.source)

    def __iter__(self):
        return self

    def __next__(self):
        return wrap(next(self.source))

    def __getitem__(self, key):
        return wrap(self.source[key])

    def __setitem__(self, key, value):
        self.source[key] = bare(value)

    def __enter__(self):
        self.source.__enter__()
        return self

    def __exit__(self, *exc):
        return self.source.__exit__(*exc)

    def __getattr__(self, name):
        return wrap(getattr(self.source, name))

    def __setattr__(self, name, value):
        setattr(self.source, name, value)


@functools.cache
def _stand_ins():
    """Stand-ins by the id of what they stand for: those for NumPy's own modules, and all of them."""
    inner = [(f, _constructor(f)) for f in (getattr(np, name) for name in _CONSTRUCTORS)]
    inner.append((np.lib.stride_tricks.as_strided, _constructor(np.lib.stride_tricks.as_strided)))
    taken = {id(f) for f, _ in inner}
    outer = []
    for module in (np, np.linalg, np.fft, np.lib.stride_tricks):
        for f in list(vars(module).values()):
            if id(f) in taken:
                continue
            if isinstance(f, np.ufunc):
                outer.append((f, _Ufunc(f)))
            elif hasattr(f, "_implementation"):
                pair = (f, _promoting(f))
                (outer if isinstance(f._implementation, types.FunctionType) else inner).append(pair)
            else:
                continue
            taken.add(id(f))
    for name, f in vars(np.random).items():
        drawn = isinstance(f, types.BuiltinMethodType) and isinstance(f.__self__, np.random.RandomState)
        if drawn and name not in ("seed", "get_state", "set_state"):
            outer.append((f, _drawing(f)))
    outer.append((np.random.default_rng, _drawing(np.random.default_rng)))
    outer += [(kind, _class(kind, _Draws)) for kind in _GENERATORS]
    outer += [(kind, _class(kind, _Iterator)) for kind in (np.nditer, np.broadcast)]
    outer += [(_ndarray, Counted), (_memmap, _class(_memmap, wrap))]
    for f in vars(math).values():
        if isinstance(f, types.BuiltinFunctionType) and f.__name__ not in _MATH_INTEGERS:
            outer.append((f, _math(f)))
    keep = {id(f): (f, stand_in) for f, stand_in in inner}
    every = keep | {id(f): (f, stand_in) for f, stand_in in outer}
    return keep, every


_PUBLIC = ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.lib.stride_tricks")
_OUTSIDE = ("numpy.random.", "numpy.ma", "numpy.testing", "numpy.f2py", "numpy.ctypeslib", "numpy.typing",
            "numpy.polynomial")


@functools.lru_cache(maxsize=1)
def _places(names):
    """Where the stand-ins go: (namespace, name, original, stand-in)."""
    inner, every = _stand_ins()
    places = [(vars(math), name, f, every[id(f)][1]) for name, f in vars(math).items() if id(f) in every]
    for module_name in names:
        if module_name.startswith(_OUTSIDE):
            continue
        table = every if module_name in _PUBLIC else inner
        space = vars(sys.modules[module_name])
        places += [(space, name, f, table[id(f)][1]) for name, f in space.items() if id(f) in table]
    return places


# --- The walk -----------------------------------------------------------------------------------------------

_ATOMS = frozenset([int, float, complex, bool, str, bytes, bytearray, type(None), range, slice, frozenset,
                    type(Ellipsis), type(NotImplemented), types.CodeType, np.dtype])
_BUDGET = 5_000_000                 # items looked at before the walk gives up
_HEAP_TYPE = 1 << 9
_LIBRARIES = tuple({os.path.realpath(path) + os.sep for path in
                    (sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))})


@functools.lru_cache(maxsize=4096)
def _is_ours(module_name, file):
    """Whether the walk enters a module: neither the standard library nor an installed package."""
    top = (module_name or "__main__").partition(".")[0]
    if top.startswith(("tinytorch_ref", "my_tinytorch")):
        return True
    if top in sys.stdlib_module_names or top in sys.builtin_module_names or top in ("numpy", "autograder"):
        return False
    return file is None or not (os.path.realpath(file).startswith(_LIBRARIES) or "site-packages" in file)


def _our_module(name):
    if not isinstance(name, str):
        return True
    return _is_ours(name, getattr(sys.modules.get(name), "__file__", None))


def _our_type(kind):
    if kind.__module__ == "builtins":                      # true also of a class from a nameless exec()
        return bool(kind.__flags__ & _HEAP_TYPE)
    return _our_module(kind.__module__)


@functools.lru_cache(maxsize=4096)
def _slots(kind):
    return [value for base in kind.__mro__ if base.__flags__ & _HEAP_TYPE for value in vars(base).values()
            if isinstance(value, types.MemberDescriptorType)]


class _Walk:
    """Exchange values in everything reachable. `swap(value)` gives the replacement, or the value itself."""

    def __init__(self, swap, keys=False):
        self.swap = swap
        self.keys = keys            # exchange keys of dicts and members of sets as well
        self.forced = set()
        self.seen = {}              # id -> (object kept alive, its replacement)
        self.todo = []
        self.spaces = {}            # id -> namespace dict of code that was walked
        self.left = _BUDGET

    def run(self, roots):
        for root in roots:
            self.forced.add(id(root))
            if type(root) is dict and "__builtins__" in root:
                self.space(root)
            self.visit(root)
        while self.todo:
            self.enter(self.todo.pop())

    def visit(self, value):
        kind = type(value)
        if kind in _ATOMS:
            return value
        key = id(value)
        if key in self.seen:
            return self.seen[key][1]
        new = self.swap(value)
        self.seen[key] = (value, new)
        if new is not value:
            return new
        if isinstance(value, tuple) and kind is not types.SimpleNamespace:
            items = [self.visit(item) for item in value]
            if any(a is not b for a, b in zip(items, value)):
                new = kind._make(items) if hasattr(kind, "_make") else tuple(items)
                self.seen[key] = (value, new)
            return new
        if kind is types.BuiltinMethodType:                # rng.normal, array.sum kept under a name
            owner = value.__self__
            if isinstance(owner, (_ndarray, *_GENERATORS)):
                new = getattr(self.visit(owner), value.__name__)
                self.seen[key] = (value, new)
            return new
        self.todo.append(value)
        return value

    def space(self, names):
        """A namespace of code: its `float` counts too."""
        self.spaces[id(names)] = names
        self.visit(names)

    def enter(self, value):
        """Exchange what a mutable object holds."""
        kind = type(value)
        self.left -= 1
        if self.left < 0:
            return
        if isinstance(value, dict):
            if value is vars(builtins):
                return
            if not _ATOMS.issuperset(map(type, value.values())):
                for name, item in list(value.items()):
                    self._put(item, functools.partial(dict.__setitem__, value, name))
            if self.keys and not _ATOMS.issuperset(map(type, value)):
                items = [(self.visit(name), item) for name, item in value.items()]
                if any(new is not old for (new, _), old in zip(items, value)):
                    value.clear()
                    value.update(items)
            self.left -= len(value)
        elif kind is set:
            if self.keys and not _ATOMS.issuperset(map(type, value)):
                items = [self.visit(item) for item in value]
                value.clear()
                value.update(items)
        elif isinstance(value, (list, collections.deque)):
            setter = list.__setitem__ if isinstance(value, list) else collections.deque.__setitem__
            if not _ATOMS.issuperset(map(type, value)):
                for index, item in enumerate(value):
                    self._put(item, functools.partial(setter, value, index))
            self.left -= len(value)
        elif kind is _ndarray and value.dtype == object:
            for index, item in enumerate(value.flat):
                self._put(item, functools.partial(value.flat.__setitem__, index))
        elif kind is types.FunctionType:
            self._function(value)
            return
        elif kind is types.MethodType:
            self.visit(value.__self__)
            self.visit(value.__func__)
            return
        elif kind is functools.partial:
            function, args, kwargs = map(self.visit, (value.func, value.args, value.keywords))
            if function is not value.func or args is not value.args:
                value.__setstate__((function, args, kwargs, vars(value)))
            return
        elif kind is types.ModuleType:
            if _our_module(value.__name__):
                self.space(vars(value))
            return
        elif kind is types.FrameType:
            self._frame(value)
            return
        elif kind is types.GeneratorType:
            if value.gi_frame is not None and not value.gi_running:
                self._frame(value.gi_frame)
            return
        elif isinstance(value, type):
            if _our_type(value):
                self._class(value)
            return
        if _our_type(kind) or kind is types.SimpleNamespace or id(value) in self.forced:
            self._object(value, kind)

    def _put(self, item, setter):
        new = self.visit(item)
        if new is not item:
            setter(new)

    def _frame(self, frame):
        self.space(frame.f_globals)
        names = frame.f_locals
        if names is frame.f_globals:
            return
        changed = False
        for name, item in list(names.items()):
            new = self.visit(item)
            if new is not item:
                names[name] = new
                changed = True
        if changed and sys.version_info < (3, 13):         # later versions write through
            import ctypes
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))

    def _function(self, function):
        for cell in function.__closure__ or ():
            try:
                self._put(cell.cell_contents, functools.partial(setattr, cell, "cell_contents"))
            except ValueError:                             # still empty
                pass
        self._put(function.__defaults__, functools.partial(setattr, function, "__defaults__"))
        self.visit(function.__kwdefaults__)
        self.visit(vars(function))
        if _our_module(function.__globals__.get("__name__")):
            self.space(function.__globals__)

    def _class(self, cls):
        for base in cls.__bases__:
            self.visit(base)
        for name, item in list(vars(cls).items()):
            if isinstance(item, (staticmethod, classmethod)):
                self.visit(item.__func__)
            elif isinstance(item, property):
                for function in (item.fget, item.fset, item.fdel):
                    self.visit(function)
            elif not isinstance(item, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                new = self.visit(item)
                binds = isinstance(new, types.FunctionType) and not isinstance(item, types.FunctionType)
                if new is not item and not binds:          # a function would become a method
                    type.__setattr__(cls, name, new)

    def _object(self, value, kind):
        self.visit(kind)
        names = getattr(value, "__dict__", None)
        if type(names) is dict:
            self.visit(names)
        for slot in _slots(kind):
            try:
                item = slot.__get__(value)
            except AttributeError:                         # not yet set
                continue
            self._put(item, functools.partial(slot.__set__, value))


def _swap_in(value):
    if isinstance(value, (_ndarray, _generic)):
        return wrap(value)
    if type(value) in _GENERATORS:
        return _Draws(value)
    found = _stand_ins()[1].get(id(value))
    return found[1] if found else value


def _swap_out(value):
    kind = type(value)
    if kind in (Counted, Number, _Draws, _Iterator):
        return bare(value)
    found = _originals().get(id(value))
    return found if found is not None else value


@functools.cache
def _originals():
    return {id(stand_in): f for f, stand_in in _stand_ins()[1].values()} | {id(_Float): float}


class _Session:
    """The time from the first open count to the last: what was exchanged, and who counts."""

    def __init__(self):
        self.counts = []
        self.roots = []
        self.spaces = {}
        self.places = []
        self.modules = set(sys.modules)

    def open(self):
        names = tuple(name for name in sys.modules if name == "numpy" or name.startswith("numpy."))
        self.places = [place for place in _places(names) if place[0].get(place[1]) is place[2]]
        for space, name, _, stand_in in self.places:
            space[name] = stand_in

    def close(self):
        for space, name, original, stand_in in self.places:
            if space.get(name) is stand_in:
                space[name] = original
        for late in set(sys.modules) - self.modules:       # imported in the block: may have bound stand-ins
            space = getattr(sys.modules[late], "__dict__", {})
            for name, value in list(space.items()):
                original = _swap_out(value)
                if original is not value:
                    space[name] = original
        for space in self.spaces.values():
            if space.get("float") is _Float:
                del space["float"]
        with _quiet:
            _Walk(_swap_out, keys=True).run(self.roots)

    def walk(self, roots):
        """Make what is reachable from the roots counted."""
        self.roots += roots
        with _quiet:
            walk = _Walk(_swap_in)
            walk.run(roots)
        for key, space in walk.spaces.items():
            if key not in self.spaces:
                self.spaces[key] = space
                space.setdefault("float", _Float)
        if walk.left < 0:
            self.mark("more objects than the walk looks at")

    def charge(self, costs=(), read=0, written=0, arrays=0):
        with _lock:
            for one in self.counts:
                for kind, n in costs:
                    if n:
                        one.by_kind[kind] += int(n)
                one.bytes_read += int(read)
                one.bytes_written += int(written)
                one.arrays += arrays

    def tick(self, kind):
        """Charge one operation on numbers."""
        with _lock:
            for one in self.counts:
                one.by_kind[kind] += 1

    def mark(self, why):
        with _lock:
            for one in self.counts:
                one.reasons.setdefault(why)


class count:
    """Count the FLOPs, bytes and new arrays of the NumPy work in a block.

    Parameters
    ----------
    roots : iterable of object, optional
        What to walk for arrays made before the block: namespaces, tables, objects. By default the names of
        the calling code. With roots, the caller's own names are left alone.

    Attributes
    ----------
    flops : int
        Floating-point operations; comparisons, logic and integer arithmetic are not among them.
    by_kind : collections.Counter
        Operations by kind ("multiply", "add", "exp", ..., "compare", "logic", "integer").
    bytes_read, bytes_written, bytes_moved : int
        Bytes of array operands, of array results, and their sum.
    arrays : int
        Results that own new memory.
    complete : bool
        False if a value is known to have left for where its arithmetic can't be seen.
    why : str
        What made the count incomplete; empty if it is complete.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.ones((2, 3))
    >>> with count() as c:
    ...     y = x @ x.T
    >>> c.flops, c.by_kind["multiply"], c.by_kind["add"], c.arrays
    (24, 12, 12, 1)
    """

    def __init__(self, roots=None):
        self.roots = None if roots is None else list(roots)
        self.by_kind = collections.Counter()
        self.bytes_read = self.bytes_written = self.arrays = 0
        self.reasons = {}

    def __enter__(self):
        global _session
        if self.roots is None:
            frame = sys._getframe(1)
            while frame.f_globals.get("__name__") == "contextlib":
                frame = frame.f_back
            self.roots = [frame]
        with _lock:
            opened = _session is None
            session = _session or _Session()
            try:
                if opened:
                    session.open()
                session.walk(self.roots)
            except BaseException:
                if opened:
                    session.close()
                raise
            session.counts.append(self)
            _session = session
        return self

    def __exit__(self, *exc):
        global _session
        with _lock:
            session = _session
            session.counts.remove(self)
            self.roots = None
            if not session.counts:
                _session = None
                session.close()

    @property
    def flops(self):
        return sum(n for kind, n in self.by_kind.items() if kind not in _APART)

    @property
    def bytes_moved(self):
        return self.bytes_read + self.bytes_written

    @property
    def complete(self):
        return not self.reasons

    @property
    def why(self):
        return "; ".join(self.reasons)

    def __repr__(self):
        note = "" if self.complete else f", incomplete: {self.why}"
        return f"<{self.flops} FLOPs, {self.bytes_moved} bytes, {self.arrays} arrays{note}>"


# --- Memory -------------------------------------------------------------------------------------------------

class peak_memory:
    """Highest level of memory in a block above the level at its entry, by `tracemalloc`.

    NumPy reports its buffers to tracemalloc, so repeats agree; memory inside BLAS is not seen. Python's own
    objects (a few hundred bytes to some kilobytes) are in the peak. The cyclic garbage collector is off in
    the block: what only a cycle keeps alive counts as kept.

    Attributes
    ----------
    peak_bytes : int
        Highest level above the level at entry.
    kept_bytes : int
        Array data allocated in the block and still held at its end.
    arrays_left : int
        Number of such arrays.
    """

    _open = ()                          # those that are open, outermost first

    def __init__(self):
        self.peak_bytes = self.kept_bytes = self.arrays_left = 0

    def __enter__(self):
        self._started = not tracemalloc.is_tracing()
        self._collecting = gc.isenabled()
        gc.collect()
        gc.disable()
        if self._started:
            tracemalloc.start()
        self._held = self._arrays()
        for outer in self._open:                           # reset_peak() would make them forget
            outer._highest = max(outer._highest, tracemalloc.get_traced_memory()[1])
        peak_memory._open += (self,)
        tracemalloc.reset_peak()
        self._level = self._highest = tracemalloc.get_traced_memory()[0]
        return self

    def __exit__(self, *exc):
        highest = max(self._highest, tracemalloc.get_traced_memory()[1])
        peak_memory._open = tuple(one for one in self._open if one is not self)
        bytes_now, arrays_now = self._arrays()
        if self._started:
            tracemalloc.stop()
        if self._collecting:
            gc.enable()
        self.peak_bytes = highest - self._level
        self.kept_bytes, self.arrays_left = bytes_now - self._held[0], arrays_now - self._held[1]

    @staticmethod
    def _arrays():
        """Bytes and number of the array buffers that tracemalloc knows."""
        domain = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        traces = tracemalloc.take_snapshot().filter_traces([domain]).traces
        sizes = [trace.size for trace in traces]
        return sum(sizes), len(sizes)
