"""What schedules have to know about a device that runs blocks of threads."""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.target.gpu import figures_of
from tilewright.target.target import Target


class Accelerator(NamedTuple):
    """A device, as default schedules and the tuner know it.

    Attributes:
        threads: maximum number of threads of a block.
        warp: number of threads that run in step.
        lanes: number of threads that can exchange values without memory; 0 if none can.
        shared_bytes: bytes of memory that the threads of a block share.
        multiprocessors: number of multiprocessors.
    """

    threads: int
    warp: int
    lanes: int
    shared_bytes: int
    multiprocessors: int


def accelerator_of(target: Target) -> Accelerator:
    """The device of a target; what its attributes do not say is as `figures_of` has it."""
    attrs, gpu = target.attrs, figures_of(target)
    return Accelerator(
        threads=_threads_of(target) or _CUDA_LIMITS["max_threads_per_block"],
        warp=gpu.warp,
        lanes=32 if target.kind.name == "cuda" else 0,
        shared_bytes=attrs.get(SHARED_BYTES, _CUDA_LIMITS[SHARED_BYTES]),
        multiprocessors=gpu.multiprocessors,
    )


def _threads_of(target: Target) -> int | None:
    """Maximum number of threads of a block, if a target says it."""
    return target.attrs.get("max_threads_per_block", target.attrs.get("max_num_threads"))


def limits_of(target: Target) -> dict[str, int]:
    """What a kernel of a target may use at most, by the constraints of `verify_gpu_code`.

    Of OpenCL, whose devices differ, that is what attributes say.
    """
    attrs = target.attrs
    limits = dict(_CUDA_LIMITS) if target.kind.name == "cuda" else {}
    found = {
        "max_threads_per_block": _threads_of(target),
        SHARED_BYTES: attrs.get(SHARED_BYTES),
        "max_local_memory_per_block": attrs.get("max_local_memory_per_block"),
    }
    return limits | {name: limit for name, limit in found.items() if limit is not None}


SHARED_BYTES: Final = "max_shared_memory_per_block"
"""The attribute, and the limit, of the memory that the threads of a block share."""

_CUDA_LIMITS: Final = {
    "max_threads_per_block": 1024,
    "max_thread_x": 1024,
    "max_thread_y": 1024,
    "max_thread_z": 64,
    SHARED_BYTES: 48 << 10,
    "max_local_memory_per_block": 512 << 10,
}
"""Of all GPUs from Turing on; see the CUDA C++ Programming Guide, table of technical
specifications. Memory whose size the text of a kernel says is 48 KiB at most."""
