"""Build the documentation site in both languages, and check its links.

Usage: python -m tools.site [--no-notebooks]

The site is in ``build/site``, and the pages as Sphinx gets them in ``build/site-sources``. Warnings
of Sphinx are errors, such as a link to a missing heading, and a page that no list of pages has.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Final

from sphinx.cmd.build import build_main
from tools.site import links, notebooks, pages, reference
from tools.site.languages import CHINESE, LANGUAGES, ROOT, Language

SITE: Final = ROOT / "build" / "site"
SOURCES: Final = ROOT / "build" / "site-sources"
SETTINGS: Final = Path(__file__).parent


def build(language: Language) -> bool:
    """Whether the pages of a language could be built without a warning."""
    sources = SOURCES / language.name
    options = ["-q", "-W", "--keep-going", "-j", "auto", "-b", "html", "-c", str(SETTINGS)]
    options += ["-d", str(SOURCES / f"doctrees-{language.name}")]
    if language is CHINESE:
        options += ["-t", "zh"]
    return build_main([*options, str(sources), str(SITE / language.subdirectory)]) == 0


def main() -> None:
    """Build the site; the exit status is 1 if a page or a link is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-notebooks", action="store_true", help="do not run the notebooks")
    options = parser.parse_args()
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.rmtree(SOURCES, ignore_errors=True)
    shutil.copytree(SETTINGS / "locale", SOURCES / "locale")  # Sphinx compiles what is in it
    for language in LANGUAGES:
        pages.stage(language, SOURCES / language.name)
    reference.describe(SOURCES / "en" / "reference")
    built = [build(language) for language in LANGUAGES]
    notebooks.publish(SITE / "notebooks", run=not options.no_notebooks)
    broken = links.broken_links(SITE)
    for link in broken:
        print(f"leads nowhere: {link}")
    complete = all(built) and not broken
    print(f"The site is in {SITE}" if complete else "The site has the mistakes above")
    raise SystemExit(0 if complete else 1)


if __name__ == "__main__":
    main()
