"""Which tiles stay in registers."""

from tilewright.schedule_rules.machine import Machine
from tilewright.schedule_rules.tiles import Tile, register_tile, tile_cost

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


def test_a_tile_that_is_cut_off_costs_more_than_its_part():
    assert tile_cost(Tile(4, 2), 9, 2) > tile_cost(Tile(3, 2), 9, 2)
