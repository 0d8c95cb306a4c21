"""The normal form of random expressions, and sizes solved from random signatures."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.relax.builders import array, negative, twice

from tilewright import relax
from tilewright.arith import Analyzer
from tilewright.ir import Var as Size
from tilewright.ir import structural_equal, structural_hash
from tilewright.ir.rewrite import rewrite
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.interpreter import evaluate
from tilewright.relax.sizes import solve_sizes, substitute_sizes
from tilewright.tir.substitute import substitute

QUICK = settings(max_examples=20, deadline=None)


@st.composite
def functions(draw):
    """A function whose result is one nested expression, in which parts occur several times."""
    x, c = relax.Var("x", array(2)), relax.Var("c", array(dtype="bool"))
    parts = [x]
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["twice", "negative", "field", "if", "sequence"]))
        a, b = draw(st.sampled_from(parts)), draw(st.sampled_from(parts))
        if kind == "field":
            parts.append(relax.TupleGetItem(relax.Tuple([a, b]), draw(st.integers(0, 1))))
        elif kind == "if":
            parts.append(relax.If(c, twice(a), b))
        elif kind == "sequence":
            y = relax.Var(draw(st.sampled_from(["y", "lv", "gv"])))
            block = relax.BindingBlock((relax.VarBinding(y, twice(a)),))
            parts.append(relax.SeqExpr((block,), relax.Tuple([y, negative(y)]))[1])
        else:
            parts.append({"twice": twice, "negative": negative}[kind](a))
    result = relax.Tuple([parts[-1], draw(st.sampled_from(parts))])
    return relax.Function((x, c), result)


def normal_form(function):
    return relax.BlockBuilder().normalize(function)


def copied(function):
    """The same function, of which no variable is the same."""
    variables = {}

    def fresh(var):
        return variables.setdefault(var, var.replace(name_hint=f"{var.name_hint}_copy"))

    def binding(node):
        return node.replace(var=fresh(node.var))

    body = rewrite(
        function.body,
        {relax.Var: fresh, relax.DataflowVar: fresh, relax.VarBinding: binding},
    )
    return function.replace(params=tuple(map(fresh, function.params)), body=body)


@QUICK
@given(functions())
def test_the_normal_form_is_well_formed_and_means_the_same(function):
    normal = normal_form(function)
    check_well_formed(normal)
    assert normal_form(normal) is normal
    data = np.array([1.5, -2.0], "float32")
    for choice in (np.array(True), np.array(False)):
        expected = evaluate(function, data, choice, check=False)
        for one, other in zip(evaluate(normal, data, choice), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@QUICK
@given(functions())
def test_equality_does_not_see_names_and_copies(function):
    normal = normal_form(function)
    other = copied(normal)
    assert structural_equal(normal, other)
    assert structural_hash(normal) == structural_hash(other)


@QUICK
@given(functions(), functions())
def test_equal_hashes_mean_equal_functions(first, second):
    first, second = normal_form(first), normal_form(second)
    assert structural_equal(first, second) == (structural_hash(first) == structural_hash(second))


N, M = Size("n", "int64"), Size("m", "int64")
EXTENTS = st.builds(
    lambda a, b, constant: N * a + M * b + constant,
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 4),
)


@QUICK
@given(
    st.lists(EXTENTS, min_size=1, max_size=3),
    st.booleans(),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_sizes_of_a_signature_are_solved_or_left(extents, alone, n, m):
    analyzer = Analyzer()
    pattern = array(*extents, *([N] if alone else []))
    values = {N: _constant(n), M: _constant(m)}
    found = substitute_sizes(pattern, values)
    sizes = solve_sizes([pattern], [found], analyzer)
    for extent, value in zip(pattern.extents, found.extents, strict=True):
        if all(size in sizes for size in _sizes_in(extent)):
            assert analyzer.can_prove_equal(substitute(extent, sizes), value)
    if alone:
        assert sizes[N].value == n
        unknown = [extent for extent in extents if _factor(extent, M)]
        assert (M in sizes) == bool(unknown)


def _constant(value):
    return relax.ShapeExpr([value]).values[0]


def _sizes_in(extent):
    return relax.analysis.free_symbolic_vars(relax.ShapeExpr([extent]))


def _factor(extent, size):
    plus_one = substitute(extent, {size: size + 1})
    return Analyzer().simplify(plus_one - extent).value
