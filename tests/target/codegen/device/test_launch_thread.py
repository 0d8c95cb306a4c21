"""Kernels whose axes and barriers are written by hand."""

import numpy as np
import pytest
from tests.target.codegen.device.test_vectors import source_of

import tilewright as tvm
from tilewright.error import CodegenError, LoweringError
from tilewright.script import tir as T

SHAPE = (4, 32)


@T.prim_func
def launched(A: T.Buffer(SHAPE, "float32"), B: T.Buffer(SHAPE, "float32")):
    T.func_attr({"global_symbol": "launched", "tir.noalias": True})
    b = T.launch_thread("blockIdx.x", 4)
    i = T.launch_thread("threadIdx.x", 32)
    memory = T.allocate([32], "float32", "shared")
    cells = T.Buffer((32,), data=memory, scope="shared")
    cells[i] = A[b, i]
    T.tvm_storage_sync("shared")
    B[b, i] = cells[31 - i]


@T.prim_func
def with_env_threads(A: T.Buffer(SHAPE, "float32"), B: T.Buffer(SHAPE, "float32")):
    T.func_attr({"global_symbol": "with_env_threads", "tir.noalias": True})
    b = T.env_thread("blockIdx.x")
    i = T.env_thread("threadIdx.x")
    T.launch_thread(b, 4)
    T.launch_thread(i, 32)
    cells = T.alloc_buffer((32,), scope="shared")
    cells[i] = A[b, i]
    B[b, i] = cells[31 - i]


@T.prim_func
def with_attributes(A: T.Buffer(SHAPE, "float32"), B: T.Buffer(SHAPE, "float32")):
    T.func_attr({"global_symbol": "with_attributes", "tir.noalias": True})
    b = T.env_thread("blockIdx.x")
    i = T.env_thread("threadIdx.x")
    block = T.iter_var(b, T.Range(0, 4), "ThreadIndex", "blockIdx.x")
    thread = T.iter_var(i, T.Range(0, 32), "ThreadIndex", "threadIdx.x")
    with T.attr(block, "thread_extent", 4), T.attr(thread, "thread_extent", 32):
        B[b, i] = A[b, 31 - i]


@T.prim_func
def with_bound_loops(A: T.Buffer(SHAPE, "float32"), B: T.Buffer(SHAPE, "float32")):
    T.func_attr({"global_symbol": "with_bound_loops", "tir.noalias": True})
    with T.launch_thread("blockIdx.x", 4) as b:
        for i in T.thread_binding(32, thread="threadIdx.x"):
            B[b, i] = A[b, 31 - i]


FUNCTIONS = {
    "launched": (launched, 1), "with_env_threads": (with_env_threads, 1),
    "with_attributes": (with_attributes, 0), "with_bound_loops": (with_bound_loops, 0),
}  # fmt: skip


@pytest.mark.parametrize(("func", "barriers"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_axes_by_hand(func, barriers):
    assert source_of(func).count("__syncthreads") == barriers
    data = np.random.default_rng(0).normal(size=SHAPE).astype("float32")
    arrays = [tvm.nd.array(data, tvm.opencl(0)), tvm.nd.empty(SHAPE, "float32", tvm.opencl(0))]
    tvm.build(func, target="opencl")(*arrays)
    np.testing.assert_array_equal(arrays[1].numpy(), data[:, ::-1])


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_the_host_has_no_axes(target):
    with pytest.raises((LoweringError, CodegenError), match=r"no .*thread"):
        tvm.build(with_env_threads, target=target)
