"""Conversions of operators of ONNX, one file a family; importing this enters all into the table."""

from tilewright.relax.frontend.onnx.operators import (
    activation,
    create,
    elementwise,
    index,
    layout,
    normalization,
    pooling,
    products,
    reduction,
)
