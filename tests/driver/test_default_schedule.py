"""The default schedule of what is built, and how to do without."""

import numpy as np
import pytest
from tests.runtime.programs import prim_func
from tests.schedule_rules.programs import matmul, softmax

import tilewright as tvm
from tilewright import te, tir
from tilewright.driver.default import DefaultSchedule
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.script import from_source
from tilewright.target import Target
from tilewright.transform import PassContext

OFF = PassContext(config={"tir.default_schedule": False})


def ir_of(program, *args, **kwargs):
    return tvm.build(program, *args, target="llvm -num-cores=1", **kwargs).get_source("ll")


def test_a_function_without_a_schedule_gets_one():
    func = matmul(32, 32, 32)
    with OFF:
        naive = ir_of(func)
    assert ir_of(func) != naive
    assert ir_of(func.with_attr("tir.is_scheduled", True)) == naive
    assert ir_of(tvm.default_schedule(func, "llvm -num-cores=1").mod) == ir_of(func)


def test_a_function_with_a_schedule_is_built_as_it_is():
    sch = tir.Schedule(matmul(32, 32, 32))
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    with OFF:
        expected = ir_of(sch.mod)
    assert ir_of(sch.mod) == expected


def test_an_untouched_te_schedule_gets_one():
    a = te.placeholder((16, 16), name="A")
    b = te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    func = te.create_prim_func([a, b, c])
    assert ir_of(s, [a, b, c], name="main") == ir_of(func)
    s[c].reorder(c.op.axis[1], c.op.axis[0])
    with OFF:
        expected = ir_of(s, [a, b, c])
    assert ir_of(s, [a, b, c]) == expected


def test_what_tvm_lower_shows_stays_as_it_is():
    assert "vectorized" not in tvm.lower(matmul(32, 32, 32)).script()


def test_results():
    random = np.random.default_rng(0)
    for m, n, k in ((64, 64, 64), (37, 53, 29), (1, 100, 50), (130, 70, 260)):
        a, b = random.standard_normal((m, k), "f4"), random.standard_normal((k, n), "f4")
        c = np.zeros((m, n), "f4")
        tvm.build(matmul(m, n, k))(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_results_on_several_cores():
    a = np.arange(40 * 50, dtype="f4").reshape(40, 50) % 17
    out = np.zeros_like(a)
    tvm.build(softmax(40, 50), target="llvm -num-cores=2")(a, out)
    e = a.max(1, keepdims=True) - a
    np.testing.assert_allclose(out, e + e.sum(1, keepdims=True))


def test_sizes_of_another_dtype_than_the_other_indices():
    n = te.size_var("n", "int64")
    a, b = te.placeholder((n, 24), name="A"), te.placeholder((24, 40), name="B")
    k = te.reduce_axis((0, 24), name="k")
    c = te.compute((n, 40), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    func = te.create_prim_func([a, b, c])
    source = ir_of(func)
    lanes = Target("llvm").vector_bits // 32
    assert f"<{lanes} x float>" in source
    left = np.random.default_rng(0).standard_normal((29, 24), "f4")
    right, out = np.ones((24, 40), "f4"), np.zeros((29, 40), "f4")
    tvm.build(func)(left, right, out)
    np.testing.assert_allclose(out, left @ right, rtol=1e-4, atol=1e-4)


# --- parameters that may overlap ----------------------------------------------------------------


def shifted(n):
    """B = A + 1, without a promise that they do not overlap."""
    return from_source(
        f"""
from tilewright.script import tir as T

@T.prim_func
def main(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32")):
    for i in range({n}):
        with T.block("B"):
            vi = T.axis.spatial({n}, i)
            B[vi] = A[vi] + T.float32(1)
"""
    )


def test_parameters_that_overlap_are_computed_as_it_is_written():
    module = tvm.build(shifted(64), target="llvm -num-cores=1")
    assert module.function_names() == ["main"]
    values, out = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    module(values, out)
    np.testing.assert_array_equal(out, values + 1)
    module(values, values)
    np.testing.assert_array_equal(values, out)
    memory = np.zeros(65, "f4")
    module(memory[:64], memory[1:])  # what is written is read in the next iteration
    np.testing.assert_array_equal(memory, np.arange(65))
    memory = np.arange(128, dtype="f4")
    module(memory[:64], memory[64:])  # neighbours do not overlap
    np.testing.assert_array_equal(memory[64:], np.arange(64) + 1)


def test_parameters_that_may_overlap_run_fast_where_they_do_not():
    func = matmul(32, 32, 32)
    careful = ir_of(func.without_attr("tir.noalias"))
    assert "main_as_written" in careful
    assert "main_as_written" not in ir_of(func)


def test_symbolic_sizes_that_may_overlap():
    n = te.size_var("n", "int64")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1, name="B")
    module = tvm.build(te.create_prim_func([a, b]).without_attr("tir.noalias"), target="llvm")
    memory = np.zeros(41, "f4")
    module(memory[:40], memory[1:])
    np.testing.assert_array_equal(memory, np.arange(41))


def test_functions_that_others_call_are_built_as_written_if_parameters_may_overlap():
    func = matmul(8, 8, 8).without_attr("tir.noalias")
    call = tir.Call(tvm.ir.DType("int32"), tvm.ir.GlobalVar("main"), (tir.const(0),) * 3)
    caller = prim_func([], tir.Evaluate(call), "caller")
    module = tvm.IRModule({"main": func, "caller": caller})
    assert DefaultSchedule(Target("llvm"))(module) is module


# --- PassContext ------------------------------------------------------------------------------


def test_options_inside_of_each_other():
    assert PassContext.current().option("tir.default_schedule")
    with OFF:
        assert not PassContext.current().option("tir.default_schedule")
        with PassContext(opt_level=3) as inner:
            assert PassContext.current() is inner
            assert not inner.option("tir.default_schedule")
        with PassContext(config={"tir.default_schedule": True}):
            assert PassContext.current().option("tir.default_schedule")
    assert PassContext.current().option("tir.default_schedule")


def test_options_that_do_not_exist():
    with pytest.raises(ArgumentValueError, match=r"did you mean .tir\.default_schedule"):
        PassContext(config={"tir.default_schedul": False})
    with pytest.raises(ArgumentError, match="is a bool, got 'no'"):
        PassContext(config={"tir.default_schedule": "no"})


@pytest.mark.parametrize(("m", "n", "k"), [(0, 5, 5), (5, 0, 5), (5, 5, 0), (0, 0, 0)])
@pytest.mark.filterwarnings("error")
def test_arrays_without_elements(m, n, k):
    c = np.ones((m, n), "f4")
    tvm.build(matmul(m, n, k))(np.ones((m, k), "f4"), np.ones((k, n), "f4"), c)
    assert (c == 0).all()


@pytest.mark.filterwarnings("error")
def test_a_part_without_elements():
    a = te.placeholder((5, 0), name="A")
    k = te.reduce_axis((0, 0), name="k")
    total = te.compute((5,), lambda i: te.sum(a[i, k], axis=k), name="S")
    scaled = te.compute((5, 0), lambda i, j: a[i, j] * total[i], name="B")
    table = te.compute((5, 40), lambda i, j: total[i] + 1.0, name="C")
    out, rest = np.zeros((5, 40), "f4"), np.zeros((5, 0), "f4")
    tvm.build(te.create_prim_func([a, scaled, table]))(rest, rest, out)
    assert (out == 1).all()
