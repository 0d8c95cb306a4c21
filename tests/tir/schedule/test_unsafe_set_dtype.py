"""Storing a buffer in another element type."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError


@T.prim_func
def before(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi] + T.float32(1)


@T.prim_func
def after(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float16")
    for i, j in T.grid(4, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float16(0)
            B[vi] = T.Cast("float16", T.Cast("float32", B[vi]) + A[vi, vj])
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = T.Cast("float32", B[vi]) + T.float32(1)


def test_loads_and_stores_are_converted():
    sch = Schedule(before, debug_mask="all")
    sch.unsafe_set_dtype("B", 0, "float16")
    tvm.ir.assert_structural_equal_ignore_global_symbol(sch.mod["main"], after)
    # The values are small integers, which float16 represents.
    assert_same_meaning(before, sch)


def test_refusals():
    sch = Schedule(before)
    with pytest.raises(ScheduleError, match="`C` is not allocated by a block"):
        sch.unsafe_set_dtype("C", 0, "float16")
    for dtype in ("float99", "nothing"):
        with pytest.raises(ScheduleError, match=dtype):
            sch.unsafe_set_dtype("B", 0, dtype)
    for dtype in ("handle", "float16x4"):
        with pytest.raises(ScheduleError, match=f"elements of `B`, float32, cannot become {dtype}"):
            sch.unsafe_set_dtype("B", 0, dtype)


@T.prim_func
def by_view(C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.reads()
            T.writes(B[vi])
            V = T.match_buffer(B[vi], ())
            V[()] = T.float32(1)
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]


@T.prim_func
def by_pointer(C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    for i in range(1):
        with T.block("B"):
            vi = T.axis.spatial(1, i)
            T.reads()
            T.writes(B[0:4])
            T.evaluate(T.call_extern("int32", "fill", B.data))
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]


@T.prim_func
def by_alias(C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            T.reads()
            T.writes(B[vi])
            D = T.Buffer((2, 2), data=B.data)
            D[vi // 2, vi % 2] = T.float32(1)
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi]


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (by_view, "`V` is a view of `B`, whose type"),
        (by_pointer, "the pointer of `B` is used"),
        (by_alias, "`D` shares the memory of `B`"),
    ],
)
def test_other_accesses_are_refused(func, message):
    with pytest.raises(ScheduleError, match=message):
        Schedule(func).unsafe_set_dtype("B", 0, "float16")


def test_what_is_widened_is_not_narrowed_again_for_the_next_conversion():
    @T.prim_func
    def bytes_and_sums(A: T.Buffer((8,), "int8"), C: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((8,), "int8")
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = T.Cast("int32", B[vi]) * 3

    wide, narrow = Schedule(bytes_and_sums), Schedule(bytes_and_sums)
    wide.unsafe_set_dtype("B", 0, "int16")
    assert 'T.Cast("int32", B[vi])' in wide.mod["main"].script().replace("v_i", "vi")
    assert_same_meaning(bytes_and_sums, wide)
    narrow.unsafe_set_dtype("B", 0, "uint8")  # does not represent all values
    assert 'T.Cast("int32", T.Cast("int8",' in narrow.mod["main"].script()


def test_floats_that_are_widened_are_read_as_they_are():
    @T.prim_func
    def halves(A: T.Buffer((8,), "float16"), C: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,), "float16")
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi]
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = T.Cast("float32", B[vi]) * T.float32(3)

    sch = Schedule(halves)
    sch.unsafe_set_dtype("B", 0, "float32")
    assert "C[v_i] = B[v_i] * T.float32(3" in sch.mod["main"].script().replace("[vi]", "[v_i]")
    assert_same_meaning(halves, sch)
