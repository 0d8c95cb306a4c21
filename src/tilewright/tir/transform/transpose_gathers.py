"""Gathers that together read rows become loads of these rows, and a transposition in registers.

Where the lanes of a vector are some elements apart in memory, and other statements load what is
next to each of these elements, each row is loaded at once instead of element by element::

    B[0:4] = A[T.Ramp(i, 64, 4)]                   a_0 = A[i : i + 4]
    B[64:68] = A[T.Ramp(i + 1, 64, 4)]     ->      a_1 = A[i + 64 : i + 68]
    B[128:132] = A[T.Ramp(i + 2, 64, 4)]           ...
    B[192:196] = A[T.Ramp(i + 3, 64, 4)]           B[0:4] = ...  # the first elements of all a

So a matrix is transposed by square tiles: one loop vectorised along the rows, the other unrolled.
The same happens in sums of rows whose lanes are rows, and where records of a few numbers are taken
apart.

The transposition takes log2(n) steps for n vectors (J. O. Eklundh, 1972): step d exchanges, between
vectors that are d apart, the lanes that are d apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, Ramp, Shuffle, Var, is_const_int
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BufferStore, LetStmt, SeqStmt, Stmt, seq
from tilewright.tir.transform.affine import Key, affine, structural_key
from tilewright.tir.transform.alias import Aliases

LEAST_BITS = 128
"""Shorter parts of rows are not worth a load each."""


def transpose_gathers(func: PrimFunc) -> PrimFunc:
    """`func` with groups of gathers as loads of neighbours and shuffles.

    Args:
        func: a function over flat buffers, whose vectors are explicit.
    """
    body = _Transposing(Aliases(func))(func.body)
    return func if body is func.body else func.with_body(body)


class _Transposing(Rewriter):
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
        values: dict[BufferLoad, Var] = {}
        bindings: list[tuple[Var, Expr]] = []
        for group in _groups(stores):
            data = group[0][0].buffer.data
            if not any(self._aliases.may_overlap(data, other) for other in written):
                columns = _columns(group, bindings)
                for loads, column in zip(group, columns, strict=True):
                    values |= dict.fromkeys(loads, column)
        body = _Replacing(values)(seq(*stores)) if values else seq(*stores)
        for var, value in reversed(bindings):
            body = LetStmt(var, value, body)
        return body


class _Replacing(Rewriter):
    def __init__(self, values: Mapping[BufferLoad, Var]) -> None:
        self._values = values

    def BufferLoad(self, load: BufferLoad) -> Expr:
        return self._values.get(load, load)


def _groups(stores: Sequence[Stmt]) -> Iterator[list[list[BufferLoad]]]:
    """Gathers of the same distance whose first elements are neighbours, as many as a power of two.

    The gathers of one element come together.
    """
    by_place: dict[Key, dict[int, list[BufferLoad]]] = {}
    for load in (node for store in stores for node in walk(store)):
        if isinstance(load, BufferLoad) and _is_gather(load):
            index = load.indices[0]
            assert isinstance(index, Ramp)
            base = affine(index.base)
            terms = frozenset((key, term.coefficient) for key, term in base.terms.items())
            place = (load.buffer.data, load.dtype, terms, structural_key(index.stride))
            by_place.setdefault(place, {}).setdefault(base.constant, []).append(load)
    for loads in by_place.values():
        offsets = sorted(loads)
        lanes, bits = loads[offsets[0]][0].dtype.lanes, loads[offsets[0]][0].dtype.bits
        start = 0
        while start < len(offsets):
            count = lanes
            while count * bits >= LEAST_BITS and not _are_neighbours(offsets, start, count):
                count //= 2
            if count * bits >= LEAST_BITS and count > 1:
                yield [loads[offset] for offset in offsets[start : start + count]]
                start += count
            else:
                start += 1


def _are_neighbours(offsets: Sequence[int], start: int, count: int) -> bool:
    last = start + count - 1
    return last < len(offsets) and offsets[last] - offsets[start] == count - 1


def _is_gather(load: BufferLoad) -> bool:
    index = load.indices[0]
    if not isinstance(index, Ramp) or load.predicate is not None or load.buffer.dtype.lanes > 1:
        return False
    power_of_two = index.lanes & (index.lanes - 1) == 0
    return power_of_two and not any(is_const_int(index.stride, n) for n in (-1, 0, 1))


def _columns(group: Sequence[Sequence[BufferLoad]], bindings: list[tuple[Var, Expr]]) -> list[Var]:
    """The vectors of a group of gathers, made of rows by what is added to `bindings`."""
    load = group[0][0]
    index = load.indices[0]
    assert isinstance(index, Ramp)
    count, lanes, name = len(group), index.lanes, load.buffer.name.lower()
    rows: list[Var] = []
    for lane in range(lanes):
        base = as_expr(index.base + index.stride * lane)
        neighbours = Ramp(base, const(1, base.dtype), count)
        row = BufferLoad(load.buffer, (neighbours,))
        rows.append(_bind(f"{name}_row", row, bindings))
    # With fewer columns than lanes, a vector has parts of several rows, one in each block of lanes.
    vectors = [_joined(rows[first::count], name, bindings) for first in range(count)]
    distance = 1
    while distance < count:
        for number in range(count):
            if not number & distance:
                pair = vectors[number], vectors[number + distance]
                low, high = _exchanged(*pair, distance)
                vectors[number] = _bind(f"{name}_part", low, bindings)
                vectors[number + distance] = _bind(f"{name}_part", high, bindings)
        distance *= 2
    return vectors


def _bind(name: str, value: Expr, bindings: list[tuple[Var, Expr]]) -> Var:
    var = Var(name, value.dtype)
    bindings.append((var, value))
    return var


def _joined(vectors: list[Var], name: str, bindings: list[tuple[Var, Expr]]) -> Var:
    """The lanes of all `vectors`, one after the other."""
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [_bind(f"{name}_rows", _picked(a, b, _both(a.dtype)), bindings) for a, b in pairs]
    return vectors[0]


def _both(dtype: DType) -> range:
    return range(2 * dtype.lanes)


def _exchanged(a: Var, b: Var, distance: int) -> tuple[Expr, Expr]:
    """`a` and `b` with the lanes of `a` that are `distance` higher for the lower ones of `b`."""
    lanes = a.dtype.lanes
    low = [n + lanes - distance if n & distance else n for n in range(lanes)]
    high = [n + lanes if n & distance else n + distance for n in range(lanes)]
    return _picked(a, b, low), _picked(a, b, high)


def _picked(a: Var, b: Var, picks: Sequence[int]) -> Expr:
    return Shuffle((a, b), tuple(const(pick, "int32") for pick in picks))
