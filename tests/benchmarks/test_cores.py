"""The schedules of works that threads share, at small and odd sizes."""

import numpy as np
import pytest
from benchmarks.compiler import threads
from benchmarks.suite import cores, matmul

import tilewright as tvm
from tilewright.target import Target


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(("m", "n", "k"), [(12, 512, 8), (37, 700, 29)])
def test_blocks_of_columns(m, n, k, count):
    target = Target(f"llvm -num-cores={count}")
    sch = tvm.tir.Schedule(matmul.program(m, n, k))
    cores.blocks_of_columns(sch, target)
    rng = np.random.default_rng(0)
    a, b, c = rng.random((m, k), "float32"), rng.random((k, n), "float32"), np.zeros((m, n), "f")
    tvm.build(sch.mod, target=target)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_sums_of_a_triangle():
    sch = tvm.tir.Schedule(cores.triangle)
    cores.balanced(sch, Target("llvm -num-cores=2"))
    a, b = np.ones((cores.ROWS, cores.ROWS), "float32"), np.zeros(cores.ROWS, "float32")
    tvm.build(sch.mod, target="llvm")(a, b)
    np.testing.assert_array_equal(b, np.arange(1, cores.ROWS + 1))


def test_both_sides_are_timed_alone_and_in_turns():
    calls = []
    mine, others = threads.in_turns(
        lambda: calls.append("a"), lambda: calls.append("b"), repeat=2, number=3
    )
    assert len(mine) == len(others) == 2
    assert "".join(calls) == ("a" * 4 + "b" * 4 + "ab" * 3) * 2


def test_the_number_of_threads_is_put_back():
    before = tvm.runtime.num_threads()
    with threads.on_threads(3), threads.on_threads(2):
        assert tvm.runtime.num_threads() == 2
    assert tvm.runtime.num_threads() == before
