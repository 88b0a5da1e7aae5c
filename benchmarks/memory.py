"""Measured claims about memory, in bytes that Python and NumPy allocate."""

from itertools import pairwise

import numpy as np

from benchmarks.cases import Samples, case


@case("memory", "what Adam keeps beyond SGD", "bytes of the parameters", target=2.0)
def adam_state(effort):
    from tinytorch_ref.optimizers import SGD, Adam

    size = 1000 if effort.tiny else 1000_000
    return Samples([round((kept_bytes(Adam, size) - kept_bytes(SGD, size)) / (4 * size), 2)])


def kept_bytes(optimizer, size):
    """Bytes that are held after the first step of an optimizer: its state and its scratch memory."""
    from autograder.counters import peak_memory
    from tinytorch_ref.layers import Parameter

    weights = [Parameter(np.ones((10, size // 20))) for _ in range(2)]
    for weight in weights:
        weight.grad = np.ones_like(weight.data)
    with peak_memory() as memory:
        stepped = optimizer(weights, lr=0.1)
        stepped.step()
    return memory.kept_bytes


@case("memory", "peak of a step, in 4 accumulated parts", "the whole batch at once", target=0.28)
def accumulation(effort):
    batch = 64 if effort.tiny else 8192
    whole, parts = peak_of_step(batch, 1), peak_of_step(batch, 4)
    return Samples([parts / whole], {"whole_bytes": whole, "parts_bytes": parts})


def peak_of_step(batch, parts):
    """Peak bytes of forward and backward passes over a batch, in equal parts whose gradients add up."""
    import tinytorch_ref.autograd  # noqa: F401
    from autograder.counters import peak_memory
    from tinytorch_ref.layers import Linear, ReLU, Sequential
    from tinytorch_ref.losses import cross_entropy
    from tinytorch_ref.tensor import Tensor

    widths = (64, 128, 128, 128)
    hidden = [layer for i, o in pairwise(widths) for layer in (Linear(i, o, rng=0), ReLU())]
    model = Sequential(*hidden, Linear(widths[-1], 10, rng=0))
    images = np.random.default_rng(0).standard_normal((batch, widths[0]), dtype=np.float32)
    labels = np.arange(batch) % 10
    with peak_memory() as memory:
        for x, y in zip(np.split(images, parts), np.split(labels, parts)):
            loss = cross_entropy(model(Tensor.wrap(x)), Tensor.wrap(y)) / parts
            loss.backward()
    return memory.peak_bytes
