"""The trusted side of grading: runs graded and hidden cells, in which the student's names are proxies.

This process holds the checks and the expected values. What it knows of a submission it learns by asking a
snapshot of the student's process (see `autograder.student_side`): call this, read that. Answers are plain
values, or handles behind a `Proxy`. A proxy has no truth value and its ``==`` never yields one, so no object
of a submission can call itself equal.
"""

import ast
import base64
import builtins
import contextlib
import functools
import hashlib
import math
import random
import select
import socket
import subprocess
import symtable
import tempfile
import time
import weakref

import numpy as np

from autograder import checks, sandbox
from autograder.student_side import METERED, WALL, Printed, parse_cell, places
from autograder.wire import Channel, WireError, decode, encode

GRACE = 1.0  # seconds between asking a cell to stop and killing it
PULSE = 0.25  # seconds between looks at a busy student's process
PREPARED = {"np": np, "math": math, "check": checks}
METERS = ("count", "peak_memory")


class Lost(BaseException):
    """The student's process gave no answer. Not an Exception, so it passes no check that expects an error."""


class Died(Exception):
    """The student's process ended while the notebook ran.

    Parameters
    ----------
    message : str
    cell : dict or None
        The cell at which it ended.
    """

    def __init__(self, message, cell):
        super().__init__(message)
        self.cell = cell


def grade(payload, limits, kind, staged, scratch):
    """Run a whole submission; see `autograder.runner.run_one` for payload and result.

    A cell that takes the process down with it is left out in a second run, so that it costs only its own
    points.
    """
    checks.ARRAYS_TRAVEL = True
    skipped = {}
    for _ in range(2):
        with Submission(payload, limits, kind, staged, scratch) as submission:
            try:
                cells = submission.run_notebook(skipped)
            except Died as death:
                reason = str(death)
                if death.cell is None or death.cell["kind"] not in ("student", "setup"):
                    break
                skipped[death.cell["index"]] = reason
                continue
            for sort in ("graded", "hidden"):
                for cell in payload["cells"]:
                    if cell["kind"] == sort:
                        cells[cell["index"]] = Judge(submission, cell).result()
            return {"status": "ok", "reason": "", "cells": cells}
    return {"status": "failed", "reason": reason, "cells": {}}


def label(cell):
    """What a cell is called in messages."""
    return cell.get("grade_id") or str(cell["index"])


# --- The student's process ----------------------------------------------------------------------------------


class Submission:
    """A student's process, from its start to its end, and a line to each of its snapshots."""

    def __init__(self, payload, limits, kind, staged, scratch):
        self.payload, self.limits, self.kind = payload, limits, kind
        self.seed = payload.get("seed", 0) % 2**32
        self.judged = [cell for cell in payload["cells"] if cell["kind"] in ("graded", "hidden")]
        pairs = [socket.socketpair() for _ in range(len(self.judged) + 1)]
        theirs = [pair[1] for pair in pairs]
        numbers = ",".join(str(sock.fileno()) for sock in theirs)
        self.noise = tempfile.TemporaryFile()
        self.process = sandbox.start(
            staged, [numbers], theirs, scratch, kind, stdout=self.noise, stderr=self.noise
        )
        for sock in theirs:
            sock.close()
        self.control, *self.doors = [pair[0] for pair in pairs]
        for sock in (self.control, *self.doors):
            sock.settimeout(WALL * limits["cell_seconds"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        sandbox.kill_descendants(self.process.pid)
        self.process.kill()
        self.process.wait()
        for sock in (self.control, *self.doors):
            sock.close()
        self.noise.close()

    def run_notebook(self, skipped):
        """Run the student's cells, leaving a snapshot at each graded one; returns their results by index."""
        channel, results, cell = Channel(self.control, self.guard), {}, None
        self.begin_cell(extra=30)  # the start of an interpreter is nobody's fault
        try:
            channel.send(*encode(self.job(skipped), None))
            channel.receive()
            for cell in self.payload["cells"]:
                self.begin_cell()
                answer = decode(*channel.receive(), resolve=None)
                if cell["kind"] in ("student", "setup"):
                    results[cell["index"]] = self.student_result(answer)
        except (EOFError, OSError):
            raise Died(self.epitaph(cell), cell) from None
        except Lost as lost:
            raise Died(f"cell `{label(cell)}` {lost}" if cell else f"its process {lost}", cell) from None
        except (WireError, KeyError, TypeError, IndexError):
            raise Died(f"cell `{label(cell)}` made its process send what is not a result", cell) from None
        for index, reason in skipped.items():
            results[index]["error"] = {"name": "Skipped", "message": reason, "where": ""}
        return results

    def job(self, skipped):
        """What the student's side is told: everything but the graded cells."""
        shown = [
            {"label": label(cell), "source": self.shown_source(cell, skipped)}
            for cell in self.payload["cells"]
        ]
        files = {
            sandbox.safe_name(name): base64.b64decode(data) for name, data in self.payload["files"].items()
        }
        room = self.limits["processes"] + len(self.judged) + sandbox.other_processes(self.kind)
        seed = hashlib.sha256(str(self.seed).encode()).digest()[0]  # not the one that the checks draw from
        return {"cells": shown, "files": files, "limits": self.limits | {"processes": room}, "seed": seed}

    def shown_source(self, cell, skipped):
        if cell in self.judged:
            return None
        return "" if cell["index"] in skipped else cell["source"]

    def student_result(self, answer):
        """The result of a student's cell, from what its process says of it."""
        error = answer["error"]
        if error is not None:
            error = {
                "name": text(error["names"][0]),
                "message": text(error["message"]),
                "where": text(error["where"]),
            }
        room = 2 * self.limits["output_kb"] << 10
        return {
            "stdout": text(answer["stdout"], room),
            "result": None if answer["result"] is None else text(answer["result"], room),
            "error": error,
            "score": None,
            "review": None,
            "seconds": round(time.monotonic() - self.begun, 3),
        }

    def epitaph(self, cell):
        """What there is to say about a process that has ended."""
        try:
            code = f"exit code {self.process.wait(1)}"
        except subprocess.TimeoutExpired:
            code = "it closed its connection"
        self.noise.seek(0)
        said = self.noise.read(1 << 16).decode("utf-8", "replace").strip()[-300:]
        what = f"cell `{label(cell)}` ended the student's process" if cell else "the process did not start"
        return f"{what} ({code})" + (f": {said}" if said else "")

    @functools.cached_property
    def names(self):
        """Names that solution and setup cells bind, which graded cells may use; None for any."""
        if self.payload.get("names") is None:
            return None
        names = set(self.payload["names"])
        for cell in self.payload["cells"]:
            if cell["kind"] == "setup":
                with contextlib.suppress(SyntaxError), contextlib.redirect_stdout(Printed(0)):
                    names |= bound_names(parse_cell(cell["source"], "<cell>")[1])
        return names

    def begin_cell(self, extra=0.0):
        """Start the clocks that `guard` reads."""
        self.begun, self.used, self.extra = time.monotonic(), None, extra

    def guard(self, sock=None):
        """Wait for an answer; `Lost` if the student's process takes more time or memory than it may."""
        seconds, memory = self.limits["cell_seconds"], 2 * self.limits["memory_mb"]
        while not select.select([sock or self.control], [], [], PULSE)[0]:
            wall, used = time.monotonic() - self.begun, sandbox.cpu_seconds(self.process.pid)
            if self.used is None:
                self.used = used  # read now, as most cells never wait this long
            if used - self.used > seconds + self.extra + GRACE or wall > WALL * seconds + self.extra + GRACE:
                raise Lost(f"ran longer than {seconds:g} s and could not be interrupted")
            if sandbox.memory_bytes(self.process.pid) > memory << 20:
                raise Lost(f"took more than {memory} MB of memory in all its processes")


def text(value, limit=4000):
    """The beginning of `value`, which the student's process says is text."""
    return typed(str, value)[:limit]


class Line:
    """Questions to one snapshot, and the proxies that its answers gave."""

    def __init__(self, submission, door):
        self.submission = submission
        self.channel = Channel(door, lambda: submission.guard(door))
        self.proxies, self.dropped, self.reviews = weakref.WeakValueDictionary(), [], []

    def ask(self, operation, *arguments, **named):
        """The value of an operation there.

        Raises
        ------
        Exception
            What the operation raised there, as the nearest built-in exception.
        Lost
            If no answer comes.
        """
        dropped, self.dropped = self.dropped, []
        header, buffers = encode([operation, list(arguments), named, dropped], number_of(self))
        try:
            self.channel.send(header, buffers)
            answer = typed(dict, decode(*self.channel.receive(), self.proxy))
            if "value" in answer:
                return answer["value"]
            if "limit" in answer:
                raise Lost(f"your code {text(answer['limit'])}")
            problem = rebuilt(answer["error"], in_loop=operation == "next")
        except (EOFError, OSError):
            raise Lost("the student's process ended, or could not be copied, before this check") from None
        except (WireError, KeyError, TypeError, IndexError):
            raise Lost("the student's process sent what is not an answer") from None
        raise problem

    def proxy(self, handle):
        number, name, can_call = handle
        proxy = self.proxies.get(number)
        if proxy is None:
            proxy = self.proxies[number] = new_proxy(self, number, name, can_call)
            self.dropped = [dropped for dropped in self.dropped if dropped != number]
        return proxy


def number_of(line):
    """How an argument that is no plain value travels: a proxy by its number, anything else not at all."""

    def handle(thing):
        if not issubclass(type(thing), Proxy) or peer(thing).line is not line:
            raise TypeError(f"a check can hand plain values to the submission, not {type(thing).__name__}")
        return [peer(thing).number, "", False]

    return handle


def rebuilt(error, in_loop=False):
    """An exception of the student's process as the nearest built-in one, marked with its own name and place.

    StopIteration passes only from an iterator: from a function it would end a check's loop unseen.
    """
    message, names = text(error["message"]), [text(name) for name in error["names"]]
    for name in names:
        kind = getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception) and (in_loop or kind is not StopIteration):
            break
    else:
        kind, message = RuntimeError, f"{names[0]}: {message}"
    try:
        problem = kind(message)
    except TypeError:  # UnicodeDecodeError and the like want more
        problem = ValueError(message)
    problem.student_type, problem.student_where = names[0], text(error["where"])
    return problem


# --- Proxies ------------------------------------------------------------------------------------------------


class Peer:
    """Where the object of a proxy lives: line, number, and if it was fetched by name, its name."""

    __slots__ = ("line", "number", "path")

    def __init__(self, line, number):
        self.line, self.number, self.path = line, number, None

    def __del__(self):
        self.line.dropped.append(self.number)  # the next question tells


def peer(proxy):
    return object.__getattribute__(proxy, "_peer")


def ask(proxy, operation, *arguments, **named):
    return peer(proxy).line.ask(operation, *arguments, **named)


def typed(kind, value):
    """`value` if it is exactly a `kind`; an object of the student's cannot get this far."""
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, not {type(value).__name__}")
    return value


class Proxy:
    """An object in the student's process.

    Attributes, calls, items and arithmetic are asked for there. Reading an attribute by its name always asks,
    also for ``Tensor.__add__``; Python's own look-ups go to the methods below.
    """

    __slots__ = ("_peer", "__weakref__")
    __array_ufunc__ = None  # ndarray + proxy comes to __radd__ below
    __hash__ = object.__hash__

    def __getattribute__(self, name):
        if name == "__class__" or name.startswith("__array"):
            return object.__getattribute__(self, name)
        value = ask(self, "getattr", self, name)
        if issubclass(type(value), Proxy) and peer(self).path and not peer(value).path:
            peer(value).path = f"{peer(self).path}.{name}"
        return value

    def __setattr__(self, name, value):
        ask(self, "setattr", self, name, value)

    def __delattr__(self, name):
        ask(self, "delattr", self, name)

    def __getitem__(self, index):
        return ask(self, "getitem", self, index)

    def __setitem__(self, index, value):
        ask(self, "setitem", self, index, value)

    def __delitem__(self, index):
        ask(self, "delitem", self, index)

    def __contains__(self, value):
        return typed(bool, ask(self, "contains", self, value))

    def __len__(self):
        return typed(int, ask(self, "len", self))

    def __iter__(self):
        items = ask(self, "iter", self)
        with contextlib.suppress(StopIteration):
            while True:
                yield ask(self, "next", items)

    def __next__(self):
        return ask(self, "next", self)

    def __float__(self):
        return typed(float, ask(self, "float", self))

    def __int__(self):
        return typed(int, ask(self, "int", self))

    def __index__(self):
        return typed(int, ask(self, "index", self))

    def __complex__(self):
        return typed(complex, ask(self, "complex", self))

    def __repr__(self):
        return typed(str, ask(self, "repr", self))

    def __str__(self):
        return typed(str, ask(self, "str", self))

    def __format__(self, spec):
        return typed(str, ask(self, "format", self, spec))

    def __array__(self, dtype=None, copy=None):
        array = typed(np.ndarray, ask(self, "array", self))
        return array if dtype is None else array.astype(dtype)

    def __bool__(self):
        raise TypeError("an object of the submission has no truth value here: compare plain values")

    def __enter__(self):
        return ask(self, "enter", self)

    def __exit__(self, kind, error, trace):
        ask(self, "exit", self, None if error is None else str(error)[:1000])
        return False  # a submission cannot swallow a failed check

    def __instancecheck__(self, thing):
        return typed(bool, ask(self, "isinstance", thing, self))

    def __subclasscheck__(self, thing):
        return typed(bool, ask(self, "issubclass", thing, self))

    def __peek__(self):
        return typed(np.ndarray, ask(self, "peek", self))

    def __poke__(self, index, value):
        ask(self, "poke", self, index, value)

    def __source__(self):
        """Source of the function, from the cells as they were handed in, not as their process tells it."""
        path = peer(self).path
        return source_of(path, peer(self).line.submission.payload["cells"])


class CallableProxy(Proxy):
    """A proxy for which ``callable`` is true."""

    __slots__ = ()

    def __call__(self, *arguments, **named):
        return ask(self, "call", self, *arguments, **named)


def _forward(operation, reflected=False):
    def method(self, *others):
        return ask(self, operation, *((*others, self) if reflected else (self, *others)))

    return method


def _compare(operation):
    def method(self, other):
        if issubclass(type(other), np.ndarray) and operation in ("eq", "ne"):
            raise TypeError("this would hand the expected array to the submission: compare plain values")
        value = ask(self, operation, self, other)
        if issubclass(type(value), Proxy | np.ndarray):
            return value
        raise TypeError("an object of the submission cannot say what it equals: compare plain values")

    return method


for _name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift".split():
    _bare = _name.strip("_")
    setattr(Proxy, f"__{_bare}__", _forward(_name))
    setattr(Proxy, f"__r{_bare}__", _forward(_name, reflected=True))
    setattr(Proxy, f"__i{_bare}__", _forward("i" + _bare))
for _name in ("neg", "pos", "abs", "invert", "round"):
    setattr(Proxy, f"__{_name}__", _forward(_name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Proxy, f"__{_name}__", _compare(_name))


def new_proxy(line, number, name, can_call):
    """A proxy whose class bears the name of the student's class, for messages."""
    base = CallableProxy if can_call else Proxy
    proxy = object.__new__(type(name, (base,), {"__slots__": ()}))
    object.__setattr__(proxy, "_peer", Peer(line, number))
    return proxy


def source_of(path, cells):
    """Text of the last definition of ``function`` or ``Class.method`` in the student's cells.

    Raises
    ------
    OSError
        If there is none.
    """
    found = None
    for cell in cells:
        if path and cell["kind"] in ("student", "setup"):
            with contextlib.suppress(SyntaxError), contextlib.redirect_stdout(Printed(0)):
                tree, source = parse_cell(cell["source"], "<cell>")
                for name, node in definitions(tree):
                    if name == path:
                        found = ast.get_source_segment(source, node, padded=True)
    if found is None:
        raise OSError(f"no definition of {path} in the submission")
    return found


def definitions(tree, prefix=""):
    """Name and node of each definition and assignment at the top level of a module or class."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from definitions(node, f"{prefix}{node.name}.")
        if isinstance(node, ast.Assign):
            yield from ((prefix + ast.unparse(target), node) for target in node.targets)


# --- Counting from afar -------------------------------------------------------------------------------------


class Meter:
    """``count()`` or ``peak_memory()`` in the student's process, cross-checked from outside.

    The counters run where a submission could patch them, so the kernel's own figures stand beside them. They
    can't tell 12 FLOPs from 13, and counting makes honest code slow (a loop counts a hundred thousand FLOPs a
    second, or fewer on a slow machine), so only a gross mismatch is reported, for a person to look at: it
    takes away no points.
    """

    SECONDS, FLOPS_A_SECOND = 1.0, 2e4  # five times slower than the slowest honest loop
    BYTES, FACTOR = 64 << 20, 4

    def __init__(self, line, name):
        self._line, self._name = line, name

    def __enter__(self):
        self._before = self._usage()
        self._line.ask("meter_start", self._name)
        return self

    def __exit__(self, kind, error, trace):
        if error is not None and not isinstance(error, Exception):
            return
        numbers = typed(dict, self._line.ask("meter_stop"))
        seconds, size = np.subtract(self._usage(), self._before)
        for name in METERED:
            if name in numbers:
                setattr(self, name, numbers[name])
        self._cross_check(numbers, seconds, size)

    def _usage(self):
        pid = self._line.submission.process.pid
        return sandbox.cpu_seconds(pid), sandbox.peak_bytes(pid)

    def _cross_check(self, numbers, seconds, size):
        flops, peak = numbers.get("flops", 0), numbers.get("peak_bytes", 0)
        if self._name == "count" and seconds > self.SECONDS + flops / self.FLOPS_A_SECOND:
            self._review(f"{flops} FLOPs", f"{seconds:.1f} s of processor time")
        if self._name == "peak_memory" and size > self.BYTES + self.FACTOR * peak:
            self._review(f"{peak} bytes", f"{int(size)} bytes more than before")

    def _review(self, count, process):
        self._line.reviews.append(f"needs review: the count says {count}, the process used {process}")


# --- Judging ------------------------------------------------------------------------------------------------


class Judge:
    """Runs one graded cell against its snapshot."""

    def __init__(self, submission, cell):
        self.submission, self.cell = submission, cell
        self.filename = f"<cell {label(cell)}>"
        self.line = Line(submission, submission.doors[submission.judged.index(cell)])
        self.printed = Printed(submission.limits["output_kb"] << 10)

    def result(self):
        """The cell's result, with its score."""
        random.seed(self.submission.seed)
        np.random.seed(self.submission.seed)
        started, value, error = time.monotonic(), None, None
        self.submission.begin_cell()
        with contextlib.redirect_stdout(self.printed), contextlib.redirect_stderr(Printed(0)):
            try:
                value = self.execute()
                score = self.score(value)
            except BaseException as problem:
                score, error = 0.0, self.explain(problem)
        self.line.channel.sock.close()
        return {
            "stdout": self.printed.text(),
            "result": None if value is None or error else repr(value),
            "error": error,
            "score": score,
            "review": "; ".join(self.line.reviews) or None,
            "seconds": round(time.monotonic() - started, 3),
        }

    def execute(self):
        """Run the cell and return the value of its last expression."""
        source = self.cell["source"]
        tree = ast.parse(source, self.filename)
        namespace = self.namespace(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, self.filename, "exec"), namespace)
        if last is not None:
            return eval(compile(ast.Expression(last.value), self.filename, "eval"), namespace)
        return None

    def namespace(self, source):
        """Names for the cell: ours, and of the student's those that it uses and may have."""
        ours = PREPARED | {name: lambda name=name: Meter(self.line, name) for name in METERS}
        allowed = self.submission.names
        namespace = {"__name__": "__main__"} | ours
        for name in sorted(free_names(source) - set(ours)):
            if allowed is not None and name not in allowed or allowed is None and hasattr(builtins, name):
                continue
            with contextlib.suppress(KeyError):  # not there: a NameError where it is used
                namespace[name] = self.line.ask("get", name)
            if issubclass(type(namespace.get(name)), Proxy):
                peer(namespace[name]).path = name
        return namespace

    def score(self, value):
        """nbgrader's convention: no value is full points, a number is partial credit."""
        points = float(self.cell["points"])
        if value is None:
            return points
        if type(value) is bool or not isinstance(value, float | int | np.floating | np.integer):
            raise GraderError(f"the last line of a graded cell is {type(value).__name__}, not points")
        if not 0 <= value <= points:
            raise GraderError(f"the last line of a graded cell is {value}, not from 0 to {points:g} points")
        return float(value)

    def explain(self, problem):
        """An exception as the result tells it: no host paths, no source of the cell."""
        name = getattr(problem, "student_type", type(problem).__name__)
        try:
            message = str(problem)
        except BaseException:  # an assertion may show an object of the submission
            message = "its message could not be made"
        if type(problem) is NameError and not hasattr(problem, "student_type"):
            message = f"{problem.name} is not defined: was the cell that defines it left unsolved?"
        where = "\n".join(filter(None, (places(problem), getattr(problem, "student_where", ""))))
        return {"name": name, "message": message[:4000], "where": where}


class GraderError(Exception):
    """A mistake in a graded cell itself."""


def free_names(source):
    """Names that a cell looks up but does not bind."""
    return _names(source, lambda symbol, top: symbol.is_global() or top) - bound_names(source)


def bound_names(source):
    """Names that a cell's top level binds, by assignment, import or definition."""
    return _names(source, lambda symbol, top: top and (symbol.is_assigned() or symbol.is_imported()))


def _names(source, wanted):
    found, tables = set(), [symtable.symtable(source, "<cell>", "exec")]
    while tables:
        table = tables.pop()
        top = table.get_type() == "module"
        found |= {symbol.get_name() for symbol in table.get_symbols() if wanted(symbol, top)}
        tables += table.get_children()
    return found
