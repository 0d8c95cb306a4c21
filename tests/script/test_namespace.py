"""The `T` and `I` namespaces, in scripts and in plain Python."""

from types import ModuleType

import pytest

from tilewright.error import DTypeError
from tilewright.ir import Call, FloatImm, IntImm, PointerType, SizeVar, Var
from tilewright.script import ir as I
from tilewright.script import tir as T
from tilewright.tir import Buffer
from tilewright.tir import op as operators

NAMES = """
prim_func macro func_attr func_name func_ret arg Buffer buffer buffer_decl match_buffer Ptr ptr
buffer_var handle meta_var env_thread target block init where reads writes block_attr alloc_buffer
axis iter_var comm_reducer serial parallel vectorized unroll thread_binding grid While If Then Else
Assert LetStmt Let let attr launch_thread realize allocate allocate_const decl_buffer prefetch
evaluate buffer_store ret boolean void cast Cast reinterpret type_annotation min_value
max_value infinity min max abs fabs ceil floor round trunc nearbyint exp exp2 exp10 exp_nonpositive
log log2 log10 log1p pow sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
atan2 erf sigmoid fmod floordiv floormod truncdiv truncmod ceildiv hypot ldexp copysign nextafter
isnan isinf isfinite
isnullptr popcount clz shift_left shift_right bitwise_and bitwise_or bitwise_xor bitwise_not likely
q_multiply_shift q_multiply_shift_per_axis if_then_else Select ramp Ramp broadcast Broadcast Shuffle
vscale get_active_lane_mask vectorlow vectorhigh vectorcombine dp2a dp4a dp4a_narrow mmla
call_extern
call_pure_extern call_intrin
call_packed call_cpacked call_llvm_intrin call_llvm_pure_intrin tvm_tuple
tvm_access_ptr address_of tvm_struct_get tvm_struct_set lookup_param assume undef Var SizeVar IntImm
FloatImm StringImm Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE LT LE GT GE And Or Not
BufferLoad ProducerLoad Call CallEffectKind IterVar CommReducer Reduce Range tvm_storage_sync
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64
call_kernel index_map e4m3_float8 e5m2_float8 float32x4 int8x64 float16x8
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_names(name):
    assert callable(getattr(T, name)) or name == "axis"


def test_all_operators_are_there():
    names = [n for n, item in vars(operators).items() if not isinstance(item, ModuleType)]
    assert [n for n in names if not n.startswith("_") and not hasattr(T, n)] == []


def test_unknown_names_have_suggestions():
    with pytest.raises(AttributeError, match=r"did you mean T\.alloc_buffer"):
        T.alloc_bufer


def test_dtypes_are_functions_and_names():
    assert T.float32 == "float32"
    assert repr(T.float32) == "T.float32"
    constant = T.float32(1)
    assert isinstance(constant, FloatImm)
    assert constant.dtype == "float32"
    assert T.float16("-inf").value == float("-inf")
    assert isinstance(T.bool(True), IntImm)
    assert T.int8x64(3).dtype == "int8x64"
    fresh = T.int64()
    assert isinstance(fresh, Var)
    assert fresh is not T.int64()
    assert isinstance(T.int32(is_size_var=True), SizeVar)
    assert T.int64(fresh) is fresh
    assert repr(T.float32(T.Var("n", "int32"))) == 'T.Cast("float32", n)'
    with pytest.raises(DTypeError, match="it has no values"):
        T.void()


def test_pointers():
    pointer = T.handle("float16", "shared")
    assert isinstance(pointer.type_annotation, PointerType)
    assert pointer.type_annotation.storage_scope == "shared"
    assert T.handle().type_annotation is None
    assert T.ptr("int8").type_annotation.element_type.dtype == "int8"
    assert T.Var("p", pointer.type_annotation).dtype == "handle"


def test_expressions_in_plain_python():
    x = T.Var("x", "float32")
    call = T.exp(x * 2)
    assert isinstance(call, Call)
    assert repr(T.max(call, 0.0)) == "T.max(T.exp(x * T.float32(2.0)), T.float32(0.0))"
    assert isinstance(T.Buffer((4, 4), "int8"), Buffer)
    assert repr(T.Range(2, 8)) == "T.Range(2, 8)"
    assert int(I.Range(8).extent) == 8


def test_decorators_leave_finished_functions_alone():
    @T.prim_func
    def f():
        T.evaluate(0)

    assert T.prim_func(f) is f
