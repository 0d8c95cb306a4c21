"""Reductions over a symbolic range that is empty, under all kinds of schedules."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import tir
from tilewright.script import tir as T
from tilewright.tir import Schedule, ScheduleError
from tilewright.tir.interpreter import interpret


@T.prim_func
def sum_inside(a: T.handle, C: T.Buffer((6,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n, 6))
    for i, k in T.grid(6, n):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] += A[vk, vi]


@T.prim_func
def sum_outside(a: T.handle, C: T.Buffer((6,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n, 6))
    for k, i in T.grid(n, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] += A[vk, vi]


@T.prim_func
def assumed(a: T.handle, C: T.Buffer((6,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n, 6))
    T.evaluate(T.assume(n > 0))
    for k, i in T.grid(n, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] += A[vk, vi]


@T.prim_func
def asserted(a: T.handle, C: T.Buffer((6,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n, 6))
    assert n > 0, "no rows"
    for k, i in T.grid(n, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] += A[vk, vi]


@T.prim_func
def two_ranges(a: T.handle, C: T.Buffer((6,), "float32")):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m, 6))
    for i, k, h in T.grid(6, n, m):
        with T.block("C"):
            vi, vk, vh = T.axis.remap("SRR", [i, k, h])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] += A[vk, vh, vi]


def loops(sch):
    return sch.get_loops("C")


def position(sch, name):
    return next(p for p, loop in enumerate(loops(sch)) if sch.get(loop).loop_var.name == name)


def split(sch, name="k"):
    return sch.split(loops(sch)[position(sch, name)], [None, 4])


def nest(sch, *names):
    """Split k, and order the loops."""
    split(sch)
    order = [loops(sch)[position(sch, name)] for name in names]
    sch.reorder(*order)
    return order


def scheduled(sch):
    (func,) = sch.mod.functions.values()
    return func


def check(func, *extents):
    rows = np.arange(np.prod([*extents, 6]), dtype="float32").reshape(*extents, 6)
    expected = rows.reshape(-1, 6).sum(axis=0)
    found = np.full(6, 7, "float32")
    interpret(func, rows, found)
    np.testing.assert_array_equal(found, expected)
    compiled = tvm.nd.array(np.full(6, 7, "float32"))
    tvm.build(func, target="llvm")(tvm.nd.array(rows), compiled)
    np.testing.assert_array_equal(compiled.numpy(), expected)


STEPS = {
    "none": lambda sch: None,
    "split": split,
    "fuse of the reduction": lambda sch: sch.fuse(*nest(sch, "i", "k_0", "k_1")[1:]),
    "fuse with a part that is not empty": lambda sch: sch.fuse(*nest(sch, "k_0", "i", "k_1")[1:]),
    "blockize": lambda sch: sch.blockize(loops(sch)[1]),
    "blockize of all": lambda sch: sch.blockize(loops(sch)[0]),
    "blockize of tiles": lambda sch: (split(sch), sch.blockize(loops(sch)[2])),
    "blockize of tiles and more": lambda sch: (split(sch), sch.blockize(loops(sch)[1])),
    "loop_partition": lambda sch: sch.loop_partition(loops(sch)[position(sch, "i")], [2, None]),
    "rfactor": lambda sch: sch.rfactor(loops(sch)[position(sch, "k")], 0),
    "rfactor of tiles": lambda sch: sch.rfactor(split(sch)[0], 0),
    "rfactor in tiles": lambda sch: sch.rfactor(split(sch)[1], 0),
    "decompose_reduction": lambda sch: sch.decompose_reduction("C", loops(sch)[0]),
    "transform_block_layout": lambda sch: sch.transform_block_layout("C", lambda i, k: (k, i)),
    "pad_einsum": lambda sch: sch.pad_einsum("C", [1, 16]),
    "reindex": lambda sch: (split(sch), sch.reindex("C", ("read", 0))),
    "cache_write": lambda sch: sch.cache_write("C", 0, "local"),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("program", [sum_inside, sum_outside], ids=["inside", "outside"])
def test_a_sum_of_nothing_stays_0(program, name):
    sch = Schedule(program, debug_mask="all")
    STEPS[name](sch)
    for extent in (0, 1, 6):
        check(scheduled(sch), extent)


def test_a_fused_and_split_reduction():
    sch = Schedule(two_ranges, debug_mask="all")
    sch.split(sch.fuse(*loops(sch)[1:]), [None, 4])
    for extents in ((0, 3), (3, 0), (2, 3)):
        check(scheduled(sch), *extents)


REFUSED = {
    "fuse": lambda sch: sch.fuse(*loops(sch)),
    "stage_mem": lambda sch: sch.stage_mem(loops(sch)[-1], "C"),
    "write_at": lambda sch: sch.write_at(loops(sch)[-1], "C", 0, "local"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("program", [sum_inside, sum_outside], ids=["inside", "outside"])
def test_what_would_lose_the_initial_value(program, name):
    with pytest.raises(ScheduleError, match=r"with n = 0, loop `.*` has no iteration"):
        REFUSED[name](Schedule(program))
    sch = Schedule(program, enable_check=False)
    REFUSED[name](sch)
    check(scheduled(sch), 5)
    with pytest.raises(AssertionError):
        check(scheduled(sch), 0)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("program", [assumed, asserted])
def test_a_size_that_the_program_says_is_positive(program, name):
    sch = Schedule(program, debug_mask="all")
    REFUSED[name](sch)
    check(scheduled(sch), 1)
    check(scheduled(sch), 5)


def test_an_assumption_behind_other_statements_says_nothing_about_the_start():
    n = next(iter(sum_inside.buffer_map.values())).shape[0]
    root = sum_inside.body
    late = tir.seq(root.block.body, tir.Evaluate(tir.assume(n > 0)))
    func = sum_inside.with_body(root.replace(block=root.block.replace(body=late)))
    with pytest.raises(ScheduleError):
        sch = Schedule(func)
        sch.fuse(*loops(sch))


def test_fusing_with_an_empty_spatial_range_is_fine():
    @T.prim_func
    def rows(a: T.handle, c: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, n))
        C = T.match_buffer(c, (n,))
        for i, k in T.grid(n, n):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] += A[vi, vk]

    sch = Schedule(rows)
    sch.fuse(*loops(sch))


def test_a_loop_without_uses_may_not_run():
    @T.prim_func
    def repeated(a: T.handle, B: T.Buffer((4,), "float32")):
        n = T.int32()
        A = T.match_buffer(a, (n, 4))
        for k, j in T.grid(n, 4):
            with T.block("B"):
                vk, vj = T.axis.remap("SS", [k, j])
                B[vj] = A[vk, vj]

    sch = Schedule(repeated)
    with pytest.raises(ScheduleError, match="not proved that block `B` writes all elements"):
        sch.cache_write("B", 0, "local")


@T.prim_func
def total(a: T.handle, B: T.Buffer((1,), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (n, n))
    for i, j in T.grid(n, n):
        with T.block("B"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                B[0] = T.float32(5)
            B[0] = B[0] + A[vi, vj]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_partial_results_of_incomplete_tiles_are_initialised(n):
    sch = tir.Schedule(total)
    i, j = sch.get_loops("B")
    sch.split(i, [None, 3])
    _, inner = sch.split(j, [None, 2])
    sch.rfactor(inner, 0)
    a = np.ones((n, n), "float32")
    interpreted, compiled = np.full(1, np.nan, "float32"), np.full(1, np.nan, "float32")
    interpret(sch.mod["main"], a, interpreted)
    tvm.build(sch.mod, target="llvm")(a, compiled)
    assert interpreted == compiled == 5 + n * n
