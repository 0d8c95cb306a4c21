"""Arrays and kernels on OpenCL devices."""

import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest
import tvm_ffi
from tests.target.codegen.device.collection import PROGRAMS
from tests.target.codegen.device.programs import matmul
from tests.target.codegen.device.reductions import rows

import tilewright as tvm
from tilewright import te
from tilewright.error import AllocationError, ArgumentValueError, DeviceError, LoweringError
from tilewright.script import tir as T
from tilewright.target.codegen.device.compile import generate_kernels

DEVICE = tvm.opencl(0)


def on_device(values):
    return tvm.nd.array(values, DEVICE)


# --- arrays -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "bool"])
def test_arrays_go_to_the_device_and_back(dtype):
    values = np.arange(12).reshape(3, 4) % 2
    array = tvm.nd.empty((3, 4), dtype, DEVICE).copyfrom(values)
    assert array.device == DEVICE
    np.testing.assert_array_equal(array.numpy().astype(int), values)
    np.testing.assert_array_equal(array.copyto(tvm.cpu()).numpy().astype(int), values)


def test_arrays_may_outlive_the_interpreter():
    # The registry keeps a function, and with it the names of its module, until nearly all is gone.
    program = (
        "import tilewright as tvm\n"
        "@tvm.auto_scheduler.register_workload\n"
        "def workload(): ...\n"
        "array = tvm.nd.empty((64,), 'float32', tvm.opencl(0))\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_elements_can_be_read_and_set():
    array = on_device(np.zeros((3, 4), "float32"))
    array[1, 2] = 7
    assert array[1].tolist() == [0, 0, 7, 0]
    assert "opencl(0)" in repr(array)
    restored = pickle.loads(pickle.dumps(array))
    assert restored.device == DEVICE
    assert restored.numpy()[1, 2] == 7


def test_memory_is_given_back():
    gc.collect()
    before = DEVICE.memory_in_use
    array = on_device(np.zeros(100, "float32"))
    view = array._create_view((10,), relative_byte_offset=40)
    view[0] = 3
    assert array[10] == 3
    del array, view
    gc.collect()
    assert DEVICE.memory_in_use == before


def test_arrays_say_by_dlpack_where_they_are():
    array = on_device(np.arange(3, dtype="float32"))
    assert array.__dlpack_device__() == (4, 0)
    again = tvm.nd.from_dlpack(array.to_dlpack())
    assert again.device == DEVICE
    again[1] = 7
    assert array.numpy().tolist() == [0, 7, 2]


def test_a_device_that_is_not_there():
    assert not tvm.opencl(99).exist
    with pytest.raises(DeviceError, match=r"there is no device opencl\(99\): this machine has"):
        tvm.nd.empty((3,), "float32", tvm.opencl(99))


# --- kernels ------------------------------------------------------------------------------------


def test_a_library_brings_its_kernels(tmp_path):
    tvm.build(matmul(), target="opencl").export_library(tmp_path / "matmul.so")
    code = (
        "import numpy as np, tilewright as tvm\n"
        f"f = tvm.runtime.load_module({str(tmp_path / 'matmul.so')!r})['main']\n"
        "a = np.eye(32, dtype='float32') * 2\n"
        "A, B, C = (tvm.nd.array(a, tvm.opencl(0)) for _ in range(3))\n"
        "f(A, B, C)\n"
        "assert (C.numpy() == a * 2).all()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_memory_between_kernels_is_given_back():
    module = PROGRAMS["memory_between_kernels"]().build("opencl")
    arrays = [on_device(np.zeros(64, "float32")) for _ in range(2)]
    module(*arrays)
    before = DEVICE.memory_in_use
    module(*arrays)
    gc.collect()
    assert DEVICE.memory_in_use == before


def test_shared_memory_ends_with_a_kernel():
    @T.prim_func
    def twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        shared = T.allocate([8], "float32", "shared")
        cells = T.Buffer((8,), data=shared, scope="shared")
        for i in T.thread_binding(8, thread="threadIdx.x"):
            cells[i] = A[i]
        for i in T.thread_binding(8, thread="threadIdx.x"):
            B[i] = cells[7 - i]

    with pytest.raises(LoweringError, match="shared is in shared memory, which is gone after"):
        tvm.build(twice, target="opencl")


def test_sizes_are_known_when_it_runs():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    block, thread = s[b].split(b.op.axis[0], factor=16)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    module = tvm.build(s, [a, b], target="opencl")
    for size in (0, 1, 16, 37):
        values = np.arange(size, dtype="float32")
        result = on_device(np.zeros(size, "float32"))
        module(on_device(values), result)
        np.testing.assert_array_equal(result.numpy(), values * 2)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_kernel_does_nothing_for_a_size_below_zero(rows):
    @T.prim_func
    def sums(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 8), "float32")
        B = T.match_buffer(b, (4, 8), "float32")
        for i in T.thread_binding(n - 2, thread="blockIdx.x"):
            for j in T.thread_binding(8, thread="threadIdx.x"):
                B[i, j] = A[i, j] + A[i + 2, j]

    a = np.arange(8 * rows, dtype="float32").reshape(rows, 8)
    b = tvm.nd.array(np.zeros((4, 8), "float32"), DEVICE)
    tvm.build(sums, target="opencl")(tvm.nd.array(a, DEVICE), b)
    expected = np.zeros((4, 8), "float32")
    expected[: max(rows - 2, 0)] = a[: max(rows - 2, 0)] + a[2:]
    np.testing.assert_array_equal(b.numpy(), expected)


def test_work_goes_to_the_stream_that_is_set():
    module = tvm.build(matmul(), target="opencl")
    usual, stream = DEVICE.current_raw_stream(), DEVICE.create_raw_stream()
    assert stream != usual
    with tvm_ffi.use_raw_stream(tvm_ffi.device("opencl", 0), stream):
        assert DEVICE.current_raw_stream() == stream
        arrays = [on_device(np.full((32, 32), value, "float32")) for value in (1, 2, 0)]
        module(*arrays)
        DEVICE.sync(stream)
    DEVICE.sync_raw_streams(stream, usual)
    assert (arrays[2].numpy() == 64).all()
    DEVICE.set_raw_stream(stream)
    DEVICE.free_raw_stream(stream)
    assert DEVICE.current_raw_stream() == usual


def test_views_begin_where_the_device_allows():
    module = tvm.build(matmul(), target="opencl")
    a = on_device(np.ones(3 * 1024 + 1, "float32"))
    parts = [a._create_view((32, 32), relative_byte_offset=4096 * part) for part in range(3)]
    module(*parts)
    assert (a.numpy()[2048:3072] == 32).all()
    if "oclgrind" in DEVICE.device_name.lower():
        return  # it takes memory from any byte on
    shifted = a._create_view((32, 32), relative_byte_offset=4 + 4096)
    with pytest.raises(
        DeviceError, match=r"argument 2 begins at byte 4100 of its memory, and kern"
    ):
        module(parts[0], shifted, parts[2])


def test_an_error_of_the_compiler_shows_the_line(monkeypatch):
    monkeypatch.setattr(
        "tilewright.target.codegen.device.compile.generate_kernels",
        lambda kernels, dialect: generate_kernels(kernels, dialect).replace(" 0.0f;", " nothing;"),
    )
    module = tvm.build(matmul(), target="opencl")
    arrays = [on_device(np.zeros((32, 32), "float32")) for _ in range(3)]
    with pytest.raises(
        DeviceError,
        match=r"the OpenCL compiler refuses the kernels: line \d+: +C_local\[.*= nothing;\n",
    ):
        module(*arrays)


def test_a_launch_that_fails_says_which_limit_it_exceeds():
    most = DEVICE.max_threads_per_block

    @T.prim_func
    def main(A: T.Buffer((1,), "float32")):
        for i in T.thread_binding(most * 2, thread="threadIdx.x"):
            if i == 0:
                A[0] = T.float32(1)

    module = tvm.build(main, target=f"opencl -max_threads_per_block={2 * most}")
    with pytest.raises(
        DeviceError,
        match=rf"main_kernel: cannot be started with .*; a block has {2 * most} threads, and the "
        rf"device runs at most {most} of a block",
    ):
        module(on_device(np.zeros(1, "float32")))


def test_too_much_memory():
    size = 1 << 45
    with pytest.raises(AllocationError, match=rf"no memory for {size} bytes on opencl\(0\)"):
        tvm.nd.empty((size,), "int8", DEVICE)


def test_properties():
    assert DEVICE.exist
    assert DEVICE.device_name
    assert DEVICE.compute_version[0] in "123"
    assert DEVICE.max_threads_per_block >= 64
    assert min(DEVICE.max_thread_dimensions) >= 1
    assert DEVICE.warp_size >= 1
    assert DEVICE.max_shared_memory_per_block >= 16 << 10
    assert DEVICE.multi_processor_count >= 1
    assert DEVICE.total_global_memory >= DEVICE.available_global_memory > 0


def test_sizes_of_reductions_are_known_when_it_runs():
    n, m = te.var("n"), te.var("m")
    module = tvm.build(rows(te.sum, (n, m), 8, 2)[1], target="opencl")
    for shape in ((1, 1), (5, 37), (4, 16), (3, 0)):
        values = np.random.default_rng(0).normal(size=shape).astype("float32")
        result = on_device(np.full(shape[0], 99, "float32"))
        module(on_device(values), result)
        np.testing.assert_allclose(result.numpy(), values.sum(1), rtol=1e-4, atol=1e-5)


def test_it_is_timed_until_the_device_is_done():
    module = tvm.build(matmul(), target="opencl")
    arrays = [on_device(np.zeros((32, 32), "float32")) for _ in range(3)]
    result = module.time_evaluator("main", DEVICE, number=2, repeat=2)(*arrays)
    assert len(result.results) == 2
    assert result.min > 0


def test_arrays_of_the_host_are_refused():
    module = tvm.build(matmul(), target="opencl")
    zeros = np.zeros((32, 32), "float32")
    with pytest.raises(
        ArgumentValueError,
        match=r"argument 1 \(A\): the array is on cpu\(0\), .* runs on opencl; copy it there",
    ):
        module(zeros, zeros, zeros)
