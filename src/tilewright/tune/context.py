"""`TuneContext`: one tuning task and the parts that work on it."""

from __future__ import annotations

import functools
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tilewright.error import ArgumentValueError
from tilewright.ir.module import IRModule
from tilewright.ir.recursion import pass_on_recursion_error
from tilewright.schedule_rules.default import default_schedule
from tilewright.target import Target
from tilewright.target.cpu import core_count
from tilewright.target.kinds import KERNEL_KINDS
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import Schedule
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database
from tilewright.tune.measure import RunnerResult
from tilewright.tune.search import SearchStrategy
from tilewright.tune.space import SpaceGenerator
from tilewright.tune.workload import normalized

SCHEDULED_KINDS: Final = ("llvm", "c", *KERNEL_KINDS)
"""Kinds of targets with a default schedule."""


class TuneContext:
    """A program to tune, its target, and how it is tuned.

    Args:
        mod: the program: a module, or a function. A single function is called ``main`` in `mod`.
        target: what to tune it for; by default the current target, if there is one.
        space_generator: makes the sketches: a `SpaceGenerator`, its name, or a function of a
            schedule.
        search_strategy: chooses candidates: a `SearchStrategy` or its name.
        task_name: what records call the task.
        rand_state: the seed of all random choices; -1 for another one every time.
        num_threads: number of threads or processes of the search; ``"physical"`` or
            ``"logical"`` for the cores of this machine.
        logger: gets the messages about this task.
        title: what tables call the task; by default its name.

    Attributes:
        is_over: whether the time of the search is up, so that no more candidates are wanted.
        machine: where candidates run, as `TuningRecord.machine` says it; None for this machine.
    """

    is_over: Callable[[], bool] = staticmethod(lambda: False)
    machine: Mapping[str, Any] | None = None

    def __init__(
        self,
        mod: IRModule | PrimFunc | None = None,
        *,
        target: Target | str | dict[str, Any] | None = None,
        space_generator: SpaceGenerator | Callable[[Schedule], Any] | str | None = None,
        search_strategy: SearchStrategy | str | None = None,
        task_name: str = "main",
        rand_state: int = -1,
        num_threads: int | str = "physical",
        logger: logging.Logger | None = None,
        title: str = "",
    ) -> None:
        self.mod = None if mod is None else normalized(mod)
        self.target = Target.current() if target is None else Target(target)
        self.task_name, self.title = task_name, title or task_name
        self.rand_state = _seed(rand_state)
        self.num_threads = _thread_count(num_threads)
        self.logger = logger or logging.getLogger(__name__)
        self.space_generator = None
        if space_generator is not None:
            self.space_generator = SpaceGenerator.create(space_generator)
        self.search_strategy = None
        if search_strategy is not None:
            self.search_strategy = SearchStrategy.create(search_strategy)
        self.initialize()

    def initialize(self) -> None:
        """Give the task to its parts."""
        if self.space_generator is not None:
            self.space_generator.initialize_with_tune_context(self)
        if self.search_strategy is not None:
            self.search_strategy.initialize_with_tune_context(self)

    @functools.cached_property
    def default_schedule(self) -> Schedule | None:
        """The default schedule of the program; None for targets that have none."""
        if self.mod is None or self.target is None or self.target.kind.name not in SCHEDULED_KINDS:
            return None
        try:
            return default_schedule(self.mod, self.target)
        except Exception as error:  # it is built as it is written, then
            pass_on_recursion_error(error)
            self.logger.warning("%s: no default schedule: %s", self.task_name, error)
            return None

    def generate_design_space(self) -> list[Schedule]:
        """The sketches for the program."""
        if self.mod is None:
            raise ArgumentValueError("TuneContext: there is no program; give `mod`")
        return self._space_generator.generate_design_space(self.mod)

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int = 64,
        design_spaces: Sequence[Schedule] | None = None,
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin to search.

        Args:
            max_trials: maximum number of measured candidates.
            num_trials_per_iter: maximum number per batch.
            design_spaces: the sketches; by default those of the space generator.
            database: what was measured before.
            cost_model: says which candidates are fast before they are measured.
        """
        if design_spaces is None:
            design_spaces = self.generate_design_space()
        self._strategy.pre_tuning(
            max_trials, num_trials_per_iter, design_spaces, database, cost_model
        )

    def post_tuning(self) -> None:
        """End the search."""
        self._strategy.post_tuning()

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The next candidates to measure; None if there are no more."""
        return self._strategy.generate_measure_candidates()

    def notify_runner_results(
        self, measure_candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Tell the search what became of candidates.

        Args:
            measure_candidates: the candidates.
            results: the result of each.
        """
        self._strategy.notify_runner_results(measure_candidates, results)

    def clone(self) -> TuneContext:
        """A copy of the task, with its own copies of the parts."""
        generator, strategy = self.space_generator, self.search_strategy
        return TuneContext(
            self.mod,
            target=self.target,
            space_generator=None if generator is None else generator.clone(),
            search_strategy=None if strategy is None else strategy.clone(),
            task_name=self.task_name,
            rand_state=self.rand_state,
            num_threads=self.num_threads,
            logger=self.logger,
            title=self.title,
        )

    @property
    def _space_generator(self) -> SpaceGenerator:
        if self.space_generator is None:
            raise ArgumentValueError("TuneContext: give `space_generator` to make sketches")
        return self.space_generator

    @property
    def _strategy(self) -> SearchStrategy:
        if self.search_strategy is None:
            raise ArgumentValueError("TuneContext: give `search_strategy` to search")
        return self.search_strategy


def _seed(rand_state: Any) -> int:
    if isinstance(rand_state, bool) or not isinstance(rand_state, int) or rand_state < -1:
        raise ArgumentValueError(
            f"TuneContext: rand_state is a number of 0 or more, or -1; got {rand_state!r}"
        )
    return secrets.randbits(31) if rand_state == -1 else rand_state


def _thread_count(num_threads: Any) -> int:
    if num_threads in ("physical", "logical"):
        return core_count()
    if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
        raise ArgumentValueError(
            f'TuneContext: num_threads is "physical", "logical" or at least 1, got {num_threads!r}'
        )
    return num_threads
