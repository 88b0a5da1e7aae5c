"""Small notebooks for the runner's tests, as payloads."""

import pytest

from autograder import sandbox

WORKS, WHY = sandbox.available()
needs_bubblewrap = pytest.mark.skipif(not WORKS, reason=WHY)

SETUP = """
import numpy as np
from autograder import checks as check
from autograder.counters import count, peak_memory
"""


def payload(*cells, reference=(), files=None, names=None, **more):
    """A payload of cells ``(kind, source)`` or ``(kind, grade_id, source[, points])``, after a setup cell."""
    made = [cell(0, "setup", "setup", SETUP)]
    for index, parts in enumerate(cells, 1):
        kind, grade_id, source = parts[:3] if len(parts) > 2 else (parts[0], None, parts[1])
        made.append(cell(index, kind, grade_id, source, *parts[3:]))
    optional = {} if names is None else {"names": list(names)}
    return {"cells": made, "files": files or {}, "reference": list(reference), "seed": 7} | optional | more


def cell(index, kind, grade_id, source, points=2.0):
    points = points if kind in ("graded", "hidden") else 0.0
    return {"index": index, "kind": kind, "grade_id": grade_id, "points": points, "source": source}


def scores(result):
    """The scores of a result, in the order of the notebook; its reason if it failed."""
    if result["status"] != "ok":
        return result["reason"]
    cells = sorted(result["cells"].items(), key=lambda pair: int(pair[0]))
    return [told["score"] for _, told in cells if told["score"] is not None]
