"""Copies of statements that can stand in a program next to the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tilewright.ir.expr import Expr, Let, Var
from tilewright.tir.buffer import Buffer
from tilewright.tir.expr import IterVar
from tilewright.tir.stmt import Block, BlockKey, For, LetStmt, Stmt
from tilewright.tir.substitute import Substitution


def copied(
    stmt: Stmt,
    rename: Callable[[str], str],
    variables: Mapping[Var, Expr] | None = None,
    buffers: Mapping[Buffer, Buffer] | None = None,
    *,
    keyed: bool = True,
) -> Any:
    """`stmt` with loops, blocks, allocated buffers, views and names for values of its own.

    Args:
        stmt: what to copy.
        rename: from the name of a block to that of its copy.
        variables: what replaces free variables.
        buffers: what replaces buffers.
        keyed: whether the copies of blocks are to be found by a schedule.
    """
    return _Copy(rename, variables or {}, buffers or {}, keyed)(stmt)


class _Copy(Substitution):
    def __init__(
        self,
        rename: Callable[[str], str],
        variables: Mapping[Var, Expr],
        buffers: Mapping[Buffer, Buffer],
        keyed: bool,
    ) -> None:
        self._fresh = dict(variables)
        super().__init__(self._fresh, buffers)
        self._rename = rename
        self._keyed = keyed

    def _renewed(self, var: Var) -> Var:
        fresh = var.replace()
        self._fresh[var] = fresh
        return fresh

    def For(self, loop: For) -> Any:
        return loop.replace(loop_var=self._renewed(loop.loop_var)).map_children(self)

    def LetStmt(self, stmt: LetStmt) -> Any:
        return stmt.replace(var=self._renewed(stmt.var)).map_children(self)

    def Let(self, let: Let) -> Any:
        return let.replace(var=self._renewed(let.var)).map_children(self)

    def IterVar(self, iter_var: IterVar) -> Any:
        return iter_var.replace(var=self._renewed(iter_var.var)).map_children(self)

    def Block(self, block: Block) -> Any:
        # The iterators come first: everything else mentions them.
        iterators = tuple(map(self, block.iter_vars))
        buffers = tuple(map(self._declared, block.alloc_buffers))
        for match in block.match_buffers:
            self._view(match.buffer)
        block = block.replace(
            iter_vars=(),
            alloc_buffers=buffers,
            name_hint=self._rename(block.name_hint),
            key=BlockKey() if self._keyed else None,
        )
        return block.map_children(self).replace(iter_vars=iterators)

    def _view(self, buffer: Buffer) -> None:
        """A view of its own, with variables of its own for what the view tells of its layout."""
        for size in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            if isinstance(size, Var) and size not in self._fresh:
                self._renewed(size)
        self._declared(buffer)

    def _declared(self, buffer: Buffer) -> Buffer:
        fresh = buffer.map_children(self).replace(data=self._renewed(buffer.data))
        self._buffers[buffer] = fresh
        return fresh
