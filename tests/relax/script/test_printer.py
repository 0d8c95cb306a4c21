"""How graphs print."""

# ruff: noqa: RET504

import inspect
import subprocess
import sys

import pytest

from tilewright import relax
from tilewright.error import StructuralMismatchError
from tilewright.ir import GlobalVar, IRModule, assert_structural_equal
from tilewright.ir.expr import Var as Size
from tilewright.ir.module import VDevice
from tilewright.relax.op.table import OPERATORS, register
from tilewright.relax.script.operators import function_of
from tilewright.script import from_source
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.tir.index_map import IndexMap
from tilewright.transform import Sequential

n = Size("n", "int64")
x = relax.Var("x", relax.TensorStructInfo((n, 4), "float32"))
gv = GlobalVar("kernel")
row = relax.TensorStructInfo((n,), "float32")

EXPRESSIONS = [
    (R.add(x, x), "R.add(x, x)"),
    (R.nn.relu(x), "R.nn.relu(x)"),
    (R.astype(x, "float16"), 'R.astype(x, dtype="float16")'),
    (R.call_tir(gv, (x,), row),
     'R.call_tir(cls.kernel, (x,), out_sinfo=R.Tensor((n,), dtype="float32"))'),
    (R.call_tir(gv, x, [row, row], [n]), "R.call_tir(cls.kernel, (x,), out_sinfo=[R.Tensor((n,), "
     'dtype="float32"), R.Tensor((n,), dtype="float32")], tir_vars=R.shape([n]))'),
    (R.call_tir_inplace(gv, (x, x), [1], row), "R.call_tir_inplace(cls.kernel, (x, x), "
     'out_sinfo=R.Tensor((n,), dtype="float32"), inplace_indices=[1])'),
    (R.call_dps_packed("f", (), row),
     'R.call_dps_packed("f", R.tuple(), out_sinfo=R.Tensor((n,), dtype="float32"))'),
    (R.call_pure_packed("f", R.ExternFunc("g")), 'R.call_pure_packed("f", R.ExternFunc("g"))'),
    (R.print((R.ExternFunc("g"), 1)), 'R.print((R.ExternFunc("g"), R.prim_value(1)))'),
    (R.call_packed("f", x, 1), 'R.call_packed("f", x, R.prim_value(1))'),
    (R.call_packed("f", sinfo_args=R.Object()), 'R.call_packed("f", sinfo_args=(R.Object,))'),
    (R.call_pure_packed("f", x, sinfo_args=row),
     'R.call_pure_packed("f", x, sinfo_args=(R.Tensor((n,), dtype="float32"),))'),
    (R.call_inplace_packed("f", x, inplace_indices=0, sinfo_args=row), 'R.call_inplace_packed("f", '
     'x, sinfo_args=(R.Tensor((n,), dtype="float32"),), inplace_indices=[0])'),
    (R.invoke_closure(x, (x,), row),
     'R.invoke_closure(x, (x,), sinfo_args=(R.Tensor((n,), dtype="float32"),))'),
    (R.make_closure(gv, (x, x)), "R.make_closure(cls.kernel, (x, x))"),
    (R.assert_op(x, x, "{}"), 'R.assert_op(x, x, format="{}")'),
    (R.print(x, x), "R.print(x, x)"),
    (R.null_value(), "R.null_value()"),
    (relax.Call(gv, [x]), "cls.kernel(x)"),
    (x(x), "x(x)"),
    (relax.Call(x, [x], {"a": 1}), 'R.Call(x, (x,), attrs={"a": 1})'),
    (relax.ExternFunc("f"), 'R.ExternFunc("f")'),
    (relax.TupleGetItem(relax.Tuple([x]), 0), "R.TupleGetItem((x,), 0)"),
    (relax.ShapeExpr([n * 2 + 1, 3]), "R.shape([n * 2 + 1, 3])"),
    (relax.PrimValue(n - 1), "R.prim_value(n - 1)"),
    (relax.TensorStructInfo(relax.Var("s", relax.ShapeStructInfo(ndim=1))), "R.Tensor(s)"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "text"), EXPRESSIONS)
def test_expressions(node, text):
    assert repr(node) == text
    assert str(node) == text


def test_a_part_of_a_graph_is_printed_after_what_it_uses():
    assert R.add(x, x).script() == (
        'n = T.int64()\nx: R.Tensor((n, 4), dtype="float32")\nR.add(x, x)'
    )


def test_a_comment_about_a_binding():
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(R.exp(x)))
    function = builder.get()["main"]
    (binding,) = function.body.blocks[0].bindings
    text = function.script(obj_to_annotate={binding.value: "slow", binding: "here"})
    assert '    gv: R.Tensor((n, 4), dtype="float32") = R.exp(x)  # slow; here' in text
    assert_structural_equal(from_source(text), function)


def test_an_operator_whose_function_makes_something_else_is_printed_in_full():
    op = register("test.script_only", ("a",), lambda inference: inference.tensor(0))
    call = relax.Call(op, [x], {"axes": (1, 2)})
    text = 'R.Call("relax.test.script_only", (x,), attrs={"axes": [1, 2]})'
    assert repr(call) == text
    assert repr(relax.Call(R.add(x, x).op, [x, x], {"odd": 1})).startswith('R.Call("relax.add", ')


TRANSPOSED = IndexMap.from_func(lambda i, j: (j, i))
GUESSES = {
    "axes": [0], "axis": 0, "dst_vdevice": VDevice("llvm"), "dtype": "float32",
    "index_map": TRANSPOSED, "indices_or_sections": 2, "newshape": (2, 3), "pad_width": [0, 1],
    "pool_size": (2, 2), "repeats": 2, "shape": (2, 3),
    "subscripts": "ij->i",
}  # fmt: skip
"""Attributes that have no default."""
KERNELS = ("call_tir", "call_tir_inplace", "call_tir_with_grad", "call_dps_packed")
"""Calls of functions that must be there; see above."""
WITH_FUNCTIONS = [
    op for op in OPERATORS if function_of(op.name) and op.name.removeprefix("relax.") not in KERNELS
]


@pytest.mark.parametrize("op", WITH_FUNCTIONS, ids=lambda op: op.name)
def test_every_operator_is_printed_as_the_call_of_its_function(op):
    function = function_of(op.name)
    names = [name.rstrip("*") for name in OPERATORS[op].arguments]
    positional, keywords = [], {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += [x, x]
        elif name in GUESSES and parameter.default is parameter.empty:
            keywords[name] = GUESSES[name]
        elif name == "inplace_indices":
            keywords[name] = [0]
        elif name == "func":
            positional.append(gv if op.name == "relax.make_closure" else "f")
        elif name in names or parameter.default is parameter.empty:
            keywords[name] = x
    call = function(*positional, **keywords)
    assert repr(call).startswith(f"R.{op.name.removeprefix('relax.')}(")


def test_annotations_that_follow_may_be_left_out():
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        y = R.exp(x)
        z: R.Tensor(ndim=2) = R.exp(y)
        return z

    assert 'y: R.Tensor((2, 3), dtype="float32") = R.exp(x)' in main.script()
    short = main.script(show_all_struct_info=False)
    assert "y = R.exp(x)\n" in short
    assert "z: R.Tensor(ndim=2) = R.exp(y)" in short
    assert_structural_equal(from_source(short), main)


def test_names_of_the_namespaces_may_be_others():
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return R.shape_of(x)

    text = main.script(relax_prefix="relax", tir_prefix="tir", name="other")
    assert "# from tilewright.script import relax as relax" in text
    assert "n = tir.int64()" in text
    assert "relax.shape_of(x)" in text
    assert_structural_equal(from_source(text), main)


def test_a_module_of_graphs_alone_imports_nothing_else():
    module = IRModule({"main": R.function(private=True)(identity)})
    text = module.script()
    assert "import tir" not in text
    assert "import relax as R" in text


def identity(x: R.Object):
    return x


def test_where_two_functions_differ_is_underlined():
    def function(op):
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.exp(x)
            z = op(y)
            return z

        return main

    with pytest.raises(StructuralMismatchError) as caught:
        assert_structural_equal(function(R.exp), function(R.tanh))
    lines = str(caught.value).splitlines()
    position = next(i for i, line in enumerate(lines) if "R.tanh(y)" in line)
    below = lines[position + 1]
    assert lines[position][below.index("^") :].startswith("R.tanh(y)")
    assert sum("^" in line for line in lines) == 2


def test_scripts_of_tensor_programs_load_nothing_of_graphs():
    code = (
        "import sys, tilewright.script as s, tilewright.script.printer\n"
        "assert not [m for m in sys.modules if m.startswith('tilewright.relax')]\n"
        "s.relax.function\n"
        "assert 'tilewright.relax.script.parser' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_the_namespace_has():
    names = dir(R)
    assert {"Tensor", "function", "add", "nn", "call_tir", "output"} <= set(names)
    assert "relu" in dir(R.nn)
    assert repr(R.nn) == "R.nn"
    with pytest.raises(AttributeError, match=r"did you mean R\.add\?"):
        R.ad
    with pytest.raises(AttributeError, match=r"did you mean R\.function\?"):
        R.functio


def test_attributes_of_fused_functions_are_kept():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                y = R.exp(R.negative(x))
                R.output(y)
            return y

    passes = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern()]
    module = Sequential([*passes, relax.transform.FuseOps()])(Module)
    assert '"Primitive": 1' in module.script()
    assert_structural_equal(from_source(module.script()), module)
