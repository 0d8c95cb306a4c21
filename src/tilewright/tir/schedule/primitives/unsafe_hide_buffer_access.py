"""Hiding what a block accesses."""

from __future__ import annotations

from tilewright.ir.convert import as_attribute
from tilewright.tir.analysis.declared_regions import HIDES_ACCESSES
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize


@primitive
def unsafe_hide_buffer_access(
    tree: FunctionTree, block: BlockRealize, buf_type: str, buf_index_array: list[Number]
) -> Edit:
    """Leave regions out of what a block states to read or to write.

    What is hidden is not seen by the primitives that follow: this one asks them to trust the
    caller that it does not matter. Nothing is proved, and the annotation `hides_accesses` says that
    the block declares less than it accesses, which is malformed otherwise.

    Before::

        with T.block("C"):
            vi = T.axis.spatial(128, i)
            T.reads(A[vi], B[vi])
            T.writes(C[vi])

    After ``unsafe_hide_buffer_access("C", "read", [1])``::

        with T.block("C"):
            vi = T.axis.spatial(128, i)
            T.reads(A[vi])
            T.writes(C[vi])
            T.block_attr({"hides_accesses": T.bool(True)})

    Args:
        block: the block.
        buf_type: ``"read"`` or ``"write"``.
        buf_index_array: the positions of the regions to hide.

    Raises:
        ScheduleError: for another type, or a position that does not exist.

    Example::

        sch = tir.Schedule(matmul)
        sch.unsafe_hide_buffer_access("C", "read", [1])
    """
    if buf_type not in ("read", "write"):
        raise ScheduleError(f'buf_type is "read" or "write", got {buf_type!r}', at=[block])
    field = f"{buf_type}s"
    regions = getattr(block.block, field)
    for position in buf_index_array:
        if not 0 <= position < len(regions):
            raise ScheduleError(
                f"{{0}} {field} {len(regions)} buffers, so there is none of index {position}",
                at=[block],
            )
    hidden = set(buf_index_array)
    kept = tuple(region for n, region in enumerate(regions) if n not in hidden)
    annotations = {**block.block.annotations, HIDES_ACCESSES: as_attribute(True)}
    changed = block.block.replace(**{field: kept}, annotations=annotations)
    return tree.edit({block.block: changed})
