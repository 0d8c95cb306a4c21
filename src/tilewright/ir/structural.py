"""Structural equality: two trees are equal if they differ in names and spans at most.

Variables and buffers correspond by where they are defined (alpha equivalence).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright.error import StructuralMismatchError
from tilewright.ir.comparison import Comparison
from tilewright.ir.function import BaseFunc
from tilewright.ir.recursion import deep_recursion

Path = tuple[str | int, ...]
"""Attribute names, positions in tuples, and keys of dictionaries, from the root on."""


class Mismatch(NamedTuple):
    """The first difference of two trees.

    Attributes:
        path: where it is.
        lhs: what the first tree has there.
        rhs: what the second tree has there.
    """

    path: Path
    lhs: Any
    rhs: Any

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {_short(self.lhs)} vs {_short(self.rhs)}"


@deep_recursion
def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two nodes or modules (or tuples, dictionaries, numbers ...) are equal.

    Args:
        lhs: one side.
        rhs: the other side.
        map_free_vars: whether variables that neither side defines may correspond too; otherwise
            they are equal only if they are the same object.
    """
    return lhs is rhs or Comparison(map_free_vars).equal(lhs, rhs)


@deep_recursion
def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False
) -> Mismatch | None:
    """The first difference of two trees in the order of comparison, or None if they are equal."""
    comparison = Comparison(map_free_vars)
    if lhs is rhs or comparison.equal(lhs, rhs):
        return None
    return Mismatch(tuple(reversed(comparison.path)), *comparison.values)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise `StructuralMismatchError` with the path of the first difference, if there is one."""
    mismatch = get_first_structural_mismatch(lhs, rhs, map_free_vars)
    if mismatch is not None:
        sides = [
            f"{name}:\n{_side(tree, mismatch.path)}" for name, tree in (("lhs", lhs), ("rhs", rhs))
        ]
        raise StructuralMismatchError(f"not structurally equal at {mismatch}\n" + "\n".join(sides))


def assert_structural_equal_ignore_global_symbol(
    lhs: BaseFunc, rhs: BaseFunc, map_free_vars: bool = False
) -> None:
    """`assert_structural_equal` of two functions whose exported names may differ."""
    assert_structural_equal(
        lhs.without_attr("global_symbol"), rhs.without_attr("global_symbol"), map_free_vars
    )


def path_text(path: Path) -> str:
    """A path as it would be written in Python, from ``<root>`` on."""
    parts = ["<root>"]
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif step.isidentifier():
            parts.append(f".{step}")
        else:
            parts.append(f"[{step!r}]")
    return "".join(parts)


def _short(value: Any) -> str:
    text = repr(value)
    first, newline, _ = text.partition("\n")
    return f"{first} ..." if newline or len(first) > 200 else first


def _side(tree: Any, path: Path) -> str:
    script = getattr(tree, "script", None)
    return script(path_to_underline=[path]) if script is not None else repr(tree)
