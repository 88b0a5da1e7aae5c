"""Runs one submission: a pure function from payload to result, and a worker process that keeps at it.

payload::

    {"cells": [{"index": 0, "kind": "student" | "setup" | "graded" | "hidden", "grade_id": str | None,
                "points": float, "source": str}, ...],
     "files": {name: base64},               data files that the submission may read
     "reference": [[name, source], ...],    tinytorch_ref up to the module before
     "data": {name: base64},                optional: other files of tinytorch_ref, such as its data sets
     "names": [str, ...],                   optional: names that solution cells bind; only these and those
                                            bound by setup cells are taken from the submission
     "seed": int}

result::

    {"status": "ok" | "failed", "reason": str, "version": str,
     "cells": {"0": {"stdout": str, "result": str | None, "error": {"name", "message", "where"} | None,
                     "score": float | None, "review": str | None, "seconds": float}, ...}}

Both are JSON: the keys of ``cells`` are text. A graded cell always has a score; a student's cell has None.
"""

import functools
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from autograder import sandbox as box
from autograder.trusted_side import grade

DEFAULTS = {
    "cell_seconds": 10,
    "submission_seconds": 300,
    "memory_mb": 2048,
    "processes": 64,
    "file_mb": 32,
    "output_kb": 64,
}
PARTS = ["wire", "sandbox", "student_side", "trusted_side", "runner", "checks", "compare", "counters/*"]


def run_one(payload, limits=None, sandbox="bubblewrap"):
    """Run one submission.

    It forks, so it belongs in a light process without threads; `Runner` keeps one.

    Parameters
    ----------
    payload : dict
        See the top of this file.
    limits : dict, optional
        Any of `DEFAULTS`. Times are in seconds. A cell's time is processor time; by the clock it may take
        four times as long, so that a busy machine fails nobody.
    sandbox : {"bubblewrap", "none"}
        "none" is for submissions that you trust.

    Returns
    -------
    dict
        See the top of this file. A submission can make it "failed", never make it raise.
    """
    limits = DEFAULTS | (limits or {})
    if sandbox != "none":
        works, reason = box.available()
        if not works:
            return failed(reason)
    staged = box.stage(tuple(map(tuple, payload["reference"])), tuple(payload.get("data", {}).items()))
    with tempfile.TemporaryDirectory(prefix="tinytorch-scratch-", ignore_cleanup_errors=True) as scratch:
        place = scratch if sandbox == "none" else "/scratch"
        return _in_child(lambda: grade(payload, limits, sandbox, staged, place), limits["submission_seconds"])


def failed(reason):
    """The result of a submission that could not be run."""
    return {"status": "failed", "reason": reason, "cells": {}, "version": version()}


@functools.cache
def version():
    """Sixteen hexadecimal digits that change with the code that grades."""
    files = [file for part in PARTS for file in sorted(Path(__file__).parent.glob(f"{part}.py"))]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _in_child(work, seconds):
    """The result of `work` in a forked process, which ends with everything that it has started."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(work, reading, writing)
    os.close(writing)
    text = _read_all(reading, time.monotonic() + seconds)
    box.kill_descendants(pid)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if text is None:
        return failed(f"the submission ran longer than {seconds:g} s")
    try:
        return {**json.loads(text), "version": version()}
    except ValueError:
        return failed("the grading process ended without a result")


def _child(work, reading, writing):
    try:
        os.close(reading)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        box.adopt_orphans()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nowhere, standard)
        try:
            result = work()
        except BaseException:
            result = failed("the grader itself failed:\n" + traceback.format_exc())
        box.kill_descendants(os.getpid())
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(result).encode())
    finally:
        os._exit(0)


def _read_all(descriptor, deadline):
    """Everything up to the end of a pipe, or None if the deadline passes first."""
    chunks = []
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], max(0, deadline - time.monotonic()))[0]:
            chunk = pipe.read(1 << 20)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)
    return None


class Runner:
    """A light worker process that runs submissions one after another; start as many as there are cores.

    Parameters
    ----------
    limits : dict, optional
    sandbox : {"bubblewrap", "none"}

    Examples
    --------
    >>> with Runner() as runner:                            # doctest: +SKIP
    ...     result = runner.run(payload)
    """

    MARGIN = 30  # seconds beyond the submission's own limit before the worker counts as stuck

    def __init__(self, limits=None, sandbox="bubblewrap"):
        self.limits, self.sandbox = DEFAULTS | (limits or {}), sandbox
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def run(self, payload):
        """The result of one submission. A worker that dies or hangs is replaced, and may try once more."""
        job = json.dumps([payload, self.limits, self.sandbox]).encode() + b"\n"
        for _ in range(2):
            answer = self._exchange(job)
            if answer is not None:
                return answer
            self.close(patience=0)
        return failed("the grading worker died twice on this submission")

    submit = run

    def start(self):
        """Start the worker, unless it runs."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "autograder.runner", "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"},
            )
        return self

    def close(self, patience=5):
        """End the worker and what it runs; an idle one tidies up first, for at most `patience` seconds."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.stdin.close()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            box.kill_descendants(process.pid)
            process.kill()
            process.wait()
        process.stdout.close()

    def _exchange(self, job):
        """Send a line and read one; None if the worker dies or the time is over."""
        self.start()
        deadline, answer = time.monotonic() + self.limits["submission_seconds"] + self.MARGIN, bytearray()
        try:
            _write_all(self.process.stdin, job)
            while not answer.endswith(b"\n"):
                if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                    return None
                chunk = self.process.stdout.read(1 << 20)
                if not chunk:
                    return None
                answer += chunk
        except BrokenPipeError:
            return None
        return json.loads(answer)


def _write_all(pipe, data):
    view = memoryview(data)
    while view:
        view = view[pipe.write(view) :]


def serve():
    """Answer each line of standard input, a job, with a line of standard output, its result."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a stray print must not reach the answers
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the stage is tidied away
    for line in sys.stdin:
        answers.write(json.dumps(run_one(*json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    if sys.argv[1:] != ["--serve"]:
        sys.exit(
            "usage: python -m autograder.runner --serve   (a JSON job a line in, a JSON result a line out)"
        )
    serve()
