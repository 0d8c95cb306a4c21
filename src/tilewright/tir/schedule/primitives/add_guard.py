"""Computing again only what has not been computed yet."""

from __future__ import annotations

from functools import partial
from typing import Any

from tilewright.arith import Analyzer
from tilewright.arith.linear import mentions
from tilewright.ir.convert import const
from tilewright.ir.expr import EQ, Expr, IntImm, Or, Var, is_const_int
from tilewright.tir.analysis.block_kind import BlockKind, classify_block
from tilewright.tir.analysis.dependence import analyze
from tilewright.tir.analysis.dependence.coverage import is_repeated
from tilewright.tir.buffer import BufferRegion, Range
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.edits.bindings import TRUE, bound_values, guarded
from tilewright.tir.schedule.edits.stage import require_in_blocks
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.counterexamples import conflict, self_conflict
from tilewright.tir.schedule.proofs.regions import BlockAccess, relaxed
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written, child_scope
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For
from tilewright.tir.substitute import substitute


@primitive
def add_guard(tree: FunctionTree, block: BlockRealize, loop: For) -> Edit:
    """Let the iterations of a loop reuse what a block computed in earlier ones.

    The block gets a condition under which it computes only what no earlier iteration of the loop
    has. If all iterations compute the same, only the first one does; if the windows of successive
    iterations overlap, each computes only the new part.

    Before::

        for i, j in T.grid(8, 3):
            with T.block("B"):
                vi = T.axis.spatial(10, i + j)
                B[vi] = f(A[vi])

    After ``add_guard("B", i)``::

        for i, j in T.grid(8, 3):
            with T.block("B"):
                vi = T.axis.spatial(10, i + j)
                T.where(i == 0 or j >= 2)
                B[vi] = f(A[vi])

    Requires: the block writes elements of its own, or is a reduction all loops of which are inside
    of the loop; nothing else inside of the loop writes what it reads or writes, and the iterations
    of the loop run one after the other.

    Args:
        block: the block.
        loop: a loop around it.

    Raises:
        ScheduleError: if a requirement does not hold, or no iteration computes again what another
            one has computed.

    Example::

        sch = tir.Schedule(blur)
        i, _ = sch.get_loops("C")
        sch.compute_at("B", i)  # each iteration computes the three rows of B that it reads
        sch.add_guard("B", i)  # and now only the one that the iteration before has not
    """
    if not tree.is_above(loop, block) or tree.scope(block) is not tree.scope(loop):
        raise ScheduleError("{0} is not around {1}, in one scope", at=[loop, block])
    if not loop.kind.is_in_order:
        raise ScheduleError(
            "the iterations of {0} run at once, so that none can use what another one computed",
            at=[loop],
        )
    condition = _condition(tree, block, loop)
    edit = tree.edit({block: guarded(block, condition)})
    if tree.checked:
        _require_kind(tree, block)
        _require_whole_reduction(tree, block, loop)
        _require_no_other_writer(tree, block, loop)
        repeated = is_repeated(analyze(tree.func), analyze(edit.func), block.block, loop)
        if repeated is not None:
            raise ScheduleError(
                "it is not proved that each iteration of {0} has what the guard of {1} leaves out",
                at=[loop, block],
                counterexample=repeated,
            )
    return edit


def _condition(tree: FunctionTree, block: BlockRealize, loop: For) -> Expr:
    """When an instance has not run in the iteration before."""
    var = loop.loop_var
    first = EQ(var, loop.min)
    uses = [value for value in (*block.iter_values, block.predicate) if mentions(value, [var])]
    inner = [item for item in tree.loops_above(block) if tree.is_above(loop, item)]
    if any(mentions(end, [var]) for item in inner for end in (item.min, item.extent)):
        raise ScheduleError(
            "bounds of loops inside of {0} depend on it, so that it is not known what its "
            "iterations compute again",
            at=[loop],
        )
    if not uses:
        return first
    new = _new_instances(tree, block, loop)
    if new is None:
        raise ScheduleError(
            "no iteration of {0} computes again what the one before has computed by {1}",
            at=[loop, block],
            hint="compute the block at the loop first, so that the windows overlap",
        )
    return Or(first, new)


def _new_instances(tree: FunctionTree, block: BlockRealize, loop: For) -> Expr | None:
    """Which instances lie outside of the window of the iteration before; None for all."""
    analyzer = tree.analyzer_inside(loop)
    conditions: list[Expr] = []
    for iter_var, value in zip(block.block.iter_vars, block.iter_values, strict=True):
        if not mentions(value, [loop.loop_var]):
            continue
        if iter_var.iter_type is not IterType.DATA_PAR:
            return None
        low, high = _window(tree, block, iter_var.var, loop, analyzer)
        if low is None or high is None:
            return None
        before: dict[Var, Expr] = {loop.loop_var: loop.loop_var - const(1, loop.loop_var.dtype)}
        for outside in (value > substitute(high, before), value < substitute(low, before)):
            simple = analyzer.simplify(outside)
            if isinstance(simple, IntImm) and not simple.value:
                continue
            if simple is TRUE or (isinstance(simple, IntImm) and simple.value):
                return None
            conditions.append(simple)
    if not conditions:
        return None
    result = conditions[0]
    for condition in conditions[1:]:
        result = Or(result, condition)
    return result


def _window(
    tree: FunctionTree, block: BlockRealize, iterator: Var, loop: For, analyzer: Analyzer
) -> tuple[Any, Any]:
    """The smallest and the largest value of an iterator in one iteration."""
    point = Range.from_min_extent(iterator, const(1, iterator.dtype))
    buffer = block.block.writes[0].buffer
    interval = relaxed(tree, BlockAccess(block, BufferRegion(buffer, (point,))), loop, analyzer)[0]
    return interval.min_value, interval.max_value


def _require_kind(tree: FunctionTree, block: BlockRealize) -> None:
    found = classify_block(block.block)
    if found.kind is BlockKind.OTHER:
        raise ScheduleError(
            f"{{0}} is neither a complete nor a reduction block: {found.reason}",
            at=[block],
            counterexample=partial(self_conflict, tree, block),
        )


def _require_whole_reduction(tree: FunctionTree, block: BlockRealize, loop: For) -> None:
    """Refuse if an iteration combines further values into the results of the one before.

    Only an iteration with the whole reduction begins with the initial value again.
    """
    outside = [
        item.loop_var
        for item in tree.loops_above(block)
        if not tree.is_above(loop, item) and not is_const_int(item.extent, 1)
    ]
    if any(mentions(value, outside) for value in bound_values(block, reduction=True)):
        raise ScheduleError(
            "iterations of {0} repeat only a part of the reduction {1}, of which other loops are "
            "not inside of {0}",
            at=[loop, block],
            hint="reorder the loops so that all of the reduction are inside",
        )


def _require_no_other_writer(tree: FunctionTree, block: BlockRealize, loop: For) -> None:
    """Refuse if something in the loop changes what the block reads or wrote."""
    scope = child_scope(tree, tree.scope(loop))
    used = buffers_read(block.block) + buffers_written(block.block)
    for buffer in used:
        require_in_blocks(scope, buffer, only_writes=True)
    pointers = {buffer.data for buffer in used}
    for other in scope.children:
        if other is block or not tree.is_above(loop, other):
            continue
        for buffer in buffers_written(other.block):
            if buffer.data in pointers:
                raise ScheduleError(
                    f"{{0}} writes `{buffer.name}` inside of {{1}}, which {{2}} uses",
                    at=[other, loop, block],
                    counterexample=partial(conflict, tree, other, block, buffer, ordered=False),
                )
