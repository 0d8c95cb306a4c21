"""Letting a block access another buffer in place of one."""

from __future__ import annotations

from typing import Any

from tilewright.ir.expr import Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, MatchBufferRegion, decl_buffer
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.stmt import Block, BlockRealize, Stmt
from tilewright.tir.substitute import substitute


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
        if not _is_compact(old) and _uses_pointer(realize.block, old):
            raise ScheduleError(
                f"{{0}} uses the pointer of `{old.name}`, whose strides or offset a new buffer "
                "does not have",
                at=[realize],
            )
    return {realize.block: redirected(realize.block, old, new) for realize in realizes}


def _is_compact(buffer: Buffer) -> bool:
    return not buffer.strides and is_const_int(buffer.elem_offset, 0)


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
