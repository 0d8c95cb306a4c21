"""How an instruction is written in JSON: its name, its inputs and its attributes.

The form is the one of Apache TVM's traces. An instruction there is named in camel case, and
its arguments are divided into *inputs* (random variables, and values that may depend on them) and
*attributes* (everything else), in an order of its own for each instruction.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tilewright.error import ArgumentValueError, UnknownNameError
from tilewright.tir.schedule.primitive import Parameter
from tilewright.tir.schedule.traces.instruction import InstructionKind


class Layout(NamedTuple):
    """The parameters of an instruction in the order in which JSON has their values."""

    inputs: tuple[str, ...]
    attrs: tuple[str, ...]


_BUFFER_INDEX: Final = "read_buffer_index", "storage_scope"
_WRITTEN_INDEX: Final = "write_buffer_index", "storage_scope"

# Those that differ from the rule: inputs are the loops, blocks and factors.
_LAYOUTS: Final[dict[str, Layout]] = {
    "annotate": Layout(("block_or_loop", "ann_val"), ("ann_key",)),
    "cache_read": Layout(("block", "consumer_blocks"), _BUFFER_INDEX),
    "cache_write": Layout(("block", "consumer_blocks"), _WRITTEN_INDEX),
    "reindex_cache_read": Layout(("block", "index_map"), _BUFFER_INDEX),
    "reindex_cache_write": Layout(("block", "index_map"), _WRITTEN_INDEX),
    "reorder_block_iter_var": Layout(("block", "new_order"), ()),
    "transform_block_layout": Layout(("block", "index_map"), ()),
    "transform_layout": Layout(
        ("block", "index_map"), ("buffer", "pad_value", "assume_injective_transform")
    ),
}

_NAMES: Final = {"reindex": "ReIndex", "rfactor": "RFactor", "unsafe_set_dtype": "UnsafeSetDType"}
_PRIMITIVES: Final = {name: primitive for primitive, name in _NAMES.items()}

_FACTORS: Final = "factors"
"""The parameter of `split` and `loop_partition`."""

_BUFFER_KINDS: Final = ("read", "write")
"""A buffer is two attributes: its position, and the position of its kind in this list."""


def json_name(kind: InstructionKind) -> str:
    """The name of an instruction in JSON: ``"GetBlock"`` for `get_block`.

    The name of a step that is not a primitive of `tir.Schedule` stays as it is.
    """
    if _is_foreign(kind):
        return kind.name
    return _NAMES.get(kind.name) or "".join(word.capitalize() for word in kind.name.split("_"))


def _is_foreign(kind: InstructionKind) -> bool:
    """Whether a step is one of another schedule than `tir.Schedule`, and so not of Apache TVM's."""
    return "." in kind.name


def kind_of(name: str) -> InstructionKind:
    """The kind of instruction of a name in JSON.

    Raises:
        UnknownNameError: if there is none.
    """
    if not isinstance(name, str):
        raise UnknownNameError(f"the name of a schedule instruction is a string, got {name!r}")
    return InstructionKind.get(_PRIMITIVES.get(name, name))


@functools.cache
def layout_of(kind: InstructionKind) -> Layout:
    """The order of the parameters of an instruction."""
    found = _LAYOUTS.get(kind.name)
    if found is not None:
        return found
    names = [p.name for p in kind.primitive.parameters if p.name != "decision"]
    inputs = {p.name for p in kind.primitive.parameters if p.kind not in ("number", "value")}
    inputs.add(_FACTORS)
    return Layout(
        tuple(name for name in names if name in inputs),
        tuple(name for name in names if name not in inputs),
    )


def arranged(kind: InstructionKind, arguments: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """The inputs and the attributes of an instruction, from its arguments by name."""
    parameters = {p.name: p for p in kind.primitive.parameters}
    layout = layout_of(kind)
    inputs: list[Any] = []
    for name in layout.inputs:
        value = _value(arguments, parameters[name])
        if _is_spread(parameters[name]):
            inputs += value
        else:
            inputs.append(value)
    attrs: list[Any] = []
    for name in layout.attrs:
        value = _value(arguments, parameters[name])
        if name == "buffer":
            attrs += _buffer_attributes(value)
        else:
            attrs.append(value if _is_foreign(kind) else _number(value))
    return inputs, attrs


def named(kind: InstructionKind, inputs: Sequence[Any], attrs: Sequence[Any]) -> dict[str, Any]:
    """The arguments of an instruction by name, from its inputs and attributes.

    Arguments that are missing at the end have their defaults: earlier versions wrote fewer.
    """
    layout = layout_of(kind)
    parameters = {p.name: p for p in kind.primitive.parameters}
    arguments: dict[str, Any] = {}
    rest = list(inputs)
    for name in layout.inputs:
        if _is_spread(parameters[name]):
            arguments[name], rest = rest, []
        elif rest:
            arguments[name] = rest.pop(0)
    if rest:
        raise ArgumentValueError(f"{json_name(kind)} has no parameter for the input {rest[0]!r}")
    arguments.update(_named_attributes(kind, layout.attrs, list(attrs)))
    return arguments


def _named_attributes(
    kind: InstructionKind, names: tuple[str, ...], rest: list[Any]
) -> Iterator[tuple[str, Any]]:
    flags = {p.name for p in kind.primitive.parameters if isinstance(p.default, bool)}
    for name in names:
        if not rest:
            return
        value = rest.pop(0)
        if name == "buffer" and type(value) is int:
            if not rest or rest[0] not in (0, 1):
                raise ArgumentValueError(
                    f"{json_name(kind)}: a buffer is its position, and 0 (read) or 1 (written)"
                )
            value = (_BUFFER_KINDS[rest.pop(0)], value)
        yield name, bool(value) if name in flags else value
    if rest:
        raise ArgumentValueError(
            f"{json_name(kind)} has no parameter for the attribute {rest[0]!r}"
        )


def _value(arguments: Mapping[str, Any], parameter: Parameter) -> Any:
    value = arguments.get(parameter.name, parameter.default)
    return () if value is None and _is_spread(parameter) else value


def _is_spread(parameter: Parameter) -> bool:
    """Whether the items of a list are inputs of their own."""
    return parameter.variadic or parameter.name == _FACTORS


def _buffer_attributes(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)) and len(value) == 2 and value[0] in _BUFFER_KINDS:
        return [value[1], _BUFFER_KINDS.index(value[0])]
    return [value]


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value
