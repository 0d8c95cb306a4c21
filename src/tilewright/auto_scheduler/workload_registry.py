"""Workloads by name: functions that make the tensors of a computation.

A *workload key* is a list in JSON, the name of such a function and its arguments. It names a
computation in logs, and makes it again in any process that has the function.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from tilewright.error import ArgumentError, ArgumentValueError, UnknownNameError, did_you_mean
from tilewright.ir.expr import IntImm
from tilewright.te.compute import placeholder
from tilewright.te.from_prim_func import tensors_of
from tilewright.te.tensor import Tensor
from tilewright.tir.function import PrimFunc

F = TypeVar("F", bound=Callable[..., Any])

_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {}
_COMPUTATIONS: Final[dict[str, list[Tensor] | PrimFunc]] = {}
_TENSOR: Final = "TENSOR"
"""How the list begins that stands for a tensor among the arguments."""


def register_workload(func_name: Any, f: Any = None, override: bool = False) -> Any:
    """Register a function that makes the tensors of a computation.

    It is used as a decorator, or called::

        @auto_scheduler.register_workload
        def matmul(n, m, k):
            ...
            return [A, B, C]

    Args:
        func_name: the function, which is registered under its own name, or the name.
        f: the function; without it, a decorator is returned.
        override: whether the function takes the place of another one of that name.

    Returns:
        The function, or a decorator.

    Raises:
        ArgumentValueError: if there is another one of that name, and `override` is not set. A
            definition that is run again, as in a notebook, is not another one.
    """
    if callable(func_name):
        return _register(_name_of(func_name), func_name, override)
    if not isinstance(func_name, str):
        raise ArgumentError(f"register_workload: expected a function or a name, got {func_name!r}")

    def decorate(function: F) -> F:
        return _register(func_name, function, override)

    return decorate if f is None else decorate(f)


def _register(name: str, function: Any, override: bool) -> Any:
    if not callable(function):
        raise ArgumentError(f"register_workload: {name!r} is to be a function, got {function!r}")
    known = _FUNCTIONS.get(name)
    if known is not None and not override and not _is_redefined(known, function):
        raise ArgumentValueError(
            f"register_workload: there is a workload {name!r} already; choose another name, or "
            "give override=True"
        )
    _FUNCTIONS[name] = function
    return function


def _is_redefined(known: Any, function: Any) -> bool:
    """Whether the definition of a function was run again, as in a notebook."""
    return all(
        getattr(known, name, known) == getattr(function, name, function)
        for name in ("__module__", "__qualname__")
    )


def _name_of(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def register_workload_tensors(
    workload_key: str, tensors: Sequence[Tensor] | PrimFunc, override: bool = True
) -> str:
    """Let a workload key stand for tensors, in this process; returns the key.

    Args:
        workload_key: the key.
        tensors: the inputs and outputs of the computation, or its tensor program.
        override: whether they may take the place of others.
    """
    if workload_key in _COMPUTATIONS and not override:
        raise ArgumentValueError(f"there are tensors for the workload {workload_key} already")
    _COMPUTATIONS[workload_key] = tensors if isinstance(tensors, PrimFunc) else list(tensors)
    return workload_key


def make_workload_key(func: Callable[..., Any] | str, args: Any = ()) -> str:
    """The workload key of a registered function with arguments.

    Args:
        func: the function or its name.
        args: its arguments: numbers, strings, tensors (which stand for inputs of their shape and
            dtype), and lists of them.

    Raises:
        UnknownNameError: if the function is not registered.
        ArgumentValueError: if another one is registered under its name.
        ArgumentError: for another argument.
    """
    name = func if isinstance(func, str) else _registered_name(func)
    _function(name)
    arguments = args if isinstance(args, (list, tuple)) else [args]
    return json.dumps([name, *(_encoded(name, argument) for argument in arguments)])


def _registered_name(function: Callable[..., Any]) -> str:
    """The name under which a function is registered."""
    name = next((name for name, known in _FUNCTIONS.items() if known is function), None)
    if name is not None:
        return name
    own = _name_of(function)
    if own in _FUNCTIONS:
        raise ArgumentValueError(
            f"make_workload_key: another function is registered as {own!r}; register this one, "
            "under another name or with override=True"
        )
    return own


def workload_key_to_tensors(workload_key: str) -> list[Any]:
    """The tensors that a workload key stands for.

    Raises:
        ArgumentValueError: if it is malformed.
        UnknownNameError: if it names a function that is not registered.
        TEScheduleError: if it stands for a tensor program that is not one of tensors.
    """
    known = computation_of(workload_key)
    return tensors_of(known) if isinstance(known, PrimFunc) else known


def computation_of(workload_key: str) -> list[Any] | PrimFunc:
    """The tensors, or the tensor program, that a workload key stands for; see there for errors."""
    known = _COMPUTATIONS.get(workload_key) if isinstance(workload_key, str) else None
    if known is not None:
        return known if isinstance(known, PrimFunc) else list(known)
    name, *arguments = _parts(workload_key)
    tensors: Any = _function(name)(*(_decoded(argument) for argument in arguments))
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise ArgumentError(
            f"the workload {name!r} is to return a list of tensors, the inputs and the outputs; "
            f"it returned {tensors!r}"
        )
    return list(tensors)


def registered(workload_key: str) -> Any:
    """What a workload key refers to now, so that a change can be noticed.

    Raises:
        ArgumentValueError: if it is malformed.
        UnknownNameError: if it names a function that is not registered.
    """
    known = _COMPUTATIONS.get(workload_key)
    if known is None:
        return _function(_parts(workload_key)[0])
    return known if isinstance(known, PrimFunc) else tuple(known)


def _parts(workload_key: str) -> list[Any]:
    parts: Any = None
    if isinstance(workload_key, str):
        try:
            parts = json.loads(workload_key)
        except ValueError:
            parts = None
    if not isinstance(parts, list) or not parts or not isinstance(parts[0], str):
        raise ArgumentValueError(
            "a workload key is a list in JSON, the name of a function and its arguments, as "
            f"make_workload_key makes it; got {workload_key!r}"
        )
    return parts


def _function(name: str) -> Callable[..., Any]:
    function = _FUNCTIONS.get(name)
    if function is None:
        hint = did_you_mean(name, _FUNCTIONS, "")
        raise UnknownNameError(
            f"the workload {name!r} is not registered{hint}; decorate the function that makes its "
            "tensors with @auto_scheduler.register_workload"
        )
    return function


def _encoded(name: str, argument: Any) -> Any:
    if isinstance(argument, Tensor):
        shape = [_encoded(name, extent) for extent in argument.shape]
        return [_TENSOR, shape, str(argument.dtype)]
    if isinstance(argument, (list, tuple)):
        return [_encoded(name, item) for item in argument]
    if isinstance(argument, IntImm):
        return argument.value
    if argument is None or isinstance(argument, (bool, int, float, str)):
        return argument
    raise ArgumentError(
        f"make_workload_key: arguments of {name!r} are numbers, strings, tensors of constant "
        f"shape, and lists of them; got {argument!r}"
    )


def _decoded(argument: Any) -> Any:
    if not isinstance(argument, list):
        return argument
    if argument[:1] == [_TENSOR]:
        _, shape, dtype = argument
        return placeholder(tuple(shape), dtype)
    return tuple(_decoded(item) for item in argument)
