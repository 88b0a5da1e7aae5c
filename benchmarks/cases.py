"""What a benchmark is: a name, what it compares, its target, and a function that measures."""

import functools
import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import NamedTuple


class Effort(NamedTuple):
    """How much work goes into one figure.

    Parameters
    ----------
    rounds : int
        How often the contenders take turns.
    seconds : float
        How long a turn lasts, at least.
    tiny : bool
        Small data, to see that a benchmark runs; its figures mean nothing.
    """

    rounds: int
    seconds: float
    tiny: bool = False


FULL, QUICK, TINY = Effort(15, 0.3), Effort(5, 0.1), Effort(2, 0.0, tiny=True)


@dataclass
class Samples:
    """The figures of all rounds; `details` are others worth keeping, such as the times behind a ratio."""

    values: list
    details: dict = field(default_factory=dict)


class Missing(Exception):
    """Something that a benchmark needs is not there; the message says what."""


@dataclass(frozen=True)
class Case:
    """One line of the table.

    Parameters
    ----------
    name : str
        What to call it on the command line; several cases may share a name.
    what, against : str
        What is measured, and what it is compared with.
    target : float
    unit : str
        "x" for a ratio.
    at_least : bool
        Whether larger is better.
    threads : int
        For BLAS, and for PyTorch.
    measure : callable
        From an Effort to Samples.
    """

    name: str
    what: str
    against: str
    target: float
    unit: str
    at_least: bool
    threads: int
    measure: Callable

    def run(self, effort):
        """Measure; gives one line of the results, a dict of plain values."""
        row = {key: value for key, value in asdict(self).items() if key != "measure"}
        try:
            samples = self.measure(effort)
        except ModuleNotFoundError as error:
            return row | {"value": None, "note": _absent(error)}
        except Missing as reason:
            return row | {"value": None, "note": f"skipped: {reason}"}
        low, value, high = quartiles(samples.values)
        met = value >= self.target if self.at_least else value <= self.target
        return row | {"value": value, "quartiles": [low, high], "met": met, "note": ""} | samples.details


CASES = []


def case(name, what, against="", *, target, unit="x", at_least=False, threads=1):
    """Register a function from an Effort to Samples as a benchmark; a decorator."""

    def register(measure):
        CASES.append(Case(name, what, against, target, unit, at_least, threads, measure))
        return measure

    return register


def race(clock):
    """Turn a function that prepares two contenders into one that measures them; a decorator.

    `make(tiny)` returns the two calls to time, ours first. A value is our time over theirs in one round.
    The clock is `time.perf_counter`, or `time.process_time` where all is in one thread: then others' work
    does not count.
    """

    def decorate(make):
        @functools.wraps(make)
        def measure(effort):
            ours, theirs = interleave(make(effort.tiny), effort, clock)
            ratios = [a / b for a, b in zip(ours, theirs)]
            return Samples(ratios, {"ours_ms": _milliseconds(ours), "theirs_ms": _milliseconds(theirs)})

        return measure

    return decorate


def interleave(calls, effort, clock=time.perf_counter):
    """Time several calls in turns, so that whatever else the machine does falls on all of them alike.

    Parameters
    ----------
    calls : sequence of callables
        Without arguments.
    effort : Effort
    clock : callable
        Gives seconds.

    Returns
    -------
    list of list of float
        For each call its seconds in every round: the median of the runs of that turn.
    """
    times = [[] for _ in calls]
    for _ in range(effort.rounds):
        for call, own in zip(calls, times):
            gc.collect()
            call()  # caches and threads are warm again after the other's turn
            own.append(_turn(call, effort.seconds, clock))
    return times


def _turn(call, seconds, clock):
    runs, end = [], clock() + seconds
    while len(runs) < 2 or clock() < end:
        start = clock()
        call()
        runs.append(clock() - start)
    return statistics.median(runs)


def quartiles(values):
    """First quartile, median and third quartile."""
    if len(values) == 1:
        return values * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def _milliseconds(seconds):
    return 1000 * statistics.median(seconds)


def _absent(error):
    if (error.name or "").startswith("tinytorch_ref"):
        return f"not yet: {error.name} is not built"
    return f"skipped: {error.name} is not installed (pip install -e '.[bench]')"
