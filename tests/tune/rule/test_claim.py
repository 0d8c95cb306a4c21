"""Blocks that belong to one rule."""

from tilewright import te, topi
from tilewright.script import tir as T
from tilewright.tir import Schedule
from tilewright.tune.context import TuneContext
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


def test_a_block_that_is_cut_in_pieces_is_claimed():
    x = te.placeholder((4, 30), name="X")
    func = te.create_prim_func([x, topi.nn.pad(x, (0, 3), (0, 4))])
    context = TuneContext(func, target="llvm", space_generator="post-order-apply")
    sketches = [s for s in context.generate_design_space() if s is not context.default_schedule]
    (sketch,) = sketches
    (whole,) = sketch.get_child_blocks(sketch.get_block("root"))
    assert len(sketch.get_child_blocks(whole)) == 3
    assert is_claimed(sketch, whole)
