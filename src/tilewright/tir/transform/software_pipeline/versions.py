"""Memory that is there several times, with the number of the version as its first dimension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import Allocate, BufferStore, DeclBuffer, Stmt
from tilewright.tir.substitute import BufferRewriter


class Version(NamedTuple):
    """One of several versions of memory.

    Attributes:
        total: how many there are.
        number: which one is meant.
        pitch: elements from one version to the next, where rows have a distance of their own.
    """

    total: Expr
    number: Expr
    pitch: Expr | None = None


class Versions(BufferRewriter):
    """Rewrites accesses of memory to those of a version.

    Args:
        versions: by memory.
    """

    def __init__(self, versions: Mapping[Var, Version]) -> None:
        BufferRewriter.__init__(self)
        self._versions = versions

    def map_buffer(self, buffer: Buffer) -> Buffer:
        version = self._versions.get(buffer.data)
        if version is None:
            return buffer
        strides = () if version.pitch is None else (version.pitch, *buffer.strides)
        return buffer.replace(shape=(version.total, *buffer.shape), strides=strides)

    def Allocate(self, stmt: Allocate) -> Stmt:
        changed = stmt.map_children(self)
        version = self._versions.get(stmt.buffer_var)
        if version is None:
            return changed
        extents = stmt.extents if version.pitch is None else (version.pitch,)
        return changed.replace(extents=(version.total, *extents))

    def BufferLoad(self, load: BufferLoad) -> Expr:
        return self._access(load)

    def BufferStore(self, store: BufferStore) -> Stmt:
        return self._access(store)

    def _access(self, access: Any) -> Any:
        changed = access.map_children(self)
        version = self._versions.get(access.buffer.data)
        if version is None:
            return changed
        indices = (version.number, *changed.indices)
        return changed.replace(buffer=self.buffer(access.buffer), indices=indices)


def pitch_of(stmt: Stmt, memory: Var) -> Expr | None:
    """Elements from one version of memory to the next; None if there is nothing between rows.

    The last row is as long as the others, so that addresses in all versions are multiples of the
    same numbers.

    Raises:
        ValueError: if buffers of different layouts in `stmt` are the memory.
    """
    buffers = {
        node.buffer
        for node in walk(stmt)
        if isinstance(node, (BufferLoad, BufferStore, DeclBuffer)) and node.buffer.data is memory
    }
    if all(buffer.is_compact() for buffer in buffers):
        return None
    (buffer,) = buffers
    if not buffer.strides:
        raise ValueError("it has an offset")
    return as_expr(buffer.shape[0] * buffer.strides[0])
