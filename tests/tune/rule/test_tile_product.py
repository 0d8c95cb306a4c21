"""Sums of products in tiles: whatever is decided, they keep their meaning."""

import pytest
from tests.schedule_rules.programs import names_of
from tests.tir.schedule.checking import assert_same_meaning
from tests.tune.rule.sketches import LARGE, SMALL, TWO_CORES, depth, samples
from tests.tune.rule.sketches import sketches as nests

from tilewright import te, tir, topi
from tilewright.ir import IRModule
from tilewright.schedule_rules.eligible import ATTRIBUTES
from tilewright.tir import Schedule
from tilewright.tune.rule.nest_rule import TileProduct
from tilewright.tune.rule.schedule_rule import is_claimed


def product(m, n, k, dtype="float32", *, a="ik", b="kj", epilogue=None):
    """A matrix times a matrix, either of them transposed, and a function of the elements."""
    sizes = {"i": m, "j": n, "k": k}
    A = te.placeholder([sizes[x] for x in a], dtype, "A")
    B = te.placeholder([sizes[x] for x in b], dtype, "B")
    r = te.reduce_axis((0, k), "k")

    def element(i, j):
        at = {"i": i, "j": j, "k": r}
        return te.sum(A[tuple(at[x] for x in a)] * B[tuple(at[x] for x in b)], axis=r)

    C = te.compute((m, n), element, "C")
    if epilogue is None:
        return te.create_prim_func([A, B, C])
    bias = te.placeholder((n,), dtype, "bias")
    D = te.compute((m, n), lambda i, j: C[i, j] + bias[j], "D")
    E = te.compute((m, n), lambda i, j: epilogue(D[i, j]), "E")
    return te.create_prim_func([A, B, bias, E])


def batched(batch, m, n, k):
    """As many products of matrices."""
    A, B = te.placeholder((batch, m, k), name="A"), te.placeholder((batch, k, n), name="B")
    r = te.reduce_axis((0, k), "k")
    C = te.compute((batch, m, n), lambda b, i, j: te.sum(A[b, i, r] * B[b, r, j], axis=r), "C")
    return te.create_prim_func([A, B, C])


def convolution(channels, size, filters, window, *, bias=False, stride=1):
    """A convolution of an image with zeros around it."""
    pad = window // 2
    X = te.placeholder((1, channels, size, size), name="X")
    W = te.placeholder((filters, channels, window, window), name="W")
    full = size + 2 * pad

    def padded(n, c, y, x):
        inside = te.all(y >= pad, y < size + pad, x >= pad, x < size + pad)
        return te.if_then_else(inside, X[n, c, y - pad, x - pad], 0.0)

    P = te.compute((1, channels, full, full), padded, "P") if pad else X
    c = te.reduce_axis((0, channels), "c")
    i, j = te.reduce_axis((0, window), "i"), te.reduce_axis((0, window), "j")
    out = (full - window) // stride + 1
    Y = te.compute(
        (1, filters, out, out),
        lambda n, o, y, x: te.sum(
            P[n, c, y * stride + i, x * stride + j] * W[o, c, i, j], axis=[c, i, j]
        ),
        "Y",
    )
    if not bias:
        return te.create_prim_func([X, W, Y])
    b = te.placeholder((filters,), name="bias")
    zero = tir.const(0, "float32")
    Z = te.compute(Y.shape, lambda n, o, y, x: tir.max(Y[n, o, y, x] + b[o], zero), "Z")
    return te.create_prim_func([X, W, b, Z])


def sketches(func, machine=SMALL, block="C"):
    """What the rule makes of one block."""
    sch = Schedule(IRModule.from_expr(func.with_attrs(ATTRIBUTES)))
    return TileProduct(machine).apply(sch, sch.get_block(block))


def check(func, machine=SMALL, *, block="C", count=3):
    """All sketches keep the meaning of the function, whatever is decided."""
    found = sketches(func, machine, block)
    assert all(is_claimed(sketch, sketch.get_block(block)) for sketch in found)
    before = IRModule.from_expr(func.with_attrs(ATTRIBUTES))
    for sketch in found:
        for sch in samples(sketch, func, count):
            assert_same_meaning(before, sch)
    return found


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES], ids=["small", "large", "cores"])
@pytest.mark.parametrize("sizes", [(7, 9, 5), (12, 16, 8), (5, 3, 6), (9, 21, 4)])
def test_products_of_any_size(sizes, machine):
    check(product(*sizes), machine, count=2)


@pytest.mark.parametrize("dtype", ["float64", "int32", "float16"])
def test_other_dtypes(dtype):
    check(product(6, 10, 8, dtype), count=2)


@pytest.mark.parametrize("operands", [("ik", "jk"), ("ki", "kj"), ("ki", "jk")])
def test_transposed_operands(operands):
    a, b = operands
    check(product(6, 11, 9, a=a, b=b))


@pytest.mark.parametrize("machine", [SMALL, TWO_CORES], ids=["one core", "two cores"])
def test_rows_that_each_step_reads_from_another_place_may_be_packed(machine):
    found = check(product(5, 70, 3, a="ki"), machine, count=2)
    packed = [sketch for sketch in found if "A_global" in names_of(sketch)]
    assert 0 < len(packed) < len(found)
    assert all(is_claimed(sketch, sketch.get_block("A_global")) for sketch in packed)
    assert not any("A_global" in names_of(s) for s in sketches(product(5, 70, 3), machine))


def test_batches():
    check(batched(2, 5, 9, 6))
    check(batched(3, 4, 8, 4), TWO_CORES)


def test_consumers_are_computed_for_each_tile():
    for sch in check(product(7, 10, 8, epilogue=te.exp), LARGE):
        assert depth(sch, "C", "D") == 2
        assert is_claimed(sch, sch.get_block("D"))
        assert not is_claimed(sch, sch.get_block("E"))  # too long to leave registers for the tile


def attention():
    """Products and the softmax between them, for a few heads."""
    q, k, v = (te.placeholder((2, 5, 4), name=name) for name in "QKV")
    a, b = te.reduce_axis((0, 4), "a"), te.reduce_axis((0, 5), "b")
    scores = te.compute(
        (2, 5, 5), lambda h, i, j: te.sum(q[h, i, a] * k[h, j, a], axis=a), name="scores"
    )
    weights = topi.nn.softmax(scores)
    out = te.compute(
        (2, 5, 4), lambda h, i, j: te.sum(weights[h, i, b] * v[h, b, j], axis=b), name="out"
    )
    return te.create_prim_func([q, k, v, out])


def test_products_share_outer_loops_with_what_they_are_used_for():
    func = attention()
    found = nests(func, LARGE)
    assert {depth(sch, "scores", "out") for sch in found} == {0, 1}
    before = IRModule.from_expr(func.with_attrs(ATTRIBUTES))
    for sketch in found:
        for sch in samples(sketch, func, 1):
            assert_same_meaning(before, sch)


def test_windows_of_an_image():
    filters, pixels = check(convolution(2, 3, 5, 3, bias=True), block="Y", count=1)
    assert "P_global" in names_of(pixels)
    assert "P_global" not in names_of(filters)
    check(convolution(2, 3, 5, 3), block="Y", count=1)
    check(convolution(1, 6, 4, 3, stride=2), block="Y", count=1)


def test_images_whose_pixels_are_the_columns_as_they_are():
    check(convolution(3, 4, 6, 1), block="Y", count=1)
    check(convolution(3, 3, 6, 1, bias=True), TWO_CORES, block="Y", count=1)


def test_the_first_decisions_are_those_of_the_default_schedule():
    sketch = sketches(product(64, 64, 64), LARGE)[0]
    loops = [sketch.get(loop).extent.value for loop in sketch.get_loops("C")]
    vectors, lanes = loops[-2:]
    assert lanes == 4
    assert loops[-3] * vectors <= 28


def test_other_blocks_stay_as_they_are():
    for func in (product(1, 8, 4), product(8, 1, 4)):
        sch = Schedule(IRModule.from_expr(func.with_attrs(ATTRIBUTES)))
        assert TileProduct(SMALL).apply(sch, sch.get_block("C")) == [sch]
    func = product(6, 6, 4, epilogue=te.exp)
    sch = Schedule(IRModule.from_expr(func.with_attrs(ATTRIBUTES)))
    assert TileProduct(SMALL).apply(sch, sch.get_block("E")) == [sch]


def test_a_tiled_block_is_not_tiled_again():
    sketch = sketches(product(8, 8, 8))[0]
    assert TileProduct(SMALL).apply(sketch, sketch.get_block("C")) == [sketch]
