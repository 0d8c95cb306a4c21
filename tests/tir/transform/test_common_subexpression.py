"""Repeated index arithmetic is named, right before the statement that repeats it."""

from tests.tir.transform.programs import function, int_var, loop_nest, of_kind

from tilewright.ir.arithmetic import floordiv
from tilewright.ir.convert import cast, const
from tilewright.ir.dtype import FLOAT32
from tilewright.ir.structural import structural_equal
from tilewright.tir import (
    Add,
    Allocate,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Var,
    decl_buffer,
    seq,
)
from tilewright.tir.transform.common_subexpression import common_subexpression_elimination

A, B = decl_buffer((4096,), name="A"), decl_buffer((4096,), name="B")
N = int_var("n")


def run(body):
    """The body after the pass."""
    return common_subexpression_elimination(function((A, B), body)).body.block.body


def lets(body):
    """Names and values of the variables that the pass makes, outermost first."""
    return [(let.var.name, let.value) for let in of_kind(body, LetStmt)]


def same(a, b):
    return structural_equal(a, b, map_free_vars=False)


def test_a_repeated_index_is_computed_in_front_of_the_statement():
    i, j = int_var("i"), int_var("j")
    index = i * 64 + j
    body = loop_nest([(i, 64), (j, 64)], BufferStore(A, A[index] + B[index], (i * 64 + j,)))
    result = run(body)
    ((name, value),) = lets(result)
    assert name == "cse_var_1"
    assert same(value, index)
    let = of_kind(result, For)[1].body
    assert isinstance(let, LetStmt)
    assert let.body.indices == (let.var,)
    assert [load.indices for load in (let.body.value.a, let.body.value.b)] == [(let.var,)] * 2


def test_what_is_used_once_stays():
    i = int_var("i")
    body = loop_nest([(i, 64)], BufferStore(A, B[i * 2], (i * 3,)))
    func = function((A, B), body)
    assert common_subexpression_elimination(func) is func


def test_equal_expressions_of_different_statements_stay():
    i = int_var("i")
    first, second = BufferStore(A, const(0.0), (i * 2,)), BufferStore(B, const(0.0), (i * 2,))
    assert lets(run(loop_nest([(i, 64)], seq(first, second)))) == []


def test_parts_of_named_expressions_are_shared_too():
    i, j, k = int_var("i"), int_var("j"), int_var("k")
    big = i * 64 + j * 8 + k
    store = BufferStore(A, A[big] + B[j * 8 + N], (big,))
    result = run(loop_nest([(i, 8), (j, 8), (k, 8)], store))
    (outer, inner) = lets(result)
    assert (outer[0], inner[0]) == ("cse_var_2", "cse_var_1")
    assert same(outer[1], j * 8)
    assert any(node is of_kind(result, LetStmt)[0].var for node in of_kind(inner[1], Var))


def test_numbers_go_on_through_the_function():
    i, j = int_var("i"), int_var("j")
    nests = [loop_nest([(v, 64)], BufferStore(A, B[v * 2], (v * 2,))) for v in (i, j)]
    assert [name for name, _ in lets(run(seq(*nests)))] == ["cse_var_1", "cse_var_2"]


def test_a_condition_shares_with_what_it_guards():
    i = int_var("i")
    body = IfThenElse(i * 2 < N, BufferStore(A, const(1.0), (i * 2,)))
    result = run(loop_nest([(i, 64)], body))
    assert isinstance(result.body, LetStmt)
    assert isinstance(result.body.body, IfThenElse)


def test_statements_inside_a_branch_with_a_loop_are_separate():
    i, j = int_var("i"), int_var("j")
    inner = loop_nest([(j, 4)], BufferStore(A, B[i * 2 + j], (i * 2 + j,)))
    result = run(loop_nest([(i, 64)], IfThenElse(i * 2 < N, inner)))
    ((_, value),) = lets(result)
    assert same(value, i * 2 + j)
    assert isinstance(of_kind(result, For)[1].body, LetStmt)


def test_expressions_of_variables_defined_inside_stay_inside():
    i, v = int_var("i"), int_var("v")
    body = LetStmt(v, i * 3, BufferStore(A, B[v * 2], (v * 2,)))
    names = [name for name, _ in lets(run(loop_nest([(i, 64)], body)))]
    assert names == ["v"]


def test_what_may_fail_or_read_memory_is_not_moved():
    i = int_var("i")
    by_variable = floordiv(i, N)
    store = BufferStore(A, B[by_variable], (by_variable,))
    assert lets(run(IfThenElse(N > 0, store))) == []
    loaded = cast("int32", B[i])
    assert lets(run(BufferStore(A, B[loaded + 1], (loaded + 1,)))) == []
    by_constant = floordiv(i, 4)
    assert len(lets(run(BufferStore(A, B[by_constant], (by_constant,))))) == 1


def test_floats_stay():
    x = Var("x", FLOAT32)
    product = x * const(2.0)
    assert lets(run(BufferStore(A, Add(product, product), (const(0),)))) == []


def test_dtypes_are_told_apart():
    i = int_var("i")
    wide, narrow = cast("int64", i) + 1, i + 1
    result = run(seq(BufferStore(A, B[narrow], (wide,)), Evaluate(const(0))))
    assert lets(result) == []


def test_loops_inside_allocations_are_reached():
    i = int_var("i")
    body = loop_nest([(i, 64)], BufferStore(A, B[i * 2], (i * 2,)))
    c = decl_buffer((4,), name="C")
    result = run(Allocate(c.data, c.dtype, c.shape, const(True), body))
    assert len(lets(result)) == 1
