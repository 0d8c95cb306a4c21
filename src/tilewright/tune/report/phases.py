"""Where the time of a run went."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_logger = logging.getLogger(__name__)

TOTAL: Final = "Total"
FILE: Final = Path("logs") / "profile.json"

_GROUPS: Final = {
    "InitializeTasks": "search",
    "GenerateCandidates": "search",
    "NotifyRunnerResults": "search",
    "SendToBuilder": "build",
    "SendToRunner": "run",
    "JoinRunnerFutures": "run",
    "MeasureFinalists": "run",
    "CheckResults": "check",
    "ApplyMeasureCallbacks": "learn",
}
"""What the phases that a `Profiler` knows are part of."""


def grouped(seconds: Mapping[str, float]) -> dict[str, float]:
    """Seconds by search, build, run, check, learning and the rest, from those of a `Profiler`."""
    found = dict.fromkeys(dict.fromkeys(_GROUPS.values()), 0.0)
    for phase, spent in seconds.items():
        if phase in _GROUPS:
            found[_GROUPS[phase]] += spent
    rest = seconds.get(TOTAL, 0.0) - sum(found.values())
    return {**found, "other": max(rest, 0.0)}


def save_phases(work_dir: str | Path, seconds: Mapping[str, float]) -> None:
    """Add the times of a run to those of earlier runs in the same directory.

    Where they cannot be written, a warning is logged.
    """
    path = Path(work_dir) / FILE
    before = load_phases(work_dir) or {}
    total = {name: before.get(name, 0.0) + spent for name, spent in seconds.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**before, **total}, indent=1) + "\n")
    except OSError as error:
        _logger.warning("cannot write %s: %s", path, error.strerror or error)


def load_phases(work_dir: str | Path) -> dict[str, float] | None:
    """What `save_phases` wrote; None if there is nothing that can be read."""
    try:
        form = json.loads((Path(work_dir) / FILE).read_text())
        return {str(name): float(spent) for name, spent in form.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None
