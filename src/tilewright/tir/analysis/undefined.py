"""The variables that a part of a program takes from its surroundings."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.error import ArgumentError
from tilewright.ir.expr import Var
from tilewright.ir.node import Node, Role
from tilewright.ir.rewrite import walk
from tilewright.tir.substitute import variables_of


def undefined_vars(node: Node, defs: Sequence[Var] = ()) -> list[Var]:
    """The variables that `node` mentions and does not bind, in order of appearance.

    Args:
        node: a statement or an expression.
        defs: variables that are bound around it.
    """
    if not isinstance(node, Node):
        raise ArgumentError(f"undefined_vars: expected a statement or an expression, got {node!r}")
    bound = set(defs)
    for part in walk(node):
        for field in type(part).__node_fields__:
            if field.role is Role.BINDS:
                value = getattr(part, field.name)
                for item in value if isinstance(value, tuple) else (value,):
                    bound.add(getattr(item, "var", item))
    return [var for var in variables_of(node) if var not in bound]
