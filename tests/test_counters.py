"""`autograder.counters`: FLOPs, bytes and arrays against closed formulas, and what a count misses."""

import math
import statistics  # noqa: F401 (used by the expressions below)
import sys
from math import exp

import numpy as np
import pytest
from counted import F4, B, I, V, X, Y, draw  # noqa: F401 (used by the expressions below)
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.counters import count

sizes = st.integers(1, 6)
few = settings(max_examples=15, deadline=None)


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

SUMMED = ("loops over items", "float()", "zip")             # by Python's sum(), of Python floats


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
    if form in SUMMED and sys.version_info >= (3, 12):     # whose sum() corrects its rounding
        assert np.allclose(got, expected)
    else:
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


# --- Never silently low -------------------------------------------------------------------------------------

@pytest.mark.parametrize("expression, word", [
    ("'%.2f' % V[0]", "float"), ("np.float32(V[0])", "left by"), ("complex(V[0])", "complex"),
    ("np.linalg.svd(X)", "svd"), ("np.linalg.solve(X[:, :4], X)", "solve"),
    ("np.interp([0.1], V, V)", "interp"), ("math.hypot(V[0], V[1])", "float"),
    ("np.place(X.copy(), B, [1.0])", "place"),
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
