"""Which operators are computed together."""

import pytest
from tests.relax.transform import fusion_programs as programs
from tests.relax.transform.fusion_programs import array, bindings_of, built, grouped, groups

from tilewright import relax, tir, topi
from tilewright.error import ArgumentError
from tilewright.ir import structural_equal
from tilewright.relax import transform
from tilewright.relax.transform.fusion_graph import FusionGraph, nodes_between
from tilewright.tir.analysis.pattern_kind import PatternKind

X, W, B = {"x": array(4, 8)}, {"w": array(8, 8)}, {"b": array(8)}


def emit(builder, function, *args):
    return builder.emit_te(function, *args, primfunc_name_hint=function.__name__)


def chain(*functions):
    """Functions of one array one after the other."""

    def make(builder, value, *_):
        for function in functions:
            value = emit(builder, function, value)
        return value

    return make


def linear(builder, x, w, b):
    return emit(builder, programs.add, emit(builder, programs.matmul, x, w), b)


def test_what_is_elementwise_follows_a_product():
    mod = built(X | W | B, lambda bb, *a: emit(bb, programs.relu, linear(bb, *a)))
    assert groups(mod) == [["matmul", "add", "relu"]]


def test_the_residual_is_added_to_the_product_that_comes_last():
    def make(builder, x, w, b):
        first = linear(builder, x, w, b)
        return emit(builder, programs.add, linear(builder, x, w, b), first)

    assert groups(built(X | W | B, make)) == [["matmul", "add"], ["matmul", "add", "add1"]]


def test_a_product_is_not_computed_where_it_is_read():
    mod = built(X | W, lambda bb, x, w: emit(bb, programs.matmul, emit(bb, programs.relu, x), w))
    assert groups(mod) == [["relu"], ["matmul"]]


def test_two_products_stay_apart():
    def make(builder, x, w):
        return emit(builder, programs.matmul, emit(builder, programs.matmul, x, w), w)

    assert groups(built(X | W, make)) == [["matmul"], ["matmul"]]


def test_a_product_whose_results_are_broadcast_stays_apart():
    def make(builder, x, b):
        return emit(builder, programs.spread, x, emit(builder, programs.total, x))

    assert groups(built(X | B, make)) == [["total"], ["spread"]]


def test_chains_of_elementwise_operators():
    assert groups(built(X, chain(programs.relu, programs.twice, programs.relu))) == [
        ["relu", "twice", "relu"]
    ]


def test_a_value_that_is_read_twice():
    def make(builder, x):
        y = emit(builder, programs.relu, x)
        return emit(builder, programs.add, emit(builder, programs.twice, y), y)

    assert groups(built(X, make)) == [["relu", "twice", "add"]]


def test_no_group_goes_around_another_operator():
    def make(builder, x):
        y = emit(builder, programs.relu, x)
        return emit(builder, programs.add, emit(builder, programs.running, y), y)

    assert groups(built(X, make)) == [["relu"], ["running"], ["add"]]


def test_reductions_take_what_comes_before_and_after():
    mod = built(X, chain(programs.relu, programs.total, programs.twice))
    assert groups(mod) == [["relu", "total", "twice"]]


def test_functions_of_rows_take_what_comes_before_and_after():
    mod = built(X, chain(programs.twice, programs.normalize, programs.relu))
    assert groups(mod) == [["twice", "normalize", "relu"]]


def test_only_one_reduction_in_a_group():
    mod = built(X, chain(programs.normalize, programs.twice, programs.total))
    assert groups(mod) == [["normalize", "twice"], ["total"]]


def test_what_follows_a_product_is_not_a_part_of_the_next_function_of_rows():
    def make(builder, x, w):
        scaled = emit(builder, programs.twice, emit(builder, programs.matmul, x, w))
        return emit(builder, programs.normalize, scaled)

    assert groups(built(X | W, make)) == [["matmul", "twice"], ["normalize"]]


def test_transpositions_are_fused_with_elementwise_operators():
    mod = built(X, chain(programs.relu, programs.transpose, programs.twice))
    assert groups(mod) == [["relu", "transpose", "twice"]]


def test_transpositions_do_not_follow_products():
    def make(builder, x, w):
        return emit(builder, programs.transpose, emit(builder, programs.matmul, x, w))

    assert groups(built(X | W, make)) == [["matmul"], ["transpose"]]


def test_levels():
    mod = built(X, chain(programs.twice, programs.total, programs.relu))
    moved = built(X, chain(programs.transpose, programs.relu))
    assert groups(mod, 0) == [["twice"], ["total"], ["relu"]]
    assert groups(mod, 1) == [["twice"], ["total", "relu"]]
    assert groups(mod, 2) == [["twice", "total", "relu"]]
    assert groups(moved, 2) == [["transpose"], ["relu"]]
    assert groups(moved, 3) == [["transpose", "relu"]]
    with pytest.raises(ArgumentError, match="fuse_opt_level is -1 to 3"):
        transform.FuseOps(4)


def test_fields_of_tuples():
    def one_half(builder, x):
        return emit(builder, programs.relu, emit(builder, programs.halves, x)[0])

    def both_halves(builder, x):
        both = emit(builder, programs.halves, x)
        return emit(builder, programs.add, both[0], both[1])

    assert groups(built(X, one_half)) == [["halves", "relu"]]
    assert groups(built(X, both_halves)) == [["halves", "add"]]


def test_values_that_are_used_outside_end_a_group():
    builder = relax.BlockBuilder()
    x = relax.Var("x", array(4, 8))
    with builder.function("main", [x]):
        with builder.dataflow():
            first = builder.emit_output(builder.call_te(programs.relu, x))
            second = builder.emit_output(builder.call_te(programs.twice, first))
        builder.emit_func_output(relax.Tuple([first, second]))
    assert groups(builder.get()) == [["relu"], ["twice"]]


def test_nothing_is_fused_outside_of_dataflow_blocks():
    builder = relax.BlockBuilder()
    x = relax.Var("x", array(4, 8))
    with builder.function("main", [x]):
        value = builder.emit_te(programs.relu, x)
        builder.emit_func_output(builder.emit_te(programs.twice, value))
    mod = transform.AnnotateTIROpPattern()(builder.get())
    assert transform.FuseOps()(mod) is mod


def test_functions_with_schedules_are_not_fused():
    mod = built(X, chain(programs.relu, programs.twice))
    sch = tir.Schedule(mod["twice"])
    sch.split(sch.get_loops("twice")[1], [None, 4])
    mod["twice"] = sch.mod["main"]
    annotated = transform.AnnotateTIROpPattern()(mod)
    assert int(annotated["relu"].attrs["op_pattern"]) == 0
    assert int(annotated["twice"].attrs["op_pattern"]) == 8
    assert groups(mod) == [["relu"], ["twice"]]


def test_the_pattern_may_be_given():
    mod = built(X, chain(programs.relu, programs.twice))
    mod["twice"] = mod["twice"].with_attr("op_pattern", 8)
    assert groups(mod) == [["relu"], ["twice"]]


def test_symbolic_sizes():
    n = tir.Var("n", "int64")
    mod = built({"x": array(n, 8)}, chain(programs.relu, programs.twice))
    fused = grouped(mod)
    (name,) = {var.name_hint for var in fused.functions} - {var.name_hint for var in mod.functions}
    (param,) = fused[name].params
    size = param.struct_info.extents[0]
    assert size is not n
    assert fused[name].ret_struct_info.extents[0] is size
    assert structural_equal(bindings_of(fused["main"])[0].var.struct_info, array(n, 8))


def test_sizes_that_no_array_tells_are_parameters():
    n = tir.Var("n", "int64")

    def make(builder, x):
        return emit(builder, programs.twice, emit(builder, programs.shifted, x, n))

    fused = grouped(built({"x": array(n * 2)}, make))
    (call,) = [b.value for b in bindings_of(fused["main"]) if isinstance(b.value, relax.Call)]
    assert isinstance(call.args[1], relax.ShapeExpr)
    assert call.args[1].values[0] is n


@pytest.mark.parametrize(
    ("length", "product", "found"), [(3, False, 3), (3, True, None), (80, False, None)]
)
def test_what_is_between_is_looked_for_only_as_far_as_it_may_be_fused(length, product, found):
    def make(builder, x, w):
        first = value = emit(builder, programs.twice, x)
        if product:
            value = emit(builder, programs.matmul, value, w)
        for _ in range(length):
            value = emit(builder, programs.relu, value)
        return emit(builder, programs.add, value, first)

    mod = transform.AnnotateTIROpPattern()(built(X | W, make))
    graph = FusionGraph(mod["main"].body.blocks[0], mod)
    looked_at = []

    def may_join(node):
        looked_at.append(node)
        return node.kind <= PatternKind.INJECTIVE

    between = nodes_between(graph.nodes[0], graph.nodes[0].parent, may_join, 64)
    assert (None if between is None else len(between)) == found
    assert len(looked_at) <= 64


def test_the_module_stays_as_it_is():
    mod = built(X, chain(programs.relu, programs.twice))
    functions = dict(mod.functions)
    grouped(mod)
    assert all(mod[var] is func for var, func in functions.items())
    assert len(mod) == len(functions)


def test_what_windows_find_around_an_image_is_computed_with_them():
    image = {"x": array(1, 4, 6, 6)}

    def pad(x):
        return topi.nn.pad(x, (0, 0, 1, 1), (0, 0, 1, 1), 3.0)

    def windows(x):
        return topi.nn.pool2d(x, (3, 3), (1, 1), (1, 1), (0, 0, 0, 0), "max")

    def transposed(x):
        return topi.transpose(x, (0, 1, 3, 2))

    def both(builder, x):
        y = emit(builder, pad, x)
        return emit(builder, programs.add, emit(builder, windows, y), emit(builder, windows, y))

    assert groups(built(image, chain(pad, windows, programs.relu))) == [["pad", "windows", "relu"]]
    assert groups(built(image, chain(pad, programs.relu))) == [["pad", "relu"]]
    assert ["pad"] in groups(built(image, both))  # it is needed twice
    assert groups(built(image, chain(transposed, windows))) == [["transposed"], ["windows"]]
