"""What is written once and not read soon goes past the caches, where the schedule says so.

An ordinary store first reads the cache line that it writes to, and keeps it, which pushes out
something else. A store that is marked as non-temporal writes whole lines to memory. The annotation
``nontemporal_stores`` of a loop lists the names of the buffers for which that is done::

    for i in T.serial(4096, annotations={"nontemporal_stores": ["B"]}):
        B[i * 16 : i * 16 + 16] = A[i * 16 : i * 16 + 16]

A dictionary in the place of the list says for each name whether it is done, by 1 or 0.

It pays for results that are larger than the caches, and costs where they are read soon after.

Only whole vectors that are aligned to their size, or to a line of a cache, are stored so. Whether
the memory is aligned is asked once, in front of the loop; where it is not, or where the vectors of
the loop are not a multiple of that apart, the loop runs with ordinary stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tilewright.error import LoweringError
from tilewright.ir.convert import const
from tilewright.ir.expr import Ramp, StringImm, is_const_int
from tilewright.ir.rewrite import Rewriter
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import AttrStmt, BufferStore, For, ForKind, Stmt
from tilewright.tir.transform.analysis.affine import affine
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.machine import LINE_BYTES

NONTEMPORAL_STORES = "nontemporal_stores"
"""The annotation; and the key of the attribute of memory that is aligned to so many bytes."""

LEAST_BYTES: Final = 16
"""Size of the smallest vector that is stored past the caches."""


def stream_stores(func: PrimFunc) -> PrimFunc:
    """`func` with attributes on loops that are annotated with ``nontemporal_stores``.

    Raises:
        LoweringError: for an annotation that is neither a list of names nor a dictionary, for a
            name of a buffer to which no such loop stores vectors, and for a parallel loop.
    """
    if not any(
        isinstance(stmt, For) and NONTEMPORAL_STORES in stmt.annotations
        for stmt in statements(func.body)
    ):
        return func
    streaming = _Streaming()
    body = streaming(func.body)
    # What is left of a loop behind its whole tiles may have no whole vectors.
    for name, loop in streaming.without_vectors.items():
        if name not in streaming.names:
            raise LoweringError(
                f"{NONTEMPORAL_STORES}: loop {loop.loop_var.name} stores no whole vectors to "
                f"a buffer {name!r}"
            )
    return func.with_body(body)


class _Streaming(Rewriter):
    """Puts attributes around annotated loops.

    Attributes:
        names: of buffers to which such loops store vectors.
        without_vectors: loops that store none to the buffer of a name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.without_vectors: dict[str, For] = {}

    def For(self, loop: For) -> Stmt:
        if NONTEMPORAL_STORES not in loop.annotations:
            return loop.map_children(self)
        names = _names(loop)
        kept = {k: v for k, v in loop.annotations.items() if k != NONTEMPORAL_STORES}
        result: Stmt = loop.replace(annotations=kept).map_children(self)
        for name in names:
            stores = [*_vector_stores(loop, name)]
            if not stores:
                self.without_vectors.setdefault(name, loop)
                continue
            self.names.add(name)
            memories = {store.buffer.data for store in stores}
            for memory in memories:
                sizes = [_aligned_bytes(store) for store in stores if store.buffer.data is memory]
                if all(sizes):
                    value = const(max(sizes), "int32")
                    result = AttrStmt(memory, NONTEMPORAL_STORES, value, result)
        return result


def _names(loop: For) -> list[str]:
    value = loop.annotations[NONTEMPORAL_STORES]
    if isinstance(value, Mapping):
        names = [name for name, chosen in value.items() if not is_const_int(chosen, 0)]
    else:
        names = value if isinstance(value, (list, tuple)) else [value]
    texts = [name.value if isinstance(name, StringImm) else name for name in names]
    name = loop.loop_var.name
    if not all(isinstance(text, str) for text in texts):
        raise LoweringError(
            f"{NONTEMPORAL_STORES} of loop {name} must list names of buffers, got {value!r}"
        )
    if any(isinstance(s, For) and s.kind is ForKind.PARALLEL for s in statements(loop)):
        raise LoweringError(
            f"{NONTEMPORAL_STORES}: loop {name} is parallel, or has such a loop inside; annotate "
            "a loop inside of that one"
        )
    return texts


def _vector_stores(loop: For, name: str) -> Iterator[BufferStore]:
    """The stores of whole vectors of neighbours to buffers of that name."""
    for stmt in statements(loop.body):
        if isinstance(stmt, BufferStore) and stmt.buffer.name == name and stmt.predicate is None:
            index = stmt.indices[0]
            if isinstance(index, Ramp) and is_const_int(index.stride, 1):
                yield stmt


def _aligned_bytes(store: BufferStore) -> int:
    """The alignment of a vector that is stored at multiples of it; 0 for other places."""
    index = store.indices[0]
    assert isinstance(index, Ramp)
    itemsize = store.buffer.dtype.itemsize
    aligned = alignment_of(index.lanes * itemsize)
    form = affine(index.base)
    is_aligned = not any(n * itemsize % aligned for n in (form.constant, *form.terms.values()))
    return aligned if is_aligned and aligned >= LEAST_BYTES else 0


def alignment_of(size: int) -> int:
    """The alignment that stores past the caches need, for vectors of so many bytes: these are
    stored by lines, or by smaller registers."""
    return min(size & -size, LINE_BYTES)
