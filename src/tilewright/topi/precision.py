"""In which dtype sums are added."""

from __future__ import annotations

from tilewright.ir.dtype import FLOAT32, DType


def accumulator(dtype: DType) -> DType:
    """In which dtype elements of `dtype` are added: half precision has too few digits."""
    return FLOAT32 if dtype.is_float and dtype.bits < FLOAT32.bits else dtype
