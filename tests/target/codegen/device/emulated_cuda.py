"""The calls of the CUDA driver API that `tilewright.runtime.cuda_driver` makes, on a CPU.

Modules are CUDA C, which a C++ compiler compiles with `cuda_emulation.h`.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tilewright.runtime import cuda_driver, device_driver, launch
from tilewright.target.codegen.c.prelude import HALF

HEADER = Path(__file__).with_name("cuda_emulation.h")
CUDA = 2
KERNEL = re.compile(r"__global__ void __launch_bounds__\(\d+\) (\w+)\(")
OPTIONS = ("-std=c++17", "-O1", "-w", "-fPIC", "-ffp-contract=off", "-fno-exceptions", "-fno-rtti",
           "-fno-sanitize=undefined")  # fmt: skip
INSTRUCTION = re.compile(r'asm\("([\w.]+) %0, %1;" : "=\w"\((\w+)\) : "\w"\((\w+)\)\);')
INSTRUCTIONS = {"cvt.f32.f16": "tw_load_f16", "cvt.rn.f16.f32": "tw_store_f16"}
"""Functions of the C of the host that compute what instructions of a GPU do."""
Shape = ctypes.c_uint * 3


class Status(enum.IntEnum):
    """``CUresult``."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_LAUNCH_FAILED = 719


class PointerAttribute(enum.IntEnum):
    """``CUpointer_attribute``."""

    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9


class DeviceAttribute(enum.IntEnum):
    """``CUdevice_attribute``."""

    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76


class Source(NamedTuple):
    """A source in a library: its kernels are there by their names and its number."""

    library: ctypes.CDLL
    number: int


class EmulatedCuda:
    """The driver API, with two devices.

    Attributes:
        seed: of the order in which threads run.
        memory: allocations by address.
        calls: names and arguments of all calls.
    """

    CUpointer_attribute = PointerAttribute
    CUdevice_attribute = DeviceAttribute
    MEMORY = 1 << 28

    def __init__(self, sources: Sequence[str] = ()) -> None:
        """Sources that are known before are compiled together, which is quicker."""
        self.seed = 0
        self.memory: dict[int, Any] = {}
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self._sources = dict(zip(sources, compiled(tuple(sources)), strict=True))
        self._handles: list[Any] = [None]
        self._message = ""

    def __getattribute__(self, name: str) -> Any:
        function = super().__getattribute__(name)
        if not name.startswith("cu"):
            return function

        def recorded(*arguments: Any) -> Any:
            self.calls.append((name, arguments))
            return function(*arguments)

        return recorded

    def fail(self, status: Status, message: str) -> tuple[Status]:
        """A result that is an error."""
        self._message = message
        return (status,)

    def cuGetErrorString(self, status: Status) -> tuple[Status, bytes]:
        return Status.CUDA_SUCCESS, self._message.encode()

    # --- devices ------------------------------------------------------------------------------

    def cuInit(self, flags: int) -> tuple[Status]:
        return (Status.CUDA_SUCCESS,)

    def cuDeviceGetCount(self) -> tuple[Status, int]:
        return Status.CUDA_SUCCESS, 2

    def cuDeviceGet(self, ordinal: int) -> tuple[Status, int]:
        return Status.CUDA_SUCCESS, ordinal

    def cuDeviceTotalMem(self, device: int) -> tuple[Status, int]:
        return Status.CUDA_SUCCESS, self.MEMORY

    def cuDeviceGetAttribute(self, attribute: DeviceAttribute, device: int) -> tuple[Status, int]:
        is_major = attribute is DeviceAttribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        return Status.CUDA_SUCCESS, 8 if is_major else 6

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[Status, int]:
        return Status.CUDA_SUCCESS, device + 1

    def cuCtxSetCurrent(self, context: int) -> tuple[Status]:
        self.device = context - 1
        return (Status.CUDA_SUCCESS,)

    def cuCtxSynchronize(self) -> tuple[Status]:
        return (Status.CUDA_SUCCESS,)

    def cuStreamSynchronize(self, stream: int) -> tuple[Status]:
        return (Status.CUDA_SUCCESS,)

    # --- memory -------------------------------------------------------------------------------

    def cuMemAlloc(self, size: int) -> tuple[Any, ...]:
        if size > self.MEMORY:
            return self.fail(Status.CUDA_ERROR_OUT_OF_MEMORY, "out of memory")
        content = (ctypes.c_uint8 * size)(*b"\xa5" * min(size, 64))
        address = ctypes.addressof(content)
        self.memory[address] = content, self.device
        return Status.CUDA_SUCCESS, address

    def cuMemFree(self, address: int) -> tuple[Status]:
        del self.memory[address]
        return (Status.CUDA_SUCCESS,)

    def cuPointerGetAttribute(self, attribute: PointerAttribute, address: int) -> tuple[Any, ...]:
        assert attribute is PointerAttribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        for start, (content, device) in self.memory.items():
            if start <= address < start + ctypes.sizeof(content):
                return Status.CUDA_SUCCESS, device
        return self.fail(Status.CUDA_ERROR_INVALID_VALUE, "invalid argument")

    def cuMemcpyHtoDAsync(self, to: int, source: int, size: int, stream: int) -> tuple[Status]:
        ctypes.memmove(to, source, size)
        return (Status.CUDA_SUCCESS,)

    def cuMemcpyDtoHAsync(self, to: int, source: int, size: int, stream: int) -> tuple[Status]:
        ctypes.memmove(to, source, size)
        return (Status.CUDA_SUCCESS,)

    # --- kernels ------------------------------------------------------------------------------

    def cuModuleLoadData(self, image: bytes) -> tuple[Status, int]:
        source = image.decode()
        if source not in self._sources:
            (self._sources[source],) = compiled((source,))
        self._handles.append(self._sources[source])
        return Status.CUDA_SUCCESS, len(self._handles) - 1

    def cuModuleGetFunction(self, module: int, name: bytes) -> tuple[Any, ...]:
        library, number = self._handles[module]
        try:
            function = library[f"emulate_{name.decode()}_{number}"]
        except AttributeError:
            return self.fail(Status.CUDA_ERROR_NOT_FOUND, "named symbol not found")
        function.argtypes = (
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p,
        )  # fmt: skip
        self._handles.append(function)
        return Status.CUDA_SUCCESS, len(self._handles) - 1

    def cuLaunchKernel(self, function: int, *shapes_and_arguments: int) -> tuple[Status]:
        *shapes, shared, stream, arguments, extra = shapes_and_arguments
        assert shared == stream == extra == 0
        if max(shapes[1:3]) >= 1 << 16 or max(shapes[3:]) > 1024:
            return self.fail(Status.CUDA_ERROR_INVALID_VALUE, "invalid argument")
        message = ctypes.create_string_buffer(200)
        blocks, threads = Shape(*shapes[:3]), Shape(*shapes[3:])
        run = self._handles[function]
        if run(arguments, ctypes.byref(blocks), ctypes.byref(threads), self.seed, message):
            return self.fail(Status.CUDA_ERROR_LAUNCH_FAILED, message.value.decode())
        return (Status.CUDA_SUCCESS,)


def use_emulation(monkeypatch: Any, api: EmulatedCuda) -> cuda_driver.Driver:
    """Let ``tilewright.cuda(n)`` be emulated devices; their driver."""
    monkeypatch.setattr(cuda_driver, "_load", lambda: api)
    monkeypatch.setattr(cuda_driver, "compile_for_device", lambda source, *_: source.encode())
    driver, original = cuda_driver.Driver(), device_driver.driver_of
    for module in (device_driver, launch):
        monkeypatch.setattr(
            module, "driver_of", lambda kind: driver if kind == CUDA else original(kind)
        )
    return driver


@functools.lru_cache(maxsize=64)
def compiled(sources: tuple[str, ...]) -> tuple[Source, ...]:
    """Sources in CUDA C as a library of functions that emulate their kernels."""
    parts = [f'#include "{HEADER}"', f"namespace emulation {{ {HALF} }}"]
    for number, source in enumerate(sources):
        kernels = [f"EMULATED({name}, {number})" for name in KERNEL.findall(source)]
        text = source.replace('extern "C" ', "")  # names of other sources may be the same
        text = INSTRUCTION.sub(emulated_instruction, text)
        parts.append("\n".join([f"namespace source_{number} {{", text, *kernels, "}"]))
    if not sources:
        return ()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        (path / "kernels.cpp").write_text("\n".join(parts))
        compile_library(path / "kernels.cpp", path / "kernels.so")
        library = ctypes.CDLL(str(path / "kernels.so"))
    return tuple(Source(library, number) for number in range(len(sources)))


def emulated_instruction(match: re.Match[str]) -> str:
    """A call in place of an instruction of a GPU."""
    instruction, result, operand = match.groups()
    return f"{result} = emulation::{INSTRUCTIONS[instruction]}({operand});"


def compile_library(source: Path, library: Path) -> None:
    """Compile C++, by the compiler of this machine or by that of ziglang."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is not None:
        run(compiler, *OPTIONS, "-shared", "-o", library, source)
        return
    # Its driver would compile a runtime first, which the library does not need.
    zig, code = (sys.executable, "-m", "ziglang"), source.with_suffix(".o")
    ctypes.CDLL("libm.so.6", ctypes.RTLD_GLOBAL)
    run(*zig, "c++", *OPTIONS, "-c", "-o", code, source)
    run(*zig, "ld.lld", "-shared", "-o", library, code)


def run(*command: str | Path) -> None:
    """Run a compiler, whose messages become an error."""
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[:4000]
