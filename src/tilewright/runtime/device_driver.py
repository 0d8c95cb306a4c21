"""Memory and kernels of devices other than the host, behind one interface.

A driver is loaded when its device is first used. Its addresses are numbers that tvm-ffi and
compiled code take for pointers: an address inside of an allocation stands for a place in it.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib
import itertools
from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
from tvm_ffi import core

from tilewright.error import DeviceError
from tilewright.ir.dtype import DType
from tilewright.runtime.dlpack import (
    DLDataType,
    DLDevice,
    DLTensor,
    dtype_code,
    import_tensor,
    new_capsule,
)


class Kernels(Protocol):
    """The compiled kernels of one source."""

    def launch(self, name: str, arguments: Sequence[Any], blocks: Shape, threads: Shape) -> None:
        """Start a kernel.

        Args:
            name: of the kernel.
            arguments: addresses and numbers, in their numpy types.
            blocks: number of blocks along x, y and z.
            threads: number of threads of a block along x, y and z.
        """
        ...


Shape = tuple[int, int, int]


class DeviceDriver(Protocol):
    """What runs arrays and kernels on the devices of one type."""

    def count(self) -> int:
        """Number of devices."""
        ...

    def memory_size(self, device_id: int) -> int:
        """Bytes of memory of a device."""
        ...

    def device_of(self, address: int) -> int:
        """The number of the device whose memory an address is in.

        Raises:
            DeviceError: if it is no address of these devices.
        """
        ...

    def allocate(self, device_id: int, size: int) -> int:
        """The address of `size` new bytes, of which there is at least one."""
        ...

    def release(self, address: int) -> None:
        """Give an allocation back."""
        ...

    def write(self, address: int, source: np.ndarray) -> None:
        """Copy a contiguous array from the host, and wait until that is done."""
        ...

    def read(self, address: int, target: np.ndarray) -> None:
        """Copy to a contiguous array of the host, when all that was started before is done."""
        ...

    def synchronize(self, device_id: int) -> None:
        """Wait until a device has done all that was started."""
        ...

    def compile(self, source: str) -> Kernels:
        """Compile kernels.

        Raises:
            DeviceError: if they cannot be compiled.
        """
        ...


_DRIVERS: Final = {2: "tilewright.runtime.cuda_driver", 4: "tilewright.runtime.opencl"}
"""Modules with a class `Driver`, by the device types of DLPack."""


@functools.cache
def driver_of(device_type: int) -> DeviceDriver:
    """The driver of the devices of a type.

    Raises:
        DeviceError: if this package drives no such devices, or lacks what it needs for that.
    """
    module = _DRIVERS.get(device_type)
    if module is None:
        raise DeviceError("there is no driver for devices of this type; use cpu(0)")
    return importlib.import_module(module).Driver()


def has_driver(device_type: int) -> bool:
    """Whether this package can drive devices of a type where there are some."""
    return device_type in _DRIVERS


# --- arrays -------------------------------------------------------------------------------------


class _Managed(ctypes.Structure):
    """``DLManagedTensor`` of dlpack.h."""


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (
    ("dl_tensor", DLTensor),
    ("manager_ctx", ctypes.c_void_p),
    ("deleter", _Deleter),
)

_alive: dict[int, tuple[Any, ...]] = {}
"""Structures that tensors refer to, by the numbers that these keep as their context."""

_numbers = itertools.count(1)


@_Deleter
def _delete(managed: Any) -> None:
    found = _alive.pop(managed.contents.manager_ctx, None)
    if found is not None:
        driver, address = found[:2]
        driver.release(address)


@atexit.register
def _outlive_the_interpreter() -> None:
    """Let arrays that go when the interpreter is gone run no Python; their memory goes anyway."""
    for _, _, managed, *_ in _alive.values():
        managed.deleter = _Deleter()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_alive))


def empty_on_device(
    cls: type[core.Tensor],
    device: core.Device,
    dtype: DType,
    shape: Sequence[int],
    strides: Sequence[int],
    size: int,
) -> Any:
    """A new array in the memory of a device, which it gives back in the end.

    Args:
        cls: its class.
        device: where it is.
        dtype: type of one element.
        shape: extents.
        strides: elements between neighbours per dimension.
        size: number of bytes.

    Raises:
        DeviceError: if there is no such device.
        AllocationError: if there is not so much memory.
    """
    kind, number = device.dlpack_device_type(), device.index
    driver = driver_of(kind)
    if not 0 <= number < driver.count():
        raise DeviceError(f"there are {driver.count()} devices of this type, so none is {number}")
    address = driver.allocate(number, max(size, 1))
    code, bits, lanes = dtype_code(dtype)
    sizes = ctypes.c_int64 * max(len(shape), 1)
    extents, steps = sizes(*shape), sizes(*strides)
    tensor = DLTensor(
        address,
        DLDevice(kind, number),
        len(shape),
        DLDataType(code, bits, lanes),
        extents,
        steps,
        0,
    )
    key = next(_numbers)
    managed = _Managed(tensor, key, _delete)
    _alive[key] = (driver, address, managed, extents, steps)
    return import_tensor(new_capsule(ctypes.addressof(managed), b"dltensor", None), cls)
