"""A trace as JSON: numbers, strings and lists, no code.

A trace is ``[instructions, decisions]``. An instruction is ``[kind, inputs, attributes, outputs]``,
its random variables named as in the Python text (``"b0"``, ``"l1"``, ``"v2"``); a decision is the
number of an instruction and the value. Expressions over sampled numbers and index maps are
written as text of arithmetic, which is parsed, never executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilewright.error import ArgumentValueError
from tilewright.ir.expr import Expr, FloatImm, IntImm, StringImm, Var
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.expression_text import format_expression, parse_expression
from tilewright.tir.schedule.instruction import Instruction, InstructionKind
from tilewright.tir.schedule.python_text import variable_name
from tilewright.tir.schedule.references import BlockRV, LoopRV

if TYPE_CHECKING:
    from tilewright.tir.schedule.schedule import Schedule
    from tilewright.tir.schedule.trace import Trace


def to_json(trace: Trace, remove_postproc: bool) -> list[Any]:
    """The JSON form of a trace, as lists."""
    names: dict[Any, str] = {}
    instructions: list[Any] = []
    decisions: list[Any] = []
    for position, inst in enumerate(trace.kept(remove_postproc)):
        inputs = [_encoded(value, names) for value in inst.inputs]
        attrs = [_encoded(value, names) for value in inst.attrs]
        for output in inst.outputs:
            names[output] = variable_name(output, len(names))
        outputs = [names[output] for output in inst.outputs]
        instructions.append([inst.kind.name, inputs, attrs, outputs])
        decision = trace.get_decision(inst)
        if decision is not None:
            decisions.append([position, _encoded(decision, names)])
    return [instructions, decisions]


def _encoded(value: Any, names: Mapping[Any, str]) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (BlockRV, LoopRV)):
        return {"rv": names[value]}
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return value.value
    if isinstance(value, Expr):
        return {"expr": format_expression(value, names)}
    if isinstance(value, (list, tuple)):
        return [_encoded(item, names) for item in value]
    if isinstance(value, Mapping):
        return {"dict": [[_encoded(k, names), _encoded(v, names)] for k, v in value.items()]}
    if isinstance(value, IndexMap):
        return {"index_map": _encoded_map(value, names)}
    raise ArgumentValueError(f"the argument {value!r} of a trace has no form as JSON")


def _encoded_map(index_map: IndexMap, names: Mapping[Any, str]) -> list[Any]:
    own = {v: f"i{n}" for n, v in enumerate(index_map.initial_indices)}
    outputs = [format_expression(index, {**names, **own}) for index in index_map.final_indices]
    return [str(index_map.initial_indices[0].dtype), len(own), outputs]


def apply_json(form: Any, sch: Schedule, remove_postproc: bool = False) -> None:
    """Apply a trace in its JSON form to a schedule."""
    try:
        instructions, decisions = form
        taken = {int(position): value for position, value in decisions}
    except (TypeError, ValueError):
        raise ArgumentValueError(
            "a trace as JSON is [instructions, decisions], each a list"
        ) from None
    values: dict[str, Any] = {}
    for position, item in enumerate(instructions):
        kind, inputs, attrs, outputs = _checked(item, position)
        if remove_postproc and kind.is_postproc:
            return
        inst = Instruction(
            kind,
            [_decoded(value, values) for value in inputs],
            [_decoded(value, values) for value in attrs],
        )
        decision = _decoded(taken.get(position), values)
        returned = sch.apply(kind.name, inst.arguments, decision)
        found = returned if isinstance(returned, list) else [returned]
        values.update(zip(outputs, found, strict=False))


def _checked(item: Any, position: int) -> tuple[InstructionKind, list[Any], list[Any], list[str]]:
    try:
        name, inputs, attrs, outputs = item
        return InstructionKind.get(name), list(inputs), list(attrs), list(outputs)
    except (TypeError, ValueError):
        raise ArgumentValueError(
            f"instruction {position} of the trace is not [kind, inputs, attributes, outputs]"
        ) from None


def _decoded(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_decoded(item, values) for item in value]
    if not isinstance(value, dict):
        return value
    ((form, content),) = value.items()
    if form == "rv":
        return _known(content, values)
    if form == "expr":
        return parse_expression(content, values)
    if form == "dict":
        return {_decoded(k, values): _decoded(v, values) for k, v in content}
    if form == "index_map":
        dtype, count, outputs = content
        variables = tuple(Var(f"i{n}", dtype) for n in range(count))
        by_name = {**values, **{var.name: var for var in variables}}
        return IndexMap(variables, tuple(parse_expression(text, by_name) for text in outputs))
    raise ArgumentValueError(f"a trace as JSON knows no {form!r}")


def _known(name: str, values: Mapping[str, Any]) -> Any:
    if name not in values:
        raise ArgumentValueError(f"the trace uses {name} before an instruction defines it")
    return values[name]
