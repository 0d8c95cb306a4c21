"""What compiled graph functions ask of a device: arrays, copies, and memory for constants."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from tilewright.ir.dtype import DType
from tilewright.runtime.device import Device
from tilewright.runtime.device_driver import driver_of
from tilewright.runtime.ndarray import BorrowedArray, NDArray, empty
from tilewright.runtime.registry import register_func

CURRENT: Final = "tilewright.device.current"
EMPTY: Final = "tilewright.device.empty"
MOVE: Final = "tilewright.device.move"
READ: Final = "tilewright.device.read"
WRITE: Final = "tilewright.device.write"
KEPT: Final = "tilewright.device.kept"
KEEP: Final = "tilewright.device.keep"


class _Chosen(threading.local):
    """The device that functions without arrays run on, per thread."""

    number: int = 0


_chosen = _Chosen()


@contextlib.contextmanager
def running_on(number: int) -> Iterator[None]:
    """Inside, compiled functions that are given no arrays run on the device of that number."""
    before, _chosen.number = _chosen.number, number
    try:
        yield
    finally:
        _chosen.number = before


@register_func(CURRENT, override=True)
def current(device_type: int, beside: ctypes.c_void_p | None) -> int:
    """The number of the device with the memory `beside`; without, that of `running_on`."""
    address = None if beside is None else beside.value
    return driver_of(device_type).device_of(address) if address else _chosen.number


@register_func(EMPTY, override=True)
def empty_array(device_type: int, device_id: int, dtype: DType, *extents: int) -> NDArray:
    """A new array."""
    return empty(extents, dtype, Device(device_type, device_id))


@register_func(MOVE, override=True)
def move(device_type: int, device_id: int, value: Any) -> Any:
    """An array that owns its memory and is on a device; other values stay as they are.

    An array that is there already is not copied, unless it has gaps or borrows its memory.
    """
    if not isinstance(value, NDArray):
        return value
    place = Device(device_type, device_id)
    is_own = not isinstance(value, BorrowedArray)
    if is_own and value.device == place and value.is_contiguous():
        return value
    return empty(value.shape, value.dtype, place).copyfrom(value)


@register_func(READ, override=True)
def read(device_type: int, source: ctypes.c_void_p, target: ctypes.c_void_p, size: int) -> None:
    """Copy bytes from a device to the host."""
    if size:
        driver_of(device_type).read(source.value or 0, _bytes_at(target, size))


@register_func(WRITE, override=True)
def write(device_type: int, source: ctypes.c_void_p, target: ctypes.c_void_p, size: int) -> None:
    """Copy bytes from the host to a device."""
    if size:
        driver_of(device_type).write(target.value or 0, _bytes_at(source, size))


def _bytes_at(pointer: ctypes.c_void_p, size: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(pointer.value or 0))


# --- constants ----------------------------------------------------------------------------------

_LOCK: Final = threading.Lock()
_users: dict[str, int] = {}
"""Numbers of modules that need constants, by the digest of the constants."""
_kept: dict[tuple[int, int, str], NDArray] = {}
"""Constants on devices, by the device and the digest."""


def hold_constants(owner: object, digest: str) -> None:
    """Give up the copies of constants on devices when the last owner of them is gone."""
    if not digest:
        return
    with _LOCK:
        _users[digest] = _users.get(digest, 0) + 1
    weakref.finalize(owner, _let_go, digest).atexit = False


def _let_go(digest: str) -> None:
    with _LOCK:
        _users[digest] -= 1
        if _users[digest]:
            return
        del _users[digest]
        for key in [key for key in _kept if key[-1] == digest]:
            del _kept[key]


@register_func(KEPT, override=True)
def kept(device_type: int, device_id: int, digest: str) -> ctypes.c_void_p | None:
    """The address of constants on a device; None if they are not there yet."""
    found = _kept.get((device_type, device_id, digest))
    return None if found is None else ctypes.c_void_p(found.data_ptr())


@register_func(KEEP, override=True)
def keep(
    device_type: int, device_id: int, digest: str, size: int, *constants: Any
) -> ctypes.c_void_p:
    """The address of constants on a device, to which they are copied unless they are there.

    Args:
        device_type: DLPack's number of the type of the device.
        device_id: its number.
        digest: of the constants.
        size: bytes of all of them.
        *constants: for each the address, the offset among the others, and the size in bytes.
    """
    key = device_type, device_id, digest
    with _LOCK:
        if key not in _kept:
            block = empty((size,), "uint8", Device(device_type, device_id))
            for source, offset, length in zip(*[iter(constants)] * 3, strict=True):
                target = ctypes.c_void_p(block.data_ptr() + offset)
                write(device_type, source, target, length)
            _kept[key] = block
        return ctypes.c_void_p(_kept[key].data_ptr())
