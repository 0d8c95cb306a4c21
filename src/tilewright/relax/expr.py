"""Graphs: expressions over arrays, tuples, shapes and functions, and the functions that they form.

A function's body is normalised: each operation is bound to a variable of its own, in blocks, of
which a `DataflowBlock` promises that nothing in it has an effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import isfunction
from itertools import pairwise
from typing import Any

import numpy as np

from tilewright.error import ArgumentError, TVMError
from tilewright.ir.attributes import EMPTY, Attributes
from tilewright.ir.convert import as_expr
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, SymbolicTruthError
from tilewright.ir.expr import StringImm as TextImm
from tilewright.ir.function import BaseFunc, GlobalVar
from tilewright.ir.node import Node, attr, binds, child, meta, node
from tilewright.ir.op import Op
from tilewright.ir.operators import Operators
from tilewright.ir.scriptable import Scriptable
from tilewright.ir.span import Span
from tilewright.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    extents_of,
)
from tilewright.runtime.ndarray import NDArray, array

_set = object.__setattr__


class FieldIndexError(TVMError, IndexError):
    """A tuple has no such field."""


class RelaxExpr(Operators, Scriptable, Node):
    """Base class of graph expressions.

    Python's operators build calls of the operators of `tilewright.relax.op`; ``==`` is identity.

    Attributes:
        struct_info: what is known of the value; None before it has been inferred.
        span: where it was written; None where that is not known.
    """

    __slots__ = ()
    operator_priority = 20
    __array_ufunc__ = None  # numpy scalars leave the operator to us
    struct_info: StructInfo | None
    span: Span | None

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __bool__(self) -> bool:
        raise SymbolicTruthError(
            "Python does not know the value of a graph expression: use R.where, R.logical_and, "
            "R.maximum, ..., or an `if` statement of a graph function"
        )

    def accepts(self, other: object) -> bool:
        """Arrays become constants, beside what other expressions accept."""
        return isinstance(other, (np.ndarray, NDArray)) or super().accepts(other)

    def operate(self, name: str, *operands: object) -> Any:
        """The call of the graph operator behind one of Python's operators."""
        from tilewright.relax.op.python_operators import operate

        return operate(name, *operands)

    def __pow__(self, other: object) -> Any:
        return self.operate("power", self, other)

    def __rpow__(self, other: object) -> Any:
        return self.operate("power", other, self)

    def __matmul__(self, other: object) -> Any:
        return self.operate("matmul", self, other)

    def __rmatmul__(self, other: object) -> Any:
        return self.operate("matmul", other, self)

    def astype(self, dtype: str) -> Any:
        """The call that converts each element to `dtype`."""
        from tilewright.relax.op.datatype import astype

        return astype(self, dtype)

    def __getitem__(self, index: int) -> TupleGetItem:
        """Field `index` of a tuple."""
        info = self.struct_info
        if info is not None and not isinstance(info, (TupleStructInfo, ObjectStructInfo)):
            raise ArgumentError(
                f"only tuples have fields, this is {info!r}; use relax.op.take or "
                "relax.op.strided_slice for a part of an array"
            )
        if not isinstance(index, int) or isinstance(index, bool):
            raise ArgumentError(f"a field of a tuple is named by its number, got {index!r}")
        count = len(info.fields) if isinstance(info, TupleStructInfo) else None
        if index < 0 or (count is not None and index >= count):  # also ends Python's iteration
            fields = "" if count is None else f" of {count} fields"
            raise FieldIndexError(f"a tuple{fields} has no field {index}")
        return TupleGetItem(self, index)

    def __call__(self, *args: Any, attrs: Mapping[str, Any] | None = None) -> Call:
        """The call of this value, a function."""
        return Call(self, args, attrs)


@node
class Var(RelaxExpr):
    """A variable of a graph function; two are the same only if they are the same object.

    Attributes:
        name_hint: its name in scripts.
        struct_info: what is known of it.
    """

    __node_name__ = "RelaxVar"
    __is_reference__ = True

    name_hint: str = meta()
    struct_info: StructInfo | None = child(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self, name_hint: str, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        if not isinstance(name_hint, str):
            raise ArgumentError(f"relax.Var: the name is a string, got {name_hint!r}")
        if not isinstance(struct_info, StructInfo | None):
            raise ArgumentError(
                f"relax.Var {name_hint!r}: expected struct info, such as R.Tensor((2, n), "
                f"'float32') with n = tir.Var('n', 'int64'), got {struct_info!r}"
            )
        _set(self, "name_hint", name_hint)
        _set(self, "struct_info", struct_info)
        _set(self, "span", span)

    @property
    def vid(self) -> Var:
        """What identifies the variable: itself."""
        return self


@node
class DataflowVar(Var):
    """A variable that only the dataflow block that binds it can see."""

    __node_name__ = "DataflowVar"
    __init__ = Var.__init__


@node
class Constant(RelaxExpr):
    """An array that is known when the program is compiled.

    Attributes:
        data: its elements.
    """

    data: NDArray = attr()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self, data: Any, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        value = data if isinstance(data, NDArray) else array(np.asarray(data))
        _set(self, "data", value)
        info = struct_info or TensorStructInfo(ShapeExpr(value.shape), value.dtype)
        _set(self, "struct_info", info)
        _set(self, "span", span)


@node
class Tuple(RelaxExpr):
    """Several values."""

    fields: tuple[RelaxExpr, ...] = child()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        fields: Sequence[Any],
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        values = tuple(as_relax(field) for field in fields)
        infos = [getattr(value, "struct_info", None) for value in values]
        known = [info for info in infos if info is not None]
        if len(known) == len(values):  # what the fields say counts, also when they were replaced
            same = isinstance(struct_info, TupleStructInfo) and [*map(id, known)] == [
                *map(id, struct_info.fields)
            ]
            struct_info = struct_info if same else TupleStructInfo(known)
        _set(self, "fields", values)
        _set(self, "struct_info", struct_info)
        _set(self, "span", span)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: int) -> Any:
        """Field `index`, which is known."""
        return self.fields[index]


@node
class TupleGetItem(RelaxExpr):
    """Field `index` of a tuple."""

    tuple_value: RelaxExpr = child()
    index: int = attr()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        tuple_value: RelaxExpr,
        index: int,
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        info = tuple_value.struct_info
        if isinstance(info, TupleStructInfo) and 0 <= index < len(info.fields):
            struct_info = info.fields[index]
        _set(self, "tuple_value", tuple_value)
        _set(self, "index", index)
        _set(self, "struct_info", struct_info)
        _set(self, "span", span)


@node
class ShapeExpr(RelaxExpr):
    """A shape.

    Attributes:
        values: the extents, of dtype int64.
    """

    values: tuple[Expr, ...] = child()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        values: Sequence[Any],
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        del struct_info  # follows from the extents
        extents = extents_of(values)
        _set(self, "values", extents)
        _set(self, "struct_info", ShapeStructInfo(extents))
        _set(self, "span", span)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        """Extent `index`."""
        return self.values[index]


@node
class PrimValue(RelaxExpr):
    """A scalar."""

    value: Expr = child()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self, value: Any, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        known = as_expr(value)
        if isinstance(known, TextImm):
            raise ArgumentError(f"PrimValue: a scalar is a number, got the text {known.value!r}")
        _set(self, "value", known)
        _set(self, "struct_info", PrimStructInfo(known.dtype, known))
        _set(self, "span", span)


@node
class StringImm(RelaxExpr):
    """A text."""

    __node_name__ = "RelaxStringImm"

    value: str = attr()
    struct_info: StructInfo | None = meta(default=ObjectStructInfo())
    span: Span | None = meta(default=None)


@node
class DataTypeImm(RelaxExpr):
    """A dtype as a value."""

    value: DType = attr()
    struct_info: StructInfo | None = meta(default=ObjectStructInfo())
    span: Span | None = meta(default=None)


@node
class ExternFunc(RelaxExpr):
    """A function that is found by name when the program runs.

    First the functions of the same module are searched, then the registry.
    """

    global_symbol: str = attr()
    struct_info: StructInfo | None = meta(default=FuncStructInfo.opaque_func())
    span: Span | None = meta(default=None)

    def __init__(
        self, global_symbol: str, struct_info: StructInfo | None = None, span: Span | None = None
    ) -> None:
        if not isinstance(global_symbol, str):
            raise ArgumentError(f"ExternFunc: the name is a text, got {global_symbol!r}")
        _set(self, "global_symbol", str(global_symbol))
        _set(self, "struct_info", struct_info or FuncStructInfo.opaque_func())
        _set(self, "span", span)


@node
class Call(RelaxExpr):
    """A call of an operator or a function.

    Attributes:
        op: an `Op` of `tilewright.relax.op.table`, the `GlobalVar` of a function of the module, or
            an expression whose value is a function.
        args: the arguments.
        attrs: what is known when the program is compiled: axes, strides, ...
        sinfo_args: struct info that is part of the call: of ``call_tir``, that of the result.
    """

    __node_name__ = "RelaxCall"

    op: Op | GlobalVar | RelaxExpr = child()
    args: tuple[RelaxExpr, ...] = child()
    attrs: Attributes = attr(default=EMPTY)
    sinfo_args: tuple[StructInfo, ...] = child(default=())
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        op: Op | GlobalVar | RelaxExpr,
        args: Sequence[Any],
        attrs: Mapping[str, Any] | None = None,
        sinfo_args: Sequence[StructInfo] | None = (),
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        _set(self, "op", op)
        _set(self, "args", tuple(as_relax(argument) for argument in args))
        _set(self, "attrs", attrs or EMPTY)
        _set(self, "sinfo_args", tuple(sinfo_args or ()))
        _set(self, "struct_info", struct_info)
        _set(self, "span", span)


@node
class If(RelaxExpr):
    """One of two values, each computed only if it is chosen."""

    cond: RelaxExpr = child()
    true_branch: RelaxExpr = child()
    false_branch: RelaxExpr = child()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)


# --- bindings -------------------------------------------------------------------------------


class Binding(Scriptable, Node):
    """Base class of what gives a variable its value."""

    __slots__ = ()
    var: Var
    value: RelaxExpr
    span: Span | None


@node
class VarBinding(Binding):
    """``var = value``."""

    var: Var = binds()
    value: RelaxExpr = child()
    span: Span | None = meta(default=None)

    __compare_first__ = ("var",)


@node
class MatchCast(Binding):
    """``var = match_cast(value, struct_info)``.

    A check when the program runs; symbolic sizes that occur here first are defined by it.
    """

    var: Var = binds()
    value: RelaxExpr = child()
    struct_info: StructInfo = child()
    span: Span | None = meta(default=None)

    __compare_first__ = ("value",)


@node
class BindingBlock(Scriptable, Node):
    """Bindings, one after the other."""

    bindings: tuple[Binding, ...] = child()
    span: Span | None = meta(default=None)


@node
class DataflowBlock(BindingBlock):
    """Bindings without effects, which may be reordered, merged and left out."""


@node
class SeqExpr(RelaxExpr):
    """The value of `body` after the blocks.

    Ordinary blocks that follow each other become one: nothing tells them apart.
    """

    blocks: tuple[BindingBlock, ...] = child()
    body: RelaxExpr = child()
    struct_info: StructInfo | None = meta(default=None)
    span: Span | None = meta(default=None)

    def __init__(
        self,
        blocks: Sequence[BindingBlock],
        body: RelaxExpr,
        struct_info: StructInfo | None = None,
        span: Span | None = None,
    ) -> None:
        _set(self, "blocks", _joined(tuple(blocks)))
        _set(self, "body", body)
        _set(self, "struct_info", struct_info)
        _set(self, "span", span)


def _joined(blocks: tuple[BindingBlock, ...]) -> tuple[BindingBlock, ...]:
    """`blocks`, of which ordinary ones that follow each other are one."""
    if not any(type(a) is type(b) is BindingBlock for a, b in pairwise(blocks)):
        return blocks
    joined: list[BindingBlock] = []
    for block in blocks:
        if joined and type(block) is type(joined[-1]) is BindingBlock:
            last = joined.pop()
            block = BindingBlock(last.bindings + block.bindings, last.span)
        joined.append(block)
    return tuple(joined)


@node
class Function(BaseFunc, RelaxExpr):
    """A graph function.

    Attributes:
        params: the parameters, whose struct info defines the symbolic sizes of the function.
        body: the result.
        ret_struct_info: what is known of the result; None before it has been inferred.
        is_pure: whether a call has no effect but its result.
        attrs: ``global_symbol`` is the exported name.
    """

    __node_name__ = "RelaxFunction"
    __compare_first__ = ("params",)

    params: tuple[Var, ...] = binds()
    body: RelaxExpr = child()
    ret_struct_info: StructInfo | None = child(default=None)
    is_pure: bool = attr(default=True)
    attrs: Attributes = attr(default=EMPTY)
    span: Span | None = meta(default=None)

    @property
    def struct_info(self) -> StructInfo | None:  # type: ignore[override]
        """The signature."""
        infos = [param.struct_info or ObjectStructInfo() for param in self.params]
        return FuncStructInfo(infos, self.ret_struct_info, self.is_pure)

    def graph(self) -> Any:
        """A picture of the function: boxes are operations, arrows the arrays between them.

        Notebooks show it; `save(path)` writes it as SVG.
        """
        from tilewright.relax.graph import draw

        return draw(self)


# --- making expressions ---------------------------------------------------------------------


def const(value: Any, dtype: str | None = None) -> Constant:
    """A constant array.

    Args:
        value: numbers, nested lists of them, a numpy array, or an `NDArray`.
        dtype: type of the elements; by default that of `value`, int32 and float32 for Python
            numbers.
    """
    if isinstance(value, NDArray) and dtype is None:
        return Constant(value)
    numbers = value.numpy() if isinstance(value, NDArray) else _numbers(value)
    if dtype is None and not isinstance(value, (np.ndarray, np.generic, NDArray)):
        dtype = {"i": "int32", "f": "float32"}.get(numbers.dtype.kind)
    if dtype is None:
        return Constant(numbers)
    target = DType(dtype)
    with np.errstate(invalid="ignore"):
        converted = numbers.astype(target.numpy)
    is_python = not isinstance(value, (np.ndarray, np.generic, NDArray))
    if is_python and target.is_integral and not target.is_bool:
        wrong = numbers[converted != numbers]
        if wrong.size:
            raise ArgumentError(f"const: {wrong[0].item()!r} is no value of {target!s}")
    return Constant(converted)


def _numbers(value: Any) -> np.ndarray:
    try:
        numbers = np.asarray(value)
    except ValueError:  # lists of different lengths
        numbers = None
    if numbers is None or (numbers.dtype.kind not in "biufV" or numbers.dtype.names):
        raise ArgumentError(
            f"const: expected numbers, or nested lists of one length, got {value!r}"
        )
    return numbers


def as_shape(value: Any) -> RelaxExpr:
    """A shape from a sequence of extents; an expression stays as it is."""
    return value if isinstance(value, RelaxExpr) else ShapeExpr(value)


def as_relax(value: Any) -> Any:
    """A Python value as an argument of a call.

    Numbers and scalar expressions become `PrimValue`, texts `StringImm`, arrays `Constant`, and
    tuples `Tuple`; expressions and names of functions stay as they are.

    Raises:
        ArgumentError: for something else.
    """
    if isinstance(value, (RelaxExpr, GlobalVar, BaseFunc)):
        return value
    if isinstance(value, DType):
        return DataTypeImm(value)
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (tuple, list)):
        return Tuple(value)
    if isinstance(value, (Expr, bool, int, float)):
        return PrimValue(value)
    if isinstance(value, (NDArray, np.ndarray, np.generic)):
        return const(value)
    given = f"the function {value.__name__}" if isfunction(value) else repr(value)
    raise ArgumentError(f"expected a graph expression, an array or a number, got {given}")
