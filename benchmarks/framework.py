"""The framework against PyTorch: float32, on the processor, with the same numbers on both sides.

Imports stand inside the functions, so that PyTorch, or a module that is not built yet, may be missing.
"""

from time import perf_counter, process_time

import numpy as np

from benchmarks.cases import Samples, case, race


def numbers(*shape, seed=0):
    """Normal random numbers in float32."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


# --- W1: a training step ---


@case("w1", "training step, MLP 784-128-10, batch 64, Adam", "PyTorch, 2 threads", target=0.75, threads=2)
@race(perf_counter)
def mlp(tiny):
    sizes = (20, 8, 10) if tiny else (784, 128, 10)
    images, labels = numbers(64, sizes[0]), np.arange(64) % 10
    return mlp_step(*sizes, images, labels), torch_mlp_step(*sizes, images, labels)


def mlp_step(pixels, hidden, classes, images, labels):
    """A function that trains our network by one step and returns the loss."""
    from tinytorch_ref.optimizers import Adam

    import tinytorch_ref.autograd  # noqa: F401  switches recording on
    from tinytorch_ref.layers import Linear, ReLU, Sequential
    from tinytorch_ref.losses import cross_entropy
    from tinytorch_ref.tensor import Tensor

    model = Sequential(Linear(pixels, hidden, rng=0), ReLU(), Linear(hidden, classes, rng=1))
    optimizer = Adam(model.parameters(), lr=0.001)
    x, y = Tensor(images), Tensor(labels)

    def step():
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def torch_mlp_step(pixels, hidden, classes, images, labels):
    """The same with PyTorch."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU(), nn.Linear(hidden, classes))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


# --- W6: operations on many elements ---


def many(tiny):
    """Shape of an array of 4 M elements, rows of 1,000."""
    return (8, 10) if tiny else (4000, 1000)


@case("w6", "add, 4 M elements", "PyTorch, 1 thread", target=1.15)
@race(process_time)
def add(tiny):
    import torch

    from tinytorch_ref.tensor import Tensor

    first, second = numbers(*many(tiny)), numbers(*many(tiny), seed=1)
    a, b, c, d = Tensor(first), Tensor(second), torch.from_numpy(first), torch.from_numpy(second)
    return lambda: a + b, lambda: c + d


@case("w6", "softmax forward, 4,000 rows of 1,000", "PyTorch, 1 thread", target=2.2)
@race(process_time)
def softmax(tiny):
    import torch

    from tinytorch_ref.activations import softmax
    from tinytorch_ref.tensor import Tensor

    values = numbers(*many(tiny))
    ours, theirs = Tensor(values), torch.from_numpy(values)
    return lambda: softmax(ours), lambda: torch.softmax(theirs, -1)


def there_and_back(ours, theirs, tiny):
    """Two calls that run a function of one tensor forward and backward."""
    import torch

    import tinytorch_ref.autograd  # noqa: F401
    from tinytorch_ref.tensor import Tensor

    values, upstream = numbers(*many(tiny)), numbers(*many(tiny), seed=1)
    x, y = Tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)
    torch_upstream = torch.from_numpy(upstream)

    def our_turn():
        x.grad = None
        ours(x).backward(upstream)

    def their_turn():
        y.grad = None
        theirs(y).backward(torch_upstream)

    return our_turn, their_turn


@case("w6", "relu forward + backward, 4 M elements", "PyTorch, 1 thread", target=1.8)
@race(process_time)
def relu(tiny):
    import torch

    from tinytorch_ref.activations import relu

    return there_and_back(relu, torch.relu, tiny)


@case("w6", "gelu (tanh form) forward + backward, 4 M elements", "PyTorch, 1 thread", target=1.1)
@race(process_time)
def gelu(tiny):
    import torch

    from tinytorch_ref.activations import gelu

    return there_and_back(gelu, lambda x: torch.nn.functional.gelu(x, approximate="tanh"), tiny)


@case("w6", "LayerNorm forward + backward, 4,000 rows of 1,000", "PyTorch, 1 thread", target=3.4)
@race(process_time)
def layer_norm(tiny):
    import torch
    from tinytorch_ref.transformers import LayerNorm

    width = many(tiny)[-1]
    return there_and_back(LayerNorm(width), torch.nn.LayerNorm(width), tiny)


# --- W7: the matrix product ---


def product(size):
    """Our product of square matrices against NumPy's, as a share of its FLOP/s."""

    @race(perf_counter)
    def times(tiny):
        from tinytorch_ref.tensor import Tensor

        n = 16 if tiny else size
        a, b, out = numbers(n, n), numbers(n, n, seed=1), np.empty((n, n), np.float32)
        left, right = Tensor(a), Tensor(b)
        return lambda: left @ right, lambda: np.matmul(a, b, out=out)

    def measure(effort):
        samples = times(effort)
        return Samples([1 / ratio for ratio in samples.values], samples.details)

    return measure


for size, target in (512, 0.85), (1024, 0.92):
    case(
        "w7", f"Tensor @ Tensor, {size} x {size}, share of the FLOP/s",
        "np.matmul into memory at hand, 2 threads", target=target, at_least=True, threads=2,
    )(product(size))  # fmt: skip


# --- W8: what recording costs ---


@case("w8", "a recorded tiny operation, forward + backward", "PyTorch, 1 thread", target=0.7)
@race(process_time)
def tiny_operations(tiny):
    import torch

    import tinytorch_ref.autograd  # noqa: F401
    from tinytorch_ref.tensor import Tensor

    length = 2 if tiny else 50
    x, w = Tensor([0.5], requires_grad=True), Tensor([0.9], requires_grad=True)
    y, v = torch.tensor([0.5], requires_grad=True), torch.tensor([0.9], requires_grad=True)
    return lambda: chain(x, w, length), lambda: chain(y, v, length)


def chain(x, w, length):
    """Multiply and add in turn, forwards and backwards."""
    x.grad = w.grad = None
    result = x
    for _ in range(length):
        result = result * w + x
    result.backward()


@case("w8'", "operations in one chain, forward + backward", target=500_000, unit="operations", at_least=True)
def long_chain(effort):
    import tinytorch_ref.autograd  # noqa: F401
    from tinytorch_ref.tensor import Tensor

    length = 1000 if effort.tiny else 500_000
    x = Tensor([1.0], requires_grad=True)
    result = x
    for _ in range(length):
        result = -result
    result.backward()
    return Samples([length if x.grad.item() == (-1) ** length else 0])
