"""What the primitives refuse that let blocks access another buffer, which is copied."""

import pytest
from tests.tir.schedule.checking import assert_same_meaning

from tilewright import tir
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError

READING = {
    "cache_read": lambda sch, loop: sch.cache_read("B", "A", "local"),
    "read_at": lambda sch, loop: sch.read_at(loop, "B", "A", "local"),
    "reindex": lambda sch, loop: sch.reindex("B", "A"),
    "stage_mem": lambda sch, loop: sch.stage_mem(loop, "A"),
}
WRITING = {
    "cache_write": lambda sch, loop: sch.cache_write("B", "B", "local"),
    "cache_inplace": lambda sch, loop: sch.cache_inplace("B", "B", "local"),
    "write_at": lambda sch, loop: sch.write_at(loop, "B", "B", "local"),
    "reindex": lambda sch, loop: sch.reindex("B", ("write", 0)),
    "stage_mem": lambda sch, loop: sch.stage_mem(loop, "B"),
}


def attempted(func, act):
    sch = Schedule(func, debug_mask="all")
    act(sch, sch.get_loops("B")[0])
    return sch


@T.prim_func
def viewed(a: T.Buffer((4, 2), "float32"), b: T.Buffer((4, 2), "float32")):
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            T.reads(a[vi, 0:2], b[vi, 0:2])
            T.writes(b[vi, 0:2])
            A = T.match_buffer(a[vi, 0:2], (2,), offset_factor=1)
            B = T.match_buffer(b[vi, 0:2], (2,), offset_factor=1)
            for j in range(2):
                with T.block("B"):
                    vj = T.axis.spatial(2, j)
                    B[vj] = B[vj] + A[vj]


@pytest.mark.parametrize("name", READING)
def test_reading_a_view_through_a_copy(name):
    with pytest.raises(ScheduleError, match="`A` is a view of `a`"):
        attempted(viewed, READING[name])


@pytest.mark.parametrize("name", WRITING)
def test_writing_a_view_through_a_copy(name):
    with pytest.raises(ScheduleError, match="`B` is a view of `b`"):
        attempted(viewed, WRITING[name])


@T.prim_func
def aliased(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    A_1 = T.Buffer((4, 2), "float32", data=A.data)
    for i in range(8):
        with T.block("first"):
            vi = T.axis.spatial(8, i)
            A_1[vi // 2, vi % 2] = A_1[vi // 2, vi % 2] + T.float32(1)
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]


@pytest.mark.parametrize("name", READING)
def test_reading_memory_that_has_two_names_through_a_copy(name):
    with pytest.raises(ScheduleError, match="`A` shares its memory with `A_1`"):
        attempted(aliased, READING[name])


@T.prim_func
def written_outside(A: T.Buffer((4, 2), "float32"), B: T.Buffer((4, 2), "float32")):
    for i in range(4):
        A[i, 0] = T.float32(1)
        B[i, 0] = T.float32(2)
        for j in range(2):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = B[vi, vj] + A[vi, vj]


@pytest.mark.parametrize("name", ["read_at", "stage_mem"])
def test_stores_that_are_in_no_block_before_a_read(name):
    with pytest.raises(ScheduleError, match="has accesses of `A` that are in no block"):
        attempted(written_outside, READING[name])


@pytest.mark.parametrize("name", ["cache_read", "reindex"])
def test_copies_behind_stores_that_are_in_no_block(name):
    assert_same_meaning(written_outside, attempted(written_outside, READING[name]))


@pytest.mark.parametrize("name", WRITING)
def test_stores_that_are_in_no_block_before_a_write(name):
    with pytest.raises(ScheduleError, match="has accesses of `B` that are in no block"):
        attempted(written_outside, WRITING[name])


@T.prim_func
def incremented(B: T.Buffer((4, 2), "float32")):
    for i, j in T.grid(4, 2):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = B[vi, vj] + T.float32(1)


def test_a_block_that_reads_what_it_did_not_write():
    with pytest.raises(ScheduleError, match="reads elements of `B` that it did not write"):
        attempted(incremented, WRITING["write_at"])


@T.prim_func
def pointer_outside(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    T.evaluate(T.call_extern("int32", "f", A.data))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]


@T.prim_func
def pointer_with_a_name(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    p: T.handle("float32") = A.data
    T.evaluate(T.call_extern("int32", "f", p))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]


@pytest.mark.parametrize("name", READING)
def test_pointers_that_are_used_outside_of_blocks(name):
    with pytest.raises(ScheduleError, match="has accesses of `A` that are in no block"):
        attempted(pointer_with_a_name, READING[name])


@pytest.mark.parametrize("name", ["cache_read", "reindex"])
def test_copies_behind_calls_with_a_pointer(name):
    body = attempted(pointer_outside, READING[name]).mod["main"].body.block.body
    assert isinstance(body.seq[0], tir.Evaluate)
