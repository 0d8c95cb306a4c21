"""Matching of declared and actual values: symbolic sizes get their numbers, the rest is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.arith import Analyzer
from tilewright.error import LoweringError, ShapeError
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import INT64
from tilewright.ir.expr import Expr, Var
from tilewright.relax.sizes import size_text
from tilewright.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tilewright.relax.vm.steps import (
    ArrayValue,
    CheckStep,
    NotCompilableError,
    ShapeValue,
    TupleValue,
    Value,
)
from tilewright.tir.substitute import substitute, variables_of


class SizeMatch:
    """Collects the values of symbolic sizes from pairs of declared and actual sizes.

    Attributes:
        values: the value of each symbolic size, in its own dtype.
        checks: what has to hold for the sizes that fit only for some inputs.
    """

    def __init__(self, analyzer: Analyzer, kind: str = "ValueError") -> None:
        self.values: dict[Var, Expr] = {}
        self.checks: list[CheckStep] = []
        self._analyzer = analyzer
        self._kind = kind
        self._later: list[Callable[[], None]] = []

    def match(self, declared: Expr, actual: Expr, what: str) -> None:
        """A size is declared as one expression, and another one in this call.

        Args:
            declared: an expression of the symbolic sizes.
            actual: an int64 expression of what the caller knows.
            what: the size in messages.

        Raises:
            ShapeError: if they are never equal.
        """
        if isinstance(declared, Var) and declared not in self.values:
            self._define(declared, actual, what)
        else:
            self._later.append(lambda: self._compare(declared, actual, what))

    def finish(self) -> None:
        """Compare the sizes that define no variable."""
        for compare in self._later:
            compare()
        self._later = []

    def value_of(self, size: Var, what: str) -> Expr:
        """The value of a symbolic size.

        Raises:
            ShapeError: if no array gives it.
        """
        if size not in self.values:
            raise ShapeError(f"{what}: no argument gives the value of {size.name}")
        return self.values[size]

    def _define(self, size: Var, actual: Expr, what: str) -> None:
        self.values[size] = cast(size.dtype, actual)
        if size.dtype.bits >= 64:
            return
        least, most = const(size.dtype.min_int, INT64), const(size.dtype.max_int, INT64)
        fits = logical_and(actual >= least, actual <= most)
        if not self._analyzer.can_prove(fits):
            message = f"{what} is %lld, no value of {size.name}, an {size.dtype!s}"
            self.checks.append(CheckStep(fits, self._kind, _escaped(message), (actual,)))

    def _compare(self, declared: Expr, actual: Expr, what: str) -> None:
        for size in variables_of(declared):
            self.value_of(size, what)
        expected = self._analyzer.simplify(cast(INT64, substitute(declared, self.values)))
        if self._analyzer.can_prove_equal(expected, actual):
            return
        if self._analyzer.can_prove(expected != actual):
            raise ShapeError(f"{what} is {size_text(actual)}, expected {size_text(expected)}")
        message = f"{_escaped(what)} is %lld, expected %lld"
        if variables_of(declared):
            message += f" ({_escaped(size_text(declared))})"
        condition = expected.equal(actual)
        self.checks.append(CheckStep(condition, self._kind, message, (actual, expected)))


def match_shapes(
    match: SizeMatch, declared: Sequence[Expr], actual: Sequence[Expr], what: str
) -> None:
    """Match the extents of an array.

    Raises:
        ShapeError: if the ranks differ, or an extent never fits.
    """
    if len(declared) != len(actual):
        raise ShapeError(f"{what} has {len(actual)} dimensions, expected {len(declared)}")
    for axis, (expected, extent) in enumerate(zip(declared, actual, strict=True)):
        match.match(expected, extent, f"{what}: shape[{axis}]")


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def match_info(match: SizeMatch, value: Value, info: StructInfo, what: str) -> None:
    """Match a value with struct info.

    Raises:
        LoweringError: if it never fits.
    """
    if isinstance(info, TensorStructInfo) and isinstance(value, ArrayValue):
        require(info.dtype in (None, value.dtype), what, f"dtype {info.dtype}", value.dtype)
        if info.extents is not None:
            match_shapes(match, info.extents, value.extents, what)
        else:
            known = info.ndim in (-1, len(value.extents))
            require(known, what, f"ndim {info.ndim}", len(value.extents))
    elif isinstance(info, ShapeStructInfo) and isinstance(value, ShapeValue):
        if info.values is not None:
            match_shapes(match, info.values, value.extents, what)
        else:
            known = info.ndim in (-1, len(value.extents))
            require(known, what, f"ndim {info.ndim}", len(value.extents))
    elif isinstance(info, TupleStructInfo) and isinstance(value, TupleValue):
        require(
            len(info.fields) == len(value.fields), what, f"{len(info.fields)} fields",
            len(value.fields),
        )  # fmt: skip
        for field, part in zip(value.fields, info.fields, strict=True):
            match_info(match, field, part, what)
    elif isinstance(info, PrimStructInfo) and isinstance(value, Expr):
        if info.value is not None:
            match.match(cast(INT64, info.value), cast(INT64, value), what)
    else:
        raise NotCompilableError(f"{what} changes the kind of a value")


def require(holds: bool, what: str, expected: str, actual: object) -> None:
    """Raise an error of the program unless something holds."""
    if not holds:
        raise LoweringError(f"{what}: expected {expected}, the value has {actual}")


def without_shape(info: TensorStructInfo) -> TensorStructInfo:
    """The rank and the dtype of an array alone."""
    return TensorStructInfo(None, info.dtype, ndim=info.ndim)
