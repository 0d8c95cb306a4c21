"""Which tiles stay in registers."""

import re

import pytest
from tests.schedule_rules.programs import elementwise, matmul, scheduled

import tilewright as tvm
from tilewright import te, tir
from tilewright.schedule_rules.tiles import (
    Tile,
    choose_tile,
    fits_registers,
    register_tile,
    tile_cost,
)
from tilewright.tir.transform.machine import Machine

AVX512 = Machine()


def test_a_tile_fits_into_the_registers():
    for rows in (1, 3, 14, 100):
        for columns in (8, 40, 1000):
            tile = register_tile(rows, columns, 64, 16, 4, AVX512)
            assert tile.rows * tile.vectors + tile.vectors < AVX512.vector_registers
            assert tile.rows <= rows


def test_rows_that_share_cache_lines_make_tiles_higher():
    apart = register_tile(56, 64, 576, 16, 4, AVX512)
    near = register_tile(56, 64, 576, 16, 4, AVX512, near=True)
    assert near.rows > apart.rows
    assert tile_cost(near, 56, 4, near=True) < tile_cost(apart, 56, 4, near=True)


@pytest.mark.parametrize(("depth", "is_whole"), [(64, True), (400, False), (1000, False)])
def test_panels_that_come_from_the_next_cache_are_narrower(depth, is_whole):
    """Seven vectors cover all columns, but take longer to arrive than to multiply."""
    assert (register_tile(100, 112, depth, 16, 4, AVX512).vectors == 7) == is_whole


def test_rows_that_become_lanes_fill_vectors_unless_there_is_one_tile_of_them():
    machine = AVX512._replace(vector_registers=16, vector_bits=256)
    assert register_tile(56, 64, 576, 8, 4, machine).rows == 6
    assert register_tile(56, 64, 576, 8, 4, machine, transposes=True, are_lanes=True).rows in (4, 8)
    assert (
        register_tile(5, 64, 576, 8, 4, machine, others=2, transposes=True, are_lanes=True).rows
        == 5
    )


def test_a_tile_that_is_cut_off_costs_more_than_its_part():
    assert tile_cost(Tile(4, 2), 9, 2) > tile_cost(Tile(3, 2), 9, 2)


@pytest.mark.parametrize("registers", [12, 16, 32])
def test_whatever_is_decided_a_tile_fits_into_the_registers(registers):
    machine = AVX512._replace(vector_registers=registers)
    best = register_tile(100, 200, 64, 16, 4, machine)
    sch = tir.Schedule(elementwise(100, 200))
    tile = choose_tile(sch, best, 100, 200, 16, machine)
    row, column = sch.get_loops("C")
    sch.split(row, [None, tile.rows])
    sch.split(column, [None, tile.vectors])
    assert _tile_of(sch) == best
    others = set()
    for seed in range(1, 40):
        other = tir.Schedule(elementwise(100, 200), seed=seed)
        sch.trace.apply_to_schedule(other, decision_provider=lambda *_: None)
        others.add(_tile_of(other))
    assert len(others) > 1
    assert all(fits_registers(tile, machine) for tile in others)


def _tile_of(sch):
    _, rows, _, vectors = (sch.get(loop).extent.value for loop in sch.get_loops("C"))
    return Tile(rows, vectors)


def _sampled(sch):
    """The numbers that a schedule has sampled."""
    return [inst.outputs[0] for inst in sch.trace.insts if inst.kind.name == "sample_categorical"]


def test_the_tile_of_a_product_is_read_in_the_trace():
    sch = scheduled(matmul(40, 40, 8), Machine(vector_bits=128, vector_registers=16))
    vectors, rows = (sch.get(v) for v in _sampled(sch)[-2:])
    loops = [sch.get(loop) for loop in sch.get_loops("C")]
    assert [loop.extent.value for loop in loops[-3:]] == [rows, vectors, 4]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_that_are_added_by_another_instruction_have_a_register(dtype):
    """Without it results would go to memory and back in each step."""
    a, b = (te.placeholder((96, 96), dtype, name) for name in "AB")
    k = te.reduce_axis((0, 96))
    c = te.compute((96, 96), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k))
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2 -num-cores=1"
    code = tvm.build(te.create_prim_func([a, b, c]), target=target).get_source("asm")
    blocks = re.split(r"^\.LBB.*$|^\tj.*$", code, flags=re.MULTILINE)
    multiply = "mulps" if dtype == "float32" else "mulpd"
    inner = max(blocks, key=lambda block: block.count(multiply))
    assert inner.count(multiply) >= 8
    assert not re.search(r"%xmm\d+, -?\d*\(%r[bs]p\)", inner)


@pytest.mark.parametrize("lanes", [4, 8, 16, 64])
@pytest.mark.parametrize("registers", [12, 32])
def test_rows_whose_results_are_transposed_fill_half_squares_where_they_can(lanes, registers):
    machine = AVX512._replace(vector_registers=registers)
    tile = register_tile(64, 64, 576, lanes, 4, machine, near=True, transposes=True)
    fits = fits_registers(Tile(lanes // 2, 1), machine) and lanes <= 16
    assert tile.rows >= lanes // 2 if fits else tile.rows >= 1
