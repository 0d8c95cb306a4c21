"""Dot products of 8-bit integers, by the instructions of each processor."""

import itertools
import platform

import numpy as np
import pytest
from tests.target.llvm.programs import check, compiled, function

from tilewright import tir
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


def dot_products(lanes, a, b, c="int32"):
    """C[i] += A[4 * i + k] * B[4 * i + k] for all k < 4, for all i at once."""
    shapes = ((4 * lanes, a, "A"), (4 * lanes, b, "B"), (lanes, c, "C"))
    A, B, C = (tir.decl_buffer((count,), dtype, name) for count, dtype, name in shapes)
    x, y = (buffer.vload((lanes_of(4 * lanes),)) for buffer in (A, B))
    index = (lanes_of(lanes),)
    return function([A, B, C], tir.BufferStore(C, op.dp4a(x, y, C.vload(index)), index))


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


def instructions(spec, lanes, a, b):
    target = Target(spec)
    text = compiled(dot_products(lanes, a, b), target).assembly
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
        (ARM, 4, {("int8", "int8"): ("smull2", 1), ("uint8", "uint8"): ("umull2", 1)}),
        (ARM + ",+dotprod", 4, {("int8", "int8"): ("sdot", 1), ("uint8", "uint8"): ("udot", 1)}),
        (ARM + ",+dotprod", 8, {("int8", "int8"): ("sdot", 2)}),
        (ARM + ",+dotprod,+i8mm", 4, {("uint8", "int8"): ("usdot", 1)}),
    ],
)  # fmt: skip
def test_instructions(spec, lanes, counts):
    for signs, (instruction, count) in counts.items():
        assert instructions(spec, lanes, *signs).count(instruction) == count, signs


def test_an_architecture_without_such_instructions():
    assert "vwmulu.vv" in instructions("riscv/rv64gcv", 4, "uint8", "uint8")
