"""Submissions that try to gain, to read, to write, to stay or to break. None gains, the next is graded right.

Each attack comes with an unsolved answer, whose honest score is 0, unless it says otherwise.
"""

import json
import os
import socket
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from payloads import needs_bubblewrap, payload, scores

from autograder import sandbox
from autograder.runner import Runner, run_one

pytestmark = needs_bubblewrap
LIMITS = {"cell_seconds": 0.5, "submission_seconds": 25, "memory_mb": 512, "processes": 8, "file_mb": 8}

# Expected values that appear nowhere on the student's side: they are worked out on the trusted side.
CHECK = """
for n in (4, 9):
    check.equal(double(n), n + n)
x = np.array([1.0, 2.0])
check.close(double(x), x + x)
"""
HIDDEN = """
check.equal(double(21), 21 + 21, because="hidden_marker")
x = np.linspace(3, 5, 4)
check.close(double(x), x + x)
"""
HONEST = "def double(x):\n    return 2 * x"
JUDGED = [("graded", "double_check", CHECK), ("hidden", "double_hidden", HIDDEN)]


@pytest.fixture(scope="module")
def runner():
    with Runner(LIMITS) as worker:
        yield worker


@pytest.fixture(scope="module", autouse=True)
def neighbour():
    """Grades an honest submission at the same time as each attack."""
    global NEXT_DOOR
    with Runner(LIMITS) as worker, ThreadPoolExecutor(1) as pool:
        NEXT_DOOR = lambda: pool.submit(worker.run, payload(("student", HONEST), *JUDGED))
        yield


def attack(runner, *cells, solved=False, after=(), **more):
    """The result of an attack; on the way, that nothing survives it and the neighbour gets full marks."""
    honest = NEXT_DOOR()
    answer = [("student", "double", HONEST)] if solved else []
    sources = [("student", f"attack_{n}", textwrap.dedent(source)) for n, source in enumerate(cells, 1)]
    result = runner.run(
        payload(*answer, *sources, *JUDGED, *(("student", source) for source in after), **more)
    )
    assert sandbox.descendants(runner.process.pid) == []
    assert scores(honest.result()) == [2.0, 2.0]
    return result


GAINLESS = {
    "looks for values in frames": """
        import sys, gc
        def double(x):
            frame, seen = sys._getframe(), []
            while frame:
                seen += list(frame.f_locals.values())
                frame = frame.f_back
            numbers = [v for v in seen + gc.get_objects() if type(v) in (int, float) and v != x]
            return numbers[0] if numbers else None
    """,
    "looks for values in In and Out": "def double(x):\n    return (In[-1], Out, _)",
    "traces its caller": """
        import sys
        caught = []
        sys.settrace(lambda frame, event, arg: caught.append(dict(frame.f_locals)))
        def double(x):
            return [v for names in caught for v in names.values()][-1]
    """,
    "patches the checks": """
        import autograder.checks
        for name in autograder.checks.__all__:
            setattr(autograder.checks, name, lambda *a, **k: None)
        def double(x): return None
    """,
    "patches numpy": """
        import numpy.testing
        np.allclose = np.array_equal = np.isclose = lambda *a, **k: True
        np.testing.assert_allclose = np.testing.assert_array_equal = lambda *a, **k: None
        np.asarray = np.array = lambda *a, **k: 0
        def double(x): return x
    """,
    "patches builtins": """
        import builtins
        builtins.isinstance = builtins.all = builtins.any = lambda *a: True
        builtins.abs = lambda x: 0
        builtins.AssertionError = ValueError
        def double(x): return x
    """,
    "patches operator, json and struct": """
        import operator, json
        operator.eq = lambda *a: True
        json.dumps = lambda *a, **k: '{"d": [["value", true]]}'
        def double(x): return 1
    """,
    "patches its own runner": """
        import autograder.student_side as side, autograder.wire as wire
        side.describe = lambda problem: None
        side.Snapshot.answer = lambda *a: {"value": True}
        wire.encode = side.encode = lambda *a: (True, [])
        def double(x): return 1
    """,
    "answers with strange things": """
        import autograder.student_side as side, itertools
        things = np.zeros(3), {"limit": object()}, {"error": {"names": [1]}}, [], object(), {}
        strange = itertools.cycle(things)
        right = side.Snapshot.answer
        side.Snapshot.answer = lambda *a: right(*a) if next(turn) == 0 else next(strange)
        turn = itertools.count()
        def double(x): return 1
    """,
    "shows objects that strike back": """
        class Mine:
            def __repr__(self): raise SystemExit
            __str__ = __format__ = __repr__
            data = property(lambda self: self)
        def double(x): return Mine()
    """,
    "is always equal": """
        class Equal:
            def __eq__(self, other): return True
            def __ne__(self, other): return False
            __lt__ = __le__ = __gt__ = __ge__ = __eq__
            __hash__ = object.__hash__
            def __bool__(self): return True
            def __sub__(self, other): return 0
            __rsub__ = __sub__
        def double(x): return Equal()
    """,
    "lies as an int or float": """
        class Int(int):
            def __eq__(self, other): return True
            __hash__ = int.__hash__
        class Float(float):
            def __eq__(self, other): return True
            def __sub__(self, other): return 0.0
            __rsub__ = __sub__
        def double(x): return Int(1) if isinstance(x, int) else Float(1)
    """,
    "lies as an array": """
        class Lie(np.ndarray):
            def __array_ufunc__(self, *a, **k): return np.True_
            def __array_function__(self, *a, **k): return True
            def __eq__(self, other): return np.True_
            def __array_finalize__(self, other): pass
        def double(x): return np.zeros(np.shape(x)).view(Lie)
    """,
    "lies as a container": """
        class Row(list):
            def __eq__(self, other): return True
        class Word(str):
            def __eq__(self, other): return True
            __hash__ = str.__hash__
        def double(x): return Row([Word("x")])
    """,
    "claims a class": """
        class Meta(type):
            def __instancecheck__(cls, other): return True
            def __eq__(cls, other): return True
            __hash__ = type.__hash__
        class int(metaclass=Meta):
            __class__ = property(lambda self: float)
        def double(x): return int()
    """,
    "is nan or infinite": "def double(x):\n    return x * np.nan",
    "returns a huge, deep or odd thing": """
        turn = []
        def double(x):
            turn.append(0)
            deep = []
            for _ in range(5000): deep = [deep]
            odd = (10**20000, deep, [0] * 10**6, np.zeros(2**28, np.uint8), {1.5: 2}, lambda: 0)
            return odd[len(turn) % 6]
    """,
    "returns itself": "loop = []\nloop.append(loop)\ndef double(x):\n    return loop",
    "raises what a check may swallow": """
        import sys
        state = []
        def double(x):
            state.append(1)
            raise (StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt, BaseException)[len(state) % 5]
    """,
    "forges frames on every socket": """
        import os, json, struct, stat
        for value in (True, 8, {"d": [["value", 8]]}, {"d": [["value", True]]}):
            text = json.dumps(value).encode()
            for fd in os.listdir("/proc/self/fd"):
                try:
                    if int(fd) > 2 and stat.S_ISSOCK(os.fstat(int(fd)).st_mode):
                        os.write(int(fd), struct.pack(">II", len(text), 0) + text)
                except OSError: pass
        def double(x): return x
    """,
    "answers in the snapshot's place": """
        import os, json, struct, stat, threading, socket
        def serve(sock):
            while True:
                sock.recv(1 << 20)
                text = json.dumps({"d": [["value", True]]}).encode()
                sock.sendall(struct.pack(">II", len(text), 0) + text)
        for fd in map(int, os.listdir("/proc/self/fd")):
            try: sock = socket.socket(fileno=os.dup(fd))
            except OSError: continue
            threading.Thread(target=serve, args=(sock,), daemon=True).start()
    """,
    "fakes the clock": "import time\ntime.time = time.monotonic = lambda: 0.0\ndef double(x): return x",
    "exits at once": "import os\nos._exit(0)",
    "exits when called": "import os\ndef double(x):\n    os._exit(0)",
    "exits politely": "import sys, atexit\natexit.register(print, 'bye')\nsys.exit(0)",
    "exits politely when called": "import sys\ndef double(x):\n    sys.exit(0)",
    "crashes": "import ctypes\nctypes.string_at(0)",
    "crashes when called": "import ctypes\ndef double(x):\n    return ctypes.string_at(0)",
    "recurses without end": """
        import sys
        sys.setrecursionlimit(10**9)
        def double(x): return double(x) + 1
    """,
    "kills all that it can": """
        import os, signal
        for pid in (os.getppid(), 1, -1):
            try: os.kill(pid, signal.SIGKILL)
            except OSError: pass
    """,
    "closes every descriptor": "import os\nos.closerange(0, 256)",
    "forks and goes on twice": "import os\nos.fork()\ndef double(x): return x",
    "hooks the fork": "import os\nos.register_at_fork(after_in_child=lambda: os._exit(1))",
    "sleeps with its eyes shut": """
        import time
        while True:
            try: time.sleep(60)
            except BaseException: pass
    """,
    "bombs with forks": """
        import os
        for _ in range(200):
            try:
                if os.fork() == 0:
                    while True:
                        try: os.fork()
                        except OSError: pass
            except OSError: pass
    """,
    "bombs with memory": "held = []\nwhile True:\n    held.append(bytearray(10**8))",
    "bombs the disk": """
        for n in range(1000):
            try:
                with open(f"/scratch/{n}", "wb") as file: file.write(bytes(7 << 20))
            except OSError as error: pass
        def double(x): return x
    """,
    "floods the output": "while True:\n    print('x' * 100_000)",
    "floods the descriptor": "import os\nwhile True:\n    os.write(1, b'x' * 100_000)",
    "raises its own limits": """
        import resource
        for kind in range(16):
            try: resource.setrlimit(kind, (resource.RLIM_INFINITY,) * 2)
            except (OSError, ValueError): pass
        held = bytearray(600 << 20)
    """,
    "replaces its modules": "import sys\nsys.modules.clear()\ndef double(x): return x",
    "swallows a failed check": """
        class Calm:
            def __enter__(self): return self
            def __exit__(self, *error): return True
        def double(x): return Calm()
    """,
    "imports the answer": """
        from tinytorch_ref.tool import helper
        from tinytorch_ref.answer import double
    """,
}
REFERENCE = [
    ["__init__.py", ""],
    ["tool.py", "def helper(): return 1\n"],
]  # answer.py belongs to this very module


@pytest.mark.parametrize("name", GAINLESS)
def test_no_point_is_gained(runner, name):
    result = attack(runner, GAINLESS[name], reference=REFERENCE)
    if result["status"] == "ok":
        assert scores(result) == [0.0, 0.0], result
    else:
        assert "attack_1" in result["reason"] or "longer than" in result["reason"], result


@pytest.mark.parametrize("name", ["exits at once", "crashes", "closes every descriptor"])
def test_a_ruined_process_costs_only_the_cell_that_ruined_it(runner, name):
    result = attack(runner, GAINLESS[name], solved=True)
    assert scores(result) == [2.0, 2.0], result
    assert "`attack_1` ended the student's process" in result["cells"]["2"]["error"]["message"]


def test_a_ruined_snapshot_costs_only_its_check(runner):
    source = """
        import ctypes, os, sys
        def leave(): os._exit(0)
        def crash(): ctypes.string_at(0)
        def stop(): sys.exit()
        def fine(): return 3
    """
    checks = [
        ("graded", f"c{n}", f"check.equal({name}(), 3)")
        for n, name in enumerate(("leave", "crash", "stop", "fine"))
    ]
    result = runner.run(payload(("student", textwrap.dedent(source)), *checks))
    assert scores(result) == [0.0, 0.0, 0.0, 2.0]


def test_the_memory_of_all_processes_together_is_limited():
    source = """
        import os, time
        for _ in range(6):
            if os.fork() == 0:
                held = bytearray(b"x") * (100 << 20)
                time.sleep(60)
        time.sleep(60)
    """
    made = payload(("student", textwrap.dedent(source)), ("graded", "one", "check.equal(1, 1)"))
    result = run_one(made, LIMITS | {"cell_seconds": 4, "memory_mb": 256})
    assert "took more than 512 MB" in result["cells"]["1"]["error"]["message"] and scores(result) == [2.0]


def test_two_ruinous_cells_fail_the_submission_with_a_reason(runner):
    result = attack(runner, "import os\nos._exit(3)", "import os\nos._exit(4)", solved=True)
    assert (
        result["status"] == "failed"
        and "`attack_2` ended the student's process (exit code 4)" in result["reason"]
    )


# --- Reading ------------------------------------------------------------------------------------------------


def test_no_file_of_the_course_can_be_read(runner):
    here = os.path.abspath(__file__)
    result = attack(
        runner,
        f"""
        import os
        paths = [{here!r}, "/etc/passwd", "/etc/shadow", "/root/.bashrc", {os.path.dirname(here)!r},
                 "/proc/1/root{here}", "/box/lib/autograder/trusted_side.py", "../source", "gradebook.db"]
        def readable(path):
            try: return bool(os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1))
            except OSError: return False
        print([path for path in paths if readable(path)], sorted(os.listdir(".")))
        """,
    )
    assert result["cells"]["1"]["stdout"] == "[] []\n"


def test_no_hidden_test_is_in_the_students_process(runner):
    result = attack(
        runner,
        """
        import re
        def hunt():
            hidden, own = 0, 0  # own_marker stands in this very cell
            texts = [open(f"/proc/{pid}/cmdline", "rb").read() for pid in (1, "self")]
            with open("/proc/self/mem", "rb", 0) as memory:
                for line in open("/proc/self/maps"):
                    low, high = (int(x, 16) for x in line.split()[0].split("-"))
                    try:
                        memory.seek(low)
                        texts.append(memory.read(high - low) if "rw-p" in line else b"")
                    except (OSError, OverflowError): pass
            for text in texts:
                hidden += len(re.findall(b"hidden[_]marker", text))
                own += len(re.findall(b"own[_]marker", text))
            return f"{hidden} hidden, own: {own > 0}"
        print(hunt())
        def double(x):
            return hunt()
        """,
    )
    assert result["cells"]["1"]["stdout"] == "0 hidden, own: True\n"
    for index in "23":  # nor while it is being checked
        assert "Got: '0 hidden, own: True'" in result["cells"][index]["error"]["message"], result


def test_test_inputs_do_not_come_to_the_printed_output(runner):
    result = attack(
        runner,
        """
        import atexit, os, threading, time, sys
        def tell():
            while True:
                for name in os.listdir("."):
                    print("LEAK", open(name).read(), flush=True)
                    os.write(1, open(name, "rb").read())
                time.sleep(0.01)
        threading.Thread(target=tell, daemon=True).start()
        if os.fork() == 0:
            tell()
        atexit.register(tell)
        def double(x):
            with open("loot", "a") as file: file.write(f"LEAK {x}")
            print("LEAK", x, file=sys.__stdout__, flush=True)
            return 2 * x
        """,
        after=["import os, time\ntime.sleep(0.2)\nprint(os.listdir('.'))"],
    )
    told = result["cells"]
    assert scores(result) == [2.0, 2.0] and told["4"]["stdout"] == "[]\n"
    assert not any("LEAK" in str(cell["stdout"]) for cell in told.values())


def test_checks_cannot_learn_from_each_other_through_memory(runner):
    result = attack(
        runner,
        """
        asked = []
        def double(x):
            asked.append(x)
            if len(asked) > 3: raise RuntimeError(f"seen {len(asked)} inputs")
            return 2 * x
        """,
    )
    assert scores(result) == [2.0, 2.0]


# --- Reaching out and staying -------------------------------------------------------------------------------


def test_there_is_no_network(runner):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        result = attack(
            runner,
            f"""
            import socket
            def reached(address):
                try: socket.create_connection(address, 0.3).sendall(b"loot")
                except OSError: return False
                return True
            print([reached(a) for a in (("127.0.0.1", {port}), ("1.1.1.1", 53), ("localhost", {port}))])
            """,
        )
        server.settimeout(0.1)
        with pytest.raises(TimeoutError):
            server.accept()
    assert result["cells"]["1"]["stdout"] == "[False, False, False]\n"


@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
def test_nothing_outlives_a_submission(kind):
    marker = "86399.7531" if kind == "none" else "86399.7532"
    with Runner(LIMITS, sandbox=kind) as worker:
        attack(
            worker,
            f"""
            import os, subprocess, threading, time
            threading.Thread(target=time.sleep, args=(600,)).start()
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os.execv("/bin/sleep", ["sleep", "{marker}"])
                os._exit(0)
            subprocess.Popen(["/bin/sleep", "{marker}"], start_new_session=True)
            """,
        )
    assert not alive(marker)


def test_nothing_outlives_the_grader_itself():
    marker = "86399.7533"
    source = f"""
import subprocess, time
subprocess.Popen(['/bin/sleep', '{marker}'], start_new_session=True)
time.sleep(99)
"""
    worker = Runner(LIMITS | {"cell_seconds": 60}).start()
    worker.process.stdin.write(
        json.dumps([payload(("student", source)), worker.limits, "bubblewrap"]).encode() + b"\n"
    )
    assert wait_for(lambda: alive(marker))
    worker.process.kill()
    assert wait_for(lambda: not alive(marker))
    worker.close()


def alive(marker):
    """Whether some process has `marker` as an argument."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if marker.encode() in file.read().split(b"\0"):
                    return True
        except OSError:
            pass
    return False


def wait_for(true, seconds=10):
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def test_scratch_is_empty_for_the_next_and_gone_from_the_host(runner):
    marker = "loot_86399"
    first = attack(
        runner, f"open('{marker}', 'w').write('x')\nopen('/tmp/{marker}2', 'w').write('x')\nprint('written')"
    )
    second = attack(runner, "import os\nprint(os.listdir('.'), os.listdir('/tmp'))")
    assert first["cells"]["1"]["stdout"] == "written\n" and second["cells"]["1"]["stdout"] == "[] []\n"
    assert not any(marker in name for name in os.listdir("/tmp"))


# --- Output -------------------------------------------------------------------------------------------------


def test_long_output_is_cut_and_the_rest_counted(runner):
    result = attack(runner, "print('x' * 1_000_000)\n'y' * 1_000_000", solved=True)
    told = result["cells"]["2"]
    assert len(told["stdout"]) < 66_000 and "more characters were dropped" in told["stdout"]
    assert len(told["result"]) <= 64 << 10 and scores(result) == [2.0, 2.0]


def test_what_is_not_a_result_is_named(runner):
    result = attack(
        runner, "import autograder.student_side as side\nside.Notebook.run = lambda *a: [1]", "1", solved=True
    )
    assert result["status"] == "failed" and "not a result" in result["reason"]


def test_a_forged_output_is_cut(runner):
    forged = "{'stdout': 'x' * 10**6, 'result': None, 'error': None}"
    result = attack(
        runner,
        f"import autograder.student_side as side\nside.Notebook.run = lambda *a: {forged}",
        "1",
        solved=True,
    )
    assert len(result["cells"]["3"]["stdout"]) <= 128 << 10 and scores(result) == [2.0, 2.0]
