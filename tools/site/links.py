"""Whether the links of the finished site lead anywhere.

Sphinx checks the links between pages of one language; this checks all that stay within the site,
with their anchors: between languages, to notebooks and to pictures.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element links to, and its name."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name == "id" and value:
                self.anchors.add(value)


def broken_links(site: Path) -> list[str]:
    """One line per link of a page that leads nowhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    return [
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        if "_static" not in path.parts
        for link in sorted(page.links)
        if not _leads_somewhere(path, link, pages)
    ]


def _leads_somewhere(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or link.startswith("#svg"):
        return True
    address, anchor = urldefrag(link)
    address = address.partition("?")[0]
    target = (path.parent / unquote(address)).resolve() if address else path
    if target.is_dir():
        target /= "index.html"
    if target in pages:
        return not {anchor, unquote(anchor)}.isdisjoint(pages[target].anchors)
    return target.exists()
