"""Reductions: blocks that combine a value into an element by a commutative, associative operator.

The forms that are recognised, where `f` reads nothing that the block writes::

    C[v] = C[v] + f                     # also *, min, max, and, or, &, |, ^, and C[v] - f
    if condition: C[v] = C[v] + f       # where only some instances count
    C[v] = C[v] + f; D[v] = T.max(D[v], g)

    best = T.Select(V[v] >= g, I[v], f)     # the arguments of maxima and minima
    most = T.Select(V[v] >= g, V[v], g)     # (or T.max(V[v], g))
    I[v] = best
    V[v] = most
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.ir.expr import (
    And,
    Call,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Or,
    Select,
    Var,
)
from tilewright.ir.node import Node
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.argument import match_argument
from tilewright.tir.analysis.identical import identical
from tilewright.tir.analysis.update import (
    IDEMPOTENT,
    Match,
    Update,
    apply_operator,
    match_update,
    neutral_element,
    operands_for,
)
from tilewright.tir.buffer import Buffer, BufferLoad
from tilewright.tir.expr import CommReducer
from tilewright.tir.stmt import Block, BufferStore, IfThenElse, LetStmt, SeqStmt, Stmt
from tilewright.tir.substitute import substitute


@dataclass(frozen=True, eq=False)
class Reduction:
    """What a reduction block does in one instance: ``targets = combine(targets, values)``.

    Attributes:
        combiner: the operator; its `identity_element` is neutral.
        targets: the element of each buffer that is updated.
        values: what is combined into them.
        condition: when this happens; None for always.
        keeps_first: whether equal keys leave the value that came first (the argument of a maximum),
            so that another order may choose another one of several equally good values.
    """

    combiner: CommReducer
    targets: tuple[BufferLoad, ...]
    values: tuple[Expr, ...]
    condition: Expr | None
    keeps_first: bool

    @property
    def is_idempotent(self) -> bool:
        """Whether combining a value twice is the same as once."""
        return all(
            isinstance(result, (Min, Max, And, Or, Select))
            or (isinstance(result, Call) and getattr(result.op, "name", "") in IDEMPOTENT)
            for result in self.combiner.result
        )

    def starts_neutral(self, block: Block) -> bool:
        """Whether `init` sets every target to a value that may be combined in any number of times.

        That is the neutral element, and for maxima, minima and the like any value.
        """
        stores = None if block.init is None else _stores(block.init)
        if stores is None or len(stores) != len(self.targets):
            return False
        for target, neutral in zip(self.targets, self.combiner.identity_element, strict=True):
            store = next((s for s in stores if s.buffer is target.buffer), None)
            if (
                store is None
                or not identical(BufferLoad(store.buffer, store.indices), target)
                or not (self.is_idempotent or _equal_constants(store.value, neutral))
            ):
                return False
        return True


def match_reduction(block: Block) -> Reduction | None:
    """The reduction that the body of `block` is, or None."""
    body, condition = block.body, None
    if isinstance(body, IfThenElse) and body.else_case is None:
        body, condition = body.then_case, body.condition
    names: dict[Var, Expr] = {}
    while isinstance(body, LetStmt):
        names[body.var] = body.value
        body = body.body
    stores = _stores(body)
    if not stores or any(store.predicate is not None for store in stores):
        return None
    buffers = [store.buffer for store in stores]
    if len({id(buffer.data) for buffer in buffers}) != len(buffers):
        return None
    targets = tuple(BufferLoad(store.buffer, store.indices) for store in stores)
    outside = [item for t in targets for item in t.indices]
    outside += [] if condition is None else [condition]
    if any(_touches(_inlined(expr, names), buffers) for expr in outside):
        return None
    if any(_touches(store.value, buffers[:n]) for n, store in enumerate(stores)):
        return None  # a store changes what a later one reads
    values = [_inlined(store.value, names) for store in stores]
    found = _match(values, targets)
    if found is None or any(_touches(value, buffers) for value in found.values):
        return None
    return Reduction(found.combiner, targets, found.values, condition, found.keeps_first)


def _stores(stmt: Stmt) -> list[BufferStore] | None:
    """The stores that `stmt` is a sequence of; None for anything else."""
    items = stmt.seq if isinstance(stmt, SeqStmt) else (stmt,)
    stores = [item for item in items if isinstance(item, BufferStore)]
    return stores if len(stores) == len(items) else None


def _inlined(value: Expr, names: dict[Var, Expr]) -> Expr:
    """`value` with lets replaced; they were evaluated before any store."""
    while names and _mentions(value, names):
        value = substitute(value, names)
    return value


def _mentions(expr: Expr, names: dict[Var, Expr]) -> bool:
    return any(isinstance(node, Var) and node in names for node in walk(expr))


def _touches(expr: Node, buffers: Sequence[Buffer]) -> bool:
    """Whether an expression may read or change one of `buffers`, or has another effect."""
    pointers = {id(buffer.data) for buffer in buffers}
    for node in walk(expr):
        if isinstance(node, BufferLoad) and id(node.buffer.data) in pointers:
            return True
        if isinstance(node, Var) and node.dtype.is_handle:
            return True
        if isinstance(node, Call) and (
            not isinstance(node.op, Op) or node.op.effect > CallEffectKind.READ_STATE
        ):
            return True
    return False


def _match(values: Sequence[Expr], targets: tuple[BufferLoad, ...]) -> Match | None:
    singles = [match_update(value, target) for value, target in zip(values, targets, strict=True)]
    if None not in singles:
        return _joined([s for s in singles if s is not None], targets)
    return match_argument(values, targets) if len(targets) > 1 else None


def _joined(singles: list[Update], targets: tuple[BufferLoad, ...]) -> Match | None:
    neutral = [neutral_element(s.operator, t.dtype) for s, t in zip(singles, targets, strict=True)]
    if any(element is None for element in neutral):
        return None
    lhs, rhs = operands_for("x", targets), operands_for("y", targets)
    result = tuple(
        apply_operator(s.operator, x, y) for s, x, y in zip(singles, lhs, rhs, strict=True)
    )
    combiner = CommReducer(lhs, rhs, result, tuple(e for e in neutral if e is not None))
    return Match(combiner, tuple(single.value for single in singles), False)


def _equal_constants(value: Expr, neutral: Expr) -> bool:
    if isinstance(value, (IntImm, FloatImm)) and isinstance(neutral, (IntImm, FloatImm)):
        return value.dtype is neutral.dtype and value.value == neutral.value
    return identical(value, neutral)
