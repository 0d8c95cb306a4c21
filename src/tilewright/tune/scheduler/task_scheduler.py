"""Which task gets the next trials, and the loop that spends them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError, TuningError
from tilewright.processes.interrupts import Interrupts, deferred
from tilewright.tune.callback import MeasureCallback, RemoveBuildArtifact, remove_artifacts
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.context import TuneContext
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database
from tilewright.tune.measure import Builder, BuilderResult, Runner, RunnerResult
from tilewright.tune.measure.interfaces import CANCELLED
from tilewright.tune.parts import Registry
from tilewright.tune.progress.log import TuningObserver
from tilewright.tune.progress.profiler import Profiler
from tilewright.tune.scheduler.budget import Budget
from tilewright.tune.scheduler.finalists import measure_finalists
from tilewright.tune.scheduler.known_trials import KnownTrials
from tilewright.tune.scheduler.measuring import Measuring
from tilewright.tune.scheduler.task_record import TaskRecord

SCHEDULERS: Final = Registry["TaskScheduler"]("task scheduler")
"""Task schedulers by name."""

HOPELESS_BATCHES: Final = 2
"""Number of batches without a candidate that ran, after which a task is given up."""


class TaskScheduler:
    """Shares trials among tasks; subclasses define `next_task_id`.

    Attributes:
        tasks: what is tuned, one `TaskRecord` each.
        measure_callbacks: what happens after each batch.
        database: where the results go.
        cost_model: what the search asks; None for nothing.
        remaining_tasks: number of tasks that are not done.
        was_interrupted: whether the user stopped the run.
    """

    tasks: list[TaskRecord]
    measure_callbacks: list[MeasureCallback]
    database: Database | None = None
    cost_model: CostModel | None = None
    was_interrupted = False
    budget: Budget
    _observers: Sequence[TuningObserver] = ()

    def next_task_id(self) -> int:
        """The task that gets the next batch of trials, or -1 when all tasks are done.

        The batch of that task before must have been joined, see `join_running_task`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define `next_task_id`")

    def tune(
        self,
        tasks: Sequence[TuneContext],
        task_weights: Sequence[float],
        max_trials_global: int,
        max_trials_per_task: int | None,
        num_trials_per_iter: int,
        builder: Builder,
        runner: Runner,
        measure_callbacks: Sequence[MeasureCallback] = (),
        database: Database | None = None,
        cost_model: CostModel | None = None,
        *,
        max_seconds: float | None = None,
        patience: int | None = None,
        observers: Sequence[TuningObserver] = (),
    ) -> None:
        """Spend trials on tasks until the budget is used up or all are done.

        An interrupt (Ctrl-C) ends the run like a budget that is used up: what was measured so far
        is kept, and `was_interrupted` is set. It is raised again if nothing was measured at all,
        now or in an earlier run that the database knows. A second interrupt is raised at once.

        Args:
            tasks: programs to tune.
            task_weights: how often each one runs.
            max_trials_global: see `TuneOptions`, as for all of the following.
            max_trials_per_task: see there.
            num_trials_per_iter: see there.
            builder: compiles candidates.
            runner: times candidates.
            measure_callbacks: called after each batch.
            database: gets the results, and has those of earlier runs.
            cost_model: scores candidates for the search.
            max_seconds: maximum duration, the final measurements included.
            patience: see `TuneOptions`.
            observers: told about events.

        Raises:
            TuningError: if not a single candidate of any task ran.
        """
        self.budget = Budget(
            max_trials_global, max_trials_per_task, num_trials_per_iter, max_seconds, patience
        )
        self.tasks = _task_records(tasks, task_weights)
        self.measure_callbacks = list(measure_callbacks)
        self.database, self.cost_model = database, cost_model
        self._observers = observers
        self._measuring = Measuring(builder, runner, lambda: self.budget.seconds_left)
        self._known: dict[int, KnownTrials] = {}
        self._batches = 0
        self.was_interrupted = False
        try:
            for observer in observers:
                observer.begin(self)
            with Interrupts() as interrupts:
                try:
                    self._spend_budget(interrupts)
                except KeyboardInterrupt:
                    interrupts.settle()
                    self._abandon_batches()
                    if not self._has_results():
                        raise
                reason = "interrupted" if self.was_interrupted else "the budget is used up"
                for task in self.tasks:
                    self.terminate_task(task.task_id, reason)
        finally:
            for observer in observers:
                observer.end(self)
        self._complain()

    # --- names of old programs ------------------------------------------------------------------

    tasks_ = property(lambda self: self.tasks)
    measure_callbacks_ = property(lambda self: self.measure_callbacks)
    database_ = property(lambda self: self.database)
    cost_model_ = property(lambda self: self.cost_model)
    remaining_tasks_ = property(lambda self: self.remaining_tasks)

    # --- for subclasses -------------------------------------------------------------------------

    @property
    def remaining_tasks(self) -> int:
        """Number of tasks that are not done."""
        return sum(not task.is_terminated for task in self.tasks)

    @property
    def is_on_fleet(self) -> bool:
        """Whether batches of several tasks run at the same time."""
        return self._measuring.runner.concurrency > 1

    @property
    def has_room(self) -> bool:
        """Whether the runner could do with more candidates than are on the way."""
        return self._measuring.has_room([task for task in self.tasks if task.is_running])

    def touch_task(self, task_id: int) -> None:
        """Take in the results of a task if all of them have arrived; does not wait."""
        task = self.tasks[task_id]
        if task.runner_futures is not None and all(f.done() for f in task.runner_futures):
            self.join_running_task(task_id)

    def join_running_task(self, task_id: int) -> list[RunnerResult]:
        """Wait for the batch of a task and take in its results; these are returned."""
        task = self.tasks[task_id]
        if task.runner_futures is None:
            return []
        results = self._measuring.wait(
            task.runner_futures, lambda result: self._tell("measured", task, result)
        )
        return self._take_in(task, results)

    def wait_for_oldest_task(self) -> None:
        """Wait for a result of the batch that was begun first; take in the batch if it is done."""
        running = [task for task in self.tasks if task.is_running]
        if running:
            oldest = min(running, key=lambda task: task.batch_number)
            self._measuring.wait_for_one(oldest.runner_futures or ())
            if self._measuring.is_over:
                self.join_running_task(oldest.task_id)
            self.touch_task(oldest.task_id)

    def terminate_task(self, task_id: int, reason: str = "it is done") -> None:
        """Spend no more trials on a task."""
        task = self.tasks[task_id]
        if not task.is_terminated:
            task.is_terminated = True
            strategy = task.ctx.search_strategy
            task.refusals = dict(strategy.refusals) if strategy is not None else {}
            task.ctx.post_tuning()
            self._tell("task_ends", task, reason)

    def print_tuning_statistics(self) -> None:
        """Print the table of the tasks."""
        from tilewright.tune.progress.log import statistics_table

        print(statistics_table(self.tasks))

    # --- the loop -------------------------------------------------------------------------------

    def _spend_budget(self, interrupts: Interrupts) -> None:
        """Spend trials, measure the best candidates again, and go on while there is time."""
        while True:
            before = sum(task.trials for task in self.tasks)
            self._spend_trials(interrupts)
            self.budget.begin_finals()
            start = self.budget.seconds
            with Profiler.timeit("MeasureFinalists"):
                count = measure_finalists(self._measuring, self, self._known)
            interrupts.check()
            self.budget.end_finals(count, self.budget.seconds - start)
            is_stuck = sum(task.trials for task in self.tasks) == before
            if is_stuck or not self.budget.is_worth_going_on:
                return

    def _spend_trials(self, interrupts: Interrupts) -> None:
        while self._trials_left() > 0:
            self.budget.reserve_for_finals(sum(not task.is_settled for task in self.tasks) or 1)
            if self.budget.is_out_of_time:
                break
            task_id = self.next_task_id()
            if task_id < 0:
                break
            task = self.tasks[task_id]
            if task.is_running or task.is_terminated:
                raise ArgumentValueError(
                    f"{type(self).__name__}.next_task_id chose task #{task_id}, which is "
                    + ("done" if task.is_terminated else "running; join_running_task comes first")
                )
            if self.budget.is_out_of_time or self._trials_left() <= 0:
                break
            if not task.has_begun:  # sketches take long: the first tasks are measured meanwhile
                with Profiler.timeit("InitializeTasks"):
                    self._begin_task(task)
                interrupts.check()
            self._begin_batch(task)
            interrupts.check()
        for task in self.tasks:
            self.join_running_task(task.task_id)
            interrupts.check()

    def _begin_task(self, task: TaskRecord) -> None:
        task.has_begun = True
        ctx = task.ctx
        ctx.is_over = lambda: self._measuring.is_over
        ctx.machine = self._measuring.runner.machine(task.target)
        spaces = ctx.generate_design_space()
        if not spaces:
            raise TuningError(f"task {task.name!r}: the space generator made no sketch at all")
        known = KnownTrials(task, self.database) if self.database is not None else None
        if known is not None and len(known):
            self._known[task.task_id] = known
            task.replace(known.take_fastest())
            candidates, results = known.valid()
            if self.cost_model is not None and candidates and not task.is_estimated:
                self.cost_model.update(ctx, candidates, results)
        ctx.pre_tuning(
            self.budget.max_trials_per_task + (len(known) if known is not None else 0),
            self.budget.batch_size(len(self.tasks)),
            spaces,
            self.database,
            self.cost_model,
        )
        self._measuring.expect(task)
        self._tell("task_begins", task, spaces)

    def _begin_batch(self, task: TaskRecord) -> None:
        self._tell("task_picked", task)
        with Profiler.timeit("GenerateCandidates"):
            candidates = self._next_candidates(task)
        if self.budget.is_out_of_time:
            return
        if candidates is None:
            task.is_exhausted = True
            self.terminate_task(task.task_id, "there are no more candidates")
            return
        self._tell("sending", task, len(candidates), "builder")
        task.batch_number = self._batches = self._batches + 1
        self._measuring.begin_batch(
            task, candidates, lambda build: self._tell("built", task, build)
        )
        built = sum(build.artifact_path is not None for build in task.builder_results or ())
        self._tell("sending", task, built, "runner")
        if not self._measuring.overlaps(task):
            self.join_running_task(task.task_id)

    def _next_candidates(self, task: TaskRecord) -> list[MeasureCandidate] | None:
        """New candidates of a task, as many as the budget has; None if there are no more."""
        known = self._known.get(task.task_id)
        left = min(self._trials_left(), self.budget.max_trials_per_task - task.trials)
        while not self.budget.is_out_of_time:
            candidates = task.ctx.generate_measure_candidates()
            if not candidates:
                return None
            if known is not None:
                candidates, old, results = known.split(candidates)
                task.note_default(old, results)
                if old:
                    task.ctx.notify_runner_results(old, results)
            if candidates:
                return candidates[:left]
        return None

    def _trials_left(self) -> int:
        running = sum(len(task.measure_candidates or ()) for task in self.tasks)
        spent = sum(task.trials for task in self.tasks)
        return self.budget.max_trials_global - spent - running

    def _take_in(self, task: TaskRecord, results: list[RunnerResult]) -> list[RunnerResult]:
        candidates, builds = task.measure_candidates or [], task.builder_results or []
        results = self._measuring.check(task, candidates, builds, results, task.latency)
        kept = [i for i, result in enumerate(results) if result.error_kind != CANCELLED]
        measured = [candidates[i] for i in kept], [builds[i] for i in kept]
        outcome = [results[i] for i in kept]
        with deferred():  # a batch counts as a whole
            task.end_batch(results)
            self._remove_cancelled(builds, results)
            if kept:
                with Profiler.timeit("ApplyMeasureCallbacks"):
                    for callback in self.measure_callbacks:
                        callback.apply(self, task.task_id, *measured, outcome)
                with Profiler.timeit("NotifyRunnerResults"):
                    task.ctx.notify_runner_results(measured[0], outcome)
            self._tell("batch_ends", task)
            self._terminate_if_done(task)
        return results

    def _remove_cancelled(
        self, builds: Sequence[BuilderResult], results: Sequence[RunnerResult]
    ) -> None:
        """Delete the files of candidates that nobody waits for; a runner is soon done with them."""
        if any(isinstance(callback, RemoveBuildArtifact) for callback in self.measure_callbacks):
            pairs = zip(builds, results, strict=True)
            remove_artifacts(build for build, r in pairs if r.error_kind == CANCELLED)

    def _terminate_if_done(self, task: TaskRecord) -> None:
        patience = self.budget.patience
        if task.trials >= self.budget.max_trials_per_task:
            self.terminate_task(task.task_id, "its trials are used up")
        elif not task.is_measured and len(task.history) >= HOPELESS_BATCHES:
            self.terminate_task(task.task_id, "no candidate ran")
        elif patience is not None and task.trials - task.improved_at >= patience:
            self.terminate_task(task.task_id, f"no gain in {patience} trials")

    # --- the end --------------------------------------------------------------------------------

    def _abandon_batches(self) -> None:
        """After an interrupt: take in what is there, cancel the rest."""
        self.was_interrupted = True
        self._measuring.is_abandoned = True
        for task in self.tasks:
            self.join_running_task(task.task_id)

    def _has_results(self) -> bool:
        """Whether anything was measured, now or in an earlier run."""
        database = self.database
        return any(
            task.trials
            or (database is not None and database.query_tuning_record(task.mod, task.target))
            for task in self.tasks
        )

    def _complain(self) -> None:
        """Raise if nothing ran; tasks that failed beside others that did not are only logged."""
        tried = [task for task in self.tasks if task.trials or task.is_exhausted]
        failed = [task for task in tried if not task.is_measured]
        if not failed:
            return
        messages = [task.describe_failures() for task in failed]
        if len(failed) == len(tried):
            raise TuningError("\n".join(messages))
        self._tell("failed", messages)

    def _tell(self, event: str, *args: Any) -> None:
        for observer in self._observers:
            getattr(observer, event)(*args)

    @staticmethod
    def create(kind: TaskScheduler | str = "gradient", *args: Any, **kwargs: Any) -> TaskScheduler:
        """A scheduler by name.

        Args:
            kind: ``"gradient"``, ``"round-robin"``, or a scheduler, which is returned as it is.
            *args: arguments of its constructor.
            **kwargs: keyword arguments of its constructor.
        """
        if isinstance(kind, TaskScheduler):
            return kind
        if not isinstance(kind, str):
            raise ArgumentError(f"expected a task scheduler or its name, got {kind!r}")
        return SCHEDULERS.make(kind, *args, **kwargs)


def _task_records(tasks: Sequence[TuneContext], weights: Sequence[float]) -> list[TaskRecord]:
    if not tasks:
        raise ArgumentValueError("there are no tasks to tune")
    if len(tasks) != len(weights):
        raise ArgumentValueError(f"there are {len(tasks)} tasks, but {len(weights)} task_weights")
    for weight in weights:
        if not 0 <= weight < math.inf:
            raise ArgumentValueError(f"task_weights are 0 or more, got {weight!r}")
    return [
        TaskRecord(ctx, task_id, float(weight))
        for task_id, (ctx, weight) in enumerate(zip(tasks, weights, strict=True))
    ]
