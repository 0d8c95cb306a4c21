"""Annotations, hidden accesses, and the mark before postprocessing."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.convert import as_attribute
from tilewright.tir.analysis.declared_regions import HIDES_ACCESSES
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, For


@primitive
def annotate(
    tree: FunctionTree, block_or_loop: For | BlockRealize, ann_key: str, ann_val: Any
) -> Edit:
    """Annotate a block or a loop.

    An annotation that has the same key is replaced.

    Before::

        for i in range(128):
            S(i)

    After ``annotate(i, "pragma_auto_unroll_max_step", 16)``::

        for i in T.serial(128, annotations={"pragma_auto_unroll_max_step": 16}):
            S(i)

    Args:
        block_or_loop: what to annotate.
        ann_key: the name of the annotation.
        ann_val: its value: a string, a number, an `ExprRV`, or a list or dictionary of these.

    Raises:
        ArgumentError: for a key that is not a string, or a value that cannot be kept.

    Example::

        sch = tir.Schedule(scale)
        i, j = sch.get_loops("B")
        sch.annotate(j, "pragma_auto_unroll_max_step", 16)
        sch.annotate("B", "description", "twice the input")
    """
    if not isinstance(ann_key, str):
        raise ArgumentError(f"annotate: `ann_key` must be a string, got {ann_key!r}")
    annotations = {**_annotated(block_or_loop).annotations, ann_key: as_attribute(ann_val)}
    return _edit(tree, block_or_loop, annotations)


@primitive
def unannotate(tree: FunctionTree, block_or_loop: For | BlockRealize, ann_key: str) -> Edit:
    """Remove an annotation of a block or a loop.

    Args:
        block_or_loop: what is annotated.
        ann_key: the name of the annotation.

    Raises:
        ScheduleError: if there is no such annotation.

    Example::

        sch = tir.Schedule(scale)
        sch.annotate("B", "description", "twice the input")
        sch.annotate("B", "cost", 1)
        sch.unannotate("B", "description")
    """
    if not isinstance(ann_key, str):
        raise ArgumentError(f"unannotate: `ann_key` must be a string, got {ann_key!r}")
    annotations = dict(_annotated(block_or_loop).annotations)
    if ann_key not in annotations:
        names = ", ".join(map(repr, annotations)) or "none"
        raise ScheduleError(
            f"{{0}} has no annotation {ann_key!r}; its annotations: {names}", at=[block_or_loop]
        )
    del annotations[ann_key]
    return _edit(tree, block_or_loop, annotations)


def _annotated(stmt: For | BlockRealize) -> For | Block:
    return stmt.block if isinstance(stmt, BlockRealize) else stmt


def _edit(tree: FunctionTree, stmt: For | BlockRealize, annotations: dict[str, object]) -> Edit:
    target = _annotated(stmt)
    return tree.edit({target: target.replace(annotations=annotations)})


@primitive
def unsafe_hide_buffer_access(
    tree: FunctionTree, block: BlockRealize, buf_type: str, buf_index_array: list[Number]
) -> Edit:
    """Leave regions out of what a block states to read or to write.

    Later primitives do not see what is hidden: they trust the caller that it does not matter.
    Nothing is proved, and the annotation `hides_accesses` says that the block declares less than it
    accesses, which is malformed otherwise.

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


@primitive
def enter_postproc(tree: FunctionTree) -> Edit:
    """Mark that what follows in the trace is postprocessing.

    The program stays as it is. `Trace.apply_to_schedule` and `Trace.as_python` leave out the mark
    and what follows when they are told to.

    Example::

        sch = tir.Schedule(scale)
        i, j = sch.get_loops("B")
        sch.enter_postproc()
        sch.parallel(i)
        print(sch.trace.as_python(remove_postproc=True))
    """
    return Edit(tree.func)
