"""Patterns: what an expression of a graph may look like, and how patterns are combined.

A pattern says what a value is computed by, through the variables between; a leaf such as
`wildcard()` stands for any value. The same pattern object in two places stands for the same value
in both::

    x, w = wildcard(), is_const()
    product = is_op("relax.matmul")(x, w)
    residual = is_op("relax.add")(product, x)
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.arith import Analyzer
from tilewright.error import ArgumentError
from tilewright.ir.convert import as_attribute
from tilewright.ir.dtype import DType
from tilewright.ir.op import Op
from tilewright.ir.structural import structural_equal
from tilewright.relax.dpl.matching import Found, Matching
from tilewright.relax.expr import Call, Function, RelaxExpr, Tuple, TupleGetItem, Var
from tilewright.relax.struct_info import StructInfo, TensorStructInfo, extents_of
from tilewright.relax.struct_info_relation import is_base_of

if TYPE_CHECKING:
    from tilewright.relax.dpl.context import PatternSeq

COMMUTATIVE = frozenset({"relax.add", "relax.multiply", "relax.maximum", "relax.minimum"})
"""Operators whose operands a pattern may have in another order."""


class DFPattern:
    """Base class of patterns; two are the same only if they are the same object."""

    __iter__ = None  # indexing makes patterns, without end

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        """What this stands for, for each way in which `expr` looks like it.

        While a way is looked at, `matching` has what the parts stand for in it.
        """
        raise NotImplementedError

    def parts(self) -> Mapping[str, Any]:
        """The patterns that this one is made of, one or several by the name of the attribute."""
        return {}

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
    ) -> Found | None:
        """What each part of the pattern stands for; None if `expr` does not look like this."""
        return Matching((var2val or {}).get).match(self, expr)

    def dup(self) -> DFPattern:
        """A copy of the pattern, whose parts stand for other values than those of this one."""
        return duplicated(self, {})

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
        return self.has(lambda info: _same_extents(_extents(info), wanted))

    def has_same_shape_as(self, other: DFPattern) -> AndPattern:
        """The pattern of an array of the shape that `other`, a part of the same match, has."""
        return AndPattern(self, SameShapePattern(other))

    def has_struct_info(self, struct_info: StructInfo) -> AndPattern:
        """The pattern of a value that has that struct info, whatever else is known of it."""
        return self.has(lambda info: info is not None and is_base_of(struct_info, info))

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


def duplicated(pattern: DFPattern, known: dict[DFPattern, DFPattern]) -> DFPattern:
    """A copy of a pattern and its parts; one that occurs twice, or in `known`, has one copy."""
    if pattern not in known:
        known[pattern] = result = copy.copy(pattern)
        for name, value in pattern.parts().items():
            if isinstance(value, DFPattern):
                setattr(result, name, duplicated(value, known))
            elif value is not None:
                setattr(result, name, tuple(duplicated(part, known) for part in value))
    return known[pattern]


# --- what looks into a value -----------------------------------------------------------------


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
        self.op = as_pattern(op)
        self.args = None if args is None else tuple(map(as_pattern, args))
        self.varg_default_wildcard = varg_default_wildcard

    def parts(self) -> Mapping[str, Any]:
        return {"op": self.op, "args": self.args}

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        call = matching.value(expr)
        if not isinstance(call, Call) or not self._has_as_many_arguments(call):
            return
        for _ in matching.ways(self.op, call.op):
            if self.args is None:
                yield call
                continue
            for order in self._orders(call):
                for _ in matching.ways_of_all(self.args, order):
                    yield call

    def _has_as_many_arguments(self, call: Call) -> bool:
        more = 0 if self.args is None else len(call.args) - len(self.args)
        return self.args is None or more == 0 or (more > 0 and self.varg_default_wildcard)

    def _orders(self, call: Call) -> list[tuple[Any, ...]]:
        if len(call.args) == 2 and getattr(call.op, "name", "") in COMMUTATIVE:
            return [call.args, call.args[::-1]]
        return [call.args]


class TuplePattern(DFPattern):
    """A tuple of these fields, in any order if they are `unordered`."""

    def __init__(self, fields: Sequence[Any], unordered: bool = False) -> None:
        self.fields = tuple(map(as_pattern, fields))
        self.unordered = unordered

    def parts(self) -> Mapping[str, Any]:
        return {"fields": self.fields}

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        value = matching.value(expr)
        if not isinstance(value, Tuple) or len(value.fields) != len(self.fields):
            return
        order = matching.ways_in_any_order if self.unordered else matching.ways_of_all
        for _ in order(self.fields, value.fields):
            yield value


class TupleGetItemPattern(DFPattern):
    """Field `index` of a tuple; of any index if that is None."""

    def __init__(self, tuple_pattern: DFPattern, index: int | None = None) -> None:
        self.tuple_pattern, self.index = as_pattern(tuple_pattern), index

    def parts(self) -> Mapping[str, Any]:
        return {"tuple_pattern": self.tuple_pattern}

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        value = matching.value(expr)
        if isinstance(value, TupleGetItem) and self.index in (None, value.index):
            for _ in matching.ways(self.tuple_pattern, value.tuple_value):
                yield value


class ExprPattern(DFPattern):
    """This very expression, or an equal one: an operator, a shape, a number."""

    def __init__(self, expr: Any) -> None:
        self.expr = expr

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        value = matching.value(expr)
        if self.expr is expr or self.expr is value or self._is_equal(value):
            yield value

    def _is_equal(self, value: Any) -> bool:
        return not isinstance(self.expr, Op) and structural_equal(value, self.expr)


def as_pattern(value: Any) -> DFPattern:
    """The pattern that a user means by a pattern, a tuple of patterns, or an expression."""
    if isinstance(value, DFPattern):
        return value
    if isinstance(value, (tuple, list)):
        return TuplePattern(value)
    if isinstance(value, (RelaxExpr, Op)):
        return ExprPattern(value)
    raise ArgumentError(f"expected a pattern, got {value!r}")


# --- combinations ----------------------------------------------------------------------------


class _PairPattern(DFPattern):
    def __init__(self, left: DFPattern, right: DFPattern) -> None:
        self.left, self.right = as_pattern(left), as_pattern(right)

    def parts(self) -> Mapping[str, Any]:
        return {"left": self.left, "right": self.right}


class OrPattern(_PairPattern):
    """One of two; the first one, if both fit."""

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        yield from matching.ways(self.left, expr)
        yield from matching.ways(self.right, expr)


class AndPattern(_PairPattern):
    """Both of two; it stands for what the first one stands for."""

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        for found in matching.ways(self.left, expr):
            for _ in matching.ways(self.right, expr):
                yield found


class NotPattern(DFPattern):
    """Anything but this."""

    def __init__(self, reject: DFPattern) -> None:
        self.reject = as_pattern(reject)

    def parts(self) -> Mapping[str, Any]:
        return {"reject": self.reject}

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        if not matching.would_match(self.reject, expr):
            yield expr


# --- conditions ------------------------------------------------------------------------------


class ConditionPattern(DFPattern):
    """A value whose struct info fulfils a condition."""

    def __init__(self, condition: Callable[[StructInfo | None], bool]) -> None:
        self.condition = condition

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        if self.condition(getattr(expr, "struct_info", None)):
            yield expr


class SameShapePattern(DFPattern):
    """An array of the shape of another one, which may be found later."""

    def __init__(self, other: DFPattern) -> None:
        self.other = as_pattern(other)

    def parts(self) -> Mapping[str, Any]:
        return {"other": self.other}

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        with matching.asking(lambda found: self._fits(expr, found.get(self.other))):
            yield expr

    @staticmethod
    def _fits(expr: Any, other: Any) -> bool:
        wanted = _extents(getattr(other, "struct_info", None))
        extents = _extents(getattr(expr, "struct_info", None))
        return wanted is not None and _same_extents(extents, wanted)


class AttributePattern(DFPattern):
    """A call or a function with these attributes, and perhaps others."""

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        self.attrs = {name: as_attribute(value) for name, value in attrs.items()}

    def ways(self, expr: Any, matching: Matching) -> Iterator[Any]:
        value = matching.value(expr)
        if isinstance(value, (Call, Function)) and all(
            name in value.attrs and structural_equal(as_attribute(value.attrs[name]), wanted)
            for name, wanted in self.attrs.items()
        ):
            yield expr


def _extents(info: StructInfo | None) -> tuple[Any, ...] | None:
    return info.extents if isinstance(info, TensorStructInfo) else None


def _same_extents(extents: tuple[Any, ...] | None, wanted: tuple[Any, ...]) -> bool:
    if extents is None or len(extents) != len(wanted):
        return False
    analyzer = Analyzer()
    return all(analyzer.can_prove_equal(a, b) for a, b in zip(extents, wanted, strict=True))
