"""The table of results: on the terminal, and between two markers in README.md."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
RESULTS, README = FOLDER / "results.json", FOLDER / "README.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
HEAD = ["", "Workload", "Against", "Result", "Quartiles", "Target", "Met"]


def cells(row):
    """The texts of one line, in the order of HEAD."""
    start = [row["name"].upper() if row["name"].startswith("w") else "", row["what"], row["against"]]
    target = f"{'≥' if row['at_least'] else '≤'} {figure(row['target'], row['unit'])}"
    if row["value"] is None:
        return [*start, row["note"], "", target, ""]
    value, (low, high) = figure(row["value"], row["unit"]), row["quartiles"]
    spread = "" if low == high else f"{figure(low)} – {figure(high)}"
    return [*start, value, spread, target, "yes" if row["met"] else "no"]


def figure(value, unit=""):
    """A number as people read it: `0.57x`, `12.3 ms`, `500,000 operations`."""
    text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return f"{text}x" if unit == "x" else f"{text} {unit}".rstrip()


def markdown(results):
    """The table and, below it, what it was measured on."""
    lines = [HEAD, ["---"] * len(HEAD), *map(cells, results["rows"])]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{'; '.join(results['machine'].values())}."


def plain(rows):
    """The table for a terminal."""
    lines = [HEAD, *map(cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def merged(old, rows, machine, names):
    """Results in which new rows replace those of the same name; what another machine gave is dropped.

    Parameters
    ----------
    old : dict or None
        Earlier results.
    rows : list of dict
    machine : dict of str
    names : list of str
        All names, in the order of the table.
    """
    kept = old["rows"] if old and old["machine"] == machine else []
    measured = {row["name"] for row in rows}
    rows = [row for row in kept if row["name"] not in measured] + rows
    return {"machine": machine, "rows": sorted(rows, key=lambda row: names.index(row["name"]))}


def write(results, file=RESULTS, page=README):
    """Write the results, and the table into the page between its markers."""
    file.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{page} does not hold the markers {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n{markdown(results)}\n{END}{after}", encoding="utf-8")


def read(file=RESULTS):
    """Earlier results, or None."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
