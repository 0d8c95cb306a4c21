"""Graph expressions and struct info as plain data."""

import numpy as np
import pytest

from tilewright import ir, relax
from tilewright.error import ArgumentError, ShapeError
from tilewright.ir import structural_equal
from tilewright.ir.dtype import PrimType
from tilewright.ir.expr import Var as SizeVariable
from tilewright.relax.expr import as_relax
from tilewright.script import relax as R
from tilewright.tir import Evaluate, PrimFunc, decl_buffer


def test_a_shape_is_int64_whatever_it_is_made_of():
    n = SizeVariable("n", "int32")
    shape = relax.ShapeExpr([n, 3])
    assert [str(value.dtype) for value in shape.values] == ["int64", "int64"]
    assert shape.struct_info.ndim == 2


def test_an_array_knows_its_rank_and_extents():
    info = relax.TensorStructInfo((1, 784), "float32")
    assert info.ndim == 2
    assert [extent.value for extent in info.extents] == [1, 784]
    assert relax.TensorStructInfo(ndim=3).extents is None
    assert relax.TensorStructInfo().ndim == -1


def test_a_rank_that_contradicts_the_shape_is_refused():
    with pytest.raises(ShapeError, match="2 dimensions, but ndim is 3"):
        relax.TensorStructInfo((1, 784), "float32", ndim=3)


def test_negative_and_fractional_extents_are_refused():
    with pytest.raises(ShapeError, match="extent 1 of a shape is -2"):
        relax.ShapeExpr([1, -2])
    with pytest.raises(ArgumentError, match="extent 0 of a shape is an integer"):
        relax.ShapeExpr([1.5])


def test_constants_keep_their_elements():
    constant = relax.const([1.0, 2.0])
    assert constant.struct_info.dtype == "float32"
    np.testing.assert_array_equal(constant.data.numpy(), [1.0, 2.0])


def test_python_values_become_expressions():
    converted = as_relax((1, "name", np.ones(2, "float32")))
    kinds = [type(field) for field in converted.fields]
    assert kinds == [relax.PrimValue, relax.StringImm, relax.Constant]
    with pytest.raises(ArgumentError, match="expected a graph expression"):
        as_relax(object())


def test_tuples_know_their_fields():
    a = relax.Var("a", relax.TensorStructInfo((2,), "float32"))
    pair = relax.Tuple([a, 3])
    assert isinstance(pair.struct_info, relax.TupleStructInfo)
    variable = relax.Var("t", pair.struct_info)
    first, second = variable
    assert structural_equal(first.struct_info, a.struct_info)
    assert isinstance(second.struct_info, relax.PrimStructInfo)
    with pytest.raises(ArgumentError, match="only tuples have fields"):
        a[0]


def test_variables_are_equal_only_to_themselves():
    a, b = (relax.Var("a", relax.TensorStructInfo((2,), "float32")) for _ in range(2))
    assert a == a
    assert a != b
    assert len({a, b}) == 2


def test_rewriters_tell_graph_variables_from_scalar_ones():
    class Count(ir.Rewriter):
        scalar = graph = 0

        def Var(self, var):
            self.scalar += 1
            return var

        def RelaxVar(self, var):
            self.graph += 1
            return var.map_children(self)

    n = SizeVariable("n", "int64")
    count = Count()
    count(relax.Tuple([relax.Var("a", relax.ShapeStructInfo([n]))]))
    assert (count.scalar, count.graph) == (1, 1)


def test_ordinary_blocks_that_follow_each_other_are_one():
    x, y, z = (relax.Var(name, relax.ObjectStructInfo()) for name in "xyz")
    first, second, third = (relax.VarBinding(var, x) for var in (y, z, relax.Var("w")))
    plain, dataflow = relax.BindingBlock, relax.DataflowBlock
    joined = relax.SeqExpr([plain((first,)), plain((second,)), dataflow((third,))], z)
    assert [type(block) for block in joined.blocks] == [plain, dataflow]
    assert joined.blocks[0].bindings == (first, second)
    apart = (dataflow((first,)), dataflow((second,)), plain((third,)))
    assert relax.SeqExpr(apart, z).blocks is apart


def test_python_does_not_know_the_truth_of_an_array():
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    with pytest.raises(TypeError, match=r"R\.maximum"):
        max(x, relax.const([1.0, 2.0]))
    with pytest.raises(TypeError, match="does not know the value"):
        bool(x)


def test_variables_have_a_name_and_struct_info():
    with pytest.raises(ArgumentError, match="the name is a string, got 3"):
        relax.Var(3)
    for wrong in (3, (2, 3), R.Tensor, relax.ShapeExpr([2])):
        with pytest.raises(ArgumentError, match=r"relax.Var 'x': expected struct info, such as"):
            relax.Var("x", wrong)
    with pytest.raises(ArgumentError, match=r"R.Tensor with symbolic sizes, outside of a script"):
        relax.DataflowVar("x", R.Tensor(("n",), "float32"))


def test_tensor_programs_have_struct_info():
    n, m = SizeVariable("n", "int32"), SizeVariable("m", "int64")
    handle, pointer = SizeVariable("A", "handle"), SizeVariable("p", "handle")
    func = PrimFunc(
        [handle, m, pointer], Evaluate(0), None, {handle: decl_buffer((n, m, 4), "float16")}
    )
    info = func.struct_info
    assert isinstance(info, relax.FuncStructInfo)
    assert not info.purity
    array, size, other = info.params
    assert [extent.dtype for extent in array.extents] == ["int64"] * 3
    assert array.extents[1] is m
    assert array.dtype == "float16"
    assert size.dtype == "int64"
    assert isinstance(other, relax.ObjectStructInfo)
    assert info.ret.fields == ()
    returning = func.replace(ret_type=PrimType("float32"))
    assert returning.struct_info.ret.dtype == "float32"
