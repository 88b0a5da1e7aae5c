"""The student's side of grading: runs a submission's own cells, then answers questions about what they made.

This program runs in the sandbox and holds no check and no expected value. Cell by cell it runs the notebook;
at the place of each graded cell it forks a *snapshot*, a copy of the process that waits. When the notebook
has run and its output has been handed over, the trusted side speaks to the snapshots one by one: it fetches
names, calls, reads attributes. So no test input can come to the printed output, and what one check changes no
other check sees.

A submission shares this process and may patch all of it. That gains nothing: whatever it sends is decoded as
plain values, and compared elsewhere.
"""

import ast
import collections
import contextlib
import importlib.machinery
import io
import linecache
import operator
import os
import signal
import socket
import sys
import tracemalloc
import types

import numpy as np

from autograder import counters
from autograder.counters import windows
from autograder.wire import Channel, WireError, decode, encode

FLOOD_BYTES = 64 << 20
WALL = 4  # a cell may take this many times its processor time by the clock, for busy machines


class LimitReached(BaseException):
    """A limit was hit. Not an Exception, so that ``except Exception`` in a submission lets it pass."""


def main(descriptors):
    """Serve one submission over inherited sockets: the first is the notebook's, the others the snapshots'."""
    control, *doors = [socket.socket(fileno=int(number)) for number in descriptors.split(",")]
    channel = Channel(control)
    job = decode(*channel.receive(), resolve=None)
    confine(job["limits"])
    for name, content in job["files"].items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "wb") as file:
            file.write(content)
    sys.path.append(os.getcwd())
    sys.meta_path.insert(0, NoPictures())
    np.random.seed(job["seed"])
    notebook = Notebook(job["limits"])
    channel.send("ready")
    for cell in job["cells"]:
        if cell["source"] is None:
            channel.send(*encode(take_snapshot(notebook, doors, control), None))
        else:
            channel.send(*encode(notebook.run(cell["label"], cell["source"]), None))
    channel.receive()  # nothing comes: the trusted side hangs up when it is done


def confine(limits):
    """Lower the limits of this process for good."""
    import resource  # not on Windows, where this module can still be imported

    sizes = {
        resource.RLIMIT_AS: limits["memory_mb"] << 20,
        resource.RLIMIT_FSIZE: limits["file_mb"] << 20,
        resource.RLIMIT_CPU: int(limits["submission_seconds"]) + 1,
        resource.RLIMIT_NPROC: limits["processes"],
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
    }
    for kind, size in sizes.items():
        hard = resource.getrlimit(kind)[1]
        size = size if hard == resource.RLIM_INFINITY else min(size, hard)
        try:
            resource.setrlimit(kind, (size, size))
        except (OSError, ValueError):  # macOS refuses some of them
            pass


def take_snapshot(notebook, doors, control):
    """Fork a copy of the process that serves the next door; tell whether that worked."""
    door = doors.pop(0)
    try:
        pid = os.fork()
    except OSError as error:
        door.close()
        return str(error)
    if pid:
        door.close()
        return None
    try:
        control.close()
        for other in doors:
            other.close()
        Snapshot(Channel(door), notebook).serve()
    finally:
        os._exit(0)


# --- Running cells ------------------------------------------------------------------------------------------


class Notebook:
    """The namespace of the submission's cells, and how they run."""

    def __init__(self, limits):
        self.limits = limits
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.namespace = module.__dict__
        self.namespace.update(display=Nothing(), get_ipython=Nothing(), help=Nothing())
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, self.interrupt)

    def interrupt(self, *_):
        raise LimitReached(f"ran longer than {self.limits['cell_seconds']:g} s")

    def watch(self, seconds):
        """Start the clocks of processor and wall time; 0 stops them."""
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, WALL * seconds)

    def run(self, label, source):
        """Run one cell; a dict of its printed text, the repr of its last value, and its error."""
        printed, error, value = Printed(self.limits["output_kb"] << 10), None, None
        sys.stdout, sys.stderr = printed, Printed(0)
        try:
            self.watch(self.limits["cell_seconds"])
            value = self.execute(label, source)
            value = None if value is None else repr(value)[: printed.limit]
        except BaseException as problem:  # SystemExit and KeyboardInterrupt end a cell, not the notebook
            self.watch(0)
            error = describe(problem)
        finally:
            self.watch(0)
            sys.stdout, sys.stderr = Printed(0), Printed(0)
        return {"stdout": printed.text(), "result": value, "error": error}

    def execute(self, label, source):
        """Run a cell's statements and return the value of its last expression."""
        filename = f"<cell {label}>"
        tree, source = parse_cell(source, filename)
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, filename, "exec"), self.namespace)
        if last is not None:
            return eval(compile(ast.Expression(last.value), filename, "eval"), self.namespace)
        return None


def parse_cell(source, filename):
    """Syntax tree of a cell, and its text; IPython's own lines, which Python cannot read, are skipped."""
    if source.lstrip().startswith("%%"):
        print(f"[skipped: the cell magic {source.split()[0]}]")
        return ast.parse(""), ""
    try:
        return ast.parse(source, filename), source
    except SyntaxError:
        source = "\n".join(map(_without_magic, source.split("\n")))
        return ast.parse(source, filename), source


def _without_magic(line):
    text = line.strip()
    if text[:1] not in ("%", "!", "?") and text[-1:] != "?":
        return line
    print(f"[skipped: {text}]")
    return line[: len(line) - len(line.lstrip())] + "pass"


class Printed(io.TextIOBase):
    """Keeps the first `limit` characters written to it."""

    def __init__(self, limit):
        self.limit, self.kept, self.room, self.seen = limit, [], limit, 0

    def writable(self):
        return True

    def write(self, text):
        if self.room > 0:
            self.kept.append(text[: self.room])
            self.room -= len(text)
        self.seen += len(text)
        if self.seen > FLOOD_BYTES:
            self.seen = 0
            raise LimitReached(f"printed more than {FLOOD_BYTES >> 20} MB")
        return len(text)

    def text(self):
        rest = f"\n[{self.seen - self.limit} more characters were dropped]" if self.seen > self.limit else ""
        return "".join(self.kept) + rest


def describe(problem):
    """An exception as plain values: names of its classes, its message, and where it came from."""
    try:
        single = type(problem) is KeyError and len(problem.args) == 1 and isinstance(problem.args[0], str)
        message = problem.args[0] if single else str(problem)
    except Exception:
        message = "its message could not be made"
    names = [kind.__name__ for kind in type(problem).__mro__]
    return {"names": names, "message": message[:4000], "where": places(problem)}


def places(problem):
    """Lines of a traceback that lie in a cell or in the reference package, as text."""
    first, last = [], collections.deque(maxlen=10)  # a traceback may be a million frames long
    if isinstance(problem, SyntaxError) and str(problem.filename).startswith("<cell "):
        first.append((problem.filename, problem.lineno))
    trace = problem.__traceback__
    while trace:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith("<cell ") or "/tinytorch_ref/" in code.co_filename:
            (first if len(first) < 10 else last).append((code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    gap = ["..."] if len(last) == last.maxlen else []
    return "\n".join([*(place(*spot) for spot in first), *gap, *(place(*spot) for spot in last)])


def place(filename, line, function="<module>"):
    """``cell `tensor_add`, line 3, in __add__``."""
    inside = "" if function == "<module>" else f", in {function}"
    if filename.startswith("<cell "):
        return f"cell `{filename[6:-1]}`, line {line}{inside}"
    return f"tinytorch_ref/{filename.partition('/tinytorch_ref/')[2]}, line {line}{inside}"


# --- Answering ----------------------------------------------------------------------------------------------


class Snapshot:
    """Answers one graded cell's questions. What is no plain value stays here and travels as a number."""

    def __init__(self, channel, notebook):
        self.channel, self.notebook = channel, notebook
        self.objects, self.numbers, self.given = {}, {}, 0
        self.meters = []

    def serve(self):
        """Answer until the trusted side hangs up."""
        header, body = self.channel.receive()
        self.notebook.watch(self.notebook.limits["cell_seconds"])
        while True:
            with self.unseen(self.answer(header, body)) as answer:
                try:
                    self.channel.send(*encode(answer, self.keep))
                except (WireError, TypeError) as error:
                    self.channel.send(*encode({"error": describe(error)}, None))
                del answer
            header, body = self.channel.receive()

    def answer(self, header, body):
        """What the trusted side's question comes to: a value, an error or a limit."""
        try:
            name, arguments, named, dropped = decode(header, body, lambda handle: self.objects[handle[0]])
            self.drop(dropped)
            if self.counts():
                arguments, named = windows.wrap(arguments), {key: windows.wrap(named[key]) for key in named}
            return {"value": bare(self.operation(name)(*arguments, **named))}
        except LimitReached as limit:
            return {"limit": str(limit)}
        except BaseException as problem:
            return {"error": describe(problem)}

    def keep(self, thing):
        """The handle of an object; the same one as long as the trusted side holds it."""
        if id(thing) not in self.numbers:
            self.given += 1
            self.numbers[id(thing)] = self.given
            self.objects[self.given] = thing
        return [self.numbers[id(thing)], type(thing).__name__, callable(thing)]

    def drop(self, numbers):
        """Let go of what the trusted side has let go, so that memory is freed as in a notebook."""
        for number in numbers:
            del self.numbers[id(self.objects.pop(number))]

    def counts(self):
        return any(isinstance(meter, counters.count) for meter, _ in self.meters)

    @contextlib.contextmanager
    def unseen(self, answer):
        """Keep the copies that an answer needs on its way out of the open measurements of peak memory."""
        highest = tracemalloc.get_traced_memory()[1]
        yield answer
        meters = [meter for meter, _ in self.meters if isinstance(meter, counters.peak_memory)]
        for meter in meters:
            meter._highest = max(meter._highest, highest)
        if meters:
            tracemalloc.reset_peak()

    def operation(self, name):
        return getattr(self, "do_" + name, None) or OPERATIONS.get(name) or getattr(operator, name)

    def do_get(self, name):
        return self.notebook.namespace[name]

    def do_exit(self, manager, message):
        """Leave a context manager; its wish to swallow an error is not passed on."""
        problem = RuntimeError(message) if message is not None else None
        type(manager).__exit__(manager, problem and RuntimeError, problem, None)

    def do_peek(self, thing):
        return np.asarray(array_of(thing))

    def do_poke(self, thing, index, value):
        array_of(thing)[index] = value

    def do_meter_start(self, name):
        roots = {"roots": [self.notebook.namespace, self.objects]} if name == "count" else {}
        meter = getattr(counters, name)(**roots)
        self.meters.append((meter, meter.__enter__()))

    def do_meter_stop(self):
        meter, counted = self.meters.pop()
        meter.__exit__(None, None, None)
        return {name: getattr(counted, name) for name in METERED if hasattr(counted, name)}


METERED = (
    "flops", "by_kind", "bytes_read", "bytes_written", "bytes_moved", "arrays", "complete", "why",
    "peak_bytes", "arrays_left", "kept_bytes",
)  # fmt: skip


def bare(value):
    """A value without the windows through which `counters` watches it."""
    if type(value) is dict:
        return {key: windows.bare(value[key]) for key in value}
    return windows.bare(value)


def array_of(thing):
    """The array itself, not a copy: a Tensor's ``data``, or the thing."""
    array = thing if isinstance(thing, np.ndarray) else getattr(thing, "data", None)
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{type(thing).__name__} is neither an array nor has one as .data")
    return array


def as_array(thing):
    array = np.asarray(thing)
    if array.dtype == object:
        raise TypeError(f"{type(thing).__name__} does not turn into an array: use its .data")
    return array


def ask_format(thing, spec):
    return format(thing, spec)


OPERATIONS = {
    "getattr": getattr,
    "setattr": setattr,
    "delattr": delattr,
    "call": lambda function, /, *arguments, **named: function(*arguments, **named),
    "isinstance": isinstance,
    "issubclass": issubclass,
    "len": len,
    "iter": iter,
    "next": next,
    "repr": lambda thing: repr(thing)[:4000],
    "str": lambda thing: str(thing)[:4000],
    "format": ask_format,
    "float": float,
    "int": int,
    "complex": complex,
    "divmod": divmod,
    "round": round,
    "array": as_array,
    "enter": lambda manager: type(manager).__enter__(manager),
}


# --- No pictures --------------------------------------------------------------------------------------------


class Nothing:
    """Accepts everything and draws nothing: grading needs no pictures, and importing Matplotlib is slow."""

    def __init__(self, *arguments, **_):
        self._items = arguments[0] if arguments else ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return SHAPED.get(name) or Nothing()

    def __call__(self, *_, **__):
        return Nothing()

    def __getitem__(self, _):
        return Nothing()

    def __enter__(self):
        return self

    def __iter__(self):
        return iter(self._items)

    def __exit__(self, *_):
        pass

    def __setitem__(self, *_):
        pass

    def __len__(self):
        return len(self._items)

    def __add__(self, _):
        return self

    __mul__ = __radd__ = __add__


def subplots(rows=1, columns=1, *_, nrows=None, ncols=None, squeeze=True, **__):
    """A figure and its axes in the arrangement of ``plt.subplots``."""
    axes = np.empty((nrows or rows, ncols or columns), object)
    for index in np.ndindex(axes.shape):
        axes[index] = Nothing()
    if squeeze:
        axes = axes.squeeze()[()]
    return Nothing(), axes


SHAPED = {
    "subplots": subplots,
    "plot": lambda *_, **__: [Nothing()],
    "hist": lambda *_, **__: (np.zeros(10), np.linspace(0, 1, 11), Nothing()),
    "get_xlim": lambda *_: (0.0, 1.0),
    "get_ylim": lambda *_: (0.0, 1.0),
    "tqdm": Nothing,  # a progress bar still hands out its items
    "trange": lambda *ends, **_: Nothing(range(*ends)),
    "HTML": Nothing,
}


class NoPictures:
    """Finds and loads: gives a `Nothing` for every module that only shows things."""

    ROOTS = frozenset(["matplotlib", "mpl_toolkits", "cycler", "IPython", "ipywidgets", "tqdm"])

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.ROOTS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = Nothing().__getattr__
        return module

    def exec_module(self, module):
        pass
