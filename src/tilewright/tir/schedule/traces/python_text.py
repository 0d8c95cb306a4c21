"""A trace as Python text."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tilewright.ir.expr import Expr, FloatImm, IntImm, StringImm, Var
from tilewright.tir.index_map import IndexMap
from tilewright.tir.schedule.references import BlockRV, LoopRV
from tilewright.tir.schedule.traces.expression_text import format_expression
from tilewright.tir.schedule.traces.instruction import Instruction

if TYPE_CHECKING:
    from tilewright.tir.schedule.traces.trace import Trace


def as_python(trace: Trace, remove_postproc: bool) -> list[str]:
    """One line per instruction; variables are numbered in the order of their definition."""
    names: dict[Any, str] = {}
    return [_line(inst, names, trace.get_decision(inst)) for inst in trace.kept(remove_postproc)]


def _line(inst: Instruction, names: dict[Any, str], decision: Any) -> str:
    arguments = ", ".join(_arguments(inst, names, decision))
    call = f"{_callee(inst, names)}({arguments})"
    for output in inst.outputs:
        names[output] = variable_name(output, names)
    if not inst.outputs:
        return call
    targets = ", ".join(names[output] for output in inst.outputs)
    # A list of one is unpacked too.
    return f"{targets}{',' if inst.returns_list and len(inst.outputs) == 1 else ''} = {call}"


def _callee(inst: Instruction, names: dict[Any, str]) -> str:
    """The method that is called, and of what."""
    primitive = inst.kind.primitive
    return primitive.callee.format(
        *(
            value_text(inst.arguments[parameter.name], names)
            for parameter in primitive.parameters
            if parameter.kind == "receiver"
        )
    )


def variable_name(output: Any, names: Mapping[Any, str]) -> str:
    """The name of the random variable that is defined next.

    Args:
        output: the random variable. If it says what it may be called, it is called so, with a
            number if another one is.
        names: of those that are defined already.
    """
    letter = "b" if isinstance(output, BlockRV) else "l" if isinstance(output, LoopRV) else "v"
    hint = getattr(output, "hint", None)
    if hint is None:
        return f"{letter}{len(names)}"
    plain = re.sub(r"\W", "_", hint, flags=re.ASCII) or letter
    name = plain if plain.isidentifier() else f"{letter}_{plain}"
    taken = {*names.values(), *_RESERVED}
    numbered = (f"{name}_{number}" for number in itertools.count(1))
    return next(n for n in (name, *itertools.islice(numbered, len(taken))) if n not in taken)


_RESERVED: Final = frozenset({"sch", "te", "tir", *keyword.kwlist})


def _arguments(inst: Instruction, names: dict[Any, str], decision: Any) -> list[str]:
    texts = []
    for parameter in inst.kind.primitive.parameters:
        value = inst.arguments.get(parameter.name)
        if parameter.name == "decision":
            value = decision
        elif parameter.name not in inst.arguments:
            continue
        if parameter.variadic:
            texts += [value_text(item, names) for item in value or ()]
        elif parameter.kind == "stage":
            texts.append(f"{parameter.name}=sch[{value_text(value, names)}]")
        elif parameter.kind != "receiver" and not (value is None and parameter.default is None):
            texts.append(f"{parameter.name}={value_text(value, names)}")
    return texts


def value_text(value: Any, names: dict[Any, str]) -> str:
    """An argument as Python text.

    Args:
        value: a random variable, number, string, list, dictionary or expression.
        names: the names of the random variables.
    """
    if isinstance(value, (BlockRV, LoopRV, Var)):
        return names.get(value, "_")
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(value_text(item, names) for item in value) + "]"
    if isinstance(value, dict):
        items = (f"{value_text(k, names)}: {value_text(v, names)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return value_text(value.value, names)
    if isinstance(value, Expr):
        return format_expression(value, names)
    if isinstance(value, IndexMap):
        return _index_map_text(value, names)
    return repr(value)


def _index_map_text(index_map: IndexMap, names: dict[Any, str]) -> str:
    own = names_of_indices(index_map, names)
    outputs = [format_expression(index, {**names, **own}) for index in index_map.final_indices]
    comma = "," if len(outputs) == 1 else ""
    return f"lambda {', '.join(own.values())}: ({', '.join(outputs)}{comma})"


def names_of_indices(index_map: IndexMap, names: Mapping[Any, str]) -> dict[Var, str]:
    """The names of the indices of a map: their own, unless random variables are called so."""
    taken = {names.get(var) for var in index_map.free_variables()}
    indices = index_map.initial_indices
    own = [var.name for var in indices]
    if len(set(own)) < len(own) or not taken.isdisjoint(own) or not all(map(str.isidentifier, own)):
        own = [f"i{n}" for n in range(len(own))]
    return dict(zip(indices, own, strict=True))
