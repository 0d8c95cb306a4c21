"""Which boxes of which buffers a block reads and writes, inferred from its body.

An index is evaluated to an interval whose ends are expressions over what is defined outside of
the block's body: interval arithmetic eliminates the loops inside of the block. Several accesses of
one buffer give the smallest box around all of them, a whole dimension where two ends cannot be
ordered or an index depends on data.
"""

from __future__ import annotations

from tilewright.arith import Analyzer
from tilewright.arith.interval import EVERYTHING, IntervalEvaluator, IntervalSet, constant_range
from tilewright.arith.linear import constant_difference
from tilewright.error import DiagnosticError
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import PointerType
from tilewright.ir.expr import Expr, IntImm, Let, Var
from tilewright.ir.node import Node
from tilewright.ir.structural import structural_equal
from tilewright.tir.access import Access, Definition, Surroundings, collect_accesses
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import Block, BlockRealize, For, LetStmt
from tilewright.tir.substitute import substitute, variables_of

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
    found = _Boxes(block)
    writes, reads = found.regions(found.written), found.regions(found.read)
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


class _Boxes:
    """The boxes that a block accesses.

    Attributes:
        read: what is read of each buffer.
        written: what is written.
    """

    def __init__(self, block: Block) -> None:
        self.read: dict[Buffer, list[Box]] = {}
        self.written: dict[Buffer, list[Box]] = {}
        self.loops: dict[Var, IntervalSet] = {}
        self.values: dict[Var, Expr] = {}
        self.analyzer = Analyzer()
        for iter_var in block.iter_vars:
            if iter_var.dom is not None:
                self.analyzer.bind(iter_var.var, iter_var.dom)
        self.evaluator: IntervalEvaluator | None = None
        """Knows the loops so far."""
        self._known: dict[Var, Definition] = {}
        summary = collect_accesses(block)
        self.views = summary.views
        self.inside = summary.allocated | {view.data for view in self.views}
        """Pointers to memory that lives inside of the block, or that is told by views."""
        self.inside.update(var for var in summary.bound if var.dtype.is_handle)
        for use in summary.pointers:
            self._check_pointer(use.pointer)
        for access in summary.accesses:
            self._learn(access.around)
            self._add(access)

    def _check_pointer(self, pointer: Var) -> None:
        if isinstance(pointer.type_annotation, PointerType) and pointer not in self.inside:
            raise DiagnosticError(
                f"what the block reads and writes cannot be inferred, because it uses the pointer "
                f"`{pointer.name}`: write T.reads(...) and T.writes(...)"
            )

    def _learn(self, around: Surroundings) -> None:
        """Note the values of variables that are defined around."""
        for node in around.definitions:
            if isinstance(node, For) and self._is_new(node.loop_var, node):
                values = self._range(node.min, node.extent)
                self.loops[node.loop_var] = EVERYTHING if values is None else IntervalSet(*values)
                self.evaluator = None
            elif isinstance(node, (LetStmt, Let)) and self._is_new(node.var, node):
                self.values[node.var] = substitute(node.value, self.values)

    def _is_new(self, var: Var, node: Definition) -> bool:
        known, self._known[var] = self._known.get(var), node
        return known is not node

    def _add(self, access: Access) -> None:
        view, buffer = self.views.get(access.buffer), access.buffer
        if view is not None:
            buffer, box = view.buffer, tuple(self._range(r.min, r.extent) for r in view.region)
        elif access.extents is not None:
            box = tuple(map(self._range, access.indices, access.extents))
        else:
            box = tuple(map(self.interval, access.indices))
        if buffer.data in self.inside:
            return
        if access.is_write:
            self.written.setdefault(buffer, []).append(box)
        if not access.is_write or _begins_outside(access):
            self.read.setdefault(buffer, []).append(box)

    # --- intervals --------------------------------------------------------------------------

    def _range(self, low: Expr, extent: Expr) -> Interval | None:
        known = constant_range(low, extent)
        if known is not None:
            return known  # type: ignore[return-value]
        first = self.interval(low)
        if isinstance(extent, IntImm) and extent.value == 1:
            return first
        size = self.interval(extent)
        return None if first is None or size is None else (first[0], first[1] + size[1] - 1)

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


def _begins_outside(access: Access) -> bool:
    """Whether a block goes on with a reduction over more than the loops here.

    It reads what it updates, as it may not begin here.
    """
    realize = access.node
    if not isinstance(realize, BlockRealize):
        return access.is_atomic
    inside = {loop.loop_var for loop in access.around.loops}
    return realize.block.init is not None and any(
        iter_var.iter_type is IterType.COMM_REDUCE
        and any(var not in inside for var in variables_of(value))
        for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=False)
    )
