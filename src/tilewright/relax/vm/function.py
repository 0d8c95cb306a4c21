"""Graph functions as Python calls them: with tuples and shapes."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.library import Parameter
from tilewright.relax.interpreter import Evaluator
from tilewright.runtime.device import Device, cpu
from tilewright.runtime.device_arrays import hold_constants, running_on
from tilewright.runtime.module import Module, text_of
from tilewright.runtime.ndarray import NDArray, array, from_dlpack
from tilewright.runtime.packed_func import PackedFunc

GRAPHS_FUNCTION: Final = "tilewright_graphs"
"""A packed function that tells how the parameters of graph functions are passed."""


class GraphDescription(NamedTuple):
    """How a graph function is called.

    Attributes:
        names: of its parameters.
        structure: for each of them how it is passed, see `signature.passing_of`.
        on_host: positions of the native function's arrays that are on the host, where others are
            on a device.
        written: positions of those over which it writes.
    """

    names: list[str]
    structure: list[Any]
    on_host: list[int]
    written: list[int]


class ObservedDescription(NamedTuple):
    """What is known of a function that can be observed in a library.

    Attributes:
        steps: what its steps are called, in the order of their numbers.
        inputs: the dtype and the extents of each parameter, symbolic ones as texts; None for one
            that is not an array.
    """

    steps: list[str]
    inputs: list[tuple[str, list[int | str]] | None]


class Descriptions(NamedTuple):
    """How the graph functions of a module are called.

    Attributes:
        functions: by name.
        device: the kind of device that they are for; None for the host.
        constants: the digest of those that are on the device; it may be empty.
        observed: the functions that can be observed in a library.
    """

    functions: Mapping[str, GraphDescription] = {}
    device: str | None = None
    constants: str = ""
    observed: Mapping[str, ObservedDescription] = {}

    def as_json(self) -> str:
        """A text from which `from_json` makes the same."""
        return json.dumps(self)

    @staticmethod
    def from_json(text: str) -> Descriptions:
        """What `as_json` wrote."""
        functions, device, constants, observed = json.loads(text)
        return Descriptions(
            {name: GraphDescription(*form) for name, form in functions.items()},
            device,
            constants,
            {name: ObservedDescription(*form) for name, form in observed.items()},
        )


class GraphFunction:
    """A native function with tuples or shapes among its parameters, or one for a device.

    Attributes:
        native: takes the parts of tuples and shapes one by one, and arrays where they have to be.
    """

    def __init__(
        self, native: PackedFunc, description: GraphDescription, device: Device | None
    ) -> None:
        self.native, self.names = native, description.names
        self._structure = description.structure
        self._on_host, self._written = set(description.on_host), set(description.written)
        self._device = device

    def __call__(self, *args: Any) -> Any:
        """Call the function; see `flat` for its errors."""
        flat = self.flat(args)
        if self._device is None:
            return self.native(*flat)
        with running_on(self._device.device_id):
            return self.native(*flat)

    def placed(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments with their arrays where the native function wants them.

        The errors are those of `flat`.
        """
        parts = iter(self.flat(args))
        return tuple(_filled(structure, parts) for structure in self._structure)

    def flat(self, args: tuple[Any, ...]) -> list[Any]:
        """The arguments of the native function; arrays of the host are copied to the device.

        Raises:
            ArgumentError: for a wrong number of arguments, or of parts of one.
            ArgumentValueError: for an array on another device, or one of the host that the
                function would write over on the device.
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
        if self._device is None:
            return result
        place, parameters = self._device, self.native.parameters or ()
        return [
            self._placed(position, known, value, place) if known.is_buffer else value
            for position, (known, value) in enumerate(zip(parameters, result, strict=True))
        ]

    def _placed(self, position: int, known: Parameter, value: Any, place: Device) -> Any:
        """An array where the native function wants it; anything else as it is."""
        if not isinstance(value, (NDArray, np.ndarray)):
            if not hasattr(value, "__dlpack__"):
                return value
            value = from_dlpack(value)
        found = value.device if isinstance(value, NDArray) else cpu()
        wanted = cpu() if position in self._on_host else place
        if found == wanted:
            return value
        where = f"{self.native.name}: argument {position + 1} ({known.name})"
        way = "x.numpy()" if wanted == cpu() else f"tvm.nd.array(x, tvm.{wanted})"
        if found != cpu():
            raise ArgumentValueError(
                f"{where}: the array is on {found}, and the function wants it on {wanted}: pass "
                f"{way}"
            )
        if position in self._written:
            raise ArgumentValueError(
                f"{where}: the function writes over this array, so it cannot take a copy of one of "
                f"the host: pass {way}, which it writes"
            )
        return array(value, place)

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


def _filled(structure: Any, parts: Iterator[Any]) -> Any:
    """An argument that is passed in parts."""
    if structure is None:
        return next(parts)
    return tuple(_filled(part, parts) for part in structure)


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
    """An interpreted graph function with compiled kernels, on the host."""

    def __init__(self, evaluator: Evaluator, name: str, device: Device | None) -> None:
        self._evaluator, self._name = evaluator, name
        self._device = device
        self.names = [param.name_hint for param in evaluator.module[name].params]

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        given = args if self._device is None else map(_on_host, args)
        return _as_arrays(self._evaluator.run(self._name, *given), self._device)

    def __repr__(self) -> str:
        return f"<tilewright.relax.EvaluatedFunction {self._name}>"


def _on_host(value: Any) -> Any:
    """A value with its arrays on the host."""
    if isinstance(value, NDArray) and value.device != cpu():
        return value.numpy()
    return tuple(map(_on_host, value)) if isinstance(value, (tuple, list)) else value


def _as_arrays(value: Any, device: Device | None) -> Any:
    """What the evaluator returns, with arrays as `NDArray`s."""
    if isinstance(value, np.ndarray):
        return array(value, device)
    return tuple(_as_arrays(v, device) for v in value) if type(value) is tuple else value


_compiled: Final[weakref.WeakKeyDictionary[Module, Descriptions]] = weakref.WeakKeyDictionary()
"""Those of modules that were compiled in this process."""


def describe(module: Module, descriptions: Descriptions) -> None:
    """Remember how the graph functions of a module are called, and hold its constants."""
    _compiled[module] = descriptions
    hold_constants(module, descriptions.constants)


def descriptions_of(module: Module) -> Descriptions:
    """Those of a module; none for one that has no graph functions."""
    if module not in _compiled:
        text = text_of(module, GRAPHS_FUNCTION)
        describe(module, Descriptions() if text is None else Descriptions.from_json(text))
    return _compiled[module]


def graph_function(
    module: Module, name: str, descriptions: Descriptions, device: Device | None
) -> PackedFunc | GraphFunction:
    """A function of a module as Python calls it.

    Args:
        device: where it runs; None for the host.
    """
    native = module[name]
    description = descriptions.functions.get(name)
    if description is None or (device is None and not any(map(_has_parts, description.structure))):
        return native
    return GraphFunction(native, description, device)


def _has_parts(structure: Any) -> bool:
    return structure is not None
