"""Which rules, postprocessors and mutators a target gets."""

from __future__ import annotations

from tilewright.target import Target
from tilewright.tir.tensor_intrin import TensorIntrin

TENSOR_CORE = "wmma_sync_16x16x16_f16f16f32"
"""The intrinsic that tells whether those for tensor cores are registered."""


def kind_of(target: Target) -> str:
    """The name of the rules for a target: its kind, or more special ones that its features allow.

    That is ``"vnni"`` for x86 CPUs with AVX-512 VNNI, ``"dotprod"`` for ARM CPUs with dot products,
    ``"cuda-tensorcore"`` for CUDA where there are intrinsics for tensor cores.
    """
    name = target.kind.name
    if name == "llvm" and target.architecture == "x86_64" and "avx512vnni" in target.features:
        return "vnni"
    if name == "llvm" and target.architecture == "aarch64" and "dotprod" in target.features:
        return "dotprod"
    if name == "cuda" and TensorIntrin.get(TENSOR_CORE, allow_missing=True) is not None:
        return "cuda-tensorcore"
    return name
