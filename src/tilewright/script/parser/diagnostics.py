"""Messages about places in a script, with the line and a caret under the exact range."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from tilewright.error import ScriptError, TVMError
from tilewright.ir.span import Span

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
