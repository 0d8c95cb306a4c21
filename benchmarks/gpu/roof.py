"""What a GPU can do at most, from its properties."""

from __future__ import annotations

from typing import Any, Final

from tilewright.target import Target
from tilewright.target.gpu import figures_of

TENSOR_CORES: Final = {75: 512, 80: 1024, 86: 256, 87: 512, 89: 512, 90: 2048, 100: 4096, 120: 512}
"""Multiply-adds of float16 into float32 that a multiprocessor begins in a cycle, by ten times the
compute capability: white papers of NVIDIA, without sparsity. The GPUs of gamers have half of it."""


def target_of(device: Any) -> Target:
    """The target with what a CUDA device says of itself."""
    capability = round(10 * float(device.compute_version or "7.5"))
    attrs = {"kind": "cuda", "arch": f"sm_{capability}"}
    if device.multi_processor_count:
        attrs["multi_processor_count"] = device.multi_processor_count
    if device.max_clock_rate:
        attrs["clock_rate_mhz"] = device.max_clock_rate // 1000
    return Target(attrs)


def least_seconds(device: Any, flop: float, size: float, dtype: str, is_product: bool) -> float:
    """How long a work takes at least.

    Args:
        device: a CUDA device.
        flop: its floating-point operations.
        size: bytes that are read and written.
        dtype: of its elements; products of float16 and bfloat16 are for tensor cores.
        is_product: whether nearly all of it is a product.
    """
    target = target_of(device)
    gpu, capability = figures_of(target), int(target.arch.removeprefix("sm_"))
    rate = gpu.lanes
    if is_product and dtype != "float32":
        rate = TENSOR_CORES[max((n for n in TENSOR_CORES if n <= capability), default=75)]
    arithmetic = flop / (2.0 * rate * gpu.multiprocessors * gpu.clock)
    return max(arithmetic, size / gpu.bandwidth)
