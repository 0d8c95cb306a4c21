"""The steps on values of any kind as parts of a tensor program.

Values are in slots that the caller of the program has made. What is learnt of them, such as the
extents of an array, is kept in memory on the stack, and is a number for all that comes later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT64, HANDLE, INT32, INT64, DType
from tilewright.ir.expr import Call, Expr, IntImm, StringImm, Var
from tilewright.relax.vm.steps import (
    AllocateStep,
    ArrayStep,
    ArrayValue,
    FieldStep,
    GivenValue,
    KeepStep,
    KeptValue,
    LiteralValue,
    LoadStep,
    Memory,
    NumbersStep,
    PrintStep,
    ReleaseStep,
    StoreStep,
    ViewStep,
)
from tilewright.tir.buffer import Buffer, BufferLoad, decl_buffer
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.call_boundary.argument_checks import ArgumentChecks
from tilewright.tir.call_boundary.argument_errors import DTYPE_ERROR
from tilewright.tir.op.memory import tvm_stack_make_array, tvm_stack_make_shape
from tilewright.tir.op.objects import (
    any_at,
    any_value,
    compact_object,
    new_array,
    own_value,
    print_text,
    release_objects,
    view_object,
)
from tilewright.tir.stmt import Allocate, BufferStore, Evaluate, IfThenElse, LetStmt, Stmt, nop, seq
from tilewright.tir.substitute import substitute

CPU: Final = 1
"""DLPack's number of the device."""

CONTENT: Final = abi.Field(INT64, abi.OBJECT_HEADER_SIZE // 8)
LENGTH: Final = abi.Field(INT64, abi.OBJECT_HEADER_SIZE // 8 + 1)
"""The address of the items of a shape or a sequence, and their number."""


class ValueSteps:
    """Writes the steps on values; what is known of memory is given by `emit`."""

    def __init__(self, function: str, slots: int) -> None:
        self._function = function
        self._slot_count = slots
        self.slots = abi.pointer_var("slots")
        self._words: dict[Var, int] = {}
        self._loads: dict[Var, Expr] = {}
        self._data: dict[Memory, int] = {}
        self._word_count = 0
        self._memory = abi.View(abi.pointer_var("numbers"))

    def address(self, memory: Memory) -> Expr:
        """The address of the first element."""
        raise NotImplementedError

    def view(self, array: ArrayValue) -> Expr:
        """A DLPack tensor; that of a whole parameter is the one that the caller passed."""
        raise NotImplementedError

    def device_of(self, memory: Memory) -> tuple[Expr, ...]:
        """What `tvm_stack_make_array` wants to know of the device of an array."""
        del memory
        return ()

    def device_type_of(self, memory: Memory) -> int:
        """DLPack's number of the type of device that an array is on."""
        del memory
        return CPU

    # --- numbers ----------------------------------------------------------------------------

    def known(self, expr: Expr) -> Expr:
        """An expression of numbers that were learnt, as one of what the program has."""
        return substitute(expr, self._loads) if self._loads else expr

    def _learn(self, number: Var, value: Expr) -> Stmt:
        word = self._words[number] = self._new_word()
        field = abi.Field(FLOAT64 if number.dtype.is_float else INT64, word)
        self._loads[number] = cast(number.dtype, self._memory.load(field))
        return self._memory.store(field, cast(field.dtype, value))

    def _new_word(self) -> int:
        self._word_count += 1
        return self._word_count - 1

    def _set_data(self, memory: Memory, address: Expr) -> Stmt:
        word = self._data[memory] = self._new_word()
        return self._memory.store(abi.Field(INT64, word), address)

    def value_address(self, memory: Memory) -> Expr:
        """The address of the first element of an array that is a value."""
        return abi.as_pointer(self._memory.load(abi.Field(INT64, self._data[memory])))

    def with_numbers(self, body: Stmt) -> Stmt:
        """The body of the function, with memory for the numbers."""
        if not self._word_count:
            return body
        words = (IntImm(INT32, self._word_count),)
        return Allocate(self._memory.pointer, INT64, words, const(True), body)

    # --- values -----------------------------------------------------------------------------

    def slot(self, number: int) -> Expr:
        """The address of a slot."""
        offset = const(abi.ANY_SIZE * number, "int64")
        return abi.as_pointer(abi.as_address(self.slots) + offset)

    def passed(self, value: object) -> Expr:
        """An argument of a call by name."""
        if isinstance(value, ArrayValue):
            return self.view(value)
        if isinstance(value, KeptValue):
            return any_at(self.slot(value.slot))
        if isinstance(value, GivenValue):
            return any_at(value.param)
        if isinstance(value, LiteralValue):
            return _literal(value.value)
        assert isinstance(value, Expr)
        return self.known(value)

    def value_step(self, step: Any) -> Stmt:
        """A step on values."""
        return _WRITERS[type(step)](self, step)

    def slot_of(self, array: ArrayValue) -> Expr:
        """The address of the slot of an array that is a value."""
        assert array.memory.slot is not None
        return self.slot(array.memory.slot)

    def made(self, array: ArrayValue, shape: Var) -> Expr:
        """Make an array that is a value, with its extents at an address; a status."""
        word = IntImm(INT32, abi.dtype_word(array.dtype))
        return new_array(self.slot_of(array), IntImm(INT32, len(array.extents)), word, shape)

    def _allocate(self, step: AllocateStep) -> Stmt:
        array = step.array
        memory, slot = array.memory, array.memory.slot
        if memory.merged_into is not None or slot is None:
            return nop()
        shape = abi.pointer_var("shape")
        view = abi.View(shape)
        stores = [
            view.store(abi.Field(INT64, axis), self.known(extent))
            for axis, extent in enumerate(array.extents)
        ]
        tensor = abi.View(abi.pointer_var("tensor"))
        header = const(abi.OBJECT_HEADER_SIZE, "int64")
        address = abi.as_pointer(self._object(slot) + header)
        body = seq(
            *stores,
            abi.leave_unless_0(self.made(array, shape)),
            LetStmt(tensor.pointer, address, self._set_data(memory, tensor.load(abi.DATA))),
        )
        words = (IntImm(INT32, max(len(stores), 1)),)
        return Allocate(shape, INT64, words, const(True), body)

    def _object(self, slot: int) -> Expr:
        """The address of the object in a slot."""
        return abi.View(self.slots).load(abi.Field(INT64, 2 * slot + 1))

    def _keep(self, step: KeepStep) -> Stmt:
        return Evaluate(own_value(self.slot(step.slot), self.passed(step.value)))

    def _view(self, step: ViewStep) -> Stmt:
        source, slot = self.slot(step.source), self.slot(step.slot)
        array, strides = step.array, [const(1, "int64")]
        for extent in reversed(array.extents[1:]):
            strides.append(strides[-1] * self.known(extent))
        tensor = tvm_stack_make_array(
            self.address(array.memory),
            tvm_stack_make_shape(*map(self.known, array.extents)),
            tvm_stack_make_shape(*reversed(strides[: len(array.extents)])),  # a host needs them
            len(array.extents), const(0, array.dtype), 0, *self.device_of(array.memory),
        )  # fmt: skip
        return Evaluate(view_object(source, tensor, slot))

    def _release(self, step: ReleaseStep) -> Stmt:
        return seq(*(
            Evaluate(release_objects(self.slot(slot), IntImm(INT32, 1))) for slot in step.slots
        ))  # fmt: skip

    # --- looking at values --------------------------------------------------------------------

    def _checks(self, where: str, device_type: int = CPU) -> _ValueChecks:
        return _ValueChecks(where, self.slots, device_type)

    def _array(self, step: ArrayStep) -> Stmt:
        array = step.array
        if array is None:
            checks = self._checks(step.where)
            checks.is_array(step.slot, step.dtype)
            return checks.build(nop())
        checks = self._checks(step.where, self.device_type_of(array.memory))
        buffer = decl_buffer(array.extents, array.dtype, "value")
        checks.array(step.slot, Var("value", HANDLE), buffer)
        values = checks.values
        stores = [self._learn(n, values[n]) for n in array.extents if isinstance(n, Var)]
        data = self._set_data(array.memory, abi.as_address(values[buffer.data]))
        compact = abi.leave_unless_0(compact_object(self.slot(step.slot)))
        return seq(compact, checks.build(seq(*stores, data)))

    def _take_numbers(self, step: NumbersStep) -> Stmt:
        if step.is_shape:
            return self._shape(step)
        checks = self._checks(step.where)
        number = step.numbers[0]
        checks.scalar(step.slot, number)
        return checks.build(self._learn(number, checks.values[number]))

    def _shape(self, step: NumbersStep) -> Stmt:
        """The extents of a shape, or of a tuple of ints."""
        count, where = len(step.numbers), step.where.replace("%", "%%")
        kind = abi.View(self.slots).load(abi.Field(INT32, 4 * step.slot))
        checks = self._checks(step.where)
        checks.is_kind(step.slot, "a shape", (abi.TYPE_SHAPE, *abi.TYPES_OF_SEQUENCES))
        holder, items = abi.View(abi.pointer_var("shape")), abi.View(abi.pointer_var("extents"))
        of_shape: list[Stmt] = []
        of_tuple: list[Stmt] = []
        for axis, number in enumerate(step.numbers):
            of_shape.append(self._learn(number, items.load(abi.Field(INT64, axis))))
            is_int = items.load(abi.Field(INT32, 4 * axis)).equal(abi.TYPE_INT)
            wrong = f"{where}: extent {axis} is not an int"
            of_tuple.append(abi.require(is_int, "TypeError", wrong))
            word = abi.Field(INT64, self._words[number])
            of_tuple.append(self._memory.store(word, items.load(abi.Field(INT64, 2 * axis + 1))))
        length = holder.load(LENGTH)
        message = f"{where}: expected a shape of ndim {count}, got ndim %lld"
        checked = seq(
            abi.require(length.equal(const(count, "int64")), "ValueError", message, length),
            LetStmt(
                items.pointer,
                abi.as_pointer(holder.load(CONTENT)),
                IfThenElse(
                    kind.equal(abi.TYPE_SHAPE),
                    seq(*of_shape) if of_shape else nop(),
                    seq(*of_tuple) if of_tuple else nop(),
                ),
            ),
            *self._are_sizes(step.numbers, where),
        )
        address = abi.as_pointer(self._object(step.slot))
        return checks.build(LetStmt(holder.pointer, address, checked))

    def _are_sizes(self, numbers: tuple[Var, ...], where: str) -> list[Stmt]:
        message = f"{where}: extent %lld of a shape is negative"
        found = [self._loads[number] for number in numbers]
        return [abi.require(n >= const(0, "int64"), "ValueError", message, n) for n in found]

    def _field(self, step: FieldStep) -> Stmt:
        checks, where = self._checks(step.where), step.where.replace("%", "%%")
        kinds = abi.TYPES_OF_SEQUENCES
        if step.count == 0:
            checks.is_kind(step.slot, "no value", (abi.TYPE_NONE, *kinds))
            if step.index is None:
                return checks.build(nop())
        checks.is_kind(step.slot, "a tuple", kinds)
        holder = abi.View(abi.pointer_var("fields"))
        length = holder.load(LENGTH)
        if step.count is not None:
            fits = length.equal(const(step.count, "int64"))
            message = f"{where}: expected a tuple of {step.count}, got one of %lld"
        else:
            fits = length > const(step.index or 0, "int64")
            message = f"{where}: there is no field {step.index} in a tuple of %lld"
        item = holder.load(CONTENT) + const(abi.ANY_SIZE * (step.index or 0), "int64")
        taken = own_value(self.slot(step.target), any_at(abi.as_pointer(item)))
        body = seq(abi.require(fits, "TypeError", message, length), Evaluate(taken))
        address = abi.as_pointer(self._object(step.slot))
        return checks.build(LetStmt(holder.pointer, address, body))

    def _print(self, step: PrintStep) -> Stmt:
        return Evaluate(print_text(step.text, *map(self.known, step.values)))

    # --- shapes as arrays -------------------------------------------------------------------

    def _load_numbers(self, step: LoadStep) -> Stmt:
        elements = _elements(step)
        learnt = [
            self._learn(number, BufferLoad(elements, (IntImm(INT32, axis),)))
            for axis, number in enumerate(step.numbers)
        ]
        checks = self._are_sizes(step.numbers, step.where.replace("%", "%%"))
        body = seq(*learnt, *checks) if learnt else nop()
        return LetStmt(elements.data, self.address(step.array.memory), body)

    def _store_numbers(self, step: StoreStep) -> Stmt:
        elements = _elements(step)
        stores = [
            BufferStore(elements, cast(step.array.dtype, self.known(n)), (IntImm(INT32, axis),))
            for axis, n in enumerate(step.numbers)
        ]
        address = self.address(step.array.memory)
        return LetStmt(elements.data, address, seq(*stores) if stores else nop())


def _elements(step: LoadStep | StoreStep) -> Buffer:
    """The array of a step, as memory that numbers are loaded from or stored to."""
    dtype = step.array.dtype
    pointer = abi.pointer_var("elements", dtype)
    return decl_buffer((max(len(step.numbers), 1),), dtype, "elements", data=pointer)


class _ValueChecks(ArgumentChecks):
    """Checks of the value in a slot, as of an argument."""

    def __init__(self, where: str, slots: Var, device_type: int) -> None:
        super().__init__(where, slots, device_type)
        self._text = f"{where.replace('%', '%%')}:"

    def _where(self, position: int, name: str) -> str:
        return self._text

    def is_kind(self, slot: int, expected: str, kinds: tuple[int, ...]) -> None:
        """Check the kind of a value."""
        self._expect_kind(self._text, self._type_index(slot, "value"), expected, kinds)

    def is_array(self, slot: int, dtype: DType | None) -> None:
        """Check that a value is an array, perhaps of some dtype."""
        self.is_kind(slot, "an array", (abi.TYPE_TENSOR,))
        if dtype is None:
            return
        struct = abi.pointer_var("array")
        self._steps.bind(
            struct, abi.as_pointer(self._value(slot) + const(abi.OBJECT_HEADER_SIZE, INT64))
        )
        word = abi.View(struct).load(abi.DTYPE_WORD)
        expected = const(abi.dtype_word(dtype), "int32")
        error = Call(INT32, DTYPE_ERROR, (self._place(self._text), StringImm(str(dtype)), word))
        self._unless(word.equal(expected), abi.return_value(error))


def _literal(value: str | DType | None) -> Expr:
    if isinstance(value, str):
        return StringImm(value)
    if value is None:
        return any_value(abi.TYPE_NONE, const(0, "int64"))
    return any_value(abi.TYPE_DTYPE, const(abi.dtype_word(value), "int64"))


_WRITERS: Final[Mapping[type, Callable[[ValueSteps, Any], Stmt]]] = {
    AllocateStep: ValueSteps._allocate,
    KeepStep: ValueSteps._keep,
    ViewStep: ValueSteps._view,
    ReleaseStep: ValueSteps._release,
    ArrayStep: ValueSteps._array,
    NumbersStep: ValueSteps._take_numbers,
    FieldStep: ValueSteps._field,
    LoadStep: ValueSteps._load_numbers,
    PrintStep: ValueSteps._print,
    StoreStep: ValueSteps._store_numbers,
}
