"""Pickles of functions that cannot be imported: local ones, lambdas, those of the main program.

Such a function is sent by value: its code, its defaults, and the variables around it that it uses.
The process that reads it runs the same Python. Whatever can be imported is sent by its name.
"""

from __future__ import annotations

import builtins
import dis
import importlib
import marshal
import pickle
import sys
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final

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
