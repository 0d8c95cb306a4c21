"""Vectorised loops become vector statements, or plain loops where lanes would be wrong."""

import math

import numpy as np
import pytest
from tests.passes import lower
from tests.tir.transform.programs import (
    accesses,
    function,
    int_var,
    loop_nest,
    matmul,
    of_kind,
)

import tilewright as tvm
from tilewright.ir.arithmetic import logical_and
from tilewright.ir.convert import const
from tilewright.ir.dtype import FLOAT32
from tilewright.ir.op import Op
from tilewright.script import tir as T
from tilewright.tir import (
    Allocate,
    Broadcast,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    For,
    ForKind,
    IfThenElse,
    Let,
    PrimFunc,
    Ramp,
    Select,
    Var,
    decl_buffer,
    exp,
    seq,
)
from tilewright.tir.interpreter.program import first_difference
from tilewright.tir.substitute import variables_of
from tilewright.tir.transform.simplify import inline_lets
from tilewright.tir.transform.vectorize import vectorize

V = {"i": ForKind.VECTORIZED}


def vectorized(extent, body, buffers, var, scalars=(), **options):
    """The body of `for var in vectorized(extent)` after the pass."""
    loop = loop_nest([(var, extent)], body, {var.name: ForKind.VECTORIZED})
    func = function(buffers, loop, scalars=scalars)
    return vectorize(lower(func), **options).body


@pytest.fixture
def arrays():
    return [decl_buffer((64,), name=name) for name in "AB"]


def test_contiguous_accesses_become_ramps(arrays):
    A, B = arrays
    i = int_var("i")
    (store,) = of_kind(
        vectorized(16, BufferStore(B, exp(A[i]) * 2.0, (i,)), arrays, i), BufferStore
    )
    assert isinstance(store.indices[0], Ramp)
    assert store.value.dtype == "float32x16"
    (call,) = of_kind(store, Call)
    assert call.dtype == "float32x16"


def test_a_loop_variable_of_a_narrower_type_than_the_index_counts_neighbours(arrays):
    A, B = arrays
    i = int_var("i")
    index = Cast("int64", i) + const(8, "int64")
    (store,) = of_kind(vectorized(16, BufferStore(B, A[index] * 2.0, (i,)), arrays, i), BufferStore)
    (load,) = of_kind(store.value, BufferLoad)
    assert isinstance(load.indices[0], Ramp)


def test_lanes_are_cut_into_registers_and_powers_of_two(arrays):
    A, B = arrays
    i = int_var("i")
    body = BufferStore(B, A[i], (i,))
    stores = of_kind(vectorized(43, body, arrays, i), BufferStore)
    assert [s.value.dtype.lanes for s in stores] == [16, 16, 8, 2, 1]
    stores = of_kind(vectorized(16, body, arrays, i, vector_bits=128), BufferStore)
    assert [s.value.dtype.lanes for s in stores] == [4, 4, 4, 4]


def test_a_wide_element_that_all_lanes_share_leaves_them_whole_registers(arrays):
    A, B = arrays
    i, row = int_var("i"), int_var("row")
    rows = decl_buffer((4,), "int64", "rows")
    body = BufferStore(B, A[rows[row] + Cast("int64", i)], (i,))
    stores = of_kind(vectorized(16, body, [A, B, rows], i, [row], vector_bits=256), BufferStore)
    assert [s.value.dtype.lanes for s in stores] == [8, 8]


def test_a_branch_on_the_lane_becomes_a_mask_and_the_rest_of_it_stays(arrays):
    A, B = arrays
    i, n = int_var("i"), int_var("n")
    inner = IfThenElse(logical_and(i < n, n > 3), BufferStore(B, A[i], (i,)))
    both = vectorized(16, inner, arrays, i, [n])
    (store,) = of_kind(both, BufferStore)
    assert store.predicate.dtype == "boolx16"
    (load,) = of_kind(store, BufferLoad)
    assert load.predicate.dtype == "boolx16"
    # The first lane is on if any is: whether there is something to do at all.
    fixed, some = of_kind(both, IfThenElse)
    assert fixed.condition.a is n
    assert some.condition.b is n


def test_both_sides_of_a_branch_are_masked(arrays):
    A, B = arrays
    i = int_var("i")
    body = IfThenElse(A[i] > 0.0, BufferStore(B, A[i], (i,)), BufferStore(B, const(0.0), (i,)))
    stores = of_kind(vectorized(8, body, arrays, i), BufferStore)
    assert len(stores) == 2
    assert all(store.predicate is not None for store in stores)


def test_if_then_else_masks_its_loads(arrays):
    A, B = arrays
    i = int_var("i")
    value = Call(B.dtype, Op.get("tir.if_then_else"), (i < 5, A[i], const(0.0)))
    body = vectorized(8, BufferStore(B, value, (i,)), arrays, i)
    assert len(of_kind(body, Select)) == 1
    (load,) = of_kind(body, BufferLoad)
    assert load.predicate is not None


def test_if_then_else_branches_on_what_is_the_same_in_all_lanes(arrays):
    A, B = arrays
    i, n = int_var("i"), int_var("n")
    inside = logical_and(logical_and(n > 0, n < 3), logical_and(i > 0, i < 7))
    value = Call(FLOAT32, Op.get("tir.if_then_else"), (inside, A[i], const(2.0)))
    body = vectorized(8, BufferStore(B, value, (i,)), arrays, i, scalars=[n])
    (choice,) = of_kind(body, Select)
    assert choice.condition.dtype.lanes == 8
    assert n not in variables_of(choice.condition)
    (load,) = of_kind(body, BufferLoad)
    assert n not in variables_of(load.predicate)
    (branch,) = (call for call in of_kind(body, Call) if call.op.name == "tir.if_then_else")
    assert branch.args[0].dtype.lanes == 1
    assert [*variables_of(branch.args[0])] == [n]


@pytest.mark.parametrize(
    ("store_at", "load_at", "vector"),
    [
        (0, 0, True),
        (0, 1, True),  # all lanes are read before one is written
        (1, 0, False),  # iteration i reads what i - 1 wrote
        (0, 16, True),
        (16, 0, True),  # 16 lanes never meet
        (15, 0, False),
    ],
)
def test_iterations_that_depend_on_each_other_stay_a_loop(store_at, load_at, vector):
    A = decl_buffer((64,), name="A")
    i = int_var("i")
    body = vectorized(16, BufferStore(A, A[i + load_at] + 1.0, (i + store_at,)), [A], i)
    assert bool(of_kind(body, For)) is not vector
    assert all(loop.kind is ForKind.SERIAL for loop in of_kind(body, For))


def test_an_accumulator_takes_all_lanes_at_once(arrays):
    A, B = arrays
    i = int_var("i")
    body = vectorized(17, BufferStore(B, B[0] + A[i], (const(0),)), arrays, i)
    whole, last = of_kind(body, BufferStore)
    assert whole.value.dtype == "float32"
    (reduced,) = of_kind(whole, Call)
    assert reduced.op is Op.get("tir.reduce_lanes")
    assert reduced.args[1].dtype == "float32x16"
    assert not of_kind(last, Call)


def test_lanes_that_are_off_change_no_accumulator(arrays):
    A, B = arrays
    i, n = int_var("i"), int_var("n")
    update = BufferStore(B, B[0] + A[i], (const(0),))
    body = vectorized(16, IfThenElse(i < n, update), arrays, i, [n])
    assert isinstance(body, IfThenElse)  # with all lanes off, the element may not even exist
    (choice,) = of_kind(body, Select)
    assert math.copysign(1, choice.false_value.value.value) == -1
    body = vectorized(16, IfThenElse(A[i] > 0.0, update), arrays, i)
    assert isinstance(body, IfThenElse)
    assert body.condition.op is Op.get("tir.any_lane")


@pytest.mark.parametrize(
    "value",
    [
        lambda A, B, i: A[i] - B[0],  # no reduction
        lambda A, B, i: B[0] + B[i],  # needs what other iterations stored
        lambda A, B, i: B[0] + A[i] * B[0],
    ],
)
def test_what_only_looks_like_an_accumulator_stays_a_loop(arrays, value):
    A, B = arrays
    i = int_var("i")
    body = vectorized(16, BufferStore(B, value(A, B, i), (const(0),)), arrays, i)
    assert isinstance(body, For)
    assert body.kind is ForKind.SERIAL


def test_two_accumulators_in_one_memory_stay_a_loop(arrays):
    A, B = arrays
    i, r = int_var("i"), int_var("r")
    first = BufferStore(B, B[0] + A[i], (const(0),))
    second = BufferStore(B, B[r] + A[i + 1], (r,))
    assert isinstance(vectorized(16, seq(first, second), arrays, i, [r]), For)


def test_two_statements_keep_their_order_across_lanes(arrays):
    A, B = arrays
    i = int_var("i")
    # B[i] needs A[i + 1] from before the next iteration overwrites it: not possible as lanes.
    body = seq(BufferStore(A, const(0.0), (i,)), BufferStore(B, A[i + 1], (i,)))
    assert isinstance(vectorized(16, body, arrays, i), For)
    body = seq(BufferStore(B, A[i + 1], (i,)), BufferStore(A, const(0.0), (i,)))
    assert not of_kind(vectorized(16, body, arrays, i), For)


def test_an_inner_loop_gets_vectors():
    lowered = lower(matmul(4, 16, 8, order="mnk", kinds={"n": ForKind.VECTORIZED}))
    body = vectorize(inline_lets(lowered)).body
    assert [loop.loop_var.name for loop in of_kind(body, For)] == ["m", "k"]
    assert all(s.value.dtype == "float32x16" for s in of_kind(body, BufferStore))
    (a,) = accesses(body, "A")
    assert a.dtype == "float32"


def test_memory_of_each_lane_is_its_own(arrays):
    A, B = arrays
    i, k, j = int_var("i"), int_var("k"), int_var("j")
    T = decl_buffer((3,), name="T")
    body = seq(
        loop_nest([(k, 3)], BufferStore(T, A[i + k], (k,))),
        loop_nest([(j, 3)], BufferStore(B, T[j], (i,))),
    )
    allocated = Allocate(T.data, T.dtype, (const(3),), const(True), body)
    result = vectorized(8, allocated, arrays, i)
    (allocation,) = of_kind(result, Allocate)
    assert int(allocation.extents[0]) == 24
    for access in accesses(result, "T"):
        assert isinstance(access.indices[0], Ramp)
        assert int(access.indices[0].stride) == 1


def test_unknown_extent_becomes_a_plain_loop(arrays):
    A, B = arrays
    i, n = int_var("i"), int_var("n")
    body = vectorized(n, BufferStore(B, A[i], (i,)), arrays, i, [n])
    assert isinstance(body, For)
    assert body.kind is ForKind.SERIAL


def test_gather_where_the_index_is_not_linear(arrays):
    A, B = arrays
    i = int_var("i")
    (store,) = of_kind(vectorized(8, BufferStore(B, A[i // 2], (i,)), arrays, i), BufferStore)
    assert store.value.indices[0].dtype == "int32x8"
    assert not isinstance(store.value.indices[0], (Ramp, Broadcast))


def test_no_change_keeps_the_function():
    func = lower(matmul(3, 4, 5))
    assert vectorize(func) is func
    assert isinstance(func, PrimFunc)


def test_a_let_whose_body_does_not_need_it_stays_a_scalar(arrays):
    A, B = arrays
    i, unused = int_var("i"), Var("unused", FLOAT32)
    value = Cast(FLOAT32, Let(unused, A[i], const(7)))
    result = vectorized(4, BufferStore(B, B[i] + value, (i,)), arrays, i)
    (store,) = of_kind(result, BufferStore)
    assert store.value.dtype == "float32x4"
    assert all(cast.value.dtype.lanes == cast.dtype.lanes for cast in of_kind(store, Cast))


def test_what_all_lanes_share_is_loaded_once_where_a_lane_is_on(arrays):
    A, B = arrays
    i, n, j = int_var("i"), int_var("n"), int_var("j")
    body = IfThenElse(i < n, BufferStore(B, A[j], (i,)))
    (load,) = of_kind(vectorized(16, body, arrays, i, [n, j]), BufferLoad)
    assert load.predicate is None
    assert load.indices[0] is j
    # Here no scalar tells whether a lane is on.
    body = IfThenElse(B[i] > 0.0, BufferStore(B, A[j], (i,)))
    loads = of_kind(vectorized(16, body, arrays, i, [j]), BufferLoad)
    (load,) = [load for load in loads if load.buffer.name == "A"]
    assert load.predicate is not None


def test_the_last_odd_iteration_keeps_the_order_of_its_conditions(arrays):
    A, B = arrays
    i, n = int_var("i"), int_var("n")
    inner = IfThenElse(A[i] > 0.0, BufferStore(B, A[i], (i,)))
    body = vectorized(17, IfThenElse(i < n, inner), arrays, i, [n])
    last = body.seq[-1]
    assert isinstance(last, IfThenElse)
    assert last.condition.b is n


@pytest.mark.parametrize(("scope", "lanes"), [("global", [32, 16]), ("local", [16, 16, 16])])
def test_long_computations_overlap_but_for_registers(arrays, scope, lanes):
    A, B = arrays[0], decl_buffer((48,), name="B", scope=scope)
    i = int_var("i")
    stores = of_kind(vectorized(48, BufferStore(B, exp(A[i]), (i,)), [A, B], i), BufferStore)
    assert [store.value.dtype.lanes for store in stores] == lanes


@pytest.mark.parametrize("lanes", [4096, 5003])
def test_thousands_of_lanes_are_a_loop_over_vectors(lanes):
    arrays = [decl_buffer((lanes,), name=name) for name in "AB"]
    A, B = arrays
    i = int_var("i")
    store = BufferStore(B, A[lanes - 1 - i] * 2.0, (i,))
    func = function(arrays, loop_nest([(i, lanes)], store, V))
    made = vectorize(lower(func), vector_bits=512)
    assert len(of_kind(made.body, BufferStore)) < 40
    assert len(of_kind(made.body, For)) == 1
    assert first_difference(func, made, runs=1) is None


def test_thousands_of_lanes_may_sum_up():
    A, S = decl_buffer((3000,), "int32", name="A"), decl_buffer((1,), "int32", name="S")
    i = int_var("i")
    store = BufferStore(S, S[0] + A[i], (const(0),))
    func = function([A, S], loop_nest([(i, 3000)], store, V))
    made = vectorize(lower(func), vector_bits=512)
    assert len(of_kind(made.body, BufferStore)) < 40
    assert first_difference(func, made, runs=1) is None


def test_masks_of_nested_conditions_do_not_grow_without_bound():
    arrays = [decl_buffer((64,), name=name) for name in "AB"]
    A, B = arrays
    i = int_var("i")
    value = A[i]
    for distance in range(1, 7):
        condition = logical_and(value > -float(distance), A[i + distance] < value)
        value = Call(FLOAT32, Op.get("tir.if_then_else"), (condition, value, A[63 - i]))
    func = function(arrays, loop_nest([(i, 16)], BufferStore(B, value, (i,)), V))
    made = vectorize(lower(func), vector_bits=512)
    assert len(of_kind(made.body, BufferLoad)) < 200_000
    assert first_difference(func, made, runs=1) is None


@T.prim_func
def decides_by_its_own_memory(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for v in T.vectorized(8):
        with T.block("B"):
            i = T.axis.spatial(8, v)
            T.reads(A[i])
            T.writes(B[i])
            own = T.alloc_buffer((1,), "float32")
            own[0] = A[i]
            twice: T.float32 = own[0] * T.float32(2)
            own[0] = T.float32(-1)
            if A[i] > T.float32(3):
                own[0] = twice
            if own[0] > T.float32(0):
                B[i] = own[0]
            else:
                B[i] = T.float32(0)


def test_what_is_in_memory_of_a_lane_is_another_value_in_each():
    a, b = np.arange(8, dtype="float32"), np.full(8, np.nan, "float32")
    tvm.build(decides_by_its_own_memory, target="llvm")(a, b)
    np.testing.assert_array_equal(b, np.where(a > 3, 2 * a, 0))
