"""Visiting and rewriting nodes: `walk` to look, `Rewriter` and `rewrite` to change.

Rewriting keeps the identity of whatever it does not change, so `result is node` means "no change"
and analyses that are memoised by identity stay valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeVar

from tilewright.ir.cache import LRUCache
from tilewright.ir.node import NODE_TYPES, Node

Hook = Callable[[Any], Any]
NodeT = TypeVar("NodeT", bound=Node)


class NodeMethods:
    """A class with methods for classes of nodes, named after them."""

    _hooks: ClassVar[Mapping[type[Node], Callable[[Any, Any], Any]]] = MappingProxyType({})
    """These methods, by the class of node that they are for."""

    def __init_subclass__(cls) -> None:
        names = {name for base in cls.__mro__ for name in vars(base) if name in NODE_TYPES}
        cls._hooks = {NODE_TYPES[name]: getattr(cls, name) for name in names}


class Visitor(NodeMethods):
    """Visits a tree with one method per node class of interest, named after the class.

    A method decides itself whether to descend, usually by calling `visit_children`.
    """

    def visit(self, node: Any) -> None:
        """Call the method for the class of a node; without one, visit what is below it."""
        hook = self._hooks.get(node.__class__)
        if hook is None:
            for child in node.children():
                self.visit(child)
        else:
            hook(self, node)

    def visit_children(self, node: Node) -> None:
        """Visit all sub-nodes, in order."""
        for child in node.children():
            self.visit(child)


class Rewriter(NodeMethods):
    """Rewrites a tree with one method per node class of interest, named after the class::

        class Rename(Rewriter):
            def Var(self, var): return renamed.get(var, var)

    A method gets the original node and decides itself whether to descend, usually by calling
    `node.map_children(self)`. Classes without a method are rewritten child by child. A method
    named after an abstract class is not called for its subclasses.
    """

    def __call__(self, node: Any) -> Any:
        """`node`, rewritten."""
        hook = self._hooks.get(node.__class__)
        return node.map_children(self) if hook is None else hook(self, node)


class SparseRewriter(Rewriter):
    """A rewriter that changes few nodes, and looks at a node that it has not changed only once.

    Unrolled loops share most of their expressions. What becomes of a node must depend on the node
    alone.
    """

    def __init__(self) -> None:
        self._unchanged: dict[int, Node] = {}  # the nodes stay, so that no other gets such an id

    def __call__(self, node: Any) -> Any:
        """`node`, rewritten."""
        if id(node) in self._unchanged:
            return node
        hook = self._hooks.get(node.__class__)
        result = node.map_children(self) if hook is None else hook(self, node)
        if result is node:
            self._unchanged[id(node)] = node
        return result


def rewrite(root: Any, hooks: Mapping[type[Node], Hook]) -> Any:
    """`root` rewritten bottom-up: children first, then the hook of the node's own class.

    What a hook makes of a node must depend on the node alone.
    """
    unchanged: set[int] = set()

    def visit(node: Any) -> Any:
        if id(node) in unchanged:
            return node
        result = node.map_children(visit)
        hook = hooks.get(result.__class__)
        if hook is not None:
            result = hook(result)
        if result is node:
            unchanged.add(id(node))
        return result

    return visit(root)


def walk(root: Node, *, skip: Callable[[Node], bool] | None = None) -> Iterator[Node]:
    """All nodes below `root` and `root` itself, parents first.

    Args:
        root: where to start.
        skip: nodes for which it is true are yielded, but not descended into.
    """
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        children = node.children()
        if children and (skip is None or not skip(node)):
            stack += children[::-1]


def count_nodes(root: Node, most: int) -> int:
    """Number of nodes below `root` and `root` itself, shared ones as often as they are mentioned.

    Args:
        root: where to start.
        most: the count ends there, as expressions with shared parts may have far more.
    """
    return sum(1 for _ in islice(walk(root), most))


def walk_once(root: Node) -> Iterator[Node]:
    """All different nodes below `root` and `root` itself; shared ones are yielded only once."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            stack.extend(node.children())


def nodes_of(root: Node, kind: type[NodeT]) -> Sequence[NodeT]:
    """The different nodes of the very class `kind` below `root` and `root` itself.

    Passes that look one after the other for what they work on, and find the same program, share
    one walk.
    """
    found: Any = _BY_CLASS.get(id(root), root, lambda: _by_class(root))
    return found.get(kind, ())


_BY_CLASS: Final[LRUCache[Mapping[type[Node], Sequence[Node]]]] = LRUCache(1)


def _by_class(root: Node) -> Mapping[type[Node], Sequence[Node]]:
    found: dict[type[Node], list[Node]] = {}
    for node in walk_once(root):
        found.setdefault(node.__class__, []).append(node)
    return found
