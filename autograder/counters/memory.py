"""The peak of memory in a block, and the arrays that it leaves behind."""

import gc
import tracemalloc

import numpy as np


class peak_memory:
    """Highest level of memory in a block above the level at its entry, by `tracemalloc`.

    NumPy reports its buffers to tracemalloc, so repeats agree; memory inside BLAS is not seen. Python's own
    objects (a few hundred bytes to some kilobytes) are in the peak. The cyclic garbage collector is off in
    the block: what only a cycle keeps alive counts as kept.

    Attributes
    ----------
    peak_bytes : int
        Highest level above the level at entry.
    kept_bytes : int
        Array data allocated in the block and still held at its end.
    arrays_left : int
        Number of such arrays.
    """

    _open = ()                          # those that are open, outermost first

    def __init__(self):
        self.peak_bytes = self.kept_bytes = self.arrays_left = 0

    def __enter__(self):
        self._started = not tracemalloc.is_tracing()
        self._collecting = gc.isenabled()
        gc.collect()
        gc.disable()
        if self._started:
            tracemalloc.start()
        self._held = self._arrays()
        for outer in self._open:                           # reset_peak() would make them forget
            outer._highest = max(outer._highest, tracemalloc.get_traced_memory()[1])
        peak_memory._open += (self,)
        tracemalloc.reset_peak()
        self._level = self._highest = tracemalloc.get_traced_memory()[0]
        return self

    def __exit__(self, *exc):
        highest = max(self._highest, tracemalloc.get_traced_memory()[1])
        peak_memory._open = tuple(one for one in self._open if one is not self)
        bytes_now, arrays_now = self._arrays()
        if self._started:
            tracemalloc.stop()
        if self._collecting:
            gc.enable()
        self.peak_bytes = highest - self._level
        self.kept_bytes, self.arrays_left = bytes_now - self._held[0], arrays_now - self._held[1]

    @staticmethod
    def _arrays():
        """Bytes and number of the array buffers that tracemalloc knows."""
        domain = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        traces = tracemalloc.take_snapshot().filter_traces([domain]).traces
        sizes = [trace.size for trace in traces]
        return sum(sizes), len(sizes)
