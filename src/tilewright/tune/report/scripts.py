"""Programs with colours, as HTML."""

from __future__ import annotations

from typing import Final

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.python import PythonLexer

_LIGHT: Final = HtmlFormatter(style="friendly", cssclass="code")
_DARK: Final = HtmlFormatter(style="github-dark", cssclass="code")


def highlighted(source: str) -> str:
    """Python text."""
    return highlight(source, PythonLexer(), _LIGHT)


def style() -> str:
    """The colours, for light and dark screens."""
    light, dark = (formatter.get_style_defs(".code") for formatter in (_LIGHT, _DARK))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"
