"""Full tiles run without conditions."""

from tests.tir.transform.programs import function, int_var, loop_names, loop_nest, matmul, of_kind

from tilewright.ir.convert import const
from tilewright.tir import BufferStore, ForKind, IfThenElse, SeqStmt, decl_buffer
from tilewright.tir.transform import inline_lets, lower, split_full_tiles

ORDER = ["m0", "n0", "k0", "m1", "k1", "n1"]


def split(func):
    return split_full_tiles(inline_lets(lower(func))).body


def test_the_question_is_asked_once_per_tile():
    body = split(matmul(20, 12, 8, (6, 4, 4), ORDER))
    (branch,) = [node for node in of_kind(body, IfThenElse) if node.else_case is not None]
    assert body.body is branch
    assert not of_kind(branch.then_case, IfThenElse)
    # Initialisation and update share the question.
    assert isinstance(branch.then_case.body, SeqStmt)
    assert len(of_kind(branch.else_case, IfThenElse)) == 2
    assert branch.condition.a.a is body.loop_var


def test_a_reduction_loop_is_cut_in_two():
    body = split(matmul(6, 4, 10, (6, 4, 4), ORDER))
    first, rest = [node for node in body.seq if "k1" in loop_names(node)]
    assert not of_kind(first, IfThenElse)
    assert int(first.extent) == 2
    assert "k0" not in loop_names(rest)
    assert len(of_kind(rest, IfThenElse)) == 1


def test_a_condition_that_does_not_change_in_a_loop_leaves_it():
    A = decl_buffer((8,), name="A")
    i, n = int_var("i"), int_var("n")
    loop = loop_nest([(i, 8)], IfThenElse(n < 5, BufferStore(A, i.astype("float32"), (i,))))
    body = split(function((A,), loop))
    assert isinstance(body, IfThenElse)
    assert body.else_case is None
    assert not of_kind(body.then_case, IfThenElse)


def test_parallel_loops_are_not_cut():
    func = matmul(20, 12, 8, (6, 4, 4), ORDER, {"m0": ForKind.PARALLEL})
    body = split(func)
    assert loop_names(body).count("m0") == 1


def test_a_function_without_conditions_is_left_alone():
    func = inline_lets(lower(matmul(12, 12, 8, (6, 4, 4), ORDER)))
    assert split_full_tiles(func) is func


def test_a_condition_that_reads_memory_stays():
    A, F = decl_buffer((8,), name="A"), decl_buffer((1,), "int32", name="F")
    i = int_var("i")
    store = BufferStore(F, i, (const(0),))
    loop = loop_nest([(i, 8)], IfThenElse(F[0] < 5, store))
    func = inline_lets(lower(function((A, F), loop)))
    assert split_full_tiles(func) is func
