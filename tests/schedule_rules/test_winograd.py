"""Products of transformed tiles."""

import pytest
from tests.schedule_rules.programs import (
    LARGE,
    PARALLEL,
    SMALL,
    TWO_CORES,
    kinds_of,
    loops_of,
    names_of,
    scheduled,
    winograd_conv2d,
)

from tilewright import te, topi
from tilewright.ir.expr import Select

TILED = ["pad_temp", "columns", "transformed", "products", "rows", "results", "T_relu"]


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES])
@pytest.mark.parametrize(("size", "results"), [(8, 2), (7, 2), (9, 4)])
def test_tiles_are_transformed_in_registers(size, results, machine):
    sch = scheduled(winograd_conv2d(size, 4, 8, results, dtype="float64"), machine)
    assert [name for name in names_of(sch) if name in TILED] == TILED
    for block in ("pad_temp", "columns", "transformed", "rows", "results", "T_relu"):
        kinds = [kind for kind, extent in loops_of(sch, block)[3:] if extent != 1]
        assert kinds[-3:] == ["unrolled", "unrolled", "vectorized"], block
    # All blocks share the loop over bands.
    bands = {str(sch.get(sch.get_loops(sch.get_block(name))[0]).loop_var) for name in TILED}
    assert len(bands) == 1
    assert (PARALLEL in kinds_of(sch)) == (machine is TWO_CORES)


def test_no_tile_sticks_out_of_a_band():
    near = SMALL._replace(own_cache=16 << 10)  # of what 21 tiles take
    sch = scheduled(winograd_conv2d(14, 4, 8, 2, pad=0), near)
    (_, bands), (_, tiles), *_ = loops_of(sch, "transformed")
    assert (bands, tiles) == (2, 18)


def test_any_number_of_images():
    batch = te.var("batch", "int64")
    func = winograd_conv2d(6, 4, 8, 2, batch=batch)
    sch = scheduled(func, SMALL, {"batch": 3})
    assert names_of(sch)[-1] == "T_relu"


def test_without_zeros_around_images():
    sch = scheduled(winograd_conv2d(10, 4, 8, 2, pad=0), LARGE)
    assert names_of(sch) == [name for name in TILED if name != "pad_temp"]


def test_results_that_others_read_too():
    """Two consumers: each is computed on its own, from the results of all tiles."""
    x, u = te.placeholder((1, 6, 6, 4), name="X"), te.placeholder((4, 4, 4, 8), name="U")
    y = topi.nn.winograd_conv2d_nhwc(x, u, 2, 1)
    func = te.create_prim_func([x, u, y, topi.nn.relu(y)])
    assert "products" in names_of(scheduled(func, SMALL))


@pytest.mark.parametrize("factors", [0, 1, 2])
@pytest.mark.parametrize("shift", [0, 1])
def test_other_products_between_choices(factors, shift):
    """Products of more operands, and of rows that are read elsewhere, have other structures."""
    x, w = te.placeholder((2, 8, 8), name="X"), te.placeholder((2, 8, 8), name="W")
    more = [te.placeholder((2, 8, 8), name=f"Z{n}") for n in range(2)]
    step = te.reduce_axis((0, 8), "step")

    def chosen(a, which, i, j):
        return Select(which.equal(0), a[0, i, j] + a[1, i, j], a[0, i, j] - a[1, i, j])

    def product(p, i, j):
        value = before[p, (i + shift) % 8, step] * w[p, step, j]
        for operand, place in list(zip(more, ((p, step, j), (p, i, step)), strict=True))[:factors]:
            value = value * operand[place]
        return te.sum(value, axis=step)

    before = te.compute((2, 8, 8), lambda p, i, j: chosen(x, p, i, j), name="before")
    products = te.compute((2, 8, 8), product, name="products")
    after = te.compute((2, 8, 8), lambda p, i, j: chosen(products, p, i, j), name="after")
    result = te.compute((16, 8), lambda i, j: after[i % 2, i // 2, j], name="result")
    scheduled(te.create_prim_func([x, w, *more, result]), SMALL)
