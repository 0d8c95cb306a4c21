"""Steps around a `let` inside of a loop, whose variable is visible in no block."""

import numpy as np
import pytest

from tilewright import tir
from tilewright.script import from_source
from tilewright.tir import ScheduleError
from tilewright.tir.interpreter import interpret

triangle = from_source(
    """
from tilewright.script import tir as T

@T.prim_func
def triangle(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        with T.LetStmt(i * 2) as x:
            for j in range(8):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.where(j < x)
                    B[vi, vj] = A[vi, vj] + T.float32(1)
"""
)

ragged = from_source(
    """
from tilewright.script import tir as T

@T.prim_func
def ragged(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in range(4):
        with T.LetStmt(i + 1) as x:
            for j, k in T.grid(x, 8):
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.spatial(4, j)
                    vk = T.axis.reduce(8, k)
                    with T.init():
                        B[vi, vj] = T.float32(0)
                    B[vi, vj] = B[vi, vj] + A[vi, vk]
"""
)

reversed_sums = from_source(
    """
from tilewright.script import tir as T

@T.prim_func
def reversed_sums(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.LetStmt(3 - i) as x:
            for k in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(4, x)
                    vk = T.axis.reduce(8, k)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
"""
)

reversed_rows = from_source(
    """
from tilewright.script import tir as T

@T.prim_func
def reversed_rows(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        with T.LetStmt(3 - i) as x:
            for j in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(4, x)
                    vj = T.axis.spatial(8, j)
                    B[vi, vj] = A[vi, vj] + T.float32(1)
"""
)

STEPS = {
    "blockize": lambda sch: sch.blockize(sch.get_loops("B")[1]),
    "blockize blocks": lambda sch: sch.blockize([sch.get_block("B")]),
    "loop_partition": lambda sch: sch.loop_partition(sch.get_loops("B")[1], [3, None]),
    "rfactor": lambda sch: sch.rfactor(sch.get_loops("B")[-1], 0),
    "read_at": lambda sch: sch.read_at(sch.get_loops("B")[1], "B", 0, "shared"),
    "write_at": lambda sch: sch.write_at(sch.get_loops("B")[1], "B", 0, "shared"),
}
REFUSED = [
    (triangle, "blockize", "block `B_o`", "i * 2"),
    (triangle, "loop_partition", "block `B_j_common`", "i * 2"),
    (ragged, "rfactor", "loop `j`", "i + 1"),
    (reversed_sums, "loop_partition", "block `B_k_common`", "3 - i"),
    (reversed_sums, "rfactor", "block `B_rf`", "3 - i"),
    (reversed_rows, "read_at", "block `A_shared`", "3 - i"),
    (reversed_rows, "write_at", "block `B_shared`", "3 - i"),
]


@pytest.mark.parametrize(("func", "step", "what", "value"), REFUSED)
def test_nothing_leaves_the_scope_of_a_let(func, step, what, value):
    sch = tir.Schedule(func, debug_mask="all")
    with pytest.raises(ScheduleError) as info:
        STEPS[step](sch)
    assert f"{what} mentions `x`, but would be out of the scope of `x = {value}`" in str(info.value)
    assert "write the value in place of `x`" in str(info.value)


@pytest.mark.parametrize("func", [triangle, reversed_rows])
def test_one_block_in_the_scope_of_a_let_becomes_a_tile(func):
    sch = tir.Schedule(func, debug_mask="all")
    STEPS["blockize blocks"](sch)
    a = np.arange(32, dtype="float32").reshape(4, 8)
    results = [np.zeros_like(a) for _ in range(2)]
    interpret(func, a, results[0])
    interpret(sch.mod["main"], a, results[1])
    np.testing.assert_array_equal(results[0], results[1])
