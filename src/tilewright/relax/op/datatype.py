"""Conversions between dtypes."""

from __future__ import annotations

from typing import Any

from tilewright import topi
from tilewright.ir.dtype import DType
from tilewright.relax.expr import Call
from tilewright.relax.op.inference import Inference
from tilewright.relax.op.table import call, register
from tilewright.relax.struct_info import TensorStructInfo


def _infer_astype(inference: Inference) -> TensorStructInfo:
    info = inference.tensor(0)
    return TensorStructInfo(info.shape, inference.attr("dtype"), info.vdevice, info.ndim)


def _legalize_astype(builder: Any, expr: Call) -> Any:
    return builder.call_te(topi.cast, expr.args[0], expr.attrs["dtype"], primfunc_name_hint="cast")


_ASTYPE = register("astype", ("x",), _infer_astype, _legalize_astype)


def astype(x: Any, dtype: str) -> Call:
    """`x` with each element converted to `dtype`."""
    return call(_ASTYPE, x, attrs={"dtype": DType(dtype)})


_WRAP_PARAM = register("wrap_param", ("data",), _infer_astype, _legalize_astype)


def wrap_param(data: Any, dtype: str = "float32") -> Call:
    """The parameter `data` of a model, converted to `dtype`."""
    return call(_WRAP_PARAM, data, attrs={"dtype": DType(dtype)})
