"""From the exported cells of a notebook to the source of a module that reads as written by hand.

The build makes `tinytorch_ref/` with it, and a student makes `my_tinytorch/`.
"""

import ast
import re
import sys
import textwrap
from typing import NamedTuple

MARKER = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION[ \t]*\n?", re.MULTILINE)
PLACEHOLDER = re.compile(r"^[ \t]*# YOUR CODE HERE[ \t]*\n?", re.MULTILINE)
HINTS = re.compile(r"^\s*Hints?:")
COMMENT_HINTS = re.compile(r"^([ \t]*)# Hints?:.*\n(\1# .*\n)*", re.MULTILINE)
SHOWS = {"print", "display"}
OWN = {"tinytorch_ref", "my_tinytorch", "autograder"}
WIDTH = 110


class Piece(NamedTuple):
    """One top-level statement of the module: its text, its kind, and the empty lines that stood above it."""

    text: str
    definition: bool
    gap: int


def module_text(sources, note=""):
    """The source of a module from the sources of its cells, in order.

    Imports are gathered on top, and those that nothing uses are left out. Solution markers, hints and lines
    that only show something go. `__all__` lists the public names that the module defines.

    Parameters
    ----------
    sources : list of str
        Python source of each exported cell; the first may begin with the module's docstring.
    note : str
        A comment for the first line, such as where the module comes from; none if empty.

    Returns
    -------
    str
        Source that parses, ending with one newline.

    Raises
    ------
    SyntaxError
        If a cell does not parse.
    """
    docstring, imports, pieces, names = "", [], [], []
    for source in sources:
        source = clean(source)
        tree = ast.parse(source)
        statements = tree.body
        if not docstring and not pieces and ast.get_docstring(tree) is not None:
            docstring = ast.get_source_segment(source, statements[0])
            statements = statements[1:]
        imports += [node for node in statements if isinstance(node, (ast.Import, ast.ImportFrom))]
        pieces += _pieces(source, [node for node in statements if _belongs(node)])
        names += _public_names(statements)
    body = _join(pieces)
    top = [_head(note, docstring), _import_block(imports, body), _all_line(names, body)]
    apart = "\n\n\n" if pieces and pieces[0].definition else "\n\n"
    return apart.join(part for part in ("\n\n".join(filter(None, top)), body) if part).strip("\n") + "\n"


def clean(source):
    """A cell's source without solution markers, placeholders and hints."""
    source = COMMENT_HINTS.sub("", PLACEHOLDER.sub("", MARKER.sub("", source)))
    return _without_hints(source)


def unsolved(source):
    """Names of the functions in `source` that are still as handed out.

    Returns
    -------
    list of str
        Functions with a bare `raise NotImplementedError()`, as nbgrader leaves it in place of a solution.
    """
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    return [node.name for node in functions if any(_is_stub(child) for child in ast.walk(node))]


def _is_stub(node):
    if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call) or node.exc.args:
        return False
    return isinstance(node.exc.func, ast.Name) and node.exc.func.id == "NotImplementedError"


def _without_hints(source):
    """Drop the `Hints: ...` paragraph of each docstring, and the empty line above it."""
    lines = source.split("\n")
    docstrings = sorted(_docstring_nodes(ast.parse(source)), key=lambda node: node.lineno)
    for node in reversed(docstrings):  # from the end, so that the line numbers above stay right
        first, last = node.lineno - 1, node.end_lineno - 1
        start = next((n for n in range(first + 1, last + 1) if HINTS.match(lines[n])), None)
        if start is None:
            continue
        if lines[last].strip() != lines[last].strip()[-3:]:
            closing = lines[last].rstrip()[-3:]
            lines.insert(last + 1, " " * node.col_offset + closing)
            last += 1
        stop = next((n for n in range(start, last) if not lines[n].strip()), last)
        while start > first + 1 and not lines[start - 1].strip():
            start -= 1
        del lines[start:stop]
        _close_on_one_line(lines, first, last - (stop - start))
    return "\n".join(lines)


def _close_on_one_line(lines, first, last):
    """Where a docstring is down to one line, its closing quotes belong there."""
    if last == first + 1 and not lines[first].endswith(lines[last].strip()):
        lines[first : last + 1] = [lines[first] + lines[last].strip()]


def _docstring_nodes(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                yield first


def _belongs(node):
    """Whether a top-level statement is part of the module: no import, nor there only to show something."""
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
        return False
    if not isinstance(node, ast.Expr):
        return True
    called = node.value.func if isinstance(node.value, ast.Call) else None
    if called is None:
        return False
    return not (isinstance(called, ast.Name) and called.id in SHOWS) and _root_name(called) != "plt"


def _root_name(node):
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return getattr(node, "id", None)


def _pieces(source, nodes):
    """The statements as text, each with its decorators and the comment lines that touch it from above."""
    lines, done = source.split("\n"), 0
    for node in nodes:
        if node.lineno <= done:  # the second statement of a line: its text has been taken
            continue
        done = node.end_lineno
        definition = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        decorators = node.decorator_list if definition else []
        first = min([node.lineno] + [decorator.lineno for decorator in decorators]) - 1
        while first and lines[first - 1].startswith("#"):
            first -= 1
        gap = 1 if first and not lines[first - 1].strip() else 0
        text = "\n".join(lines[first : node.end_lineno])
        yield Piece(text, definition, gap)


def _join(pieces):
    """Two empty lines around a definition, elsewhere at most one."""
    text = ""
    for before, piece in zip([None, *pieces], pieces):
        if before is not None:
            empty = 2 if piece.definition or before.definition else piece.gap
            text += "\n" * (empty + 1)
        text += piece.text
    return text


def _import_block(nodes, body):
    """The used imports, each once: the standard library, other people's packages, ours."""
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    groups = {0: [], 1: [], 2: [], 3: []}
    for node in nodes:
        node.names = [name for name in node.names if _bound(name) in used or _is_future(node)]
        if node.names and (line := ast.unparse(node)) not in groups[_group(node)]:
            groups[_group(node)].append(line)
    return "\n\n".join("\n".join(lines) for lines in groups.values() if lines)


def _bound(name):
    return (name.asname or name.name).split(".")[0]


def _is_future(node):
    return getattr(node, "module", None) == "__future__"


def _group(node):
    top = (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).split(".")[0]
    if top == "__future__":
        return 0
    if top in OWN:
        return 3
    return 1 if top in sys.stdlib_module_names else 2


def _public_names(nodes):
    """Names that the statements define without a leading underscore, in order."""
    names = []
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
        targets = list(getattr(node, "targets", ())) if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, ast.AnnAssign) else []
        leaves = [leaf for target in targets for leaf in getattr(target, "elts", [target])]
        names += [leaf.id for leaf in leaves if isinstance(leaf, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def _all_line(names, body):
    """`__all__` for the public names; nothing if the module has its own."""
    if not names or re.search(r"^__all__\s*=", body, re.MULTILINE):
        return ""
    quoted = [f'"{name}"' for name in dict.fromkeys(names)]
    line = f"__all__ = [{', '.join(quoted)}]"
    if len(line) <= WIDTH:
        return line
    filled = textwrap.fill(", ".join(quoted) + ",", WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 4)
    return f"__all__ = [\n{filled}\n]"


def _head(note, docstring):
    return "\n".join(part for part in (f"# {note}" if note else "", docstring) if part)
