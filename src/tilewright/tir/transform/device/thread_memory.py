"""Memory that is allocated inside of a kernel belongs to the thread, or to the block of threads.

Before::                                           After::

    for i in thread_binding(64, "threadIdx.x"):        for i in thread_binding(64, "threadIdx.x"):
        allocate row[8]                                    allocate row[8], scope="local"
        ...                                                ...

An allocation without a scope is there once for each execution of it, whatever memory it is in. So
it is a thread's own where a loop over threads is around it, and what threads share where one is
inside of it.
"""

from __future__ import annotations

from typing import Any

from tilewright.ir.dtype import HANDLE, PointerType, PrimType
from tilewright.ir.expr import Var
from tilewright.tir.buffer import Buffer, storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Allocate, For, Stmt
from tilewright.tir.substitute import BufferRewriter
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.device.thread_axes import THREADS, VIRTUAL, is_bound, tag_of


def assign_thread_memory(func: PrimFunc) -> PrimFunc:
    """`func` without allocations of scope ``"global"`` in loops over blocks or threads."""
    if not any(is_bound(stmt) for stmt in statements(func.body)):
        return func
    return func.with_body(_ThreadMemory()(func.body))


def _is_over_threads(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and is_bound(stmt) and tag_of(stmt) in (*THREADS, *VIRTUAL)


class _ThreadMemory(BufferRewriter):
    def __init__(self) -> None:
        super().__init__()
        self._pointers: dict[Var, Var] = {}
        self._is_in_kernel = self._is_in_threads = False

    def map_buffer(self, buffer: Buffer) -> Buffer:
        return self.rebuilt(buffer)

    def Var(self, var: Var) -> Var:
        return self._pointers.get(var, var)

    def For(self, loop: For) -> Any:
        outer = self._is_in_kernel, self._is_in_threads
        self._is_in_kernel |= is_bound(loop)
        self._is_in_threads |= _is_over_threads(loop)
        changed = loop.map_children(self)
        self._is_in_kernel, self._is_in_threads = outer
        return changed

    def Allocate(self, stmt: Allocate) -> Any:
        if not self._is_in_kernel or storage_scope(stmt.buffer_var) != "global":
            return stmt.map_children(self)
        is_shared = not self._is_in_threads and any(map(_is_over_threads, statements(stmt.body)))
        kind = PointerType(PrimType(stmt.dtype), "shared" if is_shared else "local")
        pointer = self._pointers[stmt.buffer_var] = Var(stmt.buffer_var.name, HANDLE, kind)
        return stmt.map_children(self).replace(buffer_var=pointer)
