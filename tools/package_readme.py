"""The README of the package, in which links lead to the repository.

A package page shows the README alone, so the relative links of the repository's README would lead
nowhere there. The build runs this (``[tool.hatch.metadata.hooks.custom]`` in ``pyproject.toml``).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

CODE: Final = re.compile(r"^(```.*?^```\n)", re.MULTILINE | re.DOTALL)
LINK: Final = re.compile(r"\]\((?!https?://|#)([^)]+)\)")


def with_absolute_links(text: str, repository: str) -> str:
    """Markdown whose relative links lead to files of the main branch."""
    parts = CODE.split(text)
    parts[::2] = [LINK.sub(rf"]({repository}/blob/main/\1)", part) for part in parts[::2]]
    return "".join(parts)


class Readme(MetadataHookInterface):
    """Sets the field `readme`, which is dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(text, metadata["urls"]["Repository"]),
        }
