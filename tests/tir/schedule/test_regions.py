"""Regions as seen from outside of the blocks that access them."""

from tilewright.arith import Analyzer
from tilewright.arith.interval import EVERYTHING, IntervalSet
from tilewright.ir.convert import const
from tilewright.script import tir as T
from tilewright.tir import Schedule
from tilewright.tir.schedule.proofs.regions import (
    BlockAccess,
    accesses,
    clipped,
    covers,
    hull,
    relaxed,
)


@T.prim_func
def stencil(A: T.Buffer((66,), "float32"), B: T.Buffer((64,), "float32")):
    for i, j in T.grid(4, 16):
        with T.block("B"):
            v = T.axis.spatial(64, i * 16 + j)
            T.reads(A[v : v + 3])
            B[v] = A[v] + A[v + 1] + A[v + 2]


def boxes_at(depth):
    sch = Schedule(stencil)
    sref = sch.get_sref(sch.get_block("B"))
    tree = sref.tree
    realize = tree.realize(sref.stmt)
    loops = tree.loops_above(realize)
    place = [tree.root, *loops][depth]
    analyzer = tree.analyzer(place)
    buffer = realize.block.reads[0].buffer
    (access,) = accesses([realize], buffer, written=False)
    assert isinstance(access, BlockAccess)
    return buffer, relaxed(tree, access, place, analyzer), analyzer, loops


def test_what_all_iterations_read():
    buffer, box, analyzer, _ = boxes_at(0)
    (found,) = clipped(buffer, box, analyzer)
    assert (found.min.value, found.extent.value) == (0, 66)


def test_what_one_iteration_of_the_outer_loop_reads():
    buffer, box, _, loops = boxes_at(1)
    analyzer = Analyzer()
    analyzer.bind_range(loops[0].loop_var, 0, 4)
    (found,) = clipped(buffer, box, analyzer)
    assert str(found.min) == "i * 16"
    assert found.extent.value == 18


def test_a_box_covers_its_parts():
    buffer, box, analyzer, _ = boxes_at(0)
    assert covers(buffer, box, box, analyzer)
    assert not covers(buffer, [IntervalSet(const(0), const(64))], box, analyzer)
    assert hull([box, box], analyzer)[0].extent is not None
    assert buffer.shape[0].value == 66


def test_a_box_covers_what_sticks_out_of_the_buffer():
    buffer, _, analyzer, _ = boxes_at(0)
    box = [IntervalSet(const(0), const(65))]
    assert covers(buffer, box, [IntervalSet(const(-1), const(70))], analyzer)
    assert covers(buffer, box, [EVERYTHING], analyzer)
    assert not covers(buffer, [EVERYTHING], box, analyzer)
