"""Make docs/licences.md: the licences of the packages that this one depends on.

Usage: python -m tools.licences

Versions are those of the lock file, licences what the installed packages say of themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "licences.md"
DEVELOPMENT: Final = ("bench", "dev", "docs")
"""The extras that are not for users."""

HEAD: Final = """# Licences

Tilewright is under the Apache License 2.0. It installs these packages, which are not part of it.
`python -m tools.licences` makes this page from what the packages say of themselves.

| package | for | licence |
|---|---|---|
"""

_CLASSIFIER: Final = "License :: OSI Approved :: "


def requirements() -> Iterator[tuple[str, str]]:
    """Names of packages, each with what it is for: ``everything``, or an extra."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    _, _, optional = text.partition("[project.optional-dependencies]\n")
    extras = _lists(optional.partition("\n[")[0])
    yield from ((name, "everything") for name in _lists(text)["dependencies"])
    for extra, names in extras.items():
        if extra not in DEVELOPMENT:
            yield from ((name, f"`[{extra}]`") for name in names)


def _lists(text: str) -> dict[str, list[str]]:
    """Lists of requirements by name, without versions and conditions."""
    found = re.findall(r"^([\w-]+) = \[(.*?)\]$", text, re.MULTILINE | re.DOTALL)
    return {name: re.findall(r'"([A-Za-z0-9_-]+)[^"]*"', items) for name, items in found}


def licence_of(package: Distribution) -> str:
    """The licence that a package names, as an SPDX expression where it has one."""
    metadata = package.metadata
    expression = metadata.get("License-Expression")
    if expression:
        return expression
    named = [line for line in metadata.get_all("Classifier", []) if line.startswith(_CLASSIFIER)]
    if named:
        return ", ".join(line.removeprefix(_CLASSIFIER) for line in named)
    return (metadata.get("License") or "see the package").strip().splitlines()[0]


def page(known: str) -> str:
    """The page. A package that is not installed keeps the row that it has in `known`."""
    rows: dict[str, str] = {}
    for name, purpose in requirements():
        try:
            licence = licence_of(distribution(name))
        except PackageNotFoundError:
            row = re.search(rf"^\| {re.escape(name)} \| .* \| (.*) \|$", known, re.MULTILINE)
            licence = row[1] if row else "see the package"
        rows[name] = f"| {name} | {purpose} | {licence} |"
    return HEAD + "\n".join(rows.values()) + "\n"


def main() -> None:
    """Write the page."""
    known = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(page(known), encoding="utf-8")


if __name__ == "__main__":
    main()
