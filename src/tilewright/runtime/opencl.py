"""OpenCL devices, by pyopencl.

OpenCL has objects in place of addresses. Each allocation gets a range of addresses of its own here,
so that arrays have pointers as everywhere, and a pointer into an array is one more than its first.
"""

from __future__ import annotations

import bisect
import os
import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tilewright.error import AllocationError, DeviceError
from tilewright.runtime.device_driver import Shape

try:
    import pyopencl as cl
except ImportError:
    raise DeviceError(
        "OpenCL devices need the package pyopencl, and a driver such as PoCL: install "
        "tilewright[opencl]"
    ) from None

DEVICE_VARIABLE: Final = "TILEWRIGHT_OPENCL_DEVICE"
"""The environment variable with a part of the name of the devices to use, such as ``oclgrind``."""

FIRST_ADDRESS: Final = 1 << 44
ALIGNMENT: Final = 4096
"""Addresses of allocations are multiples of this."""


class Driver:
    """See `DeviceDriver`."""

    def __init__(self) -> None:
        self._devices = _devices()
        self._queues: dict[int, Any] = {}
        self._lock = threading.RLock()
        self._starts: list[int] = []
        self._memory: dict[int, tuple[Any, int]] = {}
        self._next = FIRST_ADDRESS

    def count(self) -> int:
        return len(self._devices)

    def memory_size(self, device_id: int) -> int:
        return self._devices[device_id].global_mem_size

    def device_of(self, address: int) -> int:
        return self._find(address)[1]

    def allocate(self, device_id: int, size: int) -> int:
        queue = self.queue(device_id)
        try:
            buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size)
        except cl.Error as error:
            raise AllocationError(f"no memory for {size} bytes on opencl({device_id})") from error
        with self._lock:
            address = self._next
            self._next += -(-size // ALIGNMENT) * ALIGNMENT
            self._starts.append(address)
            self._memory[address] = buffer, device_id
        return address

    def release(self, address: int) -> None:
        with self._lock:
            buffer, _ = self._memory.pop(address)
            del self._starts[bisect.bisect_left(self._starts, address)]
        buffer.release()

    def write(self, address: int, source: np.ndarray) -> None:
        buffer, device_id, offset = self._find(address)
        if source.nbytes:
            cl.enqueue_copy(self.queue(device_id), buffer, source, dst_offset=offset)

    def read(self, address: int, target: np.ndarray) -> None:
        buffer, device_id, offset = self._find(address)
        if target.nbytes:
            cl.enqueue_copy(self.queue(device_id), target, buffer, src_offset=offset)

    def synchronize(self, device_id: int) -> None:
        self.queue(device_id).finish()

    def compile(self, source: str) -> Kernels:
        return Kernels(self, source)

    # --- for kernels --------------------------------------------------------------------------

    def argument(self, address: int) -> tuple[Any, int]:
        """What a kernel gets for an address, and the number of the device."""
        buffer, device_id, offset = self._find(address)
        return (buffer[offset:] if offset else buffer), device_id

    def queue(self, device_id: int) -> Any:
        """The queue of a device, in which what is started runs in order."""
        with self._lock:
            found = self._queues.get(device_id)
            if found is None:
                context = cl.Context([self._devices[device_id]])
                found = self._queues[device_id] = cl.CommandQueue(context)
            return found

    def _find(self, address: int) -> tuple[Any, int, int]:
        """The buffer that an address is in, its device, and the offset in it."""
        with self._lock:
            place = bisect.bisect_right(self._starts, address) - 1
            if place < 0:
                raise DeviceError(f"0x{address:x} is no address of an OpenCL device")
            start = self._starts[place]
            return (*self._memory[start], address - start)


class Kernels:
    """See `device_driver.Kernels`."""

    def __init__(self, driver: Driver, source: str) -> None:
        self._driver, self._source = driver, source
        self._programs: dict[int, dict[str, Any]] = {}

    def launch(self, name: str, arguments: Sequence[Any], blocks: Shape, threads: Shape) -> None:
        device_id, values = 0, []
        for argument in arguments:
            if isinstance(argument, int):  # an address; numbers have numpy's types
                value, device_id = self._driver.argument(argument)
                values.append(value)
            else:
                values.append(argument)
        if not all(blocks):
            return
        kernel = self._kernels(device_id)[name]
        size = tuple(b * t for b, t in zip(blocks, threads, strict=True))
        try:
            kernel.set_args(*values)
            cl.enqueue_nd_range_kernel(self._driver.queue(device_id), kernel, size, threads)
        except cl.Error as error:
            raise DeviceError(
                f"{name}: cannot be started with {blocks} blocks of {threads} threads: {error}"
            ) from None

    def _kernels(self, device_id: int) -> dict[str, Any]:
        found = self._programs.get(device_id)
        if found is None:
            context = self._driver.queue(device_id).context
            try:
                program = cl.Program(context, self._source).build(_options(context.devices[0]))
            except cl.RuntimeError as error:
                raise DeviceError(f"the OpenCL compiler refuses the kernels: {error}") from None
            kernels = {kernel.function_name: kernel for kernel in program.all_kernels()}
            found = self._programs[device_id] = kernels
        return found


def _devices() -> list[Any]:
    """All OpenCL devices that work: GPUs first, simulators that look for errors last.

    Raises:
        DeviceError: if there is none.
    """
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        platforms = []
    wanted = os.environ.get(DEVICE_VARIABLE, "").lower()
    devices = [
        device
        for platform in platforms
        for device in platform.get_devices()
        if wanted in device.name.lower()
    ]
    found = [device for device in devices if device.type & cl.device_type.GPU or _compiles(device)]
    if not found:
        idle = f"; {devices[0].name} is there, and its compiler fails" if devices else ""
        raise DeviceError(
            "there is no OpenCL device: install a driver, or PoCL for CPUs (tilewright[opencl])"
            + idle
        )
    return sorted(found, key=lambda d: (_is_simulator(d), not d.type & cl.device_type.GPU))


def _is_simulator(device: Any) -> bool:
    return "oclgrind" in device.name.lower()


def _options(device: Any) -> list[str]:
    """Options of the compiler. Oclgrind executes optimised conditions wrongly."""
    return ["-cl-opt-disable"] if _is_simulator(device) else []


def _compiles(device: Any) -> bool:
    """Whether a device can compile anything: PoCL cannot where its LLVM does not know the CPU."""
    try:
        cl.Program(cl.Context([device]), "__kernel void probe() {}").build()
    except cl.Error:
        return False
    return True
