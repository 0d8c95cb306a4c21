"""Memory that is allocated inside of a kernel belongs to threads, or to blocks of threads."""

import numpy as np

import tilewright as tvm
from tilewright.script import tir as T


@T.prim_func
def sums_of_rows(A: T.Buffer((8, 4), "int32"), B: T.Buffer((8,), "int32")):
    for i in T.thread_binding(4, "threadIdx.x"):
        for j in T.vectorized(2):
            with T.block("B"):
                row = T.axis.spatial(8, i * 2 + j)
                T.reads(A[row, 0:4])
                T.writes(B[row])
                total = T.alloc_buffer((1,), "int32")
                total[0] = 0
                for k in range(4):
                    total[0] = total[0] + A[row, k]
                B[row] = total[0]


@T.prim_func
def reversed_in_blocks(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
    for i in T.thread_binding(4, "blockIdx.x"):
        with T.block("row"):
            row = T.axis.spatial(4, i)
            T.reads(A[row, 0:8])
            T.writes(B[row, 0:8])
            copy = T.alloc_buffer((8,), "int32")
            for j in T.thread_binding(8, "threadIdx.x"):
                copy[j] = A[row, j]
            for j in T.thread_binding(8, "threadIdx.x"):
                B[row, j] = copy[7 - j]


def check(func, argument, expected):
    """Run a function by OpenCL; returns its source."""
    module = tvm.build(func, target="opencl")
    result = tvm.nd.empty(expected.shape, "int32", tvm.opencl(0))
    module(tvm.nd.array(argument, tvm.opencl(0)), result)
    np.testing.assert_array_equal(result.numpy(), expected)
    return module.imported_modules[0].get_source()


def test_a_thread_has_memory_that_is_allocated_in_it():
    values = np.arange(32, dtype="int32").reshape(8, 4)
    source = check(sums_of_rows, values, values.sum(1, dtype="int32"))
    assert "__global int2* total" not in source


def test_threads_share_memory_that_is_allocated_around_them():
    values = np.arange(32, dtype="int32").reshape(4, 8)
    source = check(reversed_in_blocks, values, values[:, ::-1])
    assert "__local int32_t copy[8]" in source
    assert "barrier" in source
