"""Memory of a warp becomes registers of its threads, which exchange what is in them.

Before::                                          After::

    allocate rows[64] in warp                         allocate rows[2] in local
    for t in threadIdx.x(32):                         for t in threadIdx.x(32):
        rows[t * 2] = A[t]                                rows[0] = A[t]
        rows[t * 2 + 1] = B[t]                            rows[1] = B[t]
        C[t] = rows[62 - t * 2]                           C[t] = shuffle(mask, rows[0], 31 - t)

Each thread has the elements that it stores. Where these are ``m`` neighbours, element ``i`` is of
lane ``i // m % 32``, in its register ``i // (32 * m) * m + i % m``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.arith import Analyzer
from tilewright.arith.linear import detect_linear_equation
from tilewright.ir.convert import as_expr, const
from tilewright.ir.expr import Expr, IntImm, Var, const_int_value, constant_product, is_const_int
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer, storage_scope
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.gpu import tvm_warp_shuffle
from tilewright.tir.stmt import Allocate, AttrStmt, BufferStore, DeclBuffer, For, Stmt
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.device.kernel_error import KernelError
from tilewright.tir.transform.device.thread_axes import (
    THREADS,
    Axis,
    axes_and_body,
    is_axis,
    with_body,
)

SCOPE: Final = "warp"


def lower_warp_memory(func: PrimFunc, warp_size: int = 32) -> PrimFunc:
    """`func` without memory of the scope ``warp``.

    Args:
        func: a function whose kernels have axes, and whose buffers have their dimensions.
        warp_size: number of threads of a warp.

    Raises:
        KernelError: for memory of which a thread stores what another one has, or whose threads are
            not whole warps.
    """
    if not any(isinstance(s, Allocate) and _is_of_warp(s) for s in statements(func.body)):
        return func
    return func.with_body(_Functions(warp_size)(func.body))


def _is_of_warp(stmt: Allocate) -> bool:
    return storage_scope(stmt.buffer_var) == SCOPE


class _Functions(Rewriter):
    """Brings the memory of each kernel into it, and lowers it there."""

    def __init__(self, warp_size: int) -> None:
        self._warp_size = warp_size
        self._around: list[Allocate] = []

    def Allocate(self, stmt: Allocate) -> Stmt:
        if not _is_of_warp(stmt):
            return stmt.map_children(self)
        self._around.append(stmt)
        body = self(stmt.body)
        self._around.pop()
        return body

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        if not is_axis(stmt):
            return stmt.map_children(self)
        axes, body = axes_and_body(stmt)
        used = {n.buffer.data for n in walk(body) if isinstance(n, (BufferLoad, BufferStore))}
        for allocation in reversed(self._around):
            if allocation.buffer_var in used:
                body = allocation.replace(body=body)
        return with_body(stmt, _Kernel(axes, self._warp_size)(body))


class _Kernel(Rewriter):
    """The memory of the warps of one kernel."""

    def __init__(self, axes: Sequence[Axis], warp_size: int) -> None:
        self._warp_size = warp_size
        self._axes = axes
        self._analyzer = Analyzer()
        for axis in axes:
            self._analyzer.bind_range(axis.var, const(0, axis.var.dtype), axis.extent)
        self._memory: dict[Var, _Registers] = {}

    def For(self, loop: For) -> Stmt:
        self._analyzer.bind_range(loop.loop_var, loop.min, loop.extent)
        return loop.map_children(self)

    def Allocate(self, stmt: Allocate) -> Stmt:
        if not _is_of_warp(stmt):
            return stmt.map_children(self)
        registers = _Registers(stmt, self._axes, self._warp_size, self._analyzer)
        self._memory[stmt.buffer_var] = registers
        return registers.allocation(self(stmt.body))

    def DeclBuffer(self, stmt: DeclBuffer) -> Stmt:
        return self(stmt.body) if stmt.buffer.data in self._memory else stmt.map_children(self)

    def BufferLoad(self, load: BufferLoad) -> Expr:
        changed: BufferLoad = load.map_children(self)
        registers = self._memory.get(load.buffer.data)
        return changed if registers is None else registers.load(changed)

    def BufferStore(self, store: BufferStore) -> Stmt:
        changed: BufferStore = store.map_children(self)
        registers = self._memory.get(store.buffer.data)
        return changed if registers is None else registers.store(changed)


class _Registers:
    """The registers of a thread that stand for memory of its warp."""

    def __init__(
        self, stmt: Allocate, axes: Sequence[Axis], warp_size: int, analyzer: Analyzer
    ) -> None:
        self._stmt, self._analyzer, self._size = stmt, analyzer, warp_size
        extents = {axis.tag: const_int_value(axis.extent) or 0 for axis in axes}
        threads = extents.get("threadIdx.x", 0)
        is_alone = all(extents.get(tag, 1) == 1 for tag in THREADS[1:])
        if not threads or (threads % warp_size and (warp_size % threads or not is_alone)):
            raise KernelError(
                f"{stmt.buffer_var.name} is memory of a warp of {warp_size} threads, and "
                f"threadIdx.x has {threads or 'no known number of'} threads",
                hint=f"bind a loop of a multiple of {warp_size} iterations to threadIdx.x; or of a "
                "power of two below that, and no loop to threadIdx.y and z",
            )
        axis = next(axis for axis in axes if axis.tag == "threadIdx.x")
        self._lane_var, self._lanes = axis.var, min(threads, warp_size)
        self._neighbours = self._neighbours_of(stmt)
        count = constant_product(stmt.extents) or 0
        rounds = -(-count // (self._lanes * self._neighbours))
        registers = rounds * self._neighbours
        self._buffer: Buffer = decl_buffer(
            (registers,), str(stmt.dtype), stmt.buffer_var.name, scope="local"
        )

    def allocation(self, body: Stmt) -> Stmt:
        """`body` with the registers."""
        return self._stmt.replace(
            buffer_var=self._buffer.data, extents=self._buffer.shape, body=body
        )

    def _neighbours_of(self, stmt: Allocate) -> int:
        """How many elements next to each other each thread has."""
        for node in walk(stmt.body):
            if isinstance(node, BufferStore) and node.buffer.data is stmt.buffer_var:
                form = detect_linear_equation(_flat(node), [self._lane_var])
                if form is not None and isinstance(form[0], IntImm) and form[0].value > 0:
                    return form[0].value
        raise KernelError(
            f"{stmt.buffer_var.name} is memory of a warp, and its threads do not store to elements "
            f"of their own, such as [{self._lane_var.name}]",
            loops=[self._lane_var],
            hint="bind the loop that fills it to threadIdx.x",
        )

    def _place(self, access: BufferLoad | BufferStore) -> tuple[Expr, Expr]:
        """The register of an element, and the lane that has it."""
        index, each = _flat(access), self._neighbours
        register = index % each + index // (each * self._lanes) * each
        lane = index // each % self._lanes
        return self._analyzer.simplify(as_expr(register)), self._analyzer.simplify(as_expr(lane))

    def _is_own(self, lane: Expr) -> bool:
        own = as_expr(self._lane_var % self._lanes)
        return is_const_int(self._analyzer.simplify(as_expr(lane - own)), 0)

    def store(self, store: BufferStore) -> BufferStore:
        """The same into a register."""
        register, lane = self._place(store)
        if not self._is_own(lane):
            raise KernelError(
                f"{store.buffer.name}{list(store.indices)} is stored by thread "
                f"{self._lane_var.name}, and belongs to lane {lane} of its warp",
                loops=[self._lane_var],
                hint="let each thread store elements of its own, or use shared memory",
            )
        return BufferStore(self._buffer, store.value, (register,))

    def load(self, load: BufferLoad) -> Expr:
        """The same from a register, perhaps of another thread."""
        register, lane = self._place(load)
        own = BufferLoad(self._buffer, (register,))
        if self._is_own(lane):
            return own
        if self._lane_var in variables_of(register):
            raise KernelError(
                f"{load.buffer.name}{list(load.indices)} is in register {register} of lane {lane}: "
                "threads of a warp can exchange the same register only",
                loops=[self._lane_var],
                hint="use shared memory",
            )
        mask = const((1 << self._lanes) - 1, "uint32")
        return tvm_warp_shuffle(mask, own, lane, self._lanes, self._size)


def _flat(access: BufferLoad | BufferStore) -> Expr:
    """The position of an element of a compact buffer."""
    index: Expr = const(0)
    for place, extent in zip(access.indices, access.buffer.shape, strict=True):
        index = index * extent + place
    return as_expr(index)
