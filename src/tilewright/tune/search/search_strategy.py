"""Search strategies: which candidates of a space are measured."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from tilewright.error import ArgumentError, ArgumentValueError, TuningError
from tilewright.garbage import few_collections
from tilewright.tir.schedule import Schedule
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database
from tilewright.tune.measure import RunnerResult
from tilewright.tune.parts import Registry, TaskPart
from tilewright.tune.search.candidate_maker import Individual
from tilewright.tune.search.search_run import SearchRun

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext


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
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin.

        Args:
            max_trials: maximum number of measured candidates.
            num_trials_per_iter: maximum number per batch.
            design_spaces: the sketches.
            database: what was measured before.
            cost_model: says which candidates are fast before they are measured.
        """
        raise self._undefined("pre_tuning")

    def post_tuning(self) -> None:
        """End."""
        raise self._undefined("post_tuning")

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The next candidates; None if there are no more, or if enough were measured."""
        raise self._undefined("generate_measure_candidates")

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Learn what became of candidates.

        Args:
            measure_candidates: candidates that `generate_measure_candidates` returned.
            results: the result of each.
        """
        raise self._undefined("notify_runner_results")

    @property
    def refusals(self) -> Mapping[str, int]:
        """Number of rejected candidates per reason."""
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


REFUSED_AT_MOST: Final = 100
REFUSED_PER_TRIAL: Final = 10
"""Number of scored candidates that are refused by a proof, after which a batch ends."""


class TraceSearch(SearchStrategy):
    """A strategy that proposes candidates one after the other.

    Subclasses define `proposals`. What they propose is made again with proofs before it is handed
    out. Candidates that are refused, and those that were measured before, cost no trial. The first
    batch is the default schedule alone, if that is one of the sketches: what others are compared
    with, and what is there if time is up.
    """

    _context: TuneContext | None = None
    _run: SearchRun | None = None
    _max_trials = 0
    _batch = 0

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take the task."""
        self._context = context
        self._run = None

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: Sequence[Schedule],
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin; see `SearchStrategy`."""
        if self._context is None:
            raise TuningError(f"{type(self).__name__} belongs to no TuneContext")
        if max_trials < 0 or num_trials_per_iter < 1:
            raise ArgumentValueError(
                "pre_tuning: max_trials is not negative and num_trials_per_iter at least 1; got "
                f"{max_trials} and {num_trials_per_iter}"
            )
        if not design_spaces:
            raise TuningError(f"the space of the task {self._context.task_name!r} has no sketches")
        self._max_trials, self._batch = max_trials, num_trials_per_iter
        self._run = SearchRun(self._context, design_spaces, cost_model, database)
        self.begin(self._run)

    def post_tuning(self) -> None:
        """End; forgets what is only needed for searching."""
        self._run = None

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The next candidates; None if there are no more, or if enough were measured."""
        with few_collections():
            run = self.run
            first = None if run.trials or run.has_begun else self._default(run)
            if first is not None:
                return [first]
            batch = self._next_batch(run)
            run.has_begun = True
            return batch

    def _default(self, run: SearchRun) -> MeasureCandidate | None:
        """The default schedule as a candidate; None if it is not a sketch."""
        individual = run.default() if self._max_trials else None
        candidate = None if individual is None else run.maker.proved(individual)
        if individual is None or candidate is None:
            return None
        candidate.is_default = True
        run.seen.add(individual.key)
        return run.hand_out(individual, candidate)

    def _next_batch(self, run: SearchRun) -> list[MeasureCandidate] | None:
        count = min(self._batch, self._max_trials - run.trials)
        batch: list[Any] = []
        refused = 0
        proposals = self.proposals(run, count) if count > 0 else iter(())
        is_over = run.context.is_over
        while (
            not is_over()
            and len(batch) < count
            and refused < REFUSED_AT_MOST + REFUSED_PER_TRIAL * count
        ):
            individual = next(proposals, None)
            if individual is None:
                break
            if individual.key in run.seen:
                continue
            run.seen.add(individual.key)
            candidate = run.maker.proved(individual)
            if candidate is None:
                refused += 1
            else:
                batch.append(run.hand_out(individual, candidate))
        if run.maker.refusals:
            self._note_refusals(run)
        return batch or None

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Learn what became of candidates; see `SearchStrategy`."""
        self.run.take_in(measure_candidates, results)

    def begin(self, run: SearchRun) -> None:
        """Prepare a run; for subclasses."""

    def proposals(self, run: SearchRun, count: int) -> Iterator[Individual]:
        """Candidates in the order in which they should be measured; for subclasses.

        Some may be refused or known already, so there should be more than `count`. It is asked for
        no more than are needed.

        Args:
            run: what is known.
            count: number of wanted candidates.
        """
        raise self._undefined("proposals")

    @property
    def run(self) -> SearchRun:
        """What is known of the run."""
        if self._run is None:
            raise TuningError(f"{type(self).__name__}: call pre_tuning first")
        return self._run

    @property
    def refusals(self) -> dict[str, int]:
        """Number of candidates that were refused in this run, per reason."""
        return {} if self._run is None else dict(self._run.maker.refusals)

    def clone(self) -> SearchStrategy:
        """A strategy with the same options that searches nothing yet."""
        other = copy.copy(self)
        other._run = other._context = None
        return other

    def _note_refusals(self, run: SearchRun) -> None:
        counts = run.maker.refusals.most_common()
        run.context.logger.debug(
            "%s: refused so far: %s",
            run.context.task_name,
            ", ".join(f"{count} by {reason}" for reason, count in counts),
        )
