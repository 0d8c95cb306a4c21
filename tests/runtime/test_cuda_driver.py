"""The driver of CUDA devices, with an emulation in place of the driver API."""

import gc
import sys

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, Status, use_emulation
from tests.target.codegen.device.programs import PROGRAMS, matmul

import tilewright as tvm
from tilewright.error import AllocationError, ArgumentValueError, DeviceError
from tilewright.runtime import cuda_driver
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
    assert not api.memory


def test_a_device_that_is_not_there(api):
    with pytest.raises(DeviceError, match=r"there is no device cuda\(7\): this machine has 2"):
        tvm.nd.empty((3,), "float32", tvm.cuda(7))


def test_sizes_of_memory(api):
    assert tvm.cuda(1).total_global_memory == EmulatedCuda.MEMORY
    assert tvm.cuda(7).total_global_memory is None


def test_too_much_memory(api):
    with pytest.raises(AllocationError, match=r"no memory for 4294967296 bytes on cuda\(0\)"):
        tvm.nd.empty((1 << 30,), "float32", tvm.cuda(0))


def test_without_a_device(monkeypatch):
    monkeypatch.setattr(cuda_driver, "cuda_device_count", lambda: 0)
    with pytest.raises(DeviceError, match="no such device, or no driver for it"):
        cuda_driver.Driver()


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(cuda_driver, "cuda_device_count", lambda: 1)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(DeviceError, match=r"cuda-bindings: install tilewright\[cuda\]"):
        cuda_driver.Driver()


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
    assert [name for name, _ in api.calls].count("cuModuleLoadData") == 2


def test_memory_between_kernels_is_given_back(api):
    program = PROGRAMS["softmax"]()
    module = tvm.build(program.func, target="cuda")
    arrays = [tvm.nd.array(np.ones((6, 33), "float32"), tvm.cuda(1)) for _ in range(2)]
    before = len(api.memory)
    module(*arrays)
    assert len(api.memory) == before
    assert {device for _, device in api.memory.values()} == {1}
    np.testing.assert_allclose(arrays[1].numpy(), np.full((6, 33), 1 / 33), rtol=1e-5)


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
    assert "cuCtxSynchronize" in [name for name, _ in api.calls]


def test_a_launch_that_fails_says_what_was_started(api):
    module = tvm.build(doubled(threads=2048), target="cuda")
    array = tvm.nd.array(np.ones(4, "float32"), tvm.cuda(0))
    with pytest.raises(
        DeviceError,
        match=r"main_kernel: cannot be started with \(1, 1, 1\) blocks of \(2048, 1, 1\) threads: "
        r"cuLaunchKernel fails: CUDA_ERROR_INVALID_VALUE: invalid argument",
    ):
        module(array, array)


def test_a_fault_of_a_kernel_is_told_when_the_device_is_waited_for(api, monkeypatch):
    fault = api.fail(Status.CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")
    monkeypatch.setattr(api, "cuCtxSynchronize", lambda: fault, raising=False)
    with pytest.raises(DeviceError, match="CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure"):
        tvm.cuda(0).sync()


def test_arrays_of_the_host_are_refused(api):
    zeros = np.zeros((32, 32), "float32")
    with pytest.raises(ArgumentValueError, match=r"argument 1 \(A\): the array is on a device"):
        tvm.build(matmul(), target="cuda")(zeros, zeros, zeros)


def test_arrays_of_several_devices_are_refused(api):
    arrays = [tvm.nd.array(np.ones(4, "float32"), device) for device in (tvm.cuda(0), tvm.cuda(1))]
    with pytest.raises(
        DeviceError, match=r"main_kernel: its arrays are on several devices: \[0, 1"
    ):
        tvm.build(doubled(), target="cuda")(*arrays)


def test_addresses_that_no_device_has(api):
    with pytest.raises(DeviceError, match="0x10 is no address of a CUDA device"):
        cuda_driver.Driver().write(16, np.ones(3))


def test_work_goes_to_the_stream_of_the_surrounding_code(api, monkeypatch):
    import tvm_ffi

    driver = cuda_driver.Driver()
    address = driver.allocate(0, 16)
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 1234):
        driver.write(address, np.ones(4, "float32"))
    driver.write(address, np.ones(4, "float32"))
    driver.release(address)
    streams = [arguments[-1] for name, arguments in api.calls if name == "cuMemcpyHtoDAsync"]
    assert streams == [1234, 0]


# --- the driver API -----------------------------------------------------------------------------


@pytest.mark.skipif(tvm.cuda(0).exist, reason="the functions would do what they are called for")
def test_the_functions_of_cuda_bindings_take_these_arguments(api):
    """Without a driver they fail after they have looked at their arguments."""
    bindings = pytest.importorskip("cuda.bindings.driver")
    array = tvm.nd.array(np.ones((6, 33), "float32"), tvm.cuda(0))
    tvm.build(PROGRAMS["softmax"]().func, target="cuda")(array, array)
    with pytest.raises(AllocationError):
        tvm.nd.empty((1 << 30,), "float32", tvm.cuda(0))
    assert tvm.cuda(0).total_global_memory
    tvm.cuda(0).sync()
    del array
    gc.collect()
    names = {name for name, _ in api.calls}
    assert {"cuLaunchKernel", "cuMemFree", "cuMemcpyHtoDAsync", "cuDeviceTotalMem"} <= names
    for name, arguments in api.calls:
        values = (argument_of(bindings, argument) for argument in arguments)
        with pytest.raises(RuntimeError, match="driver library"):
            getattr(bindings, name)(*values)


def argument_of(bindings, argument):
    """An argument with the bindings' own constants in place of those of the emulation."""
    kinds = {"Status": "CUresult", "PointerAttribute": "CUpointer_attribute",
             "DeviceAttribute": "CUdevice_attribute"}  # fmt: skip
    kind = kinds.get(type(argument).__name__)
    return argument if kind is None else getattr(getattr(bindings, kind), argument.name)
