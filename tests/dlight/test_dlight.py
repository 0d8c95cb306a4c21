"""Rules that schedule the functions of a module."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import dlight as dl
from tilewright import te, tir
from tilewright.error import ArgumentError, TargetError

GPU_RULES = (
    dl.gpu.Matmul(), dl.gpu.GEMV(), dl.gpu.LowBatchGEMV(4), dl.gpu.Reduction(),
    dl.gpu.GeneralReduction(), dl.gpu.RMSNorm(), dl.gpu.Transpose(), dl.gpu.Fallback(max_wave=2),
)  # fmt: skip


def product(rows, columns):
    a, b = te.placeholder((rows, 64), name="A"), te.placeholder((64, columns), name="B")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def module():
    rows = {"gemv": 1, "matmul": 16}
    return tvm.IRModule({n: product(r, 32).with_attr("global_symbol", n) for n, r in rows.items()})


def scheduled(mod):
    return {
        var.name_hint for var, func in mod.functions.items() if "tir.is_scheduled" in func.attrs
    }


def check(mod):
    library = tvm.build(mod, target="llvm")
    for name, rows in (("gemv", 1), ("matmul", 16)):
        a, b = np.random.rand(rows, 64).astype("f4"), np.random.rand(64, 32).astype("f4")
        c = np.zeros((rows, 32), "float32")
        library[name](a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4)


def test_rules_for_gpus_leave_functions_to_the_default_schedule():
    with tvm.target.Target("llvm"):
        result = dl.ApplyDefaultSchedule(*GPU_RULES)(module())
    assert scheduled(result) == set()
    check(result)


@pytest.mark.parametrize("rule", GPU_RULES, ids=lambda rule: type(rule).__name__)
def test_rules_for_gpus_refuse_those_without_a_back_end(rule):
    with (
        tvm.target.Target("metal"),
        pytest.raises(TargetError, match=rf"dlight.gpu.{type(rule).__name__}: .*'metal'"),
    ):
        dl.ApplyDefaultSchedule(rule)(module())


@pytest.mark.parametrize(
    ("rule", "wanted"), [(dl.gpu.Matmul(), {"matmul"}), (dl.gpu.Fallback(), {"gemv", "matmul"})]
)
def test_rules_for_gpus_bind_loops_to_threads(rule, wanted):
    with tvm.target.Target("cuda"):
        result = dl.ApplyDefaultSchedule(rule)(module())
    assert scheduled(result) == wanted
    assert 'thread="threadIdx.x"' in result["matmul"].script()


def test_transpositions_have_a_rule():
    data = te.placeholder((64, 40), name="data")
    funcs = {
        "moved": te.compute((40, 64), lambda i, j: data[j, i] + 1, name="moved"),
        "kept": te.compute((64, 40), lambda i, j: data[i, j] + 1, name="kept"),
    }
    mod = tvm.IRModule({name: te.create_prim_func([data, out]) for name, out in funcs.items()})
    with tvm.target.Target("cuda"):
        result = dl.ApplyDefaultSchedule(dl.gpu.Transpose())(mod)
    assert scheduled(result) == {"moved"}
    assert 'scope="shared"' in result["moved"].script()


def test_products_with_a_vector_are_scheduled():
    with tvm.target.Target("llvm"):
        result = tvm.transform.Sequential([dl.ApplyDefaultSchedule(dl.cpu.GEMV())])(module())
    assert scheduled(result) == {"gemv"}
    check(result)


def test_the_first_rule_that_is_for_a_function_schedules_it():
    class Rows(dl.ScheduleRule):
        def apply(self, func, target, tunable):
            assert not tunable
            sch = tir.Schedule(func)
            i, *_ = sch.get_loops("C")
            if int(sch.get(i).extent) == 1:
                return None
            sch.parallel(i)
            return [sch]

    @dl.ScheduleRule.from_callable("Columns")
    def columns(func, target, tunable):
        sch = tir.Schedule(func)
        sch.vectorize(sch.split(sch.get_loops("C")[1], [None, 8])[1])
        return sch

    result = dl.ApplyDefaultSchedule(Rows(), columns)(module())
    assert scheduled(result) == {"gemv", "matmul"}
    texts = {name: result[name].script() for name in ("gemv", "matmul")}
    assert "T.vectorized" in texts["gemv"]
    assert "T.parallel" not in texts["gemv"]
    assert "T.parallel" in texts["matmul"]
    assert tvm.ir.structural_equal(dl.ApplyDefaultSchedule(columns)(result), result)
    assert type(columns).__name__ == "Columns"


def test_mistakes():
    with pytest.raises(ArgumentError, match=r"expected rules such as dlight.cpu.GEMV\(\)"):
        dl.ApplyDefaultSchedule(dl.cpu.GEMV)
    nothing = dl.ScheduleRule.from_callable("Nothing")(lambda func, target, tunable: [])
    with pytest.raises(ArgumentError, match=r"Nothing gave .*, not a schedule"):
        dl.ApplyDefaultSchedule(nothing)(module())
    with pytest.raises(NotImplementedError, match="ScheduleRule does not say"):
        dl.ScheduleRule().apply(product(1, 2), tvm.target.Target("llvm"), False)
