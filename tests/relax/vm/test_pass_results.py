"""Modules after the passes are kept between processes."""

import numpy as np
import pytest
from tests.relax.builders import array, module_of, twice
from tests.relax.vm.programs import perceptron, perceptron_inputs

import tilewright as tvm
from tilewright import relax
from tilewright.ir import structural_equal
from tilewright.relax import op
from tilewright.relax.transform import LegalizeOps
from tilewright.relax.vm import pass_results


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """The names of the pipelines that were run, with a cache of their own."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    found = []
    original = pass_results.get_pipeline

    def get_pipeline(name):
        passes = original(name)

        def run(module):
            found.append(name)
            return passes(module)

        return run

    monkeypatch.setattr(pass_results, "get_pipeline", get_pipeline)
    return found


def weighted(weight, name="x"):
    x = relax.Var(name, array(4))
    half = relax.const(np.array([1, 2], "float16"))

    def body(builder):
        scaled = builder.emit(op.multiply(op.exp(x), relax.const(np.full(4, weight, "float32"))))
        return relax.Tuple([scaled, half])

    return module_of([x], body)


def test_the_second_time_no_pass_runs(runs):
    x = np.arange(4, dtype="float32")
    results = []
    for _ in range(2):
        ex = relax.build(weighted(3))
        results.append(ex.mod)
        scaled, half = relax.VirtualMachine(ex)["main"](x)
        np.testing.assert_allclose(scaled.numpy(), np.exp(x) * 3, rtol=1e-5)
        assert half.numpy().tolist() == [1, 2]
    assert runs == ["default_build"]
    assert structural_equal(*results)


def test_constants_without_dimensions_keep_their_shape(runs):
    x = relax.Var("x", array())
    for _ in range(2):
        module = module_of([x], lambda b: relax.Tuple([relax.const(0.5), b.emit(op.exp(x))]))
        half, one = relax.VirtualMachine(relax.build(module))["main"](np.zeros((), "float32"))
        assert (half.shape, one.shape) == ((), ())
        assert float(half.numpy()) == 0.5
    assert len(runs) == 1


def test_what_the_result_depends_on_is_part_of_the_key(runs):
    relax.build(weighted(3))
    relax.build(weighted(4))
    relax.build(weighted(3, "y"))
    relax.build(weighted(3), pipeline="zero")
    relax.build(weighted(3), "llvm -mcpu=x86-64")
    with tvm.transform.PassContext(disabled_pass=["FoldConstant"]):
        relax.build(weighted(3))
    with tvm.transform.PassContext(opt_level=0):
        relax.build(weighted(3))
    assert len(runs) == 7


def test_a_damaged_file_is_no_result(runs, tmp_path):
    relax.build(weighted(3))
    for path in tmp_path.glob("*/*"):
        path.write_bytes(path.read_bytes()[:-3])
    ex = relax.build(weighted(3))
    assert len(runs) == 2
    assert relax.VirtualMachine(ex)["main"](np.zeros(4, "float32"))[0].numpy().tolist() == [3] * 4


def test_operators_of_others_are_lowered_again(runs):
    x = relax.Var("x", array(4))
    for _ in range(2):
        relax.build(module_of([x], lambda b: b.emit(twice(x))))
    assert len(runs) == 2


def test_passes_that_are_watched_run(runs):
    class Watching(tvm.ir.instrument.PassInstrument):
        pass

    for _ in range(2):
        with tvm.transform.PassContext(instruments=[Watching()]):
            relax.build(weighted(3))
    assert len(runs) == 2


def test_a_pass_of_ones_own_runs_each_time(runs):
    calls = []

    def passes(module):
        calls.append(module)
        return LegalizeOps()(module)

    for _ in range(2):
        relax.build(weighted(3), pipeline=passes)
    assert len(calls) == 2


def test_without_a_directory_all_passes_run(runs, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "")
    for _ in range(2):
        relax.build(weighted(3))
    assert len(runs) == 2


def test_modules_with_tensor_programs_are_kept_too(runs):
    inputs, expected = perceptron_inputs()
    for _ in range(2):
        result = relax.VirtualMachine(relax.build(perceptron()))["main"](*inputs)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-5)
    assert len(runs) == 1
