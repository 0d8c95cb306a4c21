"""Functions of operators that look like patterns."""

import numpy as np
import pytest
from tests.relax.builders import array, bindings_in

from tilewright import relax
from tilewright.error import ArgumentError
from tilewright.relax import op, transform
from tilewright.relax.dpl import is_const, is_op, wildcard
from tilewright.relax.interpreter import evaluate
from tilewright.tir.function import PrimFunc


def built(make):
    builder = relax.BlockBuilder()
    params = [relax.Var("x", array(4, 4)), relax.Var("w", array(4, 4))]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(make(builder, *params))
        builder.emit_func_output(result)
    return builder.get()


def callees(mod, name="main"):
    values = [b.value for b in bindings_in(mod[name]) if isinstance(b.value, relax.Call)]
    return [getattr(value.op, "name_hint", None) or value.op.name[6:] for value in values]


def assert_same(before, after):
    arrays = [np.arange(16, dtype="float32").reshape(4, 4) - n for n in (3, 9)]
    np.testing.assert_array_equal(evaluate(before, *arrays), evaluate(after, *arrays))


def dense_relu():
    return is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))


def dense():
    return is_op("relax.matmul")(wildcard(), wildcard())


def layers(bb, x, w):
    hidden = bb.emit(op.nn.relu(bb.emit(op.matmul(x, w))))
    return bb.emit(op.nn.relu(bb.emit(op.matmul(hidden, w))))


def test_what_looks_like_the_pattern_becomes_a_function():
    mod = built(layers)
    after = transform.FuseOpsByPattern([("mine.dense_relu", dense_relu())])(mod)
    names = ["fused_mine_dense_relu", "fused_mine_dense_relu1"]
    assert callees(after) == names
    for name in names:
        assert after[name].attrs["Composite"] == "mine.dense_relu"
        assert int(after[name].attrs["Primitive"]) == 1
        assert callees(after, name) == ["matmul", "nn.relu"]
    assert_same(mod, after)
    assert callees(mod) == ["matmul", "nn.relu", "matmul", "nn.relu"]


def test_patterns_that_come_first_go_first():
    def make(bb, x, w):
        return bb.emit(op.matmul(layers(bb, x, w), w))

    patterns = [("a.dense_relu", dense_relu()), ("a.dense", dense())]
    assert callees(transform.FuseOpsByPattern(patterns)(built(make))) == [
        "fused_a_dense_relu", "fused_a_dense_relu1", "fused_a_dense",
    ]  # fmt: skip
    assert callees(transform.FuseOpsByPattern(patterns[::-1])(built(make)))[:2] == [
        "fused_a_dense", "nn.relu",
    ]  # fmt: skip


def test_values_that_are_used_outside_keep_a_group_from_being_made():
    def make(bb, x, w):
        product = bb.emit(op.matmul(x, w))
        return bb.emit(op.add(bb.emit(op.nn.relu(product)), product))

    mod = built(make)
    assert transform.FuseOpsByPattern([("a.b", dense_relu())])(mod) is mod


@pytest.mark.parametrize("stays", [True, False])
def test_constants(stays):
    mod = built(lambda bb, x, w: op.matmul(x, relax.const(np.ones((4, 4), "float32"))))
    pattern = is_op("relax.matmul")(wildcard(), is_const())
    after = transform.FuseOpsByPattern([("a.dense", pattern)], bind_constants=stays)(mod)
    assert len(after["fused_a_dense"].params) == (1 if stays else 2)
    assert_same(mod, after)


def test_a_check_sees_the_group():
    mod = built(layers)
    x, w = wildcard(), wildcard()
    product = is_op("relax.matmul")(x, w)
    pattern = is_op("relax.nn.relu")(product)
    seen = []

    def check(context):
        seen.append(context)
        return context.annotated_expr["x"].name_hint == "x"

    fusion = transform.FusionPattern(
        "a.dense", pattern, {"x": x, "product": product}, check, lambda found: {"k": len(found)}
    )
    after = transform.FuseOpsByPattern([fusion])(mod)
    assert callees(after) == ["fused_a_dense", "matmul", "nn.relu"]
    assert int(after["fused_a_dense"].attrs["k"]) == 2
    context = seen[-1]
    assert context.matched_expr.op.name == "relax.nn.relu"
    assert context.annotated_expr["product"].op.name == "relax.matmul"
    assert [var.name_hint for var in context.matched_bindings] == ["lv", "lv1"]
    assert context.value_to_bound_var[context.matched_expr].name_hint == "lv1"


def test_composite_functions_become_one_kernel():
    mod = built(layers)
    after = transform.FuseOpsByPattern([("mine.dense_relu", dense_relu())])(mod)
    after = transform.FuseTIR()(transform.LegalizeOps()(after))
    assert callees(after) == ["call_tir", "call_tir"]
    kernels = [func for func in after.functions.values() if isinstance(func, PrimFunc)]
    assert len(kernels) == 1
    assert_same(mod, after)


def test_functions_for_a_compiler():
    mod = built(layers)
    after = transform.FuseOpsByPattern([("mine.a", dense_relu())], annotate_codegen=True)(mod)
    names = callees(after)
    assert names == ["fused_mine_a_mine", "fused_mine_a1_mine"]
    for name in names:
        assert after[name].attrs["Codegen"] == "mine"
        assert after[name].global_symbol == name
    assert_same(mod, after)


def test_composite_functions_of_a_compiler_are_merged():
    mod = built(layers)
    after = transform.FuseOpsByPattern([("mine.a", dense_relu())])(mod)
    merged = transform.MergeCompositeFunctions()(after)
    (name,) = callees(merged)
    assert merged[name].attrs["Codegen"] == "mine"
    assert len(callees(merged, name)) == 2
    assert_same(mod, merged)


def test_functions_of_several_compilers_are_not_merged():
    mod = built(lambda bb, x, w: op.nn.relu(bb.emit(op.matmul(x, w))))
    patterns = [("a.dense", dense()), ("b.relu", is_op("relax.nn.relu")(wildcard()))]
    merged = transform.MergeCompositeFunctions()(transform.FuseOpsByPattern(patterns)(mod))
    assert callees(merged) == ["fused_a_dense_a", "fused_b_relu_b"]
    assert_same(mod, merged)


def test_groups_never_depend_on_themselves():
    def make(bb, x, w):
        first = bb.emit(op.matmul(x, w))
        return bb.emit(op.add(bb.emit(op.nn.relu(first)), bb.emit(op.exp(first))))

    mod = built(make)
    patterns = [
        ("a.dense", dense()),
        ("a.relu", is_op("relax.nn.relu")(wildcard())),
        ("a.add", is_op("relax.add")(wildcard(), wildcard())),
    ]
    merged = transform.MergeCompositeFunctions()(transform.FuseOpsByPattern(patterns)(mod))
    assert callees(merged) == ["fused_a_dense_a", "exp", "fused_a_relu_a_add_a"]
    assert_same(mod, merged)


@pytest.mark.parametrize(
    "given",
    [
        dense(),
        ("mine.dense",),
        (dense(), "mine.dense"),
        ("mine.dense", dense(), 3),
        ("mine.dense", dense(), {}, None, None, None),
        transform.FusionPattern("mine.dense", "pattern"),
    ],
)
def test_patterns_have_names(given):
    with pytest.raises(ArgumentError, match="expected a name and a pattern"):
        transform.FuseOpsByPattern([given])


def test_what_belongs_to_a_pattern_may_be_left_out():
    mod = built(layers)
    weight = wildcard()
    pattern = is_op("relax.matmul")(wildcard(), weight)
    named = {"weight": weight}
    forms = [
        ("mine.dense", pattern, None, None, None),
        ("mine.dense", pattern, named),
        ("mine.dense", pattern, lambda context: True),
        ("mine.dense", pattern, named, lambda context: "weight" in context.annotated_expr),
        (
            "mine.dense",
            pattern,
            named,
            None,
            lambda parts: {"rank": parts["weight"].struct_info.ndim},
        ),
    ]
    results = [transform.FuseOpsByPattern([form])(mod) for form in forms]
    assert [callees(after).count("fused_mine_dense") for after in results] == [1] * len(forms)
    assert int(results[-1]["fused_mine_dense"].attrs["rank"]) == 2


def test_functions_of_patterns_are_functions():
    with pytest.raises(ArgumentError, match=r"the check of 'mine\.dense' is not a function"):
        transform.FuseOpsByPattern([("mine.dense", dense(), {}, 3)])
    passes = transform.FuseOpsByPattern([("mine.dense", dense(), {}, None, lambda parts: None)])
    with pytest.raises(ArgumentError, match=r"the attrs_getter of 'mine\.dense' returned None"):
        passes(built(layers))


def test_names_of_functions_are_names():
    after = transform.FuseOpsByPattern([("my-library.dense relu", dense_relu())])(built(layers))
    assert callees(after)[0] == "fused_my_library_dense_relu"
    assert after["fused_my_library_dense_relu"].attrs["Composite"] == "my-library.dense relu"


def test_what_is_only_asked_for_its_dtype_is_not_moved():
    pattern = is_op("relax.nn.relu")(wildcard().has_dtype("float32").has_shape([4, 4]))
    mod = built(lambda bb, x, w: bb.emit(op.nn.relu(bb.emit(op.matmul(x, w)))))
    after = transform.FuseOpsByPattern([("mine.relu", pattern)])(mod)
    assert callees(after) == ["matmul", "fused_mine_relu"]
    assert_same(mod, after)
