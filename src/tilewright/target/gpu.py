"""Figures of GPUs, by architecture."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from tilewright.target.target import Target


class Gpu(NamedTuple):
    """What a GPU can do at most.

    Attributes:
        multiprocessors: number of multiprocessors.
        clock: cycles per second of these, at the highest frequency that is published.
        bandwidth: bytes per second of the memory of the device.
        l2_cache: bytes of the cache that all multiprocessors share.
        l1_cache: bytes of the memory of a multiprocessor that is its cache, and shared memory.
        shared_memory: bytes of shared memory of a multiprocessor.
        threads: number of threads that a multiprocessor has at a time.
        blocks: number of blocks of threads that it has at a time.
        lanes: multiply-adds of float32 that it begins in a cycle.
        double_lanes: the same of float64.
        registers: registers of 4 bytes that it has.
        warp: number of threads that run in step.
    """

    multiprocessors: int
    clock: float
    bandwidth: float
    l2_cache: int
    l1_cache: int
    shared_memory: int
    threads: int
    blocks: int
    lanes: int
    double_lanes: int
    registers: int = 1 << 16
    warp: int = 32


_ARCHITECTURES: Final = {
    # Tesla T4, A100 (40 GB), GeForce RTX 3090, Jetson AGX Orin, GeForce RTX 4090, H100 SXM, B200,
    # and GeForce RTX 5090: data sheets and white papers of NVIDIA, and the table of technical
    # specifications by compute capability of the CUDA C++ Programming Guide.
    75: Gpu(40, 1.59e9, 320e9, 4 << 20, 96 << 10, 64 << 10, 1024, 16, 64, 2),
    80: Gpu(108, 1.41e9, 1555e9, 40 << 20, 192 << 10, 164 << 10, 2048, 32, 64, 32),
    86: Gpu(82, 1.695e9, 936e9, 6 << 20, 128 << 10, 100 << 10, 1536, 16, 128, 2),
    87: Gpu(16, 1.3e9, 205e9, 4 << 20, 192 << 10, 164 << 10, 1536, 16, 128, 2),
    89: Gpu(128, 2.52e9, 1008e9, 72 << 20, 128 << 10, 100 << 10, 1536, 24, 128, 2),
    90: Gpu(132, 1.98e9, 3352e9, 50 << 20, 256 << 10, 228 << 10, 2048, 32, 128, 64),
    100: Gpu(148, 1.965e9, 8000e9, 126 << 20, 256 << 10, 228 << 10, 2048, 32, 128, 64),
    120: Gpu(170, 2.407e9, 1792e9, 96 << 20, 128 << 10, 100 << 10, 1536, 24, 128, 2),
}
"""A GPU of each compute capability, times ten."""

UNKNOWN: Final = 75
"""The one whose figures those of an unknown GPU are thought to be."""


def compute_capability(target: Target) -> int:
    """The compute capability that a target names, times ten; `UNKNOWN` if it names none."""
    match = re.match(r"sm_(\d+)", target.arch)
    return int(match[1]) if match else UNKNOWN


def figures_of(target: Target) -> Gpu:
    """The figures of the GPU that a target describes.

    They are those of a GPU of its architecture (the attribute `arch`), or of the next older one
    that is known, with what other attributes say: `multi_processor_count`, `clock_rate_mhz`,
    `memory_bandwidth_gbps`, `l2_cache_size_bytes`, `registers_per_block` and `thread_warp_size`.
    """
    wanted = compute_capability(target)
    known = _ARCHITECTURES[max((n for n in _ARCHITECTURES if n <= wanted), default=UNKNOWN)]
    attrs = target.attrs
    return known._replace(
        multiprocessors=attrs.get("multi_processor_count", known.multiprocessors),
        clock=attrs.get("clock_rate_mhz", known.clock / 1e6) * 1e6,
        bandwidth=attrs.get("memory_bandwidth_gbps", known.bandwidth / 1e9) * 1e9,
        l2_cache=attrs.get("l2_cache_size_bytes", known.l2_cache),
        registers=attrs.get("registers_per_block", known.registers),
        warp=attrs.get("thread_warp_size", known.warp),
    )
