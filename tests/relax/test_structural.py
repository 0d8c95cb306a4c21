"""Equality, hashes and files of graph functions."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from tests.relax.builders import array

from tilewright import ir, relax
from tilewright.error import StructuralMismatchError
from tilewright.ir import Var as Size
from tilewright.ir import structural_equal, structural_hash
from tilewright.relax import op


def module(*, size="n", variable="x", constant=1.0, extent=4, cast_to=None):
    n = Size(size, "int64")
    x = relax.Var(variable, array(n, extent))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            scaled = builder.emit(
                op.call_dps_packed("scale", (x, relax.const(constant)), array(n * 2, 4))
            )
            if cast_to is not None:
                scaled = builder.match_cast(scaled, array(Size(cast_to, "int64"), 4))
            out = builder.emit_output(op.call_dps_packed("id", (scaled,), scaled.struct_info))
        builder.emit_func_output((out, x))
    return builder.get()


def equal(a, b):
    """Equality, which equal hashes must follow."""
    result = structural_equal(a, b)
    if result:
        assert structural_hash(a) == structural_hash(b)
    return result


def test_names_of_variables_and_sizes_do_not_count():
    assert equal(module(), module(size="m", variable="y"))
    assert equal(module(cast_to="k"), module(cast_to="l"))


@pytest.mark.parametrize(
    "change", [{"constant": 2.0}, {"extent": 5}, {"cast_to": "k"}, {"constant": np.float64(1)}]
)
def test_what_is_computed_counts(change):
    assert not equal(module(), module(**change))
    assert structural_hash(module()) != structural_hash(module(**change))


def test_free_variables_are_equal_only_to_themselves():
    x, y = (relax.Var(name, array(2)) for name in "xy")
    assert equal(relax.Tuple([x, x]), relax.Tuple([x, x]))
    assert not equal(relax.Tuple([x, x]), relax.Tuple([x, y]))
    assert not equal(x, y)
    assert structural_equal(x, y, map_free_vars=True)
    assert not structural_equal(relax.Tuple([x, x]), relax.Tuple([x, y]), map_free_vars=True)
    z = relax.Var("z", array(3))
    assert not structural_equal(x, z, map_free_vars=True)


def test_the_place_of_a_difference_is_named():
    x, y = (relax.Var(name, array(2)) for name in "xy")
    with pytest.raises(StructuralMismatchError, match=r"<root>\.fields\[1\]: x vs y"):
        ir.assert_structural_equal(relax.Tuple([x, x]), relax.Tuple([x, y]))
    place = r"main\.params\[0\]\.struct_info\.shape\.values\[1\]"
    with pytest.raises(StructuralMismatchError, match=place):
        ir.assert_structural_equal(module(), module(extent=5))


def test_the_struct_info_of_a_bound_variable_counts():
    def function(info):
        x = relax.Var("x", array(2))
        y = relax.Var("y", info)
        binding = relax.VarBinding(y, op.call_packed("f", x))
        body = relax.SeqExpr((relax.BindingBlock((binding,)),), y)
        return relax.Function((x,), body, relax.ObjectStructInfo(), False)

    assert equal(function(array(2)), function(array(2)))
    assert not equal(function(array(2)), function(array(3)))


def test_a_signature_has_sizes_of_its_own():
    def signature(used):
        n, m = Size("n", "int64"), Size("m", "int64")
        return relax.FuncStructInfo([array(n, m)], array({"n": n, "m": m}[used]))

    assert equal(signature("n"), signature("n"))
    assert not equal(signature("n"), signature("m"))


def test_a_size_used_twice_differs_from_two_sizes():
    n, m = Size("n", "int64"), Size("m", "int64")
    once = relax.FuncStructInfo([array(n, n)], array(n))
    assert not equal(once, relax.FuncStructInfo([array(n, m)], array(n)))


@pytest.mark.parametrize("copy", [lambda m: ir.load_json(ir.save_json(m)), None])
def test_modules_survive_files(copy):
    copy = copy or (lambda m: pickle.loads(pickle.dumps(m)))
    original = module(cast_to="k")
    restored = copy(original)
    assert equal(original, restored)
    assert restored["main"].body.blocks[0].bindings[0].var.struct_info is not None


def test_graphs_are_loaded_where_no_graph_was_made_before():
    text = ir.save_json(module())
    script = (
        "import sys; from tilewright import ir; m = ir.load_json(sys.stdin.read()); "
        "print(ir.structural_hash(m))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], input=text, capture_output=True, text=True, check=True
    )
    assert int(result.stdout) == structural_hash(module())


def test_functions_share_no_sizes():
    def module_of(first, second):
        functions = {}
        for name, size in (("f", first), ("g", second)):
            x = relax.Var("x", array(size, 2))
            functions[name] = relax.Function((x,), relax.SeqExpr((), x), array(size, 2))
        return ir.IRModule(functions)

    n, m = Size("n", "int64"), Size("m", "int64")
    assert equal(module_of(n, n), module_of(n, m))
    assert structural_hash(module_of(n, n)) == structural_hash(module_of(n, m))
    assert not equal(module_of(n, n), ir.IRModule({"f": module_of(n, n)["f"]}))
    assert not equal(ir.IRModule({"f": module_of(n, n)["f"]}), module_of(n, n))


def test_the_sizes_of_a_signature_are_its_own():
    def signature(size, other, result=None):
        infos = [array(size, other), array(size)]
        return relax.FuncStructInfo(infos, array(size * 2 if result is None else result))

    n, m, k = (Size(name, "int64") for name in "nmk")
    assert equal(signature(n, n), signature(m, m))
    assert not equal(signature(n, n), signature(n, m))
    assert equal(signature(n, m, k), signature(m, n, k))
    assert not equal(signature(n, m, n), signature(n, m, k))

    def around(outer, own):  # in a function where a size of the same signature means something
        f, x = relax.Var("f", signature(own, own)), relax.Var("x", array(outer))
        builder = relax.BlockBuilder()
        with builder.function("main", [x, f]):
            builder.emit(f)
            builder.emit_func_output(x)
        return builder.get()

    assert equal(around(n, n), around(m, k))
