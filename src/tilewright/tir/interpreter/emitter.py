"""The Python source that a program becomes, and which node each line comes from."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from tilewright.error import InterpreterError
from tilewright.ir.expr import Var
from tilewright.ir.node import Node
from tilewright.tir.buffer import Buffer

MAX_LOOP_DEPTH: Final = 12
"""Python allows 20 nested loops; deeper ones continue in a nested function."""


class Code(NamedTuple):
    """The Python text of an expression.

    Attributes:
        text: an operand that binds tighter than any operator.
        low: if not None, no value is below it (integers only).
        high: if not None, no value is above it.
        depth: how deeply its parentheses nest.
    """

    text: str
    low: int | None = None
    high: int | None = None
    depth: int = 1


class Emitter:
    """Collects lines, and knows the names of variables, buffers and constants.

    Attributes:
        lines: the source so far.
        places: the node that each line comes from.
        constants: the global names of the source.
        variables: the code of each variable in scope.
        buffers: the prefix of the names of each buffer in scope.
        names: the variable behind each local name, for messages.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[Node] = []
        self.constants: dict[str, Any] = {}
        self.variables: dict[Var, Code] = {}
        self.buffers: dict[Buffer, str] = {}
        self.names: dict[str, str] = {}
        self._indent = 0
        self._loops = 0
        self._count = 0
        self._place: Node | None = None
        self._by_identity: dict[int, str] = {}

    def line(self, text: str) -> None:
        """Append one line."""
        self.lines.append("    " * self._indent + text)
        self.places.append(self._place)  # type: ignore[arg-type]

    @contextmanager
    def place(self, node: Node) -> Iterator[None]:
        """Lines in this context come from `node`."""
        before, self._place = self._place, node
        yield
        self._place = before

    @contextmanager
    def block(self, header: str, is_loop: bool = False) -> Iterator[None]:
        """Lines in this context are the body of `header`."""
        self.line(header)
        self._indent += 1
        self._loops += is_loop
        if self._loops >= MAX_LOOP_DEPTH or self._indent >= 60:
            with self._nested_function():
                yield
        else:
            yield
        self._loops -= is_loop
        self._indent -= 1

    @contextmanager
    def _nested_function(self) -> Iterator[None]:
        """Lines in this context are a function that is called at once, to start a new nest.

        Every variable is assigned in one scope only, so nothing needs to be declared nonlocal.
        """
        name = self.fresh("part")
        loops, self._loops = self._loops, 0
        self.line(f"def {name}():")
        self._indent += 1
        yield
        self._indent -= 1
        self._loops = loops
        self.line(f"{name}()")

    def fresh(self, name: str) -> str:
        """A new identifier that starts like `name`."""
        self._count += 1
        stem = re.sub(r"\W", "_", name) or "value"
        if not stem[0].isalpha() or keyword.iskeyword(stem):
            stem = f"v{stem}"
        return f"{stem}_{self._count}"

    def constant(self, value: Any, name: str) -> str:
        """The global name of a Python object."""
        known = self._by_identity.get(id(value))
        if known is None:
            known = self._by_identity[id(value)] = self.fresh(name)
            self.constants[known] = value
        return known

    def bind(self, var: Var, low: int | None = None, high: int | None = None) -> str:
        """A name for a variable whose scope starts here."""
        name = self.fresh(var.name)
        self.variables[var] = Code(name, low, high)
        self.names[name] = var.name
        return name

    def variable(self, var: Var) -> Code:
        """The code of a variable, which must be in scope."""
        code = self.variables.get(var)
        if code is None:
            raise InterpreterError(f"variable {var.name} is not bound in\n{self.place_text()}")
        return code

    def place_text(self) -> str:
        """The text of the current node, shortened."""
        return node_text(self._place)


def node_text(node: Node | None, limit: int = 4) -> str:
    """The first lines of the text of a node, indented."""
    lines = [line for line in repr(node).splitlines() if not line.startswith("#")]
    lines = [line for line in lines if line.strip()]
    if len(lines) > limit:
        lines = [*lines[:limit], "..."]
    return "\n".join(f"    {line}" for line in lines)
