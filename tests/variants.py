"""Wrong and right ways to solve an exercise, for the tests of the tests.

`tests/mutants/NN_name.py` holds two lists: `MUTANTS`, plausible wrong solutions, each with the graded cell that must
catch it, and `ALTERNATIVES`, correct solutions written differently, which must keep full points. A variant differs from
the solved notebook in one solution cell.
"""

import importlib.util
from pathlib import Path
from typing import NamedTuple

MUTANTS = Path(__file__).parent / "mutants"


class Variant(NamedTuple):
    """One solution cell, changed."""

    cell: str  # grade_id of the solution cell that differs
    name: str  # the misconception, or the style
    caught_by: str | None  # grade_id of the graded cell that must take points; None for an alternative
    swaps: tuple  # pairs (old, new): each `old` stands in the solution exactly once
    source: str | None  # or the whole cell

    def apply(self, solution):
        """Source of the changed cell, given the solved one. Raises ValueError if a swap does not fit."""
        if self.source is not None:
            return self.source
        for old, new in self.swaps:
            if solution.count(old) != 1:
                raise ValueError(f"{self.cell}, {self.name}: {old!r} stands {solution.count(old)} times in the solution")
            solution = solution.replace(old, new)
        return solution


def mutant(cell, name, caught_by, *swaps, source=None):
    """A wrong solution of `cell` that must lose points on the graded cell `caught_by`."""
    return Variant(cell, name, caught_by, swaps, source)


def alternative(cell, name, *swaps, source=None):
    """A correct solution of `cell`, written differently."""
    return Variant(cell, name, None, swaps, source)


def load(assignment):
    """The lists `(MUTANTS, ALTERNATIVES)` of an assignment such as ``01_tensor``."""
    path = MUTANTS / f"{assignment}.py"
    spec = importlib.util.spec_from_file_location(f"mutants_{assignment}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MUTANTS, module.ALTERNATIVES
