"""The block of an extern operation."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.ir.dtype import BOOL
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.te.operation import ExternOp
from tilewright.te.tensor import Tensor, zero_like
from tilewright.tir.buffer import ZERO, Buffer, BufferLoad, BufferRegion, Range
from tilewright.tir.stmt import Block, BlockRealize, Stmt
from tilewright.tir.substitute import substitute


def extern_block(op: ExternOp, buffers: Mapping[Tensor, Buffer], name: str) -> Stmt:
    """One opaque block that reads and writes whole buffers, around the statement of `op`."""
    ins = [buffers[tensor] for tensor in op.inputs]
    outs = [buffers[tensor] for tensor in op.outputs]
    variables: dict[Var, Expr] = {}
    replaced: dict[Buffer, Buffer] = {}
    placeholders = (*op.input_placeholders, *op.output_placeholders)
    for placeholder, buffer in zip(placeholders, (*ins, *outs), strict=True):
        replaced[placeholder] = buffer
        variables |= _parts(placeholder, buffer)
    body, allocated = _without_root(substitute(op.body, variables, replaced))
    loaded = {node.buffer for node in walk(body) if isinstance(node, BufferLoad)}
    read = dict.fromkeys([*ins, *(buffer for buffer in outs if buffer in loaded)])
    block = Block(
        (), tuple(map(_whole, read)), tuple(map(_whole, outs)), name, body, None, allocated
    )
    return BlockRealize((), IntImm(BOOL, 1), block)


def _parts(placeholder: Buffer, buffer: Buffer) -> dict[Var, Expr]:
    """What the variables of `placeholder` are in `buffer`."""
    parts: dict[Var, Expr] = {placeholder.data: buffer.data}
    wanted = (*placeholder.shape, *placeholder.strides, placeholder.elem_offset)
    strides = (buffer.strides or compact_strides(buffer.shape)) if placeholder.strides else ()
    for symbol, value in zip(wanted, (*buffer.shape, *strides, buffer.elem_offset), strict=True):
        if isinstance(symbol, Var) and symbol is not value:
            parts[symbol] = value
    return parts


def compact_strides(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The strides of a row-major array of the given shape."""
    strides: list[Expr] = []
    stride: Expr = IntImm(shape[-1].dtype, 1) if shape else ZERO
    for extent in reversed(shape):
        strides.append(stride)
        stride = stride * extent
    return tuple(reversed(strides))


def _whole(buffer: Buffer) -> BufferRegion:
    return BufferRegion(buffer, tuple(Range.from_min_extent(zero_like(e), e) for e in buffer.shape))


def _without_root(body: Stmt) -> tuple[Stmt, tuple[Buffer, ...]]:
    """The body of a function without its root block, and the buffers that the block holds."""
    if isinstance(body, BlockRealize) and is_const_int(body.predicate, 1):
        block = body.block
        if block.name_hint == "root" and not (
            block.iter_vars or block.match_buffers or block.annotations
        ):
            return block.body, block.alloc_buffers
    return body, ()
