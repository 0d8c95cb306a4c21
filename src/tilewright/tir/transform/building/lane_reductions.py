"""Reductions over the lanes of a vectorised loop."""

from __future__ import annotations

from tilewright.ir.expr import Broadcast, Expr, Select
from tilewright.tir.stmt import BufferStore, For, LetStmt
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.dependences import LoopBody
from tilewright.tir.transform.building.accumulators import Reduction, as_reduction, neutral
from tilewright.tir.transform.building.lanes import LaneRewriter
from tilewright.tir.transform.building.statements import statements


def lane_reductions(loop: For, body: LoopBody) -> dict[BufferStore, Reduction]:
    """The stores in `loop` by which all iterations update one element.

    Nothing else in the loop touches the memory of such an element.
    """
    found = {}
    named = {stmt.var for stmt in statements(loop.body) if isinstance(stmt, LetStmt)}
    changing = {loop.loop_var, *named}
    for store in statements(loop.body):
        if not isinstance(store, BufferStore) or store.value.dtype.lanes > 1:
            continue
        memory = store.buffer.data
        if memory in body.private or not changing.isdisjoint(variables_of(store.indices[0])):
            continue
        reduction = as_reduction(store)
        if reduction is None or store.buffer.dtype.is_bool:
            continue
        if sum(access.data is memory for access in body.accesses) == 2:
            found[store] = reduction
    return found


def contribution(reduction: Reduction, lanes: LaneRewriter) -> Expr:
    """What the lanes combine with the element; lanes that are off change nothing."""
    values = lanes.vector(reduction.operand)
    if lanes.mask is None:
        return values
    dtype = values.dtype
    nothing = Broadcast(neutral(reduction.kind, dtype.element), dtype.lanes)
    return Select(lanes.mask, values, nothing)
