"""What each rule makes of programs, and that they compute the same."""

import math

import numpy as np
import pytest
from tests.passes import legalize_for, lower
from tests.schedule_rules.programs import (
    LARGE,
    PARALLEL,
    SMALL,
    TWO_CORES,
    VECTOR,
    attention,
    conv2d,
    elementwise,
    kinds_of,
    later_normalized_attention,
    loops_of,
    matmul,
    matmul_relu,
    names_of,
    padded_windows,
    pointwise_relu,
    scheduled,
    softmax,
    strided_conv2d,
    sums,
    sums_of_boxes,
    transpose,
    windows,
)

import tilewright as tvm
from tilewright import te, tir, topi
from tilewright.ir import IRModule, walk
from tilewright.ir.expr import FloorDiv, FloorMod, is_const_int
from tilewright.schedule_rules.default import schedule_module
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.script import from_source
from tilewright.target import Target
from tilewright.tir.buffer import BufferLoad
from tilewright.tir.schedule.proofs import legality
from tilewright.tir.stmt import Allocate, BufferStore, For, ForKind
from tilewright.tir.transform.machine import Machine

LEVEL_3 = Target("llvm -mcpu=x86-64-v3 -num-cores=1")

# --- contractions -----------------------------------------------------------------------------


def test_a_product_that_fits_into_the_cache_is_tiled_for_registers():
    sch = scheduled(matmul(8, 16, 6), LARGE)
    assert names_of(sch) == ["C"]
    *_, step, row, vector, lane = loops_of(sch, "C")
    assert step == ("unrolled", 6)
    assert row[0] == vector[0] == "unrolled"
    assert lane == ("vectorized", 4)


def test_a_larger_product_is_packed():
    sch = scheduled(matmul(16, 24, 8))
    assert names_of(sch) == ["B_global", "C"]
    assert loops_of(sch, "B_global")[-1] == ("vectorized", 4)


@pytest.mark.parametrize(("batch", "depth", "is_copied"), [(1, 1024, True), (32, 64, False)])
def test_rows_of_large_matrices_that_are_transposed_are_copied(batch, depth, is_copied):
    """Each matrix on its own: many small ones are near, one after the other."""
    a = te.placeholder((batch, depth, 512), name="A")
    b = te.placeholder((batch, depth, 512), name="B")
    k = te.reduce_axis((0, depth), name="k")
    shape = (batch, 512, 512)
    c = te.compute(shape, lambda n, i, j: te.sum(a[n, k, i] * b[n, k, j], axis=k), name="C")
    target = "llvm -mcpu=skylake-avx512 -num-cores=1"
    sch = tvm.default_schedule(te.create_prim_func([a, b, c]), target)
    assert ("A_global" in names_of(sch)) == is_copied


def test_rows_from_memory_are_read_once_if_all_columns_stay_near():
    """The outer loop is over tiles of rows then, otherwise over those of columns."""
    machine = SMALL._replace(own_cache=1 << 12)
    far, near = (scheduled(matmul(rows, 24, 16), machine) for rows in (200, 20))
    assert [extent for _, extent in loops_of(far, "C")[:2]] == [50, 2]
    assert [extent for _, extent in loops_of(near, "C")[:2]] == [2, 5]


@pytest.mark.parametrize(("columns", "depth", "rows", "is_packed"), [
    (500, 500, 16, False), (500, 500, 256, True),  # copying pays where many rows use it
    (512, 512, 16, True),  # lines of a tile share a few sets of the cache
    (500, 5000, 16, False),  # no cache keeps a tile of columns, but the first one a block
    (500, 5000, 200, True),
])  # fmt: skip
def test_columns_stay_as_they_are_where_a_cache_keeps_those_of_a_tile(
    columns, depth, rows, is_packed
):
    machine = LEVEL_3.machine._replace(own_cache=512 << 10)
    sch = schedule_module(IRModule({"main": matmul(rows, columns, depth)}), machine)
    assert ("B_global" in names_of(sch)) == is_packed


@pytest.mark.parametrize(("rows", "depth", "steps"), [
    (32, 1024, 128), (24, 1250, 125),
    (32, 480, 480),  # so does the panel in the next cache
    (100, 1024, 1024),  # sums stay in registers where many rows use a panel
])  # fmt: skip
def test_panels_for_few_rows_stay_in_the_first_cache(rows, depth, steps):
    machine = LEVEL_3.machine._replace(own_cache=512 << 10, first_cache=32 << 10)
    sch = schedule_module(IRModule({"main": matmul(rows, 1024, depth)}), machine)
    *_, count, vectors, lane = loops_of(sch, "B_global")
    assert count == ("serial", steps)
    assert (vectors[1] * lane[1] == 16) == (steps < 480)  # a cache line


WIDE_ROWS = Machine(first_cache=48 << 10, own_cache=2 << 20)
"""With panels of several cache lines a row."""


@pytest.mark.parametrize(("rows", "columns", "steps", "is_packed"), [
    (4, 1000, 64, False), (24, 1000, 64, False), (64, 1280, 48, False), (128, 1000, 64, False),
    (32, 1024, 64, False), (64, 1024, 64, False),  # lines of a panel share a few sets of the cache
    (4, 1024, 24, False),  # as the lines that were asked for ahead
    (160, 1280, 1000, True),  # sums stay in registers
])  # fmt: skip
def test_few_rows_use_wide_panels_block_by_block(rows, columns, steps, is_packed):
    depth = 1024 if columns == 1024 else 1000
    sch = schedule_module(IRModule({"main": matmul(rows, columns, depth)}), WIDE_ROWS)
    assert ("B_global" in names_of(sch)) == is_packed
    kinds, extents = zip(*loops_of(sch, "C"), strict=True)
    inner = extents[kinds.index("unrolled")]
    *_, step = (n for kind, n in zip(kinds, extents, strict=True) if kind == "serial")
    assert step * inner == steps


@pytest.mark.parametrize(("columns", "depth", "rows", "steps"), [
    (500, 5000, 16, 128), (1000, 1000, 4, 128), (1000, 1000, 60, 128),
    (1024, 1024, 12, 128),  # in the next cache
    (4096, 4096, 60, 128),  # packed
])  # fmt: skip
def test_few_rows_use_narrow_panels_block_by_block(columns, depth, rows, steps):
    machine = LEVEL_3.machine._replace(own_cache=512 << 10, first_cache=32 << 10)
    sch = schedule_module(IRModule({"main": matmul(rows, columns, depth)}), machine)
    assert ("B_global" in names_of(sch)) == (columns == 4096)
    kinds, extents = zip(*loops_of(sch, "C"), strict=True)
    inner = extents[kinds.index("unrolled")]
    *_, step = (n for kind, n in zip(kinds, extents, strict=True) if kind == "serial")
    assert step * inner == steps


@pytest.mark.parametrize("cores", [1, 2])
def test_the_next_wide_panel_is_asked_for_while_all_rows_use_one(cores):
    machine = WIDE_ROWS._replace(cores=cores)
    sch = schedule_module(IRModule({"main": matmul(30, 1500, 1000)}), machine)
    ((columns, block, panel, tile, *_),) = [sch.get_loops("C")]
    assert [sch.get(loop).extent.value for loop in (columns, block, panel, tile)] == [
        cores, 21, -(-24 // cores), 5
    ]  # fmt: skip
    assert sch.get(columns).kind is (ForKind.PARALLEL if cores > 1 else ForKind.SERIAL)
    assert dict(sch.get(panel).annotations["software_prefetch"]) == {"B": 1}


@pytest.mark.parametrize(("size", "steps"), [(56, 2), (16, 4)])
def test_two_steps_are_unrolled_that_each_ask_for_several_lines(size, steps):
    """Where the image is larger than a cache."""
    x, w = te.placeholder((256, size, size), name="X"), te.placeholder((64, 256), name="W")
    k = te.reduce_axis((0, 256), "k")
    y = te.compute((64, size, size), lambda o, i, j: te.sum(x[k, i, j] * w[o, k], axis=k), "Y")
    machine = WIDE_ROWS._replace(vector_registers=16)
    sch = schedule_module(IRModule({"main": te.create_prim_func([x, w, y])}), machine)
    kinds = [item for item in loops_of(sch, "Y") if item[1] > 1]
    assert next(item for item in kinds if item[0] == "unrolled") == ("unrolled", steps)


def test_the_results_of_blocks_of_wide_panels_stay_in_the_cache_of_a_core():
    sch = schedule_module(IRModule({"main": matmul(60, 8000, 1000)}), WIDE_ROWS)
    (_, chunks), (_, blocks), (_, panels), *_ = loops_of(sch, "C")
    assert (chunks, blocks, panels) == (4, 21, 32)


def test_blocks_of_wide_panels_compute_the_same():
    sch = scheduled(matmul_relu(15, 70, 61), Machine(first_cache=1 << 15, own_cache=1 << 13))
    annotations = [sch.get(loop).annotations for loop in sch.get_loops("C")]
    assert [dict(item.get("software_prefetch", {})) for item in annotations].count({"B": 1}) == 1


@pytest.mark.parametrize(("rows", "blocks"), [(200, 1), (100, 2)])
def test_all_panels_are_packed_at_once_where_rows_come_from_memory(rows, blocks):
    sch = scheduled(matmul(rows, 64, 24, transposed=True), SMALL._replace(own_cache=1 << 14))
    assert names_of(sch) == ["B_global", "C"]
    assert loops_of(sch, "C")[0] == ("serial", blocks)


def test_a_transposed_operand_is_packed_however_small():
    assert names_of(scheduled(matmul(16, 8, 4, transposed=True), LARGE)) == ["B_global", "C"]


def test_columns_that_are_no_neighbours_are_transposed_in_registers_when_they_are_packed():
    sch = scheduled(matmul(16, 12, 20, transposed=True), LARGE)
    assert loops_of(sch, "B_global")[-2:] == [("unrolled", 4), ("vectorized", 4)]


@pytest.mark.parametrize("depth", [48, 53])
def test_the_panels_of_a_deep_product_are_packed_block_by_block(depth):
    sch = scheduled(matmul(16, 40, depth))
    (_, panels), (_, blocks), (_, steps), *_ = loops_of(sch, "B_global")
    assert loops_of(sch, "C")[:2] == [("serial", panels), ("serial", blocks)]
    assert panels == 5
    assert (blocks - 1) * steps < depth <= blocks * steps


@pytest.mark.parametrize("depth", [64, 131])
def test_a_narrow_operand_is_used_block_by_block_as_it_is(depth):
    sch = scheduled(matmul(8, 8, depth))
    assert names_of(sch) == ["C"]
    _, (_, blocks), _, (_, steps), *_ = loops_of(sch, "C")
    assert blocks > 1
    assert (blocks - 1) * steps < depth <= blocks * steps


@pytest.mark.parametrize(("rows", "ahead"), [(16, True), (128, False)])
def test_panels_of_a_constant_are_asked_for_ahead_if_few_rows_use_them(rows, ahead):
    machine = LARGE._replace(own_cache=1 << 13)
    sch = scheduled(matmul(rows, 64, 64).with_attr(CONSTANT_PARAMS, [1]), machine)
    annotations = [sch.get(loop).annotations for loop in sch.get_loops("C")]
    assert any("software_prefetch" in found for found in annotations) == ahead


@pytest.mark.parametrize(("rows", "width"), [(2, 4), (3, 4), (16, 16)])
def test_panels_that_few_rows_read_once_are_streams_of_vectors(rows, width):
    machine = LARGE._replace(own_cache=1 << 13)
    sch = scheduled(matmul(rows, 64, 64).with_attr(CONSTANT_PARAMS, [1]), machine)
    panels = sch.get(sch.get_block("B_global")).writes[0].buffer
    assert [int(n) for n in panels.shape] == [64 // width, 64, width]


def test_columns_from_far_away_are_asked_for_ahead():
    machine = LARGE._replace(own_cache=1 << 14)
    sch = scheduled(matmul(12, 512, 32), machine)
    (asked,) = [
        sch.get(loop).annotations for loop in sch.get_loops("C") if sch.get(loop).annotations
    ]
    assert {name: int(ahead) for name, ahead in asked["software_prefetch"].items()} == {"B": 6}
    assert tvm.build(sch.mod, target="llvm") is not None


@pytest.mark.parametrize(("rows", "packed"), [(128, "B_global"), (16, "A_global")])
def test_panels_of_a_constant_are_used_unless_another_way_is_much_faster(rows, packed):
    func = matmul(rows, 2048, 2048, transposed=True).with_attr(CONSTANT_PARAMS, [1])
    caches = "32768,524288,33554432"
    sch = tvm.default_schedule(func, f"llvm -mcpu=znver3 -cache-sizes={caches} -num-cores=1")
    assert packed in [block.name_hint for block in map(sch.get, sch.get_child_blocks("root"))]


@pytest.mark.parametrize("depth", [64, 67])
@pytest.mark.parametrize(("registers", "count"), [(16, 4), (32, 2)])
def test_steps_of_a_sum_are_unrolled(depth, registers, count):
    """Fewer for large tiles. Also where some are left over: these come after the loop."""
    sch = scheduled(matmul(18, 64, depth), LARGE._replace(vector_registers=registers))
    *_, steps, step, _, _, _ = loops_of(sch, "C")
    assert (steps, step) == (("serial", -(-depth // count)), ("unrolled", count))


def test_steps_that_convert_operands_are_not_unrolled():
    a, b = te.placeholder((16, 64), "float16", "A"), te.placeholder((64, 64), "float16", "B")
    r = te.reduce_axis((0, 64), name="r")

    def element(i, j):
        return te.sum(a[i, r].astype("float32") * b[r, j].astype("float32"), axis=r)

    sch = scheduled(te.create_prim_func([a, b, te.compute((16, 64), element, name="C")]), LARGE)
    assert ("unrolled", 1) in loops_of(sch, "C")


def test_consumers_of_a_deep_product_come_after_its_last_block():
    sch = scheduled(matmul_relu(16, 40, 64))
    loops = loops_of(sch, "E")
    assert loops_of(sch, "C")[0] == loops[0]
    assert len(loops) == 4


@pytest.mark.parametrize("shape", [(3, 6, 6), (2, 3, 10, 10), (5, 2, 3)])
def test_the_dimensions_of_elements_are_one_whatever_their_sizes(shape):
    sch = scheduled(elementwise(*shape), LARGE)
    lowered = legalize_for(lower(sch.mod["main"]), Machine(vector_bits=128)).script()
    assert "//" not in lowered
    assert "%" not in lowered


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES])
@pytest.mark.parametrize("size", [(7, 5, 3), (17, 19, 5), (2, 33, 4), (16, 3, 9), (1, 9, 8)])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_products_of_any_size(size, is_transposed, machine):
    sch = scheduled(matmul(*size, is_transposed), machine)
    assert VECTOR in kinds_of(sch) or is_transposed


def test_consumers_of_a_product_are_computed_for_each_tile():
    sch = scheduled(matmul_relu(8, 16, 6), LARGE)
    assert names_of(sch) == ["C", "E"]
    shared = [a == b for a, b in zip(loops_of(sch, "C"), loops_of(sch, "E"), strict=False)]
    assert shared[0]
    assert loops_of(sch, "E")[-1] == ("vectorized", 4)


@pytest.mark.parametrize(("terms", "kind"), [(4, "unrolled"), (200, "serial")])
def test_short_consumers_find_a_tile_in_registers(terms, kind):
    a, b = te.placeholder((24, 16), name="A"), te.placeholder((16, 32), name="B")
    r = te.reduce_axis((0, 16), name="k")
    c = te.compute((24, 32), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")

    def polynomial(i, j):
        value = c[i, j]
        for _ in range(terms):
            value = value * c[i, j] + 1.0
        return value

    d = te.compute((24, 32), polynomial, name="D")
    loops = loops_of(scheduled(te.create_prim_func([a, b, d]), LARGE), "D")
    assert [kind for kind, _ in loops] == ["serial", "serial", kind, kind, "vectorized"]


@pytest.mark.parametrize(
    ("program", "unrolled"),
    [(matmul_relu(8, 16, 64), 4), (matmul_relu(8, 10, 64), 2), (pointwise_relu(64, 5, 2), 4)],
)
def test_sums_that_have_consumers_stay_in_registers(program, unrolled):
    sch = scheduled(program, LARGE)
    func = legalize_for(lower(sch.mod["main"]), Machine(128, 32))
    sums = [
        node
        for node in walk(func.body)
        if isinstance(node, For) and is_const_int(node.extent, 64 // unrolled)
    ]
    assert sums
    for node in (node for loop in sums for node in walk(loop)):
        assert not isinstance(node, BufferStore) or node.buffer.scope() == "local"


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES])
@pytest.mark.parametrize(
    "program", [conv2d(2, 6, 4, 3, 1), conv2d(2, 5, 3, 1, 0), conv2d(3, 6, 0, 3, 1, True)]
)
def test_convolutions(program, machine):
    assert VECTOR in kinds_of(scheduled(program, machine))


@pytest.mark.parametrize(
    ("machine", "filters", "relu"),
    [(SMALL, 16, True), (LARGE, 18, False), (SMALL, 7, False), (TWO_CORES, 7, True)],
)
def test_vectors_of_filters(machine, filters, relu):
    sch = scheduled(strided_conv2d(2, 11, filters, relu), machine)
    assert loops_of(sch, "Y")[-1] == ("vectorized", 4)
    is_whole = filters % 4 == 0  # or else filled up to whole vectors
    copy, result = ("W_global", "Y_global") if is_whole else ("W_pad_global", "Y_pad")
    assert names_of(sch) == [copy, "Y", "R" if relu else result]


def test_vectors_of_filters_are_filled_up_for_several_images():
    """All images are surrounded by zeros first: nothing else may be in the loop over images where
    filters are filled up."""
    image = te.placeholder((3, 2, 7, 7), name="X")
    filters = te.placeholder((18, 2, 3, 3), name="W")
    result = topi.nn.conv2d(image, filters, 2, 1, 1)
    sch = scheduled(te.create_prim_func([image, filters, result]), LARGE)
    assert "W_pad_global" in names_of(sch)


@pytest.mark.parametrize("width", [6, 8])
def test_results_that_masks_cut_off_stay_in_registers_around_a_loop(width):
    image = te.placeholder((1, 3, 5, width + 1), name="A")
    kernel = te.placeholder((3, 1, 2, 2), name="W")
    result = topi.nn.depthwise_conv2d_nchw(image, kernel, 1, 0, 1)
    sch = scheduled(te.create_prim_func([image, kernel, result]), LARGE)
    window = [loop for loop in loops_of(sch, result.op.name) if loop[1] == 2]
    is_cut = width % 4 != 0
    assert (window[0] == ("serial", 2)) is is_cut


def test_a_few_rows_are_packed_and_a_large_matrix_is_read_once():
    func = matmul(16, 400, 480, transposed=True)
    sch = schedule_module(IRModule.from_expr(func), SMALL)
    assert names_of(sch) == ["A_global", "C", "C_global"]


def test_windows_of_few_filters_are_no_rows_of_a_matrix():
    """Elements of the image are in several windows, and are read again for each."""
    sch = scheduled(conv2d(2, 34, 8, 3, 1))
    extents = [extent for _, extent in loops_of(sch, "Y")]
    assert extents.count(3) == 2
    assert loops_of(sch, "Y")[-1] == ("vectorized", 4)


def test_vectors_of_filters_need_filters():
    sch = scheduled(strided_conv2d(2, 11, 2, False), LARGE)
    assert "W_global" not in names_of(sch)


@pytest.mark.parametrize("machine", [LARGE._replace(vector_bits=n) for n in (256, 512)])
def test_rows_that_leave_lanes_empty_are_packed_one_after_the_other(machine):
    sch = scheduled(conv2d(2, 3, 18, 3, 1), machine)
    padding, *others = names_of(sch)
    assert padding.startswith("P_")  # cut where it leaves the image
    assert others == ["P_global", "Y", "Y_global"]
    assert loops_of(sch, "Y")[-1][0] == "vectorized"


def test_the_padding_of_a_channel_is_computed_when_the_channel_is():
    sch = scheduled(conv2d(3, 6, 0, 3, 1, True))
    assert sch.get(sch.get_loops("P")[0]) is sch.get(sch.get_loops("Y")[0])


@pytest.mark.parametrize("depth", [4, 40])
@pytest.mark.parametrize("is_constant", [False, True])
def test_panels_of_constants_that_come_from_memory_are_asked_for_ahead(is_constant, depth):
    func = matmul(32, 64, depth, transposed=True)
    if is_constant:
        func = func.with_attr(CONSTANT_PARAMS, (1,))
    machine = LARGE._replace(own_cache=4096)
    sch = scheduled(func, machine)
    loops = [node for node in walk(sch.mod["main"].body) if isinstance(node, For)]
    asked = [loop for loop in loops if "software_prefetch" in loop.annotations]
    assert len(asked) == (is_constant and depth == 40)


@pytest.mark.parametrize(("near", "steps"), [(1 << 20, 4), (1024, 10)])
def test_the_next_panel_is_asked_for_while_near_rows_use_one(near, steps):
    """The loop over panels says so; where rows do not stay near, that over each four steps does."""
    func = matmul(16, 64, 40, transposed=True).with_attr(CONSTANT_PARAMS, (1,))
    machine = LARGE._replace(own_cache=8192, first_cache=near)
    sch = scheduled(func, machine)
    loops = [node for node in walk(sch.mod["main"].body) if isinstance(node, For)]
    (asked,) = [loop for loop in loops if "software_prefetch" in loop.annotations]
    assert int(asked.extent.value) == steps


@pytest.mark.parametrize(("shared_cache", "ahead"), [(32 << 20, 8), (1 << 20, 0)])
def test_columns_are_asked_for_ahead_from_the_shared_cache_but_not_from_memory(shared_cache, ahead):
    X, k = te.placeholder((1024, 1024), name="X"), te.reduce_axis((0, 1024), name="k")
    Y = te.compute((1024,), lambda j: te.sum(X[k, j], axis=k), name="Y")
    machine = LARGE._replace(own_cache=1 << 17, shared_cache=shared_cache)
    sch = scheduled(te.create_prim_func([X, Y]), machine)
    _, _, piece, *_ = (sch.get(loop) for loop in sch.get_loops("Y"))
    assert int(piece.annotations["software_prefetch"]["X"]) == ahead


@pytest.mark.parametrize("machine", [SMALL, TWO_CORES])
@pytest.mark.parametrize("consumer", [False, True])
def test_windows_of_images_that_no_cache_holds_run_in_bands(consumer, machine):
    image, kernel = te.placeholder((1, 2, 16, 16), name="A"), te.placeholder((2, 1, 3, 3), name="W")
    result = topi.nn.depthwise_conv2d_nchw(image, kernel, 1, 1, 1)
    outputs = topi.nn.relu(result) if consumer else result
    sch = scheduled(te.create_prim_func([image, kernel, outputs]), machine)
    padding, window = (sch.get_loops(name) for name in ("pad_temp", result.op.name))
    band = [sch.get(a) is sch.get(b) for a, b in zip(padding, window, strict=False)]
    assert band.count(True) == (1 if machine is TWO_CORES else 3)
    if consumer and machine is SMALL:  # vectors of the rows of a tile, which are not one stretch
        assert "fused" not in sch.mod.script()


# --- rows and columns -------------------------------------------------------------------------


def test_reductions_and_what_uses_them_share_the_rows():
    sch = scheduled(softmax(6, 20))
    first = {sch.get(sch.get_loops(block)[0]) for block in names_of(sch)}
    assert len(first) == 1
    assert loops_of(sch, "O")[-1] == ("vectorized", 4)


@pytest.mark.parametrize(
    ("rows", "columns", "cores", "expected"),
    [(40, 20, 1, 8), (40, 50, 1, 4), (40, 300, 1, 1), (5, 20, 1, 4), (64, 20, 2, 8), (10, 20, 2, 1),
     (100000, 15, 1, 8), (100000, 64, 1, 1)],
)  # fmt: skip
def test_short_rows_with_long_calculations_are_worked_on_at_once(rows, columns, cores, expected):
    """But for those that cores would share unequally, or that are asked for one by one."""
    x = te.placeholder((rows, columns), name="X")
    module = IRModule.from_expr(te.create_prim_func([x, topi.nn.log_softmax(x)]))
    sch = schedule_module(module, LARGE._replace(cores=cores))
    assert loops_of(sch, "T_softmax_logsum")[1] == ("serial", expected)


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES])
@pytest.mark.parametrize("masked", [False, True])
def test_products_and_their_softmax_share_rows_that_stay_in_a_cache(masked, machine):
    sch = scheduled(attention(2, 3, 4, 5, 3, masked), machine)
    shared = 2 if machine is SMALL else 1  # in a large cache a whole head stays
    outer = [sch.get(loop) for loop in sch.get_loops("O")][:shared]
    names = ["S", "T_softmax_maxelem", "T_softmax_exp", "T_softmax_expsum", "T_softmax_norm"]
    for name in [*names, "M"] if masked else names:
        assert [sch.get(loop) for loop in sch.get_loops(name)][:shared] == outer, name


@pytest.mark.parametrize("machine", [SMALL, TWO_CORES])
def test_sums_by_which_products_are_divided_share_their_rows(machine):
    sch = scheduled(later_normalized_attention(2, 3, 4, 16, 8), machine)
    outer = [sch.get(loop) for loop in sch.get_loops("O")][: 1 if machine is TWO_CORES else 2]
    for name in ("S", "T_softmax_exp", "T_softmax_expsum", "T_softmax_factor", "N"):
        assert [sch.get(loop) for loop in sch.get_loops(name)][: len(outer)] == outer, name


def test_what_all_blocks_of_rows_multiply_is_packed_once_for_them():
    sch = scheduled(later_normalized_attention(2, 3, 40, 48, 8), SMALL._replace(own_cache=1 << 14))
    (packed,) = (name for name in names_of(sch) if name.endswith("_global"))
    of_head, of_block = (sch.get(loop) for loop in sch.get_loops("S")[:2])
    around = [sch.get(loop) for loop in sch.get_loops(packed)]
    assert of_head in around
    assert of_block not in around


def test_what_waits_for_whole_rows_is_not_computed_for_each_tile():
    x = te.placeholder((9, 7), name="A")
    y = te.placeholder((7, 20), name="B")
    k, j = te.reduce_axis((0, 7), "k"), te.reduce_axis((0, 20), "j")
    c = te.compute((9, 20), lambda i, n: te.sum(x[i, k] * y[k, n], axis=k), "C")
    most = te.compute((9,), lambda i: te.max(c[i, j], axis=j), "most")
    d = te.compute((9, 20), lambda i, n: te.exp(c[i, n] - most[i]), "D")
    sch = scheduled(te.create_prim_func([x, y, d]))
    assert loops_of(sch, "D")[:2] == [("serial", 2), ("serial", 8)]  # rows


def test_a_number_for_each_row_between_its_reduction_and_its_use():
    X = te.placeholder((6, 20), name="X")
    k = te.reduce_axis((0, 20), name="k")
    S = te.compute((6,), lambda i: te.sum(X[i, k], axis=k), name="S")
    mean = te.compute((6,), lambda i: te.exp(S[i] * 0.05), name="mean")
    O = te.compute((6, 20), lambda i, j: X[i, j] * mean[i] + mean[i], name="O")
    sch = scheduled(te.create_prim_func([X, O]))
    first = {sch.get(sch.get_loops(block)[0]) for block in names_of(sch)}
    assert len(first) == 1
    assert loops_of(sch, "O")[-1] == ("vectorized", 4)


@pytest.mark.parametrize("machine", [SMALL, TWO_CORES])
def test_consumers_of_columns_that_are_no_box_run_along_whole_images(machine):
    sch = scheduled(pointwise_relu(8, 10, 16), machine)
    loops = loops_of(sch, "R")
    assert loops[0][0] == ("parallel" if machine is TWO_CORES else "serial")
    # No vector ends at the end of a row.
    assert math.prod(extent for _, extent in loops) == 16 * 10 * 10


def test_pixels_that_fill_no_vectors_are_packed_across_rows():
    """Each vector of a panel is put together from the rows that it crosses, without conditions."""
    machine = LEVEL_3.machine._replace(own_cache=1 << 14)
    sch = scheduled(conv2d(8, 7, 128, 3, 1), machine)
    assert loops_of(sch, "P_global")[-2:] == [("unrolled", 7), ("vectorized", 8)]
    text = tvm.build(sch.mod, target=LEVEL_3).get_source("ll")
    assert "masked.gather" not in text
    assert "masked.scatter" not in text


@pytest.mark.parametrize(
    ("program", "packed"),
    [
        (conv2d(8, 7, 128, 3, 1), "P_global"),
        (matmul(200, 64, 24, transposed=True), "B_global"),
    ],
)
def test_cores_share_the_copy_of_panels_that_all_of_them_use(program, packed):
    sch = scheduled(program, LEVEL_3.machine._replace(own_cache=1 << 14, cores=2))
    assert "parallel" in [kind for kind, _ in loops_of(sch, packed)]


@pytest.mark.parametrize("function", [te.exp, te.tanh, te.sigmoid])
def test_long_calculations_do_not_take_the_registers_of_a_product(function):
    a, b, c = (te.placeholder((32, 32), name=name) for name in "ABC")
    k = te.reduce_axis((0, 32), name="k")
    product = te.compute((32, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="P")
    total = te.compute((32, 32), lambda i, j: product[i, j] + c[i, j], name="T")
    result = te.compute((32, 32), lambda i, j: function(total[i, j]), name="R")
    sch = scheduled(te.create_prim_func([a, b, c, result]), LARGE)
    assert names_of(sch) == ["P", "T", "R"]
    first, second, third = (sch.get_loops(name)[0] for name in "PTR")
    assert sch.get(first).loop_var is sch.get(second).loop_var
    assert sch.get(first).loop_var is not sch.get(third).loop_var


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES])
@pytest.mark.parametrize("shape", [(3, 37), (40, 3), (1, 8), (9, 16)])
@pytest.mark.parametrize("axis", [0, 1])
def test_sums(shape, axis, machine):
    scheduled(sums(*shape, axis), machine)


@pytest.mark.parametrize("machine", [SMALL, TWO_CORES])
@pytest.mark.parametrize(("size", "stride"), [(9, 2), (9, 1), (12, 3), (6, 1)])
def test_windows_run_in_vectors_of_results(size, stride, machine):
    sch = scheduled(windows(5, size, stride), machine)
    *_, y, x, (kind, _), lane = loops_of(sch, "Y")
    assert (y, x, lane) == (("serial", 3), ("serial", 3), ("vectorized", 4))
    assert kind == "unrolled"


def test_a_large_sum_of_columns_takes_rows_as_they_come():
    sch = scheduled(sums(64, 64, 0))
    assert loops_of(sch, "S") == [
        ("serial", 2), ("serial", 8), ("serial", 8), ("unrolled", 8), ("vectorized", 4),
    ]  # fmt: skip


def test_a_few_long_rows_are_added_in_registers():
    """Hardware follows all of them, so results need not wait in memory."""
    strip, rows, vectors, lanes = loops_of(scheduled(sums(3, 512, 0)), "S")
    assert strip == ("serial", 16)
    assert (rows, vectors, lanes) == (("unrolled", 3), ("unrolled", 8), ("vectorized", 4))


def test_a_sum_of_one_element_in_a_shared_loop():
    a, k = te.placeholder((8, 1, 64), name="A"), te.reduce_axis((0, 1), name="k")
    s = te.compute((8, 1, 64), lambda i, j, l: te.sum(a[i, k, l], axis=k), name="S")
    b = te.compute((8, 1, 64), lambda i, j, l: te.tanh(s[i, 0, l]), name="B")
    sch = scheduled(te.create_prim_func([a, b]))
    assert loops_of(sch, "S")[-1] == ("vectorized", 4)


def test_a_small_sum_of_columns_stays_in_registers():
    assert loops_of(scheduled(sums(16, 8, 0), LARGE), "S") == [
        ("serial", 1), ("serial", 4), ("unrolled", 4), ("unrolled", 2), ("vectorized", 4),
    ]  # fmt: skip


def test_several_short_rows_are_reduced_at_once():
    sch = scheduled(sums(20, 16, 1), LARGE)
    assert loops_of(sch, "S")[-2:] == [("unrolled", 8), ("vectorized", 16)]
    assert loops_of(scheduled(sums(20, 48, 1), LARGE), "S") == [("serial", 20), ("serial", 48)]


def test_parts_of_a_few_long_rows_are_reduced_by_all_cores():
    n = 1 << 19
    sch = tvm.default_schedule(sums(1, n, 1), "llvm -num-cores=2")
    assert loops_of(sch, "S_rf")[0] == ("parallel", 2)
    sch = tvm.default_schedule(sums(1, n // 4, 1), "llvm -num-cores=2")
    assert names_of(sch) == ["S"]


def test_a_channel_is_padded_in_memory_for_one_channel():
    sch = scheduled(padded_windows(4, 10), SMALL)
    (memory,) = (n for n in walk(lower(sch.mod["main"])) if isinstance(n, Allocate))
    assert math.prod(int(extent) for extent in memory.extents) <= 12 * 12


def test_large_windows_that_are_neighbours_are_one_row():
    sch = scheduled(sums_of_boxes(12, 6))
    assert loops_of(sch, "S_update")[-1] == ("serial", 36)
    sch = scheduled(sums_of_boxes(6, 12))
    assert loops_of(sch, "S")[-2:] == [("unrolled", 2), ("vectorized", 4)]


# --- elements ---------------------------------------------------------------------------------


def test_producers_are_inlined_and_dimensions_joined():
    sch = scheduled(elementwise(3, 4, 6))
    assert names_of(sch) == ["C"]
    assert loops_of(sch, "C") == [("serial", 9), ("vectorized", 8)]


def test_long_calculations_that_wait_for_each_other_stay_apart():
    def chain(outer):
        a = te.placeholder((4, 6), name="A")
        b = te.compute((4, 6), lambda i, j: tvm.tir.exp(a[i, j] * 0.0), name="B")
        c = te.compute((4, 6), lambda i, j: b[i, j] + 1.0, name="C")
        d = te.compute((4, 6), lambda i, j: outer(c[i, j]), name="D")
        return te.create_prim_func([a, d])

    assert names_of(scheduled(chain(tvm.tir.exp), LARGE)) == ["C", "D"]
    assert names_of(scheduled(chain(tvm.tir.abs), LARGE)) == ["D"]


@pytest.mark.parametrize(
    ("machine", "rows"),
    [(Machine(), 16), (SMALL._replace(vector_bits=256), 8), (LARGE, 8), (SMALL, 4)],
)
def test_a_tile_of_a_transposition_writes_whole_lines_of_a_cache(machine, rows):
    sch = scheduled(transpose(70, 40), machine)
    assert loops_of(sch, "B")[-2:] == [("unrolled", rows), ("vectorized", 16)]


@pytest.mark.parametrize(("columns", "in_lines"), [(1024, True), (1001, False)])
@pytest.mark.parametrize("own_cache", [1 << 20, 2 << 20])
def test_a_long_transposition_reads_in_turn_where_it_writes_whole_lines(
    columns, in_lines, own_cache
):
    """Past the caches, a line that is written in parts is slow."""
    machine = LARGE._replace(own_cache=own_cache)
    sch = schedule_module(IRModule.from_expr(transpose(columns, 5000)), machine)
    outer, inner = sch.get_loops("B")[:2]
    streamed = sch.get(inner).annotations.get("nontemporal_stores", {}).values()
    assert list(map(int, streamed)) == ([1] if in_lines else [])
    assert str(sch.get(outer).loop_var).startswith("j" if in_lines else "i")


def test_rows_shorter_than_a_vector_are_transposed_in_squares_of_elements():
    sch = scheduled(transpose(3, 70))
    assert loops_of(sch, "B") == [("serial", 3), ("serial", 32), ("serial", 3)]


@pytest.mark.parametrize(
    "program",
    [
        elementwise(64, 8),
        transpose(40, 40),
        softmax(8, 8),
        sums(8, 8, 1),
        sums(16, 64, 0),
        matmul(16, 16, 16),
        matmul(16, 4, 4),  # one panel of columns
        conv2d(2, 6, 4, 3, 1),
    ],
)
def test_several_cores(program):
    assert PARALLEL in kinds_of(scheduled(program, TWO_CORES))
    assert PARALLEL not in kinds_of(scheduled(program, SMALL))


def test_an_expensive_producer_that_is_read_often_keeps_its_memory():
    a = te.placeholder((4, 4), name="A")
    e = te.compute((4, 4), lambda i, j: te.exp(a[i, j]), name="E")
    b = te.compute((3, 4, 4), lambda n, i, j: e[i, j] + n, name="B")
    sch = tvm.default_schedule(te.create_prim_func([a, b]), "llvm")
    assert names_of(sch) == ["E", "B"]


@pytest.mark.parametrize("size", [21, 40])
def test_results_that_come_from_two_places_in_turn_are_vectors_of_each(size):
    pairs, singles = te.placeholder((2, 14), name="A"), te.placeholder((14,), name="B")
    turns = te.compute(
        (size,),
        lambda i: te.if_then_else(
            (i + 1) % 3 < 2, pairs[(i + 1) % 3, (i + 1) // 3], singles[i // 3]
        ),
        name="C",
    )
    sch = scheduled(te.create_prim_func([pairs, singles, turns]), LARGE)
    assert loops_of(sch, "C") == [
        ("serial", -(-size // 12)),
        ("unrolled", 3),
        ("vectorized", 4),
    ]


def test_neighbours_that_come_from_one_place_run_along_it():
    rows = te.placeholder((16, 3), name="A")
    flat = te.compute((48,), lambda i: rows[i // 3, i % 3], name="C")
    sch = scheduled(te.create_prim_func([rows, flat]), LARGE)
    assert all(kind != "unrolled" for kind, _ in loops_of(sch, "C"))


# --- others -----------------------------------------------------------------------------------


def test_repeated_elements_are_vectors_of_each_repetition():
    A = te.placeholder((6, 20), name="A")
    B = te.compute((6, 60), lambda i, j: A[i, j // 3], "B")
    sch = scheduled(te.create_prim_func([A, B]))
    assert loops_of(sch, "B")[-2:] == [("unrolled", 3), ("vectorized", 4)]


@pytest.mark.parametrize("machine", [SMALL, TWO_CORES])
def test_vectors_do_not_run_over_the_ends_of_repeated_rows(machine):
    A = te.placeholder((6, 10), name="A")
    B = te.compute((6, 30), lambda i, j: A[i, j % 10], "B")
    sch = scheduled(te.create_prim_func([A, B]), machine)
    lowered = lower(sch.mod["main"])
    indices = [node.indices[0] for node in walk(lowered.body) if isinstance(node, BufferLoad)]
    assert not any(isinstance(node, FloorMod) for index in indices for node in walk(index))


def test_long_rows_that_compute_with_their_places_are_not_joined():
    A = te.placeholder((6, 20), name="A")
    B = te.compute((6, 20), lambda i, j: tir.Select(j <= i, A[i, j], tir.const(0.0)), "B")
    lowered = lower(scheduled(te.create_prim_func([A, B])).mod["main"])
    assert not any(isinstance(node, (FloorDiv, FloorMod)) for node in walk(lowered.body))


def test_copies_that_are_read_several_times_are_read_where_they_come_from():
    A = te.placeholder((6, 20), name="A")
    part = te.compute((6, 10), lambda i, j: A[i, j + 5], "part")
    B = te.compute((6, 30), lambda i, j: part[i, j % 10], "B")
    assert names_of(scheduled(te.create_prim_func([A, B]))) == ["B"]
    turned = te.compute((20, 6), lambda i, j: A[j, i], "turned")
    C = te.compute((60, 6), lambda i, j: turned[i % 20, j], "C")
    assert names_of(scheduled(te.create_prim_func([A, C]))) == ["turned", "C"]


def test_symbolic_sizes():
    n = te.size_var("n")
    a, b = te.placeholder((n, 6), name="A"), te.placeholder((6, n), name="B")
    k = te.reduce_axis((0, 6), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    func = te.create_prim_func([a, b, c])
    for size in (1, 5, 16, 33):
        sch = scheduled(func, SMALL, {"n": size})
    assert VECTOR in kinds_of(sch)


def test_a_symbolic_batch_is_no_tile():
    n = te.size_var("n")
    a, b = te.placeholder((n, 12, 6), name="A"), te.placeholder((6, 8), name="B")
    k = te.reduce_axis((0, 6), name="k")
    c = te.compute((n, 12, 8), lambda i, j, m: te.sum(a[i, j, k] * b[k, m], axis=k), name="C")
    sch = scheduled(te.create_prim_func([a, b, c]), LARGE, {"n": 2})
    column, batch, *tile = (sch.get(loop) for loop in sch.get_loops("C"))
    assert is_const_int(column.extent, 1)
    assert batch.kind is ForKind.SERIAL
    assert not is_const_int(batch.extent)
    assert all(is_const_int(loop.extent) for loop in tile)


def test_steps_that_depend_on_each_other_stay_in_order():
    func = from_source(
        """
from tilewright.script import tir as T

@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j in T.grid(7, 16):
        with T.block("B"):
            vi = T.axis.opaque(7, i)
            vj = T.axis.spatial(16, j)
            B[vi + 1, vj] = B[vi, vj] + A[vi, vj]
"""
    )
    assert loops_of(scheduled(func, TWO_CORES), "B") == [("serial", 7), ("serial", 16)]


def test_other_functions_of_a_module_stay_as_they_are():
    other = matmul(4, 4, 4).with_attrs({"tir.is_scheduled": True, "global_symbol": "other"})
    module = tvm.IRModule({"main": elementwise(4, 4), "other": other})
    sch = tvm.default_schedule(module)
    assert sch.mod["other"] is other
    assert VECTOR in kinds_of(sch)


def test_a_long_sum_whose_outermost_loop_is_short():
    """Blocks of one step of that loop stay in the cache."""
    a, b = te.placeholder((24, 3, 512), name="A"), te.placeholder((3, 512, 32), name="B")
    r, q = te.reduce_axis((0, 3), "r"), te.reduce_axis((0, 512), "q")
    c = te.compute((24, 32), lambda i, j: te.sum(a[i, r, q] * b[r, q, j], [r, q]), name="C")
    sch = schedule_module(IRModule.from_expr(te.create_prim_func([a, b, c])), SMALL)
    assert ("serial", 3) in loops_of(sch, "C")


def test_what_is_squared_is_computed_where_it_is():
    A, B = te.placeholder((64, 32), name="A"), te.placeholder((48, 32), name="B")
    difference = te.compute((64, 48, 32), lambda i, j, k: A[i, k] - B[j, k], "difference")
    k = te.reduce_axis((0, 32), "k")

    def square(i, j):
        return te.sum(difference[i, j, k] * difference[i, j, k], k)

    func = te.create_prim_func([A, B, te.compute((64, 48), square, "D")])
    sch = tvm.default_schedule(func, "llvm -num-cores=1")
    assert "difference" not in sch.mod["main"].script()
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype("float32") for shape in ((64, 32), (48, 32)))
    result = tvm.nd.empty((64, 48))
    tvm.build(func, target="llvm")(tvm.nd.array(a), tvm.nd.array(b), result)
    exact = ((a[:, None].astype("float64") - b) ** 2).sum(2)
    np.testing.assert_allclose(result.numpy(), exact, rtol=1e-5)


def test_matrices_times_one_vector_are_reduced_along_their_rows():
    A, x = te.placeholder((5, 12, 64), name="A"), te.placeholder((64,), name="x")
    k = te.reduce_axis((0, 64), "k")
    C = te.compute((5, 12), lambda b, i: te.sum(A[b, i, k] * x[k], k), "C")
    sch = scheduled(te.create_prim_func([A, x, C]), LARGE)
    assert sch.get(sch.get_loops("C")[-1]).loop_var.name.startswith("k")


def test_windows_of_elements_that_are_not_side_by_side_are_columns_of_vectors():
    A = te.placeholder((4, 9, 41), name="A")
    y, x = te.reduce_axis((0, 3), "y"), te.reduce_axis((0, 3), "x")
    C = te.compute(
        (4, 3, 18), lambda c, i, j: te.max(A[c, i * 2 + y * 2, j * 2 + x * 2], [y, x]), "C"
    )
    sch = scheduled(te.create_prim_func([A, C]), LARGE)
    assert loops_of(sch, "C")[-1][0] == "vectorized"
    assert [sch.get(loop).loop_var.name[0] for loop in sch.get_loops("C")][-1] == "j"


@pytest.mark.parametrize("columns", [33, 64, 200])
def test_lanes_are_put_together_once_for_all_pieces_of_a_row(columns):
    A = te.placeholder((5, 3, columns), name="A")
    i, k = te.reduce_axis((0, 5), "i"), te.reduce_axis((0, columns), "k")
    C = te.compute((3,), lambda j: te.max(A[i, j, k], [i, k]), "C")
    sch = scheduled(te.create_prim_func([A, C]), LARGE)
    assert loops_of(sch, "C")[-1][0] == "vectorized"


def grouped_convolution(channels, size, filters, kernel, groups, stride=1):
    X = te.placeholder((1, channels, size, size), name="X")
    W = te.placeholder((filters, channels // groups, kernel, kernel), name="W")
    Y = topi.nn.group_conv2d_nchw(X, W, stride, kernel // 2, 1, groups)
    return te.create_prim_func([X, W, Y])


@pytest.mark.parametrize(("filters", "packed"), [(32, "W_global"), (36, "W_reindex_pad_global")])
def test_vectors_of_filters_in_groups(filters, packed):
    """Those of a group are filled up when they are packed: their index is a sum of iterators."""
    sch = scheduled(grouped_convolution(4, 11, filters, 3, 2, 2), LARGE)
    assert packed in names_of(sch)


def pixels(channels, size, filters):
    """Filters of one element, of which the pixels are the columns of a product."""
    X = te.placeholder((1, channels, size, size), name="X")
    W = te.placeholder((filters, channels, 1, 1), name="W")
    return te.create_prim_func([X, W, topi.nn.conv2d(X, W, 1, 0, 1)])


@pytest.mark.parametrize("machine", [SMALL, TWO_CORES])
@pytest.mark.parametrize("size", [9, 10])
def test_pixels_are_packed_block_by_block_like_columns_of_a_matrix(size, machine):
    """Whatever the length of their rows."""
    sch = scheduled(pixels(12, size, 20), machine)
    assert names_of(sch) == ["X_global", "conv2d"]
    copied, *_ = sch.get_loops("X_global")
    assert sch.get(copied) is sch.get(sch.get_loops("conv2d")[0])
    extents = [extent for _, extent in loops_of(sch, "X_global")]
    assert extents[-1] == 4
    assert size not in extents  # but blocks of pixels, as if there were no rows


def test_every_other_pixel_is_read_as_it_is_for_a_few_filters():
    """Copying takes longer than it saves."""
    assert "X_global" not in names_of(scheduled(strided_conv2d(16, 17, 3, False), LARGE))


@pytest.mark.parametrize(
    ("rows", "columns", "steps", "in_turn"),
    [(40, 24, 3, True), (40, 24, 40, False), (6, 24, 3, False)],
)
def test_whole_rows_of_large_results_are_written_in_turn(rows, columns, steps, in_turn):
    """Where sums have so few steps that writing counts, and all columns stay near meanwhile."""
    machine = LARGE._replace(own_cache=4000)
    sch = scheduled(matmul(rows, columns, steps), machine)
    outer, *_ = (sch.get(loop).loop_var.name for loop in sch.get_loops("C"))
    assert outer.startswith("i") == in_turn


@pytest.mark.parametrize(("own_cache", "asks"), [(4096, True), (1 << 20, False)])
def test_windows_of_a_large_image_ask_for_the_next_channels(own_cache, asks):
    """Whose rows are on other pages."""
    X = te.placeholder((1, 4, 32, 33), name="X")
    W = te.placeholder((16, 4, 3, 3), name="W")
    func = te.create_prim_func([X, W, topi.nn.conv2d(X, W, 2, 0, 1)])
    machine = LARGE._replace(own_cache=own_cache)
    sch = schedule_module(IRModule.from_expr(func), machine)
    asked = [sch.get(loop).annotations for loop in sch.get_loops("conv2d")]
    assert any("X" in found.get("software_prefetch", ()) for found in asked) == asks


def transposed_product(rows, columns, steps):
    A, B = te.placeholder((steps, rows), name="A"), te.placeholder((steps, columns), name="B")
    k = te.reduce_axis((0, steps), name="k")
    C = te.compute((rows, columns), lambda i, j: te.sum(A[k, i] * B[k, j], axis=k), name="C")
    return te.create_prim_func([A, B, C])


@pytest.mark.parametrize("machine", [LARGE, TWO_CORES])
def test_a_transposed_left_operand_is_read_line_by_line_for_a_few_columns(machine):
    """Vectors run along its rows, and nothing is copied but the results."""
    sch = scheduled(transposed_product(40, 3, 24), machine)
    assert names_of(sch) == ["C", "C_global"]
    lane = sch.get(sch.get_loops("C")[-1])
    assert lane.kind is ForKind.VECTORIZED
    assert lane.loop_var.name.startswith("i")


def test_rows_of_a_large_transposed_operand_are_copied_for_many_columns():
    sch = scheduled(transposed_product(24, 64, 40), SMALL)
    assert names_of(sch)[:2] == ["A_global", "B_global"]


def test_no_solver_is_asked_about_the_pixels_of_merged_columns(monkeypatch):
    """Rows and columns of pixels tell which pixel it is, also where there are fewer of them than
    vectors have lanes; a solver takes half a minute for that."""

    def asked(*_):
        raise AssertionError("check_order")

    monkeypatch.setattr(legality, "check_order", asked)
    A, W = te.placeholder((1, 512, 28, 28), name="A"), te.placeholder((128, 512, 1, 1), name="W")
    func = te.create_prim_func([A, W, topi.nn.conv2d(A, W, 1, 0, 1, out_dtype="float32")])
    target = "llvm -num-cores=1 -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids"
    sch = tvm.default_schedule(func, f"{target} -cache-sizes=49152,2097152,33554432")
    assert "h_w_fused" in str(sch.mod.script())
