"""W9: what `import tinytorch_ref`, all of it, costs beyond `import numpy`, each time in a fresh process."""

import pkgutil
import sys

from benchmarks.cases import Missing, Samples, case
from benchmarks.processes import ROOT, python

# It imports next to nothing itself: what the package shares with it would not be seen.
PROGRAM = """
import os, sys, time, numpy

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

before, start = resident(), time.perf_counter()
for name in sys.argv[1:]:
    __import__(name)
print(1000 * (time.perf_counter() - start), resident() - before)
"""


def fresh_imports(effort):
    """Milliseconds and megabytes that the package took, once for each fresh process."""
    if not sys.platform.startswith("linux"):
        raise Missing("the size of a process is read from /proc, which is Linux's")
    names = [module.name for module in pkgutil.iter_modules([str(ROOT / "tinytorch_ref")], "tinytorch_ref.")]
    told = [python("-c", PROGRAM, *names).split() for _ in range(effort.rounds + 1)]
    return [list(map(float, figures)) for figures in zip(*told[1:])]  # the first may have had to compile


@case("w9", "import of the whole package", "over `import numpy`", target=30, unit="ms")
def import_time(effort):
    return Samples(fresh_imports(effort)[0])


@case("w9", "resident size of the whole package", "over `import numpy`", target=10, unit="MB")
def import_size(effort):
    return Samples(fresh_imports(effort)[1])
