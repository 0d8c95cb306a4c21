"""Build the documentation site in both languages, and check its links.

Usage: python -m tools.site [--no-notebooks | --check]

The site is in ``build/site``, and the pages as Sphinx gets them in ``build/site-sources``. Warnings
of Sphinx are errors, such as a link to a missing heading, and a page that no list of pages has.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Final

from sphinx.cmd.build import build_main
from tools.site import links, pages, reference
from tools.site.languages import CHINESE, LANGUAGES, ROOT, Language

SITE: Final = ROOT / "build" / "site"
SOURCES: Final = ROOT / "build" / "site-sources"
SETTINGS: Final = Path(__file__).parent


def stage() -> None:
    """Write the pages as Sphinx gets them."""
    shutil.rmtree(SOURCES, ignore_errors=True)
    shutil.copytree(SETTINGS / "locale", SOURCES / "locale")  # Sphinx compiles what is in it
    for language in LANGUAGES:
        pages.stage(language, SOURCES / language.name)
    reference.describe(SOURCES / "en" / "reference")


def build(language: Language, builder: str) -> bool:
    """Whether the pages of a language could be built without a warning.

    Args:
        builder: of Sphinx: ``"html"``, or ``"dummy"``, which reads the pages and writes nothing.
    """
    sources = SOURCES / language.name
    options = ["-q", "-W", "--keep-going", "-j", "auto", "-b", builder, "-c", str(SETTINGS)]
    options += ["-d", str(SOURCES / f"doctrees-{language.name}")]
    if language is CHINESE:
        options += ["-t", "zh"]
    return build_main([*options, str(sources), str(SITE / language.subdirectory)]) == 0


def main() -> None:
    """Build the site; the exit status is 1 if a page or a link is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--no-notebooks", action="store_true", help="do not run the notebooks")
    what.add_argument("--check", action="store_true", help="only say what is wrong with pages")
    options = parser.parse_args()
    stage()
    if options.check:
        right = [build(language, "dummy") for language in LANGUAGES]
        raise SystemExit(0 if all(right) else 1)
    # What only a site needs is not installed where pages are checked.
    from tools.site import notebooks

    shutil.rmtree(SITE, ignore_errors=True)
    built = [build(language, "html") for language in LANGUAGES]
    notebooks.publish(SITE / "notebooks", run=not options.no_notebooks)
    broken = links.broken_links(SITE)
    for link in broken:
        print(f"leads nowhere: {link}")
    complete = all(built) and not broken
    print(f"The site is in {SITE}" if complete else "The site has the mistakes above")
    raise SystemExit(0 if complete else 1)


if __name__ == "__main__":
    main()
