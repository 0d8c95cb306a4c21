"""Types of variables that are more than a dtype: pointers to buffer memory."""

from __future__ import annotations

from tilewright.ir.dtype import DType
from tilewright.ir.node import Node, attr, node


class Type(Node):
    """Base class of type annotations."""

    __slots__ = ()


@node
class PrimType(Type):
    """A scalar of the given dtype."""

    dtype: DType = attr()


@node
class PointerType(Type):
    """A pointer to elements of a scalar type, in a storage scope such as ``"global"``."""

    element_type: PrimType = attr()
    storage_scope: str = attr(default="global")
