"""Padding the rows of a buffer."""

from __future__ import annotations

from typing import Any

from tilewright.ir.convert import as_attribute
from tilewright.ir.expr import IntImm
from tilewright.tir.schedule.buffer_reference import buffer_written, recorded_index
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.proofs.scope import require_allocating_block
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize

ALIGNMENTS = "buffer_dim_align"


@primitive
def storage_align(
    tree: FunctionTree,
    block: BlockRealize,
    buffer_index: Any,
    axis: Number,
    factor: Number,
    offset: Number,
) -> Edit:
    """Make the stride of a dimension of a buffer ``k * factor + offset`` for some ``k``.

    The elements stay what they are; memory between rows keeps accesses in different banks, or
    rows aligned. It is an annotation of the block, which lowering carries out.

    Before::

        B = T.alloc_buffer((16, 32))
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    After ``storage_align("B", 0, axis=0, factor=32, offset=1)``, which gives rows of 33 elements::

        B = T.alloc_buffer((16, 32))
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"buffer_dim_align": [[0, 0, 32, 1]]})
                B[vi, vj] = A[vi, vj] * 2.0

    Requires: the buffer is allocated inside of the function.

    Args:
        block: the block that writes the buffer.
        buffer_index: the position of the buffer in what the block writes, or its name.
        axis: the dimension; a negative one counts from the end.
        factor: of which the stride less the offset is a multiple.
        offset: what the stride is more than such a multiple.

    Raises:
        ScheduleError: if there is no such dimension, for a factor that is not positive, for an
            annotation of another form, or a buffer that is a parameter or a view.

    Example::

        sch = tir.Schedule(scale_add)
        sch.storage_align("B", 0, axis=0, factor=32, offset=1)  # rows of 33 elements
    """
    region = buffer_written(block, buffer_index)
    buffer = region.buffer
    require_allocating_block(tree, buffer)
    if not -buffer.ndim <= axis < buffer.ndim:
        raise ScheduleError(
            f"`{buffer.name}` has {buffer.ndim} dimensions, so there is no axis {axis}", at=[block]
        )
    if factor <= 0:
        raise ScheduleError(f"the factor must be positive, got {factor}", at=[block])
    position = next(n for n, item in enumerate(block.block.writes) if item is region)
    wanted = (position, axis % buffer.ndim, factor, offset)
    kept = [item for item in _alignments(block) if item[:2] != wanted[:2]]
    annotations = {**block.block.annotations, ALIGNMENTS: as_attribute([*kept, wanted])}
    edit = tree.edit({block.block: block.block.replace(annotations=annotations)})
    return edit._replace(recorded=recorded_index("buffer_index", block, region))


def _alignments(block: BlockRealize) -> list[tuple[int, ...]]:
    """The alignments that the block has: buffer, axis, factor and offset of each."""
    value = block.block.annotations.get(ALIGNMENTS, ())
    found: list[tuple[int, ...]] = []
    for item in value if isinstance(value, tuple) else (value,):
        numbers = tuple(n.value for n in item if isinstance(n, IntImm)) if _is_four(item) else ()
        if len(numbers) != 4:
            raise ScheduleError(
                f"the annotation {ALIGNMENTS!r} of {{0}} is not a list of "
                "[buffer, axis, factor, offset]",
                at=[block],
            )
        found.append(numbers)
    return found


def _is_four(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 4
