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


def with_a_table(target):
    """Rows of a matrix, backwards, plus a table: 32 KiB of shared memory and a row of `n`."""

    @T.prim_func
    def rows(a: T.handle, table: T.Buffer((8192,), "float32")):
        m, n = T.int32(), T.int32()
        A = T.match_buffer(a, (m, n), "float32")
        for i in T.thread_binding(m, "blockIdx.x"):
            with T.block("row"):
                row = T.axis.spatial(m, i)
                T.reads(A[row, 0:n], table[0:8192])
                T.writes(A[row, 0:n])
                fixed = T.alloc_buffer((8192,), "float32", scope="shared")
                copy = T.alloc_buffer((n,), "float32", scope="shared")
                for j in T.thread_binding(32, "threadIdx.x"):
                    for k in range(256):
                        fixed[k * 32 + j] = table[k * 32 + j]
                    for k in range((n + 31) // 32):
                        if k * 32 + j < n:
                            copy[k * 32 + j] = A[row, k * 32 + j]
                for j in T.thread_binding(32, "threadIdx.x"):
                    for k in range((n + 31) // 32):
                        if k * 32 + j < n:
                            A[row, k * 32 + j] = copy[n - 1 - k * 32 - j] + fixed[k * 32 + j]

    return tvm.build(rows, target=target)


@pytest.mark.parametrize("columns", [40, 8000])
def test_beside_memory_of_constant_size(monkeypatch, columns):
    """48 KiB are there for both together; a kernel that takes more asks for it."""
    a = np.arange(2 * columns, dtype="float32").reshape(2, columns)
    table = np.arange(8192, dtype="float32") / 2
    module = with_a_table("cuda")
    api = EmulatedCuda()
    use_emulation(monkeypatch, api)
    array = tvm.nd.array(a, tvm.cuda(0))
    module(array, tvm.nd.array(table, tvm.cuda(0)))
    np.testing.assert_array_equal(array.numpy(), a[:, ::-1] + table[:columns])
    asked = [arguments[2] for name, arguments in api.calls if name == "cuFuncSetAttribute"]
    assert [size // 1000 for size in asked] == ([32] if columns == 8000 else [])


def test_more_than_an_opencl_device_has():
    module = reversed_rows("opencl")
    columns = 3_000_000
    a = tvm.nd.array(np.zeros((1, columns), "float32"), tvm.opencl(0))
    b = tvm.nd.array(np.zeros(columns, "float64"), tvm.opencl(0))
    with pytest.raises(
        tvm.error.DeviceError, match=r"takes 36000\d\d\d bytes of shared memory, and"
    ):
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
