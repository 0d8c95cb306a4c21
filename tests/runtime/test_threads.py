"""How many threads parallel loops use."""

import numpy as np
import pytest

from tilewright import runtime
from tilewright.error import ArgumentError, ArgumentValueError


@pytest.fixture(autouse=True)
def nothing_stays_set():
    yield
    runtime.set_num_threads(None)


def test_the_number_can_be_set_and_reset():
    before = runtime.num_threads()
    assert before >= 1
    runtime.set_num_threads(3)
    assert runtime.num_threads() == 3
    runtime.set_num_threads(np.int64(5))
    assert runtime.num_threads() == 5
    runtime.set_num_threads(None)
    assert runtime.num_threads() == before


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_numbers_out_of_range_are_refused(count):
    with pytest.raises(ArgumentValueError, match="between 1 and 1024"):
        runtime.set_num_threads(count)


@pytest.mark.parametrize("count", ["2", 1.5])
def test_what_is_no_number_is_refused(count):
    with pytest.raises(ArgumentError, match="an integer or None"):
        runtime.set_num_threads(count)
