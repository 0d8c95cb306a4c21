"""Strided stores that fill a stretch become stores of neighbours."""

import re

import numpy as np
import pytest
from tests.target.llvm.programs import function, native
from tests.tir.transform.programs import int_var, of_kind

import tilewright as tvm
from tilewright.ir import Broadcast, Cast, DType, Ramp, Select, Shuffle, const, walk
from tilewright.target import Target
from tilewright.tir import BufferStore, For, ForKind, LetStmt, decl_buffer, seq
from tilewright.tir.interpreter import interpret
from tilewright.tir.op import bitwise_xor, reinterpret
from tilewright.tir.transform.building.parts_of_vectors import parts_of
from tilewright.tir.transform.interleave_stores import interleave_stores

NOALIAS = {"tir.noalias": const(True)}


def lane_ramp(base, stride, lanes):
    return Ramp(base if not isinstance(base, int) else const(base), const(stride), lanes)


def strided(target, value, base, stride):
    return BufferStore(target, value, (lane_ramp(base, stride, value.dtype.lanes),))


def transpose(rows, lanes, dtype="float32", order=None):
    """C[j * rows + i] = A[i * lanes + j], a statement for each row."""
    A, C = (decl_buffer((rows * lanes,), dtype, name) for name in "AC")
    stores = [
        strided(C, A.vload((lane_ramp(i * lanes, 1, lanes),)), i, rows)
        for i in (order or range(rows))
    ]
    return function([A, C], seq(*stores), **NOALIAS)


def same_result(func, changed, *sources):
    """Both leave the same in the last argument; native code as well."""
    results = []
    for run in (lambda *x: interpret(func, *x), lambda *x: interpret(changed, *x), native(changed)):
        arrays = [source.copy() for source in sources]
        run(*arrays)
        results.append(arrays[-1])
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def strides_of(func):
    return [int(store.indices[0].stride) for store in of_kind(func.body, BufferStore)]


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16", "float64"])
@pytest.mark.parametrize(("rows", "lanes"), [(2, 4), (3, 8), (4, 16), (8, 8), (5, 4)])
def test_rows_become_neighbours(rows, lanes, dtype):
    func = transpose(rows, lanes, dtype)
    changed = interleave_stores(func)
    assert set(strides_of(changed)) == {1}
    source = np.arange(rows * lanes).astype(dtype)
    same_result(func, changed, source, np.zeros_like(source))


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_a_store_fills_a_register(bits):
    changed = interleave_stores(transpose(4, 16), vector_bits=bits)
    lanes = [store.value.dtype.lanes for store in of_kind(changed.body, BufferStore)]
    assert lanes == [bits // 32] * (64 * 32 // bits)
    assert len(of_kind(changed.body, LetStmt)) == 4  # each value is computed once
    source = np.arange(64, dtype="float32")
    same_result(transpose(4, 16), changed, source, np.zeros_like(source))


def test_in_any_order():
    func = transpose(4, 4, order=[2, 0, 3, 1])
    changed = interleave_stores(func)
    assert strides_of(changed) == [1]
    source = np.arange(16, dtype="float32")
    same_result(func, changed, source, np.zeros_like(source))


def test_inside_of_loops_and_among_other_statements():
    A, C = (decl_buffer((64,), "float32", name) for name in "AC")
    n = int_var("n")
    first = [strided(C, A.vload((lane_ramp(n * 8 + i * 4, 1, 4),)), n * 8 + i, 2) for i in range(2)]
    other = BufferStore(C, const(3.0, "float32"), (n * 8,))
    body = For(n, const(0), const(8), ForKind.SERIAL, seq(other, *first, other))
    func = function([A, C], body, **NOALIAS)
    changed = interleave_stores(func)
    assert len(of_kind(changed.body, Shuffle)) == 1
    source = np.arange(64, dtype="float32")
    same_result(func, changed, source, np.zeros_like(source))


def unchanged_cases():
    A, C, D = (decl_buffer((64,), "float32", name) for name in "ACD")
    x = A.vload((lane_ramp(0, 1, 4),))
    wide = A.vload((lane_ramp(0, 1, 8),))
    mask = const(True, "bool")
    own = C.vload((lane_ramp(0, 1, 4),))
    return {
        "there is a gap": (True, [strided(C, x, 0, 3), strided(C, x, 1, 3)]),
        "both go to one place": (True, [strided(C, x, 1, 2), strided(C, x, 1, 2)]),
        "elements in between": (True, [strided(C, x, 0, 2), strided(C, x, 3, 2)]),
        "other steps": (True, [strided(C, x, 0, 2), strided(C, x, 1, 3)]),
        "other lanes": (True, [strided(C, x, 0, 2), strided(C, wide, 1, 2)]),
        "other memory": (True, [strided(C, x, 0, 2), strided(D, x, 1, 2)]),
        "the second is masked": (True, [strided(C, x, 0, 2),
                                        strided(C, x, 1, 2).replace(predicate=mask)]),
        "the second reads what the first stores": (True, [strided(C, x, 0, 2),
                                                          strided(C, own, 1, 2)]),
        "the second may read what the first stores": (False, [strided(C, x, 0, 2),
                                                              strided(C, x, 1, 2)]),
        "too far apart": (True, [strided(C, A.vload((lane_ramp(0, 1, 2),)), i, 17)
                                 for i in range(17)]),
    }, (A, C, D)  # fmt: skip


@pytest.mark.parametrize("name", unchanged_cases()[0])
def test_what_stays(name):
    cases, buffers = unchanged_cases()
    noalias, stores = cases[name]
    func = function(buffers, seq(*stores), **(NOALIAS if noalias else {}))
    assert interleave_stores(func) is func


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("cpu", ["znver3", "skylake-avx512", "sapphirerapids"])
def test_halves_are_moved_as_bits(cpu, dtype):
    """Nothing is rounded, though registers hold floats of 32 bits."""
    func = interleave_stores(transpose(2, 16, dtype))
    target = Target(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    code = tvm.build(func, target=target).get_source("asm")
    assert not re.search(r"cmpunord|vcvt|vpsrld|vpsrad|pmovzxwd", code)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize(("rows", "lanes"), [(4, 16), (8, 8), (16, 4), (4, 32)])
def test_short_elements_are_interleaved_in_pairs(rows, lanes, dtype):
    """As machines do it: two vectors at a time, with elements of twice the size each time."""
    func = transpose(rows, lanes, dtype)
    changed = interleave_stores(func)
    shuffles = [node for node in walk(changed.body) if isinstance(node, Shuffle)]
    assert 2 <= max(len(shuffle.vectors) for shuffle in shuffles) < rows
    source = np.arange(rows * lanes).astype(dtype)
    same_result(func, changed, source, np.zeros_like(source))


def test_bytes_are_interleaved_by_few_instructions():
    func = interleave_stores(transpose(4, 16, "int8"))
    target = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake")
    code = tvm.build(func, target=target).get_source("asm")
    assert len(re.findall(r"\t(?:vpunpck|vperm|vinsert|vpmovzx|vpshuf)", code)) <= 10


def parts_of_a_vector(value):
    """Four stores in turns of what `value` makes of the parts of one vector, and of their place."""
    source, target = decl_buffer((32,), "int8", "A"), decl_buffer((32,), "int8", "C")
    whole = source.vload((lane_ramp(0, 1, 32),))
    stores = [strided(target, value(x, n), n, 4) for n, x in enumerate(parts_of(whole, 4))]
    return function([source, target], seq(*stores), **NOALIAS)


SAME_FOR_ALL_PARTS = {
    "as it is": lambda x, n: x,
    "a constant": lambda x, n: x * Broadcast(const(3, "int8"), 8),
    "an operator": lambda x, n: bitwise_xor(x, Broadcast(const(-128, "int8"), 8)),
    "other bits": lambda x, n: reinterpret("int8x8", Cast(DType("int8x8"), x) + x),
    "leading lanes": lambda x, n: Select(
        lane_ramp(2, 1, 8) < Broadcast(const(7), 8), x, Broadcast(const(5, "int8"), 8)
    ),
}

OTHERS = {
    "constants of their own": lambda x, n: x * Broadcast(const(3 + n, "int8"), 8),
    "masks of their own": lambda x, n: Select(
        lane_ramp(n, 1, 8) < Broadcast(const(7), 8), x, Broadcast(const(5, "int8"), 8)
    ),
    "other lanes": lambda x, n: Select(
        Broadcast(const(7), 8) < lane_ramp(2, 1, 8), x, Broadcast(const(5, "int8"), 8)
    ),
    "ramps": lambda x, n: x + Ramp(const(1, "int8"), const(2, "int8"), 8),
    "another operator": lambda x, n: x + x if n == 3 else x * x,
}


@pytest.mark.parametrize("value", [*SAME_FOR_ALL_PARTS.values()], ids=[*SAME_FOR_ALL_PARTS])
def test_parts_of_one_vector_are_not_interleaved(value):
    func = parts_of_a_vector(value)
    changed = interleave_stores(func)
    (store,) = of_kind(changed.body, BufferStore)
    assert store.value.dtype.lanes == 32
    assert not [node for node in walk(changed.body) if isinstance(node, Shuffle)]
    source = np.random.default_rng(0).integers(-128, 128, 32).astype("int8")
    same_result(func, changed, source, np.zeros_like(source))


@pytest.mark.parametrize("value", [*OTHERS.values()], ids=[*OTHERS])
def test_what_differs_from_part_to_part_is_interleaved(value):
    func = parts_of_a_vector(value)
    changed = interleave_stores(func)
    assert set(strides_of(changed)) == {1}
    assert [node for node in walk(changed.body) if isinstance(node, Shuffle)]
    source = np.random.default_rng(0).integers(-128, 128, 32).astype("int8")
    same_result(func, changed, source, np.zeros_like(source))
