"""Memory that is there several times, with the number of the version as its first dimension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tilewright.ir.expr import Expr, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.stmt import Allocate, BufferStore, DeclBuffer, Stmt
from tilewright.tir.substitute import BufferRewriter
from tilewright.tir.transform.building.allocations import span


class Version(NamedTuple):
    """One of several versions of memory.

    Attributes:
        total: how many there are.
        number: which one is meant.
    """

    total: Expr
    number: Expr


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
        strides = (span(buffer), *buffer.strides) if buffer.strides else ()
        return buffer.replace(shape=(version.total, *buffer.shape), strides=strides)

    def Allocate(self, stmt: Allocate) -> Stmt:
        changed = stmt.map_children(self)
        version = self._versions.get(stmt.buffer_var)
        if version is None:
            return changed
        return changed.replace(extents=(version.total, *stmt.extents))

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


def can_have_versions(stmt: Stmt, memory: Var) -> bool:
    """Whether the buffers in `stmt` that are memory can get a dimension."""
    buffers = {
        node.buffer
        for node in walk(stmt)
        if isinstance(node, (BufferLoad, BufferStore, DeclBuffer)) and node.buffer.data is memory
    }
    return len(buffers) == 1 or all(buffer.is_compact() for buffer in buffers)
