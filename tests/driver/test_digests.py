"""Digests by several cores."""

import numpy as np
import pytest

from tilewright.driver import digests
from tilewright.driver.digests import DIGEST_SIZE, checksum_of, digest_of


@pytest.fixture(params=[1, 3])
def cores(request, monkeypatch):
    monkeypatch.setattr(digests, "usable_cores", lambda: request.param)
    monkeypatch.setattr(digests, "PIECE", 8)


@pytest.fixture(params=[digest_of, checksum_of])
def summary_of(request):
    return request.param


def test_where_parts_are_divided_does_not_matter(cores, summary_of):
    data = bytes(range(100))
    whole = summary_of([data])
    assert len(whole) == DIGEST_SIZE
    for length in (1, 7, 8, 9, 24, 99):
        parts = [data[start : start + length] for start in range(0, 100, length)]
        assert summary_of(parts) == whole
        assert summary_of([b"", *map(memoryview, parts), np.zeros(0, np.uint8).data]) == whole


def test_every_byte_counts(cores, summary_of):
    found = {summary_of([bytes(length)]) for length in range(40)}
    for position in range(40):
        data = bytearray(40)
        data[position] = 1
        found.add(summary_of([bytes(data)]))
    assert len(found) == 80


@pytest.mark.parametrize("summary_of", [digest_of, checksum_of])
def test_every_byte_of_a_page_counts(summary_of):
    size = digests.PAGE + digests.WORD + 3
    data = bytearray(np.random.default_rng(0).bytes(size))
    found = {summary_of([bytes(data)])}
    for position in (0, 7, 8, digests.PAGE - 1, digests.PAGE, size - 1):
        data[position] ^= 128
        found.add(summary_of([bytes(data)]))
    assert len(found) == 7


@pytest.mark.parametrize("summary_of", [digest_of, checksum_of])
def test_pages_that_are_lost_or_exchanged_are_noticed(summary_of):
    first, second, zeros = (np.random.default_rng(n).bytes(digests.PAGE) for n in range(3))
    zeros = bytes(len(zeros))
    orders = [(first, second), (second, first), (first, zeros), (zeros, second), (first,)]
    assert len({summary_of(pages) for pages in orders}) == len(orders)


def test_the_number_of_cores_does_not_matter(monkeypatch, summary_of):
    monkeypatch.setattr(digests, "PIECE", 8)
    found = set()
    for count in (1, 2, 50):
        monkeypatch.setattr(digests, "usable_cores", lambda count=count: count)
        found.add(summary_of([bytes(range(100))]))
    assert len(found) == 1
