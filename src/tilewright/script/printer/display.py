"""The text of a script: underlines, comments, and colours in a terminal or notebook."""

from __future__ import annotations

import os
import re
import sys
from itertools import pairwise
from typing import Any

from tilewright.error import ArgumentValueError

START = "\x02"
END = "\x03"
NOTE, NOTE_END = "\x04", "\x05"
_NOTE = re.compile(f"{NOTE}([^{NOTE_END}]*){NOTE_END}")


def finish(lines: list[str], *, line_numbers: bool = False, context: int = -1) -> str:
    """The text of `lines`, with underlines in place of marks.

    Args:
        lines: lines of a script, possibly with marks; a marked text is within one line.
        line_numbers: whether to start each line with its number.
        context: how many lines to keep before and after underlined ones; -1 keeps everything.
    """
    texts, underlines = [], {}
    for number, line in enumerate(lines):
        if NOTE in line:
            line = "  # ".join([_NOTE.sub("", line), "; ".join(_NOTE.findall(line))])
        if START in line:
            line, underlines[number] = _underline(line)
        texts.append(line)
    kept = _kept(len(texts), list(underlines), context)
    width = len(str(len(texts)))
    result: list[str] = []
    for previous, number in pairwise((-1, *kept)):
        if number > previous + 1:
            result.append("...")
        margin = f"{number + 1:>{width}}  " if line_numbers else ""
        result.append(f"{margin}{texts[number]}".rstrip())
        if number in underlines:
            result.append(" " * len(margin) + underlines[number])
    if kept and kept[-1] < len(texts) - 1:
        result.append("...")
    return "\n".join(result)


def _kept(count: int, marked: list[int], context: int) -> list[int]:
    if context < 0 or not marked:
        return list(range(count))
    return [n for n in range(count) if any(abs(n - m) <= context for m in marked)]


def _underline(line: str) -> tuple[str, str]:
    """`line` without marks, and the line to put below it."""
    text: list[str] = []
    below: list[str] = []
    depth = 0
    for character in line:
        if character == START:
            depth += 1
        elif character == END:
            depth -= 1
        else:
            text.append(character)
            below.append("^" if depth else " ")
    return "".join(text), "".join(below).rstrip()


STYLES = {"light": "friendly", "dark": "monokai", "ansi": "ansi"}
"""Short names of Pygments styles."""


def show(obj: Any, style: str | None = None, **options: Any) -> None:
    """Print the script of `obj`.

    In a notebook it is shown as HTML. In a terminal it is coloured, unless the environment
    variable ``NO_COLOR`` is set. Everywhere else it is plain text.

    Args:
        obj: a module, function, statement or expression.
        style: a Pygments style name, ``"light"``, ``"dark"``, or ``"ansi"`` (the sixteen colours
            of the terminal, the default there).
        **options: those of `script`.

    Raises:
        ArgumentValueError: for an unknown style.
    """
    from tilewright.script.printer import script

    show_text(script(obj, **options), style)


def show_text(text: str, style: str | None = None) -> None:
    """Print Python text; see `show`."""
    if style is not None:
        _style(style)
    if _in_notebook():
        import importlib

        display = importlib.import_module("IPython.display")
        display.display(display.HTML(highlight_html(text, style or "light")))
    elif _wants_colour():
        print(highlight_terminal(text, style or "ansi"))
    else:
        print(text)


def _wants_colour() -> bool:
    return "NO_COLOR" not in os.environ and sys.stdout is not None and sys.stdout.isatty()


def _in_notebook() -> bool:
    """Whether output goes to a notebook; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def highlight_terminal(text: str, style: str = "ansi") -> str:
    """`text` with escape sequences for colours."""
    from pygments import highlight
    from pygments.formatters import Terminal256Formatter, TerminalFormatter
    from pygments.lexers import PythonLexer

    chosen = _style(style)
    formatter = TerminalFormatter() if chosen == "ansi" else Terminal256Formatter(style=chosen)
    return highlight(text, PythonLexer(), formatter).rstrip("\n")


def highlight_html(text: str, style: str = "light") -> str:
    """`text` as an HTML fragment with its colours inline."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    chosen = _style("light" if style == "ansi" else style)
    return highlight(text, PythonLexer(), HtmlFormatter(style=chosen, noclasses=True))


def _style(name: str) -> str:
    """The Pygments style behind `name`."""
    from pygments.styles import get_all_styles

    chosen = STYLES.get(name, name)
    if chosen != "ansi" and chosen not in set(get_all_styles()):
        raise ArgumentValueError(
            f"show: there is no style {name!r}; use 'light', 'dark', 'ansi' or a Pygments style"
        )
    return chosen
