"""Properties of a buffer: storage scope, alignment and dtype."""

from __future__ import annotations

from typing import Any

from tilewright.error import DTypeError
from tilewright.ir.convert import as_attribute, cast
from tilewright.ir.dtype import DType, represents
from tilewright.ir.expr import Cast, IntImm, Var
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, BufferLoad, MatchBufferRegion, decl_buffer
from tilewright.tir.schedule.buffer_reference import (
    buffer_written,
    known_storage_scope,
    recorded_index,
)
from tilewright.tir.schedule.edits.caches import in_scope, redirected
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Number, primitive
from tilewright.tir.schedule.proofs.scope import require_allocating_block
from tilewright.tir.schedule.tree import Edit, FunctionTree
from tilewright.tir.stmt import Block, BlockRealize, BufferStore
from tilewright.tir.substitute import BufferRewriter


@primitive
def set_scope(
    tree: FunctionTree, block: BlockRealize, buffer_index: Any, storage_scope: str
) -> Edit:
    """Put a buffer that a block writes into a storage scope.

    Before::

        B = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * 2.0

    After ``set_scope("B", 0, "shared")``::

        B = T.alloc_buffer((16,), scope="shared")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * 2.0

    Requires: the buffer is allocated inside of the function.

    Args:
        block: a block that writes the buffer.
        buffer_index: the position of the buffer in what the block writes, or its name.
        storage_scope: where the buffer is to live.

    Raises:
        ScheduleError: for an unknown scope, or a buffer that is a parameter or a view.

    Example::

        sch = tir.Schedule(scale_add)
        sch.set_scope("B", 0, "shared")
    """
    storage_scope = known_storage_scope(storage_scope)
    region = buffer_written(block, buffer_index)
    buffer = region.buffer
    owner = require_allocating_block(tree, buffer)
    edit = Edit(tree.func)
    if buffer.scope() != storage_scope:
        moved = redirected(owner.block, buffer, in_scope(buffer, storage_scope))
        edit = tree.edit({owner.block: moved})
    return edit._replace(recorded=recorded_index("buffer_index", block, region))


ALIGNMENTS = "buffer_dim_align"


@primitive
def storage_align(
    tree: FunctionTree,
    block: BlockRealize,
    buffer_index: Any,
    axis: Number,
    factor: Number,
    offset: Number,
) -> Edit:
    """Make the stride of a dimension of a buffer ``k * factor + offset`` for some ``k``.

    The elements stay what they are; memory between rows keeps accesses in different banks, or
    rows aligned. It is an annotation of the block, which lowering carries out.

    Before::

        B = T.alloc_buffer((16, 32))
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0

    After ``storage_align("B", 0, axis=0, factor=32, offset=1)``, which gives rows of 33 elements::

        B = T.alloc_buffer((16, 32))
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"buffer_dim_align": [[0, 0, 32, 1]]})
                B[vi, vj] = A[vi, vj] * 2.0

    Requires: the buffer is allocated inside of the function.

    Args:
        block: the block that writes the buffer.
        buffer_index: the position of the buffer in what the block writes, or its name.
        axis: the dimension; a negative one counts from the end.
        factor: of which the stride less the offset is a multiple.
        offset: what the stride is more than such a multiple.

    Raises:
        ScheduleError: if there is no such dimension, for a factor that is not positive, for an
            annotation of another form, or a buffer that is a parameter or a view.

    Example::

        sch = tir.Schedule(scale_add)
        sch.storage_align("B", 0, axis=0, factor=32, offset=1)  # rows of 33 elements
    """
    region = buffer_written(block, buffer_index)
    buffer = region.buffer
    require_allocating_block(tree, buffer)
    if not -buffer.ndim <= axis < buffer.ndim:
        raise ScheduleError(
            f"`{buffer.name}` has {buffer.ndim} dimensions, so there is no axis {axis}", at=[block]
        )
    if factor <= 0:
        raise ScheduleError(f"the factor must be positive, got {factor}", at=[block])
    position = next(n for n, item in enumerate(block.block.writes) if item is region)
    wanted = (position, axis % buffer.ndim, factor, offset)
    kept = [item for item in _alignments(block) if item[:2] != wanted[:2]]
    annotations = {**block.block.annotations, ALIGNMENTS: as_attribute([*kept, wanted])}
    edit = tree.edit({block.block: block.block.replace(annotations=annotations)})
    return edit._replace(recorded=recorded_index("buffer_index", block, region))


def _alignments(block: BlockRealize) -> list[tuple[int, ...]]:
    """The alignments that the block has: buffer, axis, factor and offset of each."""
    value = block.block.annotations.get(ALIGNMENTS, ())
    found: list[tuple[int, ...]] = []
    for item in value if isinstance(value, tuple) else (value,):
        numbers = tuple(n.value for n in item if isinstance(n, IntImm)) if _is_four(item) else ()
        if len(numbers) != 4:
            raise ScheduleError(
                f"the annotation {ALIGNMENTS!r} of {{0}} is not a list of "
                "[buffer, axis, factor, offset]",
                at=[block],
            )
        found.append(numbers)
    return found


def _is_four(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 4


@primitive
def unsafe_set_dtype(
    tree: FunctionTree, block: BlockRealize, buffer_index: Any, dtype: str
) -> Edit:
    """Store the elements of a buffer in another type.

    What is stored is converted, and what is read is converted back, or directly to what it is
    converted to next if the other type represents all values. Unsafe, because values change that
    the other type does not represent.

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
        # All that is stored are values of the old type.
        self._widens = represents(new.dtype, old.dtype)

    def Cast(self, node: Cast) -> Any:
        if self._widens and isinstance(node.value, BufferLoad) and node.value.buffer is self._old:
            return cast(node.dtype, super().BufferLoad(node.value))
        return node.map_children(self)

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
