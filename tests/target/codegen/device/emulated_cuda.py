"""The functions of the CUDA driver API that the launcher calls, on a CPU.

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
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from tilewright.runtime.launcher import FIND_FUNCTION, launcher
from tilewright.target.codegen.c.prelude import BFLOAT, HALF

HEADER = Path(__file__).with_name("cuda_emulation.h")
TILE_HEADER = Path(__file__).with_name("tile_emulation.h")
CUDA = 2
KERNEL = re.compile(r"__global__ void __launch_bounds__\(\d+\) (\w+)\(")
OPTIONS = ("-std=c++14", "-O0", "-w", "-fPIC", "-ffp-contract=off", "-fno-exceptions", "-fno-rtti",
           "-fno-sanitize=undefined", "-fsanitize=bounds")  # fmt: skip
"""Kernels run for milliseconds, so that most of the time is the compiler's: it does not optimise,
and does not read the special functions that C++17 adds to ``math.h``."""
INSTRUCTION = re.compile(r'asm\("([\w.]+) [^"]*" : "=\w"\(([\w.]+)\) : ([^;]*)\);')
OPERAND = re.compile(r'"\w"\(([\w.]+)\)')
INSTRUCTIONS = {
    "cvt.f32.f16": "tw_load_f16", "cvt.rn.f16.f32": "tw_store_f16",
    "cvt.rn.bf16.f32": "tw_store_bf16", "add.rn.f16": "add_f16", "sub.rn.f16": "sub_f16",
    "mul.rn.f16": "mul_f16", "fma.rn.f16": "fma_f16",
}  # fmt: skip
"""Functions of the C of the host that compute what instructions of a GPU do."""
ARITHMETIC = "\n".join(
    f"inline uint16_t {name}_f16({parameters}) {{ return tw_store_f16({value}); }}"
    for name, parameters, value in (
        ("add", "uint16_t a, uint16_t b", "tw_load_f16(a) + tw_load_f16(b)"),
        ("sub", "uint16_t a, uint16_t b", "tw_load_f16(a) - tw_load_f16(b)"),
        ("mul", "uint16_t a, uint16_t b", "tw_load_f16(a) * tw_load_f16(b)"),
        ("fma", "uint16_t a, uint16_t b, uint16_t c",
         "(float)((double)tw_load_f16(a) * tw_load_f16(b) + tw_load_f16(c))"),
    )
)  # fmt: skip
WARP_INSTRUCTION = re.compile(
    r'asm volatile\("([^"]*)"\s*:\s*([^;:]*?)\s*(?::\s*([^;:]*?)\s*)?(?::\s*"memory"\s*)?\);'
)
"""Instruction, results and operands of what the threads of a warp execute together."""
DYNAMIC_MEMORY = 1 << 17
"""The number of bytes that each block of threads has whose size a launch chooses."""
WARP_OPERAND = re.compile(r'"[=+]?[rfl]"\(([^()]*)\)')
FREE_SHARED_MEMORY = 48 << 10
"""The number of bytes of a block of threads that a kernel need not ask for."""
SHARED_ARRAY = re.compile(r"__shared__ (\w+) \w+\[(\d+)\]")
WIDTHS = {"int8_t": 1, "uint8_t": 1, "bool": 1, "half": 2, "int16_t": 2, "uint16_t": 2,
          "double": 8, "int64_t": 8, "uint64_t": 8}  # fmt: skip
Shape = ctypes.c_uint * 3
UNWRITTEN = b"\xff"
"""What memory is filled with at first: NaN, -1."""
FENCE = 256
"""The bytes on each side of an allocation that nothing may be written to."""


class Status(enum.IntEnum):
    """``CUresult``."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_LAUNCH_FAILED = 719


class Source(NamedTuple):
    """A source in a library: its kernels are there by their names and its number."""

    library: ctypes.CDLL
    number: int
    text: str


def declared_shared_memory(text: str, kernel: str) -> int:
    """The number of bytes of shared memory that a kernel declares."""
    body = re.split(rf"\b{kernel}\(", text)[1].split("__global__")[0]
    return sum(WIDTHS.get(dtype, 4) * int(count) for dtype, count in SHARED_ARRAY.findall(body))


class EmulatedCuda:
    """The driver API.

    Attributes:
        seed: of the order in which threads run.
        devices: how many there are.
        available: bytes that can be allocated on each.
        fault: what went wrong on a device, which is told when it is waited for.
        launches_left: how many kernels can be started before one fails.
        memory: allocations by address, with their device.
        attributes: of devices, by the numbers of ``CUdevice_attribute``.
        calls: names and arguments of all calls.
        shared: bytes of shared memory of functions: what they declare, what a launch may add.
    """

    def __init__(self, sources: Sequence[str] = ()) -> None:
        """Sources that are known before are compiled together, which is quicker."""
        self.seed = 0
        self.devices, self.available = 2, 1 << 28
        self.fault, self.launches_left = "", 1 << 30
        self.memory: dict[int, Any] = {}
        self.attributes = {1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 2**31 - 1, 6: 65535, 7: 65535,
                           8: 49152, 10: 32, 12: 65536, 13: 1_500_000, 16: 84, 38: 6 << 20,
                           75: 8, 76: 6, 97: 101376}  # fmt: skip
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self._sources = dict(zip(sources, compiled(tuple(sources)), strict=True))
        self._handles: list[Any] = [None]
        self.shared: dict[int, tuple[int, int]] = {}
        self._texts = {status: ctypes.create_string_buffer(status.name.encode())
                       for status in Status}  # fmt: skip
        self._message = ctypes.create_string_buffer(b"", 300)
        self._functions: dict[str, Any] = {}

    def find(self, name: str) -> int:
        """The address of a function of the driver API."""
        hints = get_type_hints(getattr(EmulatedCuda, name))
        kinds = [kind for key, kind in hints.items() if key != "return"]

        def recorded(*arguments: Any) -> int:
            self.calls.append((name, arguments))
            return int(getattr(self, name)(*arguments))

        callback = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(recorded)
        self._functions[name] = callback
        return ctypes.cast(callback, ctypes.c_void_p).value

    def fail(self, status: Status, message: str) -> Status:
        """A result that is an error."""
        self._message.value = message.encode()[:299]
        return status

    def cuGetErrorName(self, status: Int, text: Pointer) -> Status:
        return put(text, Pointer, ctypes.addressof(self._texts[Status(status)]))

    def cuGetErrorString(self, status: Int, text: Pointer) -> Status:
        return put(text, Pointer, ctypes.addressof(self._message))

    # --- devices ------------------------------------------------------------------------------

    def cuInit(self, flags: Int) -> Status:
        return Status.CUDA_SUCCESS

    def cuDeviceGetCount(self, count: Pointer) -> Status:
        put(count, Int, self.devices)
        return Status.CUDA_SUCCESS if self.devices else Status.CUDA_ERROR_NO_DEVICE

    def cuDeviceGet(self, device: Pointer, ordinal: Int) -> Status:
        return put(device, Int, ordinal)

    def cuDeviceGetName(self, name: Pointer, size: Int, device: Int) -> Status:
        ctypes.memmove(name, f"Emulation {device}\0".encode(), 12)
        return Status.CUDA_SUCCESS

    def cuDeviceTotalMem_v2(self, size: Pointer, device: Int) -> Status:
        return put(size, Size, self.available)

    def cuMemGetInfo_v2(self, free: Pointer, total: Pointer) -> Status:
        put(total, Size, self.available)
        return put(free, Size, self.available - self._taken())

    def cuDeviceGetAttribute(self, value: Pointer, attribute: Int, device: Int) -> Status:
        return put(value, Int, self.attributes[attribute])

    def cuDevicePrimaryCtxRetain(self, context: Pointer, device: Int) -> Status:
        return put(context, Size, device + 1)

    def cuCtxSetCurrent(self, context: Pointer) -> Status:
        self.device = context - 1
        return Status.CUDA_SUCCESS

    def cuCtxSynchronize(self) -> Status:
        if self.fault:
            return self.fail(Status.CUDA_ERROR_LAUNCH_FAILED, self.fault)
        return Status.CUDA_SUCCESS

    # --- streams and events -------------------------------------------------------------------

    def cuStreamCreate(self, stream: Pointer, flags: Int) -> Status:
        self._handles.append("stream")
        return put(stream, Size, 8 * len(self._handles))

    def cuStreamDestroy_v2(self, stream: Pointer) -> Status:
        return Status.CUDA_SUCCESS

    def cuStreamSynchronize(self, stream: Pointer) -> Status:
        return self.cuCtxSynchronize()

    def cuStreamWaitEvent(self, stream: Pointer, event: Pointer, flags: Int) -> Status:
        return Status.CUDA_SUCCESS

    def cuEventCreate(self, event: Pointer, flags: Int) -> Status:
        self._handles.append(None)
        return put(event, Size, len(self._handles) - 1)

    def cuEventRecord(self, event: Pointer, stream: Pointer) -> Status:
        self._handles[event] = time.perf_counter()
        return Status.CUDA_SUCCESS

    def cuEventSynchronize(self, event: Pointer) -> Status:
        return self.cuCtxSynchronize()

    def cuEventElapsedTime(self, time: Pointer, start: Pointer, stop: Pointer) -> Status:
        return put(time, ctypes.c_float, 1e3 * (self._handles[stop] - self._handles[start]))

    def cuEventDestroy_v2(self, event: Pointer) -> Status:
        return Status.CUDA_SUCCESS

    # --- memory -------------------------------------------------------------------------------

    def _taken(self) -> int:
        return sum(
            len(content) for content, device in self.memory.values() if device == self.device
        )

    def cuMemAlloc_v2(self, result: Pointer, size: Size) -> Status:
        if self._taken() + size > self.available:
            return self.fail(Status.CUDA_ERROR_OUT_OF_MEMORY, "out of memory")
        whole = UNWRITTEN * (size + 2 * FENCE)
        content = ctypes.create_string_buffer(whole, len(whole))
        address = ctypes.addressof(content) + FENCE
        self.memory[address] = content, self.device
        return put(result, Size, address)

    def cuMemFree_v2(self, address: Size) -> Status:
        del self.memory[address]
        return Status.CUDA_SUCCESS

    def cuPointerGetAttribute(self, value: Pointer, attribute: Int, address: Size) -> Status:
        assert attribute == 9  # the ordinal of the device
        for start, (content, device) in self.memory.items():
            if start <= address < start + ctypes.sizeof(content) - 2 * FENCE:
                return put(value, Int, device)
        return self.fail(Status.CUDA_ERROR_INVALID_VALUE, "invalid argument")

    def cuMemcpyHtoDAsync_v2(
        self, to: Size, source: Pointer, size: Size, stream: Pointer
    ) -> Status:
        ctypes.memmove(to, source, size)
        return Status.CUDA_SUCCESS

    def cuMemcpyDtoHAsync_v2(
        self, to: Pointer, source: Size, size: Size, stream: Pointer
    ) -> Status:
        ctypes.memmove(to, source, size)
        return Status.CUDA_SUCCESS

    def cuMemcpyAsync(self, to: Size, source: Size, size: Size, stream: Pointer) -> Status:
        ctypes.memmove(to, source, size)
        return Status.CUDA_SUCCESS

    # --- kernels ------------------------------------------------------------------------------

    def cuModuleLoadDataEx(
        self, module: Pointer, image: Text, count: Int, options: Pointer, values: Pointer
    ) -> Status:
        source = image.decode()
        if source not in self._sources:
            (self._sources[source],) = compiled((source,))
        self._handles.append(self._sources[source])
        return put(module, Size, len(self._handles) - 1)

    def cuModuleGetFunction(self, function: Pointer, module: Pointer, name: Text) -> Status:
        library, number, text = self._handles[module]
        try:
            found = library[f"emulate_{name.decode()}_{number}"]
        except AttributeError:
            return self.fail(Status.CUDA_ERROR_NOT_FOUND, "named symbol not found")
        found.argtypes = (
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p,
        )  # fmt: skip
        self._handles.append(found)
        fixed = declared_shared_memory(text, name.decode())
        self.shared[len(self._handles) - 1] = fixed, FREE_SHARED_MEMORY - fixed
        return put(function, Size, len(self._handles) - 1)

    def cuFuncGetAttribute(self, value: Pointer, attribute: Int, function: Pointer) -> Status:
        fixed, _ = self.shared[function]
        return put(value, Int, {0: 1024, 1: fixed}[attribute])

    def cuFuncSetAttribute(self, function: Pointer, attribute: Int, value: Int) -> Status:
        assert attribute == 8  # the most dynamic shared memory
        fixed, _ = self.shared[function]
        if fixed + value > self.attributes[97]:
            return self.fail(Status.CUDA_ERROR_INVALID_VALUE, "invalid argument")
        self.shared[function] = fixed, value
        return Status.CUDA_SUCCESS

    def cuLaunchKernel(
        self, function: Pointer, bx: Int, by: Int, bz: Int, tx: Int, ty: Int, tz: Int,
        shared: Int, stream: Pointer, arguments: Pointer, extra: Pointer,
    ) -> Status:  # fmt: skip
        assert shared <= DYNAMIC_MEMORY
        assert not extra
        if shared > self.shared[function][1]:
            return self.fail(Status.CUDA_ERROR_INVALID_VALUE, "invalid argument")
        if max(by, bz) >= 1 << 16 or tx * ty * tz > self.attributes[1]:
            return self.fail(Status.CUDA_ERROR_INVALID_VALUE, "invalid argument")
        if not self.launches_left:
            return self.fail(Status.CUDA_ERROR_LAUNCH_FAILED, "the kernel fails")
        self.launches_left -= 1
        message = ctypes.create_string_buffer(200)
        blocks, threads = Shape(bx, by, bz), Shape(tx, ty, tz)
        run = self._handles[function]
        if run(arguments, ctypes.byref(blocks), ctypes.byref(threads), self.seed, message):
            return self.fail(Status.CUDA_ERROR_LAUNCH_FAILED, message.value.decode())
        damaged = [c for c, _ in self.memory.values() if not fences_are_whole(c)]
        if damaged:
            return self.fail(Status.CUDA_ERROR_LAUNCH_FAILED, "writes outside of memory")
        return Status.CUDA_SUCCESS


Int, Size, Pointer, Text = ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p


def put(address: int, kind: Any, value: Any) -> Status:
    """Store what a function gives to its caller."""
    kind.from_address(address).value = value
    return Status.CUDA_SUCCESS


class CudaDevices:
    """What stands for CUDA devices in this process, as an attribute that can be set."""

    @property
    def kind(self) -> int:
        """The address of what the launcher knows of them."""
        current = launcher().devices_exchange(CUDA, None, NO_FUNCTIONS)
        launcher().devices_exchange(CUDA, current, None)
        return current

    @kind.setter
    def kind(self, kind: int) -> None:
        launcher().devices_exchange(CUDA, kind, None)


NO_FUNCTIONS = FIND_FUNCTION(lambda name: None)

_used = []
"""All emulations, which the launcher may call as long as the process lives."""


def fences_are_whole(content: ctypes.Array[ctypes.c_char]) -> bool:
    """Whether nothing was written beside an allocation; the fences are whole afterwards."""
    fence, start = UNWRITTEN * FENCE, ctypes.addressof(content)
    places = (start, start + ctypes.sizeof(content) - FENCE)
    found = all(ctypes.string_at(place, FENCE) == fence for place in places)
    for place in places:
        ctypes.memset(place, UNWRITTEN[0], FENCE)
    return found


def use_emulation(monkeypatch: Any, api: EmulatedCuda) -> None:
    """Let ``tilewright.cuda(n)`` be emulated devices."""
    _used.append(api)
    find = FIND_FUNCTION(lambda name: api.find(name.decode()))
    before = launcher().devices_exchange(CUDA, None, find)
    emulated = launcher().devices_exchange(CUDA, before, None)
    monkeypatch.setattr(CudaDevices(), "kind", emulated)
    monkeypatch.setattr(
        "tilewright.runtime.launcher.compile_for_device", lambda source, *_: source.encode()
    )


@functools.lru_cache(maxsize=64)
def compiled(sources: tuple[str, ...]) -> tuple[Source, ...]:
    """Sources in CUDA C as a library of functions that emulate their kernels."""
    if not sources:
        return ()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        (path / "kernels.cpp").write_text(emulated_source(sources))
        compile_library(path / "kernels.cpp", path / "kernels.so")
        library = ctypes.CDLL(str(path / "kernels.so"))
    return tuple(Source(library, number, text) for number, text in enumerate(sources))


def emulated_source(sources: Sequence[str]) -> str:
    """Sources in CUDA C as C++, in which functions run their kernels."""
    parts = [
        f'#include "{HEADER}"',
        f"namespace emulation {{ {HALF}{BFLOAT}{ARITHMETIC} }}",
        f'#include "{TILE_HEADER}"',
    ]
    for number, source in enumerate(sources):
        kernels = [f"EMULATED({name}, {number})" for name in KERNEL.findall(source)]
        text = source.replace('extern "C" ', "")  # names of other sources may be the same
        text = text.replace("extern __shared__ uint8_t dynamic_memory[]",
                            f"__shared__ uint8_t dynamic_memory[{DYNAMIC_MEMORY}]")  # fmt: skip
        text = INSTRUCTION.sub(emulated_instruction, text)
        text = WARP_INSTRUCTION.sub(emulated_warp_instruction, text)
        parts.append("\n".join([f"namespace source_{number} {{", text, *kernels, "}"]))
    return "\n".join(parts)


def emulated_instruction(match: re.Match[str]) -> str:
    """A call in place of an instruction of a GPU."""
    instruction, result, operands = match.groups()
    arguments = ", ".join(OPERAND.findall(operands))
    return f"{result} = emulation::{INSTRUCTIONS[instruction]}({arguments});"


def emulated_warp_instruction(match: re.Match[str]) -> str:
    """Waiting for the threads of a warp in place of an instruction of all of them."""
    instruction, results, operands = match.groups()
    values = [
        f"emulation::{kind}({value})"
        for kind, texts in (("output", results), ("input", operands or ""))
        for value in WARP_OPERAND.findall(texts)
    ]
    return (
        f"emulation::Operand operands[] = {{{', '.join(values)}}}; "
        f'emulation::execute(__LINE__, "{instruction}", operands, {len(values)});'
    )


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
