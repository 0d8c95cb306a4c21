"""Tensors computed by statements or functions over whole buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import BOOL, DType
from tilewright.ir.expr import Expr, IntImm, Var, is_const_int
from tilewright.ir.rewrite import walk
from tilewright.te.operation import ExternOp
from tilewright.te.tag import TagScope
from tilewright.te.tensor import Tensor, as_shape, shape_text, zero_like
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, Range, decl_buffer
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block, BlockRealize, Evaluate, For, ForKind, Stmt, seq
from tilewright.tir.substitute import substitute
from tilewright.tir.transform.building.allocations import compact_strides


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[..., Any],
    name: str = "extern",
    dtype: Any = None,
    in_buffers: Any = None,
    out_buffers: Any = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors computed by a statement, such as a call of an external function.

    Args:
        shape: shape of the output, or a list of shapes for several outputs.
        inputs: the tensors that the statement reads.
        fcompute: from two lists of buffers, inputs and outputs, to a statement or a call.
        name: of the operation.
        dtype: dtype of each output; by default that of the inputs, if they agree.
        in_buffers: buffers that stand for the inputs, to demand strides or alignment.
        out_buffers: buffers that stand for the outputs.
        tag: what kind of computation it is.
        attrs: further data about it.

    Returns:
        A `Tensor`, or a tuple of tensors for several shapes.

    Raises:
        ArgumentError: for inputs that are not tensors, a wrong number of buffers or dtypes, or a
            result of `fcompute` that is neither a statement nor an expression.
    """
    owner = f"te.extern {name!r}"
    tensors = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"{owner}: input {position} is not a tensor: {tensor!r}")
    several = isinstance(shape, (tuple, list)) and bool(shape)
    several = several and isinstance(shape[0], (tuple, list))
    shapes = [as_shape(s, owner) for s in (shape if several else [shape])]
    ins = _buffers(owner, "in_buffers", in_buffers, [(t.name, t.shape, t.dtype) for t in tensors])
    if out_buffers is None:
        dtypes = _output_dtypes(owner, dtype, len(shapes), tensors)
        wanted = [(name, s, d) for s, d in zip(shapes, dtypes, strict=True)]
    else:
        listed = (out_buffers,) if isinstance(out_buffers, Buffer) else tuple(out_buffers)
        wanted = [(name, s, b.dtype) for s, b in zip(shapes, listed, strict=False)]
    outs = _buffers(owner, "out_buffers", out_buffers, wanted)
    body = as_statement(owner, fcompute(list(ins), list(outs)))
    op = ExternOp(name, TagScope.resolve(tag), attrs, tensors, ins, outs, body)
    return op.outputs if len(op.outputs) > 1 else op.output(0)


def extern_primfunc(
    input_tensors: Sequence[Tensor],
    primfunc: PrimFunc,
    name: str | None = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors computed by a TVMScript function.

    Args:
        input_tensors: one tensor for each of the first buffer parameters of `primfunc`; the other
            buffer parameters are the outputs.
        primfunc: a function whose parameters are all buffers of static shape, or of the shapes of
            the inputs.
        name: of the operation; by default the name of the function.
        tag: what kind of computation it is.
        attrs: further data about it.

    Returns:
        A `Tensor`, or a tuple of tensors if there are several outputs.

    Raises:
        ArgumentError: if the parameters do not fit the inputs.
    """
    if not isinstance(primfunc, PrimFunc):
        raise ArgumentError(f"te.extern_primfunc: expected a PrimFunc, got {primfunc!r}")
    label = name or primfunc.global_symbol or "extern_primfunc"
    owner = f"te.extern_primfunc {label!r}"
    scalars = [p.name for p in primfunc.params if p not in primfunc.buffer_map]
    if scalars:
        raise ArgumentError(f"{owner}: parameters {scalars} are scalars, only buffers are allowed")
    tensors = tuple(input_tensors)
    if len(tensors) >= len(primfunc.params):
        raise ArgumentError(
            f"{owner}: {len(tensors)} input tensors for {len(primfunc.params)} parameters leave no "
            "output"
        )
    primfunc = primfunc.specialize(_sizes_of_inputs(primfunc, tensors))
    buffers = tuple(primfunc.buffer_map[p] for p in primfunc.params)
    ins, outs = buffers[: len(tensors)], buffers[len(tensors) :]
    _buffers(owner, "parameters", ins, [(t.name, t.shape, t.dtype) for t in tensors])
    op = ExternOp(label, TagScope.resolve(tag), attrs, tensors, ins, outs, primfunc.body)
    return op.output(0) if len(outs) == 1 else op.outputs


def buffer_for(
    owner: str, tensor: Tensor, given: Buffer | None, options: Mapping[str, Any] | None = None
) -> Buffer:
    """The buffer that a user wants for a tensor, after checking it, or a new one."""
    if given is None:
        return decl_buffer(tensor.shape, tensor.dtype, tensor.name, **(options or {}))
    if given.dtype is not tensor.dtype or given.ndim != tensor.ndim:
        raise ArgumentError(
            f"{owner}: buffer {given.name} {shape_text(given.shape)} {given.dtype!s} cannot hold "
            f"tensor {tensor.name} {shape_text(tensor.shape)} {tensor.dtype!s}"
        )
    return given


def _sizes_of_inputs(primfunc: PrimFunc, tensors: tuple[Tensor, ...]) -> dict[Any, Buffer]:
    """For each parameter of symbolic shape, a buffer of the shape of its input."""
    sizes: dict[Any, Buffer] = {}
    for param, tensor in zip(primfunc.params, tensors, strict=False):
        buffer = primfunc.buffer_map[param]
        if not buffer.has_static_shape() and buffer.ndim == tensor.ndim:
            sizes[param] = decl_buffer(tensor.shape, tensor.dtype, buffer.name)
    return sizes


def _output_dtypes(owner: str, dtype: Any, count: int, tensors: tuple[Tensor, ...]) -> list[DType]:
    if dtype is None:
        found = {tensor.dtype for tensor in tensors}
        if len(found) != 1:
            raise ArgumentError(f"{owner}: give `dtype`, it does not follow from the inputs")
        return [found.pop()] * count
    if isinstance(dtype, str):
        return [DType(dtype)] * count
    if len(dtype) != count:
        raise ArgumentError(f"{owner}: {len(dtype)} dtypes for {count} outputs")
    return [DType(item) for item in dtype]


def _buffers(
    owner: str, what: str, given: Any, wanted: list[tuple[str, tuple[Expr, ...], DType]]
) -> tuple[Buffer, ...]:
    """The buffers given by the user after checking them, or new ones."""
    if given is None:
        return tuple(decl_buffer(shape, dtype, name) for name, shape, dtype in wanted)
    buffers = (given,) if isinstance(given, Buffer) else tuple(given)
    if len(buffers) != len(wanted):
        raise ArgumentError(f"{owner}: {len(buffers)} {what} for {len(wanted)} tensors")
    for buffer, (name, shape, dtype) in zip(buffers, wanted, strict=True):
        if not isinstance(buffer, Buffer):
            raise ArgumentError(f"{owner}: {what} must be buffers, got {buffer!r}")
        if buffer.dtype is not dtype or buffer.ndim != len(shape):
            raise ArgumentError(
                f"{owner}: buffer {buffer.name} of shape {shape_text(buffer.shape)} and dtype "
                f"{buffer.dtype!s} cannot stand for {name} of shape {shape_text(shape)} and dtype "
                f"{dtype!s}"
            )
    return buffers


def as_statement(owner: str, result: Any) -> Stmt:
    """What a function of the user gives for a statement."""
    if isinstance(result, Stmt):
        return result
    if isinstance(result, Expr):
        return Evaluate(result)
    if isinstance(result, (tuple, list)) and result:
        return seq([as_statement(owner, item) for item in result])
    raise ArgumentError(f"{owner}: fcompute must give a statement or a call, got {result!r}")


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
            parts[symbol] = cast(symbol.dtype, value)
    return parts


def _whole(buffer: Buffer) -> BufferRegion:
    return BufferRegion(buffer, tuple(map(Range.from_extent, buffer.shape)))


def _without_root(body: Stmt) -> tuple[Stmt, tuple[Buffer, ...]]:
    """The body of a function without its root block, and the buffers that the block holds."""
    if isinstance(body, BlockRealize) and is_const_int(body.predicate, 1):
        block = body.block
        if block.name_hint == "root" and not (
            block.iter_vars or block.match_buffers or block.annotations
        ):
            return block.body, block.alloc_buffers
    return body, ()


def loop_nest(extents: Sequence[Expr], body: Callable[[list[Expr]], Stmt], name: str = "i") -> Stmt:
    """Loops over all elements of a box, the first outermost; `body` gets the loop variables."""
    variables = [Var(f"{name}{n}", extent.dtype) for n, extent in enumerate(extents)]
    statement = body(list(variables))
    for variable, extent in zip(reversed(variables), reversed(extents), strict=True):
        statement = For(variable, zero_like(extent), extent, ForKind.SERIAL, statement)
    return statement


def grouped_loop(extent: Expr, body: Callable[[Expr], Stmt], group: int, name: str = "i") -> Stmt:
    """A loop with `group` steps in each of its own, for bodies that take few instructions."""
    size = const(group, extent.dtype)
    groups = floordiv(extent, size)

    step = Var(f"{name}_step", extent.dtype)

    def steps(at: list[Expr]) -> Stmt:
        one = body(at[0] * size + step)
        return For(step, zero_like(extent), size, ForKind.UNROLLED, one)

    def one_step(at: list[Expr]) -> Stmt:
        return body(groups * size + at[0])

    whole = loop_nest((groups,), steps, f"{name}_group")
    rest = extent - groups * size
    return whole if is_const_int(rest, 0) else seq(whole, loop_nest((rest,), one_step, name))
