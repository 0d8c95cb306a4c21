"""What blocks write for certain."""

import pytest

from tilewright.script import tir as T
from tilewright.tir import Schedule
from tilewright.tir.schedule.proofs.coverage import writes_all
from tilewright.tir.schedule.proofs.regions import whole


def is_covered(func, name, place=None):
    """Whether a block writes all of the buffer `B` in one iteration of a loop, or in its scope."""
    sch = Schedule(func)
    sref = sch.get_sref(sch.get_block(name))
    tree = sref.tree
    realize = tree.realize(sref.stmt)
    loops = {loop.loop_var.name: loop for loop in tree.loops()}
    place = tree.root if place == "root" else loops.get(place, tree.scope(realize))
    nodes = [realize.block, *(above for above in tree.blocks())]
    (buffer,) = {
        region.buffer
        for node in nodes
        for region in getattr(node, "block", node).writes
        if region.buffer.name == "B"
    }
    analyzer = tree.analyzer_inside(place)
    return writes_all(tree, realize, buffer, place, [whole(buffer)], analyzer)


@T.prim_func
def nested(B: T.Buffer((8,), "float32")):
    for i in range(2):
        with T.block("outer"):
            vo = T.axis.spatial(2, i)
            for j in range(4):
                with T.block("inner"):
                    vj = T.axis.spatial(4, j)
                    B[vo * 4 + vj] = T.float32(0)


@T.prim_func
def nested_in_part(B: T.Buffer((8,), "float32")):
    for i in range(2):
        with T.block("outer"):
            vo = T.axis.spatial(2, i)
            T.where(i < 1)
            for j in range(4):
                with T.block("inner"):
                    vj = T.axis.spatial(4, j)
                    B[vo * 4 + vj] = T.float32(0)


@T.prim_func
def by_a_value(B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            with T.LetStmt(7 - vi) as x:
                B[x] = T.float32(0)


@T.prim_func
def inside_of_the_buffer(B: T.Buffer((6,), "float32")):
    for i, j in T.grid(2, 4):
        with T.block("B"):
            vi = T.axis.spatial(6, i * 4 + j)
            T.where(i * 4 + j < 6)
            B[vi] = T.float32(0)


@T.prim_func
def guarded_by_a_branch(B: T.Buffer((8,), "float32")):
    for i in range(8):
        if i < 8:
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = T.float32(0)


@T.prim_func
def branch_inside(B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            if vi < 8:
                B[vi] = T.float32(0)


@T.prim_func
def one_of_two(B: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi * 2] = T.float32(0)


@T.prim_func
def own_memory(A: T.Buffer((2,), "float32")):
    for i in range(2):
        with T.block("outer"):
            vo = T.axis.spatial(2, i)
            B = T.alloc_buffer((2,))
            with T.block("B"):
                B[vo] = T.float32(0)
            with T.block("A"):
                A[vo] = B[vo]


@pytest.mark.parametrize(
    ("func", "name", "place"),
    [
        (nested, "outer", None),
        (nested, "inner", "root"),
        (by_a_value, "B", None),
        (inside_of_the_buffer, "B", None),
        # No box by its loops; but all instances run.
        (guarded_by_a_branch, "B", None),
    ],
)
def test_all_is_written(func, name, place):
    assert is_covered(func, name, place)


@pytest.mark.parametrize(
    ("func", "name", "place"),
    [
        (nested, "inner", "i"),
        (nested_in_part, "outer", None),
        (nested_in_part, "inner", "root"),
        (branch_inside, "B", None),
        (one_of_two, "B", None),
        # Each instance of the outer block has memory of its own.
        (own_memory, "B", "root"),
    ],
)
def test_all_may_not_be_written(func, name, place):
    assert not is_covered(func, name, place)
