"""What a graph function does when it runs: a list of steps over memory.

It stands between the graph, in which an operation has a value, and the tensor program that is
compiled, in which everything has an address. Memory is planned on it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.error import TVMError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.ir.function import GlobalVar
from tilewright.runtime.ndarray import NDArray


class NotCompilableError(TVMError):
    """Why a graph function is not compiled to native code; it is evaluated then."""


class Place(enum.Enum):
    """Where memory comes from."""

    PARAMETER = "parameter"
    CONSTANT = "constant"
    TEMPORARY = "temporary"
    RESULT = "result"


@dataclass(eq=False)
class Memory:
    """The elements of one array, or of several that are views of each other.

    Attributes:
        place: where it comes from.
        position: the number of the parameter, or of the result.
        size: bytes.
        data: the elements of a constant.
        merged_into: the memory that this one turned out to be.
    """

    place: Place
    size: Expr
    position: int = 0
    data: NDArray | None = None
    merged_into: Memory | None = None

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
        memory: its elements.
        extents: int64 expressions of what is known when the function starts.
        dtype: the type of an element.
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


Value = ArrayValue | TupleValue | ShapeValue | Expr
"""What a graph expression is while the function runs; an `Expr` is a scalar."""


@dataclass(eq=False)
class CallStep:
    """Call a function of the module.

    Attributes:
        callee: its name.
        arguments: one for each parameter.
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
    """Call a registered function, which writes its last arrays."""

    name: str
    arguments: tuple[ArrayValue | Expr, ...]
    written: frozenset[int]


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


Step = CallStep | PackedCallStep | CheckStep | BranchStep


def in_order(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps, those of branches after the branch."""
    for step in steps:
        yield step
        if isinstance(step, BranchStep):
            yield from in_order(step.then_steps)
            yield from in_order(step.else_steps)


def memories_of(step: Step) -> Iterator[Memory]:
    """The memory that a step uses itself."""
    if isinstance(step, (CallStep, PackedCallStep)):
        values: Sequence[object] = step.arguments
    elif isinstance(step, BranchStep):
        values = (step.condition,)
    else:
        values = ()
    for value in values:
        if isinstance(value, ArrayValue):
            yield value.memory.root


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
        raise NotCompilableError("a result is no array")


def arrays_in(value: Value) -> Iterator[ArrayValue]:
    """The arrays of a value, whatever else is in it."""
    if isinstance(value, ArrayValue):
        yield value
    elif isinstance(value, TupleValue):
        for item in value.fields:
            yield from arrays_in(item)
