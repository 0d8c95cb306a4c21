"""Calls in C: intrinsics, C functions, functions of the module."""

from __future__ import annotations

from typing import Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import FLOAT32, FLOAT64, DType
from tilewright.ir.expr import Call, Cast, Expr, StringImm, Var
from tilewright.ir.module import GlobalVar
from tilewright.target.codegen import own_name
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.emitter import FunctionEmitter, Precedence, Text, c_string, emits
from tilewright.target.codegen.c.expressions import conditional
from tilewright.target.codegen.c.integers import beside, plain
from tilewright.target.codegen.c.object_prelude import OBJECTS, VALUES
from tilewright.target.codegen.c.types import HALVES, LIBRARY, c_name, suffix, value_type
from tilewright.tir.numerics import KERNELS
from tilewright.tir.transform.lower_math import expand_call

STANDARD: Final = {*LIBRARY, *KERNELS}
"""Functions that math.h declares."""

INFIX: Final = {
    "tir.shift_left": ("<<", Precedence.SHIFT),
    "tir.shift_right": (">>", Precedence.SHIFT),
    "tir.bitwise_and": ("&", Precedence.BIT_AND),
    "tir.bitwise_or": ("|", Precedence.BIT_OR),
    "tir.bitwise_xor": ("^", Precedence.BIT_XOR),
}


OBJECT_FUNCTIONS: Final = {
    "tir.new_array": "tw_new_array",
    "tir.new_tuple": "tw_new_tuple",
    "tir.release_objects": "tw_release_objects",
    "tir.own_any": "tw_own",
    "tir.new_view": "tw_new_view",
    "tir.compact_object": "tw_compact",
    "tir.has_packed": "tw_has_packed",
}
"""Helper functions that make arrays and tuples, and copy and keep values of the host."""

VALUE_FUNCTIONS: Final = ("tir.own_any", "tir.new_view", "tir.compact_object", "tir.has_packed")


@emits(Call)
def _call(emitter: FunctionEmitter, call: Call) -> Text:
    if isinstance(call.op, GlobalVar):
        return Text(f"{c_name(own_name(call.op.name_hint))}({emitter.arguments(call.args)})")
    emit = emitter.table.calls.get(_name(call))
    if emit is None:
        raise _unsupported(emitter, call)
    return emit(emitter, call)


def _name(call: Call) -> str:
    """The name of the called operator."""
    return call.op.name  # type: ignore[attr-defined]


def _unsupported(emitter: FunctionEmitter, call: Call) -> CodegenError:
    return CodegenError(f"target {emitter.target} has no code for `{call!r}`")


# --- mathematical functions ------------------------------------------------------------------


@emits(*(f"tir.{name}" for name in LIBRARY))
def _library_call(emitter: FunctionEmitter, call: Call) -> Text:
    # Functions that round to whole numbers or change the sign bit need no rounding to half types,
    # and get it anyway: it changes nothing.
    name = _name(call).removeprefix("tir.")
    if call.dtype in HALVES and name == "fma":
        return _half_fma(emitter, call)
    if call.dtype in HALVES and name == "nextafter":
        raise _unsupported(emitter, call)
    return emitter.round(call.dtype, Text(emitter.library(name, call.dtype, call.args)))


def _half_fma(emitter: FunctionEmitter, call: Call) -> Text:
    """The product is exact in double, and the sum is not rounded twice."""
    emitter.helper("odd_f32", prelude.ROUND_TO_ODD)
    emitter.helper("odd_sum", prelude.SUM_TO_ODD)
    a, b = (emitter.code(arg, Precedence.UNARY) for arg in call.args[:2])
    total = f"tw_odd_sum((double){a} * {b}, {emitter.code(call.args[2])})"
    return emitter.round(call.dtype, Text(f"tw_odd_f32({total})"))


@emits("tir.round")
def _round(emitter: FunctionEmitter, call: Call) -> Text:
    return emitter.round(call.dtype, Text(emitter.library("nearbyint", call.dtype, call.args)))


@emits(*(f"tir.{name}" for name in (*KERNELS, "rsqrt")))
def _expanded(emitter: FunctionEmitter, call: Call) -> Text:
    """A call of a helper function, with the same arithmetic as vector code."""
    dtype = FLOAT64 if call.dtype.bits == 64 else FLOAT32
    helper = f"tw_{_name(call).removeprefix('tir.')}_{suffix(dtype)}"
    if helper not in emitter.helpers:
        params = [Var(letter, dtype) for letter in "xy"[: len(call.args)]]
        expanded = expand_call(Call(dtype, call.op, tuple(params)))
        body = FunctionEmitter(emitter.helpers)
        c_type = value_type(dtype)
        names = ", ".join(f"{c_type} {body.names.define(param)}" for param in params)
        body.line(f"return {body.code(expanded)};")
        lines = [f"static inline {c_type} {helper}({names}) {{", *body.lines, "}", ""]
        emitter.helper(helper, "\n".join(lines))
    return emitter.round(call.dtype, Text(f"{helper}({emitter.arguments(call.args)})"))


@emits("tir.isnan", "tir.isinf", "tir.isfinite")
def _classification(emitter: FunctionEmitter, call: Call) -> Text:
    name = _name(call).removeprefix("tir.")
    return Text(f"({name}({emitter.code(call.args[0])}) != 0)")


# --- bits ------------------------------------------------------------------------------------


@emits(*INFIX)
def _infix(emitter: FunctionEmitter, call: Call) -> Text:
    name = _name(call)
    operator, precedence = INFIX[name]
    # C's precedence of these surprises people: operands that are operators get parentheses.
    a, b = call.args
    if name.startswith("tir.shift"):
        left, right = emitter.code(a, Precedence.UNARY), plain(emitter, b, Precedence.UNARY)
        if name == "tir.shift_left" and call.dtype.is_int:
            unsigned, signed = f"uint{call.dtype.bits}_t", value_type(call.dtype)
            return Text(f"({signed})(({unsigned}){left} << {right})", Precedence.UNARY)
    else:
        left = beside(emitter, a, b, Precedence.UNARY)
        right = beside(emitter, b, a, Precedence.UNARY)
    return emitter.round(call.dtype, Text(f"{left} {operator} {right}", precedence))


@emits("tir.bitwise_not")
def _bitwise_not(emitter: FunctionEmitter, call: Call) -> Text:
    value = emitter.code(call.args[0], Precedence.UNARY)
    operator = "!" if call.dtype.is_bool else "~"
    return emitter.round(call.dtype, Text(f"{operator}{value}", Precedence.UNARY))


@emits("tir.popcount")
def _popcount(emitter: FunctionEmitter, call: Call) -> Text:
    bits = call.args[0].dtype.bits
    value = emitter.code(call.args[0], Precedence.UNARY)
    builtin = "__builtin_popcountll" if bits == 64 else "__builtin_popcount"
    return emitter.round(call.dtype, Text(f"{builtin}((uint{bits}_t){value})"))


@emits("tir.clz")
def _clz(emitter: FunctionEmitter, call: Call) -> Text:
    bits = call.args[0].dtype.bits
    value = emitter.temporary(call.args[0])
    wide = 64 if bits == 64 else 32
    builtin = "__builtin_clzll" if wide == 64 else "__builtin_clz"
    count = f"{builtin}((uint{bits}_t){value})"
    if wide != bits:
        count += f" - {wide - bits}"
    return Text(f"{value} == 0 ? {bits} : {count}", Precedence.CONDITIONAL)


@emits("tir.reinterpret")
def _reinterpret(emitter: FunctionEmitter, call: Call) -> Text:
    source, target = call.args[0].dtype, call.dtype
    if source is target:
        return emitter.text(call.args[0])
    if source.is_handle or target.is_handle:
        inner = f"(intptr_t){emitter.code(call.args[0], Precedence.UNARY)}"
        return Text(f"({value_type(target)}){inner}", Precedence.UNARY)
    if source.bits < 32:
        return _reinterpret_small(emitter, call.args[0], target)
    name = f"{suffix(source)}_{suffix(target)}"
    code = prelude.bit_cast(value_type(source), value_type(target), name)
    emitter.helper(f"bits_{name}", code)
    return Text(f"tw_bits_{name}({emitter.code(call.args[0])})")


def _reinterpret_small(emitter: FunctionEmitter, value: Expr, target: DType) -> Text:
    """Between 8 or 16 bit integers, and half types, whose values live in floats."""
    code = emitter.code(value)
    for dtype, verb in ((value.dtype, "store"), (target, "load")):
        if dtype in HALVES:
            code = f"tw_{verb}_{emitter.half_helper(dtype)}({code})"
    if target in HALVES:
        return Text(code)
    return Text(f"({value_type(target)})({code})", Precedence.UNARY)


# --- selections ------------------------------------------------------------------------------


@emits("tir.if_then_else")
def _if_then_else(emitter: FunctionEmitter, call: Call) -> Text:
    condition, yes, no = call.args
    return conditional(emitter, condition, yes, no, call.dtype)


@emits("tir.likely", "tir.any_lane")
def _first_argument(emitter: FunctionEmitter, call: Call) -> Text:
    return emitter.text(call.args[0])


# --- functions -------------------------------------------------------------------------------


@emits("tir.call_extern", "tir.call_pure_extern")
def _call_extern(emitter: FunctionEmitter, call: Call) -> Text:
    name = call.args[0].value  # type: ignore[attr-defined]
    if name not in STANDARD:
        types = ", ".join(value_type(arg.dtype) for arg in call.args[1:]) or "void"
        emitter.helper(f"extern {name}", f"extern {value_type(call.dtype)} {name}({types});\n")
    return Text(f"{name}({emitter.arguments(call.args[1:])})")


@emits("tir.tvm_call_packed_lowered")
def _tvm_call_packed_lowered(emitter: FunctionEmitter, call: Call) -> Text:
    emitter.helper("raise", prelude.RAISE)
    emitter.helper("ffi_calls", prelude.FFI_CALLS)
    emitter.helper("packed", prelude.PACKED)
    return Text(f"tw_call_packed({emitter.arguments(call.args)})")


@emits("tir.lookup_param")
def _lookup_param(emitter: FunctionEmitter, call: Call) -> Text:
    name = call.args[0].value  # type: ignore[attr-defined]
    emitter.helper(name, f"extern const char {name}[];\n")
    return Text(f"(void*){name}", Precedence.UNARY)


@emits(*OBJECT_FUNCTIONS)
def _object_function(emitter: FunctionEmitter, call: Call) -> Text:
    emitter.helper("abi", prelude.ABI)
    emitter.helper("raise", prelude.RAISE)
    emitter.helper("ffi_calls", prelude.FFI_CALLS)
    emitter.helper("objects", OBJECTS)
    arguments = emitter.arguments(call.args)
    if _name(call) in VALUE_FUNCTIONS:
        emitter.helper("values", VALUES)
    return Text(f"{OBJECT_FUNCTIONS[_name(call)]}({arguments})")


@emits("tir.ret")
def _ret(emitter: FunctionEmitter, call: Call) -> Text:
    emitter.leave(emitter.code(call.args[0]) if call.args else "")
    return Text("")


@emits("tir.raise_error")
def _raise_error(emitter: FunctionEmitter, call: Call) -> Text:
    kind, message = (arg.value for arg in call.args[:2])  # type: ignore[attr-defined]
    values = [_printed(emitter, arg) for arg in call.args[2:]]
    emitter.leave_with_error(kind, message, values)
    return Text("")


@emits("tir.print_text")
def _print_text(emitter: FunctionEmitter, call: Call) -> Text:
    text = c_string(call.args[0].value)  # type: ignore[attr-defined]
    values = [_printed(emitter, arg) for arg in call.args[1:]]
    emitter.line(f"printf({', '.join([text, *values])});")
    emitter.line("fflush(stdout);")
    return Text("")


def _printed(emitter: FunctionEmitter, value: Expr) -> str:
    """An argument of printf."""
    if isinstance(value, StringImm):
        return emitter.code(value)
    if isinstance(value, Cast) and value.dtype.is_integral and value.value.dtype.is_integral:
        value = value.value
    kind = "const char*" if value.dtype.is_handle else "long long"
    return f"({'double' if value.dtype.is_float else kind}){emitter.code(value, Precedence.UNARY)}"
