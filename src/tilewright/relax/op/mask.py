"""Arrays with other elements where a condition holds."""

from __future__ import annotations

from typing import Any

from tilewright import topi
from tilewright.relax.expr import Call
from tilewright.relax.op.broadcasting import broadcast_info, call_broadcasting
from tilewright.relax.op.inference import Inference
from tilewright.relax.op.rules import require_value
from tilewright.relax.op.table import call, register
from tilewright.relax.struct_info import StructInfo, TensorStructInfo


def _infer_masked_fill(inference: Inference) -> StructInfo:
    info, mask = inference.tensor(0), inference.tensor(1)
    if mask.dtype is not None and not mask.dtype.is_bool:
        inference.error(
            f"{inference.name_of(1)} must have dtype bool, it has {mask.dtype!s}; compare it with "
            "something"
        )
    value: Any = inference.attr("value")
    if info.dtype is not None:
        require_value(inference, value, info.dtype)
    return broadcast_info(inference, (0, 1), info.dtype)


def _legalize_masked_fill(builder: Any, expr: Call) -> Any:
    info = expr.args[0].struct_info
    assert isinstance(info, TensorStructInfo)
    dtype, value = info.dtype, expr.attrs["value"]
    assert dtype is not None, "arrays of unknown dtype are not compiled"

    def fill(x: Any, mask: Any) -> Any:
        return topi.where(mask, topi.full((), dtype, value), x)

    return call_broadcasting(builder, expr, fill, "masked_fill", (0, 1))


_MASKED_FILL = register("masked_fill", ("x", "mask"), _infer_masked_fill, _legalize_masked_fill)


def masked_fill(x: Any, mask: Any, value: float) -> Call:
    """`x` with `value` where `mask` holds, which broadcasts."""
    return call(_MASKED_FILL, x, mask, attrs={"value": value})
