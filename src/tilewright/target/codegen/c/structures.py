"""Calls of registered functions, and the C structures that they pass."""

from __future__ import annotations

from typing import Any, Final

from tilewright.ir.expr import Call, Expr, StringImm
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.emitter import Precedence, Text
from tilewright.target.codegen.c.expressions import ExpressionEmitter
from tilewright.target.codegen.c.types import value_type
from tilewright.tir.op.memory import StructField

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
NONE, INT, BOOL, FLOAT, POINTER, TENSOR, STRING = 0, 1, 2, 3, 4, 7, 8
"""Type indices of tvm-ffi values."""


class StructureEmitter(ExpressionEmitter):
    """Adds what works on the structures of tvm-ffi."""

    def leave(self, value: str) -> None:
        """Leave the function with `value`."""
        raise NotImplementedError  # pragma: no cover, given by statements.FunctionEmitter

    def call_tvm_call_packed(self, call: Call) -> Text:
        self.helper("raise", prelude.RAISE)
        self.helper("packed", prelude.PACKED)
        name, values = call.args[0], call.args[1:]
        args, result = self.names.fresh("args"), self.names.fresh("result")
        self.line(f"TwAny {args}[{max(len(values), 1)}], {result};")
        self.line(f"memset({args}, 0, sizeof {args});")
        self.line(f"memset(&{result}, 0, sizeof {result});")
        for position, value in enumerate(values):
            self._packed_argument(f"{args}[{position}]", value)
        called = f"tw_call_packed({self.code(name)}, {args}, {len(values)}, &{result})"
        self.line(f"if ({called} != 0) {{")
        self.depth += 1
        self.leave("-1")
        self.depth -= 1
        self.line("}")
        member = ANY_MEMBER.get(call.dtype.code, "v_int64")
        return Text(f"({value_type(call.dtype)}){result}.value.{member}", Precedence.UNARY)

    def _packed_argument(self, slot: str, value: Expr) -> None:
        index, member = INT, "v_int64"
        is_array = isinstance(value, Call) and getattr(value.op, "name", "") == (
            "tir.tvm_stack_make_array"
        )
        if isinstance(value, StringImm):
            index, member = STRING, "v_ptr"
        elif is_array:
            index, member = TENSOR, "v_ptr"
        elif value.dtype.is_handle:
            index, member = POINTER, "v_ptr"
        elif value.dtype.is_float:
            index, member = FLOAT, "v_float64"
        elif value.dtype.is_bool:
            index = BOOL
        code = self.code(value)
        cast = "(void*)" if member == "v_ptr" else ""
        self.line(f"{slot}.type_index = {index};")
        self.line(f"{slot}.value.{member} = {cast}{code};")

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
        self.read.add(self.names[load.buffer.data])
        return Text(f"(void*)&{self.element(load)}", Precedence.UNARY)

    def call_isnullptr(self, call: Call) -> Text:
        return Text(f"{self.code(call.args[0], Precedence.EQUALITY)} == NULL", Precedence.EQUALITY)

    def call_prefetch_address(self, call: Call) -> Text:
        self.line(f"TW_PREFETCH({self.arguments(call.args)});")
        return Text("")
