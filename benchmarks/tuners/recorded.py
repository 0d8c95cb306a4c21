"""Measuring by looking up what was measured before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.autotvm.conversion import to_tuning_record
from tilewright.autotvm.record import Pair
from tilewright.ir import structural_hash
from tilewright.tune.measure import (
    Builder,
    BuilderInput,
    BuilderResult,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)


def times_of(records: Iterable[Pair]) -> dict[str, list[float]]:
    """The seconds of each program that records are about."""
    found: dict[str, list[float]] = {}
    for measured, result in records:
        if not result.error_no:
            mod = to_tuning_record(measured, result).schedule(enable_check=False).mod
            found[str(structural_hash(mod))] = list(result.costs)
    return found


class RecordedBuilder(Builder):
    """Builds nothing: the name of the file is the hash of the program.

    Args:
        times: what `times_of` returned.
    """

    def __init__(self, times: Mapping[str, Sequence[float]]) -> None:
        self._times = times

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """The names of files that there are not."""
        keys = [str(structural_hash(item.mod)) for item in build_inputs]
        return [
            BuilderResult(str(Path("not a directory", key)))
            if key in self._times
            else BuilderResult(None, "it was not measured")
            for key in keys
        ]


class RecordedRunner(Runner):
    """Looks up the times.

    Args:
        times: what `times_of` returned.
    """

    def __init__(self, times: Mapping[str, Sequence[float]]) -> None:
        self._times = times

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """The results, which are there at once."""
        return [self._future(Path(item.artifact_path).name) for item in runner_inputs]

    def _future(self, key: str) -> RunnerFuture:
        return RunnerFuture(lambda: True, lambda: RunnerResult(list(self._times[key])))


def recorded_option(times: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """What `autotvm.measure_option` returns, for times that are known."""
    return {"builder": RecordedBuilder(times), "runner": RecordedRunner(times)}
