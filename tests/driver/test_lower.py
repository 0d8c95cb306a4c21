"""`tvm.lower`."""
# ruff: noqa: E501, the expected text has lines of its own length

import textwrap

import pytest

import tilewright as tvm
from tilewright import te
from tilewright.error import ArgumentError


def chain():
    """exp of a matrix product, summed along the rows."""
    a, b = te.placeholder((16, 12), name="A"), te.placeholder((12, 16), name="B")
    k = te.reduce_axis((0, 12), "k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((16, 16), lambda i, j: te.exp(c[i, j]), name="D")
    r = te.reduce_axis((0, 16), "r")
    e = te.compute((16,), lambda i: te.sum(d[i, r], axis=r), name="E")
    return a, b, c, d, e


def test_a_schedule_becomes_loops_over_flat_buffers():
    a, b, c, _, e = chain()
    s = te.create_schedule(e.op)
    (k,) = c.op.reduce_axis
    i, j = c.op.axis
    j_outer, j_inner = s[c].split(j, 4)
    s[c].reorder(i, j_outer, k, j_inner)
    text = tvm.lower(s, [a, b], name="chain").script()
    assert (
        text[text.index("def ") :]
        == textwrap.indent(
            textwrap.dedent("""\
    def chain(A: T.Buffer((16, 12), "float32"), B: T.Buffer((12, 16), "float32")):
        T.func_attr({"from_legacy_te_schedule": T.bool(True), "tir.noalias": T.bool(True)})
        C = T.allocate([256], "float32", "global")
        E = T.allocate([16], "float32", "global")
        C_1 = T.Buffer((256,), data=C)
        for i, j_outer in T.grid(16, 4):
            for j_inner_init in range(4):
                C_1[i * 16 + j_outer * 4 + j_inner_init] = T.float32(0.0)
            for k, j_inner in T.grid(12, 4):
                cse_var_2: T.int32 = j_outer * 4
                cse_var_1: T.int32 = i * 16 + cse_var_2 + j_inner
                A_1 = T.Buffer((192,), data=A.data)
                B_1 = T.Buffer((192,), data=B.data)
                C_1[cse_var_1] = C_1[cse_var_1] + A_1[i * 12 + k] * B_1[k * 16 + cse_var_2 + j_inner]
        C_2 = T.Buffer((256,), data=C)
        for i, j in T.grid(16, 16):
            cse_var_3: T.int32 = i * 16 + j
            C_2[cse_var_3] = T.exp(C_1[cse_var_3])
        for i in range(16):
            E_1 = T.Buffer((16,), data=E)
            E_1[i] = T.float32(0.0)
            for r in range(16):
                E_1[i] = E_1[i] + C_2[i * 16 + r]"""),
            "    ",
        ).lstrip()
    )


def test_a_function_is_named_and_a_module_keeps_its_functions():
    a, b, *_, e = chain()
    func = te.create_prim_func([a, b, e]).with_attr("global_symbol", "f")
    assert tvm.lower(func)["main"].global_symbol == "main"
    assert tvm.lower(func, [], name="h")["h"].global_symbol == "h"
    module = tvm.IRModule({"f": func, "g": func.with_attr("global_symbol", "g")})
    lowered = tvm.lower(module)
    assert [v.name_hint for v in lowered] == ["f", "g"]
    assert "T.block" not in lowered.script()
    assert "T.block" in module.script()


def test_simple_mode_keeps_dimensions_and_indices():
    a, b, *_, e = chain()
    text = tvm.lower(te.create_schedule(e.op), [a, b, e], simple_mode=True).script()
    assert "C_1[i, j] = C_1[i, j] + A[i, k] * B[k, j]" in text
    assert "cse_var" not in text


def test_simple_mode_shows_the_memory_that_is_needed():
    a, b, c, d, _ = chain()
    s = te.create_schedule(d.op)
    s[c].compute_at(s[d], d.op.axis[1])
    text = tvm.lower(s, [a, b, d], simple_mode=True).script()
    assert 'C = T.allocate([1, 1], "float32", "global")' in text


def test_mistakes():
    a, b, *_, e = chain()
    s = te.create_schedule(e.op)
    with pytest.raises(ArgumentError, match="`args` must list the parameters"):
        tvm.lower(s)
    with pytest.raises(ArgumentError, match="input B, which C reads, is not among"):
        tvm.lower(s, [a, e])
    with pytest.raises(ArgumentError, match="a PrimFunc has its own parameters"):
        tvm.lower(te.create_prim_func([a, b, e]), [a, b, e])
    with pytest.raises(ArgumentError, match="got int"):
        tvm.lower(3)
