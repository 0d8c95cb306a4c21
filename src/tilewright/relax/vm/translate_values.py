"""Values of kinds that are known only while a graph function runs, and printing, as steps.

Where this package is loaded, Python makes the texts of R.print and R.assert_op. Elsewhere, as in a
C program, compiled code does: numbers and shapes are shown, and of arrays the dtype and extents.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Final

from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr
from tilewright.relax.expr import Call
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.vm.signature import SizeMatch, match_info, size_of
from tilewright.relax.vm.steps import (
    Argument,
    ArrayStep,
    ArrayValue,
    BranchStep,
    CheckStep,
    FieldStep,
    GivenValue,
    KeepStep,
    KeptValue,
    LiteralValue,
    Memory,
    MemoryOrigin,
    MoveStep,
    NotCompilableError,
    NumbersStep,
    PackedCallStep,
    PrintStep,
    ShapeValue,
    Step,
    TupleValue,
    Value,
    ViewStep,
)
from tilewright.runtime.registry import FAIL, FAILED, PRINT
from tilewright.tir.op.objects import has_packed

if TYPE_CHECKING:
    from tilewright.relax.vm.translate import Translation


NEW_TUPLE: Final = "ffi.Array"
NEW_SHAPE: Final = "ffi.Shape"


# --- from values to slots --------------------------------------------------------------------


def as_argument(to: Translation, value: Value) -> Argument:
    """A value as a registered function takes it, which may keep it."""
    if isinstance(value, ArrayValue):
        return KeptValue(_array_slot(to, value))
    if isinstance(value, (TupleValue, ShapeValue)):
        is_tuple = isinstance(value, TupleValue)
        parts = value.fields if isinstance(value, TupleValue) else value.extents
        arguments = tuple(as_argument(to, part) for part in parts)
        slot = to.new_slot()
        name = NEW_TUPLE if is_tuple else NEW_SHAPE
        to.steps.append(PackedCallStep(name, arguments, frozenset(), slot))
        return KeptValue(slot)
    return value


def keep(to: Translation, value: Value, slot: int) -> None:
    """Put a value into a slot."""
    to.steps.append(KeepStep(as_argument(to, value), slot))


def _array_slot(to: Translation, array: ArrayValue) -> int:
    """A slot with an array."""
    memory = array.memory.root
    if memory.origin is MemoryOrigin.TEMPORARY and memory.slot is None:
        memory.slot = to.new_slot()  # it is made as a value then
    slot = to.new_slot() if memory.slot is None or not _is_whole(to, array) else memory.slot
    if memory.slot is None:
        to.steps.append(KeepStep(array, slot))
    elif slot != memory.slot:
        to.steps.append(ViewStep(memory.slot, array, slot))
    return slot


def _is_whole(to: Translation, array: ArrayValue) -> bool:
    """Whether an array is what its memory was made for, not a view of other extents."""
    made = array.memory.root.made_as
    return (
        made is not None
        and made.dtype is array.dtype
        and len(made.extents) == len(array.extents)
        and all(map(to.analyzer.can_prove_equal, made.extents, array.extents))
    )


# --- from slots to values --------------------------------------------------------------------


def unpack(
    to: Translation, slot: int, info: StructInfo | None, where: str, defines: bool = False
) -> Value:
    """The value in a slot, checked against struct info.

    Args:
        where: description of the value in messages.
        defines: whether new symbolic sizes may occur, which it defines.
    """
    if isinstance(info, TensorStructInfo):
        return _array(to, slot, info, where, defines)
    if isinstance(info, TupleStructInfo):
        return _tuple(to, slot, info, where, defines)
    if isinstance(info, ShapeStructInfo) and info.ndim >= 0:
        numbers = to.new_sizes(info.ndim)
        to.steps.append(NumbersStep(slot, numbers, True, where))
        return _as_known(to, ShapeValue(numbers), info, where, defines)
    if isinstance(info, PrimStructInfo):
        number = to.new_number(info.dtype)
        to.steps.append(NumbersStep(slot, (number,), False, where))
        return _as_known(to, number, info, where, defines)
    return KeptValue(slot)


def _array(to: Translation, slot: int, info: TensorStructInfo, where: str, defines: bool) -> Value:
    on_device = to.placement.is_on_device(info)
    if to.placement.has_device:  # functions of Python return arrays of the host, too
        to.steps.append(MoveStep(slot, on_device))
    if info.dtype is None or info.ndim < 0:
        to.steps.append(ArrayStep(slot, None, info.dtype, where))
        return KeptValue(slot)
    extents = to.new_sizes(info.ndim)
    size = size_of(extents, info.dtype)
    memory = Memory(MemoryOrigin.VALUE, size, slot=slot, on_device=on_device)
    array = memory.made_as = ArrayValue(memory, extents, info.dtype)
    to.steps.append(ArrayStep(slot, array, info.dtype, where))
    return _as_known(to, array, info, where, defines)


def _tuple(
    to: Translation, slot: int, info: TupleStructInfo, where: str, defines: bool
) -> TupleValue:
    fields: list[Value] = []
    count = len(info.fields)
    if not count:
        to.steps.append(FieldStep(slot, None, 0, 0, where))
    for index, part in enumerate(info.fields):
        target = to.new_slot()
        to.steps.append(FieldStep(slot, index, count, target, where))
        fields.append(unpack(to, target, part, f"{where}[{index}]", defines))
    return TupleValue(tuple(fields))


def field_of(to: Translation, value: KeptValue, index: int, info: StructInfo | None) -> Value:
    """A field of a tuple with an unknown number of fields."""
    target = to.new_slot()
    to.steps.append(FieldStep(value.slot, index, None, target, to.where))
    return unpack(to, target, info, f"{to.where}[{index}]")


def _as_known(to: Translation, value: Value, info: StructInfo, where: str, defines: bool) -> Value:
    """A value whose sizes were found, with those that the program says, which must be the same."""
    if not defines and not all(size in to.sizes for size in symbolic_vars_of(info)):
        raise NotCompilableError(f"{where} has sizes that are not known")
    match = SizeMatch(to.analyzer)
    match.values.update(to.sizes)
    match_info(match, value, info, where)
    match.finish()
    to.sizes.update(match.values)
    to.steps += match.checks
    if isinstance(value, ArrayValue) and isinstance(info, TensorStructInfo) and info.extents:
        extents = tuple(map(to.known, info.extents))
        value.memory.size = to.analyzer.simplify(size_of(extents, value.dtype))
        whole = ArrayValue(value.memory, extents, value.dtype)
        value.memory.made_as = whole
        return whole
    if isinstance(value, ShapeValue) and isinstance(info, ShapeStructInfo) and info.values:
        return ShapeValue(tuple(map(to.known, info.values)))
    return value


def receive(to: Translation, value: Value, info: StructInfo | None, where: str) -> Value:
    """A parameter, with what may be of any kind put into a slot and checked."""
    if isinstance(value, TupleValue) and isinstance(info, TupleStructInfo):
        pairs = enumerate(zip(value.fields, info.fields, strict=True))
        return TupleValue(
            tuple(receive(to, part, kind, f"{where}[{n}]") for n, (part, kind) in pairs)
        )
    if not isinstance(value, GivenValue):
        return value
    slot = to.new_slot()
    to.steps.append(KeepStep(value, slot))
    return unpack(to, slot, info, where)


def translate_print(to: Translation, call: Call) -> Value:
    """The value of a call of R.print, after its steps were added."""
    form, values = str(call.attrs["format"]), list(map(to.value, call.args))
    text, numbers = _printf(form, values)
    to.steps.append(_by_python(to, PRINT, form, values, PrintStep(text + "\n", numbers)))
    return TupleValue(())


def translate_assert(to: Translation, call: Call) -> Value:
    """The value of a call of R.assert_op, after its steps were added."""
    form = str(call.attrs["format"])
    condition, *values = map(to.value, call.args)
    if isinstance(condition, KeptValue):
        condition = unpack(to, condition.slot, TensorStructInfo((), BOOL), to.where)
    if isinstance(condition, ArrayValue):
        condition = to.place(condition, on_device=False)
    if not isinstance(condition, (ArrayValue, Expr)):
        raise NotCompilableError("the condition of an assertion is neither an array nor a scalar")
    text, numbers = _printf(form, values)
    failure = CheckStep(const(False), "AssertionError", text or FAILED, numbers)
    failed = _by_python(to, FAIL, form, values, failure)
    to.steps.append(BranchStep(condition, [], [failed]))
    return TupleValue(())


def _by_python(
    to: Translation, name: str, form: str, values: list[Value], otherwise: Step
) -> BranchStep:
    """Let a function of this package work with a text, if the process has it."""
    step = BranchStep(has_packed(name), [], [otherwise])
    outer, to.steps = to.steps, step.then_steps
    # The function keeps no arrays, so they need not be values.
    passed = [v if isinstance(v, ArrayValue) else as_argument(to, v) for v in values]
    call = PackedCallStep(name, (LiteralValue(form), *passed), frozenset())
    to.steps.append(call)
    to.steps = outer
    return step


def _printf(form: str, values: list[Value]) -> tuple[str, tuple[Expr, ...]]:
    """A printf format, and the numbers in it."""
    numbers: list[Expr] = []
    if not form:
        return " ".join(_shown(value, numbers) for value in values), tuple(numbers)
    text, position = "", 0
    for literal, field, _, _ in string.Formatter().parse(form):
        text += literal.replace("%", "%%")
        if field is not None:
            text += _shown(values[int(field or position)], numbers)
            position += not field
    return text, tuple(numbers)


def _shown(value: Value, numbers: list[Expr]) -> str:
    if isinstance(value, Expr):
        numbers.append(value)
        return "%g" if value.dtype.is_float else "%lld"
    if isinstance(value, ShapeValue):
        return f"({', '.join(_shown(extent, numbers) for extent in value.extents)})"
    if isinstance(value, TupleValue):
        return f"({', '.join(_shown(field, numbers) for field in value.fields)})"
    if isinstance(value, ArrayValue):
        extents = ", ".join(_shown(extent, numbers) for extent in value.extents)
        return f"<{value.dtype!s}[{extents}]>"
    known = isinstance(value, LiteralValue)
    return str(value.value).replace("%", "%%") if known else "<value>"
