"""Dropout, which drops nothing in inference."""

from __future__ import annotations

from typing import Any

from tilewright import topi
from tilewright.relax.expr import Call, Tuple
from tilewright.relax.op.inference import Inference
from tilewright.relax.op.table import call, register
from tilewright.relax.struct_info import TupleStructInfo


def _infer_dropout(inference: Inference) -> TupleStructInfo:
    info = inference.tensor(0)
    return TupleStructInfo([info, info])


def _legalize_dropout(builder: Any, expr: Call) -> Any:
    data = expr.args[0]
    mask = builder.emit(
        builder.call_te(topi.full_like, data, 1.0, primfunc_name_hint="dropout_mask")
    )
    return Tuple([data, mask])


_DROPOUT = register("nn.dropout", ("data",), _infer_dropout, _legalize_dropout)


def dropout(data: Any, rate: float = 0.5) -> Call:
    """The tuple of `data` and a mask of ones: in inference, nothing is dropped."""
    return call(_DROPOUT, data, attrs={"rate": float(rate)})
