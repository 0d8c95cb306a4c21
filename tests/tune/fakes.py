"""Parts of a tuner that decide nothing, build nothing and run nothing, for tests of the rest."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tilewright.script import from_source
from tilewright.tir.schedule import Schedule
from tilewright.tune.candidate import ArgInfo, MeasureCandidate
from tilewright.tune.context import TuneContext
from tilewright.tune.measure import (
    Builder,
    BuilderResult,
    Runner,
    RunnerFuture,
    RunnerResult,
)
from tilewright.tune.search import SearchStrategy
from tilewright.tune.space import SpaceGenerator

PROGRAM = """
@T.prim_func
def main(A: T.Buffer(({n},), "float32"), C: T.Buffer(({n},), "float32")):
    for i in range({n}):
        with T.block("C"):
            v = T.axis.spatial({n}, i)
            C[v] = A[v] * 2.0 + 1.0
"""


class OneSketch(SpaceGenerator):
    """The program as it is."""

    def generate_design_space(self, mod):
        return [Schedule(mod)]


class Count(SearchStrategy):
    """Candidates that split the loop by 1, 2, 3, ..., up to `available` of them."""

    def __init__(self, available=1000):
        self.available = available
        self.next = 1
        self.seen = []
        self.began = self.ended = None

    def initialize_with_tune_context(self, context):
        self.mod = context.mod

    def pre_tuning(self, max_trials, num_trials_per_iter, design_spaces, database, cost_model):
        self.began = (max_trials, num_trials_per_iter)
        self.per_iter = num_trials_per_iter

    def post_tuning(self):
        assert self.ended is None
        self.ended = True

    def generate_measure_candidates(self):
        factors = range(self.next, min(self.next + self.per_iter, self.available + 1))
        self.next += len(factors)
        return [candidate(self.mod, factor) for factor in factors] or None

    def notify_runner_results(self, measure_candidates, results):
        assert len(measure_candidates) == len(results)
        self.seen += [(factor_of(c), r) for c, r in zip(measure_candidates, results, strict=True)]


class CountFromDefault(Count):
    """The same, where the first one is the default schedule, in a batch of its own."""

    def generate_measure_candidates(self):
        if self.next > 1:
            return super().generate_measure_candidates()
        self.next = 2
        first = candidate(self.mod, 1)
        first.is_default = True
        return [first]


def candidate(mod, factor):
    sch = Schedule(mod)
    sch.split(sch.get_loops(sch.get_block("C"))[0], [None, factor])
    return MeasureCandidate(sch, ArgInfo.from_entry_func(mod))


def factor_of(candidate):
    return int(candidate.sch.mod["main"].body.block.body.body.extent)


class PaperBuilder(Builder):
    """Writes the factor of the innermost loop to a file; some builds fail."""

    def __init__(self, directory, fails=lambda factor: False, log=None):
        self.directory = Path(directory)
        self.fails = fails
        self.log = [] if log is None else log

    def build(self, build_inputs):
        return [result for _, result in self.stream(build_inputs)]

    def stream(self, build_inputs):
        for position, item in enumerate(build_inputs):
            factor = int(item.mod["main"].body.block.body.body.extent)
            self.log.append(("build", factor))
            if self.fails(factor):
                yield position, BuilderResult(None, f"cannot build {factor}")
                continue
            path = Path(tempfile.mkdtemp(dir=self.directory)) / "code"
            path.write_text(str(factor))
            yield position, BuilderResult(str(path))


class PaperRunner(Runner):
    """Latencies from a function of the factor; errors are strings."""

    def __init__(self, latency=lambda factor: 1.0 / factor, wrong=(), log=None):
        self.latency = latency
        self.wrong = set(wrong)
        self.log = [] if log is None else log
        self.checked = []
        self.expected = []
        self.again = []
        self.args_info = []
        self.is_ready = True

    def run(self, runner_inputs):
        return [self._future(item) for item in runner_inputs]

    def _future(self, item):
        factor = int(Path(item.artifact_path).read_text())
        self.log.append(("run", factor))
        self.args_info.append(item.args_info)
        return RunnerFuture(lambda: True, lambda: self._result(factor))

    def _result(self, factor):
        latency = self.latency(factor)
        if isinstance(latency, str):
            return RunnerResult(None, latency)
        return RunnerResult([latency])

    def expect(self, runner_input, workload_mod):
        self.expected.append(runner_input.key)

    def can_check(self, runner_input, workload_mod):
        return self.is_ready

    def check(self, runner_input, workload_mod):
        factor = int(Path(runner_input.artifact_path).read_text())
        self.checked.append(factor)
        return f"C[0] differs for {factor}" if factor in self.wrong else None

    def remeasure(self, runner_inputs):
        self.again.append([int(Path(item.artifact_path).read_text()) for item in runner_inputs])
        return super().remeasure(runner_inputs)


def program(n=64):
    return from_source(PROGRAM.format(n=n))


def task(n=64, name="main", target="llvm -num-cores=1", strategy=None):
    return TuneContext(
        program(n),
        target=target,
        space_generator=OneSketch(),
        search_strategy=strategy or Count(),
        task_name=name,
        rand_state=1,
    )
