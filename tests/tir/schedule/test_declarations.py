"""Blocks declare what the blocks that a step adds to them access."""

from tests.tir.schedule.checking import assert_same_meaning

from tilewright.script import tir as T
from tilewright.tir import Schedule
from tilewright.tir.analysis import verify_well_formed


@T.prim_func
def running_sum(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
    for i, j in T.grid(3, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj], B[vi - 1, vj])
            T.writes(B[vi, vj])
            if vi == 0:
                B[vi, vj] = A[vi, vj]
            else:
                B[vi, vj] = B[vi - 1, vj] + A[vi, vj]


@T.prim_func
def two_layouts(A: T.Buffer((6, 10), "float32"), B: T.Buffer((60,), "float32")):
    for i, j in T.grid(6, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[T.Select(vj < 7, vi * 7 + vj, 42 + vi + (vj - 7) * 6)] = A[vi, vj]


@T.prim_func
def double(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


def declared(sch, name):
    block = sch.get(sch.get_block(name))
    return [str(region) for region in block.reads], [str(region) for region in block.writes]


def test_a_copy_of_more_than_the_block_around_it_reads():
    sch = Schedule(running_sum)
    _, j = sch.get_loops("B")
    sch.blockize(j)
    assert declared(sch, "B_o")[0] == ["A[vi_o, 0:4]", "B[vi_o - 1, 0:4]"]
    (j,) = sch.get_loops("B")
    sch.stage_mem(j, "B")
    verify_well_formed(sch.mod)
    assert declared(sch, "B_o")[1] == ["B[vi_o, 0:4]"]
    assert_same_meaning(running_sum, sch)


def test_parts_of_parts():
    sch = Schedule(two_layouts)
    _, j = sch.get_loops("B")
    _, rest = sch.loop_partition(j, [4])
    sch.loop_partition(rest, [5])
    verify_well_formed(sch.mod)
    assert_same_meaning(two_layouts, sch)


def test_what_is_declared_already_stays():
    sch = Schedule(double)
    i, _ = sch.get_loops("B")
    i, inner = sch.split(i, [None, 4])
    sch.blockize(inner)
    before = declared(sch, "B_o")
    sch.split(sch.get_loops("B")[1], [3, None])
    sch.stage_mem(sch.get_loops("B")[0], "A")
    sch.loop_partition(sch.get_loops("B")[1], [1])
    assert declared(sch, "B_o") == before
    assert_same_meaning(double, sch)
