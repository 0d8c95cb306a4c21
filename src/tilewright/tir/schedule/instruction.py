"""One step of a schedule, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tilewright.error import UnknownNameError
from tilewright.ir.expr import Expr, Var
from tilewright.tir.schedule.primitive import PRIMITIVES, Primitive
from tilewright.tir.schedule.references import BlockRV, LoopRV
from tilewright.tir.substitute import substitute, variables_of


class InstructionKind:
    """What an instruction does: the primitive of its name."""

    __slots__ = ("primitive",)
    _known: dict[str, InstructionKind] = {}  # noqa: RUF012

    def __init__(self, primitive: Primitive) -> None:
        self.primitive = primitive

    @classmethod
    def get(cls, name: str) -> InstructionKind:
        """The kind of that name, such as ``"split"`` (also in the form ``"GetBlock"``)."""
        found = cls._known.get(name)
        if found is None:
            primitive = PRIMITIVES.get(name) or PRIMITIVES.get(_snake_case(name))
            if primitive is None:
                raise UnknownNameError(f"there is no schedule instruction {name!r}")
            found = cls._known[name] = cls._known.setdefault(primitive.name, cls(primitive))
        return found

    @property
    def name(self) -> str:
        """The name of the primitive."""
        return self.primitive.name

    @property
    def is_postproc(self) -> bool:
        """Whether what follows in a trace is postprocessing."""
        return self.name == "enter_postproc"

    def __repr__(self) -> str:
        return f"InstructionKind({self.name})"


def _snake_case(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


class Instruction:
    """A primitive with its arguments and what it returned.

    Attributes:
        kind: what it does.
        arguments: by name, in the order of the signature.
        outputs: the random variables that it defined.
        returns_list: whether it returned a list of them.
    """

    __slots__ = ("arguments", "kind", "outputs", "returns_list")

    def __init__(
        self,
        kind: InstructionKind,
        arguments: Mapping[str, Any],
        outputs: tuple[Any, ...] = (),
        returns_list: bool = False,
    ) -> None:
        self.kind = kind
        self.arguments = arguments
        self.outputs = outputs
        self.returns_list = returns_list

    @property
    def inputs(self) -> list[Any]:
        """The random variables that it uses."""
        return self.inputs_of(self.arguments)

    def inputs_of(self, arguments: Mapping[str, Any]) -> list[Any]:
        """The random variables among `arguments`."""
        return [rv for value in arguments.values() for rv in random_variables(value)]

    @property
    def attrs(self) -> list[Any]:
        """The arguments that are no random variables."""
        return [v for v in self.arguments.values() if not any(True for _ in random_variables(v))]

    def map_arguments(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        """The arguments with the random variables of a recording replaced by others."""
        return {name: replaced(value, values) for name, value in self.arguments.items()}

    def note_outputs(self, outputs: Any, values: dict[Any, Any]) -> None:
        """Make what an application returned stand for the recorded outputs in `values`."""
        found = outputs if isinstance(outputs, list) else [outputs]
        values.update(zip(self.outputs, found, strict=False))

    def __repr__(self) -> str:
        return f"Instruction({self.kind.name}, {dict(self.arguments)!r})"


def random_variables(value: Any) -> Iterator[Any]:
    """The random variables in an argument."""
    if isinstance(value, (BlockRV, LoopRV)):
        yield value
    elif isinstance(value, Expr):
        yield from variables_of(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from random_variables(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from random_variables(item)


def replaced(value: Any, values: Mapping[Any, Any]) -> Any:
    """An argument with random variables replaced."""
    if isinstance(value, (BlockRV, LoopRV)):
        return values.get(value, value)
    if isinstance(value, Var):
        return values.get(value, value)
    if isinstance(value, Expr):
        return substitute(value, values)
    if isinstance(value, (list, tuple)):
        return [replaced(item, values) for item in value]
    if isinstance(value, Mapping):
        return {key: replaced(item, values) for key, item in value.items()}
    return value
