"""The stack of open constructs, which collect statements, and the module that is being read."""

from __future__ import annotations

from typing import Any, TypeVar

from tilewright.error import DiagnosticError
from tilewright.ir.node import Span
from tilewright.ir.recursion import ScopeStack
from tilewright.tir.stmt import Stmt, seq


class Builder:
    """The constructs that are open in one function, outermost first.

    ``with Builder():`` starts a function that is independent of the one being built, if any.
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.scopes: list[Any] = []
        """What names mean in the functions and macros that are being parsed, innermost last."""
        self.span: Span | None = None
        """Where the statement that is being built was written."""
        self.parser: type | None = None
        """The class of the parser that adds statements; None if Python code adds them."""

    def __enter__(self) -> Builder:
        _builders.enter(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _builders.leave()

    def close_to(self, depth: int) -> None:
        """Close the innermost constructs until `depth` of them are open."""
        while len(self.frames) > depth:
            self.frames[-1].__exit__(None, None, None)


_builders: ScopeStack[Builder] = ScopeStack()


def current_builder() -> Builder | None:
    """The builder of the function that this thread is building."""
    return _builders.innermost()


class Frame:
    """An open construct: it collects the statements of its body and becomes one when closed."""

    def __init__(self) -> None:
        builder = current_builder()
        self.span = builder.span if builder is not None else None
        self.statements: list[Stmt] = []
        self._used = False

    def __enter__(self) -> Any:
        builder = current_builder()
        if builder is None:
            raise DiagnosticError(f"{self.describe()} is only possible inside of a script function")
        if self._used:
            raise DiagnosticError(f"this {self.describe()} is opened a second time: make a new one")
        self.opened(builder)
        self._used = True
        builder.frames.append(self)
        return self.value()

    def __exit__(self, kind: object, exception: object, traceback: object) -> None:
        builder = current_builder()
        assert builder is not None
        depth = next(i for i, frame in enumerate(builder.frames) if frame is self)
        if kind is None:
            builder.close_to(depth + 1)
        del builder.frames[depth:]
        if kind is None:
            self.closed(builder)

    def describe(self) -> str:
        """How the construct is written, for messages."""
        return type(self).__name__

    def opened(self, builder: Builder) -> None:
        """Check that the construct may be opened here."""

    def value(self) -> Any:
        """What ``as`` or an assignment names."""
        return None

    def closed(self, builder: Builder) -> None:
        """Add the finished statement to the construct around."""
        raise NotImplementedError

    def body(self) -> Stmt:
        """The statements collected so far, as one."""
        return seq(self.statements)


FrameT = TypeVar("FrameT", bound=Frame)


def enclosing(kind: type[FrameT]) -> FrameT | None:
    """The innermost open construct of a class."""
    builder = current_builder()
    if builder is not None:
        for frame in reversed(builder.frames):
            if isinstance(frame, kind):
                return frame
    return None


def require(kind: type[FrameT], what: str, place: str) -> FrameT:
    """The innermost open construct of a class.

    Args:
        kind: the class of the construct.
        what: what needs it, for the message.
        place: how the construct is written.

    Raises:
        DiagnosticError: if there is none.
    """
    frame = enclosing(kind)
    if frame is None:
        raise DiagnosticError(f"{what} belongs inside of {place}")
    return frame


def add_statement(stmt: Stmt) -> None:
    """Add a statement to the innermost open construct."""
    builder = current_builder()
    if builder is None or not builder.frames:
        raise DiagnosticError("a statement is only possible inside of a script function")
    builder.frames[-1].statements.append(stmt)


def current_span() -> Span | None:
    """Where the statement that is being built was written."""
    builder = current_builder()
    return builder.span if builder is not None else None


class ModuleUnderConstruction:
    """Attributes and global infos of a module that is being read.

    Attributes:
        attrs: its attributes.
        global_infos: its global infos.
        is_open: whether they may be set: not any more when its functions are read.
    """

    def __init__(self) -> None:
        self.is_open = True
        self.attrs: dict[str, Any] = {}
        self.global_infos: dict[str, tuple[Any, ...]] = {}

    def __enter__(self) -> ModuleUnderConstruction:
        _modules.enter(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _modules.leave()


_modules: ScopeStack[ModuleUnderConstruction] = ScopeStack()


def is_reading_module() -> bool:
    """Whether this thread reads a module."""
    return _modules.innermost() is not None


def current_module() -> ModuleUnderConstruction:
    """The innermost module that this thread reads; one that is thrown away if there is none.

    Python itself runs the body of a decorated class before the decorator reads it.
    """
    return _modules.innermost() or ModuleUnderConstruction()
