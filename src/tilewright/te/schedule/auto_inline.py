"""Inlining all stages of a kind."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.ir.expr import Expr
from tilewright.ir.rewrite import walk
from tilewright.te.operation import ComputeOp, Operation
from tilewright.te.schedule.schedule import Schedule
from tilewright.te.schedule.stage import Stage
from tilewright.te.schedule.stage_state import AttachType
from tilewright.tir.expr import ProducerLoad


def AutoInlineElemWise(schedule: Schedule) -> None:
    """Inline the stages whose elements depend on the same element of each tensor they read."""
    _inline_all(schedule, is_elementwise)


def AutoInlineBroadcast(schedule: Schedule) -> None:
    """Inline the stages that read tensors element by element, repeated in some dimensions."""
    _inline_all(schedule, is_broadcast)


def AutoInlineInjective(schedule: Schedule) -> None:
    """Inline the stages without a reduction."""
    _inline_all(schedule, is_injective)


def _inline_all(schedule: Schedule, chosen: Callable[[Operation], bool]) -> None:
    for stage in schedule.stages:
        if not _is_scheduled(stage) and not stage.is_output and chosen(stage.op):
            stage.compute_inline()


def _is_scheduled(stage: Stage) -> bool:
    """Whether something was done to the loops of a stage, or to where it is computed."""
    return bool(stage.relations) or stage.attach_type is not AttachType.GROUP_ROOT


def is_injective(op: Operation) -> bool:
    """Whether `op` computes elements without a reduction."""
    return isinstance(op, ComputeOp) and op.reduction is None


def is_broadcast(op: Operation) -> bool:
    """Whether all elements that `op` reads are at some of its axes, in their order."""
    return _reads_at(op, _are_in_order)


def is_elementwise(op: Operation) -> bool:
    """Whether all elements that `op` reads are at its axes."""
    return _reads_at(
        op, lambda indices, axes: len(indices) == len(axes) and _all_same(indices, axes)
    )


def _reads_at(op: Operation, accepted: Callable[[tuple[Expr, ...], list[Expr]], bool]) -> bool:
    if not isinstance(op, ComputeOp) or op.reduction is not None:
        return False
    axes: list[Expr] = [axis.var for axis in op.axis]
    return all(
        accepted(node.indices, axes)
        for expr in op.body
        for node in walk(expr)
        if isinstance(node, ProducerLoad)
    )


def _all_same(indices: tuple[Expr, ...], axes: list[Expr]) -> bool:
    return all(index is axis for index, axis in zip(indices, axes, strict=True))


def _are_in_order(indices: tuple[Expr, ...], axes: list[Expr]) -> bool:
    rest = iter(axes)
    return all(any(index is axis for axis in rest) for index in indices)
