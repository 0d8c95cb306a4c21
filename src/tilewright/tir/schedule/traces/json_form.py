"""A trace as JSON: numbers, strings and lists, no code.

A trace is ``[instructions, decisions]``. An instruction is ``[name, inputs, attributes, outputs]``
in the form of Apache TVM's traces: `instruction_layout` has the names and the order of the
arguments. A decision is the number of an instruction and the value.

Random variables are named as in the Python text (``"b0"``, ``"l1"``, ``"v2"``). Among the inputs
a string in quotes of its own is a string, and ``"None"`` is None. Expressions over sampled numbers
and index maps are written as text of arithmetic, which is parsed, never executed; an index map
may also be a graph of nodes, as Apache TVM writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tilewright.error import ArgumentValueError, TVMError
from tilewright.ir.expr import Expr, FloatImm, IntImm, StringImm, Var
from tilewright.tir.index_map import IndexMap
from tilewright.tir.node_graph import from_node_graph, to_node_graph
from tilewright.tir.schedule.symbols import BlockRV, LoopRV
from tilewright.tir.schedule.traces.instruction import Instruction, InstructionKind
from tilewright.tir.schedule.traces.instruction_layout import arranged, json_name, kind_of, named
from tilewright.tir.schedule.traces.python_text import (
    format_expression,
    names_of_indices,
    parse_expression,
    variable_name,
)
from tilewright.tir.substitute import variables_of

if TYPE_CHECKING:
    from tilewright.tir.schedule.schedule import Schedule
    from tilewright.tir.schedule.traces.trace import Trace


_NONE: Final = "None"

POSTPROC: Final = json_name(InstructionKind.get("enter_postproc"))
"""The name of the instruction after which a trace is postprocessing."""


def to_json(
    trace: Trace,
    remove_postproc: bool,
    index_maps_as_graphs: bool = False,
    given: Mapping[Any, str] = MappingProxyType({}),
) -> list[Any]:
    """The JSON form of a trace, as lists; see `Trace.as_json`.

    `given` has the names of random variables that the trace uses and no instruction of it defines.
    """
    writer = _Writer(index_maps_as_graphs, given)
    names = writer.names
    instructions: list[Any] = []
    decisions: list[Any] = []
    for position, inst in enumerate(trace.kept(remove_postproc)):
        inputs, attrs = arranged(inst.kind, inst.arguments)
        inputs = [writer.input(value) for value in inputs]
        attrs = [writer.attribute(value) for value in attrs]
        for output in inst.outputs:
            names[output] = variable_name(output, names)
        outputs = [names[output] for output in inst.outputs]
        instructions.append([json_name(inst.kind), inputs, attrs, outputs])
        decision = trace.get_decision(inst)
        if decision is not None:
            decisions.append([position, writer.attribute(decision)])
    return [instructions, decisions]


class _Writer:
    """Writes arguments.

    Attributes:
        names: of the random variables that are defined.
    """

    def __init__(self, index_maps_as_graphs: bool, given: Mapping[Any, str]) -> None:
        self._index_maps_as_graphs = index_maps_as_graphs
        self.names = dict(given)

    def input(self, value: Any) -> Any:
        """The form of an input."""
        if value is None:
            return _NONE
        if isinstance(value, (str, StringImm)):
            return f'"{value if isinstance(value, str) else value.value}"'
        if isinstance(value, (list, tuple)):
            return [self.input(item) for item in value]
        if isinstance(value, (BlockRV, LoopRV, Var)) and value in self.names:
            return self.names[value]
        return self.attribute(value)

    def attribute(self, value: Any) -> Any:
        """The form of an attribute."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (IntImm, FloatImm, StringImm)):
            return value.value
        if isinstance(value, (BlockRV, LoopRV)) and value in self.names:
            return {"rv": self.names[value]}
        if isinstance(value, Expr) and all(var in self.names for var in variables_of(value)):
            return {"expr": format_expression(value, self.names)}
        if isinstance(value, (list, tuple)):
            return [self.attribute(item) for item in value]
        if isinstance(value, Mapping):
            items = value.items()
            return {"dict": [[self.attribute(k), self.attribute(v)] for k, v in items]}
        if isinstance(value, IndexMap):
            return self._index_map(value)
        raise ArgumentValueError(f"the argument {value!r} of a trace has no form as JSON")

    def _index_map(self, index_map: IndexMap) -> Any:
        if self._index_maps_as_graphs:
            return json.dumps(to_node_graph(index_map))
        own = names_of_indices(index_map, self.names)
        names = {**self.names, **own}
        outputs = [format_expression(index, names) for index in index_map.final_indices]
        dtype = str(index_map.initial_indices[0].dtype)
        return {"index_map": [dtype, list(own.values()), outputs]}


def apply_json(form: Any, sch: Schedule, remove_postproc: bool = False) -> None:
    """Apply a trace in its JSON form to a schedule."""
    values: dict[str, Any] = {}
    for item in read_json(form, values):
        if remove_postproc and item.kind.is_postproc:
            return
        returned = sch.apply(item.kind.name, item.arguments, item.decision)
        found = returned if isinstance(returned, list) else [returned]
        values.update(zip(item.outputs, found, strict=False))


class SavedInstruction(NamedTuple):
    """An instruction from JSON.

    Attributes:
        kind: what it does.
        arguments: by name.
        outputs: the names of the random variables that it defines.
        decision: of a sampling.
    """

    kind: InstructionKind
    arguments: dict[str, Any]
    outputs: list[str]
    decision: Any


def read_json(form: Any, values: Mapping[str, Any]) -> Iterator[SavedInstruction]:
    """The instructions of a trace in its JSON form.

    Args:
        form: the form.
        values: what stands for each random variable. The caller adds the outputs of an instruction
            before it asks for the next one.

    Raises:
        ArgumentValueError: for a malformed trace.
        UnknownNameError: for an instruction that is unknown.
    """
    try:
        instructions, decisions = form
        taken = {int(position): value for position, value in decisions}
    except (TypeError, ValueError):
        raise ArgumentValueError(
            "a trace as JSON is [instructions, decisions], each a list"
        ) from None
    for position, item in enumerate(instructions):
        kind, arguments, outputs = _decoded(item, position, values)
        decision = _decoded_attribute(taken.get(position), values)
        yield SavedInstruction(kind, arguments, outputs, decision)


def _decoded(
    item: Any, position: int, values: Mapping[str, Any]
) -> tuple[InstructionKind, dict[str, Any], list[str]]:
    try:
        name, inputs, attrs, outputs = item
        inputs, attrs, outputs = list(inputs), list(attrs), list(outputs)
    except (TypeError, ValueError):
        raise _malformed(position) from None
    if not all(isinstance(output, str) for output in outputs):
        raise _malformed(position)
    kind = kind_of(name)
    inputs = [_decoded_input(value, values) for value in inputs]
    attrs = [_decoded_attribute(value, values) for value in attrs]
    if (
        name == kind.name != json_name(kind)
    ):  # Tilewright 0.1 wrote names and arguments as the methods have them
        return kind, dict(Instruction(kind, inputs, attrs).arguments), outputs
    return kind, named(kind, inputs, attrs), outputs


def _malformed(position: int) -> ArgumentValueError:
    return ArgumentValueError(
        f"instruction {position} of the trace is not [name, inputs, attributes, outputs]"
    )


def _decoded_input(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_decoded_input(item, values) for item in value]
    if not isinstance(value, str):
        return _decoded_attribute(value, values)
    plain = plain_input(value)
    if plain is not None:
        return plain
    if value in values:
        return values[value]
    if value == _NONE:
        return None
    if value.lstrip().startswith("{"):
        return _decoded_attribute(value, values)
    if value.isidentifier():
        raise ArgumentValueError(f"the trace uses {value} before an instruction defines it")
    return parse_expression(value, values)


def plain_input(value: Any) -> float | str | None:
    """The number or the string that an input is; None if it is something else."""
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"':
        return value[1:-1]
    return None


def _decoded_attribute(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_decoded_attribute(item, values) for item in value]
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return _node(value)
    if not isinstance(value, dict):
        return value
    try:
        ((form, content),) = value.items()
        return _decoded_form(form, content, values)
    except (TypeError, ValueError) as error:
        if isinstance(error, TVMError):
            raise
        raise ArgumentValueError(f"a trace as JSON cannot hold {value!r}") from None


def _decoded_form(form: str, content: Any, values: Mapping[str, Any]) -> Any:
    if form == "rv":
        return _decoded_input(content, values)
    if form == "expr":
        return parse_expression(content, values)
    if form == "dict":
        return {_decoded_attribute(k, values): _decoded_attribute(v, values) for k, v in content}
    if form == "index_map":
        dtype, names, outputs = content
        if isinstance(names, int):
            names = [f"i{n}" for n in range(names)]
        variables = tuple(Var(name, dtype) for name in names)
        by_name = {**values, **{var.name: var for var in variables}}
        return IndexMap(variables, tuple(parse_expression(text, by_name) for text in outputs))
    raise ArgumentValueError(f"a trace as JSON has no form {form!r}")


def _node(text: str) -> Any:
    """A node that Apache TVM wrote: an index map, or a value with which to pad."""
    try:
        return from_node_graph(json.loads(text))
    except ValueError:
        return text
