"""Each core has about as much to do as the others."""

import pytest
from tests.schedule_rules.programs import (
    SMALL,
    TWO_CORES,
    loops_of,
    matmul,
    matmul_relu,
    names_of,
    pointwise_relu,
    scheduled,
    softmax,
)

from tilewright import te, topi
from tilewright.schedule_rules.balance import busy_share

PANELS = TWO_CORES._replace(first_cache=1 << 9, own_cache=1 << 12)
"""A panel of a short sum stays in the cache, alone."""


def parallel(sch, block):
    """The extents of the loops around a block, which is in a parallel loop, up to that one."""
    kinds, extents = zip(*loops_of(sch, block), strict=True)
    return list(extents[: kinds.index("parallel") + 1])


def test_cores_are_busy_while_others_are():
    three = SMALL._replace(cores=3)
    shares = [busy_share(count, three) for count in (1, 2, 3, 4, 9, 10)]
    assert shares == pytest.approx([1 / 3, 2 / 3, 1, 2 / 3, 1, 10 / 12])
    assert busy_share(7, SMALL) == 1


@pytest.mark.parametrize("columns", [48, 72])
def test_each_core_copies_panels_of_its_own_if_they_divide_evenly(columns):
    sch = scheduled(matmul(200, columns, 32), PANELS)
    assert parallel(sch, "C") == parallel(sch, "B_global") == [columns // 12]


@pytest.mark.parametrize("columns", [60, 84, 100])
def test_otherwise_cores_share_the_copy_and_the_tiles_of_all_panels(columns):
    """With 100 columns, the last panel is shorter than the others."""
    sch = scheduled(matmul(200, columns, 32), PANELS)
    panels = 13 if columns == 100 else columns // 12
    rows = 6 if columns == 100 else 4
    assert parallel(sch, "C") == [panels * -(-200 // rows)]
    (copied,) = parallel(sch, "B_global")
    assert copied % panels == 0


def test_a_single_core_copies_panel_by_panel():
    sch = scheduled(matmul(200, 100, 32), PANELS._replace(cores=1))
    copying, multiplying = (sch.get(sch.get_loops(block)[0]) for block in ("B_global", "C"))
    assert copying is multiplying


@pytest.mark.parametrize("program", [matmul, matmul_relu])
def test_blocks_of_a_long_sum_are_copied_by_all_cores(program):
    """Their rows are divided then, and what reads the results has loops of its own."""
    machine = TWO_CORES._replace(first_cache=1 << 8, own_cache=1 << 11)
    even, uneven = (scheduled(program(20, columns, 75), machine) for columns in (96, 72))
    assert parallel(even, "C") == parallel(even, "B_global") == [4]
    assert parallel(uneven, "C") == [3, 15, 5]
    assert parallel(uneven, "B_global") == [3, 15, 30]
    if program is matmul_relu:
        assert len(parallel(even, "E")) == len(parallel(uneven, "E")) == 1
        assert parallel(even, "E") == [4] != parallel(uneven, "E")


def test_tiles_of_rows_and_columns_are_divided_where_nothing_is_copied():
    sch = scheduled(pointwise_relu(8, 10, 24), TWO_CORES)
    (tiles,) = parallel(sch, "Y")
    assert tiles > 4


def padded_images(count):
    """Sums of windows of padded images."""
    x = te.placeholder((count, 2, 6, 6), name="X")
    w = te.placeholder((4, 2, 3, 3), name="W")
    return te.create_prim_func([x, w, topi.nn.conv2d(x, w, 1, 1, 1, "NCHW")])


@pytest.mark.parametrize(("images", "shares"), [(3, False), (4, True)])
def test_stages_share_loops_only_if_all_cores_have_enough_iterations(images, shares):
    machine = TWO_CORES._replace(first_cache=1 << 10, own_cache=1 << 14)
    sch = scheduled(padded_images(images), machine)
    first, *_ = names_of(sch)
    assert (parallel(sch, first) == parallel(sch, "conv2d") == [images]) == shares


def test_stages_share_a_few_rows_that_are_soon_computed():
    """Others are computed one after the other, each by all cores."""
    long, short = (scheduled(softmax(3, columns), TWO_CORES) for columns in (64, 8))
    assert parallel(short, "M") == parallel(short, "O") == [3]
    assert parallel(long, "O") != [3]
