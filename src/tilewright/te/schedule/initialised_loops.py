"""Which loops of a reduction stage also reach the elements that it initialises.

A loop that is fused of both data-parallel and reduction axes has no iteration where a symbolic size
of the reduction is 0. The elements still exist then, and get their initial values.
"""

from __future__ import annotations

from tilewright.arith import Analyzer
from tilewright.te.operation import ComputeOp
from tilewright.te.schedule.relation import domain
from tilewright.te.schedule.stage import Stage
from tilewright.te.tensor import extent_text
from tilewright.tir.expr import IterVar


def initialised_along(stage: Stage, inner: list[IterVar]) -> list[IterVar]:
    """The loops in which the elements that the loops `inner` reduce into are initialised.

    These are the data-parallel loops of `inner`. A loop that is fused of both kinds is replaced by
    the data-parallel loops that it is made of.
    """
    data = _data_parallel(stage)
    found = [leaf for leaf in inner if leaf in data]
    for relation in reversed(stage.relations):
        mixed = {axis for axis in relation.children if axis in data and stage.is_reduction(axis)}
        if mixed:
            parents = [axis for axis in relation.parents if axis in data]
            first = next((i for i, axis in enumerate(found) if axis in mixed), len(found))
            found = [axis for axis in found if axis not in mixed]
            found[first:first] = parents
    return found


def mixed_loops(stage: Stage) -> list[IterVar]:
    """The loops that are fused of both data-parallel and reduction axes."""
    data = _data_parallel(stage)
    return [leaf for leaf in stage.leaf_iter_vars if leaf in data and stage.is_reduction(leaf)]


def check_initialised(stage: Stage, primitive: str, loops: list[IterVar]) -> None:
    """Require that elements get their initial values in the first iteration of `loops`.

    Raises:
        TEScheduleError: if the loops have no iteration where a reduction axis has none.
    """
    assert isinstance(stage.op, ComputeOp)
    if not loops:
        return
    for axis in stage.op.reduce_axis:
        extent = domain(axis).extent
        if not Analyzer().can_prove(extent > 0):
            raise stage.error(
                primitive,
                f"with {extent_text(extent)} = 0, loop {loops[0].name} has no iteration, and the "
                f"elements of {stage.name} would not get their initial values; keep the reduction "
                f"axis {axis.name} apart from the data-parallel axes, or give it a constant extent",
            )


def _data_parallel(stage: Stage) -> set[IterVar]:
    """The iteration variables that come from a data-parallel axis, alone or fused."""
    assert isinstance(stage.op, ComputeOp)
    found = set(stage.op.axis)
    for relation in stage.relations:
        if any(parent in found for parent in relation.parents):
            found.update(relation.children)
    return found
