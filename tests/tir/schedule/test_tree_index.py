"""The index of a function, which takes over what an edit left alone."""

from tilewright.script import tir as T
from tilewright.tir import Schedule
from tilewright.tir.schedule.tree import FunctionTree
from tilewright.tir.schedule.tree_index import TreeIndex


@T.prim_func
def three(A: T.Buffer((8, 6), "int32"), D: T.Buffer((8, 6), "int32")):
    B = T.alloc_buffer((8, 6), "int32")
    C = T.alloc_buffer((8, 6), "int32")
    for i, j in T.grid(8, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1
    for i, j in T.grid(8, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * 2
    for i, j in T.grid(8, 6):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + B[vi, vj]


STEPS = (
    lambda sch: sch.split(sch.get_loops("C")[0], [None, 3]),
    lambda sch: sch.compute_at("B", sch.get_loops("C")[0]),
    lambda sch: sch.cache_write("D", 0, "local"),
    lambda sch: sch.blockize(sch.get_loops("C")[1]),
    lambda sch: sch.reverse_compute_at("D_local", sch.get_loops("D")[0]),
    lambda sch: sch.fuse(*sch.get_loops("B")[1:]),
)


def test_each_version_has_the_index_that_a_new_one_would_have():
    sch = Schedule(three)
    for step in STEPS:
        step(sch)
        tree = sch.state.tree("main")
        fresh = FunctionTree("main", tree.func)
        assert tree.loops() == fresh.loops()
        assert tree.blocks() == fresh.blocks()
        for stmt in (*tree.loops(), *tree.blocks()):
            assert tree.parent(stmt) is fresh.parent(stmt)
            assert list(tree.ancestors(stmt)) == list(fresh.ancestors(stmt))
            assert tree.blocks_below(stmt) == fresh.blocks_below(stmt)


def test_what_an_edit_leaves_alone_is_taken_over_and_what_it_removes_is_forgotten():
    sch = Schedule(three)
    before = sch.state.tree("main")
    first, second, third = before.root.block.body.seq
    sch.split(sch.get_loops("C")[0], [None, 3])
    after = sch.state.tree("main")
    old, new = TreeIndex(before.root).parts, after._parts
    assert list(old) == [first, second, third]
    assert list(new) == [first, after.root.block.body.seq[1], third]
    assert new[first] is before._parts[first]
    assert second not in after
    assert first in after
    assert after.loop(second.loop_var) is None


def test_the_facts_of_a_place_are_independent_each_time():
    sch = Schedule(three)
    tree = sch.state.tree("main")
    (block, *_) = tree.blocks_below(tree.root)
    loop = tree.loops_above(block)[0]
    one, other = tree.analyzer(block), tree.analyzer(block)
    one.bind_range(loop.loop_var, 0, 2)
    assert one.can_prove(loop.loop_var < 2)
    assert not other.can_prove(loop.loop_var < 2)
    assert not tree.analyzer(block).can_prove(loop.loop_var < 2)
    assert tree.analyzer(block).can_prove(loop.loop_var < 8)
