"""Gathers that together read rows become loads of these rows, and a transposition in registers.

Where the lanes of a vector are some elements apart in memory, and other statements load what is
next to each of these elements, each row is loaded at once instead of element by element::

    B[0:4] = A[T.Ramp(i, 64, 4)]                   rows[0:4] = A[i : i + 4]
    B[64:68] = A[T.Ramp(i + 1, 64, 4)]     ->      rows[4:8] = A[i + 64 : i + 68]
    B[128:132] = A[T.Ramp(i + 2, 64, 4)]           ...
    B[192:196] = A[T.Ramp(i + 3, 64, 4)]           B[0:4] = ...  # the first elements of all a

So a matrix is transposed by square tiles: one loop vectorised along the rows, the other unrolled.
The same happens in sums of rows whose lanes are rows, and where records of a few numbers are taken
apart. The memory `rows` has the scope ``local``: each part of it is a register. Where only the
first lanes of the vectors are loaded, the rows of the others are zeros.

The transposition takes log2(n) steps for n vectors (J. O. Eklundh, 1972): step d exchanges, between
vectors that are d apart, the lanes that are d apart. Where a few gathers are stored in turns, as
pairs or groups of four neighbours, these are moved as one wider element.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product

from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import INT32, DType
from tilewright.ir.expr import (
    And,
    Broadcast,
    Call,
    Expr,
    Or,
    Ramp,
    Shuffle,
    is_const_int,
)
from tilewright.ir.node import Node
from tilewright.ir.op import Op
from tilewright.ir.rewrite import Rewriter, nodes_of, walk
from tilewright.tir.buffer import ONE, Buffer, BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.op import reinterpret
from tilewright.tir.stmt import BufferStore, SeqStmt, Stmt, seq
from tilewright.tir.transform.analysis.affine import Key, affine, structural_key
from tilewright.tir.transform.analysis.masks import leading_lanes
from tilewright.tir.transform.analysis.memory_uses import Aliases
from tilewright.tir.transform.building.allocations import allocation, local_buffer
from tilewright.tir.transform.building.parts_of_vectors import parts_of
from tilewright.tir.transform.building.statements import StatementRewriter
from tilewright.tir.transform.interleave_stores import store_step

_IF = Op.get("tir.if_then_else")

LEAST_BITS = 128
"""Shorter parts of rows are not worth a load each."""

LEAST_NARROW_BITS = 64
"""The same of elements that no instruction gathers."""

NARROW_BITS = 16
"""Size of the largest of these."""

WIDE_BITS = 64
"""Size of the largest elements of vectors."""


def transpose_gathers(func: PrimFunc) -> PrimFunc:
    """`func` with groups of gathers as loads of neighbours and shuffles.

    Args:
        func: a function over flat buffers, whose vectors are explicit.
    """
    if not any(map(_is_gather, nodes_of(func.body, BufferLoad))):
        return func
    return func.with_body(transposed(func.body, Aliases(func)))


def transposed(body: Stmt, aliases: Aliases) -> Stmt:
    """`body` with groups of gathers as loads of neighbours and shuffles."""
    return _Transposing(aliases)(body)


class _Transposing(StatementRewriter):
    def __init__(self, aliases: Aliases) -> None:
        self._aliases = aliases

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        done: list[Stmt] = []
        start = 0
        for end in range(len(stmt.seq) + 1):
            if end < len(stmt.seq) and isinstance(stmt.seq[end], BufferStore):
                continue
            if start < end:
                done.append(self._run(stmt.seq[start:end]))
            if end < len(stmt.seq):
                done.append(self(stmt.seq[end]))
            start = end + 1
        result = seq(*done)
        parts = result.seq if isinstance(result, SeqStmt) else ()
        same = len(parts) == len(stmt.seq)
        same = same and all(new is old for new, old in zip(parts, stmt.seq, strict=True))
        return stmt if same else result

    def _run(self, stores: Sequence[Stmt]) -> Stmt:
        """`stores`, which run one after the other, with vectors that are loaded before them."""
        written = {store.buffer.data for store in stores if isinstance(store, BufferStore)}
        values: dict[BufferLoad, Expr] = {}
        before: dict[int, list[Stmt]] = {}
        memory: list[Buffer] = []
        for group, first in _groups(stores):
            data = group[0][0].buffer.data
            read = {data} | {
                node.buffer.data
                for load in chain(*group)
                for node in walk(load.indices[0])
                if isinstance(node, BufferLoad)
            }
            if not any(self._aliases.may_overlap(*pair) for pair in product(read, written)):
                size = store_step(stores[first])
                size = size if _may_be_wider(group[0][0], len(group), size) else 1
                registers = _Registers(group[0][0], len(group), size)
                columns = _columns(group, registers)
                for loads, column in zip(group, columns, strict=True):
                    values |= dict.fromkeys(loads, column)
                before.setdefault(first, []).extend(registers.stores)
                memory.append(registers.memory)
        if not values:
            return seq(*stores)
        replacing = _Replacing(values)
        body = seq(
            *(
                part for number, store in enumerate(stores)
                for part in (*before.get(number, ()), replacing(store))
            )
        )  # fmt: skip
        for buffer in memory:
            body = allocation(body, buffer)
        return body


class _Replacing(Rewriter):
    def __init__(self, values: Mapping[BufferLoad, Expr]) -> None:
        self._values = values

    def BufferLoad(self, load: BufferLoad) -> Expr:
        return self._values.get(load, load)


class _Registers:
    """Memory of scope ``local``, each part of which is written once.

    Args:
        like: one of the gathers.
        count: how many there are.
        size: how many neighbours are moved as one element.
    """

    def __init__(self, like: BufferLoad, count: int, size: int) -> None:
        lanes, element = like.dtype.lanes, like.buffer.dtype
        wide = element if size == 1 else DType(f"uint{element.bits * size}")
        units = count // size * lanes * lanes.bit_length()  # the rows, and what each step makes
        self.memory = local_buffer(f"{like.buffer.name}_rows", wide, units)
        self.size = size
        self.stores: list[Stmt] = []
        self._used = 0

    def hold_row(self, row: Expr) -> Expr:
        """A row, in a register from here on."""
        lanes = row.dtype.lanes // self.size
        return self.hold(reinterpret(str(self.memory.dtype.with_lanes(lanes)), row))

    def hold(self, value: Expr) -> Expr:
        """`value`, in a register from here on."""
        first, lanes = const(self._used, INT32), value.dtype.lanes
        index = (Ramp(first, ONE, lanes) if lanes > 1 else first,)
        self._used += lanes
        self.stores.append(BufferStore(self.memory, value, index))
        return BufferLoad(self.memory, index)


def _groups(stores: Sequence[Stmt]) -> Iterator[tuple[list[list[BufferLoad]], int]]:
    """Gathers of the same distance whose first elements are neighbours, as many as a power of two.

    The gathers of one element come together. The number is that of the first statement of a group.
    """
    by_place: dict[Key, dict[int, list[BufferLoad]]] = {}
    statement: dict[BufferLoad, int] = {}
    for number, load in ((n, node) for n, store in enumerate(stores) for node in certain(store)):
        if isinstance(load, BufferLoad) and _is_gather(load):
            statement.setdefault(load, number)
            index, lanes = load.indices[0], _lanes(load)
            assert isinstance(index, Ramp)
            assert lanes is not None
            base = affine(index.base)
            terms = frozenset(base.terms.items())
            key = (load.buffer.data, load.dtype, terms, structural_key(index.stride))
            place = (*key, structural_key(lanes))
            by_place.setdefault(place, {}).setdefault(base.constant, []).append(load)
    for loads in by_place.values():
        offsets = sorted(loads)
        lanes, bits = loads[offsets[0]][0].dtype.lanes, loads[offsets[0]][0].dtype.bits
        start = 0
        while start < len(offsets):
            count, first = lanes, loads[offsets[start]][0]
            size = store_step(stores[statement[first]])
            least = (LEAST_NARROW_BITS if bits <= NARROW_BITS else LEAST_BITS) // bits
            least = size if _may_be_wider(first, count, size) else least
            while count >= least and not _are_neighbours(offsets, start, count):
                count //= 2
            if count >= least and count > 1:
                group = [loads[offset] for offset in offsets[start : start + count]]
                yield group, min(statement[load] for same in group for load in same)
                start += count
            else:
                start += 1


def _are_neighbours(offsets: Sequence[int], start: int, count: int) -> bool:
    last = start + count - 1
    return last < len(offsets) and offsets[last] - offsets[start] == count - 1


def certain(root: Node) -> Iterator[Node]:
    """The nodes below `root` that are evaluated whatever the conditions in it are."""
    yield root
    children: Sequence[Node] = root.children()
    if isinstance(root, (And, Or)) or (isinstance(root, Call) and root.op is _IF):
        children = children[:1]
    for child in children:
        yield from certain(child)


def _lanes(load: BufferLoad) -> Expr | None:
    """How many lanes are loaded, the first ones; None if they may be others."""
    if load.predicate is None:
        return const(load.dtype.lanes, INT32)
    return leading_lanes(load.predicate)


def _is_gather(load: BufferLoad) -> bool:
    index = load.indices[0]
    if not isinstance(index, Ramp) or load.buffer.dtype.lanes > 1 or _lanes(load) is None:
        return False
    power_of_two = index.lanes & (index.lanes - 1) == 0
    return power_of_two and not any(is_const_int(index.stride, n) for n in (-1, 0, 1))


def _may_be_wider(load: BufferLoad, count: int, size: int) -> bool:
    """Whether `size` of the `count` neighbours that gathers load of each row are one element."""
    is_power_of_two = size > 1 and size & (size - 1) == 0
    return is_power_of_two and count % size == 0 and load.buffer.dtype.bits * size <= WIDE_BITS


def _columns(group: Sequence[Sequence[BufferLoad]], registers: _Registers) -> list[Expr]:
    """The vectors of a group of gathers, made of rows in `registers`."""
    load = group[0][0]
    index = load.indices[0]
    assert isinstance(index, Ramp)
    neighbours, lanes = len(group), _lanes(load)
    assert lanes is not None
    count = neighbours // registers.size
    zeros = Broadcast(const(0, load.buffer.dtype), neighbours)
    rows: list[Expr] = []
    for lane in range(index.lanes):
        base = as_expr(index.base + index.stride * lane)
        row: Expr = BufferLoad(load.buffer, (Ramp(base, const(1, base.dtype), neighbours),))
        is_loaded = as_expr(lanes > lane)
        if is_const_int(is_loaded, 0):
            row = zeros
        elif not is_const_int(is_loaded):
            row = Call(row.dtype, _IF, (is_loaded, row, zeros))
        rows.append(registers.hold_row(row))
    # With fewer columns than lanes, a vector has parts of several rows, one in each block of lanes.
    vectors = [_joined(rows[first::count], registers) for first in range(count)]
    distance = 1
    while distance < count:
        for number in range(count):
            if not number & distance:
                pair = vectors[number], vectors[number + distance]
                low, high = _exchanged(*pair, distance)
                vectors[number] = registers.hold(low)
                vectors[number + distance] = registers.hold(high)
        distance *= 2
    if registers.size == 1:
        return vectors
    lanes = index.lanes * registers.size
    narrow = str(load.buffer.dtype.with_lanes(lanes))
    wholes = (reinterpret(narrow, vector) for vector in vectors)
    return [part for whole in wholes for part in parts_of(whole, registers.size)]


def _joined(vectors: list[Expr], registers: _Registers) -> Expr:
    """The lanes of all `vectors`, one after the other."""
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [registers.hold(_picked(a, b, _both(a.dtype))) for a, b in pairs]
    return vectors[0]


def _both(dtype: DType) -> range:
    return range(2 * dtype.lanes)


def _exchanged(a: Expr, b: Expr, distance: int) -> tuple[Expr, Expr]:
    """`a` and `b` with the lanes of `a` that are `distance` higher for the lower ones of `b`."""
    lanes = a.dtype.lanes
    low = [n + lanes - distance if n & distance else n for n in range(lanes)]
    high = [n + lanes if n & distance else n + distance for n in range(lanes)]
    return _picked(a, b, low), _picked(a, b, high)


def _picked(a: Expr, b: Expr, picks: Sequence[int]) -> Expr:
    return Shuffle((a, b), tuple(const(pick, "int32") for pick in picks))
