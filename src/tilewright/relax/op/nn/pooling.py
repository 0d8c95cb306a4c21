"""Pooling: the maxima or averages of windows of a given size or number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tilewright import topi
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64
from tilewright.relax.expr import Call
from tilewright.relax.op.rules import at_least, numbers, require_at_least
from tilewright.relax.op.table import Inference, call, named, refusing, register
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.topi.nn.pooling import pooled_extents
from tilewright.topi.nn.window import per_dimension, spatial_axes

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d",
    "avg_pool2d", "avg_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip

_POOLS = {1: topi.nn.pool1d, 2: topi.nn.pool2d, 3: topi.nn.pool3d}


def _layout_of(inference: Inference, info: TensorStructInfo) -> str:
    layout = str(inference.attr("layout"))
    if info.ndim not in (-1, len(layout)):
        inference.error(
            f"argument `data` has the layout {layout}, so {len(layout)} dimensions, not {info.ndim}"
        )
    return layout


def _require_layout(owner: str, layout: str, rank: int, out_layout: str | None) -> None:
    letters = "NC" + "DHW"[3 - rank :]
    if sorted(layout) != sorted(letters):
        raise ArgumentValueError(
            f"{owner}: `layout` has each of the letters {letters} once, got {layout!r}"
        )
    if out_layout not in (None, "", layout):
        raise ArgumentValueError(f"{owner}: `out_layout` is the same as `layout`, {layout}")


# --- windows of a given size ----------------------------------------------------------------


@refusing
def _infer_pool(inference: Inference) -> TensorStructInfo:
    info = inference.tensor(0)
    layout, attrs = _layout_of(inference, info), inference.call.attrs
    if info.extents is None:
        return TensorStructInfo(None, info.dtype, info.vdevice, len(layout))
    shape = list(info.extents)
    axes = spatial_axes(layout)
    found = pooled_extents(
        inference.owner, [shape[axis] for axis in axes], attrs["pool_size"], attrs["strides"],
        attrs["dilation"], attrs["padding"], attrs["ceil_mode"],
    )  # fmt: skip
    for axis, extent in zip(axes, found, strict=True):
        shape[axis] = extent
    return TensorStructInfo(shape, info.dtype, info.vdevice)


SPACES: Final = {1: "sequences", 2: "images", 3: "volumes"}

MAX_POOL: Final = """The maxima of windows of images.

    Args:
        data: the images.
        pool_size: the extents of a window.
        strides: how far it moves.
        padding: what is added around the images, without ever being a maximum: one number, one
            for each spatial dimension, or all that come before and then all that come after.
        dilation: the distances of its elements.
        ceil_mode: whether windows may stick out at the end; each begins in the image or before.
        count_include_pad: of no meaning for maxima.
        layout: the order of the dimensions.
        out_layout: that of the result; only `layout` is possible.
    """

AVG_POOL: Final = """The averages of windows of images; see `max_pool2d`.

    `count_include_pad` says whether the elements that `padding` adds are counted.
    """


def _pool(kind: str, rank: int, doc: str) -> Callable[..., Call]:
    """The function that makes calls of a pooling with `rank` spatial dimensions."""
    name, default = f"{kind}_pool{rank}d", "NC" + "DHW"[3 - rank :]
    owner = f"R.nn.{name}"

    def legalize(builder: Any, expr: Call) -> Any:
        a = expr.attrs
        return builder.call_te(
            _POOLS[rank], expr.args[0], a["pool_size"], a["strides"], a["dilation"], a["padding"],
            kind, a["ceil_mode"], a["layout"], a["count_include_pad"], primfunc_name_hint=name,
        )  # fmt: skip

    op = register(f"nn.{name}", ("data",), _infer_pool, legalize)

    @named(name, doc)
    def pool(
        data: Any, pool_size: Any = 1, strides: Any = 1, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, count_include_pad: bool = False, layout: str = default,
        out_layout: str | None = None,
    ) -> Call:  # fmt: skip
        _require_layout(owner, layout, rank, out_layout)
        attrs = {
            "pool_size": per_dimension(owner, "pool_size", pool_size, rank),
            "strides": per_dimension(owner, "strides", strides, rank),
            "padding": numbers(owner, "padding", padding, 2 * rank),
            "dilation": per_dimension(owner, "dilation", dilation, rank),
            "ceil_mode": bool(ceil_mode),
            "count_include_pad": bool(count_include_pad),
            "layout": layout,
        }
        return call(op, data, attrs=attrs)

    return pool


max_pool1d, max_pool2d, max_pool3d = (
    _pool("max", n, MAX_POOL if n == 2 else f"The maxima of windows of {what}; see `max_pool2d`.")
    for n, what in SPACES.items()
)
avg_pool1d, avg_pool2d, avg_pool3d = (
    _pool("avg", n, AVG_POOL if n == 2 else f"The averages of windows of {what}; see `avg_pool2d`.")
    for n, what in SPACES.items()
)


# --- windows of a given number --------------------------------------------------------------


@refusing
def _infer_adaptive(inference: Inference) -> TensorStructInfo:
    info = inference.tensor(0)
    layout, size = _layout_of(inference, info), inference.call.attrs.get("output_size")
    if info.extents is None:
        return TensorStructInfo(None, info.dtype, info.vdevice, len(layout))
    require_at_least(inference, 0, info.extents, dict.fromkeys(spatial_axes(layout), 1))
    if size is None:
        return info
    shape = list(info.extents)
    for axis, extent in zip(spatial_axes(layout), size, strict=True):
        shape[axis] = const(extent, INT64)
    return TensorStructInfo(shape, info.dtype, info.vdevice)


ADAPTIVE: Final = """The averages of ``output_size`` windows, which cover the images evenly.

    Args:
        data: the images.
        output_size: height and width of the result, or one number for both; by default those of
            the images.
        layout: the order of the dimensions.
        out_layout: that of the result; only `layout` is possible.
    """


def _adaptive(rank: int, doc: str) -> Callable[..., Call]:
    name, default = f"adaptive_avg_pool{rank}d", "NC" + "DHW"[3 - rank :]

    def legalize(builder: Any, expr: Call) -> Any:
        size = expr.attrs.get("output_size")
        if size is None:
            return expr.args[0]
        layout = expr.attrs["layout"]
        data = at_least(builder, expr.args[0], dict.fromkeys(spatial_axes(layout), 1))
        return builder.call_te(
            topi.nn.adaptive_pool, data, size, "avg", layout, primfunc_name_hint=name
        )

    op = register(f"nn.{name}", ("data",), _infer_adaptive, legalize)

    @named(name, doc)
    def pool(
        data: Any, output_size: Any = None, layout: str = default, out_layout: str | None = None
    ) -> Call:
        owner = f"R.nn.{name}"
        _require_layout(owner, layout, rank, out_layout)
        attrs: dict[str, Any] = {"layout": layout}
        if output_size is not None:
            attrs["output_size"] = per_dimension(owner, "output_size", output_size, rank)
        return call(op, data, attrs=attrs)

    return pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    _adaptive(
        n,
        ADAPTIVE
        if n == 2
        else f"The averages of a given number of windows of {what}; see `adaptive_avg_pool2d`.",
    )
    for n, what in SPACES.items()
)
