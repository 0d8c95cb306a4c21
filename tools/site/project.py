"""Facts of the project that the site shows, from ``pyproject.toml``."""

from __future__ import annotations

import re
from typing import Final

from tools.site.languages import ROOT

_PROJECT: Final = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def _field(name: str) -> str:
    found = re.search(rf'^{name} = "(.*)"$', _PROJECT, re.MULTILINE)
    if found is None:
        raise LookupError(f"pyproject.toml has no line `{name} = ...`")
    return found[1]


VERSION: Final = _field("version")
REPOSITORY: Final = _field("Repository")
SOURCES: Final = f"{REPOSITORY}/blob/main"
"""The address of a file of the repository, without its path."""
