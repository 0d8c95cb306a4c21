"""Loops that the schedule vectorises become vector statements.

The lanes of a loop are cut into pieces of the machine's vector width (and a rest in powers of two),
so that a loop of 48 iterations over float32 is three statements of 16 lanes. Thousands of lanes
become a loop over a few such pieces. Branches that depend on the lane become masks.

A reduction whose element is the same for all lanes combines them first (`tir.reduce_lanes`), which
rounds sums of floats differently than a loop; `accumulate_lanes` puts that off until the loops
around are done.

A loop that cannot run as lanes without changing the result (an iteration needs what an earlier one
stores, or the body calls something that has no vector form) runs as a plain loop, and so does a
loop whose extent is not known; `vectorize_inner_loops` takes care of the latter.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.ir import arithmetic
from tilewright.ir.convert import as_expr, const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import GE, GT, LE, LT, Call, Expr, IntImm, Var
from tilewright.ir.node import Node
from tilewright.ir.op import Op
from tilewright.ir.rewrite import NodeMethods, walk
from tilewright.tir.access import collect_accesses
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.vector import any_lane
from tilewright.tir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    seq,
)
from tilewright.tir.substitute import substitute, variables_of
from tilewright.tir.transform.analysis.affine import difference, stride_along
from tilewright.tir.transform.analysis.ranges import conjuncts, without_likely
from tilewright.tir.transform.analysis.vectorization import (
    Piece,
    carried_dependence,
    overlapping_lanes,
    pieces_of,
)
from tilewright.tir.transform.branches import is_simple
from tilewright.tir.transform.building.accumulators import (
    Reduction,
    contribution,
    lane_reductions,
    updated,
)
from tilewright.tir.transform.building.allocations import element_count
from tilewright.tir.transform.building.folding import Iteration
from tilewright.tir.transform.building.lanes import LaneRewriter, NotVectorizable, broadcast
from tilewright.tir.transform.building.statements import StatementRewriter

DEFAULT_VECTOR_BITS = 512

MOST_VECTORS = 64
"""A loop of more vectors than that stays a loop, over groups of them."""

GROUP = 8
"""Vectors of such a group: as many as hide the cost of the loop."""

_IF = Op.get("tir.if_then_else")


def vectorize(func: PrimFunc, *, vector_bits: int = DEFAULT_VECTOR_BITS) -> PrimFunc:
    """`func` without loops of kind VECTORIZED.

    Args:
        func: a function over flat buffers.
        vector_bits: width of the target's vector registers.
    """
    return func.with_body(_Vectorize(vector_bits)(func.body))


def serialize_vectorized_loops(func: PrimFunc) -> PrimFunc:
    """`func` with plain loops instead of those of kind VECTORIZED."""
    return func.with_body(_Serialize()(func.body))


class _Serialize(StatementRewriter):
    def For(self, stmt: For) -> Stmt:
        loop = stmt.map_children(self)
        return loop.replace(kind=ForKind.SERIAL) if loop.kind is ForKind.VECTORIZED else loop


class _Vectorize(StatementRewriter):
    def __init__(self, vector_bits: int) -> None:
        self._vector_bits = vector_bits

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        return flattened(stmt.map_children(self))

    def For(self, stmt: For) -> Stmt:
        loop = stmt.map_children(self)
        if loop.kind is not ForKind.VECTORIZED:
            return loop
        serial = loop.replace(kind=ForKind.SERIAL)
        if not isinstance(loop.extent, IntImm):
            return serial
        lanes = loop.extent.value
        if lanes <= 1:
            return serial
        width = overlapping_lanes(loop, self._vector_bits)
        try:
            if lanes > MOST_VECTORS * width:
                return _groups_of_vectors(loop, lanes, width)
            return as_lanes(loop, lanes, width)
        except NotVectorizable:
            return serial


def _groups_of_vectors(loop: For, lanes: int, width: int) -> Stmt:
    """A loop over groups of vectors, and the rest, for more vectors than should be written out."""
    size = GROUP * width
    count = lanes // size
    group = Var(f"{loop.loop_var.name}_group", loop.loop_var.dtype)
    inside = loop.replace(min=as_expr(loop.min + group * size))
    extent = const(count, group.dtype)
    zero = const(0, group.dtype)
    groups = For(group, zero, extent, ForKind.SERIAL, as_lanes(inside, size, width))
    if count * size == lanes:
        return groups
    rest = loop.replace(min=as_expr(loop.min + count * size))
    return seq(groups, as_lanes(rest, lanes - count * size, width))


def branch(condition: Expr, body: Stmt) -> Stmt | None:
    """`body` where `condition` holds; None if it never does."""
    if isinstance(condition, IntImm):
        return body if condition.value else None
    return IfThenElse(condition, body)


def flattened(stmt: SeqStmt) -> Stmt:
    """`stmt` without sequences inside of it."""
    if any(isinstance(part, SeqStmt) for part in stmt.seq):
        return seq(*stmt.seq)
    return stmt


def as_lanes(loop: For, lanes: int, width: int) -> Stmt:
    """The body of `loop` for `lanes` iterations at once, in pieces of at most `width` lanes.

    Raises:
        NotVectorizable: if the iterations depend on each other, or for a body without vector form.
    """
    body = collect_accesses(loop.body)
    reductions = lane_reductions(loop, body)
    updates = {reduction.store.buffer.data for reduction in reductions.values()}
    rest = [access for access in body.accesses if access.memory not in updates]
    blocked = carried_dependence(loop.loop_var, body._replace(accesses=rest), lanes)
    if blocked is not None:
        name = blocked[0].memory.name
        raise NotVectorizable(f"iterations depend on each other through {name}")
    pieces, private = pieces_of(loop.min, lanes, width), frozenset(body.allocated)
    return LaneStatements(loop.loop_var, pieces, private, reductions).statement(loop.body)


class LaneStatements(NodeMethods):
    """Rewrites the statements of one iteration to those of several pieces of iterations."""

    def __init__(
        self,
        var: Var,
        pieces: tuple[Piece, ...],
        private: frozenset[Var],
        reductions: Mapping[BufferStore, Reduction] | None = None,
    ) -> None:
        if private and len(pieces) > 1:
            raise NotVectorizable("it allocates memory, and has more lanes than a vector")
        self._var, self._private = var, private
        self._reductions = reductions or {}
        self._pieces: tuple[Piece, ...] = pieces
        self._lets: list[dict[Var, Expr]] = [{} for _ in pieces]
        self._varying = {var}
        self._conditions: list[Expr] = []

    def statement(self, stmt: Stmt) -> Stmt:
        """`stmt` for all pieces."""
        hook = self._hooks.get(stmt.__class__)
        if hook is None:
            raise NotVectorizable(f"a {type(stmt).__name__} has no vector form")
        return hook(self, stmt)

    def _depends(self, node: Node) -> bool:
        """Whether an expression has another value in each lane, or may have."""
        return any(
            part in self._varying
            or (isinstance(part, BufferLoad) and part.buffer.data in self._private)
            for part in walk(node)
        )

    def _lanes(self, number: int, *, some: bool = False) -> LaneRewriter:
        """The lanes of a piece; with `some`, what is made of them runs only if one is on."""
        piece = self._pieces[number]
        lanes = LaneRewriter(self._var, piece.base, piece.lanes, self._lets[number], self._private)
        for condition in self._conditions:
            lanes = lanes.under(lanes(condition), some=some)
        return lanes

    def _some_lane(self, piece: Piece) -> Expr | None:
        """The scalar condition that any lane of `piece` is on, where that is one comparison."""
        if len(self._conditions) != 1:
            return None
        condition = without_likely(self._conditions[0])
        if not isinstance(condition, (LT, LE, GT, GE)) or not condition.a.dtype.is_index:
            return None
        if any(isinstance(node, (BufferLoad, Call)) for node in walk(condition)):
            return None
        if not self._varying.isdisjoint({*variables_of(condition)} - {self._var}):
            return None
        stride = stride_along(difference(condition.a, condition.b), self._var)
        if stride is None:
            return None
        grows = (stride > 0) is isinstance(condition, (GT, GE))
        lane = piece.base + (piece.lanes - 1) if grows else piece.base
        return Iteration({self._var: lane})(condition)

    def SeqStmt(self, stmt: SeqStmt) -> Stmt:
        return seq(*map(self.statement, stmt.seq))

    def BufferStore(self, store: BufferStore) -> Stmt:
        stores: list[Stmt | None] = []
        for number, piece in enumerate(self._pieces):
            if piece.lanes == 1:
                stores.append(self._scalar_store(store, number))
            else:
                some = self._some_lane(piece)
                lanes = self._lanes(number, some=some is not None)
                reduction = self._reductions.get(store)
                if reduction is None:
                    result = self._store(store, lanes)
                else:
                    result = updated(reduction, contribution(reduction, lanes))
                    if lanes.mask is not None and some is None:
                        some = any_lane(lanes.mask)
                stores.append(result if some is None else branch(some, result))
        return seq(*stores)

    def _scalar(self, number: int) -> Iteration:
        return Iteration({self._var: self._pieces[number].base, **self._lets[number]})

    def _scalar_store(self, store: BufferStore, number: int) -> Stmt:
        iteration = self._scalar(number)
        result = iteration(store)
        for condition in reversed(self._conditions):
            result = IfThenElse(iteration(condition), result)
        return result

    def _scalar_value(self, value: Expr, number: int) -> Expr:
        """The value in a piece of one iteration; it is not computed where conditions fail."""
        iteration = self._scalar(number)
        result = iteration(value)
        for condition in reversed(self._conditions):
            other = const(0, value.dtype)
            result = Call(value.dtype, _IF, (iteration(condition), result, other))
        return result

    def _store(self, store: BufferStore, lanes: LaneRewriter) -> Stmt:
        if store.predicate is not None:
            raise NotVectorizable("it stores vectors already")
        if store.buffer.dtype.lanes > 1:
            raise NotVectorizable(f"{store.buffer.name} has vectors as elements")
        index = lanes.index(store.buffer.data, store.indices[0])
        value = lanes(store.value)
        if index.dtype.lanes == 1:
            if value.dtype.lanes > 1 or lanes.mask is not None:
                raise NotVectorizable(f"all iterations store to one element of {store.buffer.name}")
            return store.replace(value=value, indices=(index,))
        value = broadcast(value, index.dtype.lanes)
        return store.replace(value=value, indices=(index,), predicate=lanes.mask)

    def IfThenElse(self, stmt: IfThenElse) -> Stmt:
        if not self._depends(stmt.condition):
            other = None if stmt.else_case is None else self.statement(stmt.else_case)
            return stmt.replace(then_case=self.statement(stmt.then_case), else_case=other)
        fixed: Expr = const(True, BOOL)
        varying: Expr = const(True, BOOL)
        for part in conjuncts(stmt.condition):
            # What comes after a condition on the lane may be protected by it.
            protected = not isinstance(varying, IntImm) and not is_simple(part)
            if self._depends(part) or protected or stmt.else_case is not None:
                varying = arithmetic.logical_and(varying, without_likely(part))
            else:
                # Stays a branch: it may protect what does not depend on the lane.
                fixed = arithmetic.logical_and(fixed, part)
        result = self._where(varying, stmt.then_case)
        if stmt.else_case is not None:
            result = seq(result, self._where(arithmetic.logical_not(varying), stmt.else_case))
        return result if isinstance(fixed, IntImm) else IfThenElse(fixed, result)

    def _where(self, condition: Expr, stmt: Stmt) -> Stmt:
        self._conditions.append(condition)
        try:
            return self.statement(stmt)
        finally:
            self._conditions.pop()

    def LetStmt(self, stmt: LetStmt) -> Stmt:
        if not self._depends(stmt.value):
            return stmt.replace(body=self.statement(stmt.body))
        values = []
        for number, piece in enumerate(self._pieces):
            if piece.lanes == 1:
                value = self._scalar_value(stmt.value, number)
            else:
                value = self._lanes(number).vector(stmt.value)
            var = Var(stmt.var.name, value.dtype)
            values.append((var, value))
        for number, (var, _) in enumerate(values):
            self._lets[number][stmt.var] = var
        self._varying.add(stmt.var)
        body = self.statement(stmt.body)
        for var, value in reversed(values):
            body = LetStmt(var, value, body)
        return body

    def For(self, stmt: For) -> Stmt:
        if not stmt.kind.is_in_order:
            raise NotVectorizable(f"it has a loop of kind {stmt.kind.name.lower()} inside")
        if self._depends(stmt.min) or self._depends(stmt.extent):
            raise NotVectorizable("the extent of an inner loop depends on the loop variable")
        return stmt.replace(body=self.statement(stmt.body))

    def Allocate(self, stmt: Allocate) -> Stmt:
        count = element_count(stmt.extents)
        if self._depends(count):
            raise NotVectorizable("the size of an allocation depends on the loop variable")
        lanes = self._pieces[0].lanes
        body = self.statement(stmt.body)
        accesses = (node for node in walk(body) if isinstance(node, (BufferLoad, BufferStore)))
        buffers = {a.buffer for a in accesses if a.buffer.data is stmt.buffer_var}
        grown = {b: b.replace(shape=(as_expr(b.shape[0] * lanes),)) for b in buffers}
        extents = (as_expr(count * lanes),)
        return stmt.replace(extents=extents, body=substitute(body, {}, grown))

    def AttrStmt(self, stmt: AttrStmt) -> Stmt:
        if self._depends(stmt.value):
            raise NotVectorizable(f"attribute {stmt.attr_key} depends on the loop variable")
        return stmt.replace(body=self.statement(stmt.body))

    def Evaluate(self, stmt: Evaluate) -> Stmt:
        value = self._lanes(0)(stmt.value)
        if value is not stmt.value:
            raise NotVectorizable("it evaluates something for its effect")
        return stmt
