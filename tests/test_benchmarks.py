"""Each benchmark runs, at a size that says nothing about speed, and the table is what the results say."""

import json
import sys

import pytest

from benchmarks import table
from benchmarks.cases import Case, Effort, Missing, Samples, interleave, quartiles
from benchmarks.catalog import CASES, ORDER, named
from benchmarks.processes import environment, python

ROW = {
    "name": "w1", "what": "a step", "against": "another", "target": 0.75, "unit": "x", "at_least": False,
    "threads": 2, "value": 0.5, "quartiles": [0.4, 0.6], "met": True, "note": "",
}  # fmt: skip
MACHINE = {"processor": "one of them", "python": "Python 3"}


@pytest.mark.parametrize("name", ORDER)
def test_each_runs_at_tiny_size(name):
    rows = [json.loads(line) for line in python("-m", "benchmarks.one", name, "tiny").splitlines()]
    assert [row["what"] for row in rows] == [case.what for case in named(name)]
    for row in rows:
        if row["value"] is None:
            assert row["note"].startswith(("not yet: ", "skipped: "))
        else:
            low, high = row["quartiles"]
            assert 0 < low <= row["value"] <= high
        assert len(table.cells(row)) == len(table.HEAD)


def test_every_case_has_a_place_in_the_table():
    assert {case.name for case in CASES} == set(ORDER)


def test_a_result_meets_its_target_from_the_right_side():
    def run(value, at_least):
        case = Case("n", "w", "a", 2.0, "x", at_least, 1, lambda effort: Samples([value]))
        return case.run(Effort(1, 0))["met"]

    assert [run(1.9, False), run(2.1, False), run(1.9, True), run(2.1, True)] == [True, False, False, True]


def test_what_is_missing_is_said():
    def run(error):
        def measure(effort):
            raise error

        return Case("n", "w", "a", 2.0, "x", False, 1, measure).run(Effort(1, 0))["note"]

    assert run(ModuleNotFoundError(name="tinytorch_ref.gan")) == "not yet: tinytorch_ref.gan is not built"
    assert "pip install" in run(ModuleNotFoundError(name="torch"))
    assert run(Missing("no sandbox")) == "skipped: no sandbox"
    with pytest.raises(ZeroDivisionError):
        run(ZeroDivisionError())


def test_contenders_take_turns():
    told = []
    times = interleave([lambda: told.append("a"), lambda: told.append("b")], Effort(2, 0))
    assert "".join(told) == "aaabbbaaabbb" and [len(own) for own in times] == [2, 2]
    assert quartiles([4.0, 1.0, 2.0, 3.0, 5.0]) == [2.0, 3.0, 4.0] and quartiles([7.0]) == [7.0, 7.0, 7.0]


def test_nothing_steers_blas_but_the_threads(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Generic")
    told = environment(threads=2)
    assert "OPENBLAS_CORETYPE" not in told and told["OPENBLAS_NUM_THREADS"] == "2"


def test_the_table_stands_between_its_markers(tmp_path):
    page, file = tmp_path / "README.md", tmp_path / "results.json"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    late = ROW | {"name": "w8", "value": None, "note": "not yet: x"}
    for _ in range(2):
        table.write(table.merged(table.read(file), [ROW, late], MACHINE, ORDER), file, page)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "| W1 | a step | another | 0.50x | 0.40 – 0.60 | ≤ 0.75x | yes |" in text
    assert "| W8 | a step | another | not yet: x |  | ≤ 0.75x |  |" in text
    assert text.count("W1") == 1 and "one of them; Python 3." in text
    page.write_text("no markers")
    with pytest.raises(ValueError, match="markers"):
        table.write(table.read(file), file, page)


def test_new_results_replace_those_of_the_same_name_and_machine():
    first = table.merged(None, [ROW, ROW | {"name": "w9"}], MACHINE, ORDER)
    second = table.merged(first, [ROW | {"value": 0.9}], MACHINE, ORDER)
    assert [(row["name"], row["value"]) for row in second["rows"]] == [("w1", 0.9), ("w9", 0.5)]
    assert table.merged(first, [ROW], {"processor": "other"}, ORDER)["rows"] == [ROW]


def test_figures_are_readable():
    assert [table.figure(0.567, "x"), table.figure(12.34, "ms"), table.figure(500_000, "operations")] == [
        "0.57x", "12.3 ms", "500,000 operations",
    ]  # fmt: skip


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="control groups are Linux's")
def test_processor_time_includes_what_escapes(tmp_path):
    from benchmarks.processes import cpu_seconds

    busy = "import time\nwhile time.process_time() < 0.3: pass"
    program = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {busy!r}])"
    try:
        used = cpu_seconds([sys.executable, "-c", program], tmp_path, tmp_path / "log")
    except Missing as reason:
        pytest.skip(str(reason))
    assert used > 0.3
