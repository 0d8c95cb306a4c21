"""Works are found and chosen by name."""

import pytest
from benchmarks.harness.registry import Entry, entries, select
from benchmarks.suite.work import Work


def entry(family, name):
    return Entry(family, Work(name, None, None, None, None, {}))


ENTRIES = [
    entry("matmul", "matmul 64x64x64"),
    entry("matmul", "matmul 8x8x8"),
    entry("rows", "softmax 8x64"),
]


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ([], ["matmul 64x64x64", "matmul 8x8x8", "softmax 8x64"]),
        (["rows"], ["softmax 8x64"]),
        (["64"], ["matmul 64x64x64", "softmax 8x64"]),
        (["matmul*8"], ["matmul 8x8x8"]),
        (["SOFT", "8x8x8"], ["matmul 8x8x8", "softmax 8x64"]),
    ],
)
def test_select(patterns, names):
    assert [e.work.name for e in select(ENTRIES, patterns)] == names


def test_a_pattern_that_names_nothing_is_an_error():
    with pytest.raises(ValueError, match="'sftmax'"):
        select(ENTRIES, ["rows", "sftmax"])


def test_every_family_is_found_and_its_works_are_whole():
    found = entries()
    assert {"matmul", "elementwise"} <= {e.family for e in found}
    for e in found:
        assert e.work.flop or e.work.bytes, e.work.name
        assert set(e.work.against) <= set(e.work.peers), e.work.name
