"""Calls that read and write the C structures of tvm-ffi and DLPack."""

from __future__ import annotations

from typing import Any, Final

from tilewright.ir.expr import Call
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


class StructureEmitter(ExpressionEmitter):
    """Adds what works on the structures of tvm-ffi."""

    def leave(self, value: str) -> None:
        """Leave the function with `value`."""
        raise NotImplementedError  # pragma: no cover, given by statements.FunctionEmitter

    def _field(self, call: Call) -> str:
        base, index, field = call.args[:3]
        kind = StructField(int(field))  # type: ignore[call-overload]
        self.helper("abi", prelude.ABI)
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
        self.helper("abi", prelude.ABI)
        name = self.names.fresh("stack")
        self.line(f"{c_type} {name}[{self.code(count)}];")
        return Text(f"(void*){name}", Precedence.UNARY)

    def call_address_of(self, call: Call) -> Text:
        load: Any = call.args[0]
        self.read.add(self.names[load.buffer.data])
        return Text(f"(void*)&{self.element(load)}", Precedence.UNARY)

    def call_isnullptr(self, call: Call) -> Text:
        return Text(f"{self.code(call.args[0], Precedence.EQUALITY)} == NULL", Precedence.EQUALITY)

    def call_prefetch_address(self, call: Call) -> Text:
        self.line(f"TW_PREFETCH({self.arguments(call.args)});")
        return Text("")
