"""What was measured, and what follows from it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.harness.timing import LEAST_QUIET, Sample, quiet_rounds


@dataclass
class Record:
    """A work under one schedule beside one peer.

    Attributes:
        family: of the work.
        work: its name.
        schedule: ``"hand"`` or ``"default"``.
        peer: beside what.
        threads: on how many.
        dtype: of the inputs.
        flop: operations of one run.
        bytes: compulsory traffic of one run.
        ports: multiply-adds of float32 that a core could do in the least time in which its ports
            can compute the formulas of the work, in operations; 0 if that is not known.
        aim: what the ratio should at least be; None if nothing is aimed at.
        ours: our samples, one a round; empty if there is no result of ours, or a wrong one.
        theirs: the peer's samples of the same rounds; empty if the peer is missing or failed.
        problem: why something is missing.
        error: of our result, relative to the largest absolute value of the reference.
    """

    family: str
    work: str
    schedule: str
    peer: str
    threads: int
    dtype: str = "float32"
    flop: float = 0
    bytes: float = 0
    ports: float = 0
    aim: float | None = None
    ours: list[Sample] = field(default_factory=list)
    theirs: list[Sample] = field(default_factory=list)
    problem: str = ""
    error: float | None = None

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What the record is about: a later one with the same key replaces it."""
        return self.work, self.schedule, self.peer, self.threads

    @property
    def schedule_order(self) -> int:
        """The hand-written schedule goes before the default one."""
        return 0 if self.schedule == "hand" else 1

    @property
    def seconds(self) -> float | None:
        """Of one run of ours: the median, in the time that `ratios` compares."""
        return statistics.median(self._compared(self.ours)) if self.ours else None

    @property
    def their_seconds(self) -> float | None:
        """Of one run of the peer."""
        return statistics.median(self._compared(self.theirs)) if self.theirs else None

    @property
    def ratios(self) -> list[float]:
        """The peer's time over ours, round by round.

        On one thread it is time of the processor, which does not count what other processes take;
        on more threads it is time of the clock.
        """
        return ratios(self._compared(self.ours), self._compared(self.theirs))

    @property
    def disturbed(self) -> bool:
        """Whether other programs left too few rounds in peace, so that all were kept."""
        sides = [self.ours, self.theirs] if self.theirs else [self.ours]
        quiet = len(quiet_rounds(sides, self.threads))
        return quiet < min(LEAST_QUIET, len(self.ours))

    @property
    def wall_ratios(self) -> list[float]:
        """The same by the clock."""
        return ratios([s.wall for s in self.ours], [s.wall for s in self.theirs])

    @property
    def ratio(self) -> float | None:
        """The median."""
        return statistics.median(self.ratios) if self.ratios else None

    @property
    def reached(self) -> bool | None:
        """Whether the aim is met; None if there is none, or nothing to compare that counts."""
        if self.aim is None or (not self.theirs and self.ours) or self.disturbed:
            return None
        return self.ratio is not None and self.ratio >= self.aim

    def _compared(self, samples: Sequence[Sample]) -> list[float]:
        return [sample.cpu if self.threads == 1 else sample.wall for sample in samples]

    def as_dictionary(self) -> dict[str, Any]:
        """For JSON: the measurements, and beside them what follows."""
        derived = {
            "seconds": self.seconds,
            "their_seconds": self.their_seconds,
            "ratio": self.ratio,
            "ratio_quartiles": quartiles(self.ratios) if self.ratios else None,
            "wall_ratio": statistics.median(self.wall_ratios) if self.wall_ratios else None,
            "rounds": len(self.ours),
            "disturbed": self.disturbed,
            "reached": self.reached,
        }
        return {**asdict(self), "derived": derived}

    @staticmethod
    def from_dictionary(entry: dict[str, Any]) -> Record:
        """The inverse of `as_dictionary`."""
        fields = {name: value for name, value in entry.items() if name != "derived"}
        for side in ("ours", "theirs"):
            fields[side] = [Sample(*sample) for sample in fields[side]]
        return Record(**fields)


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Theirs over ours, round by round; empty if either is."""
    return [their / our for our, their in zip(ours, theirs, strict=bool(ours and theirs))]


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The middle half of the values."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high
