"""How the checks compare values: show them, read them as arrays, and find the first place that differs.

Only plain values and plain arrays are compared, never objects by their own `==`.
"""

import contextlib
import os
import traceback
from pathlib import Path

import numpy as np

# Only these exact types count as plain: a subclass could answer `==` as it likes.
NUMBERS = {bool: bool, int: int, float: float, complex: complex, np.bool_: bool,
           **{np.dtype(code).type: int for code in np.typecodes["AllInteger"]},
           **{np.dtype(code).type: float for code in np.typecodes["Float"]},
           **{np.dtype(code).type: complex for code in np.typecodes["Complex"]}}
PLAIN = {**NUMBERS, str: str, np.str_: str, bytes: bytes, type(None): lambda none: none}


class Failed(AssertionError):
    """A check that did not hold; its message says what was expected, what came and the likely cause."""

    def _render_traceback_(self):
        """What a notebook shows in place of a traceback, by IPython's convention: the line of the cell, and why."""
        ours = (str(Path(__file__).parent), contextlib.__file__)
        calls = [c for c in traceback.extract_tb(self.__traceback__) if not c.filename.startswith(ours)]
        where = [f"Check failed in line {calls[-1].lineno}: {calls[-1].line}"] if calls else []
        return [*where, *str(self).splitlines()]


def fail(expected, got, cause):
    raise Failed(f"Expected: {expected}\nGot: {got}\nLikely cause: {cause}")


def cut(text, limit=200):
    return text if len(text) <= limit else text[:limit - 4] + " ..."


def show(value):
    """A short text for any value, without the `repr` of an unknown class."""
    kind = type(value)
    if kind in PLAIN:
        try:
            return cut(repr(PLAIN[kind](value)))
        except ValueError:  # Python refuses to print an int of many thousand digits
            return f"an int of {value.bit_length()} bits"
    if kind in (list, tuple):
        inside = ", ".join(map(show, value[:100])) + ("," if kind is tuple and len(value) == 1 else "")
        return cut(f"[{inside}]" if kind is list else f"({inside})")
    if kind is dict:
        return cut("{" + ", ".join(f"{show(key)}: {show(value[key])}" for key in list(value)[:100]) + "}")
    if as_dtype(value) is not None:
        return f"dtype {as_dtype(value)}"
    return f"an array of shape {value.shape}" if kind is np.ndarray else f"an object of type {kind.__name__}"


def as_dtype(value, names=False):
    """The NumPy dtype that a dtype, a scalar class or (if `names`) a string stands for; None for all else."""
    if issubclass(type(value), np.dtype):
        return value
    if type(value) is type and value in NUMBERS or names and type(value) is str:
        try:
            return np.dtype(value)
        except (TypeError, ValueError, SyntaxError):
            pass
    return None


def difference(got, expected, at=""):
    """None, or the first place where `got` departs from `expected`, with the two values there."""
    here, kind = (at, got, expected), type(expected)
    if kind in (list, tuple, dict):
        if type(got) is not kind:
            return here
        if len(got) != len(expected):
            return f"{at or 'the'} length", len(got), len(expected)
        for key in expected if kind is dict else range(len(expected)):
            if kind is dict and all(difference(own, key) for own in got):
                return f"{at or 'the'} keys", list(got), list(expected)
            found = difference(got[key], expected[key], f"{at}[{show(key)}]")
            if found:
                return found
        return None
    if as_dtype(expected) is not None or kind is str and as_dtype(got) is not None:
        found = as_dtype(got, names=True)  # test for None first: np.dtype("float64") == None is true
        return here if found is None or found != as_dtype(expected, names=True) else None
    if kind not in PLAIN:
        raise TypeError(f"check.equal compares plain values, not {show(expected)}")
    if type(got) not in PLAIN:
        return here
    mine, theirs = PLAIN[type(got)](got), PLAIN[kind](expected)
    if type(mine) is not type(theirs) and {type(mine), type(theirs)} != {int, float}:
        return here
    if mine == theirs or (mine != mine and theirs != theirs):
        return None
    if type(mine) is str and max(len(mine), len(theirs)) > 20:
        first = len(os.path.commonprefix([mine, theirs]))
        return f"{at} from character {first}".strip(), mine[first:first + 20], theirs[first:first + 20]
    return here


def as_array(value):
    """The plain array of a number, a list, an array or a Tensor."""
    kind = type(value)
    if value is None:
        fail("an array or a Tensor", "None", "nothing was returned: is a `return` missing?")
    if kind in (list, tuple):
        try:
            array = np.array([as_array(item) for item in value])
        except ValueError:
            fail("an array", "a list whose rows differ in shape", "one of the rows is too long or too short")
    elif kind in NUMBERS or issubclass(kind, np.ndarray):
        array = np.asarray(value)
    else:
        data = getattr(value, "data", None)
        if not issubclass(type(data), np.ndarray):
            text = show(value) + (f" whose .data is {show(data)}" if data is not None else "")
            fail("an array or a Tensor", text, "a Tensor keeps its numbers as an array in .data")
        array = np.asarray(data)
    if array.dtype.kind not in "biufc":
        fail("an array of numbers", f"an array of dtype {array.dtype}", "text or Python objects inside it")
    return array


def _differs(got, expected, rtol, atol):
    """Mask of the elements outside the tolerance (NaN equals NaN, an infinity only itself), and the gaps."""
    wide = np.result_type(got, expected, np.float64)
    with np.errstate(all="ignore"):
        g, e = got.astype(wide), expected.astype(wide)
        gaps = abs(g - e)
        near = np.isfinite(g) & np.isfinite(e) & (gaps <= atol + rtol * abs(e))
    if got.dtype.kind in "biu" and expected.dtype.kind in "biu":
        return got != expected, gaps
    return ~(near | (g == e) | (np.isnan(g) & np.isnan(e))), gaps


def same_values(got, expected, because, rtol, atol, what=""):
    """Fail at the first element that differs; the two arrays have the same shape."""
    differs, gaps = _differs(got, expected, rtol, atol)
    if not differs.any():
        return
    index = tuple(int(i) for i in np.argwhere(differs)[0])
    pair = got[index].item(), expected[index].item()
    mine, theirs = (format(value, ".7g") if type(value) in (float, complex) else str(value) for value in pair)
    if mine == theirs:
        mine, theirs = map(repr, pair)
    place = many = ""
    if index:
        gaps = gaps[differs & np.isfinite(gaps)]
        place = f" at index [{', '.join(map(str, index))}]"
        many = f" there; {differs.sum()} of {differs.size} values differ"
        many += f", the largest difference is {gaps.max():.4g}" if gaps.size else ""
    if np.isnan(got[index]):
        because = because or "NaN comes from 0 / 0, inf - inf, or the log or root of a negative number"
    fail(what + theirs + place, mine + many, because or "the formula, or the axis that it runs along")
