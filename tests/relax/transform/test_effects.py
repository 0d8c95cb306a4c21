"""Nothing is computed after the arrays that it reads have been written over."""

import sys

import numpy as np
import pytest

from tilewright import relax
from tilewright.ir import GlobalVar, IRModule
from tilewright.relax import transform
from tilewright.relax.analysis.functions import writing_functions
from tilewright.relax.dpl import is_op, wildcard
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform.function_pass import WriteEpochs
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T
from tilewright.transform import Sequential


@I.ir_module
class Direct:
    @T.prim_func(private=True)
    def increment(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("increment"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Direct
        with R.dataflow():
            y = R.multiply(x, R.const(2.0))
            before = R.nn.relu(y)
            after = R.call_tir_inplace(cls.increment, (y,), [0], R.Tensor((4,), "float32"))
            result = R.add(before, after)
            R.output(result)
        return result


@I.ir_module
class InACallee:
    @T.prim_func(private=True)
    def increment(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("increment"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] + T.float32(1)

    @R.function(private=True)
    def incremented(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = InACallee
        with R.dataflow():
            after = R.call_tir_inplace(cls.increment, (y,), [0], R.Tensor((4,), "float32"))
            R.output(after)
        return after

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = InACallee
        with R.dataflow():
            y = R.multiply(x, R.const(2.0))
            before = R.nn.relu(y)
            after = cls.incremented(y)
            result = R.add(before, after)
            R.output(result)
        return result


SUM = is_op("relax.add")(is_op("relax.nn.relu")(wildcard()), wildcard())
PARTS = [("mine.relu", is_op("relax.nn.relu")(wildcard())),
         ("mine.add", is_op("relax.add")(wildcard(), wildcard()))]  # fmt: skip


@pytest.mark.parametrize("module", [Direct, InACallee])
@pytest.mark.parametrize(
    "passes",
    [
        [relax.get_pipeline("zero")],
        [transform.FuseOpsByPattern([("mine.sum", SUM)])],
        [transform.FuseOpsByPattern(PARTS), transform.MergeCompositeFunctions()],
    ],
)
def test_reads_stay_before_writes(module, passes):
    after = module
    for item in passes:
        after = item(after)
    x = np.array([-1, 0, 1, 2], "float32")
    expected = np.maximum(2 * x, 0) + 2 * x + 1
    np.testing.assert_array_equal(evaluate(module, x), expected)
    np.testing.assert_array_equal(evaluate(after, x), expected)


@pytest.mark.parametrize("module", [Direct, InACallee])
def test_a_call_that_writes_ends_an_epoch(module):
    (block,) = module["main"].body.blocks
    assert WriteEpochs(module).of(block.bindings) == [0, 0, 0, 1]


def test_functions_that_call_each_other_and_write():
    """``first`` calls ``second``, which calls ``first``, before it writes."""
    x, kernel = relax.Var("x", relax.TensorStructInfo((4,), "float32")), GlobalVar("increment")
    info = x.struct_info
    builder = relax.BlockBuilder(IRModule({"increment": Direct["increment"]}))
    second = builder.declare_func("second", relax.FuncStructInfo([info], info))
    with builder.function("first", [x], private=True):
        y = builder.emit(relax.Call(second, [x]))
        written = relax.op.call_tir_inplace(kernel, [y], [0], info)
        first = builder.emit_func_output(builder.emit(written))
    z = relax.Var("z", info)
    with builder.function("second", [z], private=True):
        builder.emit_func_output(builder.emit(relax.Call(first, [z])))
    calls = [relax.Call(name, [x]) for name in (first, second, first)]
    bindings = [relax.VarBinding(relax.Var("y", info), call) for call in calls]
    assert WriteEpochs(builder.get()).of(bindings) == [0, 1, 2]


@I.ir_module
class Moved:
    @T.prim_func(private=True)
    def increment(A: T.Buffer((2, 2), "float32")):
        for i, j in T.grid(2, 2):
            with T.block("increment"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 90), "float32")):
        cls = Moved
        with R.dataflow():
            y = R.multiply(x, R.const(2.0))
            transposed = R.permute_dims(y)
            first, second = R.permute_dims(y), R.permute_dims(y)
            product = R.matmul(y, w)
            half = R.astype(R.astype(y, "float16"), "float32")
            after = R.call_tir_inplace(cls.increment, (y,), [0], R.Tensor((2, 2), "float32"))
            a = R.matmul(x, transposed)
            b = R.matmul(product, R.permute_dims(w))
            c = R.concat((first, second), axis=0)
            d = R.matmul(half, x)
            result = (a, b, c, d, after)
            R.output(result)
        return result


@pytest.mark.parametrize(
    "change",
    [
        transform.FuseTransposeMatmul(),
        transform.AdjustMatmulOrder(),
        transform.ReorderPermuteDimsAfterConcat(),
        transform.ToMixedPrecision(),
        *(
            transform.TopologicalSort(order, direction)
            for order in ("depth-first", "breadth-first")
            for direction in ("from-inputs", "from-outputs")
        ),
    ],
    ids=lambda change: change.name,
)
def test_what_was_read_before_a_write_is_not_read_after_it(change):
    x = np.array([[1, 2], [3, 4]], "float32")
    w = np.linspace(-1, 1, 180, dtype="float32").reshape(2, 90)
    after = change(Moved)
    for got, expected in zip(evaluate(after, x, w), evaluate(Moved, x, w), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-2, atol=1e-2)


@I.ir_module
class WrittenLater:
    @T.prim_func(private=True)
    def increment(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("increment"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] + T.float32(1)

    @R.function(private=True)
    def incremented(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = WrittenLater
        return R.call_tir_inplace(cls.increment, (y,), [0], R.Tensor((4,), "float32"))

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = WrittenLater
        with R.dataflow():
            a, b, c = R.exp(x), R.exp(x), R.exp(x)
            pair = (b, c)
            again = pair[0]
            d = R.tanh(x)
            view = R.reshape(d, (4,))
            e = R.call_tir_inplace(cls.increment, (again,), [0], R.Tensor((4,), "float32"))
            f = cls.incremented(c)
            g = R.call_tir_inplace(cls.increment, (view,), [0], R.Tensor((4,), "float32"))
            result = (R.negative(a), e, f, R.negative(d), g)
            R.output(result)
        return result


@pytest.mark.parametrize(
    "change",
    [
        transform.EliminateCommonSubexpr(),
        Sequential([transform.RemoveRedundantReshape(), transform.CanonicalizeBindings()]),
        relax.get_pipeline("zero"),
    ],
    ids=lambda change: change.name,
)
def test_what_is_written_over_later_is_nothing_else(change):
    x = np.linspace(-1, 1, 4, dtype="float32")
    expected = (-np.exp(x), np.exp(x) + 1, np.exp(x) + 1, -np.tanh(x), np.tanh(x) + 1)
    for module in (WrittenLater, change(WrittenLater)):
        for got, wanted in zip(evaluate(module, x), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_module_is_searched_once_for_functions_that_write(monkeypatch):
    searched = []

    def counted(module):
        searched.append(module)
        return writing_functions(module)

    monkeypatch.setattr(sys.modules[WriteEpochs.__module__], "writing_functions", counted)
    transform.RewriteDataflowReshape()(chain_of_functions(20))
    assert len(searched) == 1


def chain_of_functions(length):
    """Functions of which each calls the next one; the last one writes over its argument."""
    builder = relax.BlockBuilder(InACallee)
    callee = InACallee.get_global_var("incremented")
    for number in range(length):
        x = relax.Var("x", R.Tensor((4,), "float32"))
        with builder.function(f"step{number}", [x], private=True):
            builder.emit_func_output(builder.emit(relax.Call(callee, [x])))
        callee = builder.get().get_global_var(f"step{number}")
    return builder.get()


def test_functions_that_write_are_found_through_all_of_their_callers():
    module = chain_of_functions(3)
    names = {name.name_hint for name in writing_functions(module)}
    assert names >= {"incremented", "step0", "step1", "step2"}
    assert "increment" not in names
