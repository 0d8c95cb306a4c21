"""In which loops instances that touch one element run in the same iteration."""

import itertools
import random

import pytest

from tilewright.script import from_source
from tilewright.script import tir as T
from tilewright.tir.analysis.dependence import analyze
from tilewright.tir.analysis.dependence.iterations import loops_in_step

HEADER = "@T.prim_func\ndef func(A: T.Buffer((4096,), 'int32'), B: T.Buffer((4096,), 'int32')):\n"


def count(func, **options):
    first, second = both = analyze(func).statements
    shared = sum(a is b for a, b in zip(first.loops, second.loops, strict=False))
    return loops_in_step(both, both, shared, **options)


@T.prim_func
def tiles(A: T.Buffer((64, 8), "int32"), C: T.Buffer((64, 8), "int32")):
    B = T.alloc_buffer((64, 8), "int32")
    for i_0, j in T.grid(8, 8):
        for i_1 in range(8):
            with T.block("B"):
                vi = T.axis.spatial(64, i_0 * 8 + i_1)
                vj = T.axis.spatial(8, j)
                B[vi, vj] = A[vi, vj] * 2
        for i_1 in range(8):
            with T.block("C"):
                vi = T.axis.spatial(64, i_0 * 8 + i_1)
                vj = T.axis.spatial(8, j)
                C[vi, vj] = B[vi, vj] + 1


def test_an_element_tells_its_tile():
    assert count(tiles) == 2
    both = tuple(analyze(tiles).statements)
    assert loops_in_step(both, both, 1) == 1


def test_memory_that_does_not_count():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.block("A"):
                vi = T.axis.spatial(4, i)
                A[vi] = B[0]
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]

    assert count(func) == 0
    buffers = {buffer.name: buffer for buffer in func.buffer_map.values()}
    assert count(func, ignore={buffers["B"].data}) == 1
    assert count(func, ignore={buffers["A"].data}) == 0


@pytest.mark.parametrize("reach", [8, 9])
def test_tiles_that_overlap_tell_nothing(reach):
    text = (
        HEADER
        + f"""
    for i_0 in range(8):
        for i_1 in range({reach}):
            with T.block("B"):
                v = T.axis.spatial(100, i_0 * 8 + i_1)
                A[v] = v
        for i_1 in range(8):
            with T.block("C"):
                v = T.axis.spatial(64, i_0 * 8 + i_1)
                B[v] = A[v]
    """
    )
    assert count(from_source(text)) == (reach == 8)


def test_a_size_that_is_no_number():
    @T.prim_func
    def func(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 8), "int32")
        B = T.match_buffer(b, (n, 8), "int32")
        for i, j in T.grid(n, 8):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = vi
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]

    assert count(func) == 2


def test_a_symbolic_number_of_elements_per_tile():
    @T.prim_func
    def func(a: T.handle, b: T.handle, n: T.int32):
        A = T.match_buffer(a, (n * 8,), "int32")
        B = T.match_buffer(b, (n * 8,), "int32")
        for i in range(8):
            for j in range(n):
                with T.block("A"):
                    v = T.axis.spatial(n * 8, i * n + j)
                    A[v] = v
            for j in range(n):
                with T.block("B"):
                    v = T.axis.spatial(n * 8, i * n + j)
                    B[v] = A[v]

    assert count(func) == 0


def test_what_is_equal_anyway():
    """Of iterations of `i` that are equal, a later one of `j` reads other elements."""

    @T.prim_func
    def func(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i, j in T.grid(4, 2):
            with T.block("A"):
                v = T.axis.spatial(8, i + j * 4)
                A[v] = v
            with T.block("B"):
                v = T.axis.spatial(8, i + j * 4)
                B[v] = A[v]

    assert count(func) == 2
    both = tuple(analyze(func).statements)
    assert loops_in_step(both, both, 2, equal=1) == 2


def _random_case(seed):
    chance = random.Random(seed)
    extents = [chance.choice((1, 2, 3)) for _ in range(4)]
    factors = [[chance.choice((0, 1, 1, 2, 3, 4, 6, 8)) for _ in range(3)] for _ in range(2)]
    if chance.random() < 0.8:
        factors[1][:2] = factors[0][:2]
    offsets = [chance.choice((0, 0, 1, 2)) for _ in range(2)]
    return extents, factors, offsets


def _program(extents, factors, offsets, loops, i, j):
    text = HEADER + f"    for {loops}:\n"
    for side, name in enumerate("AB"):
        a, b, c = factors[side]
        index = f"({i}) * {a} + ({j}) * {b} + k * {c} + {offsets[side]}"
        other = "B[v] = A[v]" if side else "A[v] = v"
        text += (
            f"        for k in range({extents[2 + side]}):\n"
            f"            with T.block('{name}'):\n"
            f"                v = T.axis.spatial(99, {index})\n"
            f"                {other}\n"
        )
    return from_source(text)


def _in_conflict(extents, factors, offsets):
    """The values of `i` and `j` for two instances that touch one element."""

    def element(side, i, j, k):
        a, b, c = factors[side]
        return i * a + j * b + k * c + offsets[side]

    ranges = [range(extent) for extent in extents]
    for one in itertools.product(*ranges[:3]):
        for other in itertools.product(*ranges[:2], ranges[3]):
            if element(0, *one) == element(1, *other):
                yield one[:2], other[:2]


@pytest.mark.parametrize("seed", range(60))
def test_counted_loops_agree_for_all_instances(seed):
    case = extents, *_ = _random_case(seed)
    found = count(_program(*case, f"i, j in T.grid({extents[0]}, {extents[1]})", "i", "j"))
    assert all(one[:found] == other[:found] for one, other in _in_conflict(*case))


@pytest.mark.parametrize("seed", range(60, 140))
def test_digits_of_a_fused_loop_agree_for_all_instances(seed):
    case = (rows, columns, *_), *_ = _random_case(seed)
    fused = f"f in range({rows * columns})"
    found = count(_program(*case, fused, f"f // {columns}", f"f % {columns}"))
    assert not found or all(one == other for one, other in _in_conflict(*case))


def test_fused_tiles():
    """Three loops fused to one, whose digits are strides of tiles."""
    text = (
        HEADER
        + """
    for f in range(24):
        for k in range(2):
            with T.block("A"):
                v = T.axis.spatial(48, {index})
                A[v] = v
        for k in range(2):
            with T.block("B"):
                v = T.axis.spatial(48, {index})
                B[v] = A[v]
    """
    )
    assert count(from_source(text.format(index="f % 4 * 12 + f // 4 % 3 * 4 + f // 12 * 2 + k")))
    assert count(from_source(text.format(index="f % 12 // 4 * 16 + f % 4 * 4 + f // 12 * 2 + k")))
    assert not count(from_source(text.format(index="f % 4 * 12 + f // 4 % 3 * 4 + k")))
    assert not count(from_source(text.format(index="f % 4 * 12 + f // 4 % 2 * 4 + f // 12 * 2")))


@pytest.mark.parametrize(
    ("index", "agree"),
    [
        ("(i * 8 + k) // 8 * 8 + (i * 8 + k) % 8", True),
        ("(i * 8 + k + 16) // 8", True),
        ("(i * 8 + k + 4) // 8", False),
        ("(i * 4 + k) // 8", False),
        ("(i * 8 + k) // 4", True),
        ("(i * 8 + k) % 8", False),
    ],
)
def test_quotients_and_remainders(index, agree):
    text = (
        HEADER
        + f"""
    for i in range(4):
        for k in range(8):
            with T.block("B"):
                v = T.axis.spatial(100, {index})
                A[v] = v
        for k in range(8):
            with T.block("C"):
                v = T.axis.spatial(100, {index})
                B[v] = A[v]
    """
    )
    assert count(from_source(text)) == agree
