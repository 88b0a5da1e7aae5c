"""Processes for benchmarks: what they are told, and how much processor time they take."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.cases import Missing

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = Path(sys.executable).parent
STEERING = ("OPENBLAS_", "GOTO_", "OMP_", "MKL_", "BLIS_", "VECLIB_", "PYTHONDONTWRITEBYTECODE")


def environment(threads=None):
    """Environment for a benchmark: ours, but only the number of threads, if given, steers BLAS.

    A variable such as OPENBLAS_CORETYPE would keep NumPy from the kernels that suit the processor best.
    Python may keep compiled modules, as it does unless somebody forbids it.
    """
    plain = {name: value for name, value in os.environ.items() if not name.startswith(STEERING)}
    path = os.pathsep.join(filter(None, [str(ROOT), plain.get("PYTHONPATH")]))
    scripts = os.pathsep.join([str(SCRIPTS), plain.get("PATH", os.defpath)])  # nbgrader calls others by name
    plain |= {"PYTHONPATH": path, "PATH": scripts, "TINYTORCH_USE": "reference", "TINYTORCH_GRADEBOOK": ""}
    if threads:
        plain |= {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    return plain


def python(*words, threads=None):
    """Standard output of this Python, run with a benchmark's environment; its errors are shown."""
    ran = subprocess.run(
        [sys.executable, *words], env=environment(threads), stdout=subprocess.PIPE, text=True, check=True
    )
    return ran.stdout


def cpu_seconds(command, folder, log, expected=(0,)):
    """Processor time of a command with all processes that it starts, even those that it leaves or kills.

    Parameters
    ----------
    command : list of str
    folder : path
        Where it runs.
    log : path
        File for what it prints.
    expected : tuple of int
        Exit codes that mean success.

    Returns
    -------
    float

    Raises
    ------
    Missing
        If processor time cannot be counted here.
    RuntimeError
        If it ends with another exit code; the message holds the end of the log.

    Notes
    -----
    The kernel counts for a control group. What a parent learns by waiting (`getrusage`) lacks the processes
    in a sandbox that is killed, a fifth of the time of `tinytorch grade`.
    """
    join = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"']
    with control_group() as group, open(log, "wb") as out:
        command = [*join, str(group), *command]
        ran = subprocess.run(command, cwd=folder, env=environment(), stdout=out, stderr=out, check=False)
        _wait_until_empty(group)
        told = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    if ran.returncode not in expected:
        tail = Path(log).read_text(errors="replace")[-2000:]
        raise RuntimeError(f"exit code {ran.returncode} from {' '.join(command[len(join) + 1 :])}:\n{tail}")
    return int(told["usage_usec"]) / 1e6


@contextlib.contextmanager
def control_group():
    """The folder of a new control group (version 2) inside our own, which goes at the end."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        mount = next(fields[1] for fields in mounts if fields[2] == "cgroup2")
        groups = Path("/proc/self/cgroup").read_text().splitlines()
        own = next(line.removeprefix("0::") for line in groups if line.startswith("0::"))
        group = Path(tempfile.mkdtemp(prefix="tinytorch-benchmark-", dir=f"{mount}{own}"))
    except (OSError, StopIteration):
        raise Missing(
            "processor time is counted by a control group, and none can be made here: try as root, or with "
            "`systemd-run --user --scope -p Delegate=yes python -m benchmarks grading`"
        ) from None
    try:
        yield group
    finally:
        group.rmdir()


def _wait_until_empty(group, patience=10):
    deadline = time.monotonic() + patience
    while "populated 1" in (group / "cgroup.events").read_text():
        if time.monotonic() > deadline:
            raise RuntimeError("the command has left a process running: its time cannot be told")
        time.sleep(0.01)
