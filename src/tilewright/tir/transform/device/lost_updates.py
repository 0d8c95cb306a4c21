"""Updates of an element by several threads at once, of which all but one are lost::

    for k in thread_binding(32, "threadIdx.x"):
        B[0] = B[0] + A[k]                  # each thread may read B[0] before the others store

No barrier helps, as the update is one statement. A block says that it is a reduction, and then
`lower_cross_thread_reduction` shares it among the threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.ir.convert import as_expr
from tilewright.tir.access import Access, Condition, collect_accesses
from tilewright.tir.buffer import storage_scope
from tilewright.tir.memory_owner import MemoryOwner, owner_of
from tilewright.tir.stmt import BufferStore, For, Stmt
from tilewright.tir.transform.device.kernel_error import KernelError
from tilewright.tir.transform.device.thread_axes import Axis
from tilewright.tir.transform.device.thread_conflicts import ThreadConflicts, is_shared


def refuse_lost_updates(body: Stmt, axes: Sequence[Axis]) -> None:
    """Refuse a kernel in which threads certainly update the same element at once.

    What is too complicated to decide is left to the proof of the step that bound a loop.

    Args:
        body: what each thread does.
        axes: those of the kernel.

    Raises:
        KernelError: for a statement that loads what another thread stores by it.
    """
    found = collect_accesses(body)
    own = {p for p in found.allocated if owner_of(storage_scope(p)) is not MemoryOwner.BLOCK}
    updates: dict[BufferStore, list[Access]] = {}
    for access in filter(is_shared, found.accesses):
        if access.store is not None and access.store.buffer.data not in own:
            updates.setdefault(access.store, []).append(_in_one_iteration(access))
    conflicts = ThreadConflicts(axes)
    for store, accesses in updates.items():
        *loads, target = accesses
        for load in loads if target.is_write else ():
            if conflicts.certainly_among_threads(load, target):
                name = store.buffer.name
                raise KernelError(
                    f"{name}: threads update the same element at once, by {name}"
                    f"{list(store.indices)} = ..., and all but one of the updates may be lost",
                    example=conflicts.threads_that_meet(load, target),
                    hint="if it is a reduction, write it as a block with T.axis.reduce and T.init, "
                    "which threads share, or do not bind its loop",
                )


def _in_one_iteration(access: Access) -> Access:
    """The access where threads are in the same iteration of each loop."""
    loops = access.around.loops
    within = [condition for loop in loops for condition in _range_of(loop)]
    return access.without(loops).where(*within)


def _range_of(loop: For) -> Iterator[Condition]:
    yield Condition(as_expr(loop.min <= loop.loop_var))
    yield Condition(as_expr(loop.loop_var < loop.min + loop.extent))
