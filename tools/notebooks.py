"""Make the notebooks in docs/notebooks from example programs and from the tutorials.

Usage: python -m tools.notebooks

The notebook of a program has it cell by cell: the docstring as text, the imports, a cell for each
definition, the options that the program takes with their defaults, and what `main` does with them.
The notebook of a tutorial has its text and its Python, but not the outputs, which come when it is
run.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.site.pages import without_breaks
from tools.site.project import SOURCES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DIRECTORY = DOCS / "notebooks"
NAMES = (
    "autotvm_first_steps",
    "autotvm_matmul",
    "auto_scheduler_conv2d",
    "custom_sketch_rule",
    "three_tuners",
)
"""The programs in ``examples`` that there are notebooks of."""

TUTORIALS = {"tutorials": DOCS / "tutorials", "zh": DOCS / "zh" / "tutorials"}
"""The tutorials, and the subdirectories with their notebooks."""

_BLOCK = re.compile(r"^```(?P<tag>[^\n]*)\n(?P<code>.*?)^```\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<path>[^)#:]+)(?P<anchor>#[^)]*)?\)")
_USAGE = re.compile(r"^ {4}python examples/.*\n?", re.MULTILINE)
_NOT_NEEDED = re.compile(r"^(from __future__ .*|import argparse)\n", re.MULTILINE)


def notebook(name: str) -> str:
    """The notebook of a program, as JSON."""
    source = (ROOT / "examples" / f"{name}.py").read_text()
    return _json([_text(name, source), *map(_code, code_cells(source))])


def tutorial_notebook(page: Path) -> str:
    """The notebook of a tutorial, as JSON."""
    text = page.read_text(encoding="utf-8").partition("\n<!-- translates")[0]
    cells: list[dict[str, Any]] = []
    pending, end = "", 0
    for block in _BLOCK.finditer(text):
        pending += text[end : block.start()]
        end = block.end()
        if block["tag"].split() == ["python"]:
            cells += [_prose(page, pending), _code(block["code"].strip())]
            pending = ""
        elif block["tag"] != "text":
            pending += block[0]
    cells.append(_prose(page, pending + text[end:]))
    return _json([cell for cell in cells if cell["source"]])


def _prose(page: Path, text: str) -> dict[str, Any]:
    """Text of a page, with links that work wherever the notebook is."""
    linked = _LINK.sub(lambda match: _absolute(page, match), text)
    return _markdown(without_breaks(linked))


def _absolute(page: Path, match: re.Match[str]) -> str:
    """A link of a page, to the file in the repository."""
    target = (page.parent / match["path"]).resolve().relative_to(ROOT)
    return f"]({SOURCES}/{target.as_posix()}{match['anchor'] or ''})"


def _markdown(text: str) -> dict[str, Any]:
    lines = text.strip().splitlines(keepends=True)
    return {"cell_type": "markdown", "source": lines}


def _json(cells: list[dict[str, Any]]) -> str:
    form = {
        "cells": [{"id": f"cell-{n}", "metadata": {}, **cell} for n, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(form, indent=1, ensure_ascii=False) + "\n"


def _text(name: str, source: str) -> dict[str, Any]:
    docstring = inspect.cleandoc(ast.get_docstring(ast.parse(source)) or "")
    title, _, rest = _USAGE.sub("", docstring).strip().partition("\n")
    text = f"# {title.rstrip('.')}\n{rest}\n\nThis is `examples/{name}.py`, cell by cell."
    return _markdown(text)


def _code(text: str) -> dict[str, Any]:
    source = text.splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "outputs": [], "source": source}


def code_cells(source: str) -> list[str]:
    """The code of a program in the order in which it is run, in pieces."""
    _, *body = ast.parse(source).body  # without the docstring
    lines = source.splitlines()
    first = next(node for node in body if not isinstance(node, (ast.Import, ast.ImportFrom)))
    imports = body[body.index(first) - 1]
    begin, end = body[0].lineno - 1, imports.end_lineno or 0
    cells = [_NOT_NEEDED.sub("", "\n".join(lines[begin:end])).strip()]
    for node in body[body.index(first) :]:
        begin, end = end, node.end_lineno or 0
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            cells += _main_cells(node, lines)
        elif not isinstance(node, ast.If):
            cells.append("\n".join(lines[begin:end]).strip())  # with the comments above it
    return cells


def _main_cells(main: ast.FunctionDef, lines: list[str]) -> Iterator[str]:
    """The options of a program, then what follows, a cell for what empty lines divide."""
    after = next(n for n, node in enumerate(main.body, 1) if "parse_args" in ast.unparse(node))
    options = ", ".join(map(_option, filter(_is_option, main.body[:after])))
    yield f"from types import SimpleNamespace\n\noptions = SimpleNamespace({options})"
    begin = end = main.body[after - 1].end_lineno or 0
    for node in main.body[after:]:
        start = min((n for n in range(end, node.lineno) if not lines[n].strip()), default=None)
        if start is not None and start > begin:
            yield textwrap.dedent("\n".join(lines[begin:start])).strip()
            begin = start
        end = node.end_lineno or 0
    yield textwrap.dedent("\n".join(lines[begin:end])).strip()


def _is_option(node: ast.stmt) -> bool:
    return "add_argument" in ast.unparse(node)


def _option(node: ast.stmt) -> str:
    """``size=64`` of ``parser.add_argument("--size", type=int, default=64)``."""
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Call)
    (name, *_), keywords = node.value.args, node.value.keywords
    default = next((ast.unparse(k.value) for k in keywords if k.arg == "default"), "None")
    return f"{ast.literal_eval(name).lstrip('-').replace('-', '_')}={default}"


def notebooks() -> Iterator[tuple[Path, str]]:
    """All notebooks: their files, and what is in them."""
    for name in NAMES:
        yield DIRECTORY / f"{name}.ipynb", notebook(name)
    for subdirectory, pages in TUTORIALS.items():
        for page in sorted(pages.glob("*.md")):
            yield DIRECTORY / subdirectory / f"{page.stem}.ipynb", tutorial_notebook(page)


def main() -> None:
    """Write the notebooks."""
    for path, text in notebooks():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
