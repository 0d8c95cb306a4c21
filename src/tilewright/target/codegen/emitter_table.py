"""The table of a backend's emitters: functions that write code, by what they write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tilewright.ir.node import Node

Emitter = Callable[[Any, Any], Any]
"""Takes the state of the function that is being written, and a node."""

EmitterT = TypeVar("EmitterT", bound=Emitter)


class EmitterTable:
    """A decorator that registers emitters, by the class of a node or the name of an operator::

        emits = EmitterTable()

        @emits("tir.likely")
        def _likely(emitter: FunctionEmitter, call: Call) -> str: ...

    Attributes:
        nodes: emitters of expressions and statements.
        calls: emitters of calls.
    """

    def __init__(self) -> None:
        self.nodes: dict[type[Node], Emitter] = {}
        self.calls: dict[str, Emitter] = {}

    def __call__(self, *kinds: type[Node] | str) -> Callable[[EmitterT], EmitterT]:
        def register(emitter: EmitterT) -> EmitterT:
            for kind in kinds:
                if isinstance(kind, str):
                    self.calls[kind] = emitter
                else:
                    self.nodes[kind] = emitter
            return emitter

        return register
