"""The table of functions by name, which compiled code and Python share.

It is tvm-ffi's own table, so a function that another package registered there is found too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, TypeVar, overload

import tvm_ffi
from tvm_ffi import core

from tilewright.error import (
    ArgumentError,
    ArgumentValueError,
    ProgramAssertionError,
    UnknownNameError,
    did_you_mean,
)
from tilewright.runtime.ndarray import NDArray
from tilewright.runtime.packed_func import PackedFunc, from_callable, packed_func

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

RESERVED_PREFIX = "ffi."
"""Names that tvm-ffi itself depends on."""

_callables: dict[str, tuple[core.Function, Callable[..., Any]]] = {}
"""The Python callables that were registered here, with the functions that stand for them."""


@overload
def register_func(
    func_name: str, f: None = None, override: bool = False
) -> Callable[[FunctionT], FunctionT]: ...
@overload
def register_func(func_name: FunctionT, f: None = None, override: bool = False) -> FunctionT: ...
@overload
def register_func(func_name: str, f: FunctionT, override: bool = False) -> FunctionT: ...
def register_func(func_name: Any, f: Any = None, override: bool = False) -> Any:
    """Register a Python callable under a name, for `get_global_func` and ``T.call_packed``.

    It is called with arrays (`NDArray`), numbers, strings, ...; an exception that it raises arrives
    unchanged at the Python code that called the compiled function. Usable as a decorator::

        @tilewright.register_func("my.scale")
        def scale(source, target): ...

    Args:
        func_name: the name; or the callable, which is then registered under its own name.
        f: the callable; without it the result is a decorator.
        override: replace a function of that name.

    Returns:
        The callable itself, or a decorator that returns it.

    Raises:
        ArgumentValueError: if the name is taken or reserved.
        ArgumentError: if `f` is not callable.
    """
    if callable(func_name):
        return _register(func_name.__name__, func_name, override)
    if f is not None:
        return _register(func_name, f, override)
    return lambda function: _register(func_name, function, override)


def _register(name: object, function: Any, override: bool) -> Any:
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"register_func: the name of a function is a string, got {name!r}")
    if not callable(function):
        raise ArgumentError(f"register_func: {name!r} must be callable, got {function!r}")
    if name.startswith(RESERVED_PREFIX):
        raise ArgumentValueError(
            f"register_func: names that start with 'ffi.' are reserved: {name}"
        )
    if not override and _find(name) is not None:
        raise ArgumentValueError(
            f"register_func: {name!r} is registered already; pass override=True to replace it"
        )
    packed = from_callable(function, name)
    core._register_global_func(name, packed, override)
    _callables[name] = (packed, function)
    return function


@overload
def get_global_func(name: str, allow_missing: Literal[False] = False) -> PackedFunc: ...


@overload
def get_global_func(name: str, allow_missing: bool) -> PackedFunc | None: ...


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """The function registered under `name`.

    Args:
        name: as given to `register_func`, here or in any tvm-ffi package.
        allow_missing: return None instead of raising.

    Raises:
        UnknownNameError: if there is none.
    """
    function = _find(name)
    if function is not None:
        return packed_func(function, name)
    if allow_missing:
        return None
    hint = did_you_mean(name, list_global_func_names())
    raise UnknownNameError(f"no function is registered under {name!r}{hint}")


def list_global_func_names() -> list[str]:
    """The names of all registered functions, those of tvm-ffi included."""
    return [str(name) for name in tvm_ffi.registry.list_global_func_names()]


def remove_global_func(name: str) -> None:
    """Forget the function registered under `name`.

    Raises:
        UnknownNameError: if there is none.
    """
    get_global_func(name)
    tvm_ffi.remove_global_func(name)
    _callables.pop(name, None)


def registered_callable(name: str) -> Callable[..., Any] | None:
    """The Python callable registered under `name`, to be called with any Python values.

    None if there is no function of that name, or if it is not a Python function.
    """
    current = _find(name)
    if current is None or name not in _callables:
        return None
    packed, function = _callables[name]
    return function if current.same_as(packed) else None


def convert(value: Any) -> Any:
    """`value` in the form that compiled code takes.

    A Python callable becomes a `PackedFunc`; lists and tuples are converted item by item; arrays,
    numbers, strings, devices and None stay as they are.

    Raises:
        ArgumentError: for anything else.
    """
    if isinstance(value, (list, tuple)):
        return type(value)(map(convert, value))
    if value is None or isinstance(value, (int, float, str, bytes, core.Device)):
        return value
    if isinstance(value, core.CObject) or hasattr(value, "__dlpack__"):
        return value
    if callable(value):
        return from_callable(value, getattr(value, "__name__", "<callable>"))
    raise ArgumentError(f"convert: {value!r} cannot be passed to compiled code")


def _find(name: object) -> core.Function | None:
    if not isinstance(name, str):
        raise ArgumentError(f"the name of a function is a string, got {name!r}")
    return core._get_global_func(name, True)


class ShapeTuple(tuple[int, ...]):
    """The extents of a shape, at least 0 each: a tuple of integers.

    Functions of a virtual machine take it, or any other tuple of integers, where they want a shape.
    """

    __slots__ = ()

    def __new__(cls, shape: Iterable[int]) -> ShapeTuple:
        try:
            extents = tuple(map(operator.index, shape))
        except TypeError:
            raise ArgumentError(f"ShapeTuple: a shape is integers, got {shape!r}") from None
        if any(extent < 0 for extent in extents):
            raise ArgumentError(f"ShapeTuple: extents are at least 0, got {extents}")
        return super().__new__(cls, extents)

    def __repr__(self) -> str:
        return f"ShapeTuple({super().__repr__()})"


@register_func("tvm.default_trace_action", override=True)
def default_trace_action(*args: Any) -> None:
    """Print the arguments."""
    print(list(args), flush=True)


PRINT: Final = "tilewright.print"
FAIL: Final = "tilewright.fail"

FAILED: Final = "an assertion of the program failed"
"""The text of an assertion without one."""


def formatted(form: str, values: Sequence[Any]) -> str:
    """Values in the places of a format, or one after the other if that is empty."""
    shown = [_shown(value) for value in values]
    return form.format(*shown) if form else " ".join(map(str, shown))


def _shown(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value.__array__(copy=False)
    return tuple(map(_shown, value)) if isinstance(value, tuple) else value


@register_func(PRINT, override=True)
def print_values(form: str, *values: Any) -> None:
    """Print values."""
    print(formatted(form, values), flush=True)


@register_func(FAIL, override=True)
def fail(form: str, *values: Any) -> None:
    """Raise the error of an assertion that does not hold."""
    raise ProgramAssertionError(formatted(form, values) or FAILED)
