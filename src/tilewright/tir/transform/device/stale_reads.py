"""Recurrences of which a thread reads what another one has not stored yet::

    for i in thread_binding(2, "threadIdx.x"):
        for j in range(4):                                  # thread 1 begins with B[3], which
            B[i * 4 + j] = B[i * 4 + j - 1] + A[i * 4 + j]  # thread 0 stores in its last iteration

Threads come to an iteration of ``j`` together, so that barriers between iterations do not help.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.ir.structural import structural_equal
from tilewright.tir.access import Access, collect_accesses
from tilewright.tir.analysis.dependence.access_sides import AccessSide, Dimension, meeting
from tilewright.tir.analysis.dependence.example import Sample, sample_pair
from tilewright.tir.analysis.dependence.solver import answers, isl, limited, read_map
from tilewright.tir.analysis.dependence.violation import NotProved
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import BlockRealize, BufferStore, For, ForKind
from tilewright.tir.transform.device.kernel_error import KernelError
from tilewright.tir.transform.device.thread_axes import BLOCKS, THREADS, tag_of
from tilewright.tir.transform.device.thread_conflicts import is_shared


def refuse_stale_reads(func: PrimFunc) -> PrimFunc:
    """`func`, if no statement certainly loads what another thread stores by it at a later time.

    What is too complicated to decide is left to the proof of the step that bound a loop.

    Raises:
        KernelError: for a statement whose value of an element, the loops taken in order, is one
            that its kernel has not made by then.
    """
    recurrences: dict[BufferStore, list[Access]] = {}
    for access in filter(
        _is_of_recurrence, collect_accesses(func.body, enter_blocks=True).accesses
    ):
        recurrences.setdefault(access.store, []).append(access)  # type: ignore[arg-type]
    for accesses in recurrences.values():
        *loads, store = accesses
        for load in loads if store.is_write else ():
            example = _early_load(load, store)
            if example is not None:
                name = store.buffer.name
                raise KernelError(
                    f"{name}: a thread reads {name}{list(load.indices)} before another one has "
                    f"stored it, by {name}{list(store.indices)} = ...",
                    loops=[loop.loop_var for loop in store.around.loops if _is_thread(loop)],
                    example=example,
                    hint="let one thread run all of the recurrence",
                )
    return func


def _is_of_recurrence(access: Access) -> bool:
    """Whether an access belongs to a store to the same memory, which threads share."""
    if access.store is None or access.memory is not access.store.buffer.data:
        return False
    return is_shared(access) and not _is_of_an_iteration(access)


def _is_of_an_iteration(access: Access) -> bool:
    """Whether each iteration of a loop over threads has the memory for itself."""
    around = access.around.definitions
    threads = (isinstance(node, For) and _is_thread(node) for node in around)
    outermost = next((place for place, found in enumerate(threads) if found), len(around))
    blocks = [node.block for node in around[outermost:] if isinstance(node, BlockRealize)]
    return any(buffer.data is access.memory for block in blocks for buffer in block.alloc_buffers)


def _is_thread(loop: For) -> bool:
    return tag_of(loop) in THREADS


def _early_load(load: Access, store: Access) -> str | None:
    """Two threads of which one certainly loads an element before the other one stores it."""
    loops = store.around.loops
    threads = [place for place, loop in enumerate(loops) if _is_thread(loop)]
    times = [place for place, loop in enumerate(loops) if _is_in_time(loop)]
    if not threads or not times or times[-1] < threads[0] or load.buffer is not store.buffer:
        return None
    if all(map(structural_equal, load.indices, store.indices)):
        return None  # an update in place, of which threads have elements of their own
    with limited():
        found = answers(_stale)(load, store, loops, times)
    return None if found is None or isinstance(found, NotProved) else _text(found, loops)


def _text(found: Sample, loops: Sequence[For]) -> str:
    ends = (
        ", ".join(f"{tag_of(loop) or loop.loop_var.name}={value}"
                  for loop, value in zip(loops, values, strict=True) if tag_of(loop) not in BLOCKS)
        for values in (found.first, found.second)
    )  # fmt: skip
    return "read at {}, and stored at {}".format(*ends)


def _is_in_time(loop: For) -> bool:
    """Whether the iterations of a loop run one after the other, in all threads at once."""
    return loop.thread_binding is None and loop.kind is not ForKind.VECTORIZED


def _stale(
    load: Access, store: Access, loops: Sequence[For], times: Sequence[int]
) -> Sample | None:
    """A load of which the last store before it, the loops taken in order, runs at a later time."""
    numbers = range(len(loops))
    sides = [_side(access, letter, loops) for access, letter in ((store, "a"), (load, "b"))]
    blocks = [f"a{n} = b{n}" for n in numbers if tag_of(loops[n]) in BLOCKS]
    order = " and ".join([*blocks, f"({_precedes('a', 'b', numbers)})"])
    pairs = meeting(sides, order)
    kinds = isl().dim_type
    stores = pairs.project_out(kinds.set, 2 * len(loops), len(store.indices))
    last = isl().Map.from_range(stores).move_dims(kinds.in_, 0, kinds.out, len(loops), len(loops))
    ends = [", ".join(f"{letter}{n}" for n in numbers) for letter in ("b", "a")]
    later = read_map(f"{{ [{ends[0]}] -> [{ends[1]}] : {_precedes('b', 'a', times)} }}")
    found = last.lexmax().intersect(later)
    if found.is_empty() or not all(side.exact for side in sides):
        return None
    return sample_pair(found)


def _side(access: Access, letter: str, loops: Sequence[For]) -> AccessSide:
    """The access of an iteration of all loops."""
    dimensions = [
        Dimension(loop.loop_var, f"{letter}{number}", loop.min, loop.extent)
        for number, loop in enumerate(loops)
    ]
    return AccessSide(access.without(loops), letter, dimensions)


def _precedes(one: str, other: str, places: Sequence[int]) -> str:
    """The lexicographic order of two iterations of loops."""
    return " or ".join(
        " and ".join([*(f"{one}{m} = {other}{m}" for m in places[:k]), f"{one}{n} < {other}{n}"])
        for k, n in enumerate(places)
    )
