"""Blocks become loops.

A block's iterators are replaced by what they are bound to, its predicate becomes a branch, views
made by `match_buffer` become accesses of what they view, and buffers that a block allocates get an
`Allocate`. A reduction's `init` goes in front of the reduction where that is legal (see
`hoist_init`) and under a condition into the loop where it is not. Loops of one iteration disappear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tilewright.error import LoweringError
from tilewright.ir.convert import cast
from tilewright.ir.expr import Call, Expr, IntImm, Ramp, Var, is_const_int
from tilewright.ir.op import Op
from tilewright.tir.buffer import Buffer, BufferLoad, MatchBufferRegion
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    AttrStmt,
    Block,
    BlockRealize,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
    nop,
    seq,
)
from tilewright.tir.transform.analysis.affine import expand
from tilewright.tir.transform.analysis.ranges import Ranges
from tilewright.tir.transform.building.allocations import (
    Alignment,
    aligned_strides,
    allocate,
    compact_strides,
    requested_alignments,
)
from tilewright.tir.transform.building.empty_reductions import initialisation_of
from tilewright.tir.transform.building.folding import FoldingRewriter
from tilewright.tir.transform.hoist_init import Frame, InitNest, plan_init, start_condition, wrap
from tilewright.tir.transform.imported_code import with_imported_code

_IF_THEN_ELSE = Op.get("tir.if_then_else")


def lower_blocks(func: PrimFunc) -> PrimFunc:
    """`func` without blocks.

    Raises:
        LoweringError: for a view whose shape or strides do not fit what it views, or for a storage
            alignment that cannot be had, or for a pragma that imports what is not text.
    """
    func = with_imported_code(func)
    return func.with_body(_BlockLowering(requested_alignments(func))(func.body))


class View(NamedTuple):
    """A buffer that is a part of another one."""

    source: Buffer
    offsets: tuple[Expr, ...]
    """Where it starts in `source`."""


class _BlockLowering(FoldingRewriter):
    def __init__(self, alignments: dict[Buffer, tuple[Alignment, ...]]) -> None:
        FoldingRewriter.__init__(self)
        self._alignments = alignments
        self._values: dict[Var, Expr] = {}
        self._views: dict[Buffer, View] = {}
        self._frames: list[Frame] = []
        self._ranges = Ranges()
        self._has_condition = False  # whether iterations of the present loop decide if an init runs

    def map_buffer(self, buffer: Buffer) -> Buffer:
        wishes = self._alignments.get(buffer)
        buffer = self.rebuilt(buffer)
        if wishes is None:
            return buffer
        return buffer.replace(strides=aligned_strides(buffer.shape, wishes))

    def Var(self, var: Var) -> Expr:
        return self._values.get(var, var)

    SizeVar = Var

    # --- loops and branches -----------------------------------------------------------------

    def For(self, stmt: For) -> Stmt:
        minimum, extent = expand(self(stmt.min)), expand(self(stmt.extent))
        if is_const_int(extent, 1) and stmt.kind is not ForKind.THREAD_BINDING:
            self._values[stmt.loop_var] = minimum
            return self(stmt.body)
        self._ranges.bind(stmt.loop_var, minimum, extent)
        loop = stmt
        if minimum is not stmt.min or extent is not stmt.extent:
            loop = stmt.replace(min=minimum, extent=extent)
        frame = Frame(stmt, loop=loop)
        outer, self._has_condition = self._has_condition, False
        body = self._inside(frame, stmt.body)
        if self._has_condition and not self._runs(extent):
            self._initialise_if_empty(frame, extent)
        self._has_condition |= outer
        return self._after_inits(frame, loop if body is loop.body else loop.replace(body=body))

    def _runs(self, extent: Expr) -> bool:
        return self._ranges.interval(extent)[0] > 0

    def _initialise_if_empty(self, frame: Frame, extent: Expr) -> None:
        """Let a loop without iterations initialise what its blocks reduce along it."""
        assert isinstance(frame.stmt, For)
        initialisation = initialisation_of(frame.stmt)
        if initialisation is not None:
            frame.inits.append(branch(extent <= 0, self(initialisation)))

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        condition = self._ranges.simplify_condition(self(stmt.condition))
        if isinstance(condition, IntImm):
            taken = stmt.then_case if condition.value else stmt.else_case
            return nop() if taken is None else self(taken)
        then_case = self._inside(Frame(stmt, condition=condition), stmt.then_case)
        else_case = None
        if stmt.else_case is not None:
            # The negation is not worth simplifying: a reduction in an else keeps its guard.
            else_case = self._inside(Frame(stmt), stmt.else_case)
        return stmt.replace(condition=condition, then_case=then_case, else_case=else_case)

    def LetStmt(self, stmt: LetStmt) -> Stmt:
        value = self(stmt.value)
        body = self._inside(Frame(stmt), stmt.body)
        if value is stmt.value and body is stmt.body:
            return stmt
        return stmt.replace(value=value, body=body)

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        mapped = stmt.map_children(self)
        # A block of several statements becomes a part of the sequence that it is in.
        return stmt if mapped is stmt else seq(*mapped.seq)

    def While(self, stmt: While) -> Stmt:
        condition = self(stmt.condition)
        return stmt.replace(condition=condition, body=self._inside(Frame(stmt), stmt.body))

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        self._frames.append(Frame(stmt))
        try:
            return FoldingRewriter.AttrStmt(self, stmt)
        finally:
            self._frames.pop()

    def _inside(self, frame: Frame, body: Stmt) -> Stmt:
        self._frames.append(frame)
        try:
            return self(body)
        finally:
            self._frames.pop()

    @staticmethod
    def _after_inits(frame: Frame, stmt: Stmt) -> Stmt:
        return seq(*frame.inits, stmt) if frame.inits else stmt

    # --- blocks -----------------------------------------------------------------------------

    def BlockRealize(self, realize: BlockRealize) -> Stmt:
        block = realize.block
        values = [self._ranges.simplify_index(self(value)) for value in realize.iter_values]
        predicate = self._ranges.simplify_condition(self(realize.predicate))
        if is_const_int(predicate, 0):
            return nop()
        plan = None
        if block.init is not None:
            plan = plan_init(
                realize, values, predicate, self._frames, self._ranges, self._views.keys()
            )
        if plan is not None:
            self._hoist(plan, block, values)
        self._bind(block, values)
        outer, self._frames = self._frames, []
        try:
            body = self(block.body)
            if block.init is not None and plan is None:
                start = self._ranges.simplify_condition(start_condition(block, values))
                body = seq(branch(start, self(block.init)), body)
                self._has_condition = True
        finally:
            self._frames = outer
        buffers = {self.buffer(b): self._alignments.get(b, ()) for b in block.alloc_buffers}
        return branch(predicate, allocate(body, buffers))

    def _bind(self, block: Block, values: Sequence[Expr]) -> None:
        for iter_var, value in zip(block.iter_vars, values, strict=True):
            self._values[iter_var.var] = value
        for match in block.match_buffers:
            self._add_view(match)

    def _hoist(self, plan: InitNest, block: Block, values: Sequence[Expr]) -> None:
        """Put the init nest in front of the reduction loop."""
        assert block.init is not None
        for loop in plan.loops:
            self._ranges.bind(loop.loop_var, loop.min, loop.extent)
        inside = _Substitution(plan.bindings)
        self._bind(block, [expand(inside(value)) for value in values])
        outer, self._frames = self._frames, []
        init = self(block.init)
        self._frames = outer
        condition = self._ranges.simplify_condition(inside(plan.condition))
        at_start = self._ranges.simplify_condition(inside(plan.at_start))
        self._has_condition |= not is_const_int(at_start, 1)
        plan.frame.inits.append(wrap(plan.loops, branch(condition, init)))

    # --- views ------------------------------------------------------------------------------

    def _add_view(self, match: MatchBufferRegion) -> None:
        view = match.buffer
        source, ranges = self.buffer(match.source.buffer), match.source.region
        offsets = tuple(self._ranges.simplify_index(self(r.min)) for r in ranges)
        extents = tuple(self(r.extent) for r in ranges)
        under = self._views.get(match.source.buffer)
        if under is not None:
            source, offsets = under.source, _shift(under.offsets, offsets)
        lead = len(extents) - len(view.shape)
        if lead < 0 or not all(is_const_int(extent, 1) for extent in extents[:lead]):
            raise LoweringError(
                f"match_buffer: {view.name} has {len(view.shape)} dimensions and cannot view a "
                f"region of {match.source.buffer.name} with {len(extents)}; only leading "
                "dimensions of extent 1 may be left out"
            )
        strides = source.strides or compact_strides(source.shape)
        start = source.elem_offset
        for offset, stride in zip(offsets, strides, strict=True):
            start = start + offset * stride
        self._views[view] = View(source, offsets)
        self._values[view.data] = source.data
        self._define(view, "shape", view.shape, extents[lead:])
        if view.strides:
            self._define(view, "strides", view.strides, strides[len(strides) - len(view.shape) :])
        if isinstance(view.elem_offset, Var):
            self._values[view.elem_offset] = expand(start)

    def _define(
        self, view: Buffer, what: str, pattern: Iterable[Expr], known: Iterable[Expr]
    ) -> None:
        """Bind the variables of `pattern`; its constants must be what is known."""
        for position, (expected, value) in enumerate(zip(pattern, known, strict=True)):
            if isinstance(expected, Var):
                self._values[expected] = value
            elif (
                isinstance(expected, IntImm)
                and isinstance(value, IntImm)
                and expected.value != value.value
            ):
                raise LoweringError(
                    f"match_buffer: {view.name}.{what}[{position}] is {expected.value}, but what "
                    f"it views has {value.value}"
                )

    def Call(self, call: Call) -> Expr:
        if call.op is not _IF_THEN_ELSE:
            return call.map_children(self)
        condition = self._ranges.simplify_condition(self(call.args[0]))
        if isinstance(condition, IntImm):
            return self(call.args[1 if condition.value else 2])
        args = (condition, *map(self, call.args[1:]))
        same = all(new is old for new, old in zip(args, call.args, strict=True))
        return call if same else call.replace(args=args)

    def BufferLoad(self, load: BufferLoad) -> Expr:
        place = self._place(load)
        if place is None:
            return load
        buffer, indices, predicate = place
        return load.replace(buffer=buffer, indices=indices, predicate=predicate)

    def BufferStore(self, store: BufferStore) -> Stmt:
        place, value = self._place(store), self(store.value)
        if place is None:
            return store if value is store.value else store.replace(value=value)
        buffer, indices, predicate = place
        return store.replace(buffer=buffer, indices=indices, predicate=predicate, value=value)

    def _place(
        self, access: BufferLoad | BufferStore
    ) -> tuple[Buffer, tuple[Expr, ...], Expr | None] | None:
        """What is really accessed, or None if nothing changes."""
        indices = tuple(self(index) for index in access.indices)
        predicate = None if access.predicate is None else self(access.predicate)
        view = self._views.get(access.buffer)
        if view is not None:
            return view.source, _shift(view.offsets, indices), predicate
        buffer = self.buffer(access.buffer)
        if (
            buffer is access.buffer
            and predicate is access.predicate
            and all(new is old for new, old in zip(indices, access.indices, strict=True))
        ):
            return None
        return buffer, tuple(map(self._ranges.simplify_index, indices)), predicate


class _Substitution(FoldingRewriter):
    """Replaces loop variables by expressions of the init nest."""

    def __init__(self, values: dict[Var, Expr]) -> None:
        FoldingRewriter.__init__(self)
        self._values = values

    def Var(self, var: Var) -> Expr:
        return self._values.get(var, var)


def _shift(offsets: Sequence[Expr], indices: Sequence[Expr]) -> tuple[Expr, ...]:
    """Indices into the source of a view that starts at `offsets`."""
    lead = len(offsets) - len(indices)
    moved = (_moved(i, o) for i, o in zip(indices, offsets[lead:], strict=True))
    return (*offsets[:lead], *moved)


def _moved(index: Expr, offset: Expr) -> Expr:
    if isinstance(index, Ramp):  # stays one, so that neighbours are seen to be neighbours
        base = expand(offset + index.base)
        return Ramp(base, cast(base.dtype, index.stride), index.lanes)
    return expand(offset + index)


def branch(condition: Expr, body: Stmt) -> Stmt:
    """`body` where `condition` holds."""
    if isinstance(condition, IntImm):
        return body if condition.value else nop()
    return IfThenElse(condition, body)
