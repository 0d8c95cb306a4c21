"""What the primitives of TE schedules refuse, and what they say."""

import numpy as np
import pytest

import tilewright as tvm
import tilewright.te as te
from tilewright.error import ArgumentError, TEScheduleError, TVMError
from tilewright.tir.interpreter import interpret


@pytest.fixture
def program():
    a = te.placeholder((6, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    c = te.compute((6, 6), lambda i, j: te.sum(a[i, k] * a[j, k], axis=k), name="C")
    return c, te.create_schedule(c.op)


def test_a_schedule_has_a_stage_per_operation(program):
    c, s = program
    assert [stage.op.name for stage in s.stages] == ["A", "C"]
    assert s[c] is s[c.op]
    assert [leaf.name for leaf in s[c].leaf_iter_vars] == ["i", "j", "k"]
    assert [stage.is_output for stage in s.stages] == [False, True]


def test_names_of_derived_loops(program):
    c, s = program
    i, j = c.op.axis
    outer, inner = s[c].split(i, 4)
    fused = s[c].fuse(inner, j)
    assert [leaf.name for leaf in s[c].leaf_iter_vars] == ["i_outer", "i_inner_j_fused", "k"]
    assert (outer.dom.extent.value, fused.dom.extent.value) == (2, 24)


def test_tile_orders_the_loops(program):
    c, s = program
    i, j = c.op.axis
    s[c].tile(i, j, 2, 3)
    names = [leaf.name for leaf in s[c].leaf_iter_vars]
    assert names == ["i_outer", "j_outer", "i_inner", "j_inner", "k"]


def test_reorder_keeps_the_places_of_other_loops(program):
    c, s = program
    i, _, k = s[c].leaf_iter_vars
    s[c].reorder(k, i)
    assert [leaf.name for leaf in s[c].leaf_iter_vars] == ["k", "j", "i"]


def test_a_factor_larger_than_the_loop_gives_one_outer_iteration(program):
    c, s = program
    outer, inner = s[c].split(c.op.axis[0], 100)
    assert (outer.dom.extent.value, inner.dom.extent.value) == (1, 6)


def split_twice(c, s):
    s[c].split(c.op.axis[0], 2)
    s[c].split(c.op.axis[0], 2)


def fuse_then_split(c, s):
    s[c].fuse(*c.op.axis)
    s[c].split(c.op.axis[1], 2)


def other_stage(c, s):
    d = te.compute((6,), lambda i: c[i, 0], name="D")
    s[c].split(d.op.axis[0], 2)


MISTAKES = [
    (lambda c, s: s[c].split(c.op.axis[0]), "either factor or nparts"),
    (lambda c, s: s[c].split(c.op.axis[0], 2, 3), "either factor or nparts"),
    (lambda c, s: s[c].split(c.op.axis[0], 0), "factor must be positive, got 0"),
    (lambda c, s: s[c].split(c.op.axis[0], nparts=-1), "nparts must be positive, got -1"),
    (lambda c, s: s[c].split(c.op.axis[0], 2.5), "factor must be an integer"),
    (lambda c, s: s[c].split("i", 2), "expected a loop"),
    (split_twice, "iter var i has already been split; operate on i_outer and i_inner"),
    (fuse_then_split, "iter var j has already been fused; operate on i_j_fused"),
    (other_stage, r"not part of the schedule of this stage; the loops are \(i, j, k\)"),
    (lambda c, s: s[c].reorder(c.op.axis[0], c.op.axis[0]), "can not appear more than once"),
    (lambda c, s: s[c].fuse(c.op.axis[0], c.op.reduce_axis[0]), "consecutive between each other"),
    (lambda c, s: s[c].vectorize(c.op.reduce_axis[0]), "cannot vectorize k"),
    (lambda c, s: s[c].parallel(c.op.reduce_axis[0]), "cannot parallel k"),
    (lambda c, s: s[c].vectorize(s[c].fuse(*s[c].leaf_iter_vars[1:])), "cannot vectorize j_k_f"),
    (lambda c, s: s[c].pragma(c.op.axis[0], ""), "the name of a pragma is a string"),
    (lambda c, s: s[c].pragma(c.op.axis[0], 3), "the name of a pragma is a string"),
    (lambda c, s: s[te.compute((1,), lambda i: 1.0, name="D")], "cannot find the stage of D"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_refusals(program, mistake, message):
    with pytest.raises(TEScheduleError, match=message) as info:
        mistake(*program)
    assert isinstance(info.value, TVMError)
    assert isinstance(info.value, ValueError)


def test_a_refused_primitive_changes_nothing(program):
    c, s = program
    with pytest.raises(TEScheduleError):
        s[c].reorder(c.op.axis[1], c.op.axis[0], c.op.axis[1])
    with pytest.raises(TEScheduleError):
        s[c].split(c.op.axis[0], 0)
    assert [leaf.name for leaf in s[c].leaf_iter_vars] == ["i", "j", "k"]


def test_create_schedule_wants_operations():
    with pytest.raises(ArgumentError, match="expected operations"):
        te.create_schedule(3)
    with pytest.raises(ArgumentError, match="no operation"):
        te.create_schedule([])


def test_fusing_nothing_makes_a_loop_of_one_iteration(program):
    c, s = program
    single = s[c].fuse()
    assert s[c].leaf_iter_vars[0] is single
    assert single.dom.extent.value == 1
    s[c].bind(single, te.thread_axis("blockIdx.x"))
    s[c].reorder(c.op.reduce_axis[0], single)
    func = tvm.lower(s, [c.op.input_tensors[0], c])["main"]
    a = np.arange(48, dtype="float32").reshape(6, 8)
    out = np.zeros((6, 6), "float32")
    interpret(func, a, out)
    np.testing.assert_array_equal(out, a @ a.T)


def test_pragmas_of_any_name_are_annotations(program):
    c, s = program
    s[c].pragma(c.op.axis[1], "my_pass", "fast")
    func = tvm.lower(s, [c.op.input_tensors[0], c], simple_mode=True)["main"]
    loops = [node for node in tvm.ir.walk(func.body) if isinstance(node, tvm.tir.For)]
    assert [str(loop.annotations.get("pragma_my_pass", "")) for loop in loops].count("fast") == 1
    assert "pragma_my_pass" in func.script()


def test_a_method_that_is_not_there(program):
    c, s = program
    with pytest.raises(AttributeError, match="no method 'vectorise'; did you mean 'vectorize'"):
        s[c].vectorise
