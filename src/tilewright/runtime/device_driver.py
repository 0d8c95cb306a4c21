"""Memory, streams and events of the devices of one type.

The addresses of arrays on OpenCL devices are numbers that the launcher knows, and a place inside of
an array has a larger one, as everywhere.
"""

from __future__ import annotations

import ctypes
import enum
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm_ffi import core

from tilewright.error import DeviceError
from tilewright.ir.dtype import DType
from tilewright.runtime.device import has_driver
from tilewright.runtime.dlpack import (
    DLDataType,
    DLDevice,
    DLTensor,
    dtype_code,
    import_tensor,
    new_capsule,
)
from tilewright.runtime.launcher import launcher, raised_error


class Property(enum.IntEnum):
    """Numbers that describe a device, as in ``tilewright_device.h``."""

    MAX_THREADS = 1
    WARP_SIZE = 2
    SHARED_MEMORY = 3
    MULTIPROCESSORS = 4
    L2_CACHE = 5
    TOTAL_MEMORY = 6
    FREE_MEMORY = 7
    MEMORY_IN_USE = 8
    MEMORY_KEPT = 9
    CLOCK_RATE = 10
    REGISTERS = 11
    MAX_THREADS_X = 12
    MAX_THREADS_Y = 13
    MAX_THREADS_Z = 14
    CAPABILITY = 15


class DeviceDriver:
    """What runs arrays and kernels on the devices of one type.

    Its methods raise `DeviceError` if the driver of the system fails, or something that was started
    before did.
    """

    def __init__(self, device_type: int) -> None:
        self._type, self._launcher = device_type, launcher()

    def count(self) -> int:
        """Number of devices."""
        return self._launcher.device_count(self._type)

    def reason(self) -> str:
        """Why there are no devices; empty if there are some."""
        return self._launcher.devices_reason(self._type).decode()

    def property(self, device_id: int, which: Property) -> int:
        """A number that describes a device; 0 if it is not known."""
        value = ctypes.c_int64()
        self._launcher.call("device_require", self._type, device_id)
        self._launcher.device_property(self._type, device_id, which, ctypes.byref(value))
        return value.value

    def name(self, device_id: int) -> str:
        """The name of a device."""
        text = ctypes.create_string_buffer(256)
        self._launcher.call("device_name", self._type, device_id, text, len(text))
        return text.value.decode(errors="replace").strip()

    def empty_pool(self, device_id: int) -> None:
        """Give memory that arrays had, and that is kept for others, back to the system."""
        self._launcher.call("device_empty_pool", self._type, device_id)

    def device_of(self, address: int) -> int:
        """The number of the device whose memory an address is in."""
        return self._launcher.value(ctypes.c_int32, "device_of", self._type, address)

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy a contiguous array from the host, and wait until that is done."""
        self._launcher.call("device_write", self._type, address, source.ctypes.data, source.nbytes)

    def read(self, address: int, target: np.ndarray) -> None:
        """Copy to a contiguous array of the host, when all that was started before is done."""
        self._launcher.call("device_read", self._type, target.ctypes.data, address, target.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one place to another of devices of this type; does not wait."""
        self._launcher.call("device_copy", self._type, target, source, size)

    def synchronize(self, device_id: int, stream: int = 0) -> None:
        """Wait until a device, or one stream of it, has done all that was started."""
        self._launcher.call("device_synchronize", self._type, device_id, stream)

    # --- streams and events -------------------------------------------------------------------

    def stream(self, device_id: int) -> int:
        """The stream that work is given to now; 0 is the usual one of CUDA."""
        return self._launcher.value(ctypes.c_void_p, "device_stream", self._type, device_id) or 0

    def create_stream(self, device_id: int) -> int:
        """A new stream."""
        return self._launcher.value(ctypes.c_void_p, "device_create_stream", self._type, device_id)

    def destroy_stream(self, device_id: int, stream: int) -> None:
        """Give a stream back, when it has done all that was started."""
        self._launcher.call("device_destroy_stream", self._type, device_id, stream)

    def wait(self, device_id: int, stream: int, other: int) -> None:
        """Let later work of `stream` wait for what `other` was given so far."""
        self._launcher.call("device_wait", self._type, device_id, stream, other)

    def record(self, device_id: int) -> int:
        """An event that happens when the stream has done all that was started."""
        return self._launcher.value(ctypes.c_void_p, "device_record", self._type, device_id)

    def elapsed(self, device_id: int, start: int, stop: int) -> float:
        """Seconds between two events, which are waited for and gone then."""
        nanoseconds = self._launcher.value(
            ctypes.c_int64, "device_elapsed", self._type, device_id, start, stop
        )
        return nanoseconds / 1e9


@functools.cache
def driver_of(device_type: int) -> DeviceDriver:
    """The driver of the devices of a type.

    Raises:
        DeviceError: if this package drives no such devices.
    """
    if not has_driver(device_type):
        raise DeviceError("there is no driver for devices of this type")
    return DeviceDriver(device_type)


def empty_on_device(
    cls: type[core.Tensor],
    device: core.Device,
    dtype: DType,
    shape: Sequence[int],
    size: int,
) -> Any:
    """A new compact array in the memory of a device, which it gives back in the end.

    Args:
        cls: its class.
        device: where it is.
        dtype: type of one element.
        shape: extents.
        size: number of bytes.

    Raises:
        DeviceError: if there is no such device.
        AllocationError: if there is not so much memory.
    """
    code, bits, lanes = dtype_code(dtype)
    extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    place = DLDevice(device.dlpack_device_type(), device.index)
    prototype = DLTensor(None, place, len(shape), DLDataType(code, bits, lanes), extents, None, 0)
    managed = launcher().device_array(ctypes.byref(prototype), size)
    if not managed:
        raise raised_error()
    return import_tensor(new_capsule(managed, b"dltensor", None), cls)
