"""Dot products of 8-bit integers, by the instructions of each processor."""

import itertools
import platform

import ml_dtypes
import numpy as np
import pytest
from tests.target.llvm.emulation import emulated
from tests.target.llvm.programs import check, compiled, function

from tilewright import tir
from tilewright.error import DTypeError
from tilewright.ir import const
from tilewright.target import Target
from tilewright.target.cpu import host
from tilewright.tir import op

PROCESSORS = (
    ("x86-64", {"sse2"}),
    ("haswell", {"avx2"}),
    ("alderlake", {"avxvnni"}),
    ("skylake-avx512", {"avx512bw"}),
    ("cascadelake", {"avx512vnni"}),
)
TARGETS = [Target("llvm")] + [
    Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    for cpu, needed in PROCESSORS
    if platform.machine() == "x86_64" and needed <= host().features
]
SIGNS = list(itertools.product(("int8", "uint8"), repeat=2))
EDGES = np.array([0, 1, 127, 128, 129, 255], "uint8")


def lanes_of(count):
    return const(0) if count == 1 else tir.Ramp(const(0), const(1), count)


def dot_products(lanes, a, b, c="int32", operator=op.dp4a):
    """C[i] += A[4 * i + k] * B[4 * i + k] for all k < 4, for all i at once."""
    shapes = ((4 * lanes, a, "A"), (4 * lanes, b, "B"), (lanes, c, "C"))
    A, B, C = (tir.decl_buffer((count,), dtype, name) for count, dtype, name in shapes)
    x, y = (buffer.vload((lanes_of(4 * lanes),)) for buffer in (A, B))
    index = (lanes_of(lanes),)
    return function([A, B, C], tir.BufferStore(C, operator(x, y, C.vload(index)), index))


def edge_values(lanes, a, b, c):
    """The numbers that make the largest products, and sums that wrap around."""
    rng = np.random.default_rng(lanes)
    x, y = (rng.choice(EDGES, 4 * lanes) for _ in range(2))
    x[:4] = y[:4] = 128  # the least int8
    total = rng.integers(-(2**31), 2**31, lanes).astype("int32")
    return x.view(a), y.view(b), total.view(c)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.cpu)
@pytest.mark.parametrize("lanes", [1, 3, 4, 8, 16, 20])
def test_every_product_and_sum_is_exact(target, lanes):
    for (a, b), c in itertools.product(SIGNS, ("int32", "uint32")):
        check(dot_products(lanes, a, b, c), *edge_values(lanes, a, b, c), target=target)


def narrow_products(lanes, *, swapped):
    dtypes = ("int8", "uint8") if swapped else ("uint8", "int8")
    return dot_products(lanes, *dtypes, operator=op.dp4a_narrow)


def narrow_values(lanes, *, swapped):
    rng = np.random.default_rng(lanes)
    x = rng.choice(EDGES, 4 * lanes)
    y = rng.choice([-64, -63, -1, 0, 1, 63, 64], 4 * lanes).astype("int8")
    x[:4], y[:4] = 255, 64  # the largest sum
    x[-4:], y[-4:] = 255, -64
    total = rng.integers(-(2**31), 2**31, lanes).astype("int32")
    return (y, x, total) if swapped else (x, y, total)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.cpu)
@pytest.mark.parametrize("lanes", [1, 3, 4, 8, 16, 20])
def test_products_of_narrow_numbers_are_exact(target, lanes):
    for swapped in (False, True):
        values = narrow_values(lanes, swapped=swapped)
        check(narrow_products(lanes, swapped=swapped), *values, target=target)


def test_narrow_products_are_of_an_unsigned_and_a_signed_number():
    with pytest.raises(DTypeError, match="uint8 and of int8, got int8x16 and int8x16"):
        dot_products(4, "int8", "int8", operator=op.dp4a_narrow)


def instructions(spec, lanes, a, b, operator=op.dp4a):
    target = Target(spec)
    text = compiled(dot_products(lanes, a, b, operator=operator), target).assembly
    lines = (line.strip().removeprefix("{vex}").split() for line in text.splitlines())
    return [line[0] for line in lines if line]


X86, ARM = "llvm -mtriple=x86_64-linux-gnu -mcpu=", "llvm -mtriple=aarch64-linux-gnu -mattr=+neon"


@pytest.mark.parametrize(
    ("spec", "lanes", "counts"),
    [
        (X86 + "cascadelake", 16, {("uint8", "int8"): ("vpdpbusd", 1)}),
        (X86 + "cascadelake", 32, {("int8", "uint8"): ("vpdpbusd", 2)}),
        (X86 + "cascadelake", 8, {("int8", "int8"): ("vpdpbusd", 2)}),
        (X86 + "alderlake", 8, {("uint8", "int8"): ("vpdpbusd", 1)}),
        (X86 + "sierraforest", 8, {("int8", "int8"): ("vpdpbssd", 1),
                                   ("uint8", "uint8"): ("vpdpbuud", 1),
                                   ("uint8", "int8"): ("vpdpbusd", 1)}),
        (X86 + "haswell", 8, dict.fromkeys(SIGNS, ("vpmaddwd", 2))),
        (X86 + "haswell", 16, dict.fromkeys(SIGNS, ("vpmaddwd", 4))),
        (X86 + "x86-64", 4, dict.fromkeys(SIGNS, ("pmaddwd", 2))),
        (ARM + ",+dotprod", 4, {("int8", "int8"): ("sdot", 1), ("uint8", "uint8"): ("udot", 1)}),
        (ARM + ",+dotprod", 8, {("int8", "int8"): ("sdot", 2)}),
        (ARM + ",+dotprod,+i8mm", 4, {("uint8", "int8"): ("usdot", 1)}),
    ],
)  # fmt: skip
def test_instructions(spec, lanes, counts):
    for signs, (instruction, count) in counts.items():
        assert instructions(spec, lanes, *signs).count(instruction) == count, signs


@pytest.mark.parametrize(
    ("spec", "lanes", "instruction"),
    [
        (X86 + "haswell", 8, "vpmaddubsw"),
        (X86 + "skylake-avx512", 16, "vpmaddubsw"),
        (X86 + "cascadelake", 16, "vpdpbusd"),
        (X86 + "x86-64", 4, "pmaddwd"),
        (ARM + ",+dotprod,+i8mm", 4, "usdot"),
    ],
)
def test_instructions_for_narrow_numbers(spec, lanes, instruction):
    for signs in (("uint8", "int8"), ("int8", "uint8")):
        assert instruction in instructions(spec, lanes, *signs, operator=op.dp4a_narrow)


def pairs(lanes, dtype, sums):
    """C[i] += A[2 * i] * B[2 * i] + A[2 * i + 1] * B[2 * i + 1] for all i at once."""
    shapes = ((2 * lanes, dtype, "A"), (2 * lanes, dtype, "B"), (lanes, sums, "C"))
    A, B, C = (tir.decl_buffer((count,), kind, name) for count, kind, name in shapes)
    x, y = (buffer.vload((lanes_of(2 * lanes),)) for buffer in (A, B))
    index = (lanes_of(lanes),)
    return function([A, B, C], tir.BufferStore(C, op.dp2a(x, y, C.vload(index)), index))


def matrices(a, b, sums):
    """C[i, j] += A[i, k] * B[j, k] for all i, j < 2 and k."""
    size = 4 if a == "bfloat16" else 8
    shapes = ((2 * size, a, "A"), (2 * size, b, "B"), (4, sums, "C"))
    A, B, C = (tir.decl_buffer((count,), kind, name) for count, kind, name in shapes)
    x, y = (buffer.vload((lanes_of(2 * size),)) for buffer in (A, B))
    index = (lanes_of(4),)
    return function([A, B, C], tir.BufferStore(C, op.mmla(x, y, C.vload(index)), index))


@pytest.mark.parametrize("spec", ["llvm", ARM, ARM + ",+i8mm,+bf16", "riscv/rv64gcv"])
def test_products_of_matrices(spec):
    target = Target(spec)
    with emulated(target):
        for (a, b), sums in itertools.product(SIGNS, ("int32", "uint32")):
            check(matrices(a, b, sums), *edge_values(4, a, b, sums), target=target)
        rng = np.random.default_rng(0)
        x, y = (rng.standard_normal(8).astype(ml_dtypes.bfloat16) for _ in range(2))
        totals = rng.standard_normal(4).astype("float32")
        func = matrices("bfloat16", "bfloat16", "float32")
        check(func, x, y, totals, target=target, tolerance=1e-5)


@pytest.mark.parametrize(
    ("a", "b", "sums", "instruction"),
    [("int8", "int8", "int32", "smmla"), ("uint8", "uint8", "uint32", "ummla"),
     ("uint8", "int8", "int32", "usmmla"), ("bfloat16", "bfloat16", "float32", "bfmmla")],
)  # fmt: skip
def test_instructions_for_matrices(a, b, sums, instruction):
    code = compiled(matrices(a, b, sums), Target(ARM + ",+i8mm,+bf16")).assembly
    assert code.count(f"\t{instruction}\t") == 1


def test_operands_of_matrices():
    x, short = tir.Broadcast(const(1, "int8"), 16), tir.Broadcast(const(1, "int8"), 8)
    assert op.mmla(x, x).dtype == "int32x4"
    with pytest.raises(DTypeError, match="16 lanes of int8"):
        op.mmla(x, short)
    with pytest.raises(DTypeError, match="adds to int32 or uint32 of 4 lanes"):
        op.mmla(x, x, tir.Broadcast(const(0.0, "float32"), 4))


OTHERS = [
    X86 + "cascadelake", X86 + "cooperlake", X86 + "alderlake", X86 + "sierraforest", ARM,
    ARM + ",+dotprod", ARM + ",+dotprod,+i8mm,+bf16", "riscv/rv64gcv",
]  # fmt: skip


@pytest.mark.parametrize("spec", OTHERS)
def test_processors_that_this_machine_lacks(spec):
    target = Target(spec)
    with emulated(target):
        for a, b in SIGNS:
            check(dot_products(16, a, b), *edge_values(16, a, b, "int32"), target=target)
        for swapped in (False, True):
            values = narrow_values(16, swapped=swapped)
            check(narrow_products(16, swapped=swapped), *values, target=target)
        rng = np.random.default_rng(0)
        x, y = (rng.choice([-(2**15), -1, 1, 2**15 - 1], 40).astype("int16") for _ in range(2))
        check(pairs(20, "int16", "int32"), x, y, np.arange(20, dtype="int32"), target=target)
        x, y = (rng.standard_normal(24).astype(ml_dtypes.bfloat16) for _ in range(2))
        sums = rng.standard_normal(12).astype("float32")
        check(pairs(12, "bfloat16", "float32"), x, y, sums, target=target, tolerance=1e-5)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.cpu)
@pytest.mark.parametrize("lanes", [1, 3, 8, 20])
def test_pairs(target, lanes):
    rng = np.random.default_rng(lanes)
    x, y = (rng.choice([-(2**15), -1, 1, 2**15 - 1], 2 * lanes).astype("int16") for _ in range(2))
    check(pairs(lanes, "int16", "int32"), x, y, np.arange(lanes, dtype="int32"), target=target)
    x, y = (rng.standard_normal(2 * lanes).astype(ml_dtypes.bfloat16) for _ in range(2))
    sums = rng.standard_normal(lanes).astype("float32")
    check(pairs(lanes, "bfloat16", "float32"), x, y, sums, target=target, tolerance=1e-5)


@pytest.mark.parametrize(
    ("spec", "lanes", "dtype", "instruction"),
    [
        (X86 + "haswell", 8, "int16", "vpmaddwd"),
        (X86 + "cascadelake", 16, "int16", "vpdpwssd"),
        (X86 + "cooperlake", 16, "bfloat16", "vdpbf16ps"),
        (X86 + "znver4", 32, "bfloat16", "vdpbf16ps"),
        (ARM + ",+bf16", 4, "bfloat16", "bfdot"),
    ],
)
def test_instructions_for_pairs(spec, lanes, dtype, instruction):
    func = pairs(lanes, dtype, "int32" if dtype == "int16" else "float32")
    assert instruction in compiled(func, Target(spec)).assembly
