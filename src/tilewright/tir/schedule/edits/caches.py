"""A cache of a buffer: blocks that copy to and from it, and accesses that go to it instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.ir.convert import cast, const
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import (
    Buffer,
    BufferLoad,
    BufferRegion,
    MatchBufferRegion,
    Range,
    decl_buffer,
)
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.edits.bindings import TRUE
from tilewright.tir.schedule.edits.loops import nest
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.stmt import Block, BlockKey, BlockRealize, BufferStore, Stmt
from tilewright.tir.substitute import substitute


def cache_of(buffer: Buffer, storage_scope: str) -> Buffer:
    """A new compact buffer of the same shape, named after `buffer` and the scope."""
    name = f"{buffer.name}_{storage_scope}"
    return decl_buffer(buffer.shape, buffer.dtype, name, scope=storage_scope)


def copy_nest(
    name: str, source: Buffer, target: Buffer, region: Sequence[Range]
) -> tuple[Stmt, BlockRealize]:
    """Loops over `region` around a block that copies one element from `source` to `target`.

    Both buffers have the same shape. The loops are called ``ax0``, ``ax1``, ..., the iterators of
    the block ``v0``, ``v1``, ...

    Returns:
        The outermost loop and the realisation of the block.
    """
    loops: dict[Var, Expr] = {}
    iterators: list[IterVar] = []
    values: list[Expr] = []
    for axis, (part, extent) in enumerate(zip(region, source.shape, strict=True)):
        dtype = extent.dtype
        loop_var = Var(f"ax{axis}", dtype)
        loops[loop_var] = cast(dtype, part.extent)
        domain = Range.from_min_extent(const(0, dtype), extent)
        iterators.append(IterVar(domain, Var(f"v{axis}", dtype), IterType.DATA_PAR))
        low = cast(dtype, part.min)
        values.append(loop_var + low if isinstance(low, IntImm) else low + loop_var)
    indices = tuple(iterator.var for iterator in iterators)
    block = Block(
        tuple(iterators),
        (BufferRegion.of_element(source, indices),),
        (BufferRegion.of_element(target, indices),),
        name,
        BufferStore(target, BufferLoad(source, indices), indices),
        key=BlockKey(),
    )
    realize = BlockRealize(tuple(values), TRUE, block)
    return nest(loops, realize)[1], realize


def redirected(stmt: Stmt, old: Buffer, new: Buffer) -> Any:
    """`stmt` with all accesses of `old`, also by its pointer and by views, going to `new`.

    Both have the same shape; views of `old` move to the storage scope of `new`.
    """
    variables = {old.data: new.data}
    buffers = {old: new}
    if old.scope() != new.scope():
        for match in walk(stmt):
            if isinstance(match, MatchBufferRegion) and match.source.buffer in buffers:
                view = match.buffer
                moved = in_scope(view, new.scope())
                variables[view.data] = moved.data
                buffers[view] = moved
    return substitute(stmt, variables, buffers)


def in_scope(buffer: Buffer, storage_scope: str) -> Buffer:
    """`buffer` with a new pointer into another storage scope."""
    pointer = decl_buffer((), buffer.dtype, buffer.data.name, scope=storage_scope).data
    return buffer.replace(data=pointer)


def redirect_blocks(
    realizes: list[BlockRealize], old: Buffer, new: Buffer
) -> dict[Stmt, Stmt | None]:
    """The edits that let blocks access `new` in place of `old`.

    Raises:
        ScheduleError: if a block uses the memory of `old` in a way that depends on a layout which
            `new` does not have.
    """
    for realize in realizes:
        if not old.is_compact() and _uses_pointer(realize.block, old):
            raise ScheduleError(
                f"{{0}} uses the pointer of `{old.name}`, whose strides or offset a new buffer "
                "does not have",
                at=[realize],
            )
    return {realize.block: redirected(realize.block, old, new) for realize in realizes}


def _uses_pointer(block: Block, buffer: Buffer) -> bool:
    for node in walk(block):
        if isinstance(node, MatchBufferRegion):
            if node.source.buffer is buffer:
                return True
        elif isinstance(node, Var):
            if node is buffer.data:
                return True
        else:
            used = getattr(node, "buffer", None)
            if used is not None and used is not buffer and used.data is buffer.data:
                return True
    return False
