"""One tensor program for each group of operators."""

import numpy as np
import pytest
from tests.relax.transform import fusion_programs as programs
from tests.relax.transform.fusion_programs import (
    array,
    assert_same_results,
    bindings_of,
    built,
    fused,
    is_call,
)

from tilewright import relax, tir
from tilewright.error import TVMError
from tilewright.relax import transform
from tilewright.relax.interpreter import evaluate
from tilewright.relax.op.base import CALL_TIR
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T


def emit(builder, function, *args):
    return builder.emit_te(function, *args, primfunc_name_hint=function.__name__)


def names(mod):
    return [var.name_hint for var in mod.functions]


def layers(count):
    def make(builder, x, w, b):
        for _ in range(count):
            product = emit(builder, programs.matmul, x, w)
            x = emit(builder, programs.relu, emit(builder, programs.add, product, b))
        return x

    return built({"x": array(4, 8), "w": array(8, 8), "b": array(8)}, make)


def test_a_group_becomes_one_tensor_program():
    mod = fused(layers(1))
    assert names(mod) == ["main", "fused_matmul_add_relu"]
    (binding,) = [b for b in bindings_of(mod["main"]) if is_call(b)]
    assert binding.value.op is CALL_TIR
    assert [arg.name_hint for arg in binding.value.args[1].fields] == ["x", "w", "b"]
    func = mod["fused_matmul_add_relu"]
    assert len(func.params) == 4
    assert len(func.body.block.alloc_buffers) == 2
    assert int(func.attrs["op_pattern"]) == 4
    assert_same_results(layers(1), mod, (4, 8), (8, 8), (8,))


def test_equal_groups_share_a_tensor_program():
    mod = fused(layers(3))
    assert names(mod) == ["main", "fused_matmul_add_relu"]
    assert_same_results(layers(3), mod, (4, 8), (8, 8), (8,))


def test_what_does_not_depend_on_a_product_is_computed_before_it():
    """Whatever the order in the graph is: then what reads both may be computed for each tile."""

    def make(builder, x, w, b):
        product = emit(builder, programs.matmul, x, w)
        return emit(builder, programs.add, product, emit(builder, programs.relu, b))

    arrays = {"x": array(4, 8), "w": array(8, 8), "b": array(8)}
    mod = fused(built(arrays, make))
    sch = tir.Schedule(mod)
    sch.work_on("fused_matmul_relu_add")
    names_in_order = [sch.get(block).name_hint for block in sch.get_child_blocks("root")]
    assert names_in_order == ["relu", "matmul", "T_add"]
    assert_same_results(built(arrays, make), mod, (4, 8), (8, 8), (8,))


def test_programs_that_are_called_elsewhere_stay():
    def make(builder, x, w):
        hidden = emit(builder, programs.relu, emit(builder, programs.matmul, x, w))
        return emit(builder, programs.matmul, hidden, w)

    mod = fused(built({"x": array(4, 8), "w": array(8, 8)}, make))
    assert set(names(mod)) == {"main", "matmul", "fused_matmul_relu"}


PROGRAMS = {
    "prologue": lambda bb, x, w: emit(bb, programs.total, emit(bb, programs.relu, x)),
    "rows": lambda bb, x, w: emit(
        bb, programs.relu, emit(bb, programs.normalize, emit(bb, programs.twice, x))
    ),
    "moved": lambda bb, x, w: emit(
        bb, programs.twice, emit(bb, programs.transpose, emit(bb, programs.relu, x))
    ),
    "tuple": lambda bb, x, w: emit(
        bb, programs.add, *(lambda both: (both[0], both[1]))(emit(bb, programs.halves, x))
    ),
    "one_field": lambda bb, x, w: emit(bb, programs.relu, emit(bb, programs.halves, x)[1]),
    "residual": lambda bb, x, w: emit(
        bb, programs.add, emit(bb, programs.matmul, x, w), emit(bb, programs.twice, x)
    ),
}


@pytest.mark.parametrize("rows", [4, "n"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_results_stay_the_same(name, rows):
    rows = tir.Var(rows, "int64") if isinstance(rows, str) else rows
    mod = built({"x": array(rows, 8), "w": array(8, 8)}, PROGRAMS[name])
    after = fused(mod)
    assert after is not mod
    assert_same_results(mod, after, (4, 8), (8, 8))


def test_programs_that_are_called_by_name_or_exported_stay():
    mod = layers(1)
    by_name = relax.op.base.call_dps_packed("add", [relax.const(1.0)], array())
    mod["main"] = mod["main"].replace(
        body=mod["main"].body.replace(
            blocks=(
                *mod["main"].body.blocks,
                relax.BindingBlock((relax.VarBinding(relax.Var("unused"), by_name),)),
            )
        )
    )
    mod["relu"] = mod["relu"].with_attr("global_symbol", "relu")
    assert set(names(fused(mod))) == {"main", "add", "relu", "fused_matmul_add_relu"}


def test_constants_are_arguments():
    def make(builder, x):
        return emit(builder, programs.relu, emit(builder, programs.add, x, relax.const([1.0] * 8)))

    mod = fused(built({"x": array(4, 8)}, make))
    (binding,) = [b for b in bindings_of(mod["main"]) if is_call(b)]
    assert isinstance(binding.value.args[1].fields[1], relax.Constant)


def test_symbolic_sizes_are_arguments_where_no_array_tells_them():
    n = tir.Var("n", "int64")

    def make(builder, x):
        return emit(builder, programs.twice, emit(builder, programs.shifted, x, n))

    mod = fused(built({"x": array(n * 2)}, make))
    (binding,) = [b for b in bindings_of(mod["main"]) if is_call(b)]
    assert binding.value.args[2].values[0] is n
    assert_same_results(built({"x": array(n * 2)}, make), mod, (6,))
    func = mod["fused_shifted_twice"]
    assert [param in func.buffer_map for param in func.params] == [True, True, False]


def test_constants_in_a_function_are_passed_to_its_tensor_program():
    mod = built({"x": array(8)}, lambda bb, x: emit(bb, programs.add, x, relax.const([1.0] * 8)))
    main = mod["main"]
    mod["part"] = main.without_attr("global_symbol").with_attr("Primitive", 1)
    builder = relax.BlockBuilder(mod)
    x = relax.Var("x", array(8))
    with builder.function("other", [x]):
        builder.emit_func_output(builder.emit(relax.Call(mod.get_global_var("part"), [x])))
    mod = transform.FuseTIR()(builder.get())
    (binding,) = [b for b in bindings_of(mod["other"]) if is_call(b)]
    assert isinstance(binding.value.args[1].fields[1], relax.Constant)
    assert isinstance(mod["part"], tir.PrimFunc)


def test_functions_that_do_something_else_stay():
    x = relax.Var("x", array(8))
    builder = relax.BlockBuilder()
    with builder.function("part", [x], attrs={"Primitive": 1}):
        call = relax.op.base.call_dps_packed("env.relu", [x], array(8))
        builder.emit_func_output(builder.emit(call))
    mod = builder.get()
    assert transform.FuseTIR()(mod) is mod


def test_programs_that_check_sizes_stay():
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def add(a: T.handle, b: T.handle, c: T.handle):
            T.func_attr({"op_pattern": 0})
            n = T.int64()
            A = T.match_buffer(a, (n,), "float32")
            B = T.match_buffer(b, (n,), "float32")
            C = T.match_buffer(c, (n,), "float32")
            for i in range(n):
                with T.block("add"):
                    vi = T.axis.spatial(n, i)
                    C[vi] = A[vi] + B[vi]

        @R.function
        def main(x: R.Tensor(("p",), "float32"), y: R.Tensor(("q",), "float32")):
            p = T.int64()
            cls = Module
            with R.dataflow():
                total = R.call_tir(cls.add, (x, y), R.Tensor((p,), "float32"))
                result = R.call_tir(cls.add, (total, total), R.Tensor((p,), "float32"))
                R.output(result)
            return result

    after = fused(Module)
    np.testing.assert_array_equal(evaluate(after, *[np.ones(3, "float32")] * 2), [4, 4, 4])
    with pytest.raises(TVMError, match="extent 0 of argument B"):
        evaluate(after, np.ones(3, "float32"), np.ones(2, "float32"))
