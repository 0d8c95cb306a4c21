"""What kind of function a tensor program is."""

import pytest
from tests.schedule_rules import programs

from tilewright import te, tir
from tilewright.script import tir as T
from tilewright.tir.analysis.pattern_kind import PatternKind, function_pattern, pattern_kind

ELEMENTWISE, BROADCAST, INJECTIVE = (
    PatternKind.ELEMENTWISE,
    PatternKind.BROADCAST,
    PatternKind.INJECTIVE,
)
COMM_REDUCE, OUT_EWISE_FUSABLE = PatternKind.COMM_REDUCE, PatternKind.OUT_EWISE_FUSABLE


def computed(compute, *shapes):
    """The function of one computation."""
    inputs = [te.placeholder(shape, name=f"A{n}") for n, shape in enumerate(shapes)]
    return te.create_prim_func([*inputs, compute(*inputs)])


def summed(a, axes, keep=False):
    kept = [n for n in range(len(a.shape)) if n not in axes]
    reduced = [te.reduce_axis((0, a.shape[n]), f"k{n}") for n in axes]

    def value(*spatial):
        where = dict(zip(kept, spatial if not keep else [spatial[n] for n in kept], strict=True))
        where |= dict(zip(axes, reduced, strict=True))
        return te.sum(a(*(where[n] for n in range(len(a.shape)))), axis=reduced)

    shape = [1 if n in axes else a.shape[n] for n in range(len(a.shape)) if keep or n in kept]
    return te.compute(shape, value)


def pooled(a):
    ky, kx = te.reduce_axis((0, 3), "ky"), te.reduce_axis((0, 3), "kx")
    shape = (a.shape[0] // 2, a.shape[1] // 2)
    return te.compute(shape, lambda i, j: te.max(a[i * 2 + ky, j * 2 + kx], axis=[ky, kx]))


def weighted(a, b):
    k = te.reduce_axis((0, a.shape[1]), "k")
    return te.compute((a.shape[0],), lambda i: te.sum(a[i, k] * b[k], axis=k))


def rms(a):
    total = summed(te.compute(a.shape, lambda i, j: a[i, j] * a[i, j]), [1])
    return te.compute(a.shape, lambda i, j: a[i, j] * tir.rsqrt(total[i]))


KINDS = {
    "negative": (
        ELEMENTWISE,
        computed(lambda a: te.compute((3, 4), lambda i, j: -a[i, j]), (3, 4)),
    ),
    "fill": (ELEMENTWISE, computed(lambda: te.compute((3,), lambda i: 1.0))),
    "chain": (ELEMENTWISE, programs.elementwise(3, 4)),
    "scalar": (ELEMENTWISE, computed(lambda a: te.compute((), lambda: a() + 1.0), ())),
    "bias": (
        ELEMENTWISE,
        computed(lambda a, b: te.compute((3, 4), lambda i, j: a[i, j] + b[j]), (3, 4), (4,)),
    ),
    "unit_bias": (
        ELEMENTWISE,
        computed(lambda a, b: te.compute((3, 4), lambda i, j: a[i, j] + b[i, 0]), (3, 4), (3, 1)),
    ),
    "unit": (
        ELEMENTWISE,
        computed(lambda a: te.compute((1, 4), lambda i, j: a[0, j] + 1.0), (1, 4)),
    ),
    "masked": (
        ELEMENTWISE,
        computed(
            lambda a: te.compute((4, 4), lambda i, j: tir.Select(i < j, a[i, j], tir.const(0.0))),
            (4, 4),
        ),
    ),
    "broadcast": (BROADCAST, computed(lambda b: te.compute((3, 4), lambda i, j: b[j]), (4,))),
    "outer": (
        BROADCAST,
        computed(lambda a, b: te.compute((3, 4), lambda i, j: a[i, 0] + b[j]), (3, 1), (4,)),
    ),
    "transpose": (INJECTIVE, programs.transpose(3, 4)),
    "slice": (INJECTIVE, computed(lambda a: te.compute((3,), lambda i: a[i + 1]), (4,))),
    "reshape": (
        INJECTIVE,
        computed(lambda a: te.compute((12,), lambda i: a[i // 4, i % 4]), (3, 4)),
    ),
    "corner": (
        INJECTIVE,
        computed(lambda a: te.compute((2, 3), lambda i, j: a[i, j]), (3, 4)),
    ),
    "gather": (
        INJECTIVE,
        computed(lambda a, b: te.compute((3,), lambda i: a[b[i].astype("int32")]), (9,), (3,)),
    ),
    "rows": (COMM_REDUCE, programs.sums(3, 4, 1)),
    "columns": (COMM_REDUCE, programs.sums(3, 4, 0)),
    "whole": (COMM_REDUCE, computed(lambda a: summed(a, [0, 1]), (3, 4))),
    "kept": (COMM_REDUCE, computed(lambda a: summed(a, [1], keep=True), (3, 4))),
    "weighted": (COMM_REDUCE, computed(weighted, (3, 4), (4,))),
    "sum_of_transposed": (
        COMM_REDUCE,
        computed(lambda a: summed(te.compute((4, 3), lambda i, j: a[j, i]), [1]), (3, 4)),
    ),
    "matmul": (OUT_EWISE_FUSABLE, programs.matmul(3, 4, 5)),
    "one_row": (OUT_EWISE_FUSABLE, programs.matmul(1, 4, 5)),
    "matmul_relu": (OUT_EWISE_FUSABLE, programs.matmul_relu(3, 4, 5)),
    "conv2d": (OUT_EWISE_FUSABLE, programs.conv2d(2, 5, 3, 3, 1)),
    "depthwise": (OUT_EWISE_FUSABLE, programs.conv2d(2, 5, 2, 3, 1, depthwise=True)),
    "pooling": (OUT_EWISE_FUSABLE, computed(pooled, (9, 9))),
    "softmax": (OUT_EWISE_FUSABLE, programs.softmax(3, 4)),
    "rms": (OUT_EWISE_FUSABLE, computed(rms, (3, 4))),
}


@pytest.mark.parametrize("name", KINDS)
def test_kind(name):
    kind, func = KINDS[name]
    assert pattern_kind(func) is kind


def test_parameters_each_have_a_kind():
    found = function_pattern(programs.matmul_relu(3, 4, 5))
    assert found.parameters == (OUT_EWISE_FUSABLE, OUT_EWISE_FUSABLE, BROADCAST, None)
    assert found.reused == {0, 1}


def test_padding_reads_each_element_once():
    assert function_pattern(programs.conv2d(2, 5, 3, 3, 1)).reused == {1}


def test_sizes_may_be_symbolic():
    n = tir.Var("n", "int64")
    a = te.placeholder((n, 4), name="A")
    assert pattern_kind(te.create_prim_func([a, summed(a, [1])])) is COMM_REDUCE
    assert pattern_kind(te.create_prim_func([a, te.compute((n, 4), lambda *i: -a(*i))])) is (
        ELEMENTWISE
    )


@T.prim_func
def scan(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(7):
        with T.block("B"):
            vi = T.axis.opaque(7, i)
            B[vi + 1] = B[vi] + A[vi]


@T.prim_func
def without_blocks(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]


@T.prim_func
def strided(a: T.handle, B: T.Buffer((8,), "float32")):
    s = T.int32()
    A = T.match_buffer(a, (8,), strides=[s])
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]


@pytest.mark.parametrize("func", [scan, without_blocks, strided])
def test_nothing_is_known_of_other_programs(func):
    assert pattern_kind(func) is PatternKind.OPAQUE


def test_numbers_of_users():
    assert [int(kind) for kind in PatternKind] == [0, 1, 2, 3, 4, 7, 8]
