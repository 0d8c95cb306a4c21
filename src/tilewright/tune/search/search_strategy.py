"""`SearchStrategy`: which candidates of a space to measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.tir.schedule import Schedule
from tilewright.tune.registry import Registry
from tilewright.tune.task_part import TaskPart

STRATEGIES: Registry[SearchStrategy] = Registry("search strategy")
"""Strategies by name."""


class SearchStrategy(TaskPart):
    """Chooses batches of candidates, and learns what became of them.

    Subclasses define `pre_tuning`, `post_tuning`, `generate_measure_candidates`,
    `notify_runner_results` and `clone`. A tuning run calls::

        strategy.pre_tuning(max_trials, num_trials_per_iter, design_spaces, database, cost_model)
        while (candidates := strategy.generate_measure_candidates()) is not None:
            results = ...  # measured
            strategy.notify_runner_results(candidates, results)
        strategy.post_tuning()
    """

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: Sequence[Schedule],
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        """Begin.

        Args:
            max_trials: how many candidates to measure at most.
            num_trials_per_iter: how many of them at a time.
            design_spaces: the sketches.
            database: what was measured before.
            cost_model: says which candidates are fast before they are measured.
        """
        raise self._undefined("pre_tuning")

    def post_tuning(self) -> None:
        """End."""
        raise self._undefined("post_tuning")

    def generate_measure_candidates(self) -> list[Any] | None:
        """The next candidates; None if there are no more, or if enough were measured."""
        raise self._undefined("generate_measure_candidates")

    def notify_runner_results(self, measure_candidates: Sequence[Any], results: Any) -> None:
        """Learn what became of candidates.

        Args:
            measure_candidates: candidates that `generate_measure_candidates` returned.
            results: the result of each.
        """
        raise self._undefined("notify_runner_results")

    @property
    def refusals(self) -> Mapping[str, int]:
        """How many candidates were not worth or not capable of measuring, by reason."""
        return {}

    def _undefined(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} has to define {method}")

    @staticmethod
    def create(
        kind: str | SearchStrategy = "evolutionary", *args: Any, **kwargs: Any
    ) -> SearchStrategy:
        """A strategy by name.

        Args:
            kind: the name, or a strategy, which is returned as it is.
            *args: arguments of its constructor.
            **kwargs: keyword arguments of its constructor.
        """
        if isinstance(kind, SearchStrategy):
            return kind
        if not isinstance(kind, str):
            raise ArgumentError(
                f"SearchStrategy.create: expected a name or a SearchStrategy, got {kind!r}"
            )
        return STRATEGIES.make(kind, *args, **kwargs)
