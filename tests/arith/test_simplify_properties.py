"""Random expressions mean the same after simplification as before."""

from hypothesis import given
from hypothesis import strategies as st
from tests.arith.expressions import Generator, evaluate, outcome, points, size, variables

from tilewright.arith import Analyzer
from tilewright.ir import (
    Add,
    DType,
    FloorMod,
    IntImm,
    Mod,
    Mul,
    PointerType,
    PrimType,
    SizeVar,
    Sub,
    Var,
    walk,
)
from tilewright.tir import Buffer

DTYPES = ("int32", "int64", "int8", "uint8")
FREE = {"int32": (-20, 20), "int64": (-20, 20), "int8": (-128, 127), "uint8": (0, 255)}


def byte_buffer(dtype):
    element = DType(dtype)
    data = Var("A", DType("handle"), PointerType(PrimType(element)))
    return Buffer(data, element, (IntImm(DType("int32"), 8),), "A")


class Case:
    """A random expression, what is known about its variables, and where to evaluate it."""

    def __init__(self, draw):
        self.draw = draw
        dtype = draw(st.sampled_from(DTYPES))
        self.dtype = DType(dtype)
        self.variables = variables(dtype)
        self.buffer = byte_buffer(dtype)
        self.analyzer = Analyzer()
        self.ranges = {}
        for var in self.variables:
            self.bind(var)
        buffers = [self.buffer] if self.choose(3) == 0 else []
        self.generator = Generator(self.choose, self.variables, buffers)

    def choose(self, count):
        return self.draw(st.integers(0, count - 1))

    def bind(self, var):
        least = 0 if var.__class__ is SizeVar or self.dtype.is_uint else -4
        if self.choose(4) == 0:
            low, high = FREE[self.dtype]
            self.ranges[var] = max(low, least) if least == 0 else low, high
            return
        low = self.draw(st.sampled_from([0, 0, least, 3]))
        extent = self.draw(st.sampled_from([1, 2, 4, 5, 8, 16, 64]))
        self.analyzer.bind_range(var, low, extent)
        self.ranges[var] = low, low + extent - 1

    def places(self, count=8):
        least, most = self.dtype.min_int, self.dtype.max_int
        values = st.sampled_from([0, 1, 5, least, most, most // 2 + 1])
        for place in points(self.ranges, self.choose, count):
            data = self.draw(st.lists(values, min_size=8, max_size=8))
            yield place | {self.buffer: data}

    def readable(self, place):
        return {getattr(key, "name", key): value for key, value in place.items()}


@st.composite
def cases(draw):
    return Case(draw)


def one_sided(expr):
    """`expr` with constant factors multiplied into sums, which simplification does too."""
    expr = expr.map_children(one_sided)
    if expr.__class__ is Mul and expr.dtype.lanes == 1:
        for total, factor in ((expr.a, expr.b), (expr.b, expr.a)):
            if factor.__class__ is IntImm and total.__class__ in (Add, Sub):
                parts = (one_sided(Mul(part, factor)) for part in (total.a, total.b))
                return total.__class__(*parts)
    return expr


@given(cases(), st.integers(2, 4))
def test_the_value_is_the_same(case, depth):
    generator = case.generator
    expr = generator.boolean(depth) if case.choose(3) == 0 else generator.integer(depth)
    simple = case.analyzer.simplify(expr)
    assert simple.dtype is expr.dtype
    for place in case.places():
        before, after = outcome(expr, place), outcome(simple, place)
        assert before == after, f"{expr!r}\nbecame {simple!r}\nat {case.readable(place)}"


@given(cases(), st.integers(2, 4))
def test_bounds_and_remainders_hold(case, depth):
    expr = case.generator.integer(depth)
    low, high = case.analyzer.const_int_bound(expr)
    coeff, base = case.analyzer.modular_set(expr)
    for place in case.places():
        value = outcome(expr, place)
        if value != "fails":
            assert low <= value <= high, f"{expr!r} at {case.readable(place)}"
            assert (value - base) % coeff == 0 if coeff else value == base


@given(cases(), st.integers(2, 4))
def test_it_is_idempotent_and_does_not_grow(case, depth):
    expr = case.generator.integer(depth)
    simple = case.analyzer.simplify(expr)
    assert case.analyzer.simplify(simple) is simple
    fresh = Analyzer()
    for var, (low, high) in case.ranges.items():
        if var in case.analyzer._simplifier.facts.ranges:
            fresh.bind_range(var, low, high - low + 1)
    assert fresh.simplify(simple) is simple, f"{expr!r}\nbecame {simple!r}"
    # A digit that is taken out of a remainder brings its place value along.
    allowed = size(one_sided(expr)) + 2 * sum(isinstance(n, (FloorMod, Mod)) for n in walk(expr))
    assert size(simple) <= allowed, f"{expr!r}\nbecame {simple!r}"


@given(cases(), st.integers(1, 3))
def test_constraints_are_used_soundly(case, depth):
    condition = case.generator.boolean(depth)
    expr = case.generator.integer(depth)
    question = case.generator.boolean(depth)
    with case.analyzer.constraint(condition):
        simple = case.analyzer.simplify(expr)
        proven = case.analyzer.can_prove(question)
    for place in case.places():
        if outcome(condition, place) != 1:
            continue
        assert outcome(expr, place) == outcome(simple, place)
        assert not proven or outcome(question, place) != 0


@given(st.data())
def test_proofs_over_symbolic_ranges_are_sound(data):
    dtype = data.draw(st.sampled_from(["int32", "int64"]))
    n, m = SizeVar("n", DType(dtype)), SizeVar("m", DType(dtype))
    i, j, k = (Var(name, DType(dtype)) for name in "ijk")
    extents = {i: n, j: m, k: n * m if data.draw(st.booleans()) else (n + 3) // 4}
    analyzer = Analyzer()
    for var, extent in extents.items():
        analyzer.bind_range(var, 0, extent)

    def choose(count):
        return data.draw(st.integers(0, count - 1))

    generator = Generator(choose, [i, j, k, n, m])
    expr = generator.boolean(3) if choose(2) else generator.integer(4)
    simple = analyzer.simplify(expr)
    for _ in range(6):
        place = {n: data.draw(st.integers(1, 9)), m: data.draw(st.integers(1, 9))}
        for var, extent in extents.items():
            place[var] = choose(evaluate(extent, place))
        before, after = outcome(expr, place), outcome(simple, place)
        assert before == after, f"{expr!r}\nbecame {simple!r}\nat {place}"
