"""Looking at graph functions while they run."""

import json

import numpy as np
import pytest
from tests.relax.builders import array, module_of
from tests.relax.vm.programs import perceptron, perceptron_inputs

import tilewright as tvm
from tilewright import relax
from tilewright.error import ArgumentError
from tilewright.relax.op.base import make_closure
from tilewright.relax.vm import VMInstrumentReturnKind


def machine(module):
    return relax.VirtualMachine(relax.build(module), tvm.cpu(), profile=True)


def test_a_profile_names_each_kernel():
    inputs, _ = perceptron_inputs(300, 400, 500)
    report = machine(perceptron()).profile("main", *inputs)
    assert {kernel.name: kernel.calls for kernel in report.kernels} == {"linear": 2, "relu": 1}
    assert sum(kernel.share for kernel in report.kernels) == pytest.approx(1)
    flops = {kernel.name: kernel.flops for kernel in report.kernels}
    assert flops == {"linear": 2 * (300 * 400 + 400 * 500), "relu": 400}
    lines = str(report).splitlines()
    assert lines[0].split() == ["kernel", "calls", "us", "share", "GFLOP/s"]
    assert lines[-1].split()[:2] == ["total", "3"]
    assert report.seconds < 1
    assert [row["name"] for row in json.loads(report.json())] == [k.name for k in report.kernels]
    header, *rows = report.csv().splitlines()
    assert header.startswith("name,calls,seconds")
    assert [row.split(",")[0] for row in rows] == [k.name for k in report.kernels]


def test_operations_of_tiles_that_stick_out_are_not_counted():
    inputs, _ = perceptron_inputs()
    module = perceptron()
    module.update_func(
        module.get_global_var("linear"), module["linear"].with_attr("tir.is_scheduled", True)
    )
    report = machine(module).profile("main", *inputs, repeat=1)
    flops = {kernel.name: kernel.flops for kernel in report.kernels}
    assert flops == {"linear": None, "relu": 7}


def test_registered_functions_are_timed_too():
    tvm.register_func("test.observe.relu", lambda x, y: np.from_dlpack(y).fill(0), override=True)
    inputs, _ = perceptron_inputs()
    report = machine(perceptron("test.observe.relu")).profile("main", *inputs, repeat=2)
    (row,) = (kernel for kernel in report.kernels if kernel.name == "test.observe.relu")
    assert row.flops is None
    assert row.flops_per_second is None


def test_tuples_can_be_profiled():
    pair = relax.Var("pair", relax.TupleStructInfo([array(2), array(2)]))
    x = np.ones(2, "float32")
    module = module_of([pair], lambda b: b.emit(relax.op.add(pair[0], pair[1])))
    (row,) = machine(module).profile("main", (x, x)).kernels
    assert row.calls == 1


def test_an_instrument_sees_the_arrays_of_each_step():
    inputs, expected = perceptron_inputs()
    vm, seen = machine(perceptron()), []

    def instrument(function, name, before_run, return_value, *args):
        assert function is None
        assert return_value is None
        seen.append((name, before_run, [arg.shape for arg in args]))
        if name == "relu" and not before_run:
            np.testing.assert_array_equal(args[1].numpy(), np.maximum(args[0].numpy(), 0))

    vm.set_instrument(instrument)
    np.testing.assert_allclose(vm["main"](*inputs).numpy(), expected, rtol=1e-5, atol=1e-5)
    assert [(name, before) for name, before, _ in seen] == [
        ("linear", True), ("linear", False), ("relu", True), ("relu", False),
        ("linear", True), ("linear", False),
    ]  # fmt: skip
    assert seen[0][2] == [(1, 5), (7, 5), (7,), (1, 7)]
    vm.set_instrument(None)
    vm["main"](*inputs)
    assert len(seen) == 6


def test_an_instrument_can_skip_and_replace_a_step():
    inputs, _ = perceptron_inputs()
    x, w0, b0, w1, b1 = inputs
    vm = machine(perceptron())

    def without_relu(function, name, before_run, return_value, *args):
        if name == "relu" and before_run:
            args[1][:] = args[0].numpy()
            return VMInstrumentReturnKind.SKIP_RUN
        return None

    vm.set_instrument(without_relu)
    expected = (x @ w0.T + b0) @ w1.T + b1
    np.testing.assert_allclose(vm["main"](*inputs).numpy(), expected, rtol=1e-5, atol=1e-5)


def test_an_error_of_an_instrument_arrives():
    inputs, _ = perceptron_inputs()
    vm = machine(perceptron())
    vm.set_instrument(lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        vm["main"](*inputs)


def test_a_library_can_be_profiled(tmp_path):
    inputs, _ = perceptron_inputs()
    built = relax.build(perceptron())
    built.export_library(tmp_path / "model.so", profiled=True)
    loaded, expected = relax.VirtualMachine(tmp_path / "model.so"), relax.VirtualMachine(built)
    profiled = [vm.profile("main", *inputs, repeat=2) for vm in (loaded, expected)]
    calls = [{kernel.name: kernel.calls for kernel in profile.kernels} for profile in profiled]
    assert calls[0] == calls[1]
    outputs = [vm["main"](*inputs).numpy() for vm in (loaded, expected)]
    np.testing.assert_array_equal(*outputs)


def test_what_shows_no_steps_says_so(tmp_path):
    inputs, _ = perceptron_inputs()
    relax.build(perceptron()).export_library(tmp_path / "model.so")
    loaded = relax.VirtualMachine(tmp_path / "model.so")
    with pytest.raises(ArgumentError, match="this library shows no steps"):
        loaded.profile("main", *inputs)
    with pytest.raises(ArgumentError, match="this library shows no steps"):
        loaded.set_instrument(print)
    x = relax.Var("x", array(2))
    builder = relax.BlockBuilder()
    with builder.function("inner", [x], private=True):
        builder.emit_func_output(x)
    inner, y = builder.get().get_global_var("inner"), relax.Var("y", array(2))
    with builder.function("main", [y]):
        builder.emit_func_output(builder.emit(make_closure(inner, [y])))
    vm = machine(builder.get())
    with pytest.raises(ArgumentError, match="main is evaluated"):
        vm.profile("main", np.ones(2, "float32"))
    with pytest.raises(ArgumentError, match="main is evaluated"):
        vm.time_evaluator("main", tvm.cpu())
