"""Contractions whose vectors run along another dimension than the rows of the result.

In a convolution the results along a row of the image need vectors that begin at each element of it,
few of them where images are small, and with strides every other element. The filters of one place
are another vector: their weights are packed into panels, and elements of the image are broadcast.
In a product of a few rows with a large matrix of weights, the rows are packed, and the weights are
read once and in order. The results of a tile are collected, and transposed when they are written.
"""

from __future__ import annotations

from tilewright.schedule_rules.contraction_plan import ENOUGH_FILLED, ENOUGH_REUSE, Plan
from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.operands import Contraction


def transposed_plan(found: Contraction, machine: Machine, outer: int) -> Plan | None:
    """The plan, if it is possible and reads what it broadcasts in the order of memory."""
    swapped = found.transposed()
    lanes = machine.lanes(found.accesses.stores[0].buffer.dtype)
    columns = found.accesses.extents[swapped.column]
    if (
        len(swapped.moving) != 1
        or not swapped.fixed
        or found.accesses.extents[found.column] is None
    ):
        return None
    if (
        swapped.moving[0].mentions(swapped.row)
        or columns is None
        or columns < ENOUGH_FILLED * lanes
    ):
        return None
    plan = Plan(swapped, (swapped.column,), machine, outer, packed=True, transposed=True)
    if plan.reuse < ENOUGH_REUSE or any(map(plan.is_far, swapped.fixed)):
        return None
    return plan
