"""Blocks that belong to one rule."""

from tilewright.script import tir as T
from tilewright.tir import Schedule
from tilewright.tune.rule.schedule_rule import claim, is_claimed


@T.prim_func
def scale(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)


def test_a_claim_stays_with_the_block():
    sch = Schedule(scale)
    block = sch.get_block("B")
    assert not is_claimed(sch, block)
    claim(sch, block, "Doubling")
    sch.split(sch.get_loops(block)[0], [None, 4])
    assert is_claimed(sch, block)
    again = Schedule(scale)
    sch.trace.apply_to_schedule(again)
    assert is_claimed(again, again.get_block("B"))
