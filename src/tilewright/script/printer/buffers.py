"""Printers of buffers, their accesses, and calls."""

from __future__ import annotations

from typing import Any

from tilewright.error import TVMError
from tilewright.ir.dtype import HANDLE, INT32, DType, PointerType, PrimType
from tilewright.ir.expr import Call, Expr, IntImm, Ramp, StringImm, Sub, is_const_int
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.ir.range import extent_between
from tilewright.ir.structural import structural_equal
from tilewright.script.printer.core import ATOM, EXPRESSIONS, Printer, Rendered, prints, quoted
from tilewright.tir import op as functions
from tilewright.tir.buffer import Buffer, BufferLoad, BufferRegion, MatchBufferRegion, Range
from tilewright.tir.expr import CommReducer, IterVar, ProducerLoad, Reduce
from tilewright.tir.index_map import IndexMap
from tilewright.tir.substitute import variables_of


def same(a: Any, b: Any) -> bool:
    """Whether two small expressions are structurally equal."""
    return a is b or (a.__class__ is b.__class__ and structural_equal(a, b))


# --- accesses -------------------------------------------------------------------------------


@prints(EXPRESSIONS, Buffer)
def _buffer(p: Printer, node: Buffer) -> Rendered:
    return buffer_name(p, node), ATOM


def buffer_name(p: Printer, buffer: Buffer) -> str:
    """The name of a buffer that is used."""
    name = p.names.find(buffer)
    if name is None:
        name = p.define_buffer(buffer)
    return p.mark(buffer, name)


@prints(EXPRESSIONS, BufferLoad)
def _load(p: Printer, node: BufferLoad) -> Rendered:
    name = buffer_name(p, node.buffer)
    if node.predicate is not None:
        predicate = p.expr(node.predicate)
        return f"{name}.vload([{p.exprs(node.indices)}], predicate={predicate})", ATOM
    return f"{name}[{subscript(p, node.indices)}]", ATOM


def subscript(p: Printer, indices: tuple[Any, ...]) -> str:
    """Indices as between brackets."""
    return ", ".join([_index(p, index) for index in indices]) if indices else "()"


def _index(p: Printer, index: Any) -> str:
    """An index; a contiguous vector of them as a slice."""
    if (
        p.options.syntax_sugar
        and index.__class__ is Ramp
        and is_const_int(index.stride, 1)
        and index.stride.dtype is index.base.dtype
    ):
        stop = index.base + IntImm(index.base.dtype, index.lanes)
        return p.mark(index, f"{p.expr(index.base)}:{p.expr(stop)}")
    return p.expr(index)


@prints(EXPRESSIONS, Range)
def _range(p: Printer, node: Range) -> Rendered:
    return f"{p.tir}Range({p.expr(node.min)}, {p.expr(stop_of(node.min, node.extent))})", ATOM


def stop_of(low: Any, extent: Any) -> Any:
    """The end of a range, such that `extent_between(low, end)` is `extent` as it is."""
    is_difference = isinstance(extent, Sub) and same(extent.b, low)
    if is_difference and same(extent_between(low, extent.a), extent):
        return extent.a
    return low + extent


@prints(EXPRESSIONS, BufferRegion)
def _region(p: Printer, node: BufferRegion) -> Rendered:
    parts = [p.mark(item, _slice(p, item)) for item in node.region]
    return f"{buffer_name(p, node.buffer)}[{', '.join(parts) or '()'}]", ATOM


def _slice(p: Printer, item: Range) -> str:
    if is_const_int(item.extent, 1) and item.extent.dtype is item.min.dtype:
        return p.expr(item.min)
    return f"{p.expr(item.min)}:{p.expr(item.min + item.extent)}"


# --- declarations ---------------------------------------------------------------------------


def buffer_arguments(p: Printer, buffer: Buffer, *, data: bool = True) -> str:
    """Shape and non-default properties, as the arguments of a declaration.

    Args:
        data: whether to name the pointer, if it is defined already.
    """
    parts = [p.tuple(buffer.shape)]
    if buffer.dtype is not p.options.buffer_dtype:
        parts.append(quoted(buffer.dtype))
    if data:
        pointer = p.names.find(buffer.data)
        if pointer is not None:
            parts.append(f"data={pointer}")
    parts += _layout_arguments(p, buffer)
    return ", ".join(parts)


def _layout_arguments(p: Printer, buffer: Buffer) -> list[str]:
    parts = []
    if buffer.strides:
        parts.append(f"strides={p.tuple(buffer.strides)}")
    # With an offset_factor and no offset, any offset would match.
    if not _starts_at_zero(buffer) or buffer.offset_factor != 1:
        parts.append(f"elem_offset={p.expr(buffer.elem_offset)}")
    if buffer.scope() != "global":
        parts.append(f"scope={quoted(buffer.scope())}")
    if buffer.data_alignment:
        parts.append(f"align={buffer.data_alignment}")
    if buffer.offset_factor != 1:
        parts.append(f"offset_factor={buffer.offset_factor}")
    if buffer.buffer_type:
        parts.append(f"buffer_type={quoted(buffer.buffer_type)}")
    if buffer.axis_separators:
        parts.append(f"axis_separators=[{p.exprs(buffer.axis_separators)}]")
    return parts


def _starts_at_zero(buffer: Buffer) -> bool:
    return is_const_int(buffer.elem_offset, 0) and buffer.elem_offset.dtype == "int32"


def has_plain_layout(buffer: Buffer) -> bool:
    """Whether shape and dtype say all there is to say."""
    plain = buffer.data.dtype is HANDLE and _points_to_elements(buffer)
    return (
        plain
        and all(is_const_int(extent) for extent in buffer.shape)
        and not (buffer.strides or buffer.data_alignment or buffer.buffer_type)
        and not buffer.axis_separators
        and _starts_at_zero(buffer)
        and buffer.offset_factor == 1
    )


def _points_to_elements(buffer: Buffer) -> bool:
    annotation = buffer.data.type_annotation
    return (
        isinstance(annotation, PointerType)
        and annotation.storage_scope == "global"
        and isinstance(annotation.element_type, PrimType)
        and annotation.element_type.dtype is buffer.dtype
    )


def declare_undeclared(p: Printer, buffer: Buffer) -> None:
    """Append the line that makes a buffer which no node of the program declares."""
    arguments = buffer_arguments(p, buffer)
    name = p.define_buffer(buffer)
    p.line(f"{p.mark(buffer, name)} = {p.tir}Buffer({arguments})")


def declare_symbolic(p: Printer, buffer: Buffer) -> None:
    """Append lines for the variables that the declaration of `buffer` defines."""
    for part in (*buffer.shape, *buffer.strides, buffer.elem_offset):
        for var in variables_of(part):
            if p.names.find(var) is None:
                p.declare_var(var)


def match_arguments(p: Printer, source: str, buffer: Buffer) -> str:
    """The arguments of `T.match_buffer` for a buffer over `source`."""
    return f"{source}, {buffer_arguments(p, buffer, data=False)}"


@prints(EXPRESSIONS, MatchBufferRegion)
def _match_buffer(p: Printer, node: MatchBufferRegion) -> Rendered:
    return f"{p.tir}match_buffer({match_arguments(p, p.expr(node.source), node.buffer)})", ATOM


@prints(EXPRESSIONS, Call)
def _call(p: Printer, node: Call) -> Rendered:
    op = node.op
    if not isinstance(op, Op):
        return _call_of_function(p, node)
    arguments = [p.expr(argument) for argument in node.args]
    dtype = quoted(node.dtype)
    if not p.options.verbose_expr:
        for name in _function_names(op):
            for place in (None, 0, len(arguments)):
                if _gives(name, node, place):
                    if place is not None:
                        arguments.insert(place, dtype)
                    return f"{p.tir}{name}({', '.join(arguments)})", ATOM
    parts = [dtype, quoted(op.name), *arguments]
    return f"{p.tir}call_intrin({', '.join(parts)})", ATOM


def _function_names(op: Op) -> list[str]:
    """Names that its function may have: ``tir.tvm_call_packed`` is made by `call_packed`."""
    name = op.name.removeprefix("tir.")
    return [n for n in dict.fromkeys((name.removeprefix("tvm_"), name)) if hasattr(functions, n)]


def _gives(name: str, node: Call, dtype_at: int | None) -> bool:
    """Whether the function of that name builds `node` again, given its operands.

    Args:
        name: a function of `tilewright.tir.op`.
        node: the call.
        dtype_at: the position of the dtype among the arguments, if it is one.
    """
    operands = [_as_written(argument) for argument in node.args]
    if dtype_at is not None:
        operands.insert(dtype_at, node.dtype)
    try:
        result = getattr(functions, name)(*operands)
    except (TVMError, TypeError, AttributeError, ValueError):
        return False
    return (
        isinstance(result, Call)
        and result.op is node.op
        and result.dtype is node.dtype
        and len(result.args) == len(node.args)
        and all(map(same, result.args, node.args))
    )


def _as_written(argument: Expr) -> Any:
    """The Python value that the text of an argument evaluates to."""
    if isinstance(argument, IntImm):
        return argument.value if argument.dtype is INT32 else argument
    return argument.value if isinstance(argument, StringImm) else argument


def _call_of_function(p: Printer, node: Call) -> Rendered:
    callee = p.expr(node.op) if isinstance(node.op, GlobalVar) else p.value(node.op)
    if node.dtype is DType("void"):
        return f"{callee}({p.exprs(node.args)})", ATOM
    return f"{p.tir}Call({quoted(node.dtype)}, {callee}, [{p.exprs(node.args)}])", ATOM


@prints(EXPRESSIONS, IterVar)
def _iter_var(p: Printer, node: IterVar) -> Rendered:
    name = p.names.find(node.var)
    var = name if name is not None else p.expr(node.var)
    dom = "None" if node.dom is None else p.expr(node.dom)
    kind = "".join(part.capitalize() for part in node.iter_type.name.split("_"))
    return f"{p.tir}iter_var({var}, {dom}, {quoted(kind)}, {quoted(node.thread_tag)})", ATOM


@prints(EXPRESSIONS, ProducerLoad)
def _producer_load(p: Printer, node: ProducerLoad) -> Rendered:
    return f"{node.producer.name}[{p.exprs(node.indices)}]", ATOM


@prints(EXPRESSIONS, CommReducer)
def _comm_reducer(p: Printer, node: CommReducer) -> Rendered:
    p.names.push()
    names = ", ".join([p.names.define(v, v.name) for v in (*node.lhs, *node.rhs)])
    result = p.expr(node.result[0]) if len(node.result) == 1 else p.tuple(node.result)
    p.names.pop()
    identity = p.exprs(node.identity_element)
    return f"{p.tir}comm_reducer(lambda {names}: {result}, [{identity}])", ATOM


@prints(EXPRESSIONS, IndexMap)
def _index_map(p: Printer, node: IndexMap) -> Rendered:
    p.names.push()
    names = ", ".join([p.names.define(var, var.name) for var in node.initial_indices])
    dtypes = [var.dtype for var in node.initial_indices]
    indices = [_new_index(p, index, dtypes[0] if dtypes else INT32) for index in node.final_indices]
    p.names.pop()
    result = f"({indices[0]},)" if len(indices) == 1 else f"({', '.join(indices)})"
    parts = [f"lambda {names}: {result}" if names else f"lambda: {result}"]
    if node.inverse_index_map is not None:
        parts.append(f"inverse_index_map={p.expr(node.inverse_index_map)}")
    if any(dtype is not INT32 for dtype in dtypes):
        same = all(dtype is dtypes[0] for dtype in dtypes)
        parts.append(f"index_dtype={p.value(dtypes[0] if same else dtypes)}")
    return f"{p.tir}index_map({', '.join(parts)})", ATOM


def _new_index(p: Printer, index: Expr, dtype: DType) -> str:
    """The text of one result; a number alone would be read as one of type `dtype`."""
    if isinstance(index, IntImm) and not index.dtype is dtype is p.options.int_dtype:
        return f"{p.tir}{index.dtype}({index.value})"
    return p.expr(index)


@prints(EXPRESSIONS, Reduce)
def _reduce(p: Printer, node: Reduce) -> Rendered:
    parts = [
        p.expr(node.combiner), f"[{p.exprs(node.source)}]", f"[{p.exprs(node.axis)}]",
        p.expr(node.condition), str(node.value_index), f"[{p.exprs(node.init)}]",
    ]  # fmt: skip
    return f"{p.tir}Reduce({', '.join(parts)})", ATOM
