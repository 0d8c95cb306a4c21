"""Sums of products in which every operand is used again and again: products of matrices, and
convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.expr import Var
from tilewright.schedule_rules.accesses import accesses_of
from tilewright.schedule_rules.contraction_plan import ENOUGH_REUSE, LEAST_REUSE, Plan
from tilewright.schedule_rules.contraction_steps import tile_contraction
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.nest import attempt, block_of
from tilewright.schedule_rules.operands import Contraction, constant_memory, find_contraction
from tilewright.schedule_rules.transposed_plan import transposed_plan
from tilewright.tir.schedule import BlockRV, Schedule


def schedule_contraction(
    sch: Schedule, block: BlockRV, epilogue: Sequence[BlockRV], machine: Machine, *, outer: int
) -> Schedule | None:
    """The schedule with a contraction tiled for registers and caches; None for another block.

    Args:
        sch: the schedule.
        block: the block.
        epilogue: element-wise blocks that read the result, for each tile of it.
        machine: the machine.
        outer: how many of the loops around it are fixed already.
    """
    found = find_contraction(accesses_of(block_of(sch, block)))
    if found is None:
        return None
    for plan in plans(found, machine, outer, constant_memory(sch)):
        scheduled = attempt(sch, lambda s, plan=plan: tile_contraction(plan, s, block, epilogue))
        if scheduled is not None:
            return scheduled
    return None


def plans(
    found: Contraction, machine: Machine, outer: int, constants: frozenset[Var] = frozenset()
) -> list[Plan]:
    """Ways to tile a contraction, the best first.

    Args:
        found: the contraction.
        machine: the machine.
        outer: how many of the loops around the block are fixed already.
        constants: the memory of operands that are packed only once, when the program is compiled.
    """
    forms = _plans_along_columns(found, machine, outer, constants)
    transposed = transposed_plan(found, machine, outer)
    if transposed is None or (forms and forms[0].cycles(constants) < transposed.cycles(constants)):
        return forms
    return [transposed, *forms]


def _plans_along_columns(
    found: Contraction, machine: Machine, outer: int, constants: frozenset[Var]
) -> list[Plan]:
    """Ways whose vectors run along what is contiguous in the result."""
    merged, single = found.mergeable(), (found.column,)
    forms = []
    if len(merged) > 1 and found.is_contiguous(merged):
        forms.append(Plan(found, merged, machine, outer, packed=False))
    plain = Plan(found, single, machine, outer, packed=False)
    if not found.is_contiguous(single) and plain.reuse < LEAST_REUSE:
        return forms
    is_reused = len(found.moving) == 1 and not found.moving[0].mentions(found.row)
    if is_reused and plain.reuse >= LEAST_REUSE:
        free = found.moving[0].buffer.data in constants
        is_worth_packing = plain.reuse >= (LEAST_REUSE if free else ENOUGH_REUSE)
        if len(merged) > 1 and is_worth_packing and plain.leaves_lanes_empty():
            forms.append(Plan(found, merged, machine, outer, packed=True))
        if not found.is_contiguous(single) or (
            is_worth_packing and plain.exceeds_cache() and not plain.is_narrow()
        ):
            forms.append(Plan(found, single, machine, outer, packed=True))
    return [*forms, plain]
