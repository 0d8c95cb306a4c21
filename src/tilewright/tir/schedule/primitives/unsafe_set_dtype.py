"""Storing a buffer in another element type."""

from __future__ import annotations

from typing import Any

from tilewright.error import DTypeError
from tilewright.ir.convert import cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Var
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferLoad, MatchBufferRegion, decl_buffer
from tilewright.tir.schedule.buffer_reference import buffer_written, recorded_index
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import primitive
from tilewright.tir.schedule.proofs.scope import require_allocating_block
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, BufferStore
from tilewright.tir.substitute import BufferRewriter


@primitive
def unsafe_set_dtype(
    tree: FunctionTree, block: BlockRealize, buffer_index: Any, dtype: str
) -> Edit:
    """Store the elements of a buffer in another type.

    What is stored is converted, and what is read is converted back. Unsafe, because values change
    that the other type does not represent.

    Before::

        B = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * T.float32(2)
        for i in range(16):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi] + T.float32(1)

    After ``unsafe_set_dtype("B", 0, "float16")``::

        B = T.alloc_buffer((16,), "float16")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = T.Cast("float16", A[vi] * T.float32(2))
        for i in range(16):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = T.Cast("float32", B[vi]) + T.float32(1)

    Requires: the buffer is allocated inside of the function, and accessed by loads and stores.

    Args:
        block: a block that writes the buffer.
        buffer_index: the position of the buffer in what the block writes, or its name.
        dtype: the new type of the elements.

    Raises:
        ScheduleError: for a name that is not a dtype, a parameter or a view, or a buffer that is
            accessed by its pointer or a view.

    Example::

        sch = tir.Schedule(scale_add)
        sch.unsafe_set_dtype("B", 0, "float16")
    """
    region = buffer_written(block, buffer_index)
    buffer = region.buffer
    owner = require_allocating_block(tree, buffer)
    try:
        element = DType(dtype)
    except DTypeError as error:
        raise ScheduleError(str(error), at=[block]) from None
    if element.is_handle or element.lanes != buffer.dtype.lanes:
        raise ScheduleError(
            f"the elements of `{buffer.name}`, {buffer.dtype!s}, cannot become {element!s}",
            at=[block],
        )
    _require_plain_accesses(owner.block, buffer)
    pointer = decl_buffer((), element, buffer.data.name, scope=buffer.scope()).data
    changed = buffer.replace(data=pointer, dtype=element)
    edit = tree.edit({owner.block: _Conversion(buffer, changed)(owner.block)})
    return edit._replace(recorded=recorded_index("buffer_index", block, region))


def _require_plain_accesses(block: Block, buffer: Buffer) -> None:
    for node in walk(block):
        if isinstance(node, Var) and node is buffer.data:
            raise ScheduleError(f"the pointer of `{buffer.name}` is used, whose type would change")
        if isinstance(node, MatchBufferRegion) and node.source.buffer is buffer:
            raise ScheduleError(
                f"`{node.buffer.name}` is a view of `{buffer.name}`, whose type would change"
            )
        used = getattr(node, "buffer", None)
        if used is not None and used is not buffer and used.data is buffer.data:
            raise ScheduleError(
                f"`{used.name}` shares the memory of `{buffer.name}`, whose type would change"
            )


class _Conversion(BufferRewriter):
    def __init__(self, old: Buffer, new: Buffer) -> None:
        super().__init__()
        self._old = old
        self._buffers[old] = new

    def BufferLoad(self, load: BufferLoad) -> Any:
        dtype, changed = load.dtype, super().BufferLoad(load)
        return cast(dtype, changed) if load.buffer is self._old else changed

    def BufferStore(self, store: BufferStore) -> Any:
        store = store.map_children(self)
        if store.buffer is not self._old:
            return store
        new = self.buffer(self._old)
        value = cast(new.dtype.with_lanes(store.value.dtype.lanes), store.value)
        return store.replace(buffer=new, value=value)
