"""What passes do to scripts: before, and after."""

# ruff: noqa: RET504, F821, F841

import pytest

from tilewright.ir import assert_structural_equal
from tilewright.relax.analysis import check_well_formed
from tilewright.relax.transform import (
    CanonicalizeBindings,
    ConvertToDataflow,
    DeadCodeElimination,
    EliminateCommonSubexpr,
    ExpandTupleArguments,
    InlinePrivateFunctions,
    LambdaLift,
    RemoveUnusedOutputs,
    RemoveUnusedParameters,
    ReorderPermuteDimsAfterConcat,
    ToNonDataflow,
)
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T


class Canonicalize:
    change = CanonicalizeBindings()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32"), t: R.Tuple(R.Tensor((2,)), R.Tensor((3,)))):
            n, m = T.int64(), T.int64()
            a = x
            b = R.match_cast(a, R.Tensor((m, 4), "float32"))
            c = (b, t)
            d = c[0]
            e = c[1]
            first = e[0]
            second = e[1]
            whole = (first, second)
            f = R.reshape(d, (m * 4,))
            g = R.sum(f)
            return (g, whole)

    @I.ir_module
    class After:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32"), t: R.Tuple(R.Tensor((2,)), R.Tensor((3,)))):
            n = T.int64()
            c = (x, t)
            first = t[0]
            second = t[1]
            f = R.reshape(x, (n * 4,))
            g = R.sum(f)
            return (g, t)


class CommonSubexpressions:
    change = EliminateCommonSubexpr()

    @I.ir_module
    class Before:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            if c:
                b = R.exp(x)
                r = R.negative(b)
            else:
                s = R.negative(a)
                r = R.negative(a)
            d = R.negative(a)
            return (r, d)

    @I.ir_module
    class After:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            if c:
                r = R.negative(a)
            else:
                s = R.negative(a)
                r = s
            d = R.negative(a)
            return (r, d)


class DeadCode:
    change = DeadCodeElimination()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            n, m = T.int64(), T.int64()
            with R.dataflow():
                a = R.exp(x)
                b = R.negative(a)
                c = R.match_cast(x, R.Tensor((m,), "float32"))
                d = R.tanh(x)
                R.output(b, d)
            return d

        @T.prim_func(private=True)
        def unused(A: T.Buffer((4,), "float32")):
            A[0] = T.float32(0)

    @I.ir_module
    class After:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            with R.dataflow():
                d = R.tanh(x)
                R.output(d)
            return d


class MakeDataflow:
    change = ConvertToDataflow()

    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.negative(a)
            _ = R.print(b)
            c = R.tanh(b)
            return c

    @I.ir_module
    class After:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.negative(a)
                R.output(b)
            _ = R.print(b)
            c = R.tanh(b)
            return c


class OpenDataflow:
    change = ToNonDataflow()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.negative(a)
                R.output(b)
            c = R.tanh(b)
            return c

    @I.ir_module
    class After:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.negative(a)
            c = R.tanh(b)
            return c


class Inline:
    change = InlinePrivateFunctions()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def double(a: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):
            b = R.add(a, a)
            return b

        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            y = Before.double(x)
            z = Before.double(y)
            return z

    @I.ir_module
    class After:
        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            b = R.add(x, x)
            y = b
            b1 = R.add(y, y)
            z = b1
            return z


class Expand:
    change = ExpandTupleArguments()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def first(t: R.Tuple(R.Tensor((2,)), R.Tensor((3,)))) -> R.Tensor((2,)):
            a = t[0]
            return a

        @R.function
        def main(x: R.Tensor((2,)), y: R.Tensor((3,))) -> R.Tensor((2,)):
            z = Before.first((x, y))
            return z

    @I.ir_module
    class After:
        @R.function(private=True)
        def first(t_0: R.Tensor((2,)), t_1: R.Tensor((3,))) -> R.Tensor((2,)):
            t = (t_0, t_1)
            a = t[0]
            return a

        @R.function
        def main(x: R.Tensor((2,)), y: R.Tensor((3,))) -> R.Tensor((2,)):
            z = After.first(x, y)
            return z


class Parameters:
    change = RemoveUnusedParameters()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def second(a: R.Tensor(("k",)), b: R.Tensor(("k",))) -> R.Tensor(("k",)):
            return b

        @R.function
        def main(x: R.Tensor(("n",))) -> R.Tensor(("n",)):
            z = Before.second(x, x)
            return z

    @I.ir_module
    class After:
        @R.function(private=True)
        def second(b: R.Tensor(("k",))) -> R.Tensor(("k",)):
            return b

        @R.function
        def main(x: R.Tensor(("n",))) -> R.Tensor(("n",)):
            z = After.second(x)
            return z


class Outputs:
    change = RemoveUnusedOutputs()

    @I.ir_module
    class Before:
        @R.function(private=True)
        def both(a: R.Tensor((2,))) -> R.Tuple(R.Tensor((2,)), R.Tensor((2,))):
            b = R.add(a, a)
            return (a, b)

        @R.function
        def main(x: R.Tensor((2,))) -> R.Tensor((2,)):
            y = Before.both(x)
            z = y[1]
            return z

    @I.ir_module
    class After:
        @R.function(private=True)
        def both(a: R.Tensor((2,))) -> R.Tuple(R.Tensor((2,))):
            b = R.add(a, a)
            return (b,)

        @R.function
        def main(x: R.Tensor((2,))) -> R.Tensor((2,)):
            y = After.both(x)
            z = y[0]
            return z


class Lift:
    change = LambdaLift()

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
            @R.function
            def inner(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                b = R.add(a, x)
                return b

            z = inner(y)
            return z

    @I.ir_module
    class After:
        @R.function
        def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
            z = After.lifted_inner(y, x)
            return z

        @R.function(private=True)
        def lifted_inner(a: R.Tensor((2,), "float32"), x: R.Tensor((2,), "float32")) -> R.Tensor(
            (2,), "float32"
        ):
            b = R.add(a, x)
            return b


class Join:
    change = ReorderPermuteDimsAfterConcat()

    @I.ir_module
    class Before:
        @R.function
        def main(a: R.Tensor((2, 3), "float32"), b: R.Tensor((4, 3), "float32")):
            ta = R.permute_dims(a, axes=[1, 0])
            tb = R.permute_dims(b, axes=[1, 0])
            c = R.concat((ta, tb), axis=1)
            return c

    @I.ir_module
    class After:
        @R.function
        def main(a: R.Tensor((2, 3), "float32"), b: R.Tensor((4, 3), "float32")):
            ta = R.permute_dims(a, axes=[1, 0])
            tb = R.permute_dims(b, axes=[1, 0])
            joined = R.concat((a, b), axis=0)
            c = R.permute_dims(joined, axes=[1, 0])
            return c


@pytest.mark.parametrize(
    "case",
    [
        Canonicalize, CommonSubexpressions, DeadCode, MakeDataflow, OpenDataflow, Inline, Expand,
        Parameters, Outputs, Lift, Join,
    ],
)  # fmt: skip
def test_before_and_after(case):
    after = case.change(case.Before)
    check_well_formed(after)
    assert_structural_equal(after, case.After)
