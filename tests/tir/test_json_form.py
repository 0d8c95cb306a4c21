"""Programs are the same after a way through JSON."""

import json

import numpy as np
import pytest

from tilewright import relax, te, tir
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.ir import IRModule, structural_equal, structural_hash
from tilewright.script import ir as I
from tilewright.script import tir as T
from tilewright.target import Target
from tilewright.tir.json_form import from_json, to_json


@I.ir_module
class Convolution:
    @T.prim_func
    def main(
        x: T.Buffer((1, 2, 6, 6), "float32"),
        w: T.Buffer((3, 2, 3, 3), "float32"),
        y: T.Buffer((1, 3, 6, 6), "float32"),
    ):
        T.func_attr({"tir.noalias": T.bool(True), "layers": [1, 2], "target": Target("c")})
        padded = T.alloc_buffer((1, 2, 8, 8))
        for n, c, i, j in T.grid(1, 2, 8, 8):
            with T.block("pad"):
                vn, vc, vi, vj = T.axis.remap("SSSS", [n, c, i, j])
                padded[vn, vc, vi, vj] = T.if_then_else(
                    vi >= 1 and vi < 7 and vj >= 1 and vj < 7,
                    x[vn, vc, vi - 1, vj - 1],
                    T.float32(0),
                )
        for n, f, i, j, c, p, q in T.grid(1, 3, 6, 6, 2, 3, 3):
            with T.block("conv"):
                vn, vf, vi, vj, vc, vp, vq = T.axis.remap("SSSSRRR", [n, f, i, j, c, p, q])
                with T.init():
                    y[vn, vf, vi, vj] = T.float32(0)
                y[vn, vf, vi, vj] += padded[vn, vc, vi + vp, vj + vq] * w[vf, vc, vp, vq]


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float16")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = T.exp(T.Cast("float32", A[vi])) + T.float32("inf")


def round_trip(value):
    return from_json(json.loads(json.dumps(to_json(value))))


def scheduled(mod):
    sch = tir.Schedule(mod)
    loops = sch.get_loops("conv")
    outer, _ = sch.split(loops[1], [None, 2])
    sch.parallel(outer)
    sch.vectorize(loops[3])
    sch.annotate(outer, "unroll", 16)
    sch.cache_read("conv", 1, "global")
    return sch.mod


@pytest.mark.parametrize(
    "mod",
    [Convolution, scheduled(Convolution), IRModule.from_expr(symbolic)],
    ids=["convolution", "scheduled", "symbolic"],
)
def test_modules_are_the_same_afterwards(mod):
    found = round_trip(mod)
    assert structural_equal(found, mod, map_free_vars=True)
    assert structural_hash(found) == structural_hash(mod)
    assert found.script() == mod.script()


def test_a_block_of_a_schedule_keeps_its_identity_within_the_module():
    func = round_trip(scheduled(Convolution))["main"]
    assert func.body.block.key is not None


def test_shared_variables_stay_shared():
    n = tir.Var("n", "int32")
    found = round_trip((n, n + 1))
    assert found[1].a is found[0]


def test_a_function_of_te_has_the_same_hash():
    A = te.placeholder((4, 3), name="A")
    k = te.reduce_axis((0, 3), name="k")
    B = te.compute((4,), lambda i: te.max(A[i, k], axis=k), name="B")
    func = te.create_prim_func([A, B])
    assert structural_hash(round_trip(func)) == structural_hash(func)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 1.0, 0.1, 3, True, None, "float32"])
def test_plain_values(value):
    found = round_trip({"value": value})["value"]
    assert found == value
    assert type(found) is type(value)


def test_not_a_number():
    assert str(round_trip(float("nan"))) == "nan"


def test_arrays_keep_dtype_and_values():
    array = np.arange(6, dtype="float16").reshape(2, 3)
    found = round_trip(array)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_a_function_of_python_is_refused():
    with pytest.raises(ArgumentError, match="it is not data"):
        to_json(lambda: None)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"eval": "1 + 1"}, "no node class 'eval'"),
        ({"Var": {"name": "x", "dtype": "int32", "run": 1}}, "no field 'run'"),
        ({"Var": {"name": "x"}}, "Var lacks dtype"),
        ({"ref": 5}, "not a program in JSON"),
        ({"op": "os.system"}, "os.system"),
        ({"a": 1, "b": 2}, "expected one entry"),
        ({"float": "__import__('os')"}, "is not a number"),
        ({"For": []}, "not a program in JSON"),
        ({"Var": {"name": "x", "dtype": "float31"}}, "float31"),
        ({"IRModule": [{"dict": []}]}, "not a program in JSON"),
    ],
)
def test_malformed_forms_are_refused(form, message):
    with pytest.raises((ArgumentValueError, KeyError, TypeError), match=message):
        from_json(form)


def test_arrays_can_be_kept_elsewhere():
    constant = relax.const(np.arange(3, dtype="float32"))
    arrays = []
    form = to_json(relax.Tuple([constant, relax.Constant(constant.data)]), arrays)
    assert arrays == [constant.data]
    assert "base64" not in json.dumps(form)
    back = from_json(json.loads(json.dumps(form)), arrays)
    assert back.fields[1].data is constant.data
    with pytest.raises(ArgumentValueError, match="not a program in JSON"):
        from_json(form, [])


def test_equal_integers_are_one_node_each_with_its_class_checked():
    one = {"IntImm": {"dtype": "int32", "value": 1}}
    wide = {"IntImm": {"dtype": "int64", "value": 1}}
    first, second, third = from_json([one, one, wide])
    assert first is second
    assert (first.dtype, third.dtype) == ("int32", "int64")
    with pytest.raises(ArgumentError, match="value"):
        from_json([one, {"IntImm": {"dtype": "int32", "value": 1.0}}])
