"""Arrays with elements added around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tilewright import topi
from tilewright.error import ArgumentError, ArgumentValueError, require_one_of
from tilewright.relax.expr import Call
from tilewright.relax.op.rules import at_least, require_at_least, require_value
from tilewright.relax.op.table import Inference, call, register
from tilewright.relax.struct_info import TensorStructInfo
from tilewright.topi.nn.pad import least_extents

MODES: Final = ("constant", "reflect", "symmetric", "replicate", "circular")


def _infer(inference: Inference) -> TensorStructInfo:
    info, width = inference.tensor(0), inference.call.attrs["pad_width"]
    if info.ndim != -1 and len(width) != 2 * info.ndim:
        inference.error(
            f"`pad_width` has 2 numbers for each dimension, {2 * info.ndim}; it has {len(width)}"
        )
    if info.dtype is not None and inference.call.attrs["pad_mode"] == "constant":
        require_value(inference, inference.attr("pad_value"), info.dtype)
    if info.extents is None:
        return info
    require_at_least(inference, 0, info.extents, _least_extents(inference.call))
    simplify = inference.analyzer.simplify
    shape = [
        simplify(extent + before + after)
        for extent, before, after in zip(info.extents, width[::2], width[1::2], strict=True)
    ]
    return TensorStructInfo(shape, info.dtype, info.vdevice)


def _least_extents(expr: Call) -> dict[int, int]:
    width = expr.attrs["pad_width"]
    return least_extents(expr.attrs["pad_mode"], width[::2], width[1::2])


def _legalize(builder: Any, expr: Call) -> Any:
    width, mode = expr.attrs["pad_width"], expr.attrs["pad_mode"]
    before, after = list(width[::2]), list(width[1::2])
    data = at_least(builder, expr.args[0], _least_extents(expr))
    if mode == "constant":
        value = expr.attrs["pad_value"]
        return builder.call_te(topi.nn.pad, data, before, after, value, primfunc_name_hint="pad")
    if mode in ("reflect", "symmetric"):
        return builder.call_te(
            topi.nn.mirror_pad, data, before, after, mode.upper(), primfunc_name_hint="pad"
        )
    function = topi.nn.replicate_pad if mode == "replicate" else topi.nn.circular_pad
    return builder.call_te(function, data, before, after, primfunc_name_hint="pad")


_PAD = register("nn.pad", ("data",), _infer, _legalize)


def pad(
    data: Any, pad_width: Sequence[Any], pad_mode: str = "constant", pad_value: float = 0.0
) -> Call:
    """`data` with elements around it.

    Args:
        data: the array.
        pad_width: how many elements come before and after each dimension, ``(before_0, after_0,
            before_1, ...)`` or ``((before_0, after_0), ...)``.
        pad_mode: ``"constant"`` for `pad_value`; ``"reflect"`` for the mirror image without the
            element at the border, ``"symmetric"`` with it; ``"replicate"`` for the element at the
            border; ``"circular"`` for the other end.
        pad_value: the value of the new elements.
    """
    require_one_of("R.nn.pad: `pad_mode`", pad_mode, MODES)
    flat: list[Any] = []
    for item in pad_width:
        flat += item if isinstance(item, (tuple, list)) else [item]
    width = [getattr(item, "value", item) for item in flat]
    if not all(isinstance(item, int) for item in width):
        raise ArgumentError(f"R.nn.pad: `pad_width` is integers, got {pad_width!r}")
    if any(item < 0 for item in width):
        raise ArgumentValueError(
            f"R.nn.pad: `pad_width` is at least 0, got {pad_width!r}; use strided_slice to cut"
        )
    attrs = {"pad_width": tuple(width), "pad_mode": pad_mode, "pad_value": pad_value}
    return call(_PAD, data, attrs=attrs)
