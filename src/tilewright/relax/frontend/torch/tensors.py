"""Tensors and dtypes of torch as arrays and dtypes."""

from __future__ import annotations

from typing import Final

import torch

from tilewright.error import DTypeError
from tilewright.relax.expr import Constant
from tilewright.runtime.ndarray import ALIGNMENT, NDArray, from_dlpack

_DTYPES: Final = {
    torch.bool: "bool",
    torch.uint8: "uint8",
    torch.int8: "int8",
    torch.int16: "int16",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
}


def dtype_of(dtype: torch.dtype) -> str:
    """The name of a dtype of torch.

    Raises:
        DTypeError: for a dtype that no program can have, such as complex numbers.
    """
    if dtype not in _DTYPES:
        raise DTypeError(f"no dtype for {dtype}")
    return _DTYPES[dtype]


def array_of(tensor: torch.Tensor) -> NDArray:
    """A tensor of a model as an array, over the same memory if that is compact and aligned."""
    values = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if values.data_ptr() % ALIGNMENT:
        values = values.clone()
    return from_dlpack(values)


def constant_of(tensor: torch.Tensor) -> Constant:
    """A tensor of a model as a constant."""
    return Constant(array_of(tensor))
