"""The classes of containers that programs ask for."""

import pytest

import tilewright as tvm
from tilewright import tir
from tilewright.ir import Array, Map


@pytest.mark.parametrize("module", [tvm.ir, tvm.ir.container, tvm.container])
def test_containers_are_those_of_python(module):
    assert (module.Array, module.Map) == (Array, Map)


def test_fields_of_nodes_are_containers():
    n = tir.Var("n", "int32")
    func = tir.PrimFunc([n], tir.Evaluate(n)).with_attr("global_symbol", "f")
    assert isinstance(func.params, Array)
    assert isinstance(func.attrs, Map)
    assert isinstance(func.buffer_map, Map)
    assert isinstance([n], Array)
    assert isinstance({}, Map)
    for other in (n, "n", {}, 3):
        assert not isinstance(other, Array)
    assert not isinstance([n], Map)


def test_containers_are_made():
    assert Array([1, 2]) == (1, 2)
    assert Map({"a": 1}) == {"a": 1}
    assert isinstance(Array(), Array)
