"""What depends on constants only is computed."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import assert_unchanged, call_extern, name_of, names_of

import tilewright as tvm
from tilewright import relax, te
from tilewright.ir import Var as Size
from tilewright.ir import structural_equal
from tilewright.relax.interpreter import evaluate
from tilewright.relax.transform import FoldConstant, LegalizeOps
from tilewright.relax.transform.constant_evaluation import run_few_times, work_of
from tilewright.script import tir as T

X = relax.Var("x", array(3))


def values(seed, *shape):
    return np.random.default_rng(seed).random(shape, np.float32)


def chain(w, x):
    """exp(w) * w + x, of which all but the sum is known."""

    def body(builder):
        with builder.dataflow():
            a = builder.emit(relax.op.exp(w))
            b = builder.emit(relax.op.multiply(a, w))
            return builder.emit_output(relax.op.add(b, x))

    return module_of([x], body)


@pytest.mark.parametrize("shape", [(3,), (100, 90), (1100, 1000)])
@pytest.mark.parametrize("prepare", [lambda mod: mod, LegalizeOps()])
def test_a_chain_interpreted_and_compiled_before_and_after_legalisation(shape, prepare):
    w = values(0, *shape)
    before = prepare(chain(relax.const(w), relax.Var("x", array(*shape))))
    after = FoldConstant()(before)
    (add,) = bindings_in(after["main"])
    (constant,) = [a for a in operands(add.value) if isinstance(a, relax.Constant)]
    np.testing.assert_allclose(constant.data.numpy(), np.exp(w) * w, rtol=1e-5)
    assert_unchanged(FoldConstant(), after)
    assert len(bindings_in(before["main"])) == 3, "the module before stays as it is"


def operands(call):
    fields = getattr(call.args[-1], "fields", None)
    return call.args if fields is None else fields


def test_results_that_are_used_after_the_block():
    def body(builder):
        with builder.dataflow():
            a = builder.emit_output(relax.op.exp(relax.const([1.0, 2.0, 3.0])))
        return builder.emit(relax.op.add(a, X))

    after = FoldConstant()(module_of([X], body))
    assert names_of(after["main"]) == ["Constant", "add"]
    assert isinstance(bindings_in(after["main"])[1].value.args[0], relax.Constant)


def test_several_results_and_their_fields():
    data = values(1, 4, 6)

    def halves(tensor):
        first = te.compute((4, 3), lambda i, j: tensor[i, j], "first")
        second = te.compute((4, 3), lambda i, j: tensor[i, j + 3], "second")
        return [first, second]

    def body(builder):
        both = builder.emit(builder.call_te(halves, relax.const(data)))
        return builder.emit(relax.TupleGetItem(both, 1))

    after = FoldConstant()(module_of([], body))
    np.testing.assert_array_equal(after["main"].body.body.data.numpy(), data[:, 3:])


def test_symbolic_tensor_programs_run_with_numbers():
    n = Size("n", "int64")
    builder = relax.BlockBuilder(
        LegalizeOps()(module_of([p := relax.Var("p", array(n))], lambda b: b.emit(relax.op.exp(p))))
    )
    with builder.function("second", []):
        call = relax.op.call_tir(builder.get().get_global_var("exp"), relax.const([0.0]), array(1))
        builder.emit_func_output(builder.emit(call))
    after = FoldConstant()(builder.get())
    assert after["second"].body.body.data.numpy() == [1.0]
    assert after["main"] is builder.get()["main"]


class TestLeftToTheProgram:
    def assert_stays(self, make, params=(X,), **options):
        before = module_of(list(params), lambda builder: builder.emit(make()), **options)
        assert_unchanged(FoldConstant(), before)

    def test_what_is_larger_than_what_it_is_computed_from(self):
        self.assert_stays(lambda: relax.op.zeros((1000, 1000), "float32"))
        small = module_of([], lambda b: b.emit(relax.op.zeros((10, 10), "float32")))
        assert isinstance(FoldConstant()(small)["main"].body.body, relax.Constant)

    def test_effects_and_registered_functions(self):
        one = relax.const([1.0])
        self.assert_stays(lambda: relax.op.print(one), pure=False)
        self.assert_stays(lambda: call_extern(one, out=array(1)))

    def test_what_depends_on_a_symbolic_size(self):
        n = Size("n", "int64")
        y = relax.Var("y", array(n))
        self.assert_stays(lambda: relax.op.zeros((n,), "float32"), [y])

    def test_what_takes_long(self):
        data = relax.const(np.zeros(2, "float32"))
        k = te.reduce_axis((0, 1 << 40), "k")

        def long(tensor):
            return te.compute((2,), lambda i: te.sum(tensor[i] * k.var.astype("float32"), k), "s")

        before = module_of([], lambda b: b.emit(b.call_te(long, data)))
        assert_unchanged(FoldConstant(), before)


def test_shapes_that_are_known():
    n = Size("n", "int64")
    y = relax.Var("y", array(n, 4))

    def body(builder):
        shape = builder.emit(relax.op.shape_of(y))
        return builder.emit(call_extern(shape, out=array(n, 4)))

    after = FoldConstant()(module_of([y], body))
    shape = bindings_in(after["main"])[-1].value.args[1].fields[0]
    assert structural_equal(shape, relax.ShapeExpr((n, 4)))


def test_the_work_of_a_tensor_program():
    n = Size("n", "int64")
    mod = LegalizeOps()(
        module_of([y := relax.Var("y", array(n, 4))], lambda b: b.emit(relax.op.exp(y)))
    )
    assert work_of(mod["exp"], [array(5, 4)]) == 20
    assert work_of(mod["exp"], [array(n, 4)]) is None


def test_programs_that_run_for_an_unknown_time_are_not_evaluated():
    @T.prim_func(private=True)
    def counted(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        while b[0] < a[0]:
            b[0] = b[0] + T.float32(1)

    def body(builder):
        function = builder.add_func(counted, "counted")
        return builder.emit(relax.call_tir(function, (relax.const(values(0, 4)),), array(4)))

    assert work_of(counted, [array(4), array(4)]) is None
    assert_unchanged(FoldConstant(), module_of([X], body))


def test_what_the_program_may_never_compute_does_not_stop_the_pass():
    c = relax.Var("c", array(dtype="bool"))
    one, zero = (relax.const(np.full(2, value, "int32")) for value in (1, 0))

    def body(builder):
        quotient = relax.op.floor_mod(relax.op.add(one, one), zero)
        return builder.emit(relax.If(c, relax.op.add(quotient, one), relax.op.add(one, one)))

    after = FoldConstant()(module_of([c], body))
    (choice,) = bindings_in(after["main"])
    (block,) = choice.value.true_branch.blocks
    assert [name_of(b.value) for b in block.bindings] == ["Constant", "floor_mod", "add"]
    np.testing.assert_array_equal(evaluate(after, np.array(False)), [2, 2])


def test_what_runs_few_times_is_compiled_quickly():
    a = te.placeholder((8,), name="A")
    function = te.create_prim_func([a, te.compute((8,), lambda i: a[i] + 1.0, name="B")])
    few, many = (
        tvm.build(run_few_times(function, work), target="llvm").get_source()
        for work in (1000, 1 << 30)
    )
    # The function, and the one that checks the arguments.
    assert few.count("optnone") == many.count("optnone") + 2
