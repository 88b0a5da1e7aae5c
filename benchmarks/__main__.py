"""`python -m benchmarks [NAME]...`: run all benchmarks or some, print the table and put it into README.md."""

import argparse
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import table
from benchmarks.catalog import ORDER, named
from benchmarks.processes import python


def machine():
    """What the figures were measured on."""
    return {
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "python": f"Python {platform.python_version()}",
        **{name: f"{name} {installed(name)}" for name in ("numpy", "torch", "nbgrader")},
    }


def processor():
    """Name of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def installed(package):
    """Its version, or "not installed"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.partition(": ")[2])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(ORDER)}; all if none")
    parser.add_argument("--quick", action="store_true", help="few short rounds; print only, write nothing")
    chosen = parser.parse_args()
    names = [name.lower() for name in chosen.names] or ORDER
    for name in names:
        if name not in ORDER:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(ORDER)}")
    rows = []
    for name in names:
        print(f"{name} ...", flush=True)
        threads = named(name)[0].threads
        told = python("-m", "benchmarks.one", name, "quick" if chosen.quick else "full", threads=threads)
        rows += map(json.loads, told.splitlines())
    print(table.plain(rows))
    if not chosen.quick:
        table.write(table.merged(table.read(), rows, machine(), ORDER))


if __name__ == "__main__":
    main()
