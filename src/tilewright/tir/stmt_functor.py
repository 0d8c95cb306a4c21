"""Functions that visit and transform tensor programs.

They call functions of users, which may have effects, so they are loops: what nests deeply needs no
second run on a large stack (`deep_recursion`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.convert import as_expr
from tilewright.ir.expr import Expr, Var
from tilewright.ir.node import Node, node_name
from tilewright.ir.recursion import deep_recursion
from tilewright.tir.substitute import substitute as plain_substitute

__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "substitute"]


@deep_recursion
def substitute(node: Any, vmap: Mapping[Var, Any]) -> Any:
    """`node` with variables replaced by expressions, or numbers."""
    values = {
        var: value if isinstance(value, Expr) else as_expr(value, var.dtype)
        for var, value in vmap.items()
    }
    return plain_substitute(node, values)


def post_order_visit(stmt: Node, fvisit: Callable[[Any], Any]) -> None:
    """Call `fvisit` with each node below `stmt` and `stmt` itself, children first.

    A node that occurs several times is visited once.
    """
    seen: set[Node] = {stmt}
    path = [(stmt, iter(stmt.children()))]
    while path:
        node, children = path[-1]
        child = next((child for child in children if child not in seen), None)
        if child is not None:
            seen.add(child)
            path.append((child, iter(child.children())))
        else:
            path.pop()
            fvisit(node)


def pre_order_visit(stmt: Node, fvisit: Callable[[Any], bool]) -> None:
    """Call `fvisit` with `stmt` and the nodes below, parents first.

    A node that occurs several times is visited once.

    Args:
        stmt: where to start.
        fvisit: gives whether to go on to what is below the node.
    """
    seen: set[Node] = set()
    rest = [stmt]
    while rest:
        node = rest.pop()
        if node not in seen:
            seen.add(node)
            if fvisit(node):
                rest.extend(reversed(node.children()))


def ir_transform(
    stmt: Node,
    preorder: Callable[[Any], Any] | None,
    postorder: Callable[[Any], Any] | None,
    only_enable: Sequence[str] | None = None,
) -> Any:
    """`stmt` with nodes replaced.

    Args:
        stmt: a statement or expression.
        preorder: called before what is below a node is transformed; gives the replacement of the
            node, which is not transformed further, or None to go on.
        postorder: called after; gives the replacement, or None to keep the node.
        only_enable: names of the classes of nodes that the functions are called with, such as
            ``"tir.For"``; all statements by default.

    Raises:
        ArgumentError: if what a function gives is not a node.
    """
    from tilewright.tir.stmt import Stmt

    names = None if only_enable is None else {name.rpartition(".")[2] for name in only_enable}

    def replaced(function: Callable[[Any], Any] | None, node: Node) -> Any:
        enabled = isinstance(node, Stmt) if names is None else node_name(type(node)) in names
        result = function(node) if function is not None and enabled else None
        if result is not None and not isinstance(result, Node):
            raise ArgumentError(f"ir_transform: a function gives a node or None, got {result!r}")
        return result

    results: list[Any] = []  # of the nodes before, those below a node last
    path: list[tuple[Node, int | None]] = [(stmt, None)]
    while path:
        node, first = path.pop()
        if first is None:
            result = replaced(preorder, node)
            if result is None:
                path.append((node, len(results)))
                path.extend((child, None) for child in reversed(node.children()))
                continue
        else:
            below = iter(results[first:])
            del results[first:]
            node = node.map_children(lambda _, below=below: next(below))
            result = replaced(postorder, node)
        results.append(node if result is None else result)
    return results[0]
