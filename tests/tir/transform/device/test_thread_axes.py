"""Loops over blocks and threads become the axes of kernels."""

import pytest

from tilewright.error import LoweringError
from tilewright.script import tir as T
from tilewright.tir.stmt import AttrStmt, For, IfThenElse
from tilewright.tir.transform.building.statements import statements
from tilewright.tir.transform.device.thread_axes import tag_of, unify_thread_axes


def tags(func):
    return [s.node.thread_tag for s in statements(func.body) if isinstance(s, AttrStmt)]


def text(func):
    return unify_thread_axes(func).script()


def test_a_function_without_threads_stays_as_it_is():
    @T.prim_func
    def plain(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = T.float32(0)

    assert unify_thread_axes(plain) is plain


def test_axes_are_around_the_kernel_blocks_first():
    @T.prim_func
    def kernel(A: T.Buffer((8, 4, 2), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            for j in T.thread_binding(4, thread="blockIdx.x"):
                for k in T.thread_binding(2, thread="blockIdx.y"):
                    A[i, j, k] = T.float32(0)

    assert tags(unify_thread_axes(kernel)) == ["blockIdx.y", "blockIdx.x", "threadIdx.x"]


def test_a_loop_inside_of_one_of_its_axis_is_shared_among_the_threads():
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        shared = T.alloc_buffer((32,), scope="shared")
        for i in T.thread_binding(32, thread="threadIdx.x"):
            for a in T.thread_binding(32, thread="threadIdx.x"):
                shared[a] = A[a]
            B[i] = shared[31 - i]

    lines = text(kernel)
    assert "shared[i] = A[i]" in lines
    assert "thread_binding" not in lines


def test_threads_that_a_loop_does_not_need_stay_away():
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), B: T.Buffer((20,), "float32")):
        for i in T.thread_binding(32, thread="threadIdx.x"):
            A[i] = T.float32(0)
            for j in T.thread_binding(20, thread="threadIdx.x"):
                B[j] = T.float32(1)

    (condition,) = [
        s for s in statements(unify_thread_axes(kernel).body) if isinstance(s, IfThenElse)
    ]
    assert str(condition.condition) == "i < 20"


def test_what_is_outside_of_the_threads_is_done_once():
    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in T.thread_binding(4, thread="blockIdx.x"):
            A[i] = A[i] + T.float32(1)
            for j in T.thread_binding(8, thread="threadIdx.x"):
                B[i, j] = T.float32(0)

    assert "if j == 0:" in text(kernel)


def test_virtual_threads_are_left_to_a_pass_of_their_own():
    @T.prim_func
    def kernel(A: T.Buffer((4, 8), "float32")):
        for v in T.thread_binding(4, thread="vthread"):
            for j in T.thread_binding(8, thread="threadIdx.x"):
                A[v, j] = T.float32(0)

    (loop,) = [s for s in statements(unify_thread_axes(kernel).body) if isinstance(s, For)]
    assert tag_of(loop) == "vthread"


def test_loops_of_different_lengths_inside_of_each_other_are_refused():
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32")):
        for _i in T.thread_binding(8, thread="threadIdx.x"):
            for j in T.thread_binding(32, thread="threadIdx.x"):
                A[j] = T.float32(0)

    with pytest.raises(LoweringError, match=r"loop j of 32 iterations is bound to threadIdx.x"):
        unify_thread_axes(kernel)


def test_a_loop_that_each_thread_has_to_run_is_not_shared():
    @T.prim_func
    def kernel(A: T.Buffer((8, 8), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            for j in T.thread_binding(8, thread="threadIdx.x"):
                A[i, j] = T.float32(0)

    with pytest.raises(LoweringError, match=r"loop j is bound to threadIdx\.x, and what it does"):
        unify_thread_axes(kernel)


def test_blocks_of_different_numbers_are_refused():
    @T.prim_func
    def kernel(A: T.Buffer((8, 8), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.x"):
            for j in T.thread_binding(8, thread="blockIdx.x"):
                A[i, j] = T.float32(0)
            for j in T.thread_binding(4, thread="blockIdx.x"):
                A[i, j] = T.float32(0)

    with pytest.raises(LoweringError, match="one of 8 iterations and one of 4"):
        unify_thread_axes(kernel)


def test_a_number_of_threads_that_changes_inside_is_refused():
    @T.prim_func
    def kernel(A: T.Buffer((8, 8), "float32")):
        for b in T.thread_binding(8, thread="blockIdx.x"):
            for i in range(8):
                for j in T.thread_binding(i + 1, thread="threadIdx.x"):
                    A[b, j] = T.float32(0)

    with pytest.raises(LoweringError, match="change with loop i"):
        unify_thread_axes(kernel)


def test_unknown_axes_are_refused():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="threadIdx.w"):
            A[i] = T.float32(0)

    with pytest.raises(LoweringError, match=r"'threadIdx.w'"):
        unify_thread_axes(kernel)


@pytest.mark.parametrize(
    ("scope", "axis", "owner"),
    [("shared", "blockIdx.x", "block"), ("local", "threadIdx.x", "thread")],
)
def test_memory_that_each_has_for_itself_is_not_used_together(scope, axis, owner):
    @T.prim_func
    def kernel(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.y"):
            memory = T.allocate([8], "float32", scope)
            cells = T.Buffer((8,), data=memory, scope=scope)
            for j in T.thread_binding(8, thread=axis):
                cells[j] = A[i, j]
            for j in T.thread_binding(8, thread=axis):
                B[i, j] = cells[7 - j]

    with pytest.raises(LoweringError, match=f"each {owner} has memory of scope '{scope}'"):
        unify_thread_axes(kernel)


def test_memory_of_a_thread_has_what_all_threads_stored_or_all_is_refused():
    def kernel(extent, value):
        @T.prim_func
        def kernel(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
            for i in T.thread_binding(4, thread="threadIdx.y"):
                memory = T.allocate([1], "int32", "local")
                cell = T.Buffer((1,), "int32", data=memory, scope="local")
                for j in T.thread_binding(extent, thread="threadIdx.x"):
                    cell[0] = value(A, i, j)
                for j in T.thread_binding(8, thread="threadIdx.x"):
                    B[i, j] = cell[0]

        return kernel

    unify_thread_axes(kernel(8, lambda a, i, _: a[i, 0]))
    for extent, value in ((8, lambda a, i, j: a[i, j]), (4, lambda a, i, _: a[i, 0])):
        with pytest.raises(LoweringError, match="each thread has memory of scope 'local'"):
            unify_thread_axes(kernel(extent, value))
