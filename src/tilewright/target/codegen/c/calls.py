"""Calls in C: intrinsics, C functions, functions of the module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import FLOAT32, FLOAT64, DType
from tilewright.ir.expr import Call, Cast, Expr, StringImm, Var
from tilewright.ir.function import GlobalVar
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.emitter import Precedence, Text, c_string
from tilewright.target.codegen.c.names import c_name
from tilewright.target.codegen.c.object_prelude import OBJECTS, VALUES
from tilewright.target.codegen.c.structures import StructureEmitter
from tilewright.target.codegen.c.types import HALVES, suffix, value_type
from tilewright.target.codegen.c_library import own_name
from tilewright.tir.numerics import KERNELS
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


class CallEmitter(StructureEmitter):
    """Adds calls to the expressions."""

    def call(self, call: Call) -> Text:
        if isinstance(call.op, GlobalVar):
            return Text(f"{c_name(own_name(call.op.name_hint))}({self.arguments(call.args)})")
        name = call.op.name.removeprefix("tir.")  # type: ignore[attr-defined]
        if name in LIBRARY and not (name in ("fma", "nextafter") and call.dtype in HALVES):
            return self.round(call.dtype, Text(self.library(name, call.dtype, call.args)))
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
        return Text(f"{helper}({self.arguments(call.args)})")

    def _infix(self, name: str, call: Call) -> Text:
        operator, precedence = INFIX[name]
        # C's precedence of these surprises people: operands that are operators get parentheses.
        a, b = call.args
        if name.startswith("shift"):
            left, right = self.code(a, Precedence.UNARY), self.plain(b, Precedence.UNARY)
            if name == "shift_left" and call.dtype.is_int:
                unsigned, signed = f"uint{call.dtype.bits}_t", value_type(call.dtype)
                return Text(f"({signed})(({unsigned}){left} << {right})", Precedence.UNARY)
        else:
            left, right = (
                self.beside(a, b, Precedence.UNARY), self.beside(b, a, Precedence.UNARY)
            )  # fmt: skip
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
        operator = "!" if call.dtype.is_bool else "~"
        return self.round(call.dtype, Text(f"{operator}{value}", Precedence.UNARY))

    def call_fma(self, call: Call) -> Text:
        """For half types: the product is exact in double, and the sum is not rounded twice."""
        self.helper("odd_f32", prelude.ROUND_TO_ODD)
        self.helper("odd_sum", prelude.SUM_TO_ODD)
        a, b = (self.code(arg, Precedence.UNARY) for arg in call.args[:2])
        total = f"tw_odd_sum((double){a} * {b}, {self.code(call.args[2])})"
        return self.round(call.dtype, Text(f"tw_odd_f32({total})"))

    def call_round(self, call: Call) -> Text:
        return self.round(call.dtype, Text(self.library("nearbyint", call.dtype, call.args)))

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
            if dtype in HALVES:
                code = f"tw_{verb}_{self.half_helper(dtype)}({code})"
        if target in HALVES:
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
        if name not in STANDARD:
            types = ", ".join(value_type(arg.dtype) for arg in call.args[1:]) or "void"
            self.helper(f"extern {name}", f"extern {value_type(call.dtype)} {name}({types});\n")
        return Text(f"{name}({self.arguments(call.args[1:])})")

    call_call_pure_extern = call_call_extern

    def call_tvm_call_packed_lowered(self, call: Call) -> Text:
        self.helper("raise", prelude.RAISE)
        self.helper("ffi_calls", prelude.FFI_CALLS)
        self.helper("packed", prelude.PACKED)
        return Text(f"tw_call_packed({self.arguments(call.args)})")

    def call_lookup_param(self, call: Call) -> Text:
        name = call.args[0].value  # type: ignore[attr-defined]
        self.helper(name, f"extern const char {name}[];\n")
        return Text(f"(void*){name}", Precedence.UNARY)

    def call_new_array(self, call: Call) -> Text:
        return self._object_function("tw_new_array", call)

    def call_new_tuple(self, call: Call) -> Text:
        return self._object_function("tw_new_tuple", call)

    def call_release_objects(self, call: Call) -> Text:
        return self._object_function("tw_release_objects", call)

    def call_own_any(self, call: Call) -> Text:
        return self._value_function("tw_own", call)

    def call_new_view(self, call: Call) -> Text:
        return self._value_function("tw_new_view", call)

    def call_compact_object(self, call: Call) -> Text:
        return self._value_function("tw_compact", call)

    def call_has_packed(self, call: Call) -> Text:
        return self._value_function("tw_has_packed", call)

    def _value_function(self, name: str, call: Call) -> Text:
        text = self._object_function(name, call)
        self.helper("values", VALUES)
        return text

    def _object_function(self, name: str, call: Call) -> Text:
        self.helper("abi", prelude.ABI)
        self.helper("raise", prelude.RAISE)
        self.helper("ffi_calls", prelude.FFI_CALLS)
        self.helper("objects", OBJECTS)
        return Text(f"{name}({self.arguments(call.args)})")

    def call_ret(self, call: Call) -> Text:
        self.leave(self.code(call.args[0]) if call.args else "")
        return Text("")

    def call_raise_error(self, call: Call) -> Text:
        kind, message = (c_string(arg.value) for arg in call.args[:2])  # type: ignore[attr-defined]
        self.helper("raise", prelude.RAISE)
        values = [self._printed(arg) for arg in call.args[2:]]
        self.leave(f"tw_raise({', '.join([kind, message, *values])})")
        return Text("")

    def call_print_text(self, call: Call) -> Text:
        text = c_string(call.args[0].value)  # type: ignore[attr-defined]
        values = [self._printed(arg) for arg in call.args[1:]]
        self.line(f"printf({', '.join([text, *values])});")
        self.line("fflush(stdout);")
        return Text("")

    def _printed(self, value: Expr) -> str:
        """An argument of printf."""
        if isinstance(value, StringImm):
            return self.code(value)
        if isinstance(value, Cast) and value.dtype.is_integral and value.value.dtype.is_integral:
            value = value.value
        kind = "const char*" if value.dtype.is_handle else "long long"
        return f"({'double' if value.dtype.is_float else kind}){self.code(value, Precedence.UNARY)}"
