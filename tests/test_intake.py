"""What is taken from a submission, what is left, and what is said about it."""

import copy
import json
import os

import pytest
from tiny_course import ANSWERS, ASSIGNMENT, by_label, cell, hand_in, make_course, released, solved

from autograder.intake import Rejected, defuse, digest, intake, rebuild

NOTEBOOK = f"{ASSIGNMENT}.ipynb"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return make_course(tmp_path_factory.mktemp("course") / "tiny")


@pytest.fixture
def take(course, tmp_path):
    """A function that hands in a notebook (and files) and takes it in: (notebook, notes, folder)."""

    def run(notebook, **files):
        folder = hand_in(tmp_path, "ann", notebook)
        for name, content in files.items():
            (folder / name.replace("__", ".")).write_bytes(content)
        notes = intake(folder, tmp_path / "clean", course / "release" / ASSIGNMENT / NOTEBOOK)
        return json.loads((tmp_path / "clean" / NOTEBOOK).read_text()), notes, tmp_path / "clean"

    return run


def sources(notebook):
    return [c["source"] for c in notebook["cells"]]


def test_honest_submission_needs_no_note(course, take):
    notebook, notes, folder = take(solved(course, why="Because it is one addition."))
    cells = by_label(notebook)
    assert notes == []
    assert cells["add"]["source"] == ANSWERS["add"]
    assert cells["why"]["source"] == "Because it is one addition."
    assert [file.name for file in folder.iterdir()] == [NOTEBOOK]


def test_unanswered_notebook_comes_back_as_it_was_released(course, take):
    notebook, notes, _ = take(released(course))
    assert notes == []
    assert sources(notebook) == ["".join(c["source"]) for c in released(course)["cells"]]


def test_outputs_attachments_and_metadata_are_dropped(course, take):
    notebook = solved(course)
    notebook["metadata"]["widgets"] = {"evil": 1}
    notebook["metadata"]["kernelspec"]["name"] = "bogus"
    by_label(notebook)["add"]["outputs"] = [
        {"output_type": "display_data", "data": {"text/html": "x"}, "metadata": {}}
    ]
    by_label(notebook)["why"].update(attachments={"a.svg": {}}, source="See it.")
    by_label(notebook)["add"]["metadata"]["tags"] = ["mine"]
    clean, _, _ = take(notebook)
    assert clean["metadata"] == released(course)["metadata"]
    assert by_label(clean)["add"]["outputs"] == []
    assert by_label(clean)["add"]["metadata"] == by_label(released(course))["add"]["metadata"]
    assert "attachments" not in by_label(clean)["why"]


def test_edited_check_is_replaced_by_the_released_one(course, take):
    notebook = solved(course)
    by_label(notebook)["add_check"]["source"] = "pass"
    clean, notes, _ = take(notebook)
    assert "check.equal" in by_label(clean)["add_check"]["source"]
    assert notes == ["cell `add_check` was edited; the released version was used"]


def test_points_and_locks_of_the_submission_do_not_matter(course, take):
    notebook = solved(course)
    told = by_label(notebook)["add_check"]["metadata"]["nbgrader"]
    told.update(points=1000, locked=False, solution=True)
    clean, _, _ = take(notebook)
    assert by_label(clean)["add_check"]["metadata"] == by_label(released(course))["add_check"]["metadata"]


def test_missing_cells_are_put_back(course, take):
    notebook = solved(course)
    notebook["cells"] = [c for c in notebook["cells"] if c["id"] not in ("add_check", "scale")]
    clean, notes, _ = take(notebook)
    assert [c["id"] for c in clean["cells"]] == [c["id"] for c in released(course)["cells"]]
    assert "cell `add_check` is missing; the released version was used" in notes
    assert "cell `scale` is missing; the stub counts as its answer" in notes


def test_of_a_duplicated_answer_the_one_worked_on_counts(course, take):
    notebook = solved(course)
    stub = copy.deepcopy(by_label(released(course))["add"])
    notebook["cells"].append(stub)
    clean, notes, _ = take(notebook)
    assert by_label(clean)["add"]["source"] == ANSWERS["add"]
    assert len(clean["cells"]) == len(released(course)["cells"])
    assert "appears 2 times" in notes[0]


def test_moved_cells_return_to_their_place(course, take):
    notebook = solved(course)
    notebook["cells"].reverse()
    clean, notes, _ = take(notebook)
    assert [c["id"] for c in clean["cells"]] == [c["id"] for c in released(course)["cells"]]
    assert by_label(clean)["add"]["source"] == ANSWERS["add"]
    assert any(note.startswith("moved cells:") for note in notes)


def test_retyped_answer_keeps_its_text(course, take):
    notebook = solved(course)
    by_label(notebook)["add"]["cell_type"] = "markdown"
    clean, notes, _ = take(notebook)
    assert by_label(clean)["add"]["cell_type"] == "code"
    assert by_label(clean)["add"]["source"] == ANSWERS["add"]
    assert notes == ["cell `add` was turned from code into markdown; it counts as code"]


def test_own_cells_stay_where_they_were(course, take):
    notebook = solved(course)
    place = next(i for i, c in enumerate(notebook["cells"]) if c["id"] == "add")
    notebook["cells"].insert(place, cell("code", "helper = 1") | {"id": "mine"})
    clean, notes, _ = take(notebook)
    texts = sources(clean)
    assert texts.index("helper = 1") == texts.index(ANSWERS["add"]) - 1
    assert notes == []


def test_changed_try_it_cell_keeps_the_students_text(course, take):
    notebook = solved(course)
    tried = next(c for c in notebook["cells"] if "Try it" in "".join(c["source"]))
    tried["source"] = "add(10, 20)"
    clean, _, _ = take(notebook)
    assert "add(10, 20)" in sources(clean)
    assert len(clean["cells"]) == len(notebook["cells"])


@pytest.mark.parametrize("keep_ids", [True, False])
def test_lost_metadata(course, take, keep_ids):
    notebook = solved(course)
    for place, c in enumerate(notebook["cells"]):
        c["metadata"] = {}
        if not keep_ids:
            c["id"] = f"x{place}"
    clean, notes, _ = take(notebook)
    assert by_label(clean)["add"]["source"] == ANSWERS["add"]
    assert by_label(clean)["scale"]["source"] == ANSWERS["scale"]
    assert "lost nbgrader's labels" in notes[0]


def test_format_3(course, take):
    cells = [
        {
            "cell_type": "code",
            "input": "".join(c["source"]),
            "metadata": c["metadata"],
            "outputs": [],
            "language": "python",
        }
        for c in solved(course)["cells"]
        if c["cell_type"] == "code"
    ]
    clean, notes, _ = take(
        {"worksheets": [{"cells": cells}], "nbformat": 3, "nbformat_minor": 0, "metadata": {}}
    )
    assert by_label(clean)["add"]["source"] == ANSWERS["add"]
    assert any("old format 3" in note for note in notes)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig"])
def test_encodings(course, take, encoding):
    notebook = solved(course, add='def add(a, b):\n    """Fügt zusammen."""\n    return a + b')
    clean, notes, _ = take(json.dumps(notebook, ensure_ascii=False).encode(encoding))
    assert "Fügt" in by_label(clean)["add"]["source"]
    assert bool(notes) == (encoding == "latin-1")


@pytest.mark.parametrize(
    "content, reason",
    [
        ("{not json", "not valid JSON"),
        ("", "not valid JSON"),
        ("[]", "not a notebook"),
        ('{"cells": 3}', "no list of cells"),
        ('{"cells": [3]}', "no list of cells"),
        ('{"cells": [{"cell_type": "code", "source": 5}]}', "not text"),
        ("[" * 200_000, "nested too deeply"),
        (b" " * (11 << 20), "larger than 10 MB"),
        (json.dumps({"cells": [{"cell_type": "raw", "source": ""}] * 2001}), "more than 2000 cells"),
    ],
)
def test_broken_notebooks_are_rejected_with_a_reason(take, content, reason):
    with pytest.raises(Rejected, match=reason):
        take(content)


def test_no_notebook(course, tmp_path):
    (tmp_path / "ann" / ASSIGNMENT).mkdir(parents=True)
    with pytest.raises(Rejected, match="no notebook called 01_tensor.ipynb"):
        intake(tmp_path / "ann" / ASSIGNMENT, tmp_path / "clean", course / "release" / ASSIGNMENT / NOTEBOOK)
    assert not (tmp_path / "clean").exists()


def test_misnamed_notebook_is_taken(course, tmp_path):
    folder = hand_in(tmp_path, "ann", solved(course))
    (folder / NOTEBOOK).rename(folder / "01_tensor (1).ipynb")
    notes = intake(folder, tmp_path / "clean", course / "release" / ASSIGNMENT / NOTEBOOK)
    assert notes == ["the notebook is called `01_tensor (1).ipynb`; it was taken for `01_tensor.ipynb`"]


@pytest.mark.parametrize("what", ["notebook", "folder", "student"])
def test_links_are_refused(course, tmp_path, what):
    folder = hand_in(tmp_path, "ann", solved(course))
    target = {"notebook": folder / NOTEBOOK, "folder": folder, "student": folder.parent}[what]
    target.rename(tmp_path / "elsewhere")
    target.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Rejected, match="link"):
        intake(folder, tmp_path / "clean", course / "release" / ASSIGNMENT / NOTEBOOK)


def test_hard_link_and_pipe_as_notebook_are_refused(course, tmp_path):
    folder = hand_in(tmp_path, "ann", solved(course))
    os.link(folder / NOTEBOOK, tmp_path / "second name")
    with pytest.raises(Rejected, match="hard link"):
        intake(folder, tmp_path / "clean", course / "release" / ASSIGNMENT / NOTEBOOK)
    (folder / NOTEBOOK).unlink()
    os.mkfifo(folder / NOTEBOOK)
    with pytest.raises(Rejected, match="not a plain file"):
        intake(folder, tmp_path / "clean", course / "release" / ASSIGNMENT / NOTEBOOK)


def test_files(course, take, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("grades")
    folder = hand_in(tmp_path, "ann", solved(course))
    (folder / "link.csv").symlink_to(secret)
    (folder / "numpy").mkdir()
    os.mkfifo(folder / "pipe.csv")
    _, notes, where = take(
        solved(course), points__csv=b"1,2", helper__py=b"",
        numpy__py=b"", sitecustomize__py=b"", tinytorch_ref__py=b"",
        big__csv=b"0" * (5 << 20), other__ipynb=b"{}", timestamp__txt=b"2026-02-02 15:58:23.948203 UTC",
    )  # fmt: skip
    assert sorted(file.name for file in where.iterdir()) == [NOTEBOOK, "points.csv", "timestamp.txt"]
    told = "\n".join(notes)
    for name in ("numpy.py", "sitecustomize.py", "tinytorch_ref.py", "numpy"):
        assert f"`{name}` would hide the module of that name" in told
    assert "`link.csv` is a link" in told
    assert "`pipe.csv` is not a plain file" in told
    assert "`big.csv` is larger than 4 MB" in told
    assert "`other.ipynb` is another notebook" in told
    assert "`helper.py` is not a data file" in told


def test_forged_timestamp_is_left_out(course, take):
    _, notes, folder = take(solved(course), timestamp__txt=b"yesterday, honestly")
    assert notes == ["`timestamp.txt` holds no date; it was left out"]
    assert not (folder / "timestamp.txt").exists()


def test_old_files_do_not_stay_in_the_clean_folder(course, take):
    _, _, folder = take(solved(course), points__csv=b"1")
    (folder / "stale.csv").write_text("old")
    first = digest(folder)
    _, _, folder = take(solved(course), points__csv=b"1")
    assert not (folder / "stale.csv").exists()
    assert digest(folder) != first


def test_rebuilding_twice_changes_nothing(course):
    notebook = solved(course, why="A <b>bold</b> claim: $x<y$, [link](http://a.b), &lt;")
    notebook["cells"].insert(0, cell("code", "first = 0") | {"id": "mine"})
    notebook["cells"].append(cell("markdown", "last <i>"))
    once, _ = rebuild(notebook, released(course))
    twice, notes = rebuild(once, released(course))
    assert once == twice
    assert notes == []


@pytest.mark.parametrize(
    "text, shown",
    [
        ("`a < b` and $x<y$", "`a < b` and $x< y$"),
        ("a <= b, 1<2, x << 3", "a <= b, 1<2, x << 3"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("R&D, $a & b$", "R&D, $a & b$"),
    ],
)
def test_plain_markdown_stays_readable(text, shown):
    assert defuse(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "`` ` ``<svg/onload=alert(1)>",
        "```\n~~~\n<iframe src=//evil>\n```\n<iframe src=//evil>",
        "[x](javascript:alert(1))",
        "[x][y]\n\n[y]: javascript:alert(1)",
        "![x](http://evil/track.png)",
        "<javascript:alert(1)>",
        "$<img src=x onerror=alert(1)>$",
        "&lt;script&gt; &#60;b&#62;",
        "<!-- --><!doctype><?x",
    ],
)
def test_nothing_in_a_defused_text_acts(text):
    from html.parser import HTMLParser

    from nbconvert.filters import markdown2html_mistune

    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.append((tag, dict(attrs)))
    parser.feed(markdown2html_mistune(defuse(text)))
    links = [attrs["href"] for tag, attrs in found if tag == "a"]
    assert {tag for tag, _ in found} <= {"p", "code", "pre", "div", "span", "a"}
    assert all(link.startswith("http") for link in links)  # a bare address in the text
    assert not any(set(attrs) - {"class"} for tag, attrs in found if tag != "a")
