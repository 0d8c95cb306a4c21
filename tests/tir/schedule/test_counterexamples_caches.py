"""The instances that caching primitives name are those that the copies would get wrong."""

from tests.tir.schedule.named_instances import (
    assert_differs,
    assert_unwritten,
    counterexample,
    forced,
)

from tilewright.script import tir as T


@T.prim_func
def every_other(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.block("C"):
            v = T.axis.spatial(4, i)
            C[v * 2] = A[v] * T.float32(100) + T.float32(1)


def test_a_copy_back_of_what_was_not_written():
    def step(sch):
        return lambda: sch.cache_write("C", 0, "local")

    line = counterexample(every_other, step)
    assert line == "afterwards, C_local at (v0=1) reads C_local[1], which C never writes"
    assert_unwritten(forced(every_other, step), "C_local[1]")


def test_a_copy_back_in_a_loop_of_what_was_not_written():
    def step(sch):
        outer, _ = sch.split(sch.get_loops("C")[0], [2, 2])
        return lambda: sch.write_at(outer, "C", 0, "local")

    line = counterexample(every_other, step)
    assert "reads C_local[1], which C never writes" in line
    assert_unwritten(forced(every_other, step), "C_local[1]")


@T.prim_func
def some(A: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("C"):
            v = T.axis.spatial(6, i)
            if v % 3 == 1:
                C[v] = A[v]


def test_a_reindexed_copy_back_of_what_was_not_written():
    def step(sch):
        return lambda: sch.reindex("C", ("write", 0))

    line = counterexample(some, step)
    assert line == "afterwards, C_reindex at (v0=0) reads C_reindex[0], which C never writes"
    assert_unwritten(forced(some, step), "C_reindex[0]")


@T.prim_func
def sum_that_another_block_starts(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("start"):
            v = T.axis.spatial(4, i)
            B[v] = T.float32(5)
    for i, k in T.grid(4, 2):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(3, k + 1)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


def test_a_cache_that_lacks_what_another_block_initialised():
    def step(sch):
        return lambda: sch.cache_write("B", 0, "local")

    line = counterexample(sum_that_another_block_starts, step)
    assert line == "B at (vi=0, vk=1) reads B[0] before B at (vi=0, vk=1) writes it"
    assert_unwritten(forced(sum_that_another_block_starts, step), "B_local[0]")


@T.prim_func
def written_twice(A: T.Buffer((4,), "float32"), C: T.Buffer((2, 4), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in range(4):
        with T.block("first"):
            v = T.axis.spatial(4, i)
            B[v] = A[v]
    for i in range(4):
        with T.block("early"):
            v = T.axis.spatial(4, i)
            C[0, v] = B[v]
    for i in range(2):
        with T.block("second"):
            v = T.axis.spatial(2, i)
            B[v + 2] = A[v] + T.float32(100)
    for i in range(4):
        with T.block("late"):
            v = T.axis.spatial(4, i)
            C[1, v] = B[v]


@T.prim_func
def copied_once(A: T.Buffer((4,), "float32"), C: T.Buffer((2, 4), "float32")):
    B = T.alloc_buffer((4,), "float32")
    B_local = T.alloc_buffer((4,), "float32", scope="local")
    for i in range(4):
        with T.block("first"):
            v = T.axis.spatial(4, i)
            B[v] = A[v]
    for i in range(4):
        with T.block("B_local"):
            v = T.axis.spatial(4, i)
            B_local[v] = B[v]
    for i in range(4):
        with T.block("early"):
            v = T.axis.spatial(4, i)
            C[0, v] = B_local[v]
    for i in range(2):
        with T.block("second"):
            v = T.axis.spatial(2, i)
            B[v + 2] = A[v] + T.float32(100)
    for i in range(4):
        with T.block("late"):
            v = T.axis.spatial(4, i)
            C[1, v] = B_local[v]


def test_a_copy_before_the_last_write():
    line = counterexample(written_twice, lambda sch: lambda: sch.cache_read("late", 0, "local"))
    assert line == "second at (v=0) writes B[2]; then late at (v=2) reads B[2]"
    assert_differs(written_twice, copied_once, "C[1, 2]")


@T.prim_func
def filled_in_a_loop(A: T.Buffer((8,), "float32"), C: T.Buffer((2, 8), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(4):
        with T.block("B"):
            v = T.axis.spatial(4, i)
            B[v] = A[v]
        with T.block("early"):
            v = T.axis.spatial(4, i)
            C[0, v] = B[v]
    for i in range(8):
        with T.block("late"):
            v = T.axis.spatial(8, i)
            C[1, v] = B[v]


def test_copies_in_a_loop_that_lack_what_is_read_behind_it():
    def step(sch):
        return lambda: sch.cache_read("early", 0, "local")

    line = counterexample(filled_in_a_loop, step)
    assert line == "afterwards, late at (v=4) reads B_local[4], which B_local never writes"
    assert_unwritten(forced(filled_in_a_loop, step), "B_local[4]")


@T.prim_func
def written_in_part(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.block("A"):
            v = T.axis.spatial(4, i)
            A[v] = T.float32(3)
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = A[v]


def test_a_consumer_of_more_than_what_the_block_writes():
    def step(sch):
        return lambda: sch.cache_write("A", 0, "local", consumer_blocks=["C"])

    assert counterexample(written_in_part, step) == "C at (v=4) reads A[4], which A never writes"
    assert_unwritten(forced(written_in_part, step), "A_local[4]")


# --- iterations that run at once ------------------------------------------------------------------


@T.prim_func
def even_and_odd(A: T.Buffer((4,), "float32")):
    for i in T.parallel(2):
        for j in range(2):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vj * 2 + vi] = A[vj * 2 + vi] + T.float32(1)


@T.prim_func
def even_and_odd_at_once(A: T.Buffer((4,), "float32")):
    copies = T.alloc_buffer((2, 4), "float32")
    for i, j in T.grid(2, 4):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            copies[vi, vj] = A[vj]
    for i, j in T.grid(2, 2):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            copies[vi, vj * 2 + vi] = copies[vi, vj * 2 + vi] + T.float32(1)
    for i, j in T.grid(2, 4):
        with T.block("back"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vj] = copies[1 - vi, vj]


def outer(sch):
    return sch.get_loops("A")[0]


def test_a_copy_back_that_undoes_what_another_iteration_wrote():
    line = counterexample(even_and_odd, lambda sch: lambda: sch.stage_mem(outer(sch), "A"))
    assert line == (
        "A[1]: read by A_global at (v0=1) in iteration i=0 and written by A_global_back at (v0=1) "
        "in iteration i=1"
    )
    # One order of what runs at once: all copy, all add, all copy back, the first one last.
    assert_differs(even_and_odd, even_and_odd_at_once, "A[1]")
