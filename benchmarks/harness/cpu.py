"""For which processor a process compiles, and what peers may use of this one.

A machine with AVX-512 can so stand for one with AVX2: ours is compiled for that, and the other
packages are told to do without what it lacks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from tilewright.target import Target

VARIABLE: Final = "TILEWRIGHT_BENCH_CPU"
"""The environment variable with LLVM's name of the processor; unset for this one."""

LIMITS: Final[Mapping[str, Mapping[str, str]]] = {
    "x86-64-v3": {
        "OPENBLAS_CORETYPE": "Haswell",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    },
    "x86-64-v2": {
        "OPENBLAS_CORETYPE": "Nehalem",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
}
"""What numpy, OpenBLAS, torch, oneDNN and MKL read when they are loaded, by level of x86-64.

onnxruntime has nothing of the kind, and uses all that the processor has."""


def environment(cpu: str) -> dict[str, str]:
    """The variables for a process that compiles for `cpu`, or for this processor if it is empty."""
    return {VARIABLE: cpu, **LIMITS[cpu]} if cpu else {}


def named() -> str:
    """The processor that this process was told to compile for; empty for this one."""
    return os.environ.get(VARIABLE, "")


def target(threads: int | None = None) -> Target:
    """What this process compiles for, with so many threads, or as many as there are cores."""
    parts = [
        "llvm",
        f"-mcpu={named()}" if named() else "",
        f"-num-cores={threads}" if threads else "",
    ]
    return Target(" ".join(part for part in parts if part))
