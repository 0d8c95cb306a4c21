"""`ShareOuterLoops`: steps of one computation, such as a softmax, done row by row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilewright.schedule_rules.decisions import choose, powers_of_two
from tilewright.schedule_rules.default import module_root, stages_of
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.groups import Group, Stage, groups_of
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import parallelize
from tilewright.schedule_rules.plain_nest import Nest, is_plain, nest_of
from tilewright.schedule_rules.structures import Structure, apply_rule
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.nest_rule import NestRule
from tilewright.tune.rule.reduce_along_rows import along_rows, reduce_rows

MOST_ROWS = 8
"""So many rows are worked on at once at the most."""


class ShareOuterLoops(NestRule):
    """Lets blocks share the outer loops that they have in common.

    What one block computes of a row is then still in the nearest cache when the next one reads it.
    Left to the search: how many rows are worked on at once, and with how many vectors each block.
    """

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """One, for the last block of those that can share loops."""
        blocks = sch.get_child_blocks(root_of(sch, nest.block))
        group = self._group(sch, nest, blocks)
        if group is None:
            return []
        keys = [sch.get(block) for block in blocks]
        members = [
            next(n for n, key in enumerate(keys) if key is sch.get(stage.block))
            for stage in group.stages
        ]
        return [partial(self._row_by_row, members=members, shared=group.shared)]

    def _group(self, sch: Schedule, nest: Nest, blocks: Sequence[BlockRV]) -> Group | None:
        """The blocks that share loops with one that comes last."""
        plain = [block for block in blocks if is_plain(sch, block)]
        stages = [
            stage
            for stage in stages_of(sch, plain)
            if stage.contraction is None and _is_known(sch, stage)
        ]
        for group in groups_of(stages, self.machine):
            if group.shared and sch.get(group.stages[-1].block) is sch.get(nest.block):
                return group
        return None

    def _row_by_row(
        self, sch: Schedule, nest: Nest, *, members: Sequence[int], shared: int
    ) -> Sequence[BlockRV]:
        machine, accesses = self.machine, nest.accesses
        blocks = sch.get_child_blocks(root_of(sch, nest.block))
        *producers, _ = [blocks[n] for n in members]
        variables = accesses.spatial[:shared]
        loops = nest.of(variables)
        counts = powers_of_two(1, min(MOST_ROWS, accesses.extent(variables[-1])))
        row, _ = sch.split(loops[-1], [None, choose(sch, counts, 1)])
        around = [*loops[:-1], row]
        for block in reversed(producers):
            sch.compute_at(block, row, preserve_unit_loops=True)
        for block in producers:
            vectorize_part(sch, nest_of(sch, block, shared), shared, machine)
        vectorize_part(sch, nest_of(sch, nest.block, shared), shared, machine)
        parallelize(sch, around, machine)
        return producers


def vectorize_part(sch: Schedule, nest: Nest, shared: int, machine: Machine) -> None:
    """Let the part of a block that belongs to some rows run in vectors.

    Args:
        sch: the schedule.
        nest: the block, with a loop for the rows of the part.
        shared: how many of its iterators count what is shared.
        machine: the machine.
    """
    spatial = [var for var in nest.accesses.spatial if var in nest.loops]
    if along_rows(nest) is not None:
        reduce_rows(sch, nest, nest.of(spatial), machine, vectors=4)
    elif len(nest.accesses.spatial) > shared:
        apply_rule(vectorize_elements, sch, nest.block, machine, shared)


def root_of(sch: Schedule, block: BlockRV) -> BlockRV:
    """The root block of the function that a block is in."""
    name, _ = sch.statement(block)
    return module_root(sch, name)


def _is_known(sch: Schedule, stage: Stage) -> bool:
    """Whether all that reads the results of a stage is a stage, too."""
    return len(sch.get_consumers(stage.block)) == len(stage.consumers)
