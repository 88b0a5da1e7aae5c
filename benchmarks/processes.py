"""Processes for benchmarks: what they are told, and how much processor time they take."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = Path(sys.executable).parent
STEERING = ("OPENBLAS_", "GOTO_", "OMP_", "MKL_", "BLIS_", "VECLIB_", "PYTHONDONTWRITEBYTECODE")


def environment(threads=None):
    """Environment for a benchmark: ours, but nothing in it steers BLAS except the number of threads, if given.

    A variable such as OPENBLAS_CORETYPE would keep NumPy from the kernels that suit the processor best. Python may keep
    compiled modules, as it does unless somebody forbids it.
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
    RuntimeError
        If it ends with another exit code; the message holds the end of the log.

    Notes
    -----
    The kernel adds the time of a process to its parent's when the parent waits for it. So that an orphan is waited for
    as well, this process adopts those of the command (Linux).
    """
    _adopt_orphans()
    with open(log, "wb") as out:
        process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=out, stderr=out)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = code = os.waitstatus_to_exitcode(status)
    used = usage.ru_utime + usage.ru_stime + _orphans_seconds()
    if code not in expected:
        tail = Path(log).read_text(errors="replace")[-2000:]
        raise RuntimeError(f"exit code {code} from {' '.join(command)}:\n{tail}")
    return used


def _adopt_orphans():
    """Become the parent of every descendant whose own parent dies."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _orphans_seconds(patience=5):
    """Processor time of the adopted, who have ended or are about to."""
    used, deadline = 0.0, time.monotonic() + patience
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return used
        used += usage.ru_utime + usage.ru_stime
        if not pid:
            if time.monotonic() > deadline:
                raise RuntimeError("the command has left a process running: its time cannot be told")
            time.sleep(0.01)
