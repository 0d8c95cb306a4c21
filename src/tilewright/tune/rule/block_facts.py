"""Facts about blocks and the loops around them that rules ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.ir.expr import Expr, Var, const_int_value, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.nest import block_of, realize_of
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.analysis.expressions import has_effects
from tilewright.tir.buffer import BufferRegion
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.schedule.edits.bindings import bound_values, mentioned
from tilewright.tir.schedule.proofs.scope import scope_of
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, ForKind
from tilewright.tir.transform.analysis.affine import affine, stride_along

TILING_STRUCTURE = "meta_schedule.tiling_structure"
"""The annotation of blocks that are tiled already."""


def tree_of(sch: Schedule, block: BlockRV) -> FunctionTree:
    """The function that the block is in."""
    name, _ = sch.statement(block)
    return sch.state.tree(name)


def is_root(sch: Schedule, block: BlockRV) -> bool:
    """Whether it is the root block of a function."""
    return realize_of(sch, block) is tree_of(sch, block).root


def loops_around(sch: Schedule, block: BlockRV) -> list[For]:
    """The loops around a block in its scope, the outermost first."""
    return tree_of(sch, block).loops_above(realize_of(sch, block))


def consumers_of(sch: Schedule, block: BlockRV) -> list[BlockRealize]:
    """The blocks of the same scope that read what it writes."""
    return scope_of(tree_of(sch, block), realize_of(sch, block)).consumers(realize_of(sch, block))


def producers_of(sch: Schedule, block: BlockRV) -> list[BlockRealize]:
    """The blocks of the same scope that write what it reads."""
    return scope_of(tree_of(sch, block), realize_of(sch, block)).producers(realize_of(sch, block))


def is_output(sch: Schedule, block: BlockRV) -> bool:
    """Whether the block writes a parameter of the function, or memory of another scope."""
    tree, realize = tree_of(sch, block), realize_of(sch, block)
    own = set(tree.scope(realize).block.alloc_buffers)
    return any(region.buffer not in own for region in realize.block.writes)


def extent_of(item: IterVar) -> int | None:
    """How many values an iterator has; None if that is symbolic."""
    return None if item.dom is None else const_int_value(item.dom.extent)


def is_spatial(block: Block) -> bool:
    """Whether each instance of the block computes elements of its own."""
    return block_kind(block) is BlockKind.COMPLETE


def is_reduction(block: Block) -> bool:
    """Whether instances of the block combine into the same elements, after an `init`."""
    return block_kind(block) is BlockKind.REDUCTION


def loop_types(sch: Schedule, block: BlockRV) -> list[IterType] | None:
    """The type of the iterator that each loop around a block counts.

    Iterators that have one value need no loop. None if any other is bound to something else than
    one loop, if a loop counts none or has bounds that depend on another one, or if a condition
    guards the block.
    """
    realize = realize_of(sch, block)
    if not is_const_int(realize.predicate, 1):
        return None
    by_variable: dict[Var, IterType] = {}
    for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        if isinstance(value, Var) and value not in by_variable:
            by_variable[value] = item.iter_type
        elif extent_of(item) != 1:
            return None
    loops = loops_around(sch, block)
    if len(loops) != len(by_variable) or any(x.loop_var not in by_variable for x in loops):
        return None
    if mentioned([bound for loop in loops for bound in (loop.min, loop.extent)]) & set(by_variable):
        return None
    return [by_variable[loop.loop_var] for loop in loops]


def counted_iterators(sch: Schedule, block: BlockRV) -> list[tuple[LoopRV, IterVar | None]]:
    """The loops around a block with the iterator that is bound to each; None for no such."""
    realize = realize_of(sch, block)
    by_variable = {
        value: item
        for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
    }
    return [(loop, by_variable.get(sch.get(loop).loop_var)) for loop in sch.get_loops(block)]


def has_reuse(sch: Schedule, block: BlockRV) -> bool:
    """Whether tiling pays: the block is a reduction that reads elements for several results.

    That is so where what it reads of some buffer does not depend on one of the spatial iterators.
    """
    found = block_of(sch, block)
    if TILING_STRUCTURE in found.annotations or len(found.writes) != 1 or not found.reads:
        return False
    if not is_reduction(found) or loop_types(sch, block) is None:
        return False
    spatial = [
        item.var
        for item in found.iter_vars
        if item.iter_type is IterType.DATA_PAR and extent_of(item) != 1
    ]
    written = found.writes[0].buffer
    return any(
        set(spatial) - variables_in(region)
        for region in found.reads
        if region.buffer is not written
    )


def variables_in(region: BufferRegion) -> set[Var]:
    """The variables on which a region depends."""
    ranges: Sequence[Expr] = [e for item in region.region for e in (item.min, item.extent)]
    return {node for value in ranges for node in walk(value) if isinstance(node, Var)}


def spatial_and_reduction_size(sch: Schedule, block: BlockRV) -> tuple[int, int] | None:
    """How many instances the spatial and the reduction iterators give; None if symbolic."""
    sizes = {IterType.DATA_PAR: 1, IterType.COMM_REDUCE: 1}
    for item in block_of(sch, block).iter_vars:
        extent = extent_of(item)
        if extent is None or item.iter_type not in sizes:
            return None
        sizes[item.iter_type] *= extent
    return sizes[IterType.DATA_PAR], sizes[IterType.COMM_REDUCE]


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
                const_int_value(loop.extent),
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
            step = stride_along(form, loop_var)
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
