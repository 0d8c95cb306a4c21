"""The default schedule of what is built, and how to do without."""

import numpy as np
import pytest
from tests.schedule_rules.programs import matmul, softmax

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import ArgumentError, ArgumentValueError
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
