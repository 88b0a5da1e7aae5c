"""Feedback pages: no hidden test, nothing that acts, and a reason for what could not be graded."""

import json
import os
import re

import pytest
from tiny_course import ASSIGNMENT, PlainRunner, copy_course, hand_in, solved

from autograder.grade import Course, grade
from gradebook.feedback import clean_markdown, feedback

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of a class, by student."""
    root = copy_course(tmp_path_factory.mktemp("feedback") / "tiny")
    hand_in(root, "ann", solved(root, why="Because $x<y$ and `a < b`. <script>alert(1)</script>"))
    folder = hand_in(root, "bob", solved(root, add="def add(a, b):\n    return 0"))
    (folder / "<img src=x onerror=alert(1)>.py").write_text("")
    hand_in(root, "cy", "{<script>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Course, "new_runner", lambda self: PlainRunner())
        grade(ASSIGNMENT, root=root)
    _add_outputs(root / "autograded" / "ann" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb")
    written = feedback(ASSIGNMENT, root=root)
    assert {student: type(page).__name__ for student, page in written.items()} == dict.fromkeys(
        written, "PosixPath"
    )
    return {student: page.read_text() for student, page in written.items()}


def _add_outputs(file):
    """Outputs that our runner never writes, as another runner might."""
    notebook = json.loads(file.read_text())
    data = {
        "text/html": "<b>html-output</b>",
        "image/svg+xml": "<svg id='svg-output'/>",
        "text/plain": "plain-output",
    }
    cell = next(c for c in notebook["cells"] if c["cell_type"] == "code")
    cell["outputs"] = [
        {"output_type": "display_data", "data": data, "metadata": {}},
        {"output_type": "display_data", "data": {"application/javascript": "js_output()"}, "metadata": {}},
        {"output_type": "display_data", "data": {"image/png": PNG}, "metadata": {}},
        {
            "output_type": "display_data",
            "data": {"image/jpeg": '"><script>jpeg_output()</script>'},
            "metadata": {},
        },
    ]
    os.chmod(file, 0o644)
    file.write_text(json.dumps(notebook))


def text_of(page):
    """What a reader sees of a page."""
    return re.sub(r"<[^>]+>", "", re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL))


def test_hidden_tests_stay_hidden(pages):
    for page in pages.values():
        text = text_of(page)
        for secret in ("217", "214", "secret cause", "HIDDEN TESTS"):
            assert secret not in text
    assert "Hidden tests (3 points): negative numbers." in text_of(pages["bob"])
    assert "Lost 3 of 3 points." in pages["bob"]
    assert "Passed." in pages["ann"]


def test_visible_checks_explain_themselves(pages):
    assert "Likely cause: the two operands are added" in pages["bob"]


def test_no_script_but_mathjax(pages):
    for page in pages.values():
        scripts = re.findall(r"<script[^>]*>", page)
        assert all("mathjax" in script for script in scripts)
        assert not re.search(r"<[^>]+\son\w+=", page)
    assert "&lt; script&gt;alert(1)" in pages["ann"]


def test_only_text_and_images_of_outputs(pages):
    page = pages["ann"]
    assert "plain-output" in page
    assert PNG[:40] in page
    for gone in ("html-output", "svg-output", "js_output", "jpeg_output"):
        assert gone not in page


def test_notes_and_waiting_points_are_told(pages):
    assert "About your submission" in pages["bob"]
    assert "onerror=alert(1)&gt;.py" in pages["bob"]
    assert "Still to be looked at by a person" in pages["ann"]


def test_failed_submission_gets_a_page_with_the_reason(pages):
    page = pages["cy"]
    assert "not valid JSON" in page
    assert "<script" not in page
    assert page.startswith("<!DOCTYPE html>")


def test_unknown_student_has_no_page(pages, tmp_path):
    root = copy_course(tmp_path / "tiny")
    page = feedback(ASSIGNMENT, students=["nobody"], root=root)["nobody"]
    assert isinstance(page, Exception)


@pytest.mark.parametrize(
    "source, kept",
    [
        ("$x<y$", "$x&lt;y$"),
        ("`a<b`", "<code>a&lt;b</code>"),
        ("$$\\begin{matrix} a & b \\\\ c & d \\end{matrix}$$", "a &amp; b \\\\ c &amp; d"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "<table>"),
        (f"![dot](data:image/png;base64,{PNG})", f'src="data:image/png;base64,{PNG}"'),
        ("![plot](figures/plot.png)", 'src="figures/plot.png"'),
        ("[site](https://example.org)", 'href="https://example.org"'),
        ("# Title", "<h1"),
    ],
)
def test_what_an_allow_list_keeps(source, kept):
    assert kept in clean_markdown(source)


@pytest.mark.parametrize(
    "source",
    [
        "<script>bad()</script>",
        "<img src=x onerror=bad()>",
        "[x](javascript:bad())",
        "[x](data:text/html;base64,bad())",
        "<iframe src='https://bad()'></iframe>",
        "<form action='https://bad()'><input></form>",
        "<style>body { background: url(https://bad()) }</style>",
        "<svg><script>bad()</script></svg>",
        "<p style='background: url(bad())'>x</p>",
        "<img src='https://bad()/track.png'>",
        "<img src='//bad()/track.png'>",
        "<img src='data:image/svg+xml;base64,bad()'>",
        "<object data='bad()'></object><embed src='bad()'><base href='bad()'><meta content='bad()'>",
    ],
)
def test_what_an_allow_list_drops(source):
    assert "bad()" not in clean_markdown(source)
