"""Memory for buffers of programs, and for elements that passes keep in registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.error import LoweringError
from tilewright.ir.convert import EMPTY, Attributes, as_expr, attributes, const
from tilewright.ir.dtype import BOOL, HANDLE, INT32, INT64, DType, PointerType, PrimType
from tilewright.ir.expr import Expr, IntImm, Ramp, Var
from tilewright.ir.rewrite import Rewriter, walk
from tilewright.tir.buffer import ONE, Buffer, BufferLoad
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import (
    Allocate,
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    Stmt,
)
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.analysis.memory_uses import Mentions
from tilewright.tir.transform.building.statements import statements


def compact_strides(shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """The strides of a compact row-major layout, in elements."""
    strides: list[Expr] = []
    stride: Expr = ONE
    for extent in reversed(shape):
        strides.append(stride)
        stride = _product(stride, extent)
    return tuple(reversed(strides))


STACK_LIMIT = 1 << 15
"""Bytes up to which backends keep memory of constant size on the stack, where it costs nothing."""


class Alignment(NamedTuple):
    """A wish that ``stride[axis] % factor == offset``."""

    axis: int
    factor: int
    offset: int


def aligned_strides(shape: Sequence[Expr], alignments: Iterable[Alignment]) -> tuple[Expr, ...]:
    """The least strides of a row-major layout that are as `alignments` ask."""
    strides: list[Expr] = []
    stride: Expr = ONE
    for axis in reversed(range(len(shape))):
        for wish in alignments:
            if wish.axis == axis:
                missing = (wish.offset - stride) % wish.factor
                stride = as_expr(stride + missing)
        strides.append(stride)
        stride = _product(stride, shape[axis])
    return tuple(reversed(strides))


BUFFER_DIM_ALIGN = "buffer_dim_align"
"""The annotation of a block, and of an allocation after it, that asks for alignments."""


def requested_alignments(func: PrimFunc) -> dict[Buffer, tuple[Alignment, ...]]:
    """How the blocks of `func` want the buffers aligned that they write.

    Raises:
        LoweringError: for an annotation of another form, and for a buffer that is not allocated by
            a block with a layout that is free.
    """
    found: dict[Buffer, tuple[Alignment, ...]] = {}
    allocated: set[Buffer] = set()
    for block in statements(func.body):
        if not isinstance(block, BlockRealize):
            continue
        block = block.block
        allocated.update(b for b in block.alloc_buffers if not b.strides)
        for item in block.annotations.get(BUFFER_DIM_ALIGN, ()):
            buffer, wish = _requested_alignment(block, item)
            found[buffer] = (*found.get(buffer, ()), wish)
    for buffer in found:
        if buffer not in allocated:
            raise LoweringError(
                f"{BUFFER_DIM_ALIGN}: the layout of {buffer.name} is given; only that of a buffer "
                "which a block allocates, without strides, can be padded"
            )
    return found


def _requested_alignment(block: Block, item: Any) -> tuple[Buffer, Alignment]:
    """What one entry of the annotation asks for."""
    numbers = [int(n) for n in item if isinstance(n, IntImm)] if isinstance(item, tuple) else []
    if len(numbers) == 4 and 0 <= numbers[0] < len(block.writes):
        buffer = block.writes[numbers[0]].buffer
        wish = Alignment(*numbers[1:])
        if 0 <= wish.axis < len(buffer.shape) and wish.factor > 0:
            return buffer, wish
    raise LoweringError(
        f"block {block.name_hint}: an entry of {BUFFER_DIM_ALIGN} is [position of the buffer among "
        f"the writes, axis, factor, offset], got {item!r}"
    )


def alignments_of(stmt: Allocate) -> tuple[Alignment, ...]:
    """The wishes that an allocation carries as an annotation."""
    found = stmt.annotations.get(BUFFER_DIM_ALIGN, ())
    return tuple(Alignment(*(int(number) for number in wish)) for wish in found)


def with_alignments(annotations: Attributes, wishes: Sequence[Alignment]) -> Attributes:
    """`annotations` with these wishes, instead of those that are there."""
    rest = {key: value for key, value in annotations.items() if key != BUFFER_DIM_ALIGN}
    added = {BUFFER_DIM_ALIGN: tuple(wishes)} if wishes else {}
    return attributes({**rest, **added})


def element_count(shape: Sequence[Expr]) -> Expr:
    """The number of elements of a compact buffer of that shape."""
    count: Expr = ONE
    for extent in shape:
        count = _product(count, extent)
    return count


def _product(a: Expr, b: Expr) -> Expr:
    """`a * b`, as int64 where constants do not fit int32."""
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        value = a.value * b.value
        if value > INT64.max_int:
            raise LoweringError(
                f"a buffer cannot have {value} elements, which is more than any memory holds"
            )
        dtype = INT64 if INT64 in (a.dtype, b.dtype) or value > INT32.max_int else INT32
        return IntImm(dtype, value)
    return as_expr(a * b)


def span(buffer: Buffer) -> Expr:
    """How many elements there are from `data` to the end of the last element of `buffer`.

    For a compact buffer that is the number of its elements (and `elem_offset`); a dimension of
    extent 0 counts as if the others were there.
    """
    if not buffer.strides:
        return as_expr(element_count(buffer.shape) + buffer.elem_offset)
    last: Expr = buffer.elem_offset
    for extent, stride in zip(buffer.shape, buffer.strides, strict=True):
        last = as_expr(last + _product(as_expr(extent - 1), stride))
    return as_expr(last + 1)


def allocate(body: Stmt, buffers: Mapping[Buffer, Sequence[Alignment]]) -> Stmt:
    """`body` with memory for `buffers`, which keeps in mind how they are to be aligned.

    Memory is allocated around the whole of `body`, so that loops use the same again and again. The
    iterations of a parallel loop cannot share it: a buffer that only they use, with the same
    elements in each of them, is allocated inside of the loop.
    """
    if not buffers:
        return body
    parallel = any(
        isinstance(stmt, For) and stmt.kind is ForKind.PARALLEL for stmt in statements(body)
    )
    mentions = Mentions()
    for buffer, wishes in reversed(list(buffers.items())):
        owner = _private_owner(body, buffer, mentions) if parallel else None
        if owner is None:
            body = allocation(body, buffer, wishes)
        else:
            inside = owner.replace(body=allocation(owner.body, buffer, wishes))
            body = _Replace(owner, inside)(body)
    return body


def allocation(body: Stmt, buffer: Buffer, wishes: Sequence[Alignment] = ()) -> Allocate:
    """`body` with memory for `buffer`."""
    extents = buffer.shape or (ONE,)
    if buffer.strides:
        extents = (span(buffer),)
    annotations = with_alignments(EMPTY, wishes)
    return Allocate(buffer.data, buffer.dtype, extents, const(True, BOOL), body, annotations)


def _private_owner(body: Stmt, buffer: Buffer, mentions: Mentions) -> For | None:
    """The innermost parallel loop whose iterations must have memory of their own, if any."""
    owner: For | None = None
    stmt: Stmt | None = body
    while stmt is not None:
        if isinstance(stmt, For) and stmt.kind is ForKind.PARALLEL:
            if _depends_on(stmt.body, buffer.data, stmt.loop_var):
                break
            owner = stmt
        users = [
            child
            for child in stmt.children()
            if isinstance(child, Stmt) and buffer.data in mentions(child)
        ]
        in_statement = isinstance(stmt, (BufferStore, Evaluate)) or len(users) != 1
        stmt = None if in_statement else users[0]
    return owner


class _Replace(Rewriter):
    def __init__(self, old: For, new: For) -> None:
        self._old, self._new = old, new

    def For(self, loop: For) -> Stmt:
        return self._new if loop is self._old else loop.map_children(self)


def _depends_on(stmt: Stmt, data: Var, var: Var) -> bool:
    """Whether the elements that `stmt` accesses depend on `var`."""
    return any(
        found is var
        for node in walk(stmt)
        if isinstance(node, (BufferLoad, BufferStore)) and node.buffer.data is data
        for index in node.indices
        for found in variables_of(index)
    )


def local_buffer(name: str, dtype: DType, size: int) -> Buffer:
    """A buffer of `size` elements of scope ``local``; at constant indices they are registers."""
    pointer = Var(name, HANDLE, PointerType(PrimType(dtype), "local"))
    return Buffer(pointer, dtype, (const(size, INT32),), name)


def lane_index(start: int, lanes: int) -> Expr:
    """The index of `lanes` neighbouring elements from `start` on."""
    first = const(start, INT32)
    return first if lanes == 1 else Ramp(first, ONE, lanes)
