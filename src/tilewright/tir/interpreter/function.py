"""A PrimFunc to a Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tilewright.error import ArgumentError, DTypeError, InterpreterError, ShapeError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, Var
from tilewright.ir.node import Node
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, MatchBufferRegion
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter.emitter import Emitter
from tilewright.tir.interpreter.memory import BufferView, Memory, Pointer, compact_strides
from tilewright.tir.interpreter.number import rounding
from tilewright.tir.interpreter.statement import StatementCompiler
from tilewright.tir.stmt import Block, DeclBuffer
from tilewright.tir.substitute import variables_of


class ArrayView(NamedTuple):
    """An array argument that starts inside of its memory: for buffers with an `elem_offset`.

    Attributes:
        memory: a one-dimensional array that holds the elements.
        shape: extents.
        strides: elements between neighbours, or empty for compact.
        elem_offset: position in `memory` of the first element.
    """

    memory: np.ndarray
    shape: tuple[int, ...]
    strides: tuple[int, ...] = ()
    elem_offset: int = 0


def scalar_argument(value: Any, dtype: DType, name: str) -> Any:
    """`value` as a number of the dtype of parameter `name`."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Pointer) or not isinstance(value, (bool, int, float)):
        raise ArgumentError(f"argument {name} must be a number of dtype {dtype!s}, got {value!r}")
    if dtype.is_float:
        return rounding(dtype)(float(value))
    if isinstance(value, float) or not dtype.min_int <= value <= dtype.max_int:
        raise DTypeError(f"argument {name} must be a value of dtype {dtype!s}, got {value!r}")
    return bool(value) if dtype.is_bool else int(value)


def pointer_argument(value: Any, name: str) -> Pointer | None:
    """`value` as an address, for a handle parameter without a buffer."""
    if value is None or isinstance(value, Pointer):
        return value
    if isinstance(value, np.ndarray):
        return _memory_of(value)
    raise ArgumentError(f"argument {name} must be an array or None, got {value!r}")


def array_argument(value: Any, dtype: DType, rank: int, name: str) -> BufferView:
    """`value` as a buffer; of a bare address nothing but the memory is known (shape None).

    Raises:
        ArgumentError: if it is not an array.
        DTypeError, ShapeError: if its dtype or number of dimensions is wrong.
    """
    if isinstance(value, Pointer):
        unknown: Any = (None,) * rank
        return BufferView(name, dtype, unknown, unknown, 0, value)
    offset = 0
    if isinstance(value, ArrayView):
        array, offset = value.memory, value.elem_offset
        shape, strides = value.shape, value.strides or compact_strides(value.shape)
    elif isinstance(value, np.ndarray):
        array, lanes = value, (1 if dtype.lanes == 1 else value.shape[-1])
        shape, strides = value.shape, _element_strides(value, name)
        if dtype.lanes > 1:
            if lanes != dtype.lanes or strides[-1] != 1:
                raise ShapeError(f"argument {name} must have {dtype.lanes} contiguous lanes")
            shape, strides = shape[:-1], tuple(s // lanes for s in strides[:-1])
    else:
        raise ArgumentError(f"argument {name} must be a numpy array, got {value!r}")
    if array.dtype != dtype.numpy:
        raise DTypeError(f"argument {name} must have dtype {dtype!s}, got {array.dtype}")
    if len(shape) != rank:
        raise ShapeError(f"argument {name} must have {rank} dimensions, got shape {shape}")
    return BufferView(name, dtype, tuple(shape), tuple(strides), offset, _memory_of(array))


def _element_strides(array: np.ndarray, name: str) -> tuple[int, ...]:
    if any(stride % array.itemsize for stride in array.strides):
        raise ShapeError(f"argument {name} has strides {array.strides}, in parts of an element")
    return tuple(stride // array.itemsize for stride in array.strides)


def _memory_of(array: np.ndarray) -> Pointer:
    """The address of element 0 of an array, in the memory between its first and last byte."""
    if array.size == 0:
        return Pointer(Memory(np.empty(0, dtype=np.uint8)), 0)
    last = tuple((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
    before = -sum(step for step in last if step < 0)
    size = before + sum(step for step in last if step > 0) + array.itemsize
    corner = tuple(
        slice(n - 1, n) if step < 0 else slice(0, 1)
        for n, step in zip(array.shape, last, strict=True)
    )
    # The `...` keeps an array without dimensions an array.
    lowest = array[(*corner, ...)].reshape(-1).view(np.uint8)
    data = np.lib.stride_tricks.as_strided(
        lowest, (size,), (1,), writeable=bool(array.flags.writeable)
    )
    return Pointer(Memory(data), before)


# --- checks that the compiled function makes --------------------------------------------------


def known(value: int | None, what: str) -> int:
    """`value`, an extent or stride that a variable stands for."""
    if value is None:
        raise InterpreterError(f"{what} cannot be known from a bare address")
    return value


def check_extent(what: str, found: int | None, expected: int) -> None:
    """Check one extent (or offset) of an argument."""
    if found is not None and found != expected:
        raise ShapeError(f"{what} must be {expected}, got {found}")


def check_stride(view: BufferView, dimension: int, expected: int) -> None:
    """Check one stride of an argument; of a dimension with one element any will do."""
    found: Any = view.strides[dimension]
    extent = view.shape[dimension]
    if found is not None and found != expected and extent > 1 and 0 not in view.shape:
        raise ShapeError(
            f"argument {view.name}: stride {dimension} must be {expected} elements, got {found}"
        )


def check_compact(view: BufferView) -> None:
    """Check that an argument is row-major and without gaps."""
    shape: Any = view.shape
    if None in shape:
        return
    for dimension, expected in enumerate(compact_strides(view.shape)):
        check_stride(view, dimension, expected)


class CompiledFunction(NamedTuple):
    """A function that can run.

    Attributes:
        run: takes the list of arguments.
        filename: what tracebacks call its source.
        places: the node that each line of the source comes from.
        names: the variable behind each local name.
        source: the Python text, for whoever debugs the interpreter.
    """

    run: Callable[[list[Any]], Any]
    filename: str
    places: list[Node]
    names: dict[str, str]
    source: str


@deep_recursion
def compile_function(
    function: PrimFunc,
    name: str,
    check_reads: bool,
    reverse_parallel: bool,
    host: dict[str, Callable[..., Any]],
) -> CompiledFunction:
    """Compile `function`; `host` has what its calls need by name."""
    emitter = Emitter()
    emitter.constants.update(host)
    statements = StatementCompiler(
        emitter, _implicit_buffers(function), check_reads, reverse_parallel
    )
    with emitter.place(function), emitter.block("def run(arguments):"):
        _Parameters(function, statements).bind()
        statements.statement(function.body)
    source, filename = "\n".join(emitter.lines), f"<tir {name}>"
    exec(compile(source, filename, "exec"), emitter.constants)
    run = emitter.constants["run"]
    return CompiledFunction(run, filename, emitter.places, emitter.names, source)


def _implicit_buffers(function: PrimFunc) -> dict[Var, list[Buffer]]:
    """For each pointer, the buffers on it that nothing declares, as they are in lowered form."""
    declared: set[Buffer] = set(function.buffer_map.values())
    used: dict[Buffer, None] = {}
    for node in walk(function.body):
        if isinstance(node, Block):
            declared.update(node.alloc_buffers)
        if isinstance(node, (DeclBuffer, MatchBufferRegion)):
            declared.add(node.buffer)
        elif isinstance(getattr(node, "buffer", None), Buffer):
            used[node.buffer] = None  # type: ignore[attr-defined]
    found: dict[Var, list[Buffer]] = {}
    for buffer in used:
        if buffer not in declared:
            found.setdefault(buffer.data, []).append(buffer)
    return found


class _Parameters:
    """Binds the parameters of a function, and what its buffers define."""

    def __init__(self, function: PrimFunc, statements: StatementCompiler) -> None:
        self.function = function
        self.statements = statements
        self.emitter = statements.emitter
        self.views: dict[Buffer, str] = {}
        self.checks: list[tuple[str, Expr]] = []

    def bind(self) -> None:
        """Append the lines."""
        pointers: list[Var] = []
        for position, param in enumerate(self.function.params):
            name, argument = self.emitter.bind(param), f"arguments[{position}]"
            buffer = self.function.buffer_map.get(param)
            if buffer is not None:
                self.emitter.line(f"{name} = {argument}")
                self._view(buffer, name)
            elif param.dtype.is_handle:
                pointers.append(param)
                call = self._call(pointer_argument, argument, repr(param.name))
                self.emitter.line(f"{name} = {call}")
            else:
                dtype = self._constant(param.dtype)
                call = self._call(scalar_argument, argument, dtype, repr(param.name))
                self.emitter.line(f"{name} = {call}")
        for buffer, view in self.views.items():
            self._define_sizes(buffer, view)
        for call, expr in self.checks:
            self.emitter.line(call.format(self._checked_text(expr)))
        for buffer, view in self.views.items():
            self._declare(buffer, view)
        for pointer in [*pointers, *(buffer.data for buffer in self.views)]:
            self.statements.bind_implicit(pointer)

    def _constant(self, value: Any) -> str:
        return self.emitter.constant(value, getattr(value, "__name__", "dtype"))

    def _call(self, function: Callable[..., Any], *texts: str) -> str:
        return f"{self._constant(function)}({', '.join(texts)})"

    def _view(self, buffer: Buffer, argument: str) -> None:
        view = self.views[buffer] = self.emitter.fresh(f"{buffer.name}_argument")
        dtype = self._constant(buffer.dtype)
        call = self._call(array_argument, argument, dtype, str(buffer.ndim), repr(buffer.name))
        self.emitter.line(f"{view} = {call}")

    def _define_sizes(self, buffer: Buffer, view: str) -> None:
        """Bind the variables that stand alone as an extent, stride or offset; note the rest."""
        for position, extent in enumerate(buffer.shape):
            what = f"extent {position} of argument {buffer.name}"
            found = f"{view}.shape[{position}]"
            check = self._call(check_extent, repr(what), found, "{}")
            self._bind_or_note(extent, self._call(known, found, repr(what)), check)
        for position, stride in enumerate(buffer.strides):
            what = f"stride {position} of argument {buffer.name}"
            check = self._call(check_stride, view, str(position), "{}")
            found = self._call(known, f"{view}.strides[{position}]", repr(what))
            self._bind_or_note(stride, found, check)
        if not buffer.strides:
            self.emitter.line(self._call(check_compact, view))
        found = f"{view}.elem_offset"
        check = self._call(check_extent, repr(f"offset of argument {buffer.name}"), found, "{}")
        self._bind_or_note(buffer.elem_offset, found, check)

    def _bind_or_note(self, expr: Expr, found: str, check: str) -> None:
        if isinstance(expr, Var) and expr not in self.emitter.variables:
            self.emitter.line(f"{self.emitter.bind(expr)} = {found}")
        else:
            self.checks.append((check, expr))

    def _checked_text(self, expr: Expr) -> str:
        for var in variables_of(expr):
            if var not in self.emitter.variables:
                raise InterpreterError(
                    f"size {var.name} of {self.function.global_symbol or 'the function'} is "
                    "neither a parameter nor the whole of an extent, stride or offset"
                )
        return self.statements.expressions.text(expr)

    def _declare(self, buffer: Buffer, view: str) -> None:
        emitter, text = self.emitter, self.statements.expressions.text
        if buffer.data not in emitter.variables:
            emitter.line(f"{emitter.bind(buffer.data)} = {view}.pointer")
        shape = "".join(f"{text(extent)}, " for extent in buffer.shape)
        strides = "".join(f"{text(stride)}, " for stride in buffer.strides)
        self.statements.bind_access(buffer, f"({shape})", f"({strides})", text(buffer.elem_offset))
