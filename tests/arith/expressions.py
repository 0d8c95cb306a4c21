"""Random integer expressions and their values, for property tests."""

import itertools

from tilewright.ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Div,
    DType,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Op,
    Or,
    Ramp,
    Select,
    SizeVar,
    Sub,
    Var,
)  # fmt: skip
from tilewright.ir.convert import wrap_int
from tilewright.ir.op import CallEffectKind, register_op
from tilewright.tir import BufferLoad

IF_THEN_ELSE = "tir.if_then_else"


def operator(name, **options):
    """The operator of that name, registered if nobody did."""
    try:
        return Op.get(name)
    except KeyError:
        return register_op(name, **options)


IF = operator(IF_THEN_ELSE, effect=CallEffectKind.PURE)


class EvaluationError(Exception):
    """A division by zero or a load out of bounds was evaluated."""


def truncated(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


ARITHMETIC = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    Min: min,
    Max: max,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Div: truncated,
    Mod: lambda a, b: a - b * truncated(a, b),
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
}


def evaluate(expr, values):
    """The value of `expr`: a number, or a list of the lanes of a vector.

    `values` holds the numbers of variables, and the lists that buffers hold.
    """
    if expr.dtype.lanes > 1:
        return [evaluate_lane(expr, values, lane) for lane in range(expr.dtype.lanes)]
    return evaluate_lane(expr, values, 0)


def evaluate_lane(expr, values, lane):
    kind = expr.__class__
    if isinstance(expr, Var):
        return values[expr]
    if kind is IntImm:
        return expr.value
    if kind is Broadcast:
        return evaluate_lane(expr.value, values, 0)
    if kind is Ramp:
        start, step = evaluate(expr.base, values), evaluate(expr.stride, values)
        return wrap_int(start + step * lane, expr.dtype.element)
    if kind is Cast:
        value = evaluate_lane(expr.value, values, lane)
        return int(value != 0) if expr.dtype.is_bool else wrap_int(value, expr.dtype.element)
    if kind is Not:
        return int(not evaluate_lane(expr.a, values, lane))
    if kind is And or kind is Or:
        first = evaluate_lane(expr.a, values, lane)
        if expr.dtype.lanes == 1 and bool(first) == (kind is Or):
            return first
        second = evaluate_lane(expr.b, values, lane)
        return int(first and second) if kind is And else int(first or second)
    if kind is Select:
        a = evaluate_lane(expr.true_value, values, lane)
        b = evaluate_lane(expr.false_value, values, lane)
        return a if evaluate_lane(expr.condition, values, lane) else b
    if kind is Call and expr.op.name == IF_THEN_ELSE:
        chosen = expr.args[1] if evaluate(expr.args[0], values) else expr.args[2]
        return evaluate(chosen, values)
    if kind is BufferLoad:
        return load(expr, values)
    a, b = evaluate_lane(expr.a, values, lane), evaluate_lane(expr.b, values, lane)
    if kind in (FloorDiv, FloorMod, Div, Mod) and b == 0:
        raise EvaluationError("division by zero")
    return wrap_int(int(ARITHMETIC[kind](a, b)), expr.dtype.element)


def load(expr, values):
    data = values[expr.buffer]
    index = evaluate(expr.indices[0], values)
    if not 0 <= index < len(data):
        raise EvaluationError("load out of bounds")
    return data[index]


def outcome(expr, values):
    """The value, or "fails"."""
    try:
        return evaluate(expr, values)
    except EvaluationError:
        return "fails"


def size(expr):
    """Number of nodes."""
    return 1 + sum(size(child) for child in expr.children())


class Generator:
    """Builds a random expression over `variables` out of the numbers that `choose(n)` returns.

    `choose(n)` returns a number in ``[0, n)``. Raw nodes are made, so nothing is folded.
    """

    CONSTANTS = (0, 1, 2, 3, 4, 8, 16, -1, -3, 5, 7, 12, -8)

    def __init__(self, choose, variables, buffers=(), divisors=(1, 2, 3, 4, 8, 16, -2, -3)):
        self.choose = choose
        self.variables = variables
        self.buffers = buffers
        self.dtype = variables[0].dtype
        self.divisors = [d for d in divisors if d >= self.dtype.min_int]
        self.constants = [c for c in self.CONSTANTS if c >= self.dtype.min_int]

    def pick(self, items):
        return items[self.choose(len(items))]

    def number(self, value):
        return IntImm(self.dtype, value)

    def leaf(self):
        if self.choose(3) == 0:
            return self.number(self.pick(self.constants))
        if self.buffers and self.choose(4) == 0:
            return BufferLoad(self.pick(self.buffers), (self.pick(self.variables),))
        return self.pick(self.variables)

    def integer(self, depth):
        """An integer expression."""
        if depth == 0 or self.choose(8) == 0:
            return self.leaf()
        kind = self.choose(12)
        if kind < 5:
            return self.sum(depth)
        if kind < 9:
            divisor = self.number(self.pick(self.divisors))
            if self.choose(6) == 0:
                divisor = self.integer(depth - 1)
            return self.pick((FloorDiv, FloorMod, FloorDiv, FloorMod, Div, Mod))(
                self.integer(depth - 1), divisor
            )
        if kind == 9:
            return self.pick((Min, Max))(self.integer(depth - 1), self.integer(depth - 1))
        parts = (self.boolean(depth - 1), self.integer(depth - 1), self.integer(depth - 1))
        return Select(*parts) if kind == 10 else Call(self.dtype, IF, parts)

    def sum(self, depth):
        if self.choose(3) == 0:
            return Mul(self.integer(depth - 1), self.number(self.pick(self.constants)))
        if self.choose(8) == 0:
            return Mul(self.integer(depth - 1), self.integer(depth - 1))
        return self.pick((Add, Add, Sub))(self.integer(depth - 1), self.integer(depth - 1))

    def boolean(self, depth):
        """A truth value."""
        kind = self.choose(8) if depth > 0 else 0
        if kind < 5:
            compare = self.pick((EQ, NE, LT, LE, GT, GE))
            return compare(self.integer(max(depth - 1, 0)), self.integer(max(depth - 1, 0)))
        if kind == 5:
            return Not(self.boolean(depth - 1))
        return self.pick((And, Or))(self.boolean(depth - 1), self.boolean(depth - 1))


def points(ranges, choose, count):
    """Assignments to the variables: the corners of their ranges, and random points."""
    names = list(ranges)
    corners = itertools.product(*[(low, high) for low, high in ranges.values()])
    for corner in itertools.islice(corners, count):
        yield dict(zip(names, corner, strict=True))
    for _ in range(count):
        yield {v: low + choose(high - low + 1) for v, (low, high) in ranges.items()}


def variables(dtype, count=4, size=True):
    """Fresh variables of one dtype; the last may be a size."""
    names = "abcdefgh"[:count]
    made = [Var(name, DType(dtype)) for name in names]
    if size:
        made[-1] = SizeVar("n", DType(dtype))
    return made
