"""What the rules make of blocks that are not products of matrices; they compute the same."""

import numpy as np
import pytest
from tests.schedule_rules.programs import (
    conv2d,
    elementwise,
    loops_of,
    matmul,
    matmul_relu,
    softmax,
    sums,
    transpose,
    winograd_conv2d,
)
from tests.tune.rule.sketches import LARGE, NESTS, SMALL, TWO_CORES, check, depth, sketches

import tilewright as tvm
from tilewright import te
from tilewright.target import Target
from tilewright.tir.stmt import For
from tilewright.tune.context import TuneContext
from tilewright.tune.rule import ScheduleRule
from tilewright.tune.rule.schedule_rule import CLAIMED, is_claimed

MACHINES = [SMALL, LARGE, TWO_CORES]


def annotations_of(sch, key):
    """The values of an annotation of loops."""
    loops = [node for node in tvm.ir.walk(sch.mod["main"].body) if isinstance(node, For)]
    return [loop.annotations[key] for loop in loops if key in loop.annotations]


def kinds(sch, block):
    return [kind for kind, _ in loops_of(sch, block)]


# --- element by element -----------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shape", [(40,), (5, 7), (3, 1, 9), (1,), (2,), (4, 33)])
def test_elements(shape, machine):
    (sch,) = check(elementwise(*shape), machine)
    if shape != (1,):
        assert kinds(sch, "C")[-1] == "vectorized"


def test_contiguous_dimensions_are_one():
    (sch,) = sketches(elementwise(5, 8))
    assert loops_of(sch, "C") == [("serial", 5), ("vectorized", 8)]


def test_large_results_may_go_past_the_caches():
    (sch,) = sketches(elementwise(64, 64))
    (found,) = annotations_of(sch, "nontemporal_stores")
    assert int(found["C"]) == 1
    assert not annotations_of(sketches(elementwise(64, 64), LARGE)[0], "nontemporal_stores")


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64", "int64", "bool"])
def test_dtypes(dtype):
    a = te.placeholder((3, 37), dtype, name="A")
    b = te.compute((3, 37), lambda i, j: te.if_then_else(j < 5, a[i, j], a[i, 36 - j]), name="B")
    check(te.create_prim_func([a, b]))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shape", [(8, 8), (5, 13), (1, 9), (9, 1), (16, 3)])
def test_transpositions(shape, machine):
    *_, sch = check(transpose(*shape), machine)
    if 1 not in shape:
        assert kinds(sch, "B")[-2:] == ["unrolled", "vectorized"]


def test_a_transposition_of_inner_dimensions():
    a = te.placeholder((2, 5, 7), "int8", name="A")
    b = te.compute((7, 2, 5), lambda k, i, j: a[i, j, k] + a[i, j, 0], name="B")
    squares, vectors = check(te.create_prim_func([a, b]))
    assert len(loops_of(squares, "B")) == 3
    assert len(loops_of(vectors, "B")) == 7


# --- reductions -------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shape", [(9, 40), (3, 5), (1, 33), (20, 3)])
def test_sums_of_rows(shape, machine):
    found = check(sums(*shape, 1), machine)
    if shape == (20, 3):  # vectors of rows: a row is shorter than a vector
        assert kinds(found[0], "S")[-2:] == ["unrolled", "vectorized"]
    else:
        assert len(found) == (3 if machine is TWO_CORES and shape[0] < 8 else 2)


def test_rows_are_reduced_together():
    _, sch = sketches(sums(16, 64, 1))
    assert loops_of(sch, "S")[-2:] == [("unrolled", 8), ("vectorized", 16)]


def test_few_rows_are_cut_into_parts_for_the_cores():
    first, second, third = sketches(sums(2, 64, 1), TWO_CORES)
    assert kinds(third, "S_rf")[0] == "parallel"
    assert is_claimed(third, third.get_block("S_rf"))
    assert kinds(first, "S")[0] == kinds(second, "S")[0] == "parallel"


def test_long_rows_may_be_asked_for_ahead():
    sch, _ = sketches(sums(16, 1024, 1))
    (found,) = annotations_of(sch, "software_prefetch")
    assert int(found["A"]) == 0  # rows that are read side by side come early enough
    assert loops_of(sch, "S")[-2:] == [("unrolled", 4), ("vectorized", 16)]
    assert not annotations_of(sketches(sums(16, 1024, 1), LARGE)[0], "software_prefetch")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shape", [(9, 40), (3, 5), (33, 1), (5, 33)])
def test_sums_of_columns(shape, machine):
    check(sums(*shape, 0), machine)


def test_columns_are_in_registers_or_row_by_row():
    first, second = sketches(sums(16, 64, 0))
    assert kinds(first, "S")[-3:] == ["serial", "unrolled", "vectorized"]
    assert kinds(second, "S")[-3:] == ["unrolled", "unrolled", "vectorized"]
    (only,) = sketches(sums(16, 64, 0), LARGE)
    assert kinds(only, "S") == kinds(second, "S")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_products_of_a_vector_and_a_matrix(dtype, is_transposed, machine):
    found = check(matmul(1, 19, 13, is_transposed, dtype), machine)
    assert all(is_claimed(sch, sch.get_block("C")) for sch in found)


def test_a_sum_over_several_dimensions():
    a = te.placeholder((3, 5, 4, 6), name="A")
    axes = [te.reduce_axis((0, n), name=f"r{n}") for n in (4, 6, 3)]
    b = te.compute((5,), lambda c: te.sum(a[axes[2], c, axes[0], axes[1]], axis=axes), name="B")
    check(te.create_prim_func([a, b]))


def test_a_sum_of_everything():
    a = te.placeholder((50,), name="A")
    k = te.reduce_axis((0, 50), name="k")
    b = te.compute((), lambda: te.sum(a[k], axis=k), name="B")
    for machine in MACHINES:
        check(te.create_prim_func([a, b]), machine)


def test_places_of_maxima_stay_as_they_are():
    a = te.placeholder((4, 12), name="A")
    k = te.reduce_axis((0, 12), name="k")
    largest = te.comm_reducer(
        lambda x, y: (te.if_then_else(x[1] >= y[1], x[0], y[0]), te.max(x[1], y[1])),
        lambda one, two: (tvm.tir.const(-1, one), te.min_value(two)),
    )
    index, value = te.compute((4,), lambda i: largest((k.var, a[i, k]), axis=k), name="B")
    check(te.create_prim_func([a, index, value]))


# --- blocks that share loops ------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shape", [(8, 20), (3, 7), (24, 16)])
def test_softmax_is_computed_row_by_row(shape, machine):
    (sch,) = check(softmax(*shape), machine)
    names = ["M", "E", "S", "O"]
    assert all(depth(sch, name, "O") == 1 for name in names[:-1])
    assert all(is_claimed(sch, sch.get_block(name)) for name in names)


def test_blocks_of_several_dimensions_share_some():
    a = te.placeholder((2, 3, 9), name="A")
    k = te.reduce_axis((0, 9), name="k")
    total = te.compute((2, 3), lambda b, i: te.sum(a[b, i, k], axis=k), name="total")
    mean = te.compute((2, 3), lambda b, i: total[b, i] * total[b, i] - 2, name="mean")
    out = te.compute((2, 3, 9), lambda b, i, j: a[b, i, j] - mean[b, i], name="out")
    for machine in MACHINES:
        (sch,) = check(te.create_prim_func([a, out]), machine)
        assert depth(sch, "total", "out") >= 1


def test_a_result_that_others_need_as_a_whole_is_computed_first():
    a = te.placeholder((6, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    total = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="total")
    out = te.compute((6, 8), lambda i, j: a[i, j] - total[5 - i], name="out")
    for sch in check(te.create_prim_func([a, out])):
        assert depth(sch, "total", "out") == 0


# --- windows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("size", [5, 9, 16, 18])
def test_windows_of_each_channel(size, machine):
    (sch,) = check(conv2d(3, size, 0, 3, 1, depthwise=True), machine)
    assert 1 <= depth(sch, "P", "Y") <= 3
    outer = "unrolled" if size % 4 == 0 else "serial"  # around registers that are cut off
    assert kinds(sch, "Y")[-4:] == [outer, "unrolled", "unrolled", "vectorized"]
    assert is_claimed(sch, sch.get_block("P"))


def pooling(size, stride, consumer):
    a = te.placeholder((2, size, size), name="A")
    out = (size - 3) // stride + 1
    y, x = te.reduce_axis((0, 3), name="y"), te.reduce_axis((0, 3), name="x")
    b = te.compute(
        (2, out, out),
        lambda c, i, j: te.max(a[c, i * stride + y, j * stride + x], axis=[y, x]),
        name="B",
    )
    if not consumer:
        return te.create_prim_func([a, b])
    d = te.compute(b.shape, lambda c, i, j: b[c, i, j] * b[c, i, j] + a[c, 0, 0], name="D")
    return te.create_prim_func([a, d])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("size", "stride"), [(7, 1), (12, 1), (9, 2)])
@pytest.mark.parametrize("consumer", [False, True])
def test_windows_with_a_consumer(size, stride, consumer, machine):
    (sch,) = check(pooling(size, stride, consumer), machine)
    if consumer:
        assert depth(sch, "B", "D") >= 3
        assert kinds(sch, "D")[-1] == "vectorized"


def test_windows_along_one_dimension():
    a, w = te.placeholder((4, 20), name="A"), te.placeholder((4, 5), name="W")
    k = te.reduce_axis((0, 5), name="k")
    b = te.compute((4, 16), lambda c, i: te.sum(a[c, i + k] * w[c, k], axis=k), name="B")
    for machine in MACHINES:
        (sch,) = check(te.create_prim_func([a, w, b]), machine)
        assert kinds(sch, "B")[-2:] == ["unrolled", "vectorized"]


# --- all of them ------------------------------------------------------------------------------


def test_products_of_matrices_are_for_other_rules():
    (sch,) = sketches(matmul(8, 16, 6))
    assert not is_claimed(sch, sch.get_block("C"))
    assert len(loops_of(sch, "C")) == 3


def test_what_reads_a_product_is_left_to_the_rule_that_takes_it():
    (sch,) = sketches(matmul_relu(8, 16, 6))
    assert not is_claimed(sch, sch.get_block("E"))


@pytest.mark.parametrize("axis", [0, 1])
def test_symbolic_sizes(axis):
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, (n, m)[axis]), name="k")
    s = te.compute(
        ((n, m)[1 - axis],),
        lambda i: te.sum(a[i, k] if axis else a[k, i], axis=k),
        name="S",
    )
    b = te.compute((n, m), lambda i, j: a[i, j] * s[(i, j)[1 - axis]], name="B")
    for machine in MACHINES:
        check(te.create_prim_func([a, b]), machine, sizes={"n": 5, "m": 11})


def test_a_schedule_of_somebody_else_stays():
    sch = tvm.tir.Schedule(elementwise(16))
    (loop,) = sch.get_loops("C")
    sch.split(loop, [None, 4])
    for rule in NESTS:
        assert rule(SMALL).apply(sch, sch.get_block("C")) == [sch]


def test_rejected_blocks_leave_no_instructions():
    sch = tvm.tir.Schedule(matmul(8, 16, 6))
    block = sch.get_block("C")
    for rule in NESTS:
        assert rule(SMALL).apply(sch, block) == [sch]
    assert len(sch.trace) == 1


def test_the_rules_for_cpus_have_them():
    names = [type(rule).__name__ for rule in ScheduleRule.create("llvm")]
    assert [name for name in names if name in {rule.__name__ for rule in NESTS}] == [
        rule.__name__ for rule in NESTS
    ]


def test_windows_of_each_channel_are_no_products():
    mod = tvm.ir.IRModule.from_expr(conv2d(3, 18, 0, 3, 1, depthwise=True))
    context = TuneContext(mod, target="llvm", space_generator="post-order-apply")
    (_, sch) = context.generate_design_space()
    found = [str(sch.get(sch.get_block(name)).annotations[CLAIMED]) for name in ("P", "Y")]
    assert found == ["TileStencil", "TileStencil"]


def test_the_machine_is_that_of_the_target():
    with Target("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=3"):
        machine = NESTS[0]().machine
    assert (machine.vector_bits, machine.cores) == (256, 3)


def test_native_code_of_sketches_computes_the_same():
    func = conv2d(3, 12, 0, 3, 1, depthwise=True)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 3, 12, 12), "float32"), rng.standard_normal((3, 3, 3), "float32")
    expected, found = (tvm.nd.array(np.zeros((1, 3, 12, 12), "float32")) for _ in range(2))
    tvm.build(func, target="llvm")["main"](tvm.nd.array(x), tvm.nd.array(w), expected)
    for sch in sketches(func):
        tvm.build(sch.mod, target="llvm")["main"](tvm.nd.array(x), tvm.nd.array(w), found)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)


# --- products of transformed tiles ------------------------------------------------------------


def test_transformed_products_are_sketched_with_their_transforms():
    found = check(winograd_conv2d(8, 4, 8, 2, dtype="float64"), SMALL)
    assert found
    for sch in found:
        for block in ("columns", "transformed", "rows", "results"):
            assert kinds(sch, block)[-1] == "vectorized"
            assert is_claimed(sch, sch.get_block(block))
