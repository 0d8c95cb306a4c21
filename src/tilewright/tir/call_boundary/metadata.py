"""What a library tells about its functions: a JSON text, and a function with its address."""

from __future__ import annotations

from typing import Final

from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32, INT64, PrimType
from tilewright.ir.expr import StringImm
from tilewright.ir.library import ITEM, Parameter
from tilewright.ir.module import IRModule
from tilewright.tir.call_boundary import structures as abi
from tilewright.tir.call_boundary.argument_errors import COLD
from tilewright.tir.call_boundary.return_results import (
    INTO,
    IS_PRIVATE,
    RETURNS,
    item_of,
    passed_params,
    result_buffers,
    writes_results,
)
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import seq
from tilewright.tir.transform.analysis.memory_uses import written_pointers

TEXTS: Final = "tir.texts"
"""An attribute of modules: texts by the name of a packed function that returns the address."""


WRITES: Final = "tir.writes"
"""An attribute of functions: positions of parameters that are written by functions they call."""


def parameters_of(function: PrimFunc) -> tuple[Parameter, ...]:
    """The parameters of a function over buffers, and which of the buffers it writes."""
    written = written_pointers(function)
    if RETURNS in function.attrs:
        written |= {buffer.data for buffer in result_buffers(function)}
    for position in function.attrs.get(WRITES, ()):
        written |= {function.buffer_map[function.params[int(position)]].data}
    found = []
    for param in passed_params(function, returns=False):
        buffer = function.buffer_map.get(param)
        if buffer is None:
            found.append(Parameter(param.name, False, param in written))
        else:
            found.append(Parameter(buffer.name, True, buffer.data in written))
    return tuple(found)


def signatures_of(module: IRModule) -> dict[str, tuple[Parameter, ...]]:
    """The parameters of the exported functions of `module`."""
    found = {}
    for function in module.functions.values():
        if not isinstance(function, PrimFunc) or function.global_symbol is None:
            continue
        if IS_PRIVATE in function.attrs:
            continue
        name, parameters = function.global_symbol, parameters_of(function)
        if RETURNS in function.attrs:
            if writes_results(function):
                found[name + INTO] = parameters
            parameters = parameters[: len(passed_params(function, returns=True))]
            if item_of(function) is not None:
                found[name + ITEM] = parameters
        found[name] = parameters
    return found


def text_function(symbol: str, text: str) -> PrimFunc:
    """A packed function that returns the address of `text`.

    A program that is linked from object files of several libraries has one of them.
    """
    params = abi.packed_params()
    view = abi.View(params[-1])
    body = seq(
        view.store(abi.Field(INT32, 0), const(abi.TYPE_POINTER, "int32")),
        view.store(abi.Field(INT32, 1), const(0, "int32")),
        view.store(abi.Field(INT64, 1), abi.as_address(StringImm(text))),
        abi.return_value(const(0, "int32")),
    )
    attrs = {"global_symbol": symbol, "calling_conv": "packed", "tir.is_weak": True, **COLD}
    return PrimFunc(params, body, PrimType(INT32), attrs=attrs)
