"""Memory of functions: on the stack, from the heap, and constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.ir.expr import Expr, IntImm
from tilewright.target.codegen.llvm.addresses import index_operand
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, Workspace, emits
from tilewright.target.codegen.llvm.statements import leave_if_failed, leave_with_error
from tilewright.target.codegen.llvm.types import HALVES, constant, memory_type
from tilewright.tir.op.devices import DEVICE_MEMORY
from tilewright.tir.stmt import Allocate, AllocateConst
from tilewright.tir.transform.building.allocations import STACK_LIMIT

ALIGNMENT: Final = 64
"""Alignment in bytes of buffers on the stack."""

ALLOCATE: Final = "tilewright_workspace_allocate"
"""The function that allocates a block of memory from the heap; null if there is none."""


@emits(Allocate)
def _allocate(emitter: FunctionEmitter, stmt: Allocate) -> None:
    with_memory(emitter, stmt, lambda: emitter.statement(stmt.body))


def with_memory(emitter: FunctionEmitter, stmt: Allocate, write: Callable[[], None]) -> None:
    """What `write` writes, with memory for an allocation, on the stack or from the heap."""
    device_type = stmt.annotations.get(DEVICE_MEMORY)
    if device_type is not None:
        _with_device_memory(emitter, stmt, int(device_type), write)
        return
    sizes = [extent.value if isinstance(extent, IntImm) else -1 for extent in stmt.extents]
    element = memory_type(stmt.dtype)
    count = 1
    for size in sizes:
        count *= size
    constant = all(size >= 0 for size in sizes)
    if constant and (count * stmt.dtype.itemsize <= STACK_LIMIT):
        register = emitter.variables[stmt.buffer_var] = emitter.fresh("%buffer")
        emitter.unaliased.add(register)
        emitter.entry.append(
            f"  {register} = alloca [{max(count, 1)} x {element}], align {ALIGNMENT}"
        )
        write()
        return
    register = _heap_memory(emitter, stmt.extents, stmt.dtype.itemsize, stmt.buffer_var.name)
    emitter.unaliased.add(register)
    _with_workspace(emitter, stmt, Workspace(register, None), write)


def _with_workspace(
    emitter: FunctionEmitter, stmt: Allocate, workspace: Workspace, write: Callable[[], None]
) -> None:
    emitter.variables[stmt.buffer_var] = workspace.register
    emitter.workspaces.append(workspace)
    write()
    emitter.workspaces.pop()
    emitter.free(workspace)


def _with_device_memory(
    emitter: FunctionEmitter, stmt: Allocate, device_type: int, write: Callable[[], None]
) -> None:
    """What `write` writes, with memory of a device, which the launcher has an error for if not."""
    emitter.module.needs_launcher = True
    size = _size(emitter, stmt.extents, stmt.dtype.itemsize)
    take = emitter.module.declare("tilewright_take", "ptr", ("i32", "i64", "ptr"))
    memory = emitter.value(f"call ptr {take}(i32 {device_type}, i64 {size}, ptr {emitter.beside})")
    leave_if_failed(emitter, emitter.value(f"icmp eq ptr {memory}, null"), "i1")
    _with_workspace(emitter, stmt, Workspace(memory, device_type), write)


def _size(emitter: FunctionEmitter, extents: tuple[Expr, ...], itemsize: int) -> str:
    """The number of bytes of a number of elements that may be symbolic; -1 if it is too large."""
    total = str(itemsize)
    checked = emitter.module.declare("llvm.umul.with.overflow.i64", "{ i64, i1 }", ("i64", "i64"))
    overflow = "false"
    for extent in extents:
        size = index_operand(emitter, extent)
        # A negative extent counts as empty, and too large a product as out of memory.
        maximum = emitter.module.declare("llvm.smax.i64", "i64", ("i64", "i64"))
        size = emitter.value(f"call i64 {maximum}(i64 {size}, i64 0)")
        pair = emitter.value(f"call {{ i64, i1 }} {checked}(i64 {total}, i64 {size})")
        total = emitter.value(f"extractvalue {{ i64, i1 }} {pair}, 0")
        lost = emitter.value(f"extractvalue {{ i64, i1 }} {pair}, 1")
        overflow = emitter.value(f"or i1 {overflow}, {lost}")
    return emitter.value(f"select i1 {overflow}, i64 -1, i64 {total}")


def _heap_memory(
    emitter: FunctionEmitter, extents: tuple[Expr, ...], itemsize: int, name: str
) -> str:
    """Memory from the heap, for a number of elements that may be symbolic."""
    request = _size(emitter, extents, itemsize)
    allocate = emitter.module.declare(ALLOCATE, "ptr", ("i64",))
    memory = emitter.value(f"call ptr {allocate}(i64 {request})")
    failed = emitter.value(f"icmp eq ptr {memory}, null")
    wrong, right = emitter.label("wrong"), emitter.label("right")
    emitter.branch(failed, wrong, right)
    emitter.start_block(wrong)
    with emitter.conditional():
        text = f"{emitter.name}: not enough memory for the workspace {name}"
        leave_with_error(emitter, "MemoryError", text.replace("%", "%%"))
    emitter.merge_into(right)
    emitter.start_block(right)
    return memory


@emits(AllocateConst)
def _allocate_constant(emitter: FunctionEmitter, stmt: AllocateConst) -> None:
    import numpy as np

    data = np.ascontiguousarray(stmt.data).reshape(-1)
    dtype = stmt.dtype
    if dtype.element in HALVES:
        values = [str(bits) for bits in data.view(np.int16).tolist()]
    elif dtype.is_bool:
        values = [str(int(value)) for value in data.tolist()]
    else:
        values = [constant(value, dtype.element) for value in data.tolist()]
    name = emitter.module.constant_array(memory_type(dtype.element), values, len(values))
    emitter.variables[stmt.buffer_var] = name
    emitter.statement(stmt.body)
