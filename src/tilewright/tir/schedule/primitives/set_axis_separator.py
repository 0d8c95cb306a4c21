"""Choosing into how many physical dimensions a buffer is flattened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.ir.convert import as_expr
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, MatchBufferRegion
from tilewright.tir.schedule.buffer_reference import any_buffer, recorded_reference
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.scope import allocating_block
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize
from tilewright.tir.substitute import substitute


@primitive
def set_axis_separator(
    tree: FunctionTree,
    block: BlockRealize,
    buffer: Any,
    axis_separators: Sequence[int] | None,
) -> Edit:
    """Set the dimensions of a buffer at which a new physical dimension starts.

    Without separators, a buffer is flattened to one dimension; with one of them, to two.

    Before::

        B = T.alloc_buffer((16, 32))
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    After ``set_axis_separator("B", ("write", 0), [1])``::

        B = T.alloc_buffer((16, 32), axis_separators=[1])
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    Args:
        block: a block that accesses the buffer.
        buffer: ``("read", index)`` or ``("write", index)``, the name of the buffer, or itself.
        axis_separators: the dimensions in ascending order, each at least 1 and less than the
            number of dimensions; None for none.

    Raises:
        ScheduleError: for other separators, or a view made by `match_buffer`.

    Example::

        sch = tir.Schedule(scale_add)
        sch.set_axis_separator("B", ("write", 0), [1])
    """
    region = any_buffer(block, buffer)
    found = region.buffer
    recorded = {"buffer": list(recorded_reference(block, region))}
    separators = _separators(block, found, axis_separators or ())
    _require_no_views(tree, found)
    changed = found.replace(axis_separators=tuple(map(as_expr, separators)))
    owner = allocating_block(tree, found)
    if owner is not None:
        edit = tree.edit({owner.block: substitute(owner.block, {}, {found: changed})})
        return edit._replace(recorded=recorded)
    parameters = {
        param: changed if item is found else item for param, item in tree.func.buffer_map.items()
    }
    body = substitute(tree.func.body, {}, {found: changed})
    func = tree.func.replace(buffer_map=parameters, body=body)
    return Edit(func, recorded=recorded)


def _separators(block: BlockRealize, buffer: Buffer, wanted: Sequence[int]) -> list[int]:
    if not isinstance(wanted, (list, tuple)):
        raise ScheduleError(f"the separators are a list of dimensions, got {wanted!r}", at=[block])
    previous = 0
    for axis in wanted:
        if not isinstance(axis, int) or not previous < axis < buffer.ndim:
            raise ScheduleError(
                f"the separators of `{buffer.name}` must ascend between 1 and {buffer.ndim - 1}, "
                f"got {list(wanted)}",
                at=[block],
            )
        previous = axis
    return list(wanted)


def _require_no_views(tree: FunctionTree, buffer: Buffer) -> None:
    """Refuse a view and a buffer with views, which would be flattened differently."""
    for node in walk(tree.func.body):
        if isinstance(node, MatchBufferRegion):
            if node.buffer is buffer:
                raise ScheduleError(
                    f"`{buffer.name}` is a view of `{node.source.buffer.name}` made by match_buffer"
                )
            if node.source.buffer is buffer:
                raise ScheduleError(
                    f"`{node.buffer.name}` is a view of `{buffer.name}` made by match_buffer, "
                    "which would be flattened differently"
                )
