"""What the loops around a block may become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.tir.analysis.expressions import has_effects
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.schedule.edits.bindings import bound_values, mentioned
from tilewright.tir.stmt import BlockRealize, For, ForKind
from tilewright.tir.transform.analysis.affine import affine, split
from tilewright.tune.rule.block_facts import constant, realize_of, tree_of


class LoopRole(NamedTuple):
    """One loop around a block.

    Attributes:
        extent: how often it runs; None if that is symbolic.
        is_serial: whether it is a plain loop.
        is_spatial: whether only spatial iterators of the blocks inside depend on it, and no calls
            are in it that may have to be in their order.
        has_one_child: whether nothing but another loop or block is in it.
        strides: by how many elements each access of the block moves from one iteration to the
            next, the stores first; None where that is unknown.
        stores: how many of these are stores.
    """

    extent: int | None
    is_serial: bool
    is_spatial: bool
    has_one_child: bool
    strides: Sequence[int | None]
    stores: int

    def is_contiguous_after(self, lanes: int) -> bool:
        """Whether one iteration accesses what is next to the `lanes` elements of the one before.

        Stores do; loads do, or all iterations load the same.
        """
        return all(
            stride == lanes or (stride == 0 and n >= self.stores)
            for n, stride in enumerate(self.strides)
        )


def loop_roles(sch: Schedule, block: BlockRV) -> list[LoopRole]:
    """The loops around a block in its scope, the outermost first."""
    tree, realize = tree_of(sch, block), realize_of(sch, block)
    strides = _Strides(realize)
    roles = []
    for loop in tree.loops_above(realize):
        inside = tree.blocks_below(loop)
        steps = {var for other in inside for var in mentioned(bound_values(other, reduction=True))}
        is_ordered = any(has_effects(other.block) for other in inside)
        roles.append(
            LoopRole(
                constant(loop.extent),
                loop.kind is ForKind.SERIAL,
                not is_ordered and loop.loop_var not in steps,
                isinstance(loop.body, (For, BlockRealize)),
                strides.along(loop.loop_var),
                strides.stores,
            )
        )
    return roles


class _Strides:
    """How far the accesses of a block move along a loop."""

    def __init__(self, realize: BlockRealize) -> None:
        accesses = accesses_of(realize.block)
        self._accesses = [*accesses.stores, *accesses.loads]
        self.stores = len(accesses.stores)
        self._bindings = [
            (item.var, affine(value))
            for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        ]

    def along(self, loop_var: Var) -> list[int | None]:
        """Elements that each access moves from one iteration to the next."""
        found: list[int | None] = [0] * len(self._accesses)
        for var, form in self._bindings:
            parts = split(form, loop_var)
            step = parts[0].constant if parts is not None and parts[0].is_constant() else None
            if step == 0:
                continue
            for n, access in enumerate(self._accesses):
                if not access.mentions(var):
                    continue
                stride, so_far = access.stride(var), found[n]
                if stride is None or so_far is None or step is None:
                    found[n] = None
                else:
                    found[n] = so_far + stride * step
        return found
