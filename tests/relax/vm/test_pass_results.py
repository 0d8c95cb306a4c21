"""Modules after the passes are kept between processes."""

import numpy as np
import pytest
from tests.relax.builders import array, module_of, twice
from tests.relax.vm.programs import perceptron, perceptron_inputs

import tilewright as tvm
from tilewright import relax
from tilewright.ir import structural_equal
from tilewright.relax import op
from tilewright.relax.transform import LegalizeOps, Normalize
from tilewright.relax.vm import driver
from tilewright.relax.vm.kept_programs import kept_program


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """The names of the pipelines that were run, with a cache of their own."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    found = []
    original = driver.get_pipeline

    def get_pipeline(name):
        passes = original(name)

        def run(module):
            found.append(name)
            return passes(module)

        return run

    monkeypatch.setattr(driver, "get_pipeline", get_pipeline)
    return found


X = relax.Var("x", array())
"""A number."""


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


@pytest.fixture
def compilations(runs, monkeypatch):
    """The modules that were compiled."""
    found = []
    original = driver.compile_graphs

    def compile_graphs(module, graphs):
        found.append(module)
        return original(module, graphs)

    monkeypatch.setattr(driver, "compile_graphs", compile_graphs)
    return found


def test_the_second_time_nothing_is_compiled(compilations, tmp_path):
    x = np.arange(4, dtype="float32")
    first, second = (relax.build(weighted(3)) for _ in range(2))
    for ex in (first, second):
        np.testing.assert_allclose(
            relax.VirtualMachine(ex)["main"](x)[0].numpy(), np.exp(x) * 3, rtol=1e-5
        )
    assert len(compilations) == 1
    assert first.module.function_names() == second.module.function_names()
    # What running does not need is made when it is asked for.
    assert first.stats() == second.stats()
    assert len(compilations) == 2
    assert first.module.get_source() == second.module.get_source()
    relax.VirtualMachine(second.export_library(tmp_path / "kept.so"))["main"](x)
    assert len(compilations) == 2


def test_what_is_compiled_later_has_the_options_of_the_program(compilations):
    with tvm.transform.PassContext(opt_level=0):
        first, second = (relax.build(weighted(3)) for _ in range(2))
    with tvm.transform.PassContext(disabled_pass=["tir.UnrollLoop"]):
        units = [ex.compiled.units.values() for ex in (first, second)]
    assert len(compilations) == 2
    assert [u.symbol for u in units[0]] == [u.symbol for u in units[1]]


def test_code_without_its_constants_is_compiled_again(compilations, tmp_path):
    relax.build(weighted(3))
    for path in tmp_path.glob("*/*"):
        if b'"IRModule"' in path.read_bytes():
            path.unlink()
    ex = relax.build(weighted(3))
    assert len(compilations) == 2
    assert relax.VirtualMachine(ex)["main"](np.zeros(4, "float32"))[0].numpy().tolist() == [3] * 4


def test_code_is_for_the_module_beside_it(runs):
    relax.build(weighted(3))
    kept = kept_program(Normalize()(weighted(3)), tvm.target.Target("llvm"), "default_build")
    assert kept.code() is not None
    kept.keep_module(kept.module().with_attr("numbered", "in another order"))
    assert kept.code() is None


def test_what_python_evaluates_is_compiled_each_time(compilations):
    builder = relax.BlockBuilder()
    y, z = relax.Var("y", array(4)), relax.Var("z", array(4))
    with builder.function("shift", [y, z], private=True):
        builder.emit_func_output(builder.emit(op.add(y, z)))
    x = relax.Var("x", array(4))
    with builder.function("main", [x]):
        closure = builder.emit(op.make_closure(builder.get().get_global_var("shift"), [x]))
        called = op.invoke_pure_closure(closure, [x], sinfo_args=array(4))
        builder.emit_func_output(builder.emit(called))
    for count in (1, 2):
        ex = relax.build(builder.get())
        assert len(compilations) == count
        assert list(ex.reasons) == ["main"]
        assert relax.VirtualMachine(ex)["main"](np.ones(4, "float32")).numpy().tolist() == [2] * 4


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


def names_of_passes(module):
    """The passes of `relax.build`, in order, and the module after each."""
    found = []

    class Note(tvm.ir.instrument.PassInstrument):
        def run_after_pass(self, mod, info):
            found.append((info.name, mod))

    with tvm.transform.PassContext(instruments=[Note()]):
        relax.build(module, "llvm")
    return found


def test_the_passes_of_kernels_are_watched_though_kernels_are_kept(runs):
    relax.build(weighted(3), "llvm")
    names = [name for name, _ in names_of_passes(weighted(3))]
    steps = ["LegalizeOps", "default_build", "tir.DefaultSchedule", "tir.VectorizeLoop"]
    positions = [names.index(name) for name in (*steps, "tir.MakePackedAPI", "target.build.llvm")]
    assert positions == sorted(positions)
    # For each of two kernels, and for the graph functions.
    assert names.count("target.build.llvm") == 3


def test_what_a_pass_gave_stays_as_it_is():
    for _, module in names_of_passes(module_of([X], lambda b: b.emit(op.less(X, X)))):
        for func in module.functions.values():
            if "tir.is_weak" in func.attrs:
                assert "T_less" not in [buffer.name for buffer in func.buffer_map.values()]


def test_kernels_depend_on_the_level(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    x = np.arange(4, dtype="float32")
    symbols = set()
    for level in (0, 1, 0):
        with tvm.transform.PassContext(opt_level=level):
            ex = relax.build(weighted(3), "llvm")
        symbols |= {unit.symbol for unit in ex.compiled.units.values()}
        np.testing.assert_allclose(
            relax.VirtualMachine(ex)["main"](x)[0].numpy(), np.exp(x) * 3, rtol=1e-5
        )
    assert len(symbols) == 4  # two kernels
