"""A header for C programs: a function with plain pointers for each graph function of a library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tilewright.error import ExportError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, IntImm, Var
from tilewright.ir.library import SYMBOL_PREFIX
from tilewright.relax.sizes import assume_sizes
from tilewright.target.codegen.c.emitter import FunctionEmitter
from tilewright.target.codegen.c.types import c_name
from tilewright.tir.buffer import Buffer
from tilewright.tir.call_boundary.return_results import (
    ANY_PARAMS,
    INTO,
    passed_params,
    result_buffers,
    writes_results,
)
from tilewright.tir.function import PrimFunc
from tilewright.tir.substitute import symbolic_sizes

_HEADER: Final = """\
/* The functions of a model, for C and C++ programs that are linked with its library.
 *
 * Arrays are compact and row-major, and are given by the address of their first element; those of
 * half-precision types are given as their bits. Each function returns 0, or -1 after an error,
 * which is printed to the standard error stream; see tilewright.h.
 */
#ifndef {guard}
#define {guard}

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {{
#endif

{functions}

#ifdef __cplusplus
}}
#endif

#endif
"""

_ELEMENTS: Final[Mapping[str, tuple[str, str]]] = {
    "float32": ("float", "TILEWRIGHT_FLOAT"),
    "float64": ("double", "TILEWRIGHT_FLOAT"),
    "float16": ("uint16_t", "TILEWRIGHT_FLOAT"),
    "bfloat16": ("uint16_t", "TILEWRIGHT_BFLOAT"),
    "bool": ("uint8_t", "TILEWRIGHT_BOOL"),
    **{f"int{bits}": (f"int{bits}_t", "TILEWRIGHT_INT") for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (f"uint{bits}_t", "TILEWRIGHT_UINT") for bits in (8, 16, 32, 64)},
}
"""The C type and the type code of elements."""


def c_header(functions: Mapping[str, PrimFunc], name: str) -> str:
    """The header of a library.

    Args:
        functions: its graph functions by name, which have their results as last parameters.
        name: of the library, with which the names of the functions begin.

    Raises:
        ExportError: for an array whose elements C has no type for, and if there is no function
            that a C program can call.
    """
    callable_from_c = {
        symbol: function
        for symbol, function in functions.items()
        if writes_results(function) and ANY_PARAMS not in function.attrs
    }
    if functions and not callable_from_c:
        raise ExportError(
            f"export_header: {', '.join(functions)} takes or returns values that only a host of "
            "tvm-ffi has, no arrays of known size; C programs cannot call it"
        )
    functions = callable_from_c
    prefix = re.sub(r"\W", "_", name)
    helpers: dict[str, str] = {}
    texts = [
        _Wrapper(f"{prefix}_{symbol}", symbol, function, helpers).text()
        for symbol, function in functions.items()
    ]
    text = "\n\n".join([*helpers.values(), *texts])
    return _HEADER.format(guard=f"{prefix.upper()}_H", functions=text)


class _Wrapper:
    """Writes the function for one graph function."""

    def __init__(self, name: str, symbol: str, function: PrimFunc, helpers: dict[str, str]) -> None:
        self._name, self._symbol = c_name(name), SYMBOL_PREFIX + symbol + INTO
        self._function = function
        self._emitter = FunctionEmitter(helpers)
        self._sizes = [self._emitter.names.define(size) for size in symbolic_sizes(function)]
        assume_sizes(self._emitter.analyzer, symbolic_sizes(function))
        self._given, self._returned = (self._emitter.names.unique(n) for n in ("given", "returned"))
        self._results = set(result_buffers(function))
        self._parameters: list[str] = []
        self._described: list[str] = []
        self._lines: list[str] = []
        self._arguments: list[str] = []

    def text(self) -> str:
        """The declaration of the symbol, and the definition of the function."""
        for param in passed_params(self._function, returns=False):
            buffer = self._function.buffer_map.get(param)
            if buffer is None:
                self._scalar(param)
            else:
                self._array(buffer)
        count = len(self._arguments)
        parameters = [*self._parameters, *(f"int64_t {size}" for size in self._sizes)]
        arguments = ", ".join(self._arguments) or "{{0}}"
        described = "\n".join(f" *   {line}" for line in self._described)
        lines = (
            f"int {self._symbol}(void *, const TilewrightValue *, int32_t, TilewrightValue *);",
            "",
            f"/* The function `{self._name}`; what is not const is written.\n *\n{described}\n */",
            f"static inline int {self._name}({', '.join(parameters) or 'void'}) {{",
            *(f"  {line}" for line in self._lines),
            f"  TilewrightValue {self._given}[{max(count, 1)}] = {{{arguments}}};",
            f"  TilewrightValue {self._returned} = {{0}};",
            f"  return {self._symbol}(0, {self._given}, {count}, &{self._returned});",
            "}",
        )
        return "\n".join(lines)

    def _array(self, buffer: Buffer) -> None:
        element, code = _element(buffer.dtype)
        name = self._emitter.names.define(buffer.data)
        constant = "" if buffer in self._results else "const "
        self._parameters.append(f"{constant}{element} *{name}")
        extents = [self._extent(extent) for extent in buffer.shape]
        self._described.append(f"{name}: {buffer.dtype!s}[{', '.join(extents)}]")
        shape = ", ".join(extents) or "0"
        self._lines.append(f"int64_t {name}_shape[{max(len(extents), 1)}] = {{{shape}}};")
        self._lines.append(
            f"TilewrightArray {name}_array = {{(void *){name}, TILEWRIGHT_CPU, 0, {len(extents)}, "
            f"{code}, {8 if buffer.dtype.is_bool else buffer.dtype.bits}, 1, {name}_shape, 0, 0}};"
        )
        self._arguments.append(f"tilewright_array(&{name}_array)")

    def _scalar(self, param: Var) -> None:
        name = self._emitter.names.define(param)
        is_float = param.dtype.is_float
        self._parameters.append(f"{'double' if is_float else 'int64_t'} {name}")
        self._described.append(f"{name}: {param.dtype!s}")
        kind, member = ("FLOAT", "v_float64") if is_float else ("INT", "v_int64")
        self._lines.append(f"TilewrightValue {name}_value = {{TILEWRIGHT_ARG_{kind}, 0, {{0}}}};")
        self._lines.append(f"{name}_value.value.{member} = {name};")
        self._arguments.append(f"{name}_value")

    def _extent(self, extent: Expr) -> str:
        text = str(extent.value) if isinstance(extent, IntImm) else self._emitter.code(extent)
        if self._emitter.lines:
            raise ExportError(f"the extent {extent} of an array is too complicated for a header")
        return text


def _element(dtype: DType) -> tuple[str, str]:
    found = _ELEMENTS.get(str(dtype))
    if found is None:
        raise ExportError(f"C has no type for the elements of an array of dtype {dtype!s}")
    return found
