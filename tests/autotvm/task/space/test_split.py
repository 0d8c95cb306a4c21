"""Knobs that divide a loop: which sizes there are, and what applying them does."""

import math
from itertools import product

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.autotvm.task.space import ConfigSpace, SplitEntity
from tilewright.error import ArgumentError, ArgumentValueError


def sizes(length, **options):
    space = ConfigSpace()
    loops = space.define_split("tile", space.axis(length), **options)
    assert len(loops) == options.get("num_outputs", len(loops))
    return [entity.size for entity in space.space_map["tile"].entities]


def power(number):
    return number & (number - 1) == 0


ACCEPTED = {
    "factors": lambda length, factor: length % factor == 0,
    "power2": lambda length, factor: power(factor),
    "verbose": lambda length, factor: length % factor == 0 or power(factor),
}


@pytest.mark.parametrize("policy", ACCEPTED)
@pytest.mark.parametrize("length", [1, 12, 35, 56])
@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("no_tail", [None, True, False])
def test_policies_against_brute_force(policy, length, parts, no_tail):
    options = {} if no_tail is None else {"no_tail": no_tail}
    exact = policy == "factors" if no_tail is None else no_tail
    expected = set()
    for inner in product(range(1, length + 1), repeat=parts - 1):
        covered = math.prod(inner)
        if not all(ACCEPTED[policy](length, factor) for factor in inner):
            continue
        if covered <= length and not (exact and length % covered):
            expected.add((-1, *inner))
    found = sizes(length, policy=policy, num_outputs=parts, **options)
    assert len(found) == len(expected)
    assert set(map(tuple, found)) == expected


def test_the_innermost_size_changes_slowest():
    assert sizes(4, num_outputs=3) == [
        [-1, 1, 1], [-1, 2, 1], [-1, 4, 1], [-1, 1, 2], [-1, 2, 2], [-1, 1, 4],
    ]  # fmt: skip


def test_options():
    assert sizes(12, num_outputs=2, max_factor=4) == [[-1, 1], [-1, 2], [-1, 3], [-1, 4]]
    small = sizes(12, num_outputs=3, filter=lambda entity: entity.size[-1] * entity.size[-2] == 6)
    assert small == [[-1, 6, 1], [-1, 3, 2], [-1, 2, 3], [-1, 1, 6]]
    listed = [[4, 4, 4], [-1, 8, 2]]
    assert sizes(64, policy="candidate", candidate=listed) == listed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "all", "num_outputs": 2}, "the policy is 'factors', "),
        ({}, "`num_outputs`"),
        ({"num_outputs": 0}, "`num_outputs`"),
        ({"policy": "candidate", "num_outputs": 2}, "needs `candidate`"),
        ({"policy": "candidate", "candidate": [[4, 4], [4]]}, "a candidate has 2 sizes"),
        ({"policy": "candidate", "candidate": [[4, 0]]}, "sizes are positive"),
        ({"num_outputs": 2, "filter": lambda entity: False}, "has no values to choose from"),
    ],
)
def test_refusals(options, message):
    with pytest.raises((ArgumentError, ArgumentValueError), match=message):
        sizes(16, **options)


def test_axes():
    space = ConfigSpace()
    n = te.var("n")
    B = te.compute((n, 12), lambda i, j: i + j, name="B")
    with pytest.raises(ArgumentValueError, match="not a constant"):
        space.axis(B.op.axis[0])
    assert space.axis(B.op.axis[1]).length == 12
    assert space.axis(space.axis(tir.IntImm("int32", 7))).length == 7
    assert space.axis(te.thread_axis("threadIdx.x")).length is None
    with pytest.raises(ArgumentError, match="a number of iterations or a loop"):
        space.axis("i")
    with pytest.raises(ArgumentValueError, match="0 iterations"):
        space.axis(0)
    outer, _ = space.define_split("tile", B.op.axis[1], num_outputs=2)
    with pytest.raises(ArgumentValueError, match="depends on another knob"):
        space.define_split("again", outer, num_outputs=2)


@pytest.mark.parametrize("policy", ["factors", "power2", "verbose"])
def test_all_divisions_compute_the_same(policy):
    a = np.random.rand(11, 3).astype("float32")
    A = te.placeholder(a.shape, name="A")
    k = te.reduce_axis((0, 3), name="k")
    B = te.compute((11,), lambda i: te.sum(A[i, k], axis=k), name="B")
    for size in sizes(11, policy=policy, num_outputs=3):
        s = te.create_schedule(B.op)
        outer, middle, inner = SplitEntity(size).apply(s, B, B.op.axis[0])
        s[B].reorder(outer, k, inner, middle)
        arrays = [tvm.nd.array(a), tvm.nd.array(np.zeros(11, "float32"))]
        tvm.build(s, [A, B], "llvm")(*arrays)
        np.testing.assert_allclose(arrays[1].numpy(), a.sum(axis=1), rtol=1e-5, err_msg=str(size))


def test_applying():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    schedule = te.create_schedule(B.op)
    loops = SplitEntity([-1, 4, 2]).apply(schedule, B, B.op.axis[0])
    assert schedule[B].leaf_iter_vars == loops
    bounds = te.schedule.InferBound(schedule)
    assert [bounds[loop].extent.value for loop in loops] == [8, 4, 2]
    whole = te.create_schedule(B.op)
    assert SplitEntity([-1]).apply(whole, B, B.op.axis[0]) == [B.op.axis[0]]
