"""What this machine can do at most: `python -m tilewright.runtime.peaks THREADS TARGET`."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from tilewright.target import Target

READ_VECTORS: Final = 16
"""Vectors that one iteration reads."""
MEMORY_BYTES: Final = 4096
"""What an arithmetic kernel needs at least."""


class Instruction(NamedTuple):
    """The one that multiplies and adds, for a type of numbers."""

    intrinsic: str
    accumulator: str
    factors: str
    operations: int
    """Of one instruction: a multiplication and an addition are two."""


def multiply_add(dtype: str, target: Target) -> Instruction | None:
    """What the target multiplies `dtype` with; None if it has no such instruction."""
    bits, features = target.vector_bits, target.features
    real = {"float32": ("f32", "float", 32), "float64": ("f64", "double", 64),
            "float16": ("f16", "half", 16)}  # fmt: skip
    if dtype in real:
        if not target.has_fma or (dtype == "float16" and "avx512fp16" not in features):
            return None
        suffix, name, size = real[dtype]
        vector = f"<{bits // size} x {name}>"
        return Instruction(f"llvm.fma.v{bits // size}{suffix}", vector, vector, 2 * bits // size)
    if dtype in ("int8", "uint8") and bits == 512 and "avx512vnni" in features:
        return Instruction("llvm.x86.avx512.vpdpbusd.512", "<16 x i32>", "<64 x i8>", 128)
    if dtype == "bfloat16" and bits == 512 and "avx512bf16" in features:
        return Instruction("llvm.x86.avx512bf16.dpbf16ps.512", "<16 x float>", "<32 x bfloat>", 64)
    return None


Kernel: TypeAlias = Callable[[int, int, int], None]
"""Of the address of memory, its size in bytes, and how often to go through it."""


def arithmetic(op: Instruction, target: Target) -> Kernel:
    """Multiplies and adds: `ACCUMULATORS` independent chains, so that no one waits."""
    fused = op.intrinsic.startswith("llvm.fma")
    chains = range(accumulators(target))
    a, c = op.factors, op.accumulator

    def step(i: int) -> str:
        sums = f"{c} %s{i}"
        operands = f"{sums}, {a} %a, {a} %b" if not fused else f"{a} %a, {sums}, {a} %b"
        return f"  %n{i} = call {c} @{op.intrinsic}({operands})"

    signature = f"{c}, {a}, {a}" if not fused else f"{a}, {c}, {a}"
    return _compile(
        [
            f"declare {c} @{op.intrinsic}({signature})",
            "define void @kernel(ptr %memory, i64 %bytes, i64 %repeat) {",
            "entry:",
            f"  %a = load {a}, ptr %memory",
            f"  %b = load {a}, ptr %memory",
            f"  %zero = load {c}, ptr %memory",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
            *(f"  %s{i} = phi {c} [ %zero, %entry ], [ %n{i}, %loop ]" for i in chains),
            *map(step, chains),
            "  %next = add i64 %i, 1",
            "  %more = icmp slt i64 %next, %repeat",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *_stored(c, chains),
            "}",
        ],
        target,
    )


def accumulators(target: Target) -> int:
    """Chains of an arithmetic kernel: enough to hide the latency, few enough for the registers."""
    return 24 if target.vector_registers == 32 else 12


def read(target: Target) -> Kernel:
    """Reads memory from one end to the other."""
    vector = f"<{max(target.vector_bits, 128) // 32} x i32>"
    width = max(target.vector_bits, 128) // 8
    parts = range(READ_VECTORS)
    return _compile(
        [
            "define void @kernel(ptr %memory, i64 %bytes, i64 %repeat) {",
            "entry:",
            f"  %zero = load {vector}, ptr %memory",
            "  br label %again",
            "again:",
            "  %r = phi i64 [ 0, %entry ], [ %next_r, %end ]",
            *(f"  %o{i} = phi {vector} [ %zero, %entry ], [ %n{i}, %end ]" for i in parts),
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %again ], [ %next, %loop ]",
            *(f"  %s{i} = phi {vector} [ %o{i}, %again ], [ %n{i}, %loop ]" for i in parts),
            "  %from = getelementptr i8, ptr %memory, i64 %i",
            *(f"  %p{i} = getelementptr i8, ptr %from, i64 {i * width}\n"
              f"  %v{i} = load {vector}, ptr %p{i}\n"
              f"  %n{i} = add {vector} %s{i}, %v{i}" for i in parts),
            f"  %next = add i64 %i, {READ_VECTORS * width}",
            "  %more = icmp slt i64 %next, %bytes",
            "  br i1 %more, label %loop, label %end",
            "end:",
            "  %next_r = add i64 %r, 1",
            "  %more_r = icmp slt i64 %next_r, %repeat",
            "  br i1 %more_r, label %again, label %done",
            "done:",
            *_stored(vector, parts),
            "}",
        ],
        target,
    )  # fmt: skip


def _stored(vector: str, parts: range) -> list[str]:
    """The sums go to memory, or computing them would be left out."""
    lines = []
    for i in parts:
        lines += [
            f"  %q{i} = getelementptr {vector}, ptr %memory, i64 {i}",
            f"  store {vector} %n{i}, ptr %q{i}",
        ]
    return [*lines, "  ret void"]


def _compile(lines: list[str], target: Target) -> Kernel:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.feature_string, opt=2
    )
    module = llvm.parse_assembly("\n".join(lines))
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
        engine.get_function_address("kernel")
    )

    def kernel(address: int, size: int, repeat: int) -> None:
        function(address, size, repeat)

    kernel.engine = engine  # type: ignore[attr-defined]  # the code lives as long as its engine
    return kernel


Clock: TypeAlias = Callable[[], float]
DTYPES: Final = ("float32", "float64", "float16", "bfloat16", "int8")
SECONDS: Final = 0.004
"""One sample."""
SAMPLES: Final = 40
MAX_ARRAY: Final = 512 << 20


class Bound(NamedTuple):
    """A least time, and what sets it."""

    seconds: float
    limit: str
    """The dtype of the arithmetic, or the memory."""


@dataclass(frozen=True)
class Peaks:
    """The peak rate of a number of threads.

    Attributes:
        threads: how many, each with its own data.
        operations: per second, by dtype, from registers.
        bandwidth: bytes read per second, by the memory that the data are in: ``"L1"``, ``"L2"``,
            ``"L3"`` or ``"DRAM"``.
        capacity: bytes of each of the caches.
    """

    threads: int
    operations: dict[str, float] = field(default_factory=dict)
    bandwidth: dict[str, float] = field(default_factory=dict)
    capacity: dict[str, int] = field(default_factory=dict)

    def level(self, size: float) -> str:
        """The smallest memory level that holds `size` bytes."""
        for name in ("L1", "L2", "L3"):
            # The L1 and L2 caches are each core's own.
            share = 1 if name == "L3" else self.threads
            if name in self.bandwidth and size <= share * self.capacity.get(name, 0):
                return name
        return "DRAM"

    def bound(self, dtype: str, flop: float, size: float) -> Bound | None:
        """What `flop` operations on `dtype` and `size` bytes of traffic take at least."""
        bounds = []
        if flop and dtype in self.operations:
            bounds.append(Bound(flop / self.operations[dtype], dtype))
        level = self.level(size)
        if size and level in self.bandwidth:
            bounds.append(Bound(size / self.bandwidth[level], level))
        return max(bounds, default=None)


def measure(threads: int, dtypes: Sequence[str] = DTYPES, target: Target | str = "llvm") -> Peaks:
    """Measure all of it; takes a few seconds.

    Args:
        threads: how many.
        dtypes: whose arithmetic to measure.
        target: whose instructions to use.
    """
    target = Target(target)
    names = ("L1", "L2", "L3")
    capacity: dict[str, int] = dict(zip(names, target.cache_sizes, strict=True))
    peaks = Peaks(threads, capacity=capacity)
    for dtype in dtypes:
        op = multiply_add(dtype, target)
        if op is not None:
            kernel = arithmetic(op, target)
            rate = _best_rate(kernel, MEMORY_BYTES, threads, time.thread_time)
            peaks.operations[dtype] = rate * accumulators(target) * op.operations
    peaks.operations.update(halves_as_floats(peaks.operations))
    kernel = read(target)
    # A thread that waits for the processor leaves its share of the memory to the others.
    clock = time.thread_time if threads == 1 else time.perf_counter
    for name, size in array_sizes(capacity).items():
        peaks.bandwidth[name] = _best_rate(kernel, size, threads, clock) * size
    return peaks


def halves_as_floats(operations: dict[str, float]) -> dict[str, float]:
    """Peak rate of 16-bit floats: natively or as float32, whichever is faster."""
    if "float32" not in operations:
        return {}
    single = operations["float32"]
    return {name: max(operations.get(name, 0.0), single) for name in ("float16", "bfloat16")}


def array_sizes(capacity: dict[str, int]) -> dict[str, int]:
    """Bytes to read for each memory: what surely lies in it and not in a smaller one."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    third = min(capacity["L3"] // 4, 8 * capacity["L2"])
    sizes = {
        "L1": capacity["L1"] // 2,
        "L2": capacity["L2"] // 2,
        "L3": third,
        "DRAM": min(4 * capacity["L3"], MAX_ARRAY, memory // 8),
    }
    return {name: size // MEMORY_BYTES * MEMORY_BYTES for name, size in sizes.items()}


def _best_rate(kernel: Kernel, size: int, threads: int, clock: Clock) -> float:
    """Passes over the memory per second, of all threads together: the best of some samples."""
    spans = spans_of(kernel, size, threads, clock)

    def rate(repeat: int) -> float:
        return sum(repeat / max(span, 1e-9) for span in spans(repeat))

    repeat = 1
    while repeat * threads / (found := rate(repeat)) < SECONDS:
        repeat = max(repeat + 1, int(min(1.5 * SECONDS * found / threads, 100 * repeat)))
    samples = SAMPLES if repeat > 1 else SAMPLES // 4
    return max(rate(repeat) for _ in range(samples))


def spans_of(kernel: Kernel, size: int, threads: int, clock: Clock) -> Callable[[int], list[float]]:
    """A function of a number of passes: the seconds that they take on each of so many threads."""
    # Written, as pages of new memory are all the same page until then.
    arrays = [np.empty(size + 64, "uint8") for _ in range(threads)]
    for array in arrays:
        array.fill(0)
    aligned = [array[-array.ctypes.data % 64 :] for array in arrays]

    def spans(repeat: int) -> list[float]:
        return _together(
            [partial(_timed, kernel, a.ctypes.data, size, repeat, clock) for a in aligned]
        )

    return spans


def _timed(kernel: Kernel, address: int, size: int, repeat: int, clock: Clock) -> float:
    """Seconds of a number of passes."""
    start = clock()
    kernel(address, size, repeat)
    return clock() - start


def _together(functions: Sequence[Callable[[], float]]) -> list[float]:
    """The results of functions that begin at the same time, each in a thread."""
    if len(functions) == 1:
        return [functions[0]()]
    barrier = threading.Barrier(len(functions))

    def started(function: Callable[[], float]) -> float:
        barrier.wait()
        return function()

    with ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(started, functions))


if __name__ == "__main__":
    print(json.dumps(asdict(measure(int(sys.argv[1]), target=sys.argv[2]))))
