"""Blocks whose updates may happen at the same time."""

import numpy as np
import pytest
from tests.tir.schedule.checking import assert_same_meaning

import tilewright as tvm
from tilewright import te
from tilewright.error import LoweringError
from tilewright.script import tir as T
from tilewright.tir import Schedule
from tilewright.tir.schedule import ScheduleError

ROWS, LENGTH = 3, 40


def sums(reduce=te.sum, dtype="float32"):
    a = te.placeholder((ROWS, LENGTH), dtype, name="A")
    k = te.reduce_axis((0, LENGTH), name="k")
    return te.create_prim_func(
        [a, te.compute((ROWS,), lambda i: reduce(a[i, k], axis=k), name="B")]
    )


def annotated(func, **options):
    """A schedule in which the updates of B are atomic, with their loops."""
    sch = Schedule(func, **options)
    update = sch.get_block("B")
    sch.bind(
        sch.get_loops(sch.decompose_reduction(update, sch.get_loops(update)[0]))[0], "threadIdx.x"
    )
    sch.annotate(update, "atomic", 1)
    return sch, sch.get_loops(update)


def results(func, target, device):
    values = np.random.default_rng(0).integers(-9, 9, (ROWS, LENGTH)).astype("float32")
    arrays = [tvm.nd.array(x, device) for x in (values, np.full(ROWS, 7, "float32"))]
    tvm.build(func, target=target)(*arrays)
    return values.sum(1), arrays[1].numpy()


def test_blocks_of_threads_share_a_sum():
    sch, (i, k) = annotated(sums(), debug_mask="all")
    k, thread = sch.split(k, [None, 8])
    sch.bind(k, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    sch.reorder(k, thread, i)
    assert_same_meaning(sums(), sch)
    np.testing.assert_array_equal(*results(sch.mod, "opencl", tvm.opencl(0)))
    source = tvm.build(sch.mod, target="cuda").imported_modules[0].get_source()
    assert source.count("atomicAdd(&B[") == 1
    assert "__syncthreads" not in source


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_threads_of_a_cpu_share_a_sum(target):
    sch = Schedule(sums())
    update = sch.get_block("B")
    sch.decompose_reduction(update, sch.get_loops(update)[0])
    sch.annotate(update, "atomic", 1)
    i, k = sch.get_loops(update)
    sch.reorder(k, i)
    sch.parallel(k)
    np.testing.assert_array_equal(*results(sch.mod, target, tvm.cpu(0)))


def test_results_of_parts_are_added():
    sch = Schedule(sums())
    part = sch.rfactor(sch.split(sch.get_loops("B")[1], [None, 8])[0], 0)
    update = sch.get_block("B")
    init = sch.decompose_reduction(update, sch.get_loops(update)[0])
    sch.annotate(update, "atomic", 1)
    for block in (init, part):
        sch.bind(sch.get_loops(block)[0], "blockIdx.x")
    i, k = sch.get_loops(update)
    sch.bind(i, "blockIdx.x")
    sch.bind(k, "threadIdx.x")
    np.testing.assert_array_equal(*results(sch.mod, "opencl", tvm.opencl(0)))


def test_without_the_annotation_blocks_do_not_share_a_sum():
    sch, (_, k) = annotated(sums())
    sch.unannotate("B_update", "atomic")
    with pytest.raises(ScheduleError) as caught:
        sch.bind(k, "blockIdx.x")
    text = str(caught.value)
    assert "B[0]: written by B_update at (v_i=0, v_k=0) in thread (blockIdx.x=0) and " in text
    assert "use decompose_reduction, and annotate the update as atomic" in text


@T.prim_func
def running(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32"), C: T.Buffer((8,), "int32")):
    for k in range(8):
        with T.block("B"):
            v = T.axis.reduce(8, k)
            T.block_attr({"atomic": 1})
            B[0] = B[0] + A[v]
        with T.block("C"):
            v = T.axis.spatial(8, k)
            C[v] = B[0]


def test_other_accesses_of_the_sum_are_no_additions():
    sch = Schedule(running)
    with pytest.raises(ScheduleError, match=r"C at \(v=\d\) in thread \(blockIdx.x=\d\)"):
        sch.bind(sch.get_loops("C")[0], "blockIdx.x")


@pytest.mark.parametrize(
    ("reduce", "dtype", "told"),
    [
        (te.max, "float32", "it does not add"),
        (te.sum, "int8", "elements are int32, uint32"),
    ],
)
def test_only_sums_of_some_dtypes_are_atomic(reduce, dtype, told):
    with pytest.raises(ScheduleError, match=f"is annotated as atomic, but {told}"):
        sch, (_, k) = annotated(sums(reduce, dtype))
        sch.bind(k, "blockIdx.x")


def test_initialisations_are_not_atomic():
    sch = Schedule(sums())
    sch.annotate("B", "atomic", 1)
    with pytest.raises(ScheduleError, match="use decompose_reduction first"):
        sch.bind(sch.get_loops("B")[1], "blockIdx.x")
    with pytest.raises(LoweringError, match="block B is annotated as atomic, but it initialises"):
        tvm.build(sch.mod)


def test_lanes_of_a_vector_do_not_add_atomically():
    sch = Schedule(sums())
    sch.decompose_reduction("B", sch.get_loops("B")[0])
    sch.annotate("B_update", "atomic", 1)
    with pytest.raises(ScheduleError, match="cannot run as lanes of a vector") as caught:
        sch.vectorize(sch.split(sch.get_loops("B_update")[1], [None, 8])[1])
    assert "atomic" not in caught.value.hint
