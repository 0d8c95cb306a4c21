"""Operators other than tensor programs: calls of functions, closures, effects and view."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tilewright.error import ArgumentError, InterpreterError, UnknownNameError
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.relax.expr import Call, ExternFunc, Function
from tilewright.relax.interpreter.values import Shape, as_value
from tilewright.relax.op import base, conversion, view
from tilewright.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from tilewright.runtime.ndarray import alias
from tilewright.runtime.registry import fail, get_global_func, print_values

if TYPE_CHECKING:
    from tilewright.relax.interpreter.evaluator import Evaluator, Frame

Evaluation = Callable[["Evaluator", Call, "Frame"], Any]

EVALUATIONS: Final[dict[Op, Evaluation]] = {}
"""How each operator is run that has no tensor program."""


def evaluation(*ops: Op) -> Callable[[Evaluation], Evaluation]:
    """Decorator of the function that runs an operator."""

    def add(function: Evaluation) -> Evaluation:
        EVALUATIONS.update(dict.fromkeys(ops, function))
        return function

    return add


def registered(name: str) -> Callable[..., Any]:
    """A registered function on values.

    Raises:
        InterpreterError: if there is none.
    """
    try:
        function = get_global_func(name)
    except UnknownNameError as error:
        raise InterpreterError(
            f"{name!r} is neither a function of the module nor registered: {error}"
        ) from None
    return lambda *args: as_value(function(*map(_as_foreign, args)))


def _as_foreign(value: Any) -> Any:
    """A value as a registered function takes it: arrays on the same memory."""
    if isinstance(value, np.ndarray):
        return alias(value)
    if isinstance(value, tuple) and not isinstance(value, Shape):
        return [_as_foreign(field) for field in value]
    return value


# --- kernels ---------------------------------------------------------------------------------


def _new_arrays(evaluator: Evaluator, info: StructInfo, frame: Frame) -> list[np.ndarray]:
    """Arrays for what a kernel writes; until then all bits of them are ones."""
    fields = info.fields if isinstance(info, TupleStructInfo) else (info,)
    arrays = []
    for field in fields:
        assert isinstance(field, TensorStructInfo)
        assert field.dtype is not None
        shape = evaluator.evaluate(field.shape, frame)
        array = np.empty(shape, field.dtype.numpy)
        array.reshape(-1).view(np.uint8)[:] = 0xFF
        arrays.append(array)
    return arrays


def _as_result(info: StructInfo, arrays: list[Any]) -> Any:
    return tuple(arrays) if isinstance(info, TupleStructInfo) else arrays[0]


def _kernel_call(evaluator: Evaluator, call: Call, frame: Frame) -> tuple[str, list[Any], Any]:
    """The name of the tensor program that is called, its arrays, and its sizes."""
    name, *operands = call.args
    assert isinstance(name, GlobalVar)
    inputs, *scalars = [evaluator.evaluate(operand, frame) for operand in operands]
    return name.name_hint, inputs, scalars[0] if scalars else ()


@evaluation(base.CALL_TIR, base.CALL_TIR_WITH_GRAD)
def _call_tir(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    name, inputs, sizes = _kernel_call(evaluator, call, frame)
    outputs = _new_arrays(evaluator, call.sinfo_args[0], frame)
    evaluator.kernels.run(name, [*inputs, *outputs, *sizes])
    return _as_result(call.sinfo_args[0], outputs)


@evaluation(base.CALL_TIR_INPLACE)
def _call_tir_inplace(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    name, inputs, sizes = _kernel_call(evaluator, call, frame)
    new = _new_arrays(evaluator, call.sinfo_args[0], frame)
    indices = [int(index) for index in call.attrs["inplace_indices"]]
    inputs = [  # constants are never written over
        array.copy() if position in indices and not array.flags.writeable else array
        for position, array in enumerate(inputs)
    ]
    outputs = [inputs[i] if i >= 0 else array for i, array in zip(indices, new, strict=True)]
    added = [array for i, array in zip(indices, new, strict=True) if i < 0]
    evaluator.kernels.run(name, [*inputs, *added, *sizes])
    return _as_result(call.sinfo_args[0], outputs)


@evaluation(base.CALL_DPS_PACKED)
def _call_dps_packed(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    callee, operands = call.args
    inputs = evaluator.evaluate(operands, frame)
    outputs = _new_arrays(evaluator, call.sinfo_args[0], frame)
    name = callee.global_symbol if isinstance(callee, ExternFunc) else callee.name_hint  # type: ignore[attr-defined]
    if isinstance(evaluator.find(name), Function):
        raise ArgumentError(
            f"R.call_dps_packed: {name!r} is a graph function, which returns its result; call it"
        )
    evaluator.function_by_name(name)(*inputs, *outputs)
    return _as_result(call.sinfo_args[0], outputs)


# --- functions that return values ------------------------------------------------------------


@evaluation(base.CALL_PURE_PACKED, base.CALL_INPLACE_PACKED)
def _call_packed(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    function, *args = [evaluator.evaluate(argument, frame) for argument in call.args]
    return as_value(function(*args), call.struct_info)


@evaluation(base.MAKE_CLOSURE)
def _make_closure(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    function, captured = [evaluator.evaluate(argument, frame) for argument in call.args]
    return lambda *args: function(*args, *captured)


@evaluation(base.INVOKE_CLOSURE, base.INVOKE_PURE_CLOSURE)
def _invoke_closure(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    closure, args = [evaluator.evaluate(argument, frame) for argument in call.args]
    return closure(*args)


# --- effects ---------------------------------------------------------------------------------


@evaluation(base.PRINT)
def _print(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    values = [evaluator.evaluate(argument, frame) for argument in call.args]
    print_values(str(call.attrs["format"]), *values)
    return ()


@evaluation(base.ASSERT_OP)
def _assert(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    condition, *values = [evaluator.evaluate(argument, frame) for argument in call.args]
    if not np.asarray(condition).item():
        fail(str(call.attrs["format"]), *values)
    return ()


@evaluation(*conversion.MOVES)
def _to_vdevice(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    """The evaluator has one memory."""
    return evaluator.evaluate(call.args[0], frame)


# --- shapes ----------------------------------------------------------------------------------


@evaluation(view.SHAPE_OF)
def _shape_of(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    return Shape(evaluator.evaluate(call.args[0], frame).shape)


@evaluation(view.TENSOR_TO_SHAPE)
def _tensor_to_shape(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    return Shape(evaluator.evaluate(call.args[0], frame))


@evaluation(view.SHAPE_TO_TENSOR)
def _shape_to_tensor(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    return np.array(evaluator.evaluate(call.args[0], frame), dtype=np.int64)


@evaluation(base.NULL_VALUE)
def _null_value(evaluator: Evaluator, call: Call, frame: Frame) -> Any:
    del evaluator, call, frame
