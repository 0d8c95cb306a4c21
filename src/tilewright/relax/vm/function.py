"""Graph functions as Python calls them: with tuples and shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tilewright.error import ArgumentError
from tilewright.relax.interpreter import Evaluator
from tilewright.runtime.module import Module, text_of
from tilewright.runtime.ndarray import array
from tilewright.runtime.packed_func import PackedFunc

GRAPHS_FUNCTION: Final = "tilewright_graphs"
"""A packed function that tells how the parameters of graph functions are passed."""


class GraphFunction:
    """A native function with tuples or shapes among its parameters.

    Attributes:
        native: takes the parts of tuples and shapes one by one.
    """

    def __init__(self, native: PackedFunc, names: list[str], structure: list[Any]) -> None:
        self.native, self.names = native, names
        self._structure = structure

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return self.native(*self.flat(args))

    def flat(self, args: tuple[Any, ...]) -> list[Any]:
        """The arguments of the native function.

        Raises:
            ArgumentError: for a wrong number of arguments, or of parts of one.
        """
        if len(args) != len(self.names):
            listed = ", ".join(self.names)
            raise ArgumentError(
                f"{self.native.name}: expected {len(self.names)} arguments ({listed}), got "
                f"{len(args)}"
            )
        result: list[Any] = []
        for name, part, arg in zip(self.names, self._structure, args, strict=True):
            self._flatten(name, part, arg, result)
        return result

    def _flatten(self, name: str, structure: Any, arg: Any, result: list[Any]) -> None:
        if structure is None:
            result.append(arg)
            return
        if not isinstance(arg, (tuple, list)) or len(arg) != len(structure):
            found = f"{len(arg)} items" if isinstance(arg, (tuple, list)) else repr(arg)
            raise ArgumentError(
                f"{self.native.name}: argument {name} is a tuple of {len(structure)}, got {found}"
            )
        for part, item in zip(structure, arg, strict=True):
            self._flatten(name, part, item, result)

    def __repr__(self) -> str:
        return f"<tilewright.relax.GraphFunction {self.native.name}>"


class SavedFunction:
    """A function without parameters that calls another one with fixed arguments."""

    def __init__(self, function: Any, arguments: tuple[Any, ...], include_return: bool) -> None:
        self.function, self.arguments = function, arguments
        self._include_return = include_return

    def __call__(self) -> Any:
        """Call the function."""
        result = self.function(*self.arguments)
        return result if self._include_return else None

    def __repr__(self) -> str:
        return f"<tilewright.relax.SavedFunction of {self.function!r}>"


class EvaluatedFunction:
    """An interpreted graph function with compiled kernels."""

    def __init__(self, evaluator: Evaluator, name: str) -> None:
        self._evaluator, self._name = evaluator, name
        self.names = [param.name_hint for param in evaluator.module[name].params]

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return _as_arrays(self._evaluator.run(self._name, *args))

    def __repr__(self) -> str:
        return f"<tilewright.relax.EvaluatedFunction {self._name}>"


def _as_arrays(value: Any) -> Any:
    """What the evaluator returns, with arrays as `NDArray`s."""
    if isinstance(value, np.ndarray):
        return array(value)
    return tuple(map(_as_arrays, value)) if type(value) is tuple else value


Descriptions = Mapping[str, tuple[list[str], list[Any]]]
"""For each graph function the names of its parameters, and how they are passed."""


def descriptions_of(module: Module) -> Descriptions:
    """Those of a module that was loaded; none for one that has no graph functions."""
    text = text_of(module, GRAPHS_FUNCTION)
    return {} if text is None else json.loads(text)


def graph_function(
    module: Module, name: str, descriptions: Descriptions
) -> PackedFunc | GraphFunction:
    """A function of a module as Python calls it."""
    native = module[name]
    names, structure = descriptions.get(name, ([], []))
    if all(part is None for part in structure):
        return native
    return GraphFunction(native, names, structure)
