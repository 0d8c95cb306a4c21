"""What tensor programs and graph functions have in common: attributes and a place in a module."""

from __future__ import annotations

from typing import Any

from tilewright.ir.attributes import Attributes, attributes
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr
from tilewright.ir.node import Node, attr, derived, meta, node


@node
class GlobalVar(Expr):
    """The name of a function of a module; two with the same name refer to the same function.

    Attributes:
        name_hint: the name.
        struct_info: what graphs know of the function, if a module or a builder of modules has
            given out the name: as it was at that time.
    """

    name_hint: str = attr()
    struct_info: Any = meta(default=None)
    dtype: DType = derived("DType('handle')")

    def __eq__(self, other: object) -> Any:
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __ne__(self, other: object) -> Any:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return hash(self.name_hint)


class BaseFunc(Node):
    """Base class of functions: nodes with an `attrs` dictionary."""

    __slots__ = ()
    attrs: Attributes

    def with_attr(self, key: str | Attributes, value: Any = None) -> Any:
        """A copy with one attribute set, or several given as a dictionary."""
        changes = attributes(key if not isinstance(key, str) else {key: value})
        return self.replace(attrs={**self.attrs, **changes})

    def with_attrs(self, values: Attributes) -> Any:
        """A copy with the given attributes set."""
        return self.with_attr(values)

    def without_attr(self, key: str) -> Any:
        """A copy without the attribute `key` (which need not be there)."""
        return self.replace(attrs={k: v for k, v in self.attrs.items() if k != key})

    @property
    def global_symbol(self) -> str | None:
        """The name under which the function is exported, if it is."""
        symbol = self.attrs.get("global_symbol")
        return None if symbol is None else str(symbol)
