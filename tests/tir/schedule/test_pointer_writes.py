"""Blocks that write through a pointer."""

from tilewright.script import tir as T
from tilewright.tir import Schedule


@T.prim_func
def filled(B: T.Buffer((16, 16), "float32")):
    for i in range(1):
        with T.block("B"):
            vi = T.axis.spatial(1, i)
            T.reads()
            T.writes(B[0:16, 0:16])
            T.evaluate(T.tvm_fill_fragment(B.data, 16, 16, 16, vi, T.float32(0)))


def test_a_cache_of_what_is_written():
    sch = Schedule(filled, debug_mask="all")
    sch.cache_write("B", 0, "local")
    script = sch.mod.script()
    assert "T.tvm_fill_fragment(B_local.data, 16, 16, 16, vi, T.float32(0.0))" in script
    assert "B[v0, v1] = B_local[v0, v1]" in script
