"""Factorising a reduction: partial results that are independent, and their reduction."""

from __future__ import annotations

from tilewright.ir.expr import Expr, is_const_int
from tilewright.tir.analysis.reduction import Reduction, initial_values, match_reduction
from tilewright.tir.buffer import Buffer, decl_buffer
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.edits.bindings import bound_values, mentioned
from tilewright.tir.schedule.edits.factored_blocks import (
    Factoring,
    partial_block,
    write_back_block,
)
from tilewright.tir.schedule.edits.loops import in_copies
from tilewright.tir.schedule.edits.stage import require_in_blocks, with_stage
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.proofs.counterexamples import conflict
from tilewright.tir.schedule.proofs.dataflow import memory_read
from tilewright.tir.schedule.proofs.initialisation import (
    ReductionNest,
    reduction_nest,
    require_initialised_first,
)
from tilewright.tir.schedule.proofs.scope import scope_of
from tilewright.tir.schedule.tree import Edit, FunctionTree, bind_scope
from tilewright.tir.stmt import BlockRealize, For, Stmt
from tilewright.tir.substitute import variables_of


@primitive
def rfactor(tree: FunctionTree, loop: For, factor_axis: Number) -> Edit:
    """Factorise a reduction over one of its loops, whose iterations become independent.

    Before::

        for i, k_0, k_1 in T.grid(16, 8, 4):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                vk = T.axis.reduce(32, k_0 * 4 + k_1)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    After ``rfactor(k_1, 0)``::

        B_rf = T.alloc_buffer((4, 16))
        for i, k_0, k_1 in T.grid(16, 8, 4):
            with T.block("B_rf"):
                vk_1, vi, vk_0 = T.axis.remap("SSR", [k_1, i, k_0])
                with T.init():
                    B_rf[vk_1, vi] = T.float32(0)
                B_rf[vk_1, vi] = B_rf[vk_1, vi] + A[vi, vk_0 * 4 + vk_1]
        for i, k_1 in T.grid(16, 4):
            with T.block("B"):
                vk_1, vi = T.axis.remap("RS", [k_1, i])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + B_rf[vk_1, vi]

    Floats are rounded differently where the order in which they are combined changes. The initial
    value need not be neutral. Loops around the block stay around the write-back; the loops around
    the partial results are new.

    Requires: `loop` is a reduction loop of one block, whose body combines values into elements by a
    reducer that is proved to be associative, and commutative if another reduction loop is around
    `loop`; at indices that do not depend on the reduction; each element is initialised once, in the
    first iteration of the reduction loops; the other reduction loops contain nothing else; and
    nothing else inside of them changes what the block reads.

    The argument of a maximum that keeps the first (or the last) of equal values is associative, and
    commutative only if it compares the indices of equal values as well. Values that are NaN are
    left out of the proof, unless the reducer itself asks for them.

    Args:
        loop: the reduction loop.
        factor_axis: the position of the new dimension in the buffer of the partial results; a
            negative one counts from the end.

    Returns:
        The block of the partial results; the block itself goes on with the write-back.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(row_sum)
        i, k = sch.get_loops("B")
        k_0, k_1 = sch.split(k, [None, 8])
        sch.rfactor(k_1, factor_axis=1)
    """
    realize = _reduced_by(tree, loop)
    reduction, stores = _reduction(realize)
    axis = _axis(factor_axis, realize, reduction)
    nest = _whole_nest(tree, realize)
    analyzer = tree.analyzer(nest.loops[0])
    if tree.checked:
        require_initialised_first(tree, nest, analyzer)
    for item in nest.loops:
        bind_scope(analyzer, item)
    top = _top(tree, nest, loop)
    if tree.checked:
        _require_regroupable(nest, loop, reduction)
    _require_fixed_bounds(tree, nest, loop)
    partial = tuple(_partial_buffer(t.buffer, loop.extent, axis) for t in reduction.targets)
    outside = frozenset(item.loop_var for item in tree.all_loops_above(realize))
    factoring = Factoring(
        nest, loop, reduction, stores, partial, axis, outside - frozenset(nest.start)
    )
    inner, before = _copied_nest(tree, top, realize, partial_block(tree, factoring, analyzer))
    after = _without_reduction(tree, top, factoring, write_back_block(factoring))
    return with_stage(
        tree,
        tree.scope(realize),
        edits={top: after},
        place=top,
        before=[before],
        buffers=partial,
        results=inner,
    )


def _reduced_by(tree: FunctionTree, loop: For) -> BlockRealize:
    """The block below a loop of which a reduction iterator is bound to it."""
    found = [
        realize
        for realize in tree.blocks_below(loop)
        if loop.loop_var in mentioned(bound_values(realize, reduction=True))
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise ScheduleError("{0} reduces several blocks: {1}, {2}", at=[loop, *found[:2]])
    raise ScheduleError(
        "no reduction iterator of a block is bound to {0}",
        at=[loop],
        hint="give a loop that a T.axis.reduce is bound to",
    )


def _reduction(realize: BlockRealize) -> tuple[Reduction, tuple[Expr, ...]]:
    """The reduction that the block is, and the initial value of each target."""
    block = realize.block
    if block.init is None:
        raise ScheduleError(
            "{0} has no init", at=[realize], hint="factorise it before decompose_reduction"
        )
    if block.match_buffers or block.alloc_buffers:
        raise ScheduleError("{0} declares buffers of its own", at=[realize])
    found = match_reduction(block)
    if found is None:
        raise ScheduleError(
            "the body of {0} does not combine a value into an element by a commutative, "
            "associative operator",
            at=[realize],
            hint="write it as `C[...] = C[...] + value`, or with *, T.max, T.min, and, or; the "
            "argument of a maximum by T.Select",
        )
    steps = {item.var for item in block.iter_vars if item.iter_type is IterType.COMM_REDUCE}
    for target in found.targets:
        if steps & mentioned(target.indices):
            raise ScheduleError(
                f"an index of `{target.buffer.name}` in {{0}} depends on an iterator of the "
                "reduction",
                at=[realize],
            )
    values = initial_values(block, found)
    if values is None:
        raise ScheduleError("the init of {0} is not one store for each element", at=[realize])
    return found, values


def _axis(factor_axis: int, realize: BlockRealize, reduction: Reduction) -> int:
    """The position of the new dimension, not negative."""
    dimensions = {len(target.indices) for target in reduction.targets}
    if len(dimensions) > 1:
        raise ScheduleError(
            "the buffers that {0} writes differ in their number of dimensions", at=[realize]
        )
    (count,) = dimensions
    if not -count - 1 <= factor_axis <= count:
        raise ScheduleError(
            f"factor_axis {factor_axis} is not between {-count - 1} and {count}", at=[realize]
        )
    return factor_axis if factor_axis >= 0 else factor_axis + count + 1


def _whole_nest(tree: FunctionTree, realize: BlockRealize) -> ReductionNest:
    """The loops from the outermost reduction loop on."""
    reducing = mentioned(bound_values(realize, reduction=True))
    above = tree.loops_above(realize)
    return reduction_nest(tree, realize, next(x for x in above if x.loop_var in reducing))


def _top(tree: FunctionTree, nest: ReductionNest, loop: For) -> For:
    """The outermost loop before which the partial results can be computed."""
    realize = nest.realize
    read = memory_read(realize)
    for buffer in read:
        require_in_blocks(scope_of(tree, realize), buffer, only_writes=True)
    pointers = {buffer.data for buffer in read}
    others = [item for item in nest.reduction if item is not loop]
    for item in others:
        below: Stmt = item.body
        while isinstance(below, For):
            below = below.body
        if below is not realize:
            raise ScheduleError("{0} contains more than {1}", at=[item, realize])
    writer = realize
    for top in tree.loops_above(realize):
        writers = [
            other
            for other in tree.blocks_below(top)
            if other is not realize and any(r.buffer.data in pointers for r in other.block.writes)
        ]
        if not writers:
            return top
        writer = writers[0]
    shared = next(r.buffer for r in writer.block.writes if r.buffer.data in pointers)
    raise ScheduleError(
        "{0} writes what {1} reads, next to it",
        at=[writer, realize],
        counterexample=lambda: conflict(tree, writer, realize, shared, ordered=False),
    )


def _require_regroupable(nest: ReductionNest, loop: For, reduction: Reduction) -> None:
    """Refuse a reducer for which the order matters that `loop` as the outermost loop makes."""
    several = (item for item in nest.reduction if not is_const_int(item.extent, 1))
    is_order_kept = loop is next(several, loop) or is_const_int(loop.extent, 1)
    verdict = reduction.laws.associative if is_order_kept else reduction.laws.order_free
    if verdict is True:
        return
    how = "groups" if is_order_kept else "another order"
    raise ScheduleError(
        f"the values of {{1}} would be combined in {how}, which is not proved to give the same"
        if verdict is False
        else f"the values of {{1}} would be combined in {how}, which may give another result",
        at=[loop, nest.realize],
        counterexample=reduction.order_matters() or None,
        hint="" if is_order_kept else _order_hint(reduction),
    )


def _order_hint(reduction: Reduction) -> str:
    ways = ["factorise the outermost reduction loop, which keeps the order"]
    if reduction.order_hint:
        ways.append(reduction.order_hint)
    return "; or ".join(ways)


def _require_fixed_bounds(tree: FunctionTree, nest: ReductionNest, loop: For) -> None:
    """Refuse reduction loops of which the bounds depend on other loops."""
    around = {item.loop_var for item in tree.loops_above(nest.realize)}
    for item in nest.reduction:
        if around & {*variables_of(item.min), *variables_of(item.extent)}:
            raise ScheduleError(
                "the bounds of {0} depend on another loop, and so would the size of the partial "
                "results"
                if item is loop
                else "the bounds of {0} depend on another loop",
                at=[item],
            )


def _partial_buffer(buffer: Buffer, extent: Expr, axis: int) -> Buffer:
    shape = (*buffer.shape[:axis], extent, *buffer.shape[axis:])
    return decl_buffer(shape, buffer.dtype, f"{buffer.name}_rf", scope=buffer.scope())


def _copied_nest(
    tree: FunctionTree, top: For, realize: BlockRealize, partial: BlockRealize
) -> tuple[BlockRealize, Stmt]:
    """`partial` inside of copies of the loops from `top` down to the block."""
    above = tree.loops_above(realize)
    loops = above[above.index(top) :]
    return in_copies(loops, partial)


def _without_reduction(
    tree: FunctionTree, top: For, factoring: Factoring, write_back: BlockRealize
) -> Stmt:
    """`top` with the write-back for the block, without the other reduction loops."""
    edits: dict[Stmt, Stmt | None] = {factoring.nest.realize: write_back}
    # From the innermost on: the body of each is what remains of it.
    for loop in reversed(factoring.nest.reduction):
        if loop is not factoring.loop:
            edits[loop] = tree.edited(edits, loop.body)
    return tree.edited(edits, top)
