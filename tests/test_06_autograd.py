"""Autograd of the reference package: against finite differences, against PyTorch, and what it keeps in memory."""

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograder import checks as check
from autograder.counters import count, peak_memory
from tinytorch_ref import activations, layers, losses, tensor as tensors
from tinytorch_ref.activations import gelu, log_softmax, relu, sigmoid, softmax, tanh
from tinytorch_ref.autograd import (
    RULES,
    Node,
    detach,
    draw_graph,
    gradcheck,
    gradient_rule,
    graph_nodes,
    kept_arrays,
    no_grad,
    saved_bytes,
    unbroadcast,
)
from tinytorch_ref.losses import binary_cross_entropy_with_logits, cross_entropy, mse_loss
from tinytorch_ref.tensor import Tensor, apply

MASK = np.array([[True, False, True], [False, False, True]])
TARGET = np.array([2, -100, 0, 1])
PROBABILITIES = np.random.default_rng(1).uniform(size=(4, 3))


def linear(x, weight, bias=None):
    return apply(layers.linear_forward, x, weight, *([] if bias is None else [bias]))


# Each case: function, shapes of its inputs, and the range from which they are drawn.
CASES = {
    "add, broadcast": (lambda x, y: x + y, [(2, 3), (3,)], (-2, 2)),
    "subtract, broadcast": (lambda x, y: x - y, [(3, 1), (2, 1, 4)], (-2, 2)),
    "multiply, broadcast": (lambda x, y: x * y, [(), (2, 2)], (-2, 2)),
    "multiply by itself": (lambda x: x * x * x, [(3,)], (-2, 2)),
    "divide, broadcast": (lambda x, y: x / y, [(2, 3), (2, 1)], (0.5, 2)),
    "with numbers": (lambda x: 1 - x + 2 * x - x / 4 + 3 / x + (-x) + 2**x, [(4,)], (0.5, 2)),
    "power": (lambda x, y: x**y, [(2, 3), (3,)], (0.5, 2)),
    "scalar powers": (lambda x: x**2 + x**3 + x**-1 + x**0.5 + x**0 + x**1, [(5,)], (0.5, 2)),
    "exp, log, sqrt, abs": (lambda x: x.exp() + x.log() * x.sqrt() + abs(x), [(3, 2)], (0.5, 2)),
    "abs of negatives": (lambda x: abs(x), [(6,)], (-3, -1)),
    "sum, axes": (lambda x: x.sum(axis=(0, -1), keepdims=True) * x + x.sum(), [(2, 3, 2)], (-2, 2)),
    "mean, axes": (lambda x: x.mean(axis=1) * x.mean(), [(2, 3, 2)], (-2, 2)),
    "max, axes": (lambda x: x.max(axis=-1) * x.max(axis=(0, 1), keepdims=True).sum(), [(2, 3, 2)], (-2, 2)),
    "reshape, permute": (lambda x: x.reshape(3, 4).T.reshape(2, -1) * x.permute(1, 0, 2).reshape(2, 6), [(2, 3, 2)], (-2, 2)),
    "permute, negative axes": (lambda x: x.permute(-1, 0, 1).exp(), [(2, 3, 2)], (-2, 2)),
    "slices": (lambda x: x[1:, ::-2] * x[..., :2, :1] + x[-1, None, :1], [(3, 3)], (-2, 2)),
    "repeated index": (lambda x: x[[0, 2, 0]] * x[:, [1, 1, 0]].T, [(3, 3)], (-2, 2)),
    "pairs of indices": (lambda x: x[np.array([0, 1, 0]), np.array([2, 2, 2])], [(2, 3)], (-2, 2)),
    "mask": (lambda x: x[MASK] ** 2, [(2, 3)], (-2, 2)),
    "tensor as index": (lambda x: x[Tensor([1, 1, 0])], [(2, 3)], (-2, 2)),
    "relu": (lambda x: relu(x) + relu(-x) * 2, [(4, 3)], (0.1, 2)),
    "smooth activations": (lambda x: sigmoid(x) * tanh(x) + gelu(x), [(4, 3)], (-3, 3)),
    "softmax": (lambda x: softmax(x) * softmax(x, axis=0), [(3, 4)], (-2, 2)),
    "log_softmax": (lambda x: log_softmax(x) + log_softmax(x, axis=0), [(3, 4)], (-2, 2)),
    "linear": (linear, [(2, 4, 3), (5, 3), (5,)], (-2, 2)),
    "linear without bias": (linear, [(3,), (5, 3)], (-2, 2)),
    "dropout": (lambda x: apply(layers.dropout_forward, x, mask=np.array([0.0, 2.0, 2.0], x.dtype)), [(2, 3)], (-2, 2)),
    "mse": (mse_loss, [(4, 3), (4, 3)], (-2, 2)),
    "mse, none": (lambda x, y: mse_loss(x, y, reduction="none"), [(4, 3), (4, 3)], (-2, 2)),
    "mse, sum": (lambda x, y: mse_loss(x, y, reduction="sum"), [(4,), (4,)], (-2, 2)),
    "bce": (lambda x: binary_cross_entropy_with_logits(x, PROBABILITIES), [(4, 3)], (-2, 2)),
    "bce, none": (lambda x: binary_cross_entropy_with_logits(x, PROBABILITIES, reduction="none"), [(4, 3)], (-2, 2)),
    "bce, sum": (lambda x: binary_cross_entropy_with_logits(x, PROBABILITIES, reduction="sum"), [(4, 3)], (-2, 2)),
    "cross-entropy": (lambda x: cross_entropy(x, TARGET), [(4, 3)], (-2, 2)),
    "cross-entropy, none": (lambda x: cross_entropy(x, TARGET, reduction="none"), [(4, 3)], (-2, 2)),
    "cross-entropy, smoothed sum": (lambda x: cross_entropy(x, TARGET, reduction="sum", label_smoothing=0.1), [(4, 3)], (-2, 2)),
    "cross-entropy of sequences": (
        lambda x: cross_entropy(x, np.array([[2, 1], [0, 1]]), label_smoothing=0.2, ignore_index=1),
        [(2, 2, 3)],
        (-2, 2),
    ),
}
PRODUCTS = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((1, 2, 3), (5, 3, 4)),
]  # fmt: skip


def inputs_of(case):
    function, shapes, (low, high) = CASES[case]
    rng = np.random.default_rng(7)
    return function, [rng.uniform(low, high, shape) for shape in shapes]


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    function, arrays = inputs_of(case)
    check.gradient(function, arrays, Tensor)
    assert gradcheck(function, arrays)


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_float32_are_float32(case):
    function, arrays = inputs_of(case)
    tensors_ = [Tensor(array, requires_grad=True) for array in arrays]
    output = function(*tensors_)
    output.backward(np.ones(output.shape))
    for tensor in tensors_:
        assert type(tensor.grad) is np.ndarray
        assert tensor.grad.dtype == np.float32 and tensor.grad.shape == tensor.shape


@pytest.mark.parametrize("first, second", PRODUCTS)
def test_products_of_all_shapes(first, second):
    rng = np.random.default_rng(3)
    check.gradient(lambda x, y: x @ y, [rng.normal(size=first), rng.normal(size=second)], Tensor)


@pytest.mark.parametrize("case", CASES)
def test_an_input_that_needs_no_gradient_gets_none(case):
    function, arrays = inputs_of(case)
    for position in range(len(arrays)):
        tensors_ = [Tensor(array, requires_grad=i == position) for i, array in enumerate(arrays)]
        output = function(*tensors_)
        output.backward(np.ones(output.shape))
        assert [tensor.grad is not None for tensor in tensors_] == [i == position for i in range(len(arrays))]


def test_every_primitive_so_far_has_a_rule():
    missing = [
        name
        for module in (activations, layers, losses)
        for name, function in vars(module).items()
        if name.endswith("_forward") and function not in RULES
    ]
    names = (
        "add subtract multiply divide power scalar_power negative absolute exp log sqrt matmul reduce_sum reduce_mean reduce_max "
        "reshape permute index cast equal not_equal less less_equal greater greater_equal"
    )
    missing += [name for name in names.split() if getattr(tensors, name) not in RULES]
    assert not missing


# --- Against PyTorch ---------------------------------------------------------------------------------------------------


def torch_cases(torch):
    F = torch.nn.functional
    target = torch.tensor(TARGET)
    return {
        "multiply, broadcast": lambda x, y: x * y,
        "divide, broadcast": lambda x, y: x / y,
        "power": lambda x, y: x**y,
        "exp, log, sqrt, abs": lambda x: x.exp() + x.log() * x.sqrt() + abs(x),
        "max, axes": lambda x: x.amax(dim=-1) * x.amax(dim=(0, 1), keepdim=True).sum(),
        "repeated index": lambda x: x[[0, 2, 0]] * x[:, [1, 1, 0]].T,
        "smooth activations": lambda x: torch.sigmoid(x) * torch.tanh(x) + F.gelu(x, approximate="tanh"),
        "softmax": lambda x: F.softmax(x, -1) * F.softmax(x, 0),
        "log_softmax": lambda x: F.log_softmax(x, -1) + F.log_softmax(x, 0),
        "linear": F.linear,
        "mse": F.mse_loss,
        "bce": lambda x: F.binary_cross_entropy_with_logits(x, torch.tensor(PROBABILITIES)),
        "cross-entropy": lambda x: F.cross_entropy(x, target),
        "cross-entropy, none": lambda x: F.cross_entropy(x, target, reduction="none"),
        "cross-entropy, smoothed sum": lambda x: F.cross_entropy(x, target, reduction="sum", label_smoothing=0.1),
    }


def test_values_and_gradients_are_pytorchs():
    torch = pytest.importorskip("torch")
    for case, theirs in torch_cases(torch).items():
        function, arrays = inputs_of(case)
        mine = [Tensor(array, dtype=np.float64, requires_grad=True) for array in arrays]
        other = [torch.tensor(array, requires_grad=True) for array in arrays]
        output, expected = function(*mine), theirs(*other)
        upstream = np.random.default_rng(2).normal(size=output.shape)
        output.backward(upstream)
        expected.backward(torch.tensor(upstream))
        np.testing.assert_allclose(output.data, expected.detach().numpy(), rtol=1e-9, err_msg=case)
        for tensor, twin in zip(mine, other):
            np.testing.assert_allclose(tensor.grad, twin.grad.numpy(), rtol=1e-8, atol=1e-12, err_msg=case)


@pytest.mark.parametrize("shape", [(), (0, 3), (400, 300)])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_slope_of_gelu_for_any_layout_of_memory(shape, transposed):
    """Several blocks, none, or a single number; transposed, and with a gradient that is a broadcast view."""
    x = Tensor(np.random.default_rng(1).normal(size=shape), dtype=np.float64, requires_grad=True)
    upstream = np.broadcast_to(np.arange(1.0, 1 + shape[-1]) if shape else 1.0, shape)
    if transposed and shape:
        gelu(x.T).backward(upstream.T)
    else:
        gelu(x).backward(upstream)
    after, before = (gelu(Tensor(x.data + step, dtype=np.float64)).data for step in (1e-6, -1e-6))
    np.testing.assert_allclose(x.grad, upstream * (after - before) / 2e-6, rtol=1e-6, atol=1e-6)


def test_ties_and_corners_are_pytorchs():
    torch = pytest.importorskip("torch")
    cases = [
        (lambda x: x.max(axis=1), lambda x: x.amax(dim=1), [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]),
        (lambda x: x.max(), lambda x: x.amax(), [[5.0, 1.0], [5.0, 5.0]]),
        (relu, torch.relu, [-1.0, 0.0, 1.0]),
        (abs, abs, [-1.0, 0.0, 1.0]),
        (lambda x: x**0, lambda x: x**0, [-1.0, 0.0, 1.0]),
        (lambda x: x**2, lambda x: x**2, [-1.0, 0.0, 1.0]),
        (lambda x: x ** Tensor([0.0, 0.0, 2.0], dtype=np.float64), lambda x: x ** torch.tensor([0.0, 0.0, 2.0], dtype=torch.float64), [0.0, 3.0, 0.0]),
    ]
    for mine, theirs, values in cases:
        x, twin = Tensor(values, dtype=np.float64, requires_grad=True), torch.tensor(values, dtype=torch.float64, requires_grad=True)
        mine(x).sum().backward()
        theirs(twin).sum().backward()
        np.testing.assert_allclose(x.grad, twin.grad.numpy())


def test_the_exponent_of_zero_has_gradient_zero():
    exponent = Tensor([2.0, 3.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (Tensor([0.0, 2.0]) ** exponent).backward(np.ones(2))
    np.testing.assert_allclose(exponent.grad, [0, 8 * np.log(2)], rtol=1e-6)


# --- Properties --------------------------------------------------------------------------------------------------------


@given(st.data(), hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4))
def test_unbroadcast_is_the_adjoint_of_broadcasting(data, shapes):
    shape, full = shapes.input_shapes[0], shapes.result_shape
    grad = data.draw(hnp.arrays(np.int64, full, elements=st.integers(-9, 9))).astype(np.float64)
    x = data.draw(hnp.arrays(np.int64, shape, elements=st.integers(-9, 9))).astype(np.float64)
    result = unbroadcast(grad, shape)
    assert result.shape == shape
    assert (np.broadcast_to(x, full) * grad).sum() == (x * result).sum()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12), st.integers(0, 9))
def test_random_graphs(program, seed):
    """Any program of a few operations on earlier results, each of which may be used again."""
    arrays = [np.random.default_rng(seed).uniform(0.5, 1.5, shape) for shape in [(2, 3), (3,), ()]]

    def run(*leaves):
        known = list(leaves)
        for operation, first, second in program:
            x, y = known[first % len(known)], known[second % len(known)]
            known.append([x + y, x * y * 0.5, tanh(x) - y, (x / (y * y + 1.0)), x.mean() * y][operation])
        return sum(known, Tensor(np.zeros(()), dtype=np.float64))

    check.gradient(run, arrays, Tensor, rtol=1e-4, atol=1e-6)


@settings(deadline=None)
@given(hnp.basic_indices((3, 4, 2), allow_newaxis=True) | hnp.integer_array_indices((3, 4, 2)))
def test_any_index(key):
    x = Tensor(np.arange(24.0).reshape(3, 4, 2), requires_grad=True)
    taken = x[key]
    up = np.random.default_rng(0).integers(1, 9, taken.shape).astype(np.float32)
    taken.backward(up)
    expected = np.zeros((3, 4, 2))
    np.add.at(expected, key, up)
    np.testing.assert_array_equal(x.grad, expected)


# --- Long chains and memory --------------------------------------------------------------------------------------------


def in_a_small_stack(work):
    """Run `work` in a thread whose stack would not hold a deep recursion, without the garbage collector, for speed."""
    before, failures = threading.stack_size(512 * 1024), []
    gc.disable()

    def guarded():
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    try:
        thread = threading.Thread(target=guarded)
        thread.start()
        thread.join()
    finally:
        gc.enable()
        threading.stack_size(before)
    if failures:
        raise failures[0]


def chain(x, length):
    for _ in range(length):
        x = x * 1.0
    return x


def test_half_a_million_operations_run_backwards():
    def work():
        x = Tensor([1.0], requires_grad=True)
        chain(x, 500_000).backward()
        assert x.grad[0] == 1

    in_a_small_stack(work)


def test_half_a_million_operations_can_be_forgotten():
    def work():
        y = chain(Tensor([1.0], requires_grad=True), 500_000)
        del y

    in_a_small_stack(work)


def test_no_reference_cycles():
    gc.collect()
    gc.disable()
    try:
        x = Tensor(np.ones((2, 3)), requires_grad=True)
        y = softmax((x @ x.T).exp() / 3.0)
        node = weakref.ref(y)
        del y
        assert node() is None, "forgetting the result frees the graph"
        y = gelu(x * x).mean()
        y.backward()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_values_that_no_rule_keeps_are_freed_at_once():
    x = Tensor(np.ones(10), requires_grad=True)
    y = x + 1.0
    z = y.reshape(2, 5).sum(axis=0)
    values = weakref.ref(y.data)
    del y
    assert values() is None
    assert saved_bytes(z) == 0
    z.backward(np.ones(5))
    np.testing.assert_array_equal(x.grad, np.ones(10))


def test_memory_falls_while_the_walk_goes_on():
    x = Tensor(np.ones(100_000), requires_grad=True)
    with peak_memory() as memory:
        y = x
        for _ in range(30):
            y = tanh(y)
        y.backward(x.data)
    assert memory.peak_bytes < 34.5 * x.nbytes, "30 kept results and a few temporaries"
    assert memory.kept_bytes == 2 * x.nbytes, "the gradient and the last result"


def test_kept_arrays_sees_defaults_and_bears_names_that_were_never_bound():
    kept, never = np.ones(2), False
    if never:
        unbound = None

    def backward(grad, slope=kept):
        return (grad * slope, unbound)

    assert [id(array) for array in kept_arrays(backward)] == [id(kept)]


def test_kept_arrays_of_a_function_that_calls_itself():
    kept = np.ones(2)

    def halves(grad, times=2):
        return halves(grad / 2, times - 1) if times else (grad * kept,)

    assert [id(array) for array in kept_arrays(halves)] == [id(kept)]


def test_constants_keep_nothing():
    x = Tensor(np.ones(1000), requires_grad=True)
    assert saved_bytes(x * 2.0 + 1.0 - x / 4.0) <= 8
    assert saved_bytes(Tensor(np.ones((5, 1000))) @ Tensor(np.ones((1000, 2)), requires_grad=True)) == 20_000


def test_shared_buffers_and_views_count_once():
    x = Tensor(np.ones((4, 5)), requires_grad=True)
    h = tanh(x)
    y = (h.T[:, :2] @ h[:2]) * 1.0
    kept = {id(array) for node in graph_nodes(y) for array in kept_arrays(node.backward) if array.ndim}
    assert len(kept) >= 3
    assert saved_bytes(y) == h.nbytes + 4, "views of h, h itself and the constant"


# --- Whose array it is -------------------------------------------------------------------------------------------------


def test_gradients_of_leaves_belong_to_them():
    x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([1.0, 2.0], requires_grad=True)
    up = np.ones(2, np.float32)
    (x + y).backward(up)
    assert not np.shares_memory(x.grad, y.grad) and not np.shares_memory(x.grad, up)
    x.grad += 1
    np.testing.assert_array_equal(up, [1, 1])
    x.grad = None
    x.sum().backward()
    assert x.grad.flags.writeable
    for grad in ((x.reshape(1, 2) * 1.0).reshape(2), x[:], x.to(np.float32)):
        x.grad = None
        grad.backward(up)
        assert not np.shares_memory(x.grad, up)


def test_a_fresh_gradient_is_not_copied():
    made = []

    def twice(a):
        return a * 2

    @gradient_rule(twice)
    def rule(output, a):
        return lambda grad: made.append(grad * 2) or (made[-1],)

    x = Tensor([1.0, 2.0], requires_grad=True)
    apply(twice, x).backward(np.ones(2))
    assert x.grad is made[0]


def test_gradients_accumulate():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad, [4, 8])
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


def test_two_losses_on_one_graph():
    x = Tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    h.sum().backward(retain_graph=True)
    (h * 2.0).sum().backward()
    np.testing.assert_array_equal(x.grad, [6, 12])
    with pytest.raises(RuntimeError, match="second time"):
        (h * 3.0).sum().backward()


# --- Errors ------------------------------------------------------------------------------------------------------------


def test_clear_errors():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"\(2,\)"):
        (x * 2.0).backward()
    with pytest.raises(RuntimeError, match="does not require a gradient"):
        Tensor([1.0]).backward()
    with pytest.raises(ValueError, match=r"\(3,\)"):
        (x * 2.0).backward(np.ones(3))
    with pytest.raises(RuntimeError, match="only real numbers"):
        (Tensor([1, 2], requires_grad=True) * 2.0).sum().backward()


def test_an_operation_without_a_rule_says_its_name():
    def cumulate_forward(a):
        return np.cumsum(a)

    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="cumulate_forward"):
        apply(cumulate_forward, x)
    assert apply(cumulate_forward, detach(x)).data[1] == 3
    with no_grad():
        assert not apply(cumulate_forward, x).requires_grad


@pytest.mark.parametrize(
    "returned, message",
    [
        (lambda grad: (grad[:1], grad), "shape"),
        (lambda grad: (grad.astype(np.float64), grad), "float64"),
        (lambda grad: (None, grad), "no gradient"),
        (lambda grad: (grad,), "1 gradients for 2"),
    ],
)
def test_a_rule_that_returns_nonsense_is_named(returned, message):
    def odd_forward(a, b):
        return a + b

    gradient_rule(odd_forward)(lambda output, a, b: returned)
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=f"odd .*{message}"):
        apply(odd_forward, x, x).backward(np.ones(2))


def test_operands_of_two_precisions():
    x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0], dtype=np.float64, requires_grad=True)
    (x * y + x.to(np.float64)).backward(np.ones(2))
    assert (x.grad.dtype, y.grad.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(x.grad, [4, 5])


@pytest.mark.parametrize(
    "operation, keeps_input, keeps_output",
    [
        (lambda x: x * x, True, False),
        (lambda x: x.log(), True, False),
        (lambda x: x @ x, True, False),
        (lambda x: x / 3.0, False, False),
        (lambda x: x.exp(), False, True),
        (lambda x: x.sqrt(), False, True),
        (tanh, False, True),
        (relu, False, True),
        (softmax, False, True),
        (lambda x: x + x, False, False),
    ],
)
def test_a_change_in_place_is_noticed_where_it_matters(operation, keeps_input, keeps_output):
    for harmful, change_output in [(keeps_input, False), (keeps_output, True)]:
        x = Tensor([1.0, 2.0], requires_grad=True)
        h = x * 1.0
        y = operation(h)
        z = (y * 1.0).sum()
        z.backward(retain_graph=True)
        right, x.grad = x.grad, None
        (y if change_output else h)[...] = 7.0
        if harmful:
            with pytest.raises(RuntimeError, match="in place"):
                z.backward()
        else:
            z.backward()
            np.testing.assert_array_equal(x.grad, right)


def test_a_kept_view_is_watched():
    def rows_forward(a):
        return a * 2

    @gradient_rule(rows_forward)
    def rule(output, a):
        first = a[0]
        return lambda grad: (grad + 0 * first,)

    x = Tensor(np.ones((2, 2)), requires_grad=True)
    y = apply(rows_forward, x)
    x[1] = 3.0
    with pytest.raises(RuntimeError, match="in place"):
        y.backward(np.ones((2, 2)))


@pytest.mark.parametrize("alias", [detach, lambda x: x.T, lambda x: x[1:], lambda x: detach(x).reshape(2, 1)])
def test_a_change_by_another_name_is_noticed(alias):
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    alias(x)[0] = 5.0
    with pytest.raises(RuntimeError, match="in place"):
        y.backward(np.ones(2))


def test_a_step_of_an_optimizer_counts_as_a_change():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    x.data -= 0.5
    x.version += 1
    with pytest.raises(RuntimeError, match="in place"):
        y.backward(np.ones(2))


def test_changes_keep_nothing_alive():
    before = len(Node.changes.owners)
    for _ in range(100):
        x = Tensor([1.0, 2.0], requires_grad=True)
        x[0] = 3.0
        x[1] = 3.0
    del x
    assert len(Node.changes.owners) == before


def test_a_result_that_was_overwritten_cannot_be_used():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x + 1.0
    y[0] = 5.0
    with pytest.raises(RuntimeError, match="in place"):
        y.sum().backward()
    x[0] = 3.0  # a leaf has no history that could be wrong
    (x * x).sum().backward()
    np.testing.assert_array_equal(x.grad, [6, 4])


def test_a_change_that_harms_nothing_is_allowed():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = (x + 1.0) * 2.0
    x[0] = 100.0
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, [2, 2])


def test_no_grad_and_detach():
    x = Tensor([1.0, 2.0], requires_grad=True)

    @no_grad()
    def quiet():
        return x * 2.0

    assert not quiet().requires_grad and (x * 2.0).requires_grad
    with pytest.raises(KeyError), no_grad(), no_grad():
        raise KeyError
    assert (x * 2.0).requires_grad
    y = x * 2.0
    with no_grad():
        y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad, [2, 2])
    assert np.shares_memory(detach(x).data, x.data) and not detach(x).requires_grad
    z = x * detach(x)
    x.grad = None
    z.sum().backward()
    np.testing.assert_array_equal(x.grad, [1, 2])


def test_results_without_gradients():
    x = Tensor([1.0, 2.0], requires_grad=True)
    for result in (x > 1.0, x == x, x.argmax(), x.to(np.int64)):
        assert not result.requires_grad and result.node is None


# --- Looking inside ----------------------------------------------------------------------------------------------------


def test_drawing():
    x, y = Tensor(np.ones((2, 3)), requires_grad=True), Tensor(np.ones(3), requires_grad=True)
    z = (x * y).sum()
    assert draw_graph(z, x=x, y=y) == (
        "reduce_sum #1 ()  keeps nothing\n"
        "`-- multiply #0 (2, 3)  keeps (3,), (2, 3)\n"
        "    |-- x (2, 3)\n"
        "    `-- y (3,)"
    )
    h = x * 2.0
    assert "drawn above" in draw_graph(h + h)
    z.backward()
    assert draw_graph(z) == "reduce_sum #0 (), freed"
    assert draw_graph(x) == "leaf (2, 3)" and draw_graph(Tensor([1.0])) == "constant (1,)"
    assert len(draw_graph(chain(x, 1000)).splitlines()) == 61


def test_gradcheck_finds_wrong_rules():
    def product(a, b):
        return a * b

    arrays = [np.array([1.0, -2.0, 3.0]), np.array([0.5, 1.5, -1.0])]
    rules = {
        True: lambda output, a, b: lambda grad: (grad * b, grad * a),
        "sign": lambda output, a, b: lambda grad: (grad * b, -grad * a),
        "upstream": lambda output, a, b: lambda grad: (b.copy(), a.copy()),
        "factor": lambda output, a, b: lambda grad: (grad * b * 1.001, grad * a),
        "exchanged": lambda output, a, b: lambda grad: (grad * a, grad * b),
    }
    for wrong, rule in rules.items():
        gradient_rule(product)(rule)
        if wrong is True:
            assert gradcheck(lambda x, y: apply(product, x, y), arrays)
        else:
            with pytest.raises(AssertionError, match="input"):
                gradcheck(lambda x, y: apply(product, x, y), arrays)
    with pytest.raises(AssertionError, match="input 1 got no gradient"):
        gradcheck(lambda x, y: x * detach(y), arrays)


@pytest.mark.parametrize("M, K, N", [(2, 3, 4), (7, 5, 1)])
def test_backward_costs_twice_the_forward_pass(M, K, N):
    with count() as counted:
        x, w = Tensor(np.ones((M, K)), requires_grad=True), Tensor(np.ones((K, N)), requires_grad=True)
        (x @ w).backward(np.ones((M, N)))
    check.counts(counted, flops=6 * M * K * N)
    assert type(x.grad) is np.ndarray and type(w.grad) is np.ndarray
