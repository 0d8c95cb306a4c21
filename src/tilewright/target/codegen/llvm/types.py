"""LLVM types of the dtypes of the IR, and constants.

float16 and bfloat16 values are kept in float registers, rounded after every operation; in memory
they are 16-bit integers. A bool is `i1` in a register and a byte in memory.
"""

from __future__ import annotations

import struct
from typing import Final

from tilewright.error import CodegenError
from tilewright.ir.dtype import DType

HALVES: Final = ("float16", "bfloat16")
_VALUE: Final = {"float": {16: "float", 32: "float", 64: "double"}, "bfloat": {16: "float"}}


def value_type(dtype: DType) -> str:
    """The type of a register that holds a value of `dtype`."""
    found = _VALUE_TYPES.get(dtype)
    if found is None:
        found = _VALUE_TYPES[dtype] = _with_lanes(_scalar(dtype), dtype.lanes)
    return found


def memory_type(dtype: DType) -> str:
    """The type of such a value in memory."""
    found = _MEMORY_TYPES.get(dtype)
    if found is None:
        scalar = _scalar(dtype)
        if dtype.element in HALVES:
            scalar = "i16"
        elif dtype.is_bool:
            scalar = "i8"
        found = _MEMORY_TYPES[dtype] = _with_lanes(scalar, dtype.lanes)
    return found


_VALUE_TYPES: Final[dict[DType, str]] = {}
_MEMORY_TYPES: Final[dict[DType, str]] = {}


def _with_lanes(scalar: str, lanes: int) -> str:
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def _scalar(dtype: DType) -> str:
    if dtype.code in ("int", "uint"):
        return f"i{dtype.bits}"
    if dtype.is_bool:
        return "i1"
    if dtype.is_handle:
        return "ptr"
    if dtype.code == "void":
        return "void"
    found = _VALUE.get(dtype.code, {}).get(dtype.bits)
    if found is None:
        raise CodegenError(f"target llvm: dtype {dtype!s} is not supported")
    return found


def float_constant(value: float, bits: int) -> str:
    """A float constant, exactly: LLVM takes the bits of the double of the same value."""
    if bits < 64:
        # Signalling NaNs and the like keep their class only; the value is what matters.
        value = struct.unpack("f", struct.pack("f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def splat(scalar_type: str, constant: str, lanes: int) -> str:
    """A constant operand with the same value in all lanes."""
    return constant if lanes == 1 else f"splat ({scalar_type} {constant})"


def constant(value: float, dtype: DType) -> str:
    """A constant operand of `dtype`, the same in all lanes."""
    if dtype.is_bool:
        text = "true" if value else "false"
    elif dtype.is_float:
        text = float_constant(value, 32 if dtype.element in HALVES else dtype.bits)
    elif dtype.is_handle:
        return "null" if value == 0 else f"inttoptr (i64 {int(value)} to ptr)"
    else:
        text = str(int(value))
    return splat(value_type(dtype.element), text, dtype.lanes)


def mangled(dtype: DType) -> str:
    """The suffix of an overloaded intrinsic, such as ``v16f32``."""
    names = {"float": "f32", "double": "f64", "ptr": "p0"}
    scalar = _scalar(dtype)
    name = names.get(scalar, scalar)
    return name if dtype.lanes == 1 else f"v{dtype.lanes}{name}"
