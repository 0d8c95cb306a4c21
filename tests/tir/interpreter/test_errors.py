"""Programs and arguments that are wrong: the error says what and where."""

import numpy as np
import pytest
from tests.tir.transform.programs import TRUE, function, int_var, iterator, loop_nest, matmul

from tilewright import tir
from tilewright.error import ArgumentError, DTypeError, InterpreterError, ShapeError
from tilewright.ir.convert import const
from tilewright.ir.dtype import HANDLE, INT32, DType
from tilewright.script import from_source
from tilewright.tir import (
    Allocate,
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    PointerType,
    PrimFunc,
    PrimType,
    Rewriter,
    Var,
    decl_buffer,
    seq,
)
from tilewright.tir.interpreter import ArrayView, interpret


def copy_function(shape=(4,), read=lambda i: i, write=lambda i: i, extent=4, dtype="float32"):
    """`B[write(i)] = A[read(i)]` for all i below the extent."""
    A, B = decl_buffer(shape, dtype, "A"), decl_buffer(shape, dtype, "B")
    i = int_var("i")
    return function((A, B), loop_nest([(i, extent)], BufferStore(B, A[read(i)], (write(i),))))


def arrays(dtype="float32", count=4):
    return np.zeros(count, dtype), np.zeros(count, dtype)


def test_out_of_bounds_access_shows_index_statement_and_variables():
    with pytest.raises(InterpreterError) as caught:
        interpret(copy_function(read=lambda i: i + 1), *arrays())
    text = str(caught.value)
    assert "A[4] is read out of bounds: the shape is (4,)" in text
    assert "B[i] = A[i + 1]" in text
    assert "i = 3" in text
    with pytest.raises(InterpreterError, match=r"B\[-1\] is written out of bounds"):
        interpret(copy_function(write=lambda i: i - 1), *arrays())


def test_a_row_may_not_run_into_the_next():
    A = decl_buffer((2, 4), name="A")
    func = function((A,), BufferStore(A, A[0, 5], (const(0), const(0))))
    with pytest.raises(InterpreterError, match=r"A\[0, 5\] is read out of bounds"):
        interpret(func, np.zeros((2, 4), "float32"))


def test_a_view_may_not_leave_its_memory():
    A = decl_buffer((4,), name="A")
    wide = decl_buffer((8,), name="W", data=A.data)
    func = function((A,), BufferStore(wide, const(1.0), (const(6),)))
    with pytest.raises(InterpreterError, match="element 6 of memory with 4 elements"):
        interpret(func, np.zeros(4, "float32"))


def test_unbound_variables():
    A = decl_buffer((4,), name="A")
    func = function((A,), BufferStore(A, const(1.0), (int_var("nowhere"),)))
    with pytest.raises(InterpreterError, match="variable nowhere is not bound"):
        interpret(func, np.zeros(4, "float32"))
    n = int_var("n")
    func = function((decl_buffer((n * 2,), name="A"),), Evaluate(const(0)))
    with pytest.raises(InterpreterError, match="size n"):
        interpret(func, np.zeros(4, "float32"))


def test_iterators_bound_outside_of_their_domain():
    class WithoutPredicate(Rewriter):
        def BlockRealize(self, realize):
            realize = realize.map_children(self)
            return realize.replace(predicate=TRUE) if realize.iter_values else realize

    func = WithoutPredicate()(matmul(7, 5, 6, (2, 2, 4)))
    with pytest.raises(InterpreterError, match=r"iterator vk .*bound to 6.*from 0 to before 6"):
        interpret(
            func, np.zeros((7, 6), "float32"), np.zeros((6, 5), "float32"), np.zeros((7, 5), "f4")
        )


def test_wrong_number_of_bindings():
    block = Block((iterator("v", 3),), (), (), "b", Evaluate(const(0)))
    func = function((), BlockRealize((), TRUE, block))
    with pytest.raises(InterpreterError, match="1 iterators, but 0 values"):
        interpret(func)


def test_reading_memory_that_was_never_written():
    A = decl_buffer((2,), name="A")
    pointer = Var("t", HANDLE, PointerType(PrimType(DType("float32"))))
    T = decl_buffer((2,), name="T", data=pointer)
    zero, one = const(0), const(1)
    body = seq(BufferStore(T, const(1.0), (zero,)), BufferStore(A, T[0], (zero,)))
    body = seq(body, BufferStore(A, T[1], (one,)))
    func = function((A,), Allocate(pointer, DType("float32"), (const(2),), TRUE, body))
    a = np.zeros(2, "float32")
    interpret(func, a)
    assert a[0] == 1
    assert np.isnan(a[1])
    with pytest.raises(InterpreterError, match=r"T\[1\] is read before anything was written"):
        interpret(func, a, check_reads=True)


@pytest.mark.parametrize("operation", [tir.floordiv, tir.floormod, tir.truncdiv, tir.truncmod])
def test_integer_division_by_zero(operation):
    n = int_var("n")
    with pytest.raises(InterpreterError, match="division by zero"):
        interpret(PrimFunc((n,), Evaluate(tir.ret(operation(7, n)))), 0)


def test_shift_amounts_and_assumptions():
    n = int_var("n")
    with pytest.raises(InterpreterError, match="shift of a 32-bit integer by 32"):
        interpret(PrimFunc((n,), Evaluate(tir.ret(const(1) << n))), 32)
    with pytest.raises(InterpreterError, match="assumption"):
        interpret(PrimFunc((n,), Evaluate(tir.assume(n > 0))), 0)


@pytest.mark.parametrize(
    ("args", "error", "match"),
    [
        ((), ArgumentError, "takes 2 arguments, got 0"),
        (arrays(count=5), ShapeError, "extent 0 of argument A must be 4, got 5"),
        (arrays("float64"), DTypeError, "argument A must have dtype float32, got float64"),
        ((3, 4), ArgumentError, "argument A must be a numpy array"),
        ((np.zeros((4, 1), "f4"),) * 2, ShapeError, "must have 1 dimensions"),
        ((np.zeros(8, "f4")[::2],) * 2, ShapeError, "stride 0 must be 1 elements, got 2"),
        ((ArrayView(np.zeros(8, "f4"), (4,), (), 2),) * 2, ShapeError, "offset of argument A"),
    ],
)
def test_arguments_that_do_not_fit(args, error, match):
    with pytest.raises(error, match=match):
        interpret(copy_function(), *args)


def test_scalars_that_do_not_fit():
    n = Var("n", DType("int8"))
    func = PrimFunc((n,), Evaluate(tir.ret(n)))
    assert interpret(func, np.int64(-128)) == -128
    for value in (128, 1.0):
        with pytest.raises(DTypeError, match="argument n"):
            interpret(func, value)
    with pytest.raises(ArgumentError, match="argument n"):
        interpret(func, "x")


def test_read_only_arrays_cannot_be_written():
    a, b = arrays()
    b.flags.writeable = False
    with pytest.raises(InterpreterError, match="read-only"):
        interpret(copy_function(), a, b)
    interpret(copy_function(), b, a)


def test_sizes_that_disagree():
    n = int_var("n")
    A, B = decl_buffer((n,), name="A"), decl_buffer((n,), name="B")
    func = function((A, B), Evaluate(const(0)))
    with pytest.raises(ShapeError, match="extent 0 of argument B must be 3, got 4"):
        interpret(func, np.zeros(3, "f4"), np.zeros(4, "f4"))


def test_statements_that_have_no_meaning_yet():
    with pytest.raises(InterpreterError, match="tvm_storage_sync"):
        interpret(PrimFunc((), Evaluate(tir.tvm_storage_sync("shared"))))
    with pytest.raises(ArgumentError, match="expected a PrimFunc"):
        interpret("not a program")


def test_arrays_with_an_offset():
    n, start = int_var("n"), int_var("start")
    A = decl_buffer((n,), "int32", "A", elem_offset=start)
    B = decl_buffer((n,), "int32", "B")
    i = int_var("i")
    func = function((A, B), loop_nest([(i, n)], BufferStore(B, A[i] + start, (i,))))
    b = np.zeros(2, INT32)
    interpret(func, ArrayView(np.arange(5, dtype=INT32), (2,), (), 3), b)
    assert b.tolist() == [6, 7]


def test_an_iterator_bound_to_data_is_checked():
    func = from_source(
        "from tilewright.script import tir as T\n"
        "@T.prim_func\n"
        'def main(I: T.Buffer((1,), "int32"), B: T.Buffer((4,), "float32")):\n'
        '    with T.block("B"):\n'
        "        vi = T.axis.spatial(4, T.max(I[0], 0))\n"
        "        B[vi] = T.float32(1)\n"
    )
    result = np.zeros(4, "float32")
    interpret(func, np.array([2], "int32"), result)
    np.testing.assert_array_equal(result, [0, 0, 1, 0])
    with pytest.raises(InterpreterError, match="bound to 4, outside of its domain"):
        interpret(func, np.array([4], "int32"), result)
