"""The cost of one call of what NumPy computes in C, from its plain result and plain arguments."""

import collections
import math

import numpy as np

from autograder.counters.costs import entries, masked, products


def dot(result, a, b):
    a, b = np.asarray(a), np.asarray(b)
    both = a.ndim and b.ndim
    pairs = np.size(result) * (a.shape[-1] if both else 1)
    return products(pairs, pairs if both else 0, (a, b, result))


def vdot(result, a, b):
    return products(np.size(a), np.size(a), (a, b, result))


def bincount(result, x, weights=None, minlength=0):
    return [("integer" if weights is None else "add", np.size(x))]


def correlate(result, a, v, mode="valid"):
    n, m = sorted((np.size(a), np.size(v)))
    overlaps = [min(k + 1, n, n + m - 1 - k) for k in range(n + m - 1)]
    skip = (len(overlaps) - np.size(result) + (mode == "same" and n % 2 == 0)) // 2
    pairs = sum(overlaps[skip:skip + np.size(result)])
    return products(pairs, pairs, (a, v, result))


def convolve(result, a, v, mode="full"):
    return correlate(result, a, v, mode)


def _log2(n):
    return max(n - 1, 0).bit_length()   # ceil(log2(n))


def sort(result, array, axis=-1, *args, **kwargs):
    array = np.asarray(array)
    n = array.size if axis is None else array.shape[axis] if array.ndim else 1
    return [("compare", array.size * _log2(n))]


def searchsorted(result, array, v, *args, **kwargs):
    return [("compare", np.size(v) * _log2(array.size + 1))]


def compare(result, array, *args, **kwargs):
    return [("compare", array.size)]


def each(name):
    """One operation for each element."""
    return lambda result, array, *args, **kwargs: entries(name, array.size, (array, result))


def rounding(result, array, decimals=0):
    scaled = array.size if decimals else 0
    return [*entries("multiply", scaled, (array,)), *entries("rint", array.size, (array,)),
            *entries("divide", scaled, (array,))]


def moment(name):
    """mean, var or std."""
    def cost(result, array, *args, where=True, **kwargs):
        k, n, values = np.size(result), masked(array, where), (array, result)
        steps = [("add", n), ("divide", k)]
        if name != "mean":
            steps += [("subtract", n), ("multiply", n), ("add", n), ("divide", k)]
        if name == "std":
            steps.append(("sqrt", k))
        return [entry for step, times in steps for entry in entries(step, times, values)]
    return cost


def einsum(result, *args, optimize=False, **kwargs):
    operands, inputs, output = _subscripts(args)
    size, terms, seen = {}, [], collections.Counter()
    for operand, term in zip(operands, inputs):
        hidden = operand.ndim - len(term.replace("...", ""))
        term = term.replace("...", "".join(map(chr, range(hidden, 0, -1))))     # chr(1) is the last of them
        for label, n in zip(term, operand.shape):
            size[label] = n if size.get(label, 1) == 1 else size[label]
        seen.update(term)
        terms.append(set(term))
    dots = {label for label in size if label < " "}
    if output is None:
        kept = {label for label, times in seen.items() if times == 1} | dots
    else:
        kept = set(output) - {"."} | (dots if "." in output else set())
    path = [tuple(range(len(terms)))]
    if len(terms) > 2 and optimize is not False:
        path = np.einsum_path(*args, optimize=optimize)[0][1:]
    pairs = sums = 0
    for step in path:
        joined = [terms.pop(i) for i in sorted(step, reverse=True)]
        labels = set().union(*joined)
        alive = labels & kept.union(*terms)
        volume = math.prod(size[label] for label in labels)
        pairs += volume * (len(joined) - 1)
        sums += volume if alive != labels else 0
        terms.append(alive)
    return products(pairs, sums, (*operands, result))


def _subscripts(args):
    """Operands, a character for each label of each operand, and those of the output (None if implied)."""
    if isinstance(args[0], str):
        inputs, arrow, output = args[0].replace(" ", "").partition("->")
        return [np.asarray(a) for a in args[1:]], inputs.split(","), output if arrow else None
    pairs = len(args) // 2 * 2
    operands, *labels = [np.asarray(a) for a in args[:pairs:2]], *args[1:pairs:2], *args[pairs:]
    texts = ["".join("..." if label is Ellipsis else chr(256 + label) for label in term) for term in labels]
    return operands, texts[:len(operands)], texts[-1] if len(args) % 2 else None
