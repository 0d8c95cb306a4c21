"""Convolutions of few channels as products of matrices, whose steps are all elements of a window.

Instructions that add many products at once would otherwise mostly add products of zeros, with which
the channels are filled up::

    C[f, y, x] += A[c, 2 * y + i, 2 * x + j] * B[f, c, i, j]

    ->  A_reindex[k, y, x] = A[k // 49, 2 * y + k % 49 // 7, 2 * x + k % 7]
        B_reindex[k, f] = B[f, k // 49, k % 49 // 7, k % 7]
        C[f, y, x] += A_reindex[k, y, x] * B_reindex[k, f]

Pixels of which strides skip some are next to each other in such a matrix, too. Whatever packs the
operands then reads `A` and `B` themselves: the windows of a few rows of an image are in panels at a
time, and no others anywhere (im2col, as of K. Chellapilla et al., "High Performance Convolutional
Neural Networks for Document Processing", 2006, but panel by panel).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from tilewright.ir.expr import Expr, Var
from tilewright.schedule_rules.contraction_plan import Plan
from tilewright.schedule_rules.contraction_steps import tile_contraction
from tilewright.schedule_rules.dot_products import kinds
from tilewright.schedule_rules.nest import DoesNotFitError, Nest, block_of, nest_of
from tilewright.schedule_rules.operands import (
    NEAR,
    Contraction,
    constant_memory,
    find_contraction,
)
from tilewright.schedule_rules.structures import Structure
from tilewright.schedule_rules.tiled_contraction import flattened, positions_of
from tilewright.tir.schedule import BlockRV, Schedule, ScheduleError
from tilewright.tir.transform.machine import Machine

MOST_CHANNELS: Final = 32
"""Number of channels from which on instructions have few zeros to add."""

Plans = Callable[[Contraction, Machine, int, frozenset[Var]], list[Plan]]
"""Ways to tile a contraction, given the machine, how many of the loops around it are fixed, and the
memory of operands that are packed when the program is compiled."""


class Unfolded(NamedTuple):
    """A convolution as a product of matrices.

    Attributes:
        copies: the blocks that unfold the windows of the image, and the filters.
        nest: the product, and its loops.
        plan: how it is tiled.
        constants: the memory of operands that are packed when the program is compiled.
    """

    copies: Sequence[BlockRV]
    nest: Nest
    plan: Plan
    constants: frozenset[Var]


def find_unfolded(
    plans: Plans, sch: Schedule, nest: Nest, found: Contraction, machine: Machine
) -> Unfolded | None:
    """The best way to multiply unfolded windows by dot products, if there is one.

    Args:
        sch: a schedule to look at.
        nest: the convolution, and its loops.
        found: what it is as a contraction.
    """
    if nest.outer or not _may_unfold(found, machine):
        return None
    try:
        return _unfolded(plans, sch.copy(), nest, found, machine)
    except (ScheduleError, DoesNotFitError):
        return None


def unfolded_structure(
    plans: Plans, found: Contraction, machine: Machine, epilogue: Sequence[BlockRV]
) -> Structure:
    """The structure with unfolded windows.

    Args:
        found: the convolution as a contraction.
        epilogue: element-wise blocks that read the result.
    """

    def apply(sch: Schedule, nest: Nest) -> None:
        way = _unfolded(plans, sch, nest, found, machine)
        tile_contraction(way.plan, epilogue, sch, way.nest)
        for copy in way.copies:
            sch.compute_inline(copy)

    return apply


def _may_unfold(found: Contraction, machine: Machine) -> bool:
    """Whether windows with few channels for an instruction that adds many products overlap along
    rows whose neighbours are side by side, or consist of every other pixel."""
    accesses = found.accesses
    if len(found.moving) != 1 or len(found.fixed) != 1 or not found.has_windows():
        return False
    if None in accesses.extents.values():
        return False
    (image,), (filters,) = found.moving, found.fixed
    if not kinds((str(filters.buffer.dtype), str(image.buffer.dtype)), machine):
        return False
    distance = image.stride(found.column)
    steps = [v for v in accesses.reduction if accesses.extents[v] != 1]
    return (
        len(steps) > 0
        and all(load.mentions(var) for load in accesses.loads for var in steps)
        and (len(steps) == 1 or accesses.extent(steps[0]) < MOST_CHANNELS)
        and distance is not None
        and 0 < distance <= NEAR
    )


def _unfolded(
    plans: Plans, sch: Schedule, nest: Nest, found: Contraction, machine: Machine
) -> Unfolded:
    """Unfold the windows of a convolution, and plan the product.

    Raises:
        ScheduleError: if they cannot be.
        DoesNotFitError: if dot products do not read the windows as columns.
    """
    known = constant_memory(sch)
    copies = _unfold(sch, nest.block, found)
    sources = (load.buffer.data for load in found.accesses.loads)
    constants = known.union(
        block_of(sch, copy).writes[0].buffer.data
        for copy, data in zip(copies, sources, strict=True)
        if data in known
    )
    inner = nest_of(sch, nest.block, nest.outer, nest.shared)
    product = find_contraction(inner.accesses)
    if product is None:
        raise DoesNotFitError("a window has no columns")
    product = replace(product, narrow=found.narrow, is_unfolded=True)
    for plan in plans(product, machine, 0, constants):
        if plan.dot is not None and not plan.transposed:
            return Unfolded(copies, inner, plan, constants)
    raise DoesNotFitError("no dot products")


def _unfold(sch: Schedule, block: BlockRV, found: Contraction) -> list[BlockRV]:
    """Let a block multiply matrices in place of windows and filters.

    Returns:
        The blocks that copy the operands, in the order of the loads.
    """
    accesses = found.accesses
    iterators = [item.var for item in accesses.block.iter_vars]
    copies = []
    for load in accesses.loads:
        used = [var for var in iterators if load.mentions(var)]
        copies.append(sch.reindex(block, load.buffer.name))
        sch.transform_layout(copies[-1], ("write", 0), _merged_steps(found, used, first=True))
    sch.transform_block_layout(block, _merged_steps(found, iterators, first=False))
    return copies


def _merged_steps(
    found: Contraction, iterators: Sequence[Var], *, first: bool
) -> Callable[..., tuple[Any, ...]]:
    """A map from values of iterators to those of the others and of one for all steps of the sum,
    which is the first or the last one."""
    accesses = found.accesses
    steps = [var for var in accesses.reduction if var in iterators]
    places = positions_of(steps, iterators)

    def merge(*values: Expr) -> tuple[Any, ...]:
        step = flattened(values, places, [accesses.extent(var) for var in steps])
        others = [value for n, value in enumerate(values) if n not in places]
        return (step, *others) if first else (*others, step)

    return merge
