"""Functions that build intrinsics: result dtypes, folding, and refused operands."""

import math

import pytest

from tilewright import tir
from tilewright.error import ArgumentError, DTypeError, UnknownNameError
from tilewright.ir.dtype import DType

N = tir.Var("n", DType("int32"))
X = tir.Var("x", DType("float32"))
H = tir.Var("h", DType("handle"))
COND = tir.Var("cond", DType("bool"))


def vector(dtype):
    return tir.Broadcast(tir.Var("v", DType(dtype).element), DType(dtype).lanes)


def call_of(expr, name, dtype):
    """Check that `expr` calls the operator `name` and has the dtype."""
    assert isinstance(expr, tir.Call)
    assert expr.op is tir.Op.get(f"tir.{name}")
    assert expr.dtype is DType(dtype)
    return expr.args


def test_control():
    condition, a, b = call_of(tir.if_then_else(N > 0, N, X), "if_then_else", "float32")
    assert b is X
    assert a.dtype == "float32"
    assert condition.dtype == "bool"
    assert tir.if_then_else(True, N, X * 2).dtype == "float32"
    assert tir.if_then_else(N < 3, 1, 2.5).dtype == "float32"
    call_of(tir.likely(COND), "likely", "bool")
    call_of(tir.assume(COND), "assume", "bool")
    assert call_of(tir.ret(X), "ret", "float32") == (X,)
    assert call_of(tir.ret(), "ret", "void") == ()
    kind, text, value = call_of(tir.raise_error("ValueError", "%d", N), "raise_error", "void")
    assert (kind.value, text.value, value) == ("ValueError", "%d", N)
    assert isinstance(tir.all(N > 0, N < 3, COND), tir.And)
    assert isinstance(tir.any([N > 0, COND]), tir.Or)
    assert tir.all(True, COND) is COND
    assert tir.any(COND, False) is COND


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: tir.if_then_else(N, 1, 2), DTypeError),
        (lambda: tir.if_then_else(vector("boolx4"), 1, 2), DTypeError),
        (lambda: tir.likely(X), DTypeError),
        (lambda: tir.all(COND, N), DTypeError),
        (lambda: tir.all(), ArgumentError),
        (lambda: tir.raise_error("NoSuchError", "x"), ArgumentError),
        (lambda: tir.isnullptr(N), DTypeError),
        (lambda: tir.address_of(N), ArgumentError),
        (lambda: tir.prefetch_address(H, rw=2), ArgumentError),
        (lambda: tir.prefetch_address(X), DTypeError),
        (lambda: tir.call_packed(N), ArgumentError),
        (lambda: tir.call_extern("int32", 3), ArgumentError),
        (lambda: tir.call_intrin("float32", "tir.exp", X, X), ArgumentError),
        (lambda: tir.call_intrin("float32", "tir.no_such"), UnknownNameError),
        (lambda: tir.reinterpret("int64", X), DTypeError),
        (lambda: tir.reinterpret("bool", X), DTypeError),
        (lambda: tir.ramp(X, 1, 4), DTypeError),
        (lambda: tir.ramp(N, 1, N), ArgumentError),
        (lambda: tir.broadcast(vector("int32x2"), 4), DTypeError),
        (lambda: tir.broadcast(N, 0), ArgumentError),
        (lambda: tir.shuffle([N, X], [0]), DTypeError),
        (lambda: tir.shuffle([vector("int32x4")], [4]), ArgumentError),
        (lambda: tir.vectorlow("int32x3", vector("int32x4")), DTypeError),
        (lambda: tir.dp4a(N, N), DTypeError),
        (lambda: tir.dp4a(vector("int8x6"), vector("int8x6")), DTypeError),
        (lambda: tir.dp4a(vector("int8x4"), vector("int8x8")), DTypeError),
        (lambda: tir.dp4a(vector("int8x8"), vector("int8x8"), vector("int32x4")), DTypeError),
        (lambda: tir.dp4a(vector("int8x4"), vector("int8x4"), X), DTypeError),
        (lambda: tir.fma(N, N, N), DTypeError),
        (lambda: tir.ceildiv(X, 2), DTypeError),
        (lambda: tir.q_multiply_shift(X, 1, 2, 3), DTypeError),
        (lambda: tir.infinity("int32"), DTypeError),
        (lambda: tir.min_value("handle"), DTypeError),
        (lambda: tir.ptx_wait_group(), ArgumentError),
        (lambda: tir.ptx_wait_group(1, 2), ArgumentError),
        (lambda: tir.ptx_wait_group(1, num=2), ArgumentError),
    ],
)
def test_wrong_operands_are_refused(build, error):
    with pytest.raises(error):
        build()


def test_memory():
    buffer = tir.decl_buffer((4, N), "float32", "A")
    (load,) = call_of(tir.address_of(buffer), "address_of", "handle")
    assert [int(i) for i in load.indices] == [0, 0]
    args = call_of(tir.prefetch_address(buffer[1, N], 1, 2), "prefetch_address", "void")
    assert [int(a) for a in args[1:]] == [1, 2]
    args = call_of(tir.tvm_access_ptr("float32", H, 0, N, 1), "tvm_access_ptr", "handle")
    call_of(args[0], "type_annotation", "float32")
    field = tir.StructField.ARRAY_NDIM
    assert int(call_of(tir.tvm_struct_get(H, 0, field, "int32"), "tvm_struct_get", "int32")[2]) == 4
    call_of(tir.tvm_struct_set(H, 0, tir.StructField.ANY_VALUE, X), "tvm_struct_set", "int32")


def test_calls():
    buffer = tir.decl_buffer((4, N), "float16", "A")
    name, array, text = call_of(tir.call_packed("f", buffer, "s"), "tvm_call_packed", "int32")
    assert name.value == "f"
    assert text.value == "s"
    data, shape, _, rank, dtype, _ = call_of(array, "tvm_stack_make_array", "handle")
    assert data is buffer.data
    assert int(rank) == 2
    assert dtype.dtype == "float16"
    assert call_of(shape, "tvm_stack_make_shape", "handle")[1] is N
    assert call_of(tir.call_extern("float32", "sinf", X), "call_extern", "float32")[1] is X
    assert tir.Op.get("tir.call_pure_extern").effect < tir.Op.get("tir.call_extern").effect
    assert call_of(tir.call_intrin("float32", "tir.exp", X), "exp", "float32") == (X,)


def test_vectors():
    assert tir.ramp(N, 2, 4).dtype == "int32x4"
    assert tir.ramp(N, 2, 1) is N
    assert tir.broadcast(X, 8).dtype == "float32x8"
    assert tir.broadcast(X, 1) is X
    wide = tir.concat_vectors(vector("float32x4"), X, vector("float32x2"))
    assert wide.dtype == "float32x7"
    assert tir.extract_lane(wide, 6).dtype == "float32"
    call_of(tir.vectorlow("float32x2", vector("float32x4")), "vectorlow", "float32x2")
    call_of(
        tir.vectorcombine("int8x4", vector("int8x2"), vector("int8x2")), "vectorcombine", "int8x4"
    )
    call_of(tir.get_active_lane_mask("boolx8", N, 5), "get_active_lane_mask", "boolx8")
    call_of(tir.dp4a(vector("int8x4"), vector("uint8x4")), "dp4a", "int32")
    call_of(tir.dp4a(vector("int8x64"), vector("uint8x64")), "dp4a", "int32x16")
    call_of(tir.dp4a(vector("uint8x8"), vector("uint8x8"), vector("uint32x2")), "dp4a", "uint32x2")


def test_lanes_are_reduced():
    operator, lanes = call_of(tir.reduce_lanes("max", vector("int8x4")), "reduce_lanes", "int8")
    assert operator.value == "max"
    assert lanes.dtype == "int8x4"
    assert tir.reduce_lanes("add", X) is X
    with pytest.raises(ArgumentError, match="combines by 'add', 'mul', 'min', 'max', not 'sub'"):
        tir.reduce_lanes("sub", vector("int8x4"))
    with pytest.raises(DTypeError, match=r"needs 2\*\*n numbers, got float32x3"):
        tir.reduce_lanes("add", vector("float32x3"))


def test_numbers():
    assert call_of(tir.fma(X, 2, N), "fma", "float32")[0] is X
    assert int(tir.ceildiv(7, 3)) == 3
    assert int(tir.ceildiv(-7, 3)) == -2
    assert tir.ceildiv(N, 4).dtype == "int32"
    call_of(tir.q_multiply_shift(N, N, 31, -2), "q_multiply_shift", "int32")
    call_of(tir.reinterpret("int32", X), "reinterpret", "int32")
    call_of(tir.reinterpret("int8x4", X), "reinterpret", "int8x4")
    assert tir.reinterpret("float32", X) is X
    assert int(tir.min_value("int8")) == -128
    assert int(tir.max_value("uint64")) == 2**64 - 1
    assert float(tir.max_value("float16")) == 65504
    assert float(tir.infinity("float32")) == math.inf
    assert float(tir.max_value("bfloat16")) == float.fromhex("0x1.fep127")
    assert float(tir.min_value("float64")) == -1.7976931348623157e308


def test_gpu_intrinsics_have_their_arguments_in_order():
    args = call_of(
        tir.tvm_warp_shuffle(1, X, 2, width=3, warp_size=32), "tvm_warp_shuffle", X.dtype
    )
    assert args[1] is X
    assert int(args[4]) == 32
    assert len(call_of(tir.simdgroup_load(H, 0, H, N), "simdgroup_load", "handle")) == 7
    args = call_of(tir.ptx_cp_async("float16", H, 0, H, 0, 16), "ptx_cp_async", "float16")
    assert len(args) == 5
    call_of(tir.tvm_storage_sync("shared"), "tvm_storage_sync", "int32")
