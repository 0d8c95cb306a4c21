"""Whether a new order of execution, or running iterations at once, respects all dependences.

Two rules decide the usual cases without looking at dependences: the instances of a block that
writes elements of its own run in any order, and so do those of a reduction as long as the one that
initialises an element stays the first. Everything else is decided by `tir.analysis.dependence`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from tilewright.arith import Analyzer, detect_iter_map
from tilewright.arith.iter_form import IterSplit
from tilewright.arith.linear import mentions
from tilewright.ir.arithmetic import floormod
from tilewright.ir.expr import Expr, FloorDiv, FloorMod, Var, is_const_int
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.atomic_updates import atomic_update, is_atomic
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.analysis.dependence import (
    NotProved,
    analyze,
    carried_by,
    check_order,
)
from tilewright.tir.analysis.reduction import match_reduction
from tilewright.tir.buffer import Range
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.joint_position import runs_other_instances
from tilewright.tir.schedule.proofs.private_memory import (
    PRIVATE,
    depends_by_own_memory,
    without_private,
)
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written
from tilewright.tir.schedule.proofs.structural_match import runs_alike
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For, ForKind

# --- order ------------------------------------------------------------------------------------


def require_order_kept(
    tree: FunctionTree, edit: Edit, around: For, moved: Sequence[For] = ()
) -> None:
    """Refuse an edit that swaps two instances of blocks of which one depends on the other.

    Args:
        tree: the program before.
        edit: the program after: the same instances of the same blocks in another order.
        around: the loop of the program before in which the order changed.
        moved: the loops to underline in the refusal.
    """
    if tree.checked and not _is_order_free(tree, around):
        require_same_meaning(tree, edit, moved or [around])


def require_same_meaning(tree: FunctionTree, edit: Edit, at: Sequence[Any]) -> None:
    """Refuse an edit after which instances are missing, or run before one that they depend on."""
    if not tree.checked:
        return
    found = check_order(analyze(tree.func), edit.func)
    if found is None:
        return
    if isinstance(found, NotProved):
        raise ScheduleError(
            f"it is not known whether the new order respects all dependences: {found.reason}",
            at=at,
        )
    raise ScheduleError(
        "the new order breaks a dependence",
        at=at,
        counterexample=lambda: str(found),
        hint=found.hint,
    )


def _is_order_free(tree: FunctionTree, around: For) -> bool:
    """Whether the instances inside of `around` may run in any order of its loops."""
    leaf = _only_block(tree, around)
    if leaf is None:
        return False
    if block_kind(leaf.block) is BlockKind.COMPLETE:
        return True
    reduction = match_reduction(leaf.block)
    if reduction is None or not reduction.is_order_free:
        return False
    return _start_is_smallest(leaf, _loops_from(tree, around, leaf))


def _only_block(tree: FunctionTree, around: For) -> BlockRealize | None:
    """The block, of a kind that is known, that `around` and loops in it are around alone."""
    leaves = tree.leaf_blocks_below(around)
    if len(leaves) != 1 or _has_more(tree, around):
        return None
    (leaf,) = leaves
    if tree.scope(leaf) is not tree.scope(around) or block_kind(leaf.block) is BlockKind.OTHER:
        return None
    return leaf


def _has_more(tree: FunctionTree, around: For) -> bool:
    """Whether `around` contains statements that are not loops around one block."""
    stmt: Any = around
    while isinstance(stmt, For):
        stmt = stmt.body
    return not isinstance(stmt, BlockRealize)


def _start_is_smallest(leaf: BlockRealize, loops: Sequence[For]) -> bool:
    """Whether the instance that initialises an element is the first in any order of the loops.

    It is if it has the smallest value of every loop that its reduction iterators are made of.
    """
    digits = _reduction_digits(leaf, loops)
    return digits is not None and all(map(_is_growing_digit, digits))


def starts_first(tree: FunctionTree, leaf: BlockRealize) -> bool:
    """Whether it is plain that a reduction initialises each element before it updates it."""
    return _start_is_smallest(leaf, tree.loops_above(leaf))


def is_in_row_major_order(tree: FunctionTree, leaf: BlockRealize) -> bool:
    """Whether it is plain that the reduction iterators count up, the last one the fastest."""
    if all(item.iter_type is not IterType.COMM_REDUCE for item in leaf.block.iter_vars):
        return True
    loops = tree.loops_above(leaf)
    digits = _reduction_digits(leaf, loops)
    if digits is None or not all(map(_is_growing_digit, digits)):
        return False
    depth = {loop.loop_var: n for n, loop in enumerate(loops)}
    weights: list[tuple[int, int]] = []
    for split in digits:
        if not isinstance(split.lower_factor, int):
            return False
        weights.append((depth[split.source.source], -split.lower_factor))  # type: ignore[index]
    return weights == sorted(weights)


def _is_growing_digit(split: IterSplit) -> bool:
    """Whether a digit is one of a loop, and grows with it."""
    return isinstance(split.source.source, Var) and (
        not isinstance(split.scale, int) or split.scale > 0
    )


def _loops_from(tree: FunctionTree, around: For, leaf: BlockRealize) -> list[For]:
    """The loops from `around` down to the block."""
    loops = tree.loops_above(leaf)
    return loops[next(n for n, loop in enumerate(loops) if loop is around) :]


def _reduction_digits(leaf: BlockRealize, loops: Sequence[For]) -> list[IterSplit] | None:
    """The digits of loops that the reduction iterators consist of, the most significant one of the
    first one first; None if it is not plain that each iteration runs another instance."""
    variables = [loop.loop_var for loop in loops]
    domains: dict[Var, Range] = {}
    for loop in loops:
        if mentions(loop.min, variables) or mentions(loop.extent, variables):
            return None
        domains[loop.loop_var] = Range.from_min_extent(loop.min, loop.extent)
    others: list[Expr] = []
    reduced: list[Expr] = []
    for item, value in zip(leaf.block.iter_vars, leaf.iter_values, strict=True):
        (reduced if item.iter_type is IterType.COMM_REDUCE else others).append(value)
    for values in _ways_to_tell(others):
        bindings = (*values, *reduced)
        found = detect_iter_map(bindings, domains, leaf.predicate, require_bijective=True)
        if found.is_affine:
            return [split for total in found.indices[len(values) :] for split in total.args]
    return None


def _ways_to_tell(values: Sequence[Expr]) -> Iterator[Sequence[Expr]]:
    """Values, and what tells them as well, if there is anything: with a number in place of its
    quotient and its remainder, such as that of a pixel in place of row and column."""
    yield values
    found, analyzer = list(values), Analyzer()
    pairs = [(a, b) for a in values for b in values if _divides_alike(a, b, analyzer)]
    for quotient, remainder in pairs:
        assert isinstance(quotient, FloorDiv)
        found = [quotient.a if value is quotient else value for value in found]
        found = [value for value in found if value is not remainder]
    if pairs:
        yield found


def _divides_alike(quotient: Expr, remainder: Expr, analyzer: Analyzer) -> bool:
    """Whether two values are quotient and remainder of one number; the coefficients in that of the
    remainder may have been reduced."""
    if not (isinstance(quotient, FloorDiv) and isinstance(remainder, FloorMod)):
        return False
    if not structural_equal(quotient.b, remainder.b):
        return False
    return analyzer.can_prove_equal(floormod(quotient.a - remainder.a, quotient.b), 0)


# --- independence -----------------------------------------------------------------------------

_AT_ONCE: Final = {
    ForKind.PARALLEL: "in parallel",
    ForKind.VECTORIZED: "as lanes of a vector",
    ForKind.THREAD_BINDING: "by threads",
}
"""The kinds of loops whose iterations run at once."""


def require_independent(tree: FunctionTree, loop: For) -> None:
    """Refuse a loop whose iterations run at once though one of them depends on another one.

    Threads of a block may sum up elements together, and so may lanes of a vector. Each iteration of
    a parallel loop may have memory of its own for a buffer that it fills itself; that lowering
    gives it that is asked of lowering itself. So may a block or thread of a GPU, by the scope of
    the buffer.

    Args:
        loop: the loop, of the kind that it is to have.
    """
    what = _AT_ONCE.get(loop.kind)
    if what is None or not tree.checked or is_const_int(loop.extent, 1):
        return
    _require_atomic_updates(tree, loop)
    if _is_data_parallel(tree, loop) or _is_sum_together(tree, loop):
        return
    if loop.kind is ForKind.PARALLEL and depends_by_own_memory(tree, loop):
        return
    found = carried_by(analyze(tree.func), loop)
    if found is not None and loop.kind in PRIVATE:
        found = without_private(tree, loop, found)
    if found is None:
        return
    if isinstance(found, NotProved):
        raise ScheduleError(
            f"the iterations of {{0}} cannot run {what}: it is not known whether they are "
            f"independent: {found.reason}",
            at=[loop],
        )
    raise ScheduleError(
        f"the iterations of {{0}} cannot run {what}: one depends on another one",
        at=[loop],
        counterexample=lambda: str(found),
        hint=_hint(tree, loop),
    )


def _require_atomic_updates(tree: FunctionTree, loop: For) -> None:
    """Refuse a block that is annotated as atomic, and does something else than to add."""
    for leaf in tree.leaf_blocks_below(loop):
        update = atomic_update(leaf.block) if is_atomic(leaf.block) else None
        if isinstance(update, str):
            raise ScheduleError(f"{{0}} is annotated as atomic, but {update}", at=[leaf])


def require_all_independent(tree: FunctionTree, kinds: Collection[ForKind]) -> None:
    """Refuse any loop of some kinds whose iterations depend on each other."""
    for loop in tree.loops():
        if loop.kind in kinds:
            require_independent(tree, loop)


def require_still_independent(
    before: FunctionTree, after: FunctionTree, by_construction: Collection[ForKind] = ()
) -> None:
    """Refuse an edit after which iterations that run at once depend on each other.

    That may be an edit inside of their loop, or one by which memory that each iteration had for
    itself is used outside of it.

    Args:
        before: the program before.
        after: the program after.
        by_construction: kinds of loops that need no proof.
    """
    if after.checked and after.loops_not_in_order:
        _require_still_independent(before, after, by_construction)


@deep_recursion
def _require_still_independent(
    before: FunctionTree, after: FunctionTree, by_construction: Collection[ForKind]
) -> None:
    changed = [leaf for leaf in after.blocks_changed_since(before) if not after.blocks_below(leaf)]
    for loop in after.loops_not_in_order:
        if loop.kind in by_construction:
            continue
        old = before.loop(loop.loop_var)
        is_changed = old is None or not runs_alike(old, loop)
        if is_changed or _is_used_outside(after, loop, changed):
            try:
                require_independent(after, loop)
            except ScheduleError as error:
                raise error.shown_in(after) from None


def _is_used_outside(tree: FunctionTree, loop: For, blocks: list[BlockRealize]) -> bool:
    """Whether some of the blocks outside of a loop use what blocks inside of it write."""
    if loop.kind not in PRIVATE:
        return False
    inside = tree.leaf_blocks_below(loop)
    written = {buffer for leaf in inside for buffer in buffers_written(leaf.block)}
    return any(
        not written.isdisjoint(buffers_read(leaf.block) + buffers_written(leaf.block))
        and not tree.is_above(loop, leaf)
        for leaf in blocks
    )


def _is_sum_together(tree: FunctionTree, loop: For) -> bool:
    """Whether threads of a block, or lanes of a vector, sum up the elements of one block."""
    binding = loop.thread_binding
    if binding is not None and not binding.thread_tag.startswith("threadIdx"):
        return False
    if binding is None and loop.kind is not ForKind.VECTORIZED:
        return False
    leaf = _only_block(tree, loop)
    if leaf is None or block_kind(leaf.block) is not BlockKind.REDUCTION:
        return False
    reduction = match_reduction(leaf.block)
    # Lanes are combined in their order, threads in any.
    if reduction is None or not (binding is None or reduction.is_order_free):
        return False
    if _reduction_digits(leaf, _loops_from(tree, loop, leaf)) is not None:
        return True
    return binding is not None and runs_other_instances(leaf, tree.loops_above(leaf))


def _hint(tree: FunctionTree, loop: For) -> str:
    for leaf in tree.leaf_blocks_below(loop):
        for iter_var, value in zip(leaf.block.iter_vars, leaf.iter_values, strict=True):
            is_reduction = iter_var.iter_type is IterType.COMM_REDUCE
            if is_reduction and mentions(value, [loop.loop_var]):
                own = "rfactor the loop: its iterations then sum up into elements of their own"
                if loop.kind is ForKind.VECTORIZED:
                    return own
                return f"{own}; or use decompose_reduction, and annotate the update as atomic"
    return ""


def _is_data_parallel(tree: FunctionTree, loop: For) -> bool:
    """Whether each iteration clearly writes elements of its own that no other one reads."""
    leaf = _only_block(tree, loop)
    if leaf is None:
        return False
    for iter_var, value in zip(leaf.block.iter_vars, leaf.iter_values, strict=True):
        if iter_var.iter_type is IterType.COMM_REDUCE and mentions(value, [loop.loop_var]):
            return False
    if _reduction_digits(leaf, _loops_from(tree, loop, leaf)) is not None:
        return True
    is_spatial = all(item.iter_type is IterType.DATA_PAR for item in leaf.block.iter_vars)
    return is_spatial and runs_other_instances(leaf, tree.loops_above(leaf))


def carried_afterwards(loop: For, before: FunctionTree, after: FunctionTree) -> object:
    """Two iterations of a loop, of which one depends on the other one; None if there are none.

    To be used as ``ScheduleError(afterwards=partial(carried_afterwards, loop))``.
    """
    del before
    new = after.loop(loop.loop_var)
    if new is not None:
        try:
            require_independent(FunctionTree(after.name, after.func), new)
        except ScheduleError as error:
            return error.counterexample
    return None
