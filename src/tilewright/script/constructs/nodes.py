"""Constructors of expression nodes, exactly as asked for: nothing is folded or simplified."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.error import ArgumentError, DTypeError
from tilewright.ir import expr as nodes
from tilewright.ir.arithmetic import match_operands
from tilewright.ir.convert import as_expr, const
from tilewright.ir.convert import cast as convert
from tilewright.ir.dtype import HANDLE, DType, PointerType, PrimType
from tilewright.ir.expr import Expr
from tilewright.ir.module import GlobalVar
from tilewright.ir.op import Op
from tilewright.script.constructs.access import load_indices
from tilewright.script.constructs.blocks import iter_var
from tilewright.tir import expr as tir_nodes
from tilewright.tir.buffer import Buffer, Range
from tilewright.tir.buffer import BufferLoad as BufferLoadNode
from tilewright.tir.index_map import IndexMap


def _binary(kind: type[Any]) -> Callable[[object, object], Expr]:
    def construct(a: object, b: object) -> Expr:
        return kind(*match_operands(a, b, kind.__name__))

    construct.__name__ = construct.__qualname__ = kind.__name__
    construct.__doc__ = kind.__doc__
    return construct


Add, Sub, Mul, Div = map(_binary, (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div))
Mod, FloorDiv, FloorMod = map(_binary, (nodes.Mod, nodes.FloorDiv, nodes.FloorMod))
Min, Max, EQ, NE = map(_binary, (nodes.Min, nodes.Max, nodes.EQ, nodes.NE))
LT, LE, GT, GE = map(_binary, (nodes.LT, nodes.LE, nodes.GT, nodes.GE))
_And, _Or = _binary(nodes.And), _binary(nodes.Or)


def _truth(value: object, name: str) -> Expr:
    operand = as_expr(value)
    if not operand.dtype.is_bool:
        raise DTypeError(f"T.{name} needs bool operands, got {operand!r} of {operand.dtype!s}")
    return operand


def And(a: object, b: object) -> Expr:
    """`a and b`."""
    return _And(_truth(a, "And"), _truth(b, "And"))


def Or(a: object, b: object) -> Expr:
    """`a or b`."""
    return _Or(_truth(a, "Or"), _truth(b, "Or"))


def Not(a: object) -> Expr:
    """`not a`."""
    return nodes.Not(_truth(a, "Not"))


def Cast(dtype: str, value: object) -> Expr:
    """`value` converted to `dtype`."""
    target, operand = DType(dtype), as_expr(value)
    if target.lanes != operand.dtype.lanes:
        raise DTypeError(f"T.Cast: {operand.dtype!s} and {target!s} have different lanes")
    return nodes.Cast(target, operand)


def cast(value: object, dtype: str) -> Expr:
    """`value` converted to `dtype`; constants are converted at once."""
    return convert(dtype, value)


def Select(condition: object, true_value: object, false_value: object) -> Expr:
    """`true_value` where `condition` holds, else `false_value`; both are evaluated."""
    a, b = match_operands(true_value, false_value, "Select")
    return nodes.Select(_truth(condition, "Select"), a, b)


def Ramp(base: object, stride: object, lanes: int) -> Expr:
    """The vector ``[base, base + stride, ...]`` of `lanes` numbers."""
    a, b = match_operands(base, stride, "Ramp")
    if not a.dtype.is_integral or a.dtype.is_vector:
        raise DTypeError(f"T.Ramp needs scalar integers, got {a!r} of dtype {a.dtype!s}")
    return nodes.Ramp(a, b, _lanes(lanes, "Ramp"))


def Broadcast(value: object, lanes: int) -> Expr:
    """The vector of `lanes` copies of the scalar `value`."""
    operand = as_expr(value)
    if operand.dtype.is_vector or operand.dtype.is_handle:
        raise DTypeError(f"T.Broadcast needs a scalar number, got {operand!r}")
    return nodes.Broadcast(operand, _lanes(lanes, "Broadcast"))


def _lanes(lanes: object, name: str) -> int:
    count = lanes.value if isinstance(lanes, nodes.IntImm) else lanes
    if not isinstance(count, int) or isinstance(count, bool) or count < 2:
        raise ArgumentError(f"T.{name}: the number of lanes is a constant above 1, got {lanes!r}")
    return count


def Shuffle(vectors: Sequence[object], indices: Sequence[object]) -> Expr:
    """The lanes numbered `indices` of the concatenation of `vectors`."""
    values, chosen = tuple(map(as_expr, vectors)), tuple(map(as_expr, indices))
    if not values or not chosen:
        raise ArgumentError("T.Shuffle needs at least one vector and one index")
    total = sum(value.dtype.lanes for value in values)
    for index in chosen:
        if not isinstance(index, nodes.IntImm) or not 0 <= index.value < total:
            raise ArgumentError(f"T.Shuffle: {index!r} is not one of the {total} given ones")
    for value in values:
        if value.dtype.element is not values[0].dtype.element:
            raise DTypeError("T.Shuffle: the vectors have different dtypes")
    return nodes.Shuffle(values, chosen)


def Call(dtype: str, op: Any, args: Sequence[object] = ()) -> Expr:
    """A call of an operator, given by name or as such, or of a function of the module."""
    callee = Op.get(op) if isinstance(op, str) else op
    if not isinstance(callee, (Op, GlobalVar)):
        raise ArgumentError(f"T.Call expects an operator or a function of the module, got {op!r}")
    if isinstance(callee, Op) and callee.arity not in (-1, len(args)):
        raise ArgumentError(f"{callee.name} takes {callee.arity} arguments, got {len(args)}")
    return nodes.Call(DType(dtype), callee, tuple(map(call_argument, args)))


def call_argument(value: object) -> Expr:
    """An argument of a call; a buffer is passed by its pointer."""
    return value.data if isinstance(value, Buffer) else as_expr(value)


def BufferLoad(buffer: Buffer, indices: Sequence[object], predicate: object = None) -> Expr:
    """An element of a buffer."""
    if not isinstance(buffer, Buffer):
        raise ArgumentError(f"T.BufferLoad expects a buffer, got {buffer!r}")
    mask = None if predicate is None else as_expr(predicate)
    return BufferLoadNode(buffer, load_indices(buffer, tuple(indices)), mask)


def IntImm(dtype: str, value: int) -> Expr:
    """An integer constant."""
    target = DType(dtype)
    if not target.is_integral:
        raise DTypeError(f"T.IntImm: {target!s} is not an integer type")
    return const(value, target)


def FloatImm(dtype: str, value: float) -> Expr:
    """A floating-point constant."""
    target = DType(dtype)
    if not target.is_float:
        raise DTypeError(f"T.FloatImm: {target!s} is not a floating-point type")
    return const(float(value), target)


def StringImm(value: str) -> Expr:
    """A string constant."""
    if not isinstance(value, str):
        raise ArgumentError(f"T.StringImm expects a string, got {value!r}")
    return nodes.StringImm(value)


def _variable(kind: type[nodes.Var], name: str, dtype: Any) -> nodes.Var:
    if not isinstance(name, str):
        raise ArgumentError(f"T.{kind.__name__} expects a name, got {name!r}")
    if isinstance(dtype, PointerType):
        return kind(name, HANDLE, dtype)
    return kind(name, dtype.dtype if isinstance(dtype, PrimType) else DType(dtype))


def Var(name: str, dtype: Any) -> nodes.Var:
    """A new variable of a dtype or pointer type."""
    return _variable(nodes.Var, name, dtype)


def SizeVar(name: str, dtype: Any = "int32") -> nodes.Var:
    """A new variable that is at least 0."""
    return _variable(nodes.SizeVar, name, dtype)


IterVar = iter_var


def comm_reducer(combiner: Callable[..., Any], identity: Sequence[object]) -> Any:
    """A commutative reduction.

    Args:
        combiner: combines two values, given as 2 * n arguments for n components, to one value or
            a tuple of n values.
        identity: the n values that do not change what they are combined with.
    """
    start = tuple(map(as_expr, identity if isinstance(identity, (list, tuple)) else [identity]))
    names = list(inspect.signature(combiner).parameters)
    if len(names) != 2 * len(start):
        raise ArgumentError(
            f"T.comm_reducer: {len(start)} identity elements need a combiner of "
            f"{2 * len(start)} arguments, this one has {len(names)}"
        )
    dtypes = [value.dtype for value in start] * 2
    variables = [nodes.Var(n, d) for n, d in zip(names, dtypes, strict=True)]
    result = combiner(*variables)
    values = tuple(map(as_expr, result if isinstance(result, (list, tuple)) else [result]))
    if len(values) != len(start):
        raise ArgumentError(f"T.comm_reducer: the combiner gives {len(values)} values")
    half = len(start)
    return tir_nodes.CommReducer(tuple(variables[:half]), tuple(variables[half:]), values, start)


def index_map(
    mapping: Callable[..., Any],
    *,
    inverse_index_map: Callable[..., Any] | IndexMap | None = None,
    index_dtype: Any = "int32",
) -> IndexMap:
    """A map from the indices of one layout to those of another.

    Args:
        mapping: a lambda of the old indices that returns the new ones.
        inverse_index_map: the way back, where it is not to be computed.
        index_dtype: the dtype of the old indices, or a list of one for each.
    """
    return IndexMap.from_func(mapping, inverse_index_map=inverse_index_map, index_dtype=index_dtype)


def Reduce(
    combiner: Any,
    source: Sequence[object],
    axis: Sequence[Any],
    condition: object = True,
    value_index: int = 0,
    init: Sequence[object] = (),
) -> Expr:
    """Component `value_index` of a reduction of `source` over `axis`."""
    if not isinstance(combiner, tir_nodes.CommReducer):
        raise ArgumentError(f"T.Reduce expects a T.comm_reducer, got {combiner!r}")
    axes = tuple(axis)
    if not all(isinstance(item, tir_nodes.IterVar) for item in axes):
        raise ArgumentError("T.Reduce: the axes are iteration variables, see T.iter_var")
    values = tuple(map(as_expr, source))
    if not 0 <= value_index < len(values):
        raise ArgumentError(f"T.Reduce: there is no component {value_index}")
    starts = tuple(map(as_expr, init))
    return tir_nodes.Reduce(combiner, values, axes, as_expr(condition), value_index, starts)


__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "Broadcast", "BufferLoad", "Call", "Cast",
    "Div", "FloatImm", "FloorDiv", "FloorMod", "IntImm", "IterVar", "Max", "Min", "Mod", "Mul",
    "Not", "Or", "Ramp", "Range", "Reduce", "Select", "Shuffle", "SizeVar", "StringImm", "Sub",
    "Var", "cast", "comm_reducer", "index_map",
]  # fmt: skip
