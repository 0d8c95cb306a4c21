"""What kernels use of a device, and whether it has that much.

Registers are estimated: what stays in ``local`` memory of constant indices is in registers, and so
are the operands of its updates, addresses and loop counters. Compilers do better or worse by a few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tilewright.error import ArgumentValueError, did_you_mean
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, Var, const_int_value, constant_product
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Visitor, walk
from tilewright.tir.buffer import Buffer, BufferLoad, storage_scope
from tilewright.tir.expr import IterVar
from tilewright.tir.function import PrimFunc
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import (
    Allocate,
    AttrStmt,
    BlockRealize,
    BufferStore,
    For,
    ForKind,
    LetStmt,
    Stmt,
)

UNKNOWN: Final = 1 << 62
"""What is not a constant may be any number."""


class KernelUse(NamedTuple):
    """What a kernel uses.

    Attributes:
        name: of the kernel, or of the function and its number in it.
        threads: number of threads of a block by axis; `UNKNOWN` if it is not constant.
        virtual_threads: number of virtual threads of a thread.
        shared_bytes: bytes of memory of a block, without those whose number a launch chooses.
        local_bytes: bytes of memory of a thread, in registers or not.
        vector_bytes: bytes of its widest access.
        registers: number of 32-bit registers of a thread, estimated.
    """

    name: str
    threads: Mapping[str, int]
    virtual_threads: int
    shared_bytes: int
    local_bytes: int
    vector_bytes: int
    registers: int

    @property
    def threads_of_block(self) -> int:
        """Number of threads of a block."""
        return math.prod(self.threads.values())

    @property
    def registers_of_block(self) -> int:
        """Number of 32-bit registers of a block, estimated."""
        return self.threads_of_block * self.registers


class _Limit(NamedTuple):
    """A limit of devices: what it is of, how much a kernel uses, and what to do about it."""

    what: str
    use: Callable[[KernelUse], int]
    hint: str


def _along(axis: str) -> Callable[[KernelUse], int]:
    return lambda kernel: kernel.threads.get(f"threadIdx.{axis}", 1)


_FEWER: Final = "bind a smaller part of the loops to threadIdx, and the rest to blockIdx"
LIMITS: Final = {
    "max_threads_per_block": _Limit("threads per block", lambda k: k.threads_of_block, _FEWER),
    **{
        f"max_thread_{axis}": _Limit(f"threads along threadIdx.{axis}", _along(axis), _FEWER)
        for axis in "xyz"
    },
    "max_shared_memory_per_block": _Limit(
        "bytes of shared memory",
        lambda k: k.shared_bytes,
        "copy smaller tiles into it, or leave a buffer in global memory",
    ),
    "max_local_memory_per_block": _Limit(
        "bytes of local memory",
        lambda k: k.local_bytes,
        "compute smaller tiles in each thread",
    ),
    "max_registers_per_block": _Limit(
        "estimated registers per block",
        lambda k: k.registers_of_block,
        "compute smaller tiles in each thread, or bind fewer threads",
    ),
    "max_vthread": _Limit(
        "virtual threads", lambda k: k.virtual_threads, "bind a smaller loop to vthread"
    ),
    "max_vector_bytes": _Limit(
        "bytes of a vector", lambda k: k.vector_bytes, "vectorize a shorter loop"
    ),
}
"""What devices limit for each kernel, by the names of constraints."""

MAX_KERNELS: Final = "max_kernels"


def verify_gpu_code(func: PrimFunc, constraints: Mapping[str, int]) -> bool:
    """Whether the kernels of a function stay below some limits.

    Args:
        func: with loops that are bound to blocks and threads, or with kernels.
        constraints: limits by name: `max_threads_per_block`, `max_thread_x`, `max_thread_y`,
            `max_thread_z`, `max_shared_memory_per_block` (bytes), `max_local_memory_per_block`
            (bytes of each thread), `max_registers_per_block` (32-bit registers, estimated),
            `max_vthread`, `max_vector_bytes` and `max_kernels`.

    Raises:
        ArgumentValueError: for another name.
    """
    return not exceeded(func, constraints)


def exceeded(func: PrimFunc, constraints: Mapping[str, int]) -> list[str]:
    """The limits that kernels of a function exceed: which, by how much, and what to do.

    For the arguments and the errors see `verify_gpu_code`.
    """
    for name in constraints:
        if name not in (*LIMITS, MAX_KERNELS):
            known = [*LIMITS, MAX_KERNELS]
            raise ArgumentValueError(
                f"verify_gpu_code: there is no constraint {name!r}{did_you_mean(name, known)}; "
                f"known are {', '.join(known)}"
            )
    kernels = kernel_uses(func)
    found = [
        f"kernel {kernel.name} has {_amount(limit.use(kernel))} {limit.what}, and at most "
        f"{constraints[name]} are there ({name}); {limit.hint}"
        for kernel in kernels
        for name, limit in LIMITS.items()
        if name in constraints and limit.use(kernel) > constraints[name]
    ]
    if len(kernels) > constraints.get(MAX_KERNELS, len(kernels)):
        found.append(
            f"function {_name(func)} has {len(kernels)} kernels, and at most "
            f"{constraints[MAX_KERNELS]} are there ({MAX_KERNELS}); compute more in the same loop "
            "over blocks"
        )
    return found


def _amount(number: int) -> str:
    return "an unknown number of" if number >= UNKNOWN else str(number)


def kernel_uses(func: PrimFunc) -> list[KernelUse]:
    """What each kernel of a function uses, in the order of the text."""
    body = func.body
    if any(isinstance(node, BlockRealize) for node in walk(body)):
        body = _without_blocks(func).body
    return list(_Kernels(_name(func)).found_in(body))


def _without_blocks(func: PrimFunc) -> PrimFunc:
    from tilewright.tir.transform.compact_buffers import compact_buffers
    from tilewright.tir.transform.lower_blocks import lower_blocks
    from tilewright.tir.transform.plan_buffer_locations import plan_buffer_locations

    return compact_buffers(plan_buffer_locations(lower_blocks(func)))


def _name(func: PrimFunc) -> str:
    return func.global_symbol or "main"


def bound_axis(stmt: Node) -> tuple[str, Var, Expr] | None:
    """The tag, variable and extent of the axis that a statement stands for."""
    if isinstance(stmt, For) and stmt.thread_binding is not None:
        return stmt.thread_binding.thread_tag, stmt.loop_var, stmt.extent
    if isinstance(stmt, AttrStmt) and isinstance(stmt.node, IterVar) and stmt.node.thread_tag:
        return stmt.node.thread_tag, stmt.node.var, stmt.value
    return None


class _Kernels:
    """Finds the kernels, with the memory that is allocated around them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._around: dict[Var, Allocate] = {}

    def found_in(self, stmt: Stmt) -> Iterator[KernelUse]:
        kernels = list(self._outermost(stmt))
        for number, kernel in enumerate(kernels):
            name = self._name if len(kernels) == 1 else f"{number} of {self._name}"
            uses = _Uses()
            uses.visit(kernel)
            uses.allocations |= {v: a for v, a in self._around.items() if v in uses.accessed}
            yield uses.summary(name)

    def _outermost(self, stmt: Stmt) -> Iterator[Stmt]:
        if bound_axis(stmt) is not None:
            yield stmt
            return
        if isinstance(stmt, Allocate):
            self._around[stmt.buffer_var] = stmt
        for child in stmt.children():
            if isinstance(child, Stmt):
                yield from self._outermost(child)


class _Uses(Visitor):
    """Adds up what one kernel uses."""

    def __init__(self) -> None:
        self.threads: dict[str, int] = {}
        self.virtual = 1
        self.allocations: dict[Var, Allocate] = {}
        self.accessed: dict[Var, list[tuple[Buffer, tuple[Expr, ...]]]] = {}
        self.updates: list[tuple[BufferStore, tuple[Var, ...]]] = []
        self.vector_bytes = 0
        self._lanes: dict[Var, int] = {}
        self._counted: dict[Var, int] = {}  # extents of loops of one thread
        self._loops: tuple[Var, ...] = ()  # of one thread, around the present place
        self._most_loops = 0

    def For(self, loop: For) -> None:
        extent = const_int_value(loop.extent)
        if self._note_axis(loop):
            self.visit_children(loop)
            return
        if loop.kind is ForKind.VECTORIZED:
            self._lanes[loop.loop_var] = extent or UNKNOWN
        if extent is not None:
            self._counted[loop.loop_var] = extent
        outer, self._loops = self._loops, (*self._loops, loop.loop_var)
        self._most_loops = max(self._most_loops, len(self._loops))
        self.visit_children(loop)
        self._loops = outer

    def AttrStmt(self, stmt: AttrStmt) -> None:
        self._note_axis(stmt)
        self.visit_children(stmt)

    def _note_axis(self, stmt: Stmt) -> bool:
        axis = bound_axis(stmt)
        if axis is None:
            return False
        tag, _, extent = axis
        count = const_int_value(extent)
        if tag.startswith("threadIdx"):
            self.threads[tag] = max(self.threads.get(tag, 1), UNKNOWN if count is None else count)
        elif not tag.startswith("blockIdx"):
            self.virtual *= UNKNOWN if count is None else count
        return True

    def Allocate(self, stmt: Allocate) -> None:
        self.allocations[stmt.buffer_var] = stmt
        self.visit_children(stmt)

    def LetStmt(self, let: LetStmt) -> None:
        self.visit_children(let)

    def BufferLoad(self, access: BufferLoad | BufferStore) -> None:
        self.visit_children(access)
        self.accessed.setdefault(access.buffer.data, []).append((access.buffer, access.indices))
        dtype = access.dtype if isinstance(access, BufferLoad) else access.value.dtype
        lanes = [
            lanes
            for var, lanes in self._lanes.items()
            if any(node is var for index in access.indices for node in walk(index))
        ]
        self.vector_bytes = max(self.vector_bytes, _bytes(dtype) * max(lanes, default=1))

    def BufferStore(self, store: BufferStore) -> None:
        self.BufferLoad(store)
        self.updates.append((store, self._loops))

    # --- together ---------------------------------------------------------------------------

    def summary(self, name: str) -> KernelUse:
        """What all that adds up to."""
        sizes = {MemoryOwner.BLOCK: 0, MemoryOwner.THREAD: 0}
        for allocation in self.allocations.values():
            owner = owner_of(storage_scope(allocation.buffer_var))
            size = _size(allocation)
            if owner in sizes and not (owner is MemoryOwner.BLOCK and size >= UNKNOWN):
                sizes[owner] += size
        return KernelUse(
            name,
            self.threads,
            self.virtual,
            sizes[MemoryOwner.BLOCK],
            sizes[MemoryOwner.THREAD],
            self.vector_bytes,
            self._registers(),
        )

    def _registers(self) -> int:
        arrays = {var: a for var, a in self.allocations.items() if self._is_in_registers(var)}
        unrolled = {
            node
            for var in arrays
            for _, indices in self.accessed.get(var, ())
            for index in indices
            for node in walk(index)
            if isinstance(node, Var)
        }
        operands = [self._operands(*update, arrays, unrolled) for update in self.updates]
        memory = sum(-(-_size(allocation) // 4) for allocation in arrays.values())
        pointers = sum(
            1 for var in self.accessed if owner_of(storage_scope(var)) is MemoryOwner.DEVICE
        )
        loops = self._most_loops - len(unrolled)
        return FIXED_REGISTERS + memory + max(operands, default=0) + 2 * pointers + max(loops, 0)

    def _is_in_registers(self, var: Var) -> bool:
        """Whether all indices of memory of a thread are constants once its loops are unrolled."""
        if owner_of(storage_scope(var)) is not MemoryOwner.THREAD:
            return False
        return all(
            node in self._counted
            for _, indices in self.accessed.get(var, ())
            for index in indices
            for node in walk(index)
            if isinstance(node, (Var, BufferLoad))
        )

    def _operands(
        self, store: BufferStore, loops: tuple[Var, ...], arrays: Any, unrolled: set[Var]
    ) -> int:
        """Registers for what an update of all elements of arrays loads from elsewhere."""
        total = 0
        serial = [
            self._counted[var] for var in loops if var in self._counted and var not in unrolled
        ]
        ahead = min(serial[-1], LOADS_AHEAD) if serial else 1
        for node in walk(store.value):
            if not isinstance(node, BufferLoad) or node.buffer.data in arrays:
                continue
            used = {n for index in node.indices for n in walk(index) if n in unrolled}
            copies = math.prod(self._counted.get(var, 1) for var in used)  # type: ignore[arg-type]
            total += copies * -(-_bytes(node.dtype) // 4)
        return total * ahead


FIXED_REGISTERS: Final = 7
"""What every kernel needs for the place of a thread and for addresses, about."""

LOADS_AHEAD: Final = 6
"""For how many iterations of the innermost loop a compiler loads operands before it needs them."""


def _bytes(dtype: DType) -> int:
    return -(-dtype.bits * dtype.lanes // 8)


def _size(allocation: Allocate) -> int:
    elements = constant_product(allocation.extents)
    return UNKNOWN if elements is None else elements * _bytes(allocation.dtype)
