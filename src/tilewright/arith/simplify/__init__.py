"""Simplification rules, one module per family of operators."""

from tilewright.arith.simplify import (
    add_sub,
    compare,
    division,
    leaves,
    logic,
    vector,
)
from tilewright.arith.simplify.simplifier import Simplifier
