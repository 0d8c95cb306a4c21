"""Large memory of a thread is a part of the memory of the device.

Before::                                     After::

    launch i over threadIdx.x in range(8):       allocate keys[n, 8]
        allocate keys[n]                         launch i over threadIdx.x in range(8):
        keys[j] = ...                                keys[j, i] = ...

A kernel has only memory of constant sizes, and little of that. Elements of threads that are next to
each other are next to each other, as in memory that belongs to one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.ir.arithmetic import add, multiply
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import HANDLE, PointerType, PrimType
from tilewright.ir.expr import Expr, Var, constant_product
from tilewright.ir.rewrite import Rewriter, Visitor
from tilewright.tir.buffer import ZERO, Buffer, BufferLoad, storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Allocate, AttrStmt, BufferStore, DeclBuffer, Stmt
from tilewright.tir.substitute import symbolic_sizes, variables_of
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.device.thread_axes import Axis, axes_and_body, is_axis, with_body

LARGE: Final = 1 << 14
"""Number of bytes from which on memory of a thread is memory of the device."""


def move_large_memory(func: PrimFunc) -> PrimFunc:
    """`func` in which large memory of threads is allocated around their kernel.

    Memory of a size that is known only inside of the kernel stays where it is.
    """
    if not any(is_axis(stmt) for stmt in statements(func.body)):
        return func
    sizes = {*func.params, *symbolic_sizes(func)}
    return func.with_body(_Kernels(sizes)(func.body))


class _Kernels(Rewriter):
    def __init__(self, sizes: set[Var]) -> None:
        self._sizes = sizes

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        if not is_axis(stmt):
            return stmt.map_children(self)
        axes, body = axes_and_body(stmt)
        addressed = _addressed(body)
        moved = [
            allocation
            for allocation in statements(body)
            if isinstance(allocation, Allocate)
            and allocation.buffer_var not in addressed
            and self._is_large(allocation)
        ]
        if not moved:
            return stmt
        moving = _Moving(moved, axes)
        kernel = with_body(stmt, moving(body))
        for allocation in moved:
            pointer = moving.pointers[allocation.buffer_var]
            extents = (*allocation.extents, moving.count)
            kernel = allocation.replace(buffer_var=pointer, extents=extents, body=kernel)
        return kernel

    def _is_large(self, stmt: Allocate) -> bool:
        if storage_scope(stmt.buffer_var) not in ("global", "local"):
            return False
        elements = constant_product(stmt.extents)
        if elements is not None:
            return elements * stmt.dtype.itemsize >= LARGE
        return all(self._sizes.issuperset(variables_of(extent)) for extent in stmt.extents)


class _Moving(Rewriter):
    """Accesses of the part of each thread.

    Attributes:
        pointers: the new pointer to memory by the one in the kernel.
        count: number of threads.
    """

    def __init__(self, moved: Sequence[Allocate], axes: Sequence[Axis]) -> None:
        self.pointers = {
            stmt.buffer_var: Var(stmt.buffer_var.name, HANDLE, PointerType(PrimType(stmt.dtype)))
            for stmt in moved
        }
        self._buffers: dict[Buffer, Buffer] = {}
        self._place: Expr = ZERO
        self.count: Expr = as_expr(1)
        for axis in axes:
            self._place = add(multiply(self._place, axis.extent), axis.var)
            self.count = multiply(self.count, axis.extent)

    def Allocate(self, stmt: Allocate) -> Stmt:
        changed = stmt.map_children(self)
        return changed.body if stmt.buffer_var in self.pointers else changed

    def DeclBuffer(self, stmt: DeclBuffer) -> Stmt:
        return stmt.map_children(self).replace(buffer=self._buffer(stmt.buffer))

    def BufferLoad(self, access: BufferLoad) -> BufferLoad:
        changed = access.map_children(self)
        if access.buffer.data not in self.pointers:
            return changed
        indices = (*changed.indices, self._place)
        return changed.replace(buffer=self._buffer(access.buffer), indices=indices)

    def BufferStore(self, access: BufferStore) -> BufferStore:
        changed = access.map_children(self)
        if access.buffer.data not in self.pointers:
            return changed
        indices = (*changed.indices, self._place)
        return changed.replace(buffer=self._buffer(access.buffer), indices=indices)

    def _buffer(self, buffer: Buffer) -> Buffer:
        if buffer.data not in self.pointers:
            return buffer
        found = self._buffers.get(buffer)
        if found is None:
            shape = (*buffer.shape, self.count)
            pointer = self.pointers[buffer.data]
            found = self._buffers[buffer] = buffer.replace(data=pointer, shape=shape)
        return found


def _addressed(body: Stmt) -> set[Var]:
    """The pointers of which a kernel uses more than elements of one compact buffer."""
    finder = _Addressed()
    finder.visit(body)
    return finder.found


class _Addressed(Visitor):
    def __init__(self) -> None:
        self.found: set[Var] = set()
        self._buffers: dict[Var, Buffer] = {}

    def Var(self, var: Var) -> None:
        self.found.add(var)

    def Allocate(self, stmt: Allocate) -> None:
        if stmt.buffer_var in self._buffers:
            self.found.add(stmt.buffer_var)
        self.visit(stmt.body)

    def BufferLoad(self, access: BufferLoad | BufferStore) -> None:
        buffer = access.buffer
        known = self._buffers.setdefault(buffer.data, buffer)
        if known is not buffer or not buffer.is_compact():
            self.found.add(buffer.data)
        self.visit_children(access)

    BufferStore = BufferLoad
