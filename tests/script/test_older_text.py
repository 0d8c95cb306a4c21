"""What scripts that older systems printed say, and this one does not print."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import ScriptError
from tilewright.script import from_source
from tilewright.script import tir as T


def evaluating(text):
    lines = ["@T.prim_func", "def main(A: T.Buffer((4,)), i: T.int32):", f"    T.evaluate({text})"]
    return from_source("\n".join(lines))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ('T.exp(A[i], dtype="float32")', "T.exp(A[i])"),
        (
            'T.if_then_else(i < 4, A[i], T.float32(0), dtype="float32")',
            "T.if_then_else(i < 4, A[i], T.float32(0.0))",
        ),
        ('T.likely(i < 4, dtype="bool")', "T.likely(i < 4)"),
        ('T.rsqrt(A[i], dtype="float16")', 'T.Cast("float16", T.rsqrt(A[i]))'),
        ('T.call_extern("f", i, dtype="int32")', 'T.call_extern("int32", "f", i)'),
        ('T.reinterpret(i, dtype="float32")', 'T.reinterpret("float32", i)'),
        ('T.address_of(A[i], dtype="handle")', "T.address_of(A[i])"),
        ('T.isnullptr(A.data, dtype="bool")', "T.isnullptr(A.data)"),
        (
            'T.tvm_access_ptr(T.type_annotation(dtype="float32"), A.data, 0, 4, 1, dtype="handle")',
            'T.tvm_access_ptr(T.type_annotation("float32"), A.data, 0, 4, 1)',
        ),
        ('T.tvm_call_packed("f", i, dtype="int32")', 'T.call_packed("f", i)'),
        ('T.tvm_call_cpacked("f", i, dtype="int32")', 'T.call_cpacked("f", i)'),
        (
            'T.call_llvm_pure_intrin(T.llvm_lookup_intrinsic_id("llvm.fabs.f32"), A[i], '
            'dtype="float32")',
            'T.call_llvm_pure_intrin("float32", "llvm.fabs.f32", A[i])',
        ),
    ],
)
def test_the_dtype_of_a_call(text, printed):
    assert printed in evaluating(text).script()


def test_a_pointer_is_no_number():
    with pytest.raises(ScriptError, match=r"dtype=float32 of T\.address_of"):
        evaluating('T.address_of(A[i], dtype="float32")')


def test_integers_are_stored_as_floats():
    @T.prim_func
    def count(B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = i

    found = np.zeros(4, "float32")
    tvm.build(count, target="llvm")(found)
    np.testing.assert_array_equal(found, [0, 1, 2, 3])


def test_macros_take_any_number_of_arguments():
    @T.macro
    def store(B, *values, **more):
        B[0] = values[0]
        B[1], B[2] = values[1:]
        B[3] = more["last"]

    @T.prim_func
    def main(B: T.Buffer((4,), "float32")):
        store(B, 1.0, 2.0, 3.0, last=4.0)

    found = np.zeros(4, "float32")
    tvm.build(main, target="llvm")(found)
    np.testing.assert_array_equal(found, [1, 2, 3, 4])


def test_parts_of_programs_print():
    i = tir.Var("i", "int32")
    buffer = tir.decl_buffer((4, 4), name="A")
    assert (i + 1).script() == "i + 1"
    assert buffer[0:2, 1:3].script() == "A[0:2, 1:3]"
    assert tvm.ir.PointerType(tvm.ir.PrimType("int32")).script() == 'T.handle("int32")'
    assert tvm.ir.Range.from_min_extent(2, 3).script() == "T.Range(2, 5)"
    assert te.reduce_axis((0, 4), "k").script() == 'T.iter_var(k, T.Range(0, 4), "CommReduce", "")'
    assert te.reduce_axis((0, 4), "k").iter_type == tir.IterVar.CommReduce


def test_pointers_of_buffers():
    buffer = tir.decl_buffer((4, 8), name="A", elem_offset=16)
    text = buffer.access_ptr("w", offset=4).script()
    assert text == 'T.tvm_access_ptr(T.type_annotation("float32"), A, 20, 28, 2)'
    assert buffer.access_ptr(3, content_lanes=4).args[2] == 4
    assert buffer.offset_of([1, 2])[0] == 26
    strided = tir.decl_buffer((4, 8), strides=(16, 1))
    assert strided.access_ptr("r").args[3] == 64
    assert strided.offset_of([1, 2])[0] == 18
    with pytest.raises(tvm.error.ArgumentError, match="the mask is"):
        buffer.access_ptr("x")


def test_domains_of_iterators_in_the_head_of_a_block():
    text = """
@T.prim_func
def main(A: T.Buffer((4,))):
    for i in range(4):
        with T.block([4], "A") as [vi]:
            A[vi] = 1.0
"""
    with pytest.raises(ScriptError, match=r"expects a name, got \[4\]; iterators are declared in"):
        from_source(text)
