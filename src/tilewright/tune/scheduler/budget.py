"""Limits of tuning runs."""

from __future__ import annotations

import math
import time
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError, require_at_least

ROUNDS: Final = 4
"""Minimum number of batches per task, so that later ones learn from earlier ones."""

FINAL_SHARE: Final = 0.25
"""Maximum part of the time that is kept for the finals."""

FINAL_SECONDS: Final = 8.0
LEAST_FINAL_SECONDS: Final = 1.0
"""Estimate of the duration of the final of a task before the first one, and its minimum later."""

REST: Final = 0.02
"""Part of the time that is too short for trials."""

TRIAL_SECONDS: Final = 0.5
"""Estimate of the time per trial, on which batches depend where time is limited."""

SMALL_BATCH: Final = 8
"""Smaller batches teach a search little."""


class Budget:
    """Limits of a tuning run; see `TuneOptions` for the arguments.

    Attributes:
        reserve: seconds that are kept for the finals.
    """

    def __init__(
        self,
        max_trials_global: int,
        max_trials_per_task: int | None = None,
        num_trials_per_iter: int = 64,
        max_seconds: float | None = None,
        patience: int | None = None,
    ) -> None:
        self.max_trials_global = _positive("max_trials_global", max_trials_global)
        if max_trials_per_task is None:
            max_trials_per_task = max_trials_global
        self.max_trials_per_task = _positive("max_trials_per_task", max_trials_per_task)
        self.num_trials_per_iter = _positive("num_trials_per_iter", num_trials_per_iter)
        self.patience = None if patience is None else _positive("patience", patience)
        if max_seconds is not None and not max_seconds > 0:
            raise ArgumentValueError(f"max_seconds must be more than 0, got {max_seconds!r}")
        self.max_seconds = max_seconds
        self.reserve = 0.0
        self._final_seconds = FINAL_SECONDS
        self.started = time.monotonic()

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self.started

    @property
    def seconds_left(self) -> float:
        """The time until the search has to end; infinity without a limit."""
        if self.max_seconds is None:
            return math.inf
        return self.max_seconds - self.reserve - self.seconds

    @property
    def is_out_of_time(self) -> bool:
        """Whether the search has to end."""
        return self.seconds_left <= 0

    def reserve_for_finals(self, count: int) -> None:
        """Keep time for the finals of `count` tasks."""
        if self.max_seconds is not None:
            self.reserve = min(FINAL_SHARE * self.max_seconds, self._final_seconds * count)

    def begin_finals(self) -> None:
        """Release the reserve."""
        self.reserve = 0.0

    def end_finals(self, count: int, seconds: float) -> None:
        """Learn how long the finals of `count` tasks took."""
        if count:  # the next ones have at most half of the rest
            wanted = max(seconds / count, LEAST_FINAL_SECONDS)
            self._final_seconds = min(wanted, max(self.seconds_left / 2, 0.0))

    @property
    def is_worth_going_on(self) -> bool:
        """Whether time is left after a final for trials and another final."""
        if self.max_seconds is None:
            return False
        return self.seconds_left > self._final_seconds + REST * self.max_seconds

    def batch_size(self, num_tasks: int) -> int:
        """Candidates of a batch.

        Fewer than `num_trials_per_iter` where there are few trials, or little time, so that each
        task gets a batch and most get several.
        """
        trials = self.max_trials_global
        if self.max_seconds is not None:
            trials = min(trials, math.ceil(self.max_seconds / TRIAL_SECONDS))
        share = min(max(1, trials // num_tasks), self.max_trials_per_task)
        wanted = max(math.ceil(share / ROUNDS), min(share, SMALL_BATCH))
        return min(self.num_trials_per_iter, wanted)


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{name} is an integer, got {value!r}")
    require_at_least(name, value, 1)
    return int(value)
