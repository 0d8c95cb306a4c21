"""What happens after each batch of configs that a tuner measured.

A callback is a function of the tuner, a list of `MeasureInput` and a list of `MeasureResult`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tilewright.autotvm.conversion import to_tuning_record
from tilewright.autotvm.measure import MeasureInput, MeasureResult
from tilewright.autotvm.record import append, encode, require_json
from tilewright.error import ArgumentError, require_one_of
from tilewright.tune.database import Database

if TYPE_CHECKING:
    from tilewright.autotvm.tuner import Tuner

Callback = Callable[["Tuner", Sequence[MeasureInput], Sequence[MeasureResult]], Any]

SI_PREFIXES: Final = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
"""Factors of units, by their prefixes."""


def unit_factor(si_prefix: str) -> float:
    """The factor of a unit.

    Raises:
        ArgumentValueError: for a prefix that there is not.
    """
    require_one_of("si_prefix", si_prefix, SI_PREFIXES)
    return SI_PREFIXES[si_prefix]


class FinalsCallback:
    """A callback that also gets the results of what is measured again at the end.

    The fastest configs are measured again in turns before one of them wins, since the best of many
    measurements was a lucky one. Callbacks that keep records need to know; others are not told.
    Subclasses define `keep`.
    """

    def __call__(
        self, tuner: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]
    ) -> None:
        """Keep a batch."""
        del tuner
        self.keep(inputs, results, supersedes=False)

    def keep(
        self,
        inputs: Sequence[MeasureInput],
        results: Sequence[MeasureResult],
        *,
        supersedes: bool,
    ) -> None:
        """Keep results.

        Args:
            inputs: the configs.
            results: what came of them.
            supersedes: whether what was kept before about these configs no longer counts.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define `keep`")


class log_to_file(FinalsCallback):  # noqa: N801, programs know the name
    """Appends records to a file, from which `autotvm.apply_history_best` gives the fastest.

    Args:
        file_out: the name of the file, or an open text file.
        protocol: ``"json"``.

    Raises:
        ArgumentValueError: for another protocol.
    """

    def __init__(self, file_out: Any, protocol: str = "json") -> None:
        require_json(protocol)
        if not isinstance(file_out, (str, os.PathLike)) and not hasattr(file_out, "write"):
            raise ArgumentError(
                f"log_to_file: expected the name of a file or an open one, got {file_out!r}"
            )
        self.file_out = file_out

    def keep(
        self,
        inputs: Sequence[MeasureInput],
        results: Sequence[MeasureResult],
        *,
        supersedes: bool,
    ) -> None:
        """Append a line for each config."""
        pairs = zip(inputs, results, strict=True)
        lines = [encode(inp, result, supersedes=supersedes) for inp, result in pairs]
        if isinstance(self.file_out, (str, os.PathLike)):
            append(self.file_out, lines)
        else:
            self.file_out.writelines(f"{line}\n" for line in lines)
            self.file_out.flush()


class log_to_database(FinalsCallback):  # noqa: N801, programs know the name
    """Adds records to a database of the tuner.

    Args:
        database: such as ``tilewright.tune.database.JSONDatabase(work_dir="tuned")``.
    """

    def __init__(self, database: Database) -> None:
        if not isinstance(database, Database):
            raise ArgumentError(
                "log_to_database: expected a database such as JSONDatabase(work_dir='tuned') of "
                f"tilewright.tune.database, got {database!r}"
            )
        self.database = database

    def keep(
        self,
        inputs: Sequence[MeasureInput],
        results: Sequence[MeasureResult],
        *,
        supersedes: bool,
    ) -> None:
        """Add a record for each config."""
        self.database.commit_tuning_records(
            to_tuning_record(inp, result, supersedes=supersedes)
            for inp, result in zip(inputs, results, strict=True)
        )


class progress_bar:  # noqa: N801, programs know the name
    """Shows a line with the speed of the last and of the best config, and the number of trials.

    Without it, the table of the tuner is shown, in terminals and notebooks.

    Args:
        total: number of trials.
        prefix: the beginning of the line.
        si_prefix: of the unit, such as ``"G"`` for GFLOPS.
    """

    def __init__(self, total: int, prefix: str = "", si_prefix: str = "G") -> None:
        self.total, self.prefix, self.si_prefix = total, prefix, si_prefix
        self._unit = unit_factor(si_prefix)
        self._start = time.monotonic()
        self._count = 0
        self._best = 0.0

    def __call__(
        self, tuner: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]
    ) -> None:
        """Show the state after a batch."""
        last = 0.0
        for result in results:
            last = tuner.task.flop / result.mean
            self._best = max(self._best, last)
        self._count += len(inputs)
        speeds = f"{last / self._unit:7.2f}/{self._best / self._unit:7.2f} {self.si_prefix}FLOPS"
        seconds = time.monotonic() - self._start
        sys.stdout.write(
            f"\r{self.prefix} Current/Best: {speeds} | Progress: ({self._count}/{self.total}) "
            f"| {seconds:.2f} s"
        )
        sys.stdout.flush()

    def finish(self) -> None:
        """End the line, when the tuner is done."""
        sys.stdout.write(" Done.\n")
        sys.stdout.flush()


class Monitor:
    """Keeps the speed of each config and when it was measured, for curves."""

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.timestamps: list[float] = []

    def __call__(
        self, tuner: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]
    ) -> None:
        """Keep a batch."""
        self.scores += [tuner.task.flop / result.mean for result in results]
        self.timestamps += [result.timestamp for result in results]

    def reset(self) -> None:
        """Forget everything."""
        self.scores, self.timestamps = [], []

    def trial_scores(self) -> list[float]:
        """Operations per second of each config in order, 0 of those that failed."""
        return self.scores

    def trial_timestamps(self) -> list[float]:
        """When each of them was measured, in seconds since 1970."""
        return self.timestamps
