"""Source text with positions, and errors that show them."""

from __future__ import annotations

import ast
import difflib
import linecache
import re
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.error import ScriptError, TVMError
from tilewright.ir.node import Span
from tilewright.ir.recursion import deep_recursion, pass_on_recursion_error

if TYPE_CHECKING:
    from tilewright.script.parser.closed_world import Allowance


LONGEST_LINE = 160
"""Longer lines are cut around the place."""


def render(lines: Sequence[str], span: Span, message: str) -> str:
    """The message, the place, and the line with carets."""
    number = str(span.line)
    margin = " " * len(number)
    text = lines[span.line - 1] if 0 < span.line <= len(lines) else ""
    start = min(span.column, len(text))
    end = span.end_column if span.end_line == span.line else len(text.rstrip())
    width = max(min(end, len(text)) - start, 1)
    if len(text) > LONGEST_LINE:
        cut = max(start - LONGEST_LINE // 2, 0)
        text, start = text[cut : cut + LONGEST_LINE], start - cut
        width = min(width, LONGEST_LINE - start)
    # Tabs stay tabs in the line of carets, so that both lines are indented alike.
    indent = "".join(c if c == "\t" else " " for c in text[:start])
    return "\n".join(
        [
            f"error: {message}",
            f"{margin}--> {span}",
            f"{margin} |",
            f"{number} | {text}",
            f"{margin} | {indent}{'^' * width}",
        ]
    )


def located_error(lines: Sequence[str], span: Span, message: str) -> ScriptError:
    """The error `message` about a place, with what Python itself shows of syntax errors."""
    message = re.sub(r"\s*\n\s*", " ", message)
    error = ScriptError(render(lines, span, message))
    error.msg = message
    error.filename = span.filename
    error.lineno, error.offset = span.line, span.column + 1
    error.end_lineno, error.end_offset = span.end_line, span.end_column + 1
    error.text = lines[span.line - 1] if 0 < span.line <= len(lines) else None
    return error


def without_internals(error: ScriptError) -> ScriptError:
    """`error` without the way through the parser, to be raised again."""
    # A failure of the user's own function, called by the script, is worth its traceback.
    if isinstance(error.__cause__, (TVMError, TypeError, AttributeError, RecursionError)):
        error.__cause__ = None
    return error.with_traceback(None)


def describe(error: BaseException) -> str:
    """The message of an error that a function of the script raised."""
    if isinstance(error, RecursionError):
        return "this is nested too deeply"
    text = str(error)
    if isinstance(error, TVMError):
        return text
    name = type(error).__name__
    if isinstance(error, (TypeError, AttributeError)) and text:
        return text
    return f"{name}: {text}" if text else name


def suggestion(name: str, *candidates: Iterable[str]) -> str:
    """``; did you mean ...?``, or nothing; the first group with a similar name wins."""
    # One letter of two makes a ratio of 0.5, and names of iterators are that short.
    cutoff = 0.5 if len(name) == 2 else 0.6
    for group in candidates:
        close = difflib.get_close_matches(name, sorted(set(group)), n=1, cutoff=cutoff)
        if close:
            return f"; did you mean `{close[0]}`?"
    return ""


def is_iterable(value: object) -> bool:
    """Whether Python can iterate over `value`."""
    return getattr(type(value), "__iter__", None) is not None


def kind_of(value: object) -> str:
    """The type of a Python value with its article."""
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


Definition = ast.FunctionDef | ast.ClassDef


class Source:
    """The text of one file and its syntax tree.

    Args:
        filename: what errors call it.
        allowance: what the text may use, if it is not trusted; None for a program's own source.

    Raises:
        ScriptError: if the text is not valid Python.
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
            raise self.error_at(span, f"this is not Python: {error.msg}") from None
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
