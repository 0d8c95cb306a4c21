"""Fields of the structures that cross the call boundary."""

import ctypes

import numpy as np
import pytest
from tests.target.llvm.programs import function, native

from tilewright import te, tir
from tilewright.error import CodegenError
from tilewright.ir import const
from tilewright.tir import op
from tilewright.tir.op import StructField


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


class Any(ctypes.Structure):
    _fields_ = (("type_index", ctypes.c_int32), ("pad", ctypes.c_uint32), ("value", ctypes.c_int64))


OUT = tir.decl_buffer((16,), "int64", "out")
POINTER = te.var("pointer", "handle")
VALUE = StructField.ANY_VALUE
ARRAY_FIELDS = [field for field in StructField if field.name.startswith("ARRAY")]


def read_all(pointer, index):
    """Statements that write all fields of an array to `OUT`."""
    return [
        OUT.vstore((n,), op.reinterpret("int64", op.tvm_struct_get(pointer, index, field, "handle"))
                   if field in (0, 1, 2, 3) else op.tvm_struct_get(pointer, index, field, "int64"))
        for n, field in enumerate(ARRAY_FIELDS)
    ]  # fmt: skip


@pytest.mark.parametrize("position", [0, 1, 2])
def test_fields_of_arrays_are_read(position):
    arrays = (DLTensor * 3)()
    one = arrays[position]
    one.data, one.device_type, one.device_id, one.ndim = 0x1000, 1, 2, 3
    one.code, one.bits, one.lanes, one.shape, one.strides = 2, 200, 400, 0x2000, 0x3000
    one.byte_offset = 64
    run = native(function([OUT, POINTER], tir.seq(*read_all(POINTER, position))))
    target = np.zeros(16, "int64")
    assert run(target, ctypes.addressof(arrays)) == 0
    expected = [ctypes.addressof(one), 0x1000, 0x2000, 0x3000, 3, 2, 200, 400, 64, 2, 1]
    assert target[: len(expected)].tolist() == expected


def test_arrays_are_made_on_the_stack():
    shape, strides = op.tvm_stack_make_shape(7, 9), op.tvm_stack_make_shape(9, 1)
    array = op.tvm_stack_make_array(POINTER, shape, strides, 2, const(0, "float16"), 5)
    made = te.var("array", "handle")
    extents = tir.Var("shape", POINTER.dtype)
    read = tir.decl_buffer((2,), "int64", "extents", data=extents)
    body = tir.seq(*read_all(made, 0), OUT.vstore((11,), read[0]), OUT.vstore((12,), read[1]))
    body = tir.LetStmt(extents, op.tvm_struct_get(made, 0, StructField.ARRAY_SHAPE, "handle"), body)
    target = np.zeros(16, "int64")
    assert native(function([OUT, POINTER], tir.LetStmt(made, array, body)))(target, 0x1000) == 0
    assert target[1] == 0x1000
    assert target[4:11].tolist() == [2, 2, 16, 1, 10, 0, 1]
    assert target[11:13].tolist() == [7, 9]


def test_packed_arguments():
    values = (Any * 2)(Any(1, 0, 42), Any(3, 0, np.float64(2.5).view("int64").item()))
    get = op.tvm_struct_get
    body = tir.seq(
        OUT.vstore((0,), get(POINTER, 0, StructField.ANY_TYPE_INDEX, "int64")),
        OUT.vstore((1,), get(POINTER, 0, StructField.ANY_VALUE, "int64")),
        OUT.vstore(
            (2,), op.reinterpret("int64", get(POINTER, 1, StructField.ANY_VALUE, "float64"))
        ),
        tir.Evaluate(op.tvm_struct_set(POINTER, 1, StructField.ANY_TYPE_INDEX, const(0))),
        tir.Evaluate(op.tvm_struct_set(POINTER, 1, StructField.ANY_VALUE, const(-1, "int64"))),
    )
    target = np.zeros(16, "int64")
    assert native(function([OUT, POINTER], body))(target, ctypes.addressof(values)) == 0
    assert target[:3].tolist() == [1, 42, np.float64(2.5).view("int64")]
    assert (values[1].type_index, values[1].value) == (0, -1)


def test_mistakes():
    kind = op.tvm_stack_alloca("table", const(2))
    with pytest.raises(CodegenError, match="known are"):
        native(function([OUT], tir.Evaluate(op.isnullptr(kind))))
    address = op.tvm_struct_set(POINTER, 0, StructField.ARRAY_ADDRESS, POINTER)
    with pytest.raises(CodegenError, match="cannot be set"):
        native(function([OUT, POINTER], tir.Evaluate(address)))
