"""Moving a block into a loop of its consumers, or of its producers."""

from __future__ import annotations

from tilewright.arith import Analyzer
from tilewright.arith.interval import IntervalSet
from tilewright.ir.structural import structural_equal
from tilewright.tir.analysis.dependence import analyze, check_order
from tilewright.tir.analysis.dependence.violation import NotProved
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule.edits.relocation import (
    insertion_point,
    moved,
    regenerated,
    require_movable,
)
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.primitives.compute_inline import compute_inline
from tilewright.tir.schedule.primitives.reverse_compute_inline import reverse_compute_inline
from tilewright.tir.schedule.proofs.dataflow import reads_of
from tilewright.tir.schedule.proofs.needed_instances import (
    Ranges,
    instances_that_access,
    joined,
    relaxed_threads,
)
from tilewright.tir.schedule.proofs.recomputation import require_same_values
from tilewright.tir.schedule.proofs.regions import Box, accesses, hull, region_of_block, relaxed
from tilewright.tir.schedule.proofs.scope import buffers_read, buffers_written, scope_of
from tilewright.tir.schedule.symbols import ComputeLocation
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import BlockRealize, For


@primitive
def compute_at(
    tree: FunctionTree,
    block: BlockRealize,
    loop: For | ComputeLocation,
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
    if isinstance(loop, ComputeLocation):
        return Edit(tree.func) if loop is ComputeLocation.ROOT else compute_inline(tree, block)
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


@primitive
def reverse_compute_at(
    tree: FunctionTree,
    block: BlockRealize,
    loop: For | ComputeLocation,
    preserve_unit_loops: bool = False,
    index: int = -1,
) -> Edit:
    """Move a consumer under a loop, where each iteration uses what it has computed.

    The loops around the block are replaced by new ones, ``ax0``, ``ax1``, ..., over the instances
    that read what one iteration of `loop` writes.

    Before::

        for i_0, i_1 in T.grid(8, 16):
            with T.block("B"):
                vi = T.axis.spatial(128, i_0 * 16 + i_1)
                B[vi] = A[vi] * T.float32(2)
        for i in range(128):
            with T.block("C"):
                vi = T.axis.spatial(128, i)
                C[vi] = B[vi] + T.float32(1)

    After ``reverse_compute_at("C", i_0)``::

        for i_0 in range(8):
            for i_1 in range(16):
                with T.block("B"):
                    vi = T.axis.spatial(128, i_0 * 16 + i_1)
                    B[vi] = A[vi] * T.float32(2)
            for ax0 in range(16):
                with T.block("C"):
                    vi = T.axis.spatial(128, i_0 * 16 + ax0)
                    C[vi] = B[vi] + T.float32(1)

    Requires: block and loop are in the same scope, and every instance of the block still runs
    exactly once, after all that it depends on and before all that depends on it. So what it reads
    is complete when it runs: no loop of a reduction that it reads is outside of its new place.

    Args:
        block: the consumer.
        loop: the loop to move it under; or what `sample_compute_location` returned.
        preserve_unit_loops: whether new loops of one iteration are made.
        index: the position in the body of the loop; -1 for the last possible one, -2 for the first
            possible one, right behind the last producer.

    Raises:
        ScheduleError: if a requirement does not hold; for a dependence, with two instances and the
            element that both access.

    Example::

        sch = tir.Schedule(matmul_relu)
        i, j, k = sch.get_loops("C")
        sch.reverse_compute_at("D", j)
    """
    if isinstance(loop, ComputeLocation):
        stays = loop is ComputeLocation.ROOT
        return Edit(tree.func) if stays else reverse_compute_inline(tree, block)
    require_movable(tree, block, loop)
    scope = scope_of(tree, block)
    producers = [item for item in scope.producers(block) if tree.is_above(loop, item)]
    if not producers:
        raise ScheduleError(
            "nothing inside of {1} writes what {0} reads",
            at=[block, loop],
            hint="compute_at moves a producer under a loop of its consumer",
        )
    position = insertion_point(tree, block, loop, producers, scope.consumers(block), index)
    refusal: ScheduleError | None = None
    candidates = _candidates(tree, block, loop, producers)
    for ranges in candidates:
        analyzer = tree.analyzer_inside(loop)
        made = regenerated(tree, block, ranges, analyzer, preserve_unit_loops)
        edit = Edit(tree.func.with_body(moved(tree, block, loop, made.stmt, position)))
        # Without proofs, too, the choice between candidates is the same as with them.
        is_clear = not tree.checked and ranges is candidates[-1]
        found = None if is_clear else _refusal(tree, edit, block, loop)
        if found is None:
            return edit
        refusal = refusal or found
    assert refusal is not None
    raise refusal


def _candidates(
    tree: FunctionTree, block: BlockRealize, loop: For, producers: list[BlockRealize]
) -> list[Ranges]:
    """Which instances one iteration of the loop may run, the best guess first.

    All that read what it writes; or those for which what it writes is the last that they need.
    """
    analyzer = tree.analyzer_inside(loop)
    parts: list[Ranges] = []
    for buffer in buffers_read(block.block):
        box = _written_box(tree, loop, producers, buffer, analyzer)
        if box is not None:
            parts += [
                instances_that_access(block.block, read.region, box, analyzer)
                for read in reads_of(block, buffer)
            ]
    merged: Ranges = {}
    for part in parts:
        merged = part | merged
    found: list[Ranges] = []
    for candidate in (joined(parts, analyzer), merged, *parts):
        if not any(_same(candidate, other) for other in found):
            found.append(candidate)
    return found


def _written_box(
    tree: FunctionTree,
    loop: For,
    producers: list[BlockRealize],
    buffer: Buffer,
    analyzer: Analyzer,
) -> Box | None:
    """What one iteration of the loop writes of a buffer; None for nothing."""
    boxes = [
        relaxed(tree, access, loop, analyzer)
        for access in accesses(producers, buffer, written=True)
    ]
    if not boxes:
        return None
    return relaxed_threads(tree, loop, buffer.scope(), hull(boxes, analyzer), analyzer)


def _same(a: Ranges, b: Ranges) -> bool:
    return a.keys() == b.keys() and all(_same_interval(a[var], b[var]) for var in a)


def _same_interval(a: IntervalSet, b: IntervalSet) -> bool:
    return all(
        x is y or (x is not None and y is not None and structural_equal(x, y))
        for x, y in zip(a, b, strict=True)
    )


def _refusal(
    tree: FunctionTree, edit: Edit, block: BlockRealize, loop: For
) -> ScheduleError | None:
    """Why the program after is wrong; None if it is right."""
    found = check_order(analyze(tree.func), edit.func)
    if isinstance(found, NotProved):
        return ScheduleError(
            f"it is not known whether all dependences hold with {{0}} in {{1}}: {found.reason}",
            at=[block, loop],
        )
    if found is not None:
        requirement = {
            "order": "{0} cannot run in {1}: that breaks a dependence",
            "twice": "{1} would run some instances of {0} several times",
            "missing": "{1} would not run all instances of {0}",
        }.get(found.kind, "{1} would not run the instances of {0}")
        return ScheduleError(requirement, at=[block, loop], counterexample=lambda: str(found))
    return None
