"""The driver of CUDA devices, with an emulation in place of the driver API."""

import gc
import itertools
import random
import sys

import numpy as np
import pytest
import tvm_ffi
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.programs import matmul

import tilewright as tvm
from tilewright import te
from tilewright.error import AllocationError, ArgumentValueError, DeviceError
from tilewright.runtime.benchmark import SHORTEST_ON_DEVICE
from tilewright.runtime.device_driver import driver_of
from tilewright.script import tir as T

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")


@pytest.fixture
def api(monkeypatch):
    emulated = EmulatedCuda()
    use_emulation(monkeypatch, emulated)
    return emulated


# --- arrays -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "bool"])
def test_arrays_go_to_the_device_and_back(api, dtype):
    device = tvm.cuda(1)
    values = np.arange(12).reshape(3, 4) % 2
    array = tvm.nd.empty((3, 4), dtype, device).copyfrom(values)
    assert array.device == device
    np.testing.assert_array_equal(array.numpy().astype(int), values)
    np.testing.assert_array_equal(array.copyto(tvm.cuda(0)).numpy().astype(int), values)
    array[1, 2] = 1
    assert array[1].astype(int).tolist() == [0, 1, 1, 1]


def test_empty_arrays(api):
    assert tvm.nd.empty((0, 4), "float32", tvm.cuda(0)).numpy().shape == (0, 4)


def test_memory_is_given_back(api):
    array = tvm.nd.array(np.zeros(100, "float32"), tvm.cuda(0))
    view = array._create_view((10,), relative_byte_offset=40)
    view[0] = 3
    assert array[10] == 3
    del array, view
    gc.collect()
    assert tvm.cuda(0).memory_in_use == 0
    tvm.cuda(0).empty_pool()
    assert not api.memory


def test_a_device_that_is_not_there(api):
    with pytest.raises(DeviceError, match=r"there is no device cuda\(7\): this machine has 2"):
        tvm.nd.empty((3,), "float32", tvm.cuda(7))


def test_properties(api):
    device = tvm.cuda(1)
    assert device.exist
    assert device.device_name == "Emulation 1"
    assert device.compute_version == "8.6"
    assert device.warp_size == 32
    assert device.max_threads_per_block == 1024
    assert device.max_thread_dimensions == (1024, 1024, 64)
    assert device.max_shared_memory_per_block == 48 << 10
    assert device.multi_processor_count == 84
    assert device.l2_cache_size_bytes == 6 << 20
    assert device.max_clock_rate == 1_500_000
    assert device.total_global_memory == device.available_global_memory == api.available
    array = tvm.nd.empty((1 << 20,), "int8", device)
    assert device.memory_in_use == 1 << 20
    assert 0 <= api.available - (1 << 20) - device.available_global_memory < 4096
    del array
    assert tvm.cuda(7).total_global_memory is None


def test_too_much_memory(api):
    array = tvm.nd.empty((1 << 20,), "int8", tvm.cuda(0))
    with pytest.raises(
        AllocationError,
        match=r"no memory for 4294967296 bytes on cuda\(0\): 267\d{6} of its 268435456 bytes are "
        "free, and arrays of this process have 1048576",
    ):
        tvm.nd.empty((1 << 30,), "float32", tvm.cuda(0))
    del array


# --- the pool -----------------------------------------------------------------------------------


def allocations(api):
    return [name for name, _ in api.calls].count("cuMemAlloc_v2")


def test_memory_is_used_again(api):
    for size in (1000, 1024, 900):
        assert tvm.nd.empty((size,), "int8", tvm.cuda(0)).shape == (size,)
    assert allocations(api) == 1
    tvm.nd.empty((1100,), "int8", tvm.cuda(0))
    tvm.nd.empty((1000,), "int8", tvm.cuda(1))
    assert allocations(api) == 3


def test_memory_that_is_kept_is_given_back_when_there_is_no_more(api):
    half = api.available // 2
    tvm.nd.empty((half,), "int8", tvm.cuda(0))
    tvm.nd.empty((half // 2,), "int8", tvm.cuda(0))
    array = tvm.nd.empty((half + 1,), "int8", tvm.cuda(0))
    assert len(api.memory) == 1
    del array


def test_blocks_do_not_overlap_in_any_order(api):
    rng, arrays = random.Random(0), {}
    for number in range(300):
        if arrays and rng.random() < 0.45:
            del arrays[rng.choice(list(arrays))]
        else:
            size = rng.choice((0, 1, 511, 512, 513, 700, 5000, 70_000, 1_100_000))
            array = tvm.nd.empty((size,), "int8", tvm.cuda(rng.randrange(2)))
            arrays[number] = array.copyfrom(np.full(size, number % 100))
    for number, array in arrays.items():
        np.testing.assert_array_equal(array.numpy(), number % 100)
    places = sorted((array.data_ptr(), array.shape[0]) for array in arrays.values())
    assert all(a + size <= b for (a, size), (b, _) in itertools.pairwise(places))


@pytest.mark.skipif(tvm.cuda(0).exist, reason="there is a device")
def test_without_a_driver():
    assert tvm.cuda(0).device_name is None
    with pytest.raises(DeviceError, match=r"cuda\(0\) cannot be used: .* install NVIDIA's driver"):
        tvm.nd.empty((3,), "float32", tvm.cuda(0))


def test_a_driver_without_devices(monkeypatch):
    api = EmulatedCuda()
    api.devices = 0
    use_emulation(monkeypatch, api)
    with pytest.raises(DeviceError, match=r"finds no device: CUDA_ERROR_NO_DEVICE \(100\)"):
        tvm.cuda(0).sync()


# --- kernels ------------------------------------------------------------------------------------


def doubled(name="main", threads=32):
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A, B = T.match_buffer(a, (n,)), T.match_buffer(b, (n,))
        for block in T.thread_binding((n + threads - 1) // threads, thread="blockIdx.y"):
            for i in T.thread_binding(threads, thread="threadIdx.x"):
                if block * threads + i < n:
                    B[block * threads + i] = A[block * threads + i] * T.float32(2)

    return main.with_attr("global_symbol", name)


def test_sizes_are_known_when_it_runs(api):
    module = tvm.build(doubled(), target="cuda")
    for size in (0, 1, 32, 37):
        values = np.arange(size, dtype="float32")
        result = tvm.nd.array(np.zeros(size, "float32"), tvm.cuda(1))
        module(tvm.nd.array(values, tvm.cuda(1)), result)
        np.testing.assert_array_equal(result.numpy(), values * 2)


def test_kernels_are_compiled_once_for_each_device(api):
    module = tvm.build(doubled(), target="cuda")
    for device in (tvm.cuda(0), tvm.cuda(1), tvm.cuda(0)):
        array = tvm.nd.array(np.ones(4, "float32"), device)
        module(array, array)
        assert array.numpy().tolist() == [2] * 4
    assert [name for name, _ in api.calls].count("cuModuleLoadDataEx") == 2


def reversed_sums():
    """A module of two kernels with memory in between."""
    n = te.size_var("n", "int64")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((n,), lambda i: b[n - 1 - i] + 1.0, name="C")
    s = te.create_schedule(c.op)
    for tensor in (b, c):
        block, thread = s[tensor].split(tensor.op.axis[0], factor=16)
        s[tensor].bind(block, te.thread_axis("blockIdx.x"))
        s[tensor].bind(thread, te.thread_axis("threadIdx.x"))
    return tvm.build(s, [a, c], target="cuda")


def test_kernels_of_a_module_are_compiled_together(api):
    module = reversed_sums()
    array, result = (tvm.nd.array(np.ones(40, "float32"), tvm.cuda(0)) for _ in range(2))
    module(array, result)
    assert result.numpy().tolist() == [3] * 40
    calls = [name for name, _ in api.calls]
    assert calls.count("cuModuleLoadDataEx") == 1
    assert calls.count("cuModuleGetFunction") == 2


def test_memory_between_kernels_is_given_back(api):
    arrays = [tvm.nd.array(np.arange(300, dtype="float32"), tvm.cuda(1)) for _ in range(2)]
    before = tvm.cuda(1).memory_in_use
    reversed_sums()(*arrays)
    assert tvm.cuda(1).memory_in_use == before
    assert len(api.memory) == 3
    assert {device for _, device in api.memory.values()} == {1}
    np.testing.assert_array_equal(arrays[1].numpy(), np.arange(300)[::-1] + 2)


def test_a_library_brings_its_kernels(api, tmp_path):
    tvm.build(doubled("doubled"), target="cuda").export_library(tmp_path / "kernels.so")
    array = tvm.nd.array(np.ones(4, "float32"), tvm.cuda(0))
    tvm.runtime.load_module(tmp_path / "kernels.so")["doubled"](array, array)
    assert array.numpy().tolist() == [2] * 4


def test_it_is_timed_until_the_device_is_done(api):
    module = tvm.build(doubled(), target="cuda")
    array = tvm.nd.array(np.ones(4, "float32"), tvm.cuda(0))
    api.calls.clear()
    result = module.time_evaluator("main", tvm.cuda(0), number=1, repeat=2)(array, array)
    assert len(result.results) == 2
    names = [name for name, _ in api.calls if name.startswith(("cuEvent", "cuLaunch"))]
    runs = names.count("cuLaunchKernel")
    assert names.count("cuEventRecord") == names.count("cuEventDestroy_v2") >= 4
    assert runs >= 1 + 2 * max(1, SHORTEST_ON_DEVICE / (2 * result.max))
    assert names.index("cuEventRecord") == 2  # after one run, when an event was made


def test_a_run_that_fails_while_it_is_timed(api):
    module = tvm.build(doubled(), target="cuda")
    array = tvm.nd.array(np.ones(4, "float32"), tvm.cuda(0))
    api.launches_left = 2
    with pytest.raises(DeviceError, match="CUDA_ERROR_LAUNCH_FAILED"):
        module.time_evaluator("main", tvm.cuda(0), number=3)(array, array)
    names = [name for name, _ in api.calls]
    assert names.count("cuEventCreate") == names.count("cuEventDestroy_v2") == 2


@pytest.mark.parametrize("place", ["threads", "blocks"])
def test_a_launch_that_fails_says_which_limit_it_exceeds(api, place):
    api.attributes[1] = 16
    module = tvm.build(doubled(threads=32 if place == "threads" else 1), target="cuda")
    array = tvm.nd.array(np.ones(4 if place == "threads" else 70_000, "float32"), tvm.cuda(0))
    head = (
        r"main_kernel: cannot be started with .*: cuLaunchKernel fails: CUDA_ERROR_INVALID_VALUE "
    )
    reason = {
        "threads": "a block has 32 threads, and the device runs at most 16 of a block",
        "blocks": "there are 70000 blocks along y, and the device runs at most 65535 there",
    }
    with pytest.raises(DeviceError, match=rf"{head}\(1\): invalid argument; {reason[place]}"):
        module(array, array)


def test_memory_between_kernels_is_given_back_when_one_fails(api):
    arrays = [tvm.nd.array(np.arange(300, dtype="float32"), tvm.cuda(1)) for _ in range(2)]
    module, before = reversed_sums(), tvm.cuda(1).memory_in_use
    for launches in (0, 1):
        api.launches_left = launches
        with pytest.raises(DeviceError, match="CUDA_ERROR_LAUNCH_FAILED"):
            module(*arrays)
        assert tvm.cuda(1).memory_in_use == before
    api.available = 0
    tvm.cuda(1).empty_pool()
    with pytest.raises(AllocationError, match="no memory for 1200 bytes"):
        module(*arrays)


def test_a_fault_of_a_kernel_is_told_when_the_device_is_waited_for(api):
    api.fault = "unspecified launch failure"
    with pytest.raises(DeviceError, match=r"LAUNCH_FAILED \(719\): unspecified launch failure"):
        tvm.cuda(0).sync()


def test_arrays_of_the_host_are_refused(api):
    zeros = np.zeros((32, 32), "float32")
    with pytest.raises(
        ArgumentValueError,
        match=r"argument 1 \(A\): the array is on cpu\(0\), .* runs on cuda; copy it there",
    ):
        tvm.build(matmul(), target="cuda")(zeros, zeros, zeros)


def test_arrays_of_several_devices_are_refused(api):
    arrays = [tvm.nd.array(np.ones(4, "float32"), device) for device in (tvm.cuda(0), tvm.cuda(1))]
    with pytest.raises(
        ArgumentValueError,
        match=r"main: argument 2 \(B\): the array is on cuda\(1\), and the function runs where its "
        r"first array is, on cuda\(0\); copy one of them",
    ):
        tvm.build(doubled(), target="cuda")(*arrays)


def test_addresses_that_no_device_has(api):
    with pytest.raises(DeviceError, match="0x10 is no address of a CUDA device"):
        driver_of(2).write(16, np.ones(3))


def test_work_goes_to_the_stream_of_the_surrounding_code(api):
    module = tvm.build(doubled(), target="cuda")
    array = tvm.nd.array(np.ones(4, "float32"), tvm.cuda(0))
    api.calls.clear()
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 1234):
        module(array, array)
        array.numpy()
    module(array, array)
    streams = [arguments[8] for name, arguments in api.calls if name == "cuLaunchKernel"]
    assert streams == [1234, None]
    assert ("cuMemcpyDtoHAsync_v2", 1234) in [(name, a[-1]) for name, a in api.calls if a]


def test_streams_of_a_device(api):
    device = tvm.cuda(0)
    stream = device.create_raw_stream()
    device.set_raw_stream(stream)
    assert device.current_raw_stream() == stream
    module = tvm.build(doubled(), target="cuda")
    array = tvm.nd.array(np.ones(4, "float32"), device)
    module(array, array)
    device.sync(stream)
    device.sync_raw_streams(stream, 0)
    device.free_raw_stream(stream)
    assert device.current_raw_stream() == 0
    used = [(name, a[8]) for name, a in api.calls if name == "cuLaunchKernel"]
    assert used == [("cuLaunchKernel", stream)]
    calls = [(name, arguments[0]) for name, arguments in api.calls if arguments]
    assert ("cuStreamSynchronize", stream) in calls
    assert ("cuStreamWaitEvent", None) in calls  # the usual stream waits
    assert calls.index(("cuStreamDestroy_v2", stream)) > 0


class Exporter:
    """An array of another library on an emulated device."""

    def __init__(self, array):
        self.array, self.streams = array, []

    def __dlpack_device__(self):
        return 2, 1

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return self.array.to_dlpack()


def test_arrays_of_others_are_taken_when_their_work_is_done(api):
    source = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3), tvm.cuda(1))
    producer = Exporter(source)
    array = tvm.nd.from_dlpack(producer)
    assert array.device == tvm.cuda(1)
    assert array.data_ptr() == source.data_ptr()
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 1), 1234):
        tvm.nd.from_dlpack(producer)
    assert producer.streams == [1, 1234]
    address = source.data_ptr()
    del source, producer
    gc.collect()
    np.testing.assert_array_equal(array.numpy(), np.arange(6).reshape(2, 3))
    del array
    gc.collect()
    assert tvm.cuda(1).memory_in_use == 0
    assert tvm.nd.empty((6,), "float32", tvm.cuda(1)).data_ptr() == address


@pytest.mark.skipif(tvm.cuda(0).exist, reason="there is a device")
def test_an_array_of_others_without_a_driver():
    with pytest.raises(DeviceError, match=r"from_dlpack: device cuda\(1\) cannot be used"):
        tvm.nd.from_dlpack(Exporter(None))


def test_arrays_are_given_to_others_when_their_work_is_done(api):
    array = tvm.nd.array(np.zeros(3, "float32"), tvm.cuda(0))
    assert array.__dlpack_device__() == (2, 0)
    waits = []
    for ours in (0, 1234):
        for stream in (None, 1, -1, 1234, 5678):
            api.calls.clear()
            with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), ours):
                array.__dlpack__(stream=stream, max_version=(1, 0))
            waits.append([a[0] for name, a in api.calls if name == "cuStreamWaitEvent"])
    assert waits == [[], [], [], [1234], [5678], [1], [1], [], [], [5678]]


def test_memory_is_used_again_by_its_stream_only(api):
    device = tvm.cuda(0)
    stream = device.create_raw_stream()
    address = tvm.nd.empty((1000,), "int8", device).data_ptr()
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), stream):
        assert tvm.nd.empty((1000,), "int8", device).data_ptr() != address
    assert tvm.nd.empty((1000,), "int8", device).data_ptr() == address
