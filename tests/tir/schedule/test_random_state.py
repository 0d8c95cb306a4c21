"""The random choices of a schedule."""

from tilewright.tir.schedule.traces.random_choices import RandomState


def test_the_first_numbers_of_small_seeds_are_as_different_as_others():
    first = [RandomState(seed).uniform() for seed in range(200)]
    for quarter in range(4):
        assert 25 < sum(quarter <= 4 * number < quarter + 1 for number in first) < 80


def test_a_seed_repeats_the_numbers():
    one, other = RandomState(7), RandomState(7)
    assert [one.next() for _ in range(5)] == [other.next() for _ in range(5)]
