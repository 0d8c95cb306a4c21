"""From steps over memory to the tensor program that is compiled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from tilewright.ir.arithmetic import logical_not
from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL, HANDLE, INT32, INT64, UINT8
from tilewright.ir.expr import Call, Expr, IntImm, Var
from tilewright.relax.vm.constants import ConstantTable
from tilewright.relax.vm.plan import MemoryPlan
from tilewright.relax.vm.steps import (
    ArrayValue,
    BranchStep,
    CallStep,
    CheckStep,
    Memory,
    PackedCallStep,
    Place,
    Step,
    in_order,
)
from tilewright.relax.vm.translate import Program
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.calls import call_packed
from tilewright.tir.op.memory import (
    address_of,
    lookup_param,
    tvm_stack_make_array,
    tvm_stack_make_shape,
)
from tilewright.tir.stmt import Allocate, Evaluate, IfThenElse, LetStmt, Stmt, nop, seq
from tilewright.tir.transform import call_boundary as abi
from tilewright.tir.transform.metadata import WRITES
from tilewright.tir.transform.return_results import RETURNS


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
    observer: Observer | None = None,
) -> PrimFunc:
    """The tensor program of a graph function; it calls others of its module by their raw form.

    Args:
        name: under which it is exported; None if it is called by functions of the module only.
        program: what it does.
        plan: where its temporary arrays are.
        constants: the constants of the module.
        observer: what looks at the steps, if something does.
    """
    return _Emission(program, plan, constants, observer).function(name)


class _Emission:
    def __init__(
        self,
        program: Program,
        plan: MemoryPlan,
        constants: ConstantTable,
        observer: Observer | None,
    ) -> None:
        self._program, self._plan, self._constants = program, plan, constants
        self._observer = observer
        self._numbers = {id(step): number for number, step in enumerate(in_order(program.steps))}
        self._params = list(program.signature.params)
        self._buffers = dict(program.signature.buffers)
        self._results: list[Buffer] = []
        for number, result in enumerate(program.results):
            handle = Var(f"result_{number}", HANDLE)
            buffer = decl_buffer(result.extents, result.dtype, handle.name)
            self._results.append(buffer)
            self._params.append(handle)
            self._buffers[handle] = buffer
        self._arena = abi.pointer_var("arena", UINT8)

    def function(self, name: str | None) -> PrimFunc:
        """The whole function."""
        body = self._sequence(self._program.steps)
        if self._plan.offsets:  # also where all of them are empty: kernels get their addresses
            body = Allocate(self._arena, UINT8, (self._plan.size,), const(True), body)
        attrs: dict[str, object] = {}
        if name is not None:
            structure = self._program.structure
            attrs = {"global_symbol": name, RETURNS: json.dumps(structure)}
        written = sorted(_written_parameters(self._program.steps))
        if written:
            attrs[WRITES] = tuple(written)
        return PrimFunc(tuple(self._params), body, buffer_map=self._buffers, attrs=attrs)

    # --- steps ------------------------------------------------------------------------------

    def _sequence(self, steps: Sequence[Step]) -> Stmt:
        return seq(*map(self._observed, steps)) if steps else nop()

    def _observed(self, step: Step) -> Stmt:
        """A step, between two calls of the observer."""
        observer = self._observer
        if observer is None or not isinstance(step, (CallStep, PackedCallStep)):
            return self._step(step)
        number = observer.first + self._numbers[id(step)]
        if observer.sees_arrays:
            seen = [
                self._view(value) if isinstance(value, ArrayValue) else value
                for value in step.arguments
            ]
        else:
            seen = list(step.sizes) if isinstance(step, CallStep) else []
        before = call_packed(observer.name, number, const(True), *seen)
        after = call_packed(observer.name, number, const(False), *seen)
        done = seq(self._step(step), Evaluate(after))
        return IfThenElse(before != const(SKIP, INT32), done)

    def _step(self, step: Step) -> Stmt:
        if isinstance(step, CallStep):
            arguments = [self._argument(value) for value in step.arguments]
            return Evaluate(Call(INT32, step.callee, (*arguments, *step.sizes)))
        if isinstance(step, PackedCallStep):
            return self._packed_call(step)
        if isinstance(step, CheckStep):
            failure = abi.raise_error(step.kind, step.message, *step.values)
            return IfThenElse(logical_not(step.condition), failure)
        return self._branches(step)

    def _packed_call(self, step: PackedCallStep) -> Stmt:
        arguments = [
            self._view(value) if isinstance(value, ArrayValue) else value
            for value in step.arguments
        ]
        return Evaluate(call_packed(step.name, *arguments))

    def _branches(self, step: BranchStep) -> Stmt:
        branches = self._sequence(step.then_steps), self._sequence(step.else_steps)
        if not isinstance(step.condition, ArrayValue):
            return IfThenElse(step.condition, *branches)
        pointer = abi.pointer_var("condition", BOOL)
        flag = decl_buffer((1,), BOOL, "condition", data=pointer)
        load = BufferLoad(flag, (IntImm(INT32, 0),))
        return LetStmt(pointer, self._address(step.condition.memory), IfThenElse(load, *branches))

    # --- memory -----------------------------------------------------------------------------

    def _argument(self, value: ArrayValue | Expr) -> Expr:
        return self._address(value.memory) if isinstance(value, ArrayValue) else value

    def _address(self, memory: Memory) -> Expr:
        """The address of the first element."""
        memory = memory.root
        if memory.place is Place.CONSTANT:
            return lookup_param(self._constants.symbol(memory.data))
        if memory.place is Place.TEMPORARY:
            return _byte(self._arena, self._plan.offsets[memory])
        return _byte(self._pointer(memory), const(0, INT64))

    def _pointer(self, memory: Memory) -> Var:
        if memory.place is Place.RESULT:
            return self._results[memory.position].data
        return self._buffers[self._params[memory.position]].data

    def _view(self, array: ArrayValue) -> Expr:
        """A DLPack tensor; that of a whole parameter is the one that the caller passed."""
        memory = array.memory.root
        if memory.place is Place.PARAMETER:
            data: Expr = self._pointer(memory)
        else:
            data = self._address(memory)
        shape = tvm_stack_make_shape(*array.extents)
        return tvm_stack_make_array(data, shape, 0, len(array.extents), const(0, array.dtype), 0)


def _written_parameters(steps: Sequence[Step]) -> set[int]:
    """The positions of the parameters over which a function writes."""
    return {
        value.memory.root.position
        for step in in_order(steps)
        if isinstance(step, (CallStep, PackedCallStep))
        for position in step.written
        if isinstance(value := step.arguments[position], ArrayValue)
        and value.memory.root.place is Place.PARAMETER
    }


def _byte(pointer: Var, offset: Expr) -> Expr:
    """The address of a byte."""
    memory = decl_buffer((2**31 - 1,), UINT8, pointer.name, data=pointer)
    return address_of(BufferLoad(memory, (offset,)))
