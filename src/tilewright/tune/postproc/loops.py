"""Postprocessors that carry out what annotations say about loops, and divide reductions."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from tilewright.ir.expr import Var
from tilewright.schedule_rules.nest import block_of, realize_of
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tilewright.tir.schedule.edits.bindings import bound_values, mentioned
from tilewright.tir.stmt import ForKind
from tilewright.tune.postproc.postproc import Postproc, blocks_inside, root_of, trees_of
from tilewright.tune.rule.block_facts import LoopRole, is_spatial, loop_roles, loops_around
from tilewright.tune.rule.deferred import PARALLEL, UNROLL_EXPLICIT, UNROLL_IMPLICIT, VECTORIZE
from tilewright.tune.rule.multi_level_tiling_with_intrin import AUTO_TENSORIZE, AUTO_TENSORIZE_INIT
from tilewright.tune.rule.schedule_rule import is_claimed

MAX_STEP = "pragma_auto_unroll_max_step"
EXPLICIT = "pragma_unroll_explicit"


class Wishes(NamedTuple):
    """What the annotations of a function say."""

    parallel: int
    vectorize: int
    unroll: int
    is_explicit: bool


class RewriteParallelVectorizeUnroll(Postproc):
    """Runs outer loops in parallel and inner loops as vectors, and marks nests to be unrolled.

    In each block, outermost loops are fused into one parallel loop until it has the requested
    number of iterations. Innermost loops that access consecutive memory are fused into one
    vectorised loop, up to the requested number of lanes. Lowering unrolls nests that are small
    enough.
    """

    def apply(self, sch: Schedule) -> bool:
        """Rewrite all functions; every candidate is accepted."""
        for tree in trees_of(sch):
            if not {PARALLEL, VECTORIZE, UNROLL_EXPLICIT, UNROLL_IMPLICIT} & set(
                tree.root.block.annotations
            ):
                continue
            root = root_of(sch, tree)
            wishes = _take_wishes(sch, root)
            for block in sch.get_child_blocks(root):
                if not is_claimed(sch, block):
                    _rewrite(sch, block, wishes)
        return True


def _take_wishes(sch: Schedule, root: BlockRV) -> Wishes:
    """The annotations of the root block, which are removed."""

    def take(key: str) -> int:
        value: Any = block_of(sch, root).annotations.get(key)
        if value is None:
            return 0
        sch.unannotate(root, key)
        return int(value)

    explicit = take(UNROLL_EXPLICIT)
    implicit = take(UNROLL_IMPLICIT)
    return Wishes(take(PARALLEL), take(VECTORIZE), explicit or implicit, explicit > 0)


def _rewrite(sch: Schedule, block: BlockRV, wishes: Wishes) -> None:
    roles = loop_roles(sch, block) if wishes.parallel or wishes.vectorize else []
    outer = _count_parallel(roles, wishes.parallel)
    inner = _count_vectorized(roles, wishes.vectorize)
    outer = min(outer, len(roles) - inner)
    loops = sch.get_loops(block)
    if not loops:
        return
    if inner:
        _fuse_into(sch, loops, len(loops) - inner, len(loops), ForKind.VECTORIZED)
    if outer:
        _fuse_into(sch, loops, 0, outer, ForKind.PARALLEL)
    if wishes.unroll and not is_spatial(block_of(sch, block)):
        outermost = sch.get_loops(block)[0]
        sch.annotate(outermost, MAX_STEP, wishes.unroll)
        sch.annotate(outermost, EXPLICIT, int(wishes.is_explicit))


def _count_parallel(roles: list[LoopRole], most: int) -> int:
    """How many of the outermost loops run in parallel."""
    iterations = 1
    count = 0
    for role in roles if most else []:
        if not role.is_spatial or not role.is_serial or role.extent is None:
            break
        count += 1
        iterations *= role.extent
        if iterations > most or not role.has_one_child:
            break
    return count if iterations > 1 else 0


def _count_vectorized(roles: list[LoopRole], most: int) -> int:
    """How many of the innermost loops become one vector."""
    lanes = 1
    count = 0
    for role in reversed(roles) if most else []:
        if not role.is_spatial or not role.is_serial or role.extent is None:
            break
        if (count and not role.has_one_child) or lanes * role.extent > most:
            break
        if role.extent > 1 and not role.is_contiguous_after(lanes):
            break
        count += 1
        lanes *= role.extent
    return count if lanes > 1 else 0


def _fuse_into(sch: Schedule, loops: list[LoopRV], low: int, high: int, kind: ForKind) -> None:
    """Fuse some of the loops; the new one is parallel or vectorised, if that is legal."""
    try:
        fused = sch.fuse(*loops[low:high])
        if kind is ForKind.PARALLEL:
            sch.parallel(fused)
        else:
            sch.vectorize(fused)
    except ScheduleError:
        return


class RewriteReductionBlock(Postproc):
    """Decomposes reductions before the outermost of their reduction loops.

    Reductions across threads stay as they are: each thread starts its own sum. So do blocks that a
    rule has claimed; there, lowering finds the place.
    """

    def apply(self, sch: Schedule) -> bool:
        """Decompose what can be decomposed; every candidate is accepted."""
        for tree in trees_of(sch):
            for block in blocks_inside(sch, root_of(sch, tree)):
                position = _outermost_reduction(sch, block)
                if position is not None:
                    # Where that is refused, lowering finds a place for the initialisation.
                    with contextlib.suppress(ScheduleError):
                        place = sch.get_loops(block)[position]
                        _divide_intrinsics(sch, block, sch.decompose_reduction(block, place))
        return True


def _divide_intrinsics(sch: Schedule, block: BlockRV, init: BlockRV) -> None:
    """Let the initialisation of a tile have the intrinsic that was meant for it, if any."""
    annotations = block_of(sch, block).annotations
    if AUTO_TENSORIZE not in annotations and AUTO_TENSORIZE_INIT not in annotations:
        return
    sch.annotate(init, AUTO_TENSORIZE, annotations.get(AUTO_TENSORIZE_INIT, ""))
    if AUTO_TENSORIZE_INIT in annotations:
        for item in (block, init):
            sch.unannotate(item, AUTO_TENSORIZE_INIT)


def _outermost_reduction(sch: Schedule, block: BlockRV) -> int | None:
    """The position of the outermost loop that counts a reduction; None to leave the block."""
    if block_of(sch, block).init is None or is_claimed(sch, block):
        return None
    realize = realize_of(sch, block)
    steps: set[Var] = mentioned(bound_values(realize, reduction=True))
    loops = loops_around(sch, block)
    counting = [n for n, loop in enumerate(loops) if loop.loop_var in steps]
    if not counting or any(loops[n].kind is ForKind.THREAD_BINDING for n in counting):
        return None
    return counting[0]
