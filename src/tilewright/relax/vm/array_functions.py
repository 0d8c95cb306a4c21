"""Registered functions that pass arrays on, for programs that call them by name."""

from __future__ import annotations

from typing import Any

from tilewright.runtime.device import Device
from tilewright.runtime.ndarray import NDArray
from tilewright.runtime.registry import register_func


@register_func("vm.builtin.copy", override=True)
def copy(value: Any) -> Any:
    """The value itself: a second name for it."""
    return value


@register_func("vm.builtin.to_device", override=True)
def to_device(array: NDArray, device_type: int, device_id: int) -> NDArray:
    """The array on a device, given by DLPack's number of its type: itself if it is there.

    Raises:
        DeviceError: if the device does not exist.
    """
    target = Device(device_type, device_id)
    return array if array.device == target else array.copyto(target)
