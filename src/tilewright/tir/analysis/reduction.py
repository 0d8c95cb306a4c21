"""Reductions: blocks that combine values into elements by a reducer.

Whether the updates of an element may change their order is another question; see `Reduction.laws`.

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

from tilewright.ir.cache import LRUCache
from tilewright.ir.convert import const
from tilewright.ir.expr import Expr, Var
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.expressions import is_effect
from tilewright.tir.analysis.reducer_laws import Disagreement, ReducerLaws, laws_of
from tilewright.tir.analysis.update import (
    Update,
    apply_operator,
    match_selection,
    match_update,
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
        combiner: the operator. Its `identity_element` is that of its laws.
        targets: the element of each buffer that is updated.
        values: what is combined into them.
        condition: when this happens; None for always.
        laws: whether the order of the updates matters, and what partial results can start from.
    """

    combiner: CommReducer
    targets: tuple[BufferLoad, ...]
    values: tuple[Expr, ...]
    condition: Expr | None
    laws: ReducerLaws

    @property
    def is_order_free(self) -> bool:
        """Whether the updates are proved to give the same in any order."""
        return self.laws.order_free is True

    def order_matters(self) -> str:
        """Elements that give another result in another order; empty if none are known."""
        found = self.laws.order_free
        names = [target.buffer.name for target in self.targets]
        return found.text(names) if isinstance(found, Disagreement) else ""

    @property
    def order_hint(self) -> str:
        """What to do about a reducer that is known to depend on the order; empty for others."""
        if not isinstance(self.laws.commutative, Disagreement):
            return ""
        return (
            "compare the indices, too, where the values are equal: `old > new or (old == new and "
            "old_index < new_index)`"
        )

    def start_of_parts(
        self, initial: tuple[Expr, ...] | None, *, may_be_empty: bool
    ) -> tuple[Expr, ...] | None:
        """What partial results can start from: it changes nothing that it is combined with.

        Args:
            initial: what the targets start from, if that is known.
            may_be_empty: whether no value may be combined into some partial result.
        """
        if initial is not None and all(self.laws.absorbing):
            return initial
        if not (self.laws.leaves_right or (self.laws.leaves_left and not may_be_empty)):
            return None
        neutral = self.combiner.identity_element
        return tuple(
            first if structural_equal(first, value) else value
            for value, first in zip(neutral, initial or neutral, strict=True)
        )


_FOUND: Final[LRUCache[list[Reduction | None]]] = LRUCache(4096)


def match_reduction(block: Block) -> Reduction | None:
    """The reduction that the body of `block` is, or None; it is remembered for the same object."""
    found = _FOUND.get(block, None, list)
    if not found:  # outside of the lock, since examining a reducer may recurse in another thread
        found.append(_matched(block))
    return found[0]


def initial_values(block: Block, reduction: Reduction) -> tuple[Expr, ...] | None:
    """What the init stores into each target; None if it does anything else."""
    init = block.init
    assert init is not None, "the block has no init"
    stores = init.seq if isinstance(init, SeqStmt) else (init,)
    values: list[Expr] = []
    for target in reduction.targets:
        found = [s for s in stores if isinstance(s, BufferStore) and s.buffer is target.buffer]
        if len(found) != 1 or not structural_equal(
            BufferLoad(target.buffer, found[0].indices), target
        ):
            return None
        values.append(found[0].value)
    return tuple(values) if len(stores) == len(values) else None


def _matched(block: Block) -> Reduction | None:
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
    if any(_may_access(_inlined(expr, names), buffers) for expr in outside):
        return None
    if any(_may_access(store.value, buffers[:n]) for n, store in enumerate(stores)):
        return None  # a store changes what a later one reads
    values = [_inlined(store.value, names) for store in stores]
    found = _match(values, targets)
    if found is None or any(_may_access(value, buffers) for value in found.values):
        return None
    return Reduction(found.combiner, targets, found.values, condition, found.laws)


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


def _may_access(expr: Node, buffers: Sequence[Buffer]) -> bool:
    """Whether an expression may read or change one of `buffers`, or has another effect."""
    pointers = {id(buffer.data) for buffer in buffers}
    for node in walk(expr):
        if isinstance(node, BufferLoad) and id(node.buffer.data) in pointers:
            return True
        if isinstance(node, Var) and node.dtype.is_handle:
            return True
        if is_effect(node):
            return True
    return False


class _Match(NamedTuple):
    """A reducer, and what is combined by it."""

    combiner: CommReducer
    values: tuple[Expr, ...]
    laws: ReducerLaws


def _match(values: Sequence[Expr], targets: tuple[BufferLoad, ...]) -> _Match | None:
    """The components that are updated by one operator each, and those that are selected."""
    if any(target.dtype.is_vector for target in targets):
        return None
    lhs, rhs = operands_for("x", targets), operands_for("y", targets)
    new: dict[int, Expr] = {}
    results: dict[int, Expr] = {}
    updates = [match_update(value, target) for value, target in zip(values, targets, strict=True)]
    selected = _selected(values, targets, updates)
    for place, (update, x, y) in enumerate(zip(updates, lhs, rhs, strict=True)):
        if place not in selected:
            assert update is not None
            new[place], results[place] = update.value, apply_operator(update.operator, x, y)
    if selected:
        parts = ([every[place] for place in selected] for every in (values, targets, lhs, rhs))
        found = match_selection(*parts)  # type: ignore[arg-type]
        if found is None:
            return None
        new.update(zip(selected, found.values, strict=True))
        results.update(zip(selected, found.results, strict=True))
    places = range(len(targets))
    combiner = CommReducer(lhs, rhs, tuple(results[place] for place in places), ())
    laws = laws_of(combiner)
    neutral = (const(value, var.dtype) for value, var in zip(laws.neutral, lhs, strict=True))
    combiner = combiner.replace(identity_element=tuple(neutral))
    return _Match(combiner, tuple(new[place] for place in places), laws)


def _selected(
    values: Sequence[Expr], targets: Sequence[BufferLoad], updates: Sequence[Update | None]
) -> list[int]:
    """The components that are not updated by an operator, and those that they are compared with."""
    others = [value for value, update in zip(values, updates, strict=True) if update is None]
    return [
        place
        for place, (target, update) in enumerate(zip(targets, updates, strict=True))
        if update is None or any(_may_access(value, [target.buffer]) for value in others)
    ]
