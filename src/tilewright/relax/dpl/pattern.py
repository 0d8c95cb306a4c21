"""Patterns: what an expression of a graph may look like.

A pattern says what a value is computed by, through the variables between; a leaf such as
`wildcard()` stands for any value. The same pattern object in two places stands for the same value
in both::

    x, w = wildcard(), is_const()
    product = is_op("relax.matmul")(x, w)
    residual = is_op("relax.add")(product, x)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError
from tilewright.ir.attributes import as_attribute
from tilewright.ir.dtype import DType
from tilewright.ir.function import GlobalVar
from tilewright.ir.op import Op
from tilewright.ir.structural import structural_equal
from tilewright.relax.expr import (
    Call,
    Constant,
    DataflowVar,
    ExternFunc,
    Function,
    RelaxExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from tilewright.relax.struct_info import StructInfo, TensorStructInfo, extents_of

if TYPE_CHECKING:
    from tilewright.relax.dpl.context import PatternSeq
    from tilewright.relax.dpl.matching import Matching

COMMUTATIVE = frozenset({"relax.add", "relax.multiply", "relax.maximum", "relax.minimum"})
"""Operators whose operands a pattern may have in another order."""


class DFPattern:
    """Base class of patterns; two are the same only if they are the same object."""

    def matches(self, expr: Any, matching: Matching) -> bool:
        """Whether `expr` looks like this; what its parts stand for is noted in `matching`."""
        raise NotImplementedError

    def result(self, expr: Any, matching: Matching) -> Any:
        """What the pattern stands for, after `expr` was found to look like it."""
        return matching.value(expr)

    def match(self, expr: Any, var2val: Mapping[Var, RelaxExpr] | None = None) -> bool:
        """Whether `expr` looks like this.

        Args:
            expr: the expression.
            var2val: what variables are bound to; see `tilewright.relax.analysis.get_var2val`.
                Without it, patterns do not see through variables.
        """
        return self.extract_matched_expr(expr, var2val) is not None

    def extract_matched_expr(
        self, expr: Any, var2val: Mapping[Var, RelaxExpr] | None = None
    ) -> dict[DFPattern, Any] | None:
        """What each part of the pattern stands for; None if `expr` does not look like this."""
        from tilewright.relax.dpl.matching import Matching

        matching = Matching((var2val or {}).get)
        return dict(matching.found) if matching.match(self, expr) else None

    def __call__(self, *args: Any, varg_default_wildcard: bool = False) -> CallPattern:
        """The call of what this pattern stands for; more arguments may follow if it is said."""
        return CallPattern(self, args, varg_default_wildcard)

    def __getitem__(self, index: int) -> TupleGetItemPattern:
        return TupleGetItemPattern(self, index)

    def __or__(self, other: DFPattern) -> OrPattern:
        return OrPattern(self, other)

    def __and__(self, other: DFPattern) -> AndPattern:
        return AndPattern(self, other)

    def __invert__(self) -> NotPattern:
        return NotPattern(self)

    def has_dtype(self, dtype: str) -> AndPattern:
        """The pattern of an array of that dtype."""
        wanted = DType(dtype)
        return self.has(lambda info: isinstance(info, TensorStructInfo) and info.dtype is wanted)

    def has_shape(self, shape: Sequence[Any]) -> AndPattern:
        """The pattern of an array of that shape."""
        wanted = extents_of(shape)
        return self.has(lambda info: _has_extents(info, wanted))

    def has_struct_info(self, struct_info: StructInfo) -> AndPattern:
        """The pattern of a value with that struct info."""
        return self.has(lambda info: info is not None and structural_equal(info, struct_info))

    def has(self, condition: Callable[[StructInfo | None], bool]) -> AndPattern:
        """The pattern of a value whose struct info fulfils a condition."""
        return AndPattern(self, ConditionPattern(condition))

    def has_attr(self, attrs: Mapping[str, Any]) -> AndPattern:
        """The pattern of a call (or a function) with these attributes, and perhaps others."""
        return AndPattern(self, AttributePattern(attrs))

    def optional(self, wrap: Callable[[DFPattern], DFPattern]) -> OrPattern:
        """This pattern, or `wrap` of it: ``conv.optional(is_op("relax.nn.relu"))``."""
        return OrPattern(wrap(self), self)

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """In a `PatternContext`: `other` uses the value as argument `index`, -1 for any."""
        from tilewright.relax.dpl.context import PatternSeq

        return PatternSeq(self).used_by(other, index)

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """In a `PatternContext`: nothing but `other` uses the value."""
        from tilewright.relax.dpl.context import PatternSeq

        return PatternSeq(self).only_used_by(other, index)

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)


def _has_extents(info: StructInfo | None, wanted: tuple[Any, ...]) -> bool:
    extents = info.extents if isinstance(info, TensorStructInfo) else None
    if extents is None or len(extents) != len(wanted):
        return False
    analyzer = Analyzer()
    return all(analyzer.can_prove_equal(a, b) for a, b in zip(extents, wanted, strict=True))


class WildcardPattern(DFPattern):
    """Anything."""

    def matches(self, expr: Any, matching: Matching) -> bool:
        return True

    def result(self, expr: Any, matching: Matching) -> Any:
        return expr


class VarPattern(DFPattern):
    """A variable.

    Args:
        name: its name; empty for any.
        kind: its class.
    """

    def __init__(self, name: str = "", kind: type[Var] = Var) -> None:
        self.name, self.kind = name, kind

    def matches(self, expr: Any, matching: Matching) -> bool:
        return isinstance(expr, self.kind) and self.name in ("", expr.name_hint)

    def result(self, expr: Any, matching: Matching) -> Any:
        return expr


class ConstantPattern(DFPattern):
    """A constant array."""

    def matches(self, expr: Any, matching: Matching) -> bool:
        return isinstance(matching.value(expr), Constant)


class ExprPattern(DFPattern):
    """This very expression: an operator, a shape, a number."""

    def __init__(self, expr: Any) -> None:
        self.expr = expr

    def matches(self, expr: Any, matching: Matching) -> bool:
        if isinstance(self.expr, Op):
            return expr is self.expr
        return expr is self.expr or structural_equal(matching.value(expr), self.expr)


class FunctionNamePattern(DFPattern):
    """The name of a function of the module, or of the registry.

    Args:
        kind: `GlobalVar` or `ExternFunc`.
        name: the name; empty for any.
    """

    def __init__(self, kind: type[GlobalVar | ExternFunc], name: str = "") -> None:
        self.kind, self.name = kind, name

    def matches(self, expr: Any, matching: Matching) -> bool:
        if not isinstance(expr, self.kind):
            return False
        name = expr.name_hint if isinstance(expr, GlobalVar) else expr.global_symbol
        return self.name in ("", name)


class CallPattern(DFPattern):
    """A call.

    Args:
        op: the pattern of what is called.
        args: the patterns of the arguments; None for any.
        varg_default_wildcard: whether other arguments may follow.
    """

    def __init__(
        self, op: DFPattern, args: Sequence[Any] | None, varg_default_wildcard: bool = False
    ) -> None:
        self.op = op
        self.args = None if args is None else tuple(map(_as_pattern, args))
        self.varg_default_wildcard = varg_default_wildcard

    def matches(self, expr: Any, matching: Matching) -> bool:
        call = matching.value(expr)
        if not isinstance(call, Call) or not matching.match(self.op, call.op):
            return False
        if self.args is None:
            return True
        if len(call.args) < len(self.args) or (
            len(call.args) > len(self.args) and not self.varg_default_wildcard
        ):
            return False
        orders = [call.args]
        if len(self.args) == 2 and getattr(call.op, "name", "") in COMMUTATIVE:
            orders.append(call.args[::-1])
        return any(matching.match_all(self.args, order) for order in orders)


class TuplePattern(DFPattern):
    """A tuple of these fields, in any order if they are `unordered`."""

    def __init__(self, fields: Sequence[Any], unordered: bool = False) -> None:
        self.fields = tuple(map(_as_pattern, fields))
        self.unordered = unordered

    def matches(self, expr: Any, matching: Matching) -> bool:
        value = matching.value(expr)
        if not isinstance(value, Tuple) or len(value.fields) != len(self.fields):
            return False
        if self.unordered:
            return matching.match_any_order(self.fields, value.fields)
        return matching.match_all(self.fields, value.fields)


class TupleGetItemPattern(DFPattern):
    """Field `index` of a tuple; of any index if that is None."""

    def __init__(self, tuple_pattern: DFPattern, index: int | None = None) -> None:
        self.tuple_pattern, self.index = tuple_pattern, index

    def matches(self, expr: Any, matching: Matching) -> bool:
        value = matching.value(expr)
        return (
            isinstance(value, TupleGetItem)
            and self.index in (None, value.index)
            and matching.match(self.tuple_pattern, value.tuple_value)
        )


class OrPattern(DFPattern):
    """The first of two that fits."""

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left, self.right = left, right

    def matches(self, expr: Any, matching: Matching) -> bool:
        return matching.match(self.left, expr) or matching.match(self.right, expr)

    def result(self, expr: Any, matching: Matching) -> Any:
        return matching.found[self.left if self.left in matching.found else self.right]


class AndPattern(DFPattern):
    """Both of two."""

    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left, self.right = left, right

    def matches(self, expr: Any, matching: Matching) -> bool:
        return matching.match(self.left, expr) and matching.match(self.right, expr)

    def result(self, expr: Any, matching: Matching) -> Any:
        return matching.found[self.left]


class NotPattern(DFPattern):
    """Anything but this."""

    def __init__(self, reject: DFPattern) -> None:
        self.reject = reject

    def matches(self, expr: Any, matching: Matching) -> bool:
        return not matching.would_match(self.reject, expr)

    def result(self, expr: Any, matching: Matching) -> Any:
        return expr


class ConditionPattern(DFPattern):
    """A value whose struct info fulfils a condition."""

    def __init__(self, condition: Callable[[StructInfo | None], bool]) -> None:
        self.condition = condition

    def matches(self, expr: Any, matching: Matching) -> bool:
        return self.condition(getattr(expr, "struct_info", None))


class AttributePattern(DFPattern):
    """A call or a function with these attributes, and perhaps others."""

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        self.attrs = {name: as_attribute(value) for name, value in attrs.items()}

    def matches(self, expr: Any, matching: Matching) -> bool:
        value = matching.value(expr)
        return isinstance(value, (Call, Function)) and all(
            name in value.attrs and structural_equal(as_attribute(value.attrs[name]), wanted)
            for name, wanted in self.attrs.items()
        )


def _as_pattern(value: Any) -> DFPattern:
    if isinstance(value, DFPattern):
        return value
    if isinstance(value, (tuple, list)):
        return TuplePattern(value)
    if isinstance(value, (RelaxExpr, Op)):
        return ExprPattern(value)
    raise ArgumentError(f"expected a pattern, got {value!r}")


# --- what users write ------------------------------------------------------------------------


def wildcard() -> WildcardPattern:
    """Anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """A variable, of that name if one is given."""
    return VarPattern(name)


def is_dfv(name: str = "") -> VarPattern:
    """A variable of a dataflow block."""
    return VarPattern(name, DataflowVar)


def is_gv(name: str = "") -> FunctionNamePattern:
    """The name of a function of the module."""
    return FunctionNamePattern(GlobalVar, name)


def is_const() -> ConstantPattern:
    """A constant array."""
    return ConstantPattern()


def is_expr(expr: Any) -> ExprPattern:
    """This very expression, or an equal one."""
    return ExprPattern(expr)


def is_shape(shape: Sequence[Any]) -> ExprPattern:
    """This shape as a value."""
    return ExprPattern(ShapeExpr(shape))


def is_op(op_name: str) -> ExprPattern:
    """The operator of that name, such as ``"relax.matmul"``.

    Raises:
        UnknownNameError: if there is none.
    """
    return ExprPattern(Op.get(op_name))


def is_tuple(fields: Sequence[Any], unordered: bool = False) -> TuplePattern:
    """A tuple of these fields."""
    return TuplePattern(fields, unordered)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """A field of a tuple."""
    return TupleGetItemPattern(tuple_value, index)


def is_call_tir(func_name: str, args: Sequence[Any] | None = None) -> CallPattern:
    """The call of the tensor program of that name in the module."""
    return _kernel_call("relax.call_tir", is_gv(func_name), args)


def is_call_dps_packed(func_name: str, args: Sequence[Any] | None = None) -> CallPattern:
    """The call of the registered function of that name, which writes its results."""
    return _kernel_call("relax.call_dps_packed", FunctionNamePattern(ExternFunc, func_name), args)


def _kernel_call(op_name: str, callee: DFPattern, args: Sequence[Any] | None) -> CallPattern:
    operands = wildcard() if args is None else TuplePattern(args)
    return CallPattern(is_op(op_name), [callee, operands], varg_default_wildcard=True)


def is_call_packed(func_name: str, args: Sequence[Any] | None = None) -> CallPattern:
    """The call of the registered function of that name."""
    return CallPattern(FunctionNamePattern(ExternFunc, func_name), args)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> DFPattern:
    """A call or a function with these attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DFPattern:
    """An array of that dtype."""
    return (pattern or wildcard()).has_dtype(dtype)


def has_shape(shape: Sequence[Any], pattern: DFPattern | None = None) -> DFPattern:
    """An array of that shape."""
    return (pattern or wildcard()).has_shape(shape)
