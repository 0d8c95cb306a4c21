"""Schedules of operators, as functions from their results to a schedule.

All of them leave the choice to `tvm.build`, which schedules what has no schedule of its own for the
machine; see docs/default_schedule.md. Programs may change what they get, as any schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.target import Target
from tilewright.te.schedule import Schedule, create_schedule
from tilewright.te.tensor import Tensor


def default_schedule(outs: Tensor | Sequence[Tensor], *_: object) -> Schedule:
    """The schedule of a computation that has none.

    Args:
        outs: the results.
    """
    tensors = [outs] if isinstance(outs, Tensor) else outs
    return create_schedule([tensor.op for tensor in tensors])


def get_injective_schedule(target: str | Target) -> Callable[..., Schedule]:
    """The function that schedules elementwise results for `target`."""
    del target  # `tvm.build` gets it again
    return default_schedule


get_broadcast_schedule = get_elemwise_schedule = get_reduce_schedule = get_injective_schedule

_KINDS = (
    "adaptive_pool", "argwhere", "batch_matmul", "bitserial_dense", "concatenate", "conv1d_ncw",
    "conv1d_nwc", "conv2d", "conv2d_NCHWc", "conv2d_hwcn", "conv2d_nchw", "conv2d_nhwc",
    "conv2d_transpose_nchw", "conv3d_ncdhw", "conv3d_ndhwc", "conv3d_transpose_ncdhw", "dense",
    "depthwise_conv2d_nchw", "depthwise_conv2d_nhwc", "extern", "group_conv2d_nchw", "injective",
    "lrn", "pool", "reduce", "scan", "scatter", "softmax", "sort", "topk",
)  # fmt: skip

__all__ = ["default_schedule", *(f"schedule_{kind}" for kind in _KINDS)]  # pyright: ignore


def __getattr__(name: str) -> object:
    """``schedule_reduce`` and its like."""
    if name in __all__:
        return default_schedule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
