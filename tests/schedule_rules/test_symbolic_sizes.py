"""Programs for any size get the tiles of programs for one size, also where nothing fills them."""

import pytest
from tests.schedule_rules.programs import (
    LARGE,
    SMALL,
    TWO_CORES,
    names_of,
    scheduled,
    winograd_conv2d,
)

import tilewright as tvm
from tilewright import te, topi
from tilewright.ir.expr import is_const_int
from tilewright.tir.stmt import ForKind

BATCHES = [(1, 0), (0, 3), (1, 1), (1, 7), (3, 1), (2, 5)]
"""Extents of a batch and of a sequence."""


def linear(columns=8, depth=6, transposed=False):
    """Rows of sequences in a batch by one matrix."""
    b, s = te.size_var("b"), te.size_var("s")
    x = te.placeholder((b, s, depth), name="X")
    w = te.placeholder((columns, depth) if transposed else (depth, columns), name="W")
    bias = te.placeholder((columns,), name="bias")
    k = te.reduce_axis((0, depth), name="k")
    y = te.compute(
        (b, s, columns),
        lambda n, i, j: te.sum(x[n, i, k] * (w[j, k] if transposed else w[k, j]), axis=k),
        name="Y",
    )
    z = te.compute((b, s, columns), lambda n, i, j: y[n, i, j] + bias[j], name="Z")
    return te.create_prim_func([x, w, bias, z])


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES])
@pytest.mark.parametrize(("batch", "sequence"), BATCHES)
def test_rows_of_sequences_in_a_batch(batch, sequence, machine, transposed):
    sizes = {"b": batch, "s": sequence}
    scheduled(linear(12, 10, transposed), machine, sizes)


def test_the_rows_of_a_tile_are_those_of_a_sequence():
    func = linear()
    sch = scheduled(func, LARGE, {"b": 2, "s": 5})
    assert names_of(sch) == ["Y", "Z"]
    x = func.buffer_map[func.params[0]]
    column, batch, _, *tile = (sch.get(loop).extent for loop in sch.get_loops("Y"))
    assert batch is x.shape[0]
    assert all(map(is_const_int, (column, *tile)))


def padded_images(batch):
    """Sums of windows of padded images."""
    x, w = te.placeholder((batch, 2, 6, 6), name="X"), te.placeholder((4, 2, 3, 3), name="W")
    return te.create_prim_func([x, w, topi.nn.conv2d(x, w, 1, 1, 1, "NCHW")])


def long_functions_of_products(batch):
    """Rows of sequences by one matrix, and what takes longer to compute than to store."""
    x, w = te.placeholder((batch, 6, 10), name="X"), te.placeholder((10, 24), name="W")
    y = topi.nn.matmul(x, w)
    z = te.compute(y.shape, lambda n, i, j: te.exp(y[n, i, j]) * te.exp(-y[n, i, j]), name="Z")
    return te.create_prim_func([x, w, z])


def transformed_images(batch):
    return winograd_conv2d(6, 4, 8, 2, batch=batch)


@pytest.mark.parametrize("program", [padded_images, long_functions_of_products, transformed_images])
def test_cores_share_a_single_image(program):
    batch = te.var("batch", "int64")
    machine = TWO_CORES._replace(first_cache=1 << 10, own_cache=1 << 14)
    sch = scheduled(program(batch), machine, {"batch": 2})
    for name in names_of(sch):
        loops = [sch.get(loop) for loop in sch.get_loops(name)]
        shared = [loop.extent for loop in loops if loop.kind is ForKind.PARALLEL]
        single = [tvm.tir.stmt_functor.substitute(n, {batch: 1}) for n in shared]
        assert any(not is_const_int(tvm.arith.Analyzer().simplify(n), 1) for n in single), name


@pytest.mark.parametrize(("rows", "is_tile"), [(3, False), (4, True), (7, True)])
def test_a_few_rows_are_a_tile_instead_of_those_of_a_batch(rows, is_tile):
    batch = te.size_var("batch")
    x, w = te.placeholder((batch, rows, 6), name="X"), te.placeholder((6, 8), name="W")
    k = te.reduce_axis((0, 6), name="k")
    y = te.compute((batch, rows, 8), lambda n, i, j: te.sum(x[n, i, k] * w[k, j], axis=k), name="Y")
    sch = scheduled(te.create_prim_func([x, w, y]), LARGE, {"batch": 3})
    extents = [sch.get(loop).extent for loop in sch.get_loops("Y")]
    assert any(extent is batch for extent in extents) == is_tile


def scores():
    """Products of each row of a sequence with each, as attention has them."""
    b, s = te.size_var("b"), te.size_var("s")
    q, keys = (te.placeholder((b, s, 6), name=name) for name in ("Q", "K"))
    k = te.reduce_axis((0, 6), name="k")
    y = te.compute((b, s, s), lambda n, i, j: te.sum(q[n, i, k] * keys[n, j, k], axis=k), name="Y")
    return te.create_prim_func([q, keys, y])


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES])
@pytest.mark.parametrize(("batch", "sequence"), BATCHES)
def test_columns_of_any_number_are_packed_panel_by_panel(batch, sequence, machine):
    sch = scheduled(scores(), machine, {"b": batch, "s": sequence})
    assert names_of(sch) == ["K_global", "Y"]


def test_no_panel_is_behind_the_last_column():
    sch = scheduled(scores(), LARGE, {"b": 1, "s": 5})
    loops = [sch.get(loop) for loop in sch.get_loops("Y")]
    fixed = [loop for loop in loops if is_const_int(loop.extent)]
    assert [loop.extent.value for loop in fixed if loop.kind is ForKind.SERIAL] == [6]


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES])
@pytest.mark.parametrize(("rows", "columns"), [(1, 0), (1, 1), (9, 1), (3, 7), (8, 33), (2, 130)])
def test_sums_of_columns(rows, columns, machine):
    m, n = te.size_var("m"), te.size_var("n")
    x, k = te.placeholder((m, n), name="X"), te.reduce_axis((0, m), name="k")
    y = te.compute((n,), lambda j: te.sum(x[k, j], axis=k), name="Y")
    sch = scheduled(te.create_prim_func([x, y]), machine, {"m": rows, "n": columns})
    loops = [sch.get(loop) for loop in sch.get_loops("Y")]
    fixed = [loop for loop in loops if is_const_int(loop.extent)]
    # On one core no loop over a fixed number of columns goes on behind the last one.
    assert machine is TWO_CORES or all(loop.kind is not ForKind.SERIAL for loop in fixed)


@pytest.mark.parametrize("machine", [SMALL, TWO_CORES])
def test_results_of_any_number_do_not_go_past_the_caches(machine):
    sizes = [te.size_var(name) for name in "nmk"]
    a = te.placeholder(sizes, name="A")
    b = te.compute(sizes, lambda *i: a[i] * 2, name="B")
    sch = scheduled(te.create_prim_func([a, b]), machine, {"n": 2, "m": 3, "k": 5})
    assert "nontemporal_stores" not in sch.mod.script()
    tvm.build(sch.mod, target="llvm")


def of_rows(value, *rows, dtype="float32"):
    """A function of an array of rows, and of one row and one column beside it."""
    shape = (*rows[:-1], rows[-1])
    x = te.placeholder(shape, dtype, name="X")
    row = te.placeholder(shape[-1:], dtype, name="row")
    column = te.placeholder(shape[:-1], dtype, name="column")
    y = te.compute(shape, lambda *i: value(x[i], row[i[-1]], column[i[:-1]]), name="Y")
    return te.create_prim_func([x, row, column, y])


@pytest.mark.parametrize("machine", [SMALL, TWO_CORES])
@pytest.mark.parametrize("sizes", [(1, 1), (5, 3), (7, 1), (1, 9), (0, 4), (4, 0), (6, 16)])
def test_rows_of_any_length_are_one(sizes, machine):
    n, m = te.size_var("n"), te.size_var("m")
    func = of_rows(lambda x, row, column: x * 2.0 + 1.0, n, m)
    sch = scheduled(func, machine, dict(zip("nm", sizes, strict=True)))
    (store,) = [node for node in tvm.ir.walk(tvm.lower(sch.mod)["main"].body)
                if isinstance(node, tvm.tir.BufferStore)]  # fmt: skip
    assert "%" not in str(store.indices[0])  # there is one row after the other


def test_rows_stay_if_an_operand_is_the_same_in_all_of_them():
    n, m = te.size_var("n"), te.size_var("m")
    func = of_rows(lambda x, row, column: x * row, n, m)
    sch = scheduled(func, SMALL, {"n": 3, "m": 5})
    assert sch.get(sch.get_loops("Y")[0]).extent.name == "n"


@pytest.mark.parametrize("machine", [LARGE._replace(vector_bits=256), TWO_CORES])
@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 17])
def test_vectors_run_over_the_ends_of_short_rows(count, width, machine):
    func = of_rows(lambda x, row, column: x * 2.0 + row, te.size_var("n"), width)
    sch = scheduled(func, machine, {"n": count})
    lanes = machine.vector_bits // 32
    if width < lanes:
        (_, (phases, vectors), (vector, extent)) = [
            (sch.get(loop).kind, int(getattr(sch.get(loop).extent, "value", 0)))
            for loop in sch.get_loops("Y")
        ]
        assert (phases, vectors) == (ForKind.UNROLLED, width)
        assert (vector, extent) == (ForKind.VECTORIZED, lanes)


@pytest.mark.parametrize("value", [lambda x, row, column: x * column,
                                   lambda x, row, column: x * row + column])  # fmt: skip
def test_short_rows_with_an_operand_for_each(value):
    scheduled(of_rows(value, te.size_var("n"), 3), LARGE._replace(vector_bits=256), {"n": 9})
