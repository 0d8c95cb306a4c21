"""Large memory of threads is memory of the device."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright.script import tir as T

SIZE = 6000


@T.prim_func
def backwards(a: T.handle, b: T.handle):
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    for i in T.thread_binding(m, "blockIdx.x"):
        for t in T.thread_binding(2, "threadIdx.x"):
            with T.block("row"):
                row, half = T.axis.remap("SS", [i, t])
                T.reads(A[row, 0:n])
                T.writes(B[row, 0:n])
                kept = T.alloc_buffer((n,), "float32", scope="local")
                last = T.alloc_buffer((1,), "int32", scope="local")
                last[0] = n - 1
                for j in range(n):
                    kept[j] = A[row, last[0] - j]
                for j in range(n // 2):
                    B[row, half * (n // 2) + j] = kept[half * (n // 2) + j]


def test_memory_of_a_size_that_is_not_known_is_a_part_for_each_thread():
    values = np.arange(30, dtype="float32").reshape(3, 10)
    result = tvm.nd.empty((3, 10), "float32", tvm.opencl(0))
    module = tvm.build(backwards, target="opencl")
    module(tvm.nd.array(values, tvm.opencl(0)), result)
    np.testing.assert_array_equal(result.numpy(), values[:, ::-1])
    source = module.imported_modules[0].get_source()
    assert "__global float* kept" in source.replace("restrict ", "")
    assert "last[1]" in source


@pytest.mark.parametrize(("size", "is_moved"), [(100, False), (SIZE, True)])
def test_much_memory_is_that_of_the_device(size, is_moved):
    func = backwards.specialize({backwards.params[0]: T.buffer_decl((3, size), "float32")})
    source = tvm.build(func, target="cuda").imported_modules[0].get_source()
    assert (f"float kept[{size}]" not in source) == is_moved
    assert "kept[j * 6 + i * 2 + t]" in source or not is_moved
