"""From steps over memory to the tensor program that is compiled, and its constants."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from tilewright.ir.arithmetic import logical_not
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import BOOL, HANDLE, INT32, INT64, UINT8
from tilewright.ir.expr import Call, Expr, IntImm, StringImm, Var
from tilewright.relax.vm.emit_device import DeviceSteps
from tilewright.relax.vm.plan import DEVICE_ALIGNMENT, MemoryPlan
from tilewright.relax.vm.steps import (
    Arena,
    ArenaStep,
    ArrayValue,
    BranchStep,
    CallStep,
    CheckStep,
    KeepStep,
    KeptValue,
    Memory,
    MemoryOrigin,
    PackedCallStep,
    Step,
    TransferStep,
    in_order,
)
from tilewright.relax.vm.translate import Program
from tilewright.runtime.ndarray import ALIGNMENT, NDArray, array
from tilewright.target.codegen.params import Param
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.call_boundary.metadata import WRITES
from tilewright.tir.call_boundary.return_results import (
    ANY_PARAMS,
    IS_PRIVATE,
    ON_HOST,
    RETURNS,
    SLOTS,
)
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.calls import call_packed
from tilewright.tir.op.devices import call_launcher
from tilewright.tir.op.memory import (
    address_of,
    lookup_param,
    tvm_stack_make_array,
    tvm_stack_make_shape,
)
from tilewright.tir.op.objects import call_cpacked_into, call_packed_into
from tilewright.tir.stmt import Allocate, Evaluate, IfThenElse, LetStmt, Stmt, nop, seq

PREFIX = "tilewright_constant_"


class ConstantTable:
    """Constants by symbol.

    Args:
        owner: the name of a function of the library, which no other library has that is linked
            into the same program.

    Attributes:
        arrays: compact, and aligned to a cache line.
        originals: the arrays of the program.
    """

    def __init__(self, owner: str) -> None:
        self._prefix = f"{PREFIX}{owner}_"
        self.arrays: dict[str, NDArray] = {}
        self._symbols: dict[int, str] = {}
        self.originals: dict[str, NDArray] = {}  # keeps what `_symbols` names by id
        self._offsets: dict[str, int] = {}
        self._end = 0

    def symbol(self, data: NDArray | None) -> str:
        """The symbol under which compiled code finds `data`."""
        assert data is not None
        found = self._symbols.get(id(data))
        if found is None:
            found = self._symbols[id(data)] = f"{self._prefix}{len(self.arrays)}"
            self.originals[found] = data
            self.arrays[found] = _compact(data)
        return found

    def offset(self, data: NDArray | None) -> int:
        """Where `data` is among the constants on a device, in bytes."""
        symbol = self.symbol(data)
        if symbol not in self._offsets:
            self._offsets[symbol] = self._end
            size = self.arrays[symbol]._host_view("constant").nbytes
            self._end += -(-size // DEVICE_ALIGNMENT) * DEVICE_ALIGNMENT
        return self._offsets[symbol]

    @functools.cached_property
    def digest(self) -> str:
        """What tells the constants on a device from others."""
        digest = hashlib.sha256()
        for symbol in self._offsets:
            values = self.arrays[symbol]._host_view("constant")
            digest.update(values.reshape(-1).view("uint8").data)
            digest.update(f"{symbol} {values.nbytes} ".encode())
        return digest.hexdigest()

    def device_function(self, device_type: int) -> PrimFunc | None:
        """The function `CONSTANTS`; None if there are no constants on a device.

        It takes the number of the device, and a pointer to the word for the address.
        """
        if not self._offsets:
            return None
        device, params = Var("device", INT64), self.params()
        word = abi.View(abi.pointer_var("address"))
        field = abi.Field(INT64, 0)
        kind, null = const(device_type, INT32), const(0, INT64)
        place = (kind, cast(INT32, device))

        def found(address: Expr) -> Stmt:
            asked = (*place, StringImm(self.digest), abi.as_pointer(address))
            return word.store(field, call_launcher(INT64, "tilewright_constants", *asked))

        made = call_launcher(INT64, "tilewright_device_allocate", *place, const(self._end, INT64))
        address = word.load(field)
        is_null = address.equal(null)
        copies = (
            abi.leave_unless_0(
                call_launcher(
                    INT32,
                    "tilewright_device_write",
                    kind,
                    abi.as_pointer(address + const(offset, INT64)),
                    lookup_param(symbol),
                    const(params[symbol].size, INT64),
                )
            )
            for symbol, offset in self._offsets.items()
        )
        copied = seq(word.store(field, made), abi.leave_if(is_null), *copies, found(address),
                     abi.leave_if(is_null))  # fmt: skip
        return PrimFunc((device, word.pointer), seq(found(null), IfThenElse(is_null, copied)))

    @property
    def size(self) -> int:
        """Bytes of all constants."""
        return sum(param.size for param in self.params().values())

    def params(self) -> dict[str, Param]:
        """The constants as code finds them."""
        return {
            name: Param(data.data_ptr(), data._host_view("constant").nbytes, data)
            for name, data in self.arrays.items()
        }


def _compact(data: NDArray) -> NDArray:
    if data.is_contiguous() and data.data_ptr() % ALIGNMENT == 0:
        return data
    return array(data)


class Observer(NamedTuple):
    """A registered function that is called before and after each call of a graph function.

    It gets the number of the step, whether the step comes, and numbers and arrays of it. When it
    returns `SKIP` before a step, the step is left out.

    Attributes:
        name: under which it is registered.
        first: the number of the first step; those of a function are numbered as in `in_order`.
        sees_arrays: whether it gets the arguments of the step, or else the symbolic sizes of the
            tensor program that is called.
    """

    name: str
    first: int
    sees_arrays: bool


SKIP: Final = 1
"""What an observer returns to leave out a step."""


def emit(
    name: str | None,
    program: Program,
    plan: MemoryPlan,
    constants: ConstantTable,
    device_type: int,
    observer: Observer | None = None,
    symbol: str | None = None,
) -> PrimFunc:
    """The tensor program of a graph function; it calls others of its module by their raw form.

    Args:
        device_type: DLPack's number of the type of the device, or of the host without one.
        name: under which it is exported; None if it is called by functions of the module only.
        symbol: of the packed function that calls it, if it works with values of any kind.
    """
    return _Emission(program, plan, constants, device_type, observer).function(name, symbol)


class _Emission(DeviceSteps):
    def __init__(
        self,
        program: Program,
        plan: MemoryPlan,
        constants: ConstantTable,
        device_type: int,
        observer: Observer | None,
    ) -> None:
        super().__init__(program.name, program.slots, device_type)
        self._program, self._plan, self._constants = program, plan, constants
        self._observer = observer
        self._numbers = {id(step): number for number, step in enumerate(in_order(program.steps))}
        self._params = list(program.signature.params)
        self._buffers = dict(program.signature.buffers)
        self._results: list[Buffer] = []
        self._on_host = list(program.signature.on_host)
        for number, result in enumerate(program.results):
            handle = Var(f"result_{number}", HANDLE)
            buffer = decl_buffer(result.extents, result.dtype, handle.name)
            self._results.append(buffer)
            if self._has_device and not result.memory.on_device:
                self._on_host.append(len(self._params))
            self._params.append(handle)
            self._buffers[handle] = buffer
        if program.slots:
            self._params.append(self.slots)
        self._arenas: dict[Arena | None, Var] = {None: abi.pointer_var("arena", UINT8)}

    def function(self, name: str | None, symbol: str | None) -> PrimFunc:
        """The whole function."""
        self._beside = self._first_on_device()
        body = self._sequence(self._program.steps)
        if self._plan.offsets:  # also where all of them are empty: kernels get their addresses
            body = Allocate(self._arenas[None], UINT8, (self._plan.size,), const(True), body)
        body = self.with_numbers(self.with_device(body))
        attrs: dict[str, object] = {}
        if name is not None or symbol is not None:
            structure = self._program.structure
            attrs = {"global_symbol": name or symbol, RETURNS: json.dumps(structure)}
        if name is None and symbol is not None:
            attrs[IS_PRIVATE] = True
        if self._program.slots:
            attrs[SLOTS] = self._program.slots
        if self._on_host:
            attrs[ON_HOST] = tuple(self._on_host)
        if self._program.signature.of_any_kind:
            attrs[ANY_PARAMS] = tuple(self._program.signature.of_any_kind)
        written = sorted(written_parameters(self._program.steps))
        if written:
            attrs[WRITES] = tuple(written)
        return PrimFunc(tuple(self._params), body, buffer_map=self._buffers, attrs=attrs)

    def _first_on_device(self) -> Expr:
        """The address of the first array that is given on the device; null without one."""
        signature = self._program.signature
        on_host = {signature.params[position] for position in signature.on_host}
        for param, buffer in signature.buffers.items():
            if param not in on_host:
                return _byte(buffer.data, const(0, INT64))
        return abi.as_pointer(const(0, INT64))

    # --- steps ------------------------------------------------------------------------------

    def _sequence(self, steps: Sequence[Step]) -> Stmt:
        done: list[Stmt] = []
        for position, step in enumerate(steps):
            if isinstance(step, ArenaStep):
                done.append(self._with_arena(step.arena, steps[position + 1 :]))
                break
            done.append(self._observed(step))
        return seq(*done) if done else nop()

    def _with_arena(self, arena: Arena, rest: Sequence[Step]) -> Stmt:
        plan = self._plan.arenas.get(arena)
        if plan is None:  # nothing is in it
            return self._sequence(rest)
        name = "device_arena" if arena.on_device else "later_arena"
        pointer = self._arenas[arena] = abi.pointer_var(name, UINT8)
        body = self._sequence(rest)
        made = Allocate(pointer, UINT8, (self.known(plan.size),), const(True), body)
        return self.on_device(made) if arena.on_device else made

    def _observed(self, step: Step) -> Stmt:
        """A step, between two calls of the observer."""
        observer = self._observer
        if observer is None or not isinstance(step, (CallStep, PackedCallStep)):
            return self._step(step)
        number = observer.first + self._numbers[id(step)]
        if observer.sees_arrays:
            seen = list(map(self.passed, step.arguments))
        else:
            seen = list(map(self.known, step.sizes)) if isinstance(step, CallStep) else []
        before = call_packed(observer.name, number, const(True), *seen)
        after = call_packed(observer.name, number, const(False), *seen)
        done = seq(self._step(step), Evaluate(after))
        return IfThenElse(before != const(SKIP, INT32), done)

    def _step(self, step: Step) -> Stmt:
        if isinstance(step, CallStep):
            arguments = [self._argument(value) for value in step.arguments]
            sizes = map(self.known, step.sizes)
            return Evaluate(Call(INT32, step.callee, (*arguments, *sizes)))
        if isinstance(step, PackedCallStep):
            return self._packed_call(step)
        if isinstance(step, CheckStep):
            values = map(self.known, step.values)
            failure = abi.raise_error(step.kind, step.message, *values)
            return IfThenElse(logical_not(self.known(step.condition)), failure)
        if isinstance(step, BranchStep):
            return self._branches(step)
        return self.value_step(step)

    def _packed_call(self, step: PackedCallStep) -> Stmt:
        arguments = list(map(self.passed, step.arguments))
        if step.result is None:
            return Evaluate(call_packed(step.name, *arguments))
        call = call_cpacked_into if step.is_own else call_packed_into
        return Evaluate(call(self.slot(step.result), step.name, *arguments))

    def _branches(self, step: BranchStep) -> Stmt:
        branches = self._sequence(step.then_steps), self._sequence(step.else_steps)
        if not isinstance(step.condition, ArrayValue):
            return IfThenElse(self.known(step.condition), *branches)
        pointer = abi.pointer_var("condition", BOOL)
        flag = decl_buffer((1,), BOOL, "condition", data=pointer)
        load = BufferLoad(flag, (IntImm(INT32, 0),))
        return LetStmt(pointer, self.address(step.condition.memory), IfThenElse(load, *branches))

    # --- memory -----------------------------------------------------------------------------

    def _argument(self, value: ArrayValue | Expr) -> Expr:
        is_array = isinstance(value, ArrayValue)
        return self.address(value.memory) if is_array else self.known(value)

    def address(self, memory: Memory) -> Expr:
        memory = memory.root
        if memory.origin is MemoryOrigin.CONSTANT:
            if memory.on_device:
                return self.constant_address(self._constants.offset(memory.data))
            return lookup_param(self._constants.symbol(memory.data))
        if memory.slot is not None:
            return self.value_address(memory)
        if memory.origin is MemoryOrigin.TEMPORARY:
            plan = self._plan if memory.arena is None else self._plan.arenas[memory.arena]
            return _byte(self._arenas[memory.arena], self.known(plan.offsets[memory]))
        return _byte(self._pointer(memory), const(0, INT64))

    def _pointer(self, memory: Memory) -> Var:
        if memory.origin is MemoryOrigin.RESULT:
            return self._results[memory.position].data
        return self._buffers[self._params[memory.position]].data

    def view(self, array: ArrayValue) -> Expr:
        memory = array.memory.root
        if memory.origin is MemoryOrigin.PARAMETER:
            data: Expr = self._pointer(memory)
        else:
            data = self.address(memory)
        shape = tvm_stack_make_shape(*map(self.known, array.extents))
        return tvm_stack_make_array(
            data, shape, 0, len(array.extents), const(0, array.dtype), 0, *self.device_of(memory)
        )


def written_parameters(steps: Sequence[Step]) -> set[int]:
    """The positions of the parameters over which a function writes."""
    written: set[int] = set()
    in_slots: dict[int, int] = {}
    for step in in_order(steps):
        if isinstance(step, KeepStep) and isinstance(step.value, ArrayValue):
            memory = step.value.memory.root
            if memory.origin is MemoryOrigin.PARAMETER:
                in_slots[step.slot] = memory.position
        for value in _written_values(step):
            if isinstance(value, KeptValue) and value.slot in in_slots:
                written.add(in_slots[value.slot])
            elif isinstance(value, ArrayValue):
                memory = value.memory.root
                if memory.origin is MemoryOrigin.PARAMETER:
                    written.add(memory.position)
    return written


def _written_values(step: Step) -> list[object]:
    if isinstance(step, TransferStep):
        return [step.target]
    if isinstance(step, (CallStep, PackedCallStep)):
        return [step.arguments[position] for position in step.written]
    return []


def _byte(pointer: Var, offset: Expr) -> Expr:
    """The address of a byte."""
    memory = decl_buffer((2**31 - 1,), UINT8, pointer.name, data=pointer)
    return address_of(BufferLoad(memory, (offset,)))
