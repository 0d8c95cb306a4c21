"""Calls: intrinsics, C functions, functions of the module, registered functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import FLOAT64, INT32, INT64, DType
from tilewright.ir.expr import Call, Expr
from tilewright.ir.function import GlobalVar
from tilewright.target.codegen.c_library import own_name
from tilewright.target.codegen.llvm.object_calls import ObjectCalls
from tilewright.target.codegen.llvm.types import HALVES, mangled, splat, value_type
from tilewright.tir.buffer import BufferLoad

INTRINSICS: Final = {
    "fabs": "fabs",
    "sqrt": "sqrt",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "round": "rint",
    "nearbyint": "rint",
    "copysign": "copysign",
    "popcount": "ctpop",
}
BIT_OPS: Final = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
LIBRARY: Final = ("nextafter",)
"""Functions that the C library computes, lane by lane."""


class Calls(ObjectCalls):
    """Adds calls to the expressions."""

    result_type = "i32"
    """What the function returns: its status, or a value."""

    def call(self, call: Call) -> str:
        if isinstance(call.op, GlobalVar):
            return self._call_function(own_name(call.op.name_hint), call, call.args)
        name = call.op.name.removeprefix("tir.")  # type: ignore[attr-defined]
        if name in INTRINSICS:
            operands = [self.operand(arg) for arg in call.args]
            return self.intrinsic(INTRINSICS[name], call.dtype, *operands)
        if name in BIT_OPS:
            a, b = (self.operand(arg) for arg in call.args)
            return self.pure(f"{BIT_OPS[name]} {value_type(call.dtype)} {a}, {b}", a, b)
        if name in LIBRARY:
            return self._by_library(name, call)
        method: Callable[[Call], str] | None = getattr(self, f"call_{name}", None)
        if method is None:
            raise CodegenError(f"target llvm has no code for `{call!r}`")
        return method(call)

    # --- values -------------------------------------------------------------------------------

    def call_likely(self, call: Call) -> str:
        return self.operand(call.args[0])

    def call_assume(self, call: Call) -> str:
        function = self.module.declare("llvm.assume", "void", ("i1",))
        self.effect(f"call void {function}(i1 {self.operand(call.args[0])})")
        return "0"

    def call_undef(self, call: Call) -> str:
        return "0"

    def call_if_then_else(self, call: Call) -> str:
        condition, yes, no = call.args
        test = self.operand(condition)
        if condition.dtype.lanes > 1:
            return self.select(test, self.operand(yes), self.operand(no), call.dtype)
        return self.choose(test, lambda: self.operand(yes), lambda: self.operand(no), call.dtype)

    def call_any_lane(self, call: Call) -> str:
        dtype = call.args[0].dtype
        mask = self.operand(call.args[0])
        if dtype.lanes == 1:
            return mask
        ty = value_type(dtype)
        function = self.module.declare(f"llvm.vector.reduce.or.v{dtype.lanes}i1", "i1", (ty,))
        return self.pure(f"call i1 {function}({ty} {mask})", mask)

    def call_fma(self, call: Call) -> str:
        operands = [self.operand(arg) for arg in call.args]
        dtype = call.dtype
        native = self.module.target.has_fma and dtype.element not in HALVES
        if native or dtype.bits == 64:
            return self.intrinsic("fma", dtype, *operands)
        # In double the product is exact, and the sum is rounded such that rounding it again does
        # no harm. LLVM would call a function for each lane.
        wide = FLOAT64.with_lanes(dtype.lanes)
        a, b, c = (self.cast(operand, dtype, wide) for operand in operands)
        product = self.pure(f"fmul {value_type(wide)} {a}, {b}", a, b)
        return self.cast(self.sum_rounded_to_odd(product, c, wide), wide, dtype)

    def call_isnan(self, call: Call) -> str:
        value, ty = self.operand(call.args[0]), value_type(call.args[0].dtype)
        return self.pure(f"fcmp uno {ty} {value}, {value}", value)

    def call_isinf(self, call: Call) -> str:
        return self._compare_size(call, "oeq")

    def call_isfinite(self, call: Call) -> str:
        return self._compare_size(call, "olt")

    def _compare_size(self, call: Call, condition: str) -> str:
        dtype = call.args[0].dtype
        size = self.intrinsic("fabs", dtype, self.operand(call.args[0]))
        infinity = self.constant(float("inf"), dtype)
        return self.pure(f"fcmp {condition} {value_type(dtype)} {size}, {infinity}", size)

    def call_shift_left(self, call: Call) -> str:
        return self._shift("shl", call)

    def call_shift_right(self, call: Call) -> str:
        return self._shift("ashr" if call.dtype.is_int else "lshr", call)

    def _shift(self, op: str, call: Call) -> str:
        dtype, ty = call.dtype, value_type(call.dtype)
        a, b = (self.operand(arg) for arg in call.args)
        if b.startswith("%"):
            # An amount that is too large is poison in LLVM.
            limit = splat(value_type(dtype.element), str(dtype.bits - 1), dtype.lanes)
            b = self.pure(f"and {ty} {b}, {limit}", b)
        return self.pure(f"{op} {ty} {a}, {b}", a, b)

    def call_bitwise_not(self, call: Call) -> str:
        a, ty = self.operand(call.args[0]), value_type(call.dtype)
        ones = splat(value_type(call.dtype.element), "-1", call.dtype.lanes)
        return self.pure(f"xor {ty} {a}, {ones}", a)

    def call_clz(self, call: Call) -> str:
        dtype = call.args[0].dtype
        ty, value = value_type(dtype), self.operand(call.args[0])
        function = self.module.declare(f"llvm.ctlz.{mangled(dtype)}", ty, (ty, "i1"))
        count = self.pure(f"call {ty} {function}({ty} {value}, i1 false)", value)
        return self.cast(count, DType(f"uint{dtype.bits}").with_lanes(dtype.lanes), call.dtype)

    def call_ldexp(self, call: Call) -> str:
        value, exponent = (self.operand(arg) for arg in call.args)
        ty = value_type(call.dtype)
        target = INT32.with_lanes(call.dtype.lanes)
        exponent = self.cast(exponent, call.args[1].dtype, target)
        suffix = f"{mangled(call.dtype)}.{mangled(target)}"
        power = value_type(target)
        function = self.module.declare(f"llvm.ldexp.{suffix}", ty, (ty, power))
        result = self.pure(
            f"call {ty} {function}({ty} {value}, {power} {exponent})", value, exponent
        )
        return self.rounded(result, call.dtype)

    def call_fmod(self, call: Call) -> str:
        a, b = (self.operand(arg) for arg in call.args)
        return self.rounded(self.pure(f"frem {value_type(call.dtype)} {a}, {b}", a, b), call.dtype)

    def _by_library(self, name: str, call: Call) -> str:
        dtype = call.dtype.element
        operands = [self.operand(arg) for arg in call.args]
        lanes = [
            self._scalar_library(
                name, dtype, [self._extract(v, call.dtype.lanes, n, dtype) for v in operands]
            )
            for n in range(call.dtype.lanes)
        ]
        if len(lanes) == 1:
            return lanes[0]
        whole, result = value_type(call.dtype), "poison"
        for lane, value in enumerate(lanes):
            code = f"insertelement {whole} {result}, {value_type(dtype)} {value}, i64 {lane}"
            result = self.pure(code, result, value)
        return result

    def _scalar_library(self, name: str, dtype: DType, operands: list[str]) -> str:
        if dtype in HALVES:
            raise CodegenError(f"target llvm has no `{name}` of dtype {dtype!s}; cast to float32")
        ty = value_type(dtype)
        function = self.module.declare(
            name if dtype.bits == 64 else f"{name}f", ty, (ty,) * len(operands)
        )
        return self.pure(
            f"call {ty} {function}({', '.join(f'{ty} {v}' for v in operands)})", *operands
        )

    def call_reinterpret(self, call: Call) -> str:
        source, target = call.args[0].dtype, call.dtype
        value = self.operand(call.args[0])
        if source.element in HALVES:
            value = self.narrowed(value, source)
            source = DType("int16").with_lanes(source.lanes)
        if target.element in HALVES:
            bits = DType("int16").with_lanes(target.lanes)
            return self.widened(self._bitcast(value, source, bits), target)
        return self._bitcast(value, source, target)

    def _bitcast(self, value: str, source: DType, target: DType) -> str:
        old, new = value_type(source), value_type(target)
        if old == new:
            return value
        if "ptr" in (old, new):
            op = "ptrtoint" if old == "ptr" else "inttoptr"
            return self.pure(f"{op} {old} {value} to {new}", value)
        return self.pure(f"bitcast {old} {value} to {new}", value)

    # --- memory -------------------------------------------------------------------------------

    def call_address_of(self, call: Call) -> str:
        load = call.args[0]
        if not isinstance(load, BufferLoad) or len(load.indices) != 1:
            raise CodegenError(f"target llvm: `{call!r}` is no address of a flat buffer's element")
        return self.address(load.buffer, load.indices[0])

    def call_isnullptr(self, call: Call) -> str:
        value = self.operand(call.args[0])
        return self.pure(f"icmp eq ptr {value}, null", value)

    def call_prefetch_address(self, call: Call) -> str:
        address, mode, locality = (self.operand(arg) for arg in call.args)
        function = self.module.declare("llvm.prefetch.p0", "void", ("ptr", "i32", "i32", "i32"))
        self.effect(f"call void {function}(ptr {address}, i32 {mode}, i32 {locality}, i32 1)")
        return "0"

    # --- functions ----------------------------------------------------------------------------

    def _call_function(self, name: str, call: Call, args: tuple[Expr, ...]) -> str:
        """A call of a function of the module."""
        operands = ", ".join(f"{value_type(arg.dtype)} {self.operand(arg)}" for arg in args)
        code = f'call {value_type(call.dtype)} @"{name}"({operands})'
        if call.dtype.code == "void":
            self.effect(code)
            return ""
        return self.value(code)

    def call_call_extern(self, call: Call) -> str:
        name, args = call.args[0].value, call.args[1:]  # type: ignore[attr-defined]
        types = tuple(value_type(arg.dtype) for arg in args)
        self.module.declare(name, value_type(call.dtype), types)
        self.module.externals[name] = None
        return self._call_function(name, call, args)

    call_call_pure_extern = call_call_extern

    def call_call_llvm_intrin(self, call: Call) -> str:
        """An LLVM intrinsic by its name, which may lack the types of overloaded ones."""
        name, args = call.args[0].value, call.args[1:]  # type: ignore[attr-defined]
        if not name.startswith("llvm."):
            raise CodegenError(f"call_llvm_intrin: {name!r} is no LLVM intrinsic (llvm...)")
        if not re.search(r"\.(?:v\d+)?[ifp]\d+$", name):
            typed = call if call.dtype.code != "void" or not args else args[0]
            name = f"{name}.{mangled(typed.dtype)}"
        types = tuple(value_type(arg.dtype) for arg in args)
        self.module.declare(name, value_type(call.dtype), types)
        return self._call_function(name, call, args)

    call_call_llvm_pure_intrin = call_call_llvm_intrin

    def call_ret(self, call: Call) -> str:
        self.leave(self.operand(call.args[0]) if call.args else "zeroinitializer")
        return ""

    def leave(self, value: str) -> None:
        """Leave the function with `value`; given by `control.Control`."""
        raise NotImplementedError

    def call_raise_error(self, call: Call) -> str:
        kind, message = (arg.value for arg in call.args[:2])  # type: ignore[attr-defined]
        self.raise_error(kind, message, call.args[2:])
        return ""

    def raise_error(self, kind: str, message: str, values: tuple[Expr, ...] = ()) -> None:
        """Leave the function with an error whose text is a printf format and its values."""
        if self.result_type != "i32":
            raise CodegenError(
                "target llvm: a function that returns a value cannot fail (assert, raise_error, "
                "allocate), because it could not return the error"
            )
        types, operands = self._printed(values)
        text = message if values else message.replace("%%", "%")
        strings = [f"ptr {self.module.string(kind)}", f"ptr {self.module.string(text)}"]
        arguments = [f"{ty} {operand}" for ty, operand in zip(types, operands, strict=True)]
        function = self.module.raising(tuple(types))
        self.leave(self.value(f"call i32 {function}({', '.join([*strings, *arguments])})"))

    def _printed(self, values: tuple[Expr, ...]) -> tuple[list[str], list[str]]:
        """The types and the operands of values for printf."""
        types, operands = [], []
        for value in values:
            operand = self.operand(value)
            if value.dtype.is_float:
                types.append("double")
                operands.append(self.cast(operand, value.dtype, FLOAT64))
            elif value.dtype.is_handle:
                types.append("ptr")
                operands.append(operand)
            else:
                types.append("i64")
                operands.append(self.cast(operand, value.dtype, INT64))
        return types, operands

    def call_print_text(self, call: Call) -> str:
        types, operands = self._printed(call.args[1:])
        text = self.operand(call.args[0])
        values = "".join(f", {ty} {value}" for ty, value in zip(types, operands, strict=True))
        self.module.declare("printf", "i32", ("ptr", "..."))
        self.module.declare("fflush", "i32", ("ptr",))
        self.effect(f"call i32 (ptr, ...) @printf(ptr {text}{values})")
        self.effect("call i32 @fflush(ptr null)")
        return ""

    def call_tvm_call_packed_lowered(self, call: Call) -> str:
        name, caller, *rest = call.args
        self.module.needs_packed_calls = True
        length = len(name.value.encode())  # type: ignore[attr-defined]
        operands = [f"{value_type(arg.dtype)} {self.operand(arg)}" for arg in rest]
        arguments = ", ".join([f"ptr {self.operand(caller)}", *operands])
        head = f"ptr {self.operand(name)}, i64 {length}"
        return self.value(f"call i32 @tilewright_call_packed({head}, {arguments})")
