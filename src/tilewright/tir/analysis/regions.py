"""Which boxes of which buffers a block reads and writes, inferred from its body.

An index is evaluated to an interval whose ends are expressions over what is defined outside of
the block's body: the loops inside of the block are eliminated by interval arithmetic (R. E. Moore,
Interval Analysis, 1966). Several accesses of one buffer give the smallest box around all of them,
a whole dimension where two ends cannot be ordered or an index depends on data.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilewright.arith import Analyzer
from tilewright.error import DiagnosticError
from tilewright.ir.arithmetic import cast, const, floordiv, maximum, minimum
from tilewright.ir.expr import (
    Add,
    Broadcast,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mul,
    Ramp,
    Select,
    Sub,
    Var,
)
from tilewright.ir.node import Node
from tilewright.ir.structural import structural_equal
from tilewright.ir.types import PointerType
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
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
from tilewright.tir.substitute import substitute

Interval = tuple[Expr, Expr]
"""The smallest and the largest value."""

Box = tuple[Interval | None, ...]
"""An interval per dimension, None for a whole dimension."""


def infer_block_regions(
    block: Block,
) -> tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]:
    """What one instance of `block` reads and writes, in the order of first accesses.

    Buffers that live inside of the block are left out. In a block with an initialisation, the
    buffers that it writes are left out of the reads: it only updates them.

    Raises:
        DiagnosticError: if the body uses the pointer of a buffer, so that nothing is known.
    """
    collector = _Collector()
    for iter_var in block.iter_vars:
        if iter_var.dom is not None:
            collector.analyzer.bind(iter_var.var, iter_var.dom)
    collector.block(block)
    writes = collector.regions(collector.written)
    updated = {region.buffer for region in writes} if block.init is not None else set()
    reads = (r for r in collector.regions(collector.read) if r.buffer not in updated)
    return tuple(reads), tuple(writes)


class _Collector:
    """Collects the accesses below a block."""

    def __init__(self) -> None:
        self.read: dict[Buffer, list[Box]] = {}
        self.written: dict[Buffer, list[Box]] = {}
        self.loops: dict[Var, Interval] = {}
        self.values: dict[Var, Expr] = {}
        self.inside: set[Var] = set()
        """Pointers to memory that lives inside of the block."""
        self.views: dict[Buffer, BufferRegion] = {}
        self.analyzer = Analyzer()

    def block(self, block: Block) -> None:
        self.inside.update(buffer.data for buffer in block.alloc_buffers)
        for match in block.match_buffers:
            self.views[match.buffer] = match.source
            self.inside.add(match.buffer.data)
        if block.init is not None:
            self.visit(block.init)
        self.visit(block.body)

    def visit(self, node: Any) -> None:
        """Collect the accesses below a node."""
        handler = _HANDLERS.get(node.__class__)
        if handler is not None:
            handler(self, node)
        else:
            for item in node.children():
                self.visit(item)

    def for_loop(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        low, high = self.interval(loop.min), self.interval(loop.extent)
        if low is not None and high is not None:
            self.loops[loop.loop_var] = (low[0], low[1] + high[1] - 1)
        else:
            self.inside.add(loop.loop_var)
        self.visit(loop.body)

    def let(self, let: LetStmt | Let) -> None:
        self.visit(let.value)
        if let.var.dtype.is_handle:
            self.inside.add(let.var)
        self.values[let.var] = let.value
        self.visit(let.body)

    def allocation(self, stmt: Allocate | AllocateConst) -> None:
        self.inside.add(stmt.buffer_var)
        self.visit(stmt.body)

    def declaration(self, stmt: DeclBuffer | BufferRealize) -> None:
        if isinstance(stmt, BufferRealize):
            self.inside.add(stmt.buffer.data)
        self.visit(stmt.body)

    def store(self, store: BufferStore) -> None:
        self.access(self.written, store.buffer, store.indices)
        self.visit(store.value)
        for index in store.indices:
            self.visit(index)

    def load(self, load: BufferLoad) -> None:
        self.access(self.read, load.buffer, load.indices)
        for index in load.indices:
            self.visit(index)

    def realize(self, realize: BlockRealize) -> None:
        """A nested block accesses what its own regions say."""
        block = realize.block
        for item in (*realize.iter_values, realize.predicate):
            self.visit(item)
        iterators = (iter_var.var for iter_var in block.iter_vars)
        values = dict(zip(iterators, realize.iter_values, strict=False))
        for accesses, regions in ((self.read, block.reads), (self.written, block.writes)):
            for region in regions:
                self.region(accesses, substitute(region, values))

    def region(self, accesses: dict[Buffer, list[Box]], region: BufferRegion) -> None:
        self.add(accesses, region.buffer, tuple(self._range(item) for item in region.region))

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

    def pointer(self, var: Var) -> None:
        if isinstance(var.type_annotation, PointerType) and var not in self.inside:
            raise DiagnosticError(
                f"what the block reads and writes cannot be inferred, because it uses the pointer "
                f"`{var.name}`: write T.reads(...) and T.writes(...)"
            )

    # --- intervals --------------------------------------------------------------------------

    def _range(self, item: Range) -> Interval | None:
        low = self.interval(item.min)
        if isinstance(item.extent, IntImm) and item.extent.value == 1:
            return low
        size = self.interval(item.extent)
        return None if low is None or size is None else (low[0], low[1] + size[1] - 1)

    def interval(self, expr: Expr) -> Interval | None:
        """The values of an index while the loops inside of the block run; None if unknown."""
        if not self.varies(expr):
            return expr, expr
        handler = _INTERVALS.get(expr.__class__)
        return handler(self, expr) if handler is not None else None

    def varies(self, node: Node) -> bool:
        """Whether a value depends on the body: on its loops and lets, or on data."""
        if isinstance(node, Var):
            return node in self.loops or node in self.values or node in self.inside
        if isinstance(node, (BufferLoad, Let, Ramp)):
            return True
        return any(map(self.varies, node.children()))

    def var(self, var: Var) -> Interval | None:
        value = self.values.get(var)
        return self.loops.get(var) if value is None else self.interval(value)

    def sum(self, expr: Add) -> Interval | None:
        a, b = self.interval(expr.a), self.interval(expr.b)
        return None if a is None or b is None else (a[0] + b[0], a[1] + b[1])

    def difference(self, expr: Sub) -> Interval | None:
        a, b = self.interval(expr.a), self.interval(expr.b)
        return None if a is None or b is None else (a[0] - b[1], a[1] - b[0])

    def product(self, expr: Mul) -> Interval | None:
        a, b = expr.a, expr.b
        if self.varies(b):
            a, b = b, a
        interval = None if self.varies(b) else self.interval(a)
        if interval is None:
            return None
        ends = interval[0] * b, interval[1] * b
        if self.analyzer.can_prove(b >= 0):
            return ends
        return (ends[1], ends[0]) if self.analyzer.can_prove(b <= 0) else None

    def quotient(self, expr: FloorDiv) -> Interval | None:
        a = self.interval(expr.a)
        if a is None or self.varies(expr.b) or not self.analyzer.can_prove(expr.b > 0):
            return None
        return floordiv(a[0], expr.b), floordiv(a[1], expr.b)

    def remainder(self, expr: FloorMod) -> Interval | None:
        if self.varies(expr.b) or not self.analyzer.can_prove(expr.b > 0):
            return None
        a = self.interval(expr.a)
        if a is not None:
            first, last = floordiv(a[0], expr.b), floordiv(a[1], expr.b)
            if self.analyzer.can_prove_equal(first, last):
                return a[0] - first * expr.b, a[1] - first * expr.b
        return const(0, expr.dtype), expr.b - 1

    def extreme(self, expr: Min | Max) -> Interval | None:
        a, b = self.interval(expr.a), self.interval(expr.b)
        choose = minimum if isinstance(expr, Min) else maximum
        return None if a is None or b is None else (choose(a[0], b[0]), choose(a[1], b[1]))

    def cast(self, expr: Cast) -> Interval | None:
        if not (expr.dtype.is_integral and expr.value.dtype.is_integral):
            return None
        a = self.interval(expr.value)
        return None if a is None else (cast(expr.dtype, a[0]), cast(expr.dtype, a[1]))

    def select(self, expr: Select) -> Interval | None:
        return self.hull([self.interval(expr.true_value), self.interval(expr.false_value)])

    def ramp(self, expr: Ramp) -> Interval | None:
        a = self.interval(expr.base)
        if a is None or not isinstance(expr.stride, IntImm):
            return None
        reach = expr.stride * (expr.lanes - 1)
        return (a[0], a[1] + reach) if expr.stride.value >= 0 else (a[0] + reach, a[1])

    def broadcast(self, expr: Broadcast) -> Interval | None:
        return self.interval(expr.value)

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
            return Range(const(0, extent.dtype), extent)
        low, high = interval
        if low is high or structural_equal(low, high):
            return Range(low, const(1, low.dtype))
        extent = self.analyzer.simplify(high - low + 1)
        return Range(self.analyzer.simplify(cast(extent.dtype, low)), extent)


def _ignore(collector: _Collector, node: Prefetch) -> None:
    del collector, node


_HANDLERS: dict[type[Node], Any] = {
    For: _Collector.for_loop,
    LetStmt: _Collector.let,
    Let: _Collector.let,
    Allocate: _Collector.allocation,
    AllocateConst: _Collector.allocation,
    DeclBuffer: _Collector.declaration,
    BufferRealize: _Collector.declaration,
    BufferStore: _Collector.store,
    BufferLoad: _Collector.load,
    BlockRealize: _Collector.realize,
    Block: _Collector.block,
    Prefetch: _ignore,
    Var: _Collector.pointer,
}
_INTERVALS: dict[type[Node], Any] = {
    Var: _Collector.var,
    Add: _Collector.sum,
    Sub: _Collector.difference,
    Mul: _Collector.product,
    FloorDiv: _Collector.quotient,
    FloorMod: _Collector.remainder,
    Min: _Collector.extreme,
    Max: _Collector.extreme,
    Cast: _Collector.cast,
    Select: _Collector.select,
    Ramp: _Collector.ramp,
    Broadcast: _Collector.broadcast,
}
