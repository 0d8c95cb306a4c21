"""Loop-invariant elements live in registers, where nothing else can touch them."""

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

from tilewright.ir.convert import const
from tilewright.ir.expr import is_const_int
from tilewright.tir import (
    Allocate,
    BufferLoad,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    PrimFunc,
    Var,
    decl_buffer,
    seq,
)
from tilewright.tir.interpreter import interpret
from tilewright.tir.transform.building.statements import same_conditions
from tilewright.tir.transform.promote_registers import promote_registers
from tilewright.tir.transform.simplify import inline_lets
from tilewright.tir.transform.unroll import unroll
from tilewright.tir.transform.vectorize import vectorize

VECTOR = ForKind.VECTORIZED
TILE = {"m1": ForKind.UNROLLED, "n1": ForKind.VECTORIZED}
ORDER = ["m0", "n0", "k0", "k1", "m1", "n1"]


def promoted(func: PrimFunc, **options):
    return promote_registers(unroll(vectorize(inline_lets(lower(func)))), **options).body


def loops_of(body, name):
    return [loop for loop in of_kind(body, For) if loop.loop_var.name == name]


def test_a_tile_stays_in_registers_through_both_reduction_loops():
    body = promoted(matmul(64, 64, 64, (4, 32, 8), ORDER, TILE))
    (outer,) = loops_of(body, "k0")
    assert not accesses(outer, "C")
    (allocation,) = of_kind(body, Allocate)
    assert allocation.buffer_var.type_annotation.storage_scope == "local"
    assert int(allocation.extents[0]) == 4 * 32
    stores = [a for a in accesses(body, "C") if isinstance(a, BufferStore)]
    assert len(stores) == 8
    # The zeros go to the registers at once: C is never read.
    assert len(accesses(body, "C")) == 8


def test_a_tile_that_does_not_fit_takes_the_registers_there_are():
    func = matmul(64, 64, 64, (8, 64, 8), ORDER, TILE)
    body = promoted(func, vector_registers=16, vector_bits=512)
    (allocation,) = of_kind(body, Allocate)
    assert int(allocation.extents[0]) == 12 * 16
    narrow = promoted(func, vector_registers=16, vector_bits=256)
    assert sum(int(a.extents[0]) for a in of_kind(narrow, Allocate)) <= 12 * 8


def test_what_is_only_read_is_held_in_a_variable():
    body = promoted(matmul(4, 8, 6, order="mkn"))
    (inner,) = loops_of(body, "n")
    assert not accesses(inner, "A")
    (let,) = of_kind(body, LetStmt)
    assert isinstance(let.value, BufferLoad)


def scale_sum(index_a, index_b, noalias=True, extent=8, condition=None):
    """`for i: S[index_a] = S[index_b] + A[i]`."""
    A, S = decl_buffer((64,), name="A"), decl_buffer((64,), name="S")
    i = int_var("i")
    store = BufferStore(S, S[index_b(i)] + A[i], (index_a(i),))
    body = store if condition is None else IfThenElse(condition(i), store)
    scalars = [extent] if isinstance(extent, Var) else []
    return function((A, S), loop_nest([(i, extent)], body), noalias=noalias, scalars=scalars)


def zero(_):
    return const(0)


@pytest.mark.parametrize(
    ("func", "promotes"),
    [
        (scale_sum(zero, zero), True),
        (scale_sum(zero, zero, noalias=False), False),  # S may be a part of A
        (scale_sum(zero, lambda i: i), False),  # S[i] may be S[0]
        (scale_sum(zero, lambda i: const(1)), True),
        (scale_sum(zero, zero, condition=lambda i: i > 2), False),  # perhaps never accessed
    ],
)
def test_only_what_is_certainly_its_own_is_promoted(func, promotes):
    body = promoted(func)
    (loop,) = of_kind(body, For)
    assert bool(accesses(loop, "S")) is not promotes


def test_an_unknown_extent_guards_the_accesses():
    n = int_var("n")
    body = promoted(scale_sum(zero, zero, extent=n))
    assert isinstance(body, IfThenElse)
    assert not accesses(of_kind(body, For)[0], "S")


def test_a_store_in_front_makes_the_guard_unnecessary():
    A, S = decl_buffer((64,), name="A"), decl_buffer((1,), name="S")
    i, n, at = int_var("i"), int_var("n"), const(0)
    loop = loop_nest([(i, n)], BufferStore(S, S[0] + A[i], (at,)))
    body = seq(BufferStore(S, const(0.0), (at,)), loop)
    body = promoted(function((A, S), body, scalars=[n]))
    assert not of_kind(body, IfThenElse)
    assert len(accesses(body, "S")) == 1


def test_parallel_loops_are_left_alone():
    A, S = decl_buffer((64,), name="A"), decl_buffer((1,), name="S")
    i = int_var("i")
    store = BufferStore(S, A[i], (const(0),))
    func = lower(function((A, S), loop_nest([(i, 8)], store, {"i": ForKind.PARALLEL})))
    assert promote_registers(func) is func


@pytest.mark.parametrize(("at", "promotes"), [(5, False), (40, True)])
def test_elements_that_overlap_are_not_promoted(at, promotes):
    A, S = decl_buffer((64,), name="A"), decl_buffer((64,), name="S")
    i, lane = int_var("i"), int_var("lane")
    vector = loop_nest([(lane, 16)], BufferStore(S, S[lane] + A[i], (lane,)), {"lane": VECTOR})
    scalar = BufferStore(S, S[at] * 2.0, (const(at),))
    body = promoted(function((A, S), loop_nest([(i, 8)], seq(vector, scalar))))
    (loop,) = loops_of(body, "i")
    assert bool(accesses(loop, "S")) is not promotes


def test_small_memory_that_loops_index_goes_to_registers_while_it_is_updated():
    A, C = decl_buffer((64,), name="A"), decl_buffer((8,), name="C")
    S = decl_buffer((8,), name="S", scope="local")
    i, j, k, m = (int_var(name) for name in "ijkm")
    update = BufferStore(S, S[j] + A[k * 8 + j], (j,))
    body = seq(
        loop_nest([(i, 8)], BufferStore(S, const(0.0), (i,))),
        loop_nest([(k, 8), (j, 8)], update, {"j": VECTOR}),
        loop_nest([(m, 8)], BufferStore(C, S[m], (m,))),
    )
    result = promoted(function((A, C), body, [S]))
    (updates,) = loops_of(result, "k")
    assert not accesses(updates, "S")
    assert of_kind(updates, BufferStore)


def guarded_sum(condition, first=None):
    """`if condition(n): S[0] = first` and `for i: if condition(n): S[0] += A[i]`, for n in 0..3."""
    A, S = decl_buffer((8,), name="A"), decl_buffer((4,), name="S")
    n, i = int_var("n"), int_var("i")
    stores = [BufferStore(S, S[n] + A[i], (n,))]
    loop = loop_nest([(i, 8)], IfThenElse(condition(n, i, S), stores[0]))
    if first is not None:
        start = BufferStore(S, const(2.0), (n,))
        loop = seq(start if first is True else IfThenElse(first(n, i, S), start), loop)
    return lower(function((A, S), loop_nest([(n, 4)], loop)))


def below_three(n, i, S):
    return n < 3


@pytest.mark.parametrize(
    ("func", "promotes"),
    [
        (guarded_sum(below_three), True),
        (guarded_sum(below_three, first=below_three), True),
        (guarded_sum(below_three, first=True), True),
        (guarded_sum(lambda n, i, S: i < 3), False),  # not the same all along
        (guarded_sum(lambda n, i, S: S[0] < 100), False),  # it may change S[0]
    ],
)
def test_an_element_under_a_fixed_condition_is_promoted(func, promotes):
    after = promote_registers(func)
    (loop,) = loops_of(after.body, "i")
    assert bool(accesses(loop, "S")) is not promotes
    got, want = (
        (np.arange(1, 9, dtype="float32"), np.arange(10, 14, dtype="float32")) for _ in range(2)
    )
    interpret(func, *want)
    interpret(after, *got)
    np.testing.assert_array_equal(got[1], want[1])


def test_a_first_value_under_the_same_condition_replaces_the_load():
    after = promote_registers(guarded_sum(below_three, first=below_three))
    assert not any(isinstance(access, BufferLoad) for access in accesses(after.body, "S"))


def test_a_first_value_under_another_condition_is_stored():
    after = promote_registers(guarded_sum(below_three, first=True))
    assert any(isinstance(access, BufferLoad) for access in accesses(after.body, "S"))


def sum_and_then(behind, noalias=True):
    """`S[0] = 0`, `for i: S[0] += A[i]`, and what `behind(A, S, D)` makes."""
    A, S, D = (decl_buffer((8,), name=name) for name in "ASD")
    i, at = int_var("i"), const(0)
    loop = loop_nest([(i, 8)], BufferStore(S, S[0] + A[i], (at,)))
    body = seq(BufferStore(S, const(0.0), (at,)), loop, *behind(A, S, D))
    return lower(function((A, S, D), body, noalias=noalias))


def store(buffer, value, at=0):
    return BufferStore(buffer, value, (const(at),))


@pytest.mark.parametrize(
    ("behind", "loads", "stores"),
    [
        (lambda A, S, D: [store(S, S[0] * 2)], 0, 1),
        (lambda A, S, D: [store(D, S[0] * 2), store(D, S[0] + D[0], 1)], 0, 1),
        (lambda A, S, D: [store(D, A[0]), store(S, S[0] + A[2])], 0, 1),
        (lambda A, S, D: [store(S, S[0] + S[1])], 0, 1),
        (lambda A, S, D: [IfThenElse(S[0] < 3, store(D, S[0]))], 0, 1),
        (lambda A, S, D: [store(D, S[D[0].astype("int32")])], 1, 1),  # perhaps S[0]
        (lambda A, S, D: [store(D, A[0])], 0, 1),
    ],
)
def test_what_comes_behind_uses_the_registers(behind, loads, stores):
    func = sum_and_then(behind)
    after = promote_registers(func)
    places = [a for a in accesses(after.body, "S") if is_const_int(a.indices[0], 0) or loads]
    assert len([a for a in places if isinstance(a, BufferLoad)]) == loads
    assert len([a for a in places if isinstance(a, BufferStore)]) == stores
    got, want = ([np.arange(n, n + 8, dtype="float32") for n in (1, 2, 0)] for _ in range(2))
    interpret(func, *want)
    interpret(after, *got)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_store_to_memory_that_may_be_the_same_stays_behind():
    func = sum_and_then(lambda A, S, D: [store(D, const(1.0)), store(S, S[0] * 2)], noalias=False)
    assert promote_registers(func) is func


def test_what_is_only_read_takes_no_register_from_inner_loops():
    A, B, C = (decl_buffer((8, 8), name=name) for name in "ABC")
    i, j, k = map(int_var, "ijk")
    update = BufferStore(C, C[i, j] + A[i, 0] * B[k, j], (i, j))
    after = promote_registers(
        inline_lets(lower(function((A, B, C), loop_nest([(i, 8), (j, 8), (k, 8)], update))))
    )
    (middle,) = loops_of(after.body, "j")
    assert accesses(middle, "A")
    assert not accesses(loops_of(after.body, "k")[0], "A")


def test_conditions_on_different_variables_are_different():
    i, j = int_var("i"), int_var("j")
    assert same_conditions((i < 3,), (i < 3,))
    assert not same_conditions((i < 3,), (j < 3,))
    assert not same_conditions((i < 3,), (i < 3, j < 3))


def updates(place, *more):
    """``C[place] = 0; C[place] += A[i]; C[place] += A[i + 1]`` for each i, after `more` stores."""
    A, C = decl_buffer((9,), name="A"), decl_buffer((16,), name="C")
    i = int_var("i")
    here = place(i)
    stores = [BufferStore(C, const(0.0), (here,))]
    stores += [BufferStore(C, C[here] + A[i + n], (here,)) for n in range(2)]
    for position, other in more:
        stores.insert(position, BufferStore(C, const(1.0), (other(i),)))
    return function((A, C), loop_nest([(i, 8)], seq(*stores)))


def test_what_statements_without_a_loop_update_again_and_again_is_stored_once():
    func = updates(lambda i: i * 2)
    body = promoted(func)
    assert [type(access) for access in accesses(body, "C")] == [BufferStore]
    rng = np.random.default_rng(0)
    a, c = rng.standard_normal(9).astype("float32"), np.zeros(16, "float32")
    interpret(func.with_body(body), a, c)
    np.testing.assert_array_equal(c[::2], a[:8] + a[1:])


def test_updates_without_a_loop_take_registers_before_what_the_loop_only_reads():
    """A sum of three steps, unrolled: with few registers, B is loaded for each row again."""
    A, B, C = decl_buffer((8, 3), name="A"), decl_buffer((3, 2), name="B"), decl_buffer((8, 2))
    i = int_var("i")
    stores = [BufferStore(C, const(0.0), (i, j)) for j in range(2)]
    stores += [
        BufferStore(C, C[i, j] + A[i, k] * B[k, j], (i, j)) for k in range(3) for j in range(2)
    ]
    func = function((A, B, C), loop_nest([(i, 8)], seq(*stores)))
    for registers, loads in ((16, 0), (8, 4), (6, 6)):
        body = promoted(func, vector_registers=registers, vector_bits=32)
        (loop,) = loops_of(body, "i")
        assert [type(access) for access in accesses(loop, C.name)] == [BufferStore] * 2
        assert len(accesses(loop, "B")) == loads, registers
    a, b = (np.random.default_rng(0).standard_normal(s).astype("float32") for s in ((8, 3), (3, 2)))
    c = np.zeros((8, 2), "float32")
    interpret(func.with_body(body), a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-6)


def test_what_is_updated_in_front_of_a_loop_is_stored_once():
    func = updates(lambda i: i * 2)
    C, D, j = func.buffer_map[func.params[1]], decl_buffer((16,), name="D"), int_var("j")
    (loop,) = loops_of(func.body, "i")
    behind = loop_nest([(j, 16)], BufferStore(D, C[j], (j,)))
    whole = function([*func.buffer_map.values(), D], loop.replace(body=seq(loop.body, behind)))
    assert [type(access) for access in accesses(promoted(whole), "C")] == [BufferStore, BufferLoad]


def test_masks_of_vectors_do_not_keep_updates_in_memory():
    A, C, D = (decl_buffer((24,), name=name) for name in "ACD")
    i, j = int_var("i"), int_var("j")

    def masked(value):
        lane = int_var("lane")
        at = i * 8 + lane
        store = BufferStore(C, value(at), (at,))
        return loop_nest([(lane, 8)], IfThenElse(lane < 5, store), {"lane": VECTOR})

    updates = [masked(lambda at: C[at] + A[at]) for _ in range(2)]
    stores = [masked(lambda at: const(0.0)), *updates]
    behind = loop_nest([(j, 24)], BufferStore(D, C[j], (j,)))
    func = function((A, C, D), loop_nest([(i, 3)], seq(*stores, behind)))
    body = promoted(func)
    assert [type(access) for access in accesses(body, "C")] == [BufferStore, BufferLoad]
    arrays = [np.arange(24, dtype="float32") + n for n in range(3)]
    copies = [array.copy() for array in arrays]
    interpret(func, *arrays)
    interpret(func.with_body(body), *copies)
    np.testing.assert_array_equal(copies, arrays)


@pytest.mark.parametrize("position", range(4))
def test_an_element_that_may_be_the_updated_one_keeps_it_in_memory(position):
    func = updates(lambda i: i * 2, (position, lambda i: 14 - i))
    body = promoted(func)
    assert len(accesses(body, "C")) == len(accesses(func.body, "C"))


@pytest.mark.parametrize("position", range(4))
def test_stores_to_other_elements_stay_where_they_are_among_updates(position):
    func = updates(lambda i: i * 2, (position, lambda i: i * 2 + 1))
    body = promoted(func)
    assert len(accesses(body, "C")) == 2
    a, expected, result = (np.arange(n, dtype="float32") for n in (9, 16, 16))
    interpret(func, a, expected)
    interpret(func.with_body(body), a, result)
    np.testing.assert_array_equal(result, expected)
