"""A reduction block as two: one for its initialisation, one for its updates."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.ir.expr import Expr, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.regions import infer_block_regions
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.contents import memory_in
from tilewright.tir.schedule.edits.copying import copied
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, MatchBufferRegion, Stmt
from tilewright.tir.substitute import substitute


def init_block(realize: BlockRealize) -> Block:
    """The block of the initialisation, whose iterators are those of `realize` that do not reduce.

    Raises:
        ScheduleError: if the updates use memory of the block that the initialisation uses, too.
    """
    block = realize.block
    assert block.init is not None
    mine, others = _declarations(block, block.init), _declarations(block, block.body)
    for buffer in mine.allocated:
        if buffer in others.allocated:
            raise ScheduleError(
                f"{{0}} allocates {buffer.name}, which both its init and its updates use",
                at=[realize],
                hint=f"allocate {buffer.name} outside of the block, or one buffer for each",
            )
    values: dict[Var, Expr] = {}
    iter_vars = []
    for item in block.iter_vars:
        if item.iter_type is IterType.COMM_REDUCE:
            assert item.dom is not None
            values[item.var] = item.dom.min  # the init runs where the reduction starts
        else:
            fresh = Var(f"{item.var.name}_init", item.var.dtype)
            values[item.var] = fresh
            iter_vars.append(item.replace(var=fresh))
    made = Block(
        tuple(iter_vars),
        (),
        tuple(substitute(region, values) for region in block.writes),
        f"{block.name_hint}_init",
        substitute(block.init, values),
        None,
        mine.allocated,
        tuple(substitute(view, values) for view in mine.views),
        annotations=block.annotations,
        span=block.span,
        key=BlockKey(),
    )
    if mine.views:  # which the updates may have, too
        made = copied(made, lambda name: name)
    return made.replace(reads=infer_block_regions(made)[0])


def update_block(block: Block) -> Block:
    """The block without its init; it reads what it updates."""
    assert block.init is not None
    known = {region.buffer for region in block.reads}
    updated = tuple(region for region in block.writes if region.buffer not in known)
    mine, others = _declarations(block, block.body), _declarations(block, block.init)
    return block.replace(
        name_hint=f"{block.name_hint}_update",
        init=None,
        reads=(*updated, *block.reads),
        alloc_buffers=tuple(
            item
            for item in block.alloc_buffers
            if item in mine.allocated or item not in others.allocated
        ),
        match_buffers=tuple(
            item for item in block.match_buffers if item in mine.views or item not in others.views
        ),
    )


class _Declarations(NamedTuple):
    """What a part of a block needs of the memory and the views that the block declares."""

    allocated: tuple[Buffer, ...]
    views: tuple[MatchBufferRegion, ...]


def _declarations(block: Block, part: Stmt) -> _Declarations:
    if not block.alloc_buffers and not block.match_buffers:
        return _Declarations((), ())
    memory = set(memory_in(part).anywhere)
    sizes = {node for node in walk(part) if isinstance(node, Var)}
    views = []
    for view in reversed(block.match_buffers):
        buffer = view.buffer
        layout = (*buffer.shape, *buffer.strides, buffer.elem_offset)
        if buffer.data in memory or not sizes.isdisjoint(layout):
            memory.add(view.source.buffer.data)
            views.append(view)
    allocated = tuple(buffer for buffer in block.alloc_buffers if buffer.data in memory)
    return _Declarations(allocated, tuple(reversed(views)))
