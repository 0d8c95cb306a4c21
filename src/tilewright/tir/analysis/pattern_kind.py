"""How the elements that a function writes depend on those that it reads.

This is what operator fusion asks of a tensor program. The answer comes from the indices of its
blocks, never from names. Kinds of single reads are composed along the intermediate buffers, so
that ``softmax``, made of two reductions and two element-wise blocks, is found to be a function of
which each result depends on many elements, and each element is needed for many results.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tilewright.ir.expr import Call, Cast, Expr, FloatImm, IntImm, Mul, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.analysis.expressions import same_extent
from tilewright.tir.analysis.reduction import match_reduction
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import IterType
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, BufferStore, For, SeqStmt, Stmt
from tilewright.tir.substitute import variables_of


class PatternKind(enum.IntEnum):
    """From what is easily fused to what is not; the numbers are those of ``op_pattern``."""

    ELEMENTWISE = 0
    """Each result needs the element at its own place; other operands may be broadcast."""
    BROADCAST = 1
    """Each result needs one element, of an operand that lacks some of the dimensions."""
    INJECTIVE = 2
    """Each result needs a few elements, from anywhere: transpositions, slices, padding."""
    COMM_REDUCE = 3
    """Elements are combined, each for one result: sums along axes."""
    OUT_EWISE_FUSABLE = 4
    """Elements are needed for several results: products of matrices, convolutions, pooling,
    softmax. What is element-wise may follow."""
    TUPLE = 7
    """Several values side by side."""
    OPAQUE = 8
    """Nothing is known."""


class FunctionPattern(NamedTuple):
    """How the results of a function depend on its parameters.

    Attributes:
        kind: the kind of the whole function.
        parameters: for each parameter, how the results depend on it; None for one that is only
            written, a scalar, or not read at all.
        reused: the positions of parameters of which a block reads each element several times.
    """

    kind: PatternKind
    parameters: tuple[PatternKind | None, ...]
    reused: frozenset[int]


OPAQUE: Final = PatternKind.OPAQUE
_Origins = dict[int, PatternKind]
"""For an element of a buffer, how it depends on the parameters at these positions."""


def pattern_kind(func: PrimFunc) -> PatternKind:
    """The kind of a whole function."""
    return function_pattern(func).kind


def function_pattern(func: PrimFunc) -> FunctionPattern:
    """How the results of a function depend on its parameters."""
    blocks = _blocks(func)
    kinds = [None if p not in func.buffer_map else OPAQUE for p in func.params]
    opaque = FunctionPattern(OPAQUE, tuple(kinds), frozenset(range(len(kinds))))
    if blocks is None or any(block_kind(block) is BlockKind.OTHER for block in blocks):
        return opaque
    return _Flow(func).through(blocks)


def is_padding(func: PrimFunc) -> bool:
    """Whether a function does nothing but put a constant around an array."""
    blocks = _blocks(func)
    if blocks is None or len(blocks) != 1 or blocks[0].init is not None:
        return False
    body = blocks[0].body
    return isinstance(body, BufferStore) and is_padded(body.value)


def is_padded(value: Expr) -> bool:
    """Whether a value is an element where there is one, and a constant elsewhere."""
    if not isinstance(value, Call) or getattr(value.op, "name", "") != "tir.if_then_else":
        return False
    return isinstance(value.args[1], BufferLoad) and isinstance(value.args[2], (FloatImm, IntImm))


def _blocks(func: PrimFunc) -> list[Block] | None:
    """The blocks of a function in order; None if it is not made of loops around plain blocks."""
    root = func.body
    plain = all(
        buffer.is_compact() and not buffer.buffer_type for buffer in func.buffer_map.values()
    )
    if not plain or not isinstance(root, BlockRealize) or root.block.iter_vars:
        return None
    found = list(_realized(root.block.body))
    whole = all(item is not None and is_const_int(item.predicate, 1) for item in found)
    return [item.block for item in found if item is not None] if whole else None


def _realized(stmt: Stmt) -> Iterator[BlockRealize | None]:
    """The outermost blocks below a statement; None for what is neither loop nor block."""
    if isinstance(stmt, SeqStmt):
        for item in stmt.seq:
            yield from _realized(item)
    elif isinstance(stmt, For):
        yield from _realized(stmt.body)
    else:
        yield stmt if isinstance(stmt, BlockRealize) else None


class _Flow:
    """What each buffer holds, from the first block to the last."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.positions = {
            func.buffer_map[param]: position
            for position, param in enumerate(func.params)
            if param in func.buffer_map
        }
        self.written: dict[Buffer, _Origins] = {}
        self.reused: set[int] = set()

    def through(self, blocks: Sequence[Block]) -> FunctionPattern:
        for block in blocks:
            for buffer, origins in self._of_block(block).items():
                merged = self.written.setdefault(buffer, {})
                for position, kind in origins.items():
                    merged[position] = max(kind, merged.get(position, kind))
        results: _Origins = {}
        for buffer in self.positions:
            for position, kind in self.written.get(buffer, {}).items():
                results[position] = max(kind, results.get(position, kind))
        kinds = tuple(results.get(position) for position in range(len(self.func.params)))
        return FunctionPattern(_joined(list(results.values())), kinds, frozenset(self.reused))

    def _of_block(self, block: Block) -> Mapping[Buffer, _Origins]:
        """What a block writes, by what it reads."""
        found: dict[Buffer, _Origins] = {}
        written = dict.fromkeys(store.buffer for store in _stores(block))
        for load, kind in reads_of(block):
            if kind is PatternKind.OUT_EWISE_FUSABLE and load.buffer in self.positions:
                self.reused.add(self.positions[load.buffer])
            for position, before in self._origins(load.buffer).items():
                composed = _composed(before, kind)
                for buffer in written:
                    origins = found.setdefault(buffer, {})
                    origins[position] = max(composed, origins.get(position, composed))
        return found

    def _origins(self, buffer: Buffer) -> _Origins:
        if buffer in self.written:
            return self.written[buffer]
        position = self.positions.get(buffer)
        return {} if position is None else {position: PatternKind.ELEMENTWISE}


def _composed(first: PatternKind, then: PatternKind) -> PatternKind:
    """The kind of reading (`then`) what was made by reading (`first`)."""
    spread = then in (PatternKind.BROADCAST, PatternKind.INJECTIVE)
    if first is PatternKind.COMM_REDUCE and spread:
        return PatternKind.OUT_EWISE_FUSABLE
    return max(first, then)


def _joined(kinds: Sequence[PatternKind]) -> PatternKind:
    """The kind of a function with operands of these kinds."""
    largest = max(kinds, default=PatternKind.ELEMENTWISE)
    if largest is PatternKind.BROADCAST and PatternKind.ELEMENTWISE in kinds:
        return PatternKind.ELEMENTWISE
    return largest


def reads_of(block: Block) -> list[tuple[BufferLoad, PatternKind]]:
    """The loads of a complete block or a reduction, with what each is to the result."""
    stores = _stores(block)
    written = {store.buffer.data for store in stores}
    loads = [
        node
        for node in walk(block.body)
        if isinstance(node, BufferLoad) and node.buffer.data not in written
    ]
    if any(isinstance(node, For) for node in walk(block.body)):
        return [(load, PatternKind.OUT_EWISE_FUSABLE) for load in loads]
    if block.init is not None:
        kind = _kind_of_reduction(block, loads)
        return [(load, kind) for load in loads]
    return [(load, max(_relation(load, store) for store in stores)) for load in loads]


def _stores(block: Block) -> list[BufferStore]:
    return [node for node in walk(block.body) if isinstance(node, BufferStore)]


def _relation(load: BufferLoad, store: BufferStore) -> PatternKind:
    """What is read for an element, by the places of both."""
    at = {index: n for n, index in enumerate(store.indices) if isinstance(index, Var)}
    order: list[int] = []
    for index, extent in zip(load.indices, load.buffer.shape, strict=True):
        if isinstance(index, Var) and index in at:
            if not same_extent(extent, store.buffer.shape[at[index]]):
                return PatternKind.INJECTIVE
            order.append(at[index])
        elif not is_const_int(index, 0) or not is_const_int(extent, 1):
            return PatternKind.INJECTIVE
    if any(not isinstance(index, Var) and not is_const_int(index, 0) for index in store.indices):
        return PatternKind.INJECTIVE
    if any(a >= b for a, b in itertools.pairwise(order)):
        return PatternKind.INJECTIVE
    whole = load.buffer.ndim == store.buffer.ndim and all(
        same_extent(a, b) for a, b in zip(load.buffer.shape, store.buffer.shape, strict=True)
    )
    return PatternKind.ELEMENTWISE if whole else PatternKind.BROADCAST


def _kind_of_reduction(block: Block, loads: Sequence[BufferLoad]) -> PatternKind:
    """Whether each element of the main operand is combined into one result only."""
    if _is_product(block):
        return PatternKind.OUT_EWISE_FUSABLE
    needed = {item.var for item in block.iter_vars if not _is_single(item.dom)}
    for load in loads:
        if needed <= {index for index in load.indices if isinstance(index, Var)}:
            return PatternKind.COMM_REDUCE
    return PatternKind.OUT_EWISE_FUSABLE


def _is_single(domain: object) -> bool:
    return is_const_int(getattr(domain, "extent", None), 1)


def _is_product(block: Block) -> bool:
    """Whether a reduction combines products of two operands, each needed for several results."""
    found = match_reduction(block)
    if found is None or len(found.values) != 1:
        return False
    value = _converted(found.values[0])
    if not isinstance(value, Mul):
        return False
    spatial = {item.var for item in block.iter_vars if item.iter_type is IterType.DATA_PAR}
    sides = [_mentioned(_converted(side)) & spatial for side in (value.a, value.b)]
    return not sides[0] <= sides[1] and not sides[1] <= sides[0]


def _converted(value: Expr) -> Expr:
    while isinstance(value, Cast):
        value = value.value
    return value


def _mentioned(value: Expr) -> set[Var]:
    return set(variables_of(value))
