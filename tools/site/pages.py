"""The pages as Sphinx gets them.

The pages in ``docs`` are plain Markdown: they read well in an editor and in the repository. This
module adds what only a site needs: the navigation, and links that lead from the site to the
repository and from one language to the other.
"""

from __future__ import annotations

import html
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.site.languages import DOCS, ROOT, Language
from tools.site.project import SOURCES

LINK: Final = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<path>[^)#:]+)(?P<anchor>#[^)]*)?\)")
ENTRY: Final = re.compile(r"^\* .*\n(?:^  .*\n)*", re.MULTILINE)
FENCE: Final = re.compile(r"^(```.*?^```\n)", re.MULTILINE | re.DOTALL)
HAN: Final = "[\u3001-\u303f\u3400-\u9fff\uff00-\uffef]"
BREAK: Final = re.compile(rf"((?<={HAN})|(?<={HAN}\*\*))\n(?=(\*\*|\[|<a [^>]*>)?{HAN})")
SECTION: Final = re.compile(r"^## (.*)$", re.MULTILINE)


def stage(language: Language, directory: Path) -> None:
    """Write the pages of a language, and the pictures that they show, into a directory."""
    for page in language.pages():
        text = (language.sources / page).read_text(encoding="utf-8")
        target = directory / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page_of_site(language, page, text), encoding="utf-8")
    shutil.copytree(DOCS / "drawings", directory / "drawings", dirs_exist_ok=True)


def page_of_site(language: Language, page: Path, text: str) -> str:
    """The text of a page with the links of the site, and, for a list of pages, the navigation."""
    navigation = "".join(navigation_of(text)) if page.name == "index.md" else ""
    if page.parent.name == "tutorials":
        text = with_notebook(language, page, text)
    parts = FENCE.split(text)
    parts[::2] = [
        without_breaks(LINK.sub(lambda match: link_of_site(language, page, match), part))
        for part in parts[::2]
    ]
    return "".join(parts) + navigation


def without_breaks(text: str) -> str:
    """Text without line breaks between Chinese characters, which browsers show as spaces."""
    return BREAK.sub("", text)


def with_notebook(language: Language, page: Path, text: str) -> str:
    """A tutorial with links to its notebook below the title."""
    place = f"notebooks/{language.subdirectory or 'tutorials'}/{page.stem}"
    place = "../" * len(Path(language.subdirectory, page).parent.parts) + place
    names = ("笔记本", "下载") if language.subdirectory else ("Notebook", "download")
    links = f"{_plain_link(names[0], place + '.html')} · {_plain_link(names[1], place + '.ipynb')}"
    title, _, rest = text.partition("\n")
    return f"{title}\n\n{links}\n{rest}"


def navigation_of(text: str) -> Iterator[str]:
    """A hidden table of contents for each section of a page whose lists link to pages."""
    _, *sections = SECTION.split(text)
    for caption, section in zip(sections[::2], sections[1::2], strict=True):
        entries = "".join(ENTRY.findall(section))
        targets = [match["path"] for match in LINK.finditer(entries)]
        pages = [path.removesuffix(".md") for path in targets if path.endswith(".md")]
        if pages:
            lines = "\n".join(dict.fromkeys(pages))
            yield f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def link_of_site(language: Language, page: Path, match: re.Match[str]) -> str:
    """A link of a page as it has to be on the site."""
    text, anchor = match["text"], match["anchor"] or ""
    target = Path(os.path.normpath(language.sources / page.parent / match["path"]))
    if not target.is_relative_to(DOCS):
        return f"[{text}]({SOURCES}/{target.relative_to(ROOT).as_posix()}{anchor})"
    if target.suffix == ".ipynb":
        return _plain_link(text, match["path"].removesuffix(".ipynb") + ".html")
    if target.suffix != ".md":
        return f"[{text}]({SOURCES}/{target.relative_to(ROOT).as_posix()}{anchor})"
    inside = target.is_relative_to(language.sources)
    if inside and language.has(target.relative_to(language.sources)):
        return match[0]
    return _plain_link(text, match["path"].removesuffix(".md") + ".html" + anchor)


def _plain_link(text: str, address: str) -> str:
    """A link that is none of Sphinx's: what it leads to belongs to another language, or to no page.

    `links` checks that it leads somewhere.
    """
    return f'<a class="reference" href="{html.escape(address)}">{text}</a>'
