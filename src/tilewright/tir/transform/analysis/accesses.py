"""Which elements loads and stores reach, as far as that can be told from the indices."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tilewright.arith.linear import LinearForm
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    LE,
    LT,
    Add,
    And,
    Broadcast,
    Call,
    Expr,
    IntImm,
    Ramp,
    Var,
    is_const_int,
)
from tilewright.ir.node import Node
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import walk
from tilewright.tir.access import Surroundings, collect_accesses
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.stmt import BufferStore, For, Stmt
from tilewright.tir.transform.analysis.affine import (
    Key,
    affine,
    difference,
    split,
    structural_key,
)
from tilewright.tir.transform.analysis.ranges import EnclosingScope


class Span(NamedTuple):
    """Elements from `start` on, which end before each of `ends`.

    The rows of a tile are apart if no row is longer than the step from one to the next. A branch
    may say that (where ``j * 64 + 63 < n`` holds, rows of 64 elements fit in between steps of `n`),
    or the masks of vectors: those of row `i` that are kept from reaching column `n` end where row
    `i + 1` begins, wherever they begin themselves.
    """

    start: LinearForm
    ends: tuple[LinearForm, ...]

    def ends_before(self, place: LinearForm, scope: EnclosingScope) -> bool:
        """Whether none of the elements is at `place` or after it."""
        return any(scope.is_not_negative(place.plus(end, -1)) for end in self.ends)


def contiguous_base(index: Expr) -> tuple[Expr, int]:
    """Where neighbouring elements begin, and how many there are."""
    if isinstance(index, Ramp) and is_const_int(index.stride, 1):
        return index.base, index.lanes
    return index, 1


def span_of(node: BufferLoad | BufferStore) -> Span:
    """The elements of an access of neighbours in a flat buffer."""
    base, lanes = contiguous_base(node.indices[0])
    start = affine(base)
    rooms = [LinearForm({}, lanes), *_rooms(node.predicate)]
    return Span(start, tuple(map(start.plus, rooms)))


def _rooms(predicate: Expr | None) -> Iterator[LinearForm]:
    """How many of the first lanes a mask leaves at the most, by each of its parts."""
    if isinstance(predicate, And):
        yield from _rooms(predicate.a)
        yield from _rooms(predicate.b)
    elif isinstance(predicate, (LT, LE)) and predicate.a.dtype.is_index:
        left, right = predicate.a, predicate.b
        if (
            isinstance(left, Ramp)
            and is_const_int(left.stride, 1)
            and isinstance(right, Broadcast)
            and right.value.dtype.lanes == 1
        ):
            room = difference(right.value, left.base)
            yield room._replace(constant=room.constant + isinstance(predicate, LE))


def spans_are_apart(rows: Sequence[Sequence[Span]], scope: EnclosingScope) -> bool:
    """Whether no two stretches share an element, as far as can be told.

    `rows` are stretches that begin a known number of elements apart, in their order.
    """

    def follows(one: Sequence[Span], other: Sequence[Span]) -> bool:
        return scope.is_not_negative(other[0].start.plus(one[0].start, -1))

    for row in rows:
        if not all(a.ends_before(b.start, scope) for a, b in itertools.pairwise(row)):
            return False

    def order(one: Sequence[Span], other: Sequence[Span]) -> int:
        return -1 if follows(one, other) else 1

    ordered = sorted(rows, key=functools.cmp_to_key(order))
    return all(
        follows(one, other) and all(s.ends_before(other[0].start, scope) for s in one)
        for one, other in itertools.pairwise(ordered)
    )


class Location(NamedTuple):
    """Neighbouring elements: `lanes` of them from `terms + offset`, where `predicate` holds."""

    data: Var
    terms: frozenset[tuple[Any, int]]
    offset: int
    lanes: int
    predicate: Key
    dtype: DType
    """Of an element: views of different types count elements differently."""

    def overlaps(self, other: Location) -> bool:
        """Whether the two share elements; they have the same terms and types."""
        return self.offset < other.offset + other.lanes and other.offset < self.offset + self.lanes


@dataclass(slots=True, eq=False)
class MemoryReference:
    """A load or store in a loop; it never changes."""

    node: BufferLoad | BufferStore
    is_store: bool
    location: Location | None
    """None where the elements are not neighbours in memory."""
    variables: frozenset[Var]
    """What the index and the predicate depend on."""
    loads: bool
    """Whether the index or the predicate reads memory or calls something."""


class _Base(NamedTuple):
    """What an index is beside a constant."""

    expr: Expr
    form: LinearForm | None
    """Where neighbouring elements begin; None for others, and where the index reads memory."""
    terms: frozenset[tuple[Any, int]]
    variables: frozenset[Var]
    loads: bool


class MemoryReferences:
    """Computes `MemoryReference` objects, once per node.

    Unrolled loops share what their indices are beside a constant, which is looked at once, too.
    """

    def __init__(self) -> None:
        self._known: dict[int, MemoryReference] = {}
        self._bases: dict[int, _Base] = {}
        self._nodes: dict[Location, BufferLoad | BufferStore] = {}

    def __call__(self, node: BufferLoad | BufferStore) -> MemoryReference:
        found = self._known.get(id(node))
        if found is None or found.node is not node:
            found = self._known[id(node)] = self._reference(node)
            if found.location is not None:
                self._nodes[found.location] = node
        return found

    def _reference(self, node: BufferLoad | BufferStore) -> MemoryReference:
        index, predicate, buffer = node.indices[0], node.predicate, node.buffer
        start, lanes = contiguous_base(index)
        added = 0
        if isinstance(start, Add) and isinstance(start.b, IntImm):
            start, added = start.a, start.b.value
        base = self._bases.get(id(start))
        if base is None or base.expr is not start:
            base = self._bases[id(start)] = _base_of(start)
        _, form, terms, variables, loads = base
        key = None
        if predicate is not None:
            key = structural_key(predicate)
            others, calls = _dependences(predicate)
            variables, loads = variables | others, loads or calls
        location = None
        if form is not None and not loads and buffer.dtype.lanes == 1:
            offset = form.constant + added
            location = Location(buffer.data, terms, offset, lanes, key, buffer.dtype)
        is_store = isinstance(node, BufferStore)
        return MemoryReference(node, is_store, location, variables, loads)

    def are_apart(self, locations: Iterable[Location], scope: EnclosingScope) -> bool:
        """Whether different locations of one memory share no element, as far as can be told."""
        distinct = set(locations)
        if all_disjoint(distinct):
            return True
        if len({(location.data, location.dtype) for location in distinct}) > 1:
            return False
        rows: dict[frozenset[tuple[Any, int]], list[Span]] = {}
        for location in sorted(distinct, key=lambda location: location.offset):
            rows.setdefault(location.terms, []).append(span_of(self._nodes[location]))
        return spans_are_apart(list(rows.values()), scope)


def _base_of(expr: Expr) -> _Base:
    variables, loads = _dependences(expr)
    if loads or expr.dtype.lanes != 1:
        return _Base(expr, None, frozenset(), variables, loads)
    form = affine(expr)
    return _Base(expr, form, frozenset(form.terms.items()), variables, loads)


def rows_are_apart(
    accesses: Iterable[BufferLoad | BufferStore], row: For, steps: For | None = None
) -> bool:
    """Whether an iteration of `row` accesses no element of memory that another one accesses.

    Args:
        accesses: all accesses of that memory in an iteration.
        row: the loop.
        steps: a loop inside of it with constant bounds, over which the accesses may move.
    """
    forms: set[tuple[DType, int, frozenset[tuple[Any, int]]]] = set()
    ends: list[int] = []
    stride = 0
    for node in accesses:
        base, lanes = contiguous_base(node.indices[0])
        rows = split(affine(base), row.loop_var)
        if rows is None or not rows[0].is_constant() or base.dtype.lanes != 1:
            return False
        stride, start, moves = rows[0].constant, rows[1], [0]
        if steps is not None:
            parts = split(start, steps.loop_var)
            if parts is None or not parts[0].is_constant():
                return False
            start = parts[1]
            moves = [parts[0].constant * step for step in _first_and_last(steps)]
        forms.add((node.buffer.dtype, stride, frozenset(start.terms.items())))
        ends += [start.constant + move + lane for move in moves for lane in (0, lanes - 1)]
    return len(forms) == 1 and max(ends) - min(ends) < abs(stride)


def _first_and_last(loop: For) -> tuple[int, int]:
    assert isinstance(loop.min, IntImm)
    assert isinstance(loop.extent, IntImm)
    return loop.min.value, loop.min.value + loop.extent.value - 1


def _dependences(expr: Expr) -> tuple[frozenset[Var], bool]:
    """The `variables` and `loads` of a `MemoryReference` with an index or a predicate."""
    variables: set[Var] = set()
    loads = False
    stack: list[Node] = [expr]
    while stack:
        part = stack.pop()
        if isinstance(part, Var):
            variables.add(part)
        elif part.__class__ is not IntImm:
            loads = loads or isinstance(part, (BufferLoad, Call))
            stack += part.children()
    return frozenset(variables), loads


When = tuple[Expr, ...] | None
"""The conditions of the branches around something, the outer first; None if it runs for other
reasons too, such as how often an inner loop runs."""


class LoopSummary(NamedTuple):
    """The memory accesses of a loop body."""

    accesses: list[tuple[MemoryReference, When]]
    """Each with when an iteration makes it."""
    bound: set[Var]
    """Variables that the body binds."""
    allocated: set[Var]
    """Memory that the body allocates."""
    opaque: bool
    """Whether it calls something that may access any memory."""


def summarize(body: Stmt, references: MemoryReferences) -> LoopSummary:
    """The accesses that one execution of `body` makes."""
    found = collect_accesses(body, is_plain=lambda node: not references(node).loads)
    whens: dict[int, When] = {}
    accesses: list[tuple[MemoryReference, When]] = []
    for access in found.accesses:
        node, around = access.node, access.around
        if id(around) not in whens:
            whens[id(around)] = _when(around)
        if isinstance(node, (BufferLoad, BufferStore)):
            accesses.append((references(node), whens[id(around)]))
    opaque = any(map(is_opaque, found.calls))
    return LoopSummary(accesses, found.bound, found.allocated, opaque)


def _when(around: Surroundings) -> When:
    conditions = [condition for condition in around.conditions if condition.skips]
    if not around.is_certain or not all(map(_has_iterations, around.loops)):
        return None
    if any(condition.negated for condition in conditions):
        return None
    return tuple(condition.expr for condition in conditions)


def _has_iterations(loop: For) -> bool:
    return isinstance(loop.extent, IntImm) and loop.extent.value > 0


def is_opaque(call: Call) -> bool:
    """Whether a call may read or write memory."""
    return not isinstance(call.op, Op) or call.op.effect >= CallEffectKind.READ_STATE


def is_prefetch(call: Call) -> bool:
    """Whether a call only brings a cache line nearer."""
    return isinstance(call.op, Op) and call.op.name == "tir.prefetch_address"


def all_disjoint(locations: Iterable[Location]) -> bool:
    """Whether different locations of one memory share no element, as far as can be told."""
    distinct = sorted(set(locations), key=lambda location: location.offset)
    if len({(location.terms, location.dtype) for location in distinct}) > 1:
        return False
    return not any(a.overlaps(b) for a, b in itertools.pairwise(distinct))


def accesses_in(root: Node) -> Iterator[BufferLoad | BufferStore]:
    """All loads and stores below `root`."""
    for node in walk(root):
        if isinstance(node, (BufferLoad, BufferStore)):
            yield node


def loaded_memory(stmt: Stmt) -> set[Var]:
    """The memory that `stmt` loads from."""
    return {node.buffer.data for node in walk(stmt) if isinstance(node, BufferLoad)}
