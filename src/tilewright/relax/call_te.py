"""Calls of functions on tensors, which become tensor programs of the module.

Graph values among the arguments become what functions on tensors take: an array a tensor, a tuple
a list, a shape a tuple of extents, a scalar an expression. The tensor program has symbolic sizes of
its own; one that is not an extent of any of its arrays becomes a scalar parameter. An array of
which only the rank is known gets sizes by a `match_cast` before the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tilewright import te
from tilewright.error import ArgumentError, StructInfoError
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, Var
from tilewright.relax.expr import (
    DataTypeImm,
    PrimValue,
    RelaxExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
)
from tilewright.relax.normalize import operand
from tilewright.relax.op.base import call_tir
from tilewright.relax.sizes import symbolic_vars_of
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.te.tensor import Tensor
from tilewright.tir.substitute import substitute, variables_of, with_sizes

if TYPE_CHECKING:
    from tilewright.relax.block_builder import BlockBuilder


def call_te(
    builder: BlockBuilder,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name_hint: str | None,
    attrs: Mapping[str, Any] | None,
) -> Any:
    """See `BlockBuilder.call_te`."""
    if not callable(func):
        raise ArgumentError(f"call_te: expected a function on tensors, got {func!r}")
    conversion = Conversion(builder)
    result = func(
        *[conversion.convert(argument) for argument in args],
        **{name: conversion.convert(argument) for name, argument in kwargs.items()},
    )
    name = name_hint or getattr(func, "__name__", "fused").strip("<>")
    several = isinstance(result, (tuple, list))
    outputs = list(result) if several else [result]
    for output in outputs:
        if not isinstance(output, Tensor):
            raise ArgumentError(f"call_te: {name} must return tensors, it returned {output!r}")
    if not several and outputs[0] in conversion.values:
        return conversion.values[outputs[0]]
    outputs = _distinct(outputs, conversion)
    return conversion.call(outputs, name, several, attrs or {})


def _distinct(outputs: list[Tensor], conversion: Conversion) -> list[Tensor]:
    """`outputs`, with a copy of each that is an input, or an output before."""
    seen = set(conversion.values)
    result = []
    for output in outputs:
        if output in seen:
            output = te.compute(output.shape, lambda *i, source=output: source(*i), "copy")
        seen.add(output)
        result.append(output)
    return result


class Conversion:
    """The arguments of one call.

    Attributes:
        values: the graph value behind each tensor, in the order of the parameters.
    """

    def __init__(self, builder: BlockBuilder) -> None:
        self.values: dict[Tensor, RelaxExpr] = {}
        self._builder = builder
        self._tensors: dict[RelaxExpr, Tensor] = {}
        self._inner: dict[Var, Expr] = {}
        self._outer: dict[Var, Expr] = {}

    # --- into the tensor program ------------------------------------------------------------

    def convert(self, argument: Any) -> Any:
        """An argument as functions on tensors take it."""
        if isinstance(argument, (list, tuple)):
            return type(argument)(map(self.convert, argument))
        if isinstance(argument, dict):
            return {key: self.convert(value) for key, value in argument.items()}
        if isinstance(argument, Expr):
            return self.inside(argument)
        if isinstance(argument, TensorStructInfo):
            raise ArgumentError("call_te takes values, not struct info")
        return self._graph_value(argument) if isinstance(argument, RelaxExpr) else argument

    def _graph_value(self, value: RelaxExpr) -> Any:
        if isinstance(value, (StringImm, DataTypeImm)):
            return str(value.value)
        if isinstance(value, PrimValue):
            return self.inside(value.value)
        if isinstance(value, ShapeExpr):
            return tuple(map(self.inside, value.values))
        if isinstance(value, Tuple):
            return [self._graph_value(field) for field in value.fields]
        value = operand(self._builder, value)
        info = value.struct_info
        if isinstance(info, TupleStructInfo):
            fields = [TupleGetItem(value, index) for index in range(len(info.fields))]
            return [self._graph_value(field) for field in fields]
        if isinstance(info, TensorStructInfo):
            return self._tensor(value)
        if isinstance(info, ShapeStructInfo):
            return tuple(map(self.inside, self._extents(value)))
        if isinstance(info, PrimStructInfo):
            return self.inside(self._scalar(value, info))
        raise ArgumentError(f"call_te: {value!r} is not an array, shape or scalar: {info!r}")

    def inside(self, expr: Expr) -> Expr:
        """A scalar with the sizes of the graph replaced by those of the tensor program."""
        for var in symbolic_vars_of(expr):
            if var not in self._inner:
                fresh = type(var)(var.name, var.dtype)
                self._inner[var], self._outer[fresh] = fresh, var
        return substitute(expr, self._inner)

    def _tensor(self, value: RelaxExpr) -> Tensor:
        found = self._tensors.get(value)
        if found is not None:
            return found
        info = value.struct_info
        assert isinstance(info, TensorStructInfo)
        if info.dtype is None:
            raise ArgumentError(f"call_te: the dtype of {value!r} is not known; use match_cast")
        source = value
        if info.extents is None:
            source = self._with_sizes(value, info.ndim, lambda shape: info.replace(shape=shape))
        shape = [self.inside(extent) for extent in self._extents(source)]
        tensor = te.placeholder(shape, info.dtype, _letters(len(self.values)))
        self._tensors[value], self.values[tensor] = tensor, source
        return tensor

    def _extents(self, value: RelaxExpr) -> tuple[Expr, ...]:
        info = value.struct_info
        if isinstance(info, TensorStructInfo):
            assert info.extents is not None
            return info.extents
        assert isinstance(info, ShapeStructInfo)
        if info.values is None:
            value = self._with_sizes(value, info.ndim, lambda shape: ShapeStructInfo(shape.values))
            info = value.struct_info
        assert isinstance(info, ShapeStructInfo)
        assert info.values is not None
        return info.values

    def _with_sizes(
        self, value: RelaxExpr, ndim: int, known: Callable[[ShapeExpr], StructInfo]
    ) -> RelaxExpr:
        """`value` with named extents."""
        if ndim == UNKNOWN_NDIM:
            raise StructInfoError(
                f"the rank of {value!r} is not known, so no tensor program can be made for it; "
                "use match_cast",
                value.span,
            )
        shape = ShapeExpr([Var(f"d{index}", INT64) for index in range(ndim)])
        return self._builder.match_cast(value, known(shape))

    def _scalar(self, value: RelaxExpr, info: PrimStructInfo) -> Expr:
        if info.value is not None:
            return info.value
        size = Var("s", info.dtype)
        self._builder.match_cast(value, PrimStructInfo(info.dtype, size))
        return size

    # --- out of it --------------------------------------------------------------------------

    def call(
        self, outputs: list[Tensor], name: str, several: bool, attrs: Mapping[str, Any]
    ) -> Any:
        """The call of the tensor program that computes `outputs`."""
        tensors = [*self.values, *outputs]
        # The function may have used sizes of the graph that it was not given.
        sizes = [
            var
            for var in _variables_of(outputs)
            if var in self._inner or self._builder.defines_size(var)
        ]
        replaced = {size: self.inside(size) for size in sizes}
        extents = {extent for tensor in tensors for extent in tensor.shape}
        read = {replaced.get(var, var) for var in extents if isinstance(var, Var)}
        scalars = [var for var in self._outer if var not in read]
        function = te.create_prim_func([*tensors, *scalars, *sizes])
        own = [param for param in function.params if param not in replaced]
        function = (
            with_sizes(function.replace(params=own), replaced)
            .without_attr("global_symbol")
            .with_attrs(attrs)
        )
        infos = [self._struct_info(output) for output in outputs]
        return call_tir(
            self._builder.add_func(function, name),
            list(self.values.values()),
            TupleStructInfo(infos) if several else infos[0],
            [self._outer[var] for var in scalars] or None,
        )

    def _struct_info(self, output: Tensor) -> TensorStructInfo:
        simplify = self._builder.analyzer.simplify
        extents = [simplify(substitute(extent, self._outer)) for extent in output.shape]
        infos = [value.struct_info for value in self.values.values()]
        devices = [info.vdevice for info in infos if isinstance(info, TensorStructInfo)]
        return TensorStructInfo(extents, output.dtype, next(filter(None, devices), None))


def _variables_of(outputs: list[Tensor]) -> list[Var]:
    """The variables that tensor programs mention, those of their own loops among them."""
    found: dict[Var, None] = {}
    seen, waiting = set(outputs), list(outputs)
    while waiting:
        tensor = waiting.pop()
        body = getattr(tensor.op, "body", ())  # that of an external operation is one statement
        for expr in (*tensor.shape, *(body if isinstance(body, (tuple, list)) else [body])):
            found.update(dict.fromkeys(variables_of(expr)))
        fresh = [source for source in tensor.op.input_tensors if source not in seen]
        seen.update(fresh)
        waiting += fresh
    return list(found)


def _letters(position: int) -> str:
    """``A`` to ``Z``, then ``A1`` and so on."""
    round_, letter = divmod(position, 26)
    return chr(ord("A") + letter) + (str(round_) if round_ else "")
