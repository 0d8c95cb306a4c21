"""Calls that read and write the C structures of tvm-ffi and DLPack."""

from __future__ import annotations

from typing import Any, Final

from tilewright.error import CodegenError
from tilewright.ir.expr import Call
from tilewright.target.codegen.c import prelude
from tilewright.target.codegen.c.emitter import FunctionEmitter, Precedence, Text, emits
from tilewright.target.codegen.c.expressions import lvalue
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


def _field(emitter: FunctionEmitter, call: Call) -> str:
    base, index, field = call.args[:3]
    kind = StructField(int(field))  # type: ignore[call-overload]
    emitter.helper("abi", prelude.ABI)
    pointer, position = emitter.code(base, Precedence.UNARY), emitter.code(index)
    if kind is StructField.ANY_TYPE_INDEX:
        return f"((TwAny*){pointer})[{position}].type_index"
    if kind is StructField.ANY_VALUE:
        dtype = call.args[3].dtype if len(call.args) > 3 else call.dtype
        return f"((TwAny*){pointer})[{position}].value.{ANY_MEMBER[dtype.code]}"
    if kind is StructField.ARRAY_ADDRESS:
        return f"&((TwTensor*){pointer})[{position}]"
    return f"((TwTensor*){pointer})[{position}].{ARRAY_FIELDS[kind]}"


@emits("tir.tvm_struct_get")
def _tvm_struct_get(emitter: FunctionEmitter, call: Call) -> Text:
    return Text(f"({value_type(call.dtype)})({_field(emitter, call)})", Precedence.UNARY)


@emits("tir.tvm_struct_set")
def _tvm_struct_set(emitter: FunctionEmitter, call: Call) -> Text:
    emitter.line(f"{_field(emitter, call)} = {emitter.code(call.args[3])};")
    return Text("0")


@emits("tir.tvm_stack_alloca")
def _tvm_stack_alloca(emitter: FunctionEmitter, call: Call) -> Text:
    kind, count = call.args
    c_type = STACK_TYPES.get(kind.value, "TwTensor")  # type: ignore[attr-defined]
    emitter.helper("abi", prelude.ABI)
    name = emitter.names.unique("stack")
    emitter.line(f"{c_type} {name}[{emitter.code(count)}];")
    return Text(f"(void*){name}", Precedence.UNARY)


@emits("tir.address_of")
def _address_of(emitter: FunctionEmitter, call: Call) -> Text:
    load: Any = call.args[0]
    emitter.read.add(emitter.names[load.buffer.data])
    return Text(f"(void*)&{lvalue(emitter, load)}", Precedence.UNARY)


@emits("tir.atomic_add")
def _atomic_add(emitter: FunctionEmitter, call: Call) -> Text:
    if call.dtype.bits == 16:
        raise CodegenError(f"target {emitter.target}: `{call!r}` of {call.dtype}; add in float32")
    kind, place = value_type(call.dtype), f"&{lvalue(emitter, call.args[0].args[0])}"  # type: ignore[attr-defined]
    emitter.read.add(emitter.names[call.args[0].args[0].buffer.data])  # type: ignore[attr-defined]
    value = emitter.code(call.args[1])
    if call.dtype.is_integral:
        return Text(f"__atomic_fetch_add({place}, {value}, __ATOMIC_RELAXED)")
    word, name = f"uint{call.dtype.bits}_t", f"tw_atomic_add_{kind}"
    emitter.helper(name, prelude.ATOMIC_ADD.format(name=name, kind=kind, word=word))
    return Text(f"{name}({place}, {value})")


@emits("tir.isnullptr")
def _isnullptr(emitter: FunctionEmitter, call: Call) -> Text:
    return Text(f"{emitter.code(call.args[0], Precedence.EQUALITY)} == NULL", Precedence.EQUALITY)


@emits("tir.prefetch_address")
def _prefetch_address(emitter: FunctionEmitter, call: Call) -> Text:
    emitter.line(f"TW_PREFETCH({emitter.arguments(call.args)});")
    return Text("")
