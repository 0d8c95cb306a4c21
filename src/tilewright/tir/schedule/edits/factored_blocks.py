"""The two blocks that a factorised reduction consists of."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.facts import conjuncts
from tilewright.ir.expr import Expr, Var
from tilewright.tir.analysis.reduction import Reduction
from tilewright.tir.buffer import Buffer, BufferLoad, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.edits.bindings import conjunction
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.counterexamples import uninitialised
from tilewright.tir.schedule.proofs.domains import nonempty
from tilewright.tir.schedule.proofs.initialisation import ReductionNest
from tilewright.tir.schedule.proofs.regions import with_accesses
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import (
    Block,
    BlockKey,
    BlockRealize,
    BufferStore,
    For,
    IfThenElse,
    Stmt,
    seq,
)
from tilewright.tir.substitute import Substitution, substitute, variables_of
from tilewright.tir.transform.building.combination import combination, store_into


class Factoring(NamedTuple):
    """A reduction and how it is factorised.

    Attributes:
        nest: the block with its reduction loops.
        loop: the reduction loop whose iterations become independent.
        reduction: what the block does.
        initial: the initial value of each target.
        partial: for each target, the buffer of its partial results.
        axis: the dimension of `partial` that `loop` counts.
        outside: the variables of the other loops around the block.
    """

    nest: ReductionNest
    loop: For
    reduction: Reduction
    initial: tuple[Expr, ...]
    partial: tuple[Buffer, ...]
    axis: int
    outside: frozenset[Var]

    def element(self, position: int, indices: tuple[Expr, ...], part: Expr) -> BufferLoad:
        """The partial result for a target."""
        place = part - self.loop.min
        buffer = self.partial[position]
        return BufferLoad(buffer, (*indices[: self.axis], place, *indices[self.axis :]))


# --- partial results ------------------------------------------------------------------------------


def partial_block(tree: FunctionTree, factoring: Factoring, analyzer: Analyzer) -> BlockRealize:
    """The block of the partial results, in terms of the loops around the original block."""
    nest, loop = factoring.nest, factoring.loop
    block = nest.realize.block
    always, tail = _predicate(tree, factoring, analyzer)
    may_be_empty = bool(tail) or factoring.reduction.condition is not None
    initial = _initial_values(tree, factoring, may_be_empty=may_be_empty)
    iterators = _Iterators(nest, loop, bool(tail))
    part = iterators.of_loop[loop.loop_var]
    body = _Redirection(factoring, part, iterators.values)(block.body)
    if tail:
        body = IfThenElse(substitute(conjunction(*tail), iterators.of_loop), body)
    init = [
        store_into(factoring.element(position, target.indices, part), value)
        for position, (target, value) in enumerate(
            zip(factoring.reduction.targets, initial, strict=True)
        )
    ]
    made = Block(
        tuple(iterators.iter_vars),
        (),
        (),
        f"{block.name_hint}_rf",
        body,
        seq(init),
        annotations=block.annotations,
        span=block.span,
        key=BlockKey(),
    )
    made = with_accesses(made)
    return BlockRealize(tuple(iterators.iter_values), conjunction(*always), made)


def _initial_values(
    tree: FunctionTree, factoring: Factoring, *, may_be_empty: bool
) -> tuple[Expr, ...]:
    """What partial results start from: it must change nothing that it is combined with.

    Args:
        factoring: the reduction.
        may_be_empty: whether no value may be combined into some partial result.
    """
    reduction = factoring.reduction
    start = reduction.start_of_parts(factoring.initial, may_be_empty=may_be_empty)
    if start is not None:
        return start
    if tree.checked:
        raise ScheduleError(
            "{0} has no value from which its partial results could start: each changes some result "
            "that it is combined with",
            at=[factoring.nest.realize],
            hint="compare the indices where values are equal, or keep the old value there",
        )
    return reduction.combiner.identity_element


class _Redirection(Substitution):
    """Replaces the targets by the partial results, and iterators by expressions."""

    def __init__(self, factoring: Factoring, part: Expr, values: dict[Var, Expr]) -> None:
        super().__init__(values)
        self._factoring = factoring
        self._part = part
        targets = factoring.reduction.targets
        self._positions = {target.buffer: n for n, target in enumerate(targets)}

    def _partial(self, access: BufferLoad | BufferStore) -> BufferLoad | None:
        position = self._positions.get(access.buffer)
        if position is None:
            return None
        return self._factoring.element(position, access.indices, self._part)

    def BufferLoad(self, load: BufferLoad) -> Expr:
        load = super().BufferLoad(load)
        element = self._partial(load)
        return load if element is None else element

    def BufferStore(self, store: BufferStore) -> Stmt:
        store = super().BufferStore(store)
        element = self._partial(store)
        return store if element is None else store_into(element, store.value)


class _Iterators:
    """The iterators of the partial block.

    Reduction iterators that the factorised loop is bound to are replaced by one for each of the
    other loops that they are bound to; with `each`, all reduction iterators are.

    Attributes:
        iter_vars: the iterators.
        iter_values: what they are bound to.
        values: what stands for the iterators that are replaced.
        of_loop: the iterator of each loop that has one.
    """

    def __init__(self, nest: ReductionNest, loop: For, each: bool) -> None:
        self._loops = {item.loop_var: item for item in nest.reduction}
        self.iter_vars: list[IterVar] = []
        self.iter_values: list[Expr] = []
        self.values: dict[Var, Expr] = {}
        self.of_loop: dict[Var, Expr] = {}
        self._add_loop(loop.loop_var, IterType.DATA_PAR)
        replaced = self._replaced(nest, loop, each)
        iterators = nest.realize.block.iter_vars
        for item, value in zip(iterators, nest.realize.iter_values, strict=True):
            if item.var not in replaced:
                self.iter_vars.append(item)
                self.iter_values.append(value)
                continue
            for var in variables_of(value):
                if var in self._loops and var not in self.of_loop:
                    self._add_loop(var, IterType.COMM_REDUCE)
            self.values[item.var] = substitute(value, self.of_loop)

    def _replaced(self, nest: ReductionNest, loop: For, each: bool) -> set[Var]:
        """The reduction iterators that share loops, directly or not, with the factorised loop."""
        pairs = zip(nest.realize.block.iter_vars, nest.realize.iter_values, strict=True)
        rest = {
            item.var: {var for var in variables_of(value) if var in self._loops}
            for item, value in pairs
            if item.iter_type is IterType.COMM_REDUCE
        }
        if each:
            return set(rest)
        touched, found = {loop.loop_var}, set[Var]()
        while True:
            more = [var for var, loops in rest.items() if var not in found and loops & touched]
            if not more:
                return found
            for var in more:
                found.add(var)
                touched |= rest[var]

    def _add_loop(self, var: Var, kind: IterType) -> None:
        loop = self._loops[var]
        fresh = Var(f"v{var.name}", var.dtype)
        self.iter_vars.append(IterVar(Range.from_min_extent(loop.min, loop.extent), fresh, kind))
        self.iter_values.append(var)
        self.of_loop[var] = fresh


def _predicate(
    tree: FunctionTree, factoring: Factoring, analyzer: Analyzer
) -> tuple[list[Expr], list[Expr]]:
    """The predicate of the partial block, and what becomes a condition of its updates.

    The init must run for every partial result, also for those that no value belongs to.
    """
    nest, loop = factoring.nest, factoring.loop
    always: list[Expr] = []
    tail: list[Expr] = []
    parts = conjuncts(nest.realize.predicate)
    plain = {part for part in parts if not any(v in nest.start for v in variables_of(part))}
    rest = {var: low for var, low in nest.start.items() if var is not loop.loop_var}
    with analyzer.constraint(
        conjunction(nonempty(nest.realize), *(p for p in parts if p in plain))
    ):
        for part in parts:
            if part in plain:
                always.append(part)
                continue
            if not analyzer.can_prove(nest.at_start(part)):
                raise ScheduleError(
                    f"the predicate `{part!r}` may exclude the instances of {{0}} in which its "
                    "init runs",
                    at=[nest.realize],
                    counterexample=lambda: uninitialised(tree, nest.realize),
                )
            if analyzer.can_prove(substitute(part, rest)):
                always.append(part)
                continue
            if factoring.outside & set(variables_of(part)):
                raise ScheduleError(
                    f"the predicate `{part!r}` of {{0}} mixes reduction loops with others",
                    at=[nest.realize],
                )
            tail.append(part)
    return always, tail


# --- write-back -----------------------------------------------------------------------------------


def write_back_block(factoring: Factoring) -> BlockRealize:
    """The block that reduces the partial results, in terms of the loops around the original."""
    nest, loop = factoring.nest, factoring.loop
    block = nest.realize.block
    part = Var(f"v{loop.loop_var.name}", loop.loop_var.dtype)
    iter_vars = [IterVar(Range.from_min_extent(loop.min, loop.extent), part, IterType.COMM_REDUCE)]
    iter_values: list[Expr] = [loop.loop_var]
    values: dict[Var, Expr] = {}
    for item, value in zip(block.iter_vars, nest.realize.iter_values, strict=True):
        if item.iter_type is not IterType.COMM_REDUCE:
            fresh = Var(item.var.name, item.var.dtype)
            values[item.var] = fresh
            iter_vars.append(item.replace(var=fresh))
            iter_values.append(value)
    assert block.init is not None
    made = block.replace(
        iter_vars=tuple(iter_vars),
        init=substitute(block.init, values),
        body=_combination(factoring, part, values),
    )
    made = with_accesses(made)
    plain = [
        condition
        for condition in conjuncts(nest.realize.predicate)
        if not any(var in nest.start for var in variables_of(condition))
    ]
    return BlockRealize(tuple(iter_values), conjunction(*plain), made)


def _combination(factoring: Factoring, part: Expr, values: dict[Var, Expr]) -> Stmt:
    """Combine the partial results into the targets."""
    targets = [substitute(target, values) for target in factoring.reduction.targets]
    parts = [factoring.element(n, target.indices, part) for n, target in enumerate(targets)]
    return combination(factoring.reduction.combiner, targets, parts)
