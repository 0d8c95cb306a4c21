"""Whether iterations of a loop may overlap: every two accesses of an element keep their order.

Statement `i` of iteration `k` runs in step `k + stage[i]` of the pipeline, and within the step in
the place `order[i]`. What iteration `k` does before iteration `k + d` must be done before in the
pipeline, too. That is asked of integer sets for the distances `d` at which it would not be.

Threads that share memory run the loop together, so that the accesses may be those of two threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.error import LoweringError
from tilewright.ir.expr import Var
from tilewright.tir.access import Access, collect_accesses
from tilewright.tir.analysis.dependence.access_sides import AccessSide, Dimension, meeting
from tilewright.tir.analysis.dependence.solver import answers, limited
from tilewright.tir.analysis.dependence.violation import NotProved
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import For
from tilewright.tir.transform.software_pipeline.steps import Step


def require_overlap(
    loop: For, steps: Sequence[Step], own: set[Var], threads: Sequence[For]
) -> None:
    """Refuse a pipeline that would change what its loop computes.

    Args:
        loop: the loop.
        steps: its statements.
        own: memory of which each iteration has its own.
        threads: the loops around over threads.

    Raises:
        LoweringError: for accesses whose order would be another one, or is not known to be kept.
    """
    accesses = {step.number: collect_accesses(step.stmt).accesses for step in steps}
    for first in steps:
        for second in steps:
            low = 0 if first.number < second.number else 1
            high = first.stage - second.stage - (first.order <= second.order)
            if high < low:
                continue
            for one in accesses[first.number]:
                for other in accesses[second.number]:
                    last = 0 if one.buffer.data in own else high
                    if last >= low and _may_meet(one, other, loop, (low, last), threads):
                        raise LoweringError(_reason(loop, first, second, one))


def _reason(loop: For, first: Step, second: Step, access: Access) -> str:
    return (
        f"loop {loop.loop_var.name} cannot be a pipeline: statement {first.number} of an iteration "
        f"accesses {access.buffer.name} before statement {second.number} of it or of a later one "
        f"does, and one of them writes; in stages {first.stage} and {second.stage} the order is "
        "another one, or is not known to be the same. Give the later one a stage that is as late, "
        "or a later place in the order"
    )


def _may_meet(
    first: Access,
    second: Access,
    loop: For,
    distances: tuple[int, int],
    threads: Sequence[For],
) -> bool:
    """Whether two accesses may be of one element, so many iterations apart, one of them writing."""
    if first.buffer.data is not second.buffer.data or not first.is_write | second.is_write:
        return False
    if first.buffer is not second.buffer or not first.indices or not second.indices:
        return True
    if owner_of(first.buffer.scope()) is MemoryOwner.THREAD:
        threads = ()
    with limited():
        found = answers(_meet)(first, second, loop, distances, threads)
    return isinstance(found, NotProved) or found


def _meet(
    first: Access,
    second: Access,
    loop: For,
    distances: tuple[int, int],
    threads: Sequence[For],
) -> bool:
    sides = [
        AccessSide(
            access, letter, [Dimension(loop.loop_var, letter, loop.min, loop.extent)], threads
        )
        for access, letter in ((first, "a"), (second, "b"))
    ]
    return not meeting(sides, f"{distances[0]} <= b - a <= {distances[1]}").is_empty()
