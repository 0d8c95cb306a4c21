"""The columns of the features of a store, in their order."""

from __future__ import annotations

from typing import Final

from tilewright.tune.feature.operations import NAMES

POSITIONS: Final = (
    "none", "inner_spatial", "middle_spatial", "outer_spatial", "inner_reduce", "middle_reduce",
    "outer_reduce", "mixed",
)  # fmt: skip
"""Where in a nest the loops of a kind are."""

LOOP_KINDS: Final = ("vectorize", "unroll", "parallel")

THREADS: Final = (
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
    "vthread",
)  # fmt: skip

BUFFER: Final = (
    "is_read", "is_write", "is_read_write", "bytes", "unique_bytes", "lines", "unique_lines",
    "reused_in_loop", "reused_by_others", "not_reused", "reuse_distance_iterations",
    "reuse_distance_bytes", "reuse_count", "bytes_per_reuse", "unique_bytes_per_reuse",
    "lines_per_reuse", "unique_lines_per_reuse", "stride",
)  # fmt: skip

ALLOCATION: Final = (
    "allocated_bytes", "allocated_outer", "allocated_inner", "allocated_altogether",
)  # fmt: skip

OUTER: Final = ("iterations", "loops", "unroll_step")

WORKLOAD: Final = (
    "workload_operations", "workload_functions", "workload_bytes", "workload_reduction",
    "workload_stores", "workload_intensity",
)  # fmt: skip
"""What the program computes, however it is scheduled."""


def column_names(buffers: int, samples: int, workload: bool = False) -> list[str]:
    """The names of all columns.

    Args:
        buffers: buffers of a store that are described.
        samples: points of the curve of arithmetic intensity.
        workload: whether the program as a whole is described, too.
    """
    names = list(NAMES)
    for kind in LOOP_KINDS:
        names += [f"{kind}_count", f"{kind}_product", f"{kind}_length"]
        names += [f"{kind}_is_{position}" for position in POSITIONS]
    names += ["is_gpu", *THREADS]
    for number in range(buffers):
        names += [f"buffer{number}_{name}" for name in BUFFER]
    names += [f"intensity{number}" for number in range(samples)]
    names += [*ALLOCATION, *OUTER]
    return [*names, *WORKLOAD] if workload else names
