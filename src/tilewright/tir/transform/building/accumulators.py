"""Reductions into one element, kept in the lanes of vectors while their loop runs."""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    Add,
    BinaryExpr,
    Broadcast,
    Call,
    Expr,
    Max,
    Min,
    Mul,
    Select,
    StringImm,
)
from tilewright.ir.op import Op
from tilewright.ir.structural import structural_equal
from tilewright.tir.access import AccessSummary
from tilewright.tir.analysis.update import neutral_element
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.op.control import if_then_else
from tilewright.tir.op.vector import LANE_OPERATORS, reduce_lanes
from tilewright.tir.stmt import BufferStore, For, IfThenElse, LetStmt, Stmt, seq
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.building.allocations import allocation, lane_index, local_buffer
from tilewright.tir.transform.building.lanes import LaneRewriter
from tilewright.tir.transform.building.statements import statements


class Reduction(NamedTuple):
    """A store `element = element <kind> operand` to an element that is the same all along."""

    store: BufferStore
    kind: type[BinaryExpr]
    load: BufferLoad
    operand: Expr
    guard: Expr | None = None
    """A condition, the same in all iterations, without which the element may not exist."""


def as_reduction(store: BufferStore, guard: Expr | None = None) -> Reduction | None:
    """`store`, which happens where `guard` holds, as a reduction, if it is one."""
    value = store.value
    if not isinstance(value, (Add, Mul, Min, Max)) or store.predicate is not None:
        return None
    for load, operand in ((value.a, value.b), (value.b, value.a)):
        if (
            isinstance(load, BufferLoad)
            and load.buffer.data is store.buffer.data
            and load.predicate is None
            and structural_equal(load.indices[0], store.indices[0])
        ):
            return Reduction(store, type(value), load, operand, guard)
    return None


_NAMES: Final = {operator: name for name, operator in LANE_OPERATORS.items()}


def updated(reduction: Reduction, values: Expr) -> BufferStore:
    """`reduction` with all lanes of the vector `values` at once."""
    operand = reduce_lanes(_NAMES[reduction.kind], values)
    return reduction.store.replace(value=reduction.kind(reduction.load, operand))


def reduced_vector(reduction: Reduction) -> Expr | None:
    """The vector whose lanes `reduction` combines with its element, if it is made by `updated`."""
    operand = reduction.operand
    if isinstance(operand, Call) and operand.op is _REDUCE_LANES:
        name, values = operand.args
        assert isinstance(name, StringImm)
        return values if LANE_OPERATORS[name.value] is reduction.kind else None
    return None


def neutral(kind: type[BinaryExpr], dtype: DType) -> Expr:
    """The number that changes no other one; of sums of floats not even the sign of a zero."""
    if kind is Add and dtype.is_float:
        return const(-0.0, dtype)
    element = neutral_element(kind, dtype)
    assert element is not None
    return element


class Accumulator:
    """The lanes in which a reduction is kept while its loop runs."""

    def __init__(self, reduction: Reduction, width: int, group: int) -> None:
        self.reduction = reduction
        self._width, self._lanes = width, width * group
        element = reduction.store.buffer.dtype
        name = f"{reduction.store.buffer.name}_lanes"
        self._buffer = local_buffer(name, element, self._lanes)

    def allocate(self, body: Stmt) -> Stmt:
        """`body` with the memory of the accumulator."""
        return allocation(body, self._buffer)

    def _load(self, start: int, lanes: int) -> BufferLoad:
        return BufferLoad(self._buffer, (lane_index(start, lanes),))

    def _store(self, start: int, value: Expr, lanes: int) -> Stmt:
        return BufferStore(self._buffer, value, (lane_index(start, lanes),))

    def start(self) -> Stmt:
        """Set all lanes to a value that changes nothing."""
        kind, element = self.reduction.kind, self._buffer.dtype
        value: Expr = self.reduction.load
        if kind in (Add, Mul):
            value = const(0 if kind is Add else 1, element)
        elif self.reduction.guard is not None:
            value = if_then_else(self.reduction.guard, value, const(0, element))
        lanes = Broadcast(value, self._width)
        return seq(*(self._store(s, lanes, self._width) for s in self._starts(self._lanes)))

    def update(self, number: int, value: Expr) -> Stmt:
        """Combine vector `number` of the accumulator with `value`."""
        start = number * self._width
        combined = self.reduction.kind(self._load(start, self._width), value)
        return self._store(start, combined, self._width)

    def finish(self) -> Stmt:
        """Combine all lanes, and the element with them."""
        kind = self.reduction.kind
        parts: list[Stmt] = []
        size = self._lanes
        while size > 1:
            half = size // 2
            lanes = min(half, self._width)
            for start in range(0, half, lanes):
                pair = self._load(start, lanes), self._load(start + half, lanes)
                parts.append(self._store(start, kind(*pair), lanes))
            size = half
        total = kind(self.reduction.load, self._load(0, 1))
        store: Stmt = self.reduction.store.replace(value=total)
        if self.reduction.guard is not None:
            store = IfThenElse(self.reduction.guard, store)
        return seq(*parts, store)

    def _starts(self, size: int) -> range:
        return range(0, size, self._width)


_REDUCE_LANES: Final = Op.get("tir.reduce_lanes")


def lane_reductions(loop: For, body: AccessSummary) -> dict[BufferStore, Reduction]:
    """The stores in `loop` by which all iterations update one element.

    Nothing else in the loop accesses the memory of such an element.
    """
    found = {}
    named = {stmt.var for stmt in statements(loop.body) if isinstance(stmt, LetStmt)}
    changing = {loop.loop_var, *named}
    for store in statements(loop.body):
        if not isinstance(store, BufferStore) or store.value.dtype.lanes > 1:
            continue
        memory = store.buffer.data
        if memory in body.allocated or not changing.isdisjoint(variables_of(store.indices[0])):
            continue
        reduction = as_reduction(store)
        if reduction is None or store.buffer.dtype.is_bool:
            continue
        if sum(access.memory is memory for access in body.accesses) == 2:
            found[store] = reduction
    return found


def contribution(reduction: Reduction, lanes: LaneRewriter) -> Expr:
    """What the lanes combine with the element; lanes that are off change nothing."""
    values = lanes.vector(reduction.operand)
    if lanes.mask is None:
        return values
    dtype = values.dtype
    nothing = Broadcast(neutral(reduction.kind, dtype.element), dtype.lanes)
    return Select(lanes.mask, values, nothing)
