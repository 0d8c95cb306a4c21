"""Kernels of compiled modules as registered functions, which the code of the host calls."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.runtime.device import DEVICE_TYPES
from tilewright.runtime.device_driver import Shape, driver_of
from tilewright.runtime.registry import register_func
from tilewright.target.codegen.c.types import HALVES
from tilewright.target.codegen.device.compile import DeviceCode, Kernel


def register_kernels(code: DeviceCode) -> None:
    """Register the functions that start kernels, and those that take and give back memory."""
    compiled = _Compiled(code)
    for kernel in code.kernels:
        register_func(kernel.symbol, functools.partial(compiled.start, kernel), override=True)
    device_type = DEVICE_TYPES[code.kind]
    for name, function in (("allocate", _allocate), ("release", _release)):
        registered = functools.partial(function, device_type)
        register_func(f"tilewright.{code.kind}.{name}", registered, override=True)


class _Compiled:
    """Kernels that are compiled when one is started first."""

    def __init__(self, code: DeviceCode) -> None:
        self._code = code

    @functools.cached_property
    def _kernels(self) -> Any:
        return driver_of(DEVICE_TYPES[self._code.kind]).compile(self._code.source)

    def start(self, kernel: Kernel, *arguments: Any) -> None:
        """Start a kernel with its arguments, which the extents of its axes follow."""
        count = len(kernel.parameters)
        values = [
            (value.value or 0) if dtype == "handle" else _number(dtype, value)
            for dtype, value in zip(kernel.parameters, arguments[:count], strict=True)
        ]
        extents = dict(zip(kernel.axes, arguments[count:], strict=True))
        self._kernels.launch(
            kernel.name, values, _shape("blockIdx", extents), _shape("threadIdx", extents)
        )


def _number(dtype: str, value: Any) -> np.generic:
    """A number as kernels take it: halves as float32, truth values as bytes."""
    held = "float32" if dtype in HALVES else "uint8" if dtype == "bool" else dtype
    return np.dtype(held).type(value)


def _allocate(
    device_type: int, size: int, beside: ctypes.c_void_p | None = None
) -> ctypes.c_void_p:
    """Memory on the device that has the address `beside`."""
    driver = driver_of(device_type)
    device_id = driver.device_of(beside.value) if beside is not None and beside.value else 0
    return ctypes.c_void_p(driver.allocate(device_id, max(size, 1)))


def _release(device_type: int, pointer: ctypes.c_void_p) -> None:
    driver_of(device_type).release(pointer.value or 0)


def _shape(kind: str, extents: Mapping[str, int]) -> Shape:
    """Numbers along x, y and z."""
    x, y, z = (int(extents.get(f"{kind}.{letter}", 1)) for letter in "xyz")
    return x, y, z
