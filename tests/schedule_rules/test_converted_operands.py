"""Operands of a narrower type than the sums are converted before the loops that multiply them."""

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.schedule_rules.programs import LARGE, SMALL, TWO_CORES, loops_of, names_of, scheduled

import tilewright as tvm
from tilewright import te, topi
from tilewright.ir.expr import Cast
from tilewright.ir.rewrite import walk
from tilewright.schedule_rules.operands import CONSTANT_PARAMS
from tilewright.tir.transform.lift_copies import lift_copies

TARGETS = ("llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v2", "llvm -mcpu=x86-64-v3 -num-cores=2")
ROUNDED = {"float32": 1e-6, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def product(m, n, k, a="float16", b="float16", result="float32", transposed=(), batch=()):
    """The product of matrices, with sums in float32; `transposed` names those that are."""
    A = te.placeholder((*batch, *((k, m) if "A" in transposed else (m, k))), a, "A")
    B = te.placeholder((*batch, *((n, k) if "B" in transposed else (k, n))), b, "B")
    options = {"transpose_a": "A" in transposed, "transpose_b": "B" in transposed}
    C = topi.nn.matmul(A, B, out_dtype="float32", **options)
    return te.create_prim_func([A, B, topi.cast(C, result) if result != "float32" else C])


def convolution(layout, size, channels, filters, dtype="float16", pad=1):
    shape = (1, channels, size, size) if layout == "NCHW" else (1, size, size, channels)
    kernel = (filters, channels, 3, 3) if layout == "NCHW" else (3, 3, channels, filters)
    A, W = te.placeholder(shape, dtype, "A"), te.placeholder(kernel, dtype, "W")
    kernel_layout = "OIHW" if layout == "NCHW" else "HWIO"
    C = topi.nn.conv2d(A, W, 1, pad, 1, layout, kernel_layout, out_dtype="float32")
    return te.create_prim_func([A, W, topi.cast(topi.nn.relu(C), dtype)])


def is_sum(block):
    return any(item.iter_type.name == "COMM_REDUCE" for item in block.iter_vars)


def sums_of(sch):
    """The blocks that add products."""
    blocks = [sch.get(block) for block in sch.get_child_blocks("root")]
    return [block for block in blocks if is_sum(block)]


def converted_in(block):
    """The buffers whose elements a block converts."""
    return {node.value.buffer.name for node in walk(block.body) if isinstance(node, Cast)}


PROGRAMS = {
    "product": product(40, 24, 16),
    "transposed": product(40, 24, 16, transposed="B"),
    "both transposed": product(40, 24, 16, transposed="AB"),
    "bfloat16": product(40, 24, 16, "bfloat16", "bfloat16", "bfloat16"),
    "two types": product(40, 24, 16, "bfloat16", "float16"),
    "one converted": product(40, 24, 16, "float32", "float16"),
    "bytes": product(40, 24, 16, "float32", "int8"),
    "batch": product(33, 12, 7, batch=(3,)),
    "narrow": product(40, 4, 16),
    "images": convolution("NCHW", 6, 3, 8),
    "images as they are": convolution("NCHW", 8, 3, 8, pad=0),
    "channels last": convolution("NHWC", 6, 3, 8),
}


@pytest.mark.parametrize("machine", [SMALL, LARGE, TWO_CORES], ids=["small", "large", "two cores"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_converted_where_it_is_multiplied(name, machine):
    (block,) = sums_of(scheduled(PROGRAMS[name], machine))
    assert converted_in(block) == set()


def test_steps_are_unrolled_as_those_of_float32():
    sch = scheduled(product(64, 64, 64), LARGE)
    assert ("unrolled", 4) in loops_of(sch, "T_matmul")


def test_panels_are_converted_when_they_are_packed():
    sch = scheduled(product(40, 24, 16, transposed="A"))
    assert names_of(sch) == ["A_global", "B_global", "T_matmul"]
    panels = sch.get(sch.get_block("B_global")).writes[0].buffer
    assert (str(panels.dtype), panels.ndim) == ("float32", 3)


def test_columns_that_few_rows_use_stay_short():
    """They come from memory sooner, and there is little to convert."""
    (block,) = sums_of(scheduled(product(4, 64, 16), LARGE))
    assert converted_in(block) == {"B"}


def test_rows_are_converted_tile_by_tile_where_they_are_used_once():
    """Then they are still in the first cache; all at once, they would take a way to memory."""
    sch = scheduled(product(40, 24, 64), LARGE)
    tile = sch.get(sch.get_loops("T_matmul")[-6])
    assert any(sch.get(loop) is tile for loop in sch.get_loops("A_global"))
    again = scheduled(product(40, 200, 64), SMALL)
    assert len(loops_of(again, "A_global")) == 2


def test_what_reads_the_sums_is_computed_for_each_tile():
    sch = scheduled(product(40, 24, 16, result="float16"))
    first, *_ = (sch.get(loop) for loop in sch.get_loops("T_matmul"))
    assert sch.get(sch.get_loops("T_cast")[0]) is first


@pytest.mark.parametrize("is_read_again", [False, True])
def test_what_only_the_product_reads_is_computed_in_float32(is_read_again):
    A, B = te.placeholder((40, 16), "float16", "A"), te.placeholder((16, 24), "float16", "B")
    X = te.compute((40, 16), lambda i, j: te.max(A[i, j], A[i, 15 - j]), "X")
    results = [topi.nn.matmul(X, B, out_dtype="float32")]
    if is_read_again:
        results.append(te.compute((40,), lambda i: X[i, 3] + X[i, 5], "Y"))
    sch = scheduled(te.create_prim_func([A, B, *results]), LARGE)
    assert ("X_global" in names_of(sch)) == is_read_again
    dtype = sch.get(sch.get_block("X")).writes[0].buffer.dtype
    assert dtype == ("float16" if is_read_again else "float32")


def test_sums_of_the_type_of_the_operands_are_rounded_in_each_step():
    A, B = (te.placeholder((40, 40), "float16", name) for name in "AB")
    sch = scheduled(te.create_prim_func([A, B, topi.nn.matmul(A, B)]), LARGE)
    blocks = [sch.get(block) for block in sch.get_child_blocks("root")]
    assert {str(block.writes[0].buffer.dtype) for block in blocks} == {"float16"}


@pytest.mark.parametrize(("rows", "in_float32"), [(4, False), (64, True)])
def test_constants_stay_short_in_memory(rows, in_float32):
    """Where many rows use their panels, each of these is converted just before."""
    func = product(rows, 48, 20, transposed="B").with_attr(CONSTANT_PARAMS, [1])
    sch = scheduled(func)
    lifted, copies = lift_copies(sch.mod["main"].without_attr(CONSTANT_PARAMS), [1])
    assert set(copies) == {1}
    assert lifted.buffer_map[lifted.params[1]].dtype == "float16"
    (block,) = sums_of(sch)
    assert (converted_in(block) == set()) == in_float32


def test_columns_converted_as_they_are_are_asked_for_ahead():
    """Under the name that they have in the type of the sums."""
    A = te.placeholder((1, 4, 31, 1024), "float16", "A")
    W = te.placeholder((6, 4, 24, 1), "float16", "W")
    func = te.create_prim_func([A, W, topi.nn.conv2d(A, W, 1, 0, 1, out_dtype="float32")])
    target = "llvm -mcpu=znver3 -num-cores=1 -cache-sizes=32768,524288,33554432"
    sch = tvm.default_schedule(func, target)
    asked = [sch.get(loop).annotations for loop in sch.get_loops("conv2d")]
    assert any("A_global" in found.get("software_prefetch", ()) for found in asked)
    assert tvm.build(sch.mod, target=target) is not None


@pytest.mark.parametrize(
    ("target", "multiply", "convert"),
    [
        ("-mtriple=x86_64-linux-gnu -mcpu=znver3", "vfmadd", "vcvtph2ps"),
        ("-mtriple=x86_64-linux-gnu -mcpu=x86-64-v2", "mulps", "pslld"),
        ("-mtriple=aarch64-linux-gnu -mattr=+neon", "fmla", "fcvtl"),
    ],
)
def test_the_code_that_multiplies_has_no_conversions(target, multiply, convert):
    module = tvm.build(product(64, 64, 64), target=f"llvm -num-cores=1 {target}")
    code = module.get_source("asm")
    parts = re.split(r"^\S+:", code, flags=re.MULTILINE)
    step = max(parts, key=lambda part: part.count(f"\t{multiply}"))
    assert f"\t{convert}" in code
    assert f"\t{convert}" not in step
    assert step.count(f"\t{multiply}") >= 32


def numbers(rng, shape, dtype):
    if dtype == "int8":
        return rng.integers(-128, 128, shape).astype(dtype)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    return rng.standard_normal(shape).astype(kind)


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(1, 70)] * 3),
    operands=st.sampled_from(
        [("float16", "float16"), ("bfloat16", "bfloat16"), ("bfloat16", "float16"),
         ("float32", "bfloat16"), ("float16", "int8")]
    ),
    result=st.sampled_from(sorted(ROUNDED)),
    transposed=st.sampled_from(["", "A", "B", "AB"]),
    batch=st.sampled_from([(), (1,), (3,)]),
    target=st.sampled_from(TARGETS),
    seed=st.integers(0, 100),
)  # fmt: skip
def test_random_products(sizes, operands, result, transposed, batch, target, seed):
    func = product(*sizes, *operands, result, transposed, batch)
    shapes = [[int(n) for n in func.buffer_map[param].shape] for param in func.params]
    rng = np.random.default_rng(seed)
    inputs = [numbers(rng, shape, dtype) for shape, dtype in zip(shapes, operands, strict=False)]
    a, b = (array.astype("float64") for array in inputs)
    a = a.swapaxes(-1, -2) if "A" in transposed else a
    b = b.swapaxes(-1, -2) if "B" in transposed else b
    got = tvm.nd.empty(shapes[2], result)
    tvm.build(func, target=target)(*map(tvm.nd.array, inputs), got)
    error = abs(got.numpy().astype("float64") - a @ b)
    assert (error <= ROUNDED[result] * (abs(a @ b) + 1e-3) + 1e-6 * (abs(a) @ abs(b))).all()
