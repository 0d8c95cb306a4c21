"""Which index expressions are quasi-affine, their normal form, and why others are not."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arith.expressions import evaluate

from tilewright.arith import IterSum, detect_iter_map, inverse_affine_iter_map, iter_map_simplify
from tilewright.ir import DType, SizeVar, Var
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import cast, const
from tilewright.tir import Range

INT32, INT64 = DType("int32"), DType("int64")


def iters(**extents):
    """Variables and their ranges, in the order given."""
    made = {name: Var(name, getattr(e, "dtype", INT32)) for name, e in extents.items()}
    return *made.values(), {made[name]: Range.from_extent(e) for name, e in extents.items()}


def value_of(total, place):
    """What the normal form says the index is."""
    result = evaluate(total.base, place)
    for split in total.args:
        source = split.source.source
        whole = value_of(source, place) if isinstance(source, IterSum) else place[source]
        result += whole // split.lower_factor % split.extent * split.scale
    return result


def test_the_usual_tiled_bindings():
    io, ii, jo, ji, k, domain = iters(io=64, ii=16, jo=8, ji=4, k=10)
    found = detect_iter_map([io * 16 + ii, jo * 4 + ji, k], domain, require_bijective=True)
    assert found.is_affine
    assert found.extents == (1024, 32, 10)
    first = found.indices[0]
    assert [(s.source.source, s.scale, s.extent) for s in first.args] == [(io, 16, 64), (ii, 1, 16)]
    assert first.base.value == 0


def test_a_fused_loop_is_split_into_digits():
    f, domain = iters(f=64 * 16)
    found = detect_iter_map([f // 16, f % 16], domain, require_bijective=True)
    (high,), (low,) = (total.args for total in found.indices)
    assert (high.lower_factor, high.extent) == (16, 64)
    assert (low.lower_factor, low.extent) == (1, 16)


def test_digits_across_several_loops():
    i, j, domain = iters(i=4, j=3)
    found = detect_iter_map([(i * 3 + j) // 2, (i * 3 + j) % 2], domain, require_bijective=True)
    assert found.extents == (6, 2)
    inverse = inverse_affine_iter_map(found.indices, [Var("p", INT32), Var("q", INT32)])
    assert set(inverse) == {i, j}


def test_offsets_and_loops_that_start_elsewhere():
    n = Var("n", INT32)
    i = Var("i", INT32)
    found = detect_iter_map([i * 2 + n], {i: Range.from_min_extent(const(3), const(8))})
    assert found.extents == (15,) or found.extents == (16,)
    assert evaluate(found.indices[0].base, {n: 5}) == 11


def test_symbolic_extents():
    n, m = SizeVar("n", INT64), SizeVar("m", INT64)
    i, j, domain = iters(i=n, j=m)
    found = detect_iter_map([i * m + j], domain, require_bijective=True)
    assert found.is_affine
    io, ii, domain = iters(io=(n + 15) // 16, ii=const(16, "int64"))
    found = detect_iter_map([io * 16 + ii], domain, io * 16 + ii < n, require_bijective=True)
    assert found.extents == (n,)


def test_a_fused_loop_of_symbolic_extent():
    n, m = SizeVar("n", INT64), SizeVar("m", INT64)
    f, domain = iters(f=n * m)
    found = detect_iter_map([f // m, f % m], domain, require_bijective=True)
    assert found.extents == (n, m)


def test_conversions_are_looked_through():
    io, ii, domain = iters(io=4, ii=8)
    found = detect_iter_map([cast("int64", io * 8 + ii)], domain, require_bijective=True)
    assert found.extents == (32,)


def test_a_bound_that_depends_on_an_outer_loop_does_not_make_an_index_longer():
    j, domain = iters(j=2)
    outer = Var("outer", "int32")
    found = detect_iter_map([outer * 2 + j], domain, outer * 2 + j < 5, True)
    extents = [evaluate(found.extents[0], {outer: value}) for value in range(3)]
    assert extents == [2, 2, 1]


def test_a_predicate_bounds_an_index():
    io, ii, k, domain = iters(io=64, ii=16, k=3)
    index = io * 16 + ii
    found = detect_iter_map([index, k], domain, logical_and(index < 1021, k < 3))
    assert found.extents == (1021, 3)
    assert detect_iter_map([index + 1, k], domain, index + 1 <= 1000).extents == (1000, 3)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda i, j: [i, i], "used twice"),
        (lambda i, j: [i + j], "less than"),
        (lambda i, j: [i * 7 + j], "less than"),
        (lambda i, j: [i * j], "multiplies iterators"),
        (lambda i, j: [i // 3], "not a multiple"),
        (lambda i, j: [i // 4, i % 8], "used twice"),
        (lambda i, j: [i % 4, j, i // 2], "used twice"),
        (lambda i, j: [(i + 1) // 4], "offset"),
        (lambda i, j: [i // j], "divides by an iterator"),
        (lambda i, j: [(i * 3) * (i + 1)], "multiplies"),
    ],
)
def test_why_not(make, reason):
    i, j, domain = iters(i=16, j=8)
    found = detect_iter_map(make(i, j), domain)
    assert not found.is_affine
    assert found.indices == ()
    assert reason in found.errors[0]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda i, j: [i], "the iterator j is not used"),
        (lambda i, j: [i * 2, j], "a stride is 2"),
        (lambda i, j: [i // 4, j], "digits of i are not used"),
        (lambda i, j: [i % 4, j], "digits of i are not used"),
        (lambda i, j: [i * 16 + j], "a stride is 16"),
    ],
)
def test_what_is_affine_but_no_bijection(make, reason):
    i, j, domain = iters(i=16, j=8)
    assert detect_iter_map(make(i, j), domain).is_affine
    found = detect_iter_map(make(i, j), domain, require_bijective=True)
    assert reason in found.errors[0]


def test_loops_of_one_iteration_may_be_left_out():
    i, one, domain = iters(i=16, one=1)
    assert detect_iter_map([i], domain, require_bijective=True).is_affine
    assert detect_iter_map([i + one], domain, require_bijective=True).is_affine


def test_simplified_indices():
    i, j, domain = iters(i=64, j=16)
    high, low = iter_map_simplify([(i * 16 + j) // 16, (i * 16 + j) % 16], domain)
    assert high is i
    assert low is j


@st.composite
def index_lists(draw):
    """Loops and some indices over them, of the kind that splitting and fusing makes."""
    i, j, k, domain = iters(**{n: draw(st.sampled_from([2, 3, 4, 6, 8])) for n in "ijk"})
    atoms = [i, j, k]
    for _ in range(draw(st.integers(0, 3))):
        a, b = draw(st.sampled_from(atoms)), draw(st.sampled_from(atoms))
        factor = draw(st.sampled_from([1, 2, 3, 4, 6, 8, -2]))
        made = draw(st.integers(0, 3))
        atoms.append([a * factor + b, a // abs(factor), a % abs(factor), a * factor][made])
    return domain, draw(st.lists(st.sampled_from(atoms), min_size=1, max_size=3))


@given(index_lists())
def test_the_normal_form_has_the_value_and_is_injective(case):
    domain, indices = case
    found = detect_iter_map(indices, domain)
    bijective = detect_iter_map(indices, domain, require_bijective=True)
    if not found.is_affine:
        assert not bijective.is_affine
        return
    ranges = [range(r.extent.value) for r in domain.values()]
    digits, images = set(), []
    for numbers in itertools.product(*ranges):
        place = dict(zip(domain, numbers, strict=True))
        image = tuple(evaluate(index, place) for index in indices)
        assert image == tuple(value_of(total, place) for total in found.indices)
        images.append(image)
        digits.add(tuple(leaf_digits(found.indices, place)))
    # As many images as there are combinations of the digits that are used.
    assert len(set(images)) == len(digits)
    if bijective.is_affine:
        assert len(set(images)) == len(images)
        check_inverse(bijective, domain, indices)


def leaf_digits(totals, place):
    for total in totals:
        for split in total.args:
            source = split.source.source
            whole = value_of(source, place) if isinstance(source, IterSum) else place[source]
            yield whole // split.lower_factor % split.extent


def check_inverse(found, domain, indices):
    outputs = [Var(f"out{n}", INT32) for n in range(len(indices))]
    inverse = inverse_affine_iter_map(found.indices, outputs)
    for numbers in itertools.product(*[range(r.extent.value) for r in domain.values()]):
        place = dict(zip(domain, numbers, strict=True))
        image = {o: evaluate(index, place) for o, index in zip(outputs, indices, strict=True)}
        for var, expr in inverse.items():
            assert evaluate(expr, image) == place[var]
