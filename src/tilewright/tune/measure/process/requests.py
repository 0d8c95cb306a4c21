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

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir.recursion import deep_recursion
from tilewright.tune.measure.process.local_functions import reduced

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


class _FunctionPickler(_Pickler):
    def reducer_override(self, obj: Any) -> Any:
        return reduced(obj)


@deep_recursion
def dumps(request: Any) -> bytes:
    """A request in the form in which it is sent; `pickle.loads` reads it.

    Raises:
        NestingError: if a program in it nests too deeply.
    """
    stream = io.BytesIO()
    _Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(request)
    return stream.getvalue()


def portable(
    function: CallableOrName | None, purpose: str, initializer: CallableOrName | None = None
) -> bytes | str | None:
    """A user's function in a form in which another process finds or makes it.

    Args:
        function: the function, or the name under which one is registered.
        purpose: what it is, for messages.
        initializer: what may register the name in that process.

    Raises:
        ArgumentError: if another process cannot get it.
        UnknownNameError: if nothing registers the name.
    """
    if isinstance(function, str) and initializer is None:
        from tilewright.runtime.registry import get_global_func

        try:
            get_global_func(function)
        except UnknownNameError as error:
            raise UnknownNameError(
                f"{purpose}: {error}; give the function, or an `initializer` that registers it"
            ) from None
    if function is None or isinstance(function, str):
        return function
    if not callable(function):
        raise ArgumentError(f"{purpose} is a function or a registered name, got {function!r}")
    stream = io.BytesIO()
    try:
        _FunctionPickler(stream, pickle.HIGHEST_PROTOCOL).dump(function)
    except Exception as error:
        if importlib.util.find_spec("cloudpickle") is not None:
            import cloudpickle  # pyright: ignore[reportMissingImports]

            return cloudpickle.dumps(function)
        raise ArgumentError(
            f"{purpose} runs in another process, which cannot get {function!r} ({error}). Define "
            "what it uses at the top level of a module that can be imported, or install cloudpickle"
        ) from None
    return stream.getvalue()


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
