"""Global infos: nodes that a module keeps by name for all of its functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.node import Node, attr, node
from tilewright.providers import provider

_set = object.__setattr__


class GlobalInfo(Node):
    """Base class of global infos."""

    __slots__ = ()


@node
class DummyGlobalInfo(GlobalInfo):
    """A global info that says nothing."""


@node
class VDevice(GlobalInfo):
    """A device that the functions of a module name, before it is known which real one it is.

    Attributes:
        target: what its code is generated for, or None; a string or dictionary becomes a `Target`.
        vdevice_id: tells several devices of one kind apart.
        memory_scope: where arrays are on the device.
    """

    target: Any = attr(default=None)
    vdevice_id: int = attr(default=0)
    memory_scope: str = attr(default="global")

    def __init__(
        self, target: Any = None, vdevice_id: int = 0, memory_scope: str = "global"
    ) -> None:
        if isinstance(target, (str, Mapping)):
            target = provider("targets").Target(target)
        if target is not None and not hasattr(target, "kind"):
            raise ArgumentError(f"VDevice: expected a target, got {target!r}")
        if not isinstance(vdevice_id, int) or isinstance(vdevice_id, bool):
            raise ArgumentError(f"VDevice: the number is an integer, got {vdevice_id!r}")
        if vdevice_id < 0:
            raise ArgumentValueError(f"VDevice: the number is at least 0, got {vdevice_id}")
        if not isinstance(memory_scope, str):
            raise ArgumentError(f"VDevice: the memory scope is a string, got {memory_scope!r}")
        _set(self, "target", target)
        _set(self, "vdevice_id", vdevice_id)
        _set(self, "memory_scope", memory_scope)
