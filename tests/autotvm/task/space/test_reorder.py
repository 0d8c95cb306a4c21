"""Knobs that choose the order of loops."""

from itertools import permutations

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te
from tilewright.autotvm.task.space import ConfigSpace, ReorderEntity
from tilewright.error import ArgumentValueError


def orders(count, policy, **options):
    space = ConfigSpace()
    axes = [space.axis(4) for _ in range(count)]
    given = {name: choose(axes) for name, choose in options.items()}
    space.define_reorder("order", axes, policy, **given)
    return [entity.perm for entity in space.space_map["order"].entities]


def test_policies():
    assert orders(3, "identity") == [[0, 1, 2]]
    assert orders(3, "all") == [list(order) for order in permutations(range(3))]
    inner = orders(5, "interval_all", interval=lambda axes: (1, 4))
    assert inner == [[0, *order, 4] for order in permutations((1, 2, 3))]
    listed = orders(3, "candidate", candidate=lambda a: [[a[2], a[0], a[1]], [a[1], a[0], a[2]]])
    assert listed == [[2, 0, 1], [1, 0, 2]]


def test_chains_keep_their_order():
    def spatial(axes):
        return [axes[0:3], axes[3:6]]

    def reduce(axes):
        return [axes[6:8], axes[8:10]]

    (mixed,) = orders(10, "interleave", spatial=spatial, reduce=reduce)
    (last,) = orders(10, "interleave_cuda", spatial=spatial, reduce=reduce)
    assert mixed == [0, 3, 1, 4, 6, 8, 2, 5, 7, 9]
    assert last == [0, 3, 1, 4, 6, 8, 7, 9, 2, 5]
    for order in (mixed, last):
        assert sorted(order) == list(range(10))


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ("some", {}, "the policy is one of"),
        ("candidate", {}, "needs `candidate`"),
        ("interval_all", {}, "needs `interval`"),
        ("interleave", {"spatial": lambda axes: []}, "needs `reduce`"),
        ("candidate", {"candidate": lambda axes: [[axes[0], axes[0]]]}, "names other loops"),
        ("candidate", {"candidate": lambda axes: [[axes[0], "i"]]}, "names other loops"),
        ("candidate", {"candidate": lambda axes: []}, "has no values to choose from"),
    ],
)
def test_refusals(policy, options, message):
    with pytest.raises(ArgumentValueError, match=message):
        orders(3, policy, **options)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_applying(order):
    A = te.placeholder((4, 6), name="A")
    B = te.placeholder((6, 8), name="B")
    k = te.reduce_axis((0, 6), name="k")
    C = te.compute((4, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    axes = [*C.op.axis, *C.op.reduce_axis]
    ordered = ReorderEntity(order).apply(s, C, axes)
    assert ordered == [axes[position] for position in order] == s[C].leaf_iter_vars
    a, b = np.random.rand(4, 6).astype("float32"), np.random.rand(6, 8).astype("float32")
    arrays = [tvm.nd.array(x) for x in (a, b, np.zeros((4, 8), "float32"))]
    tvm.build(s, [A, B, C], "llvm")(*arrays)
    np.testing.assert_allclose(arrays[2].numpy(), a @ b, rtol=1e-5)


def test_the_last_loops_may_be_left_out():
    B = te.compute((4, 6), lambda i, j: i + j, name="B")
    s = te.create_schedule(B.op)
    i, j = B.op.axis
    assert ReorderEntity([2, 1, 0]).apply(s, B, [i, j]) == [j, i]
