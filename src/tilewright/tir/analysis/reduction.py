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
from typing import Final, NamedTuple

from tilewright.ir.arithmetic import multiply
from tilewright.ir.convert import const
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    Add,
    And,
    Call,
    Expr,
    FloatImm,
    IntImm,
    Max,
    Min,
    Mul,
    Or,
    Select,
    Sub,
    Var,
)
from tilewright.ir.node import Node
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.rewrite import walk
from tilewright.tir.analysis.identical import identical
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
            or (isinstance(result, Call) and getattr(result.op, "name", "") in _IDEMPOTENT)
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
    if any(_touches(expr, buffers) for expr in outside):
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


# --- operators ----------------------------------------------------------------------------------


class _Match(NamedTuple):
    combiner: CommReducer
    values: tuple[Expr, ...]
    keeps_first: bool


def _match(values: Sequence[Expr], targets: tuple[BufferLoad, ...]) -> _Match | None:
    singles = [_match_one(value, target) for value, target in zip(values, targets, strict=True)]
    if None not in singles:
        return _joined([s for s in singles if s is not None], targets)
    return _match_argument(values, targets) if len(targets) > 1 else None


class _Single(NamedTuple):
    """``target = operator(target, value)``."""

    operator: type[Expr] | Op
    value: Expr


_CLASSES: Final = (Add, Mul, Min, Max, And, Or)
_IDEMPOTENT: Final = ("tir.bitwise_and", "tir.bitwise_or")
_BITWISE: Final = (*_IDEMPOTENT, "tir.bitwise_xor")


def _match_one(value: Expr, target: BufferLoad) -> _Single | None:
    """The operator by which `value` updates `target`, which may stand deep in a chain of it."""
    if isinstance(value, Sub):
        inner = _match_chain(value.a, target, Add)
        if inner is None:
            return None
        minus = multiply(value.b, -1) if not value.dtype.is_uint else None
        if minus is None:
            return None
        return _Single(Add, minus if inner is target else Add(inner, minus))
    operator = _operator(value)
    if operator is None:
        return None
    rest = _match_chain(value, target, operator)
    return None if rest is None or rest is target else _Single(operator, rest)


def _operator(value: Expr) -> type[Expr] | Op | None:
    if isinstance(value, _CLASSES):
        return type(value)
    if isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in _BITWISE:
        return value.op
    return None


def _match_chain(value: Expr, target: BufferLoad, operator: type[Expr] | Op) -> Expr | None:
    """What `value` combines with `target`; `target` itself for nothing, None for no match."""
    if isinstance(value, BufferLoad):
        return target if identical(value, target) else None
    if _operator(value) is not operator:
        return None
    operands = value.args if isinstance(value, Call) else (value.a, value.b)  # type: ignore[attr-defined]
    for inner, other in (operands, operands[::-1]):
        rest = _match_chain(inner, target, operator)
        if rest is not None:
            return other if rest is target else _apply(operator, rest, other)
    return None


def _apply(operator: type[Expr] | Op, a: Expr, b: Expr) -> Expr:
    if isinstance(operator, Op):
        return Call(a.dtype, operator, (a, b))
    return operator(a, b)  # type: ignore[call-arg]


def _joined(singles: list[_Single], targets: tuple[BufferLoad, ...]) -> _Match | None:
    neutral = [_neutral(s.operator, t.dtype) for s, t in zip(singles, targets, strict=True)]
    if any(element is None for element in neutral):
        return None
    lhs, rhs = _variables("x", targets), _variables("y", targets)
    result = tuple(_apply(s.operator, x, y) for s, x, y in zip(singles, lhs, rhs, strict=True))
    combiner = CommReducer(lhs, rhs, result, tuple(e for e in neutral if e is not None))
    return _Match(combiner, tuple(single.value for single in singles), False)


def _variables(stem: str, targets: Sequence[BufferLoad]) -> tuple[Var, ...]:
    if len(targets) == 1:
        return (Var(stem, targets[0].dtype),)
    return tuple(Var(f"{stem}{number}", target.dtype) for number, target in enumerate(targets))


def _neutral(operator: type[Expr] | Op, dtype: DType) -> Expr | None:
    """The element that leaves every other as it is; None if there is none."""
    if dtype.is_vector:
        return None
    if isinstance(operator, Op):
        ones = dtype.max_int if dtype.is_uint else -1
        return const(ones if operator.name == "tir.bitwise_and" else 0, dtype)
    if operator is And or operator is Or:
        return const(operator is And, dtype)
    if operator is Add or operator is Mul:
        return const(int(operator is Mul), dtype)
    return _limit(dtype, least=operator is Max)


def _limit(dtype: DType, *, least: bool) -> Expr:
    if dtype.is_integral:
        return const(dtype.min_int if least else dtype.max_int, dtype)
    return const(float("-inf") if least else float("inf"), dtype)


# --- arguments of maxima and minima -----------------------------------------------------------


class _Better(NamedTuple):
    """A comparison of two keys: the old pair stays where it holds."""

    key: int
    """Which target is compared."""
    value: Expr
    """What it is compared with."""
    is_maximum: bool
    condition: Expr


def _match_argument(values: Sequence[Expr], targets: tuple[BufferLoad, ...]) -> _Match | None:
    """Values that all are the old one where the old key is better, else the new one."""
    chosen: list[Expr | None] = [None] * len(targets)
    better: _Better | None = None
    extrema: dict[int, Expr] = {}
    for position, (value, target) in enumerate(zip(values, targets, strict=True)):
        parts = _choice(value)
        if parts is None:
            extrema[position] = value
            continue
        condition, old, new = parts
        if not identical(old, target):
            return None
        found = _comparison(condition, targets)
        if found is None or (
            better is not None and not identical(found.condition, better.condition)
        ):
            return None
        better, chosen[position] = found, new
    if better is None:
        return None
    for position, value in extrema.items():
        kind = Max if better.is_maximum else Min
        single = _match_one(value, targets[position])
        if position != better.key or single is None or single.operator is not kind:
            return None
        chosen[position] = single.value
    news = tuple(item for item in chosen if item is not None)
    if len(news) != len(targets) or not identical(news[better.key], better.value):
        return None
    return _argument(better, news, targets)


def _choice(value: Expr) -> tuple[Expr, Expr, Expr] | None:
    if isinstance(value, Select):
        return value.condition, value.true_value, value.false_value
    if isinstance(value, Call) and getattr(value.op, "name", "") == "tir.if_then_else":
        return value.args[0], value.args[1], value.args[2]
    return None


def _comparison(condition: Expr, targets: tuple[BufferLoad, ...]) -> _Better | None:
    """``old >= new``, or ``old > new or (old == new and i < j)``, and so on."""
    plain = condition.a if isinstance(condition, Or) else condition
    if isinstance(plain, (GT, GE)):
        old, new, is_maximum = plain.a, plain.b, True
    elif isinstance(plain, (LT, LE)):
        old, new, is_maximum = plain.a, plain.b, False
    else:
        return None
    position = _position(old, targets)
    if position is None:
        old, new, is_maximum = new, old, not is_maximum
        position = _position(old, targets)
    if position is None:
        return None
    if isinstance(condition, Or) and not _breaks_ties(condition.b, old, new, targets, position):
        return None
    return _Better(position, new, is_maximum, condition)


def _position(expr: Expr, targets: tuple[BufferLoad, ...]) -> int | None:
    return next((n for n, target in enumerate(targets) if identical(expr, target)), None)


def _breaks_ties(
    condition: Expr, old: Expr, new: Expr, targets: tuple[BufferLoad, ...], key: int
) -> bool:
    """Whether `condition` compares another component where the keys are equal."""
    if not (isinstance(condition, And) and isinstance(condition.a, EQ)):
        return False
    same, other = condition.a, condition.b
    if not (
        (identical(same.a, old) and identical(same.b, new))
        or (identical(same.a, new) and identical(same.b, old))
    ):
        return False
    if not isinstance(other, (LT, LE, GT, GE)):
        return False
    position = _position(other.a, targets)
    return position is not None and position != key


def _argument(
    better: _Better, news: tuple[Expr, ...], targets: tuple[BufferLoad, ...]
) -> _Match | None:
    lhs, rhs = _variables("x", targets), _variables("y", targets)
    condition = _abstract(better.condition, targets, lhs, news, rhs)
    if condition is None:
        return None
    result = tuple(Select(condition, x, y) for x, y in zip(lhs, rhs, strict=True))
    neutral = [
        _limit(t.dtype, least=better.is_maximum)
        if n == better.key
        else const(0 if t.dtype.is_uint else -1, t.dtype)
        for n, t in enumerate(targets)
    ]
    strict = isinstance(better.condition, Or) and isinstance(better.condition.a, (GT, LT))
    return _Match(CommReducer(lhs, rhs, result, tuple(neutral)), news, not strict)


def _abstract(
    condition: Expr,
    targets: tuple[BufferLoad, ...],
    lhs: tuple[Var, ...],
    news: tuple[Expr, ...],
    rhs: tuple[Var, ...],
) -> Expr | None:
    """A comparison of old and new values in terms of variables that stand for them."""

    def visit(expr: Expr) -> Expr | None:
        for item, var in (*zip(targets, lhs, strict=True), *zip(news, rhs, strict=True)):
            if identical(expr, item):
                return var
        if not isinstance(expr, (And, Or, EQ, GT, GE, LT, LE)):
            return None
        a, b = visit(expr.a), visit(expr.b)
        return None if a is None or b is None else type(expr)(a, b)

    return visit(condition)


def _equal_constants(value: Expr, neutral: Expr) -> bool:
    if isinstance(value, (IntImm, FloatImm)) and isinstance(neutral, (IntImm, FloatImm)):
        return value.dtype is neutral.dtype and value.value == neutral.value
    return identical(value, neutral)
