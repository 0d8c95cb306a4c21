"""Nothing is computed after the arrays that it reads have been written over."""

import numpy as np
import pytest

from tilewright import relax
from tilewright.relax import transform
from tilewright.relax.dpl import is_op, wildcard
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform.effects import WriteEpochs
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T


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
