"""Stores of the first lanes of a vector: of known and unknown numbers, and the code for them."""

import pytest
from tests.target.llvm.programs import check, compiled, function, loop
from tests.target.llvm.test_memory import DTYPES, array, ramp
from tests.target.llvm.test_processors import TARGETS

import tilewright as tvm
from tilewright import te, tir
from tilewright.ir import const
from tilewright.target import Target

HASWELL, SKYLAKE, NEON = (
    Target(f"llvm -mtriple={triple}-linux-gnu {options}")
    for triple, options in (
        ("x86_64", "-mcpu=haswell"), ("x86_64", "-mcpu=skylake-avx512"),
        ("aarch64", "-mattr=+neon"),
    )
)  # fmt: skip


def copy(count, lanes, dtype="float32", length=40):
    """A program that copies the first lanes of a vector, and of one that starts further on."""
    a, c = tir.decl_buffer((length,), dtype, "A"), tir.decl_buffer((length,), dtype, "C")
    zero = const(0, count.dtype)

    def body(i):
        index = ramp(i * 3, 1, lanes)
        mask = tir.Ramp(zero, zero + 1, lanes) < tir.Broadcast(count, lanes)
        return tir.BufferStore(c, tir.BufferLoad(a, (index,), mask), (index,), mask)

    sizes = [count] if isinstance(count, tir.Var) else []
    return function([a, c, *sizes], loop(2, body))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.cpu or "host")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", [3, 8, 32])
def test_known_numbers(target, dtype, lanes):
    for count in (0, 1, lanes - 1, lanes + 5):
        func = copy(const(count), lanes, dtype)
        check(func, array(40, dtype), array(40, dtype, 1), target=target)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.cpu or "host")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "bfloat16"])
@pytest.mark.parametrize("size", ["int32", "int64"])
@pytest.mark.parametrize("lanes", [2, 8])
def test_unknown_numbers(target, dtype, size, lanes):
    func = copy(te.var("n", size), lanes, dtype)
    for count in (-(1 << 31), 0, lanes // 2 + 1, lanes, (1 << 31) - 1):
        check(func, array(40, dtype), array(40, dtype, 1), count, target=target)


def test_other_conditions_stay_masks():
    """Every other lane, and lanes by a condition that memory holds."""
    a, c = tir.decl_buffer((8,), "float32", "A"), tir.decl_buffer((8,), "float32", "C")
    index = ramp(const(0), 1, 8)
    scattered = ramp(const(0), 3, 8) < tir.Broadcast(const(9), 8)
    computed = tir.BufferLoad(a, (index,)) < tir.Broadcast(const(0, "float32"), 8)
    for mask in (scattered, computed):
        body = tir.BufferStore(c, tir.BufferLoad(a, (index,)), (index,), mask)
        check(function([a, c], body), array(8, "float32"), array(8, "float32", 1))


@pytest.mark.parametrize("count", [const(7), te.var("n", "int64")])
def test_processors_with_slow_masked_stores_store_parts(count):
    text = compiled(copy(count, 8), HASWELL).assembly
    stores = [line for line in text.splitlines() if "vmaskmovps\t%" in line]
    assert not stores
    assert "vmovss" in text or "vextractps" in text
    assert "{%k1}" in compiled(copy(count, 8), SKYLAKE).assembly


def test_many_stores_of_unknown_numbers_of_lanes_stay_masked():
    """A tile that was unrolled would be a thousand branches."""
    n = te.var("n", "int32")
    a, c = (tir.decl_buffer((400,), name=name) for name in "AC")
    stores = []
    for start in range(0, 400, 8):
        index = ramp(const(start), 1, 8)
        mask = index < tir.Broadcast(n, 8)
        stores.append(tir.BufferStore(c, tir.BufferLoad(a, (index,), mask), (index,), mask))
    func = function([a, c, n], tir.seq(*stores))
    text = compiled(func, HASWELL).assembly
    assert len([line for line in text.splitlines() if "vmaskmovps\t%" in line]) > 30
    for count in (0, 13, 64, 333, 400):
        check(func, array(400, "float32"), array(400, "float32", 1), count)


def test_known_numbers_of_lanes_need_no_branches_without_masks():
    """NEON has no masks: three parts are stored, and seven lanes loaded."""
    lines = [line.split() for line in compiled(copy(const(7), 8), NEON).assembly.splitlines()]
    names = [words[0] for words in lines if words]
    assert sum(name in ("str", "stur", "st1") for name in names) == 3
    assert not {"tbz", "tbnz"}.intersection(names)


def test_masks_of_sizes_of_64_bits_take_two_instructions():
    """As many lanes of 64 bits are two vectors, which are compared and packed again."""
    text = compiled(copy(te.var("n", "int64"), 8), HASWELL).assembly
    assert "vpcmpgtd" in text
    assert "vpackssdw" not in text
    assert "vpcmpgtq" not in text


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8"])
@pytest.mark.parametrize("target", [Target("llvm"), SKYLAKE], ids=["host", "avx512"])
def test_one_lane_of_converted_numbers_leaves_its_neighbour(target, dtype):
    """It is no masked store: LLVM would store all bytes of the lane before the conversion."""
    A, C = tir.decl_buffer((16,), "int32", "A"), tir.decl_buffer((16,), dtype, "C")
    index = ramp(const(0), 1, 16)
    mask = index < tir.Broadcast(const(1), 16)
    numbers = tir.BufferLoad(A, (index,)) + tir.Broadcast(const(7), 16)
    func = function([A, C], tir.BufferStore(C, numbers.astype(dtype + "x16"), (index,), mask))
    if target is SKYLAKE:
        assert "masked.store" not in tvm.build(func, target=target).get_source("ll")
    else:
        check(func, array(16, "int32"), array(16, dtype, 1), target=target)
