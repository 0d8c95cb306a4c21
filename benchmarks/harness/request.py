"""What processes that measure are told."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import NamedTuple


class Effort(NamedTuple):
    """How much time to spend; see `TimingRequest`."""

    rounds: int
    batch_seconds: float
    limit: float


@dataclass(frozen=True, kw_only=True)
class TimingRequest:
    """How to time; subclasses say what.

    Attributes:
        threads: on how many.
        rounds: how often everything is timed.
        batch_seconds: how long short calls are repeated for.
        limit: seconds after which no further round begins.
        output: the file for what is found.
    """

    threads: int
    rounds: int
    batch_seconds: float
    limit: float
    output: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))
