"""Checks for graded cells, and for your own: each passes in silence, or says what was expected and what came.

A failed check raises `Failed`, whose message has three parts; `because` becomes the last::

    Expected: shape (2, 3)
    Got: shape (3,)
    Likely cause: the bias is added before the product

What is compared are plain values and plain arrays, never objects by their own `==`. Where the grader holds
an object of another process, its class may offer three hooks, looked up on the class only: `__peek__()`
returns a copy of its array, `__poke__(index, value)` writes into it (index `()` is all of it), and
`__source__()` returns the text of a function.
"""

import ast
import builtins
import collections
import inspect
import math
import textwrap
from contextlib import contextmanager

import numpy as np

from autograder.compare import PLAIN, Failed, as_array, cut, difference, fail, same_values, show

__all__ = ["Failed", "equal", "close", "same_shape", "same_dtype", "raises", "shares_memory", "own_memory",
           "unchanged", "gradient", "counts", "avoids", "partial"]

_COUNTS = {"flops", "by_kind", "bytes_read", "bytes_written", "bytes_moved", "arrays", "arrays_left",
           "peak_bytes", "kept_bytes"}


# Values

def equal(got, expected, because=""):
    """Check that a plain value is exactly the expected one, in kind and in value.

    Parameters
    ----------
    got, expected : int, float, str, bool, None, dtype, or a list, tuple or dict of these
        NumPy scalars count as the Python numbers that they hold, and 24.0 is 24. `True` is not 1, a list is
        not a tuple. A dtype may be written `np.float32` or `"float32"`. An array may be expected too: then all
        elements are exactly equal.

    Examples
    --------
    >>> equal((2, 3), (2, 3))
    >>> equal(np.zeros(4).dtype, "float64")
    """
    if issubclass(type(expected), np.ndarray):
        return close(got, expected, because, rtol=0, atol=0)
    found = difference(got, expected)
    if found:
        where, mine, theirs = found
        note = f" ({where}: {show(mine)} instead of {show(theirs)})" if where else ""
        cause = "nothing was returned: is a `return` missing?" if got is None else because
        fail(show(expected), show(got) + note, cause or "another value, or another kind of value")


def close(got, expected, because="", rtol=1e-5, atol=1e-6):
    """Check that two arrays have one shape and, within a tolerance, the same values.

    Parameters
    ----------
    got, expected : Tensor, array, number or nested list of these
        Any shape. float32, float64 and int are not told apart (see `same_dtype`); bools are not numbers.
    rtol, atol : float
        `abs(got - expected)` may be `atol + rtol * abs(expected)`. Two integers must be equal. NaN matches
        NaN, an infinity matches itself.

    Examples
    --------
    >>> close(np.array([0.1, 0.2]) + 0.1, [0.2, 0.3])
    """
    got, expected = as_array(got), as_array(expected)
    _same_shape(got, expected.shape, because)
    if (got.dtype == bool) != (expected.dtype == bool):
        fail(f"dtype {expected.dtype}", f"dtype {got.dtype}", because or "bools and numbers mixed up")
    same_values(got, expected, because, rtol, atol)


def _same_shape(array, shape, because):
    if array.shape != shape:
        fail(f"shape {shape}", f"shape {array.shape}", because or "an axis too many or too few")


def same_shape(got, shape, because=""):
    """Check the shape of an array or a Tensor; `shape` is a tuple, or an int for one axis.

    Examples
    --------
    >>> same_shape(np.zeros((2, 3)), (2, 3))
    """
    _same_shape(as_array(got), tuple(shape) if type(shape) in (tuple, list) else (shape,), because)


def same_dtype(got, dtype, because=""):
    """Check the dtype of an array or a Tensor; `dtype` may be written `np.float32` or `"float32"`.

    Examples
    --------
    >>> same_dtype(np.zeros(3), np.float64)
    """
    found, expected = as_array(got).dtype, np.dtype(dtype)
    if found != expected:
        crept = found == np.float64 and expected == np.float32
        cause = "float64 is NumPy's default, and it spreads" if crept else "the dtype was not kept"
        fail(f"dtype {expected}", f"dtype {found}", because or cause)


# Errors

def _error_text(error):
    name = getattr(error, "student_type", None)
    lines = str(error).strip().splitlines()
    return cut((name if type(name) is str else type(error).__name__) + (f": {lines[0]}" if lines else ""))


def _is_a(error, types):
    kind, name = type(error), getattr(error, "student_type", None)
    if type(name) is str:  # raised in the student's process: only the name of its type came across
        if any(wanted.__name__ == name for wanted in types):
            return True
        found = getattr(builtins, name, None)
        kind = found if isinstance(found, type) and issubclass(found, Exception) else kind
    # An exercise not yet written raises these: a wide type (Exception, RuntimeError) must not let them pass.
    for unwritten in (NotImplementedError, NameError, Failed):
        if issubclass(kind, unwritten):
            types = tuple(wanted for wanted in types if issubclass(wanted, unwritten))
    return issubclass(kind, types)


@contextmanager
def raises(ErrorType, because="", mentions=None):
    """Check that the block raises an error of this type; a context manager.

    Parameters
    ----------
    ErrorType : exception class, or a tuple of them
        Subclasses pass too. NotImplementedError and NameError, raised by unwritten code, pass by name only.
    mentions : str or sequence of str, optional
        What the message must contain, in capitals or not.

    Examples
    --------
    >>> with raises(ValueError, mentions="reshape"):
    ...     np.zeros(3).reshape(2)
    """
    types = ErrorType if isinstance(ErrorType, tuple) else (ErrorType,)
    wanted = " or ".join(kind.__name__ for kind in types)
    try:
        yield
    except Exception as error:
        if not _is_a(error, types):
            fail(wanted, _error_text(error), because or "the code stops for another reason first")
        words = [mentions] if type(mentions) is str else mentions or ()
        missing = ", ".join(repr(word) for word in words if word.lower() not in str(error).lower())
        if missing:
            fail(f"{wanted} with a message that mentions {missing}", _error_text(error),
                  because or "the message does not tell the reader what was wrong")
    else:
        fail(wanted, "no error", because or "the mistake is not noticed")


# Memory

def _peek(x):
    hook = getattr(type(x), "__peek__", None)
    return np.array(hook(x) if hook else as_array(x))


def _poke(x, values):
    hook = getattr(type(x), "__poke__", None)
    if hook:
        hook(x, (), values)
    else:
        as_array(x)[()] = values


def _overlap(a, b):
    """Whether `a` and `b` have an element in common: change all of one, look at all of the other, restore."""
    if hasattr(type(a), "__poke__") != hasattr(type(b), "__poke__"):
        raise TypeError("one array is in the student's process, one in the grader's: make both in one")
    for poked, watched in ((a, b), (b, a)):
        before, other = _peek(poked), _peek(watched)
        try:
            _poke(poked, np.where(before == 1, 0, 1).astype(before.dtype))  # differs everywhere, in any dtype
        except ValueError:  # read-only: try it the other way round
            continue
        try:
            after, seen = _peek(poked), _peek(watched)
        finally:
            _poke(poked, before)
        if before.size and after.tobytes() == before.tobytes():
            fail("an array that can be written to", "a copy: what is written to it is lost",
                  "`.data` makes a new array each time it is read")
        return seen.tobytes() != other.tobytes()
    if hasattr(type(a), "__poke__"):
        fail("an array that can be written to", "two read-only arrays", "they are broadcast views")
    return np.shares_memory(as_array(a), as_array(b))


def shares_memory(a, b, because=""):
    """Check that two arrays or Tensors share memory: a change in one shows in the other. Values are restored.

    Two empty arrays pass, as there is no number that they could fail to share; one empty array fails.

    Examples
    --------
    >>> x = np.zeros((2, 3))
    >>> shares_memory(x, x.reshape(6))
    """
    sizes = _peek(a).size, _peek(b).size
    if any(sizes) and not _overlap(a, b):
        got = "two arrays, each with its own" if all(sizes) else "an empty array, which shares nothing"
        fail("two views of the same memory", got, because or "a copy was made on the way")


def own_memory(a, b, because=""):
    """Check that two arrays or Tensors share no memory; an empty array shares none. Values are restored.

    Examples
    --------
    >>> x = np.zeros((2, 3))
    >>> own_memory(x, x.copy())
    """
    if _overlap(a, b):
        fail("two arrays, each with memory of its own", "a change in one shows in the other",
              because or "a view was kept where a copy is due")


ARRAYS_TRAVEL = False  # set in grading, where a plain array reaches the submission as a copy


@contextmanager
def unchanged(*arrays, because=""):
    """Check that the block leaves arrays or Tensors as they were; a context manager.

    In grading only an object of the submission can be watched, such as a Tensor: of a plain array its code gets a
    copy, and the check could never fail.

    Examples
    --------
    >>> x = np.ones(3)
    >>> with unchanged(x):
    ...     y = x + 1
    """
    if not arrays:
        raise TypeError("check.unchanged needs an array to watch")
    if ARRAYS_TRAVEL and not all(hasattr(type(x), "__peek__") for x in arrays):
        fail("an object of the notebook to watch, such as a Tensor", "a plain value", because)
    before = [_peek(x) for x in arrays]
    yield
    cause = because or "an in-place operation, such as `+=` or `out=`, on the input"
    for number, (x, old) in enumerate(zip(arrays, before), 1):
        new = _peek(x)
        if (new.shape, new.dtype) != (old.shape, old.dtype):
            fail(f"array {number} unchanged: shape {old.shape}, dtype {old.dtype}",
                  f"shape {new.shape}, dtype {new.dtype}", cause)
        same_values(new, old, cause, 0, 0, f"array {number} unchanged: ")


# Gradients

def _slopes(fn, arrays, x, upstream, Tensor):
    """Central differences of `sum(fn(...) * upstream)` by each element of `x`, which is one of `arrays`."""
    def evaluate():
        return as_array(fn(*[Tensor(array.copy(), dtype=np.float64) for array in arrays])).copy()

    slopes = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        old = x[index]
        step = np.cbrt(np.finfo(np.float64).eps) * max(1.0, abs(old))  # balances rounding and truncation
        x[index] = right = old + step
        high = evaluate()
        x[index] = left = old - step
        low = evaluate()
        x[index] = old
        slopes[index] = ((high - low) * upstream).sum() / (right - left)
    return slopes


def _suspect(grad, slopes):
    """What usually makes a gradient look like this one."""
    if not grad.any():
        return "the gradient is zero everywhere: nothing is added to it"
    if grad.ndim == 2 and grad.shape[0] == grad.shape[1] and np.allclose(grad.T, slopes):
        return "the gradient is transposed"
    factor = (grad * slopes).sum() / ((slopes ** 2).sum() or 1)
    if np.allclose(grad, factor * slopes):
        return "the sign" if np.isclose(factor, -1) else f"a factor: it is {factor:.4g} times the right one"
    return "one operation's gradient rule, or the gradient that arrives from above is left out"


def gradient(fn, inputs, Tensor, because="", seed=0, rtol=1e-5, atol=1e-7):
    """Check the gradients that `backward` computes against central finite differences.

    The gradient that arrives from above is random, of the output's shape: all ones would hide many mistakes.

    Parameters
    ----------
    fn : callable
        Takes one Tensor for each input and returns a Tensor of any shape; smooth near the inputs.
    inputs : list of float64 arrays
        Any shapes; small, since every element costs two calls of `fn`.
    Tensor : class
        Called as `Tensor(array, dtype=np.float64, requires_grad=True)`.

    Examples
    --------
    `check.gradient(lambda a, b: a * b, [np.ones((2, 3)), np.array([1.0, -2.0, 3.0])], Tensor)`
    """
    plain = type(inputs) in (list, tuple) and all(type(x) is np.ndarray for x in inputs)
    if not plain or not inputs or any(x.dtype != np.float64 for x in inputs):
        raise TypeError("check.gradient needs a list of float64 arrays")
    arrays = [x.copy() for x in inputs]
    tensors = [Tensor(x.copy(), dtype=np.float64, requires_grad=True) for x in arrays]
    output = fn(*tensors)
    value = as_array(output)
    if value.dtype != np.float64:
        fail("an output of dtype float64, as the inputs are", f"dtype {value.dtype}", because or "a cast")
    rng = np.random.default_rng(seed)
    upstream = np.array(rng.uniform(0.5, 1.5, value.shape) * rng.choice([-1.0, 1.0], value.shape))
    output.backward(upstream.copy())
    for number, (tensor, x) in enumerate(zip(tensors, arrays), 1):
        name, grad = f"input {number} of {len(arrays)}", tensor.grad
        if grad is None:
            fail(f"a gradient for {name}", "None", because or "the graph is cut on the way to this input")
        grad = as_array(grad)
        if grad.shape != x.shape:
            fail(f"a gradient of shape {x.shape} for {name}", f"shape {grad.shape}",
                  because or "it is not summed over the axes that broadcasting stretched")
        if grad.dtype != np.float64:
            fail(f"a gradient of dtype float64 for {name}", f"dtype {grad.dtype}", because or "a cast")
        slopes = _slopes(fn, arrays, x, upstream, Tensor)
        if not np.isfinite(slopes).all():
            fail("finite outputs near the inputs", "NaN or infinity", because or "the forward pass itself")
        same_values(grad, slopes, because or _suspect(grad, slopes), rtol, atol, f"gradient of {name}: ")


# Work and source

def counts(counted, because="", **expected):
    """Check what `count` or `peak_memory` counted; fails too if the count is incomplete.

    Parameters
    ----------
    counted : the object of `with count() as c` or `with peak_memory() as m`
    **expected : int, range or dict
        By name: flops, by_kind (a dict; kinds of count 0 may be left out), bytes_read, bytes_written,
        bytes_moved, arrays, arrays_left, peak_bytes, kept_bytes. A range allows any count in it.

    Examples
    --------
    `check.counts(c, flops=24, arrays=range(1, 3))` allows one or two arrays.
    """
    if not expected or set(expected) - _COUNTS:
        raise TypeError(f"check.counts needs some of these: {', '.join(sorted(_COUNTS))}")
    if getattr(counted, "complete", True) is not True:
        fail("a complete count", f"an incomplete one: {counted.why}", because or "numbers left NumPy")
    cause = because or "more or less work than the definition asks for"
    for name, wanted in expected.items():
        got = getattr(counted, name)
        if type(wanted) is range:
            if PLAIN.get(type(got)) is not int or int(got) not in wanted:
                fail(f"{name} from {wanted[0]} to {wanted[-1]}", show(got), cause)
        elif type(wanted) is dict and type(got) in (dict, collections.Counter):
            equal(*({kind: n for kind, n in each.items() if n} for each in (got, wanted)), because=cause)
        elif difference(got, wanted):
            fail(f"{name} = {show(wanted)}", show(got), cause)


def _source(function):
    hook = getattr(type(function), "__source__", None)
    try:
        text = textwrap.dedent(hook(function) if hook else inspect.getsource(function))
        return ast.parse(text), text.splitlines()
    except (OSError, TypeError, SyntaxError, AttributeError):
        fail("a function whose source can be read", "no source", "it was not written with `def` in a cell")


def _mentioned(tree):
    """Yield the line of each name, attribute, `@` and loop in the source, and what it is."""
    nodes = list(ast.walk(tree))
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id not in own:  # a local variable may bear any name
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.end_lineno, node.attr
        elif isinstance(node, (ast.alias, ast.ImportFrom)):
            text = node.name if isinstance(node, ast.alias) else node.module or ""
            yield from ((node.lineno, part) for part in text.split("."))
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
            yield node.lineno, "@"
        elif isinstance(node, (ast.For, ast.comprehension)):
            yield node.target.lineno, "for"
        elif isinstance(node, ast.While):
            yield node.lineno, "while"


def avoids(function, *names, because=""):
    """Check that the source of a function does not use some names; the helpers that it calls are not read.

    Parameters
    ----------
    function : function, method or class
    *names : str
        Functions, modules or attributes, or one of `@`, `for` (also in comprehensions) and `while`.

    Examples
    --------
    `check.avoids(matmul_loops, "matmul", "dot", "einsum", "@")` asks for a product written out.
    """
    if not names or not all(name == "@" or name.isidentifier() for name in names):
        raise TypeError("check.avoids needs names, or '@'")
    tree, lines = _source(function)
    for line, used in sorted(_mentioned(tree)):
        if used in names:
            fail(f"source without `{used}`", f"`{used}` in line {line}: {cut(lines[line - 1].strip())}",
                  because or "this exercise asks you to write that part yourself")


# Partial credit

class _Part:
    def __init__(self, points, name):
        self.points, self.name = points, name
        self.error = Failed("Expected: this part to run\nGot: it never ran\nLikely cause: its cell")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.error = error
        return isinstance(error, Exception)  # go on to the next part, but let an interrupt through

    def reason(self):
        failed = isinstance(self.error, Failed)
        return cut("; ".join(str(self.error).splitlines()), 400) if failed else _error_text(self.error)


class partial:
    """Points for the parts of a check that hold, with the reason of each lost part.

    Parameters
    ----------
    points : int or float
        The points of the cell; those of the parts add up to it.

    Examples
    --------
    >>> p = partial(4)
    >>> with p.part(2, "the data"):
    ...     equal(1 + 1, 2)
    >>> with p.part(2, "the gradient"):
    ...     equal(1 + 1, 3, because="a dropped term")
    >>> p.score()
    lost 2 of 2, the gradient: Expected: 3; Got: 2; Likely cause: a dropped term
    2.0
    """

    def __init__(self, points):
        self.points, self.parts = points, []

    def part(self, points, name):
        """A context manager: the block earns these points unless it raises an exception."""
        self.parts.append(_Part(points, name))
        return self.parts[-1]

    def score(self):
        """Print the reason of each lost part and return the points earned, as a float: the cell's last line.

        Raises
        ------
        ValueError
            If the points of the parts do not add up, or one of them is not positive.
        Exception
            The first failure, if every part failed.
        """
        total = sum(part.points for part in self.parts)
        positive = self.parts and all(part.points > 0 for part in self.parts)
        if not positive or not math.isclose(total, self.points):
            raise ValueError(f"the parts have {total} points in all, the check {self.points}")
        lost = [part for part in self.parts if part.error is not None]
        for part in lost:
            print(f"lost {part.points} of {part.points}, {part.name}: {part.reason()}")
        if len(lost) == len(self.parts):
            raise lost[0].error
        return float(total - sum(part.points for part in lost))
