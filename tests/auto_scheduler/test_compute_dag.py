"""Computations: how they print, and the schedules of candidates."""

import pytest
from tests.auto_scheduler.programs import small_conv2d, small_matmul

import tilewright as tvm
from tilewright import te, tir, topi
from tilewright.auto_scheduler import ComputeDAG, LayoutRewriteOption
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir.structural import assert_structural_equal


def test_it_prints_the_computation():
    dag = ComputeDAG(small_conv2d(8, 7, (1, 1), (1, 1)))
    names = [axis.var.name for axis in dag.ops[3].axis]
    n, f, y, x = names
    text = str(dag)
    assert "data = PLACEHOLDER [1, 8, 7, 7]\n" in text
    assert f"conv2d_nchw({n}, {f}, {y}, {x}) += (pad_temp[{n}, rc, " in text
    assert "T_relu(i0, i1, i2, i3) = max(T_add[i0, i1, i2, i3], 0.0)\n" in text
    assert len(text.splitlines()) == 7


def test_reductions_of_other_kinds():
    x = te.placeholder((4, 6), name="x")
    k = te.reduce_axis((0, 6), name="k")
    largest = te.compute((4,), lambda i: te.max(x[i, k], axis=k, where=k > 0), name="largest")
    assert str(ComputeDAG([x, largest])).splitlines()[1] == "largest(i) max= x[i, k] where k > 0"
    pair = te.comm_reducer(
        lambda a, b: (a[0] + b[0], te.max(a[1], b[1])),
        lambda first, second: (te.const(0, first), te.min_value(second)),
    )
    total, top = te.compute((4,), lambda i: pair((x[i, k], x[i, k]), axis=k), name="both")
    lines = str(ComputeDAG([x, total, top])).splitlines()
    assert lines[1].startswith("both.v0(i) = reduce (")
    assert lines[2].endswith("over k of (x[i, k], x[i, k])")


def test_other_operations():
    x = te.placeholder((4,), name="x")
    y = te.extern((4,), [x], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]), name="y")
    assert str(ComputeDAG([x, y])).splitlines()[1] == "y = EXTERN [x]"


def test_its_numbers():
    dag = ComputeDAG(small_matmul(4, 5, 6))
    assert dag.flop_ct == 2 * 4 * 5 * 6
    assert ComputeDAG(small_matmul(4, 5, 6)).hash_key() == dag.hash_key()
    assert ComputeDAG(small_matmul(4, 5, 7)).hash_key() != dag.hash_key()
    assert dag.workload_key() == f'["{dag.hash_key()}", [4, 6], [6, 5], [4, 5]]'
    assert [op.name for op in dag.ops] == ["A", "B", "C"]


def test_ways_to_make_one():
    tensors = small_matmul(4, 5, 6)
    expected = ComputeDAG(tensors).hash_key()
    assert ComputeDAG('["small_matmul", 4, 5, 6]').hash_key() == expected
    assert ComputeDAG(te.create_schedule(tensors[-1].op)).hash_key() == expected
    assert_structural_equal(ComputeDAG(tensors).func, te.create_prim_func(tensors))


def test_a_candidate_becomes_a_schedule_of_tensors():
    dag = ComputeDAG(small_matmul(8, 16, 8))
    blocks = tir.Schedule(dag.func)
    blocks.vectorize(blocks.get_loops("C")[1])
    for state in (blocks, blocks.trace, blocks.trace.as_json()):
        sch, args = dag.apply_steps_from_state(state)
        assert args == dag.tensors
        assert "vectorized(16)" in tvm.lower(sch, args, simple_mode=True).script()


@pytest.mark.parametrize("compute", [None, 3, [], [3]])
def test_what_is_no_computation(compute):
    with pytest.raises(ArgumentError):
        ComputeDAG(compute)


def test_inputs_that_are_not_listed():
    *_, c = small_matmul(4, 5, 6)
    with pytest.raises(ArgumentError, match="input A"):
        ComputeDAG([c])
    with pytest.raises(ArgumentError, match="nothing is computed"):
        ComputeDAG([te.placeholder((3,), name="x")])


def test_inputs_keep_their_layout():
    dag = ComputeDAG(small_matmul(4, 5, 6))
    option = LayoutRewriteOption.REWRITE_FOR_PRE_TRANSFORMED
    with pytest.raises(ArgumentValueError, match="inputs of a schedule of tensors keep"):
        dag.apply_steps_from_state([[], []], layout_rewrite=option)
    with pytest.raises(ArgumentValueError, match="is one of NO_REWRITE"):
        dag.apply_steps_from_state([[], []], layout_rewrite=7)


def test_softmax_of_topi():
    x = te.placeholder((4, 6), name="x")
    assert "T_softmax_maxelem" in str(ComputeDAG([x, topi.nn.softmax(x)]))
