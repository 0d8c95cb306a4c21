"""Products in the tile registers of Intel's AMX, which are in software here."""

import ast
import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedule_rules.test_dot_products import (
    PROCESSORS,
    assert_close,
    converted,
    convolution,
    numbers,
    product,
    sums,
)
from tests.target.llvm.emulation import emulated
from tests.tir.transform.memory import loops_around, planned

import tilewright as tvm
from tilewright import relax, te, topi
from tilewright.driver.default import DefaultSchedule
from tilewright.relax.op.nn.attention_kernel import Multiples, Operand, attention_kernel
from tilewright.target import Target
from tilewright.tir.stmt import ForKind
from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.context import TuneContext
from tilewright.tune.cost_model.analytical import AnalyticalModel

CPUS = ("sapphirerapids", "emeraldrapids", "graniterapids")
SPEC = "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids -cache-sizes=49152,2097152,33554432"
TARGET = Target(f"{SPEC} -num-cores=1")
SMALL_CACHE = Target(f"{SPEC} -num-cores=1".replace("49152", "8192"))
"""One that holds no operands of 200 steps."""
OPERANDS = [
    ("int8", "int8"), ("int8", "uint8"), ("uint8", "int8"), ("uint8", "uint8"),
    ("bfloat16", "bfloat16"),
]  # fmt: skip
INSTRUCTIONS = ["tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud", "tdpbf16ps"]


def run(func, inputs, shape, target=TARGET):
    """The result of the default schedule, and how often each instruction was executed."""
    module = tvm.default_schedule(func, target).mod
    result = tvm.nd.empty(shape, str(next(iter(reversed(func.buffer_map.values()))).dtype))
    with emulated(target) as tiles:
        tvm.build(module, target=target)(*map(tvm.nd.array, inputs), result)
    return result.numpy(), tiles.counts


def is_in_tiles(func, target=TARGET):
    return "amx_operation" in tvm.default_schedule(func, target).mod.script()


def exact(a, b):
    """The product in float64, with sums that wrap around if they are of integers."""
    found = a.astype("float64") @ b.astype("float64")
    return found if a.dtype == ml_dtypes.bfloat16 else found.astype("int64").astype("int32")


def assert_accurate(got, a, b):
    """Sums of floats are wrong by no more than each step rounds."""
    want = exact(a, b)
    if got.dtype == np.int32:
        np.testing.assert_array_equal(got, want)
    else:
        terms = np.abs(a).astype("float64") @ np.abs(b).astype("float64")
        assert (np.abs(got - want) <= (a.shape[1] + 1) * 2**-24 * terms).all()


def convolved(x, w, stride=1):
    """Filters over images that half a filter of zeros surrounds."""
    width = w.shape[-1]
    around = (width // 2,) * 2
    padded = np.pad(x.astype("float64"), ((0, 0), (0, 0), around, around))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (width, width), (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    found = np.einsum("ncyxij,fcij->nfyx", windows, w.astype("float64"))
    return found.astype("int32") if sums(str(x.dtype)) == "int32" else found


@settings(max_examples=30, deadline=None)
@given(
    operands=st.sampled_from(OPERANDS),
    shape=st.tuples(st.integers(16, 110), st.integers(16, 140), st.integers(1, 260)),
    transposed=st.booleans(),
    batch=st.sampled_from([(), (2,)]),
    target=st.sampled_from([TARGET, SMALL_CACHE]),
    seed=st.integers(0, 99),
)
def test_products_are_right(operands, shape, transposed, batch, target, seed):
    (a, b), (m, n, k), rng = operands, shape, np.random.default_rng(seed)
    x = numbers(rng, (*batch, m, k), a)
    y = numbers(rng, (*batch, *((n, k) if transposed else (k, n))), b)
    func = product(m, n, k, a, b, transposed=transposed, batch=batch)
    got, counts = run(func, [x, y], (*batch, m, n), target)
    for one in np.ndindex(*batch):
        assert_accurate(got[one], x[one], y[one].T if transposed else y[one])
    if m >= 32 and n >= 32 and k >= 128:
        # The result may be computed transposed, with the operands the other way round.
        names = {INSTRUCTIONS[OPERANDS.index(pair)] for pair in (operands, operands[::-1])}
        assert sum(counts.get(name, 0) for name in names) > 0


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("operands", OPERANDS, ids="-".join)
def test_instructions(cpu, operands):
    """Four products of tiles for four loads, in a loop with nothing else."""
    steps = 64 if operands[0] != "bfloat16" else 32
    target = Target(f"llvm -num-cores=1 -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    func = product(64, 64, 64 * steps + steps, *operands)
    module = tvm.default_schedule(func, target).mod
    code = tvm.build(module, target=target).get_source("asm")
    name = INSTRUCTIONS[OPERANDS.index(operands)]
    tiles = [line.split() for line in code.splitlines() if re.match(r"\t(tile|tdp|ldtile)", line)]
    names = [words[0] for words in tiles]
    assert names[:5] == ["ldtilecfg", *["tilezero"] * 4]
    assert names[-5:] == [*["tilestored"] * 4, "tilerelease"]
    loads = ["tileloadd", "tileloadd", name, "tileloadd", name, "tileloadd", name, name]
    assert names[5:-5] == loads
    products = ["".join(words[1:]) for words in tiles if words[0] == name]
    # The second operand comes first in the text, and the sums last.
    assert products == [
        "%tmm6,%tmm4,%tmm0", "%tmm7,%tmm4,%tmm1", "%tmm6,%tmm5,%tmm2", "%tmm7,%tmm5,%tmm3",
    ]  # fmt: skip
    loop = code[code.index("tilezero") : code.index("tilestored")]
    assert "zmm" not in loop
    assert "ymm" not in loop


def test_configuration():
    """Palette 1; bytes of a row and rows of four tiles of sums, and two of each operand."""
    module = tvm.default_schedule(product(28, 64, 96, "int8", "int8"), TARGET).mod
    code = tvm.build(module, target=TARGET).get_source("asm")
    (label,) = re.findall(r"ldtilecfg\s+(\S+)\(%rip\)", code)
    data = data_at(code, label)
    assert data[:16] == bytes([1, *[0] * 15])
    assert list(data[16:32:2]) == [64, 64, 64, 64, 48, 48, 64, 64]
    assert list(data[48:56]) == [14, 14, 14, 14, 14, 14, 12, 12]
    assert not any(data[32:48] + data[56:])
    assert len(data) == 64


def data_at(code, label):
    """The bytes of a constant in assembly."""
    text = code[code.index(f"{label}:") :].split("\n\t.size", 1)[0]
    data = b""
    for kind, value in re.findall(r"\t\.(ascii|asciz|byte|zero)\t(.*)", text):
        if kind.startswith("asci"):
            data += ast.literal_eval("b" + value) + b"\0" * (kind == "asciz")
        else:
            data += bytes(int(value)) if kind == "zero" else bytes([int(value)])
    return data


@pytest.mark.parametrize(
    ("shape", "rows", "columns", "steps"),
    [((64, 64, 64), 32, 32, 64), ((28, 64, 96), 28, 32, 48), ((16, 256, 256), 16, 32, 64),
     ((100, 48, 256), 26, 16, 64), ((197, 768, 768), 30, 32, 64), ((1000, 16, 1000), 32, 16, 64)],
)  # fmt: skip
def test_blocks_leave_few_rows_and_columns_over(shape, rows, columns, steps):
    script = tvm.default_schedule(product(*shape, "uint8", "int8"), TARGET).mod.script()
    assert f'"amx_operation", "multiply {rows} {columns} {steps}"' in script


@pytest.mark.parametrize(("rows", "dtypes"), [(2, ("uint8", "int8")), (4, ("bfloat16",) * 2)])
def test_a_few_rows_are_not_worth_tiles(rows, dtypes):
    assert not is_in_tiles(product(rows, 1024, 1024, *dtypes))


@pytest.mark.parametrize(
    ("rows", "dtype"),
    [*((rows, "int8") for rows in (3, 4, 8, 17)), (5, "bfloat16"), (15, "bfloat16")],
)
def test_some_rows_are(rows, dtype):
    """Without, each product of bytes takes a lane of 32 bits."""
    rng = np.random.default_rng(0)
    x, y = numbers(rng, (rows, 256), dtype), numbers(rng, (256, 96), dtype)
    got, counts = run(product(rows, 96, 256, dtype, dtype), [x, y], (rows, 96))
    assert_accurate(got, x, y)
    assert counts["tdpbssd" if dtype == "int8" else "tdpbf16ps"] > 0


@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
@pytest.mark.parametrize("shape", [(8, 1), (5, 1), (40, 1), (3, 1, 6)])
def test_rows_of_a_batch_with_one_row_each_are_multiplied_together(shape, dtype):
    """As when several sequences are continued by a word."""
    rng = np.random.default_rng(0)
    x, y = numbers(rng, (*shape, 100), dtype), numbers(rng, (100, 96), dtype)
    A, B = te.placeholder((*shape, 100), dtype, "A"), te.placeholder((100, 96), dtype, "B")
    r = te.reduce_axis((0, 100), "r")
    result = te.compute(
        (*shape, 96), lambda *at: te.sum(converted(A[(*at[:-1], r)], B[r, at[-1]]), axis=r), "C"
    )
    got, counts = run(te.create_prim_func([A, B, result]), [x, y], (*shape, 96))
    assert_accurate(got.reshape(-1, 96), x.reshape(-1, 100), y)
    assert counts["tdpbssd" if dtype == "int8" else "tdpbf16ps"] > 0


@pytest.mark.parametrize("cores", [1, 2])
def test_weights_are_read_once_for_all_sequences(cores):
    """The sequences are packed at first, and stay near."""
    rng = np.random.default_rng(0)
    x, w = numbers(rng, (4, 16, 128), "bfloat16"), numbers(rng, (1024, 128), "bfloat16")
    A, W = te.placeholder(x.shape, "bfloat16", "A"), te.placeholder(w.shape, "bfloat16", "W")
    r = te.reduce_axis((0, 128), "r")
    result = te.compute(
        (4, 16, 1024), lambda b, i, j: te.sum(converted(A[b, i, r], W[j, r]), axis=r), "C"
    )
    func = te.create_prim_func([A, W, result])
    target = Target(f"{SPEC} -num-cores={cores}")
    sch = tvm.default_schedule(func, target)
    loops = [sch.get(loop) for loop in sch.get_loops("C_update_o")]
    assert [int(loop.extent) for loop in loops[:2]] == [1024 // 32, 4]  # rows of W, sequences
    assert (loops[0].kind is ForKind.PARALLEL) == (cores == 2)
    assert sch.get(sch.get_loops("A_global")[0]) is not loops[0]
    got, counts = run(func, [x, w], (4, 16, 1024), target)
    assert_accurate(got.reshape(-1, 1024), x.reshape(-1, 128), w.T)
    assert counts["tdpbf16ps"] > 0


def test_rows_with_contiguous_steps_are_not_far():
    """A matrix that is read once, line by line, is no reason for smaller instructions."""
    assert is_in_tiles(product(4096, 32, 4096, "bfloat16", "bfloat16"))


def test_operands_are_packed_from_the_beginning_of_rows_to_their_end():
    sch = tvm.default_schedule(product(512, 512, 512, "bfloat16", "bfloat16"), TARGET)
    around, *inside = sch.get_loops("B_global")[-5:]
    assert int(sch.get(around).extent) == 256  # pairs of rows
    assert [int(sch.get(loop).extent) for loop in inside] == [16, 1, 2, 32]


def test_columns_that_lie_apart_are_not_asked_for():
    """Each vector of them would ask for all lines in between."""
    func = convolution(1, 64, 14, 64, 3, 1, "bfloat16", "bfloat16")
    script = tvm.default_schedule(func, TARGET).mod.script()
    assert "amx_operation" in script
    assert "software_prefetch" not in script


@pytest.mark.parametrize(("dtype", "groups"), [("bfloat16", 4), ("int8", 2)])
def test_copies_ask_for_lines_some_rows_ahead(dtype, groups):
    """Rows lie apart, and products wait for what a later copy asks for."""
    sch = tvm.default_schedule(product(64, 512, 512, dtype, dtype), TARGET)
    block = sch.get_block("B_global")
    found = [sch.get(loop).annotations.get("software_prefetch") for loop in sch.get_loops(block)]
    assert [{str(k): int(v) for k, v in asked.items()} for asked in found if asked] == [
        {"B": groups}
    ]
    module = tvm.build(sch.mod, target=TARGET)
    assert "prefetcht0" in module.get_source("asm").split("tdp")[0]


@pytest.mark.parametrize(
    ("shape", "asks"),
    [((1024, 1024, 1024), True),
     ((64, 512, 512), False),  # the result is near
     ((2048, 2048, 64), False),  # more lines than steps
     ((1024, 1016, 1024), False)],  # rows begin within lines
)  # fmt: skip
def test_large_results_are_asked_for(shape, asks):
    func = matmul_to(*shape, "bfloat16")
    module = tvm.default_schedule(func, TARGET).mod
    assert "amx_operation" in module.script()
    code = tvm.build(module, target=TARGET).get_source("asm")
    steps = code[code.index("tilezero") : code.index("tilestored")]
    assert ("prefetchw" in steps) == asks


def matmul_to(m, n, k, dtype):
    """A product whose result has the type of its operands."""
    A, B = te.placeholder((m, k), dtype, "A"), te.placeholder((k, n), dtype, "B")
    r = te.reduce_axis((0, k), "r")
    P = te.compute((m, n), lambda i, j: te.sum(converted(A[i, r], B[r, j]), r), "P")
    return te.create_prim_func([A, B, te.compute((m, n), lambda i, j: P[i, j].astype(dtype), "C")])


def test_sums_keep_the_units_of_floats_awake():
    """Each step adds, beside the products, without a result that anything reads."""
    module = tvm.default_schedule(product(64, 64, 4096, "int8", "int8"), TARGET).mod
    code = tvm.build(module, target=TARGET).get_source("asm")
    steps = code[code.index("tilezero") : code.index("tilestored")]
    assert steps.count("vaddss") == steps.count("tdpbssd") // 4 > 0


def test_the_last_block_of_panels_is_whole():
    """Panels that no block divides evenly are filled up with zeros: no part of one has conditions
    of its own."""
    func = product(64, 1952, 4000, "bfloat16", "bfloat16")  # 61 panels, 4 at a time
    script = tvm.default_schedule(func, TARGET).mod.script()
    assert "amx_operation" in script
    assert "T.where" not in script.split('"multiply')[0].split("zero")[-1]
    assert re.search(r"B\w*_global = T.alloc_buffer\(\(64, 125,", script)


@pytest.mark.parametrize("columns", [1000, 500])
def test_groups_of_a_padded_operand_are_stored_at_once(columns):
    """Inside of the padding no element is stored on its own."""
    func = product(256, columns, columns, "bfloat16", "bfloat16")
    module = tvm.build(tvm.default_schedule(func, TARGET).mod, target=TARGET)
    assert "vpextrw" not in module.get_source("asm")


@pytest.mark.parametrize(("a", "b"), OPERANDS[::2])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_symbolic_number_of_rows(a, b, transposed):
    """Blocks are filled up; a few rows are packed instead of the rows of the other operand."""
    m, k, n = te.size_var("m"), 500, 250
    func = product(m, n, k, a, b, transposed=transposed)
    script = DefaultSchedule(TARGET)(tvm.IRModule({"main": func})).script()
    assert "amx_operation" in script
    assert ("m <= 64" in script) == transposed
    rng = np.random.default_rng(0)
    y = numbers(rng, (n, k) if transposed else (k, n), b)
    with emulated(TARGET) as tiles:
        compiled = tvm.build(func, target=TARGET)
        for rows in (1, 17, 33, 70):
            before = sum(tiles.counts.values())
            x = numbers(rng, (rows, k), a)
            result = tvm.nd.empty((rows, n), sums(a))
            compiled(*map(tvm.nd.array, (x, y)), result)
            assert_accurate(result.numpy(), x, y.T if transposed else y)
            assert rows <= 1 or sum(tiles.counts.values()) > before


def test_the_size_of_blocks_is_that_of_many_rows():
    func = product(te.size_var("m"), 4096, 4096, "bfloat16", "bfloat16", transposed=True)
    script = tvm.default_schedule(func, TARGET).mod.script()
    assert '"amx_operation", "multiply 32 32 64"' in script
    assert "B_global" in script


@pytest.mark.parametrize("name", ["cascadelake", "cooperlake", "znver4", "haswell", "alderlake"])
def test_other_processors_have_no_tiles(name):
    target = Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={name}")
    assert not is_in_tiles(product(64, 64, 256, "uint8", "int8"), target)
    without = Target(f"{SPEC} -mattr=-amx-tile")
    assert not is_in_tiles(product(64, 64, 256, "uint8", "int8"), without)
    assert "cascadelake" in PROCESSORS


@pytest.mark.parametrize(
    ("case", "dtype"),
    [((2, 64, 14, 48, 3, 1), "uint8"), ((1, 128, 7, 64, 3, 1), "int8"),
     ((1, 256, 20, 64, 1, 1), "uint8"), ((1, 40, 14, 48, 3, 1), "uint8"),
     ((1, 64, 14, 48, 3, 1), "bfloat16"), ((1, 64, 14, 64, 3, 2), "bfloat16"),
     ((1, 128, 28, 64, 3, 2), "int8"), ((1, 64, 22, 64, 3, 3), "uint8"),
     ((3, 16, 15, 100, 3, 1), "bfloat16"), ((2, 16, 11, 20, 3, 1), "int8")],
)  # fmt: skip
def test_convolutions(case, dtype):
    n, channels, size, filters, width, stride = case
    b = "int8" if dtype == "uint8" else dtype
    rng = np.random.default_rng(0)
    x = numbers(rng, (n, channels, size, size), dtype)
    w = numbers(rng, (filters, channels, width, width), b)
    want = convolved(x, w, stride)
    got, counts = run(convolution(*case, dtype, b), [x, w], want.shape)
    assert_close(got, want)
    assert sum(counts.get(name, 0) for name in INSTRUCTIONS) > 0


def grouped_convolution(n, channels, height, width, filters, size, groups, dtype):
    A = te.placeholder((n, channels, height, width), dtype, "A")
    W = te.placeholder((filters, channels // groups, size, size), dtype, "W")
    sum_dtype = sums(dtype)
    C = topi.nn.group_conv2d_nchw(A, W, 1, size // 2, 1, groups, sum_dtype)
    return te.create_prim_func([A, W, C])


@pytest.mark.parametrize(
    ("case", "dtype"),
    [((1, 32, 8, 16, 64, 3, 2), "bfloat16"), ((2, 32, 8, 16, 64, 3, 2), "int8"),
     ((1, 48, 14, 15, 50, 3, 2), "bfloat16"), ((1, 256, 6, 32, 128, 1, 2), "int8"),
     ((1, 32, 8, 17, 100, 3, 4), "bfloat16")],
)  # fmt: skip
def test_convolutions_in_groups(case, dtype):
    """Groups are no windows, and filters of a group are filled up to tiles when they are packed."""
    n, channels, height, width, filters, size, groups = case
    rng = np.random.default_rng(0)
    x = numbers(rng, (n, channels, height, width), dtype)
    w = numbers(rng, (filters, channels // groups, size, size), dtype)
    parts = zip(np.split(x, groups, 1), np.split(w, groups), strict=True)
    want = np.concatenate([convolved(a, b) for a, b in parts], 1)
    got, counts = run(grouped_convolution(*case, dtype), [x, w], want.shape)
    assert_close(got, want)
    assert sum(counts.get(name, 0) for name in INSTRUCTIONS) > 0


@pytest.mark.parametrize(("filters", "expected"), [(8, True), (7, False)])
def test_half_a_tile_of_filters_is_enough(filters, expected):
    rng = np.random.default_rng(0)
    x, w = numbers(rng, (1, 64, 16, 16), "bfloat16"), numbers(rng, (filters, 64, 3, 3), "bfloat16")
    func = convolution(1, 64, 16, filters, 3, 1, "bfloat16", "bfloat16")
    got, counts = run(func, [x, w], (1, filters, 16, 16))
    assert_close(got, convolved(x, w))
    assert (counts.get("tdpbf16ps", 0) > 0) == expected


@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_channels_of_windows_are_filled_up(dtype):
    """Fifty channels are no multiple of a tile's steps; those of zeros are put behind them where
    the image is packed."""
    rng = np.random.default_rng(0)
    x, w = numbers(rng, (1, 50, 16, 16), dtype), numbers(rng, (40, 50, 3, 3), dtype)
    got, counts = run(convolution(1, 50, 16, 40, 3, 1, dtype, dtype), [x, w], (1, 40, 16, 16))
    assert_close(got, convolved(x, w))
    assert sum(counts.get(name, 0) for name in INSTRUCTIONS) > 0


def test_rows_of_a_tile_go_down_an_image_of_odd_width():
    """Seventeen windows are no multiple of a tile, and nothing can be put behind the last one."""
    rng = np.random.default_rng(0)
    A, W = te.placeholder((2, 64, 12, 17), "int8", "A"), te.placeholder((40, 64, 3, 3), "int8", "W")
    func = te.create_prim_func([A, W, topi.nn.conv2d_nchw(A, W, 1, 1, 1, "int32")])
    x, w = numbers(rng, (2, 64, 12, 17), "int8"), numbers(rng, (40, 64, 3, 3), "int8")
    want = convolved(x, w)
    got, counts = run(func, [x, w], want.shape)
    np.testing.assert_array_equal(got, want)
    assert counts["tdpbssd"] > 0
    sch = tvm.default_schedule(func, TARGET)
    assert '"amx_operation", "multiply 12 16 64"' in sch.mod.script()
    # Rows of the image are written together, and one after the other.
    *_, filters, pixels = (sch.get(loop) for loop in sch.get_loops("conv2d_nchw_pad"))
    assert (filters.kind, pixels.kind) == (ForKind.UNROLLED, ForKind.VECTORIZED)


def test_weights_are_packed_window_by_window():
    """What lies between two channels of a filter is read while it is near."""
    func = convolution(1, 64, 14, 64, 3, 1, "bfloat16", "bfloat16")
    sch = tvm.default_schedule(func, TARGET)
    names = [sch.get(loop).loop_var.name for loop in sch.get_loops("W_global")]
    order = [next(n for n, name in enumerate(names) if name.startswith(axis))
             for axis in ("ax0_0", "ax1_0", "ax2", "ax3")]  # fmt: skip
    assert order == sorted(order)


def test_convolutions_with_channels_last():
    rng = np.random.default_rng(0)
    A, W = te.placeholder((1, 9, 14, 48), "uint8", "A"), te.placeholder((3, 3, 48, 40), "int8", "W")
    func = te.create_prim_func([A, W, topi.nn.conv2d_nhwc(A, W, 1, 1, 1, "int32")])
    x, w = numbers(rng, (1, 9, 14, 48), "uint8"), numbers(rng, (3, 3, 48, 40), "int8")
    padded = np.pad(x.astype("float64"), ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    want = np.einsum("nyxcij,ijcf->nyxf", windows, w.astype("float64")).astype("int32")
    got, counts = run(func, [x, w], want.shape)
    np.testing.assert_array_equal(got, want)
    assert counts["tdpbusd"] > 0


@pytest.mark.parametrize("size", [(64, 64, 128), (70, 90, 130)])
def test_what_reads_the_result_is_computed_for_each_block(size):
    (m, n, k), rng = size, np.random.default_rng(0)
    A, B = te.placeholder((m, k), "uint8", "A"), te.placeholder((n, k), "int8", "B")
    D, r = te.placeholder((n,), "int32", "D"), te.reduce_axis((0, k), "r")
    P = te.compute((m, n), lambda i, j: te.sum(converted(A[i, r], B[j, r]), r), "P")
    R = te.compute((m, n), lambda i, j: (P[i, j] + D[j]).astype("float32") * 0.25, "R")
    func = te.create_prim_func([A, B, D, R])
    x, y = numbers(rng, (m, k), "uint8"), numbers(rng, (n, k), "int8")
    d = rng.integers(-1000, 1000, n).astype("int32")
    got, counts = run(func, [x, y, d], (m, n))
    want = (x.astype("int32") @ y.astype("int32").T + d) * np.float32(0.25)
    np.testing.assert_array_equal(got, want)
    assert counts["tdpbusd"] > 0
    sch = tvm.default_schedule(func, TARGET)
    block = sch.get(sch.get_loops("P_update_o")[2])
    assert any(sch.get(loop) is block for loop in sch.get_loops("R"))


def test_each_thread_has_registers_of_its_own():
    """They are configured in each iteration of the parallel loop."""
    target, rng = Target(f"{SPEC} -num-cores=2"), np.random.default_rng(0)
    func = product(96, 128, 128, "uint8", "int8")
    assert "T.parallel" in tvm.default_schedule(func, target).mod.script()
    x, y = numbers(rng, (96, 128), "uint8"), numbers(rng, (128, 128), "int8")
    got, counts = run(func, [x, y], (96, 128), target)
    np.testing.assert_array_equal(got, exact(x, y))
    assert counts["ldtilecfg"] == counts["tilerelease"] > 1


@pytest.mark.parametrize("shape", [(64, 64), (1, 50, 64)])
def test_a_model_of_bfloat16(shape):
    """Its constants are packed when it is compiled."""
    rng = np.random.default_rng(0)
    w, x = (numbers(rng, s, "bfloat16") for s in ((64, 96), shape))
    builder = relax.BlockBuilder()
    p = relax.Var("x", relax.TensorStructInfo(shape, "bfloat16"))
    with builder.function("main", [p]):
        with builder.dataflow():
            product = builder.emit(relax.op.matmul(p, relax.const(w, "bfloat16")))
            result = builder.emit_output(relax.op.nn.relu(product))
        builder.emit_func_output(result)
    with emulated(TARGET) as tiles:
        machine = relax.VirtualMachine(relax.build(builder.get(), target=TARGET), tvm.cpu())
        got = machine["main"](tvm.nd.array(x)).numpy().astype("float64")
    want = np.maximum(x.astype("float64") @ w.astype("float64"), 0)
    np.testing.assert_allclose(got, want, rtol=2**-8, atol=1e-3)
    assert tiles.counts["tdpbf16ps"] > 0


def test_a_system_may_refuse():
    func = product(64, 64, 128, "uint8", "int8")
    module = tvm.default_schedule(func, TARGET).mod
    arrays = [np.ones(s, t) for s, t in (((64, 128), "uint8"), ((128, 64), "int8"))]
    with emulated(TARGET, permission=-1) as tiles:
        compiled = tvm.build(module, target=TARGET)
        with pytest.raises(RuntimeError, match="the system does not let this process use AMX"):
            compiled(*map(tvm.nd.array, arrays), tvm.nd.empty((64, 64), "int32"))
    assert not tiles.counts


def test_the_search_knows_tiles():
    func = product(64, 64, 128, "uint8", "int8")
    context = TuneContext(func, target=TARGET, space_generator="post-order-apply")
    sketches = context.generate_design_space()
    are_in_tiles = ["amx_operation" in sketch.mod.script() for sketch in sketches]
    assert are_in_tiles[0]
    assert not all(are_in_tiles)
    scores = AnalyticalModel().predict(context, [MeasureCandidate(s, []) for s in sketches])
    assert are_in_tiles[int(np.argmax(scores))]


@pytest.mark.parametrize("batch", [4, te.size_var("b")])
def test_what_is_long_and_reads_the_result_does_not_make_blocks_of_each_image(batch):
    """Weights would be packed again for each of them."""
    A, B = te.placeholder((batch, 57, 256), "bfloat16", "A"), te.placeholder((96, 256), "bfloat16")
    r = te.reduce_axis((0, 256), "r")
    P = te.compute((batch, 57, 96), lambda b, i, j: te.sum(converted(A[b, i, r], B[j, r]), r), "P")
    func = te.create_prim_func([A, B, te.compute(P.shape, lambda *at: te.erf(P[at]), "E")])
    assert is_in_tiles(func)


def attention(length, heads=2, size=64):
    shape = [te.const(n, "int64") if isinstance(n, int) else n for n in (1, heads, length, size)]
    operands = (te.placeholder(shape, "bfloat16", name) for name in ("Q", "K", "V"))
    operands = [Operand(x, heads_first=True) for x in operands]
    result = attention_kernel(*operands, None, None, None, Multiples(16, 32))
    return te.create_prim_func([*(operand.tensor for operand in operands), result])


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("length", [20, 100])
def test_attention(length, known):
    func = attention(length if known else te.size_var("s", "int64"))
    arrays = [numbers(np.random.default_rng(n), (1, 2, length, 64), "bfloat16") for n in range(3)]
    got, counts = run(func, arrays, (1, length, 2, 64))
    assert counts["tdpbf16ps"] > 0
    q, k, v = (x[0].astype("float64") for x in arrays)
    scores = q @ k.swapaxes(1, 2) / 8
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    expected = (powers / powers.sum(-1, keepdims=True)) @ v
    np.testing.assert_allclose(
        got[0].swapaxes(0, 1).astype("float64"), expected, rtol=2**-7, atol=2**-7
    )


@pytest.mark.parametrize("length", [256, 300, te.size_var("s", "int64")])
def test_attention_multiplies_whole_tiles(length):
    """Of a block of queries, so that products with all keys stay near; keys and values are packed
    once for all blocks of a head."""
    func = tvm.default_schedule(attention(length), TARGET).mod["main"]
    assert func.script().count('"amx_operation", "multiply') == 2
    loops = planned(func)
    assert loops_around(loops, "T_scores")[-1] == "o_0"
    for name in ("K" if length == 256 else "T_key", "V" if length == 256 else "T_value"):
        assert loops_around(loops, f"{name}_global")[-1] == "n", name
