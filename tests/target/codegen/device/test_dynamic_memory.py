"""Memory of a block of threads whose size is known when its kernel is started."""

import re

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation

import tilewright as tvm
from tilewright import te
from tilewright.error import LoweringError
from tilewright.script import tir as T
from tilewright.target.codegen.device import nvrtc


def reversed_rows(target):
    """The rows of a matrix backwards, plus a vector: whole rows of both are in shared memory."""
    m, n = te.size_var("m"), te.size_var("n")
    a = te.placeholder((m, n), name="A")
    b = te.placeholder((n,), "float64", name="B")
    c = te.compute((m, n), lambda i, j: a[i, n - 1 - j] + b[n - 1 - j].astype("float32"), name="C")
    s = te.create_schedule(c.op)
    block, columns = c.op.axis
    s[c].bind(block, te.thread_axis("blockIdx.x"))
    _, column = s[c].split(columns, factor=8)
    s[c].bind(column, te.thread_axis("threadIdx.x"))
    for tensor in (a, b):
        copy = s.cache_read(tensor, "shared", [c])
        s[copy].compute_at(s[c], block)
        _, thread = s[copy].split(copy.op.axis[-1], factor=8)
        s[copy].bind(thread, te.thread_axis("threadIdx.x"))
    return tvm.build(s, [a, b, c], target=target, name="reversed_rows")


def check(module, device):
    for m, n in ((3, 11), (1, 1), (2, 40), (2, 0)):
        a = np.arange(m * n, dtype="float32").reshape(m, n)
        b = np.arange(n, dtype="float64") / 2
        arrays = [tvm.nd.array(values, device) for values in (a, b, np.zeros_like(a))]
        module(*arrays)
        np.testing.assert_array_equal(arrays[2].numpy(), (a + b.astype("float32"))[:, ::-1])


def test_opencl():
    module = reversed_rows("opencl")
    source = module.imported_modules[0].get_source()
    assert "__local uint8_t* dynamic_memory) {" in source
    assert "__local float* A_shared = (__local float*)dynamic_memory;" in source
    start = r"B_shared = \(__local double\*\)\(dynamic_memory \+ "
    assert re.search(start + r"\(.*n.* & \(-32\)\)\);", source)
    check(module, tvm.opencl(0))


def test_cuda(monkeypatch):
    module = reversed_rows("cuda")
    api = EmulatedCuda()
    use_emulation(monkeypatch, api)
    check(module, tvm.cuda(0))
    launches = [arguments[7] for name, arguments in api.calls if name == "cuLaunchKernel"]
    assert launches == [64 + 96, 32 + 32, 192 + 352, 32 + 32]


def test_machine_code():
    pytest.importorskip("cuda.bindings.nvrtc")
    source = reversed_rows("cuda").imported_modules[0].get_source()
    assert "extern __shared__ uint8_t dynamic_memory[]" in source
    assert nvrtc.compile_kernels(source, "sm_80").startswith(b"\x7fELF")


def test_more_than_a_device_has(monkeypatch):
    module = reversed_rows("cuda")
    api = EmulatedCuda()
    use_emulation(monkeypatch, api)
    a = tvm.nd.array(np.zeros((1, 10_000), "float32"), tvm.cuda(0))
    b = tvm.nd.array(np.zeros(10_000, "float64"), tvm.cuda(0))
    with pytest.raises(tvm.error.DeviceError, match="takes 120064 bytes of shared memory, and the"):
        module(a, b, a)


def test_a_size_that_changes_inside_of_a_kernel():
    @T.prim_func
    def triangle(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n, n), "float32")
        for i in T.thread_binding(n, "blockIdx.x"):
            with T.block("row"):
                row = T.axis.spatial(n, i)
                T.reads(A[row, 0:n])
                T.writes(A[row, 0:n])
                copy = T.alloc_buffer((row + 1,), "float32", scope="shared")
                for j in T.thread_binding(32, "threadIdx.x"):
                    if j < row + 1:
                        copy[j] = A[row, j]
                for j in T.thread_binding(32, "threadIdx.x"):
                    if j < row + 1:
                        A[row, j] = copy[row - j]

    with pytest.raises(LoweringError, match=r"copy is memory of a block .* which changes with i"):
        tvm.build(triangle, target="opencl")
