"""Building graph functions, in normal form."""

import pytest
from tests.relax.builders import array, bindings_in, module_of, negative, twice

from tilewright import relax, te
from tilewright.error import ArgumentError, StructInfoError
from tilewright.ir import GlobalVar, IRModule, structural_equal
from tilewright.ir import Var as Size
from tilewright.relax import op


def names_of(function):
    return [binding.var.name_hint for binding in bindings_in(function)]


def built(params, make):
    return module_of(params, make)["main"]


def test_nested_operations_are_bound_one_by_one():
    x = relax.Var("x", array(2))
    function = built([x], lambda builder: twice(twice(x)))
    assert names_of(function) == ["gv", "gv1"]
    assert all(binding.var.struct_info is not None for binding in bindings_in(function))
    assert structural_equal(function.ret_struct_info, x.struct_info)
    assert function.global_symbol == "main"


def test_an_expression_that_stands_twice_is_computed_once():
    x = relax.Var("x", array(2))
    shared = twice(x)
    function = built([x], lambda builder: relax.Tuple([shared, twice(shared)]))
    assert names_of(function) == ["gv", "gv1"]


def test_dataflow_variables_stay_in_their_block():
    x = relax.Var("x", array(2))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            inner = builder.emit(twice(x))
            out = builder.emit_output(twice(inner))
        assert isinstance(inner, relax.DataflowVar)
        assert not isinstance(out, relax.DataflowVar)
        with pytest.raises(
            ArgumentError, match="variable 'lv' is known only in its dataflow block"
        ):
            builder.emit_func_output(inner)
        builder.emit_func_output(out)
    (block,) = builder.get()["main"].body.blocks
    assert isinstance(block, relax.DataflowBlock)


def test_a_tensor_program_is_made_once_and_has_sizes_of_its_own():
    n = Size("n", "int64")
    x = relax.Var("x", array(n, 4))

    def plus_size(data, size):
        return te.compute(data.shape, lambda *i: data(*i) + size)

    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        first = builder.emit_te(plus_size, x, n, primfunc_name_hint="plus")
        builder.emit_func_output(builder.emit_te(plus_size, first, n, primfunc_name_hint="plus"))
    module = builder.get()
    assert sorted(name.name_hint for name in module) == ["main", "plus"]
    assert structural_equal(first.struct_info, x.struct_info)
    (data, _) = module["plus"].buffer_map.values()
    assert data.shape[0] is not n


def test_a_size_that_no_array_tells_is_a_scalar_parameter():
    n = Size("n", "int64")
    x = relax.Var("x", array(n + 1))

    def plus_size(data, size):
        return te.compute(data.shape, lambda i: data(i) + size)

    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(plus_size, x, n))
    module = builder.get()
    (binding,) = bindings_in(module["main"])
    _, _, sizes = binding.value.args
    assert [size is n for size in sizes.values] == [True]
    assert len(module["plus_size"].params) == 3


def test_an_array_of_unknown_extents_gets_names_for_them():
    x = relax.Var("x", relax.TensorStructInfo(ndim=2, dtype="float32"))
    function = built(
        [x],
        lambda builder: builder.emit_te(
            lambda data: te.compute(data.shape, lambda *i: data(*i) * 2.0, "double"),
            x,
            primfunc_name_hint="double",
        ),
    )
    cast, _ = bindings_in(function)
    assert isinstance(cast, relax.MatchCast)
    # The names mean nothing outside of the function.
    assert function.ret_struct_info.shape is None
    assert function.ret_struct_info.ndim == 2


def test_sizes_of_a_signature_are_solved_from_the_arguments():
    n, m, k = (Size(name, "int64") for name in "nmk")
    x = relax.Var("x", array(n, m + 1))
    y = relax.Var("y", array(k, 8))
    builder = relax.BlockBuilder()
    with builder.function("inner", [x]):
        builder.emit_func_output(op.call_dps_packed("f", (x,), array(m, n * 2)))
    name = builder.get().get_global_var("inner")
    with builder.function("main", [y]):
        result = builder.emit(relax.Call(name, [y]))
        builder.emit_func_output(result)
    assert structural_equal(result.struct_info, array(7, k * 2))


def test_a_call_with_arguments_that_do_not_fit_is_refused():
    x, y = relax.Var("x", array(2)), relax.Var("y", array(2, 3))
    builder = relax.BlockBuilder()
    with builder.function("inner", [x]):
        builder.emit_func_output(twice(x))
    with builder.function("main", [y]):
        with pytest.raises(StructInfoError, match="'inner': argument 0 must be"):
            builder.emit(relax.Call(builder.get().get_global_var("inner"), [y]))
        with pytest.raises(StructInfoError, match="'inner' takes 1 argument, got 2"):
            builder.emit(relax.Call(builder.get().get_global_var("inner"), [y, y]))
        builder.emit_func_output(y)


def test_branches_have_scopes_of_their_own():
    x = relax.Var("x", array(2))
    c = relax.Var("c", array(dtype="bool"))
    function = built([c, x], lambda builder: relax.If(c, twice(twice(x)), x))
    (binding,) = bindings_in(function)
    then = binding.value.true_branch
    assert [b.var.name_hint for block in then.blocks for b in block.bindings] == ["gv", "gv1"]
    assert structural_equal(binding.var.struct_info, x.struct_info)


def test_a_function_without_a_result_is_refused():
    builder = relax.BlockBuilder()
    with pytest.raises(ArgumentError, match="'main' has no result"), builder.function("main", []):
        pass


def test_call_tir_of_a_name_calls_a_function_of_the_registry():
    x = relax.Var("x", array(1, 4))
    called = op.call_tir("env.relu", (x,), (1, 128), dtype="float32")
    assert called.op is op.base.CALL_DPS_PACKED
    assert structural_equal(called.sinfo_args[0], array(1, 128))
    with pytest.raises(ArgumentError, match="give dtype="):
        op.call_dps_packed("env.relu", (x,), (1, 128))


def test_mistakes_of_callers_are_named():
    x = relax.Var("x", array(2))
    builder = relax.BlockBuilder()
    for wrong in ("x", relax.const(1.0)):
        with (
            pytest.raises(ArgumentError, match=r"a parameter is a relax\.Var with struct info"),
            builder.function("main", [wrong]),
        ):
            pass
    with pytest.raises(ArgumentError, match="emit_func_output stands inside"):
        builder.emit_func_output(x)
    with pytest.raises(ArgumentError, match="emit_output stands inside"):
        builder.emit_output(x)
    with builder.function("main"):
        with pytest.raises(ArgumentError, match="give the parameters of the function"):
            builder.emit_func_output(x)
        with pytest.raises(ArgumentError, match="match_cast: expected struct info"):
            builder.match_cast(x, (2, 3))
        with pytest.raises(ArgumentError, match="expected a graph expression"):
            builder.emit(object())
        with builder.dataflow():
            with pytest.raises(ArgumentError, match="stands after the dataflow block"):
                builder.emit_func_output(x, [x])
            with pytest.raises(ArgumentError, match="cannot have blocks inside"):
                builder.begin_dataflow_block()
        with pytest.raises(ArgumentError, match="'main' is not finished"):
            builder.finalize()
        with pytest.raises(StructInfoError, match="nothing is known of variable 'y'"):
            builder.emit(twice(relax.Var("y")))
        builder.emit_func_output(x, [x])
    assert "main" in builder.finalize()


def test_a_place_is_needed_for_what_is_bound():
    x = relax.Var("x", array(2))
    builder = relax.BlockBuilder()
    with pytest.raises(ArgumentError, match=r"emit stands inside of `with builder\.function"):
        builder.emit(twice(x))
    with pytest.raises(ArgumentError, match="match_cast stands inside"):
        builder.match_cast(x, array(2))
    assert structural_equal(builder.normalize(twice(twice(x))).struct_info, array(2))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
        with pytest.raises(ArgumentError, match="'main' has its result already"):
            builder.emit(twice(x))


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("main", [], "has a function 'main' already; update_func replaces one"),
        (3, [], "the name of a function is a text, got 3"),
        ("other", [relax.Var("y")], "parameter 'y' has no struct info"),
        ("other", [relax.DataflowVar("y", array(2))], "'y' is a variable of a dataflow block"),
        ("other", [relax.Var("y", array(2))] * 2, "parameter 'y' is given twice"),
    ],
)
def test_names_and_parameters_that_cannot_be(name, params, message):
    x = relax.Var("x", array(2))
    builder = relax.BlockBuilder(module_of([x], lambda builder: twice(x)))
    with pytest.raises(ArgumentError, match=message), builder.function(name, params):
        pass
    builder.finalize()


def test_what_an_error_interrupts_is_no_part_of_the_function():
    x = relax.Var("x", array(2))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with pytest.raises(ValueError, match="stop"), builder.dataflow():
            builder.emit(twice(x))
            raise ValueError("stop")
        builder.emit_func_output(builder.emit(negative(x)))
    (binding,) = bindings_in(builder.get()["main"])
    assert binding.value.op is negative.op


def test_variables_that_cannot_be_seen_are_named():
    x, outside = relax.Var("x", array(2)), relax.Var("y", array(2))
    c = relax.Var("c", array(dtype="bool"))
    builder = relax.BlockBuilder()
    with builder.function("main", [c, x]):
        with pytest.raises(ArgumentError, match="'y' is not a parameter of function 'main'"):
            builder.emit(twice(outside))
        with builder.dataflow():
            inner = builder.emit(twice(x))
        with pytest.raises(ArgumentError, match="'lv' is known only in its dataflow block"):
            builder.emit(twice(inner))
        with pytest.raises(ArgumentError, match="'lv' is known only in its dataflow block"):
            builder.emit_func_output((x, (x, inner)))
        builder.begin_scope()
        local = builder.emit(twice(x))
        branch = relax.SeqExpr(builder.end_scope(), local, array(2))
        builder.emit(relax.If(c, branch, branch))
        with pytest.raises(ArgumentError, match="'gv' is known only in the branch"):
            builder.emit(twice(local))
        builder.emit_func_output(x)


@pytest.mark.parametrize("info", [array(2, dtype="bool"), array(), relax.PrimStructInfo("int64")])
def test_a_condition_is_one_bool(info):
    c = relax.Var("c", info)
    with pytest.raises(StructInfoError, match="the condition of an `if` must be one bool"):
        built([c], lambda builder: relax.If(c, twice(c), c))


def test_operations_may_nest_deeply():
    x = relax.Var("x", array(2))
    value = x
    for _ in range(2000):
        value = twice(value)
    function = built([x], lambda builder: builder.emit(value))
    assert len(bindings_in(function)) == 2000
    assert bindings_in(function)[0].value.args[0] is x


def test_operands_of_several_operations_are_bound_once_however_they_nest():
    x = relax.Var("x", array(2))
    value = x
    for _ in range(60):  # a tree of 2 ** 60 leaves
        value = relax.op.add(value, value)
    before = IRModule({"main": relax.Function((x,), value)})
    after = relax.transform.Normalize()(before)
    assert len(bindings_in(after["main"])) == 60


def test_call_te_names_what_is_no_function():
    x = relax.Var("x", array(2))
    with pytest.raises(ArgumentError, match="call_te: expected a function on tensors, got 'add'"):
        relax.BlockBuilder().call_te("add", x)


def test_name_objects_know_the_signatures_of_functions():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(lambda a: te.compute((4,), lambda i: a[i] + 1), x))
    module = builder.get()
    main = module.get_global_var("main")
    assert structural_equal(main.struct_info, module["main"].struct_info)
    for name, function in module.functions_items():
        assert structural_equal(name.struct_info, function.struct_info)
    assert {name.name_hint for name in module.get_global_vars()} == {
        name.name_hint for name in module.functions
    }
    added = builder.add_func(module["main"], "again")
    assert structural_equal(added.struct_info, module["main"].struct_info)
    assert main == GlobalVar("main")
    assert GlobalVar("main").struct_info is None
