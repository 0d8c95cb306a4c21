"""`@primitive`: from one function to a method, an instruction of a trace, and a page of help.

A primitive is a function of a `FunctionTree` and of what it acts on::

    @primitive
    def split(tree: FunctionTree, loop: For, factors: list[...], ...) -> Edit: ...

Its signature is its schema. The annotation of a parameter says what users may pass for it: for a
`For` a `LoopRV`, for a `BlockRealize` a `BlockRV` or the name of a block, for a `Number` an integer
or a sampled `ExprRV`; everything else is passed as it is, but for `ExprRV` in it (in an index map,
too), which become numbers. What it returns in an `Edit` becomes new random variables.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from tilewright.error import ArgumentError
from tilewright.tir.schedule.tree import Edit

Number = int
"""An integer; users may pass a sampled `ExprRV`, or an expression over some."""


class Parameter(NamedTuple):
    """One parameter of a primitive.

    Attributes:
        name: its name.
        kind: what is passed: ``"loop"``, ``"block"``, ``"loop or block"``, ``"loop or
            blocks"`` (one loop or a list of blocks), ``"loop or number"``, ``"number"`` or
            ``"value"``. In steps of `te.Schedule` also ``"tensor"``, ``"stage"`` and
            ``"receiver"``, the stage the method of which is called.
        many: whether it is a list of these.
        is_integer: whether it is a value that is an integer, which cannot be sampled.
        optional_items: whether items of the list may be None.
        variadic: whether it takes all positional arguments (``*loops``).
        default: its default, `inspect.Parameter.empty` without one.
    """

    name: str
    kind: str
    many: bool
    is_integer: bool
    optional_items: bool
    variadic: bool
    default: Any


class Primitive:
    """A transformation, query or sampling of a schedule.

    Attributes:
        package: which has the schedule that it is a step of, ``"tir"`` or ``"te"``.
        name: its name, which is the name of the method of `Schedule`.
        callee: what is called in the Python text of a trace, ``{sch}.<name>``. Where an argument
            has the method, ``{}`` stands for that one.
        apply: the function ``(tree, **arguments) -> Edit``.
        parameters: what it takes, in order.
        signature: the signature of the method.
        is_sampling: whether it takes ``random`` and a ``decision``.
        defaults: what parameters are where nothing is passed, `inspect.Parameter.empty` for those
            without a default.
    """

    package: ClassVar = "tir"

    def __init__(self, function: Callable[..., Edit], is_sampling: bool) -> None:
        self.name = function.__name__.rstrip("_")
        self.callee = f"{{sch}}.{self.name}"
        self.apply = function
        self.doc = inspect.getdoc(function) or ""
        self.is_sampling = is_sampling
        signature = inspect.signature(function)
        skipped = 2 if is_sampling else 1
        parameters = list(signature.parameters.values())[skipped:]
        self.parameters = tuple(map(_parameter, parameters))
        self.signature = signature.replace(parameters=parameters)
        kinds = inspect.Parameter
        named = [p for p in parameters if p.kind is not kinds.VAR_POSITIONAL]
        self._variadic = next((p.name for p in parameters if p not in named), None)
        self._positional = tuple(p.name for p in named if p.kind is kinds.POSITIONAL_OR_KEYWORD)
        self._names = frozenset(p.name for p in named)
        self._defaults = {p.name: p.default for p in named if p.default is not kinds.empty}
        self.defaults = {p.name: p.default for p in self.parameters}

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name, defaults filled in."""
        found = dict(self._defaults)
        given = self._positional[: len(args)]
        if self._variadic is not None:
            found[self._variadic], given = args, ()
        found.update(zip(given, args, strict=False))
        found.update(kwargs)
        complete = len(found) == len(self.parameters) and kwargs.keys() <= self._names
        taken = self._variadic is not None or len(args) == len(given)
        if complete and taken and kwargs.keys().isdisjoint(given):
            return found
        # Something is wrong; the signature says what.
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self.name}: {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def as_python(
        self, arguments: Mapping[str, Any], names: Mapping[Any, str], text: Callable[[Any], str]
    ) -> str | None:
        """What a trace has as Python in place of the call of a method; None for that call.

        Args:
            arguments: by name.
            names: the names of the variables that are defined before.
            text: writes a value.
        """
        del arguments, names, text
        return None

    def __repr__(self) -> str:
        return f"<primitive {self.name}{self.signature}>"


class Step(Primitive):
    """A step of `tir.Schedule` that a package above defines, and that is not a method.

    Args:
        name: ``"<package>.<name>"``.
        function: as for a primitive.
    """

    def __init__(self, name: str, function: Callable[..., Edit]) -> None:
        super().__init__(function, is_sampling=False)
        self.name = name

    def as_python(
        self, arguments: Mapping[str, Any], names: Mapping[Any, str], text: Callable[[Any], str]
    ) -> str:
        """``sch.apply(name, arguments)``."""
        del names
        return f"sch.apply({text(self.name)}, {text(dict(arguments))})"


PRIMITIVES: dict[str, Primitive] = {}
"""All primitives by name."""


def primitive(function: Callable[..., Edit]) -> Callable[..., Edit]:
    """Register a function as a primitive."""
    _register(Primitive(function, is_sampling=False))
    return function


def sampling(function: Callable[..., Edit]) -> Callable[..., Edit]:
    """Register a function ``(tree, random, ..., decision=None)`` as a sampling primitive.

    Its `Edit` has ``results = (values, decision)``; the decision is kept in the trace.
    """
    _register(Primitive(function, is_sampling=True))
    return function


def _register(found: Primitive) -> None:
    assert found.name not in PRIMITIVES, found.name
    PRIMITIVES[found.name] = found


_KINDS = {
    "For": "loop",
    "For | ComputeLocation": "loop or location",
    "BlockRealize": "block",
    "For | BlockRealize": "loop or block",
    "For | list[BlockRealize]": "loop or blocks",
    "For | Number": "loop or number",
    "Number": "number",
}


def _parameter(parameter: inspect.Parameter) -> Parameter:
    text = str(parameter.annotation).removesuffix(" | None")
    many = text.startswith("list[")
    optional_items = many and text.endswith(" | None]")
    if many:
        text = text[len("list[") : -1].removesuffix(" | None")
    variadic = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    kind = _KINDS.get(text, "value")
    return Parameter(
        name=parameter.name,
        kind=kind,
        many=many or variadic,
        is_integer=str(parameter.annotation) == "int",
        optional_items=optional_items,
        variadic=variadic,
        default=parameter.default,
    )


def expected(parameter: Parameter) -> str:
    """What users pass for a parameter, for messages."""
    return {
        "loop": "a LoopRV",
        "loop or location": "a LoopRV",
        "block": "a BlockRV or the name of a block",
        "loop or block": "a LoopRV, a BlockRV or the name of a block",
        "loop or blocks": "a LoopRV, or a list of BlockRVs or names of blocks",
        "loop or number": "a LoopRV, an integer or an ExprRV",
        "number": "an integer or an ExprRV",
    }[parameter.kind]
