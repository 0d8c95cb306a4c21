"""Data types: a scalar kind, a width in bits, and a number of lanes; and types of pointers.

A `DType` *is* its name (a `str` such as ``"float32"`` or ``"int8x16"``), so it compares with
strings and numpy accepts it, and it carries the parsed parts. There is one object per name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tilewright.error import DTypeError

if TYPE_CHECKING:
    import numpy as np
from tilewright.ir.node import Node, attr, node

_PATTERN = re.compile(
    r"(bool|void|handle|bfloat16|e4m3_float8|e5m2_float8|(?:int|uint|float)\d+)(?:x(\d+))?"
)
_ALIASES = {"boolean": "bool", "uint1": "bool", "int": "int32", "float": "float32", "": "void"}
_FLOAT_BITS = (16, 32, 64)
_INT_BITS = (1, 4, 8, 16, 32, 64)
_MAX_LANES = 65536
_SIGNIFICANDS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Numbers of bits of the integers that a type of floats has all of."""


class DType(str):
    """One data type. `DType("float32x4")` returns the interned object of that name.

    Attributes:
        code: ``"int"``, ``"uint"``, ``"float"``, ``"bfloat"``, ``"float8"``, ``"bool"``,
            ``"handle"`` or ``"void"``.
        bits: width of one lane (1 for bool, 64 for a handle, 0 for void).
        lanes: number of lanes, 1 for a scalar.
        element: the type of one lane.
        itemsize: bytes that one value of this type (all lanes) takes in memory.
        min_int: smallest value of an integer type.
        max_int: largest value of an integer type.
        is_scalar_integer: whether a value is one number, signed or not, as extents and indices are.
        is_index: whether it is a signed integer of 32 bits or more. Arithmetic on variables of
            such a type computes indices and sizes, and is taken not to overflow; on narrower and
            on unsigned types, it wraps around.
    """

    __slots__ = (
        "bits", "code", "element", "is_bool", "is_float", "is_handle", "is_index", "is_int",
        "is_integral", "is_scalar_integer", "is_uint", "is_vector", "itemsize", "lanes", "max_int",
        "min_int",
    )  # fmt: skip
    code: str
    bits: int
    lanes: int
    element: DType
    itemsize: int
    min_int: int
    max_int: int
    is_bool: bool
    is_int: bool
    is_index: bool
    is_uint: bool
    is_integral: bool
    is_scalar_integer: bool
    is_float: bool
    is_handle: bool
    is_vector: bool

    def __new__(cls, name: object) -> DType:
        try:
            found = _INTERNED.get(name)
        except TypeError:  # it is unhashable
            found = None
        return found if found is not None else _intern(name)

    def with_lanes(self, lanes: int) -> DType:
        """The same element type with `lanes` lanes."""
        if lanes == self.lanes:
            return self
        element = self.element
        return element if lanes == 1 else DType(f"{element}x{lanes}")

    @property
    def numpy(self) -> np.dtype:
        """The numpy type of one lane (`ml_dtypes` gives bfloat16 and the float8 types)."""
        import numpy as np

        if self.code in ("bfloat", "float8"):
            import ml_dtypes

            names = {"bfloat16": "bfloat16", "e4m3_float8": "float8_e4m3fn"}
            return np.dtype(getattr(ml_dtypes, names.get(self.element, "float8_e5m2")))
        if self.code in ("handle", "void"):
            raise DTypeError(f"dtype {self!s} has no numpy equivalent")
        return np.dtype(str(self.element))

    def __reduce__(self) -> tuple[type[DType], tuple[str]]:
        return DType, (str(self),)


_INTERNED: Final[dict[object, DType]] = {}


def _intern(name: object) -> DType:
    """Parse `name` (a string, or a numpy dtype or scalar type) and remember the result."""
    if not isinstance(name, str):
        text = _numpy_name(name)
        # A foreign object is not remembered: it may be unhashable, and its name is enough.
        return DType(text)
    text = _ALIASES.get(name, str(name))
    match = _PATTERN.fullmatch(text)
    lanes = int(match[2] or 1) if match else 0
    code, bits = _split(match[1]) if match else ("", 0)
    valid = (
        (code == "float" and bits in _FLOAT_BITS)
        or (code in ("int", "uint") and bits in _INT_BITS)
        or code in ("bool", "bfloat", "float8")
        or (code in ("void", "handle") and lanes == 1)
    )
    if not valid or not 1 <= lanes <= _MAX_LANES:
        raise DTypeError(
            f"unknown dtype {name!r}; expected bool, int8..int64, uint8..uint64, float16, "
            "bfloat16, float32, float64, handle, or one of them with lanes such as 'float32x4'"
        )
    text = match[1] if lanes == 1 else f"{match[1]}x{lanes}"  # type: ignore[index]
    self = _INTERNED.get(text)
    if self is None:
        self = _INTERNED[text] = _create(text, code, bits, lanes)
    _INTERNED[str(name)] = self
    return self


def _create(text: str, code: str, bits: int, lanes: int) -> DType:
    self = str.__new__(DType, text)
    self.code, self.bits, self.lanes = code, bits, lanes
    self.element = self if lanes == 1 else DType(text.rpartition("x")[0])
    self.itemsize = (bits + 7) // 8 * lanes
    self.min_int = -(1 << (bits - 1)) if code == "int" else 0
    self.max_int = (1 << (bits - (code == "int"))) - 1
    self.is_bool = code == "bool"
    self.is_int = code == "int"
    self.is_index = code == "int" and bits >= 32
    self.is_uint = code == "uint"
    self.is_integral = code in ("int", "uint", "bool")
    self.is_scalar_integer = code in ("int", "uint") and lanes == 1
    self.is_float = code in ("float", "bfloat", "float8")
    self.is_handle = code == "handle"
    self.is_vector = lanes > 1
    return self


def _split(element: str) -> tuple[str, int]:
    special = {
        "bool": ("bool", 1), "void": ("void", 0), "handle": ("handle", 64),
        "bfloat16": ("bfloat", 16), "e4m3_float8": ("float8", 8), "e5m2_float8": ("float8", 8),
    }  # fmt: skip
    if element in special:
        return special[element]
    code = element.rstrip("0123456789")
    return code, int(element[len(code) :])


def _numpy_name(value: object) -> str:
    import numpy as np

    try:
        if value is None:  # which numpy takes for float64
            raise TypeError
        name = np.dtype(value).name  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise DTypeError(f"expected a dtype name such as 'float32', got {value!r}") from None
    return {"float8_e4m3fn": "e4m3_float8", "float8_e5m2": "e5m2_float8"}.get(name) or name


BOOL: Final = DType("bool")
INT8: Final = DType("int8")
INT16: Final = DType("int16")
INT32: Final = DType("int32")
INT64: Final = DType("int64")
UINT8: Final = DType("uint8")
UINT16: Final = DType("uint16")
UINT32: Final = DType("uint32")
UINT64: Final = DType("uint64")
FLOAT16: Final = DType("float16")
BFLOAT16: Final = DType("bfloat16")
FLOAT32: Final = DType("float32")
FLOAT64: Final = DType("float64")
HANDLE: Final = DType("handle")
VOID: Final = DType("void")


def represents(wide: DType, narrow: DType) -> bool:
    """Whether a type has all values of another one, so that converting to it is exact."""
    if wide is narrow:
        return True
    if narrow.is_integral and wide.is_integral:
        return wide.min_int <= narrow.min_int and narrow.max_int <= wide.max_int
    if narrow.is_integral and wide.is_float:
        return narrow.bits <= _SIGNIFICANDS.get(wide, 0)
    return narrow.is_float and wide.is_float and narrow.bits < wide.bits


def promote(left: DType, right: DType) -> DType:
    """The type in which a binary operator on `left` and `right` computes, lanes included.

    Floats win over integers, wider over narrower, signed over unsigned of the same width; a scalar
    is broadcast to the lanes of the other side.

    Raises:
        DTypeError: if there is no such type (handles, different vector lengths, float16 with
            bfloat16).
    """
    if left is right:
        return left
    lanes = max(left.lanes, right.lanes)
    if 1 < left.lanes != right.lanes > 1:
        raise DTypeError(f"cannot combine {left!s} with {right!s}: different numbers of lanes")
    return _promote_elements(left.element, right.element).with_lanes(lanes)


def _promote_elements(left: DType, right: DType) -> DType:
    if left is right:
        return left
    if "handle" in (left, right) or "void" in (left, right):
        raise DTypeError(f"cannot combine {left!s} with {right!s}")
    if left.is_float or right.is_float:
        if not (left.is_float and right.is_float):
            return left if left.is_float else right
        if left.bits == right.bits:
            raise DTypeError(f"cannot combine {left!s} with {right!s}: cast one of them first")
        return left if left.bits > right.bits else right
    if left.is_bool or right.is_bool:
        return right if left.is_bool else left
    if left.bits != right.bits:
        return left if left.bits > right.bits else right
    return left if left.is_int else right


class Type(Node):
    """Base class of type annotations."""

    __slots__ = ()

    @staticmethod
    def dtype_of(value: object) -> DType:
        """The dtype of values of a type, or of the name of a dtype."""
        if isinstance(value, PointerType):
            return HANDLE
        return value.dtype if isinstance(value, PrimType) else DType(value)

    @staticmethod
    def annotation_of(value: object) -> Type | None:
        """The type that says more than the dtype of `value`; None where nothing does."""
        return value if isinstance(value, PointerType) else None


@node
class PrimType(Type):
    """A scalar of the given dtype."""

    dtype: DType = attr()


@node
class PointerType(Type):
    """A pointer to elements of a scalar type, in a storage scope such as ``"global"``."""

    element_type: PrimType = attr()
    storage_scope: str = attr(default="global")
