"""Changing how many iterations run in parallel."""

from __future__ import annotations

import random
from typing import Any, Final

from tilewright.error import ArgumentValueError, TVMError
from tilewright.ir.expr import IntImm
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.schedule import Instruction, Schedule, Trace
from tilewright.tir.stmt import ForKind
from tilewright.tune.mutator.mutator import ProgramMutator

PARALLEL_KEY: Final = "meta_schedule.parallel"
"""The annotation that says how many iterations of outer loops may be run in parallel."""


class MutateParallel(ProgramMutator):
    """Changes the annotation that says how many iterations run in parallel.

    What is tried are the products of the extents of the outermost loops.

    Args:
        max_jobs_per_core: maximum number of iterations per core; -1 not to change anything.
    """

    def __init__(self, max_jobs_per_core: int) -> None:
        if max_jobs_per_core < 1 and max_jobs_per_core != -1:
            raise ArgumentValueError(
                f"MutateParallel: max_jobs_per_core is at least 1, or -1; got {max_jobs_per_core}"
            )
        self.max_jobs_per_core = max_jobs_per_core
        self._cores = 1

    def initialize_with_tune_context(self, context: Any) -> None:
        """Take the program, and the number of cores."""
        super().initialize_with_tune_context(context)
        self._cores = 1 if context.target is None else context.target.num_cores

    def apply(self, trace: Trace, random_state: int | None = None) -> Trace | None:
        """A trace with another value of an annotation; None if none can change."""
        found = [inst for inst in trace.kept(remove_postproc=True) if _is_parallel(inst)]
        if not found or self._replayer is None or self.max_jobs_per_core == -1:
            return None
        rng = random.Random(random_state)
        inst = rng.choice(found)
        try:
            sch = self._replayer.replay(trace)
        except TVMError:
            return None
        limit = self.max_jobs_per_core * self._cores
        current = inst.arguments["ann_val"]
        counts = sorted(_job_counts(sch, inst, limit))
        others = [count for count in counts if count != _effective(current, counts)]
        if not others:
            return None
        return _with_annotation(trace, inst, rng.choice(others))


def _is_parallel(inst: Instruction) -> bool:
    return inst.kind.name == "annotate" and inst.arguments["ann_key"] == PARALLEL_KEY


def _effective(value: Any, counts: list[int]) -> int:
    """The number of jobs that a limit allows."""
    limit = value.value if isinstance(value, IntImm) else value
    return max((count for count in counts if count <= limit), default=1)


def _job_counts(sch: Schedule, inst: Instruction, limit: int) -> set[int]:
    """How many iterations the outermost loops have: the first, the first two, and so on."""
    found = {1}
    name, annotated = sch.statement(inst.arguments["block_or_loop"])
    tree = sch.state.tree(name)
    for leaf in tree.leaf_blocks_below(annotated):
        count = 1
        for loop in tree.all_loops_above(leaf):
            is_data_parallel = block_kind(leaf.block) is not BlockKind.OTHER
            if loop.kind is not ForKind.SERIAL or not is_data_parallel:
                break
            if not isinstance(loop.extent, IntImm):
                break
            count *= loop.extent.value
            if count > limit:
                break
            found.add(count)
    return found


def _with_annotation(trace: Trace, inst: Instruction, value: int) -> Trace:
    changed = Instruction.of(
        inst.kind, {**inst.arguments, "ann_val": value}, inst.outputs, inst.returns_list
    )
    insts = [changed if own is inst else own for own in trace.insts]
    return Trace(insts, trace.decisions)
