"""`autograder.counters`: counts against closed formulas, and a world left exactly as it was found."""

import copy  # noqa: F401 (used by the expressions below)
import functools
import gc
import math
import pickle  # noqa: F401 (used by the expressions below)
import statistics  # noqa: F401 (used by the expressions below)
import subprocess
import sys
import textwrap
import threading
import types
from math import exp
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy import zeros as early_zeros

# Counted by attribute (counters.Counted): a bare name would be exchanged like np.ndarray.
from autograder import counters
from autograder.counters import count, peak_memory

F4 = np.float32
sizes = st.integers(1, 6)
few = settings(max_examples=15, deadline=None)


def draw(*shape, dtype=F4, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


class Box:
    """Stands for a Tensor: slots, no dict."""

    __slots__ = ("data", "grad", "parents")

    def __init__(self, data):
        self.data = np.asarray(data, F4)
        self.grad, self.parents = None, ()

    def __matmul__(self, other):
        return Box(self.data @ other.data)


# --- Every way to write a matrix product counts the same ----------------------------------------------------

def loops(a, b):
    out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for t in range(a.shape[1]):
                s += a[i, t] * b[t, j]
            out[i, j] = s
    return out


def loops_in_place(a, b):
    out = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for t in range(a.shape[1]):
                out[i, j] += a[i, t] * b[t, j]
    return out


def loops_over_lists(a, b):
    a, b = a.tolist(), b.tolist()
    rows = []
    for row in a:
        rows.append([])
        for j in range(len(b[0])):
            s = 0.0
            for t, x in enumerate(row):
                s = s + x * b[t][j]
            rows[-1].append(s)
    return np.array(rows)


def loops_over_items(a, b):
    (m, k), n = a.shape, b.shape[1]
    return np.array([[sum(a.item(i, t) * b[t, j].item() for t in range(k)) for j in range(n)]
                     for i in range(m)])


PRODUCTS = {
    "@": lambda a, b: a @ b,
    "matmul": np.matmul,
    "matmul out": lambda a, b: np.matmul(a, b, out=np.empty((len(a), b.shape[1]), a.dtype)),
    "dot": np.dot,
    "method dot": lambda a, b: a.dot(b),
    "inner": lambda a, b: np.inner(a, b.T),
    "linalg.matmul": np.linalg.matmul,
    "vecdot": lambda a, b: np.vecdot(a[:, None], b.T),
    "matvec": lambda a, b: np.matvec(a, b.T).T,
    "vecmat": lambda a, b: np.vecmat(a, b),
    "einsum": lambda a, b: np.einsum("ij,jk->ik", a, b),
    "einsum implicit": lambda a, b: np.einsum("ij,jk", a, b),
    "einsum optimize": lambda a, b: np.einsum("ij,jk->ik", a, b, optimize=True),
    "einsum lists": lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2]),
    "tensordot": lambda a, b: np.tensordot(a, b, 1),
    "tensordot axes": lambda a, b: np.tensordot(a, b, ((1,), (0,))),
    "loops": loops,
    "loops in place": loops_in_place,
    "loops over lists": loops_over_lists,
    "loops over items": loops_over_items,
    "broadcast": lambda a, b: (a[:, :, None] * b[None]).sum(1),
    "broadcast, add.reduce": lambda a, b: np.add.reduce(np.multiply(a[:, :, None], b), axis=1),
    "rows": lambda a, b: np.array([[np.dot(row, column) for column in b.T] for row in a]),
    "columns": lambda a, b: np.stack([np.sum(a * b[:, j], axis=1) for j in range(b.shape[1])], 1),
    "outer products": lambda a, b: sum(np.outer(a[:, t], b[t]) for t in range(a.shape[1])),
    "float()": lambda a, b: np.array([[sum(float(a[i, t]) * float(b[t, j]) for t in range(len(b)))
                                       for j in range(b.shape[1])] for i in range(len(a))]),
    "zip": lambda a, b: np.array([[sum(x * y for x, y in zip(r, c)) for c in b.T.tolist()]
                                  for r in a.tolist()]),
    "flat": lambda a, b: np.array([[sum(x * y for x, y in zip(r.flat, c.flat)) for c in b.T] for r in a]),
    "fsum": lambda a, b: np.array([[math.fsum(x * y for x, y in zip(r, c)) for c in b.T] for r in a]),
    "apply_along_axis": lambda a, b: np.apply_along_axis(lambda row: row @ b, 1, a),
    "vectorize": lambda a, b: np.vectorize(lambda x, y: x * y, otypes=[float])(a[:, :, None], b[None]).sum(1),
}


@pytest.mark.parametrize("form", PRODUCTS)
@given(m=sizes, k=sizes, n=sizes, double=st.booleans())
@few
def test_every_form_of_a_product_counts_2mkn(form, m, k, n, double):
    dtype = np.float64 if double else F4
    a, b = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype, seed=1)
    product = PRODUCTS[form]
    expected = product(a, b)
    with count() as c:
        got = product(a, b)
    assert c.complete, c.why
    assert c.flops == 2 * m * k * n
    assert c.by_kind == {"multiply": m * k * n, "add": m * k * n}
    assert type(got) is type(expected) and got.dtype == expected.dtype
    assert np.array_equal(got, expected)


def test_a_loop_that_starts_from_the_first_term_adds_once_less():
    a, b = draw(5), draw(5)
    with count() as c:
        total = a[0] * b[0]
        for i in range(1, 5):
            total += a[i] * b[i]
    assert c.by_kind == {"multiply": 5, "add": 4}


@given(batch=st.lists(sizes, max_size=2), m=sizes, k=sizes, n=sizes, stretch=st.booleans())
@few
def test_batched_products(batch, m, k, n, stretch):
    a, b = draw(*batch, m, k), draw(*([] if stretch else batch), k, n)
    for product in (np.matmul, lambda a, b: np.einsum("...ij,...jk->...ik", a, b)):
        with count() as c:
            product(a, b)
        assert c.flops == 2 * math.prod(batch) * m * k * n


@given(m=sizes, k=sizes)
@few
def test_products_with_vectors(m, k):
    a, v = draw(m, k), draw(k)
    for product in (lambda: a @ v, lambda: v @ a.T, lambda: np.dot(a, v), lambda: np.einsum("ij,j", a, v)):
        with count() as c:
            product()
        assert c.flops == 2 * m * k
    for product in (np.matmul, np.vdot, np.inner, np.linalg.vecdot):
        with count() as c:
            product(v, v)
        assert c.flops == 2 * k


@given(i=sizes, j=sizes, k=sizes, l=sizes)
@few
def test_einsum_of_three_follows_its_path(i, j, k, l):
    a, b, c = draw(i, j), draw(j, k), draw(k, l)
    with count() as direct:
        np.einsum("ij,jk,kl->il", a, b, c)
    assert direct.by_kind == {"multiply": 2 * i * j * k * l, "add": i * j * k * l}
    path = ["einsum_path", (0, 1), (0, 1)]
    with count() as stepwise:
        np.einsum("ij,jk,kl->il", a, b, c, optimize=path)
    assert stepwise.flops == 2 * i * j * k + 2 * i * k * l


def test_einsum_without_a_sum_only_multiplies_and_alone_only_adds():
    a, v = draw(3, 4), draw(4)
    for spec, operands, kinds in [
            ("ij->ji", (a,), {}), ("ij->i", (a,), {"add": 12}), ("i,j->ij", (v, v), {"multiply": 16}),
            ("ij,ij->ij", (a, a), {"multiply": 12}), ("ij,j", (a, v), {"multiply": 12, "add": 12})]:
        with count() as c:
            np.einsum(spec, *operands)
        assert c.by_kind == kinds, spec
    with count() as c:
        np.outer(v, v)
    assert c.by_kind == {"multiply": 16}


# --- Layers of a network ------------------------------------------------------------------------------------

@given(n=sizes, d=sizes)
@few
def test_softmax_by_array_and_by_number(n, d):
    x = draw(n, d)

    def arrays(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def numbers(x):
        rows = []
        for row in x.tolist():
            highest = -np.inf
            for v in row:
                highest = np.maximum(highest, v)
            e = [exp(v - highest) for v in row]
            total = sum(e)
            rows.append([v / total for v in e])
        return np.array(rows)

    for softmax in (arrays, numbers):
        with count() as c:
            softmax(x)
        assert c.complete, c.why
        assert c.by_kind == {kind: n * d for kind in ("maximum", "subtract", "exp", "add", "divide")}


@given(n=sizes, d=sizes)
@few
def test_moments(n, d):
    x = draw(n, d)
    for mean in (lambda: x.mean(axis=1), lambda: np.mean(x, axis=1), lambda: x.sum(1) / d,
                 lambda: np.mean(x.tolist(), axis=1)):
        with count() as c:
            mean()
        assert c.complete and c.by_kind == {"add": n * d, "divide": n}
    for var in (lambda: x.var(axis=1), lambda: np.var(x, axis=1)):
        with count() as c:
            var()
        assert c.flops == 4 * n * d + 2 * n
    with count() as c:
        np.std(x, axis=1)
    assert c.flops == 4 * n * d + 3 * n
    with count() as c:                                     # layer norm written out
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = 1.0 / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)
        centred * scale
    assert c.flops == 5 * n * d + 5 * n


def conv_loops(x, w):
    (n, c, h, wd), (f, _, kh, kw) = x.shape, w.shape
    out = np.zeros((n, f, h - kh + 1, wd - kw + 1), x.dtype)
    for b in range(n):
        for o in range(f):
            for i in range(out.shape[2]):
                for j in range(out.shape[3]):
                    total = 0.0
                    for p in range(c):
                        for r in range(kh):
                            for s in range(kw):
                                total += x[b, p, i + r, j + s] * w[o, p, r, s]
                    out[b, o, i, j] = total
    return out


def windows(x, w):
    return np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))


def im2col(x, w):
    columns = windows(x, w).transpose(0, 2, 3, 1, 4, 5).reshape(-1, w[0].size)
    return columns @ w.reshape(len(w), -1).T


CONVOLUTIONS = {
    "loops": conv_loops,
    "einsum": lambda x, w: np.einsum("nchwij,fcij->nfhw", windows(x, w), w),
    "einsum optimize": lambda x, w: np.einsum("nchwij,fcij->nfhw", windows(x, w), w, optimize=True),
    "tensordot": lambda x, w: np.tensordot(windows(x, w), w, ((1, 4, 5), (1, 2, 3))),
    "im2col": im2col,
}


@pytest.mark.parametrize("form", CONVOLUTIONS)
@given(n=st.integers(1, 2), c=st.integers(1, 2), f=st.integers(1, 3), h=st.integers(3, 5),
       k=st.integers(1, 3))
@few
def test_convolutions(form, n, c, f, h, k):
    x, w = draw(n, c, h, h), draw(f, c, k, k)
    with count() as counted:
        CONVOLUTIONS[form](x, w)
    assert counted.complete
    assert counted.flops == 2 * n * f * (h - k + 1) ** 2 * c * k * k


@given(n=st.integers(1, 9), m=st.integers(1, 9), mode=st.sampled_from(["full", "same", "valid"]))
@few
def test_one_dimensional_convolution(n, m, mode):
    a, v = draw(n, dtype=np.float64), draw(m, dtype=np.float64)
    # Ones in, overlaps out: each output then is the number of products that made it.
    pairs = int(np.convolve(np.ones(n), np.ones(m), mode).sum())
    for function in (np.convolve, np.correlate):
        with count() as c:
            function(a, v, mode)
        assert c.by_kind == {"multiply": pairs, "add": pairs}


def test_fft_convention():
    x = draw(4, 8, dtype=np.float64)
    for transform, flops in [(np.fft.fft, 4 * 5 * 8 * 3), (np.fft.rfft, 4 * 2.5 * 8 * 3)]:
        with count() as c:
            transform(x)
        assert c.by_kind == {"fft": flops}
    with count() as c:
        np.fft.irfft(np.fft.rfft(x))
    assert c.flops == 2 * 4 * 2.5 * 8 * 3


# --- Single operations --------------------------------------------------------------------------------------

X, Y, V, I = draw(4, 6), draw(4, 6, seed=1), draw(6), np.arange(24).reshape(4, 6)
B = X > 0

OPERATIONS = [
    ("X + Y", {"add": 24}), ("X * 2.0", {"multiply": 24}), ("-X", {"negative": 24}),
    ("abs(X)", {"absolute": 24}), ("X / V", {"divide": 24}), ("X ** 2", {"square": 24}),
    ("np.exp(X)", {"exp": 24}), ("X > Y", {"compare": 24}), ("B & B", {"logic": 24}),
    ("I * 3 + 1", {"integer": 48}), ("I @ I.T", {"integer": 192}), ("I * 0.5", {"multiply": 24}),
    ("I / 2", {"divide": 24}), ("X.sum()", {"add": 24}), ("X.max(0)", {"maximum": 24}),
    ("np.prod(X)", {"multiply": 24}), ("X.cumsum(1)", {"add": 24}), ("np.cumprod(X)", {"multiply": 24}),
    ("X.argmax(1)", {"compare": 24}), ("np.clip(X, 0, 1)", {"maximum": 24, "minimum": 24}),
    ("X.clip(0)", {"maximum": 24}), ("np.maximum(X, 0)", {"maximum": 24}),
    ("np.add.outer(V, V)", {"add": 36}), ("np.add.accumulate(V)", {"add": 6}),
    ("np.add.reduceat(V, [0, 4])", {"add": 6}), ("np.add.reduceat(V, [4, 1])", {"add": 6}),
    ("np.add.reduce(X, where=B)", {"add": int(B.sum())}), ("np.add.at(V.copy(), [0, 0, 1], 1.0)", {"add": 3}),
    ("X.sum(where=B)", {"add": int(B.sum())}), ("np.where(B, X, 0)", {}), ("np.concatenate([X, Y])", {}),
    ("X.astype(float)", {}), ("X[[0, 1]]", {}), ("X.T.copy()", {}), ("np.arange(9.0)", {}),
    ("np.linspace(0, 1, 5)", {}), ("X.reshape(-1).tolist()", {}), ("np.sort(V)", {"compare": 18}),
    ("np.linalg.norm(V)", {"multiply": 6, "add": 6, "sqrt": 1}), ("np.trace(X[:, :4])", {"add": 4}),
    ("X.round(1)", {"multiply": 24, "rint": 24, "divide": 24}),
    ("(X + 1j) * (Y + 1j)", {"add": 96, "multiply": 144}), ("np.bincount(I[0], weights=V)", {"add": 6}),
    ("np.exp([1.0, 2.0])", {"exp": 2}), ("np.sqrt(2.0)", {"sqrt": 1}),
    ("np.dot([1.0, 2.0], [3.0, 4.0])", {"multiply": 2, "add": 2}),
    ("np.float64(2) * X[0, 0]", {"multiply": 1}), ("np.float64(2) * X[0, 0].item()", {"multiply": 1}),
    ("V[0] > 0", {"compare": 1}), ("math.exp(V[0])", {"exp": 1}), ("sum(V)", {"add": 6}),
    ("max(V.tolist())", {"compare": 5}), ("(V[1] > 0) * 1.5", {"compare": 1, "multiply": 1}),
    ("np.random.default_rng(0).normal(size=3) * 2", {"multiply": 3}), ("np.random.rand(3) + 1", {"add": 3}),
    ("[v * 2 for v in np.nditer(V)]", {"multiply": 6}),
    ("[v * 2 for _, v in np.ndenumerate(V)]", {"multiply": 6}),
    ("np.cross(V[:3], V[3:])", {"multiply": 6, "subtract": 3}), ("np.vander(V[:2], 2)", {"multiply": 2}),
]


@pytest.mark.parametrize("expression, kinds", OPERATIONS, ids=[e for e, _ in OPERATIONS])
def test_operations(expression, kinds):
    with count() as c:
        eval(expression, globals())
    assert c.complete, c.why
    assert c.by_kind == kinds


@pytest.mark.parametrize("expression, read, written, arrays", [
    ("X + Y", 192, 96, 1), ("X + V", 96 + 24, 96, 1), ("X * 2.0", 96, 96, 1), ("X * X", 192, 96, 1),
    ("X.T", 0, 0, 0), ("X[1:3]", 0, 0, 0), ("X[1, 2]", 4, 0, 0), ("X[[0, 1]]", 48, 48, 1),
    ("X[B]", int(B.sum()) * 4 + 24, int(B.sum()) * 4, 1), ("X.reshape(3, 8)", 0, 0, 0),
    ("X.T.reshape(-1)", 96, 96, 1), ("X.sum()", 96, 0, 0), ("X.sum(0)", 96, 24, 1), ("X @ Y.T", 192, 64, 1),
    ("X.astype(np.float64)", 96, 192, 1), ("np.zeros((2, 2))", 0, 32, 1), ("X > 0", 96, 24, 1),
    ("np.broadcast_to(V, (4, 6)) + X", 24 + 96, 96, 1),
    ("np.add(X, Y, out=np.empty_like(X))", 192, 96 + 96, 1), ("np.concatenate([X, Y])", 192, 192, 1),
    ("np.stack([V, V])", 48, 48, 1), ("X.copy()", 96, 96, 1), ("X.flatten()", 96, 96, 1),
    ("np.asarray(X)", 0, 0, 0), ("np.array(X)", 96, 96, 1),
    ("np.lib.stride_tricks.sliding_window_view(V, 3)", 0, 0, 0), ("X.var(1)", 480, 192 + 16, 2),
    ("X.tolist()", 96, 0, 0),
])
def test_bytes_and_arrays(expression, read, written, arrays):
    with count() as c:
        eval(expression, globals())
    assert (c.bytes_read, c.bytes_written, c.arrays) == (read, written, arrays)
    assert c.bytes_moved == read + written


def test_in_place_work_makes_no_array():
    a, b = draw(3, 4), draw(3, 4)
    with count() as c:
        a += b
        np.multiply(a, 2, out=a)
        a[0] = 0.0
        a[:, 1] = b[:, 1]
    assert c.by_kind == {"add": 12, "multiply": 12}
    assert c.arrays == 0
    assert c.bytes_written == 48 + 48 + 16 + 12


# --- Inside is as outside -----------------------------------------------------------------------------------

Z, D, C = np.array(2.5, F4), draw(6, dtype=np.float64), draw(6) + 1j
WORDS, MIXED, EMPTY = np.array(["a", "bc"]), np.array([1, "a", None], object), np.zeros((0, 3), F4)
READ_ONLY = draw(4)
READ_ONLY.flags.writeable = False
TABLE = {F4(1.5): "found", 2: "two"}

FIDELITY = """
X * 2.0; X[0, 0] * 2.0; X[0, 0] * D[0]; X.sum() * 2.0; Z * 2.0; Z * D[0]; Z + 1; X[0, 0].item() * V;
2.0 * X[0, 0]; D[0] * X; X.mean(); X.mean(1); X.var(); X.std(0); X.astype(np.float16).mean();
np.float32(2) * D[0]; I[0, 1] / 2; I[0, 1] * 1.5; I.mean(); X[0, 0] ** 2; I[0, 3] // 2; divmod(D[0], 0.3);
-X[0, 0]; abs(X[0, 0]); round(D[0], 2); round(D[0]); int(D[0]); bool(D[0]); str(X); repr(X[0]);
f"{X[0, 0]:.3f} {D[0]}"; hash(D[0]); isinstance(D[0], float); isinstance(X[0, 0], np.floating);
isinstance(X[0, 0], np.ndarray); isinstance(X, np.ndarray); type(X) is np.ndarray; np.isscalar(X[0, 0]);
X[0, 0].dtype; np.asarray(X) is X; np.asarray(X, F4) is X; np.asarray(X, np.float64); np.array(X.tolist());
np.array([X[0], X[1]]); np.vectorize(lambda v: v * 2 + 1)(X); np.apply_along_axis(np.sort, 1, X); list(V);
[*V.flat]; sorted(V); X.flags.owndata; X.base is None; X[1:].base is None; np.where(B, X, 0.0);
np.where(B, X, D[0]); np.maximum(X, 0); np.cov(X); np.median(X); np.percentile(X, 30); np.histogram(D, 3);
np.unique(I, return_counts=True); np.linalg.svd(X[:, :4]); np.linalg.solve(X[:, :4], Y); np.polyfit(D, D, 1);
np.gradient(D); np.pad(X, 1); np.einsum("ij,kj", X, Y); np.result_type(X, 2.0); X.view(np.int32);
EMPTY.sum(0); EMPTY @ EMPTY.T; WORDS; WORDS[0]; np.char.upper(WORDS); MIXED; MIXED[1]; B.any(); ~B; C * C;
C.conj(); abs(C); READ_ONLY * 2; READ_ONLY.flags.writeable; copy.deepcopy({"a": [X, D[0]]});
pickle.loads(pickle.dumps([X, D[0]])); X.T.strides; np.random.default_rng(3).normal(size=4);
np.random.default_rng(3).permutation(V); np.random.default_rng(3).integers(9); np.arange(5)[I[0, 1]:];
[10, 20, 30][I[0, 1]]; TABLE[I[0, 2]]; {V[0]: 1}; {V[0], V[1]}; D[0] in D; math.sqrt(abs(D[0]));
np.fromiter((v for v in D), float); np.zeros(2, float); np.dtype(float); np.full((2,), D[0]); X[..., 0];
X[None]; np.argsort(D); np.clip(X[0, 0], 0, 1); np.sum([D[0], D[1]]); np.stack([D[0], D[1]]); float("2.5");
isinstance(2.0, float); float(D[0]);
"""


def described(value):
    """A value down to types, dtypes and bytes."""
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype == object else value.tobytes()
        return type(value), value.dtype, value.shape, content
    if isinstance(value, (list, tuple)):
        return type(value), [described(item) for item in value]
    if isinstance(value, (dict, set)):
        items = value.items() if isinstance(value, dict) else value
        return type(value), [described(item) for item in items]
    return type(value), repr(value)


@pytest.mark.parametrize("expression", [e.strip() for e in FIDELITY.split(";") if e.strip()])
def test_results_and_types_are_those_of_plain_numpy(expression):
    expected = eval(expression, globals())
    with count():
        got = eval(expression, globals())
    assert described(got) == described(expected)


def test_errors_are_those_of_plain_numpy():
    for expression in ("X @ X", "X + np.ones(5)", "X[99]", "X.reshape(5, 5)", "D[0] * 'a'", "bool(X)",
                       "iter(Z)", "{X: 1}", "V[0] + None", "V[0] * [1.0]", "np.zeros(-1)"):
        with pytest.raises(Exception) as plain:
            eval(expression)
        with count(), pytest.raises(plain.type):
            eval(expression)
    with count(), pytest.raises(ValueError, match="read-only"):
        READ_ONLY[0] = 1


def test_numbers_do_not_alias():
    with count():
        first = V[0]
        kept = first
        first += 1
        assert kept == V[0] and first != kept


# --- What was made before the block -------------------------------------------------------------------------

def test_boxes_of_the_caller_count():
    x, w = Box(draw(3, 4)), Box(draw(4, 5))
    before = x.data
    with count() as c:
        y = x @ w
    assert c.flops == 2 * 3 * 4 * 5 and c.bytes_read == 48 + 80 and c.arrays == 1
    assert x.data is before and type(y.data) is np.ndarray and y.data.base is None


def test_many_hiding_places():
    a = draw(3)
    kept, graph = [], Box(a)
    graph.parents = (Box(a), [Box(a)])

    def closure():
        return a + 1

    def default(values=a, *, named=a):
        return values + named

    class Layer:
        weight = a

        def __init__(self):
            self.own = {"deep": [(a, {"deeper": a})]}

        def run(self):
            return self.weight + self.own["deep"][0][1]["deeper"]

        @property
        def doubled(self):
            return closure() + a

    layer = Layer()
    method, partial = layer.run, functools.partial(default, a, named=a)
    space = types.SimpleNamespace(value=a)
    total = a.sum
    generator = (value for value in [a])
    pair = (a, "text")
    for work, flops in [
            (closure, 3), (default, 3), (layer.run, 3), (method, 3), (partial, 3), (lambda: layer.doubled, 6),
            (lambda: space.value + 1, 3), (lambda: pair[0] + 1, 3), (total, 3), (lambda: a + kept, 3),
            (lambda: graph.parents[1][0].data + graph.parents[0].data, 3)]:
        kept[:] = [1.0, 2.0, 3.0]
        with count() as c:
            work()
        assert c.flops == flops
    assert layer.own["deep"][0][0] is a and pair[0] is a and space.value is a and Layer.weight is a
    assert default.__defaults__[0] is a and default.__kwdefaults__["named"] is a and total.__self__ is a
    assert partial.args[0] is a and next(generator) is a
    assert type(graph.parents) is tuple and graph.parents[1][0].data.base is None


def test_identity_and_aliasing_hold_inside():
    a = draw(4)
    pair = [a, a]
    view = a[1:]
    box = Box(a)
    with count():
        assert pair[0] is pair[1] is a and box.data is a
        view[0] = 7.0
        assert a[1] == 7.0 and np.shares_memory(a, view)
    assert pair[0] is a and a[1] == 7.0 and view.base is a


def test_cycles_and_deep_chains():
    loop = []
    loop += [loop, {"loop": loop}, Box(draw(2))]
    node = None
    for _ in range(5000):
        box = Box([1.0])
        box.parents = (node,)
        node = box
    with count() as c:
        loop[2].data + 1
        node.data + 1
    assert c.flops == 3
    while node is not None:
        assert type(node.data) is np.ndarray
        node = node.parents[0]


def test_names_bound_before_the_block():
    multiply = np.multiply
    rng, normal = np.random.default_rng(0), np.random.default_rng(1).normal
    with count() as c:
        early_zeros(3) + 1
        multiply([1.0], [2.0])
        rng.normal(size=3) * 2
        normal(size=3) * 2
        exp(V[0])
        assert isinstance(rng, np.random.Generator)
    assert c.by_kind == {"add": 3, "multiply": 7, "exp": 1}
    assert early_zeros is np.zeros and multiply is np.multiply and exp is math.exp
    assert type(rng) is np.random.Generator and type(normal.__self__) is np.random.Generator


def test_generators_and_memory_maps_made_in_the_block(tmp_path):
    with count() as c:
        np.random.RandomState(0).rand(3) * 2
        rng = np.random.Generator(np.random.PCG64(0))
        rng.normal(size=3) * 2
        mapped = np.memmap(tmp_path / "map", F4, "w+", shape=(4,))
        mapped[:] = 1.0
        mapped + 1
        mapped.flush()
        assert isinstance(rng, np.random.Generator) and isinstance(mapped, np.memmap)
    assert c.by_kind == {"multiply": 6, "add": 4}
    assert type(mapped) is np.memmap and type(rng) is np.random.Generator
    with count() as c:
        (mapped * mapped).sum()
    assert c.by_kind == {"multiply": 4, "add": 4} and type(mapped) is np.memmap


def test_functions_kept_in_a_class_are_not_turned_into_methods():
    class Layer:
        make, activation = np.zeros, np.tanh

    with count() as c:
        Layer().activation(V)
        assert Layer().make((2,)).shape == (2,)
    assert c.by_kind == {"tanh": 6} and Layer.activation is np.tanh and Layer.make is np.zeros


def test_reflected_operators_of_other_classes_get_their_turn():
    class Tensor:
        __array_ufunc__ = None

        def __init__(self, data):
            self.data = data

        def __rmul__(self, other):
            return Tensor(other * self.data)

    x = Tensor(draw(3))
    with count() as c:
        for factor in (2.0, V[0], V[0].item(), draw(3)):
            assert type(factor * x) is Tensor
    assert c.by_kind == {"multiply": 12}


def test_roots_say_what_to_walk():
    namespace = {}
    exec("import numpy as np\nclass T:\n    def __init__(self, d): self.data = d\n"
         "w = np.ones((2, 3))\nt = T(w)\ndef f(): return float((t.data @ w.T)[0, 0]) + 1.0", namespace)
    mine = draw(3)
    handles = {7: namespace["t"]}
    with count(roots=[namespace, handles]) as c:
        namespace["f"]()
        exec("y = w + 1", namespace)
        assert type(mine) is not counters.Counted
        mine + 1                                           # the caller's own names are left alone
    assert c.flops == 24 + 1 + 6 and c.complete
    assert type(namespace["y"]) is np.ndarray and type(handles[7].data) is np.ndarray
    assert "float" not in namespace

    class Table:
        def __init__(self):
            self.items = [draw(3)]

    table = Table()
    with count(roots=[table]) as c:
        table.items[0] + 1
    assert c.flops == 3


def test_modules_of_the_framework_are_walked_and_others_not():
    ours, other = types.ModuleType("my_tinytorch.layers"), types.ModuleType("json.fake")
    source = "import numpy as np\nW = np.ones(3)\ndef f(): return W + W"
    exec(source, vars(ours))
    exec(source, vars(other))
    run, foreign = ours.f, other.f
    with count() as c:
        run()
        assert type(other.W) is not counters.Counted
    assert c.flops == 3 and type(ours.W) is np.ndarray
    del foreign


def test_nothing_counted_is_left():
    made = {}
    with count():
        made["list"] = [V + 1, (V * 2, V[0])]
        made["box"] = Box(V)
        made[V[1]] = V.tolist()
        made["view"] = V[1:].reshape(1, -1).T
        made["objects"] = V.astype(object)
        made["rng"] = np.random.default_rng(0)
        made["function"] = np.exp
        made["set"] = {V[0]}
        scalar, python = V.sum(), V.tolist()[0]

    def types_in(value, seen):
        if id(value) in seen:
            return
        seen[id(value)] = value
        assert type(value) not in (counters.Counted, counters.Number), value
        if isinstance(value, np.ndarray):
            types_in(value.base, seen)
        elif isinstance(value, dict):
            for pair in value.items():
                types_in(pair, seen)
        elif isinstance(value, (list, tuple, set)):
            for item in value:
                types_in(item, seen)
        elif isinstance(value, Box):
            types_in(value.data, seen)

    types_in(made, {})
    assert type(scalar) is F4 and type(python) is float and all(type(v) is float for v in made["objects"])
    assert type(made["rng"]) is np.random.Generator and made["function"] is np.exp
    gc.collect()
    assert not [o for o in gc.get_objects() if type(o) is counters.Counted]


def public_names():
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] in ("numpy", "math")]
    return {(module.__name__, name): id(value) for module in modules for name, value in vars(module).items()}


def test_off_means_off():
    names, functions = public_names(), set(globals())
    with count():
        assert id(np.zeros) != names["numpy", "zeros"]
        np.exp(V)
    with pytest.raises(ZeroDivisionError), count():
        raise ZeroDivisionError
    after = public_names()
    assert after == names
    assert set(globals()) == functions
    assert type(V) is np.ndarray and type(V + 1) is np.ndarray


def test_an_exception_restores_everything():
    x = Box(draw(3))
    before = x.data
    with pytest.raises(ValueError, match="on purpose"), count() as c:
        x.data = x.data + 1
        raise ValueError("on purpose")
    assert c.flops == 3 and type(x.data) is np.ndarray and type(before) is np.ndarray


def test_nested_counts_both_count():
    def inner(values):
        hidden = [values]
        with count() as c:
            hidden[0] * 2
        hidden[0] * 2
        return c.flops

    with count() as outer:
        X + 1
        with count() as middle:
            X + 1
            assert inner(V) == 6
        X + 1
    assert middle.flops == 24 + 12 and outer.flops == 72 + 12


def test_two_counts_in_one_statement_and_in_a_stack():
    import contextlib
    with contextlib.ExitStack() as stack:
        a, b = stack.enter_context(count()), stack.enter_context(count())
        V + 1
    assert a.flops == b.flops == 6


def test_other_threads_count():
    total = []
    with count() as c:
        worker = threading.Thread(target=lambda: total.append((X * 2).sum()))
        worker.start()
        worker.join()
    assert c.flops == 48 and type(total[0]) is F4


def test_a_value_returned_from_the_block_goes_plain():
    def work():
        with count():
            return V + 1

    result = work()
    assert type(result + 1) is np.ndarray and type(result[0]) is F4 and type(result[1:]) is np.ndarray
    assert type(result.sum()) is F4 and type(np.exp(result)) is np.ndarray


# --- Never silently low -------------------------------------------------------------------------------------

@pytest.mark.parametrize("expression, word", [
    ("'%.2f' % V[0]", "float"), ("np.float32(V[0])", "left by"), ("complex(V[0])", "complex"),
    ("np.linalg.svd(X)", "svd"), ("np.linalg.solve(X[:, :4], X)", "solve"),
    ("np.interp([0.1], V, V)", "interp"),
    ("statistics.fmean(V.tolist())", "float"),
])
def test_what_leaves_is_named(expression, word):
    with count() as c:
        eval(expression, globals())
    assert not c.complete and word in c.why
    assert "incomplete" in repr(c)


def test_an_unknown_compiled_function_is_named():
    def stub(a, b=None):
        return np.asarray(a) * 2.0

    stub.__name__ = "kernel"
    a = draw(3)
    with count() as c:
        a.__array_function__(stub, (type(a),), (a,), {})
    assert not c.complete and "kernel" in c.why


def test_a_class_derived_in_the_block_is_a_real_array_class():
    with count():
        class Mine(np.ndarray):
            pass
    assert Mine.__mro__[1] is np.ndarray and type(Mine) is type


def test_a_module_first_imported_in_the_block_keeps_no_stand_in(tmp_path):
    (tmp_path / "late_one.py").write_text("from numpy import zeros, exp, ndarray\nmade = zeros(3) + 1\n")
    program = """
        import sys, numpy as np
        from autograder.counters import count
        with count() as c:
            import late_one, numpy.ma
        assert c.flops == 3, c
        assert late_one.zeros is np.zeros and late_one.exp is np.exp and late_one.ndarray is np.ndarray
        assert type(late_one.made) is np.ndarray and numpy.ma.MaskedArray.__mro__[1] is np.ndarray
        assert numpy.ma.core.ndarray is np.ndarray
    """
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True,
                          check=False, timeout=60, env={"PYTHONPATH": f"{root}:{tmp_path}", "PATH": ""})
    assert done.returncode == 0, done.stderr


# --- Memory -------------------------------------------------------------------------------------------------

def test_peak_and_kept():
    with peak_memory() as m:
        kept = np.ones(10_000)
        gone = np.ones(50_000)
        del gone
    assert 480_000 <= m.peak_bytes < 480_000 + 4096
    assert (m.kept_bytes, m.arrays_left) == (80_000, 1)
    del kept


def test_peak_counts_a_temporary_and_repeats_to_the_byte():
    x = np.ones(20_000)

    def work():
        return (x * 2 + 1).sum()

    work()
    peaks = []
    for _ in range(3):
        with peak_memory() as m:
            work()
        peaks.append(m.peak_bytes)
        assert (m.kept_bytes, m.arrays_left) == (0, 0)
    assert 160_000 <= min(peaks) <= max(peaks) < 2 * 160_000 + 4096
    assert max(peaks) - min(peaks) < 256


def test_nested_peaks():
    with peak_memory() as outer:
        early = np.ones(100_000)
        del early
        with peak_memory() as inner:
            late = np.ones(1_000)
        del late
    assert 800_000 <= outer.peak_bytes < 820_000
    assert 8_000 <= inner.peak_bytes < 16_000 and inner.arrays_left == 1
    assert outer.arrays_left == 0


def test_a_cycle_counts_as_kept():
    class Node:
        pass

    with peak_memory() as m:
        node = Node()
        node.self, node.data = node, np.ones(1_000)
        del node
    assert m.kept_bytes == 8_000
    gc.collect()


def test_memory_and_count_together():
    with count() as c, peak_memory() as m:
        y = X @ Y.T
    assert c.flops == 192 and m.arrays_left == 1 and m.kept_bytes == y.nbytes
