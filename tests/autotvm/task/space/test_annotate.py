"""Knobs that choose how loops run, or where caches are computed."""

from itertools import combinations, product

import numpy as np
import pytest

import tilewright as tvm
from tilewright import te
from tilewright.autotvm.task.space import AnnotateEntity, ConfigSpace
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.tir.stmt import For, ForKind
from tilewright.tir.transform.building.statements import statements


def annotations(count, policy, **options):
    space = ConfigSpace()
    axes = [space.axis(4) for _ in range(count)]
    space.define_annotate("how", axes, policy, **options)
    return [entity.anns for entity in space.space_map["how"].entities]


@pytest.mark.parametrize(
    ("policy", "choices"),
    [
        ("unroll", ["unroll"]),
        ("try_unroll", ["none", "unroll"]),
        ("try_vec", ["none", "vec"]),
        ("try_unroll_vec", ["none", "unroll", "vec"]),
    ],
)
def test_policies_of_loops_against_brute_force(policy, choices):
    for count in (1, 2, 3):
        every = [list(choice) for choice in product(choices, repeat=count)]
        assert annotations(count, policy) == [c for c in every if c.count("vec") < 2]


def test_at_most_one_loop_is_vectorised():
    assert annotations(1, "vec") == [["vec"]]
    with pytest.raises(ArgumentValueError, match="has no values to choose from"):
        annotations(2, "vec")


def test_threads():
    x, y, z = ("blockIdx.x", "threadIdx.x"), ("blockIdx.y", "threadIdx.y"), "fuse"
    assert annotations(2, "bind_gpu") == [list(x)]
    assert annotations(3, "bind_gpu") == [[z, *x]]
    assert annotations(4, "bind_gpu") == [[y[0], x[0], y[1], x[1]]]
    assert annotations(7, "bind_gpu")[0][:2] == ["fuse", "blockIdx.z"]
    assert annotations(3, "bind_gpu_virtual") == [["blockIdx.x", "vthread", "threadIdx.x"]]
    assert annotations(7, "bind_gpu_virtual") == [
        ["fuse", y[0], x[0], "vthread", "vthread", y[1], x[1]]
    ]
    assert len(annotations(9, "bind_gpu_virtual")[0]) == 9
    for count, policy in ((1, "bind_gpu"), (2, "bind_gpu_virtual")):
        with pytest.raises(ArgumentValueError, match=f"binds at least .* got {count}"):
            annotations(count, policy)


def test_caches():
    assert annotations(4, "locate_cache", num_anchor=2) == list(
        map(list, combinations(range(4), 2))
    )
    with pytest.raises(ArgumentError, match="needs `num_anchor`"):
        annotations(4, "locate_cache")
    with pytest.raises(ArgumentValueError, match="the policy is one of"):
        annotations(4, "parallel")


def scale():
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] * 2.0, name="B")
    return A, B, te.create_schedule(B.op)


def loops_of(s, args):
    body = te.schedule.schedule_to_prim_func(s, args).body
    return [stmt for stmt in statements(body) if isinstance(stmt, For)]


def is_right(s, A, B):
    a = np.random.rand(4, 8).astype("float32")
    arrays = [tvm.nd.array(a), tvm.nd.array(np.zeros_like(a))]
    tvm.build(s, [A, B], "llvm")(*arrays)
    return np.array_equal(arrays[1].numpy(), a * 2)


def test_applying_to_loops():
    A, B, s = scale()
    assert AnnotateEntity(["unroll", "vec"]).apply(s, B, B.op.axis) == list(B.op.axis)
    kinds = [loop.kind for loop in loops_of(s, [A, B])]
    assert kinds == [ForKind.UNROLLED, ForKind.VECTORIZED]
    assert is_right(s, A, B)
    A, B, s = scale()
    AnnotateEntity(["none", "none"]).apply(s, B, B.op.axis)
    assert {loop.kind for loop in loops_of(s, [A, B])} == {ForKind.SERIAL}


def test_applying_fuses_and_binds():
    A, B, s = scale()
    outer, inner = s[B].split(B.op.axis[1], 2)
    loops = AnnotateEntity(["fuse", "blockIdx.x", "threadIdx.x"]).apply(
        s, B, [B.op.axis[0], outer, inner]
    )
    threads = [(loop.thread_binding.thread_tag, loop.extent.value) for loop in loops_of(s, [A, B])]
    assert threads == [("blockIdx.x", 16), ("threadIdx.x", 2)]
    assert len(loops) == 3
    assert loops[1] in s[B].leaf_iter_vars


def test_applying_computes_caches():
    A, B, s = scale()
    copy = s.cache_read(A, "global", [B])
    AnnotateEntity([0]).apply(s, B, B.op.axis, source=[[copy]])
    assert s[copy].attach_ivar is B.op.axis[0]
    assert is_right(s, A, B)


def test_limits():
    for lengths, refused in (([4, 8], 0), ([32, 8], 1), ([32, 5], 2)):
        _, B, s = scale()
        cfg = ConfigSpace()
        AnnotateEntity(["unroll", "vec"]).apply(
            s, B, B.op.axis, axis_lens=lengths, max_unroll=16, vec_size=[4, 8], cfg=cfg
        )
        assert len(cfg.errors) == refused
        assert cfg.valid() == (not refused)
    with pytest.raises(ArgumentError, match="need `axis_lens`"):
        AnnotateEntity(["unroll", "vec"]).apply(s, B, B.op.axis, max_unroll=16)
