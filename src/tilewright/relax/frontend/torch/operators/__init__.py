"""Conversions of ATen operators, one file a family; importing this enters all into the table."""

from tilewright.relax.frontend.torch.operators import (
    activation,
    antialias,
    binary,
    control_flow,
    create,
    index,
    layout,
    normalization,
    pooling,
    products,
    reduction,
    slices,
    sorting,
)
