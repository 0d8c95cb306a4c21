"""The boxes and arrows of a graph function."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tilewright.ir.op import Op
from tilewright.relax.expr import (
    Binding,
    Call,
    Constant,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from tilewright.relax.op.base import (
    CALL_DPS_PACKED,
    CALL_PURE_PACKED,
    CALL_TIR,
    CALL_TIR_INPLACE,
    CALL_TIR_WITH_GRAD,
)
from tilewright.relax.sizes import size_text
from tilewright.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

_CALLS_OF_NAMES: Final = (
    CALL_TIR, CALL_TIR_INPLACE, CALL_TIR_WITH_GRAD, CALL_DPS_PACKED, CALL_PURE_PACKED,
)  # fmt: skip


class Kind(enum.Enum):
    """What a box stands for."""

    INPUT = "input"
    OPERATION = "operation"
    OUTPUT = "output"


@dataclass(eq=False)
class Box:
    """A box.

    Attributes:
        known: texts of its operands that are known, such as constants.
        ports: its results, in the order of their first use: the field of the result (a path of
            indices, as results may be tuples in tuples), and the text at the arrow.
    """

    title: str
    kind: Kind
    known: list[str] = field(default_factory=list)
    ports: dict[tuple[int, ...], str] = field(default_factory=dict)

    @property
    def details(self) -> list[str]:
        """Lines below the title: operands that are known, equal neighbours on one line."""
        groups = [(text, len(list(group))) for text, group in itertools.groupby(self.known)]
        return [text if count == 1 else f"{count} x {text}" for text, count in groups]


@dataclass(frozen=True)
class Arrow:
    """An arrow from a result of a box to another box."""

    source: Box
    port: tuple[int, ...]
    target: Box


@dataclass(frozen=True)
class _Value:
    """A part of the result of a box."""

    box: Box
    path: tuple[int, ...]
    info: StructInfo | None


class Graph:
    """The boxes of a function, each after those that it has arrows from, and the arrows.

    Variables that are other names of values, tuples and their fields have no box; constants are
    listed in the boxes of the operations that take them.
    """

    def __init__(self, function: Function) -> None:
        self.boxes: list[Box] = []
        self._arrows: dict[Arrow, None] = {}
        self._values: dict[Var, Any] = {}
        for param in function.params:
            box = self._add(Box(param.name_hint, Kind.INPUT))
            self._values[param] = _Value(box, (), param.struct_info)
        body = function.body
        if isinstance(body, SeqExpr):
            for block in body.blocks:
                for binding in block.bindings:
                    self._bind(binding)
            body = body.body
        output = self._add(Box("return", Kind.OUTPUT))
        self._connect(self._value(body), output)

    @property
    def arrows(self) -> list[Arrow]:
        """The arrows, each once."""
        return list(self._arrows)

    def _add(self, box: Box) -> Box:
        self.boxes.append(box)
        return box

    def _bind(self, binding: Binding) -> None:
        value = binding.value
        if isinstance(binding, MatchCast):
            box = self._add(Box("match_cast", Kind.OPERATION))
            self._connect(self._value(value), box)
            self._values[binding.var] = _Value(box, (), binding.struct_info)
        elif isinstance(value, (Call, If, Function)):
            box = self._add(Box(_title(value), Kind.OPERATION))
            for operand in _operands(value):
                self._connect(self._value(operand), box)
            self._values[binding.var] = _Value(box, (), binding.var.struct_info)
        else:
            self._values[binding.var] = self._value(value)

    def _value(self, expr: Any) -> Any:
        """The part of the result of a box that an operand is, a tuple of those, or a text."""
        if isinstance(expr, Var):
            return self._values.get(expr, expr.name_hint)
        if isinstance(expr, Tuple):
            return tuple(map(self._value, expr.fields))
        if isinstance(expr, TupleGetItem):
            whole = self._value(expr.tuple_value)
            if isinstance(whole, tuple):
                return whole[expr.index]
            if isinstance(whole, _Value):
                return _Value(whole.box, (*whole.path, expr.index), expr.struct_info)
            return f"{whole}[{expr.index}]"
        known = _TEXTS.get(type(expr))
        return known(expr) if known is not None else type(expr).__name__

    def _connect(self, value: Any, target: Box) -> None:
        if isinstance(value, tuple):
            for part in value:
                self._connect(part, target)
        elif isinstance(value, _Value):
            value.box.ports.setdefault(value.path, text_of(value.info))
            self._arrows[Arrow(value.box, value.path, target)] = None
        else:
            target.known.append(str(value))


def _title(value: Any) -> str:
    if isinstance(value, If):
        return "if"
    if isinstance(value, Function):
        return "function"
    if value.op in _CALLS_OF_NAMES:
        return _name(value.args[0])
    if isinstance(value.op, Op):
        return value.op.name.removeprefix("relax.")
    return _name(value.op)


def _name(callee: Any) -> str:
    if isinstance(callee, ExternFunc):
        return callee.global_symbol
    return getattr(callee, "name_hint", "call")


def _operands(value: Any) -> tuple[Any, ...]:
    if isinstance(value, If):
        return (value.cond, *_used_in(value))
    if isinstance(value, Function):
        return _used_in(value)
    return value.args[1:] if value.op in _CALLS_OF_NAMES else value.args


def _used_in(value: Any) -> tuple[Any, ...]:
    from tilewright.relax.analysis.variables import free_vars

    found = free_vars(value)
    return tuple(var for var in found if var is not getattr(value, "cond", None))


_TEXTS: Final[dict[type, Callable[[Any], str]]] = {
    Constant: lambda expr: f"constant {text_of(expr.struct_info)}",
    ShapeExpr: lambda expr: text_of(expr.struct_info),
    PrimValue: lambda expr: size_text(expr.value),
    StringImm: lambda expr: repr(str(expr.value)),
}


def text_of(info: StructInfo | None) -> str:
    """Struct info in a few characters: ``(1, n)``, with the dtype where it is not float32."""
    if isinstance(info, TensorStructInfo):
        extents = info.extents
        shape = _listed(extents) if extents is not None else f"{max(info.ndim, 0) or '?'}-d"
        return shape if info.dtype in (None, "float32") else f"{shape} {info.dtype!s}"
    if isinstance(info, ShapeStructInfo):
        return f"shape {_listed(info.values) if info.values is not None else ''}".strip()
    if isinstance(info, PrimStructInfo):
        return str(info.dtype)
    if isinstance(info, TupleStructInfo):
        return ", ".join(map(text_of, info.fields)) or "nothing"
    return ""


def _listed(extents: tuple[Any, ...]) -> str:
    values = list(map(size_text, extents))
    return f"({', '.join(values)}{',' if len(values) == 1 else ''})"
