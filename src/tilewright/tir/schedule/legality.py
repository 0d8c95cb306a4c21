"""Whether a new order of execution, or running iterations at once, respects all dependences.

Two rules decide the usual cases without looking at dependences: the instances of a block that
writes elements of its own run in any order, and so do those of a reduction as long as the one that
initialises an element stays the first. Everything else is decided by `tir.analysis.dependence`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tilewright.arith import detect_iter_map
from tilewright.arith.iter_form import IterSplit, IterSum
from tilewright.arith.linear import mentions
from tilewright.ir.expr import Var, is_const_int
from tilewright.tir.analysis.block_kind import BlockKind, block_kind
from tilewright.tir.analysis.dependence import NotProved, analyze, carried_by, check_order
from tilewright.tir.analysis.reduction import match_reduction
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.expr import IterType
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For

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
        "the new order breaks a dependence", at=at, counterexample=lambda: str(found)
    )


def _is_order_free(tree: FunctionTree, around: For) -> bool:
    """Whether the instances inside of `around` may run in any order of its loops."""
    leaves = tree.leaf_blocks_below(around)
    if len(leaves) != 1 or _has_more(tree, around):
        return False
    (leaf,) = leaves
    kind = block_kind(leaf.block)
    if tree.scope(leaf) is not tree.scope(around) or kind is BlockKind.OTHER:
        return False
    return kind is BlockKind.COMPLETE or _starts_first(tree, leaf, around)


def _has_more(tree: FunctionTree, around: For) -> bool:
    """Whether `around` contains statements that are not loops around one block."""
    stmt: Any = around
    while isinstance(stmt, For):
        stmt = stmt.body
    return not isinstance(stmt, BlockRealize)


def _starts_first(tree: FunctionTree, leaf: BlockRealize, around: For) -> bool:
    """Whether the instance that initialises an element is the first in any order of the loops.

    It is if it has the smallest value of every loop that its reduction iterators are made of.
    """
    if match_reduction(leaf.block) is None:
        return False
    loops = _loops_from(tree, around, leaf)
    sums = _digits(leaf, loops)
    if sums is None:
        return False
    digits = [
        split
        for iter_var, total in zip(leaf.block.iter_vars, sums, strict=True)
        if iter_var.iter_type is IterType.COMM_REDUCE
        for split in total.args
    ]
    return all(map(_is_growing_digit, digits))


def _is_growing_digit(split: IterSplit) -> bool:
    """Whether a digit is one of a loop, and grows with it."""
    return isinstance(split.source.source, Var) and (
        not isinstance(split.scale, int) or split.scale > 0
    )


def _loops_from(tree: FunctionTree, around: For, leaf: BlockRealize) -> list[For]:
    """The loops from `around` down to the block."""
    loops = tree.loops_above(leaf)
    return loops[next(n for n, loop in enumerate(loops) if loop is around) :]


def _digits(leaf: BlockRealize, loops: Sequence[For]) -> tuple[IterSum, ...] | None:
    """The bindings of a block as digits of loops, if each iteration runs another instance."""
    variables = [loop.loop_var for loop in loops]
    domains: dict[Var, Range] = {}
    for loop in loops:
        if mentions(loop.min, variables) or mentions(loop.extent, variables):
            return None
        domains[loop.loop_var] = Range(loop.min, loop.extent)
    found = detect_iter_map(leaf.iter_values, domains, leaf.predicate, require_bijective=True)
    return found.indices if found.is_affine else None


# --- independence -----------------------------------------------------------------------------


def require_independent(
    tree: FunctionTree, loop: For, what: str, private: Iterable[Buffer] = ()
) -> None:
    """Refuse a loop of which one iteration depends on another one.

    Args:
        tree: the program.
        loop: the loop whose iterations are to run at once.
        what: how they are to run, for the message: ``"in parallel"``.
        private: buffers of which each iteration has its own.
    """
    if not tree.checked or is_const_int(loop.extent, 1) or _is_data_parallel(tree, loop):
        return
    found = carried_by(analyze(tree.func), loop, ignore=set(private))
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


def require_reduction_by_threads(tree: FunctionTree, loop: For) -> None:
    """Refuse a loop whose iterations depend on each other, except by summing up elements."""
    if not tree.checked or _is_sum_of_one_block(tree, loop):
        return
    require_independent(tree, loop, "by threads")


def _is_sum_of_one_block(tree: FunctionTree, loop: For) -> bool:
    leaves = tree.leaf_blocks_below(loop)
    if len(leaves) != 1 or _has_more(tree, loop):
        return False
    block = leaves[0].block
    if block_kind(block) is not BlockKind.REDUCTION or match_reduction(block) is None:
        return False
    return _digits(leaves[0], _loops_from(tree, loop, leaves[0])) is not None


def _hint(tree: FunctionTree, loop: For) -> str:
    for leaf in tree.leaf_blocks_below(loop):
        for iter_var, value in zip(leaf.block.iter_vars, leaf.iter_values, strict=True):
            is_reduction = iter_var.iter_type is IterType.COMM_REDUCE
            if is_reduction and mentions(value, [loop.loop_var]):
                return "rfactor the loop: its iterations then sum up into elements of their own"
    return ""


def _is_data_parallel(tree: FunctionTree, loop: For) -> bool:
    """Whether each iteration clearly writes elements of its own that no other one reads."""
    leaves = tree.leaf_blocks_below(loop)
    if len(leaves) != 1 or _has_more(tree, loop):
        return False
    (leaf,) = leaves
    if tree.scope(leaf) is not tree.scope(loop) or block_kind(leaf.block) is BlockKind.OTHER:
        return False
    for iter_var, value in zip(leaf.block.iter_vars, leaf.iter_values, strict=True):
        if iter_var.iter_type is IterType.COMM_REDUCE and mentions(value, [loop.loop_var]):
            return False
    return _digits(leaf, _loops_from(tree, loop, leaf)) is not None
