"""The steps of a graph function that concern memory of a device.

The function finds out which device it runs on when it is called, and asks registered functions of
`tilewright.runtime.device_arrays` for what is done there.
"""

from __future__ import annotations

from typing import Any, Final

from tilewright.ir.arithmetic import logical_or
from tilewright.ir.convert import const
from tilewright.ir.dtype import HANDLE, INT32, INT64, UINT8, DType
from tilewright.ir.expr import Call, Expr, StringImm
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.relax.vm.emit_values import CPU, ValueSteps
from tilewright.relax.vm.plan import MemoryPlan
from tilewright.relax.vm.signature import size_of
from tilewright.relax.vm.steps import (
    AllocateStep,
    Arena,
    ArrayValue,
    DistinctStep,
    KeepStep,
    Memory,
    MoveStep,
    TransferStep,
)
from tilewright.runtime.device_arrays import CURRENT, EMPTY, MOVE, READ, WRITE
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.op.objects import any_at, any_value, call_packed_into
from tilewright.tir.stmt import Evaluate, LetStmt, Stmt, nop, seq

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
        self._arena_words: dict[Arena, int] = {}
        self._constants_word: int | None = None

    def with_device(self, body: Stmt, beside: Expr) -> Stmt:
        """The body of a function, after it has found its device: that of the memory `beside`."""
        if not self._has_device:
            return body
        found = self._ask(INT64, CURRENT, beside)
        steps = [self._memory.store(abi.Field(INT64, self._device_word), found)]
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

    def _ask(self, dtype: DType, name: str, *arguments: Expr) -> Expr:
        """What a registered function returns for the type of the device and other arguments."""
        kind = const(self._device_type, INT64)
        return Call(dtype, Op.get("tir.tvm_call_packed"), (StringImm(name), kind, *arguments))

    # --- memory -----------------------------------------------------------------------------

    def make_arena(self, arena: Arena, plan: MemoryPlan) -> Stmt:
        """Take memory of the device for temporary arrays."""
        assert arena.slot is not None
        word = self._arena_words[arena] = self._new_word()
        extents = (self.known(plan.size),)
        return seq(
            self._new_array(arena.slot, UINT8, extents), self._remember_data(arena.slot, word)
        )

    def arena_address(self, arena: Arena, offset: Expr) -> Expr:
        """An address in an arena."""
        return abi.as_pointer(
            self._memory.load(abi.Field(INT64, self._arena_words[arena])) + offset
        )

    def _new_array(self, slot: int, dtype: DType, extents: tuple[Expr, ...]) -> Stmt:
        kind = any_value(abi.TYPE_DTYPE, const(abi.dtype_word(dtype), INT64))
        arguments = (const(self._device_type, INT64), self.device_id, kind, *extents)
        return Evaluate(call_packed_into(self.slot(slot), EMPTY, *arguments))

    def _remember_data(self, slot: int, word: int) -> Stmt:
        """Put the address of the elements of the array in a slot into a word."""
        tensor = abi.View(abi.pointer_var("tensor"))
        address = abi.as_pointer(self._object(slot) + const(abi.OBJECT_HEADER_SIZE, INT64))
        store = self._memory.store(abi.Field(INT64, word), tensor.load(abi.DATA))
        return LetStmt(tensor.pointer, address, store)

    # --- steps ------------------------------------------------------------------------------

    def value_step(self, step: Any) -> Stmt:
        if isinstance(step, TransferStep):
            return self._transfer(step)
        if isinstance(step, DistinctStep):
            return self._are_distinct(step)
        if isinstance(step, MoveStep):
            return self._move(any_at(self.slot(step.slot)), step.slot, step.on_device)
        if isinstance(step, AllocateStep) and step.array.memory.on_device:
            return self._allocate_on_device(step.array)
        if isinstance(step, KeepStep):
            kept = step.value
            if isinstance(kept, ArrayValue) and kept.memory.root.on_device:
                return self._move(self.passed(kept), step.slot, True)
        return super().value_step(step)

    def _allocate_on_device(self, array: ArrayValue) -> Stmt:
        memory, slot = array.memory, array.memory.slot
        if memory.merged_into is not None or slot is None:
            return nop()
        word = self._data[memory] = self._new_word()
        made = self._new_array(slot, array.dtype, tuple(map(self.known, array.extents)))
        return seq(made, self._remember_data(slot, word))

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
        name = WRITE if step.target.memory.root.on_device else READ
        places = (self.address(array.memory) for array in (step.source, step.target))
        size = self.known(size_of(step.source.extents, step.source.dtype))
        return Evaluate(self._ask(HANDLE, name, *places, size))
