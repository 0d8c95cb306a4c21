"""How many lines of code the front doors have, and the tuner behind them."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.table import Table

import tilewright

PACKAGES: Final = ("meta_schedule", "auto_scheduler", "autotvm", "tune")

_NO_CODE: Final = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(source: str) -> int:
    """Number of lines with code: not blank, no comment, and not in a docstring."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines.difference(_docstring_lines(ast.parse(source))))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    """Numbers of the lines of strings that are statements: docstrings, also of attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def as_table() -> Table:
    """The packages in rows."""
    root = Path(tilewright.__file__).parent
    counts: dict[str, list[int]] = {
        package: [code_lines(path.read_text(encoding="utf-8"))
                  for path in sorted((root / package).rglob("*.py"))]
        for package in PACKAGES
    }  # fmt: skip
    tuner = sum(counts["tune"])
    table = Table(title="lines without blank ones, comments and docstrings", title_justify="left")
    for column in ("package", "files", "lines", "of those of tune"):
        table.add_column(column, justify="left" if column == "package" else "right")
    for package, lines in counts.items():
        table.add_row(package, str(len(lines)), str(sum(lines)), f"{sum(lines) / tuner:.0%}")
    return table
