"""Types of variables that are more than a dtype: pointers to buffer memory."""

from __future__ import annotations

from tilewright.ir.dtype import HANDLE, DType
from tilewright.ir.node import Node, attr, node


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
