"""`autograder.counters.peak_memory`: peaks that repeat, and the arrays that are left."""

import gc

import numpy as np
from counted import X, Y

from autograder.counters import count, peak_memory


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
