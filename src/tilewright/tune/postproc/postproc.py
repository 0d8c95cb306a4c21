"""`Postproc`: what is done to a candidate after its trace, and whether it is legal."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import For
from tilewright.tune.parts import Registry, TargetPart

POSTPROC_SETS: Registry[list[Postproc]] = Registry("list of postprocessors for")
"""The postprocessors for a kind of target, in the order in which they are applied."""


class Postproc(TargetPart):
    """Completes a candidate, or rejects it.

    Subclasses define `apply`.
    """

    def apply(self, sch: Schedule) -> bool:
        """Change the schedule, after its trace and `Schedule.enter_postproc`.

        Args:
            sch: the candidate.

        Returns:
            Whether it is worth measuring.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has to define apply(self, sch), which returns whether the "
            "schedule is worth measuring"
        )

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """New postprocessors for a kind of target.

        Args:
            kind: ``"llvm"``, ``"c"``, ``"vnni"``, ``"avx512"``, ``"dotprod"``, ``"cuda"``,
                ``"cuda-tensorcore"``, ``"opencl"`` or ``"hexagon"``.
        """
        return POSTPROC_SETS.make(kind)


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
