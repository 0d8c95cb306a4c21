"""Where the initialisation of a reduction block goes: in front of the reduction, if that is legal.

A block runs its `init` in the instances in which all reduction iterators are at their start. Taken
literally that puts a condition into the innermost loop. The same effect is had by a loop nest of
its own right before the outermost reduction loop, over the data-parallel loops inside of it::

    for m_0, l_0, rk_0, m_1, rk_1, l_1:          for m_0, l_0:
        block C: init ...; update ...      ->        for m_1_init, l_1_init: init
                                                     for rk_0, m_1, rk_1, l_1: update

It is the same effect if, for any one iteration of the loops outside,

* the reduction loops reach the start of the iterators exactly once, where all of them are at their
  minimum (each iterator is an increasing injective function of reduction loops),
* the data-parallel loops initialise each element once (the indices are an injective function),
* nothing else inside the outermost reduction loop accesses what `init` writes, or writes what it
  reads, and the block itself accesses only the element that its instance initialises.

A reduction loop without iterations leaves the elements at their initial value in this form.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from tilewright.arith import Analyzer
from tilewright.arith.facts import conjuncts
from tilewright.ir.arithmetic import equal, logical_and
from tilewright.ir.convert import EMPTY, const
from tilewright.ir.dtype import BOOL, INT32
from tilewright.ir.expr import LT, Call, Expr, FloorDiv, IntImm, Var, is_const_int
from tilewright.ir.node import Node
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion
from tilewright.tir.expr import IterType
from tilewright.tir.stmt import (
    AttrStmt,
    Block,
    BlockRealize,
    BufferStore,
    For,
    Prefetch,
    Stmt,
)
from tilewright.tir.substitute import substitute, variables_of
from tilewright.tir.transform.analysis.affine import affine, difference, stride_along
from tilewright.tir.transform.analysis.ranges import Ranges
from tilewright.tir.transform.building.allocations import compact_strides


class Frame:
    """A statement around the block that is being lowered, as it looks after lowering."""

    def __init__(self, stmt: Stmt, loop: For | None = None, condition: Expr | None = None) -> None:
        self.stmt = stmt
        """The statement in the program that is lowered."""
        self.loop = loop
        """For a loop: the loop with lowered bounds (its body is not lowered yet)."""
        self.condition = condition
        """For a branch: the condition under which it is taken."""
        self.inits: list[Stmt] = []
        """What goes in front of the lowered statement."""


class InitNest(NamedTuple):
    """Where the init nest goes and what it consists of."""

    frame: Frame
    """The outermost reduction loop: the nest goes right before it."""
    loops: tuple[For, ...]
    """The loops of the nest, with variables of their own and no body yet."""
    bindings: dict[Var, Expr]
    """For each loop variable inside `frame`, what it is in the nest."""
    condition: Expr
    """When the nest runs, in terms of the variables outside and of its own."""
    at_start: Expr
    """The part of the condition that the reduction iterators are at their start."""


def start_condition(block: Block, values: Sequence[Expr]) -> Expr:
    """The condition that all reduction iterators are at the start of their domain."""
    condition: Expr = const(True, BOOL)
    for iter_var, value in zip(block.iter_vars, values, strict=True):
        if iter_var.iter_type is IterType.COMM_REDUCE and iter_var.dom is not None:
            form = affine(value - iter_var.dom.min)
            test = (
                const(not form.constant, BOOL)
                if form.is_constant()
                else equal(value, iter_var.dom.min)
            )
            condition = logical_and(condition, test)
    return condition


def initial_predicate(
    block: Block,
    values: Sequence[Expr],
    predicate: Expr,
    starts: Mapping[Var, Expr],
    loops: Iterable[For],
) -> Expr:
    """The predicate at the start of the reduction, where its init runs.

    Conditions that hold wherever the reduction has an iteration are left out: where it has none,
    the initialisation happens all the same.

    Args:
        block: the block.
        values: what its iterators are bound to.
        predicate: the predicate of its realisation.
        starts: the minimum of each reduction loop.
        loops: loops around the block, the outermost first.
    """
    kept: Expr = const(True, BOOL)
    analyzer: Analyzer | None = None
    for condition in conjuncts(predicate):
        if _checks_domain(block, values, condition):
            continue
        initial = substitute(condition, starts)
        if initial is not condition:
            if analyzer is None:
                analyzer = Analyzer()
                for loop in loops:
                    if loop.loop_var not in starts:
                        analyzer.bind_range(loop.loop_var, loop.min, loop.extent)
            if _holds_unless_empty(block, initial, analyzer):
                continue
        kept = logical_and(kept, initial)
    return kept


def _holds_unless_empty(block: Block, condition: Expr, analyzer: Analyzer) -> bool:
    """Whether a condition holds if the domains of all reduction iterators have elements."""
    nonempty: Expr = const(True, BOOL)
    for iterator in block.iter_vars:
        if iterator.iter_type is IterType.COMM_REDUCE and iterator.dom is not None:
            nonempty = logical_and(nonempty, _is_positive(iterator.dom.extent))
    nonempty = analyzer.simplify(nonempty)
    if is_const_int(nonempty, 0):
        # A size that is 0 here: what is left of the condition is about that size alone. It may
        # divide by that.
        left = walk(analyzer.simplify(condition))
        return not any(isinstance(node, (Var, BufferLoad, Call)) for node in left)
    with analyzer.constraint(nonempty):
        return analyzer.can_prove(condition)


def _is_positive(extent: Expr) -> Expr:
    """That an extent is positive; for a number of tiles, in terms of what is tiled."""
    if isinstance(extent, FloorDiv) and isinstance(extent.b, IntImm) and extent.b.value > 0:
        return extent.a >= extent.b
    return extent > 0


def _checks_domain(block: Block, values: Sequence[Expr], condition: Expr) -> bool:
    if not isinstance(condition, LT) or not condition.a.dtype.is_index:
        return False
    room = difference(condition.b, condition.a)
    for iterator, value in zip(block.iter_vars, values, strict=False):
        if iterator.iter_type is IterType.COMM_REDUCE and iterator.dom is not None:
            end = iterator.dom.min + iterator.dom.extent
            if room == difference(end, value):
                return True
    return False


def plan_init(
    realize: BlockRealize,
    values: Sequence[Expr],
    predicate: Expr,
    frames: Sequence[Frame],
    ranges: Ranges,
    views: Collection[Buffer],
) -> InitNest | None:
    """How to hoist the init of a block, or None if it must stay in the block.

    Args:
        realize: the block, not lowered.
        values: the lowered values of its iterators.
        predicate: its lowered predicate.
        frames: the statements around it in the same enclosing block, outermost first.
        ranges: what is known about the loop variables.
        views: buffers that are other names for a part of a buffer.
    """
    block = realize.block
    assert block.init is not None
    reductions = [
        value
        for iter_var, value in zip(block.iter_vars, values, strict=True)
        if iter_var.iter_type is IterType.COMM_REDUCE
    ]
    reduction_vars = {var for value in reductions for var in variables_of(value)}
    position = next(
        (i for i, f in enumerate(frames) if f.loop and f.loop.loop_var in reduction_vars), None
    )
    if position is None:
        return None
    inner = frames[position:]
    loops = [frame.loop for frame in inner if frame.loop is not None]
    if any(frame.loop is None and frame.condition is None for frame in inner):
        return None
    conditions = [predicate, *(frame.condition for frame in inner if frame.condition is not None)]
    if any(isinstance(node, BufferLoad) for c in conditions for node in walk(c)):
        return None
    reduced = [loop for loop in loops if loop.loop_var in reduction_vars]
    parallel = [loop for loop in loops if loop.loop_var not in reduction_vars]
    if not _reach_start_once(reductions, reduced, parallel):
        return None
    indices = _initialised_elements(block, values, views)
    if indices is None:
        return None
    for buffer, place in indices.items():
        if not _different_elements(buffer, place, parallel, ranges):
            return None
    if not _nothing_interferes(inner[0].stmt, block, {b.data for b in indices}):
        return None
    return _nest(realize, values, predicate, inner, set(reduced))


def _reach_start_once(
    reductions: Sequence[Expr], reduced: Sequence[For], parallel: Sequence[For]
) -> bool:
    """Whether the start of all reduction iterators is at the minimum of the loops, only there."""
    reduced_vars = {loop.loop_var for loop in reduced}
    for loop in parallel:
        bounds = {*variables_of(loop.min), *variables_of(loop.extent)}
        if bounds & reduced_vars:
            return False
    parallel_vars = {loop.loop_var for loop in parallel}
    increasing: set[Var] = set()
    for value in reductions:
        form = affine(value)
        if parallel_vars.intersection(variables_of(value)):
            return False
        for loop in reduced:
            stride = stride_along(form, loop.loop_var)
            if stride is None or stride < 0:
                return False
            if stride > 0:
                increasing.add(loop.loop_var)
    return increasing == reduced_vars


def _initialised_elements(
    block: Block, values: Sequence[Expr], views: Collection[Buffer]
) -> dict[Buffer, tuple[Expr, ...]] | None:
    """The lowered indices at which the init stores, per buffer.

    None if there is more than one place per buffer, or if the body accesses another one.
    """
    assert block.init is not None
    written: dict[Var, tuple[Expr, ...]] = {}
    buffers: list[Buffer] = []
    for node in walk(block.init):
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer in views:
            return None
        if isinstance(node, BufferStore):
            if node.buffer.data not in written:
                buffers.append(node.buffer)
            known = written.setdefault(node.buffer.data, node.indices)
            if not _same_place(known, node.indices):
                return None
        elif isinstance(node, (For, Block, AttrStmt)):
            return None
    for node in walk(block.body):
        if isinstance(node, (BufferLoad, BufferStore)):
            place = written.get(node.buffer.data)
            if place is not None and not _same_place(place, node.indices):
                return None
        elif _accessed(node) in written:
            return None
    bindings = {i.var: value for i, value in zip(block.iter_vars, values, strict=True)}
    return {
        buffer: tuple(substitute(index, bindings) for index in written[buffer.data])
        for buffer in buffers
    }


def _different_elements(
    buffer: Buffer, indices: Sequence[Expr], loops: Sequence[For], ranges: Ranges
) -> bool:
    """Whether different iterations of `loops` give different elements of `buffer`."""
    if is_injective(indices, loops, ranges):
        return True
    if is_injective([ranges.simplify_index(index) for index in indices], loops, ranges):
        return True
    # The position tells where the indices do not: f // 16 and f % 16 are f.
    position: Expr = const(0, INT32)
    for index, stride in zip(indices, compact_strides(buffer.shape), strict=True):
        position = position + index * stride
    return is_injective((ranges.simplify_index(position),), loops, ranges)


def _same_place(left: Sequence[Expr], right: Sequence[Expr]) -> bool:
    return all(a is b or affine(a) == affine(b) for a, b in zip(left, right, strict=True))


def is_injective(indices: Sequence[Expr], loops: Sequence[For], ranges: Ranges) -> bool:
    """Whether different iterations of `loops` give different `indices`.

    Recognised are mixed-radix sums: each loop variable in one index, and each coefficient larger
    than what the loops with smaller coefficients can reach together.
    """
    missing = {loop.loop_var for loop in loops}
    for index in indices:
        form = affine(index)
        strides: list[tuple[int, For]] = []
        for loop in loops:
            stride = stride_along(form, loop.loop_var)
            if stride is None:
                return False
            if stride:
                if loop.loop_var not in missing:
                    return False
                missing.discard(loop.loop_var)
                strides.append((abs(stride), loop))
        if not _is_mixed_radix(strides, ranges):
            return False
    return not missing


def _is_mixed_radix(strides: list[tuple[int, For]], ranges: Ranges) -> bool:
    reach = 0
    for stride, loop in sorted(strides, key=lambda item: item[0]):
        if stride <= reach:
            return False
        reach += stride * (ranges.interval(loop.extent)[1] - 1)
    return True


def _nothing_interferes(outermost: Stmt, block: Block, written: set[Var]) -> bool:
    """Whether the rest of `outermost` neither accesses what init writes nor writes its inputs."""
    assert block.init is not None
    read = {n.buffer.data for n in walk(block.init) if isinstance(n, BufferLoad)}
    if any(buffer.data in read | written for buffer in block.alloc_buffers):
        return False
    stored_in_body = {n.buffer.data for n in walk(block.body) if isinstance(n, BufferStore)}
    if (stored_in_body - written) & read:
        return False
    for node in walk(outermost, skip=lambda n: n is block):
        if node is block:
            continue
        if isinstance(node, Block) and any(b.data in read | written for b in node.alloc_buffers):
            return False
        data = _accessed(node)
        if data in written or (data in read and not isinstance(node, BufferLoad)):
            return False
    return True


def _accessed(node: Node) -> Var | None:
    if isinstance(node, (BufferLoad, BufferStore, BufferRegion, Prefetch)):
        return node.buffer.data
    return node if isinstance(node, Var) else None


def _nest(
    realize: BlockRealize,
    values: Sequence[Expr],
    predicate: Expr,
    inner: Sequence[Frame],
    reduced: set[For],
) -> InitNest:
    bindings: dict[Var, Expr] = {}
    starts: dict[Var, Expr] = {}
    loops: list[For] = []
    condition: Expr = const(True, BOOL)
    for frame in inner:
        if frame.loop is None:
            assert frame.condition is not None
            condition = logical_and(condition, substitute(frame.condition, bindings))
        elif frame.loop in reduced:
            start = substitute(frame.loop.min, bindings)
            bindings[frame.loop.loop_var] = starts[frame.loop.loop_var] = start
        else:
            loop = frame.loop
            var = Var(f"{loop.loop_var.name}_init", loop.loop_var.dtype)
            loops.append(
                loop.replace(
                    loop_var=var,
                    min=substitute(loop.min, bindings),
                    extent=substitute(loop.extent, bindings),
                    annotations=EMPTY,
                )
            )
            bindings[loop.loop_var] = var
    at_start = start_condition(realize.block, [substitute(value, bindings) for value in values])
    predicate = initial_predicate(
        realize.block, values, predicate, starts, [f.loop for f in inner if f.loop is not None]
    )
    condition = logical_and(logical_and(at_start, condition), substitute(predicate, bindings))
    return InitNest(inner[0], tuple(loops), bindings, condition, at_start)


def wrap(loops: Iterable[For], body: Stmt) -> Stmt:
    """`body` inside of `loops`, outermost first."""
    for loop in reversed(tuple(loops)):
        body = loop.replace(body=body)
    return body
