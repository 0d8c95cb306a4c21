"""What one block of threads may use on a GPU, as its target says."""

from __future__ import annotations

from typing import Final

from tilewright.target import Target

THREADS: Final = 1024
WARP: Final = 32
SHARED_BYTES: Final = 48 << 10
"""What all GPUs of the last ten years have."""


def is_gpu(target: Target) -> bool:
    """Whether its code runs as blocks of threads."""
    return "gpu" in target.keys


def max_threads_per_block(target: Target) -> int:
    """The most threads of a block."""
    return target.attrs.get("max_threads_per_block", target.attrs.get("max_num_threads", THREADS))


def thread_warp_size(target: Target) -> int:
    """How many threads run in step."""
    return target.attrs.get("thread_warp_size", WARP)


def max_shared_memory(target: Target) -> int:
    """Bytes of memory that the threads of a block share."""
    return target.attrs.get("max_shared_memory_per_block", SHARED_BYTES)
