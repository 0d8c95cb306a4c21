"""Calls of operators and functions to Python expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from tilewright import error
from tilewright.error import InterpreterError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Call, Expr
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.interpreter.emitter import Code
from tilewright.tir.interpreter.intrinsics import (
    LANE_WISE,
    combine_lanes,
    dot_product,
    matrix_product,
    reinterpret,
    scalar_function,
)
from tilewright.tir.interpreter.memory import BufferView, Pointer, compact_strides

if TYPE_CHECKING:
    from tilewright.tir.interpreter.expression import ExpressionCompiler


class Return(Exception):  # noqa: N818, it is control flow
    """Leaves the function; `args[0]` is the result."""


class CallCompiler:
    """Compiles calls, for an expression compiler."""

    def __init__(self, expressions: ExpressionCompiler) -> None:
        self.expressions = expressions
        self._functions: dict[tuple[str, DType, DType], Callable[..., Any]] = {}

    def code(self, call: Call) -> Code:
        """The Python code of a call."""
        if isinstance(call.op, GlobalVar):
            return self._apply("call_function", repr(call.op.name_hint), *self._texts(call.args))
        if not isinstance(call.op, Op):
            raise self._unsupported(f"a call of {call.op!r}")
        name = call.op.name.removeprefix("tir.")
        if name in LANE_WISE:
            return self._lane_wise(name, call)
        special = _SPECIAL.get(name)
        if special is None:
            raise self._unsupported(f"the operator {call.op.name}")
        return special(self, call)

    def _unsupported(self, what: str) -> InterpreterError:
        place = self.expressions.emitter.place_text()
        return InterpreterError(f"{what} cannot be executed here, in\n{place}")

    def _lane_wise(self, name: str, call: Call) -> Code:
        dtype, operand = call.dtype.element, call.args[0].dtype.element
        key = name, dtype, operand
        if key not in self._functions:
            self._functions[key] = scalar_function(name, dtype, operand)
        function = self.expressions.function(self._functions[key], name)
        holes = ", ".join(f"{{{i}}}" for i in range(len(call.args)))
        return self.expressions._lane_wise(f"{function}({holes})", *call.args)

    def _texts(self, args: tuple[Expr, ...]) -> list[str]:
        return [self.expressions.text(arg) for arg in args]

    def _apply(self, function: str | Callable[..., Any], *texts: str) -> Code:
        """A call of a Python function (by global name, or itself)."""
        if not isinstance(function, str):
            function = self.expressions.function(function, function.__name__)
        return Code(f"{function}({', '.join(texts)})", depth=20)

    # --- operators by name ------------------------------------------------------------------

    def _if_then_else(self, call: Call) -> Code:
        condition, chosen, other = (self.expressions.code(arg) for arg in call.args)
        depth = max(condition.depth, chosen.depth, other.depth) + 1
        return Code(f"({chosen.text} if {condition.text} else {other.text})", depth=depth)

    def _address_of(self, call: Call) -> Code:
        load = call.args[0]
        if not isinstance(load, BufferLoad):
            raise self._unsupported(f"the address of {load!r}")
        name = self.expressions.buffer(load.buffer)
        return self._apply(f"{name}_view.address", *self._texts(load.indices))

    def _atomic_add(self, call: Call) -> Code:
        """Iterations run one after the other, so that nothing comes in between."""
        dtype = self.expressions.function(call.dtype, "dtype")
        return self._apply(_add_to, dtype, *self._texts(call.args))

    def _access_ptr(self, call: Call) -> Code:
        annotation, data, offset, *_ = call.args
        size = str(annotation.dtype.itemsize)
        return self._apply(_advance, *self._texts((data, offset)), size)

    def _struct_array(self, call: Call) -> Code:
        data, shape, strides, _, example, offset = call.args
        dtype = self.expressions.function(example.dtype, "dtype")
        return self._apply(_make_array, *self._texts((data, shape, strides)), dtype,
                           self.expressions.text(offset))  # fmt: skip

    def _tuple(self, call: Call) -> Code:
        return Code(f"({''.join(f'{text}, ' for text in self._texts(call.args))})", depth=20)

    def _named(self, call: Call) -> Code:
        """A call of a Python function by its registered name."""
        dtype = self.expressions.function(call.dtype, "dtype")
        return self._apply("call_packed", dtype, *self._texts(call.args))

    def _traced(self, call: Call) -> Code:
        """A call of a Python function that may replace its last argument."""
        dtype = self.expressions.function(call.dtype, "dtype")
        return self._apply("call_trace", dtype, *self._texts(call.args))

    def _is_null(self, call: Call) -> Code:
        return Code(f"({self.expressions.text(call.args[0])} is None)", depth=20)

    def _reinterpret(self, call: Call) -> Code:
        dtypes = (call.args[0].dtype, call.dtype)
        names = (self.expressions.function(dtype, "dtype") for dtype in dtypes)
        return self._apply(reinterpret, self.expressions.text(call.args[0]), *names)

    def _half(self, call: Call) -> Code:
        lanes = call.args[0].dtype.lanes // 2
        low = isinstance(call.op, Op) and call.op.name == "tir.vectorlow"
        part = f"[:{lanes}]" if low else f"[{lanes}:]"
        text = f"{self.expressions.text(call.args[0])}{part}"
        return Code(text if lanes > 1 else f"{text}[0]", depth=20)

    def _combine(self, call: Call) -> Code:
        first, second = (self.expressions.lanes(arg) for arg in call.args)
        return Code(f"({first} + {second})", depth=20)

    def _lane_mask(self, call: Call) -> Code:
        return self._apply(_lane_mask, *self._texts(call.args), str(call.dtype.lanes))

    def _dot_product(self, call: Call) -> Code:
        dtype = self.expressions.function(call.dtype, "dtype")
        return self._apply(dot_product, *self._texts(call.args), dtype)

    def _matrix_product(self, call: Call) -> Code:
        dtype = self.expressions.function(call.dtype, "dtype")
        return self._apply(matrix_product, *self._texts(call.args), dtype)

    def _reduce_lanes(self, call: Call) -> Code:
        dtype = self.expressions.function(call.dtype, "dtype")
        return self._apply(combine_lanes, *self._texts(call.args), dtype)

    def _lookup(self, call: Call) -> Code:
        index, table = (self.expressions.lanes(arg) for arg in call.args)
        lanes = f"[table[i & 31] for table in [{table}] for i in {index}]"
        return Code(lanes if call.dtype.is_vector else f"{lanes}[0]", depth=20)

    def _any_lane(self, call: Call) -> Code:
        return self._apply(any, self.expressions.lanes(call.args[0]))

    def _return(self, call: Call) -> Code:
        return self._apply(_return, *self._texts(call.args))

    def _raise_error(self, call: Call) -> Code:
        return self._apply(_raise_error, *self._texts(call.args))

    def _assume(self, call: Call) -> Code:
        return self._apply(_assume, *self._texts(call.args))

    def _nothing(self, call: Call) -> Code:
        del call
        return Code("None")

    def _any_value(self, call: Call) -> Code:
        return Code("(-1)" if call.dtype.is_integral else "float('nan')")

    def _one(self, call: Call) -> Code:
        del call
        return Code("1", 1, 1)


_SPECIAL: Final[dict[str, Callable[[CallCompiler, Call], Code]]] = {
    "if_then_else": CallCompiler._if_then_else,
    "address_of": CallCompiler._address_of,
    "atomic_add": CallCompiler._atomic_add,
    "tvm_access_ptr": CallCompiler._access_ptr,
    "tvm_stack_make_array": CallCompiler._struct_array,
    "tvm_stack_make_shape": CallCompiler._tuple,
    "tvm_tuple": CallCompiler._tuple,
    "tvm_call_packed": CallCompiler._named,
    "tvm_call_cpacked": CallCompiler._named,
    "tvm_call_trace_packed": CallCompiler._traced,
    "call_extern": CallCompiler._named,
    "call_pure_extern": CallCompiler._named,
    "isnullptr": CallCompiler._is_null,
    "reinterpret": CallCompiler._reinterpret,
    "vectorlow": CallCompiler._half,
    "vectorhigh": CallCompiler._half,
    "vectorcombine": CallCompiler._combine,
    "get_active_lane_mask": CallCompiler._lane_mask,
    "dp2a": CallCompiler._dot_product,
    "dp4a": CallCompiler._dot_product,
    "dp4a_narrow": CallCompiler._dot_product,
    "mmla": CallCompiler._matrix_product,
    "reduce_lanes": CallCompiler._reduce_lanes,
    "any_lane": CallCompiler._any_lane,
    "lookup": CallCompiler._lookup,
    "ret": CallCompiler._return,
    "raise_error": CallCompiler._raise_error,
    "assume": CallCompiler._assume,
    "prefetch_address": CallCompiler._nothing,
    "undef": CallCompiler._any_value,
    "vscale": CallCompiler._one,
}


def _add_to(dtype: DType, pointer: Pointer, value: Any) -> Any:
    array, index = pointer.view(dtype)
    before = array[index].item()
    array[index] += np.asarray(value).astype(array.dtype)
    return before


def _advance(pointer: Pointer, offset: int, size: int) -> Pointer:
    return Pointer(pointer.memory, pointer.position + offset * size)


def _make_array(
    data: Pointer, shape: tuple[int, ...], strides: tuple[int, ...] | int, dtype: DType, offset: int
) -> Any:
    """A numpy array on the memory of a program."""
    steps = strides if isinstance(strides, tuple) else compact_strides(shape)
    return BufferView("argument", dtype, shape, steps, offset, data).as_array()


def _lane_mask(base: int, limit: int, lanes: int) -> list[bool]:
    return [base + lane < limit for lane in range(lanes)]


def _return(value: Any = None) -> NoReturn:
    raise Return(value)


def _assume(condition: bool) -> bool:
    if not condition:
        raise InterpreterError("an assumption of the program does not hold")
    return True


_BUILTIN_ERRORS: Final = {
    cls.__name__: cls
    for cls in (RuntimeError, ValueError, TypeError, IndexError, KeyError, AssertionError,
                MemoryError, OverflowError)
}  # fmt: skip


class ProgramError(Exception):
    """An error that the program itself raises; `args[0]` is the exception for the user."""


def _raise_error(kind: str, message: str, *values: Any) -> NoReturn:
    text = re.sub(r"%[hlzjt]+", "%", message) % values
    raise ProgramError(_BUILTIN_ERRORS.get(kind, error.InternalError)(text))
