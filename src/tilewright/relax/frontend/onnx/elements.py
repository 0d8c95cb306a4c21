"""Small arrays of numbers that are computed while a model is converted.

Models compute shapes by operators on arrays: the shape of an array, some elements of it, and a new
shape of these. Here such elements are numbers and expressions of symbolic sizes, so that extents
stay known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.ir import arithmetic
from tilewright.ir.dtype import DType
from tilewright.ir.expr import Expr, IntImm
from tilewright.relax.frontend.onnx.tensors import array_of, dtype_of


class Elements(NamedTuple):
    """The elements of an array.

    Attributes:
        values: an array of `dtype`, or of objects if some of them are expressions.
        dtype: their type.
    """

    values: np.ndarray
    dtype: str

    @property
    def is_constant(self) -> bool:
        """Whether all of them are numbers."""
        return self.values.dtype != object

    def simplified(self, simplify: Callable[[Expr], Expr]) -> Elements:
        """The same elements, with expressions as short as they can be."""
        if self.is_constant:
            return self
        items = [simplify(item) if isinstance(item, Expr) else item
                 for item in self.values.reshape(-1).tolist()]  # fmt: skip
        result = np.empty(len(items), dtype=object)
        result[:] = items
        return Elements.of(result.reshape(self.values.shape), self.dtype)

    @staticmethod
    def of(values: Any, dtype: str) -> Elements:
        """Numbers and expressions as elements."""
        items = np.array(values, dtype=object)
        plain = [_plain(item) for item in items.reshape(-1).tolist()]
        if any(isinstance(item, Expr) for item in plain):
            result = np.empty(len(plain), dtype=object)
            result[:] = plain
        else:
            result = np.array(plain, dtype=DType(dtype).numpy)
        return Elements(result.reshape(items.shape), dtype)


def _plain(item: Any) -> Any:
    if isinstance(item, IntImm):
        return bool(item.value) if item.dtype.is_bool else int(item.value)
    return item


class _UnknownError(Exception):
    """Raised where elements cannot be computed here."""


def evaluated(
    operator: str, operands: Sequence[Elements | None], attributes: Mapping[str, Any], most: int
) -> list[Elements] | None:
    """The results of an operator on elements that are known; None if that is not computed here.

    Args:
        operator: its name.
        operands: what it takes.
        attributes: of the node.
        most: maximum number of elements of a result.
    """
    function = _FUNCTIONS.get(operator)
    known = [operand for operand in operands if operand is not None]
    if function is None or len(known) != len(operands):
        return None
    integral = all(DType(operand.dtype).is_integral or DType(operand.dtype).is_bool
                   for operand in known)  # fmt: skip
    if not integral and not all(operand.is_constant and operand.values.size <= 64
                                for operand in known):  # fmt: skip
        return None
    try:
        with np.errstate(all="ignore"):
            results = function(*known, **attributes)
    except (_UnknownError, TypeError, ValueError, IndexError, ArithmeticError):
        return None  # the conversion says what is wrong, if something is
    results = results if isinstance(results, list) else [results]
    return results if all(result.values.size <= most for result in results) else None


# --- arithmetic -------------------------------------------------------------------------------


def _elementwise(plain: Callable[..., Any], symbolic: Callable[..., Any], dtype: str = "") -> Any:
    def compute(*operands: Elements) -> Elements:
        kind = dtype or operands[0].dtype
        if all(operand.is_constant for operand in operands):
            result = plain(*(operand.values for operand in operands))
            return Elements(np.asarray(result, dtype=DType(kind).numpy), kind)
        function = np.frompyfunc(symbolic, len(operands), 1)
        return Elements.of(function(*(_objects(operand) for operand in operands)), kind)

    return compute


def _objects(operand: Elements) -> np.ndarray:
    result = np.empty(operand.values.shape, dtype=object)
    result[...] = operand.values.tolist() if operand.values.ndim == 0 else operand.values
    if operand.is_constant:
        flat = [item.item() if isinstance(item, np.generic) else item
                for item in result.reshape(-1).tolist()]  # fmt: skip
        result = np.array([None, *flat], dtype=object)[1:].reshape(operand.values.shape)
    return result


def _divided(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if not np.issubdtype(x.dtype, np.integer):
        return x / y
    if not np.all(y):
        raise _UnknownError
    quotient = np.abs(x) // np.abs(y)
    return np.where((x < 0) != (y < 0), -quotient, quotient).astype(x.dtype)


def _quotient(x: Any, y: Any) -> Any:
    if isinstance(x, int) and isinstance(y, int):
        return int(_divided(np.array(x), np.array(y)))
    return arithmetic.truncdiv(x, y)


def _folded(symbolic: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers and expressions; of numbers alone it is Python's."""
    return lambda *values: (
        symbolic(*values) if any(isinstance(value, Expr) for value in values) else plain(*values)
    )


def _modulo(x: Elements, y: Elements, *, fmod: int = 0) -> Elements:
    if fmod:
        raise _UnknownError
    if y.is_constant and not np.all(y.values):
        raise _UnknownError
    return _elementwise(np.mod, _folded(arithmetic.floormod, lambda a, b: a % b))(x, y)


def _extremum(plain: Callable[..., Any], symbolic: Callable[..., Any], fold: Any) -> Any:
    pair = _elementwise(plain, _folded(symbolic, fold))

    def compute(first: Elements, *others: Elements) -> Elements:
        for other in others:
            first = pair(first, other)
        return first

    return compute


def _cast(x: Elements, *, to: int, **_: Any) -> Elements:
    dtype = dtype_of(to)
    if x.is_constant:
        if not np.all(np.isfinite(x.values.astype("float64"))):
            raise _UnknownError
        return Elements(x.values.astype(DType(dtype).numpy), dtype)
    if dtype not in ("int32", "int64"):
        raise _UnknownError
    return Elements(x.values, dtype)  # sizes fit


def _where(condition: Elements, x: Elements, y: Elements) -> Elements:
    if condition.is_constant and x.is_constant and y.is_constant:
        return Elements(np.where(condition.values, x.values, y.values), x.dtype)
    choose = _folded(arithmetic.select, lambda c, a, b: a if c else b)
    chosen = np.frompyfunc(lambda c, a, b: (a if c else b) if isinstance(c, bool)
                           else choose(c, a, b), 3, 1)  # fmt: skip
    return Elements.of(chosen(*map(_objects, (condition, x, y))), x.dtype)


# --- places -----------------------------------------------------------------------------------


def _integers(operand: Any) -> list[int]:
    if isinstance(operand, Elements):
        if not operand.is_constant:
            raise _UnknownError
        return [int(item) for item in operand.values.reshape(-1)]
    return [int(item) for item in np.atleast_1d(operand)]


def _like(x: Elements, values: Any) -> Elements:
    """Some of the elements of an array; numpy takes a single one out of its array."""
    if x.is_constant:
        return Elements(np.asarray(values, dtype=x.values.dtype), x.dtype)
    return Elements.of(values, x.dtype)


def _gather(x: Elements, indices: Elements, *, axis: int = 0) -> Elements:
    if not indices.is_constant:
        raise _UnknownError
    return _like(x, np.take(x.values, indices.values, axis=axis))


def _slice(x: Elements, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Elements:
    begin, end = _integers(starts), _integers(ends)
    along = list(range(len(begin))) if axes is None else _integers(axes)
    stride = [1] * len(begin) if steps is None else _integers(steps)
    places = [slice(None)] * x.values.ndim
    for axis, first, last, step in zip(along, begin, end, stride, strict=True):
        extent = x.values.shape[axis]
        stop = None if step < 0 and last < -extent else last
        places[axis] = slice(first, stop, step)
    return _like(x, x.values[tuple(places)])


def _concat(*operands: Elements, axis: int) -> Elements:
    if all(operand.is_constant for operand in operands):
        values = np.concatenate([operand.values for operand in operands], axis=axis)
        return Elements(values, operands[0].dtype)
    parts = [_objects(operand) for operand in operands]
    return Elements.of(np.concatenate(parts, axis=axis), operands[0].dtype)


def _unsqueeze(x: Elements, axes: Any) -> Elements:
    return _like(x, np.expand_dims(x.values, tuple(_integers(axes))))


def _squeeze(x: Elements, axes: Any = None) -> Elements:
    places = None if axes is None else tuple(_integers(axes))
    return _like(x, np.squeeze(x.values, axis=places))


def _reshape(x: Elements, shape: Elements, *, allowzero: int = 0) -> Elements:
    wanted = _integers(shape)
    if not allowzero:
        wanted = [x.values.shape[n] if extent == 0 else extent for n, extent in enumerate(wanted)]
    return _like(x, x.values.reshape(wanted))


def _reduction(plain: Callable[..., Any], fold: Callable[[Any, Any], Any]) -> Any:
    def compute(
        x: Elements, axes: Any = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Elements:
        places = [] if axes is None else _integers(axes)
        if not places and noop_with_empty_axes:
            return x
        along = tuple(places) if places else tuple(range(x.values.ndim))
        if x.is_constant:
            values = plain(x.values, axis=along, keepdims=bool(keepdims))
            return Elements(np.asarray(values, dtype=x.values.dtype), x.dtype)
        function = np.frompyfunc(fold, 2, 1)
        values = x.values
        for axis in sorted((axis % values.ndim for axis in along), reverse=True):
            reduced = np.asarray(function.reduce(values, axis=axis), dtype=object)
            values = np.expand_dims(reduced, axis) if keepdims else reduced
        return _like(x, np.asarray(values, dtype=object))

    return compute


def _expand(x: Elements, shape: Elements) -> Elements:
    wanted = _integers(shape)
    _limit(wanted)
    common = np.broadcast_shapes(x.values.shape, tuple(wanted))
    return _like(x, np.broadcast_to(x.values, common).copy())


def _limit(extents: Sequence[int]) -> None:
    if math.prod(extents) > 4096:
        raise _UnknownError


def _range(start: Elements, limit: Elements, delta: Elements) -> Elements:
    bounds = [_integers(operand)[0] for operand in (start, limit, delta)]
    if not start.is_constant or not DType(start.dtype).is_integral:
        raise _UnknownError
    _limit([max(0, (bounds[1] - bounds[0]) // bounds[2] + 1)])
    return Elements(np.arange(*bounds, dtype=DType(start.dtype).numpy), start.dtype)


def _split(x: Elements, split: Any = None, *, axis: int = 0, num_outputs: int = 0) -> Any:
    if split is not None:
        places = np.cumsum(_integers(split))[:-1]
    elif num_outputs > 0:
        part = -(-x.values.shape[axis] // num_outputs)
        places = np.arange(1, num_outputs) * part
    else:
        raise _UnknownError
    return [_like(x, part) for part in np.split(x.values, places, axis=axis)]


def _constant_of_shape(shape: Elements, *, value: Any = None) -> Elements:
    extents = _integers(shape)
    _limit(extents)
    element = np.zeros(1, "float32") if value is None else array_of(value, None).reshape(-1)
    return Elements(np.full(extents, element[0]), str(element.dtype))


_COMPARISONS: Final = {
    "Equal": (np.equal, arithmetic.equal, lambda a, b: a == b),
    "Less": (np.less, arithmetic.less, lambda a, b: a < b),
    "LessOrEqual": (np.less_equal, arithmetic.less_equal, lambda a, b: a <= b),
    "Greater": (np.greater, arithmetic.greater, lambda a, b: a > b),
    "GreaterOrEqual": (np.greater_equal, arithmetic.greater_equal, lambda a, b: a >= b),
}
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "Add": _elementwise(np.add, lambda a, b: a + b),
    "Sub": _elementwise(np.subtract, lambda a, b: a - b),
    "Mul": _elementwise(np.multiply, lambda a, b: a * b),
    "Div": _elementwise(_divided, _quotient),
    "Mod": _modulo,
    "Neg": _elementwise(np.negative, lambda a: -a),
    "Floor": _elementwise(np.floor, lambda a: a),
    "Ceil": _elementwise(np.ceil, lambda a: a),
    "Min": _extremum(np.minimum, arithmetic.minimum, min),
    "Max": _extremum(np.maximum, arithmetic.maximum, max),
    "And": _elementwise(np.logical_and, _folded(arithmetic.logical_and, lambda a, b: a and b)),
    "Or": _elementwise(np.logical_or, _folded(arithmetic.logical_or, lambda a, b: a or b)),
    "Not": _elementwise(np.logical_not, _folded(arithmetic.logical_not, lambda a: not a)),
    "Cast": _cast,
    "Where": _where,
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshape,
    "Expand": _expand,
    "Range": _range,
    "Split": _split,
    "ConstantOfShape": _constant_of_shape,
    "Identity": lambda x: x,
    "ReduceSum": _reduction(np.sum, lambda a, b: a + b),
    "ReduceProd": _reduction(np.prod, lambda a, b: a * b),
    "ReduceMax": _reduction(np.max, _folded(arithmetic.maximum, max)),
    "ReduceMin": _reduction(np.min, _folded(arithmetic.minimum, min)),
    **{
        name: _elementwise(plain, _folded(symbolic, fold), "bool")
        for name, (plain, symbolic, fold) in _COMPARISONS.items()
    },
}
