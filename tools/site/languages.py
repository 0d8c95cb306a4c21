"""The languages of the site, and where their pages are."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"


class Language(NamedTuple):
    """A language of the site.

    name: as Sphinx calls it.
    sources: the directory of its pages.
    subdirectory: the place of its pages in the site; empty for the root.
    """

    name: str
    sources: Path
    subdirectory: str

    def pages(self) -> list[Path]:
        """The Markdown pages of this language, relative to `sources`."""
        paths = (path.relative_to(self.sources) for path in self.sources.rglob("*.md"))
        return sorted(filter(self.has, paths))

    def has(self, page: Path) -> bool:
        """Whether there is a page of that name in this language."""
        path = self.sources / page
        others = (other.sources for other in LANGUAGES if other.sources.parent == self.sources)
        is_page = path.suffix == ".md" and path.name != "README.md" and path.is_file()
        return is_page and not any(path.is_relative_to(other) for other in others)


ENGLISH: Final = Language("en", DOCS, "")
CHINESE: Final = Language("zh_CN", DOCS / "zh", "zh")
LANGUAGES: Final = (ENGLISH, CHINESE)
