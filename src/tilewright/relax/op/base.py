"""Operators that call: tensor programs, registered functions and closures; and effects."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.convert import attributes
from tilewright.ir.module import GlobalVar
from tilewright.relax.expr import Call, ExternFunc, RelaxExpr, ShapeExpr, Tuple, as_relax
from tilewright.relax.op.table import Inference, call, given_result, register
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

__all__ = [
    "assert_op", "call_dps_packed", "call_inplace_packed", "call_packed", "call_pure_packed",
    "call_tir", "call_tir_inplace", "call_tir_with_grad", "invoke_closure", "invoke_pure_closure",
    "make_closure", "null_value", "print",
]  # fmt: skip

NOTHING = TupleStructInfo(())
"""The struct info of what returns no value."""


# --- what callers write ----------------------------------------------------------------------


def _callee(caller: str, function: object) -> Any:
    """The function of a call; a name stands for one of the module, or else of the registry."""
    if isinstance(function, str):
        return ExternFunc(function)
    if isinstance(function, (GlobalVar, ExternFunc)):
        return function
    raise ArgumentError(
        f"{caller}: the function is a name or a function of the module, got {function!r}"
    )


def _operands(caller: str, args: Any) -> RelaxExpr:
    """The arguments of a call as one tuple."""
    if isinstance(args, RelaxExpr):
        return args if isinstance(args, Tuple) else Tuple([args])
    if not isinstance(args, (tuple, list)):
        args = [args]
    fields = [as_relax(argument) for argument in args]
    for position, field in enumerate(fields):
        if not isinstance(field, RelaxExpr):
            raise ArgumentError(f"{caller}: argument {position} is not a value: {field!r}")
    return Tuple(fields)


def _output(caller: str, out_sinfo: Any, dtype: Any) -> StructInfo:
    """What a kernel writes: struct info, a list of struct info, or a shape and a dtype."""
    if isinstance(out_sinfo, StructInfo):
        if dtype is not None:
            raise ArgumentError(f"{caller}: dtype is part of out_sinfo, give one of them")
        return out_sinfo
    several = isinstance(out_sinfo, (tuple, list)) and len(out_sinfo) > 0
    if several and all(isinstance(info, StructInfo) for info in out_sinfo):
        return out_sinfo[0] if len(out_sinfo) == 1 else TupleStructInfo(out_sinfo)
    if dtype is None:
        raise ArgumentError(
            f"{caller}: out_sinfo is R.Tensor(shape, dtype), or several of them; for a shape "
            f"alone give dtype=, too; got {out_sinfo!r}"
        )
    if several and all(isinstance(shape, (tuple, list, ShapeExpr)) for shape in out_sinfo):
        dtypes = dtype if isinstance(dtype, (tuple, list)) else [dtype] * len(out_sinfo)
        pairs = zip(out_sinfo, dtypes, strict=True)
        return TupleStructInfo([TensorStructInfo(shape, kind) for shape, kind in pairs])
    return TensorStructInfo(out_sinfo, dtype)


def _struct_infos(caller: str, sinfo_args: Any) -> tuple[StructInfo, ...]:
    if sinfo_args is None:
        return ()
    infos = (sinfo_args,) if isinstance(sinfo_args, StructInfo) else tuple(sinfo_args)
    for info in infos:
        if not isinstance(info, StructInfo):
            raise ArgumentError(f"{caller}: sinfo_args are struct info, got {info!r}")
    return infos


# --- kernels ---------------------------------------------------------------------------------


def _given_output(inference: Inference) -> StructInfo:
    """The output that the call itself names, which must say what to allocate."""
    infos = inference.call.sinfo_args
    if len(infos) != 1:
        inference.error("the call must say by one out_sinfo what it returns")
    fields = infos[0].fields if isinstance(infos[0], TupleStructInfo) else infos
    for info in fields:
        if not isinstance(info, TensorStructInfo):
            inference.error(f"out_sinfo must be an array or a tuple of arrays, it is {info!r}")
        if info.shape is None or info.dtype is None:
            inference.error(f"out_sinfo must say the shape and the dtype, it is {info!r}")
    return infos[0]


def _kernel_output(inference: Inference) -> StructInfo:
    if not isinstance(inference.call.args[0], GlobalVar):
        inference.error("the function must be a tensor program of the module")
    return _given_output(inference)


CALL_TIR = register("call_tir", ("func", "args", "tir_vars*"), _kernel_output)
CALL_TIR_INPLACE = register("call_tir_inplace", ("func", "args", "tir_vars*"), _kernel_output)
CALL_DPS_PACKED = register("call_dps_packed", ("func", "args"), _given_output)


def call_tir(
    gvar: GlobalVar | str,
    args: Any,
    out_sinfo: Any,
    tir_vars: ShapeExpr | Sequence[Any] | None = None,
    *,
    dtype: Any = None,
) -> Call:
    """The result of a tensor program, which writes into arrays made for it.

    Args:
        gvar: the `PrimFunc` of the module. A name stands for a function that is found when the
            program is compiled or runs, as with `call_dps_packed`.
        args: the inputs.
        out_sinfo: what it writes; with `dtype`, the shape of it.
        tir_vars: values of scalar parameters that come after the arrays.
        dtype: type of the elements, where `out_sinfo` is a shape.
    """
    output = _output("R.call_tir", out_sinfo, dtype)
    if isinstance(gvar, (str, ExternFunc)):
        if tir_vars is not None:
            raise ArgumentError("R.call_tir: tir_vars need a function of the module, not a name")
        return call_dps_packed(gvar, args, output)
    return Call(CALL_TIR, _kernel_arguments("R.call_tir", gvar, args, tir_vars), None, [output])


def _kernel_arguments(caller: str, gvar: Any, args: Any, tir_vars: Any) -> list[Any]:
    if not isinstance(gvar, GlobalVar):
        raise ArgumentError(f"{caller}: the function is a tensor program of the module: {gvar!r}")
    operands: list[Any] = [gvar, _operands(caller, args)]
    if tir_vars is not None:
        operands.append(tir_vars if isinstance(tir_vars, RelaxExpr) else ShapeExpr(tir_vars))
    return operands


def _without_gradient(builder: Any, expr: Call) -> Call:
    """The call of the tensor program alone, which is all that running needs."""
    del builder
    return Call(CALL_TIR, expr.args, None, expr.sinfo_args, None, expr.span)


CALL_TIR_WITH_GRAD = register(
    "call_tir_with_grad", ("func", "args", "tir_vars*"), _kernel_output, _without_gradient
)


def call_tir_with_grad(
    gvar: GlobalVar,
    args: Any,
    out_sinfo: Any,
    te_grad_name: str,
    te_grad_kwargs: Mapping[str, Any] | None = None,
    tir_vars: ShapeExpr | Sequence[Any] | None = None,
) -> Call:
    """As `call_tir`, with the name of a function that makes the gradient, for who takes it.

    Args:
        gvar: the `PrimFunc` of the module.
        args: the inputs.
        out_sinfo: what it writes.
        te_grad_name: the name of the function.
        te_grad_kwargs: its further arguments.
        tir_vars: values of scalar parameters that come after the arrays.
    """
    caller = "R.call_tir_with_grad"
    _require_text(caller, "te_grad_name is the name of a function", te_grad_name)
    if not isinstance(te_grad_kwargs, (Mapping, type(None))):
        raise ArgumentError(f"{caller}: te_grad_kwargs is a dictionary, got {te_grad_kwargs!r}")
    attrs = {"te_grad_name": te_grad_name, "te_grad_kwargs": dict(te_grad_kwargs or {})}
    operands = _kernel_arguments(caller, gvar, args, tir_vars)
    output = _output(caller, out_sinfo, None)
    return Call(CALL_TIR_WITH_GRAD, operands, attributes(attrs), [output])


def _inplace_indices(caller: str, indices: Any) -> list[int]:
    """For each result the argument that it is written over."""
    several = list(indices) if isinstance(indices, (tuple, list)) else [indices]
    for index in several:
        if not isinstance(index, int) or isinstance(index, bool):
            raise ArgumentError(
                f"{caller}: inplace_indices are numbers of arguments, got {index!r}"
            )
    return several


def call_tir_inplace(
    gvar: GlobalVar,
    args: Any,
    inplace_indices: int | Sequence[int],
    out_sinfo: Any,
    tir_vars: ShapeExpr | Sequence[Any] | None = None,
) -> Call:
    """As `call_tir`, but some results are written over arguments, which nobody else may use.

    Args:
        gvar: the `PrimFunc`; results over arguments are not parameters of their own.
        args: the inputs.
        inplace_indices: for each result the argument that it is written over; -1 for a new array.
        out_sinfo: what it returns.
        tir_vars: values of scalar parameters.
    """
    output = _output("R.call_tir_inplace", out_sinfo, None)
    indices = _inplace_indices("R.call_tir_inplace", inplace_indices)
    results = len(output.fields) if isinstance(output, TupleStructInfo) else 1
    operands = _kernel_arguments("R.call_tir_inplace", gvar, args, tir_vars)
    count = len(operands[1].fields)
    used = [index for index in indices if index != -1]
    if len(indices) != results or len(set(used)) != len(used) or not used:
        raise ArgumentError(
            f"R.call_tir_inplace: inplace_indices names a different argument for each of the "
            f"{results} results, or -1 for a new array, got {indices}"
        )
    if any(not 0 <= index < count for index in used):
        raise ArgumentError(f"R.call_tir_inplace: {indices} names an argument of {count}")
    return Call(CALL_TIR_INPLACE, operands, {"inplace_indices": tuple(indices)}, [output])


def call_dps_packed(func: str | ExternFunc | GlobalVar, args: Any, out_sinfo: Any) -> Call:
    """The result of a function that writes into arrays made for it.

    Args:
        func: its name: first the tensor programs of the module are searched, then the registry.
        args: the inputs; arrays for the results follow them in the call.
        out_sinfo: what it writes.
    """
    callee = _callee("R.call_dps_packed", func)
    operands = _operands("R.call_dps_packed", args)
    output = _output("R.call_dps_packed", out_sinfo, None)
    return Call(CALL_DPS_PACKED, [callee, operands], None, [output])


# --- functions that return values ------------------------------------------------------------


def _given_result(inference: Inference) -> StructInfo:
    return given_result(inference.call.sinfo_args)


CALL_PURE_PACKED = register("call_pure_packed", ("func", "args*"), _given_result)
CALL_INPLACE_PACKED = register("call_inplace_packed", ("func", "args*"), _given_result)


def call_packed(func: str | ExternFunc, *args: Any, sinfo_args: Any = None, **attrs: Any) -> Call:
    """The call of a registered function, which may have effects.

    Args:
        func: its name.
        *args: the arguments.
        sinfo_args: what it returns; by default anything.
        **attrs: attributes of the call.
    """
    infos = _struct_infos("R.call_packed", sinfo_args)
    return Call(_callee("R.call_packed", func), args, attrs or None, infos)


def call_pure_packed(func: Any, *args: Any, sinfo_args: Any = None) -> Call:
    """As `call_packed`, of a function that the caller declares to have no effect."""
    infos = _struct_infos("R.call_pure_packed", sinfo_args)
    return Call(CALL_PURE_PACKED, [_callee("R.call_pure_packed", func), *args], None, infos)


def call_inplace_packed(
    func: Any, *args: Any, inplace_indices: int | Sequence[int], sinfo_args: Any = None
) -> Call:
    """As `call_packed` of a function whose only effect is that it writes over some arguments.

    Args:
        func: its name.
        *args: the arguments.
        inplace_indices: for each result the argument that is written over; -1 for a new value.
        sinfo_args: what it returns.
    """
    infos = _struct_infos("R.call_inplace_packed", sinfo_args)
    indices = _inplace_indices("R.call_inplace_packed", inplace_indices)
    if not indices or any(not -1 <= index < len(args) for index in indices):
        raise ArgumentError(f"R.call_inplace_packed: {indices} names an argument of {len(args)}")
    callee = _callee("R.call_inplace_packed", func)
    attrs = {"inplace_indices": tuple(indices)}
    return Call(CALL_INPLACE_PACKED, [callee, *args], attrs, infos)


# --- closures --------------------------------------------------------------------------------


def _object(inference: Inference) -> StructInfo:
    del inference
    return ObjectStructInfo()


def _require_function(inference: Inference) -> None:
    info = getattr(inference.call.args[0], "struct_info", None)  # a name of the module has none
    if not isinstance(info, (FuncStructInfo, ObjectStructInfo, type(None))):
        inference.error(f"{inference.name_of(0)} must be a function, it is {info!r}")


def _closure(inference: Inference) -> StructInfo:
    _require_function(inference)
    return ObjectStructInfo()


def _result_of_closure(inference: Inference) -> StructInfo:
    _require_function(inference)
    return _given_result(inference)


_INVOCATION = ("closure", "args")
MAKE_CLOSURE = register("make_closure", ("func", "args"), _closure)
INVOKE_CLOSURE = register("invoke_closure", _INVOCATION, _result_of_closure, is_pure=False)
INVOKE_PURE_CLOSURE = register("invoke_pure_closure", _INVOCATION, _result_of_closure)


def make_closure(func: GlobalVar, args: Any) -> Call:
    """A function value: `func` with its last parameters fixed to `args`."""
    return call(MAKE_CLOSURE, func, _operands("R.make_closure", args))


def invoke_closure(closure: RelaxExpr, args: Any, sinfo_args: Any = None) -> Call:
    """The call of a value that `make_closure` made, with its first arguments."""
    infos = _struct_infos("R.invoke_closure", sinfo_args)
    return Call(INVOKE_CLOSURE, [closure, _operands("R.invoke_closure", args)], None, infos)


def invoke_pure_closure(closure: RelaxExpr, args: Any, sinfo_args: Any = None) -> Call:
    """As `invoke_closure`, of a closure that the caller declares to have no effect."""
    infos = _struct_infos("R.invoke_pure_closure", sinfo_args)
    operands = [closure, _operands("R.invoke_pure_closure", args)]
    return Call(INVOKE_PURE_CLOSURE, operands, None, infos)


# --- effects ---------------------------------------------------------------------------------


def _nothing(inference: Inference) -> StructInfo:
    del inference
    return NOTHING


def _assertion(inference: Inference) -> StructInfo:
    info = inference.struct_info(0)
    scalar = isinstance(info, PrimStructInfo) or (
        isinstance(info, TensorStructInfo) and info.ndim in (0, UNKNOWN_NDIM)
    )
    dtype = getattr(info, "dtype", None)
    if not isinstance(info, ObjectStructInfo) and not (scalar and (dtype is None or dtype.is_bool)):
        inference.error(f"the condition must be one bool, it is {info!r}")
    return NOTHING


PRINT = register("print", ("values*",), _nothing, is_pure=False)
ASSERT_OP = register("assert_op", ("condition", "values*"), _assertion, is_pure=False)


_FORMAT = "format is a text with a {} for each value"


def _require_text(caller: str, expected: str, text: Any) -> None:
    if not isinstance(text, str):
        raise ArgumentError(f"{caller}: {expected}, got {text!r}")


def _check_format(caller: str, form: str, count: int) -> None:
    """Refuse a format that `count` values do not fill."""
    try:
        places = [field for _, field, _, _ in string.Formatter().parse(form) if field is not None]
    except ValueError as error:
        raise ArgumentError(f"{caller}: {form!r} is not a format: {error}") from None
    numbers = [str(number) for number in range(count)]
    named = [place for place in places if place and place not in numbers]
    if named or places.count("") > count:
        raise ArgumentError(
            f"{caller}: the format {form!r} has a place for which there is no value among the "
            f"{count} that are given"
        )


def print(*values: Any, format: str = "") -> Call:
    """Print values when the program runs.

    Args:
        *values: what to print.
        format: a text with a ``{}`` for each value; by default they are joined by spaces.
    """
    _require_text("R.print", _FORMAT, format)
    _check_format("R.print", format, len(values))
    return call(PRINT, *values, attrs={"format": format})


def assert_op(condition: Any, format_args: Any = None, format: str = "") -> Call:
    """Stop with an error when `condition`, one bool, does not hold while the program runs.

    Args:
        condition: an array without dimensions, or a scalar.
        format_args: values that the message shows.
        format: the message, with a ``{}`` for each value.
    """
    _require_text("R.assert_op", _FORMAT, format)
    values = [] if format_args is None else format_args
    values = values if isinstance(values, (tuple, list)) else [values]
    _check_format("R.assert_op", format, len(values))
    return call(ASSERT_OP, condition, *values, attrs={"format": format})


# --- no value --------------------------------------------------------------------------------


NULL_VALUE = register("null_value", (), _object)


def null_value() -> Call:
    """No value: the argument of a function that can do without it."""
    return call(NULL_VALUE)
