"""How two pieces of struct info relate, and what remains of one outside of its scope."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.arith import Analyzer
from tilewright.ir.expr import Expr, Var
from tilewright.ir.structural import structural_equal
from tilewright.relax.expr import RelaxExpr, ShapeExpr
from tilewright.relax.expr import Var as GraphVar
from tilewright.relax.sizes import solve_sizes, substitute_sizes, symbolic_vars_of
from tilewright.relax.struct_info import (
    UNKNOWN_NDIM,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)


class BaseCheckResult(enum.IntEnum):
    """Whether a value of one struct info may be used where another is asked for."""

    FAIL_L0 = 0
    """Never: the kinds, dtypes, ranks or extents differ for certain."""
    FAIL_L1 = 1
    """Perhaps: less is known than is asked for, which a check at run time can decide."""
    FAIL_L2 = 2
    """Perhaps: the extents cannot be proved equal."""
    PASS = 3
    """Always."""


_FAIL, _LESS_KNOWN, _UNPROVED, _PASS = BaseCheckResult


def struct_info_base_check(
    base: StructInfo, derived: StructInfo, analyzer: Analyzer | None = None
) -> BaseCheckResult:
    """Whether a value with the struct info `derived` always has `base`."""
    return _Check(analyzer or Analyzer()).check(base, derived)


def is_base_of(base: StructInfo, derived: StructInfo, analyzer: Analyzer | None = None) -> bool:
    """Whether every value with the struct info `derived` has `base`."""
    return struct_info_base_check(base, derived, analyzer) is BaseCheckResult.PASS


class _Check:
    """The comparison of two pieces of struct info; the weakest part decides."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def check(self, base: StructInfo, derived: StructInfo) -> BaseCheckResult:
        if base is derived or isinstance(base, ObjectStructInfo):
            return _PASS
        if isinstance(derived, ObjectStructInfo):
            return _LESS_KNOWN
        if type(base) is not type(derived):
            return _FAIL
        compare: Callable[[Any, Any], BaseCheckResult] = {
            TensorStructInfo: self.tensor,
            ShapeStructInfo: self.shape,
            TupleStructInfo: self.tuple,
            FuncStructInfo: self.function,
            PrimStructInfo: self.scalar,
        }[type(base)]
        return compare(base, derived)

    def tensor(self, base: TensorStructInfo, derived: TensorStructInfo) -> BaseCheckResult:
        results = [self.rank(base.ndim, derived.ndim)]
        if base.dtype is not None and base.dtype is not derived.dtype:
            results.append(_LESS_KNOWN if derived.dtype is None else _FAIL)
        if base.vdevice is not None and not structural_equal(base.vdevice, derived.vdevice):
            results.append(_LESS_KNOWN if derived.vdevice is None else _FAIL)
        if min(results) is not _FAIL and base.shape is not None and base.shape is not derived.shape:
            results.append(self.extents(base.extents, derived.extents))
        return min(results)

    def shape(self, base: ShapeStructInfo, derived: ShapeStructInfo) -> BaseCheckResult:
        ranks = self.rank(base.ndim, derived.ndim)
        if ranks is _FAIL or base.values is None:
            return ranks
        return min(ranks, self.extents(base.values, derived.values))

    def rank(self, base: int, derived: int) -> BaseCheckResult:
        if base in (UNKNOWN_NDIM, derived):
            return _PASS
        return _LESS_KNOWN if derived == UNKNOWN_NDIM else _FAIL

    def extents(
        self, base: tuple[Expr, ...] | None, derived: tuple[Expr, ...] | None
    ) -> BaseCheckResult:
        if base is None or derived is None:
            return _LESS_KNOWN
        return min(map(self.equal, base, derived), default=_PASS)

    def scalar(self, base: PrimStructInfo, derived: PrimStructInfo) -> BaseCheckResult:
        if base.dtype is not derived.dtype:
            return _FAIL
        if base.value is None:
            return _PASS
        return _LESS_KNOWN if derived.value is None else self.equal(base.value, derived.value)

    def equal(self, a: Expr, b: Expr) -> BaseCheckResult:
        if self.analyzer.can_prove_equal(a, b):
            return _PASS
        return _FAIL if self.analyzer.can_prove(a != b) else _UNPROVED

    def tuple(self, base: TupleStructInfo, derived: TupleStructInfo) -> BaseCheckResult:
        if len(base.fields) != len(derived.fields):
            return _FAIL
        return min(map(self.check, base.fields, derived.fields), default=_PASS)

    def function(self, base: FuncStructInfo, derived: FuncStructInfo) -> BaseCheckResult:
        if base.purity and not derived.purity:
            return _FAIL
        if base.params is None:
            derives = base.derive_func in (None, derived.derive_func)
            result = self.check(base.ret, without_own_sizes(derived))
            return result if derives else min(result, _LESS_KNOWN)
        if derived.params is None:
            return min(self.check(base.ret, derived.ret), _LESS_KNOWN)
        if len(base.params) != len(derived.params):
            return _FAIL
        # A function may be used where one is asked for that takes less.
        params, ret = instantiated(derived, base.params, self.analyzer)
        return min([self.check(base.ret, ret), *map(self.check, params, base.params)])


def struct_info_lca(
    lhs: StructInfo, rhs: StructInfo, analyzer: Analyzer | None = None
) -> StructInfo:
    """The most that is true both of values with the struct info `lhs` and of those with `rhs`."""
    known = analyzer or Analyzer()
    if is_base_of(lhs, rhs, known):
        return lhs
    if is_base_of(rhs, lhs, known):
        return rhs
    if type(lhs) is not type(rhs):
        return ObjectStructInfo()
    if isinstance(lhs, TensorStructInfo):
        return _common_tensor(lhs, rhs, known)
    if isinstance(lhs, ShapeStructInfo):
        return ShapeStructInfo(ndim=lhs.ndim if lhs.ndim == rhs.ndim else UNKNOWN_NDIM)  # type: ignore[attr-defined]
    if isinstance(lhs, TupleStructInfo) and len(lhs.fields) == len(rhs.fields):  # type: ignore[attr-defined]
        pairs = zip(lhs.fields, rhs.fields, strict=True)  # type: ignore[attr-defined]
        return TupleStructInfo([struct_info_lca(a, b, known) for a, b in pairs])
    if isinstance(lhs, PrimStructInfo) and lhs.dtype is rhs.dtype:  # type: ignore[attr-defined]
        return PrimStructInfo(lhs.dtype)
    if isinstance(lhs, FuncStructInfo):
        return _common_function(lhs, rhs, known)
    return ObjectStructInfo()


def _common_tensor(lhs: TensorStructInfo, rhs: Any, analyzer: Analyzer) -> TensorStructInfo:
    dtype = lhs.dtype if lhs.dtype is rhs.dtype else None
    vdevice = lhs.vdevice if structural_equal(lhs.vdevice, rhs.vdevice) else None
    a, b = lhs.extents, rhs.extents
    if a is not None and b is not None and len(a) == len(b):
        if all(map(analyzer.can_prove_equal, a, b)):
            return TensorStructInfo(lhs.shape, dtype, vdevice)
    elif lhs.shape is not None and lhs.shape is rhs.shape:
        return TensorStructInfo(lhs.shape, dtype, vdevice)
    return TensorStructInfo(
        None, dtype, vdevice, lhs.ndim if lhs.ndim == rhs.ndim else UNKNOWN_NDIM
    )


def _common_function(lhs: FuncStructInfo, rhs: Any, analyzer: Analyzer) -> StructInfo:
    purity = lhs.purity and rhs.purity
    if lhs.params is not None and rhs.params is not None and len(lhs.params) == len(rhs.params):
        params, ret = instantiated(rhs, lhs.params, analyzer)
        same = all(
            is_base_of(a, b, analyzer) and is_base_of(b, a, analyzer)
            for a, b in zip(lhs.params, params, strict=True)
        )
        if same:
            return FuncStructInfo(lhs.params, struct_info_lca(lhs.ret, ret, analyzer), purity)
    results = without_own_sizes(lhs), without_own_sizes(rhs)
    return FuncStructInfo(None, struct_info_lca(*results, analyzer), purity)


def own_sizes_of(signature: FuncStructInfo) -> set[Var]:
    """The symbolic sizes that each call of a function gives values to."""
    return {var for param in signature.params or () for var in symbolic_vars_of(param)}


def without_own_sizes(signature: FuncStructInfo) -> StructInfo:
    """What a function returns, whatever it is called with."""
    own = own_sizes_of(signature)
    return erase_to_well_defined(signature.ret, lambda var: var not in own, lambda var: True)


def instantiated(
    signature: FuncStructInfo, arguments: Sequence[StructInfo], analyzer: Analyzer
) -> tuple[list[StructInfo], StructInfo]:
    """What a function takes and returns if it is called with some arguments.

    Sizes of its own are solved from these; where one cannot be, the result tells the rank only.
    """
    assert signature.params is not None
    own = own_sizes_of(signature)
    sizes = solve_sizes(signature.params, arguments, analyzer)
    ret = erase_to_well_defined(signature.ret, lambda var: var in sizes or var not in own)
    params = [substitute_sizes(param, sizes, analyzer) for param in signature.params]
    return params, substitute_sizes(ret, sizes, analyzer)


def erase_to_well_defined(
    info: StructInfo,
    is_defined: Callable[[Var], bool],
    is_bound: Callable[[GraphVar], bool] = lambda var: False,
) -> StructInfo:
    """What remains of struct info where some symbolic sizes and graph variables mean nothing.

    Args:
        info: what is known inside of a scope.
        is_defined: whether a symbolic size is defined outside of it.
        is_bound: whether a graph variable, which a shape may be, is bound outside of it.
    """

    def known(expr: Expr) -> bool:
        return all(map(is_defined, symbolic_vars_of(expr)))

    def erase(info: StructInfo) -> StructInfo:
        if isinstance(info, TensorStructInfo):
            if info.shape is None or _shape_is_known(info.shape, known, is_bound):
                return info
            return TensorStructInfo(None, info.dtype, info.vdevice, info.ndim, info.span)
        if isinstance(info, ShapeStructInfo):
            if info.values is None or all(map(known, info.values)):
                return info
            return ShapeStructInfo(ndim=info.ndim, span=info.span)
        if isinstance(info, PrimStructInfo):
            if info.value is None or known(info.value):
                return info
            return PrimStructInfo(info.dtype, span=info.span)
        if isinstance(info, FuncStructInfo):
            own = {var for param in info.params or () for var in symbolic_vars_of(param)}
            ret = erase_to_well_defined(
                info.ret, lambda var: var in own or is_defined(var), is_bound
            )
            return info if ret is info.ret else info.replace(ret=ret)
        return info.map_children(erase)

    return erase(info)


def _shape_is_known(
    shape: RelaxExpr, known: Callable[[Expr], bool], is_bound: Callable[[GraphVar], bool]
) -> bool:
    if isinstance(shape, ShapeExpr):
        return all(map(known, shape.values))
    return isinstance(shape, GraphVar) and is_bound(shape)


def get_static_type(info: StructInfo) -> StructInfo:
    """What struct info says of kinds, dtypes and ranks: without extents and values."""
    if isinstance(info, TensorStructInfo):
        return TensorStructInfo(None, info.dtype, None, info.ndim)
    if isinstance(info, ShapeStructInfo):
        return ShapeStructInfo(ndim=info.ndim)
    if isinstance(info, PrimStructInfo):
        return PrimStructInfo(info.dtype)
    return info.map_children(get_static_type)
