"""Values of kinds that are known only while a graph function runs: they are kept in slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.vm.matching import SizeMatch, match_info
from tilewright.relax.vm.signature import size_of
from tilewright.relax.vm.steps import (
    Argument,
    ArrayStep,
    ArrayValue,
    FieldStep,
    GivenValue,
    KeepStep,
    KeptValue,
    Memory,
    MemoryOrigin,
    NotCompilableError,
    NumbersStep,
    PackedCallStep,
    ShapeValue,
    TupleValue,
    Value,
    ViewStep,
)

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
        to: the translation that gets the steps.
        slot: slot of the value.
        info: required struct info.
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
    if info.dtype is None or info.ndim < 0:
        to.steps.append(ArrayStep(slot, None, info.dtype, where))
        return KeptValue(slot)
    extents = to.new_sizes(info.ndim)
    memory = Memory(MemoryOrigin.VALUE, size_of(extents, info.dtype), slot=slot)
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
