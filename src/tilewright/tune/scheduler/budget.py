"""How much may be spent on tuning."""

from __future__ import annotations

import math
import time
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError

ROUNDS: Final = 4
"""In how many batches the trials of a task are spent at least, so that later ones learn."""

FINAL_SHARE: Final = 0.25
"""The part of the time, at most, that is kept for the finals."""

FINAL_SECONDS: Final = 8.0
"""How long the final of a task takes, about."""

SMALL_BATCH: Final = 8
"""Smaller batches teach a search little."""


class Budget:
    """Limits of a tuning run.

    Args:
        max_trials_global: candidates of all tasks.
        max_trials_per_task: candidates of each; None for no limit of its own.
        num_trials_per_iter: candidates of a batch, at most.
        max_seconds: time, of everything; None for no limit.
        patience: a task is done after so many trials in which it became no better; None to go on.
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
        self.started = time.monotonic()

    def start(self) -> None:
        """Time counts from now."""
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

    def reserve_for_finals(self, num_tasks: int) -> None:
        """Keep a part of the time for measuring the best candidates of each task again."""
        if self.max_seconds is not None:
            self.reserve = min(FINAL_SHARE * self.max_seconds, FINAL_SECONDS * num_tasks)

    def begin_finals(self) -> None:
        """What was kept may be spent."""
        self.reserve = 0.0

    def batch_size(self, num_tasks: int) -> int:
        """Candidates of a batch.

        Fewer than `num_trials_per_iter` where there are few trials, so that each task gets a batch
        and most get several.
        """
        share = max(1, self.max_trials_global // num_tasks)
        share = min(share, self.max_trials_per_task)
        wanted = max(math.ceil(share / ROUNDS), min(share, SMALL_BATCH))
        return min(self.num_trials_per_iter, wanted)


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{name} is an integer, got {value!r}")
    if value < 1:
        raise ArgumentValueError(f"{name} must be at least 1, got {value}")
    return int(value)
