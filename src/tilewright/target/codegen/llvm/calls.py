"""Calls of functions: of the module, of C, of LLVM, of the runtime, registered ones."""

from __future__ import annotations

import re
from typing import Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import HANDLE, INT32, INT64, DType
from tilewright.ir.expr import Call, Expr
from tilewright.ir.module import GlobalVar
from tilewright.target.codegen import own_name
from tilewright.target.codegen.llvm.addresses import index_operand
from tilewright.target.codegen.llvm.conversions import cast
from tilewright.target.codegen.llvm.emitter import FunctionEmitter, emits
from tilewright.target.codegen.llvm.statements import printed
from tilewright.target.codegen.llvm.types import mangled, value_type
from tilewright.tir.call_boundary.structures import ANY_SIZE, DLTENSOR_SIZE, DTYPE_CODES
from tilewright.tir.op.memory import StructField

OBJECT_FUNCTIONS: Final = {
    "tir.new_array": "tilewright_new_array",
    "tir.new_tuple": "tilewright_new_tuple",
    "tir.release_objects": "tilewright_release_objects",
    "tir.own_any": "tilewright_own",
    "tir.new_view": "tilewright_new_view",
    "tir.compact_object": "tilewright_compact",
}
"""Functions of the support module that makes arrays and tuples, and copies and keeps values."""


@emits(Call)
def _call(emitter: FunctionEmitter, call: Call) -> str:
    if isinstance(call.op, GlobalVar):
        return _call_function(emitter, own_name(call.op.name_hint), call, call.args)
    emit = emits.calls.get(call.op.name)  # type: ignore[attr-defined]
    if emit is None:
        raise CodegenError(f"target llvm has no code for `{call!r}`")
    return emit(emitter, call)


def _call_function(emitter: FunctionEmitter, name: str, call: Call, args: tuple[Expr, ...]) -> str:
    """A call of a function that is defined or declared."""
    operands = ", ".join(f"{value_type(arg.dtype)} {emitter.operand(arg)}" for arg in args)
    code = f'call {value_type(call.dtype)} @"{name}"({operands})'
    if call.dtype.code == "void":
        emitter.effect(code)
        return ""
    return emitter.value(code)


def _declare_and_call(
    emitter: FunctionEmitter, name: str, call: Call, args: tuple[Expr, ...]
) -> str:
    types = tuple(value_type(arg.dtype) for arg in args)
    emitter.module.declare(name, value_type(call.dtype), types)
    return _call_function(emitter, name, call, args)


@emits("tir.call_extern", "tir.call_pure_extern")
def _call_extern(emitter: FunctionEmitter, call: Call) -> str:
    name, args = call.args[0].value, call.args[1:]  # type: ignore[attr-defined]
    emitter.module.externals[name] = None
    return _declare_and_call(emitter, name, call, args)


@emits("tir.call_llvm_intrin", "tir.call_llvm_pure_intrin")
def _call_llvm_intrin(emitter: FunctionEmitter, call: Call) -> str:
    """An LLVM intrinsic by its name, which may lack the types of overloaded ones."""
    name, args = call.args[0].value, call.args[1:]  # type: ignore[attr-defined]
    if not name.startswith("llvm."):
        raise CodegenError(f"call_llvm_intrin: {name!r} is not an LLVM intrinsic (llvm...)")
    if not re.search(r"\.(?:v\d+)?[ifp]\d+$", name):
        typed = call if call.dtype.code != "void" or not args else args[0]
        name = f"{name}.{mangled(typed.dtype)}"
    return _declare_and_call(emitter, name, call, args)


@emits("tir.print_text")
def _print_text(emitter: FunctionEmitter, call: Call) -> str:
    types, operands = printed(emitter, call.args[1:])
    text = emitter.operand(call.args[0])
    values = "".join(f", {ty} {value}" for ty, value in zip(types, operands, strict=True))
    emitter.module.declare("printf", "i32", ("ptr", "..."))
    emitter.module.declare("fflush", "i32", ("ptr",))
    emitter.effect(f"call i32 (ptr, ...) @printf(ptr {text}{values})")
    emitter.effect("call i32 @fflush(ptr null)")
    return ""


@emits("tir.tvm_call_packed_lowered")
def _tvm_call_packed_lowered(emitter: FunctionEmitter, call: Call) -> str:
    name, caller, *rest = call.args
    emitter.module.needs_packed_calls = True
    length = len(name.value.encode())  # type: ignore[attr-defined]
    operands = [f"{value_type(arg.dtype)} {emitter.operand(arg)}" for arg in rest]
    arguments = ", ".join([f"ptr {emitter.operand(caller)}", *operands])
    head = f"ptr {emitter.operand(name)}, i64 {length}"
    return emitter.value(f"call i32 @tilewright_call_packed({head}, {arguments})")


@emits("tir.launch_kernel_lowered")
def _launch_kernel(emitter: FunctionEmitter, call: Call) -> str:
    emitter.module.needs_launcher = True
    return _declare_and_call(emitter, "tilewright_launch", call, call.args)


@emits("tir.call_launcher")
def _call_launcher(emitter: FunctionEmitter, call: Call) -> str:
    emitter.module.needs_launcher = True
    return _declare_and_call(emitter, call.args[0].value, call, call.args[1:])  # type: ignore[attr-defined]


# --- objects ---------------------------------------------------------------------------------


@emits(*OBJECT_FUNCTIONS)
def _object_function(emitter: FunctionEmitter, call: Call) -> str:
    emitter.module.needs_objects = True
    name = OBJECT_FUNCTIONS[call.op.name]  # type: ignore[attr-defined]
    return _declare_and_call(emitter, name, call, call.args)


@emits("tir.has_packed")
def _has_packed(emitter: FunctionEmitter, call: Call) -> str:
    emitter.module.needs_objects = True
    name = call.args[0]
    length = len(name.value.encode())  # type: ignore[attr-defined]
    function = emitter.module.declare("tilewright_has_packed", "i1", ("ptr", "i64"))
    return emitter.value(f"call i1 {function}(ptr {emitter.operand(name)}, i64 {length})")


@emits("tir.lookup_param")
def _lookup_param(emitter: FunctionEmitter, call: Call) -> str:
    return emitter.module.param(call.args[0].value)  # type: ignore[attr-defined]


UINT8, UINT16 = DType("uint8"), DType("uint16")

FIELDS: Final = {
    StructField.ARRAY_DATA: (0, HANDLE),
    StructField.ARRAY_DEVICE_TYPE: (8, INT32),
    StructField.ARRAY_DEVICE_ID: (12, INT32),
    StructField.ARRAY_NDIM: (16, INT32),
    StructField.ARRAY_TYPE_CODE: (20, UINT8),
    StructField.ARRAY_TYPE_BITS: (21, UINT8),
    StructField.ARRAY_TYPE_LANES: (22, UINT16),
    StructField.ARRAY_SHAPE: (24, HANDLE),
    StructField.ARRAY_STRIDES: (32, HANDLE),
    StructField.ARRAY_BYTE_OFFSET: (40, INT64),
    StructField.ANY_TYPE_INDEX: (0, INT32),
}
"""Offset in bytes and dtype of the fields of DLTensor and TVMFFIAny, on 64-bit machines."""

VALUE_OFFSET: Final = 8
"""Offset of the value in TVMFFIAny; its dtype is that of the access."""

STACK_SIZES: Final = {"shape": 8, "arg_value": ANY_SIZE, "arg_tcode": 4, "array": DLTENSOR_SIZE}


def _structure(emitter: FunctionEmitter, call: Call, size: int) -> str:
    """The address of element `call.args[1]` of the structures at `call.args[0]`."""
    pointer, position = emitter.operand(call.args[0]), index_operand(emitter, call.args[1])
    if position == "0":
        return pointer
    code = f"getelementptr [{size} x i8], ptr {pointer}, i64 {position}"
    return emitter.pure(code, pointer, position)


def _field(emitter: FunctionEmitter, call: Call, dtype: DType) -> tuple[str, DType]:
    """The address and dtype of the field that a call reads or writes as `dtype`."""
    field = StructField(int(call.args[2]))  # type: ignore[call-overload]
    if field is StructField.ANY_VALUE:
        offset, found = VALUE_OFFSET, dtype
    else:
        offset, found = FIELDS[field]
    is_any = field in (StructField.ANY_TYPE_INDEX, StructField.ANY_VALUE)
    pointer = _structure(emitter, call, ANY_SIZE if is_any else DLTENSOR_SIZE)
    return _at(emitter, pointer, offset), found


def _at(emitter: FunctionEmitter, pointer: str, offset: int) -> str:
    if not offset:
        return pointer
    return emitter.pure(f"getelementptr i8, ptr {pointer}, i64 {offset}", pointer)


@emits("tir.tvm_struct_get")
def _tvm_struct_get(emitter: FunctionEmitter, call: Call) -> str:
    if int(call.args[2]) == StructField.ARRAY_ADDRESS:  # type: ignore[call-overload]
        return _structure(emitter, call, DLTENSOR_SIZE)
    slot, dtype = _field(emitter, call, call.dtype)
    value = emitter.value(f"load {value_type(dtype)}, ptr {slot}")
    return cast(emitter, value, dtype, call.dtype)


@emits("tir.tvm_struct_set")
def _tvm_struct_set(emitter: FunctionEmitter, call: Call) -> str:
    given = call.args[3].dtype
    if int(call.args[2]) == StructField.ARRAY_ADDRESS:  # type: ignore[call-overload]
        raise CodegenError(f"target llvm: the address of an array cannot be set: {call!r}")
    slot, dtype = _field(emitter, call, given)
    value = cast(emitter, emitter.operand(call.args[3]), given, dtype)
    emitter.effect(f"store {value_type(dtype)} {value}, ptr {slot}")
    return "0"


def _stack(emitter: FunctionEmitter, size: int) -> str:
    """`size` bytes on the stack."""
    register = emitter.fresh("%stack")
    emitter.entry.append(f"  {register} = alloca [{max(size, 1)} x i8], align 16")
    return register


@emits("tir.tvm_stack_alloca")
def _tvm_stack_alloca(emitter: FunctionEmitter, call: Call) -> str:
    kind, count = call.args
    unit = STACK_SIZES.get(kind.value)  # type: ignore[attr-defined]
    if unit is None:
        known = ", ".join(STACK_SIZES)
        raise CodegenError(f"tvm_stack_alloca: unknown kind of structure, known are {known}")
    return _stack(emitter, unit * int(count))  # type: ignore[call-overload]


@emits("tir.tvm_stack_make_shape")
def _tvm_stack_make_shape(emitter: FunctionEmitter, call: Call) -> str:
    array = _stack(emitter, 8 * len(call.args))
    for position, arg in enumerate(call.args):
        emitter.effect(
            f"store i64 {index_operand(emitter, arg)}, ptr {_at(emitter, array, 8 * position)}"
        )
    return array


@emits("tir.tvm_stack_make_array")
def _tvm_stack_make_array(emitter: FunctionEmitter, call: Call) -> str:
    data, shape, strides, ndim, element, offset = call.args
    array, dtype = _stack(emitter, DLTENSOR_SIZE), element.dtype
    start = index_operand(emitter, offset)
    values = {
        StructField.ARRAY_DATA: emitter.operand(data),
        StructField.ARRAY_DEVICE_TYPE: "1",
        StructField.ARRAY_DEVICE_ID: "0",
        StructField.ARRAY_NDIM: cast(emitter, emitter.operand(ndim), ndim.dtype, INT32),
        StructField.ARRAY_TYPE_CODE: str(DTYPE_CODES[dtype.code]),
        StructField.ARRAY_TYPE_BITS: str(8 if dtype.is_bool else dtype.bits),
        StructField.ARRAY_TYPE_LANES: str(dtype.lanes),
        StructField.ARRAY_SHAPE: emitter.operand(shape),
        StructField.ARRAY_STRIDES: emitter.operand(strides) if strides.dtype.is_handle else "null",
        StructField.ARRAY_BYTE_OFFSET: emitter.pure(f"mul i64 {start}, {dtype.itemsize}", start),
    }
    for field, value in values.items():
        position, kind = FIELDS[field]
        emitter.effect(f"store {value_type(kind)} {value}, ptr {_at(emitter, array, position)}")
    return array
