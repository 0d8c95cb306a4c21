"""Functions with fixed arguments: saving, timing; and functions that programs call by name."""

import numpy as np
import pytest
from tests.relax.builders import array, module_of

import tilewright as tvm
from tilewright import relax
from tilewright.error import ArgumentError
from tilewright.relax import op
from tilewright.runtime import ShapeTuple


@pytest.fixture
def vm():
    x = relax.Var("x", array(4))
    module = module_of([x], lambda builder: builder.emit(op.add(x, x)))
    return relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())


def test_saved_functions_are_timed(vm):
    vm.save_function("main", "saved", np.ones(4, "float32"))
    timer = vm.time_evaluator("saved", tvm.cpu(), number=2, repeat=3)
    assert len(timer().results) == 3
    np.testing.assert_array_equal(vm["saved"]().numpy(), 2)


def test_stateful_calls_are_timed(vm):
    vm.set_input("main", np.ones(4, "float32"))
    timer = vm.time_evaluator("invoke_stateful", tvm.cpu(), number=2, repeat=3)
    assert timer("main").mean > 0
    with pytest.raises(ArgumentError, match="set_input"):
        vm.time_evaluator("invoke_stateful", tvm.cpu())("main_into")


def test_functions_by_name_pass_arrays_on():
    x = relax.Var("x", array(4))

    def make(builder):
        call = op.call_pure_packed("vm.builtin.to_device", x, 1, 0, sinfo_args=array(4))
        moved = builder.emit(call)
        return builder.emit(op.call_pure_packed("vm.builtin.copy", moved, sinfo_args=array(4)))

    vm = relax.VirtualMachine(relax.build(module_of([x], make), "llvm"), tvm.cpu())
    np.testing.assert_array_equal(vm["main"](np.arange(4, dtype="float32")).numpy(), range(4))


def test_shapes_are_passed_as_shape_tuples():
    n = tvm.tir.Var("n", "int64")
    shape = relax.Var("s", relax.ShapeStructInfo((n, 2)))
    module = module_of([shape], lambda builder: builder.emit(op.full((n,), 1.5, "float32")))
    vm = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    assert vm["main"](ShapeTuple([3, 2])).shape == (3,)
    assert ShapeTuple(np.array([3, 2])) == (3, 2)
    for mistake in ([1.5], [-1], 3):
        with pytest.raises(ArgumentError, match="ShapeTuple"):
            ShapeTuple(mistake)
