"""One step of a schedule, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tilewright.error import ArgumentError, UnknownNameError
from tilewright.ir.expr import Expr, Var
from tilewright.providers import is_provided, provider
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.buffer_reference import with_free_variables
from tilewright.tir.schedule.primitive import PRIMITIVES, Parameter, Primitive, Step
from tilewright.tir.schedule.symbols import BlockRV, LoopRV
from tilewright.tir.schedule.tree import Edit
from tilewright.tir.substitute import substitute, variables_of


class InstructionKind:
    """What an instruction does: the primitive of its name.

    Attributes:
        primitive: what it does.
        is_postproc: whether what follows in a trace is postprocessing.
    """

    __slots__ = ("is_postproc", "primitive")
    _known: dict[str, InstructionKind] = {}  # noqa: RUF012

    def __init__(self, primitive: Primitive) -> None:
        self.primitive = primitive
        self.is_postproc = primitive.name == "enter_postproc"

    @classmethod
    def get(cls, name: str) -> InstructionKind:
        """The kind of that name, such as ``"split"`` (also in the form ``"GetBlock"``).

        In front of a dot is the package that registers it: ``"te.split"``.
        """
        found = cls._known.get(name)
        if found is None and "." in name:
            steps = f"steps of {name.partition('.')[0]}"
            if is_provided(steps):
                provider(steps)  # which registers them
                found = cls._known.get(name)
        if found is None:
            primitive = PRIMITIVES.get(name) or PRIMITIVES.get(_snake_case(name))
            if primitive is None:
                raise UnknownNameError(f"there is no schedule instruction {name!r}")
            found = cls._known[name] = cls._known.setdefault(primitive.name, cls(primitive))
        return found

    @classmethod
    def register(cls, primitive: Primitive) -> None:
        """Register a step that a package above defines.

        What provides ``"steps of <package>"`` registers those called ``<package>.<name>``; see
        `tilewright.providers`.
        """
        assert cls._known.get(primitive.name) is None, primitive.name
        cls._known[primitive.name] = cls(primitive)

    @property
    def name(self) -> str:
        """The name of the primitive."""
        return self.primitive.name

    @property
    def is_pure(self) -> bool:
        """Whether it changes nothing, so that without its results it is not needed."""
        return self.primitive.is_sampling or self.primitive.callee.startswith("{sch}.get_")

    def __repr__(self) -> str:
        return f"InstructionKind({self.name})"


def step(
    name: str, form: type[Step] = Step
) -> Callable[[Callable[..., Edit]], Callable[..., Edit]]:
    """Register a function of a package above as a step of `tir.Schedule`.

    The function is like one with `@primitive`: its signature is its schema, what it returns in an
    `Edit` becomes new random variables, and the schedule proves what it proves after each
    primitive. Loops and blocks in the `Edit` are those of a function as `prepare` makes it. The
    step is not a method, but applied by ``sch.apply(name, arguments)``.

    Args:
        name: ``"<package>.<name>"``.
        form: the class of the step; a subclass says how it is written as Python.
    """

    def decorate(function: Callable[..., Edit]) -> Callable[..., Edit]:
        InstructionKind.register(form(name, function))
        return function

    return decorate


def _snake_case(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


class Instruction:
    """A primitive with its arguments and what it returned.

    Args:
        kind: what it does.
        inputs: the loops, blocks and numbers that it takes, in the order of the signature; all
            loops of a ``*loops`` one after the other.
        attrs: its other arguments, in the order of the signature.
        outputs: the random variables that it defines.

    Attributes:
        arguments: inputs and attributes by name.
        returns_list: whether it returns a list.
    """

    __slots__ = ("arguments", "kind", "outputs", "returns_list")

    def __init__(
        self,
        kind: InstructionKind,
        inputs: Sequence[Any],
        attrs: Sequence[Any],
        outputs: Sequence[Any] = (),
    ) -> None:
        self.kind = kind
        self.arguments: Mapping[str, Any] = _by_name(kind, list(inputs), list(attrs))
        self.outputs = tuple(outputs)
        self.returns_list = len(self.outputs) > 1

    @staticmethod
    def of(
        kind: InstructionKind,
        arguments: Mapping[str, Any],
        outputs: tuple[Any, ...],
        returns_list: bool,
    ) -> Instruction:
        """An instruction with its arguments by name."""
        inst = Instruction.__new__(Instruction)
        inst.kind, inst.arguments = kind, arguments
        inst.outputs, inst.returns_list = outputs, returns_list
        return inst

    @property
    def inputs(self) -> list[Any]:
        """The loops, blocks and numbers that it takes."""
        return self.inputs_of(self.arguments)

    def inputs_of(self, arguments: Mapping[str, Any]) -> list[Any]:
        """The loops, blocks and numbers among arguments."""
        found: list[Any] = []
        for parameter in self.kind.primitive.parameters:
            if is_input(parameter):
                value = arguments.get(parameter.name, parameter.default)
                found += value if parameter.variadic else [value]
        return found

    @property
    def attrs(self) -> list[Any]:
        """Its other arguments, the decision of a sampling left out."""
        return [
            self.arguments.get(parameter.name, parameter.default)
            for parameter in self.kind.primitive.parameters
            if is_attribute(parameter)
        ]

    def uses(self) -> Iterator[Any]:
        """The random variables that it uses."""
        for value in self.arguments.values():
            yield from random_variables(value)

    def map_arguments(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        """The arguments with the random variables of a recording replaced by others."""
        return {name: replaced(value, values) for name, value in self.arguments.items()}

    def note_outputs(self, outputs: Any, values: dict[Any, Any]) -> None:
        """Make what an application returned stand for the recorded outputs in `values`."""
        found = outputs if isinstance(outputs, list) else [outputs]
        values.update(zip(self.outputs, found, strict=False))

    def __repr__(self) -> str:
        return f"Instruction({self.kind.name}, {dict(self.arguments)!r})"


def is_input(parameter: Parameter) -> bool:
    """Whether a parameter takes loops, blocks or numbers."""
    return parameter.kind != "value"


def is_attribute(parameter: Parameter) -> bool:
    """Whether a parameter takes something else, which is not a decision either."""
    return parameter.kind == "value" and parameter.name != "decision"


def _by_name(kind: InstructionKind, inputs: list[Any], attrs: list[Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for parameter in kind.primitive.parameters:
        if parameter.variadic:
            arguments[parameter.name], inputs = inputs, []
        elif is_input(parameter) and inputs:
            arguments[parameter.name] = inputs.pop(0)
        elif is_attribute(parameter) and attrs:
            arguments[parameter.name] = attrs.pop(0)
    if inputs or attrs:
        raise ArgumentError(
            f"Instruction: {kind.name} has no parameter for {(inputs + attrs)[0]!r}"
        )
    return arguments


def random_variables(value: Any) -> Iterator[Any]:
    """The random variables in an argument."""
    if isinstance(value, (BlockRV, LoopRV)):
        yield value
    elif isinstance(value, Expr):
        yield from variables_of(value)
    elif isinstance(value, IndexMap):
        yield from value.free_variables()
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from random_variables(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from random_variables(item)


def replaced(value: Any, values: Mapping[Any, Any]) -> Any:
    """An argument with random variables replaced."""
    if isinstance(value, (BlockRV, LoopRV, Var)):
        return values.get(value, value)
    if isinstance(value, Expr):
        return substitute(value, values)
    if isinstance(value, IndexMap):
        return with_free_variables(value, values)
    if isinstance(value, (list, tuple)):
        return [replaced(item, values) for item in value]
    if isinstance(value, Mapping):
        return {key: replaced(item, values) for key, item in value.items()}
    return value
