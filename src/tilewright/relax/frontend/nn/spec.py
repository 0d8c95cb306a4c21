"""What the arguments of methods are: `Int`, `Tensor`, `Object`, `Tuple`, and dictionaries of these.

::

    spec = {
        "prefill": {
            "tokens": nn.spec.Tensor([1, "n"], "int32"),
            "total": int,
            "$": {"param_mode": "packed", "effect_mode": "none"},
        },
    }

The key ``"$"`` says how a function takes parameters (``"plain"``: one by one, ``"packed"``: as one
tuple, ``"none"``: not at all) and effects, likewise.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tilewright.error import ArgumentError, UnknownNameError, did_you_mean
from tilewright.ir.dtype import DType
from tilewright.relax.frontend.nn.module import Module
from tilewright.relax.frontend.nn.tensor import Object as ObjectValue
from tilewright.relax.frontend.nn.tensor import extent_of

MODES: Final = ("plain", "packed", "none")
"""How a function takes its parameters and effects."""


class Int:
    """A whole number: a symbolic size, which is passed as a shape of one extent."""

    def __repr__(self) -> str:
        return "int"


class Tensor:
    """An array.

    Args:
        shape: the extents: numbers, names of symbolic sizes, or tir expressions.
        dtype: of the elements.
    """

    def __init__(self, shape: Sequence[Any], dtype: str) -> None:
        if not isinstance(shape, (list, tuple)):
            raise ArgumentError(f"spec.Tensor: the shape is a list of extents, got {shape!r}")
        for extent in shape:
            extent_of(extent)
        self.shape, self.dtype = list(shape), str(DType(dtype))

    def __repr__(self) -> str:
        return f"Tensor([{', '.join(map(str, self.shape))}], {self.dtype!r})"


class Object:
    """A value that is not an array.

    Args:
        object_type: the subclass of `tilewright.relax.frontend.nn.Object` that the method gets.
    """

    def __init__(self, object_type: type[ObjectValue] = ObjectValue) -> None:
        self.object_type = object_type

    def __repr__(self) -> str:
        return f"Object({self.object_type.__name__})"


class Tuple:
    """Several values.

    Args:
        name: of the argument.
        elements: what each of them is, as a list or a tuple, which the method gets as well.
    """

    def __init__(self, name: str, elements: Sequence[Any]) -> None:
        if not isinstance(elements, (list, tuple)):
            raise ArgumentError(f"spec.Tuple: the elements are a list or a tuple: {elements!r}")
        self.name, self.elements = name, elements

    def __repr__(self) -> str:
        return f"Tuple({list(self.elements)!r})"


@dataclass
class MethodSpec:
    """A method and its arguments.

    Attributes:
        method: the method, bound to its module.
        arg_names: the names of its arguments.
        arg_specs: what each of them is.
        param_mode: how the function takes parameters: ``"plain"``, ``"packed"`` or ``"none"``.
        effect_mode: how it takes effects.
    """

    method: Callable[..., Any]
    arg_names: list[str]
    arg_specs: list[Any]
    param_mode: str = "plain"
    effect_mode: str = "plain"

    def __post_init__(self) -> None:
        for name, mode in (("param_mode", self.param_mode), ("effect_mode", self.effect_mode)):
            if mode not in MODES:
                raise ArgumentError(f"{name} is one of {', '.join(MODES)}, got {mode!r}")

    @staticmethod
    def from_raw(spec: Any, method: Callable[..., Any]) -> MethodSpec:
        """The spec of a method from a dictionary: from each argument to what it is.

        Raises:
            ArgumentError: if an argument is missing, or something else than a spec is given.
            UnknownNameError: if the method has no argument of that name.
        """
        if isinstance(spec, MethodSpec):
            return spec
        name = getattr(method, "__name__", repr(method))
        if not isinstance(spec, Mapping):
            raise ArgumentError(
                f"the spec of method {name!r} is a dictionary from its arguments to what they are, "
                f"got {spec!r}"
            )
        modes = spec.get("$", {})
        given = {key: value for key, value in spec.items() if key != "$"}
        unknown = [key for key in modes if key not in ("param_mode", "effect_mode")]
        if unknown:
            raise UnknownNameError(
                f"the spec of method {name!r}: '$' has param_mode and effect_mode, not "
                f"{unknown[0]!r}"
            )
        arg_names = _argument_names(method, name, given)
        arg_specs = [_argument_spec(name, arg, given[arg]) for arg in arg_names]
        return MethodSpec(method, arg_names, arg_specs, **modes)

    @staticmethod
    def from_torch(args: Sequence[Any], method: Callable[..., Any]) -> MethodSpec:
        """The spec of a method from examples of its arguments: arrays and whole numbers."""
        names = [*inspect.signature(method).parameters]
        if len(args) != len(names):
            raise ArgumentError(f"{method!r} takes {len(names)} arguments, got {len(args)}")
        return MethodSpec(method, names, [_like(*pair) for pair in zip(names, args, strict=True)])


@dataclass
class ModuleSpec:
    """A module and its methods that become functions.

    Attributes:
        module: the module.
        method_names: the names of the methods, which are those of the functions.
        method_specs: what each takes.
    """

    module: Module
    method_names: list[str]
    method_specs: list[MethodSpec]

    @staticmethod
    def from_raw(spec: Any, module: Module) -> ModuleSpec:
        """The spec of a module from a dictionary: from each method to its arguments.

        Raises:
            UnknownNameError: if there is no such method.
            ArgumentError: for something else than a dictionary.
        """
        if isinstance(spec, ModuleSpec):
            return spec
        owner = type(module).__name__
        if not isinstance(spec, Mapping) or not spec:
            raise ArgumentError(
                f"the spec of {owner} is a dictionary from methods to their arguments, such as "
                f"{{'forward': {{'x': nn.spec.Tensor([1, 784], 'float32')}}}}, got {spec!r}"
            )
        specs = []
        for name, method_spec in spec.items():
            method = getattr(module, name, None)
            if not callable(method):
                known = [key for key in dir(module) if not key.startswith("_")]
                raise UnknownNameError(f"{owner} has no method {name!r}{did_you_mean(name, known)}")
            specs.append(MethodSpec.from_raw(method_spec, method))
        return ModuleSpec(module, list(spec), specs)


def _argument_names(method: Callable[..., Any], name: str, given: Mapping[str, Any]) -> list[str]:
    """The arguments of a method that its spec names, in the order of the method."""
    parameters = inspect.signature(method).parameters
    for arg in given:
        if arg not in parameters:
            hint = did_you_mean(arg, parameters, f"; it has {list(parameters)}")
            raise UnknownNameError(f"method {name!r} has no argument {arg!r}{hint}")
    named = [
        arg
        for arg, parameter in parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    for arg in named:
        if arg not in given and parameters[arg].default is inspect.Parameter.empty:
            raise ArgumentError(f"the spec of method {name!r} does not say what {arg!r} is")
    return [arg for arg in named if arg in given]


def _argument_spec(method: str, name: str, spec: Any) -> Any:
    if spec in (int, Int) or (isinstance(spec, str) and spec == "int"):
        return Int()
    if isinstance(spec, (Int, Tensor, Object)):
        return spec
    if isinstance(spec, (list, tuple)):
        spec = Tuple(name, spec)
    if isinstance(spec, Tuple):
        elements = [
            _argument_spec(method, f"{name}_{index}", element)
            for index, element in enumerate(spec.elements)
        ]
        return Tuple(name, type(spec.elements)(elements))
    raise ArgumentError(
        f"the spec of method {method!r}: {name!r} is int, nn.spec.Tensor, nn.spec.Object, or a "
        f"tuple of these, got {spec!r}"
    )


def _like(name: str, value: Any) -> Any:
    """The spec of a value: an array or a whole number."""
    if isinstance(value, int):
        return Int()
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise ArgumentError(f"argument {name!r}: expected an array or a number, got {value!r}")
    return Tensor(list(value.shape), str(value.dtype).removeprefix("torch."))
