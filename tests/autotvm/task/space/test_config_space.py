"""Indices, random choices and filters of spaces; how they print."""

import random
from collections import Counter

import pytest

from tilewright.autotvm.task.space import ConfigSpace
from tilewright.error import ArgumentError, ArgumentValueError, InstantiationError, UnknownNameError


@pytest.fixture
def space():
    found = ConfigSpace()
    found.define_split("y", found.axis(8), num_outputs=2)
    found.define_split("x", found.axis(6), num_outputs=2)
    found.define_knob("u", [0, 16, 64])
    return found


def filtered(space):
    space.multi_filter(lambda knobs: knobs["y"].size[-1] * knobs["x"].size[-1] <= 12)
    space.multi_filter(lambda knobs: knobs["u"].val != 16)
    return space


def accepted(index, space):
    y, x, u = space.point2knob(index)
    return [1, 2, 4, 8][y] * [1, 2, 3, 6][x] <= 12 and u != 1


def test_indices(space):
    assert space.dims == [4, 4, 3]
    assert len(space) == space.range_length == 48
    assert space.point2knob(1) == [1, 0, 0]
    assert space.point2knob(4 * 4 + 4) == [0, 1, 1]
    for index in range(48):
        knob = space.point2knob(index)
        config = space.get(index)
        assert space.knob2point(knob) == index == config.index
        assert space.positions(config) == knob
        values = [space.space_map[name][at] for name, at in zip(space, knob, strict=True)]
        assert [config[name] for name in config] == values
    for wrong in (-1, 48):
        with pytest.raises(ArgumentValueError, match=f"there is no config {wrong}; .* 48 indices"):
            space.get(wrong)
    with pytest.raises(ArgumentValueError, match="an index is an integer"):
        space.get("1")
    for wrong in ([0, 0], [0, 0, 0, 0], [0, 4, 0], [0, -1, 0]):
        with pytest.raises(ArgumentValueError, match="are not those of a config"):
            space.at(wrong)


def test_filters_of_several_knobs(space):
    filtered(space)
    valid = [index for index in range(48) if accepted(index, space)]
    assert len(space) == len(valid) < space.range_length == 48
    assert list(space.indices()) == valid
    for index in range(48):
        assert space.is_index_valid(index) == (index in valid)
        if index not in valid:
            with pytest.raises(InstantiationError, match="left out by a filter"):
                space.get(index)
    assert not space.is_index_valid(48)
    with pytest.raises(ArgumentValueError, match="expected a function"):
        space.multi_filter(3)


@pytest.mark.parametrize("with_filters", [False, True])
def test_random_choices(space, with_filters):
    valid = list(range(48))
    if with_filters:
        filtered(space)
        valid = [index for index in range(48) if accepted(index, space)]
    source = random.Random(1)
    assert {space.get_rand_index(source=source) for _ in range(1000)} == set(valid)
    for m in (0, 1, 5, len(valid), 100):
        sample = space.sample_ints(m, source=source)
        assert len(set(sample)) == len(sample) == min(m, len(valid))
        assert set(sample) <= set(valid)
    for _ in range(100):
        point = source.choice(valid)
        near = space.random_walk(point, source=source)
        assert near in valid
        pairs = zip(space.point2knob(point), space.point2knob(near), strict=True)
        assert sum(a != b for a, b in pairs) == 1


def test_random_choices_are_even(space):
    filtered(space)
    source = random.Random(2)
    counts = Counter(space.get_rand_index(source=source) for _ in range(200 * len(space)))
    assert min(counts.values()) > 100
    assert max(counts.values()) < 300


def test_random_choices_within_limits(space):
    source = random.Random(1)
    found = {space.get_rand_index(10, 15, to_exclude=[11], source=source) for _ in range(200)}
    assert found == {10, 12, 13, 14}
    assert space.get_rand_index(47, source=source) == 47
    with pytest.raises(ArgumentValueError, match="from 10 to 10 that is not excluded"):
        space.get_rand_index(10, 11, to_exclude=[10])
    rare = ConfigSpace()
    rare.define_knob("n", list(range(5000)))
    rare.multi_filter(lambda knobs: knobs["n"].val == 4321)
    assert rare.get_rand_index(source=source) == 4321
    assert rare.random_walk(4321) == 4321


def test_large_spaces():
    space = ConfigSpace()
    for name in "abcdefgh":
        space.define_knob(name, list(range(1000)))
    assert space.range_length == 10**24
    assert str(space).startswith("ConfigSpace (len=1000000000000000000000000, range_length=10000")
    source = random.Random(1)
    sample = space.sample_ints(50, source=source)
    assert len(set(sample)) == 50
    assert max(sample) > 10**22
    for index in sample:
        assert space.get(index).index == index
        assert space.random_walk(index, source=source) != index
    space.multi_filter(lambda knobs: knobs["h"].val % 2)
    assert all(space.get(index)["h"].val % 2 for index in space.sample_ints(10, source=source))
    space.multi_filter(lambda knobs: False)
    assert space.sample_ints(10, source=source) == []
    with pytest.raises(ArgumentValueError, match="no config was found"):
        space.get_rand_index()


def test_printing(space):
    assert str(space) == (
        "ConfigSpace (len=48, range_length=48, space_map=\n"
        "   0 y: Split(policy=factors, product=8, num_outputs=2) len=4\n"
        "   1 x: Split(policy=factors, product=6, num_outputs=2) len=4\n"
        "   2 u: OtherOption([0, 16, 64]) len=3\n"
        ")"
    )
    axes = [space.axis(2), space.axis(3)]
    space.define_reorder("order", axes, "all")
    space.define_annotate("how", axes, "try_vec")
    assert str(space).endswith(
        "   3 order: Reorder(policy=all) len=2\n   4 how: Annotate(policy=try_vec) len=3\n)"
    )


def test_printing_with_filters(space):
    assert str(filtered(space)).startswith("ConfigSpace (len=24, range_length=48")


def test_the_fingerprint_is_of_names_and_values(space):
    known = space.fingerprint
    assert len(known) == 16
    space.define_knob("u", [0, 16, 128])
    assert space.fingerprint != known
    space.define_knob("u", [0, 16, 64])
    assert space.fingerprint == known


def test_wrong_knobs(space):
    with pytest.raises(ArgumentValueError, match="'empty' has no values"):
        space.define_knob("empty", [])
    with pytest.raises(ArgumentValueError, match="`candidate` is a list"):
        space.define_knob("u", 3)
    with pytest.raises(ArgumentValueError, match="which records can hold"):
        space.define_knob("u", [lambda: 0])
    with pytest.raises(ArgumentValueError, match="the name of a knob is a string"):
        space.define_knob(3, [1])
    with pytest.raises(UnknownNameError, match="no knob 'yy'; did you mean 'y'"):
        space["yy"]
    with pytest.raises(UnknownNameError, match="no knob 'tile'; it has y, x, u"):
        space["tile"]


def test_what_a_template_says_of_itself():
    space = ConfigSpace()
    assert space.valid()
    space.add_flop(10)
    space.add_flop(2.5)
    assert space.flop == 12.5
    with pytest.raises(ArgumentError, match="expected a number"):
        space.add_flop("many")
    space.raise_error("too large")
    assert not space.valid()
    assert space.errors == ["too large"]
    assert len(space) == 1  # the config of a template without knobs
