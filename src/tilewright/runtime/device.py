"""Devices: where arrays live and functions run."""

from __future__ import annotations

import ctypes
import functools
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
        if self.device_type == DEVICE_TYPES["cuda"]:
            return self.device_id < cuda_device_count()
        if self.device_type == DEVICE_TYPES["opencl"]:
            return self.device_id < _opencl_device_count()
        return False

    @property
    def total_global_memory(self) -> int | None:
        """Bytes of memory of the device; None for one that is not here, or does not tell."""
        if self.device_type == CPU:
            return self._memory("SC_PHYS_PAGES")
        try:
            return driver_of(self, "total_global_memory").memory_size(self.device_id)
        except DeviceError:
            return None

    @property
    def available_global_memory(self) -> int | None:
        """Bytes of memory of the device that are free; None where they are not known."""
        return self._memory("SC_AVPHYS_PAGES")

    def _memory(self, pages: str) -> int | None:
        if self.device_type != CPU or not self.exist:
            return None
        try:
            return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):  # not on this system
            return None

    def sync(self, stream: object = None) -> None:
        """Wait until all work that was given to the device is done; the CPU has none pending.

        Raises:
            DeviceError: if the device does not exist.
        """
        del stream
        if self.device_type != CPU:
            driver_of(self, "sync").synchronize(self.device_id)

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


def driver_of(dev: core.Device, purpose: str) -> DeviceDriver:
    """The driver of a device that is not the CPU.

    Raises:
        DeviceError: if this package drives no such devices, or there is none.
    """
    from tilewright.runtime import device_driver

    kind = dev.dlpack_device_type()
    if not device_driver.has_driver(kind):
        require_host(dev, purpose)
    try:
        driver = device_driver.driver_of(kind)
    except DeviceError as error:
        raise DeviceError(
            f"{purpose}: device {as_device(dev)!r} cannot be used: {error}; use cpu(0)"
        ) from None
    if dev.index >= driver.count():
        raise DeviceError(
            f"{purpose}: there is no device {as_device(dev)!r}: this machine has {driver.count()} "
            "of that type"
        )
    return driver


@functools.cache
def _opencl_device_count() -> int:
    """Number of OpenCL devices; 0 without a driver or pyopencl."""
    from tilewright.runtime import device_driver

    try:
        return device_driver.driver_of(DEVICE_TYPES["opencl"]).count()
    except DeviceError:
        return 0


@functools.cache
def cuda_device_count() -> int:
    """Number of CUDA devices that the driver reports; 0 without a driver."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_int(0)
        if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
            return count.value
    return 0


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
