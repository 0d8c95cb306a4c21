"""From a block that reduces back to a combiner and what is combined: the inverse of `te.block`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tilewright.arith import Analyzer
from tilewright.ir.convert import const
from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr, FloatImm, IntImm, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.te.block import combine
from tilewright.tir.analysis.expressions import identical
from tilewright.tir.analysis.reducer_laws import ReducerLaws, laws_of
from tilewright.tir.analysis.reduction import match_reduction
from tilewright.tir.analysis.update import operands_for
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import CommReducer
from tilewright.tir.stmt import Block, BufferStore, IfThenElse, LetStmt, SeqStmt, Stmt
from tilewright.tir.substitute import substitute


class ReadError(Exception):
    """Why a block is not one that `te.create_prim_func` makes."""


class BlockReduction(NamedTuple):
    """What a reduction block computes.

    Attributes:
        outputs: the buffers that it reduces into.
        indices: of the element of each.
        combiner: what combines two values.
        source: what is combined.
        condition: when an instance counts.
        init: what the elements start from; empty for the neutral element of the combiner.
    """

    outputs: list[Buffer]
    indices: tuple[Expr, ...]
    combiner: CommReducer
    source: tuple[Expr, ...]
    condition: Expr
    init: tuple[Expr, ...]


def read_reduction(block: Block) -> BlockReduction:
    """What a block with an initialisation computes.

    Raises:
        ReadError: if it is not of the form that `te.create_prim_func` makes.
    """
    assert block.init is not None
    first = stores_of(block.init)
    targets = tuple(BufferLoad(store.buffer, store.indices) for store in first)
    body, condition = block.body, const(True, BOOL)
    if isinstance(body, IfThenElse) and body.else_case is None:
        body, condition = body.then_case, body.condition
    values = _updates(body, targets)
    combiner, source = _combination(block, values, targets)
    combiner, init = _start(combiner, tuple(store.value for store in first))
    return BlockReduction(
        [store.buffer for store in first], first[0].indices, combiner, source, condition, init
    )


def stores_of(stmt: Stmt) -> list[BufferStore]:
    """The stores that a statement is a sequence of.

    Raises:
        ReadError: if it is anything else.
    """
    items = stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)
    stores = [item for item in items if isinstance(item, BufferStore) and item.predicate is None]
    if len(stores) < len(items):
        raise ReadError("it does more than to store elements")
    return stores


def _updates(body: Stmt, targets: Sequence[BufferLoad]) -> tuple[Expr, ...]:
    """The new values of the elements, in terms of the old ones."""
    names: dict[Var, Expr] = {}
    while isinstance(body, LetStmt):
        names[body.var] = body.value
        body = body.body
    stores = stores_of(body)
    updated = [BufferLoad(store.buffer, store.indices) for store in stores]
    if len(updated) != len(targets) or not all(map(identical, updated, targets)):
        raise ReadError("it does not update the elements that it initialises")
    return tuple(substitute(store.value, names) for store in stores)


# --- the combiner -----------------------------------------------------------------------------


def _combination(
    block: Block, values: tuple[Expr, ...], targets: tuple[BufferLoad, ...]
) -> tuple[CommReducer, tuple[Expr, ...]]:
    """The combiner, without a neutral element, and what is combined."""
    known = match_reduction(block)
    if known is not None:
        again = combine(known.combiner, targets, known.values)
        if all(map(identical, again, values)):
            return known.combiner, known.values
    for source in (() if known is None else known.values, _new_values(values, targets)):
        if len(source) == len(targets):
            lhs, rhs = operands_for("x", targets), operands_for("y", targets)
            abstract = _Abstraction((*targets, *source), (*lhs, *rhs))
            result = tuple(map(abstract, values))
            if not any(_is_element(node) for value in result for node in walk(value)):
                return CommReducer(lhs, rhs, result, ()), source
    raise ReadError("it is not clear which values it combines")


def _is_element(node: Node) -> bool:
    return isinstance(node, BufferLoad)


_CONSTANTS: Final = (IntImm, FloatImm)


def _new_values(values: Sequence[Expr], targets: Sequence[BufferLoad]) -> tuple[Expr, ...]:
    """The largest parts of the updates that do not depend on the old values: one for each.

    Of parts of one dtype, the first stands for the first value.
    """
    memory = {target.buffer.data for target in targets}
    found: list[Expr] = []

    def look(expr: Node) -> bool:
        """Whether an expression depends on old values; if not, it may be a new one."""
        below = [look(child) for child in expr.children()]
        if isinstance(expr, BufferLoad) and expr.buffer.data in memory:
            return True
        if any(below):
            parts = zip(expr.children(), below, strict=True)
            found.extend(p for p, is_old in parts if not is_old and isinstance(p, Expr))
        return any(below)

    for value in values:
        look(value)
    distinct: list[Expr] = []
    for part in found:
        if not isinstance(part, _CONSTANTS) and not any(identical(part, d) for d in distinct):
            distinct.append(part)
    if len(distinct) != len(targets):
        return ()
    ordered: list[Expr] = []
    for target in targets:
        fitting = (part for part in distinct if part.dtype is target.dtype and part not in ordered)
        part = next(fitting, None)
        if part is None:
            return ()
        ordered.append(part)
    return tuple(ordered)


class _Abstraction(Rewriter):
    """Replaces expressions by variables, the largest ones first."""

    def __init__(self, parts: Sequence[Expr], variables: Sequence[Var]) -> None:
        self._parts = list(zip(parts, variables, strict=True))

    def __call__(self, node: Any) -> Any:
        for part, variable in self._parts:
            if node.__class__ is part.__class__ and identical(node, part):
                return variable
        return node.map_children(self)


# --- what it starts from ----------------------------------------------------------------------


def _start(combiner: CommReducer, values: tuple[Expr, ...]) -> tuple[CommReducer, tuple[Expr, ...]]:
    """The combiner with a neutral element, and what replaces that at the start.

    Partial results start from the neutral element, so a start that may be used once only must not
    be taken for one.
    """
    laws = laws_of(combiner)
    neutral = _neutral(laws, combiner)
    if neutral is not None and all(map(identical, neutral, values)):
        return combiner.replace(identity_element=values), ()
    is_constant = all(isinstance(value, _CONSTANTS) for value in values)
    is_not_disproved = is_constant and neutral is None and not _is_disproved(combiner, values)
    if is_not_disproved or (is_constant and all(laws.absorbing)):
        return combiner.replace(identity_element=values), ()
    if neutral is None:
        raise ReadError("it is not known which element its reducer leaves as it is")
    return combiner.replace(identity_element=neutral), values


def _neutral(laws: ReducerLaws, combiner: CommReducer) -> tuple[Expr, ...] | None:
    """The element that changes nothing; None if none is known."""
    if not (laws.leaves_left and laws.leaves_right) or None in laws.neutral:
        return None
    pairs = zip(laws.neutral, combiner.lhs, strict=True)
    return tuple(const(value, var.dtype) for value, var in pairs)


_SAMPLES: Final = (0, 1, 2, 3)


def _is_disproved(combiner: CommReducer, values: tuple[Expr, ...]) -> bool:
    """Whether combining with constants changes some element of small numbers."""
    simplify = Analyzer().simplify
    for number in _SAMPLES:
        element = tuple(const(number, var.dtype) for var in combiner.rhs)
        for result, part in zip(combine(combiner, values, element), element, strict=True):
            found = simplify(result)
            if isinstance(found, _CONSTANTS) and not identical(found, part):
                return True
    return False
