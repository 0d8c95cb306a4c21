"""What the tuner knows about a task while it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tilewright.error import ArgumentValueError
from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.tir.analysis import estimate_tir_flops
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.measure.interfaces import CANCELLED

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext
    from tilewright.tune.measure import BuilderResult, RunnerFuture, RunnerResult


REMEMBERED: Final = 20
"""Number of the fastest candidates that are kept."""


def latency_of(result: RunnerResult) -> float:
    """Seconds per run of a `RunnerResult`; infinity if it failed."""
    if not result.run_secs or result.error_msg is not None:
        return math.inf
    return math.fsum(result.run_secs) / len(result.run_secs)


@dataclass
class Progress:
    """The state of a task after a batch."""

    trials: int
    latency: float


class TaskRecord:
    """A task, its budget and its results so far.

    Attributes:
        ctx: the program and the parts of the tuner that work on it.
        mod: the program.
        target: what it is tuned for.
        task_id: its position among the tasks.
        task_weight: how often the program runs.
        flop: operations of one run; 0 if they cannot be counted.
        trials: candidates that were built, or failed to.
        latency: seconds per run of the best candidate; infinity before there is one.
        fastest: the fastest candidates with their latencies, the best first.
        default: the default schedule as a candidate; None before it was measured.
        default_latency: its seconds per run; infinity before they are known, and if it failed.
        default_build: how building the default schedule went; None before that.
        settled: the best candidate of the last final; None before that.
        verified: candidates that compute what the program computes.
        history: trials and latency after each batch.
        improved_at: `trials` when `latency` became better for the last time.
        failures: candidates that failed.
        refusals: number of rejected candidates per reason; known at the end.
        has_begun: whether its sketches were made, when it was first chosen.
        is_terminated: whether it gets no more trials.
        is_exhausted: whether the search had no more candidates.
        measure_candidates: the batch that is being measured; None between batches.
        builder_results: how its builds went.
        runner_futures: its measurements.
        batch_number: its place among the batches of all tasks.
    """

    def __init__(self, ctx: TuneContext, task_id: int = 0, task_weight: float = 1.0) -> None:
        if ctx.mod is None or ctx.target is None:
            missing = "program" if ctx.mod is None else "target"
            raise ArgumentValueError(f"task {ctx.task_name!r} has no {missing}")
        self.ctx = ctx
        self.mod: IRModule = ctx.mod
        self.target: Target = ctx.target
        self.task_id = task_id
        self.task_weight = task_weight
        try:
            self.flop = estimate_tir_flops(ctx.mod)
        except ArgumentValueError:
            self.flop = 0.0
        self.trials = 0
        self.latency = math.inf
        self.fastest: list[tuple[float, MeasureCandidate]] = []
        self.default: MeasureCandidate | None = None
        self.default_latency = math.inf
        self.default_build: BuilderResult | None = None
        self.settled: MeasureCandidate | None = None
        self.verified: list[MeasureCandidate] = []
        self.history: list[Progress] = []
        self.improved_at = 0
        self.failures = FailureTally()
        self.refusals: dict[str, int] = {}
        self.has_begun = False
        self.is_terminated = False
        self.is_exhausted = False
        self.measure_candidates: list[MeasureCandidate] | None = None
        self.builder_results: list[BuilderResult] | None = None
        self.runner_futures: list[RunnerFuture] | None = None
        self.batch_number = 0

    @property
    def name(self) -> str:
        """What records call the task."""
        return self.ctx.task_name

    @property
    def title(self) -> str:
        """What tables call the task."""
        return self.ctx.title

    @property
    def gflops(self) -> float | None:
        """Speed of the best candidate; None if it is not known."""
        return self.flop / self.latency / 1e9 if self.flop and self.is_measured else None

    @property
    def is_estimated(self) -> bool:
        """Whether candidates are estimated, because the device is missing."""
        return "estimate" in (self.ctx.machine or ())

    @property
    def is_measured(self) -> bool:
        """Whether there is a candidate that ran."""
        return math.isfinite(self.latency)

    @property
    def is_settled(self) -> bool:
        """Whether the best candidate has won a final."""
        return not self.fastest or self.fastest[0][1] is self.settled

    def is_verified(self, candidate: MeasureCandidate) -> bool:
        """Whether a candidate is one of those that compute what the program computes."""
        return any(known is candidate for known in self.verified)

    @property
    def is_running(self) -> bool:
        """Whether a batch is being measured."""
        return self.runner_futures is not None

    def describe_failures(self) -> str:
        """Why there is no candidate that ran."""
        name = f"task #{self.task_id} {self.title!r}"
        if self.trials:
            return f"all {self.trials} candidates of {name} failed:\n{self.failures.describe()}"
        counts = sorted(self.refusals.items(), key=lambda item: (-item[1], item[0]))
        refused = ", ".join(f"{count} by {reason}" for reason, count in counts)
        return f"{name} has no candidate" + (f"; refused were {refused}" if refused else "")

    def begin_batch(
        self,
        candidates: Sequence[MeasureCandidate],
        builder_results: list[BuilderResult],
        futures: list[RunnerFuture],
    ) -> None:
        """A batch is measured; the lists are filled while that goes on."""
        self.measure_candidates = list(candidates)
        self.builder_results, self.runner_futures = builder_results, futures

    def end_batch(self, results: Sequence[RunnerResult]) -> None:
        """The batch was measured: count its trials and note the best."""
        for candidate, result in zip(self.measure_candidates or (), results, strict=True):
            self._count(candidate, result)
        self.replace([])
        self.history.append(Progress(self.trials, self.latency))
        self.measure_candidates = self.builder_results = self.runner_futures = None

    def _count(self, candidate: MeasureCandidate, result: RunnerResult) -> None:
        if result.error_kind == CANCELLED:
            return
        self.trials += 1
        latency = latency_of(result)
        if candidate.is_default:
            self.default, self.default_latency = candidate, latency
        if math.isinf(latency):
            self.failures.add(result.error_kind, result.error_msg)
            return
        self.fastest.append((latency, candidate))
        if latency < self.latency:
            self.latency, self.improved_at = latency, self.trials

    def note_default(
        self, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Take in the default schedule, if it is one of candidates that were measured before."""
        for candidate, result in zip(candidates, results, strict=True):
            if candidate.is_default and self.default is None:
                self.replace([(latency_of(result), candidate)])

    def replace(self, latencies: Sequence[tuple[float, MeasureCandidate]]) -> None:
        """Take in the latencies of candidates; those that were known of them are forgotten."""
        for latency, candidate in latencies:
            if candidate.is_default:
                self.default, self.default_latency = candidate, latency
        renewed = {id(candidate) for _, candidate in latencies}
        kept = [(latency, c) for latency, c in self.fastest if id(c) not in renewed]
        valid = [item for item in latencies if math.isfinite(item[0])]
        # Of equally fast ones, the default schedule is the first.
        ordered = sorted([*kept, *valid], key=lambda item: (item[0], not item[1].is_default))
        self.fastest = ordered[:REMEMBERED]
        self.latency = self.fastest[0][0] if self.fastest else math.inf


EXAMPLE_LINES: Final = 12
"""How much of an error message is shown."""


class FailureTally:
    """Number of failed candidates per reason, with an example of each."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, str] = {}

    def add(self, kind: str | None, message: str | None) -> None:
        """Count a candidate that failed."""
        reason = kind or "unknown"
        self.counts[reason] = self.counts.get(reason, 0) + 1
        self.examples.setdefault(reason, (message or "").strip())

    @property
    def total(self) -> int:
        """Number of failed candidates."""
        return sum(self.counts.values())

    def by_count(self) -> list[tuple[str, int]]:
        """Reasons and their counts, the most frequent first."""
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))

    def __str__(self) -> str:
        """The reasons in one line: ``12 timeout, 3 build``."""
        return ", ".join(f"{count} {reason}" for reason, count in self.by_count())

    def describe(self) -> str:
        """Every reason with its count and the message of the first candidate."""
        parts = []
        for reason, count in self.by_count():
            lines = self.examples[reason].splitlines() or ["(no message)"]
            if len(lines) > EXAMPLE_LINES:
                half = EXAMPLE_LINES // 2
                lines = [*lines[:half], "...", *lines[-half:]]
            example = "\n".join(f"    {line}" for line in lines)
            parts.append(f"  {count} x {reason}, for example:\n{example}")
        return "\n".join(parts)
