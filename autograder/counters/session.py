"""The time from the first open count to the last: what is exchanged, and put back."""

import collections
import sys

from autograder.counters import tally
from autograder.counters.costs import APART
from autograder.counters.standins import Float, places, swap_in, swap_out
from autograder.counters.walk import Walk


class _Session(tally.Tally):
    def __init__(self):
        super().__init__()
        self.roots = []
        self.spaces = {}
        self.places = []
        self.modules = set(sys.modules)

    def open(self):
        names = tuple(name for name in sys.modules if name == "numpy" or name.startswith("numpy."))
        self.places = [place for place in places(names) if place[0].get(place[1]) is place[2]]
        for space, name, _, stand_in in self.places:
            space[name] = stand_in

    def close(self):
        for space, name, original, stand_in in self.places:
            if space.get(name) is stand_in:
                space[name] = original
        for late in set(sys.modules) - self.modules:       # imported in the block: may have bound stand-ins
            space = getattr(sys.modules[late], "__dict__", {})
            for name, value in list(space.items()):
                if swap_out(value) is not value:
                    space[name] = swap_out(value)
        for space in self.spaces.values():
            if space.get("float") is Float:
                del space["float"]
        with tally.quiet:
            Walk(swap_out, keys=True).run(self.roots)

    def walk(self, roots):
        """Make what is reachable from the roots counted."""
        self.roots += roots
        walk = Walk(swap_in)
        with tally.quiet:
            walk.run(roots)
        for key, space in walk.spaces.items():
            if key not in self.spaces:
                self.spaces[key] = space
                space.setdefault("float", Float)
        if walk.left <= 0:
            self.mark("more objects than the walk looks at")


class count:
    """Count the FLOPs, bytes and new arrays of the NumPy work in a block.

    Parameters
    ----------
    roots : iterable of object, optional
        What to walk for arrays made before the block: namespaces, tables, objects. By default the names of
        the calling code. With roots, the caller's own names are left alone.

    Attributes
    ----------
    flops : int
        Floating-point operations; comparisons, logic and integer arithmetic are not among them.
    by_kind : collections.Counter
        Operations by kind ("multiply", "add", "exp", ..., "compare", "logic", "integer").
    bytes_read, bytes_written, bytes_moved : int
        Bytes of array operands, of array results, and their sum.
    arrays : int
        Results that own new memory.
    complete : bool
        False if a value is known to have left for where its arithmetic can't be seen.
    why : str
        What made the count incomplete; empty if it is complete.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.ones((2, 3))
    >>> with count() as c:
    ...     y = x @ x.T
    >>> c.flops, c.by_kind["multiply"], c.by_kind["add"], c.arrays
    (24, 12, 12, 1)
    """

    def __init__(self, roots=None):
        self.roots = None if roots is None else list(roots)
        self.by_kind = collections.Counter()
        self.bytes_read = self.bytes_written = self.arrays = 0
        self.reasons = {}

    def __enter__(self):
        if self.roots is None:
            frame = sys._getframe(1)
            while frame.f_globals.get("__name__") == "contextlib":
                frame = frame.f_back
            self.roots = [frame]
        with tally.lock:
            session = tally.current() or _Session()
            try:
                if not session.counts:
                    session.open()
                session.counts.append(self)
                session.walk(self.roots)
            except BaseException:
                self._leave(session)
                raise
            tally.use(session)
        return self

    def __exit__(self, *exc):
        with tally.lock:
            self._leave(tally.current())

    def _leave(self, session):
        self.roots = None
        session.counts = [one for one in session.counts if one is not self]
        if not session.counts:
            tally.use(None)
            session.close()

    @property
    def flops(self):
        return sum(n for kind, n in self.by_kind.items() if kind not in APART)

    @property
    def bytes_moved(self):
        return self.bytes_read + self.bytes_written

    @property
    def complete(self):
        return not self.reasons

    @property
    def why(self):
        return "; ".join(self.reasons)

    def __repr__(self):
        note = "" if self.complete else f", incomplete: {self.why}"
        return f"<{self.flops} FLOPs, {self.bytes_moved} bytes, {self.arrays} arrays{note}>"
