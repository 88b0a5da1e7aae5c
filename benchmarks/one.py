"""`python -m benchmarks.one NAME EFFORT`: the benchmarks of one name in this process; prints lines of JSON.

BLAS takes its number of threads when NumPy is imported, so `python -m benchmarks` starts this for each name.
"""

import json
import sys

from benchmarks import cases
from benchmarks.catalog import named


def set_torch_threads(threads):
    """The same number of threads for PyTorch, where it is installed."""
    try:
        import torch
    except ModuleNotFoundError:
        return
    torch.set_num_threads(threads)


def main(name, effort):
    for case in named(name):
        if "PyTorch" in case.against:
            set_torch_threads(case.threads)
        print(json.dumps(case.run(getattr(cases, effort.upper()))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
