"""Lines of text with marks in them, and what becomes of the marks: lines of ``^^^``, and comments.

The printer wraps the text of a node that is to be underlined in `START` and `END`, and puts a note
about a node between `NOTE` and `NOTE_END`. These characters occur nowhere else, since names are
identifiers and strings are escaped.
"""

from __future__ import annotations

import re
from itertools import pairwise

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
