"""Where the results of tuning a work are kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

OURS, APACHE = "ours", "apache-tvm"
"""Who tuned."""
LIBRARY: Final = "tuned.so"


def folder_of(root: str | Path, work: str, tuner: str) -> Path:
    """The folder of one work and one tuner."""
    return Path(root, re.sub(r"[^a-z0-9]+", "-", work.lower()).strip("-"), tuner)


def note(folder: Path, **facts: Any) -> None:
    """Write what tuning took."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")


def noted(folder: Path) -> dict[str, Any]:
    """What `note` wrote; empty if it was not called."""
    file = folder / "summary.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
