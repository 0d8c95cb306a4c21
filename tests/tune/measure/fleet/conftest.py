"""Virtual time for the tests of fleets."""

import pytest
from benchmarks.fleet.virtual_time import VirtualLoop


@pytest.fixture
def loop():
    made = VirtualLoop()
    yield made
    made.close()
