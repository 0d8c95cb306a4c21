"""Whether programs run all instances of a block, and write all that others write."""

import pytest
from tests.tir.analysis.dependence.scripts import function

from tilewright.ir.rewrite import walk
from tilewright.tir import BlockRealize
from tilewright.tir.analysis.dependence import (
    Violation,
    analyze,
    check_written,
    runs_whole_domain,
)
from tilewright.tir.substitute import substitute


def loops(head, value, extra="", arguments="A: T.Buffer((12,), 'float32')"):
    """A block over 12 instances, in given loops."""
    return function(
        f"""
for {head}:
    with T.block("S"):
        v = T.axis.spatial(12, {value})
        {extra}
        A[v] = T.float32(1)
""",
        arguments,
    )


def block_of(func):
    return next(
        node.block
        for node in walk(func)
        if isinstance(node, BlockRealize) and node.block.name_hint == "S"
    )


@pytest.mark.parametrize(
    ("head", "value", "extra", "expected"),
    [
        ("i in range(12)", "i", "pass", True),
        ("i in range(11)", "i", "pass", False),
        ("i, j in T.grid(3, 5)", "i * 5 + j", "T.where(i * 5 + j < 12)", True),
        ("i, j in T.grid(3, 5)", "i * 4 + j", "T.where(i * 4 + j < 12)", True),
        ("i, j in T.grid(3, 3)", "i * 4 + j", "pass", False),
        ("i in range(12)", "i", "T.where(i < 5)", False),
    ],
)
def test_loops_that_run_all_instances(head, value, extra, expected):
    func = loops(head, value, extra)
    assert runs_whole_domain(analyze(func), block_of(func)) is expected


def test_a_condition_on_data_may_leave_instances_out():
    func = loops("i in range(12)", "i", "T.where(A[i] > T.float32(0))")
    assert not runs_whole_domain(analyze(func), block_of(func))


def copies(*extents):
    """A function that writes an output in so many loops, one after the other."""
    nests = "".join(
        f"""
for i in range({extent}):
    with T.block("S{number}"):
        v = T.axis.spatial(12, i)
        B[v] = A[v]
"""
        for number, extent in enumerate(extents)
    )
    return function(nests, "A: T.Buffer((12,), 'float32'), B: T.Buffer((12,), 'float32')")


def missing(before, body):
    """What `before` writes of its output and the same function with another body does not."""
    output = before.buffer_map[before.params[1]]
    after = body.replace(params=before.params, buffer_map=before.buffer_map)
    buffers = dict(zip(body.buffer_map.values(), before.buffer_map.values(), strict=True))
    after = after.with_body(substitute(body.body, {}, buffers))
    return check_written(analyze(before), analyze(after), output)


def test_all_elements_are_still_written():
    assert missing(copies(12), copies(12)) is None
    assert missing(copies(5), copies(3, 7)) is None


def test_an_element_that_is_not_written_any_more():
    found = missing(copies(12), copies(3, 7))
    assert isinstance(found, Violation)
    assert str(found) == "B[7] is not written any more"


def test_writes_under_a_condition_on_data_do_not_count():
    conditional = function(
        """
for i in range(12):
    with T.block("S"):
        v = T.axis.spatial(12, i)
        if A[v] > T.float32(0):
            B[v] = A[v]
""",
        "A: T.Buffer((12,), 'float32'), B: T.Buffer((12,), 'float32')",
    )
    found = missing(copies(12), conditional)
    assert isinstance(found, Violation)
    assert str(found) == "B[0] is not written any more"


def test_a_buffer_that_is_not_written():
    func = copies(12)
    unwritten = func.buffer_map[func.params[0]]
    assert check_written(analyze(func), analyze(func), unwritten) is None
