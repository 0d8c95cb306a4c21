"""What schedules have to know about a device that runs blocks of threads."""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.target.gpu import figures_of
from tilewright.target.target import Target


class Accelerator(NamedTuple):
    """A device, as default schedules and the tuner know it; by default what most GPUs have.

    Attributes:
        threads: maximum number of threads of a block.
        warp: number of threads that run in step.
        lanes: number of threads that can exchange values without memory; 0 if none can.
        shared_bytes: bytes of memory that the threads of a block share.
        registers: number of 32-bit registers of a multiprocessor.
        multiprocessors: number of multiprocessors.
    """

    threads: int = 1024
    warp: int = 32
    lanes: int = 0
    shared_bytes: int = 48 << 10
    registers: int = 1 << 16
    multiprocessors: int = 64


def accelerator_of(target: Target) -> Accelerator:
    """The device of a target, as far as its attributes or its architecture say it."""
    default, attrs = Accelerator(), target.attrs
    is_known = target.arch or "multi_processor_count" in attrs
    return Accelerator(
        attrs.get("max_threads_per_block", attrs.get("max_num_threads", default.threads)),
        attrs.get("thread_warp_size", default.warp),
        32 if target.kind.name == "cuda" else default.lanes,
        attrs.get("max_shared_memory_per_block", default.shared_bytes),
        attrs.get("registers_per_block", default.registers),
        figures_of(target).multiprocessors if is_known else default.multiprocessors,
    )


def limits_of(target: Target) -> dict[str, int]:
    """What a kernel of a target may use at most, by the constraints of `verify_gpu_code`.

    Of OpenCL, whose devices differ, that is what attributes say.
    """
    attrs = target.attrs
    limits = dict(_CUDA_LIMITS) if target.kind.name == "cuda" else {}
    threads = attrs.get("max_threads_per_block", attrs.get("max_num_threads"))
    found = {
        "max_threads_per_block": threads,
        "max_shared_memory_per_block": attrs.get("max_shared_memory_per_block"),
        "max_local_memory_per_block": attrs.get("max_local_memory_per_block"),
    }
    return limits | {name: limit for name, limit in found.items() if limit is not None}


_CUDA_LIMITS: Final = {
    "max_threads_per_block": 1024,
    "max_thread_x": 1024,
    "max_thread_y": 1024,
    "max_thread_z": 64,
    "max_shared_memory_per_block": 48 << 10,
    "max_local_memory_per_block": 512 << 10,
}
"""Of all GPUs from Turing on; see the CUDA C++ Programming Guide, table of technical
specifications. Memory whose size the text of a kernel says is 48 KiB at most."""
