"""Calls in C: intrinsics, C functions, functions of the module, registered functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import FLOAT32, FLOAT64, DType
from tilewright.ir.expr import Call, Expr, StringImm, Var
from tilewright.ir.function import GlobalVar
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.expressions import (
    ExpressionEmitter,
    Precedence,
    Text,
    c_string,
)
from tilewright.target.codegen.c.names import c_name
from tilewright.target.codegen.c.types import suffix, value_type
from tilewright.tir.numerics import KERNELS
from tilewright.tir.op.memory import StructField
from tilewright.tir.transform.lower_math import expand_call

# Functions of math.h with the same meaning; those that round to whole numbers or change the sign
# bit need no rounding to half types, and get it anyway: it changes nothing.
LIBRARY: Final = {
    "fabs", "sqrt", "floor", "ceil", "trunc", "nearbyint", "fma", "copysign", "fmod", "nextafter",
    "ldexp",
}  # fmt: skip
EXPANDED: Final = {*KERNELS, "rsqrt"}
STANDARD: Final = {*LIBRARY, *KERNELS}
"""Functions that math.h declares."""
TESTS: Final = {"isnan", "isinf", "isfinite"}
INFIX: Final = {
    "shift_left": ("<<", Precedence.SHIFT),
    "shift_right": (">>", Precedence.SHIFT),
    "bitwise_and": ("&", Precedence.BIT_AND),
    "bitwise_or": ("|", Precedence.BIT_OR),
    "bitwise_xor": ("^", Precedence.BIT_XOR),
}
ARRAY_FIELDS: Final = {
    StructField.ARRAY_ADDRESS: "",
    StructField.ARRAY_DATA: "data",
    StructField.ARRAY_SHAPE: "shape",
    StructField.ARRAY_STRIDES: "strides",
    StructField.ARRAY_NDIM: "ndim",
    StructField.ARRAY_TYPE_CODE: "dtype.code",
    StructField.ARRAY_TYPE_BITS: "dtype.bits",
    StructField.ARRAY_TYPE_LANES: "dtype.lanes",
    StructField.ARRAY_BYTE_OFFSET: "byte_offset",
    StructField.ARRAY_DEVICE_ID: "device.device_id",
    StructField.ARRAY_DEVICE_TYPE: "device.device_type",
}
ANY_MEMBER: Final = {"int": "v_int64", "uint": "v_int64", "float": "v_float64", "handle": "v_ptr"}
STACK_TYPES: Final = {"shape": "int64_t", "arg_value": "TwAny", "arg_tcode": "int32_t"}
"""Type indices of tvm-ffi values."""


class CallEmitter(ExpressionEmitter):
    """Adds calls to the expressions."""

    def call(self, call: Call) -> Text:
        if isinstance(call.op, GlobalVar):
            return Text(f"{c_name(call.op.name_hint)}({self._arguments(call.args)})")
        name = call.op.name.removeprefix("tir.")  # type: ignore[attr-defined]
        if name in LIBRARY:
            return self.round(call.dtype, Text(self._library(name, call.dtype, call.args)))
        if name in EXPANDED:
            return self.round(call.dtype, self._expanded(name, call))
        if name in TESTS:
            return Text(f"({name}({self.code(call.args[0])}) != 0)")
        if name in INFIX:
            return self._infix(name, call)
        method: Callable[[Call], Text] | None = getattr(self, f"call_{name}", None)
        if method is None:
            raise CodegenError(f"target c has no code for `{call!r}`")
        return method(call)

    def _arguments(self, args: tuple[Expr, ...]) -> str:
        return ", ".join(self.code(arg) for arg in args)

    def _expanded(self, name: str, call: Call) -> Text:
        """A call of a helper with the same arithmetic that vector code has in place."""
        dtype = FLOAT64 if call.dtype.bits == 64 else FLOAT32
        helper = f"tw_{name}_{suffix(dtype)}"
        if helper not in self.helpers:
            params = [Var(letter, dtype) for letter in "xy"[: len(call.args)]]
            expanded = expand_call(Call(dtype, call.op, tuple(params)))
            body = type(self)(self.helpers)
            c_type = value_type(dtype)
            names = ", ".join(f"{c_type} {body.names.define(param)}" for param in params)
            body.line(f"return {body.code(expanded)};")
            lines = [f"static inline {c_type} {helper}({names}) {{", *body.lines, "}", ""]
            self.helper(helper, "\n".join(lines))
        return Text(f"{helper}({self._arguments(call.args)})")

    def _infix(self, name: str, call: Call) -> Text:
        operator, precedence = INFIX[name]
        # C's precedence of these surprises people: operands that are operators get parentheses.
        left, right = (self.code(arg, Precedence.UNARY) for arg in call.args)
        if name == "shift_left" and call.dtype.is_int:
            unsigned, signed = f"uint{call.dtype.bits}_t", value_type(call.dtype)
            return Text(f"({signed})(({unsigned}){left} << {right})", Precedence.UNARY)
        return self.round(call.dtype, Text(f"{left} {operator} {right}", precedence))

    # --- values -----------------------------------------------------------------------------

    def call_if_then_else(self, call: Call) -> Text:
        condition, yes, no = call.args
        return self.conditional(condition, yes, no, call.dtype)

    def call_likely(self, call: Call) -> Text:
        return self.text(call.args[0])

    def call_any_lane(self, call: Call) -> Text:
        return self.text(call.args[0])

    def call_bitwise_not(self, call: Call) -> Text:
        value = self.code(call.args[0], Precedence.UNARY)
        return self.round(call.dtype, Text(f"~{value}", Precedence.UNARY))

    def call_round(self, call: Call) -> Text:
        return self.round(call.dtype, Text(self._library("nearbyint", call.dtype, call.args)))

    def call_reinterpret(self, call: Call) -> Text:
        source, target = call.args[0].dtype, call.dtype
        if source is target:
            return self.text(call.args[0])
        if source.is_handle or target.is_handle:
            inner = f"(intptr_t){self.code(call.args[0], Precedence.UNARY)}"
            return Text(f"({value_type(target)}){inner}", Precedence.UNARY)
        if source.bits < 32:
            return self._reinterpret_small(call.args[0], target)
        name = f"{suffix(source)}_{suffix(target)}"
        code = prelude.bit_cast(value_type(source), value_type(target), name)
        self.helper(f"bits_{name}", code)
        return Text(f"tw_bits_{name}({self.code(call.args[0])})")

    def _reinterpret_small(self, value: Expr, target: DType) -> Text:
        """Between 8 or 16 bit integers, and half types, whose values live in floats."""
        code = self.code(value)
        for dtype, verb in ((value.dtype, "store"), (target, "load")):
            kind = {"float16": "f16", "bfloat16": "bf16"}.get(dtype)
            if kind is not None:
                self.helper(kind, prelude.HALF if kind == "f16" else prelude.BFLOAT)
                code = f"tw_{verb}_{kind}({code})"
        if target in ("float16", "bfloat16"):
            return Text(code)
        return Text(f"({value_type(target)})({code})", Precedence.UNARY)

    def call_popcount(self, call: Call) -> Text:
        bits = call.args[0].dtype.bits
        value = self.code(call.args[0], Precedence.UNARY)
        builtin = "__builtin_popcountll" if bits == 64 else "__builtin_popcount"
        return self.round(call.dtype, Text(f"{builtin}((uint{bits}_t){value})"))

    def call_clz(self, call: Call) -> Text:
        bits = call.args[0].dtype.bits
        value = self.temporary(call.args[0])
        wide = 64 if bits == 64 else 32
        builtin = "__builtin_clzll" if wide == 64 else "__builtin_clz"
        count = f"{builtin}((uint{bits}_t){value})"
        if wide != bits:
            count += f" - {wide - bits}"
        return Text(f"{value} == 0 ? {bits} : {count}", Precedence.CONDITIONAL)

    # --- functions --------------------------------------------------------------------------

    def call_call_extern(self, call: Call) -> Text:
        name = call.args[0].value  # type: ignore[attr-defined]
        types = ", ".join(value_type(arg.dtype) for arg in call.args[1:]) or "void"
        if name not in STANDARD:
            self.helper(name, f"extern {value_type(call.dtype)} {name}({types});\n")
        return Text(f"{name}({self._arguments(call.args[1:])})")

    call_call_pure_extern = call_call_extern

    def call_ret(self, call: Call) -> Text:
        self.leave(self.code(call.args[0]) if call.args else "")
        return Text("")

    def call_raise_error(self, call: Call) -> Text:
        kind, message = (c_string(arg.value) for arg in call.args[:2])  # type: ignore[attr-defined]
        self.helper("raise", prelude.RAISE)
        if len(call.args) == 2:
            # Even without values the message is a format: %% stands for %.
            message = message.replace("%%", "%")
            self.leave(f"tw_raise({kind}, {message})")
            return Text("")
        values = []
        for arg in call.args[2:]:
            code = self.code(arg, Precedence.UNARY)
            cast = "" if isinstance(arg, StringImm) or arg.dtype.is_handle else "(long long)"
            values.append(f"(double){code}" if arg.dtype.is_float else f"{cast}{code}")
        buffer = self.names.fresh("message")
        self.line(f"char {buffer}[512];")
        self.line(f"snprintf({buffer}, sizeof {buffer}, {message}, {', '.join(values)});")
        self.leave(f"tw_raise({kind}, {buffer})")
        return Text("")

    def leave(self, value: str) -> None:
        """Leave the function with `value`."""
        raise NotImplementedError  # pragma: no cover, given by statements.FunctionEmitter

    def call_tvm_call_packed_lowered(self, call: Call) -> Text:
        self.helper("raise", prelude.RAISE)
        self.helper("packed", prelude.PACKED)
        name, args, count, result = map(self.code, call.args)
        return Text(f"tw_call_packed({name}, (TwAny*){args}, {count}, (TwAny*){result})")

    # --- structures -------------------------------------------------------------------------

    def _field(self, call: Call) -> str:
        base, index, field = call.args[:3]
        kind = StructField(int(field))  # type: ignore[call-overload]
        pointer, position = self.code(base, Precedence.UNARY), self.code(index)
        if kind is StructField.ANY_TYPE_INDEX:
            return f"((TwAny*){pointer})[{position}].type_index"
        if kind is StructField.ANY_VALUE:
            dtype = call.args[3].dtype if len(call.args) > 3 else call.dtype
            return f"((TwAny*){pointer})[{position}].value.{ANY_MEMBER[dtype.code]}"
        if kind is StructField.ARRAY_ADDRESS:
            return f"&((TwTensor*){pointer})[{position}]"
        return f"((TwTensor*){pointer})[{position}].{ARRAY_FIELDS[kind]}"

    def call_tvm_struct_get(self, call: Call) -> Text:
        return Text(f"({value_type(call.dtype)})({self._field(call)})", Precedence.UNARY)

    def call_tvm_struct_set(self, call: Call) -> Text:
        self.line(f"{self._field(call)} = {self.code(call.args[3])};")
        return Text("0")

    def call_tvm_stack_alloca(self, call: Call) -> Text:
        kind, count = call.args
        c_type = STACK_TYPES.get(kind.value, "TwTensor")  # type: ignore[attr-defined]
        name = self.names.fresh("stack")
        self.line(f"{c_type} {name}[{self.code(count)}];")
        return Text(f"(void*){name}", Precedence.UNARY)

    def call_tvm_stack_make_shape(self, call: Call) -> Text:
        name = self.names.fresh("shape")
        values = ", ".join(self.code(arg) for arg in call.args) or "0"
        self.line(f"int64_t {name}[] = {{{values}}};")
        return Text(f"(void*){name}", Precedence.UNARY)

    def call_tvm_stack_make_array(self, call: Call) -> Text:
        data, shape, strides, ndim, element, offset = call.args
        name = self.names.fresh("tensor")
        dtype = element.dtype
        code = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}[dtype.code]
        bits = 8 if dtype.is_bool else dtype.bits
        size = dtype.itemsize
        pointer = "NULL" if not strides.dtype.is_handle else f"(int64_t*){self.code(strides)}"
        self.line(f"TwTensor {name};")
        self.line(f"memset(&{name}, 0, sizeof {name});")
        for field, value in (
            ("data", self.code(data)), ("device.device_type", "1"), ("ndim", self.code(ndim)),
            ("dtype.code", str(code)), ("dtype.bits", str(bits)), ("dtype.lanes", "1"),
            ("shape", f"(int64_t*){self.code(shape, Precedence.UNARY)}"), ("strides", pointer),
            ("byte_offset", f"(uint64_t)({self.code(offset)}) * {size}"),
        ):  # fmt: skip
            self.line(f"{name}.{field} = {value};")
        return Text(f"(void*)&{name}", Precedence.UNARY)

    def call_address_of(self, call: Call) -> Text:
        load: Any = call.args[0]
        return Text(f"(void*)&{self.element(load)}", Precedence.UNARY)

    def call_isnullptr(self, call: Call) -> Text:
        return Text(f"{self.code(call.args[0], Precedence.EQUALITY)} == NULL", Precedence.EQUALITY)

    def call_prefetch_address(self, call: Call) -> Text:
        self.line(f"TW_PREFETCH({self._arguments(call.args)});")
        return Text("")
