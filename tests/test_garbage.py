"""Python looks for garbage less often while nodes are made, and as before afterwards."""

import gc

import pytest

from tilewright.garbage import YOUNG, few_collections


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
    before = gc.get_threshold()
    gc.set_threshold(rare)
    try:
        with few_collections():
            assert gc.get_threshold()[0] == rare
    finally:
        gc.set_threshold(*before)
