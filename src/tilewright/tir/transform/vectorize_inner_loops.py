"""Innermost loops that can run as lanes do, without being told.

A serial or parallel innermost loop becomes a loop over groups of vectors, single vectors, and a
scalar loop for the rest, if

* it stores next to each other what its iterations compute, and loads next to each other or the
  same for all (a load from anywhere is accepted where the loop computes something expensive),
* no iteration needs what another one stores, as far as the indices and `tir.noalias` tell,
* or it reduces into one element, with an operator whose operands may be regrouped: integer sums and
  products, minimum and maximum. Sums of floats depend on the order; they are regrouped only if the
  function has the attribute ``tir.reassociate``.

The accumulators of a reduction are combined in a tree, after the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.ir.arithmetic import logical_and, logical_not, maximum
from tilewright.ir.convert import EMPTY, as_expr, const
from tilewright.ir.expr import (
    Call,
    Expr,
    IntImm,
    Max,
    Min,
    Var,
    const_int_value,
)
from tilewright.ir.rewrite import walk
from tilewright.tir.access import Access, AccessSummary, collect_accesses
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.parallel_schedule import with_chunks_of
from tilewright.tir.stmt import (
    Allocate,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    Stmt,
    While,
    seq,
)
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.affine import affine, stride_along
from tilewright.tir.transform.analysis.memory_uses import Aliases
from tilewright.tir.transform.analysis.ranges import conjuncts
from tilewright.tir.transform.analysis.vectorization import (
    Piece,
    carried_dependence,
    native_lanes,
    pieces_of,
)
from tilewright.tir.transform.building.accumulators import (
    Accumulator,
    Reduction,
    as_reduction,
    contribution,
)
from tilewright.tir.transform.building.lanes import NotVectorizable
from tilewright.tir.transform.building.statements import StatementRewriter, statements
from tilewright.tir.transform.machine import vectors_per_iteration
from tilewright.tir.transform.vectorize import LaneStatements, flattened

MASKED_BITS = 256
"""Narrower vectors have no masked accesses worth using."""

LEAST_LANES = 2
"""Iterations that are left over from which on they are the first lanes of a vector."""


def vectorize_inner_loops(
    func: PrimFunc, *, vector_bits: int = 512, reassociate: bool | None = None
) -> PrimFunc:
    """`func` with vectors in its innermost loops.

    Args:
        func: a function over flat buffers.
        vector_bits: width of the target's vector registers.
        reassociate: whether sums of floats may be regrouped; by default the function's attribute
            ``tir.reassociate`` says so.
    """
    if reassociate is None:
        attribute = func.attrs.get("tir.reassociate")
        reassociate = attribute is not None and bool(int(attribute))
    return func.with_body(_InnerLoops(Aliases(func), vector_bits, reassociate)(func.body))


class _InnerLoops(StatementRewriter):
    def __init__(self, aliases: Aliases, vector_bits: int, reassociate: bool) -> None:
        self._aliases = aliases
        self._vector_bits = vector_bits
        self._reassociate = reassociate

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        return flattened(stmt.map_children(self))

    def For(self, stmt: For) -> Stmt:
        loop = stmt.map_children(self)
        if loop.kind not in (ForKind.SERIAL, ForKind.PARALLEL):
            return loop
        for inner in statements(loop.body):
            if isinstance(inner, (For, While, Allocate)):
                return loop
            if isinstance(inner, BufferStore) and inner.value.dtype.lanes > 1:
                return loop
        try:
            return self._vectorized(loop)
        except NotVectorizable:
            return loop

    def _vectorized(self, loop: For) -> Stmt:
        width = native_lanes(loop, self._vector_bits)
        extent = const_int_value(loop.extent)
        if width == 1 or (extent is not None and extent < min(width, 4)):
            raise NotVectorizable("it is too short")
        body = collect_accesses(loop.body)
        reductions = self._reductions(loop, body)
        if reductions and loop.kind is ForKind.PARALLEL:
            raise NotVectorizable("threads would update one accumulator")
        self._check_memory(body)
        heavy = any(isinstance(node, Call) for node in walk(loop.body))
        check_access_pattern(loop, reductions, heavy, self._vector_bits)
        if reductions and extent is not None and extent < width:
            raise NotVectorizable("it is too short")
        group = vectors_per_iteration(extent, width, heavy, len(reductions))
        rest = [a for a in body.accesses if not _is_part_of(a, reductions)]
        lanes = width * group if extent is None else min(extent, width * group)
        if carried_dependence(loop.loop_var, body._replace(accesses=rest), lanes) is not None:
            raise NotVectorizable("iterations depend on each other")
        return Strips(loop, reductions, width, group).statement()

    def _reductions(self, loop: For, body: AccessSummary) -> list[Reduction]:
        """The reductions among the statements of the loop."""
        found = []
        for node, conditions in _guarded_stores(loop.body, ()):
            if _stride(node.indices[0], loop.loop_var) == 0:
                reduction = as_reduction(node, _guard(conditions, loop, body))
                uses = sum(access.memory is node.buffer.data for access in body.accesses)
                changes = not body.bound.isdisjoint(variables_of(node.indices[0]))
                if reduction is None or changes or uses != 2 or not self._regroupable(reduction):
                    raise NotVectorizable("all iterations store to one element")
                found.append(reduction)
        return found

    def _regroupable(self, reduction: Reduction) -> bool:
        if reduction.kind in (Min, Max) or reduction.store.buffer.dtype.is_integral:
            return True
        return self._reassociate

    def _check_memory(self, body: AccessSummary) -> None:
        written = {access.memory for access in body.accesses if access.is_write}
        accessed = {access.memory for access in body.accesses}
        for data in written:
            if any(o is not data and self._aliases.may_overlap(data, o) for o in accessed):
                raise NotVectorizable(f"{data.name} may overlap other memory of the loop")


def _is_part_of(access: Access, reductions: Sequence[Reduction]) -> bool:
    return any(access.memory is r.store.buffer.data for r in reductions)


def _guarded_stores(
    stmt: Stmt, conditions: tuple[Expr, ...]
) -> Iterator[tuple[BufferStore, tuple[Expr, ...]]]:
    """The stores below `stmt`, each with the conditions under which it happens."""
    if isinstance(stmt, BufferStore):
        yield stmt, conditions
    elif isinstance(stmt, IfThenElse):
        yield from _guarded_stores(stmt.then_case, (*conditions, *conjuncts(stmt.condition)))
        if stmt.else_case is not None:
            yield from _guarded_stores(stmt.else_case, (*conditions, logical_not(stmt.condition)))
    else:
        for child in stmt.children():
            if isinstance(child, Stmt):
                yield from _guarded_stores(child, conditions)


def _guard(conditions: Sequence[Expr], loop: For, body: AccessSummary) -> Expr | None:
    """The conditions that are the same in all iterations of `loop`, which can be asked once."""
    written = {access.memory for access in body.accesses if access.is_write}
    guard: Expr | None = None
    for condition in conditions:
        variables = {*variables_of(condition)}
        if loop.loop_var in variables:
            continue
        loads = (node for node in walk(condition) if isinstance(node, BufferLoad))
        if not variables.isdisjoint(body.bound) or any(n.buffer.data in written for n in loads):
            raise NotVectorizable("a condition of a reduction changes in the loop")
        guard = condition if guard is None else logical_and(guard, condition)
    return guard


def _stride(index: Expr, var: Var) -> int | None:
    """By how much the index grows per iteration, if that is a constant."""
    return stride_along(affine(index), var) if index.dtype.lanes == 1 else None


def check_access_pattern(
    loop: For, reductions: Sequence[Reduction], heavy: bool, vector_bits: int
) -> None:
    """Refuse loops that vectors would not make faster.

    Raises:
        NotVectorizable: with the reason.
    """
    scattered = 0
    for node in walk(loop.body):
        if isinstance(node, (BufferLoad, BufferStore)):
            stride = _stride(node.indices[0], loop.loop_var)
            if isinstance(node, BufferStore):
                if stride != 1 and not any(r.store is node for r in reductions):
                    raise NotVectorizable(f"stores to {node.buffer.name} are not neighbours")
            elif stride not in (0, 1):
                scattered += 1
        elif isinstance(node, IfThenElse) and vector_bits < MASKED_BITS:
            raise NotVectorizable("it needs masks")
    if scattered > (1 if heavy else 0):
        raise NotVectorizable("loads are not neighbours")


class Strips:
    """A loop cut into strips that run as vectors.

    Threads share the strips of a parallel loop; what is left over is too little for them.
    """

    def __init__(self, loop: For, reductions: Sequence[Reduction], width: int, group: int) -> None:
        self._loop, self._width, self._group = loop, width, group
        self._rest = loop.replace(kind=ForKind.SERIAL, annotations=EMPTY)
        self._accumulators = [Accumulator(r, width, group) for r in reductions]

    def statement(self) -> Stmt:
        """The whole loop."""
        loop, width = self._loop, self._width
        step = width * self._group
        extent = loop.extent
        parts: list[Stmt | None] = [a.start() for a in self._accumulators]
        if isinstance(extent, IntImm):
            groups, left = divmod(extent.value, step)
            parts.append(self._strip(loop, const(groups, extent.dtype), loop.min, self._group))
            start = as_expr(loop.min + groups * step)
            parts += self._constant_rest(start, left)
        else:
            # Of a loop that does not run, no rest may be left: -1 % 16 is 15.
            extent = maximum(extent, const(0, extent.dtype))
            parts.append(self._strip(loop, extent // step, loop.min, self._group))
            if self._group > 1:
                start = as_expr(loop.min + extent // step * step)
                parts.append(self._strip(self._rest, extent % step // width, start, 1))
            parts += self._combined()
            start = as_expr(loop.min + extent // width * width)
            parts.append(self._rest.replace(min=start, extent=as_expr(extent % width)))
        body = seq(*parts)
        for accumulator in reversed(self._accumulators):
            body = accumulator.allocate(body)
        return body

    def _constant_rest(self, start: Expr, left: int) -> list[Stmt]:
        """The last `left` iterations, fewer than a group."""
        if not self._accumulators:
            return [self._pieces(pieces_of(start, left, self._width))] if left else []
        vectors, left = divmod(left, self._width)
        parts = []
        if vectors:
            parts.append(self._pieces(pieces_of(start, vectors * self._width, self._width)))
        begin = as_expr(start + vectors * self._width)
        if left >= LEAST_LANES:
            parts.append(self._first_lanes(begin, left))
            return [*parts, *self._combined()]
        parts += self._combined()
        if left:
            parts.append(self._rest.replace(min=begin, extent=const(left, start.dtype)))
        return parts

    def _first_lanes(self, begin: Expr, left: int) -> Stmt:
        """`left` iterations in the first lanes of one vector."""
        piece = Piece(begin, self._width)
        limit = as_expr(begin + left)
        return _Reducing(self._loop.loop_var, (piece,), self._accumulators, limit).statement(
            self._loop.body
        )

    def _combined(self) -> list[Stmt]:
        return [accumulator.finish() for accumulator in self._accumulators]

    def _strip(self, loop: For, count: Expr, start: Expr, group: int) -> Stmt | None:
        """A loop like `loop` of `count` iterations of `group` vectors each."""
        count = as_expr(count)
        step = self._width * group
        if isinstance(count, IntImm) and count.value <= 1:
            if not count.value:
                return None
            return self._pieces(pieces_of(start, step, self._width))
        var = loop.loop_var
        strip = Var(f"{var.name}_v", var.dtype)
        base = as_expr(start + strip * step)
        body = self._pieces(pieces_of(base, step, self._width))
        loop = with_chunks_of(loop, step) if loop.kind is ForKind.PARALLEL else loop
        return loop.replace(loop_var=strip, min=const(0, var.dtype), extent=count, body=body)

    def _pieces(self, pieces: tuple[Piece, ...]) -> Stmt:
        statements = _Reducing(self._loop.loop_var, pieces, self._accumulators)
        return statements.statement(self._loop.body)


class _Reducing(LaneStatements):
    """Statements of several iterations, in which reductions go to accumulators."""

    def __init__(
        self,
        var: Var,
        pieces: tuple[Piece, ...],
        accumulators: Sequence[Accumulator],
        limit: Expr | None = None,
    ) -> None:
        LaneStatements.__init__(self, var, pieces, frozenset())
        self._accumulators = accumulators
        if limit is not None:
            self._conditions.append(var < limit)
        self._own_conditions = len(self._conditions)

    def BufferStore(self, store: BufferStore) -> Stmt:
        for accumulator in self._accumulators:
            if accumulator.reduction.store is store:
                return seq(*(self._reduce(accumulator, i) for i in range(len(self._pieces))))
        return LaneStatements.BufferStore(self, store)

    def _reduce(self, accumulator: Accumulator, number: int) -> Stmt:
        if len(self._conditions) > self._own_conditions:
            raise NotVectorizable("a reduction under a condition")
        return accumulator.update(number, contribution(accumulator.reduction, self._lanes(number)))
