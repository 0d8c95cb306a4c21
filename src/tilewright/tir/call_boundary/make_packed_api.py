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
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tilewright.error import LoweringError, UnknownNameError
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT64, INT32, INT64, PrimType
from tilewright.ir.expr import Call, Expr, Var
from tilewright.ir.library import ITEM, METADATA_FUNCTION, SYMBOL_PREFIX
from tilewright.ir.module import GlobalVar, IRModule
from tilewright.ir.rewrite import nodes_of
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.call_boundary.argument_checks import ArgumentChecks
from tilewright.tir.call_boundary.argument_errors import COLD
from tilewright.tir.call_boundary.check_functions import (
    MANY_ARGUMENTS,
    CheckFunctions,
    CheckStatuses,
    ManyArgumentChecks,
)
from tilewright.tir.call_boundary.lower_packed_calls import PackedCalls
from tilewright.tir.call_boundary.metadata import TEXTS, signatures_of, text_function
from tilewright.tir.call_boundary.overlapping import IF_OVERLAPPING, broken_promises, overlap
from tilewright.tir.call_boundary.return_results import (
    ANY_PARAMS,
    INTO,
    IS_PRIVATE,
    ON_HOST,
    RETURNS,
    SLOTS,
    item_of,
    passed_params,
    return_results,
    return_tuple,
    with_slots,
    writes_results,
)
from tilewright.tir.call_boundary.shared_functions import shared_functions
from tilewright.tir.function import PrimFunc
from tilewright.tir.index_limits import largest_counts
from tilewright.tir.stmt import IfThenElse, LetStmt, Stmt, seq
from tilewright.tir.substitute import symbolic_sizes
from tilewright.tir.transform.device import LAUNCH_AXES
from tilewright.tir.transform.hoist_workspaces import check_workspaces

_VERY_MANY: Final = 1000
"""Parameters of a raw function above which its calls are compiled quickly, not well.

Compilers take time for all pairs of arguments of a call, and a good call gains little beside the
checks of so many.
"""


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
    calls_of = {
        name: nodes_of(function.body, Call)
        for name, function in module.functions.items()
        if isinstance(function, PrimFunc)
    }
    called = {c.op for calls in calls_of.values() for c in calls if isinstance(c.op, GlobalVar)}
    raw_functions: dict[GlobalVar, PrimFunc] = {}
    packed_functions: dict[GlobalVar, PrimFunc] = {}
    checking = CheckFunctions(device_type)
    kernels = {v: f for v, f in module.functions.items() if LAUNCH_AXES in f.attrs}
    module = IRModule(
        {v: f for v, f in module.functions.items() if v not in kernels},
        module.attrs, module.global_infos,
    )  # fmt: skip
    for name, function in module.functions.items():
        if not isinstance(function, PrimFunc):
            raise LoweringError(f"{name.name_hint}: only tensor programs can be compiled to code")
        _check_calls(name, calls_of[name], module)
        calls = PackedCalls(function, calls_of[name], SYMBOL_PREFIX, forwards=name not in called)
        raw = raw_functions[name] = _raw_function(function, calls, module)
        if function.global_symbol is not None:
            for packed in _packed_functions(function, name, raw, calls, checking):
                symbol = GlobalVar(packed.global_symbol or SYMBOL_PREFIX + _symbol_of(function))
                if symbol in packed_functions:
                    exported = symbol.name_hint.removeprefix(SYMBOL_PREFIX)
                    raise LoweringError(f"two functions have the global_symbol {exported!r}")
                packed_functions[symbol] = packed
    helpers: dict[GlobalVar, PrimFunc] = {}
    if packed_functions:
        symbol = SYMBOL_PREFIX + METADATA_FUNCTION
        helpers[GlobalVar(symbol)] = text_function(symbol, json.dumps(signatures_of(module)))
        for name, text in module.attrs.get(TEXTS, {}).items():
            helpers[GlobalVar(SYMBOL_PREFIX + name)] = text_function(SYMBOL_PREFIX + name, text)
        helpers |= shared_functions()
    functions = {
        **raw_functions, **checking.functions, **packed_functions, **helpers, **kernels,
    }  # fmt: skip
    return IRModule(functions, module.attrs, module.global_infos)


def _symbol_of(function: PrimFunc) -> str:
    """The exported name of a function, which linkers and loaders have to understand."""
    symbol = function.global_symbol or ""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.$]*", symbol):
        raise LoweringError(
            f"global_symbol {symbol!r}: the name of an exported function consists of letters, "
            "digits, and the characters _ . $; give it another one: tvm.build(..., name='f'), or "
            "function.with_attr('global_symbol', 'f')"
        )
    return symbol


def _check_calls(name: GlobalVar, calls: Sequence[Call], module: IRModule) -> None:
    """Raise unless the functions of the module that the function `name` calls exist."""
    for node in calls:
        if not isinstance(node.op, GlobalVar):
            continue
        if node.op in shared_functions():  # which are added below
            continue
        callee = module.functions.get(node.op)
        if callee is None:
            raise UnknownNameError(
                f"{name.name_hint} calls {node.op.name_hint}, which the module does not have"
            )
        if not isinstance(callee, PrimFunc):
            continue
        sizes = [size.name for size in symbolic_sizes(callee)]
        if len(node.args) != len(callee.params) + len(sizes):
            also = f" and the symbolic sizes {', '.join(sizes)}, which follow" if sizes else ""
            raise LoweringError(
                f"{name.name_hint} calls {node.op.name_hint} with {len(node.args)} arguments, and "
                f"it has {len(callee.params)} parameters{also}"
            )


def _raw_function(function: PrimFunc, calls: PackedCalls, module: IRModule) -> PrimFunc:
    """`function` over pointers, scalars and sizes; without a result it returns a status."""
    params = []
    for param in function.params:
        buffer = function.buffer_map.get(param)
        params.append(param if buffer is None else buffer.data)
    statuses = CheckStatuses(module)
    body = statuses(calls.lowered())
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


def _packed_functions(
    function: PrimFunc,
    raw_name: GlobalVar,
    raw: PrimFunc,
    calls: PackedCalls,
    checking: CheckFunctions,
) -> list[PrimFunc]:
    """The exported functions that call `raw`: with `RETURNS`, one that returns, one that returns
    the only item, and one that writes into arrays of the caller.
    """
    name = _symbol_of(function)
    packed = _PackedFunction(function, raw_name, raw, calls, checking)
    if RETURNS not in function.attrs:
        return [packed.build(name)]
    if IS_PRIVATE in function.attrs or item_of(function) is None:
        returning = [packed.returning(name)]
    else:
        returning = [packed.returning(name, only_item=True), packed.returning_tuple(name)]
    if IS_PRIVATE in function.attrs or not writes_results(function):
        return returning
    return [*returning, packed.build(name + INTO)]


class _PackedFunction:
    """Writes functions with a calling convention around one raw function."""

    def __init__(
        self,
        function: PrimFunc,
        raw_name: GlobalVar,
        raw: PrimFunc,
        calls: PackedCalls,
        checking: CheckFunctions,
    ) -> None:
        self._function, self._raw_name, self._raw = function, raw_name, raw
        self._calls, self._checking = calls, checking

    def build(self, name: str) -> PrimFunc:
        """The function that is exported under `name`, and writes its results, if it has some."""
        function, params = self._function, abi.packed_params()
        checks = self._checks(name, passed_params(function, returns=False), params)
        if SLOTS in function.attrs:
            body = with_slots(function, checks.values, self._arguments, self._raw_name)
        else:
            body = self._call(self._arguments(checks.values), checks, params[-1])
        return self._packed(name, params, checks.build(body))

    def returning(self, name: str, only_item: bool = False) -> PrimFunc:
        """The function that is exported under `name`, or the one that returns the only item."""
        function, params = self._function, abi.packed_params()
        checks = self._checks(name, passed_params(function, returns=True), params)
        body = return_results(
            function,
            item_of(function) if only_item else json.loads(function.attrs[RETURNS]),
            checks.values,
            params[-1],
            self._arguments,
            self._raw_name,
            self._checking.device_type,
        )
        return self._packed(name + ITEM if only_item else name, params, checks.build(body))

    def returning_tuple(self, name: str) -> PrimFunc:
        """The function that is exported under `name` beside one that returns the only item."""
        params = abi.packed_params()
        item = GlobalVar(SYMBOL_PREFIX + name + ITEM)
        return self._packed(name, params, return_tuple(item, params))

    def _packed(self, name: str, params: abi.PackedParams, body: Stmt) -> PrimFunc:
        attrs: dict[str, Any] = {
            "global_symbol": SYMBOL_PREFIX + name,
            "calling_conv": "packed",
        }
        if IS_PRIVATE in self._function.attrs:
            attrs = {}
        if len(self._raw.params) > _VERY_MANY or COLD.keys() <= self._function.attrs.keys():
            attrs |= COLD
        return PrimFunc(params, body, PrimType(INT32), attrs=attrs)

    def _checks(
        self, name: str, params: tuple[Var, ...], packed: abi.PackedParams
    ) -> ArgumentChecks:
        buffers, (_, args, num_args, _) = self._function.buffer_map, packed
        if len(params) > MANY_ARGUMENTS:
            checks = ManyArgumentChecks(name, args, len(params), self._checking)
        else:
            checks = ArgumentChecks(name, args, self._checking.device_type)
        checks.count(num_args, [buffers[p].name if p in buffers else p.name for p in params])
        # Scalars first: the shape of an array may mention one that comes later.
        largest = largest_counts(self._raw.body)
        of_any_kind = set(map(int, self._function.attrs.get(ANY_PARAMS, ())))
        for position, param in enumerate(params):
            if position in of_any_kind:
                checks.anything(position, param)
            elif param not in buffers:
                checks.scalar(position, param, largest.get(param))
        on_host = set(map(int, self._function.attrs.get(ON_HOST, ())))
        for position, param in enumerate(params):
            if param in buffers:
                checks.array(position, param, buffers[param], position in on_host)
        checks.finish()
        if self._calls.args is not None:
            checks.values[self._calls.args] = args
        return checks

    def _arguments(self, values: dict[Var, Expr]) -> tuple[Expr, ...]:
        return tuple(values[param] for param in self._raw.params)

    def _call(self, arguments: tuple[Expr, ...], checks: ArgumentChecks, result: Var) -> Stmt:
        function = self._function
        call = _call_raw(function, self._raw_name, arguments, result)
        if IF_OVERLAPPING not in function.attrs:
            if not int(function.attrs.get("tir.noalias", 0)):
                return call
            return seq(*self._distinct(checks), call)
        other = GlobalVar(str(function.attrs[IF_OVERLAPPING]))
        careful = _call_raw(function, other, arguments, result)
        return IfThenElse(overlap(function, checks.values), careful, call)

    def _distinct(self, checks: ArgumentChecks) -> Iterator[Stmt]:
        """Refuse arrays that overlap, where the function was promised that they do not."""
        function = self._function
        numbers = {param: number for number, param in enumerate(function.params)}
        for first, second, overlapping in broken_promises(function, checks.values):
            pair = sorted((first, second), key=numbers.__getitem__)
            yield checks.distinct(
                [(numbers[param], function.buffer_map[param].name) for param in pair], overlapping
            )


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
