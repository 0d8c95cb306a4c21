"""A PrimFunc to a Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tilewright.error import InterpreterError
from tilewright.ir.expr import Expr, Var
from tilewright.ir.node import Node
from tilewright.ir.recursion import deep_recursion
from tilewright.ir.rewrite import walk
from tilewright.tir.buffer import Buffer, MatchBufferRegion
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter.argument import (
    array_argument,
    check_compact,
    check_extent,
    check_stride,
    known,
    pointer_argument,
    scalar_argument,
)
from tilewright.tir.interpreter.emitter import Emitter
from tilewright.tir.interpreter.statement import StatementCompiler
from tilewright.tir.stmt import Block, DeclBuffer
from tilewright.tir.substitute import variables_of


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
