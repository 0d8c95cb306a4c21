"""Second names are removed."""

from tests.relax.builders import array, bindings_in, module_of
from tests.relax.transform.parts import assert_unchanged, call_extern, names_of, shape_of

from tilewright import relax
from tilewright.ir import Var as Size
from tilewright.relax.transform import CanonicalizeBindings

X = relax.Var("x", array(3, 4))
N = Size("n", "int64")


def test_names_of_names_and_of_constants():
    def body(builder):
        a = builder.emit(X)
        b = builder.emit(a)
        one = builder.emit(relax.const(1.0))
        return builder.emit(relax.op.add(b, one))

    after = CanonicalizeBindings()(module_of([X], body))
    (add,) = bindings_in(after["main"])
    assert add.value.args[0] is X
    assert isinstance(add.value.args[1], relax.Constant)
    assert_unchanged(CanonicalizeBindings(), after)


def test_an_output_takes_the_place_of_the_variable_it_names():
    def body(builder):
        with builder.dataflow():
            a = builder.emit(relax.op.exp(X))
            b = builder.emit(relax.op.negative(a))
            out = builder.emit_output(a)
            other = builder.emit_output(b)
        return builder.emit(relax.op.add(out, other))

    after = CanonicalizeBindings()(module_of([X], body))
    exp, negative, add = bindings_in(after["main"])
    assert not isinstance(exp.var, relax.DataflowVar)
    assert negative.value.args == (exp.var,)
    assert add.value.args == (exp.var, negative.var)


def test_two_outputs_for_one_variable():
    def body(builder):
        with builder.dataflow():
            a = builder.emit(relax.op.exp(X))
            outputs = [builder.emit_output(a), builder.emit_output(a)]
        return relax.Tuple(outputs)

    after = CanonicalizeBindings()(module_of([X], body))
    (exp,) = bindings_in(after["main"])
    assert after["main"].body.body.fields == (exp.var, exp.var)


def test_fields_of_known_tuples():
    def body(builder):
        a = builder.emit(relax.op.exp(X))
        t = builder.emit(relax.Tuple([a, X]))
        first, second = (builder.emit(relax.TupleGetItem(t, i)) for i in (0, 1))
        return builder.emit(relax.op.add(first, second))

    after = CanonicalizeBindings()(module_of([X], body))
    exp, pair, add = bindings_in(after["main"])
    assert isinstance(pair.value, relax.Tuple)
    assert add.value.args == (exp.var, X)


def test_fields_that_cannot_be_seen_any_more():
    def body(builder):
        with builder.dataflow():
            a = builder.emit(relax.op.exp(X))
            t = builder.emit_output(relax.Tuple([a, X]))
        fields = [builder.emit(relax.TupleGetItem(t, i)) for i in (0, 1)]
        return builder.emit(relax.op.add(*fields))

    after = CanonicalizeBindings()(module_of([X], body))
    assert names_of(after["main"]) == ["exp", "Tuple", "TupleGetItem", "add"]
    assert bindings_in(after["main"])[-1].value.args[1] is X


def test_a_tuple_of_all_fields_is_the_tuple():
    t = relax.Var("t", relax.TupleStructInfo([array(3), array(3)]))

    def body(order):
        def emit(builder):
            fields = [builder.emit(relax.TupleGetItem(t, i)) for i in order]
            return builder.emit(relax.Tuple(fields))

        return emit

    after = CanonicalizeBindings()(module_of([t], body((0, 1))))
    assert after["main"].body.body is t
    for order in ((1, 0), (0,), (0, 0)):
        after = CanonicalizeBindings()(module_of([t], body(order)))
        assert after["main"].body.body is not t


class TestMatchCast:
    def cast(self, given, asked, use=lambda var, n: relax.op.exp(var)):
        x = relax.Var("x", given)

        def body(builder):
            return builder.emit(use(builder.match_cast(x, asked), N))

        return CanonicalizeBindings()(module_of([x], body))["main"]

    def test_one_that_always_holds(self):
        m = Size("m", "int64")
        after = self.cast(array(m, m * 2), array(m, m + m))
        assert [type(b).__name__ for b in bindings_in(after)] == ["VarBinding"]

    def test_a_size_that_it_defines_is_the_extent(self):
        m = Size("m", "int64")
        after = self.cast(array(m * 2), array(N), lambda var, n: call_extern(var, out=array(n, 1)))
        (call,) = bindings_in(after)
        assert shape_of(call.value) == ("m * T.int64(2)", 1)

    def test_one_that_must_be_checked_stays(self):
        m = Size("m", "int64")
        for given, asked in [
            (relax.TensorStructInfo(None, "float32", ndim=1), array(N)),
            (array(m), array(4)),
            (array(m, 3), array(N, N)),
        ]:
            cast, _ = bindings_in(self.cast(given, asked))
            assert isinstance(cast, relax.MatchCast)


def test_a_name_that_forgets_something_is_removed_but_not_one_that_knows_more():
    less = relax.TensorStructInfo(None, "float32", ndim=2)
    y = relax.Var("y", less)
    more = relax.Var("z", array(3, 4))

    def body(builder):
        builder.emit_normalized(relax.VarBinding(y, X))
        return builder.emit(relax.op.exp(y))

    after = CanonicalizeBindings()(module_of([X], body))
    assert bindings_in(after["main"])[0].value.args == (X,)

    def knowing(builder):
        builder.emit_normalized(relax.VarBinding(more, y))
        return builder.emit(relax.op.exp(more))

    assert_unchanged(CanonicalizeBindings(), module_of([y], knowing))
