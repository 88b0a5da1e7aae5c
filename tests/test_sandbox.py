"""The closed room: what is inside, what is not, and what it says when it cannot be built."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from payloads import WHY, WORKS, needs_bubblewrap, payload, scores

from autograder import sandbox

SHELL = {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}
REFERENCE = (("__init__.py", ""), ("layer.py", "def one():\n    return 1\n"))


def inside(program, staged=None):
    """What a Python program prints as JSON in the sandbox."""
    staged = staged or sandbox.stage(REFERENCE)
    boot = "import sys; sys.path[:0] = ['/box/lib', '/box/site']\n"
    done = subprocess.run(
        sandbox.wrapped(staged, ["-c", boot + program]),
        capture_output=True,
        text=True,
        timeout=30,
        env=sandbox.ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_this_machine_can_lock_submissions_in():
    if not WORKS:
        pytest.skip(WHY)
    assert WHY == "bubblewrap works"


@needs_bubblewrap
def test_numpy_and_the_staged_files_can_be_imported_and_nothing_else():
    found = inside("""
import importlib, json
def works(name):
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True
names = ["numpy", "json", "tinytorch_ref.layer", "autograder.checks", "autograder.wire", "nbgrader", "pytest",
         "pip", "tinytorch_ref.loss", "autograder.trusted_side", "autograder.ledger", "gradebook", "course"]
print(json.dumps([name for name in names if works(name)]))
""")
    assert found == ["numpy", "json", "tinytorch_ref.layer", "autograder.checks", "autograder.wire"]


@needs_bubblewrap
def test_installed_packages_of_the_host_are_covered_up():
    found = inside("""
import glob, json, sys
tops = {"/usr", "/usr/local", sys.base_prefix}
print(json.dumps([file for top in tops for file in glob.glob(f"{top}/lib*/python3*/*-packages/*")]))
""")
    assert found == []


@needs_bubblewrap
def test_only_scratch_can_be_written():
    there = os.path.abspath(__file__)
    written = inside(f"""
import json, os
places = ["/x", "/dev/x", "/dev/shm/x", "/usr/x", "/box/lib/x", "/box/lib/autograder/wire.py", "/proc/x",
          "/etc/x", "/root/x", "/home/x", "/run/x", "/var/x", "/tmp/x", "/scratch/x", {there!r}]
def writes(place):
    try:
        open(place, "a").close()
    except OSError:
        return False
    return True
print(json.dumps([place for place in places if writes(place)]))
""")
    assert written == ["/tmp/x", "/scratch/x"]


@needs_bubblewrap
def test_it_sees_no_process_network_home_or_right_of_the_host():
    seen = inside("""
import ctypes, json, os, socket
numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
links = [name for _, name in socket.if_nameindex()]
libc = ctypes.CDLL(None, use_errno=True)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "uid": os.getuid(), "groups": os.getgroups(), "processes": len(numbers), "links": links,
    "unshare": libc.unshare(0x10000000), "mount": libc.mount(b"x", b"/scratch", b"tmpfs", 0, None),
    "rights": int(status["CapEff"], 16), "new": status["NoNewPrivs"].strip(), "home": os.environ["HOME"],
    "names": sorted(os.environ), "root": sorted(os.listdir("/")),
}))
""")
    assert seen["uid"] != 0 and 0 not in seen["groups"]
    assert seen["processes"] == 2 and seen["links"] == ["lo"]
    assert seen["unshare"] == seen["mount"] == -1 and seen["rights"] == 0 and seen["new"] == "1"
    assert seen["home"] == "/scratch" and set(seen["names"]) <= set(sandbox.ENVIRONMENT) | SHELL
    assert not {"home", "work", "mnt", "var", "srv"} & set(seen["root"])


@needs_bubblewrap
def test_the_files_of_another_stage_stay_outside():
    secret = sandbox.Stage((("__init__.py", ""), ("answer.py", "ANSWER = 42")))
    found = inside("""
import json, os
tops = ("/box", "/scratch", "/run", "/tmp", "/opt")
print(json.dumps([folder for top in tops for folder, _, names in os.walk(top) if "answer.py" in names]))
""")
    assert (
        found == []
        and inside("import json, tinytorch_ref.answer as a\nprint(json.dumps(a.ANSWER))", secret) == 42
    )


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "", "nul\0"])
def test_a_file_name_stays_in_its_folder(name):
    with pytest.raises(ValueError):
        sandbox.safe_name(name)


def test_plain_file_names_pass():
    assert sandbox.safe_name("data/train.npz") == "data/train.npz"


@pytest.mark.parametrize(
    "manager, words", [("apt", "apt install bubblewrap"), ("dnf", "dnf install"), ("pacman", "pacman -S")]
)
def test_the_hint_names_the_package_manager(monkeypatch, manager, words):
    monkeypatch.setattr(sandbox.platform, "system", lambda: "Linux")
    monkeypatch.setattr(sandbox.shutil, "which", lambda tool: tool if tool == manager else None)
    works, why = sandbox.available.__wrapped__()
    assert not works and "bwrap" in why and words in why


@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_other_systems_are_told_of_containers(monkeypatch, system):
    monkeypatch.setattr(sandbox.platform, "system", lambda: system)
    works, why = sandbox.available.__wrapped__()
    assert not works and "container" in why and "WSL2" in why


def test_a_bubblewrap_that_is_forbidden_says_so(monkeypatch, tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    tmp_path.chmod(0o755)
    monkeypatch.setattr(sandbox, "wrapped", lambda staged, arguments: [str(fake)])
    monkeypatch.setattr(sandbox.shutil, "which", lambda tool: tool)
    works, why = sandbox.available.__wrapped__()
    assert not works and "No permissions" in why and "user namespaces" in why


def test_descendants_are_found_and_killed():
    program = "import subprocess as s, time; s.Popen(['sleep', '77']); print(1, flush=True); time.sleep(77)"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    child.stdout.readline()
    grandchildren = sandbox.descendants(child.pid)
    assert len(grandchildren) == 1 and child.pid in sandbox.descendants(os.getpid())
    assert sandbox.peak_bytes(child.pid) > 0 and sandbox.memory_bytes(child.pid) > 0
    sandbox.kill_descendants(child.pid)
    assert all(sandbox._is_zombie(pid) for pid in grandchildren)
    child.kill()
    child.communicate()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user here")
@needs_bubblewrap
def test_an_ordinary_user_is_locked_in_as_well():
    """As an account without rights, with an interpreter that it can reach."""
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3"]
    paths = f"{sandbox.HERE.parent}:{Path(numpy.__file__).parents[1]}"
    settings = {
        "env": {"PATH": "/usr/bin:/bin", "PYTHONPATH": paths},
        "cwd": "/",
        "capture_output": True,
        "text": True,
    }
    if subprocess.run([*user, "-c", "import numpy, autograder"], **settings).returncode:
        pytest.skip("no system Python and NumPy that an ordinary user can reach")
    made = payload(("student", "import os\nx = os.getuid() and 3"), ("graded", "x", "check.equal(x, 3)"))
    program = f"from autograder.runner import run_one; import json; print(json.dumps(run_one({made!r})))"
    done = subprocess.run([*user, "-c", program], **settings)
    assert done.returncode == 0, done.stderr
    assert scores(json.loads(done.stdout)) == [2.0]
