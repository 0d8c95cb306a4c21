"""The schedule that a function without one gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from tilewright.error import ArgumentError
from tilewright.ir.module import IRModule
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.channel_windows import tile_channel_windows
from tilewright.schedule_rules.computed_places import share_places
from tilewright.schedule_rules.constant_matrix import stream_constant_matrix
from tilewright.schedule_rules.contraction import tile_products
from tilewright.schedule_rules.decisions import without
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.eligible import (
    is_opaque,
    lacks_threads,
    marked_as_scheduled,
    may_schedule,
)
from tilewright.schedule_rules.groups import (
    Group,
    Stage,
    append_epilogues,
    groups_of,
    share_loops,
    stages_of,
)
from tilewright.schedule_rules.inline import inline_producers
from tilewright.schedule_rules.nest import (
    attempt,
    block_of,
    is_plain,
    nest_of,
    parallelize,
    realize_of,
)
from tilewright.schedule_rules.next_rows import fetch_next_rows
from tilewright.schedule_rules.opaque_rows import share_rows
from tilewright.schedule_rules.phases import vectorize_phases
from tilewright.schedule_rules.pieces import copy_pieces
from tilewright.schedule_rules.reduce_along_columns import reduce_along_columns
from tilewright.schedule_rules.reduce_along_rows import reduce_along_rows
from tilewright.schedule_rules.structures import scheduled_by
from tilewright.schedule_rules.transposition import tile_transposition
from tilewright.schedule_rules.window_phases import separate_phases
from tilewright.schedule_rules.windows import has_large_windows, tile_windows
from tilewright.schedule_rules.winograd import tile_transformed_products
from tilewright.target import Target
from tilewright.target.kinds import KERNEL_KINDS
from tilewright.tir.analysis.expressions import has_effects
from tilewright.tir.function import PrimFunc
from tilewright.tir.schedule import BlockRV, LoopRV, Schedule
from tilewright.tir.transform.machine import Machine

RULES: Final = (
    tile_products,
    stream_constant_matrix,
    vectorize_phases,
    tile_transposition,
    share_places,
    copy_pieces,
    vectorize_elements,
    reduce_along_columns,
    reduce_along_rows,
)
"""The rules for a block, in order."""


def default_schedule(mod: PrimFunc | IRModule, target: str | Target | None = None) -> Schedule:
    """The schedule that `tvm.build` gives to functions that have none.

    Functions with a schedule of their own stay as they are. Print the `trace` to see what was
    done, and go on from there to do better::

        sch = tvm.default_schedule(matmul, "llvm")
        sch.trace.show()
        tvm.build(sch.mod, target="llvm")

    Args:
        mod: a function, or a module.
        target: the machine that the schedule is for; by default the target of the enclosing
            ``with Target(...)``, and without one this machine.

    Returns:
        The schedule, with all its steps.
    """
    chosen = Target.given_or_current(target)
    module = IRModule({"main": mod}) if isinstance(mod, PrimFunc) else mod
    if not isinstance(module, IRModule):
        raise ArgumentError(f"default_schedule: expected a PrimFunc or an IRModule, got {mod!r}")
    if chosen.kind.name in KERNEL_KINDS:
        # Few programs are for devices.
        from tilewright.schedule_rules.threads import schedule_for_threads

        return _scheduled(module, lacks_threads, partial(schedule_for_threads, target=chosen))
    return schedule_module(module, chosen.machine)


def schedule_module(module: IRModule, machine: Machine) -> Schedule:
    """The schedule for a processor of the functions of a module that have none."""
    return _scheduled(module, may_schedule, partial(schedule_for_cpu, machine=machine))


def _scheduled(
    module: IRModule,
    is_wanted: Callable[[object], bool],
    schedule_blocks: Callable[[Schedule, Sequence[BlockRV]], Schedule],
) -> Schedule:
    """The schedule of some functions of a module, each given the blocks in order."""
    todo = [var for var, func in module.functions.items() if is_wanted(func)]
    sch = Schedule(marked_as_scheduled(module), error_render_level="none")
    for var in todo:
        sch.work_on(var.name_hint)
        root = sch.get_block(sch.mod[var.name_hint].body.block.name_hint, var.name_hint)
        sch = schedule_blocks(sch, sch.get_child_blocks(root))
    return sch


def schedule_for_cpu(sch: Schedule, blocks: Sequence[BlockRV], machine: Machine) -> Schedule:
    """The schedule of a function for a processor.

    Args:
        sch: a schedule that works on the function.
        blocks: the blocks of the function, in order.
        machine: the processor.
    """
    opaque = [block for block in blocks if is_opaque(realize_of(sch, block))]
    for block in opaque:
        sch = share_rows(sch, block, machine)
    sch, blocks = inline_producers(sch, without(blocks, *opaque))
    blocks = [block for block in blocks if _is_to_schedule(sch, block)]
    sch = separate_phases(sch, blocks, machine)
    sch, blocks = _schedule_windows(sch, blocks, machine)
    stages = append_epilogues(stages_of(sch, blocks, machine))
    for group in groups_of(stages, machine):
        sch = schedule_group(sch, group, machine)
    return sch


def _schedule_windows(
    sch: Schedule, blocks: Sequence[BlockRV], machine: Machine
) -> tuple[Schedule, Sequence[BlockRV]]:
    """Schedule windows together with what makes their data; what is left to schedule.

    Windows of rows run in bands where whole images do not stay near.
    """
    view = sch.copy()
    for block in blocks:
        nest = nest_of(view, block)
        windows = tile_windows if has_large_windows(nest, machine) else tile_channel_windows
        rules = (tile_transformed_products, windows)
        scheduled = scheduled_by(rules, sch, block, machine)
        if scheduled is not None:
            sch, blocks = scheduled, [b for b in blocks if is_plain(scheduled, b)]
    return sch, blocks


def _is_to_schedule(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block ever runs, and has no calls that may have to be in its order."""
    stmt = block_of(sch, block)
    return 0 not in accesses_of(stmt).extents.values() and not has_effects(stmt)


def schedule_group(sch: Schedule, group: Group, machine: Machine) -> Schedule:
    """Share the outer loops of a group, then schedule each of its stages inside of them."""
    loops: list[LoopRV] = []
    shared = attempt(sch, lambda s: loops.extend(share_loops(s, group))) if group.shared else None
    outer = 0 if shared is None else group.shared
    sch = shared or sch
    for stage in group.stages:
        sch = _schedule_stage(sch, stage, machine, outer)
    if shared is not None:
        fetch_next_rows(sch, loops[-1], group, machine)
        parallelize(sch, loops, machine)
    return sch


def _schedule_stage(sch: Schedule, stage: Stage, machine: Machine, outer: int) -> Schedule:
    """Apply the first rule that fits and does not unroll too much."""
    block, epilogue = stage.block, [item.block for item in stage.epilogue]
    if epilogue:
        tiled = partial(tile_products, epilogue=epilogue)
        found = scheduled_by([tiled], sch, block, machine, outer, epilogue)
        if found is not None:
            return found
    found = scheduled_by(RULES, sch, block, machine, outer) or sch
    for item in stage.epilogue:
        found = _schedule_stage(found, item, machine, outer)
    return found
