"""Grades a class: takes submissions in, runs them side by side, and records them one by one through nbgrader.

Each submission goes its own way to the end, "graded" or "failed" with a reason. What a stopped run had
finished is found in the ledger and in the status files, and is not done again.
"""

import contextlib
import fcntl
import functools
import hashlib
import importlib
import logging
import os
import shutil
import tempfile
import threading
import traceback
import warnings
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from autograder.intake import Rejected, digest, intake
from autograder.ledger import Ledger
from gradebook import tables
from gradebook.location import (
    find_root,
    import_nbgrader_quickly,
    ledger_folder,
    read_json,
    read_status,
    status_file,
    status_folder,
    write_json,
)

STAGING = ".tinytorch/grading"
INTERRUPTED = "grading was interrupted while this submission was recorded; grade again"


class GradingError(Exception):
    """An assignment that cannot be graded as things stand; the message says what to do."""


@dataclass
class Status:
    """What came of one submission.

    `cells` maps each graded cell to its points: ``{"score": float or None, "max": float, "hidden": bool,
    "reason": str, "review": str}``. The reason of a hidden test quotes the test: it is for the instructor
    only.
    """

    student: str
    assignment: str
    state: str
    reason: str = ""
    notes: list = field(default_factory=list)
    cells: dict = field(default_factory=dict)
    key: str = ""
    digest: str = ""
    version: str = ""
    graded_at: str = ""
    again: bool = False


def grade(assignment, students=None, jobs=None, sandbox=None, force=False, progress=None, root=None):
    """Grade the submissions of an assignment, ``submitted/<student>/<assignment>/``.

    Parameters
    ----------
    assignment : str
        Id such as ``01_tensor``.
    students : sequence of str, optional
        All who handed in, by default.
    jobs : int, optional
        How many submissions run at once; the number of processors by default.
    sandbox : str, optional
        What keeps submissions in; what nbgrader_config.py says, by default.
    force : bool
        Run and record again what has not changed since it was graded.
    progress : callable, optional
        Called as ``progress(status, done, total)`` after each submission.
    root : path, optional
        The course; found from the current folder by default.

    Returns
    -------
    list of Status
        In order of the students' names. `again` is True where nothing had changed and nothing was done.

    Raises
    ------
    GradingError
        If the assignment itself cannot be graded, or another process is grading.
    """
    root = Path(root or find_root()).resolve()
    students = submitted(assignment, root) if students is None else sorted(students)
    with _only_one(root), contextlib.chdir(root), _one_engine():
        course = Course(root, assignment, sandbox)
        course.register()
        return _grade_all(course, students, jobs or os.cpu_count() or 1, force, progress)


def submitted(assignment, root):
    """Names of the students who handed in an assignment, in order."""
    return sorted(folder.parent.name for folder in Path(root).glob(f"submitted/*/{assignment}"))


def _grade_all(course, students, jobs, force, progress):
    statuses, running = [], {}

    def finish(status):
        statuses.append(status)
        if progress:
            progress(status, len(statuses), len(students))

    def record_finished():
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            submission = running.pop(future)
            finish(course.guard(submission.student, course.record, submission, future))

    with _Pool(course, jobs) as pool:
        for student in students:
            while len(running) >= 4 * jobs:
                record_finished()
            found = course.guard(student, course.prepare, student, force)
            if isinstance(found, Status):
                finish(found)
            else:
                running[pool.submit(found, force)] = found
        while running:
            record_finished()
    return sorted(statuses, key=lambda status: status.student)


class _Pool:
    """Threads that each keep one runner, and file what it returns in the ledger."""

    def __init__(self, course, jobs):
        self.course, self.own, self.runners = course, threading.local(), []
        self.threads = ThreadPoolExecutor(jobs)

    def __enter__(self):
        return self

    def submit(self, submission, force):
        return self.threads.submit(self._result, submission, force)

    def _result(self, submission, force):
        ledger = self.course.ledger
        result = None if force else ledger.get(submission.key)
        if result is None:
            result = self._runner().run(submission.payload)
            if result["status"] == "ok":
                ledger.put(submission.key, result)
        return result

    def _runner(self):
        if not hasattr(self.own, "runner"):
            self.own.runner = self.course.new_runner()
            self.runners.append(self.own.runner)
        return self.own.runner

    def __exit__(self, *_):
        self.threads.shutdown(cancel_futures=True)
        for runner in self.runners:
            runner.close()


@dataclass
class Submission:
    """A submission that has been taken in and is ready to run."""

    student: str
    notes: list
    digest: str
    key: str
    payload: dict


class Course:
    """One assignment of a course, with nbgrader's machinery set up once for the whole class."""

    def __init__(self, root, assignment, sandbox=None):
        import_nbgrader_quickly()
        from nbgrader.coursedir import CourseDirectory
        from sqlalchemy.exc import SAWarning
        from traitlets.config.loader import PyFileConfigLoader

        warnings.filterwarnings("ignore", category=SAWarning)  # nbgrader's own, about every new submission
        self.root, self.assignment = root, assignment
        self.config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
        if sandbox:
            self.config.SplitExecute.sandbox = sandbox
        # Intake has done these two: labels and points are the release's, whatever was handed in.
        steps = self.config.Autograde.sanitize_preprocessors
        done = ("RebuildOnRelease", "CheckCellMetadata")
        self.config.Autograde.sanitize_preprocessors = [step for step in steps if not step.endswith(done)]
        self.coursedir = CourseDirectory(config=self.config, assignment_id=assignment)
        self.executor = self._step("autograder.preprocessors.SplitExecute")
        self.ledger = Ledger(ledger_folder(root))
        self.release = root / "release" / assignment / f"{assignment}.ipynb"

    def _step(self, name):
        module, _, kind = name.rpartition(".")
        return getattr(importlib.import_module(module), kind)(config=self.config)

    def new_runner(self):
        from autograder.runner import Runner

        return Runner(self.executor.limits(), sandbox=self.executor.sandbox)

    # --- the assignment ---

    def register(self):
        """Make the database hold the assignment's cells as its source notebook has them now.

        Raises
        ------
        GradingError
            If the source or release is missing, if they differ, or if submissions were graded with other
            cells.
        """
        source = self.root / "source" / self.assignment / f"{self.assignment}.ipynb"
        for notebook in (source, self.release):
            if not notebook.is_file():
                raise GradingError(
                    f"{notebook.relative_to(self.root)} is missing: build {self.assignment} first"
                )
        now = {"source": _hash(source), "release": _hash(self.release)}
        mark = status_folder(self.root, self.assignment).with_suffix(".json")
        if read_json(mark) != now or not self._known():
            self._save_cells()
            write_json(mark, now)
        self.version = self._version()

    def _book(self):
        from nbgrader.api import Gradebook

        return Gradebook(self.coursedir.db_url, self.coursedir.course_id)

    def _known(self):
        from nbgrader.api import MissingEntry

        with self._book() as book:
            try:
                return bool(book.find_notebook(self.assignment, self.assignment).source_cells)
            except MissingEntry:
                return False

    def _save_cells(self):
        """Run nbgrader's generate_assignment into a scratch folder, because a failure deletes its target."""
        from nbgrader.converters import GenerateAssignment
        from nbgrader.utils import capture_log

        with self._scratch() as scratch:
            coursedir = type(self.coursedir)(config=self.config, assignment_id=self.assignment)
            coursedir.release_directory = str(scratch.relative_to(self.root))
            outcome = capture_log(GenerateAssignment(coursedir=coursedir, config=self.config, force=True))
            if not outcome["success"]:
                self._explain_refusal(outcome)
            fresh = scratch / self.assignment / f"{self.assignment}.ipynb"
            if _labels(fresh) != _labels(self.release):
                raise GradingError(
                    f"release/{self.assignment} is not what its source gives now: build it again"
                )

    @contextlib.contextmanager
    def _scratch(self):
        (self.root / ".tinytorch").mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.root / ".tinytorch") as folder:
            yield Path(folder)

    def _explain_refusal(self, outcome):
        told = outcome.get("log", "") + outcome["error"]
        if "Cannot add or remove cells" in told or "there are submissions associated" in told:
            raise GradingError(
                f"{self.assignment} has graded cells that it did not have, or lacks some that it had, when "
                "submissions were graded. Either give the source its former cell ids back and build again, "
                "or export the scores, forget them with "
                f"`nbgrader db assignment remove {self.assignment} --force`, and grade everybody again."
            )
        raise GradingError(f"nbgrader could not read the source of {self.assignment}:\n{told.strip()}")

    def _version(self):
        """Hash of all that decides about scores apart from the submission."""
        with self._book() as book:
            notebook = book.find_notebook(self.assignment, self.assignment)
            cells = sorted([c.name, c.cell_type, c.locked, c.source] for c in notebook.source_cells)
            points = sorted([c.name, c.max_score] for c in notebook.grade_cells)
        reference = self.executor.reference_sources(self.assignment)
        key = self.ledger.key(
            {"cells": cells, "points": points, "reference": reference}, self.executor.limits()
        )
        return hashlib.sha256((key + _hash(self.release)).encode()).hexdigest()

    # --- one submission ---

    def guard(self, student, step, *arguments):
        """Do one step for one student; whatever goes wrong becomes a status, and the class goes on."""
        from autograder.preprocessors import RunFailed

        try:
            return step(*arguments)
        except (Rejected, RunFailed) as reason:
            return self.fail(student, str(reason), getattr(reason, "notes", []))
        except Exception as error:  # noqa: BLE001
            self._log(student)
            return self.fail(
                student, f"the autograder met an error of its own ({type(error).__name__}: {error})"
            )

    def fail(self, student, reason, notes=()):
        """Put on record that a submission was not graded. The database is left as it was."""
        notes = list(notes)
        if _is_plain_name(student) and self._recorded(student):
            notes.append("an earlier submission was graded; its score no longer counts until this is mended")
        status = Status(student, self.assignment, "failed", reason=reason, notes=notes, graded_at=_now())
        self._write(status)
        return status

    def _write(self, status):
        if _is_plain_name(status.student):
            told = {name: value for name, value in asdict(status).items() if name != "again"}
            write_json(status_file(self.root, self.assignment, status.student), told)

    def _log(self, student):
        log = status_folder(self.root, self.assignment) / "errors.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"--- {_now()} {student!r}\n{traceback.format_exc()}\n")

    def prepare(self, student, force):
        """Take a submission in: its status if it was graded and nothing changed since, else what to run."""
        _check_name(student)
        staged = self.root / STAGING / student / self.assignment
        source = self.root / "submitted" / student / self.assignment
        notes = intake(source, staged, self.release, keep=tuple(self.executor.data_files))
        self._add_course_files(staged)
        content = digest(staged)
        before = read_status(self.root, self.assignment, student)
        if not force and before and self._still_holds(before, content):
            return Status(**before, again=True)
        notebook, resources = self._sanitise(student, staged)
        payload = self.executor.payload(notebook, resources)
        return Submission(student, notes, content, self.ledger.key(payload, self.executor.limits()), payload)

    def _add_course_files(self, staged):
        """The files that come with the assignment, as nbgrader will put them beside the notebook."""
        from nbgrader.utils import find_all_files

        source = self.root / "source" / self.assignment
        for file in find_all_files(str(source), self.coursedir.ignore + ["*.ipynb"]):
            target = staged / Path(file).relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)

    def _still_holds(self, status, content):
        student = status["student"]
        page = self.root / "autograded" / student / self.assignment / f"{self.assignment}.ipynb"
        same = (status.get("state"), status.get("digest"), status.get("version")) == (
            "graded",
            content,
            self.version,
        )
        return same and page.is_file() and self._recorded(student)

    def _recorded(self, student):
        return bool(tables.cells(self.assignment, student, self.root))

    def _resources(self, student, folder):
        names = {"student": student, "assignment": self.assignment, "notebook": self.assignment}
        return {"nbgrader": {**names, "db_url": self.coursedir.db_url}, "metadata": {"path": str(folder)}}

    def _sanitise(self, student, staged):
        """What nbgrader will make of the staged notebook before it is run."""
        import nbformat

        notebook = nbformat.read(staged / f"{self.assignment}.ipynb", 4)
        resources = self._resources(student, staged)
        for name in self.config.Autograde.sanitize_preprocessors:
            notebook, resources = self._step(name)(notebook, resources)
        return notebook, resources

    def record(self, submission, future):
        """Record in the gradebook what a run came to."""
        from autograder.preprocessors import RunFailed

        student, result = submission.student, future.result()
        if result["status"] != "ok":
            raise _with_notes(RunFailed(result["reason"]), submission.notes)
        known = self._recorded(student)
        self._write(Status(student, self.assignment, "failed", INTERRUPTED, submission.notes))
        try:
            self._autograde(student)
        except Exception:
            if not known:
                self._forget(student)
            raise
        status = Status(student, self.assignment, "graded", notes=submission.notes, key=submission.key)
        status.digest, status.version, status.graded_at = submission.digest, self.version, _now()
        status.cells = self._cells(submission, result)
        self._write(status)
        return status

    def _autograde(self, student):
        """nbgrader's own Autograde, on the clean folder; its SplitExecute finds the result in the ledger."""
        from nbgrader.converters import Autograde
        from nbgrader.utils import capture_log

        coursedir = type(self.coursedir)(
            config=self.config, assignment_id=self.assignment, student_id=student
        )
        coursedir.submitted_directory = STAGING
        converter = Autograde(coursedir=coursedir, config=self.config, force=True, create_student=True)
        converter.log = _quiet_log()
        outcome = capture_log(converter)
        if not outcome["success"]:
            raise RuntimeError("nbgrader could not record it:\n" + (outcome.get("log") or outcome["error"]))

    def _forget(self, student):
        from nbgrader.api import MissingEntry

        with self._book() as book, contextlib.suppress(MissingEntry):
            book.remove_submission(self.assignment, student)

    def _cells(self, submission, result):
        """Points of each graded cell, and why it lost some."""
        from autograder.preprocessors import cell_result

        told, hidden = {}, set()
        for task in submission.payload["cells"]:
            if task["kind"] in ("graded", "hidden"):
                told[task["grade_id"]] = cell_result(result, task["index"])
            if task["kind"] == "hidden":
                hidden.add(task["grade_id"])
        order = list(told)
        cells = tables.cells(self.assignment, submission.student, self.root)
        cells.sort(key=lambda cell: order.index(cell.cell) if cell.cell in told else len(order))
        return {cell.cell: _cell_status(cell, told.get(cell.cell, {}), cell.cell in hidden) for cell in cells}


def _cell_status(cell, said, hidden):
    from autograder.preprocessors import review

    lost = cell.auto is not None and cell.auto < cell.max
    told = {"score": cell.auto, "max": cell.max, "hidden": hidden, "review": review(said) or ""}
    return told | {"reason": _reason(said) if lost else ""}


def _reason(said):
    error = said.get("error")
    if error and error["name"] == "NotImplementedError" and not error["message"]:
        return "not written yet"
    if error:
        told_by_us = error["name"] in ("Failed", "Lost", "LimitReached", "Skipped")
        return error["message"] if told_by_us else f"{error['name']}: {error['message']}".removesuffix(": ")
    return said.get("stdout", "").strip() or "no answer was given"


def _with_notes(error, notes):
    error.notes = notes
    return error


def _check_name(student):
    if not _is_plain_name(student):
        raise Rejected(
            f"the folder name {student!r} cannot serve as a student's id: it must be printable, of at most "
            "120 characters, not begin with a dot, nor begin or end with a space, "
            "and hold none of * ? [ ] { } / \\"
        )


def _is_plain_name(student):
    """Whether a folder name can be a student's id: nbgrader reads ids as patterns, a database as text."""
    try:
        size = len(student.encode())
    except UnicodeEncodeError:
        return False
    plain = student.isprintable() and student.strip() == student and not set(student) & set("*?[]{}/\\")
    return plain and 0 < size <= 120 and not student.startswith(".")


def _labels(notebook):
    """Label, kind and text of the cells that a release marks."""
    cells = read_json(notebook)["cells"]
    marked = [(cell["metadata"].get("nbgrader", {}), cell) for cell in cells]
    return [
        (told["grade_id"], cell["cell_type"], "".join(cell["source"]))
        for told, cell in marked
        if "grade_id" in told
    ]


def _quiet_log():
    """nbgrader tells its story to whoever asks `capture_log`, and not to the terminal."""
    log = logging.getLogger("autograder.nbgrader")
    log.propagate = False
    return log


def _hash(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _now():
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextlib.contextmanager
def _one_engine():
    """nbgrader opens each Gradebook on an engine of its own, which compiles all its SQL anew: keep one for the class."""
    import_nbgrader_quickly()
    from nbgrader import api

    original = api.create_engine
    api.create_engine = functools.cache(original)
    try:
        yield
    finally:
        api.create_engine = original


@contextlib.contextmanager
def _only_one(root):
    """Two processes that grade one course would write into each other's folders."""
    (root / ".tinytorch").mkdir(exist_ok=True)
    with open(root / ".tinytorch" / "grading.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GradingError("another process is grading this course; wait for it to end") from None
        yield
