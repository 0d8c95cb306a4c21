"""`SearchRun`: what a search knows while it runs."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tilewright.error import ArgumentValueError, RecordError
from tilewright.tir.schedule import Schedule, Trace
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.cost_model import CostModel
from tilewright.tune.database import Database, TuningRecord
from tilewright.tune.database.selection import records_of
from tilewright.tune.measure import RunnerResult
from tilewright.tune.mutator import Mutator
from tilewright.tune.mutator.decisions import MutateDecision
from tilewright.tune.search.candidate_maker import CandidateMaker, Individual
from tilewright.tune.search.sketch import Key, Sketch, SketchBook

if TYPE_CHECKING:
    from tilewright.tune.context import TuneContext


REMEMBERED: Final = 64
"""Number of the fastest candidates of earlier runs that a search starts from."""


class SearchRun:
    """The state of a search from `pre_tuning` to `post_tuning`.

    Args:
        context: the task.
        design_spaces: its sketches.
        cost_model: says which candidates are fast; None for no idea.
        database: what was measured before; None for nothing.

    Attributes:
        book: the sketches.
        random: the source of all random choices.
        maker: makes candidates of traces.
        mutators: ways to change a trace, with weights.
        seen: the candidates that were chosen to be measured, now or before.
        measured: those with results.
        trials: number of candidates that were handed out.
        has_begun: whether a batch was proposed; before that, the default schedule is measured.
    """

    def __init__(
        self,
        context: TuneContext,
        design_spaces: Sequence[Schedule],
        cost_model: CostModel | None,
        database: Database | None,
    ) -> None:
        if context.mod is None:
            raise ArgumentValueError("the task has no program; give TuneContext `mod`")
        self.context = context
        self.random = random.Random(context.rand_state)
        self.cost_model = cost_model
        generator = context.space_generator
        postprocs = getattr(generator, "postprocs", None)
        self.maker = CandidateMaker(context.mod, postprocs if isinstance(postprocs, list) else [])
        self.mutators = _mutators(context)
        self.book = SketchBook(context.default_schedule)
        self._starts = [self.book.add(sch) for sch in design_spaces]
        self.seen: set[Key] = set()
        self.measured: list[Individual] = []
        self.has_begun = False
        self.trials = 0
        self._handed_out: dict[int, Individual] = {}
        records = EarlierRecords(database, context)
        for sketch, trace in records.adopted_by(self.book.sketches):
            self.seen.add(sketch.key(trace))
        remembered: set[Key] = set()
        for sketch, trace, run_secs in records.best:
            key = sketch.key(trace)
            # The best ones of a run are measured again at its end.
            if key not in remembered and len(remembered) < REMEMBERED:
                remembered.add(key)
                self._remember(sketch, trace, run_secs)

    def _remember(self, sketch: Sketch, trace: Trace, run_secs: Sequence[float]) -> None:
        individual = self.maker.make(sketch, trace, self.seed())
        if individual is not None:
            individual.note(run_secs)
            self.measured.append(individual)

    def seed(self) -> int:
        """A seed for a random choice elsewhere."""
        return self.random.getrandbits(31)

    def score(self, individuals: Sequence[Individual]) -> None:
        """Let the cost model say what it expects of candidates."""
        if not individuals:
            return
        if self.cost_model is None:
            scores: Any = [self.random.random() for _ in individuals]
        else:
            candidates = [individual.candidate for individual in individuals]
            scores = np.asarray(self.cost_model.predict(self.context, candidates), float).ravel()
            if len(scores) != len(individuals):
                raise ArgumentValueError(
                    f"{type(self.cost_model).__name__}.predict gave {len(scores)} scores for "
                    f"{len(individuals)} candidates"
                )
            scores = np.nan_to_num(scores, nan=-np.inf, posinf=np.finfo(float).max)
        for individual, score in zip(individuals, scores, strict=True):
            individual.score = float(score)

    def own_decisions(self) -> list[Individual]:
        """The sketches with the decisions that they came with, as far as they are possible."""
        made = [
            self.maker.make(sketch, trace, self.seed())
            for sketch, trace in self._starts
            if sketch.key(trace) not in self.seen
        ]
        return [individual for individual in made if individual is not None]

    def default(self) -> Individual | None:
        """The default schedule, if it is a sketch; also if it was measured in an earlier run."""
        for sketch, trace in self._starts:
            if sketch.is_default:
                return self.maker.make(sketch, trace, self.seed())
        return None

    def random_ones(self, max_fail_count: int) -> Iterator[Individual]:
        """Candidates with random decisions that were not chosen yet.

        Args:
            max_fail_count: number of refused or known candidates in a row after which a sketch
                is left out.
        """
        failures = dict.fromkeys(self.book.sketches, 0)
        while failures and not self.context.is_over():
            sketch = self.random.choice(list(failures))
            individual = self.maker.make(sketch, sketch.undecided, self.seed())
            if individual is not None and individual.key not in self.seen:
                failures[sketch] = 0
                yield individual
                continue
            failures[sketch] += 1
            if failures[sketch] > max_fail_count:
                del failures[sketch]

    def hand_out(self, individual: Individual, candidate: MeasureCandidate) -> MeasureCandidate:
        """Note that a candidate is measured."""
        self._handed_out[id(candidate)] = individual
        # The results are about this object; another one must not get its id.
        individual.candidate = candidate
        self.trials += 1
        return candidate

    def take_in(
        self, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        """Note results."""
        for candidate, result in zip(candidates, results, strict=True):
            individual = self._handed_out.pop(id(candidate), None)
            if individual is not None:
                individual.note(_run_secs(result))
                self.measured.append(individual)

    def best_measured(self, count: int) -> list[Individual]:
        """The fastest candidates that were measured, in this run or an earlier one."""
        ran = [i for i in self.measured if i.seconds is not None and i.seconds < math.inf]
        return sorted(ran, key=lambda individual: individual.seconds or 0.0)[:count]


def _run_secs(result: RunnerResult) -> Sequence[float]:
    if getattr(result, "error_msg", None):
        return ()
    return getattr(result, "run_secs", None) or ()


def _mutators(context: TuneContext) -> list[tuple[Mutator, float]]:
    given = getattr(context.space_generator, "mutator_probs", None)
    if isinstance(given, dict) and given:
        return [(mutator, float(weight)) for mutator, weight in given.items()]
    anything = MutateDecision()
    anything.initialize_with_tune_context(context)
    return [(anything, 1.0)]


class EarlierRecords:
    """The records of a task in a database.

    Args:
        database: the database; None for none.
        context: the task.

    Attributes:
        records: those that are for the target, and of the machine of the task.
        best: sketches, traces and times of those that ran, fastest first; known after
            `adopted_by`.
    """

    def __init__(self, database: Database | None, context: TuneContext) -> None:
        self.records = records_of(database, context.mod, context.target, context.machine)
        self.best: list[tuple[Sketch, Trace, Sequence[float]]] = []

    def adopted_by(self, sketches: Sequence[Sketch]) -> Iterator[tuple[Sketch, Trace]]:
        """The records as traces of sketches; those of other spaces are left out."""
        for record in self.records:
            adopted = _adopted(record, sketches)
            if adopted is not None:
                if record.is_valid:
                    self.best.append((*adopted, record.run_secs or ()))
                yield adopted
        self.best.sort(key=lambda item: fmean(item[2]))


def _adopted(record: TuningRecord, sketches: Sequence[Sketch]) -> tuple[Sketch, Trace] | None:
    """A record as a trace of one of the sketches; None if it is of none, or damaged."""
    with contextlib.suppress(RecordError, TypeError, ValueError, LookupError, AttributeError):
        form = record.trace_json
        for sketch in sketches:
            trace = sketch.adopted(form)
            if trace is not None:
                sketch.key(trace)  # which decisions of another form have not
                return sketch, trace
    return None
