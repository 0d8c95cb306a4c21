"""The functions of a schedule, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import For


def trees_of(sch: Schedule) -> list[FunctionTree]:
    """The functions as they are now."""
    return [sch.state.tree(var.name_hint) for var in sch.state.functions]


def root_of(sch: Schedule, tree: FunctionTree) -> BlockRV:
    """The root block of a function."""
    return sch.get_block(tree.root.block.name_hint, tree.name)


def blocks_inside(sch: Schedule, block: BlockRV) -> list[BlockRV]:
    """The blocks inside of a block, in all scopes, the outer ones first."""
    found = []
    for child in sch.get_child_blocks(block):
        found += [child, *blocks_inside(sch, child)]
    return found


def all_loops(sch: Schedule) -> Iterator[For]:
    """The loops of all functions."""
    for tree in trees_of(sch):
        yield from tree.loops()
