"""Devices: where arrays live and functions run."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Final

from tvm_ffi import core

from tilewright.error import ArgumentError, ArgumentValueError, DeviceError

if TYPE_CHECKING:
    from tilewright.runtime.device_driver import DeviceDriver

CPU: Final = 1
"""The device type of host memory, as in DLPack; the others are in `DEVICE_TYPES`."""

DEVICE_TYPES: Final = {
    "cpu": CPU,
    "llvm": CPU,
    "c": CPU,
    "cuda": 2,
    "nvptx": 2,
    "opencl": 4,
    "cl": 4,
    "vulkan": 7,
    "metal": 8,
    "vpi": 9,
    "rocm": 10,
    "ext_dev": 12,
    "webgpu": 15,
    "hexagon": 16,
}
"""DLPack's device type by the name of the device, or of the target kind that runs on it."""

_NAMES: Final = {
    1: "cpu", 2: "cuda", 3: "cuda_host", 4: "opencl", 7: "vulkan", 8: "metal", 9: "vpi",
    10: "rocm", 11: "rocm_host", 12: "ext_dev", 13: "cuda_managed", 14: "oneapi", 15: "webgpu",
    16: "hexagon", 17: "maia", 18: "trn",
}  # fmt: skip

ADVICE: Final = {
    2: "use cpu(0)",
    4: "`pip install tilewright[opencl]` brings a driver for CPUs; or use cpu(0)",
}
"""What else can be done without a driver, by DLPack's number of the type of devices."""


class Device(core.Device):
    """A device: a type and a number, such as ``cuda(1)``.

    Two devices with the same type and number are equal. Making one does not touch the hardware;
    `exist` does.
    """

    __slots__ = ()

    @property
    def device_type(self) -> int:
        """The device type as in DLPack: 1 for the CPU, 2 for CUDA, ..."""
        return self.dlpack_device_type()

    @property
    def device_id(self) -> int:
        """The number of the device among those of its type."""
        return self.index

    @property
    def exist(self) -> bool:
        """Whether this machine has the device and this process can use it."""
        if self.device_type == CPU:
            return self.device_id == 0
        driver = self._driver()
        return driver is not None and self.device_id < driver.count()

    @property
    def device_name(self) -> str | None:
        """The name given by the manufacturer."""
        driver = self._driver()
        return None if driver is None or not self.exist else driver.name(self.device_id)

    @property
    def compute_version(self) -> str | None:
        """The compute capability of a CUDA device, such as ``"9.0"``; OpenCL's version."""
        number = self._property("CAPABILITY")
        return None if number is None else f"{number // 10}.{number % 10}"

    @property
    def max_threads_per_block(self) -> int | None:
        """Maximum number of threads of a block."""
        return self._property("MAX_THREADS")

    @property
    def max_thread_dimensions(self) -> tuple[int, ...] | None:
        """Maximum number of threads of a block along x, y and z."""
        found = [self._property(f"MAX_THREADS_{axis}") for axis in "XYZ"]
        return None if None in found else tuple(found)  # type: ignore[arg-type]

    @property
    def warp_size(self) -> int | None:
        """Number of threads that run in lockstep; 1 if unknown."""
        return self._property("WARP_SIZE")

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """Maximum number of bytes of shared memory of a block."""
        return self._property("SHARED_MEMORY")

    @property
    def multi_processor_count(self) -> int | None:
        """Number of multiprocessors, each of which runs blocks of threads."""
        return self._property("MULTIPROCESSORS")

    @property
    def max_clock_rate(self) -> int | None:
        """The highest frequency, in kHz."""
        return self._property("CLOCK_RATE")

    @property
    def l2_cache_size_bytes(self) -> int | None:
        """Bytes of the cache that the whole device shares."""
        return self._property("L2_CACHE")

    @property
    def total_global_memory(self) -> int | None:
        """Bytes of memory of the device."""
        if self.device_type == CPU:
            return self._memory("SC_PHYS_PAGES")
        return self._property("TOTAL_MEMORY")

    @property
    def available_global_memory(self) -> int | None:
        """Bytes of memory that are free; on an OpenCL device, those that this process has not
        allocated."""
        if self.device_type == CPU:
            return self._memory("SC_AVPHYS_PAGES")
        return self._property("FREE_MEMORY")

    @property
    def memory_in_use(self) -> int | None:
        """Bytes of device memory that arrays and kernels of this process use."""
        return self._property("MEMORY_IN_USE")

    def empty_pool(self) -> None:
        """Return the memory that is kept for later arrays to the system."""
        if self.device_type != CPU:
            driver_of(self, "empty_pool").empty_pool(self.device_id)

    def _driver(self) -> DeviceDriver | None:
        from tilewright.runtime import device_driver

        if self.device_type == CPU or not has_driver(self.device_type):
            return None
        return device_driver.driver_of(self.device_type)

    def _property(self, name: str) -> int | None:
        """A number that describes the device; None for one that is not here, or the CPU."""
        driver = self._driver()
        if driver is None or not self.exist:
            return None
        from tilewright.runtime.device_driver import Property

        return driver.property(self.device_id, Property[name])

    def _memory(self, pages: str) -> int | None:
        if not self.exist:
            return None
        try:
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):  # not on this system
            return None

    # --- streams ------------------------------------------------------------------------------

    def sync(self, stream: int | None = None) -> None:
        """Wait until all work submitted to the device is done; the CPU never has any pending.

        Args:
            stream: one that `create_raw_stream` made, to wait for its work alone.

        Raises:
            DeviceError: if the device does not exist, or if submitted work failed.
        """
        if self.device_type != CPU:
            driver_of(self, "sync").synchronize(self.device_id, stream or 0)

    def create_raw_stream(self) -> int:
        """A new stream, the address of a ``CUstream`` or ``cl_command_queue``.

        Work of different streams is done in any order. `set_raw_stream`, or the context
        ``tvm_ffi.use_raw_stream(device, stream)``, submits work to it.

        Raises:
            DeviceError: if the device does not exist, or has no streams.
        """
        return self._streams("create_raw_stream").create_stream(self.device_id)

    def free_raw_stream(self, stream: int) -> None:
        """Destroy a stream of `create_raw_stream` once its work is done."""
        if self.current_raw_stream() == stream:
            self.set_raw_stream(0)
        self._streams("free_raw_stream").destroy_stream(self.device_id, stream)

    def set_raw_stream(self, stream: int) -> None:
        """Submit the work of this thread for the device to a stream; 0 is the default one."""
        self._streams("set_raw_stream")
        core._env_set_current_stream(self.device_type, self.device_id, stream)

    def current_raw_stream(self) -> int:
        """The stream to which this thread submits its work."""
        return self._streams("current_raw_stream").stream(self.device_id)

    def sync_raw_streams(self, stream: int, other: int) -> None:
        """Let later work of the stream `other` wait for all work submitted to `stream` so far."""
        self._streams("sync_raw_streams").wait(self.device_id, other, stream)

    def _streams(self, purpose: str) -> DeviceDriver:
        if self.device_type == CPU:
            raise DeviceError(f"{purpose}: {self!r} has no streams")
        return driver_of(self, purpose)

    def __repr__(self) -> str:
        return f"{_NAMES.get(self.device_type, self.device_type)}({self.device_id})"

    __str__ = __repr__


def as_device(value: object) -> Device:
    """`value`, a device of any tvm-ffi package or a name, as a `Device`."""
    if isinstance(value, Device):
        return value
    if isinstance(value, core.Device):
        return Device(value.dlpack_device_type(), value.index)
    if isinstance(value, str):
        return device(value)
    raise ArgumentError(f"expected a device such as cpu(0) or 'cuda:1', got {value!r}")


def device(dev_type: str | int, dev_id: int | None = None) -> Device:
    """The device of a type and a number.

    Args:
        dev_type: a name such as ``"cpu"``, ``"cuda:1"`` or ``"llvm"`` (the name of a target kind
            gives the device that it compiles for), or DLPack's number.
        dev_id: which of the devices of that type, 0 by default.

    Raises:
        ArgumentValueError: for an unknown type or a negative number.
        ArgumentError: for arguments of other types.
    """
    if isinstance(dev_type, str):
        name, _, number = dev_type.split(" ")[0].partition(":")
        if name not in DEVICE_TYPES:
            known = ", ".join(sorted(DEVICE_TYPES))
            raise ArgumentValueError(f"unknown device {dev_type!r}; one of {known}")
        if number and not number.isdecimal():
            raise ArgumentValueError(f"device {dev_type!r}: {number!r} is not a device number")
        if number and dev_id is not None:
            raise ArgumentValueError(
                f"device {dev_type!r} has a number already, got {dev_id!r} too"
            )
        dev_type, dev_id = DEVICE_TYPES[name], int(number) if number else dev_id
    elif not isinstance(dev_type, int) or isinstance(dev_type, bool):
        raise ArgumentError(f"expected the name of a device type, got {dev_type!r}")
    elif dev_type not in _NAMES:
        raise ArgumentValueError(f"unknown device type {dev_type}; one of {sorted(_NAMES)}")
    dev_id = 0 if dev_id is None else dev_id
    if not isinstance(dev_id, int) or isinstance(dev_id, bool):
        raise ArgumentError(f"the number of a device is an integer, got {dev_id!r}")
    if not 0 <= dev_id < 2**31:
        raise ArgumentValueError(f"the number of a device is at least 0, got {dev_id}")
    return Device(dev_type, dev_id)


def require_host(dev: core.Device, purpose: str) -> None:
    """Raise `DeviceError` unless `dev` is the CPU, the device whose memory is within reach."""
    if dev.dlpack_device_type() != CPU:
        found = as_device(dev)
        reason = (
            "the runtime of this build drives the CPU only"
            if found.exist
            else "this machine has no such device"
        )
        raise DeviceError(f"{purpose}: device {found!r} cannot be used: {reason}; use cpu(0)")


def has_driver(device_type: int) -> bool:
    """Whether this package can drive devices of a type where there are some."""
    return device_type in ADVICE


def driver_of(dev: core.Device, purpose: str) -> DeviceDriver:
    """The driver of a device that is not the CPU.

    Raises:
        DeviceError: if this package drives no such devices, or there is none.
    """
    from tilewright.runtime import device_driver

    kind = dev.dlpack_device_type()
    if not has_driver(kind):
        require_host(dev, purpose)
    driver = device_driver.driver_of(kind)
    if not driver.count():
        raise DeviceError(
            f"{purpose}: device {as_device(dev)!r} cannot be used: {driver.reason()}; "
            f"{ADVICE[kind]}"
        )
    if dev.index >= driver.count():
        raise DeviceError(
            f"{purpose}: there is no device {as_device(dev)!r}: this machine has {driver.count()} "
            "of that type"
        )
    return driver


def cpu(dev_id: int = 0) -> Device:
    """The CPU."""
    return device("cpu", dev_id)


def cuda(dev_id: int = 0) -> Device:
    """An NVIDIA GPU."""
    return device("cuda", dev_id)


def gpu(dev_id: int = 0) -> Device:
    """The old name of `cuda`."""
    warnings.warn("tilewright.gpu is an old name: use tilewright.cuda", FutureWarning, stacklevel=2)
    return device("cuda", dev_id)


def rocm(dev_id: int = 0) -> Device:
    """An AMD GPU."""
    return device("rocm", dev_id)


def opencl(dev_id: int = 0) -> Device:
    """An OpenCL device."""
    return device("opencl", dev_id)


cl = opencl


def metal(dev_id: int = 0) -> Device:
    """An Apple GPU."""
    return device("metal", dev_id)


def vulkan(dev_id: int = 0) -> Device:
    """A Vulkan device."""
    return device("vulkan", dev_id)


def vpi(dev_id: int = 0) -> Device:
    """A simulated accelerator behind the VPI interface."""
    return device("vpi", dev_id)


def ext_dev(dev_id: int = 0) -> Device:
    """An accelerator that an extension drives."""
    return device("ext_dev", dev_id)


def hexagon(dev_id: int = 0) -> Device:
    """A Hexagon DSP."""
    return device("hexagon", dev_id)


def webgpu(dev_id: int = 0) -> Device:
    """A WebGPU device."""
    return device("webgpu", dev_id)
