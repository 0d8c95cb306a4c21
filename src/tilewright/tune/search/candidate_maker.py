"""Candidates from traces: applying traces and postprocessors to a program."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence

from tilewright.error import TuningError, TVMError
from tilewright.ir.module import IRModule
from tilewright.ir.structural import structural_hash
from tilewright.tir.schedule import Instruction, Schedule, Trace
from tilewright.tune.candidate import ArgInfo, MeasureCandidate
from tilewright.tune.postproc import Postproc
from tilewright.tune.replay import Replayer
from tilewright.tune.search.sketch import Key, Sketch


class Individual:
    """A sketch with all decisions made.

    Attributes:
        sketch: the sketch.
        trace: its trace with the decisions.
        key: what tells it from others.
        candidate: the program that it makes, without proofs.
        score: what the cost model says of it: the higher, the faster.
        run_secs: the measured times of a run, one per repetition; empty before, and if it failed.
        seconds: the median of them: None before, infinite if it failed.
    """

    __slots__ = ("candidate", "key", "run_secs", "score", "seconds", "sketch", "trace")

    def __init__(self, sketch: Sketch, trace: Trace, candidate: MeasureCandidate) -> None:
        self.sketch = sketch
        self.trace = trace
        self.key: Key = sketch.key(trace)
        self.candidate = candidate
        self.score = -math.inf
        self.run_secs: Sequence[float] = ()
        self.seconds: float | None = None

    def note(self, run_secs: Sequence[float]) -> None:
        """Record the measured times, which are empty if the candidate failed."""
        self.run_secs = [float(seconds) for seconds in run_secs]
        self.seconds = statistics.median(self.run_secs) if self.run_secs else math.inf

    def __repr__(self) -> str:
        return f"Individual({self.key}, score={self.score:.4g}, seconds={self.seconds})"


class CandidateMaker:
    """Applies traces and postprocessors to a program.

    Args:
        mod: the program.
        postprocs: the postprocessors.

    Attributes:
        refusals: number of refused candidates per reason: the schedule primitive that refused, the
            postprocessor, or what a template says.
    """

    def __init__(self, mod: IRModule, postprocs: Sequence[Postproc]) -> None:
        self._args_info = ArgInfo.from_entry_func(mod)
        self._postprocs = list(postprocs)
        self._unchecked = Replayer(mod)
        self._checked = Replayer(mod, checked=True, capacity=64)
        self._hashes: set[int] = set()
        self.refusals: Counter[str] = Counter()

    def make(self, sketch: Sketch, trace: Trace, seed: int) -> Individual | None:
        """The candidate of a trace, to be scored; None if there is none.

        Args:
            sketch: the sketch that it is a trace of.
            trace: the trace.
            seed: of the decisions that it does not have.
        """
        found = self._replayed(self._unchecked, sketch, trace, seed)
        if found is None:
            return None
        decided = Trace(list(found.trace.kept(remove_postproc=True)), found.trace.decisions)
        return Individual(sketch, decided, MeasureCandidate(found, self._args_info))

    def before(self, trace: Trace, inst: Instruction) -> Schedule:
        """The program with what is before `inst` in a trace applied; see `Replayer.before`."""
        return self._unchecked.before(trace, inst)

    def proved(self, individual: Individual) -> MeasureCandidate | None:
        """The candidate, each step proved to keep the meaning of the program.

        None if a step is refused, or if the program equals an earlier one.
        """
        found = self._replayed(self._checked, individual.sketch, individual.trace, 1)
        if found is None:
            return None
        code = structural_hash(found.mod)
        if code in self._hashes:
            self.refusals["the same program as another candidate"] += 1
            return None
        self._hashes.add(code)
        return MeasureCandidate(found, self._args_info)

    def _replayed(
        self, replayer: Replayer, sketch: Sketch, trace: Trace, seed: int
    ) -> Schedule | None:
        try:
            sch = replayer.replay(trace, seed)
            sch.enter_postproc()
        except TVMError as error:
            self.refusals[_reason(error)] += 1
            return None
        for postproc in () if sketch.is_default else self._postprocs:
            if not self._accepts(postproc, sch):
                self.refusals[type(postproc).__name__] += 1
                return None
        return sch

    def _accepts(self, postproc: Postproc, sch: Schedule) -> bool:
        try:
            return bool(postproc.apply(sch))
        except TVMError:
            return False
        except Exception as error:
            raise TuningError(f"{type(postproc).__name__} failed: {error!r}") from error


def _reason(error: TVMError) -> str:
    """By what a refusal is counted."""
    known = (getattr(error, name, "") for name in ("reason", "primitive"))
    return next(filter(None, known), type(error).__name__)
