"""Programs that nest deeply: `deep_recursion` makes a call again on a large stack.

Whatever looks at programs (passes, printers, parsers, comparisons) is written as plain recursion,
which takes a few frames of Python for each level of nesting, and some memory of the stack of C for
some of them. Python's limit of 1000 frames fits nearly all programs, but not a sum of 2,000 terms
or a chain of 1,000 inlined stages. A call that hits the limit is made once more on a thread with a
large stack, for which the limit is raised. So ordinary programs pay nothing, and the main thread's
stack, whose size is not ours to choose, never overflows.

CPython 3.12 and 3.13 have a second limit, of 1,500 or 10,000 nested calls through C (`f(x)` where
`f` has a `__call__`, `map`, generators), which cannot be raised: that is why `map_children` calls
methods. What nests deeper than that raises `NestingError`.

What is decorated must be able to run twice: a first, broken-off run leaves no effects.
"""

from __future__ import annotations

import contextvars
import functools
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Generic, ParamSpec, TypeVar

from tilewright.error import NestingError

P = ParamSpec("P")
T = TypeVar("T")

LARGE_STACKS: Final = (512 << 20, 128 << 20, 32 << 20)
"""Sizes in bytes of a large stack, the best first; the system takes memory as it is touched."""

BYTES_PER_FRAME: Final = 5 << 10
"""Stack that a frame of Python takes, generously: about 500 bytes in CPython 3.10 to 3.13."""


class _RaisedLimits:
    """The calls that need a higher limit now, in all threads: Python has one limit for them all."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.limit_before = 0


_RAISED: Final = _RaisedLimits()
_IS_LARGE: Final = threading.local()


@contextmanager
def raised_recursion_limit(frames: int) -> Generator[None]:
    """Within the scope, `frames` functions of Python may nest, or more if that was so before."""
    with _RAISED.lock:
        if _RAISED.count == 0:
            _RAISED.limit_before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(sys.getrecursionlimit(), frames))
        _RAISED.count += 1
    try:
        yield
    finally:
        with _RAISED.lock:
            _RAISED.count -= 1
            if _RAISED.count == 0:
                sys.setrecursionlimit(_RAISED.limit_before)


def is_on_large_stack() -> bool:
    """Whether this thread has a large stack already."""
    return getattr(_IS_LARGE, "yes", False)


def pass_on_recursion_error(error: BaseException) -> None:
    """Raise `error` again if it calls for a large stack.

    For handlers of all errors that stand between a place that nests and `deep_recursion`.
    """
    if isinstance(error, RecursionError) and not is_on_large_stack():
        raise error


def deep_recursion(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: a call that nests too deeply is made again on a large stack.

    Raises:
        NestingError: if that is too small, too.
    """

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            if is_on_large_stack():
                raise
        return on_large_stack(function, *args, **kwargs)

    return guarded


def on_large_stack(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a call that is made on a large stack, with the ``with`` scopes of this thread.

    Raises:
        NestingError: if it is too small.
    """
    result: list[T] = []
    failure: list[BaseException] = []

    def run(frames: int) -> None:
        _IS_LARGE.yes = True
        try:
            with raised_recursion_limit(frames):
                result.append(function(*args, **kwargs))
        except RecursionError:
            failure.append(NestingError(_too_deep(function)))
        except BaseException as error:
            failure.append(error)

    thread = _started(functools.partial(contextvars.copy_context().run, run))
    thread.join()
    if failure:
        try:
            raise failure[0]
        finally:
            del failure  # an error keeps its frames alive, which keep the error alive
    return result[0]


def _too_deep(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", repr(function))
    return (
        f"{name}: expressions or statements nest too deeply; bind parts of them to variables, "
        "tensors or buffers of their own"
    )


def _started(run: Callable[[int], None]) -> threading.Thread:
    """A thread that calls `run` with the number of frames that fit its stack."""
    with _STARTING:
        before = threading.stack_size()
        try:
            for size in LARGE_STACKS:
                try:
                    threading.stack_size(size)
                    frames = size // BYTES_PER_FRAME
                    # A daemon: an interrupt while waiting for it ends the program.
                    thread = threading.Thread(target=run, args=(frames,), daemon=True)
                    thread.start()
                except RecursionError:
                    raise  # for a caller with more room
                except (RuntimeError, ValueError):
                    continue  # the system does not give so much
                return thread
        finally:
            threading.stack_size(before)
    raise NestingError("the program nests too deeply, and there is no memory for a larger stack")


_STARTING: Final = threading.Lock()
"""Python has one size of stacks for all threads that are started."""


class ScopeStack(Generic[T]):
    """The objects of the ``with`` statements that a thread is in, for classes with a `current()`.

    Every thread has a stack of its own, which begins empty; only a thread that goes on with the
    work of another one (`on_large_stack`) shares its stack.
    """

    def __init__(self) -> None:
        self._items: ContextVar[list[T]] = ContextVar("items")

    @property
    def items(self) -> list[T]:
        """The objects, innermost last."""
        items = self._items.get(None)
        if items is None:
            items = []
            self._items.set(items)
        return items

    def enter(self, item: T) -> None:
        """A ``with`` statement begins."""
        self.items.append(item)

    def leave(self) -> None:
        """The innermost one ends."""
        self.items.pop()

    def innermost(self) -> T | None:
        """The object of the innermost one; None outside of all."""
        items = self._items.get(None)
        return items[-1] if items else None
