"""Conversions of ATen operators, one file a family; importing this enters all into the table."""

from tilewright.relax.frontend.torch.operators import (
    activation,
    antialias,
    attention,
    binary,
    control_flow,
    convolution,
    create,
    datatype,
    index,
    layout,
    linear,
    normalization,
    pad,
    pooling,
    reduction,
    scatter,
    search,
    slices,
    sorting,
    unary,
)
