"""A tag for all operations that are made inside a `with` block or a decorated function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from tilewright.error import ArgumentError, ArgumentValueError

Function = TypeVar("Function", bound=Callable[..., Any])


class TagScope:
    """Context manager and decorator that tags operations; see `tag_scope`."""

    _current: TagScope | None = None

    def __init__(self, tag: str) -> None:
        if not isinstance(tag, str):
            raise ArgumentError(f"te.tag_scope: a tag is a string, got {tag!r}")
        self.tag = tag

    @classmethod
    def resolve(cls, tag: str) -> str:
        """The tag of a new operation for which `tag` was given (empty for none)."""
        scope = cls._current
        if scope is None:
            return tag
        if tag:
            raise ArgumentValueError(
                f"tag {tag!r} inside of te.tag_scope({scope.tag!r}): an operation has one tag"
            )
        return scope.tag

    def __enter__(self) -> TagScope:
        if TagScope._current is not None:
            raise ArgumentValueError(
                f"te.tag_scope({self.tag!r}) inside of te.tag_scope({TagScope._current.tag!r})"
            )
        TagScope._current = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        TagScope._current = None

    def __call__(self, function: Function) -> Function:
        @functools.wraps(function)
        def tagged(*args: Any, **options: Any) -> Any:
            with TagScope(self.tag):
                return function(*args, **options)

        return tagged  # type: ignore[return-value]


def tag_scope(tag: str) -> TagScope:
    """Tag every operation that is made inside.

    Use it as ``with te.tag_scope("matmul"):`` or as the decorator ``@te.tag_scope("matmul")``.
    Scopes do not nest, and an operation inside may not have a tag of its own.
    """
    return TagScope(tag)
