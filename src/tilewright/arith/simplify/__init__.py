"""Simplification rules, one module per family of operators."""

from tilewright.arith.simplify import (
    add_sub,
    cast,
    compare,
    floordiv,
    floormod,
    leaves,
    logic,
    min_max,
    mul,
    select,
    vector,
)
from tilewright.arith.simplify.simplifier import Simplifier
