"""`ShareOuterLoops`: steps of one computation, such as a softmax, done row by row."""

from __future__ import annotations

from dataclasses import replace

from tilewright.schedule_rules.default import schedule_group
from tilewright.schedule_rules.groups import Group, Stage, groups_of, stages_of
from tilewright.schedule_rules.plain_nest import is_plain
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.claim import claim
from tilewright.tune.rule.nest_rule import NestRule


class ShareOuterLoops(NestRule):
    """Lets blocks share the outer loops that they have in common, as the default schedule does.

    What one block computes of a row is then still in the nearest cache when the next one reads it.
    Left to the search: how many rows are worked on at once, and with how many vectors each block.
    """

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """One sketch, for the last block of those that can share loops."""
        view = sch.copy()
        blocks = view.get_child_blocks(root_of(view, block))
        group = self._group(view, block, blocks)
        if group is None:
            return [sch]
        positions = {view.get(item): n for n, item in enumerate(blocks)}
        members = [positions[view.get(stage.block)] for stage in group.stages]
        found = sch.copy()
        blocks = found.get_child_blocks(root_of(found, block))
        stages = [
            replace(stage, block=blocks[n]) for stage, n in zip(group.stages, members, strict=True)
        ]
        found = schedule_group(found, replace(group, stages=stages), self.machine)
        for stage in stages:
            claim(found, stage.block, type(self).__name__)
        return [found]

    def _group(self, sch: Schedule, anchor: BlockRV, blocks: list[BlockRV]) -> Group | None:
        """The blocks that share loops with one that comes last."""
        plain = [block for block in blocks if is_plain(sch, block)]
        stages = [
            stage
            for stage in stages_of(sch, plain)
            if stage.contraction is None and _is_known(sch, stage)
        ]
        for group in groups_of(stages, self.machine):
            if group.shared and sch.get(group.stages[-1].block) is sch.get(anchor):
                return group
        return None


def root_of(sch: Schedule, block: BlockRV) -> BlockRV:
    """The root block of the function that a block is in."""
    name, _ = sch.statement(block)
    return sch.get_block(sch.mod[name].body.block.name_hint, name)


def _is_known(sch: Schedule, stage: Stage) -> bool:
    """Whether all that reads the results of a stage is a stage, too."""
    return len(sch.get_consumers(stage.block)) == len(stage.consumers)
