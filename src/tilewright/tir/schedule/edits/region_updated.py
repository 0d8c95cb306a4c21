"""What a block that updates a buffer needs of it in another one, and leaves there."""

from __future__ import annotations

from functools import partial

from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.schedule.edits.insertion import Place
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.proofs.coverage import accessed_box, writes_all
from tilewright.tir.schedule.proofs.images import box_of_ranges
from tilewright.tir.schedule.proofs.independence_afterwards import carried_afterwards
from tilewright.tir.schedule.proofs.regions import accesses, clipped, hull
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.stmt import BlockRealize


def region_updated(
    tree: FunctionTree, block: BlockRealize, buffer: Buffer, place: Place
) -> tuple[Range, ...]:
    """All that the block reads or writes in one iteration of the loops around the copies.

    Raises:
        ScheduleError: if copying it back may undo what another iteration writes at the same time.
    """
    analyzer = tree.analyzer_inside(place.around)
    both = [
        *accesses([block], buffer, written=False),
        *accesses([block], buffer, written=True),
    ]
    boxes = [accessed_box(tree, access, place.around, analyzer) for access in both]
    region = clipped(buffer, hull(boxes, analyzer), analyzer)
    at_once = [x for x in tree.all_loops_above(place.stmt) if not x.kind.is_in_order]
    box = box_of_ranges(region)
    if (
        tree.checked
        and at_once
        and not writes_all(tree, block, buffer, place.around, [box], analyzer)
    ):
        raise ScheduleError(
            f"the iterations of {{0}} run at once, and {{1}} may not write all that would be "
            f"copied back to `{buffer.name}`: one could undo what another one writes",
            at=[at_once[-1], block],
            afterwards=partial(carried_afterwards, at_once[-1]),
        )
    return region
