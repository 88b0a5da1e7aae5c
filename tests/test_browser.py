"""The course as people see it: JupyterLab in headless Chromium. Skipped, with a reason, where there is no Chromium.

`TINYTORCH_PICTURES=DIR` keeps the screenshots.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from course import notebook, sample_class
from course.layout import find_course, find_item

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium: the course was not looked at in a browser")

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
INDICATOR = ".jp-Notebook-ExecutionIndicator"
ITEM = find_item("01")
REPOSITORY = find_course(Path(__file__).parent)
WRITTEN = REPOSITORY.sources()
# Drawings between ``` that take more lines on the screen than in the source: they were too wide and got wrapped.
WRAPPED = """() => [...document.querySelectorAll(".jp-RenderedMarkdown pre")].filter(block => {
    const lines = block.textContent.trimEnd().split("\\n").length;
    return block.clientHeight > (lines + 1) * parseFloat(getComputedStyle(block).lineHeight);
}).map(block => block.textContent)"""
# Paragraphs in which a dollar sign is left.
RAW = """() => [...document.querySelectorAll(".jp-RenderedMarkdown")].filter(cell => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("code, mjx-container").forEach(part => part.remove());
    return copy.textContent.includes("$");
}).map(cell => cell.textContent)"""


@pytest.fixture(scope="module")
def course(graded_class):
    """A course folder with a graded class, a blank notebook and all solved ones."""
    folder = graded_class.folder
    shutil.copy(REPOSITORY.release(ITEM), folder / "blank.ipynb")
    for item in WRITTEN:
        solved = notebook.read_script(REPOSITORY.source(item).read_text("utf-8"))
        (folder / f"solved_{item.id}.ipynb").write_bytes(notebook.to_bytes(solved))
    return folder


@pytest.fixture(scope="module")
def lab(course):
    """Address of a running JupyterLab."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    scripts = Path(sys.executable).parent
    # Two BLAS threads that wait for each other crawl where a core is taken.
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "OPENBLAS_NUM_THREADS": "1"}
    settings = _settings(course)
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ServerApp.port_retries=0",
        "--IdentityProvider.token=", "--ServerApp.password=", f"--LabApp.user_settings_dir={settings}",
    ]  # fmt: skip
    log = course / ".lab.log"
    with log.open("w") as told, subprocess.Popen(command, cwd=course, env=environment, stderr=told) as server:
        try:
            _wait_for(f"http://127.0.0.1:{port}/api", server, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _settings(course):
    """JupyterLab's settings for a test: all cells are drawn, also those out of sight, and nothing is asked."""
    wanted = {
        "notebook-extension/tracker": {"windowingMode": "none"},
        "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    }
    for name, values in wanted.items():
        file = course / ".settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    return course / ".settings"


def _wait_for(url, server, log):
    for _ in range(240):
        assert server.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(url, timeout=1)
            return
        except OSError:
            time.sleep(0.25)
    raise TimeoutError(url)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with playwright.sync_playwright() as tools:
        profile = tmp_path_factory.mktemp("profile")
        browser = tools.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=FLAGS, headless=True, viewport={"width": 1280, "height": 1000}
        )
        tab = browser.new_page()
        tab.set_default_timeout(60_000)
        yield tab
        browser.close()


def _picture(page, name):
    if folder := os.environ.get("TINYTORCH_PICTURES"):
        page.screenshot(path=Path(folder) / f"{name}.png")


@contextmanager
def _open(page, lab, name):
    page.goto(f"{lab}/lab/tree/{name}?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_selector(f"{INDICATOR}[data-status='idle']", state="attached")
    yield
    page.goto("about:blank")


def _start_all(page):
    """Choose Run All Cells, again if need be: JupyterLab passes over it while a page is still being set up."""
    for attempt in range(4):
        page.keyboard.press("Escape")
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        try:
            return page.wait_for_selector(f"{INDICATOR}[data-status='busy']", state="attached", timeout=15_000)
        except playwright.TimeoutError:
            if attempt == 3:
                raise


def _run_all(page, course, name):
    """Run all cells by the menu, save, and give the outputs from the file."""
    _start_all(page)
    page.wait_for_selector(f"{INDICATOR}[data-status='idle']", state="attached", timeout=300_000)
    page.keyboard.press("Control+s")
    page.wait_for_timeout(1_500)
    cells = notebook.read_bytes((course / name).read_bytes()).cells
    return [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.parametrize("item", WRITTEN, ids=lambda item: item.id)
def test_a_solved_notebook_runs_and_reads_well_in_jupyterlab(page, lab, course, item):
    name = f"solved_{item.id}.ipynb"
    with _open(page, lab, name):
        outputs = _run_all(page, course, name)
        problems = [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
        assert not problems, problems
        shown = sum("<figure" in str(output.get("data", {}).get("text/html", "")) for output in outputs)
        assert shown and page.locator("figure img[alt]").count() == shown, "a figure lost its description"
        assert not page.locator(".jp-RenderedMarkdown mjx-merror").count(), "a formula is wrong"
        assert not page.evaluate(RAW), "a formula was not set"
        assert not page.evaluate(WRAPPED), "a drawing is too wide for a laptop's screen"
        page.locator("figure img[alt]").first.scroll_into_view_if_needed()
        _picture(page, item.id)


def test_a_check_explains_itself_in_jupyterlab(page, lab, course):
    wrong = notebook.read_bytes((course / f"solved_{ITEM.id}.ipynb").read_bytes())
    cell = next(cell for cell in wrong.cells if cell.id == "tensor_memory")
    cell.source = cell.source.replace("return tensor.data.nbytes + gradient", "return tensor.data.nbytes")
    (course / "wrong.ipynb").write_bytes(notebook.to_bytes(wrong))
    with _open(page, lab, "wrong.ipynb"):
        _run_all(page, course, "wrong.ipynb")  # stops at the first error
        failure = page.locator(".jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']:has-text('Expected')").first
        failure.scroll_into_view_if_needed()
        _picture(page, "check")
        told = failure.inner_text()
        assert "Expected: 48" in told and "Got: 24" in told and "Likely cause:" in told
        assert "Check failed in line" in told and ".py" not in told, "the failure shows a traceback"


def test_validate_finds_the_blank_notebook_wanting(page, lab):
    with _open(page, lab, "blank.ipynb"):
        page.get_by_text("Validate", exact=True).click()
        dialog = page.locator(".jp-Dialog, .nbgrader-ValidateDialog, [role=dialog]").last
        dialog.wait_for()
        page.wait_for_selector("text=/failed/i", timeout=120_000)
        _picture(page, "validate")
        assert re.search(r"fail", dialog.inner_text(), re.IGNORECASE)


def test_formgrader_shows_the_class(page, lab):
    page.goto(f"{lab}/lab")
    page.goto(f"{lab}/formgrader/gradebook/{ITEM.id}/{ITEM.id}")
    page.wait_for_selector("table tbody tr td a")
    _picture(page, "formgrader")
    assert page.locator("table tbody tr").count() == len(sample_class.STUDENTS) - len(sample_class.UNREADABLE)
    page.locator("table tbody tr td a").first.click()
    page.wait_for_selector("text=Check (8 points)")
    _picture(page, "submission")
