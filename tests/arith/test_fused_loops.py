"""Boxes that loops fill which are parts of one loop."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arith.expressions import evaluate

from tilewright.arith import Analyzer
from tilewright.arith.simplify.division import terms_modulo
from tilewright.ir.convert import const
from tilewright.ir.dtype import INT32
from tilewright.ir.expr import FloorDiv, FloorMod, Var
from tilewright.tir.buffer import Range
from tilewright.tir.schedule.proofs.images import Image, box_of

O, T, L = Var("o", INT32), Var("t", INT32), Var("l", INT32)


def image_of(shape, threads, lanes, shift=0, cut=0):
    """A box in whose elements a loop counts that is split, its indices simplified."""
    size = 1
    for extent in shape:
        size *= extent
    rest = -(-size // (threads * lanes))
    analyzer = Analyzer()
    for var, extent in ((O, rest), (T, threads), (L, lanes)):
        analyzer.bind_range(var, const(0), const(extent))
    total = O * (threads * lanes) + T * lanes + L
    indices, unit = [], size
    for extent in shape:
        whole, unit = unit, unit // extent
        indices.append(analyzer.simplify((total + shift) % whole // unit))
    conditions = [total < size - cut] if rest * threads * lanes > size - cut else []
    loops = {O: rest, T: threads, L: lanes}
    ranges = tuple(Range.from_min_extent(index, const(1)) for index in indices)
    domains = {var: Range.from_min_extent(const(0), const(n)) for var, n in loops.items()}
    return Image(ranges, domains, tuple(conditions)), loops


def elements(image, loops):
    """The elements of an image, one by one."""
    found = set()
    for values in itertools.product(*map(range, loops.values())):
        place = dict(zip(loops, values, strict=True))
        if all(evaluate(condition, place) for condition in image.conditions):
            found.add(tuple(evaluate(item.min, place) for item in image.ranges))
    return found


def box(image):
    """The box as ranges of numbers; None if it is not known."""
    found = box_of(image, Analyzer())
    if found is None:
        return None
    return [range(int(side.min_value), int(side.max_value) + 1) for side in found]


@pytest.mark.parametrize(
    ("shape", "threads", "lanes"),
    [((4, 16, 16), 14, 3), ((4, 4, 3, 3), 14, 2), ((32, 3, 3), 32, 4), ((16, 8), 128, 1)],
)
def test_all_elements_are_known_to_be_reached(shape, threads, lanes):
    image, _ = image_of(shape, threads, lanes)
    assert box(image) == [*map(range, shape)]


SIZES = st.integers(1, 6)


@given(st.lists(SIZES, min_size=1, max_size=4), SIZES, SIZES, st.integers(0, 3), st.integers(0, 3))
def test_a_box_is_what_the_loops_reach(shape, threads, lanes, shift, cut):
    image, loops = image_of(shape, threads, lanes, shift, cut)
    known = box(image)
    if known is not None:
        assert set(itertools.product(*known)) == elements(image, loops)


@given(
    width=st.integers(2, 70),
    outer=st.sampled_from([1, 2, 7, 8]),
    threads=st.integers(2, 5),
    lanes=st.sampled_from([4, 8, 16]),
)
def test_rows_and_columns_are_one_number_again(width, outer, threads, lanes):
    """Of an element that a loop counts, modulo vectors: whatever was simplified in between."""
    analyzer = Analyzer()
    for var, extent in ((O, outer), (T, threads), (L, lanes)):
        analyzer.bind_range(var, const(0), const(extent))
    total = O * (threads * lanes) + T * lanes + L
    row, column = analyzer.simplify(total // width), analyzer.simplify(total % width)
    lane = analyzer.simplify((row * (width % lanes) + column) % lanes)
    assert lane is analyzer.simplify(total % lanes)
    for place in itertools.product(range(outer), range(threads), range(lanes)):
        assert evaluate(lane, dict(zip((O, T, L), place, strict=True))) == place[2]


def test_a_quotient_is_put_together_with_one_remainder_only():
    """Two remainders of numbers that differ by a multiple of the divisor stand beside it."""
    analyzer = Analyzer()
    for var, extent in ((O, 7), (T, 4), (L, 16)):
        analyzer.bind_range(var, const(0), const(extent))
    simplifier = analyzer._simplifier
    number, other = (simplifier(O * n + T * 16 + L) for n in (64, 8))
    width = simplifier.constant(56, INT32)
    parts = [(FloorMod, number), (FloorMod, other), (FloorDiv, number)]
    kinds = [simplifier.make(kind, value, width) for kind, value in parts]
    terms = dict(zip(kinds, (1, 1, 8), strict=True))
    found, constant, _ = terms_modulo(simplifier, terms, 0, 16)
    for place in itertools.product(range(7), range(4), range(16)):
        values = dict(zip((O, T, L), place, strict=True))
        want = sum(factor * evaluate(term, values) for term, factor in terms.items())
        got = sum(factor * evaluate(term, values) for term, factor in found.items())
        assert (got + constant - want) % 16 == 0
