"""Pooling: the maxima or averages of windows, of which the size or the number is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright import topi
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT64
from tilewright.relax.expr import Call
from tilewright.relax.op.rules import at_least, numbers, require_at_least
from tilewright.relax.op.table import Inference, call, refusing, register
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


def _pool(kind: str, rank: int) -> Callable[..., Call]:
    """The function that makes calls of a pooling with `rank` spatial dimensions."""
    name = f"{kind}_pool{rank}d"

    def legalize(builder: Any, expr: Call) -> Any:
        a = expr.attrs
        return builder.call_te(
            _POOLS[rank], expr.args[0], a["pool_size"], a["strides"], a["dilation"], a["padding"],
            kind, a["ceil_mode"], a["layout"], a["count_include_pad"], primfunc_name_hint=name,
        )  # fmt: skip

    op = register(f"nn.{name}", ("data",), _infer_pool, legalize)

    def make(attrs: dict[str, Any]) -> Call:
        owner = f"R.nn.{name}"
        _require_layout(owner, attrs["layout"], rank, attrs.pop("out_layout"))
        for option in ("pool_size", "strides", "dilation"):
            attrs[option] = per_dimension(owner, option, attrs[option], rank)
        attrs["padding"] = numbers(owner, "padding", attrs["padding"], 2 * rank)
        for option in ("ceil_mode", "count_include_pad"):
            attrs[option] = bool(attrs[option])
        return call(op, attrs.pop("data"), attrs=attrs)

    return make


_MAKERS = {(kind, rank): _pool(kind, rank) for kind in ("max", "avg") for rank in (1, 2, 3)}


def max_pool1d(
    data: Any, pool_size: Any = 1, strides: Any = 1, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, count_include_pad: bool = False, layout: str = "NCW",
    out_layout: str | None = None,
) -> Call:  # fmt: skip
    """The maxima of windows of sequences; see `max_pool2d`."""
    return _MAKERS["max", 1](locals())


def max_pool2d(
    data: Any, pool_size: Any = (1, 1), strides: Any = (1, 1), padding: Any = (0, 0),
    dilation: Any = (1, 1), ceil_mode: bool = False, count_include_pad: bool = False,
    layout: str = "NCHW", out_layout: str | None = None,
) -> Call:  # fmt: skip
    """The maxima of windows of images.

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
    return _MAKERS["max", 2](locals())


def max_pool3d(
    data: Any, pool_size: Any = (1, 1, 1), strides: Any = (1, 1, 1), padding: Any = (0, 0, 0),
    dilation: Any = (1, 1, 1), ceil_mode: bool = False, count_include_pad: bool = False,
    layout: str = "NCDHW", out_layout: str | None = None,
) -> Call:  # fmt: skip
    """The maxima of windows of volumes; see `max_pool2d`."""
    return _MAKERS["max", 3](locals())


def avg_pool1d(
    data: Any, pool_size: Any = 1, strides: Any = 1, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, count_include_pad: bool = False, layout: str = "NCW",
    out_layout: str | None = None,
) -> Call:  # fmt: skip
    """The averages of windows of sequences; see `avg_pool2d`."""
    return _MAKERS["avg", 1](locals())


def avg_pool2d(
    data: Any, pool_size: Any = (1, 1), strides: Any = (1, 1), padding: Any = (0, 0),
    dilation: Any = (1, 1), ceil_mode: bool = False, count_include_pad: bool = False,
    layout: str = "NCHW", out_layout: str | None = None,
) -> Call:  # fmt: skip
    """The averages of windows of images; see `max_pool2d`.

    `count_include_pad` says whether the elements that `padding` adds are counted.
    """
    return _MAKERS["avg", 2](locals())


def avg_pool3d(
    data: Any, pool_size: Any = (1, 1, 1), strides: Any = (1, 1, 1), padding: Any = (0, 0, 0),
    dilation: Any = (1, 1, 1), ceil_mode: bool = False, count_include_pad: bool = False,
    layout: str = "NCDHW", out_layout: str | None = None,
) -> Call:  # fmt: skip
    """The averages of windows of volumes; see `avg_pool2d`."""
    return _MAKERS["avg", 3](locals())


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


def _adaptive(rank: int) -> Callable[..., Call]:
    name = f"adaptive_avg_pool{rank}d"

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

    def make(data: Any, output_size: Any, layout: str, out_layout: str | None) -> Call:
        owner = f"R.nn.{name}"
        _require_layout(owner, layout, rank, out_layout)
        attrs: dict[str, Any] = {"layout": layout}
        if output_size is not None:
            attrs["output_size"] = per_dimension(owner, "output_size", output_size, rank)
        return call(op, data, attrs=attrs)

    return make


_ADAPTIVE1D, _ADAPTIVE2D, _ADAPTIVE3D = (_adaptive(rank) for rank in (1, 2, 3))


def adaptive_avg_pool1d(
    data: Any, output_size: Any = None, layout: str = "NCW", out_layout: str | None = None
) -> Call:
    """The averages of so many windows of sequences; see `adaptive_avg_pool2d`."""
    return _ADAPTIVE1D(data, output_size, layout, out_layout)


def adaptive_avg_pool2d(
    data: Any, output_size: Any = None, layout: str = "NCHW", out_layout: str | None = None
) -> Call:
    """The averages of ``output_size`` windows, which cover the images evenly.

    Args:
        data: the images.
        output_size: height and width of the result, or one number for both; by default those of
            the images.
        layout: the order of the dimensions.
        out_layout: that of the result; only `layout` is possible.
    """
    return _ADAPTIVE2D(data, output_size, layout, out_layout)


def adaptive_avg_pool3d(
    data: Any, output_size: Any = None, layout: str = "NCDHW", out_layout: str | None = None
) -> Call:
    """The averages of so many windows of volumes; see `adaptive_avg_pool2d`."""
    return _ADAPTIVE3D(data, output_size, layout, out_layout)
