"""CUDA devices, by the driver API of cuda-bindings.

Arrays and kernels use the primary context of a device, which they share with other libraries, and
the stream that tvm-ffi has for it: the default one, unless `tvm_ffi.use_raw_stream` or
`tvm_ffi.use_torch_stream` set another.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import tvm_ffi

from tilewright.error import AllocationError, DeviceError
from tilewright.runtime.device import cuda_device_count
from tilewright.runtime.device_driver import Shape
from tilewright.target.codegen.device.nvrtc import compile_for_device

OUT_OF_MEMORY: Final = "CUDA_ERROR_OUT_OF_MEMORY"


class Driver:
    """See `DeviceDriver`.

    Raises:
        DeviceError: if there is no device, no driver, or no cuda-bindings.
    """

    def __init__(self) -> None:
        self._api = _load()
        self.call("cuInit", 0)
        self._count = int(self.call("cuDeviceGetCount"))
        self._contexts: dict[int, Any] = {}

    def count(self) -> int:
        return self._count

    def memory_size(self, device_id: int) -> int:
        return int(self.call("cuDeviceTotalMem", self.call("cuDeviceGet", device_id)))

    def device_of(self, address: int) -> int:
        kind = self._api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        try:
            return int(self.call("cuPointerGetAttribute", kind, address))
        except DeviceError:
            raise DeviceError(f"0x{address:x} is no address of a CUDA device") from None

    def allocate(self, device_id: int, size: int) -> int:
        self.use(device_id)
        try:
            return int(self.call("cuMemAlloc", size))
        except _OutOfMemoryError as error:
            raise AllocationError(f"no memory for {size} bytes on cuda({device_id})") from error

    def release(self, address: int) -> None:
        self.use(self.device_of(address))
        self.call("cuMemFree", address)

    def write(self, address: int, source: np.ndarray) -> None:
        if source.nbytes:
            stream = self.stream_of(address)
            self.call("cuMemcpyHtoDAsync", address, source.ctypes.data, source.nbytes, stream)
            self.call("cuStreamSynchronize", stream)

    def read(self, address: int, target: np.ndarray) -> None:
        if target.nbytes:
            stream = self.stream_of(address)
            self.call("cuMemcpyDtoHAsync", target.ctypes.data, address, target.nbytes, stream)
            self.call("cuStreamSynchronize", stream)

    def synchronize(self, device_id: int) -> None:
        self.use(device_id)
        self.call("cuCtxSynchronize")

    def compile(self, source: str) -> Kernels:
        return Kernels(self, source)

    # --- for kernels --------------------------------------------------------------------------

    def call(self, name: str, *arguments: Any) -> Any:
        """The result of a function of the driver API, if it has one.

        Raises:
            DeviceError: if it fails, or something that was started before did.
        """
        function: Callable[..., tuple[Any, ...]] = getattr(self._api, name)
        status, *results = function(*arguments)
        if status.value:
            _, text = self._api.cuGetErrorString(status)
            error = _OutOfMemoryError if status.name == OUT_OF_MEMORY else DeviceError
            raise error(f"{name} fails: {status.name}: {(text or b'').decode()}")
        return results[0] if results else None

    def use(self, device_id: int) -> None:
        """Make a device that of the calls of this thread."""
        if device_id not in self._contexts:
            device = self.call("cuDeviceGet", device_id)
            self._contexts[device_id] = self.call("cuDevicePrimaryCtxRetain", device)
        self.call("cuCtxSetCurrent", self._contexts[device_id])

    def stream_of(self, address: int) -> int:
        """The stream for work with memory, whose device the calls of this thread use then."""
        device_id = self.device_of(address)
        self.use(device_id)
        return self.stream(device_id)

    def stream(self, device_id: int) -> int:
        """The stream that work of a device is given to."""
        return tvm_ffi.get_raw_stream(tvm_ffi.device("cuda", device_id))

    def capability(self, device_id: int) -> tuple[int, int]:
        """The compute capability of a device."""
        device, names = self.call("cuDeviceGet", device_id), self._api.CUdevice_attribute
        major = names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        minor = names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
        return tuple(int(self.call("cuDeviceGetAttribute", n, device)) for n in (major, minor))  # type: ignore[return-value]


class Kernels:
    """See `device_driver.Kernels`."""

    def __init__(self, driver: Driver, source: str) -> None:
        self._driver, self._source = driver, source
        self._modules: dict[int, Any] = {}
        self._functions: dict[tuple[int, str], Any] = {}

    def launch(self, name: str, arguments: Sequence[Any], blocks: Shape, threads: Shape) -> None:
        addresses = [argument for argument in arguments if isinstance(argument, int) and argument]
        devices = {self._driver.device_of(address) for address in addresses} or {0}
        if len(devices) > 1:
            raise DeviceError(f"{name}: its arrays are on several devices: {sorted(devices)}")
        if not all(blocks):
            return
        (device_id,) = devices
        self._driver.use(device_id)
        function = self._function(device_id, name)
        # An array for each argument, and one of their addresses.
        values = [np.array(a, np.uint64 if isinstance(a, int) else None) for a in arguments]
        places = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        stream = self._driver.stream(device_id)
        try:
            self._driver.call(
                "cuLaunchKernel", function, *blocks, *threads, 0, stream,
                ctypes.addressof(places), 0,
            )  # fmt: skip
        except DeviceError as error:
            raise DeviceError(
                f"{name}: cannot be started with {blocks} blocks of {threads} threads: {error}"
            ) from None

    def _function(self, device_id: int, name: str) -> Any:
        found = self._functions.get((device_id, name))
        if found is None:
            if device_id not in self._modules:
                code = compile_for_device(self._source, *self._driver.capability(device_id))
                self._modules[device_id] = self._driver.call("cuModuleLoadData", code)
            module = self._modules[device_id]
            found = self._driver.call("cuModuleGetFunction", module, name.encode())
            self._functions[device_id, name] = found
        return found


class _OutOfMemoryError(DeviceError):
    """There is not so much memory."""


def _load() -> Any:
    """The driver API.

    Raises:
        DeviceError: if there is no device, no driver, or no cuda-bindings.
    """
    if cuda_device_count() == 0:
        raise DeviceError("this machine has no such device, or no driver for it")
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError:
        raise DeviceError(
            "CUDA devices need the package cuda-bindings: install tilewright[cuda]"
        ) from None
