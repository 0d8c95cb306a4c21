"""The construct of one or several nested loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.ir.expr import Expr, Var
from tilewright.script.builder.stack import Builder, Frame, add_statement
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import For, ForKind


class ForFrame(Frame):
    """Open loops, outermost first.

    Args:
        kind: how the iterations run.
        domains: smallest value and number of iterations of each loop.
        thread: the tag of the thread that runs an iteration, for thread bindings.
        annotations: hints for passes.
        written: how the construct is written, for messages.
    """

    def __init__(
        self,
        kind: ForKind,
        domains: list[tuple[Expr, Expr]],
        *,
        written: str,
        thread: str = "",
        annotations: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.kind, self.domains, self.thread = kind, domains, thread
        self.annotations: Mapping[str, Any] = annotations or {}
        self.written = written
        self.loop_vars = [Var("", extent.dtype) for _, extent in domains]

    def describe(self) -> str:
        return self.written

    def value(self) -> Any:
        return self.loop_vars[0] if len(self.loop_vars) == 1 else self.loop_vars

    def closed(self, builder: Builder) -> None:
        body = self.body()
        for var, (low, extent) in reversed(list(zip(self.loop_vars, self.domains, strict=True))):
            binding = None
            if self.kind == ForKind.THREAD_BINDING:
                thread = Var("", var.dtype)
                binding = IterVar(None, thread, IterType.THREAD_INDEX, self.thread)
            body = For(
                var, low, extent, self.kind, body, binding, self.annotations, self.span
            )  # fmt: skip
        add_statement(body)
