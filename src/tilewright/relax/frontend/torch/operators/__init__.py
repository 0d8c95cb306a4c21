"""Conversions of ATen operators, one file a family; importing this enters all into the table."""

from tilewright.relax.frontend.torch.operators import (
    activation,
    bags,
    binary,
    complex_numbers,
    control_flow,
    create,
    factorizations,
    gamma,
    images,
    index,
    layout,
    normalization,
    products,
    random_numbers,
    reduction,
    scans,
    sizes_from_data,
    slices,
    sorting,
)
