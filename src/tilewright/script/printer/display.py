"""Showing a script: coloured in a terminal, as HTML in a notebook."""

from __future__ import annotations

import os
import sys
from typing import Any

from tilewright.error import ArgumentValueError

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
