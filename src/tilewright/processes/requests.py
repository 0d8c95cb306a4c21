"""What is sent to children: pickles, of modules and of what users give to run there."""

from __future__ import annotations

import builtins
import copyreg
import dis
import importlib
import importlib.util
import io
import marshal
import pickle
import sys
import traceback
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any, Final

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir.recursion import deep_recursion

CallableOrName = Callable[..., Any] | str
"""A function, or the name under which one is registered."""

TRACEBACK: Final = 20
"""Number of lines of a traceback in messages."""


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


_MAIN: Final = "__main__"
_EMPTY: Final = "empty"
"""Instead of the tuple with its content: a variable around a function that has no value yet."""


def reduced(value: Any) -> Any:
    """What `pickle.Pickler.reducer_override` gives for a value.

    Raises:
        pickle.PicklingError: for a class of the main program.
    """
    if isinstance(value, ModuleType):
        return importlib.import_module, (value.__name__,)
    if isinstance(value, type) and value.__module__ == _MAIN:
        raise pickle.PicklingError(
            f"the class {value.__qualname__} is defined in the program that was started"
        )
    if isinstance(value, FunctionType) and not _is_importable(value):
        closure = value.__closure__ or ()
        code = marshal.dumps(value.__code__)
        skeleton = code, value.__name__, value.__module__, len(closure)
        return _skeleton, skeleton, _state(value, closure), None, None, _fill
    return NotImplemented


def _is_importable(function: FunctionType) -> bool:
    if function.__module__ == _MAIN:
        return False
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _state(function: FunctionType, closure: tuple[CellType, ...]) -> dict[str, Any]:
    used = set(_global_names(function.__code__)) & function.__globals__.keys()
    return {
        "globals": {name: function.__globals__[name] for name in sorted(used)},
        "cells": [_content(cell) for cell in closure],
        "defaults": function.__defaults__,
        "kwdefaults": function.__kwdefaults__,
        "attributes": function.__dict__,
    }


def _content(cell: CellType) -> tuple[Any] | str:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return _EMPTY


def _global_names(code: CodeType) -> Iterator[str]:
    """The names of global variables in a function and the functions in it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _skeleton(code: bytes, name: str, module: str, cells: int) -> FunctionType:
    """The function, without what it refers to, which may be itself."""
    scope = {"__builtins__": builtins, "__name__": module}
    closure = tuple(CellType() for _ in range(cells))
    return FunctionType(marshal.loads(code), scope, name, None, closure)


def _fill(function: FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state["globals"])
    for cell, content in zip(function.__closure__ or (), state["cells"], strict=True):
        if content != _EMPTY:
            (cell.cell_contents,) = content
    function.__defaults__, function.__kwdefaults__ = state["defaults"], state["kwdefaults"]
    function.__dict__.update(state["attributes"])
