"""Python looks for garbage less often while nodes are made, and as before afterwards."""

import gc

import pytest

from tilewright.garbage import YOUNG, few_collections, lasting_objects


@pytest.fixture(autouse=True)
def _threshold():
    """Another one than that of all tests."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_threshold_is_restored():
    before = gc.get_threshold()
    with few_collections():
        assert gc.get_threshold()[0] == YOUNG
    assert gc.get_threshold() == before
    with pytest.raises(ZeroDivisionError), few_collections():
        raise ZeroDivisionError
    assert gc.get_threshold() == before


@pytest.mark.parametrize("rare", [0, 10 * YOUNG])
def test_a_user_who_wants_it_rarer_gets_that(rare):
    gc.set_threshold(rare)
    with few_collections():
        assert gc.get_threshold()[0] == rare


def test_lasting_objects_count_as_old():
    gc.unfreeze()
    before = gc.get_threshold()
    with lasting_objects():
        made = [[] for _ in range(1000)]
    oldest = {id(item) for item in gc.get_objects(generation=2)}
    assert all(id(item) in oldest for item in made)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_what_a_user_has_frozen_stays_frozen():
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        with lasting_objects():
            made = [[]]
        assert gc.get_freeze_count() == count
        assert made
    finally:
        gc.unfreeze()
