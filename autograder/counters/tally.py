"""Who counts at this moment, and the entries that they get."""

import threading


class _Local(threading.local):
    quiet = 0


_local = _Local()
lock = threading.RLock()
_open = None


def current():
    """The open `Tally`, or None outside a block."""
    return _open


def live():
    """As `current`, but None too within `quiet`."""
    return None if _local.quiet else _open


def use(tally):
    global _open
    _open = tally


class _Quiet:
    """Within it nothing counts: for the inner workings of an operation that is charged as a whole."""

    def __enter__(self):
        _local.quiet += 1

    def __exit__(self, *exc):
        _local.quiet -= 1


quiet = _Quiet()


def leave(value, how):
    """Give out a value that goes where its arithmetic can't be seen."""
    tally = live()
    if tally is not None:
        tally.mark(f"a value left by {how}")
    return value


class Tally:
    """The open counts; each gets every entry."""

    def __init__(self):
        self.counts = []

    def charge(self, costs=(), read=0, written=0, arrays=0):
        with lock:
            for one in self.counts:
                for kind, n in costs:
                    if n:
                        one.by_kind[kind] += int(n)
                one.bytes_read += int(read)
                one.bytes_written += int(written)
                one.arrays += arrays

    def tick(self, kind):
        """Charge one operation on numbers: short, since loops live here."""
        with lock:
            for one in self.counts:
                one.by_kind[kind] += 1

    def mark(self, why):
        """Say why the count is not complete."""
        with lock:
            for one in self.counts:
                one.reasons.setdefault(why)
