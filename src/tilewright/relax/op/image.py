"""Graph operators of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright import topi
from tilewright.error import ArgumentValueError, require_one_of
from tilewright.relax.expr import Call, RelaxExpr, as_shape
from tilewright.relax.op.rules import at_least, require_at_least, result_dtype
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.struct_info import ShapeStructInfo, TensorStructInfo
from tilewright.topi.image.resize import COORDINATES, METHODS, ROUNDINGS


def _infer(inference: Inference) -> TensorStructInfo:
    info, size = inference.tensor(0), inference.struct_info(1)
    attrs = inference.call.attrs
    layout = attrs["layout"]
    if info.ndim not in (-1, 4):
        inference.error(f"argument `data` has the layout {layout}, 4 dimensions, not {info.ndim}")
    if not isinstance(size, ShapeStructInfo) or size.ndim not in (-1, 2):
        inference.error("argument `size` is a shape, height and width")
    dtype = attrs.get("out_dtype", info.dtype)
    if info.extents is None or size.values is None:
        return TensorStructInfo(None, dtype, info.vdevice, 4)
    require_at_least(inference, 0, info.extents, _spatial(layout))
    shape = list(info.extents)
    shape[layout.index("H")], shape[layout.index("W")] = size.values
    return TensorStructInfo(shape, dtype, info.vdevice)


def _spatial(layout: str) -> dict[int, int]:
    """Height and width: an image without pixels has no colour that another one might get."""
    return {layout.index("H"): 1, layout.index("W"): 1}


def _legalize(builder: Any, expr: Call) -> Any:
    a = expr.attrs
    data = at_least(builder, expr.args[0], _spatial(a["layout"]))
    return builder.call_te(
        topi.image.resize2d, data, None, expr.args[1], a["layout"], a["method"],
        a["coordinate_transformation_mode"], a["rounding_method"], a["cubic_alpha"],
        a["cubic_exclude"], 0.0, str(a["out_dtype"]) if "out_dtype" in a else None,
        primfunc_name_hint="resize2d",
    )  # fmt: skip


_RESIZE2D = register("image.resize2d", ("data", "size"), _infer, _legalize)


def resize2d(
    data: Any, size: Any, roi: Sequence[float] | None = None, layout: str = "NCHW",
    method: str = "linear", coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round", cubic_alpha: float = -0.5, cubic_exclude: int = 0,
    extrapolation_value: float = 0.0, out_dtype: str | None = None,
) -> Call:  # fmt: skip
    """Images of another size.

    Args:
        data: the images.
        size: height and width of the result, a shape or two integers; one number for both.
        roi: the part to be enlarged; only all of the image, zeros, is supported.
        layout: ``"NCHW"`` or ``"NHWC"``.
        method: ``"nearest_neighbor"``, ``"linear"`` or ``"cubic"``.
        coordinate_transformation_mode: where a pixel of the result is in the image; see
            `tilewright.topi.image.resize2d`.
        rounding_method: which neighbour is the nearest; see there.
        cubic_alpha: the parameter of the cubic kernel.
        cubic_exclude: whether pixels outside of the image have no weight.
        extrapolation_value: not used without `roi`.
        out_dtype: of the result, by default that of `data`.
    """
    del extrapolation_value
    owner = "R.image.resize2d"
    if roi is not None and any(getattr(item, "value", item) != 0 for item in roi):
        raise ArgumentValueError(f"{owner}: a region of interest, `roi`, is not supported")
    for name, value, known in (
        ("layout", layout, ("NCHW", "NHWC")),
        ("method", method, METHODS),
        ("coordinate_transformation_mode", coordinate_transformation_mode, COORDINATES),
        ("rounding_method", rounding_method or "round", ROUNDINGS),
    ):
        require_one_of(f"{owner}: `{name}`", value, known)
    attrs: dict[str, Any] = {
        "layout": layout, "method": method,
        "coordinate_transformation_mode": coordinate_transformation_mode,
        "rounding_method": rounding_method or "round", "cubic_alpha": float(cubic_alpha),
        "cubic_exclude": int(cubic_exclude),
    }  # fmt: skip
    if result_dtype(out_dtype) is not None:
        attrs["out_dtype"] = result_dtype(out_dtype)
    return call(_RESIZE2D, data, _as_size(size), attrs=attrs)


def _as_size(size: Any) -> Any:
    if isinstance(size, RelaxExpr):
        return size
    return as_shape(tuple(size) if isinstance(size, (tuple, list)) else (size, size))
