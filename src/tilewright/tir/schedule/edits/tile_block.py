"""The block that stands for a loop with one block in it."""

from __future__ import annotations

from tilewright.ir.expr import Var, is_const_int
from tilewright.tir.expr import IterVar
from tilewright.tir.schedule.edits.blockizing import (
    Inner,
    detached,
    divide,
    inner_half,
    loops_between,
    outer_analyzer,
    separated,
)
from tilewright.tir.schedule.edits.tile_init import (
    is_reduction,
    require_init_first,
    require_same_start,
    tile_init,
    updating,
)
from tilewright.tir.schedule.edits.wrapping import with_regions
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For, Stmt


def tile_block(tree: FunctionTree, loop: For, keep_unit: bool) -> BlockRealize:
    """The block that stands for `loop`; see the primitive `blockize`."""
    realize = _only_block(tree, loop)
    loops = loops_between(tree, loop, realize)
    divisions = divide(tree, loop, realize, loops, keep_unit)
    iterators = tuple(
        IterVar(division.outer.domain, Var(f"{old.var.name}_o", old.var.dtype), old.iter_type)
        for old, division in zip(realize.block.iter_vars, divisions, strict=True)
    )
    values = {v.var: d.outer.value for v, d in zip(iterators, divisions, strict=True)}
    without, within = separated(realize.predicate, loops)
    outer = Block(iterators, (), (), f"{realize.block.name_hint}_o", realize)
    inner = inner_half(realize, loops, divisions, list(values), keep_unit)
    inner = detached(tree, loop, inner._replace(predicate=within), values)
    if inner.block.init is not None and any(map(is_reduction, iterators)):
        require_same_start(tree, realize, divisions, loops)
        inner, init = _with_init_apart(tree, loop, outer, inner)
        outer = outer.replace(init=init)
    outer = outer.replace(body=inner.statement())
    outer = with_regions(outer, outer_analyzer(tree, loop, outer))
    return BlockRealize(tuple(values.values()), without, outer)


def _with_init_apart(
    tree: FunctionTree, loop: For, outer: Block, inner: Inner
) -> tuple[Inner, Stmt | None]:
    """The inner half without its initialisation, and that for the whole tile.

    Where the reduction is in the tile as a whole, it may as well stay where it is.
    """
    try:
        require_init_first(inner, outer_analyzer(tree, loop, outer))
    except ScheduleError:
        reductions = [v.dom for v in outer.iter_vars if is_reduction(v) and v.dom is not None]
        if all(is_const_int(domain.extent, 1) for domain in reductions):
            return inner, None
        if tree.checked:
            raise
    init = tile_init(inner, outer, outer_analyzer(tree, loop, outer))
    return inner._replace(block=updating(inner.block)), init


def _only_block(tree: FunctionTree, loop: For) -> BlockRealize:
    blocks = tree.blocks_below(loop)
    if len(blocks) != 1:
        raise ScheduleError(
            f"{{0}} contains {len(blocks)} blocks; a tile is made of one",
            at=[loop, *blocks],
            hint="give a list of blocks to make one block of several" if blocks else "",
        )
    return blocks[0]
