"""What threads of a device would get wrong together is refused by the step that makes it so."""

import pytest

from tilewright.script import tir as T
from tilewright.tir import Schedule
from tilewright.tir.schedule import ScheduleError


def refusal(sch, step, *arguments):
    """What is said when a step is refused; the program stays as it is."""
    before = sch.mod.script()
    with pytest.raises(ScheduleError) as caught:
        getattr(sch, step)(*arguments)
    assert sch.mod.script() == before
    return str(caught.value)


@T.prim_func
def two_steps(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    """The second step reads what another iteration of the first one has written."""
    for i in range(4):
        for j in range(8):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = T.float32(1)
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, 7 - vj]


def bound_steps(axes):
    """`two_steps` with the loops j bound, which are kernels of their own, and the loop around."""
    sch = Schedule(two_steps)
    for block, axis in zip("AB", axes, strict=True):
        sch.bind(sch.get_loops(block)[1], axis)
    return sch, sch.get_loops("A")[0]


@pytest.mark.parametrize("axis", ["blockIdx.y", "threadIdx.x"])
def test_blocks_of_a_kernel_do_not_wait_for_each_other(axis):
    sch, around = bound_steps(["blockIdx.x", "blockIdx.x"])
    text = refusal(sch, "bind", around, axis)
    assert "do not wait for each other, and one depends on another one" in text
    assert (
        f"A[0, 0]: written by A at (vi=0, vj=0) in thread ({axis}=0, blockIdx.x=0) and read by B "
        f"at (vi=0, vj=7) in thread ({axis}=0, blockIdx.x=7)"
    ) in text
    assert "Hint: compute it in loops of its own" in text
    assert text.count('thread="blockIdx.x"') == 2
    assert "^^^" in text


def test_threads_of_a_block_wait_for_each_other():
    sch, around = bound_steps(["threadIdx.x", "threadIdx.x"])
    sch.bind(around, "blockIdx.x")


def test_what_is_in_no_loop_of_an_axis_is_done_by_its_first_block():
    sch, around = bound_steps(["threadIdx.x", "blockIdx.x"])
    text = refusal(sch, "bind", around, "blockIdx.y")
    assert "in thread (blockIdx.y=0, threadIdx.x=0) and read" in text
    assert "in thread (blockIdx.y=0, blockIdx.x=7)" in text


def test_blocks_do_not_wait_in_a_loop_inside_of_a_kernel():
    @T.prim_func
    def waves(A: T.Buffer((2, 4, 8), "float32")):
        for i, k, j in T.grid(2, 3, 8):
            with T.block("A"):
                vi, vk, vj = T.axis.remap("SSS", [i, k, j])
                A[vi, vk + 1, vj] = A[vi, vk, 7 - vj]

    sch = Schedule(waves)
    i, _, j = sch.get_loops("A")
    sch.bind(j, "blockIdx.x")
    text = refusal(sch, "bind", i, "threadIdx.x")
    assert "A[0, 1, 0]: written by A at (vi=0, vk=0, vj=0) in thread (threadIdx.x=0, bl" in text
    assert "and read by A at (vi=0, vk=1, vj=7)" in text


def test_two_threads_that_write_the_same_element_are_told():
    @T.prim_func
    def pairs(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 4), "float32")):
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj // 2] = A[vi, vj]

    sch = Schedule(pairs)
    i, j = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    text = refusal(sch, "bind", j, "threadIdx.x")
    assert (
        "B[0, 0]: written by B at (vi=0, vj=0) in thread (blockIdx.x=0, threadIdx.x=0) and written "
        "by B at (vi=0, vj=1) in thread (blockIdx.x=0, threadIdx.x=1)"
    ) in text


def test_blocks_of_a_kernel_have_one_number():
    @T.prim_func
    def uneven(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 6), "float32")):
        for i in range(4):
            for j in range(8):
                with T.block("A"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[vi, vj] = T.float32(1)
            for j in range(6):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = T.float32(2)

    sch = Schedule(uneven)
    i, j = sch.get_loops("A")
    sch.bind(i, "threadIdx.x")
    sch.bind(j, "blockIdx.x")
    text = refusal(sch, "bind", sch.get_loops("B")[1], "blockIdx.x")
    assert "bound to blockIdx.x, one of 8 iterations and one of 6" in text
    assert "Hint: give them the same number" in text


def rows():
    """Each row is copied, and used in another order."""

    @T.prim_func
    def func(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")):
        S = T.alloc_buffer((4, 16))
        for i in T.thread_binding(4, thread="blockIdx.y"):
            for j in range(16):
                with T.block("S"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    S[vi, vj] = A[vi, vj]
            for j in range(16):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = S[vi, 15 - vj]

    return Schedule(func)


def test_memory_of_a_block_is_used_by_one_block():
    sch = rows()
    sch.set_scope("S", 0, "shared")
    text = refusal(sch, "bind", sch.get_loops("B")[1], "blockIdx.x")
    assert "each block has S of scope 'shared' for itself, but loop j" in text
    assert "Hint: bind a loop around all of them" in text


def test_later_steps_are_checked_as_well():
    sch = rows()
    sch.bind(sch.get_loops("B")[1], "threadIdx.x")
    text = refusal(sch, "set_scope", "S", 0, "local")
    assert text.startswith("set_scope: each thread has S of scope 'local' for itself")
    sch.set_scope("S", 0, "shared")


def test_threads_that_share_work_inside_of_a_loop_all_come_to_it():
    @T.prim_func
    def beside(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((32,))):
        S = T.alloc_buffer((16,), scope="shared")
        for b in T.thread_binding(1, thread="blockIdx.x"):
            for j in T.thread_binding(16, thread="threadIdx.x"):
                for k in range(16):
                    with T.block("S"):
                        vk = T.axis.spatial(16, k)
                        S[vk] = A[vk]
                with T.block("B"):
                    vj = T.axis.spatial(16, b * 16 + j)
                    B[vj] = S[15 - vj]
            for j in range(32):
                with T.block("C"):
                    vj = T.axis.spatial(32, b * 32 + j)
                    C[vj] = T.float32(1)

    sch = Schedule(beside)
    sch.bind(sch.get_loops("S")[-1], "threadIdx.x")
    text = refusal(sch, "bind", sch.get_loops("C")[-1], "threadIdx.x")
    assert "some threads would never come to the inner one" in text


def test_threads_do_not_wait_where_some_of_them_do_not_come():
    @T.prim_func
    def some_rows(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.y"):
            if i < 5:
                for k in range(64):
                    with T.block("B"):
                        vi, vk = T.axis.remap("SR", [i, k])
                        with T.init():
                            B[vi] = T.float32(0)
                        B[vi] += A[vi, vk]

    sch = Schedule(some_rows)
    text = refusal(sch, "bind", sch.get_loops("B")[1], "threadIdx.x")
    assert "only some of them come: under the condition i < 5" in text
    assert "Hint: let all threads come" in text


@pytest.mark.parametrize("through_a_variable", [False, True])
def test_threads_do_not_wait_in_a_loop_that_some_of_them_leave_earlier(through_a_variable):
    @T.prim_func
    def triangle(A: T.Buffer((8, 8, 64), "float32"), B: T.Buffer((8, 8), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.y"):
            for k in range(i + 1):
                for j in range(64):
                    with T.block("B"):
                        vi, vk = T.axis.spatial(8, i), T.axis.spatial(8, k)
                        vj = T.axis.reduce(64, j)
                        with T.init():
                            B[vi, vk] = T.float32(0)
                        B[vi, vk] += A[vi, vk, vj]

    @T.prim_func
    def rows(A: T.Buffer((8, 8, 64), "float32"), B: T.Buffer((8, 8), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.y"):
            with T.LetStmt(i + 1) as count:
                for k in range(count):
                    for j in range(64):
                        with T.block("B"):
                            vi, vk = T.axis.spatial(8, i), T.axis.spatial(8, k)
                            vj = T.axis.reduce(64, j)
                            with T.init():
                                B[vi, vk] = T.float32(0)
                            B[vi, vk] += A[vi, vk, vj]

    sch = Schedule(rows if through_a_variable else triangle)
    text = refusal(sch, "bind", sch.get_loops("B")[2], "threadIdx.x")
    assert "in loop k, which has not as many iterations for all of them" in text


def test_threads_share_a_reduction_only_if_all_of_it_is_between_them():
    @T.prim_func
    def running(A: T.Buffer((4, 8)), B: T.Buffer((1,)), C: T.Buffer((4,))):
        for k in range(4):
            for j in range(8):
                with T.block("B"):
                    v0 = T.axis.spatial(1, 0)
                    vk, vj = T.axis.remap("RR", [k, j])
                    with T.init():
                        B[v0] = T.float32(0)
                    B[v0] += A[vk, vj]
            with T.block("C"):
                vk = T.axis.spatial(4, k)
                C[vk] = T.float32(1)

    sch = Schedule(running)
    text = refusal(sch, "bind", sch.get_loops("B")[1], "threadIdx.x")
    assert "other statements stand between this loop and an outer loop of the reduction" in text


def test_a_number_of_threads_does_not_change_inside_of_a_kernel():
    @T.prim_func
    def triangle(A: T.Buffer((4, 8, 8), "float32")):
        for b, i in T.grid(4, 8):
            for j in range(i + 1):
                with T.block("A"):
                    vb, vi, vj = T.axis.remap("SSS", [b, i, j])
                    A[vb, vi, vj] = T.float32(1)

    sch = Schedule(triangle)
    b, _, j = sch.get_loops("A")
    sch.bind(b, "blockIdx.x")
    text = refusal(sch, "bind", j, "threadIdx.x")
    assert "change with loop i: the number of threads is chosen before they start" in text
