"""Operators on elements that are known while a model is converted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tilewright.ir import arithmetic
from tilewright.ir.dtype import DType
from tilewright.relax.frontend.onnx import element_numbers as numbers
from tilewright.relax.frontend.onnx import element_places as places
from tilewright.relax.frontend.onnx.elements import Elements, UnknownElementsError


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
    except (UnknownElementsError, TypeError, ValueError, IndexError, ArithmeticError):
        return None  # the conversion says what is wrong, if something is
    results = results if isinstance(results, list) else [results]
    return results if all(result.values.size <= most for result in results) else None


_COMPARISONS: Final = {
    "Equal": (np.equal, arithmetic.equal, lambda a, b: a == b),
    "Less": (np.less, arithmetic.less, lambda a, b: a < b),
    "LessOrEqual": (np.less_equal, arithmetic.less_equal, lambda a, b: a <= b),
    "Greater": (np.greater, arithmetic.greater, lambda a, b: a > b),
    "GreaterOrEqual": (np.greater_equal, arithmetic.greater_equal, lambda a, b: a >= b),
}
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "Add": numbers.elementwise(np.add, lambda a, b: a + b),
    "Sub": numbers.elementwise(np.subtract, lambda a, b: a - b),
    "Mul": numbers.elementwise(np.multiply, lambda a, b: a * b),
    "Div": numbers.elementwise(numbers.divided, numbers.quotient),
    "Mod": numbers.modulo,
    "Neg": numbers.elementwise(np.negative, lambda a: -a),
    "Floor": numbers.elementwise(np.floor, lambda a: a),
    "Ceil": numbers.elementwise(np.ceil, lambda a: a),
    "Min": numbers.extremum(np.minimum, arithmetic.minimum, min),
    "Max": numbers.extremum(np.maximum, arithmetic.maximum, max),
    "And": numbers.elementwise(
        np.logical_and, numbers.folded(arithmetic.logical_and, lambda a, b: a and b)
    ),
    "Or": numbers.elementwise(
        np.logical_or, numbers.folded(arithmetic.logical_or, lambda a, b: a or b)
    ),
    "Not": numbers.elementwise(
        np.logical_not, numbers.folded(arithmetic.logical_not, lambda a: not a)
    ),
    "Cast": numbers.cast,
    "Where": numbers.where,
    "Gather": places.gather,
    "Slice": places.slice_,
    "Concat": places.concat,
    "Unsqueeze": places.unsqueeze,
    "Squeeze": places.squeeze,
    "Reshape": places.reshape,
    "Expand": places.expand,
    "Range": places.range_,
    "Split": places.split,
    "ConstantOfShape": places.constant_of_shape,
    "Identity": lambda x: x,
    "ReduceSum": places.reduction(np.sum, lambda a, b: a + b),
    "ReduceProd": places.reduction(np.prod, lambda a, b: a * b),
    "ReduceMax": places.reduction(np.max, numbers.folded(arithmetic.maximum, max)),
    "ReduceMin": places.reduction(np.min, numbers.folded(arithmetic.minimum, min)),
    **{
        name: numbers.elementwise(plain, numbers.folded(symbolic, fold), "bool")
        for name, (plain, symbolic, fold) in _COMPARISONS.items()
    },
}
