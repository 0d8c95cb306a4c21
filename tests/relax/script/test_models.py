"""Whole models as a tutorial writes them: parsed, printed, and parsed again."""

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax
from tilewright.ir import assert_structural_equal
from tilewright.script import from_source
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T
from tilewright.script.relax import Tensor


@tvm.script.ir_module
class Mixture:
    @T.prim_func
    def linear0(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
        m, n, k = T.int64(), T.int64(), T.int64()
        X = T.match_buffer(x, (1, m), "float32")
        W = T.match_buffer(w, (n, m), "float32")
        B = T.match_buffer(b, (n,), "float32")
        Z = T.match_buffer(z, (1, n), "float32")
        Y = T.alloc_buffer((1, n), "float32")
        for i, j, k in T.grid(1, n, m):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, n):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @R.function
    def main(
        x: R.Tensor((1, "m"), "float32"),
        w0: R.Tensor(("n", "m"), "float32"),
        b0: R.Tensor(("n",), "float32"),
        w1: R.Tensor(("k", "n"), "float32"),
        b1: R.Tensor(("k",), "float32"),
    ):
        m, n, k = T.int64(), T.int64(), T.int64()  # noqa: F841
        with R.dataflow():
            lv0 = R.call_dps_packed("linear0", (x, w0, b0), R.Tensor((1, n), "float32"))
            lv1 = R.call_dps_packed("env.relu", (lv0,), R.Tensor((1, n), "float32"))
            out = R.call_dps_packed("env.linear", (lv1, w1, b1), R.Tensor((1, k), "float32"))
            R.output(out)
        return out


@I.ir_module
class TwoBlocks:
    @R.function
    def main(
        x: R.Tensor((1, "m"), "float32"),
        w0: R.Tensor(("n", "m"), "float32"),
        b0: R.Tensor(("n",), "float32"),
        w1: R.Tensor(("k", "n"), "float32"),
        b1: R.Tensor(("k",), "float32"),
    ):
        m, n, k = T.int64(), T.int64(), T.int64()  # noqa: F841

        with R.dataflow():
            lv0 = R.call_dps_packed("linear0", (x, w0, b0), R.Tensor((1, n), "float32"))
            gv0 = R.call_dps_packed("relu0", (lv0,), R.Tensor((1, n), "float32"))
            R.output(gv0)

        with R.dataflow():
            out = R.call_dps_packed("linear0", (gv0, w1, b1), R.Tensor((1, k), "float32"))
            R.output(out)
        return out


@I.ir_module
class OldForms:
    @T.prim_func
    def linear0(
        X: T.Buffer((1, 8), "float32"),
        W: T.Buffer((4, 8), "float32"),
        B: T.Buffer((4,), "float32"),
        Z: T.Buffer((1, 4), "float32"),
    ):
        T.func_attr({"global_symbol": "linear0", "tir.noalias": True})
        for i, j in T.grid(1, 4):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = X[vi, vj] * W[vj, 0] + B[vj]

    @R.function
    def main(
        x: Tensor((1, 8), "float32"),
        w0: Tensor((4, 8), "float32"),
        b0: Tensor((4,), "float32"),
        w1: Tensor((2, 4), "float32"),
        b1: Tensor((2,), "float32"),
    ):
        with R.dataflow():
            lv0 = R.call_tir(linear0, (x, w0, b0), (1, 4), dtype="float32")  # noqa: F821
            lv1 = R.call_tir("env.relu", (lv0,), (1, 4), dtype="float32")
            out = R.call_tir("env.linear", (lv1, w1, b1), (1, 2), dtype="float32")
            R.output(out)
        return out


MODELS = [Mixture, TwoBlocks, OldForms]


@pytest.mark.parametrize("model", MODELS)
def test_a_model_prints_as_a_text_that_parses_to_the_same(model):
    again = from_source(model.script())
    assert_structural_equal(again, model)
    assert again.script() == model.script()


def test_a_string_of_the_signature_and_a_variable_of_the_body_are_one_size():
    main = Mixture["main"]
    n = main.params[1].struct_info.extents[0]
    out = main.body.blocks[0].bindings[0].value.sinfo_args[0]
    assert out.extents[1] is n
    assert str(n.dtype) == "int64"


def test_only_outputs_of_a_dataflow_block_are_known_after_it():
    (block,) = Mixture["main"].body.blocks
    kinds = [type(binding.var) for binding in block.bindings]
    assert kinds == [relax.DataflowVar, relax.DataflowVar, relax.Var]
    assert Mixture["main"].body.body is block.bindings[-1].var


def test_the_old_form_of_call_tir_is_the_new_one():
    calls = [b.value for b in OldForms["main"].body.blocks[0].bindings]
    assert [call.op.name for call in calls] == [
        "relax.call_tir", "relax.call_dps_packed", "relax.call_dps_packed",
    ]  # fmt: skip
    expected = relax.TensorStructInfo((1, 4), "float32")
    assert_structural_equal(calls[0].sinfo_args[0], expected)


BOUND = """\
    @R.function
    def main(x: R.Tensor((1, 784), dtype="float32")) -> R.Tensor((1, 10), dtype="float32"):
        with R.dataflow():
            lv0 = R.call_dps_packed("linear0", (x, metadata["relax.expr.Constant"][0], \
metadata["relax.expr.Constant"][1]), out_sinfo=R.Tensor((1, 128), dtype="float32"))
            lv1 = R.call_dps_packed("env.relu", (lv0,), \
out_sinfo=R.Tensor((1, 128), dtype="float32"))
            out = R.call_dps_packed("env.linear", (lv1, metadata["relax.expr.Constant"][2], \
metadata["relax.expr.Constant"][3]), out_sinfo=R.Tensor((1, 10), dtype="float32"))
            R.output(out)
        return out
# Metadata omitted. Use show_meta=True in script() method to show it."""


def with_parameters():
    shapes = {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
    params = {name: np.full(shape, 0.5, "float32") for name, shape in shapes.items()}
    return relax.transform.BindParams("main", params)(Mixture)


def test_a_module_after_its_parameters_were_bound_prints_as_a_tutorial_shows_it():
    text = with_parameters().script()
    assert text.endswith(BOUND)
    assert text.startswith(
        "# from tilewright.script import ir as I\n"
        "# from tilewright.script import tir as T\n"
        "# from tilewright.script import relax as R\n"
        "\n"
        "@I.ir_module\n"
        "class Module:\n"
        "    @T.prim_func\n"
        "    def linear0(x: T.handle, w: T.handle, b: T.handle, z: T.handle):\n"
        "        m = T.int64()\n"
        "        X = T.match_buffer(x, (1, m))\n"
        "        n = T.int64()\n"
        "        W = T.match_buffer(w, (n, m))\n"
    )


def test_the_text_with_the_data_of_constants_parses_to_the_same():
    module = with_parameters()
    text = module.script(show_meta=True)
    assert_structural_equal(from_source(text), module)
    assert "Metadata omitted" not in text
