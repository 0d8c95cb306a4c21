"""Source text with positions: from a file, a notebook cell, or a string."""

from __future__ import annotations

import ast
import linecache
import textwrap
import warnings
from typing import TYPE_CHECKING, Any

from tilewright.error import ScriptError
from tilewright.ir.recursion import deep_recursion, pass_on_recursion_error
from tilewright.ir.span import Span
from tilewright.script.parser.diagnostics import located_error

if TYPE_CHECKING:
    from tilewright.script.parser.closed_world import Allowance

Definition = ast.FunctionDef | ast.ClassDef


class Source:
    """The text of one file and its syntax tree.

    Args:
        text: the text.
        filename: what errors call it.
        allowance: what the text may use, if it is not trusted; None for a program's own source.

    Raises:
        ScriptError: if the text is no Python.
    """

    def __init__(self, text: str, filename: str, allowance: Allowance | None = None) -> None:
        self.filename, self.allowance = filename, allowance
        # Not splitlines(), which also splits where Python does not count a line.
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.tree = self._parse(text)
        self._definitions: dict[str, list[Definition]] | None = None

    @deep_recursion
    def _parse(self, text: str) -> ast.Module:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                warnings.simplefilter("ignore", DeprecationWarning)
                return ast.parse(text, self.filename)
        except SyntaxError as error:
            line, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
            end_line, end = error.end_lineno or line, (error.end_offset or 0) - 1
            if end_line < line or (end_line == line and end <= column):
                end_line, end = line, column + 1
            span = Span(self.filename, line, column, end_line, end)
            raise self.error_at(span, f"this is no Python: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            pass_on_recursion_error(error)
            span = Span(self.filename, 1, 0, 1, 1)
            raise self.error_at(span, f"this cannot be parsed: {error}") from None

    def span(self, node: ast.AST) -> Span:
        """Where a syntax node is; columns count characters."""
        position: Any = node
        line, end_line = position.lineno, position.end_lineno or position.lineno
        return Span(
            self.filename,
            line,
            self._column(line, position.col_offset),
            end_line,
            self._column(end_line, position.end_col_offset or 0),
        )

    def _column(self, line: int, byte_offset: int) -> int:
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        if text.isascii():
            return byte_offset
        return len(text.encode()[:byte_offset].decode(errors="ignore"))

    def error(self, node: ast.AST, message: str) -> ScriptError:
        """The error `message` about a syntax node."""
        return self.error_at(self.span(node), message)

    def error_at(self, span: Span, message: str) -> ScriptError:
        """The error `message` about a place."""
        return located_error(self.lines, span, message)

    def text_of(self, node: ast.AST) -> str:
        """The text of a syntax node, shortened to one line."""
        span = self.span(node)
        lines = self.lines[span.line - 1 : span.end_line]
        if len(lines) == 1:
            return lines[0][span.column : span.end_column]
        return f"{lines[0][span.column :].strip()} ..." if lines else ""

    def definitions(self, name: str) -> list[Definition]:
        """All functions and classes of that name, at any depth."""
        if self._definitions is None:
            self._definitions = {}
            for node in ast.walk(self.tree):
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    self._definitions.setdefault(node.name, []).append(node)
        return self._definitions.get(name, [])

    def find(self, kind: type[Any], name: str, line: int) -> Any:
        """The definition of `name` that has `line` among its decorators or its header."""
        found = None
        for node in self.definitions(name):
            if isinstance(node, kind):
                first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
                if first <= line <= node.lineno:
                    return node
                if first <= line <= (node.end_lineno or node.lineno):
                    found = node
        return found


_CACHE: dict[str, tuple[list[str], Source]] = {}
_CACHE_SIZE = 16


def source_of_file(filename: str, module_globals: dict[str, Any]) -> Source | None:
    """The source of a file or notebook cell, or None if it is not known.

    The text comes from `linecache`, where IPython, doctest and the interactive console put theirs.
    """
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, module_globals)
    if not lines:
        return None
    known = _CACHE.get(filename)
    if known is not None and known[0] == lines:
        return known[1]
    source = Source("".join(lines), filename)
    if len(_CACHE) >= _CACHE_SIZE:
        del _CACHE[next(iter(_CACHE))]
    _CACHE[filename] = (lines, source)
    return source


def source_of_text(text: str, allowance: Allowance | None = None) -> Source:
    """The source of a string, whose common indentation does not matter."""
    # A text with the data of a model is long: an indented one alone is worth the search.
    is_indented = text.lstrip("\r\n")[:1].isspace()
    return Source(textwrap.dedent(text) if is_indented else text, "<script>", allowance)
