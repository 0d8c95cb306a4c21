"""Which variables and symbolic sizes a graph function has."""

from tests.relax.builders import array, bindings_in, module_of, negative, twice

from tilewright import ir, relax, te
from tilewright.ir import Var as Size
from tilewright.relax import analysis, op


def names(variables):
    return [getattr(v, "name_hint", None) or v.name for v in variables]


N, M = Size("n", "int64"), Size("m", "int64")


def example():
    x = relax.Var("x", array(N, N * 2))

    def make(builder):
        with builder.dataflow():
            inner = builder.emit(twice(x))
            out = builder.emit_output(negative(inner))
        return builder.match_cast(out, array(M, 4))

    return module_of([x], make)["main"]


def test_free_and_bound_variables():
    function = example()
    assert names(analysis.bound_vars(function)) == ["x", "lv", "gv", "gv1"]
    assert analysis.free_vars(function) == []
    assert names(analysis.free_vars(function.body)) == ["x"]
    assert names(analysis.all_vars(function)) == ["x", "lv", "gv", "gv1"]


def test_bindings_by_variable_and_name():
    function = example()
    first, second, cast = bindings_in(function)
    assert analysis.get_var2val(function)[second.var] is second.value
    assert analysis.name_to_binding(function)["gv1"] == [cast]
    x, lv = function.params[0], first.var
    chain = analysis.udchain(function.body.blocks[0])
    assert chain[x] == [lv]
    assert chain[lv] == [second.var]
    assert chain[second.var] == []


def test_symbolic_sizes():
    function = example()
    assert names(analysis.defined_symbolic_vars(function)) == ["m", "n"]
    assert analysis.free_symbolic_vars(function) == []
    assert names(analysis.free_symbolic_vars(function.body)) == ["n"]


def test_effects_are_found_where_they_happen():
    x = relax.Var("x", array(2))
    pure = module_of([x], lambda builder: twice(x))
    impure = module_of([x], lambda builder: builder.emit(op.print(x)), pure=False)
    assert not analysis.contains_impure_call(pure["main"])
    assert analysis.contains_impure_call(impure["main"])

    name = impure.get_global_var("main")
    y = relax.Var("y", array(2))
    body = relax.SeqExpr((), relax.Call(name, [y]))
    caller = relax.Function((y,), body, relax.ObjectStructInfo(), False)
    impure["caller"] = caller
    assert analysis.contains_impure_call(caller, module=impure)
    assert not analysis.contains_impure_call(caller, own_name=name, module=impure)
    assert names(analysis.all_global_vars(caller)) == ["main"]


def test_sizes_of_struct_info():
    n, m = Size("n", "int64"), Size("m", "int64")
    info = relax.TupleStructInfo([array(n + 1, 2), relax.ShapeStructInfo([m])])
    assert analysis.tir_vars_in_struct_info(info) == [n, m]
    assert analysis.definable_tir_vars_in_struct_info(info) == [m]


def test_functions_that_are_called():
    x = relax.Var("x", array(2))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        kernel = builder.emit_te(lambda a: te.compute(a.shape, lambda i: a(i), "copy"), x)
        closure = builder.emit(relax.op.make_closure(ir.GlobalVar("main"), [kernel]))
        builder.emit_func_output(closure)
    main = builder.get()["main"]
    assert [name.name_hint for name in analysis.called_global_vars(main)] == ["lambda"]
    assert {name.name_hint for name in analysis.all_global_vars(main)} == {"lambda", "main"}
