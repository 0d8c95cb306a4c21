"""The constructs of loops and branches, and of statements that enclose all that follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tilewright.error import DiagnosticError
from tilewright.ir.expr import Expr, Var
from tilewright.ir.node import Span
from tilewright.script.builder.stack import Builder, Frame, add_statement
from tilewright.tir.expr import IterType, IterVar
from tilewright.tir.stmt import For, ForKind, IfThenElse, Stmt, While


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


class IfFrame(Frame):
    """An open conditional, which holds `BranchFrame`s."""

    def __init__(self, condition: Expr) -> None:
        super().__init__()
        self.condition = condition
        self.branches: dict[str, Stmt] = {}

    def describe(self) -> str:
        return "T.If"

    def closed(self, builder: Builder) -> None:
        if self.statements:
            raise DiagnosticError("T.If holds only `with T.Then():` and `with T.Else():`")
        if "Then" not in self.branches:
            raise DiagnosticError("T.If needs a `with T.Then():`")
        otherwise = self.branches.get("Else")
        add_statement(IfThenElse(self.condition, self.branches["Then"], otherwise, self.span))


class BranchFrame(Frame):
    """An open branch of a conditional: ``"Then"`` or ``"Else"``."""

    owner: IfFrame

    def __init__(self, branch: str) -> None:
        super().__init__()
        self.branch = branch

    def describe(self) -> str:
        return f"T.{self.branch}"

    def opened(self, builder: Builder) -> None:
        frame = builder.frames[-1] if builder.frames else None
        if not isinstance(frame, IfFrame):
            raise DiagnosticError(f"T.{self.branch} belongs directly inside of T.If")
        if self.branch in frame.branches:
            raise DiagnosticError(f"T.If has a second T.{self.branch}")
        self.owner = frame

    def closed(self, builder: Builder) -> None:
        self.owner.branches[self.branch] = self.body()


class WhileFrame(Frame):
    """An open while loop."""

    def __init__(self, condition: Expr) -> None:
        super().__init__()
        self.condition = condition

    def describe(self) -> str:
        return "T.While"

    def closed(self, builder: Builder) -> None:
        add_statement(While(self.condition, self.body(), self.span))


class WrapFrame(Frame):
    """An open statement whose body may be all that follows: a let, an allocation, an attribute.

    Args:
        written: how the construct is written, for messages.
        value: the value that it defines, if any.
        wrap: makes the statement from its body and span.
    """

    def __init__(self, written: str, value: Any, wrap: Callable[[Stmt, Span | None], Stmt]) -> None:
        super().__init__()
        self.written, self._value, self._wrap = written, value, wrap

    def describe(self) -> str:
        return self.written

    def value(self) -> Any:
        return self._value

    def closed(self, builder: Builder) -> None:
        add_statement(self._wrap(self.body(), self.span))
