"""Index maps: applying, inverting (checked by enumeration), comparing."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arith.expressions import evaluate

import tilewright as tvm
from tilewright import tir
from tilewright.error import ArgumentError, ArgumentValueError, DTypeError
from tilewright.ir import DType, SizeVar, Var, structural_equal, structural_hash
from tilewright.tir import IndexMap, Range

INT64 = DType("int64")


def values(index_map, place):
    """The new indices of one element, by evaluating the map as it is."""
    where = dict(zip(index_map.initial_indices, place, strict=True))
    return tuple(evaluate(index, where) for index in index_map.final_indices)


def numbers(exprs):
    return tuple(expr.value for expr in exprs)


def places(shape):
    return itertools.product(*map(range, shape))


# --- inverses, by enumeration ---------------------------------------------------------------


@st.composite
def layouts(draw, padded):
    """A shape, and a function that splits, fuses, shifts and reorders its indices."""
    rank = draw(st.integers(1, 3))
    shape, groups = [], []
    for _ in range(rank):
        tiles = draw(st.lists(st.integers(1, 4), max_size=2))
        outer = draw(st.integers(1, 4))
        extent = outer * int(np.prod(tiles, dtype=int))
        offset = 0
        if padded:
            extent = draw(st.integers(1, max(extent, 1)))
            offset = draw(st.integers(0, 5))
        shape.append(extent)
        groups.append((tiles, offset))
    fuse = draw(st.booleans()) and rank > 1 and not groups[0][1] and not groups[1][1]
    order = draw(st.permutations(range(12)))

    def mapping(*indices):
        sources = list(zip(indices, groups, strict=True))
        if fuse:  # the tiles of the second dimension then split both
            (i, _), (j, _), *rest = sources
            sources = [(i * shape[1] + j, groups[1]), *rest]
        digits = []
        for index, (tiles, offset) in sources:
            index = index + offset
            for tile in tiles:
                digits.append(index % tile)
                index = index // tile
            digits.append(index)
        return [digits[k] for k in order if k < len(digits)]

    return tuple(shape), IndexMap.from_func(mapping, ndim=rank)


@given(layouts(padded=False))
def test_a_map_followed_by_its_inverse_is_the_identity(layout):
    shape, index_map = layout
    back = index_map.inverse(shape)
    new_shape = numbers(index_map.map_shape(shape))
    images = {values(index_map, place): place for place in places(shape)}
    assert set(images) == set(places(new_shape))
    for image, place in images.items():
        assert values(back, image) == place
        assert numbers(index_map.map_indices(place)) == image


@given(layouts(padded=True))
def test_the_predicate_holds_exactly_at_the_padding(layout):
    shape, index_map = layout
    back, is_padding = index_map.non_surjective_inverse(shape)
    new_shape = numbers(index_map.map_shape(shape))
    images = {values(index_map, place): place for place in places(shape)}
    for new in places(new_shape):
        where = dict(zip(back.initial_indices, new, strict=True))
        assert bool(evaluate(is_padding, where)) == (new not in images), new
        if new in images:
            assert values(back, new) == images[new]


@given(layouts(padded=True))
def test_an_inverse_exists_only_without_padding(layout):
    shape, index_map = layout
    new_shape = numbers(index_map.map_shape(shape))
    images = {values(index_map, place) for place in places(shape)}
    if images == set(places(new_shape)):
        back = index_map.inverse(shape)
        assert all(values(back, values(index_map, place)) == place for place in places(shape))
    elif all(0 in column for column in zip(*images, strict=True)):
        with pytest.raises(ArgumentValueError, match="padding"):
            index_map.inverse(shape)


@pytest.mark.parametrize(("side", "lanes"), [(12, 8), (14, 8), (7, 16), (10, 4)])
def test_the_digits_of_two_indices_as_one(side, lanes):
    """The remainder alone is that of a smaller number."""

    def vectors(y, x):
        return (y * side + x) // lanes, (y * (side % lanes) + x) % lanes

    index_map = IndexMap.from_func(vectors)
    back, _ = index_map.non_surjective_inverse([side, side])
    for place in places((side, side)):
        assert values(back, values(index_map, place)) == place


def test_the_usual_padding():
    index_map = IndexMap.from_func(lambda i: (i // 4, i % 4))
    back, is_padding = index_map.non_surjective_inverse([14])
    assert repr(back) == "T.index_map(lambda axis0, axis1: (axis0 * 4 + axis1,))"
    assert repr(is_padding) == "axis0 * 4 + axis1 >= 14"


def test_no_padding_is_the_constant_false():
    index_map = IndexMap.from_func(lambda i: (i // 4, i % 4))
    back, is_padding = index_map.non_surjective_inverse([16])
    assert is_padding.value == 0
    assert structural_equal(back, index_map.inverse([16]))


@pytest.mark.parametrize("n_value", [1, 3, 4, 7, 8])
def test_padding_of_a_symbolic_extent(n_value):
    n = SizeVar("n", INT64)
    index_map = IndexMap.from_func(lambda i: (i // 4, i % 4))
    back, is_padding = index_map.non_surjective_inverse([n])
    outer = evaluate(index_map.map_shape([n])[0], {n: n_value})
    assert outer == -(-n_value // 4)
    for new in places((outer, 4)):
        where = dict(zip(back.initial_indices, new, strict=True))
        place = evaluate(back.final_indices[0], where)
        assert bool(evaluate(is_padding, {**where, n: n_value})) == (place >= n_value)


def test_ranges_that_start_elsewhere():
    index_map = IndexMap.from_func(lambda i: (i // 4, i % 4))
    domain = [Range.from_min_extent(tir.const(6), tir.const(7))]
    back, is_padding = index_map.non_surjective_inverse(domain)
    old = range(6, 13)
    for new in places((4, 4)):
        place = values(back, new)[0]
        assert place == new[0] * 4 + new[1]
        where = dict(zip(back.initial_indices, new, strict=True))
        assert bool(evaluate(is_padding, where)) == (place not in old)
    low, _ = index_map.map_ranges(domain)
    assert (low.min.value, low.extent.value) == (1, 3)


def test_a_given_inverse_is_used():
    index_map = IndexMap.from_func(lambda i: 7 - i, inverse_index_map=lambda i: 7 - i)
    assert index_map.inverse([8]) is index_map.inverse_index_map
    back, is_padding = index_map.non_surjective_inverse([8])
    assert back is index_map.inverse_index_map
    assert is_padding.value == 0


def test_padding_between_elements_needs_a_given_inverse():
    with pytest.raises(ArgumentValueError, match=r"a stride is 2.*give its inverse_index_map"):
        IndexMap.from_func(lambda i: i * 2).non_surjective_inverse([5])
    index_map = IndexMap.from_func(lambda i: i * 2, inverse_index_map=lambda i: i // 2)
    back, is_padding = index_map.non_surjective_inverse([5])
    (var,) = back.initial_indices
    assert [bool(evaluate(is_padding, {var: place})) for place in range(9)] == [False, True] * 4 + [
        False
    ]


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        (lambda i, j: (i,), "the iterator j is not used"),
        (lambda i, j: (i * j,), "multiplies iterators"),
        (lambda i, j: (i, j, i), "used twice|used"),
        (lambda i, j: (i // 2, j), "not used"),
    ],
)
def test_what_is_not_injective_is_refused(mapping, reason):
    index_map = IndexMap.from_func(mapping)
    with pytest.raises(ArgumentValueError, match=reason):
        index_map.inverse([8, 8])
    with pytest.raises(ArgumentValueError, match=reason):
        index_map.non_surjective_inverse([8, 8])


# --- applying -------------------------------------------------------------------------------


def test_indices_and_shapes():
    index_map = IndexMap.from_func(lambda i, j: (i // 4, j, i % 4))
    assert numbers(index_map.map_shape([16, 8])) == (4, 8, 4)
    assert numbers(index_map.map_indices([7, 2])) == (1, 2, 3)
    i = Var("i", "int32")
    assert [repr(e) for e in index_map.map_indices([i * 4 + 1, 0])] == ["i", "0", "1"]


def test_an_analyzer_knows_more():
    i = Var("i", "int32")
    analyzer = tvm.arith.Analyzer()
    analyzer.bind(i, Range.from_extent(4))
    index_map = IndexMap.from_func(lambda i: (i // 4, i % 4))
    assert repr(index_map.map_indices([i], analyzer)) == "[0, i]"


def test_the_dtype_is_that_of_what_is_given():
    index_map = IndexMap.from_func(lambda i: (i // 4, tir.if_then_else(i < 2, 1, 0), tir.min(i, 3)))
    wide, narrow = Var("i", "int64"), Var("i", "int32")
    assert {e.dtype for e in index_map.map_indices([wide])} == {"int64"}
    assert {e.dtype for e in index_map.map_indices([narrow])} == {"int32"}
    from_wide = IndexMap.from_func(lambda i: (i // 4, i % 4), index_dtype="int64")
    assert {e.dtype for e in from_wide.map_indices([narrow])} == {"int32"}
    assert {e.dtype for e in from_wide.map_indices([5])} == {"int64"}
    mixed = IndexMap.from_func(lambda i, j: i * 4 + j)
    assert mixed.map_indices([wide, narrow])[0].dtype == "int64"


def test_a_shape_has_room_for_the_largest_index():
    assert numbers(IndexMap.from_func(lambda i: i + 3).map_shape([5])) == (8,)
    assert numbers(IndexMap.from_func(lambda i: 7 - i).map_shape([5])) == (8,)
    with pytest.raises(ArgumentValueError, match="indices start at -1"):
        IndexMap.from_func(lambda i: i - 1).map_shape([5])


def test_indices_without_bounds():
    n = Var("n", "int32")
    index_map = IndexMap.from_func(lambda i: tir.bitwise_xor(i, n))
    with pytest.raises(ArgumentValueError, match="no known bounds"):
        index_map.map_shape([5])


def test_arrays():
    index_map = IndexMap.from_func(lambda i, j: (i // 4, j, i % 4))
    source = np.arange(12, dtype="float32").reshape(6, 2)
    moved = index_map.map_ndarray(source)
    assert moved.shape == (2, 2, 4)
    for (i, j), value in np.ndenumerate(source):
        assert moved[i // 4, j, i % 4] == value
    assert not moved[1, :, 2:].any()
    result = index_map.map_ndarray(tvm.nd.array(source))
    assert isinstance(result, tvm.nd.NDArray)
    np.testing.assert_array_equal(result.numpy(), moved)


def test_every_operator_of_an_array_map():
    def mapping(i):
        half = tir.Select(tir.all(i >= 4, i != 99), i - 4, i)
        return tir.max(tir.min(half, 3), 0), tir.Cast("int32", i >= 4)

    source = np.arange(8)
    with pytest.raises(ArgumentValueError, match=r"no known bounds|cannot evaluate|several"):
        IndexMap.from_func(lambda i: tir.bitwise_and(i, 3)).map_ndarray(source)
    moved = IndexMap.from_func(mapping).map_ndarray(source)
    np.testing.assert_array_equal(moved, source.reshape(2, 4).T)


def test_arrays_of_which_elements_would_be_lost():
    with pytest.raises(ArgumentValueError, match="several elements to the same place"):
        IndexMap.from_func(lambda i: i // 2).map_ndarray(np.arange(4))
    with pytest.raises(ArgumentError, match="expects an array"):
        IndexMap.from_func(lambda i: i // 2).map_ndarray([1, 2])


# --- functions ------------------------------------------------------------------------------


def test_functions_of_any_signature():
    def everything(i, *rest, last):
        return [*reversed(rest), i, last]

    index_map = IndexMap.from_func(everything, ndim=4)
    assert [v.name for v in index_map.initial_indices] == ["i", "rest_0", "rest_1", "last"]
    assert numbers(index_map.map_indices([1, 2, 3, 4])) == (3, 2, 1, 4)


def test_no_indices_at_all():
    index_map = IndexMap.from_func(lambda: (0, 0))
    assert numbers(index_map.map_shape([])) == (1, 1)
    assert structural_equal(index_map.inverse([]).map_indices([0, 0]), [])


def test_axis_separators():
    index_map, separators = IndexMap.from_func_with_separators(
        lambda i, j: [i, IndexMap.AXIS_SEPARATOR, j // 4, j % 4]
    )
    assert separators == [1]
    assert len(index_map.final_indices) == 3
    with pytest.raises(ArgumentValueError, match="from_func_with_separators"):
        IndexMap.from_func(lambda i: [i, IndexMap.AXIS_SEPARATOR, 0])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: IndexMap.from_func(5), ArgumentError, "expects a function"),
        (lambda: IndexMap.from_func(lambda *i: i), ArgumentError, "takes \\*i, so it needs ndim"),
        (lambda: IndexMap.from_func(lambda i: i, ndim=2), ArgumentError, "1 indices for ndim=2"),
        (lambda: IndexMap.from_func(lambda **k: 0), ArgumentError, "kwargs"),
        (lambda: IndexMap.from_func(lambda i: None), ArgumentError, "integer expressions.*None"),
        (lambda: IndexMap.from_func(lambda i: i * 1.5), ArgumentError, "integer expressions"),
        (lambda: IndexMap.from_func(lambda i: i < 4), ArgumentError, "integer expressions"),
        (lambda: IndexMap.from_func(lambda i: "x"), ArgumentError, "integer expressions"),
        (
            lambda: IndexMap.from_func(lambda i: i, index_dtype="float32"),
            DTypeError,
            "not an integer",
        ),
        (lambda: IndexMap.from_func(lambda i: i, index_dtype=["int32"] * 2), ArgumentError, "2 d"),
        (
            lambda: IndexMap.from_func(lambda i: (i // 4, i % 4), inverse_index_map=lambda i: i),
            ArgumentError,
            "1 indices for ndim=2",
        ),
        (
            lambda: IndexMap.from_func(
                lambda i: (i // 4, i % 4), inverse_index_map=IndexMap.from_func(lambda i: i)
            ),
            ArgumentValueError,
            "takes 1 indices and gives 2, so it cannot be inverted by one that takes 1 and gives 1",
        ),
        (lambda: SPLIT.map_indices([1, 2]), ArgumentError, "a list of 1 indices"),
        (lambda: SPLIT.map_indices([1.5]), DTypeError, "needs integers"),
        (lambda: SPLIT.map_shape(4), ArgumentError, "a list of 1 extents, got 4"),
        (lambda: SPLIT.map_shape([0]), ArgumentValueError, "extent 0"),
        (lambda: SPLIT.inverse(["4"]), DTypeError, "needs integers"),
        (lambda: SPLIT.is_equivalent_to(4), ArgumentError, "expects an index map"),
    ],
)
def test_mistakes(make, error, message):
    with pytest.raises(error, match=message):
        make()


SPLIT = IndexMap.from_func(lambda i: (i // 4, i % 4))

# --- comparing ------------------------------------------------------------------------------


def test_equality_is_up_to_names():
    same = IndexMap.from_func(lambda x: (x // 4, x % 4))
    assert structural_equal(SPLIT, same)
    assert structural_hash(SPLIT) == structural_hash(same)
    for other in (
        IndexMap.from_func(lambda i: (i % 4, i // 4)),
        IndexMap.from_func(lambda i: (i // 4, i % 4), index_dtype="int64"),
        IndexMap.from_func(lambda i: (i // 4, i % 4), inverse_index_map=lambda i, j: i * 4 + j),
    ):
        assert not structural_equal(SPLIT, other)
        assert structural_hash(SPLIT) != structural_hash(other)


def test_equivalence_is_up_to_arithmetic():
    other = IndexMap.from_func(lambda i: ((2 * i) // 8, i - i // 4 * 4), index_dtype="int64")
    assert SPLIT.is_equivalent_to(other)
    assert not SPLIT.is_equivalent_to(IndexMap.from_func(lambda i: (i // 4, i % 8)))
    assert not SPLIT.is_equivalent_to(IndexMap.from_func(lambda i: (i // 4, i % 4, 0)))
    assert not SPLIT.is_equivalent_to(IndexMap.from_func(lambda i, j: (i // 4, i % 4)))


def test_names_of_parameters_are_kept_in_json():
    index_map = IndexMap.from_func(lambda m, n: [m // 4, n, m % 4])
    for form in ("tilewright", "tvm"):
        again = tvm.ir.load_json(tvm.ir.save_json(index_map, form))
        assert [var.name for var in again.initial_indices] == ["m", "n"]
        assert str(again) == str(index_map)
