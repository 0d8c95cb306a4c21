"""Operands of `fma` that are rounded wrongly where an intermediate result is rounded too."""

import numpy as np

from tilewright.ir import DType

TYPES = {"float16": (10, -24), "bfloat16": (7, -70), "float32": (23, -70)}
"""The bits after the point, and the exponent of what is too small to be seen beside 1."""


def fma_ties(dtype):
    """Arrays a, b, c, and ``a * b + c`` rounded once.

    The product is in the middle of two numbers of the type, and `c` decides which is nearer.
    """
    bits, exponent = TYPES[dtype]
    unit, tiny = 2.0**-bits, 2.0**exponent
    a = [1.5, 1.5, 1.5, 1.5, -1.5, -1.5, -1.5, -1.5]
    b = [1 + unit, 1 + unit, 1 + 3 * unit, 1 + 3 * unit] * 2
    c = [tiny, -tiny] * 4
    nearest = [1.5 + 2 * unit, 1.5 + unit, 1.5 + 5 * unit, 1.5 + 4 * unit]
    # With the sign of the product the other way round, so is the order of `c`.
    nearest += [-nearest[1], -nearest[0], -nearest[3], -nearest[2]]
    return tuple(np.array(values).astype(DType(dtype).numpy) for values in (a, b, c, nearest))
