"""Running a function or a module, and telling where it went wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import numpy as np

from tilewright.error import ArgumentError, InterpreterError, TVMError
from tilewright.ir.dtype import DType
from tilewright.ir.module import IRModule
from tilewright.tir.buffer import Buffer
from tilewright.tir.expand_tile_operations import expand_tile_operations
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter.calls import ProgramError, Return
from tilewright.tir.interpreter.emitter import node_text
from tilewright.tir.interpreter.function import CompiledFunction, compile_function, scalar_argument

FunctionLookup = Callable[[str], "Callable[..., Any] | None"]
_LOOKUPS: list[FunctionLookup] = []


def add_function_lookup(lookup: FunctionLookup) -> None:
    """Let programs call the functions that `lookup` finds by name (it returns None for others)."""
    _LOOKUPS.append(lookup)


class Interpreter:
    """Runs the functions of a program; each is prepared once.

    Args:
        program: a function, or a module whose functions may call each other.
        functions: Python functions that the program calls by name (`call_packed`, `call_extern`).
        check_reads: whether reading memory of the program before it is written is an error.
        reverse_parallel: whether parallel loops run backwards, which must make no difference.
    """

    def __init__(
        self,
        program: PrimFunc | IRModule,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        *,
        check_reads: bool = False,
        reverse_parallel: bool = False,
    ) -> None:
        if not isinstance(program, (PrimFunc, IRModule)):
            raise ArgumentError(f"expected a PrimFunc or an IRModule, got {program!r}")
        self._program = program
        self._functions = functions or {}
        self._options = (check_reads, reverse_parallel)
        self._compiled: dict[str, CompiledFunction] = {}
        self._host: dict[str, Callable[..., Any]] = {
            "call_function": self._call_function,
            "call_packed": self._call_packed,
            "call_trace": self._call_trace,
        }

    def run(self, name: str, *args: Any) -> Any:
        """Call the function `name` (any name will do for a program of one function).

        Arrays are numpy arrays, which are written in place. See `interpret`.
        """
        compiled = self.compiled(name)
        try:
            # Special values are part of the meaning of a program, not worth a warning.
            with np.errstate(all="ignore"):
                return self._invoke(name, compiled, list(args))
        except ProgramError as error:
            raise error.args[0] from None
        except InterpreterError as error:
            raise InterpreterError(f"{error}\n{self._place(error.__traceback__)}") from None
        except (ZeroDivisionError, MemoryError, ValueError) as error:
            if not _is_from_program(error):
                raise
            cause = _CAUSES.get(type(error)) or str(error)
            raise InterpreterError(f"{cause}\n{self._place(error.__traceback__)}") from None

    def compiled(self, name: str) -> CompiledFunction:
        """The function `name`, prepared to run."""
        found = self._compiled.get(name)
        if found is None:
            function = self._program if isinstance(self._program, PrimFunc) else self._program[name]
            if not isinstance(function, PrimFunc):
                raise ArgumentError(f"{name} is not a PrimFunc, it cannot be interpreted")
            function = expand_tile_operations(function)
            found = compile_function(function, name, *self._options, self._host)
            self._compiled[name] = found
        return found

    def _invoke(self, name: str, compiled: CompiledFunction, args: list[Any]) -> Any:
        function = self._program if isinstance(self._program, PrimFunc) else self._program[name]
        if len(args) != len(function.params):
            names = ", ".join(param.name for param in function.params)
            raise ArgumentError(
                f"{name}({names}) takes {len(function.params)} arguments, got {len(args)}"
            )
        try:
            compiled.run(args)
        except Return as result:
            return result.args[0]
        return None

    # --- what running programs call -----------------------------------------------------------

    def _call_function(self, name: str, *args: Any) -> Any:
        return self._invoke(name, self.compiled(name), list(args))

    def _function(self, name: str) -> Callable[..., Any]:
        function = self._functions.get(name)
        for lookup in _LOOKUPS:
            function = function or lookup(name)
        if function is None:
            raise InterpreterError(f"there is no function named {name!r} to call")
        return function

    def _call_trace(self, dtype: DType, name: str, *args: Any) -> Any:
        result = self._function(name)(*args)
        if result is None:
            return args[-1]
        return scalar_argument(result, dtype, f"(the result of {name})")

    def _call_packed(self, dtype: DType, name: str, *args: Any) -> Any:
        result = self._function(name)(*args)
        if result is None or dtype.is_handle or dtype.bits == 0:
            return 0 if dtype.is_integral else result
        return scalar_argument(result, dtype, f"(the result of {name})")

    # --- messages -----------------------------------------------------------------------------

    def _place(self, traceback: TracebackType | None) -> str:
        """The statement that was running, and the values of the variables around it."""
        by_file = {compiled.filename: compiled for compiled in self._compiled.values()}
        where, values = None, {}
        while traceback is not None:
            frame = traceback.tb_frame
            compiled = by_file.get(frame.f_code.co_filename)
            if compiled is not None:
                where = compiled.places[traceback.tb_lineno - 1]
                for local, name in compiled.names.items():
                    value = frame.f_locals.get(local)
                    if isinstance(value, (int, float)):
                        values[name] = value
            traceback = traceback.tb_next
        text = f"  in\n{node_text(where)}"
        if values:
            text += f"\n  with {', '.join(f'{name} = {value}' for name, value in values.items())}"
        return text


_CAUSES = {ZeroDivisionError: "division by zero", MemoryError: "there is not enough memory"}


def _is_from_program(error: Exception) -> bool:
    """Whether an error comes from the generated source, not from a function that it called."""
    traceback, filename = error.__traceback__, ""
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        traceback = traceback.tb_next
    return filename.startswith("<") and not isinstance(error, TVMError)


def interpret(
    program: PrimFunc | IRModule,
    *args: Any,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    check_reads: bool = False,
    reverse_parallel: bool = False,
) -> Any:
    """Run a tensor program: the meaning of the IR, slowly.

    Args:
        program: a function; or a module, then the first of `args` may be the name of the function
            (``"main"`` by default).
        args: numpy arrays, which are written in place, and numbers. `ArrayView` gives an array
            with an offset.
        functions: Python functions that the program calls by name; arrays reach them as numpy
            arrays on the memory of the program.
        check_reads: whether reading allocated memory before it is written is an error. Otherwise
            new memory holds bytes of 0xFF.
        reverse_parallel: whether parallel loops run backwards, which must make no difference.

    Returns:
        What the function returns by `ret`, or None.

    Raises:
        InterpreterError: for an access out of bounds, an unbound variable, a block iterator outside
            of its domain, a division of integers by zero; the message shows the statement and the
            values of the variables.
        ArgumentError, DTypeError, ShapeError: for arguments that do not fit.
        ProgramAssertionError: if an assertion of the program fails.
    """
    name = "main"
    if isinstance(program, IRModule):
        if args and isinstance(args[0], str):
            name, args = args[0], args[1:]
        elif name not in program and len(program) == 1:
            name = next(iter(program)).name_hint
    elif isinstance(program, PrimFunc):
        name = program.global_symbol or name
    interpreter = Interpreter(
        program, functions, check_reads=check_reads, reverse_parallel=reverse_parallel
    )
    return interpreter.run(name, *args)


def first_difference(func: PrimFunc, other: PrimFunc, runs: int = 3) -> str | None:
    """Where two functions of the same buffers differ on random data; None if they agree.

    The data are small integers, so that sums are exact in any order.

    Args:
        func: a function of buffers of constant shapes.
        other: another one with the same parameters.
        runs: how often to try.
    """
    random = np.random.default_rng(0)
    buffers = [func.buffer_map[param] for param in func.params]
    for _ in range(runs):
        arguments = [_random_array(buffer, random) for buffer in buffers]
        copies = [argument.copy() for argument in arguments]
        interpret(func, *arguments)
        interpret(other, *copies)
        for buffer, one, two in zip(buffers, arguments, copies, strict=True):
            if not np.array_equal(one, two, equal_nan=one.dtype.kind == "f"):
                place = tuple(int(i) for i in np.argwhere(one != two)[0])
                index = ", ".join(map(str, place))
                return f"{buffer.name}[{index}] is {two[place]} instead of {one[place]}"
    return None


def _random_array(buffer: Buffer, random: np.random.Generator) -> np.ndarray:
    shape = tuple(extent.value for extent in buffer.shape)  # type: ignore[attr-defined]
    low = 0 if buffer.dtype.is_uint else -4
    return random.integers(low, 5, shape).astype(buffer.dtype.numpy)
