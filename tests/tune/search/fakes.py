"""Tuning without building and running anything: times are functions of decisions."""

import math

import numpy as np

from tilewright.tune.context import TuneContext
from tilewright.tune.cost_model import CostModel
from tilewright.tune.decision import samplings
from tilewright.tune.measure import RunnerResult
from tilewright.tune.space import ScheduleFn


def tile(sch):
    """A tile of matmul with 4 x 5 x 6 x 3 = 360 candidates."""
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, sch.sample_perfect_tile(i, 2, -1))
    j0, j1 = sch.split(j, sch.sample_perfect_tile(j, 2, -1))
    k0, k1 = sch.split(k, sch.sample_perfect_tile(k, 2, -1))
    sch.reorder(i0, j0, k0, i1, j1, k1)
    steps = sch.sample_categorical([0, 16, 64], [1, 1, 1])
    sch.annotate(sch.get_block("C"), "pragma_auto_unroll_max_step", steps)


RANDOM_TRIALS = (4 * 5 * 6 * 3 + 1) / 2
"""How many random candidates, none of them twice, it takes on average to find the best one."""

BEST = ([4, 2], [2, 8], [3, 4], 1)


def decisions_of(sch):
    return tuple(
        tuple(d) if isinstance(d, list) else d
        for d in (sch.trace.get_decision(inst) for inst in samplings(sch.trace))
    )


def seconds_of(sch):
    """How far the decisions of `tile` are from the best ones."""
    rows, columns, depth, unroll = decisions_of(sch)
    steps = [
        abs(math.log2(mine[1] / best[1]))
        for mine, best in zip((rows, columns, depth), BEST[:3], strict=True)
    ]
    return 1e-3 * (1 + sum(steps) + abs(unroll - BEST[3]))


class Vague(CostModel):
    """Knows the right tiles of rows and columns, and nothing of the rest."""

    def predict(self, context, candidates):
        found = []
        for candidate in candidates:
            rows, columns, _, _ = decisions_of(candidate.sch)
            found.append(-abs(math.log2(rows[1] / 2)) - abs(math.log2(columns[1] / 8)))
        return np.array(found)


class Tuning:
    """A run of a strategy, which ends when a candidate takes no longer than `until`.

    Attributes:
        trials: the schedules in the order in which they were measured.
        seconds: the time of each; infinite for those that failed.
    """

    def __init__(
        self,
        strategy,
        mod,
        space=tile,
        *,
        trials,
        batch=8,
        seed=1,
        cost_model=None,
        database=None,
        seconds=seconds_of,
        fails=lambda sch: False,
        until=0.0,
        **parts,
    ):
        generator = space if not callable(space) else ScheduleFn(space, postprocs=[], **parts)
        self.context = TuneContext(
            mod,
            target="llvm -num-cores=1",
            space_generator=generator,
            search_strategy=strategy,
            rand_state=seed,
        )
        self.trials, self.seconds, self.candidates = [], [], []
        self.context.pre_tuning(trials, batch, None, database, cost_model)
        while (candidates := self.context.generate_measure_candidates()) is not None:
            assert candidates
            assert len(candidates) <= batch
            results = []
            for candidate in candidates:
                self.candidates.append(candidate)
                self.trials.append(candidate.sch)
                failed = fails(candidate.sch)
                time = math.inf if failed else seconds(candidate.sch)
                self.seconds.append(time)
                results.append(
                    RunnerResult(None, "it failed", "run") if failed else RunnerResult([time])
                )
            self.context.notify_runner_results(candidates, results)
            if min(self.seconds) <= until:
                break
        self.refusals = self.context.search_strategy.refusals
        self.context.post_tuning()

    @property
    def decisions(self):
        return [decisions_of(sch) for sch in self.trials]

    def trials_until(self, seconds):
        """How many trials it took to find a candidate that is as fast."""
        return next(n for n, time in enumerate(self.seconds, 1) if time <= seconds)
