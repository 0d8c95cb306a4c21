"""What is computed twice is computed once."""

from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import assert_unchanged, call_extern, names_of

from tilewright import relax
from tilewright.relax.transform import EliminateCommonSubexpr

X = relax.Var("x", array(3))


def test_equal_calls():
    def body(builder):
        with builder.dataflow():
            a = builder.emit(relax.op.exp(X))
            b = builder.emit(relax.op.exp(X))
            c = builder.emit(relax.op.add(a, b))
            d = builder.emit(relax.op.add(b, a))
            return builder.emit_output(relax.op.multiply(c, d))

    after = EliminateCommonSubexpr()(module_of([X], body))
    exp, add, multiply = bindings_in(after["main"])
    assert add.value.args == (exp.var, exp.var)
    assert multiply.value.args == (add.var, add.var)
    assert_unchanged(EliminateCommonSubexpr(), after)


def test_an_output_becomes_another_name():
    def body(builder):
        with builder.dataflow():
            a = builder.emit(relax.op.exp(X))
            b = builder.emit_output(relax.op.exp(X))
            c = builder.emit_output(relax.op.negative(a))
        return builder.emit(relax.op.add(b, c))

    after = EliminateCommonSubexpr()(module_of([X], body))
    exp, second, *_ = bindings_in(after["main"])
    assert second.value is exp.var
    assert names_of(after["main"]) == ["exp", "DataflowVar", "negative", "add"]


def test_variables_of_a_dataflow_block_are_not_used_after_it():
    def body(builder):
        with builder.dataflow():
            a = builder.emit(relax.op.exp(X))
            b = builder.emit_output(relax.op.negative(a))
        return builder.emit(relax.op.add(builder.emit(relax.op.exp(X)), b))

    assert_unchanged(EliminateCommonSubexpr(), module_of([X], body))


def test_branches_use_what_is_before_them_but_not_each_other():
    c = relax.Var("c", array(dtype="bool"))

    def branch(builder):
        return relax.SeqExpr((), relax.op.negative(relax.op.exp(X)))

    def body(builder):
        a = builder.emit(relax.op.exp(X))
        chosen = builder.emit(relax.If(c, branch(builder), branch(builder)))
        return builder.emit(relax.op.add(builder.emit(relax.op.negative(a)), chosen))

    after = EliminateCommonSubexpr()(module_of([c, X], body))
    assert names_of(after["main"]) == ["exp", "If", "negative", "add"]
    choice = bindings_in(after["main"])[1].value
    for side in (choice.true_branch, choice.false_branch):
        assert [b.value.op.name for k in side.blocks for b in k.bindings] == ["relax.negative"]


def test_effects_and_writes_over_arguments_stay():
    def body(builder):
        for _ in range(2):
            builder.emit(relax.op.call_packed("outside", X, sinfo_args=array(3)))
            builder.emit(
                relax.op.call_inplace_packed("outside", X, inplace_indices=0, sinfo_args=array(3))
            )
        return X

    assert_unchanged(EliminateCommonSubexpr(), module_of([X], body, pure=False))


def test_what_differs_stays():
    def body(builder):
        a = builder.emit(call_extern(X, out=array(3)))
        b = builder.emit(call_extern(X, out=array(4)))
        c = builder.emit(relax.op.add(X, relax.const([1.0, 2.0, 3.0])))
        d = builder.emit(relax.op.add(X, relax.const([1.0, 2.0, 4.0])))
        e = builder.emit(relax.op.astype(X, "int32"))
        f = builder.emit(relax.op.astype(X, "int64"))
        return relax.Tuple([a, b, c, d, e, f])

    assert_unchanged(EliminateCommonSubexpr(), module_of([X], body))


def test_a_variable_of_which_less_is_known_does_not_stand_for_another():
    less = relax.TensorStructInfo(None, "float32", ndim=1)

    def body(builder, first, second):
        values = [relax.Var(name, info) for name, info in (("a", first), ("b", second))]
        for var in values:
            builder.emit_normalized(relax.VarBinding(var, relax.op.exp(X)))
        return builder.emit(relax.op.negative(values[1]))

    known_first = module_of([X], lambda builder: body(builder, X.struct_info, less))
    assert names_of(EliminateCommonSubexpr()(known_first)["main"]) == ["exp", "negative"]
    assert_unchanged(
        EliminateCommonSubexpr(),
        module_of([X], lambda builder: body(builder, less, X.struct_info)),
    )


def test_equal_constants_are_equal():
    def body(builder):
        sums = [builder.emit(relax.op.add(X, relax.const([1.0, 2.0, 3.0]))) for _ in "ab"]
        return builder.emit(relax.op.multiply(*sums))

    after = EliminateCommonSubexpr()(module_of([X], body))
    assert names_of(after["main"]) == ["add", "multiply"]


def test_tuples_and_fields_only_if_asked():
    t = relax.Var("t", relax.TupleStructInfo([array(3), array(3)]))

    def body(builder):
        fields = [builder.emit(relax.TupleGetItem(t, 0)) for _ in "ab"]
        return builder.emit(relax.op.add(*fields))

    before = module_of([t], body)
    assert len(bindings_in(EliminateCommonSubexpr()(before)["main"])) == 2
    assert_unchanged(EliminateCommonSubexpr(call_only=True), before)


def test_objects_may_have_a_state():
    def body(builder):
        info = relax.ObjectStructInfo()
        call = [relax.op.call_pure_packed("new_cache", X, sinfo_args=info) for _ in "ab"]
        caches = [builder.emit(item) for item in call]
        pair = [
            builder.emit(
                relax.op.call_pure_packed("two", X, sinfo_args=relax.TupleStructInfo([info] * 2))
            )
            for _ in "ab"
        ]
        return relax.Tuple([*caches, *pair])

    assert_unchanged(EliminateCommonSubexpr(), module_of([X], body))
