"""How computations print: a line for each tensor."""

from __future__ import annotations

import re
from typing import Any, Final

from tilewright.ir.expr import Add, IntImm, Max, Min, Mul
from tilewright.te.operation import ComputeOp, Operation, PlaceholderOp
from tilewright.tir.expr import ProducerLoad, Reduce

_UPDATES: Final[dict[type, str]] = {Add: "+=", Mul: "*=", Max: "max=", Min: "min="}
"""How a reduction is written, by what combines two values."""

_NUMBER: Final = re.compile(r"\bT\.[a-z]+\d+\((-?[\d.e+-]+)\)")
_NAMESPACE: Final = re.compile(r"\bT\.")


def lines_of(op: Operation) -> list[str]:
    """The lines of an operation, one for each of its tensors."""
    if isinstance(op, PlaceholderOp):
        extents = ", ".join(map(_text, op.output(0).shape))
        return [f"{op.name} = PLACEHOLDER [{extents}]"]
    if not isinstance(op, ComputeOp):
        kind = type(op).__name__.removesuffix("Op").upper()
        return [f"{op.name} = {kind} [{', '.join(t.name for t in op.input_tensors)}]"]
    indices = ", ".join(axis.var.name for axis in op.axis)
    return [
        f"{op.name}{f'.v{position}' if len(op.body) > 1 else ''}({indices}) {_definition(value)}"
        for position, value in enumerate(op.body)
    ]


def _definition(value: Any) -> str:
    if not isinstance(value, Reduce):
        return f"= {_text(value)}"
    source = _text(value.source[value.value_index])
    if not (isinstance(value.condition, IntImm) and value.condition.value):
        source = f"{source} where {_text(value.condition)}"
    update = _UPDATES.get(type(value.combiner.result[0])) if len(value.source) == 1 else None
    if update is not None and not value.init:
        is_element = isinstance(value.source[0], ProducerLoad)
        return f"{update} {source}" if is_element else f"{update} ({source})"
    axes = ", ".join(axis.var.name for axis in value.axis)
    combined = ", ".join(map(_text, value.combiner.result))
    start = f", starting from {', '.join(map(_text, value.init))}" if value.init else ""
    return f"= reduce ({combined}) over {axes} of ({', '.join(map(_text, value.source))}){start}"


def _text(expr: Any) -> str:
    """An expression without the prefixes of scripts."""
    return _NAMESPACE.sub("", _NUMBER.sub(r"\1", str(expr)))
