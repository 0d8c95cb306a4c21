"""Functions that visit and transform tensor programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.error import ArgumentError
from tilewright.ir.node import Node, node_name
from tilewright.tir.substitute import substitute

__all__ = ["ir_transform", "post_order_visit", "pre_order_visit", "substitute"]


def post_order_visit(stmt: Node, fvisit: Callable[[Any], Any]) -> None:
    """Call `fvisit` with each node below `stmt` and `stmt` itself, children first.

    A node that occurs several times is visited once.
    """
    seen: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in seen:
            seen.add(node)
            for child in node.children():
                visit(child)
            fvisit(node)

    visit(stmt)


def pre_order_visit(stmt: Node, fvisit: Callable[[Any], bool]) -> None:
    """Call `fvisit` with `stmt` and the nodes below, parents first.

    A node that occurs several times is visited once.

    Args:
        stmt: where to start.
        fvisit: gives whether to go on to what is below the node.
    """
    seen: set[Node] = set()

    def visit(node: Node) -> None:
        if node not in seen:
            seen.add(node)
            if fvisit(node):
                for child in node.children():
                    visit(child)

    visit(stmt)


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
        ArgumentError: if what a function gives is no node.
    """
    from tilewright.tir.stmt import Stmt

    names = None if only_enable is None else {name.rpartition(".")[2] for name in only_enable}

    def replaced(function: Callable[[Any], Any] | None, node: Node) -> Any:
        enabled = isinstance(node, Stmt) if names is None else node_name(type(node)) in names
        result = function(node) if function is not None and enabled else None
        if result is not None and not isinstance(result, Node):
            raise ArgumentError(f"ir_transform: a function gives a node or None, got {result!r}")
        return result

    def visit(node: Node) -> Any:
        result = replaced(preorder, node)
        if result is not None:
            return result
        node = node.map_children(visit)
        result = replaced(postorder, node)
        return node if result is None else result

    return visit(stmt)
