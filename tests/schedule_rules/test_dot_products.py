"""Products of small numbers by the dot-product instructions of a processor."""

import re

import ml_dtypes
import numpy as np
import pytest
from tests.target.llvm.emulation import emulated

import tilewright as tvm
from tilewright import te, topi
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.schedule_rules.row_products import RowProducts
from tilewright.target import Target
from tilewright.tir.transform.lift_copies import lift_copies

X86, ARM = "llvm -num-cores=1 -mtriple=x86_64-linux-gnu -mcpu=", "llvm -num-cores=1 -mtriple="
ARM = f"{ARM}aarch64-linux-gnu -mattr=+neon"
PROCESSORS = {
    "x86-64": (X86 + "x86-64", {"int8": "pmaddwd", "int16": "pmaddwd"}),
    "haswell": (X86 + "haswell", {"int8": "vpmaddwd", "int16": "vpmaddwd"}),
    "skylake": (X86 + "skylake-avx512", {"int8": "vpmaddwd"}),
    "cascadelake": (X86 + "cascadelake", {"int8": "vpdpbusd", "int16": "vpdpwssd"}),
    "alderlake": (X86 + "alderlake", {"int8": "vpdpbusd", "int16": "vpdpwssd"}),
    "sierraforest": (X86 + "sierraforest", {"int8": "vpdpbssd"}),
    "cooperlake": (X86 + "cooperlake", {"bfloat16": "vdpbf16ps"}),
    "znver4": (X86 + "znver4", {"uint8": "vpdpbusd", "bfloat16": "vdpbf16ps"}),
    "dotprod": (ARM + ",+dotprod", {"int8": "sdot"}),
    "i8mm": (ARM + ",+dotprod,+i8mm", {"int8": "smmla", "uint8": "usmmla"}),
    "arm bf16": (ARM + ",+dotprod,+i8mm,+bf16", {"uint8": "usmmla", "bfloat16": "bfmmla"}),
}
CASES = [(name, dtype) for name, (_, found) in PROCESSORS.items() for dtype in found]
LAYOUTS = [(False, ()), (True, ()), (True, (2,)), (False, (2,))]
"""Whether the second operand is transposed, and how many products there are."""


def sums(dtype):
    return "float32" if dtype == "bfloat16" else "int32"


def converted(a, b):
    return a.astype(sums(str(a.dtype))) * b.astype(sums(str(a.dtype)))


def product(m, n, k, a, b, *, transposed=False, batch=()):
    """C = A @ B, with B transposed or not."""
    A = te.placeholder((*batch, m, k), a, "A")
    B = te.placeholder((*batch, *((n, k) if transposed else (k, n))), b, "B")
    r = te.reduce_axis((0, k), "r")

    def element(*at):
        *lead, i, j = at
        return te.sum(
            converted(A[(*lead, i, r)], B[(*lead, *((j, r) if transposed else (r, j)))]), r
        )

    return te.create_prim_func([A, B, te.compute((*batch, m, n), element, "C")])


def convolution(n, channels, size, filters, width, stride, a, b):
    """Filters of `width` x `width` over images of `size` x `size`, with zeros around them."""
    A = te.placeholder((n, channels, size, size), a, "A")
    W = te.placeholder((filters, channels, width, width), b, "W")
    pad = width // 2
    P = topi.nn.pad(A, (0, 0, pad, pad), (0, 0, pad, pad), name="P")
    count = (size + 2 * pad - width) // stride + 1
    c, y, x = (te.reduce_axis((0, extent)) for extent in (channels, width, width))
    C = te.compute(
        (n, filters, count, count),
        lambda b, f, i, j: te.sum(
            converted(P[b, c, i * stride + y, j * stride + x], W[f, c, y, x]), [c, y, x]
        ),
        "C",
    )
    return te.create_prim_func([A, W, C])


def numbers(rng, shape, dtype):
    if dtype == "bfloat16":
        return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
    info = np.iinfo(dtype)
    found = rng.integers(info.min, info.max + 1, shape).astype(dtype)
    extreme = info.min or info.max
    found.reshape(-1)[: found.size // 4] = extreme  # sums of pairs that exceed 16 bits
    return found


def run(mod, inputs, shape, target):
    buffers = mod["main"].buffer_map.values()
    result = tvm.nd.empty(shape, str(next(reversed(buffers)).dtype))
    with emulated(target):
        module = tvm.build(mod, target=target)
        module(*map(tvm.nd.array, inputs), result)
    return result.numpy()


def assert_close(got, want):
    if got.dtype == np.int32:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("case", range(len(CASES)), ids=[" ".join(case) for case in CASES])
def test_products_are_right_and_use_the_instruction(case):
    name, dtype = CASES[case]
    spec, instructions = PROCESSORS[name]
    target, rng = Target(spec), np.random.default_rng(case)
    transposed, batch = LAYOUTS[case % len(LAYOUTS)]
    a, b = dtype, "int8" if dtype == "uint8" else dtype
    m, n, k = (int(rng.integers(low, high)) for low, high in ((32, 48), (16, 60), (1, 60)))
    m *= 4 if dtype == "bfloat16" else 1  # for fewer rows, the other operand is not worth copying
    func = product(m, n, k, a, b, transposed=transposed, batch=batch)
    mod = tvm.default_schedule(func, target).mod
    x = numbers(rng, (*batch, m, k), a)
    y = numbers(rng, (*batch, *((n, k) if transposed else (k, n))), b)
    want = x.astype("float64") @ (y.swapaxes(-1, -2) if transposed else y).astype("float64")
    if sums(a) == "int32":
        want = want.astype("int64").astype("int32")
    assert_close(run(mod, [x, y], (*batch, m, n), target), want)
    code = tvm.build(mod, target=target).get_source("asm")
    assert instructions[dtype] in code


MATRICES = [("int8", "int8", "smmla"), ("uint8", "uint8", "ummla"), ("uint8", "int8", "usmmla"),
            ("int8", "uint8", "usdot"), ("bfloat16", "bfloat16", "bfmmla")]  # fmt: skip
SIZES = [(64, 64, 64), (33, 45, 37), (34, 17, 100), (40, 3, 9)]


@pytest.mark.parametrize("size", range(len(SIZES)), ids=map(str, SIZES))
@pytest.mark.parametrize("types", range(len(MATRICES)), ids=map(" ".join, MATRICES))
def test_products_of_small_matrices(types, size):
    """Rows, columns and steps that are cut off count as zeros."""
    (a, b, instruction), (m, n, k) = MATRICES[types], SIZES[size]
    transposed = (types + size) % 2 == 1  # for each of the types, and for each of the sizes
    target, rng = Target(PROCESSORS["arm bf16"][0]), np.random.default_rng(m)
    mod = tvm.default_schedule(product(m, n, k, a, b, transposed=transposed), target).mod
    x, y = numbers(rng, (m, k), a), numbers(rng, (n, k) if transposed else (k, n), b)
    want = x.astype("float64") @ (y.T if transposed else y).astype("float64")
    if sums(a) == "int32":
        want = want.astype("int64").astype("int32")
    assert_close(run(mod, [x, y], (m, n), target), want)
    if n >= 16:
        code = tvm.build(mod, target=target).get_source("asm")
        assert f"\t{instruction}\t" in code


def test_sums_of_small_matrices_stay_in_registers():
    """A step loads operands and multiplies, and no more."""
    target = Target(PROCESSORS["i8mm"][0])
    sch = tvm.default_schedule(product(64, 64, 64, "int8", "int8", transposed=True), target)
    lines = tvm.build(sch.mod, target=target).get_source("asm").splitlines()
    first = next(n for n, line in enumerate(lines) if "\tsmmla\t" in line)
    after = [line.split()[0] for line in lines[first:] if line.strip()]
    assert after[:16] == ["smmla"] * 16
    assert after[16] == "b.lt"


@pytest.mark.parametrize("processor", ["dotprod", "i8mm"])
def test_few_rows_take_dot_products(processor):
    """Where packing does not pay for pairs of rows, it may pay for rows."""
    func = product(4, 64, 64, "int8", "int8")
    assert "T.dp4a" in tvm.default_schedule(func, PROCESSORS[processor][0]).mod.script()


def with_rows_of_weights(m, n, k, dtype):
    """The default schedule of `x @ w.T` for Zen 4, whose result is right."""
    target, rng = Target(PROCESSORS["znver4"][0]), np.random.default_rng(n)
    mod = tvm.default_schedule(product(m, n, k, dtype, dtype, transposed=True), target).mod
    x, w = numbers(rng, (m, k), dtype), numbers(rng, (n, k), dtype)
    want = x.astype("float64") @ w.T.astype("float64")
    if sums(dtype) == "int32":
        want = want.astype("int32")
    assert_close(run(mod, [x, w], (m, n), target), want)
    return mod, target


@pytest.mark.parametrize(("m", "n"), [(5, 512), (8, 700), (7, 1003)])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_few_rows_are_multiplied_by_rows_of_weights_as_they_are(m, n, dtype):
    """Vectors run along the sum, with what they need of the weights in registers."""
    mod, _ = with_rows_of_weights(m, n, 1000, dtype)
    script = mod["main"].script()
    assert "T.dp" in script
    assert "_rf = T.alloc_buffer" in script  # the lanes of sums
    assert not re.search(r"B\w*_global = T.alloc_buffer", script)


@pytest.mark.parametrize(("m", "n"), [(5, 512), (8, 700), (15, 1003)])
def test_a_large_matrix_is_not_copied_for_a_few_rows(m, n):
    """Its elements become float32 as they are read: copying takes longer, group by group."""
    target, rng = Target(PROCESSORS["znver4"][0]), np.random.default_rng(0)
    x, y = numbers(rng, (m, 1024), "bfloat16"), numbers(rng, (1024, n), "bfloat16")
    mod = tvm.default_schedule(product(m, n, 1024, "bfloat16", "bfloat16"), target).mod
    assert not re.search(r"B\w*_global = T.alloc_buffer", mod["main"].script())
    assert_close(run(mod, [x, y], (m, n), target), x.astype("float64") @ y.astype("float64"))


@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_number_of_rows_that_is_known_only_in_the_call(dtype, transposed):
    target, rng = Target(PROCESSORS["znver4"][0]), np.random.default_rng(0)
    n, k = 130, 1000
    func = product(te.size_var("m"), n, k, dtype, dtype, transposed=transposed)
    w = numbers(rng, (n, k) if transposed else (k, n), dtype)
    result = "int32" if dtype == "int8" else "float32"
    with emulated(target):
        module = tvm.build(func, target=target)
        assert "x2_i16" not in str(tvm.default_schedule(func, target).trace)  # of wider numbers
        for m in (1, 2, 7, 24, 25, 40):
            x, got = numbers(rng, (m, k), dtype), tvm.nd.empty((m, n), result)
            module(tvm.nd.array(x), tvm.nd.array(w), got)
            want = x.astype("float64") @ (w.T if transposed else w).astype("float64")
            assert_close(got.numpy(), want.astype(result))


@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
@pytest.mark.parametrize(("n", "k"), [(512, 300), (33, 64), (7, 1000)])
def test_a_single_row_is_multiplied_by_rows_of_weights(n, k, dtype):
    mod, _ = with_rows_of_weights(1, n, k, dtype)
    script = mod["main"].script()
    assert "T.dp" in script
    assert "_rf = T.alloc_buffer" in script


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [("haswell", "int8"), ("cascadelake", "int8"), ("znver4", "uint8"), ("znver4", "bfloat16"),
     ("dotprod", "int8")],
)  # fmt: skip
def test_a_single_row_is_multiplied_by_a_constant_matrix(name, dtype, transposed):
    """Of which panels have the steps of a group side by side."""
    target, rng = Target(PROCESSORS[name][0]), np.random.default_rng(0)
    b = "int8" if dtype == "uint8" else dtype
    func = product(1, 70, 37, dtype, b, transposed=transposed).with_attr(CONSTANT_PARAMS, [1])
    mod = tvm.default_schedule(func, target).mod
    assert "T.dp" in mod["main"].script()
    _, copies = lift_copies(mod["main"].without_attr(CONSTANT_PARAMS), [1])
    assert set(copies) == {1}
    x = numbers(rng, (1, 37), dtype)
    y = numbers(rng, (70, 37) if transposed else (37, 70), b)
    want = x.astype("float64") @ (y.T if transposed else y).astype("float64")
    assert_close(run(mod, [x, y], (1, 70), target), want.astype(sums(dtype)))


@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_a_step_of_products_of_rows_loads_and_multiplies_and_no_more(dtype):
    mod, target = with_rows_of_weights(8, 64, 1024, dtype)
    code = tvm.build(mod, target=target).get_source("asm")
    bodies = re.findall(r"^(\.LBB\w+):[^\n]*\n((?:\t[^\n]*\n)*?)\tj\w+\t\1$", code, re.M)
    (body,) = (body for _, body in bodies if "\tvpdpbusd\t" in body or "\tvdpbf16ps\t" in body)
    vectors = [line for line in body.splitlines() if "%zmm" in line]
    products = [line for line in vectors if re.match(r"\tv(pdpbusd|dpbf16ps)\t", line)]
    others = [line for line in vectors if line not in products]
    assert len(products) >= 2 * 16
    assert len(others) <= 2 * (8 + 2)
    assert all(re.match(r"\tv(mov\w+|pxorq)\t[^%]*\(", line) for line in others)


@pytest.mark.parametrize("case", range(len(CASES)), ids=[" ".join(case) for case in CASES])
def test_rows_are_multiplied_by_rows(case, monkeypatch):
    """The instructions for it may be slower than others for a size, but they are right."""
    name, a = CASES[case]
    b = "int8" if a == "uint8" else a
    target, rng = Target(PROCESSORS[name][0]), np.random.default_rng(case)
    batch = LAYOUTS[case % len(LAYOUTS)][1]
    m, n, k = (int(rng.integers(low, high)) for low, high in ((2, 20), (5, 70), (60, 300)))
    func = product(m, n, k, a, b, transposed=True, batch=batch)
    monkeypatch.setattr(RowProducts, "cycles", lambda _: 0.0)
    sch = tvm.default_schedule(func, target)
    converts = a == "int8" and "pmaddwd" in PROCESSORS[name][1][a]  # to pairs of int16
    assert ("dots_" in str(sch.trace)) is not converts
    x, y = numbers(rng, (*batch, m, k), a), numbers(rng, (*batch, n, k), b)
    want = x.astype("float64") @ y.swapaxes(-1, -2).astype("float64")
    if sums(a) == "int32":
        want = want.astype("int64").astype("int32")
    assert_close(run(sch.mod, [x, y], (*batch, m, n), target), want)


def test_what_reads_products_of_rows_is_computed_for_a_few_of_them():
    target, rng = Target(PROCESSORS["znver4"][0]), np.random.default_rng(0)
    m, n, k = 4, 100, 1333
    A, B = te.placeholder((m, k), "int8", "A"), te.placeholder((n, k), "int8", "B")
    D, r = te.placeholder((n,), "int32", "D"), te.reduce_axis((0, k), "r")
    P = te.compute((m, n), lambda i, j: te.sum(converted(A[i, r], B[j, r]), r), "P")
    R = te.compute((m, n), lambda i, j: (P[i, j] + D[j]).astype("float32") * 0.25, "R")
    sch = tvm.default_schedule(te.create_prim_func([A, B, D, R]), target)
    assert "dots_" in str(sch.trace)
    square = sch.get(sch.get_loops("P_rf_update_o")[0])
    assert any(sch.get(loop) is square for loop in sch.get_loops("R"))
    x, y = numbers(rng, (m, k), "int8"), numbers(rng, (n, k), "int8")
    d = rng.integers(-1000, 1000, n).astype("int32")
    want = (x.astype("int32") @ y.astype("int32").T + d).astype("float32") * np.float32(0.25)
    np.testing.assert_array_equal(run(sch.mod, [x, y, d], (m, n), target), want)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_of_a_batch_with_one_row_each_are_multiplied_together(dtype):
    """As when several sequences are continued by a word."""
    target, rng = Target(PROCESSORS["znver4"][0]), np.random.default_rng(0)
    A, W = te.placeholder((8, 1, 256), dtype, "A"), te.placeholder((512, 256), dtype, "W")
    k = te.reduce_axis((0, 256), "k")
    C = te.compute(
        (8, 1, 512),
        lambda b, i, j: te.sum(A[b, i, k].astype("float32") * W[j, k].astype("float32"), axis=k),
        "C",
    )
    sch = tvm.default_schedule(te.create_prim_func([A, W, C]), target)
    script = sch.mod.script()
    assert "C_rf" in script
    assert "T.where" not in script  # of which the rows of a tile were all but one
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    x, w = (rng.standard_normal(shape).astype(kind) for shape in ((8, 1, 256), (512, 256)))
    want = x.astype("float64") @ w.T.astype("float64")
    assert_close(run(sch.mod, [x, w], (8, 1, 512), target), want)


@pytest.mark.parametrize(("m", "n"), [(32, 512), (31, 700), (32, 1003)])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_few_rows_are_packed_instead_of_a_large_matrix(m, n, dtype):
    """Where rows fill vectors, little has to be copied."""
    mod, _ = with_rows_of_weights(m, n, 1024, dtype)
    # The results are collected, and transposed.
    assert re.search(r"C\w*_global = T.alloc_buffer", mod["main"].script())


@pytest.mark.parametrize(("m", "n", "k"), [(5, 512, 64), (100, 300, 200), (20, 500, 301)])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_rows_of_weights_are_packed_where_rows_do_not_fill_vectors(m, n, k, dtype):
    """Packing takes little of the time, whatever the sizes are."""
    mod, _ = with_rows_of_weights(m, n, k, dtype)
    assert re.search(r"B\w*_global = T.alloc_buffer", mod["main"].script())


@pytest.mark.parametrize("n", [48, 50])
@pytest.mark.parametrize("dtype", ["int8", "bfloat16"])
def test_groups_that_are_side_by_side_are_copied_in_squares(dtype, n):
    mod, target = with_rows_of_weights(200, n, 64, dtype)
    code = tvm.build(mod, target=target).get_source("asm")
    # No element is put into its vector on its own.
    assert not re.search("vp(insr|extr)[bw]", code)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("haswell", "uint8"), ("znver4", "uint8"), ("znver4", "bfloat16"), ("dotprod", "int8"),
     ("i8mm", "int8"), ("arm bf16", "bfloat16")],
)  # fmt: skip
def test_convolutions(name, dtype):
    target, rng = Target(PROCESSORS[name][0]), np.random.default_rng(0)
    stride = 1 if name == "haswell" else 2
    b = "int8" if dtype == "uint8" else dtype
    func = convolution(2, 8, 10, 32, 3, stride, dtype, b)
    x, w = numbers(rng, (2, 8, 10, 10), dtype), numbers(rng, (32, 8, 3, 3), b)
    padded = np.pad(x.astype("float64"), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    want = np.einsum("ncyxij,fcij->nfyx", windows[:, :, ::stride, ::stride], w.astype("float64"))
    mod = tvm.default_schedule(func, target).mod
    assert "T.dp" in mod["main"].script()
    assert_close(run(mod, [x, w], want.shape, target), want)


@pytest.mark.parametrize("size", [16, 13])
def test_images_are_the_columns_of_filters_of_one_element(size):
    target, rng = Target(PROCESSORS["haswell"][0]), np.random.default_rng(0)
    A = te.placeholder((1, 9, size, size), "int8", "A")
    W = te.placeholder((33, 9, 1, 1), "int8", "W")
    sums = topi.nn.conv2d(A, W, 1, 0, 1, "NCHW", out_dtype="int32")
    halves = te.compute(sums.shape, lambda *at: sums(*at).astype("float32") * 0.5, "halves")
    func = te.create_prim_func([A, W, halves])
    mod = tvm.default_schedule(func, target).mod
    script = mod["main"].script()
    assert "dp2a" in script
    assert "conv2d_global" not in script  # which results are in before they are transposed
    x, w = numbers(rng, (1, 9, size, size), "int8"), numbers(rng, (33, 9, 1, 1), "int8")
    want = np.einsum("ncyx,fc->nfyx", x.astype("float32"), w[:, :, 0, 0]) / 2
    np.testing.assert_array_equal(run(mod, [x, w], want.shape, target), want)


def test_a_symbolic_number_of_rows():
    target, rng = Target(PROCESSORS["haswell"][0]), np.random.default_rng(0)
    mod = tvm.default_schedule(product(te.size_var("m"), 40, 37, "int8", "int8"), target).mod
    for rows in (1, 2, 7, 33):
        x, y = numbers(rng, (rows, 37), "int8"), numbers(rng, (37, 40), "int8")
        got = run(mod, [x, y], (rows, 40), target)
        np.testing.assert_array_equal(got, x.astype("int32") @ y.astype("int32"))


@pytest.mark.parametrize("processor", ["haswell", "i8mm"])
@pytest.mark.parametrize("size", [(64, 64, 64), (33, 45, 19)])
def test_what_reads_the_result_is_computed_for_each_tile(processor, size):
    target, rng = Target(PROCESSORS[processor][0]), np.random.default_rng(0)
    m, n, k = size
    A, B = te.placeholder((m, k), "uint8", "A"), te.placeholder((n, k), "int8", "B")
    D, r = te.placeholder((n,), "int32", "D"), te.reduce_axis((0, k), "r")
    P = te.compute((m, n), lambda i, j: te.sum(converted(A[i, r], B[j, r]), r), "P")
    R = te.compute((m, n), lambda i, j: (P[i, j] + D[j]).astype("float32") * 0.25, "R")
    func = te.create_prim_func([A, B, D, R])
    sch = tvm.default_schedule(func, target)
    tile = sch.get(sch.get_loops("P_update_o")[2])
    assert any(sch.get(loop) is tile for loop in sch.get_loops("R"))
    x, y = numbers(rng, (m, k), "uint8"), numbers(rng, (n, k), "int8")
    d = rng.integers(-1000, 1000, n).astype("int32")
    want = (x.astype("int32") @ y.astype("int32").T + d).astype("float32") * np.float32(0.25)
    np.testing.assert_array_equal(run(sch.mod, [x, y, d], (m, n), target), want)


def test_other_sums_stay_as_they_are():
    """A sum in int16 wraps around, and a difference of bytes is none of the operands."""
    target = Target(PROCESSORS["cascadelake"][0])
    A, B = te.placeholder((32, 32), "int8", "A"), te.placeholder((32, 32), "int8", "B")
    r = te.reduce_axis((0, 32), "r")
    short = te.compute(
        (32, 32), lambda i, j: te.sum(A[i, r].astype("int16") * B[r, j].astype("int16"), r)
    )
    moved = te.compute(
        (32, 32), lambda i, j: te.sum((A[i, r].astype("int32") - 3) * B[r, j].astype("int32"), r)
    )
    for result in (short, moved):
        sch = tvm.default_schedule(te.create_prim_func([A, B, result]), target)
        assert "dp4a" not in sch.mod["main"].script()
        assert "dp2a" not in sch.mod["main"].script()


def test_processors_without_avx_512_multiply_in_vectors_of_256_bits():
    target = Target(PROCESSORS["alderlake"][0])
    sch = tvm.default_schedule(product(64, 64, 64, "uint8", "int8"), target)
    lines = tvm.build(sch.mod, target=target).get_source("asm").splitlines()
    multiplied = [line for line in lines if "vpdpbusd" in line]
    assert multiplied
    assert all("ymm" in line for line in multiplied)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_several_cores_share_the_panels(dtype):
    """Each packs panels of its own, which the instruction reads in another shape."""
    func = product(12, 64, 16, dtype, "int8")
    code = tvm.default_schedule(func, f"{X86}haswell".replace("cores=1", "cores=2")).mod.script()
    assert "T.parallel" in code
    assert "T.dp2a" in code


def test_panels_from_memory_are_asked_for_ahead():
    func = product(8, 1024, 2048, "uint8", "int8").with_attr("tir.constant_params", (1,))
    code = tvm.default_schedule(func, f"{X86}haswell").mod.script()
    assert "software_prefetch" in code
    assert "T.dp2a" in code


def test_sums_stay_in_registers_around_a_loop():
    A = te.placeholder((1, 7, 9, 16), "int8", "A")
    W = te.placeholder((1, 1, 16, 24), "int8", "W")
    func = te.create_prim_func([A, W, topi.nn.conv2d_nhwc(A, W, 1, 0, 1, "int32")])
    sch = tvm.default_schedule(func, X86 + "haswell")
    loops = [sch.get(loop) for loop in sch.get_loops("conv2d_nhwc_update_o")]
    assert ("SERIAL", 8) in [(loop.kind.name, loop.extent.value) for loop in loops]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", ["cascadelake", "alderlake"])
def test_operands_of_one_sign_take_the_mixed_instruction_alone(name, dtype):
    """The zero point of the panels is moved, and nothing is added for each product."""
    target = Target(PROCESSORS[name][0])
    sch = tvm.default_schedule(product(64, 64, 64, dtype, dtype), target)
    assert "B_shifted_global" in sch.mod.script()
    code = tvm.build(sch.mod, target=target).get_source("asm")
    loop = code[code.index("vpdpbusd") :].split("\tj")[0]
    assert loop.count("vpdpbusd") > 10
    assert not re.search(r"vpaddd|vpsubd|vpxor|vmovdqa64\t%", loop)


@pytest.mark.parametrize("name", ["znver4", "haswell", "dotprod", "sierraforest"])
def test_only_that_instruction_wants_other_signs(name):
    """Windows would be summed again and again, and other machines multiply bytes of one sign."""
    target, dtype = Target(PROCESSORS[name][0]), "int8"
    if name == "znver4":
        func = convolution(1, 40, 10, 32, 3, 1, dtype, dtype)
    else:
        func = product(64, 64, 64, dtype, dtype)
    assert "shifted" not in tvm.default_schedule(func, target).mod.script()


def test_constant_panels_are_shifted_when_they_are_packed():
    func = product(64, 64, 64, "int8", "int8").with_attr(CONSTANT_PARAMS, [1])
    sch = tvm.default_schedule(func, PROCESSORS["cascadelake"][0])
    lifted, copies = lift_copies(sch.mod["main"].without_attr(CONSTANT_PARAMS), [1])
    assert set(copies) == {1}
    assert lifted.buffer_map[lifted.params[1]].dtype == "uint8"
