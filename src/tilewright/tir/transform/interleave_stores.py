"""Stores that together fill a stretch of memory become stores of neighbours.

Where iterations that are the lanes of a vector lie some elements apart in memory, and other
statements store what is in between, one store takes the place of all::

    C[T.Ramp(i * 8, 2, 4)] = x      ->      C[T.Ramp(i * 8, 1, 8)] = T.Shuffle([x, y], [0, 4, ...])
    C[T.Ramp(i * 8 + 1, 2, 4)] = y

A machine stores neighbours at once, but scattered elements one by one. This is how the layouts that
keep a few steps of one loop next to each other are written: pairs, pixels of three colours, the
panels of a matrix for instructions that add four products. Nothing has to be interleaved where the
values are parts of one vector, on which the same is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Expr, IntImm, Ramp, Shuffle, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.op import reinterpret
from tilewright.tir.stmt import BufferStore, LetStmt, SeqStmt, Stmt, seq
from tilewright.tir.transform.analysis.accesses import is_opaque
from tilewright.tir.transform.analysis.affine import difference
from tilewright.tir.transform.analysis.memory_uses import Aliases
from tilewright.tir.transform.building.parts_of_vectors import whole_of
from tilewright.tir.transform.building.statements import StatementRewriter, resequenced

SHORT_BITS = 16
"""Size of elements up to which two are taken as one."""

MOST_STEPS = 16
"""Vectors that are further apart take more instructions to interleave than to scatter."""


def interleave_stores(func: PrimFunc, *, vector_bits: int = 512) -> PrimFunc:
    """`func` with strided stores that fill a stretch of memory as stores of neighbours.

    Args:
        func: a function over flat buffers, whose vectors are explicit.
        vector_bits: width of the target's vector registers.
    """
    return func.with_body(_Interleave(Aliases(func), vector_bits)(func.body))


class _Interleave(StatementRewriter):
    def __init__(self, aliases: Aliases, vector_bits: int) -> None:
        self._aliases = aliases
        self._vector_bits = vector_bits

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        parts = [self(part) for part in stmt.seq]
        done: list[Stmt] = []
        start = 0
        while start < len(parts):
            group = self._group(parts, start)
            if group is None:
                done.append(parts[start])
                start += 1
            else:
                done.append(self._interleaved(group))
                start += len(group)
        return resequenced(stmt, done)

    def _group(self, parts: Sequence[Stmt], start: int) -> list[BufferStore] | None:
        """The stores from `start` on that fill a stretch, in the order of their elements."""
        first = parts[start]
        step = store_step(first)
        if not 1 < step <= MOST_STEPS or start + step > len(parts):
            return None
        assert isinstance(first, BufferStore)
        places: dict[int, BufferStore] = {}
        for part in parts[start : start + step]:
            if store_step(part) != step or not isinstance(part, BufferStore):
                return None
            if part.buffer is not first.buffer or part.value.dtype is not first.value.dtype:
                return None
            apart = difference(_base(part), _base(first))
            if not apart.is_constant() or self._reads(part, first):
                return None
            places[apart.constant] = part
        ordered = [places[place] for place in sorted(places)]
        return ordered if len(places) == step == max(places) - min(places) + 1 else None

    def _reads(self, part: BufferStore, first: BufferStore) -> bool:
        """Whether what `part` stores, or where, may depend on what another store has written."""
        data = first.buffer.data
        return any(
            self._aliases.may_overlap(node.buffer.data, data)
            if isinstance(node, BufferLoad)
            else isinstance(node, Call) and is_opaque(node)
            for node in walk(part)
        )

    def _interleaved(self, group: list[BufferStore]) -> Stmt:
        first, steps = group[0], len(group)
        lanes = first.value.dtype.lanes
        whole = whole_of([store.value for store in group])
        if whole is not None and whole.dtype.lanes * whole.dtype.bits <= self._vector_bits:
            base = as_expr(_base(first))
            return BufferStore(
                first.buffer, whole, (Ramp(base, const(1, base.dtype), steps * lanes),)
            )
        variables = [Var(f"{store.buffer.name}_part", store.value.dtype) for store in group]
        values = [store.value for store in group]
        vectors = variables
        while len(vectors) > 2 and len(vectors) % 2 == 0 and _may_pair(vectors[0].dtype):
            # Pairs of short elements are elements of twice the size: machines interleave two.
            pairs = [_paired(*vectors[n : n + 2]) for n in range(0, len(vectors), 2)]
            vectors = [Var(f"{first.buffer.name}_pairs", pair.dtype) for pair in pairs]
            variables, values = [*variables, *vectors], [*values, *pairs]
        width = min(steps * lanes, max(self._vector_bits // first.buffer.dtype.bits, 1))
        stores: list[Stmt] = []
        for start in range(0, steps * lanes, width):
            count = min(width, steps * lanes - start)
            value = _picked(vectors, start, count, first.buffer.dtype)
            base = as_expr(_base(first) + start)
            index = Ramp(base, const(1, base.dtype), count)
            stores.append(BufferStore(first.buffer, value, (index,)))
        body = seq(*stores)
        for variable, bound in zip(reversed(variables), reversed(values), strict=True):
            body = LetStmt(variable, bound, body)
        return body


def _may_pair(dtype: DType) -> bool:
    return (dtype.is_int or dtype.is_uint) and dtype.bits <= SHORT_BITS


def _paired(a: Expr, b: Expr) -> Expr:
    """The elements of two vectors in turns, each two as one of twice the size."""
    lanes = a.dtype.lanes
    return reinterpret(f"uint{2 * a.dtype.bits}x{lanes}", _shuffled([a, b], 0, 2 * lanes))


def _picked(vectors: Sequence[Expr], start: int, count: int, dtype: DType) -> Expr:
    """Elements of vectors in turns, taken as `count` elements of `dtype` from number `start` on."""
    size = vectors[0].dtype.bits // dtype.bits
    value = _shuffled(vectors, start // size, count // size)
    return reinterpret(str(dtype.with_lanes(count)), value)


def _shuffled(vectors: Sequence[Expr], start: int, count: int) -> Expr:
    """The elements from number `start` on of vectors in turns."""
    steps, lanes = len(vectors), vectors[0].dtype.lanes
    picks = ((n % steps) * lanes + n // steps for n in range(start, start + count))
    return Shuffle(tuple(vectors), tuple(const(pick, "int32") for pick in picks))


def store_step(stmt: Stmt) -> int:
    """The constant distance of the elements that a store of a vector goes to, else 0."""
    if not isinstance(stmt, BufferStore) or stmt.predicate is not None:
        return 0
    index = stmt.indices[0]
    if not isinstance(index, Ramp) or not isinstance(index.stride, IntImm):
        return 0
    return index.stride.value if stmt.buffer.dtype.lanes == 1 else 0


def _base(store: BufferStore) -> Expr:
    index = store.indices[0]
    assert isinstance(index, Ramp)
    return index.base
