"""Counted costs of kernels."""

from benchmarks.kernels.counting import counts_of

from tilewright import te, topi


def test_a_product_is_counted():
    a, b = (te.placeholder((64, 64), name=name) for name in "ab")
    found = counts_of(te.create_prim_func([a, b, topi.matmul(a, b)]), "sm_90", None)
    assert (found.kernels, found.blocks, found.threads) == (1, 16, 256)
    # Each of the tiles of 16 x 16 loads 16 rows and 16 columns.
    assert found.global_bytes == 16 * 2 * 16 * 64 * 4 + 64 * 64 * 4
    assert 16 < found.registers <= 255
    assert 2 * 16 * 16 * 4 <= found.shared_bytes < 8192
    assert 0 < found.occupancy <= 1
