"""Traces in the form of Apache TVM's tuning records."""

import json

import pytest

import tilewright as tvm
from tilewright import te, tir
from tilewright.error import ArgumentValueError
from tilewright.ir import load_json, save_json
from tilewright.tir import Schedule, Trace


def dense_relu():
    X, W = te.placeholder((32, 48), name="X"), te.placeholder((48, 64), name="W")
    k = te.reduce_axis((0, 48), name="k")
    Y = te.compute((32, 64), lambda i, j: te.sum(X[i, k] * W[k, j], axis=k), name="Y")
    Z = te.compute((32, 64), lambda i, j: te.max(Y[i, j], 0.0), name="Z")
    return te.create_prim_func([X, W, Z])


# What the multi-level tiling of a CPU looks like in a record of the system.
TILED = [
    [
        ["GetBlock", [], ["Y", "main"], ["b0"]],
        ["GetBlock", [], ["root", "main"], ["b1"]],
        ["Annotate", ["b0", '"SSRSRS"'], ["meta_schedule.tiling_structure"], []],
        ["GetLoops", ["b0"], [], ["l2", "l3", "l4"]],
        ["SamplePerfectTile", ["l2"], [3, 64], ["v5", "v6", "v7"]],
        ["Split", ["l2", "v5", "v6", "v7"], [1], ["l8", "l9", "l10"]],
        ["SamplePerfectTile", ["l3"], [3, 64], ["v11", "v12", "v13"]],
        ["Split", ["l3", "v11", "v12", "v13"], [1, 0], ["l14", "l15", "l16"]],
        ["Split", ["l4", "None", 4], [1], ["l17", "l18"]],
        ["Reorder", ["l8", "l14", "l9", "l15", "l17", "l10", "l18", "l16"], [], []],
        ["GetConsumers", ["b0"], [], ["b19"]],
        ["ReverseComputeAt", ["b19", "l15"], [1, -1], []],
        ["CacheRead", ["b0", ["b0"]], [1, "global"], ["b20"]],
        ["ComputeAt", ["b20", "l14"], [1, -1], []],
        ["SampleCategorical", [], [[0, 16, 64], [0.5, 0.25, 0.25]], ["v21"]],
        ["Annotate", ["b1", "v21"], ["meta_schedule.unroll_explicit"], []],
        ["EnterPostproc", [], [], []],
        ["Unannotate", ["b1"], ["meta_schedule.unroll_explicit"], []],
        ["Fuse", ["l8", "l14"], [1], ["l22"]],
        ["Parallel", ["l22"], [], []],
        ["Vectorize", ["l16"], [], []],
        ["Annotate", ["l22", 16], ["pragma_auto_unroll_max_step"], []],
        ["DecomposeReduction", ["b0", "l17"], [], ["b23"]],
    ],
    [[4, [4, 2, 4]], [6, [2, 4, 8]], [14, 1]],
]


def by_hand():
    sch = Schedule(dense_relu())
    product = sch.get_block("Y")
    sch.annotate(product, "meta_schedule.tiling_structure", "SSRSRS")
    i, j, k = sch.get_loops(product)
    i0, i1, i2 = sch.split(i, [4, 2, 4])
    j0, j1, j2 = sch.split(j, [2, 4, 8])
    k0, k1 = sch.split(k, [None, 4])
    sch.reorder(i0, j0, i1, j1, k0, i2, k1, j2)
    sch.reverse_compute_at("Z", j1, preserve_unit_loops=True)
    sch.compute_at(sch.cache_read(product, 1, "global"), j0, preserve_unit_loops=True)
    fused = sch.fuse(i0, j0)
    sch.parallel(fused)
    sch.vectorize(j2)
    sch.annotate(fused, "pragma_auto_unroll_max_step", 16)
    sch.decompose_reduction(product, k0)
    return sch


def test_a_trace_of_a_record_gives_the_same_program_as_the_calls():
    sch = Schedule(dense_relu())
    Trace.apply_json_to_schedule(TILED, sch)
    tvm.ir.assert_structural_equal(sch.mod, by_hand().mod)


def test_a_trace_is_written_in_that_form():
    sch = Schedule(dense_relu())
    Trace.apply_json_to_schedule(TILED, sch)
    (instructions, decisions), (expected, taken) = sch.trace.as_json(), TILED
    assert [item[0] for item in instructions] == [item[0] for item in expected]
    for written, read in zip(instructions, expected, strict=True):
        assert written[1] == read[1]
        assert written[2][: len(read[2])] == read[2]
        assert written[3] == read[3]
    assert decisions == taken


def test_what_follows_the_marker_of_postprocessing_can_be_left_out():
    sch = Schedule(dense_relu())
    Trace.apply_json_to_schedule(TILED, sch, remove_postproc=True)
    assert "T.parallel" not in sch.mod.script()


def layouts(*, as_graphs):
    sch = Schedule(dense_relu())
    width = sch.sample_categorical([4, 8], [0.5, 0.5], decision=1)
    sch.transform_layout("Y", ("write", 0), lambda i, j: (i, j // 8, j % 8))
    sch.transform_block_layout("Z", lambda i, j: (i * 64 + j,))
    sch.set_axis_separator("Y", ("write", 0), [1])
    sch.reindex_cache_read("Z", 0, "global", lambda n: (n // 64, n % 64))
    sch.storage_align("Y", 0, 0, 8, 4)
    sch.annotate("Z", "width", width)
    if as_graphs:
        return sch, sch.trace.as_json(index_maps_as_graphs=True)
    return sch, sch.trace.as_json()


@pytest.mark.parametrize("as_graphs", [False, True])
def test_index_maps_are_text_or_graphs_of_nodes(as_graphs):
    sch, form = layouts(as_graphs=as_graphs)
    by_name = {name: (inputs, attrs) for name, inputs, attrs, _ in form[0]}
    inputs, attrs = by_name["TransformLayout"]
    assert attrs == [0, 1, None, 0]  # the first one written, no padding, not assumed injective
    assert isinstance(inputs[1], str if as_graphs else dict)
    assert by_name["StorageAlign"][1] == [0, 0, 8, 4]
    assert by_name["SetAxisSeparator"][1] == [0, 1, [1]]
    again = Schedule(dense_relu())
    Trace.apply_json_to_schedule(json.loads(json.dumps(form)), again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)
    assert again.trace.as_json() == sch.trace.as_json()


def test_traces_of_the_first_version_are_read():
    form = [
        [
            ["get_block", [], ["Z", "main"], ["b0"]],
            ["get_loops", [{"rv": "b0"}], [], ["l1", "l2"]],
            ["split", [{"rv": "l2"}, [None, 8]], [True, False], ["l3", "l4"]],
            ["annotate", [{"rv": "l4"}], ["note", "here"], []],
            ["transform_layout", [{"rv": "b0"}],
             [["read", 0], {"index_map": ["int32", 2, ["i1", "i0"]]}, None, False], []],
        ],
        [],
    ]  # fmt: skip
    sch = Schedule(dense_relu())
    Trace.apply_json_to_schedule(form, sch)
    expected = Schedule(dense_relu())
    _, inner = expected.split(expected.get_loops("Z")[1], [None, 8])
    expected.annotate(inner, "note", "here")
    expected.transform_layout("Z", ("read", 0), lambda i, j: (j, i))
    tvm.ir.assert_structural_equal(sch.mod, expected.mod)


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        (["GetLoops", ["b9"], [], []], "uses b9 before"),
        (["GetBlock", [], ["Y", "main", 3], ["b0"]], "no parameter for the attribute 3"),
        (["Parallel", [1, 2], [], []], "no parameter for the input 2"),
        (["TransformLayout", [], [0, 7], []], "0 .read. or 1 .written."),
        ([["GetBlock"], [], [], []], "the name of a schedule instruction is a string"),
    ],
)
def test_malformed_instructions_are_refused(instruction, message):
    with pytest.raises((ArgumentValueError, tvm.TVMError), match=message):
        Trace.apply_json_to_schedule([[instruction], []], Schedule(dense_relu()))


def test_programs_come_back_from_a_graph_of_nodes():
    A = te.placeholder((8, 12), "float16", name="A")
    B = te.compute(
        (8, 12),
        lambda i, j: te.if_then_else(tir.all(i > 2, j < 9), te.exp(A[i, j]), A[i, 11 - j] * 2.0),
        name="B",
    )
    sch = Schedule(te.create_prim_func([A, B]))
    i, j = sch.get_loops("B")
    sch.vectorize(j)
    sch.annotate(i, "pragma_auto_unroll_max_step", 16)
    sch.annotate("B", "nested", {"numbers": [1, 2.5], "text": "x"})
    for program in (sch.mod, sch.mod["main"]):
        tvm.ir.assert_structural_equal(load_json(save_json(program, "tvm")), program)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"root": 1, "nodes": [{"type_key": ""}]}, "no node 1"),
        ({"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Array", "data": [1]}]}, "itself"),
        ({"root": 0, "nodes": 3}, "malformed"),
        ({"root": 1, "nodes": [{}, {"type_key": "relay.Call"}]}, "relay.Call is not a part"),
        ({"root": 1, "nodes": [{}, {"type_key": "tir.Add", "attrs": {"a": "x"}}]}, "malformed"),
    ],
)
def test_malformed_graphs_are_refused(form, message):
    with pytest.raises(ArgumentValueError, match=message):
        load_json(json.dumps(form))
