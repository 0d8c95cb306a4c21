"""The steps of a graph function that concern memory of a device.

The function finds out which device it runs on when it is called, and asks the launcher for what is
done there. Values that move to a device need a host: a registered function of
`tilewright.runtime.device_arrays` moves them.
"""

from __future__ import annotations

from typing import Any, Final

from tilewright.ir.arithmetic import less, logical_or
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32, INT64, DType
from tilewright.ir.expr import Call, Expr, Var
from tilewright.ir.module import GlobalVar
from tilewright.relax.vm.emit_values import CPU, ValueSteps
from tilewright.relax.vm.signature import size_of
from tilewright.relax.vm.steps import (
    ArrayValue,
    DistinctStep,
    KeepStep,
    Memory,
    MoveStep,
    TransferStep,
)
from tilewright.runtime.device_arrays import MOVE
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.op.devices import (
    DEVICE_MEMORY,
    call_launcher,
    device_beside,
    new_device_array,
)
from tilewright.tir.op.objects import any_at, call_packed_into
from tilewright.tir.stmt import Allocate, AttrStmt, Evaluate, Stmt, seq

CONSTANTS: Final = GlobalVar("tilewright_device_constants")
"""The function of a module that gives the address of its constants on a device."""


class DeviceSteps(ValueSteps):
    """Writes the steps that concern a device.

    Args:
        device_type: DLPack's number of the type of the device; that of the host if there is none.
    """

    def __init__(self, function: str, slots: int, device_type: int) -> None:
        super().__init__(function, slots)
        self._device_type = device_type
        self._has_device = device_type != CPU
        self._device_word = self._new_word() if self._has_device else -1
        self._constants_word: int | None = None
        self._beside: Expr = abi.as_pointer(const(0, INT64))
        """The address of an array on the device; null if the function is given none."""

    def with_device(self, body: Stmt) -> Stmt:
        """The body of a function, after it has found its device."""
        if not self._has_device:
            return body
        found = device_beside(self._device_type, self._beside)
        steps = [
            self._memory.store(abi.Field(INT64, self._device_word), found),
            abi.leave_if(less(self.device_id, const(0, INT64))),
        ]
        if self._constants_word is not None:
            word = abi.as_address(self._memory.pointer) + const(8 * self._constants_word, INT64)
            place = (self.device_id, abi.as_pointer(word))
            steps.append(Evaluate(Call(INT32, CONSTANTS, place)))
        return seq(*steps, body)

    def constant_address(self, offset: int) -> Expr:
        """The address of a constant that is `offset` bytes after the first one."""
        if self._constants_word is None:
            self._constants_word = self._new_word()
        first = self._memory.load(abi.Field(INT64, self._constants_word))
        return abi.as_pointer(first + const(offset, INT64))

    @property
    def device_id(self) -> Expr:
        """The number of the device."""
        return self._memory.load(abi.Field(INT64, self._device_word))

    def device_of(self, memory: Memory) -> tuple[Expr, ...]:
        if not memory.root.on_device:
            return ()
        return (const(self._device_type, INT64) + self.device_id * const(1 << 32, INT64),)

    def device_type_of(self, memory: Memory) -> int:
        return self._device_type if memory.root.on_device else CPU

    def _kind(self, dtype: DType) -> Expr:
        return const(self._device_type, dtype)

    # --- memory -----------------------------------------------------------------------------

    def on_device(self, memory: Allocate) -> Stmt:
        """An allocation of memory of the device."""
        changed = memory.replace(annotations={DEVICE_MEMORY: self._device_type})
        return AttrStmt(None, DEVICE_MEMORY, self._beside, changed)

    def made(self, array: ArrayValue, shape: Var) -> Expr:
        if not array.memory.on_device:
            return super().made(array, shape)
        ndim, word = len(array.extents), abi.dtype_word(array.dtype)
        place = self.slot_of(array), self._device_type, self.device_id
        return new_device_array(*place, ndim, word, shape)

    # --- steps ------------------------------------------------------------------------------

    def value_step(self, step: Any) -> Stmt:
        if isinstance(step, TransferStep):
            return self._transfer(step)
        if isinstance(step, DistinctStep):
            return self._are_distinct(step)
        if isinstance(step, MoveStep):
            return self._move(any_at(self.slot(step.slot)), step.slot, step.on_device)
        if isinstance(step, KeepStep):
            kept = step.value
            if isinstance(kept, ArrayValue) and kept.memory.root.on_device:
                return self._move(self.passed(kept), step.slot, True)
        return super().value_step(step)

    def _move(self, value: Expr, slot: int, on_device: bool) -> Stmt:
        """Put an array into a slot: itself if it is in the right place and owns its memory."""
        kind, number = (self._device_type, self.device_id) if on_device else (CPU, const(0, INT64))
        place = (const(kind, INT64), number)
        return Evaluate(call_packed_into(self.slot(slot), MOVE, *place, value))

    def _are_distinct(self, step: DistinctStep) -> Stmt:
        (first, size), (second, other_size) = (
            (
                abi.as_address(self.address(array.memory)),
                self.known(size_of(array.extents, array.dtype)),
            )
            for array in (step.written, step.other)
        )
        message = f"{step.where.replace('%', '%%')}: an array that is written shares memory with "
        apart = logical_or(first + size <= second, second + other_size <= first)
        return abi.require(apart, "ValueError", message + "another one: pass a copy")

    def _transfer(self, step: TransferStep) -> Stmt:
        action = "write" if step.target.memory.root.on_device else "read"
        places = (self.address(array.memory) for array in (step.target, step.source))
        size = self.known(size_of(step.source.extents, step.source.dtype))
        name = f"tilewright_device_{action}"
        return abi.leave_unless_0(call_launcher(INT32, name, self._kind(INT32), *places, size))
