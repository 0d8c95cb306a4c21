"""Global infos: nodes that a module keeps by name for all of its functions."""

from __future__ import annotations

from tilewright.ir.node import Node, node


class GlobalInfo(Node):
    """Base class of global infos."""

    __slots__ = ()


@node
class DummyGlobalInfo(GlobalInfo):
    """A global info that says nothing."""
