"""Threads of a block wait for each other where they must, and only there."""

import pytest

from tilewright.error import LoweringError
from tilewright.script import tir as T
from tilewright.tir.transform.device.barriers import insert_barriers
from tilewright.tir.transform.device.thread_axes import unify_thread_axes


def lines(func):
    """The lines of a kernel with its barriers, without those that declare."""
    script = insert_barriers(unify_thread_axes(func)).script()
    declaring = ("#", "@", "def ", "T.func_attr", "with ")
    found = [line.strip() for line in script.splitlines()]
    return [
        "barrier" if line.startswith("T.tvm_storage_sync") else line
        for line in found
        if line
        and not line.startswith(declaring)
        and not any(word in line for word in ("alloc", "launch_thread", "T.Buffer"))
    ]


def test_between_a_store_and_a_load_of_what_another_thread_stored():
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        shared = T.allocate([32], "float32", "shared")
        cells = T.Buffer((32,), data=shared, scope="shared")
        for i in T.thread_binding(32, thread="threadIdx.x"):
            cells[i] = A[i]
            B[i] = cells[31 - i]

    assert lines(kernel) == ["cells[i] = A[i]", "barrier", "B[i] = cells[31 - i]"]


def test_not_where_each_thread_has_elements_of_its_own():
    @T.prim_func
    def kernel(A: T.Buffer((32, 4), "float32"), B: T.Buffer((32,), "float32")):
        shared = T.allocate([128], "float32", "shared")
        cells = T.Buffer((128,), data=shared, scope="shared")
        for i in T.thread_binding(32, thread="threadIdx.x"):
            for j in range(4):
                cells[i * 4 + j] = A[i, j]
            B[i] = cells[i * 4] + cells[i * 4 + 3]

    assert "barrier" not in lines(kernel)


def test_iterations_that_use_the_same_memory_wait_for_each_other():
    @T.prim_func
    def kernel(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8, 32), "float32")):
        shared = T.allocate([32], "float32", "shared")
        cells = T.Buffer((32,), data=shared, scope="shared")
        for i in T.thread_binding(32, thread="threadIdx.x"):
            for k in range(8):
                cells[i] = A[k, i]
                B[k, i] = cells[31 - i]

    assert lines(kernel) == [
        "for k in range(8):",
        "barrier", "cells[i] = A[k, i]", "barrier", "B[k, i] = cells[31 - i]",
    ]  # fmt: skip


def test_threads_that_stay_away_do_not_miss_a_barrier():
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), B: T.Buffer((16,), "float32")):
        shared = T.allocate([32], "float32", "shared")
        cells = T.Buffer((32,), data=shared, scope="shared")
        for i in T.thread_binding(32, thread="threadIdx.x"):
            cells[i] = A[i]
            if i < 16:
                B[i] = cells[i + 16]

    assert lines(kernel) == [
        "cells[i] = A[i]", "barrier", "if i < 16:", "B[i] = cells[i + 16]",
    ]  # fmt: skip


def test_a_condition_for_all_threads_may_have_a_barrier_inside():
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32"), n: T.int32):
        shared = T.allocate([32], "float32", "shared")
        cells = T.Buffer((32,), data=shared, scope="shared")
        for i in T.thread_binding(32, thread="threadIdx.x"):
            if n > 3:
                cells[i] = A[i]
                B[i] = cells[31 - i]

    assert lines(kernel)[1:] == ["cells[i] = A[i]", "barrier", "B[i] = cells[31 - i]"]


def test_what_decides_for_all_threads_is_loaded_before_it_changes():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        shared = T.allocate([8], "int32", "shared")
        cells = T.Buffer((8,), "int32", data=shared, scope="shared")
        for i in T.thread_binding(8, thread="threadIdx.x"):
            cells[i] = A[i]
            if cells[0] > 3:
                cells[i] = cells[i] + 1
            for _k in range(cells[1]):
                cells[i] = cells[i] + 2
            while cells[2] > 3:
                cells[i] = cells[i] - 3
            B[i] = cells[i]

    assert lines(kernel) == [
        "cells[i] = A[i]", "barrier",
        "if cells[0] > 3:", "barrier", "cells[i] = cells[i] + 1", "barrier",
        "for _k in range(cells[1]):", "barrier", "cells[i] = cells[i] + 2", "barrier",
        "while cells[2] > 3:", "barrier", "cells[i] = cells[i] - 3", "barrier",
        "B[i] = cells[i]",
    ]  # fmt: skip


def test_what_decides_for_some_threads_may_not_change():
    @T.prim_func
    def branch(A: T.Buffer((8,), "int32")):
        shared = T.allocate([8], "int32", "shared")
        cells = T.Buffer((8,), "int32", data=shared, scope="shared")
        for i in T.thread_binding(8, thread="threadIdx.x"):
            if cells[0] > i:
                cells[i] = A[i]

    @T.prim_func
    def loop(A: T.Buffer((8,), "int32")):
        shared = T.allocate([8], "int32", "shared")
        cells = T.Buffer((8,), "int32", data=shared, scope="shared")
        for i in T.thread_binding(8, thread="threadIdx.x"):
            for _k in range(cells[0], cells[0] + i):
                cells[i] = A[i]

    for kernel in (branch, loop):
        with pytest.raises(LoweringError, match="threads would have to wait for each other"):
            lines(kernel)


def test_a_loop_that_may_have_no_iteration_is_no_barrier():
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32"), n: T.int32):
        first = T.allocate([32], "float32", "shared")
        a = T.Buffer((32,), data=first, scope="shared")
        second = T.allocate([32], "float32", "shared")
        b = T.Buffer((32,), data=second, scope="shared")
        for i in T.thread_binding(32, thread="threadIdx.x"):
            a[i] = A[i]
            for _k in range(n):
                b[i] = A[i]
                B[i] = b[31 - i]
            B[i] = a[31 - i]

    found = lines(kernel)
    assert found[found.index("B[i] = a[31 - i]") - 1] == "barrier"


def test_a_barrier_where_some_threads_do_not_come_is_refused():
    @T.prim_func
    def branch(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        shared = T.allocate([32], "float32", "shared")
        cells = T.Buffer((32,), data=shared, scope="shared")
        for i in T.thread_binding(32, thread="threadIdx.x"):
            if i < 20:
                cells[i] = A[i]
                B[i] = cells[19 - i]

    @T.prim_func
    def loop(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        shared = T.allocate([32], "float32", "shared")
        cells = T.Buffer((32,), data=shared, scope="shared")
        for i in T.thread_binding(32, thread="threadIdx.x"):
            for k in range(i):
                cells[i] = A[k]
                B[k] = cells[31 - i]

    with pytest.raises(LoweringError, match="under the condition i < 20"):
        lines(branch)
    with pytest.raises(LoweringError, match="in loop k"):
        lines(loop)


def test_threads_of_different_blocks_cannot_wait_for_each_other():
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in T.thread_binding(8, thread="blockIdx.x"):
            A[i] = T.float32(1)
            B[i] = A[7 - i]

    with pytest.raises(LoweringError, match="A: threads of two blocks access the same element"):
        lines(kernel)


def test_memory_of_the_device_may_be_exchanged_inside_of_a_block():
    @T.prim_func
    def kernel(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for b in T.thread_binding(4, thread="blockIdx.x"):
            for i in T.thread_binding(8, thread="threadIdx.x"):
                A[b, i] = T.float32(1)
                B[b, i] = A[b, 7 - i]

    assert lines(kernel)[1] == "barrier"


def test_indices_that_are_read_may_be_any():
    @T.prim_func
    def kernel(I: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
        shared = T.allocate([8], "float32", "shared")
        cells = T.Buffer((8,), data=shared, scope="shared")
        for i in T.thread_binding(8, thread="threadIdx.x"):
            cells[i] = T.float32(1)
            B[i] = cells[I[i]]

    assert "barrier" in lines(kernel)
