"""Functions in LLVM's language that do nothing but multiply and add, or nothing but read."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

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


def instruction(dtype: str, target: Target) -> Instruction | None:
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
