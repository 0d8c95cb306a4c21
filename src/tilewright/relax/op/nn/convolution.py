"""Convolutions and transposed convolutions, in any layout.

::

    y = R.nn.conv2d(x, w, strides=2, padding=(1, 1))
    y = R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tilewright import topi
from tilewright.error import ArgumentValueError, require_at_least
from tilewright.ir.arithmetic import floordiv
from tilewright.relax.expr import Call, RelaxExpr
from tilewright.relax.op.rules import (
    agreeing,
    numbers,
    require_agreement,
    requiring,
    result_dtype,
    sized,
)
from tilewright.relax.op.table import Inference, call, named, refusing, register
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.topi.nn.conv_transpose import transposed_convolution
from tilewright.topi.nn.convolution import convolution, require_divisible, require_groups
from tilewright.topi.nn.transposed_phases import spread_extent
from tilewright.topi.nn.window import (
    padding_of,
    per_dimension,
    places,
    reach,
    simplified,
    spatial_axes,
)
from tilewright.topi.operands import accumulator

__all__ = ["conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose"]


class _Layouts(NamedTuple):
    data: str
    kernel: str


def _options(
    owner: str, rank: int, attrs: dict[str, Any], data_layout: str, kernel_layout: str,
    out_layout: str | None, out_dtype: str | None,
) -> dict[str, Any]:  # fmt: skip
    """The attributes of a call, checked."""
    layouts = _layouts(owner, data_layout, kernel_layout, out_layout, rank)
    for option in ("strides", "dilation"):
        attrs[option] = per_dimension(owner, option, attrs[option], rank)
    if not isinstance(attrs["padding"], str):
        attrs["padding"] = numbers(owner, "padding", attrs["padding"], 2 * rank)
    if "output_padding" in attrs:
        attrs["output_padding"] = numbers(owner, "output_padding", attrs["output_padding"], rank)
    require_at_least(f"{owner}: `groups`", attrs["groups"], 1)
    attrs |= {"data_layout": layouts.data, "kernel_layout": layouts.kernel}
    dtype = result_dtype(out_dtype)
    return attrs if dtype is None else {**attrs, "out_dtype": dtype}


def _layouts(
    owner: str, data_layout: str, kernel_layout: str, out_layout: str | None, rank: int
) -> _Layouts:
    layouts = _Layouts(data_layout, kernel_layout)
    space = "DHW"[3 - rank :]
    for name, layout, letters in (
        ("data_layout", layouts.data, "NC" + space),
        ("kernel_layout", layouts.kernel, "OI" + space),
    ):
        if sorted(layout) != sorted(letters):
            raise ArgumentValueError(
                f"{owner}: `{name}` has each of the letters {letters} once, got {layout!r}"
            )
    if out_layout not in (None, "", layouts.data):
        raise ArgumentValueError(
            f"{owner}: `out_layout` is the same as `data_layout`, {layouts.data}; use "
            "permute_dims for another one"
        )
    return layouts


# --- inference ------------------------------------------------------------------------------


def _operands(
    inference: Inference,
) -> tuple[TensorStructInfo, TensorStructInfo, _Layouts, TensorStructInfo]:
    """Both operands, their layouts, and the result without its extents."""
    layouts = _Layouts(str(inference.attr("data_layout")), str(inference.attr("kernel_layout")))
    data, weight = inference.tensor(0), inference.tensor(1)
    for position, (info, layout) in enumerate(zip((data, weight), layouts, strict=True)):
        if info.ndim not in (-1, len(layout)):
            inference.error(
                f"{inference.name_of(position)} has the layout {layout}, so {len(layout)} "
                f"dimensions, not {info.ndim}"
            )
    dtype = inference.attr("out_dtype") or inference.same_dtype(0, 1)
    return data, weight, layouts, TensorStructInfo(None, dtype, data.vdevice, len(layouts.data))


@refusing
def _infer(inference: Inference) -> TensorStructInfo:
    data, weight, layouts, result = _operands(inference)
    images, kernel = data.extents, weight.extents
    if images is None or kernel is None:
        return result
    attrs, owner = inference.call.attrs, inference.owner
    groups, dilation = attrs["groups"], attrs["dilation"]
    channels = images[layouts.data.index("C")]
    filters, depth = (kernel[layouts.kernel.index(letter)] for letter in "OI")
    require_groups(owner, channels, filters, depth, groups)
    shape = list(images)
    shape[layouts.data.index("C")] = filters
    window = [kernel[axis] for axis in spatial_axes(layouts.kernel)]
    amounts = padding_of(owner, attrs["padding"], window, dilation)
    for axis, extent, stride, apart, before, after in zip(
        spatial_axes(layouts.data), window, attrs["strides"], dilation, *amounts, strict=True
    ):
        shape[axis] = places(owner, images[axis] + before + after, reach(extent, apart), stride)
    return result.replace(shape=shape)


@refusing
def _infer_transposed(inference: Inference) -> TensorStructInfo:
    data, weight, layouts, result = _operands(inference)
    images, kernel = data.extents, weight.extents
    if images is None or kernel is None:
        return result
    attrs = inference.call.attrs
    inputs, outputs = (kernel[layouts.kernel.index(letter)] for letter in "IO")
    channels = images[layouts.data.index("C")]
    require_agreement(inference, "the channels of `data` and `weight`", channels, inputs)
    require_divisible(inference.owner, "input", channels, attrs["groups"])
    shape = list(images)
    shape[layouts.data.index("C")] = simplified(outputs * attrs["groups"])
    window = [kernel[axis] for axis in spatial_axes(layouts.kernel)]
    cut = padding_of(inference.owner, attrs["padding"], window, attrs["dilation"])
    for axis, extent, stride, apart, before, after, extra in zip(
        spatial_axes(layouts.data), window, attrs["strides"], attrs["dilation"], *cut,
        attrs["output_padding"], strict=True,
    ):  # fmt: skip
        shape[axis] = spread_extent(images[axis], extent, stride, apart, before + after, extra)
        if inference.analyzer.can_prove(shape[axis] < 0):
            inference.error(f"`padding` cuts off more than the result has, {attrs['padding']}")
    return result.replace(shape=shape)


# --- legalisation ---------------------------------------------------------------------------


def _legalize(builder: Any, expr: Call) -> Any:
    return _call_kernel(builder, expr, convolution, {})


def _legalize_transposed(builder: Any, expr: Call) -> Any:
    extra = {"output_padding": expr.attrs["output_padding"]}
    return _call_kernel(builder, expr, transposed_convolution, extra)


def _call_kernel(
    builder: Any, expr: Call, function: Callable[..., Any], extra: dict[str, Any]
) -> Any:
    attrs, result = expr.attrs, expr.struct_info
    assert isinstance(result, TensorStructInfo)
    assert result.dtype is not None
    layouts = _Layouts(attrs["data_layout"], attrs["kernel_layout"])
    wide = accumulator(result.dtype)
    weight = expr.args[1]
    data, images = sized(builder, expr.args[0])
    weight, kernel_extents = sized(builder, weight)
    groups, channels = attrs["groups"], images[layouts.data.index("C")]
    if groups == 1 or function is transposed_convolution:
        weight = agreeing(builder, weight, {layouts.kernel.index("I"): channels})
    else:
        inputs = kernel_extents[layouts.kernel.index("I")]
        data = agreeing(builder, data, {layouts.data.index("C"): simplified(inputs * groups)})
        weight = _of_whole_groups(builder, weight, layouts.kernel.index("O"), groups)
    if function is transposed_convolution:
        data = _of_whole_groups(builder, data, layouts.data.index("C"), groups)
    name = expr.op.name.rpartition(".")[2]  # type: ignore[union-attr]

    def kernel(images: Any, weights: Any) -> Any:
        summed = function(
            name, images, weights, attrs["strides"], attrs["padding"], attrs["dilation"],
            *extra.values(), groups=attrs["groups"], out_dtype=str(wide),
            data_layout=layouts.data, kernel_layout=layouts.kernel,
        )  # fmt: skip
        return summed if wide is result.dtype else topi.cast(summed, str(result.dtype))

    return builder.call_te(kernel, data, weight, primfunc_name_hint=name)


def _of_whole_groups(builder: Any, value: RelaxExpr, axis: int, groups: int) -> RelaxExpr:
    """`value`, with a check that `groups` divides its extent along `axis`."""
    value, extents = sized(builder, value)
    multiple = simplified(floordiv(extents[axis], groups) * groups)
    return requiring(builder, value, {axis: multiple})


# --- the operators --------------------------------------------------------------------------

SPACES: Final = {1: "sequences", 2: "images", 3: "volumes"}

CONVOLUTION: Final = """A convolution of images.

    Args:
        data: the images.
        weight: the kernel.
        strides: how far a window moves; one number, or one for each spatial dimension.
        padding: zeros around the images: one number, one for each spatial dimension, or all that
            come before and then all that come after.
        dilation: the distances of the elements of a window.
        groups: into how many parts, which do not mix, the channels are divided.
        data_layout: the order of the dimensions of `data`: batch ``N``, channels ``C``, height
            ``H`` and width ``W``.
        kernel_layout: that of `weight`: output channels ``O``, input channels of a group ``I``.
        out_layout: that of the result; only `data_layout` is possible.
        out_dtype: of the result, by default that of `data`. Products of half precision are added
            in single precision in any case.
    """

TRANSPOSED: Final = """A transposed convolution: each element of `data`, times the kernel, spread \
over a window.

    Args:
        data: the images.
        weight: the kernel, where ``O`` are the output channels of one group.
        strides: how far apart the windows are.
        padding: what is cut off of the result.
        output_padding: what is added to the end of the result.
        dilation: the distances of the elements of a window.
        groups: into how many parts, which do not mix, the channels are divided.
        data_layout: the order of the dimensions of `data`.
        kernel_layout: that of `weight`.
        out_layout: that of the result; only `data_layout` is possible.
        out_dtype: of the result, by default that of `data`.
    """


def _forward(rank: int, what: str) -> Callable[..., Call]:
    """The function that makes calls of a convolution with `rank` spatial dimensions."""
    name, space = f"conv{rank}d", "DHW"[3 - rank :]
    op = register(f"nn.{name}", ("data", "weight"), _infer, _legalize)

    @named(name, CONVOLUTION if rank == 2 else f"A convolution of {what}; see `conv2d`.")
    def convolve(
        data: Any, weight: Any, strides: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, data_layout: str = f"NC{space}", kernel_layout: str = f"OI{space}",
        out_layout: str | None = None, out_dtype: str | None = None,
    ) -> Call:  # fmt: skip
        attrs = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
        layouts = (data_layout, kernel_layout, out_layout)
        options = _options(f"R.nn.{name}", rank, attrs, *layouts, out_dtype)
        return call(op, data, weight, attrs=options)

    return convolve


def _transposed(rank: int, what: str) -> Callable[..., Call]:
    """As `_forward`, of a transposed convolution."""
    name, space = f"conv{rank}d_transpose", "DHW"[3 - rank :]
    op = register(f"nn.{name}", ("data", "weight"), _infer_transposed, _legalize_transposed)
    other = f"A transposed convolution of {what}; see `conv2d_transpose`."

    @named(name, TRANSPOSED if rank == 2 else other)
    def convolve(
        data: Any, weight: Any, strides: Any = 1, padding: Any = 0, output_padding: Any = 0,
        dilation: Any = 1, groups: int = 1, data_layout: str = f"NC{space}",
        kernel_layout: str = f"IO{space}", out_layout: str | None = None,
        out_dtype: str | None = None,
    ) -> Call:  # fmt: skip
        attrs = {
            "strides": strides, "padding": padding, "output_padding": output_padding,
            "dilation": dilation, "groups": groups,
        }  # fmt: skip
        layouts = (data_layout, kernel_layout, out_layout)
        options = _options(f"R.nn.{name}", rank, attrs, *layouts, out_dtype)
        return call(op, data, weight, attrs=options)

    return convolve


conv1d, conv2d, conv3d = (_forward(rank, what) for rank, what in SPACES.items())
conv1d_transpose, conv2d_transpose, conv3d_transpose = (
    _transposed(rank, what) for rank, what in SPACES.items()
)
