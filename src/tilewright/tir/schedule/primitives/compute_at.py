"""Computing a block inside of a loop that needs it."""

from __future__ import annotations

from tilewright.tir.schedule.edits.relocation import (
    insertion_point,
    moved,
    regenerated,
    require_movable,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.primitives.compute_inline import compute_inline
from tilewright.tir.schedule.proofs.dataflow import reads_of
from tilewright.tir.schedule.proofs.needed_instances import (
    Ranges,
    instances_that_access,
    joined,
    relaxed_threads,
)
from tilewright.tir.schedule.proofs.recomputation import require_same_values
from tilewright.tir.schedule.proofs.regions import region_of_block, relaxed
from tilewright.tir.schedule.proofs.scope import buffers_written, scope_of
from tilewright.tir.schedule.references import Place
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For


@primitive
def compute_at(
    tree: FunctionTree,
    block: BlockRealize,
    loop: For | Place,
    preserve_unit_loops: bool = False,
    index: int = -1,
) -> Edit:
    """Move a producer under a loop, where each iteration computes what it needs.

    The loops around the block are replaced by new ones, ``ax0``, ``ax1``, ..., over the region that
    one iteration of `loop` reads. What several iterations read is computed by each of them.

    Before::

        for i in range(128):
            with T.block("B"):
                vi = T.axis.spatial(128, i)
                B[vi] = A[vi] * T.float32(2)
        for i_0, i_1 in T.grid(8, 16):
            with T.block("C"):
                vi = T.axis.spatial(128, i_0 * 16 + i_1)
                C[vi] = B[vi] + T.float32(1)

    After ``compute_at("B", i_0)``::

        for i_0 in range(8):
            for ax0 in range(16):
                with T.block("B"):
                    vi = T.axis.spatial(128, i_0 * 16 + ax0)
                    B[vi] = A[vi] * T.float32(2)
            for i_1 in range(16):
                with T.block("C"):
                    vi = T.axis.spatial(128, i_0 * 16 + i_1)
                    C[vi] = B[vi] + T.float32(1)

    Requires: block and loop are in the same scope, and all that reads what the block writes is
    inside of the loop, with all that it reads computed in the same iteration. What the block reads
    is not overwritten between its old place and its new one. Each element is computed by instances
    that may run again: the block writes elements of its own, or reduces into them. Of a buffer that
    is an output, all elements are still written. Where that does not hold, every instance must
    still run exactly once, in an order that respects all dependences.

    Args:
        block: the producer.
        loop: the loop to move it under; or what `sample_compute_location` returned.
        preserve_unit_loops: whether new loops of one iteration are made.
        index: the position in the body of the loop; -1 for the last possible one, right before the
            first consumer, -2 for the first possible one.

    Raises:
        ScheduleError: if a requirement does not hold.

    Example::

        sch = tir.Schedule(matmul_relu)
        i, j = sch.get_loops("D")
        sch.compute_at("C", i)
    """
    if isinstance(loop, Place):
        return Edit(tree.func) if loop is Place.ROOT else compute_inline(tree, block)
    require_movable(tree, block, loop)
    scope = scope_of(tree, block)
    consumers = [item for item in scope.consumers(block) if tree.is_above(loop, item)]
    if not consumers:
        raise ScheduleError(
            "nothing inside of {1} reads what {0} writes",
            at=[block, loop],
            hint="reverse_compute_at moves a consumer under a loop of its producer",
        )
    producers = [item for item in scope.producers(block) if item not in set(consumers)]
    position = insertion_point(tree, block, loop, producers, consumers, index)
    analyzer = tree.analyzer_inside(loop)
    parts: list[Ranges] = []
    for buffer in buffers_written(block.block):
        written = region_of_block(block.block, buffer, written=True)
        assert written is not None
        for consumer in consumers:
            for read in reads_of(consumer, buffer):
                box = relaxed(tree, read, loop, analyzer)
                box = relaxed_threads(tree, loop, buffer.scope(), box, analyzer)
                parts.append(instances_that_access(block.block, written, box, analyzer))
    made = regenerated(tree, block, joined(parts, analyzer), analyzer, preserve_unit_loops)
    edit = Edit(tree.func.with_body(moved(tree, block, loop, made.stmt, position)))
    require_same_values(tree, edit, block, loop)
    return edit
