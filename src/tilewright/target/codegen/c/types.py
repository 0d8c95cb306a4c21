"""C types of the dtypes of the IR.

float16 and bfloat16 values are held in `float` variables, always rounded to their type; in memory
they are `uint16_t`.
"""

from __future__ import annotations

from tilewright.error import CodegenError
from tilewright.ir.dtype import DType

_NAMES = {
    "bool": "bool",
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
    "handle": "void*",
    "void": "void",
}
HALVES = {"float16": "f16", "bfloat16": "bf16"}


def value_type(dtype: DType) -> str:
    """The C type of a variable of type `dtype`."""
    _require_scalar(dtype)
    if dtype.is_int or dtype.is_uint:
        return f"{dtype.code}{_storage_bits(dtype)}_t"
    return _NAMES[dtype]


def memory_type(dtype: DType) -> str:
    """The C type of an element of a buffer of type `dtype`."""
    return "uint16_t" if dtype in HALVES else value_type(dtype)


def suffix(dtype: DType) -> str:
    """A short name for `dtype`, used in the names of helper functions."""
    return {"int": "i", "uint": "u", "float": "f", "bfloat": "bf", "bool": "b"}.get(
        dtype.code, ""
    ) + str(dtype.bits)


def _storage_bits(dtype: DType) -> int:
    if dtype.bits not in (8, 16, 32, 64):
        raise CodegenError(f"target c: dtype {dtype!s} has no C type")
    return dtype.bits


def _require_scalar(dtype: DType) -> None:
    if dtype.lanes != 1 or dtype.code == "float8":
        raise CodegenError(f"target c: dtype {dtype!s} has no C type")
