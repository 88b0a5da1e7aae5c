"""What happens when a ufunc, or one of its methods, meets a counted value."""

import math

import numpy as np
from numpy import asarray, generic, ndarray

from autograder.counters.costs import entries, held, masked, products, words
from autograder.counters.tally import live, quiet
from autograder.counters.windows import as_objects, bare, bare_kwargs, floats, wrap

_PRODUCTS = words("matmul vecdot matvec vecmat")
_FFT = {"fft": 5, "ifft": 5, "rfft_n_even": 2.5, "rfft_n_odd": 2.5, "irfft": 2.5}


def run_ufunc(ufunc, method, inputs, out=None, **kwargs):
    """Run a ufunc on plain arrays, charge it, and give counted results."""
    tally = live()
    plain, kwargs = bare(inputs), bare_kwargs(kwargs)
    if tally is not None and ufunc.types and all(types.strip("O") == "->" for types in ufunc.types):
        plain = tuple([as_objects(a) if floats(a) else a for a in plain])      # it calls Python
    if out is not None:
        # What came from NumPy's own `out=...` is an array there, but a number here.
        kwargs["out"] = tuple([asarray(o) if isinstance(o, generic) else o for o in bare(out)])
    with quiet:
        result = getattr(ufunc, method)(*plain, **kwargs)
        if tally is not None and result is not NotImplemented:
            _charge(tally, ufunc, method, plain, kwargs, out is not None, result)
    if out is not None:
        for given, array in zip(out, kwargs["out"]):
            if not isinstance(given, ndarray) and given is not None:
                given.value = array[()]
        return out[0] if len(out) == 1 else out
    return result if tally is None else wrap(result)


def _charge(tally, ufunc, method, plain, kwargs, given, result):
    name, first = ufunc.__name__, plain[0]
    if method == "at":
        n = first[plain[1]].size
        touched = n * first.itemsize
        tally.charge(entries(name, n, plain), touched + held(plain[1:]), touched)
        return
    results = result if isinstance(result, tuple) else (result,)
    values, where = (*plain, *results), kwargs.get("where", True)
    if not isinstance(results[0], (ndarray, generic, float, int, complex, bool)):
        return
    if getattr(results[0], "dtype", None) == "O":
        costs = []
    elif ufunc.signature is not None:
        costs = _gufunc(tally, name, plain, kwargs, results[0], values)
    elif method in ("reduce", "accumulate"):
        costs = entries(name, masked(first, where), values)
    elif method == "reduceat":
        costs = entries(name, _covered(first, plain[1], kwargs.get("axis", 0)), values)
    else:
        costs = entries(name, len(results) * masked(results[0], where), values)
    fresh = [r for r in results if isinstance(r, ndarray)]
    written = sum(r.nbytes for r in fresh)
    tally.charge(costs, held(plain) + held(where), written, 0 if given else len(fresh))


def _covered(array, indices, axis):
    """Elements that `ufunc.reduceat` visits."""
    array, indices = np.asarray(array), np.asarray(indices)
    length = array.shape[axis]
    ends = np.append(indices[1:], length)
    return int(np.maximum(ends - indices, 1).sum()) * (array.size // max(length, 1))


def _gufunc(tally, name, plain, kwargs, output, values):
    if name in _PRODUCTS and "axes" not in kwargs:
        pairs = np.size(output) * np.shape(plain[0])[kwargs.get("axis", -1)]
        return products(pairs, pairs, values)
    if name in _FFT:
        n = output.shape[kwargs["axes"][-1][0] if "axes" in kwargs else -1]
        transforms = output.size // max(n, 1)
        if name.startswith("rfft"):
            n = 2 * (n - 1) + (name == "rfft_n_odd")
        return [("fft", transforms * round(_FFT[name] * n * math.log2(n)) if n > 1 else 0)]
    tally.mark(f"{name} has no exact count")
    return []
