"""Which iterators of a sum of products are rows, columns and steps of the sum."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.ir.expr import Var
from tilewright.schedule_rules.contraction_plan import Plan
from tilewright.schedule_rules.contraction_steps import flattened, position_of
from tilewright.schedule_rules.nest import DoesNotFitError, block_of
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule import BlockRV, Schedule


@dataclass(frozen=True, eq=False)
class Form:
    """A block whose loops are to be tiled, and what is known about it.

    Attributes:
        block: the block, with a loop for each of its iterators.
        first: outer iterators that the operand with columns depends on.
        then: the other outer iterators.
        row: an iterator that the operand with columns does not depend on.
        column: the iterator over the lanes of vectors.
        depth: the iterators of the sum.
        operand: the name of the operand with columns.
        is_contiguous: whether neighbouring columns are neighbours in it.
    """

    block: BlockRV
    first: tuple[Var, ...]
    then: tuple[Var, ...]
    row: Var
    column: Var
    depth: tuple[Var, ...]
    operand: str
    is_contiguous: bool


def plain_form(block: BlockRV, plan: Plan) -> Form:
    """A block with the iterators that it has."""
    found = plan.found
    operand = found.moving[0]
    first = tuple(var for var in found.outer if operand.mentions(var))
    then = tuple(var for var in found.outer if not operand.mentions(var))
    depth = tuple(v for v in found.accesses.reduction if found.accesses.extents[v] != 1)
    if not depth:
        raise DoesNotFitError("a sum of one product")
    contiguous = found.is_contiguous((found.column,))
    name = operand.buffer.name
    return Form(block, first, then, found.row, found.column, depth, name, contiguous)


def matrix_form(sch: Schedule, block: BlockRV, plan: Plan, copied: str | None) -> Form:
    """A block with its columns merged into one iterator, and its steps of the sum into another.

    A convolution becomes a product of matrices: of the filters, with a row for each, and of the
    windows of the image, with a column for each pixel::

        Y[o, y, x] += P[c, y + i, x + j] * W[o, c, i, j]
        Y[o, p // 7, p % 7] += P[k // 9, p // 7 + k // 3 % 3, p % 7 + k % 3] * W[o, k // 9, ...]

    Args:
        sch: the schedule.
        block: the block.
        plan: its sizes, with the columns to merge.
        copied: the name of a copy of the operand with columns that is in this form already.
    """
    found = plan.found
    iterators = [item.var for item in found.accesses.block.iter_vars]
    depth = of_these(iterators, found.accesses.reduction)
    kept = [v for v in iterators if v not in {*plan.columns, *depth}]

    def merge(*values: Any) -> tuple[Any, ...]:
        rest = [values[position_of(v, iterators)] for v in kept]
        return (*rest, flat_index(plan, iterators, plan.columns, values),
                flat_index(plan, iterators, depth, values))  # fmt: skip

    sch.transform_block_layout(block, IndexMap.from_func(merge, len(iterators)))
    new = [item.var for item in block_of(sch, block).iter_vars]
    as_new = dict(zip(kept, new, strict=False))
    outer = [v for v in found.outer if v in as_new]
    first = tuple(as_new[v] for v in outer if found.moving[0].mentions(v))
    then = tuple(as_new[v] for v in outer if not found.moving[0].mentions(v))
    contiguous = copied is not None or found.is_contiguous(plan.columns)
    name = copied or found.moving[0].buffer.name
    return Form(block, first, then, as_new[found.row], new[-2], (new[-1],), name, contiguous)


def flat_index(
    plan: Plan, iterators: Sequence[Var], group: Sequence[Var], values: Sequence[Any]
) -> Any:
    """The number of a combination of the values of some iterators, the last varying fastest."""
    extents = plan.found.accesses.extents
    counts = [extents[v] for v in group]
    if any(count is None for count in counts):
        raise DoesNotFitError("merging iterators takes constant extents")
    at = [position_of(v, iterators) for v in group]
    return flattened(values, at, [count or 1 for count in counts])


def of_these(iterators: Sequence[Var], group: Iterable[Var]) -> list[Var]:
    """The iterators that are in a group, in their order."""
    wanted = set(group)
    return [var for var in iterators if var in wanted]


def merge_result(
    sch: Schedule, block: BlockRV, consumer: BlockRV | None, plan: Plan, lanes: int
) -> BlockRV | None:
    """Merge the columns of the result, and of the block that reads it element by element, too.

    A vector that sticks out at the end of a row gets memory of its own, where it would overlap
    the next row.

    Args:
        sch: the schedule.
        block: the block, before its iterators are merged.
        consumer: a block with its spatial iterators, the only one that reads the result.
        plan: which columns are merged.
        lanes: the elements of a vector.

    Returns:
        The consumer; where there is none but one is needed, the block that copies the result.
    """
    found = plan.found
    spatial, store = found.accesses.spatial, found.accesses.stores[0]
    sticks_out = plan.width_of_all % lanes != 0
    if consumer is None and not sticks_out:
        return None
    if len(store.indices) != len(spatial):
        raise DoesNotFitError("the result has other indices than the block has iterators")
    if consumer is None:
        consumer = sch.cache_write(block, 0, "global")
    others = [n for n, v in enumerate(spatial) if v not in set(plan.columns)]

    def merge(*values: Any) -> tuple[Any, ...]:
        return (*(values[n] for n in others), flat_index(plan, spatial, plan.columns, values))

    def in_vectors(*values: Any) -> tuple[Any, ...]:
        *outer, column = merge(*values)
        return (*outer, column // lanes, column % lanes) if sticks_out else (*outer, column)

    sch.transform_layout(block, ("write", 0), IndexMap.from_func(in_vectors, len(spatial)))
    sch.transform_block_layout(consumer, IndexMap.from_func(merge, len(spatial)))
    return consumer
