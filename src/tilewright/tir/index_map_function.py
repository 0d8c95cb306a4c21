"""Making index maps from Python functions, and evaluating them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tilewright.error import ArgumentError, ArgumentValueError, DTypeError
from tilewright.ir.convert import as_expr, cast
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    Add,
    And,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Select,
    Sub,
    Var,
    values_unknown,
)
from tilewright.ir.folding import COMPARISONS, INTEGER_OPERATIONS
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.index_map import IndexMap
from tilewright.tir.substitute import substitute


def map_of_function(
    function: Callable[..., Any],
    ndim: int | None,
    inverse: Callable[..., Any] | IndexMap | None,
    index_dtype: Any,
) -> tuple[IndexMap, list[int]]:
    """See `IndexMap.from_func_with_separators`."""
    if not callable(function):
        raise ArgumentError(f"IndexMap.from_func expects a function, got {function!r}")
    variables, keywords = _parameters(function, ndim, index_dtype)
    initial = (*variables, *keywords.values())
    with values_unknown(initial):
        result = function(*variables, **keywords)
    common = initial[0].dtype if initial else DType("int32")
    final: list[Expr] = []
    separators: list[int] = []
    for item in result if isinstance(result, (list, tuple)) else [result]:
        if isinstance(item, str) and item == IndexMap.AXIS_SEPARATOR:
            separators.append(len(final))
        else:
            final.append(_index(item, common))
    if inverse is not None:
        if not isinstance(inverse, IndexMap):
            dtypes = [index.dtype for index in final]
            inverse = IndexMap.from_func(inverse, len(final), index_dtype=dtypes)
        _check_inverse(inverse, len(initial), len(final))
    return IndexMap(initial, tuple(final), inverse), separators


def _check_inverse(inverse: IndexMap, initial: int, final: int) -> None:
    takes, gives = len(inverse.initial_indices), len(inverse.final_indices)
    if (takes, gives) != (final, initial):
        raise ArgumentValueError(
            f"IndexMap: the map takes {initial} indices and gives {final}, "
            f"so it cannot be inverted by one that takes {takes} and gives {gives}"
        )


def _index(value: Any, dtype: DType) -> Expr:
    try:
        index = as_expr(value, dtype if isinstance(value, int) else None)
    except DTypeError:
        index = None
    if index is None or not index.dtype.is_scalar_integer:
        raise ArgumentError(
            f"IndexMap.from_func: the function returns integer expressions, got {value!r}"
        )
    return index


def _parameters(
    function: Callable[..., Any], ndim: int | None, index_dtype: Any
) -> tuple[list[Var], dict[str, Var]]:
    """A variable for each parameter: positional ones, and keyword-only ones by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        raise ArgumentError(f"IndexMap.from_func: {function!r} has no signature") from None
    names: list[str] = []
    keywords: list[str] = []
    rest: str | None = None
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            raise ArgumentError("IndexMap.from_func: the function may not take **kwargs")
        if parameter.kind is parameter.VAR_POSITIONAL:
            rest = parameter.name
        else:
            chosen = keywords if parameter.kind is parameter.KEYWORD_ONLY else names
            chosen.append(parameter.name)
    fixed = len(names) + len(keywords)
    if rest is not None:
        if ndim is None or ndim < fixed:
            raise ArgumentError(
                f"IndexMap.from_func: the function takes *{rest}, so it needs ndim of at least "
                f"{fixed}, the number of indices"
            )
        names += [f"{rest}_{position}" for position in range(ndim - fixed)]
    elif ndim is not None and ndim != fixed:
        raise ArgumentError(f"IndexMap.from_func: a function of {fixed} indices for ndim={ndim}")
    dtypes = _index_dtypes(index_dtype, len(names) + len(keywords))
    made = [Var(name, dtype) for name, dtype in zip(names + keywords, dtypes, strict=True)]
    return made[: len(names)], dict(zip(keywords, made[len(names) :], strict=True))


def _index_dtypes(index_dtype: Any, count: int) -> list[DType]:
    given = index_dtype if isinstance(index_dtype, (list, tuple)) else [index_dtype] * count
    dtypes = [DType(dtype) for dtype in given]
    if len(dtypes) != count:
        raise ArgumentError(f"IndexMap.from_func: {len(dtypes)} dtypes for {count} indices")
    for dtype in dtypes:
        if not dtype.is_scalar_integer:
            raise DTypeError(f"IndexMap.from_func: {dtype!s} is not an integer type")
    return dtypes


# --- another dtype --------------------------------------------------------------------------


def with_dtype(index_map: IndexMap, dtype: DType) -> IndexMap:
    """See `IndexMap.with_index_dtype`."""
    old = index_map.initial_indices
    if all(item.dtype is dtype for item in (*old, *index_map.final_indices)):
        return index_map
    new = {var: Var(var.name, dtype) for var in old}
    final = tuple(_converted(index_map, index, new, dtype) for index in index_map.final_indices)
    way_back = index_map.inverse_index_map
    if way_back is not None:
        way_back = with_dtype(way_back, dtype)
    return IndexMap(tuple(new.values()), final, way_back)


def _converted(index_map: IndexMap, expr: Any, variables: Mapping[Var, Var], dtype: DType) -> Expr:
    """`expr` computed in `dtype`, with other variables."""

    def convert(node: Any) -> Any:
        if isinstance(node, Var):
            return variables[node] if node in variables else cast(dtype, node)
        if isinstance(node, IntImm):
            if not node.dtype.is_bool and not dtype.min_int <= node.value <= dtype.max_int:
                raise ArgumentValueError(
                    f"the index map {index_map!r} has the number {node.value}, and the indices are "
                    f"{dtype!s}, which does not hold it"
                )
            return node if node.dtype.is_bool else cast(dtype, node)
        if isinstance(node, Cast) and node.dtype.is_integral and node.value.dtype.is_integral:
            return convert(node.value)
        if isinstance(node, (Call, BufferLoad)):
            # These state their dtype themselves, so they keep it.
            kept = {var: cast(var.dtype, new) for var, new in variables.items()}
            value = substitute(node, kept)
            return cast(dtype, value) if value.dtype.is_integral else value
        return node.map_children(convert)

    return cast(dtype, convert(expr))


# --- arrays ---------------------------------------------------------------------------------

_NUMPY: Final[Mapping[type, Callable[..., Any]]] = {
    **{kind: INTEGER_OPERATIONS[kind] for kind in (Add, Sub, Mul, FloorDiv, FloorMod)},
    **COMPARISONS,
    Min: np.minimum, Max: np.maximum,
    And: np.logical_and, Or: np.logical_or, Not: np.logical_not, Select: np.where,
}  # fmt: skip
"""What computes a node for many values at once, given its children."""


def moved_elements(index_map: IndexMap, source: np.ndarray) -> np.ndarray:
    """See `IndexMap.map_ndarray`."""
    shape = index_map.map_shape(source.shape)
    extents = tuple(extent.value for extent in shape if isinstance(extent, IntImm))
    if len(extents) < len(shape):
        raise ArgumentValueError(f"{index_map!r}: the shape {shape!r} is not constant")
    grids = np.indices(source.shape, sparse=True)
    places = dict(zip(index_map.initial_indices, grids, strict=True))
    indices = [_evaluate(index, places) for index in index_map.final_indices]
    chosen = tuple(np.broadcast_to(index, source.shape) for index in indices)
    target, taken = np.zeros(extents, source.dtype), np.zeros(extents, bool)
    target[chosen], taken[chosen] = source, True
    if np.count_nonzero(taken) < source.size:
        raise ArgumentValueError(f"{index_map!r} maps several elements to the same place")
    return target


def _evaluate(expr: Any, places: Mapping[Var, np.ndarray]) -> Any:
    if expr.__class__ is IntImm:
        return expr.value
    if expr in places:
        return places[expr]
    if isinstance(expr, Cast):
        return np.asarray(_evaluate(expr.value, places), expr.dtype.numpy)
    compute = _NUMPY.get(expr.__class__)
    if compute is None:
        raise ArgumentValueError(f"IndexMap.map_ndarray cannot evaluate {expr!r}")
    return compute(*(_evaluate(operand, places) for operand in expr.children()))
