"""The closed room in which a submission runs: bubblewrap, or for those you trust, only a process of its own.

Inside there are Python, NumPy, the reference package up to the module before, the student's side of the
runner, and one scratch folder in memory. There is no network, no other process, no home, no course. As root
the user id is dropped *before* bubblewrap starts, because root in a user namespace keeps root's rights over
files; what lies under a private home (a pyenv, a virtual environment) is first bind-mounted to where the new
user can reach it.
"""

import base64
import ctypes
import functools
import glob
import os
import platform
import py_compile
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

HERE = Path(__file__).parent
PREFIX = os.path.realpath(sys.base_prefix)
STUDENT_FILES = ["__init__.py", "checks.py", "compare.py", "figures.py", "student_side.py", "wire.py"]
STUDENT_FILES += sorted(f"counters/{path.name}" for path in HERE.glob("counters/*.py"))
SCRATCH_BYTES = 64 << 20
FIRST_UID, UIDS = 60578, 600  # a range that no distribution gives away
BOOT = (
    "import sys; sys.path[:0] = sys.argv.pop(1).split(':');"
    "from autograder.student_side import main; main(*sys.argv[1:])"
)
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/scratch",
    "TMPDIR": "/scratch",
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "ignore",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class Stage:
    """A folder with the few files of ours that a submission may import; made once for a module, used by many.

    Parameters
    ----------
    reference : tuple of (str, str)
        Relative name and source text of each file of ``tinytorch_ref``.
    data : tuple of (str, str), optional
        Relative name and base64 of its other files.
    """

    def __init__(self, reference, data=()):
        self._owner = tempfile.TemporaryDirectory(prefix=f"tinytorch-{os.getpid()}-", dir=_reachable_folder())
        self.folder = Path(self._owner.name)
        self.folder.chmod(0o755)
        for name in STUDENT_FILES:
            if (HERE / name).exists():
                self._write(f"autograder/{name}", (HERE / name).read_bytes())
        for name, text in reference:
            self._write(f"tinytorch_ref/{name}", text.encode())
        for name, text in data:
            self._write(f"tinytorch_ref/{name}", base64.b64decode(text))
        for name in ("python", "site/numpy", "site/numpy.libs", "links"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "links/numpy").symlink_to(Path(numpy.__file__).parent)

    def _write(self, name, content):
        path = self.folder / "lib" / safe_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if path.suffix == ".py":
            py_compile.compile(path, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


_stages = functools.lru_cache(maxsize=4)(Stage)


def stage(reference, data=()):
    """The `Stage` of these files: the last one made of them, unless somebody has tidied its folder away."""
    if not _stages(reference, data).folder.exists():
        _stages.cache_clear()
    return _stages(reference, data)


def safe_name(name):
    """`name` if it is a relative path that stays inside its folder.

    Raises
    ------
    ValueError
        Otherwise.
    """
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name:
        raise ValueError(f"{name!r} is not a plain relative file name")
    return name


def start(staged, arguments, sockets, scratch, sandbox="bubblewrap", **streams):
    """Start the student's side.

    Parameters
    ----------
    staged : Stage
    arguments : list of str
        For `student_side.main`.
    sockets : list of socket.socket
        Handed to the new process under the same numbers.
    scratch : str
        The working folder for ``sandbox="none"``; bubblewrap makes one in memory.
    sandbox : {"bubblewrap", "none"}
    **streams
        For `subprocess.Popen`.

    Returns
    -------
    subprocess.Popen
    """
    if sandbox == "none":
        path = f"{staged.folder}/lib:{staged.folder}/links"
        command, where = [_python(), *FLAGS, "-c", BOOT, path, *arguments], scratch
    else:
        command, where = wrapped(staged, ["-c", BOOT, "/box/lib:/box/site", *arguments]), "/"
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        pass_fds=[sock.fileno() for sock in sockets],
        cwd=where,
        env=ENVIRONMENT | {"HOME": scratch, "TMPDIR": scratch},
        start_new_session=True,
        **streams,
    )


FLAGS = ["-s", "-S", "-P", "-B"]  # no user site, no site-packages, no current folder, no .pyc written


def wrapped(staged, arguments):
    """The command line that runs Python with `arguments` in bubblewrap, whoever we are."""
    sources = _sources()
    places = {
        source: str(staged.folder / place) if _is_root() else source for source, place in sources.items()
    }
    inside = {"python": PREFIX, "site/numpy": "/box/site/numpy", "site/numpy.libs": "/box/site/numpy.libs"}
    command = ["bwrap", *_walls()]
    for source, place in sources.items():
        command += ["--ro-bind", places[source], inside[place]]
    for folder in _other_packages():
        command += ["--tmpfs", folder, "--remount-ro", folder]
    command += [
        "--ro-bind",
        f"{staged.folder}/lib",
        "/box/lib",
        "--remount-ro",
        "/",
        _python(),
        *FLAGS,
        *arguments,
    ]
    return _as_nobody(command, places) if _is_root() else command


def _walls():
    """Namespaces, system folders, devices and the scratch folder."""
    walls = ["--unshare-all", "--unshare-user", *_if_known("--disable-userns"), "--cap-drop", "ALL"]
    walls += ["--die-with-parent", "--new-session", "--hostname", "grader", "--ro-bind", "/usr", "/usr"]
    for folder in ("/bin", "/lib", "/lib32", "/lib64", "/sbin"):
        if os.path.islink(folder):
            walls += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            walls += ["--ro-bind", folder, folder]
    for name in ("/etc/ld.so.cache", "/etc/alternatives"):
        walls += ["--ro-bind-try", name, name]
    walls += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    walls += [*_if_known("--size", str(SCRATCH_BYTES)), "--tmpfs", "/scratch", "--symlink", "scratch", "/tmp"]
    return [*walls, "--chdir", "/scratch"]


def _if_known(option, *values):
    """An option that this bubblewrap may be too old for; it only adds to what the others do."""
    return [option, *values] if option in _bubblewrap_help() else []


@functools.cache
def _bubblewrap_help():
    return subprocess.run(["bwrap", "--help"], capture_output=True, text=True).stdout


def _sources():
    """What must be brought in besides /usr: host folder -> place in the stage."""
    package = Path(numpy.__file__).parent
    sources = {str(package): "site/numpy"}
    if (libraries := package.with_name("numpy.libs")).is_dir():
        sources[str(libraries)] = "site/numpy.libs"
    if not Path(PREFIX).is_relative_to("/usr"):
        sources[PREFIX] = "python"
    return dict(sorted(sources.items(), key=lambda pair: pair[1]))


def _other_packages():
    """Folders of installed packages that /usr and Python's prefix would show; they are covered up."""
    prefixes = {"/usr", "/usr/local", PREFIX}
    return [found for prefix in prefixes for found in glob.glob(f"{prefix}/lib*/python3*/*-packages")]


def _as_nobody(command, places):
    """Mount what the new user cannot reach, drop root, and only then run `command`."""
    mounts = [shlex.join(["mount", "--bind", source, place]) for source, place in places.items()]
    uid = FIRST_UID + os.getpid() % UIDS
    drop = [
        "setpriv",
        f"--reuid={uid}",
        f"--regid={uid}",
        "--clear-groups",
        "--no-new-privs",
        "--inh-caps=-all",
    ]
    script = " && ".join([*mounts, "exec " + shlex.join(drop + command)])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]


def _reachable_folder():
    """Where to put the stage: for root a place that a user without rights can enter, whatever TMPDIR says."""
    return "/run" if _is_root() and os.path.isdir("/run") else None


def _python():
    return os.path.realpath(sys.executable)


def _is_root():
    return hasattr(os, "geteuid") and os.geteuid() == 0


@functools.cache
def available():
    """Whether submissions can be locked in here; tries it once.

    Returns
    -------
    tuple of (bool, str)
        The answer, and the reason with a hint of what to install.
    """
    if platform.system() != "Linux":
        return False, "bubblewrap needs Linux: grade in a container, or on Windows in WSL2"
    tools = ("bwrap", "unshare", "mount", "setpriv") if _is_root() else ("bwrap",)
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        return False, f"{' and '.join(missing)} not found. {_install_hint()}"
    try:
        tried = subprocess.run(
            wrapped(stage(()), ["-c", "import sys; sys.path.insert(0, '/box/site'); import numpy"]),
            capture_output=True, text=True, timeout=60, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, "bubblewrap did not start within a minute"
    if tried.returncode:
        return False, f"bubblewrap cannot run here: {tried.stderr.strip()[-300:]}. {_permission_hint()}"
    return True, "bubblewrap works"


def _permission_hint():
    try:
        if Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").read_text().strip() == "1":
            return (
                "AppArmor forbids it on this system: give bwrap a profile that allows user namespaces, or "
                "run sysctl kernel.apparmor_restrict_unprivileged_userns=0"
            )
    except OSError:
        pass
    return (
        "Containers often forbid it: allow user namespaces (docker run --security-opt seccomp=unconfined), "
        "or choose sandbox='none' in a container that holds nothing else"
    )


def _install_hint():
    for manager, line in (
        ("apt", "apt install bubblewrap util-linux"),
        ("dnf", "dnf install bubblewrap util-linux"),
        ("pacman", "pacman -S bubblewrap util-linux"),
    ):
        if shutil.which(manager):
            return f"Install it with: {line}"
    return "Install the packages bubblewrap and util-linux"


def other_processes(kind):
    """How many processes and threads outside the sandbox count towards its limit, at most.

    Since Linux 5.14 a user namespace counts its own; before that, and without one, the kernel counts all of a
    user's.
    """
    release = tuple(int(part) for part in platform.release().split(".")[:2] if part.isdigit())
    if kind != "none" and (_is_root() or release >= (5, 14)):
        return 0
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 4096


def adopt_orphans():
    """Die with our parent, and become the parent of every descendant whose own parent dies (Linux)."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return
    prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def descendants(pid):
    """Process ids of the living children of `pid`, and of theirs; empty where /proc does not tell."""
    found, todo = [], [pid]
    while todo:
        for listing in glob.glob(f"/proc/{todo.pop()}/task/*/children"):
            try:
                children = [int(child) for child in Path(listing).read_text().split()]
            except OSError:
                continue
            found += children
            todo += children
    return found


def kill_descendants(pid):
    """Kill what `pid` has started, until nothing is left."""
    for _ in range(200):
        living = [child for child in descendants(pid) if not _is_zombie(child)]
        if not living:
            return
        for child in living:
            try:
                os.kill(child, signal.SIGKILL)
            except OSError:
                pass


def _is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def cpu_seconds(pid):
    """Processor time that the living descendants of `pid` have used, by the kernel's clock."""
    total = 0
    for child in descendants(pid):
        for clock in glob.glob(f"/proc/{child}/task/*/schedstat"):
            try:
                total += int(Path(clock).read_text().split()[0])
            except (OSError, ValueError):
                pass
    return total / 1e9


def memory_bytes(pid):
    """Memory of the living descendants of `pid`; a page that processes share after a fork counts once."""
    return sum(_kilobytes(f"/proc/{child}/smaps_rollup", "Pss:") for child in descendants(pid)) << 10


def peak_bytes(pid):
    """Sum over the living descendants of `pid` of the most memory that each has held; it only ever grows."""
    return sum(_kilobytes(f"/proc/{child}/status", "VmHWM:") for child in descendants(pid)) << 10


def _kilobytes(file, key):
    try:
        for line in Path(file).read_text().splitlines():
            if line.startswith(key):
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return 0
