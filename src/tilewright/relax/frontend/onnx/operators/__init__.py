"""Conversions of operators of ONNX, one file a family; importing this enters all into the table."""

from tilewright.relax.frontend.onnx.operators import (
    activation,
    contributed,
    control_flow,
    create,
    elementwise,
    images,
    index,
    layout,
    normalization,
    pooling,
    products,
    quantized,
    recurrent,
    reduction,
    samples,
    sequences,
    signal,
    windows,
)
