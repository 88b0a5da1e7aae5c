"""`autograder.counters`: inside a block as outside, and a world left exactly as it was found."""

import copy  # noqa: F401 (used by the expressions below)
import functools
import gc
import math
import pickle  # noqa: F401 (used by the expressions below)
import subprocess
import sys
import textwrap
import threading
import types
from math import exp
from pathlib import Path

import numpy as np
import pytest
from counted import F4, B, Box, I, V, X, Y, draw  # noqa: F401 (used by the expressions below)
from numpy import zeros as early_zeros

# Classes by attribute (array.Counted): a bare name would be exchanged like np.ndarray.
from autograder.counters import array, count, number

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
        assert type(mine) is not array.Counted
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
        assert type(other.W) is not array.Counted
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
        assert type(value) not in (array.Counted, number.Number), value
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
    assert not [o for o in gc.get_objects() if type(o) is array.Counted]


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
