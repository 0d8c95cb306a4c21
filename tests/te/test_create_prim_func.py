"""The functions of blocks that tensor expressions become."""

import textwrap

import numpy as np
import pytest

import tilewright.te as te
from tilewright import tir
from tilewright.error import ArgumentError, DTypeError
from tilewright.tir import BufferStore
from tilewright.tir.analysis import verify_well_formed
from tilewright.tir.interpreter import interpret


def body_of(*args, **options):
    """The text of the function below its signature and attributes."""
    text = te.create_prim_func(list(args), **options).script()
    return text[text.index('# with T.block("root")') :]


def expect(text):
    return textwrap.indent(textwrap.dedent(text).strip("\n"), "    ").lstrip()


def test_a_reduction_and_its_reader():
    x = te.placeholder((8, 6), name="X")
    k = te.reduce_axis((0, 6), "k")
    total = te.compute((8,), lambda row: te.sum(x[row, k], axis=k), name="total")
    mean = te.compute((8,), lambda row: total[row] / 6.0, name="mean")
    func = te.create_prim_func([x, mean])
    assert func.global_symbol == "main"
    assert set(func.attrs) == {"global_symbol", "tir.noalias"}
    assert body_of(x, mean) == expect(
        """
        # with T.block("root"):
        total = T.alloc_buffer((8,))
        for row, k in T.grid(8, 6):
            with T.block("total"):
                v_row, v_k = T.axis.remap("SR", [row, k])
                T.reads(X[v_row, v_k])
                T.writes(total[v_row])
                with T.init():
                    total[v_row] = T.float32(0.0)
                total[v_row] = total[v_row] + X[v_row, v_k]
        for row in range(8):
            with T.block("mean"):
                v_row = T.axis.spatial(8, row)
                T.reads(total[v_row])
                T.writes(mean[v_row])
                mean[v_row] = total[v_row] / T.float32(6.0)
        """
    )


def test_an_intermediate_tensor_can_be_a_parameter():
    x = te.placeholder((8,), name="X")
    y = te.compute((8,), lambda i: x[i] + 1.0, name="Y")
    z = te.compute((8,), lambda i: y[i] * 2.0, name="Z")
    func = te.create_prim_func([x, z, y])
    assert [func.buffer_map[p].name for p in func.params] == ["X", "Z", "Y"]
    assert func.body.block.alloc_buffers == ()


def test_without_dimensions():
    x, s = te.placeholder((), name="X"), te.var("s", "float32")
    y = te.compute((), lambda: x() * s, name="Y")
    assert body_of(x, s, y) == expect(
        """
        # with T.block("root"):
        with T.block("Y"):
            vi = T.axis.spatial(1, 0)
            T.reads(X[()])
            T.writes(Y[()])
            Y[()] = X[()] * s
        """
    )


def test_regions_of_several_reads_are_united():
    x = te.placeholder((8, 9), name="X")
    y = te.compute((6, 9), lambda i, j: x[i, 8 - j] + x[i + 2, j] + x[i + 1, 0], name="Y")
    assert "T.reads(X[v_i:v_i + 3, 0:9])" in body_of(x, y)


def test_a_condition_guards_the_update_and_not_the_initialisation():
    x = te.placeholder((8,), name="X")
    k = te.reduce_axis((0, 8), "k")
    y = te.compute((1,), lambda i: te.sum(x[k], axis=k, where=x[k] > 0.0, init=x[i]), name="Y")
    assert body_of(x, y) == expect(
        """
        # with T.block("root"):
        for i, k in T.grid(1, 8):
            with T.block("Y"):
                v_i, v_k = T.axis.remap("SR", [i, k])
                T.reads(X[0:8])
                T.writes(Y[v_i])
                with T.init():
                    Y[v_i] = X[v_i]
                if X[v_k] > T.float32(0.0):
                    Y[v_i] = Y[v_i] + X[v_k]
        """
    )


def test_components_are_computed_before_any_is_stored():
    x = te.placeholder((8,), name="X")
    k = te.reduce_axis((0, 8), "k")
    both = te.comm_reducer(
        lambda a, b: (a[0] + b[0], a[1] * b[1]), lambda p, q: (te.const(0, p), te.const(1, q))
    )
    outs = te.compute((2,), lambda i: both((x[k], x[k]), axis=k), name="P")
    assert body_of(x, *outs).endswith(
        """\
            v_P_v0: T.float32 = P_v0[v_i] + X[v_k]
            v_P_v1: T.float32 = P_v1[v_i] * X[v_k]
            P_v0[v_i] = v_P_v0
            P_v1[v_i] = v_P_v1"""
    )


def test_several_outputs_are_several_blocks():
    x = te.placeholder((8,), name="X")
    low, high = te.compute((8,), lambda i: (x[i] - 1.0, x[i] + 1.0), name="P")
    text = body_of(x, high)
    assert 'T.block("P_v0")' in text
    assert 'T.block("P_v1")' in text
    assert "P_v0 = T.alloc_buffer((8,))" in text
    assert low.op is high.op


def test_blocks_of_the_same_name_are_numbered():
    x = te.placeholder((8,), name="X")
    y = x + 1.0 + x + 2.0
    names = [line.strip() for line in body_of(x, y).splitlines() if "T.block(" in line][1:]
    assert names == [
        'with T.block("T_add"):',
        'with T.block("T_add_1"):',
        'with T.block("T_add_2"):',
    ]


def test_variables_of_lets_are_as_wide_as_the_indices_that_they_are_in():
    A = te.placeholder((8,), name="A")
    x = tir.Var("x", "int32")

    def element(i):
        return A[tir.Let(x, (i * 3) % 8, tir.max(x, 7 - x))] + A[tir.Let(x, i % 2, x * 2 + i // 2)]

    narrow, wide = (
        te.create_prim_func([A, te.compute((8,), element, "B")], index_dtype_override=dtype)
        for dtype in (None, "int64")
    )
    assert "int32" not in wide.script()
    data, results = np.arange(8, dtype="float32"), [np.zeros(8, "float32") for _ in range(2)]
    for func, result in zip((narrow, wide), results, strict=True):
        interpret(func, data, result)
    np.testing.assert_array_equal(*results)


def test_index_dtype_override():
    n = te.var("n")
    x = te.placeholder((n, 4), name="X")
    y = te.compute((n, 4), lambda i, j: x[i, 3 - j] + i.astype("float32"), name="Y")
    k = te.reduce_axis((0, 4), "k")
    z = te.compute((n,), lambda i: te.max(y[i, k], axis=k), name="Z")
    text = te.create_prim_func([x, z], index_dtype_override="int64").script()
    assert "n = T.int64()" in text
    assert "T.grid(n, T.int64(4))" in text
    assert "X[v_i, T.int64(3) - v_j]" in text
    assert 'T.Cast("float32", T.Cast("int32", v_i))' in text
    with pytest.raises(DTypeError, match="float32"):
        te.create_prim_func([x, z], index_dtype_override="float32")


def test_extern_substitutes_its_buffers():
    x = te.placeholder((4, 5), name="X")
    y = te.compute((4, 5), lambda i, j: x[i, j] * 2.0, name="Y")

    def fcompute(ins, outs):
        return BufferStore(outs[0], ins[0][1, 2], (te.const(0),))

    z = te.extern((3,), [y], fcompute, name="Z")
    text = body_of(x, z)
    assert "T.reads(Y[0:4, 0:5])" in text
    assert "T.writes(Z[0:3])" in text
    assert text.endswith("Z[0] = Y[1, 2]")


def test_extern_of_a_packed_call_gets_the_memory_of_the_tensors():
    x = te.placeholder((4,), name="X")
    call = te.extern((4,), [x], lambda i, o: te.call_packed("f", i[0], o[0]), name="Z")
    text = te.create_prim_func([x, call]).script()
    assert "X.data" in text
    assert "Z.data" in text


def test_extern_primfunc_inlines_the_function():
    x = te.placeholder((6,), name="X")
    y = te.compute((6,), lambda i: x[i] + 1.0, name="Y")
    func = te.create_prim_func([x, y])
    a = te.placeholder((6,), name="A")
    b = te.extern_primfunc([a], func, name="plus")
    c = te.compute((6,), lambda i: b[i] * 2.0, name="C")
    text = body_of(a, c)
    assert 'T.block("plus")' in text
    assert "plus[v_i] = A[v_i] + T.float32(1.0)" in text


def test_scan_runs_its_body_step_by_step():
    x, state = te.placeholder((5, 3), name="X"), te.placeholder((5, 3), name="S")
    first = te.compute((1, 3), lambda _, i: x[0, i], name="first")
    twice = te.compute((5, 3), lambda t, i: state[t - 1, i] * 2.0, name="twice")
    update = te.compute((5, 3), lambda t, i: twice[t, i] + x[t, i], name="update")
    result = te.scan(first, update, state, inputs=[x], name="out")
    text = body_of(x, result)
    assert "for out_t in range(1, 5):" in text
    assert "v_t = T.axis.scan(5, out_t)" in text
    assert (
        text.index("for out_t") < text.index('T.block("twice")') < text.index('T.block("update")')
    )
    assert "out[v_t, v_i] = twice[v_t, v_i] + X[v_t, v_i]" in text


X = te.placeholder((4, 4), name="X")


def undefined_axis():
    k = te.reduce_axis((0, 4), "k")
    return [X, te.compute((4,), lambda i: X[i, k], name="Y")]


def axis_of_another_operation():
    y = te.compute((4,), lambda i: X[i, i], name="Y")
    return [X, te.compute((4,), lambda j: X[j, y.op.axis[0]], name="Z")]


def unknown_size():
    n = te.var("n")
    y = te.compute((n,), lambda i: 1.0, name="Y")
    return [X, te.compute((4,), lambda i: y[i] + X[i, i], name="Z")]


def unlisted_scalar():
    return [X, te.compute((4,), lambda i: X[i, i] * te.var("scale", "float32"), name="Y")]


def test_scan_over_an_extent_of_another_dtype():
    n = te.var("n", "int64")
    x, state = te.placeholder((n,), name="x"), te.placeholder((n,), name="state")
    update = te.compute((n,), lambda t: state[t - 1] + x[t], name="step")
    result = te.scan(te.compute((1,), lambda _: x[0]), update, state, inputs=[x], name="out")
    verify_well_formed(te.create_prim_func([x, result]))


def reader_of_scan_body():
    state = te.placeholder((5,), name="S")
    update = te.compute((5,), lambda t: state[t - 1] + 1.0, name="update")
    r = te.scan(te.compute((1,), lambda _: 0.0), update, state)
    return [te.compute((5,), lambda i: r[i] + update[i], name="Y")]


def scan_body_at_another_step():
    state = te.placeholder((5,), name="S")
    mid = te.compute((5,), lambda t: state[t - 1] + 1.0, name="mid")
    update = te.compute((5,), lambda t: mid[t - 1], name="update")
    return [te.scan(te.compute((1,), lambda _: 0.0), update, state)]


MISTAKES = [
    (lambda: [te.compute((4,), lambda i: X[i, i], name="Y")], "input X, which Y reads, is not"),
    (lambda: [X, X], "tensor X is listed twice"),
    (lambda: [X, "Y"], "parameter 1 is 'Y'"),
    (undefined_axis, "variable k is neither an axis of Y"),
    (axis_of_another_operation, "variable i is neither an axis of Z"),
    (unknown_size, "size n of tensor Y"),
    (unlisted_scalar, "variable scale is neither"),
    (reader_of_scan_body, "read the result of the scan"),
    (scan_body_at_another_step, "reads mid at step t - 1"),
]


@pytest.mark.parametrize(("args", "message"), MISTAKES)
def test_mistakes(args, message):
    with pytest.raises(ArgumentError, match=message):
        te.create_prim_func(args())


def test_extern_mistakes():
    with pytest.raises(ArgumentError, match="statement or a call"):
        te.extern((4,), [X], lambda ins, outs: None)
    with pytest.raises(ArgumentError, match="give `dtype`"):
        te.extern((4,), [], lambda ins, outs: None)
    with pytest.raises(ArgumentError, match="2 dtypes for 1 outputs"):
        te.extern((4,), [X], lambda ins, outs: None, dtype=["float32", "int32"])
    with pytest.raises(ArgumentError, match="leave no output"):
        te.extern_primfunc([X, X], te.create_prim_func([X, X + 1.0]))
    with pytest.raises(ArgumentError, match="cannot stand for"):
        te.extern_primfunc([te.placeholder((3,))], te.create_prim_func([X, X + 1.0]))


def test_scan_mistakes():
    state = te.placeholder((5, 3), name="S")
    update = te.compute((5, 3), lambda t, i: state[t - 1, i])
    with pytest.raises(ValueError, match="one shape"):
        te.scan(te.compute((1, 4), lambda t, i: 0.0), update, state)
    with pytest.raises(ArgumentError, match=r"the state .* must be"):
        te.scan(te.compute((1, 3), lambda t, i: 0.0), update, update)
    with pytest.raises(ArgumentError, match="1 initial tensors, 2 updates"):
        te.scan([update], [update, update], [state])
