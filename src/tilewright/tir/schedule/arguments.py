"""From what a user passes to a primitive to what the primitive works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.convert import as_integer
from tilewright.ir.expr import Expr
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.primitive import Parameter, Primitive, expected
from tilewright.tir.schedule.symbols import BlockRV, ComputeLocation, LoopRV

if TYPE_CHECKING:
    from tilewright.tir.schedule.schedule import Schedule


def resolve(
    sch: Schedule, primitive: Primitive, arguments: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """What is recorded, what the primitive gets, and the name of the function that it edits.

    A block given by name is looked up by `get_block`, which the trace records.
    """
    recorded: dict[str, Any] = {}
    values: dict[str, Any] = {}
    functions: dict[str, str] = {}
    for parameter in primitive.parameters:
        argument = arguments[parameter.name]
        if parameter.is_integer and argument.__class__ is not int:
            _check_integer(primitive, parameter, argument)
        if parameter.kind == "value" and argument.__class__ in _PLAIN:
            recorded[parameter.name] = values[parameter.name] = argument
            continue
        many = parameter.many or (
            parameter.kind == "loop or blocks" and isinstance(argument, (list, tuple))
        )
        is_missing = argument is None and parameter.default is None
        if parameter.kind == "value" or is_missing:
            if getattr(argument, "ndim", None) and hasattr(argument, "__array__"):
                raise ArgumentError(
                    f"{primitive.name}: `{parameter.name}` cannot be an array, got {argument!r}"
                )
            argument = _with_sampled_numbers(sch, argument)
            recorded[parameter.name] = argument
            values[parameter.name] = sch.with_numbers(argument)
        elif many:
            one = _Resolution(sch, primitive, parameter, functions)
            pairs = [one.resolve(item) for item in _as_list(primitive, parameter, argument)]
            recorded[parameter.name] = [rv for rv, _ in pairs]
            values[parameter.name] = [value for _, value in pairs]
        else:
            one = _Resolution(sch, primitive, parameter, functions)
            recorded[parameter.name], values[parameter.name] = one.resolve(argument)
    return recorded, values, _function(sch, primitive, arguments, functions)


def _check_integer(primitive: Primitive, parameter: Parameter, argument: Any) -> None:
    if as_integer(argument) is None:
        raise ArgumentError(
            f"{primitive.name}: `{parameter.name}` must be an integer, got {argument!r}"
        )


def _with_sampled_numbers(sch: Schedule, argument: Any) -> Any:
    """For a function that mentions sampled numbers the index map; else `argument` as it is."""
    if not callable(argument):
        return argument
    try:
        index_map = IndexMap.from_func(argument)
    except (ArgumentError, ArgumentValueError):
        return argument  # The primitive says what it expects.
    return index_map if sch.mentions_numbers(index_map) else argument


def _as_list(primitive: Primitive, parameter: Parameter, argument: Any) -> list[Any]:
    if not isinstance(argument, (list, tuple)):
        raise ArgumentError(
            f"{primitive.name}: `{parameter.name}` is a list, each item {expected(parameter)}; "
            f"got {argument!r}"
        )
    return list(argument)


def _function(
    sch: Schedule, primitive: Primitive, arguments: dict[str, Any], functions: dict[str, str]
) -> str:
    if len(functions) > 1:
        raise ArgumentValueError(
            f"{primitive.name}: the loops and blocks are in different functions: "
            + ", ".join(f"`{name}` in {func}" for name, func in functions.items())
        )
    if functions:
        return next(iter(functions.values()))
    if arguments.get("func_name"):
        return sch.state.global_var(arguments["func_name"]).name_hint
    working_on = sch.func_working_on
    return (sch.state.functions[0] if working_on is None else working_on).name_hint


_PLAIN: Final = frozenset({bool, int, float, str, type(None)})
"""Types of values that mention nothing sampled."""

_ACCEPTED: Final = {
    "loop": LoopRV,
    "loop or location": LoopRV,
    "block": BlockRV,
    "loop or block": (LoopRV, BlockRV),
    "loop or blocks": (LoopRV, BlockRV),
    "loop or number": LoopRV,
}


class _Resolution:
    """Resolves the items of one parameter."""

    def __init__(
        self, sch: Schedule, primitive: Primitive, parameter: Parameter, functions: dict[str, str]
    ) -> None:
        self._sch = sch
        self._primitive = primitive
        self._parameter = parameter
        self._functions = functions

    def resolve(self, argument: Any) -> tuple[Any, Any]:
        """What is recorded and what the primitive gets."""
        kind = self._parameter.kind
        if kind == "number" or (kind == "loop or number" and not isinstance(argument, LoopRV)):
            return self._number(argument)
        if kind == "value":
            return argument, argument
        if isinstance(argument, str) and "block" in kind:
            argument = self._sch.get_block(argument)
        accepted = _ACCEPTED[kind]
        if not isinstance(argument, accepted):
            raise ArgumentError(
                f"{self._primitive.name}: `{self._parameter.name}` must be "
                f"{expected(self._parameter)}, got {argument!r}"
            )
        name, stmt = self._sch.statement(argument)
        if isinstance(stmt, ComputeLocation) and kind != "loop or location":
            raise ScheduleError(
                f"`{self._parameter.name}` stands for no loop, but for computing a block "
                f"{stmt.value}: only compute_at and reverse_compute_at take it"
            )
        functions = self._functions
        if name not in functions.values():
            repeated = self._parameter.name in functions or self._parameter.many
            functions[str(argument) if repeated else self._parameter.name] = name
        return argument, stmt

    def _number(self, argument: Any) -> tuple[Any, Any]:
        if argument.__class__ is int or (argument is None and self._parameter.optional_items):
            return argument, argument
        try:
            number = self._sch.number(argument)
        except ArgumentError:
            raise ArgumentError(
                f"{self._primitive.name}: `{self._parameter.name}` must be "
                f"{expected(self._parameter)}, got {argument!r}"
            ) from None
        return (argument if isinstance(argument, Expr) else number), number
