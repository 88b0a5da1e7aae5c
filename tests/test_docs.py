"""The documentation: gathered pages are in step with the sources, examples run, links lead somewhere."""

import json
import re
import subprocess
import sys

import pytest
from building import REPO, make_course
from test_milestone_command import course_of_sources

from course import build, catalog, cells, errors, notebook
from course.layout import Course, CourseError

COURSE = Course(REPO)
MODULES = [item for item in COURSE.sources() if isinstance(item, catalog.Module)]
PAGES = [*sorted((REPO / "docs").glob("*.md")), REPO / "README.md", REPO / "CONTRIBUTING.md"]


def section(text):
    """Entries of a notebook whose last cell but one holds a section with `text`."""
    told = [f"Before\n\n## What can go wrong\n\n{text}", "## Recap\n\n**`no`**: error"]
    return errors.entries([cells.Cell(n, "markdown", source, "", (), {}) for n, source in enumerate(told)])


def test_an_entry_is_a_message_with_cause_and_cure():
    first = "**`ValueError: a\n  line`, twice**: a cause.\nA cure.\n\nMore."
    found = section(f"An introduction.\n\n{first}\n\n**Slow:** a loop.")
    assert found == [("`ValueError: a line`, twice", "A cause. A cure.\n\nMore."), ("Slow", "A loop.")]


def test_bold_words_that_are_no_entry_are_refused():
    with pytest.raises(CourseError, match="should be"):
        section("**Beware** of the dog.")


def test_the_page_of_common_errors_is_what_the_sources_say():
    page = (REPO / "docs" / "common-errors.md").read_text(encoding="utf-8")
    assert page == errors.page(COURSE), "run `tinytorch build`"


@pytest.mark.parametrize("item", MODULES, ids=lambda item: item.id)
def test_each_module_tells_what_can_go_wrong_and_each_error_is_on_the_page(item):
    script = notebook.read_script(COURSE.source(item).read_text(encoding="utf-8"))
    found = errors.entries(cells.cells(script))
    assert len(found) >= 3 and all(entry.text.endswith((".", ")", "`", "```")) for entry in found)
    page = errors.page(COURSE)
    part = page.split(f"\n## {item.number:02d} · {item.title}\n")[1].split("\n## ")[0]
    assert re.findall(r"^### (.*)$", part, re.MULTILINE) == [entry.message for entry in found]


def test_the_build_writes_the_pages_and_knows_when_they_are_old(tmp_path):
    course = make_course(tmp_path)
    build.build(course=course, say=lambda line: None)
    page = course.root / "docs" / "common-errors.md"
    assert "## 01" not in page.read_text(encoding="utf-8") and build.stale(course=course) == []
    with course.source(catalog.find("01")).open("a", encoding="utf-8") as stream:
        stream.write("\n# %% [markdown]\n# ## What can go wrong\n#\n# **`nan`**: a log of 0.\n")
    assert "docs/common-errors.md" in build.stale(course=course)
    assert "docs/common-errors.md" not in build.stale(["01"], course=course)
    build.build(course=course, say=lambda line: None)
    assert "## 01 · Tensor\n\n### `nan`\n\nA log of 0.\n" in page.read_text(encoding="utf-8")
    assert build.stale(course=course) == []


def examples(page):
    """The code blocks of a page, each with the output that the page shows for it; empty if none."""
    blocks = re.findall(
        r"^```(python|text)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    shown = [text if kind == "text" else "" for kind, text in blocks[1:]] + [""]
    return [(text, output) for (kind, text), output in zip(blocks, shown) if kind == "python"]


RUN = """
import contextlib, io, json, sys
names = {}
for code, shown in json.load(sys.stdin):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<example>", "exec"), names)
    assert printed.getvalue() == shown, f"{code}prints\\n{printed.getvalue()}and not\\n{shown}"
"""


def test_the_examples_of_the_debugging_chapter_print_what_it_shows(tmp_path):
    told = examples(REPO / "docs" / "debugging.md")
    assert len(told) > 10 and sum(bool(output) for _, output in told) > 10
    path = f"{course_of_sources(tmp_path)}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN], input=json.dumps(told), cwd=tmp_path, text=True,
        capture_output=True, encoding="utf-8", env={"PYTHONPATH": path, "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)", re.sub(r"`[^`]*`", "", page.read_text(encoding="utf-8")))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []
