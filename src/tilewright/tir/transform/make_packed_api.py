"""From a function over buffers to native functions: a raw one, and one with a calling convention.

The *raw* function takes pointers, scalars and symbolic sizes, and returns 0, or -1 after an error.
The *packed* function ``__tvm_ffi_<name>`` has tvm-ffi's calling convention,
``int(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)``: it reads the
arguments, checks them, and calls the raw one. Both are plain programs over one-dimensional memory,
so a backend needs to know nothing about the convention.
"""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple

from tilewright.error import LoweringError, UnknownNameError
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT64, HANDLE, INT32, INT64
from tilewright.ir.expr import Call, Expr, StringImm, Var
from tilewright.ir.function import GlobalVar
from tilewright.ir.module import IRModule
from tilewright.ir.rewrite import walk_once
from tilewright.ir.types import PrimType
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import IfThenElse, LetStmt, Stmt, seq
from tilewright.tir.substitute import symbolic_sizes
from tilewright.tir.transform import call_boundary as abi
from tilewright.tir.transform.argument_checks import ArgumentChecks
from tilewright.tir.transform.argument_errors import COLD, shared_functions
from tilewright.tir.transform.check_statuses import CheckStatuses
from tilewright.tir.transform.check_workspaces import check_workspaces
from tilewright.tir.transform.lower_packed_calls import PackedCalls
from tilewright.tir.transform.memory_uses import written_pointers
from tilewright.tir.transform.overlapping import IF_OVERLAPPING, overlap

SYMBOL_PREFIX: Final = "__tvm_ffi_"
"""What the symbols of packed functions begin with in a library."""


METADATA_FUNCTION: Final = "tilewright_metadata"
"""A packed function that returns the address of a JSON text about the other functions."""


class ParameterInfo(NamedTuple):
    """What a caller may want to know about a parameter."""

    name: str
    is_buffer: bool
    is_written: bool


def make_packed_api(module: IRModule, device_type: int = 1) -> IRModule:
    """A module in which every function with a ``global_symbol`` has a packed one beside it.

    Before: ``main(A: handle, n: int32)`` with a buffer for A. After: ``main(A: pointer, n: int32,
    sizes...) -> int32``, which is internal, and ``__tvm_ffi_main(self, args, num_args, result) ->
    int32``, which is exported and has the attribute ``calling_conv = "packed"``.

    Args:
        module: functions in the codegen form, but for their parameters.
        device_type: DLPack's number of the device on which the arrays must be.

    Raises:
        LoweringError: for a parameter that cannot be passed, a symbolic size of which no argument
            gives the value, or a name that cannot be exported.
        UnknownNameError: for a call of a function that the module does not have.
    """
    raw_functions: dict[GlobalVar, PrimFunc] = {}
    packed_functions: dict[GlobalVar, PrimFunc] = {}
    for name, function in module.functions.items():
        if not isinstance(function, PrimFunc):
            raise LoweringError(f"{name.name_hint}: only tensor programs can be compiled to code")
        _check_calls(name, function, module)
        calls = PackedCalls(function, SYMBOL_PREFIX)
        raw = raw_functions[name] = _raw_function(function, calls, module)
        if function.global_symbol is not None:
            symbol = GlobalVar(SYMBOL_PREFIX + _symbol_of(function))
            if symbol in packed_functions:
                raise LoweringError(
                    f"two functions have the global_symbol {function.global_symbol!r}"
                )
            packed_functions[symbol] = _packed_function(function, name, raw, calls, device_type)
    helpers: dict[GlobalVar, PrimFunc] = {}
    if packed_functions:
        helpers[GlobalVar(SYMBOL_PREFIX + METADATA_FUNCTION)] = _metadata_function(module)
        helpers |= shared_functions()
    functions = {**raw_functions, **packed_functions, **helpers}
    return IRModule(functions, module.attrs, module.global_infos)


def _symbol_of(function: PrimFunc) -> str:
    """The exported name of a function, which linkers and loaders have to understand."""
    symbol = function.global_symbol or ""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.$]*", symbol):
        raise LoweringError(
            f"global_symbol {symbol!r}: the name of an exported function consists of letters, "
            "digits, and the characters _ . $"
        )
    return symbol


def _check_calls(name: GlobalVar, function: PrimFunc, module: IRModule) -> None:
    """Raise unless the functions of the module that `function` calls exist."""
    for node in walk_once(function.body):
        if not isinstance(node, Call) or not isinstance(node.op, GlobalVar):
            continue
        callee = module.functions.get(node.op)
        if callee is None:
            raise UnknownNameError(
                f"{name.name_hint} calls {node.op.name_hint}, which the module does not have"
            )
        if isinstance(callee, PrimFunc) and len(callee.params) != len(node.args):
            raise LoweringError(
                f"{name.name_hint} calls {node.op.name_hint} with {len(node.args)} arguments, and "
                f"it has {len(callee.params)} parameters"
            )


def _raw_function(function: PrimFunc, calls: PackedCalls, module: IRModule) -> PrimFunc:
    """`function` over pointers, scalars and sizes; without a result it returns a status."""
    params = []
    for param in function.params:
        buffer = function.buffer_map.get(param)
        params.append(param if buffer is None else buffer.data)
    statuses = CheckStatuses(module)
    body = statuses(calls.lowered(function.body))
    body = check_workspaces(body, function.global_symbol or "a private function")
    forwarded = () if calls.args is None else (calls.args,)
    if (calls.found or statuses.found) and function.ret_type is not None:
        raise LoweringError(
            f"{function.global_symbol or 'a private function'}: a function that returns a value "
            "cannot call functions that may fail, because it could not return their errors"
        )
    return function.replace(
        params=(*params, *symbolic_sizes(function), *forwarded),
        body=body,
        buffer_map={},
        ret_type=PrimType(INT32) if function.ret_type is None else function.ret_type,
        attrs={k: v for k, v in function.attrs.items() if k != "global_symbol"},
    )


def parameters_of(function: PrimFunc) -> tuple[ParameterInfo, ...]:
    """The parameters of a function over buffers, and which of the buffers it writes."""
    written = written_pointers(function)
    found = []
    for param in function.params:
        buffer = function.buffer_map.get(param)
        if buffer is None:
            found.append(ParameterInfo(param.name, False, param in written))
        else:
            found.append(ParameterInfo(buffer.name, True, buffer.data in written))
    return tuple(found)


def signatures_of(module: IRModule) -> dict[str, tuple[ParameterInfo, ...]]:
    """The parameters of the functions of `module` that have a ``global_symbol``."""
    return {
        function.global_symbol: parameters_of(function)
        for function in module.functions.values()
        if isinstance(function, PrimFunc) and function.global_symbol is not None
    }


def _metadata_function(module: IRModule) -> PrimFunc:
    text = json.dumps(signatures_of(module), separators=(",", ":"))
    result = abi.pointer_var("result")
    view = abi.View(result)
    body = seq(
        view.store(abi.Field(INT32, 0), const(abi.TYPE_POINTER, "int32")),
        view.store(abi.Field(INT32, 1), const(0, "int32")),
        view.store(abi.Field(INT64, 1), abi.as_address(StringImm(text))),
        abi.return_value(const(0, "int32")),
    )
    params = (Var("self_handle", HANDLE), abi.pointer_var("args"), Var("num_args", INT32), result)
    attrs = {
        "global_symbol": SYMBOL_PREFIX + METADATA_FUNCTION,
        "calling_conv": "packed",
        **COLD,
    }
    return PrimFunc(params, body, PrimType(INT32), attrs=attrs)


def _packed_function(
    function: PrimFunc,
    raw_name: GlobalVar,
    raw: PrimFunc,
    calls: PackedCalls,
    device_type: int,
) -> PrimFunc:
    name = function.global_symbol or raw_name.name_hint
    self_handle = Var("self_handle", HANDLE)
    args, result = abi.pointer_var("args"), abi.pointer_var("result")
    num_args = Var("num_args", INT32)
    checks = ArgumentChecks(name, args, device_type)
    names = [info.name for info in parameters_of(function)]
    checks.count(num_args, names)
    # Scalars first: the shape of an array may mention one that comes later.
    for position, param in enumerate(function.params):
        if param not in function.buffer_map:
            checks.scalar(position, param)
    for position, param in enumerate(function.params):
        buffer = function.buffer_map.get(param)
        if buffer is not None:
            checks.array(position, param, buffer)
    checks.finish()
    if calls.args is not None:
        checks.values[calls.args] = args
    arguments = tuple(checks.values[param] for param in raw.params)
    call = _call_raw(function, raw_name, arguments, result)
    if IF_OVERLAPPING in function.attrs:
        other = GlobalVar(str(function.attrs[IF_OVERLAPPING]))
        careful = _call_raw(function, other, arguments, result)
        call = IfThenElse(overlap(function, checks.values), careful, call)
    body = checks.build(call)
    attrs = {"global_symbol": SYMBOL_PREFIX + name, "calling_conv": "packed"}
    params = (self_handle, args, num_args, result)
    return PrimFunc(params, body, PrimType(INT32), attrs=attrs)


def _call_raw(function: PrimFunc, raw: GlobalVar, arguments: tuple[Expr, ...], result: Var) -> Stmt:
    """Call the raw function, and pass its result or its error on."""
    if function.ret_type is None:
        return abi.return_value(Call(INT32, raw, arguments))
    if not isinstance(function.ret_type, PrimType):
        raise LoweringError(f"{raw.name_hint}: a function cannot return {function.ret_type!r}")
    dtype = function.ret_type.dtype
    value = Var("value", dtype)
    view = abi.View(result)
    if dtype.is_float:
        kind, field, stored = abi.TYPE_FLOAT, abi.Field(FLOAT64, 1), cast(FLOAT64, value)
    elif dtype.is_integral:
        kind = abi.TYPE_BOOL if dtype.is_bool else abi.TYPE_INT
        field, stored = abi.Field(INT64, 1), cast(INT64, value)
    else:
        raise LoweringError(f"{raw.name_hint}: a function cannot return a {dtype!s}")
    body = seq(
        view.store(abi.Field(INT32, 0), const(kind, "int32")),
        view.store(abi.Field(INT32, 1), const(0, "int32")),
        view.store(field, stored),
        abi.return_value(const(0, "int32")),
    )
    return LetStmt(value, Call(dtype, raw, arguments), body)
