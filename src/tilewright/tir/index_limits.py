"""Which numbers of iterations fit the dtype that counts them.

A size of dtype int32 is at most 2**31 - 65,536, and one of int64 at most 2**63 - 65,536: a compiled
function checks that of the arrays and of the extents that it is called with. So there is room to
round a size up to a multiple of a tile of up to 65,536 iterations, and `(n + 15) // 16` does not
overflow.

Integers wrap around. A part of a condition may do so where another part excludes the iteration: in
``o * ((n + 2) // 3) + i < n and o < 3``, the first part is exact for every `o` that the second part
admits, and does not count for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from tilewright.arith.bounds import product
from tilewright.error import TVMError
from tilewright.ir.dtype import DType
from tilewright.ir.expr import (
    GE,
    GT,
    LE,
    LT,
    Add,
    And,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Sub,
    Var,
    is_const_int,
)
from tilewright.ir.rewrite import walk
from tilewright.tir.stmt import BufferStore, For, Stmt
from tilewright.tir.substitute import variables_of

ROOM: Final = 65_536
"""The largest number of iterations of a tile that every size leaves room for."""

Interval = tuple[int, int]


def largest_size(dtype: DType) -> int:
    """The largest value of a size of that dtype."""
    return dtype.max_int + 1 - ROOM


class TooLargeError(TVMError):
    """A value that its dtype may not hold.

    Attributes:
        expr: what has that value.
        value: a value that it may have.
    """

    def __init__(self, expr: Expr, value: int) -> None:
        super().__init__(f"`{expr}` may be {value}, which {expr.dtype!s} does not hold")
        self.expr = expr
        self.value = value


class Reach:
    """Between which numbers expressions over loop variables and sizes lie.

    What a program counts by sizes alone, such as ``n * 3`` or ``n * m``, is taken to be a size,
    which is never too large. What is added to round up, and positions in loops, are exact.

    Args:
        domain: the minimum and the extent of a variable; None for one that is a size.
    """

    def __init__(self, domain: Callable[[Var], tuple[Expr, Expr] | None]) -> None:
        self._domain = domain
        self._known: dict[Var, Interval] = {}

    def of(self, expr: Any) -> Interval:
        """The smallest and the largest value of an integer expression, or a condition.

        Raises:
            TooLargeError: if a part of it may not fit its dtype.
        """
        kind = expr.__class__
        if kind is IntImm:
            return expr.value, expr.value
        if isinstance(expr, Var):
            found = self._known.get(expr)
            if found is None:
                found = self._known[expr] = self._of_variable(expr)
            return found
        if expr.dtype.is_bool:
            for part in (expr.a, expr.b) if kind in _CONDITIONS else ():
                self.of(part)
            return 0, 1
        return self._of_operation(kind, expr)

    def _of_variable(self, var: Var) -> Interval:
        domain = self._domain(var)
        if domain is None:
            return 0, largest_size(var.dtype.element)
        (low, first), (_, count) = self.of(domain[0]), self.of(domain[1])
        return low, max(low, first + count - 1)

    def _of_operation(self, kind: Any, expr: Any) -> Interval:
        dtype = expr.dtype.element
        size = 0, largest_size(dtype)
        if kind is Cast and expr.value.dtype.is_integral:
            low, high = self.of(expr.value)
            return (low, high) if dtype.min_int <= low and high <= dtype.max_int else size
        if kind not in INTERVAL_OPERATIONS:
            return size
        low, high = INTERVAL_OPERATIONS[kind](self.of(expr.a), self.of(expr.b))
        if dtype.min_int <= low and high <= dtype.max_int:
            return low, high
        if self._is_size(kind, expr):
            return size
        raise TooLargeError(expr, high if high > dtype.max_int else low)

    def _is_size(self, kind: Any, expr: Any) -> bool:
        """Whether a program counts by `expr`, which is a size or a position in several loops."""
        if kind is Add and isinstance(expr.b, IntImm):
            return False  # rounding up
        # Positions in fused loops: how large they are is not told by intervals.
        if any(isinstance(node, (Mul, FloorDiv)) and _is_symbolic(node) for node in walk(expr)):
            return True
        return all(self._domain(var) is None for var in variables_of(expr))


def _is_symbolic(node: Mul | FloorDiv) -> bool:
    """Whether a product has no constant factor, or a quotient no constant divisor."""
    has_factor = isinstance(node, Mul) and isinstance(node.a, IntImm)
    return not has_factor and not isinstance(node.b, IntImm)


_CONDITIONS: Final = frozenset({LT, LE, GT, GE, And})


def _quotient(a: Interval, b: Interval) -> Interval:
    if b[0] <= 0:
        return min(a[0], -abs(a[1])), max(abs(a[0]), abs(a[1]))
    quotients = [x // y for x in a for y in b]
    return min(quotients), max(quotients)


def _remainder(a: Interval, b: Interval) -> Interval:
    del a
    return (0, b[1] - 1) if b[0] > 0 else (b[0], max(0, b[1]))


INTERVAL_OPERATIONS: Final[dict[type, Callable[[Interval, Interval], Interval]]] = {
    Add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    Sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    Mul: product,
    FloorDiv: _quotient,
    FloorMod: _remainder,
    Min: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    Max: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}
"""Bounds of the result of an operation, from those of its operands."""


def largest_counts(body: Stmt) -> dict[Var, int]:
    """The largest values of variables for which no extent that rounds them up overflows."""
    found: dict[Var, int] = {}
    for loop in walk(body, skip=lambda node: isinstance(node, BufferStore)):
        if not isinstance(loop, For) or isinstance(loop.extent, (IntImm, Var)):
            continue
        for node in walk(loop.extent):
            if not isinstance(node, Add):
                continue
            var, offset = (node.a, node.b) if isinstance(node.b, IntImm) else (node.b, node.a)
            if isinstance(var, Var) and isinstance(offset, IntImm) and offset.value > 0:
                most = var.dtype.max_int - offset.value
                found[var] = min(most, found.get(var, most))
    return found


# --- products of sizes ---------------------------------------------------------------------------


def is_product_bounded(
    extents: Iterable[Expr], shapes: Iterable[Sequence[Expr]], dtype: DType
) -> bool:
    """Whether the product of some extents fits `dtype`, for all sizes that arrays may have.

    It does if it is at most the number of elements of one of the arrays.

    `shapes` are those of the arrays that a function is called with.
    """
    if dtype.bits == 64:
        return True
    extents = [extent for extent in extents if not is_const_int(extent, 1)]
    if len(extents) == 1:
        return True
    constant, sizes = 1, []
    for extent in extents:
        found = _factors(extent)
        if found is None:
            return False
        constant *= found[0]
        sizes += found[1]
    if not sizes:
        return constant <= dtype.max_int
    for shape in shapes:
        if any(extent.dtype.bits == 64 for extent in shape):
            continue
        have = [extent for extent in shape if isinstance(extent, Var)]
        elements = 1
        for extent in shape:
            elements *= max(extent.value, 1) if isinstance(extent, IntImm) else 1
        if constant <= elements and _contains(have, sizes):
            return True
    return len(sizes) == 1 and constant * largest_size(dtype) <= dtype.max_int


def _contains(have: list[Var], wanted: list[Var]) -> bool:
    left = {id(var): sum(x is var for x in have) for var in have}
    for var in wanted:
        if not left.get(id(var)):
            return False
        left[id(var)] -= 1
    return True


def _factors(extent: Expr) -> tuple[int, list[Var]] | None:
    """A constant and sizes whose product is at least the extent, and 0 only if the extent is."""
    if isinstance(extent, IntImm):
        return max(extent.value, 0), []
    if isinstance(extent, Var):
        return 1, [extent]
    if isinstance(extent, Mul):
        a, b = _factors(extent.a), _factors(extent.b)
        return None if a is None or b is None else (a[0] * b[0], a[1] + b[1])
    if isinstance(extent, FloorDiv) and isinstance(extent.b, IntImm) and extent.b.value > 0:
        rounded = extent.a
        if (
            isinstance(rounded, Add)
            and isinstance(rounded.b, IntImm)
            and rounded.b.value == extent.b.value - 1
        ):
            rounded = rounded.a  # a quotient that is rounded up is at most the dividend, too
        return _factors(rounded)
    if isinstance(extent, Cast):
        return _factors(extent.value)
    return None
