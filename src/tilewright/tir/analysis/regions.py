"""Which boxes of which buffers a block reads and writes, inferred from its body.

An index is evaluated to an interval whose ends are expressions over what is defined outside of
the block's body: interval arithmetic eliminates the loops inside of the block. Several accesses of
one buffer give the smallest box around all of them, a whole dimension where two ends cannot be
ordered or an index depends on data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from tilewright.arith import Analyzer
from tilewright.arith.interval import EVERYTHING, IntervalEvaluator, IntervalSet, constant_range
from tilewright.arith.linear import constant_difference
from tilewright.error import DiagnosticError
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import PointerType
from tilewright.ir.expr import Expr, IntImm, Let, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Visitor
from tilewright.ir.structural import structural_equal
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import (
    Allocate,
    AllocateConst,
    Block,
    BlockRealize,
    BufferRealize,
    BufferStore,
    DeclBuffer,
    For,
    LetStmt,
    Prefetch,
)
from tilewright.tir.substitute import substitute, variables_of

NOTHING: Final[Mapping[Var, Expr]] = MappingProxyType({})

Interval = tuple[Expr, Expr]
"""The smallest and the largest value."""

Box = tuple[Interval | None, ...]
"""An interval per dimension, None for a whole dimension."""


def infer_block_regions(
    block: Block,
) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    """What one instance of `block` reads and writes, in the order of first accesses.

    Buffers that live inside of the block are left out. In a block with an initialisation, what it
    writes is left out of the reads: it only updates that.

    Raises:
        DiagnosticError: if the body uses the pointer of a buffer, so that nothing is known.
    """
    collector = _Collector()
    for iter_var in block.iter_vars:
        if iter_var.dom is not None:
            collector.analyzer.bind(iter_var.var, iter_var.dom)
    collector.Block(block)
    writes = collector.regions(collector.written)
    reads = collector.regions(collector.read)
    if block.init is not None:
        updated = {region.buffer: region for region in writes}
        reads = [r for r in reads if not _is_within(r, updated.get(r.buffer))]
    return tuple(reads), tuple(writes)


def _is_within(region: BufferRegion, other: BufferRegion | None) -> bool:
    """Whether a region shows to be a part of another one of the same buffer."""
    if other is None:
        return False
    for inner, outer in zip(region.region, other.region, strict=True):
        if structural_equal(inner, outer):
            continue
        before = constant_difference(inner.min, outer.min)
        after = constant_difference(inner.min + inner.extent, outer.min + outer.extent)
        if before is None or after is None or before < 0 or after > 0:
            return False
    return True


class _Collector(Visitor):
    """Collects the accesses below a block."""

    def __init__(self) -> None:
        self.read: dict[Buffer, list[Box]] = {}
        self.written: dict[Buffer, list[Box]] = {}
        self.loops: dict[Var, IntervalSet] = {}
        self.values: dict[Var, Expr] = {}
        self.inside: set[Var] = set()
        """Pointers to memory that lives inside of the block."""
        self.views: dict[Buffer, BufferRegion] = {}
        self.analyzer = Analyzer()
        self.evaluator: IntervalEvaluator | None = None
        """Knows the loops so far."""

    def Block(self, block: Block) -> None:
        self.inside.update(buffer.data for buffer in block.alloc_buffers)
        for match in block.match_buffers:
            self.views[match.buffer] = match.source
            self.inside.add(match.buffer.data)
        if block.init is not None:
            self.visit(block.init)
        self.visit(block.body)

    def For(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        values = self._range(Range.from_min_extent(loop.min, loop.extent))
        self.loops[loop.loop_var] = EVERYTHING if values is None else IntervalSet(*values)
        self.evaluator = None
        self.visit(loop.body)

    def LetStmt(self, let: LetStmt | Let) -> None:
        self.visit(let.value)
        if let.var.dtype.is_handle:
            self.inside.add(let.var)
        self.values[let.var] = substitute(let.value, self.values)
        self.visit(let.body)

    Let = LetStmt

    def Allocate(self, stmt: Allocate | AllocateConst) -> None:
        self.inside.add(stmt.buffer_var)
        self.visit(stmt.body)

    AllocateConst = Allocate

    def DeclBuffer(self, stmt: DeclBuffer | BufferRealize) -> None:
        if isinstance(stmt, BufferRealize):
            self.inside.add(stmt.buffer.data)
        self.visit(stmt.body)

    BufferRealize = DeclBuffer

    def BufferStore(self, store: BufferStore) -> None:
        self.access(self.written, store.buffer, store.indices)
        self.visit(store.value)
        for index in store.indices:
            self.visit(index)

    def BufferLoad(self, load: BufferLoad) -> None:
        self.access(self.read, load.buffer, load.indices)
        for index in load.indices:
            self.visit(index)

    def BlockRealize(self, realize: BlockRealize) -> None:
        """A nested block accesses what its own regions say.

        One that goes on with a reduction which began further outside reads what it updates, too.
        """
        block = realize.block
        for item in (*realize.iter_values, realize.predicate):
            self.visit(item)
        iterators = (iter_var.var for iter_var in block.iter_vars)
        values = dict(zip(iterators, realize.iter_values, strict=False))
        updated = block.writes if self._begins_outside(realize) else ()
        for region in (*block.reads, *updated):
            self.region(self.read, region, values)
        for region in block.writes:
            self.region(self.written, region, values)

    def _begins_outside(self, realize: BlockRealize) -> bool:
        """Whether a block reduces over more than the loops here, so that it may not begin here."""
        return realize.block.init is not None and any(
            iter_var.iter_type is IterType.COMM_REDUCE
            and any(var not in self.loops for var in variables_of(value))
            for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=False)
        )

    def region(
        self,
        accesses: dict[Buffer, list[Box]],
        region: BufferRegion,
        values: Mapping[Var, Expr] = NOTHING,
    ) -> None:
        """Add a region, `values` put in for variables."""
        box = tuple(self._range(item, values) for item in region.region)
        self.add(accesses, region.buffer, box)

    def access(
        self, accesses: dict[Buffer, list[Box]], buffer: Buffer, indices: Iterable[Expr]
    ) -> None:
        self.add(accesses, buffer, tuple(self.interval(index) for index in indices))

    def add(self, accesses: dict[Buffer, list[Box]], buffer: Buffer, box: Box) -> None:
        view = self.views.get(buffer)
        if view is not None:
            self.region(accesses, view)
        elif buffer.data not in self.inside:
            accesses.setdefault(buffer, []).append(box)

    def Prefetch(self, stmt: Prefetch) -> None:
        """A hint, which accesses nothing."""

    def Var(self, var: Var) -> None:
        if isinstance(var.type_annotation, PointerType) and var not in self.inside:
            raise DiagnosticError(
                f"what the block reads and writes cannot be inferred, because it uses the pointer "
                f"`{var.name}`: write T.reads(...) and T.writes(...)"
            )

    # --- intervals --------------------------------------------------------------------------

    def _range(self, item: Range, values: Mapping[Var, Expr] = NOTHING) -> Interval | None:
        known = constant_range(item.min, item.extent)
        if known is not None:
            return known  # type: ignore[return-value]
        low = self.interval(substitute(item.min, values))
        if isinstance(item.extent, IntImm) and item.extent.value == 1:
            return low
        size = self.interval(substitute(item.extent, values))
        return None if low is None or size is None else (low[0], low[1] + size[1] - 1)

    def interval(self, expr: Expr) -> Interval | None:
        """The values of an index while the loops inside of the block run; None if unknown."""
        if self.values:
            expr = substitute(expr, self.values)
        varies = expr.dtype.is_vector
        stack: list[Node] = [expr]
        while stack:
            node = stack.pop()
            if node in self.loops:
                varies = True
            elif isinstance(node, BufferLoad):
                return None
            else:
                stack.extend(node.children())
        if not varies:
            return expr, expr
        if self.evaluator is None:
            self.evaluator = IntervalEvaluator(self.loops, self.analyzer)
        low, high = self.evaluator.evaluate(expr)
        return None if low is None or high is None else (low, high)

    # --- boxes ------------------------------------------------------------------------------

    def hull(self, intervals: list[Interval | None]) -> Interval | None:
        """The smallest interval around all."""
        first = intervals[0]
        for other in intervals[1:]:
            if first is None or other is None:
                return None
            low = self.ordered(first[0], other[0])
            high = self.ordered(first[1], other[1])
            if low is None or high is None:
                return None
            first = low[0], high[1]
        return first

    def ordered(self, a: Expr, b: Expr) -> tuple[Expr, Expr] | None:
        """Both, the smaller one first; None if that depends on something."""
        if structural_equal(a, b):
            return a, b
        difference = self.analyzer.simplify(b - a)
        if self.analyzer.can_prove(difference >= 0):
            return a, b
        return (b, a) if self.analyzer.can_prove(difference <= 0) else None

    def regions(self, accesses: dict[Buffer, list[Box]]) -> list[BufferRegion]:
        """One region per buffer."""
        return [
            BufferRegion(
                buffer,
                tuple(
                    self._as_range(self.hull([box[axis] for box in boxes]), extent)
                    for axis, extent in enumerate(buffer.shape)
                ),
            )
            for buffer, boxes in accesses.items()
        ]

    def _as_range(self, interval: Interval | None, extent: Expr) -> Range:
        if interval is None:
            return Range.from_min_extent(const(0, extent.dtype), extent)
        low, high = interval
        if low is high or structural_equal(low, high):
            return Range.from_min_extent(low, const(1, low.dtype))
        simplify = self.analyzer.simplify
        size = constant_difference(high, low)
        found = simplify(high - low + 1) if size is None else const(size + 1, low.dtype)
        return Range.from_min_extent(simplify(cast(found.dtype, low)), found)
