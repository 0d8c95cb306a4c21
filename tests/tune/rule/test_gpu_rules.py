"""Rules and postprocessors for GPUs."""

import pytest
from tests.schedule_rules.programs import elementwise, loops_of, matmul, matmul_relu, softmax, sums
from tests.tir.schedule.checking import assert_equal_results, results_of
from tests.tune.rule.sketching import (
    assert_candidates_right,
    finished,
    names_of,
    sketches_of,
)

from tilewright import te, tir, topi
from tilewright.script import tir as T
from tilewright.tune.context import TuneContext
from tilewright.tune.postproc import (
    Postproc,
    RewriteCooperativeFetch,
    RewriteUnboundBlock,
    VerifyGPUCode,
)
from tilewright.tune.rule import AutoBind, CrossThreadReduction, ScheduleRule

GPU = "cuda -max_threads_per_block=64 -thread_warp_size=4 -max_shared_memory_per_block=4096"


def threads_of(sch, block):
    """The axes of the loops around a block, with their extents."""
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return [
        (loop.thread_binding.thread_tag, int(loop.extent.value))
        for loop in loops
        if loop.thread_binding is not None
    ]


@pytest.mark.parametrize(
    "func",
    [
        matmul(16, 16, 4),
        matmul(5, 7, 3),
        matmul_relu(8, 8, 4),
        softmax(3, 16),
        elementwise(6, 7),
        sums(24, 3, 0),
    ],
    ids=["matmul", "odd", "relu", "softmax", "map", "sum"],
)
def test_candidates_compute_the_same(func):
    sketches = assert_candidates_right(
        func, ScheduleRule.create("cuda"), Postproc.create("cuda"), target=GPU, tries=1
    )
    assert sketches


def test_where_the_last_dimensions_are_short_others_have_threads():
    image, weight = te.placeholder((1, 8, 10, 10)), te.placeholder((8, 8, 3, 3))
    func = te.create_prim_func([image, weight, topi.nn.conv2d_nchw(image, weight, 1, 0, 1)])
    sketch = sketches_of(func, ScheduleRule.create("cuda"), "cuda")[0]
    assert finished(sketch, Postproc.create("cuda"), "cuda")


def test_the_sketch_of_a_product_is_accepted():
    (sch,) = sketches_of(matmul(32, 32, 8), ScheduleRule.create("cuda"), GPU)
    assert names_of(sch) == ["A_shared", "B_shared", "C", "C_local"]
    assert finished(sch, Postproc.create("cuda"), GPU)
    assert threads_of(sch, "C_update") == [
        ("blockIdx.x", 1),
        ("vthread.x", 1),
        ("threadIdx.x", 64),
    ]
    assert loops_of(sch, "A_shared")[-2:] == [("thread_binding", 64), ("vectorized", 4)]


# --- AutoBind -------------------------------------------------------------------------------------


def plus_one(*shape):
    sch = tir.Schedule(elementwise(*shape))
    sch.compute_inline("B")
    return sch.mod["main"]


def test_spatial_loops_become_blocks_and_threads():
    (sch,) = sketches_of(elementwise(6, 32), [AutoBind(thread_extents=[32])], GPU)
    assert threads_of(sch, "B") == threads_of(sch, "C") == [("blockIdx.x", 6), ("threadIdx.x", 32)]


def test_a_large_result_is_shared_by_the_blocks_that_there_are():
    (sch,) = sketches_of(elementwise(64, 32), [AutoBind(4, [32, 1024])], GPU)
    assert threads_of(sch, "C") == [("blockIdx.x", 4), ("threadIdx.x", 32)]
    assert loops_of(sch, "C")[-1] == ("serial", 16)


def test_a_sum_to_one_number_is_one_thread():
    @T.prim_func
    def total(A: T.Buffer((8,), "float32"), S: T.Buffer((1,), "float32")):
        for k in range(8):
            with T.block("S"):
                vk = T.axis.reduce(8, k)
                with T.init():
                    S[0] = T.float32(0)
                S[0] = S[0] + A[vk]

    (sch,) = sketches_of(total, [AutoBind()], GPU)
    assert threads_of(sch, "S") == [("blockIdx.x", 1), ("threadIdx.x", 1)]


# --- CrossThreadReduction -------------------------------------------------------------------------


def test_threads_sum_up_together():
    crossed, plain = sketches_of(sums(2, 64, 1), [CrossThreadReduction([4, 16])], GPU)
    assert threads_of(crossed, "S") == [("threadIdx.x", 16)]
    assert threads_of(plain, "S") == []


def test_the_reduction_is_computed_by_the_threads_of_its_consumer():
    (first, *_) = sketches_of(softmax(3, 64), [CrossThreadReduction([8])], GPU)
    assert threads_of(first, "S") == [("threadIdx.x", 8)]
    assert threads_of(first, "M") == [("threadIdx.x", 8)]
    scopes = {b.name: b.scope() for b in first.get(first.get_block("root")).alloc_buffers}
    assert scopes["S"] == "shared"


def test_on_a_cpu_there_are_no_threads():
    assert len(sketches_of(sums(2, 64, 1), [CrossThreadReduction([4])])) == 1


# --- postprocessors -------------------------------------------------------------------------------


def test_what_is_unbound_is_bound():
    sch = tir.Schedule(elementwise(6, 5))
    assert finished(sch, [RewriteUnboundBlock(256)], GPU)
    for name in "BC":
        assert threads_of(sch, name) == [("blockIdx.x", 1), ("threadIdx.x", 30)]


def test_threads_share_the_copies():
    sch = tir.Schedule(matmul(8, 16, 8))
    i, j, _k = sch.get_loops("C")
    sch.bind(i, "threadIdx.y")
    sch.bind(j, "threadIdx.x")
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, j)
    sch.fuse(*sch.get_loops(copy)[2:])
    sch.annotate(copy, "meta_schedule.cooperative_fetch", 1)
    before = sch.mod["main"]
    assert finished(sch, [RewriteCooperativeFetch()], GPU)
    threads = [("threadIdx.y", 8), ("threadIdx.x", 16)]
    assert threads_of(sch, copy) == [*threads, *threads]
    assert_equal_results(results_of(before), results_of(sch.mod["main"]))


def verified(func, steps, target=GPU):
    sch = tir.Schedule(func)
    steps(sch)
    postproc = VerifyGPUCode()
    postproc.initialize_with_tune_context(TuneContext(target=target))
    return postproc.apply(sch)


def test_limits_of_a_kernel():
    func = plus_one(64, 4)

    def named(steps):
        def with_name(sch):
            for loop, axis in zip(sch.get_loops("C"), steps, strict=True):
                sch.bind(loop, axis)

        return with_name

    assert verified(func, named(["blockIdx.x", "threadIdx.x"]))
    assert not verified(func, named(["threadIdx.y", "threadIdx.x"]))  # 256 threads
    assert not verified(func, named(["vthread.x", "threadIdx.x"]))  # 64 virtual threads
    assert not verified(func, lambda sch: None)  # no threads at all


def test_shared_memory_is_limited():
    def steps(extent):
        def cache(sch):
            i, j = sch.get_loops("C")
            outer, _ = sch.split(i, [None, extent])
            sch.bind(outer, "blockIdx.x")
            sch.bind(j, "threadIdx.x")
            sch.compute_at(sch.cache_read("C", 0, "shared"), outer)

        return cache

    assert verified(plus_one(64, 32), steps(16))
    assert not verified(plus_one(64, 32), steps(64))


def test_vectors_are_of_16_bytes_at_the_most():
    def steps(lanes):
        def vectorize(sch):
            i, j = sch.get_loops("C")
            outer, inner = sch.split(j, [None, lanes])
            sch.bind(i, "blockIdx.x")
            sch.bind(outer, "threadIdx.x")
            sch.vectorize(inner)

        return vectorize

    assert verified(plus_one(4, 32), steps(4))
    assert not verified(plus_one(4, 32), steps(8))
