"""The course as nbgrader sees it: plain `nbgrader` commands work from this folder."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from course.catalog import MILESTONES, MODULES
from gradebook.location import database_url, import_nbgrader_quickly

import_nbgrader_quickly()
c = get_config()  # noqa: F821

# --- folders ---

c.CourseDirectory.course_id = "tinytorch"
c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.db_url = database_url(ROOT)

# nbgrader copies every file beside a notebook that is not named here; the .py of a source holds the
# solutions.
c.CourseDirectory.ignore = [".*", "*.py", "*.pyc", "__pycache__", "*.part", "cache", "data", "feedback"]

# --- grading ---

c.Autograde.sanitize_preprocessors = [
    "autograder.preprocessors.RebuildOnRelease",
    "nbgrader.preprocessors.ClearOutput",
    "autograder.preprocessors.DropDuplicates",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "autograder.preprocessors.SplitExecute",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "autograder.preprocessors.MarkReviews",
    "nbgrader.preprocessors.AssignLatePenalties",
]

# What a submission may use; a run that is cut short says which limit it met. The time of a cell is processor time, that
# of a submission is by the clock, with room for a busy machine.
c.SplitExecute.cell_seconds = 10
c.SplitExecute.submission_seconds = 300
c.SplitExecute.memory_mb = 2048
c.SplitExecute.processes = 64
c.SplitExecute.file_mb = 32
c.SplitExecute.output_kb = 64
c.SplitExecute.sandbox = "bubblewrap"

# Data files that are taken from a submission; everything else beside the notebook is left out.
c.SplitExecute.data_files = ["*.csv", "*.txt", "*.json", "*.npy", "*.npz"]

# A module is graded with the reference package of the modules before it, a milestone with all up to its own.
c.SplitExecute.reference = {
    item.id: ["__init__.py"] + [f"{module.file}.py" for module in MODULES if module.number <= last]
    for item, last in [(m, m.number - 1) for m in MODULES] + [(m, m.after) for m in MILESTONES]
}

# Data comes with module 05; the milestones need it too.
c.SplitExecute.datasets = [module.id for module in MODULES if module.number >= 5] + [
    item.id for item in MILESTONES
]

# --- feedback and formgrader ---

c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "gradebook.feedback.HideHiddenTests",
    "gradebook.feedback.PlainOutputs",
    "gradebook.feedback.ShowNotes",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]

# Every Markdown text that formgrader or a feedback page shows goes through an allow-list of HTML.
c.HTMLExporter.filters = {"markdown2html": "gradebook.feedback.clean_markdown"}
