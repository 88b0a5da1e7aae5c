"""Arrays and a stand-in for a Tensor that the tests of the counters share."""

import numpy as np

F4 = np.float32


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


X, Y, V, I = draw(4, 6), draw(4, 6, seed=1), draw(6), np.arange(24).reshape(4, 6)
B = X > 0
