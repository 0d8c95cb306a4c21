"""Padding as two steps: fill everything with a constant, and copy what is inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tilewright.arith import Analyzer, detect_linear_equation
from tilewright.arith.facts import conjuncts
from tilewright.ir.arithmetic import maximum, minimum
from tilewright.ir.convert import const
from tilewright.ir.expr import (
    GE,
    GT,
    LE,
    LT,
    Call,
    Expr,
    FloatImm,
    IntImm,
    Var,
    is_const_int,
)
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import BufferLoad, Range
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.schedule.edits.bindings import conjunction, reads_memory
from tilewright.tir.schedule.edits.loops import in_copies
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.initialisation import require_elements_apart
from tilewright.tir.schedule.proofs.regions import with_accesses
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockKey, BlockRealize, BufferStore, For, ForKind, Stmt, seq
from tilewright.tir.substitute import substitute, variables_of


@primitive
def decompose_padding(tree: FunctionTree, block: BlockRealize, loop: For) -> Edit:
    """Split a block that pads into one that fills with a constant and one that copies.

    Before::

        for i in range(140):
            with T.block("pad"):
                vi = T.axis.spatial(140, i)
                B[vi] = T.if_then_else(6 <= vi and vi < 134, A[vi - 6], T.float32(0))

    After ``decompose_padding("pad", i)``::

        for i in range(140):
            with T.block("pad_pad_const"):
                vi = T.axis.spatial(140, i)
                B[vi] = T.float32(0)
        for i in range(128):
            with T.block("pad"):
                vi = T.axis.spatial(128, i)
                B[vi + 6] = A[vi]

    The loops from `loop` on that an iterator with bounds is bound to alone get smaller; what else
    the condition requires becomes a predicate of the block that copies.

    Requires: the block stores ``T.if_then_else(condition, value, constant)``, where neither the
    condition nor the value reads the buffer that is written; different instances write different
    elements; and `loop` contains nothing but loops around the block.

    Args:
        block: the block that pads.
        loop: the loop before which the constant is filled in.

    Returns:
        The block that fills.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(convolution)
        (i,) = sch.get_loops("P")
        sch.decompose_padding("P", i)
    """
    padding = _match(block)
    chain = _chain(tree, block, loop)
    analyzer = tree.analyzer(block)
    if tree.checked:
        require_elements_apart(block, analyzer)
    fill, before = _fill(padding, chain)
    after = _copy_inside(padding, chain, analyzer)
    return tree.edit({loop: seq(before, after)}, fill)


class _Padding(NamedTuple):
    """A block that stores `inside` where `conditions` hold, else `constant`."""

    realize: BlockRealize
    store: BufferStore
    conditions: list[Expr]
    inside: Expr
    constant: Expr


def _match(realize: BlockRealize) -> _Padding:
    block = realize.block
    store = block.body
    if block.init is not None or block.alloc_buffers or block.match_buffers:
        raise ScheduleError("{0} is more than one store", at=[realize])
    if any(item.iter_type is IterType.COMM_REDUCE for item in block.iter_vars):
        raise ScheduleError("{0} has a reduction iterator", at=[realize])
    if not isinstance(store, BufferStore) or store.predicate is not None:
        raise ScheduleError("{0} is more than one store", at=[realize])
    value = store.value
    if not isinstance(value, Call) or getattr(value.op, "name", "") != "tir.if_then_else":
        raise ScheduleError(
            "{0} does not store T.if_then_else(condition, value, constant)", at=[realize]
        )
    condition, inside, constant = value.args
    if not isinstance(constant, (IntImm, FloatImm)):
        raise ScheduleError(
            f"{{0}} pads with `{constant!r}`, which is not a constant", at=[realize]
        )
    if reads_memory(condition):
        raise ScheduleError("the condition of {0} reads memory", at=[realize])
    for node in walk(inside):
        if isinstance(node, BufferLoad) and node.buffer.data is store.buffer.data:
            raise ScheduleError("{0} reads the buffer that it writes", at=[realize])
    return _Padding(realize, store, conjuncts(condition), inside, constant)


def _chain(tree: FunctionTree, realize: BlockRealize, loop: For) -> list[For]:
    """The loops from `loop` to the block, which contain nothing else."""
    above = tree.loops_above(realize)
    if loop not in above:
        raise ScheduleError("{0} is not around {1}", at=[loop, realize])
    chain = above[above.index(loop) :]
    inside: Stmt = realize
    for item in reversed(chain):
        if item.body is not inside:
            raise ScheduleError("{0} contains more than {1}", at=[item, realize])
        inside = item
    return chain


def _fill(padding: _Padding, chain: list[For]) -> tuple[BlockRealize, Stmt]:
    """The block that stores the constant everywhere, inside of copies of the loops."""
    block, store = padding.realize.block, padding.store
    values: dict[Var, Expr] = {}
    iterators: list[IterVar] = []
    for item in block.iter_vars:
        fresh = values[item.var] = Var(item.var.name, item.var.dtype)
        iterators.append(item.replace(var=fresh))
    made = block.replace(
        iter_vars=tuple(iterators),
        body=substitute(store.replace(value=padding.constant), values),
        name_hint=f"{block.name_hint}_pad_const",
        key=BlockKey(),
    )
    return in_copies(chain, padding.realize.replace(block=with_accesses(made)))


# --- what is inside -------------------------------------------------------------------------------


class _Inside(NamedTuple):
    """The values of an iterator for which a condition holds: `extent` many from `low` on."""

    loop: For
    low: Expr
    extent: Expr


def _copy_inside(padding: _Padding, chain: list[For], analyzer: Analyzer) -> Stmt:
    """The block that stores what is inside, in smaller loops."""
    realize = padding.realize
    shrunk, rest = _shrink(padding, chain, analyzer)
    shifted = {var: var + found.low for var, found in shrunk.items()}
    moved = {found.loop.loop_var: found.loop.loop_var + found.low for found in shrunk.values()}
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    bound = {item.var: substitute(value, moved) for item, value in pairs}
    conditions = [analyzer.simplify(substitute(condition, bound)) for condition in rest]
    iterators: list[IterVar] = []
    inner = Analyzer()
    for item, _ in pairs:
        if item.var in shrunk:
            assert item.dom is not None
            item = item.replace(dom=Range.from_min_extent(item.dom.min, shrunk[item.var].extent))
        if item.dom is not None:
            inner.bind_range(item.var, item.dom.min, item.dom.extent)
        iterators.append(item)
    store = substitute(padding.store.replace(value=padding.inside), shifted)
    store = store.map_children(lambda child: _simplified(child, inner))
    block = realize.block.replace(iter_vars=tuple(iterators), body=store)
    body: Stmt = realize.replace(
        block=with_accesses(block),
        predicate=conjunction(substitute(realize.predicate, moved), *conditions),
    )
    extents = {found.loop: found.extent for found in shrunk.values()}
    for loop in reversed(chain):
        body = loop.replace(extent=extents.get(loop, loop.extent), body=body)
    return body


def _simplified(expr: Expr, analyzer: Analyzer) -> Expr:
    """`expr` with simplified indices; arithmetic on elements stays as it is."""
    if isinstance(expr, BufferLoad) or not expr.dtype.is_integral:
        return expr.map_children(lambda child: _simplified(child, analyzer))
    if reads_memory(expr):
        return expr.map_children(lambda child: _simplified(child, analyzer))
    return analyzer.simplify(expr)


def _shrink(
    padding: _Padding, chain: list[For], analyzer: Analyzer
) -> tuple[dict[Var, _Inside], list[Expr]]:
    """Iterators with a smaller domain, and the conditions that this does not guarantee."""
    loops = _own_loops(padding.realize, chain, analyzer)
    iterators = {item.var for item in padding.realize.block.iter_vars}
    domains: dict[Var, tuple[Expr, Expr]] = {}
    rest: list[Expr] = []
    for condition in padding.conditions:
        found = _bound(condition, iterators, loops)
        if found is None:
            rest.append(condition)
            continue
        var, low, last = found
        extent = loops[var].extent
        first, final = domains.get(var, (const(0, extent.dtype), extent - 1))
        domains[var] = (
            first if low is None else maximum(first, low),
            final if last is None else minimum(final, last),
        )
    shrunk = {}
    for var, (first, final) in domains.items():
        low, extent = analyzer.simplify(first), analyzer.simplify(final - first + 1)
        if analyzer.can_prove(extent <= 0):
            raise ScheduleError(
                f"the condition of {{0}} never holds for `{var.name}`", at=[padding.realize]
            )
        shrunk[var] = _Inside(loops[var], low, extent)
    return shrunk, rest


def _own_loops(realize: BlockRealize, chain: list[For], analyzer: Analyzer) -> dict[Var, For]:
    """The iterators that are bound to a loop of their own over their domain, from 0."""
    available = {loop.loop_var: loop for loop in chain}
    users: dict[Var, int] = {}
    exprs = [*realize.iter_values, *(e for loop in chain for e in (loop.min, loop.extent))]
    for expr in exprs:
        for var in variables_of(expr):
            users[var] = users.get(var, 0) + 1
    found = {}
    for item, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        loop = available.get(value) if isinstance(value, Var) else None
        if (
            loop is not None
            and users[loop.loop_var] == 1
            and loop.kind is not ForKind.THREAD_BINDING
            and is_const_int(loop.min, 0)
            and item.dom is not None
            and is_const_int(item.dom.min, 0)
            and analyzer.can_prove_equal(item.dom.extent, loop.extent)
        ):
            found[item.var] = loop
    return found


def _bound(
    condition: Expr, iterators: set[Var], loops: Mapping[Var, For]
) -> tuple[Var, Expr | None, Expr | None] | None:
    """The iterator that a condition bounds, and its smallest or its largest value."""
    if not isinstance(condition, (LT, LE, GT, GE)) or not condition.a.dtype.is_integral:
        return None
    mentioned = [var for var in variables_of(condition) if var in iterators]
    if len(mentioned) != 1 or mentioned[0] not in loops:
        return None
    var = mentioned[0]
    small, large = (
        (condition.a, condition.b)
        if isinstance(condition, (LT, LE))
        else (condition.b, condition.a)
    )
    margin = large - small if isinstance(condition, (LE, GE)) else large - small - 1
    linear = detect_linear_equation(margin, [var])
    if linear is None:
        return None
    coefficient, offset = linear
    if is_const_int(coefficient, 1):
        return var, offset * -1, None
    return (var, None, offset) if is_const_int(coefficient, -1) else None
