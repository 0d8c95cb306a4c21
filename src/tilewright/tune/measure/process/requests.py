"""What is sent to children: pickles, of modules and of what users give to run there."""

from __future__ import annotations

import copyreg
import importlib.util
import io
import pickle
import traceback
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final

from tilewright.error import ArgumentError

CallableOrName = Callable[..., Any] | str
"""A function, or the name under which one is registered."""

TRACEBACK: Final = 20
"""How many lines of a traceback are told."""


def _reduce_view(view: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return _view, (dict(view),)


def _view(content: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(content)


class _Pickler(pickle.Pickler):
    dispatch_table = copyreg.dispatch_table.copy()
    dispatch_table[MappingProxyType] = _reduce_view


def dumps(request: Any) -> bytes:
    """A request in the form in which it is sent; `pickle.loads` reads it."""
    stream = io.BytesIO()
    _Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(request)
    return stream.getvalue()


def portable(function: CallableOrName | None, purpose: str) -> bytes | str | None:
    """A user's function in a form in which another process finds or makes it.

    Args:
        function: the function, or the name under which one is registered.
        purpose: what it is, for messages.

    Raises:
        ArgumentError: if another process cannot get it.
    """
    if function is None or isinstance(function, str):
        return function
    if not callable(function):
        raise ArgumentError(f"{purpose} is a function or a registered name, got {function!r}")
    if importlib.util.find_spec("cloudpickle") is not None:
        import cloudpickle  # pyright: ignore[reportMissingImports]

        return cloudpickle.dumps(function)
    try:
        content = pickle.dumps(function)
        if b"__main__" in content:
            raise pickle.PicklingError("it is defined in the program that was started")
        return content
    except Exception as error:
        raise ArgumentError(
            f"{purpose} runs in another process, which cannot get {function!r} ({error}). Define "
            "it at the top level of a module that can be imported, or install cloudpickle"
        ) from None


def received(function: bytes | str | None, default: Callable[..., Any] | None = None) -> Any:
    """In the child: the function that `portable` has sent, or the default for None."""
    if function is None:
        return default
    if isinstance(function, bytes):
        return pickle.loads(function)
    from tilewright.runtime.registry import get_global_func

    return get_global_func(function)


def error_text(error: BaseException) -> str:
    """An exception as text: what it is, and below where it comes from."""
    first = "".join(traceback.format_exception_only(error)).strip()
    lines = "".join(traceback.format_tb(error.__traceback__)).splitlines()
    return "\n".join([first, *lines[-TRACEBACK:]])
