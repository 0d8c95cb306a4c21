"""What a graph function does when it runs: a list of steps over memory.

Steps are the form between graphs, where an operation has a value, and tensor programs, where
everything has an address. Memory is planned on them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.error import TVMError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, Var
from tilewright.ir.module import GlobalVar
from tilewright.runtime.ndarray import NDArray


class NotCompilableError(TVMError):
    """Why a graph function is not compiled to native code; it is evaluated then."""


class MemoryOrigin(enum.Enum):
    """Origin of memory."""

    PARAMETER = "parameter"
    CONSTANT = "constant"
    TEMPORARY = "temporary"
    RESULT = "result"
    VALUE = "value"
    """An array that a registered function returned, or that came in a tuple."""


@dataclass(eq=False)
class Arena:
    """One block of temporary memory.

    Attributes:
        known: sizes that are known where it is made.
        on_device: whether it is memory of the device.
    """

    known: frozenset[Var]
    on_device: bool = False


@dataclass(eq=False)
class Memory:
    """The elements of one array, or of several that are views of each other.

    Attributes:
        position: number of the parameter or result.
        size: bytes.
        merged_into: the memory that this one is part of, if it was merged.
        slot: slot of the array as a reference-counted object, if it escapes.
        made_as: array that it was allocated for; others are views of it.
        on_device: whether it is on the device that the module is compiled for.
    """

    origin: MemoryOrigin
    size: Expr
    position: int = 0
    data: NDArray | None = None
    merged_into: Memory | None = None
    arena: Arena | None = None
    slot: int | None = None
    made_as: ArrayValue | None = None
    on_device: bool = False

    @property
    def root(self) -> Memory:
        """The memory that this one is."""
        memory = self
        while memory.merged_into is not None:
            memory = memory.merged_into
        return memory


class ArrayValue(NamedTuple):
    """An array: compact, from the first byte of its memory on.

    Attributes:
        extents: int64 expressions of values known on entry.
    """

    memory: Memory
    extents: tuple[Expr, ...]
    dtype: DType


class TupleValue(NamedTuple):
    """Several values."""

    fields: tuple[Value, ...]


class ShapeValue(NamedTuple):
    """A shape."""

    extents: tuple[Expr, ...]


class KeptValue(NamedTuple):
    """A value of any kind in a slot of the function, as `tir.transform.return_results` has them."""

    slot: int


class GivenValue(NamedTuple):
    """A parameter that may be a value of any kind."""

    param: Var


class LiteralValue(NamedTuple):
    """A text, a dtype, or no value."""

    value: str | DType | None


Value = ArrayValue | TupleValue | ShapeValue | Expr | KeptValue | GivenValue | LiteralValue
"""What a graph expression is while the function runs; an `Expr` is a scalar."""

Argument = ArrayValue | Expr | KeptValue | GivenValue | LiteralValue
"""Argument of a registered function."""


@dataclass(eq=False)
class CallStep:
    """Call a function of the module.

    Attributes:
        sizes: the symbolic sizes of the function, which follow.
        written: positions of the arrays that it writes.
        label: what the step is called in a profile.
    """

    callee: GlobalVar
    arguments: tuple[ArrayValue | Expr, ...]
    sizes: tuple[Expr, ...]
    written: frozenset[int]
    label: str


@dataclass(eq=False)
class PackedCallStep:
    """Call a registered function, or one of the module that takes values of any kind.

    Attributes:
        name: under which it is registered; or the symbol of a function of the module.
        written: positions of the arrays that it writes.
        result: slot of the result; None to ignore it.
        is_own: whether it is a function of the module.
    """

    name: str
    arguments: tuple[Argument, ...]
    written: frozenset[int]
    result: int | None = None
    is_own: bool = False


@dataclass(eq=False)
class AllocateStep:
    """Make an array, if it has to be a value; otherwise it is a part of an arena."""

    array: ArrayValue


@dataclass(eq=False)
class ArenaStep:
    """Make a block of memory."""

    arena: Arena


@dataclass(eq=False)
class KeepStep:
    """Put a value into a slot."""

    value: Argument
    slot: int


@dataclass(eq=False)
class ViewStep:
    """Put an array that shares the memory of the array in slot `source` into another slot."""

    source: int
    array: ArrayValue
    slot: int


@dataclass(eq=False)
class ReleaseStep:
    """Give up the values in some slots."""

    slots: tuple[int, ...]


@dataclass(eq=False)
class ArrayStep:
    """Look at the value in a slot, which must be an array.

    Attributes:
        array: its shape and dtype after the check; None if they stay unknown.
        dtype: of the elements, if the program says that.
        where: description of the value in messages.
    """

    slot: int
    array: ArrayValue | None
    dtype: DType | None
    where: str


@dataclass(eq=False)
class NumbersStep:
    """Take numbers from the value in a slot: a scalar, or the extents of a shape.

    Attributes:
        where: description of the value in messages.
    """

    slot: int
    numbers: tuple[Var, ...]
    is_shape: bool
    where: str


@dataclass(eq=False)
class FieldStep:
    """Take one field of the tuple in a slot.

    Attributes:
        index: of the field; None to look at the number of fields only.
        count: how many fields it must have, if that is known.
        where: what the tuple is called in messages.
    """

    slot: int
    index: int | None
    count: int | None
    target: int
    where: str


@dataclass(eq=False)
class LoadStep:
    """Take the extents of a shape from the elements of an array."""

    array: ArrayValue
    numbers: tuple[Var, ...]
    where: str


@dataclass(eq=False)
class StoreStep:
    """Write numbers into an array."""

    array: ArrayValue
    numbers: tuple[Expr, ...]


@dataclass(eq=False)
class CheckStep:
    """Raise an error unless a condition holds; `message` is a printf format of `values`."""

    condition: Expr
    kind: str
    message: str
    values: tuple[Expr, ...] = ()


@dataclass(eq=False)
class BranchStep:
    """Do one list of steps or the other; the condition is a bool or an array with one."""

    condition: ArrayValue | Expr
    then_steps: list[Step] = field(default_factory=list)
    else_steps: list[Step] = field(default_factory=list)


@dataclass(eq=False)
class TransferStep:
    """Copy an array between the host and the device."""

    source: ArrayValue
    target: ArrayValue


@dataclass(eq=False)
class DistinctStep:
    """Raise an error if two arrays of the device share memory.

    Attributes:
        where: what writes one of them.
    """

    written: ArrayValue
    other: ArrayValue
    where: str


@dataclass(eq=False)
class MoveStep:
    """Put the array in a slot where it has to be; other values stay as they are."""

    slot: int
    on_device: bool


@dataclass(eq=False)
class PrintStep:
    """Write a text to the standard output; it is a printf format of `values`."""

    text: str
    values: tuple[Expr, ...]


Step = (
    CallStep | PackedCallStep | CheckStep | BranchStep | AllocateStep | ArenaStep | KeepStep
    | ViewStep | ReleaseStep | ArrayStep | NumbersStep | FieldStep | LoadStep | StoreStep
    | PrintStep | TransferStep | DistinctStep | MoveStep
)  # fmt: skip


def in_order(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps, those of branches after the branch."""
    for step in steps:
        yield step
        if isinstance(step, BranchStep):
            yield from in_order(step.then_steps)
            yield from in_order(step.else_steps)


def label_of(step: Step) -> str:
    """What a step is called in a profile; empty for one that is not a call."""
    if isinstance(step, CallStep):
        return step.label
    return step.name if isinstance(step, PackedCallStep) else ""


def memories_of(step: Step) -> Iterator[Memory]:
    """The memory that a step uses itself."""
    for value in _operands(step):
        if isinstance(value, ArrayValue):
            yield value.memory.root


def slots_of(step: Step) -> Iterator[int]:
    """The slots that a step uses itself."""
    for value in _operands(step):
        if isinstance(value, KeptValue):
            yield value.slot
        elif isinstance(value, ArrayValue) and value.memory.root.slot is not None:
            yield value.memory.root.slot
    if isinstance(step, PackedCallStep) and step.result is not None:
        yield step.result
    elif isinstance(step, (KeepStep, ArrayStep, NumbersStep, MoveStep)):
        yield step.slot
    elif isinstance(step, ViewStep):
        yield from (step.source, step.slot)
    elif isinstance(step, FieldStep):
        yield from (step.slot, step.target)
    elif isinstance(step, AllocateStep) and step.array.memory.root.slot is not None:
        yield step.array.memory.root.slot


def _operands(step: Step) -> Sequence[object]:
    """The values that a step reads or writes."""
    if isinstance(step, (CallStep, PackedCallStep)):
        return step.arguments
    if isinstance(step, BranchStep):
        return (step.condition,)
    if isinstance(step, KeepStep):
        return (step.value,)
    if isinstance(step, TransferStep):
        return (step.source, step.target)
    if isinstance(step, DistinctStep):
        return (step.written, step.other)
    return (step.array,) if isinstance(step, (ViewStep, LoadStep, StoreStep)) else ()


def arrays_of(value: Value) -> Iterator[ArrayValue]:
    """The arrays of a value, in order.

    Raises:
        NotCompilableError: if there is something else in it.
    """
    if isinstance(value, ArrayValue):
        yield value
    elif isinstance(value, TupleValue):
        for item in value.fields:
            yield from arrays_of(item)
    else:
        raise NotCompilableError("a result is not an array")


def arrays_in(value: Value) -> Iterator[ArrayValue]:
    """All arrays in a value."""
    if isinstance(value, ArrayValue):
        yield value
    elif isinstance(value, TupleValue):
        for item in value.fields:
            yield from arrays_in(item)
