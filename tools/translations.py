"""Whether the pages in Chinese say what those in English say.

Usage: python -m tools.translations            list the pages that are older than their originals
       python -m tools.translations --accept   say of all that they are up to date

A translated page, in ``docs/zh``, ends in a comment with the digest of the English text that it
translates. Its Python is that of the original, and prints the same.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[1] / "docs"
CHINESE: Final = DOCS / "zh"
MARK: Final = re.compile(r"\n<!-- translates ([0-9a-f]{12}) -->\n$")
BLOCK: Final = re.compile(
    r"^```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)
"""Python, and what it prints."""


def pages() -> Iterator[tuple[Path, Path]]:
    """Pairs of a page in Chinese and its original; the start page is not a translation."""
    for page in sorted(CHINESE.rglob("*.md")):
        if page != CHINESE / "index.md":
            yield page, original_of(page)


def original_of(page: Path) -> Path:
    """The English page that a page in Chinese translates."""
    if page == CHINESE / "README.md":
        return DOCS.parent / "README.md"
    return DOCS / page.relative_to(CHINESE)


def digest_of(original: Path) -> str:
    """What tells a version of a text from others."""
    return hashlib.sha256(original.read_bytes()).hexdigest()[:12]


def is_up_to_date(page: Path, original: Path) -> bool:
    """Whether a page translates the present version of the original."""
    mark = MARK.search(page.read_text())
    return mark is not None and mark[1] == digest_of(original)


def accept(page: Path, original: Path) -> None:
    """Say that a page translates the present version of the original."""
    text = MARK.sub("", page.read_text()).rstrip("\n")
    page.write_text(f"{text}\n\n<!-- translates {digest_of(original)} -->\n")


def programs(page: Path) -> list[tuple[str, str]]:
    """The Python of a page, without comments, and what the page says that it prints."""
    return [(ast.dump(ast.parse(code)), text) for code, text in BLOCK.findall(page.read_text())]


def main() -> None:
    """List the pages that are older than their originals, or accept them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accept", action="store_true", help="they are up to date")
    options = parser.parse_args()
    for page, original in pages():
        if is_up_to_date(page, original):
            continue
        print(page.relative_to(DOCS.parent))
        if options.accept:
            accept(page, original)


if __name__ == "__main__":
    main()
