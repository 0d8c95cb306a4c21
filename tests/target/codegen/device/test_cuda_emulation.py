"""The text of CUDA kernels, run by an emulation on the CPU."""

import sys

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.programs import PROGRAMS, matmul

import tilewright as tvm
from tilewright.error import DeviceError
from tilewright.target.codegen.device.compile import generate_kernels
from tilewright.tir.function import PrimFunc
from tilewright.tir.interpreter import interpret

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")

BARRIER = "__syncthreads();"


def source_of(module):
    return module.imported_modules[0].get_source()


@pytest.fixture(scope="module")
def built():
    """The programs by name, with their modules."""
    found = {}
    for name, make in PROGRAMS.items():
        program = make()
        found[name] = program, tvm.build(program.mod, target="cuda")
    return found


@pytest.fixture(scope="module")
def sources(built):
    return [source_of(module) for _, module in built.values()]


@pytest.fixture(scope="module", autouse=True)
def api(sources):
    """Emulated devices, for the whole file: modules keep the driver that started them first."""
    emulated = EmulatedCuda(sources)
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_emulation(monkeypatch, emulated)
        yield emulated


def arguments_of(func: PrimFunc, rng: np.random.Generator) -> list[object]:
    """Arguments of a function; sizes that it does not name are 37."""
    arguments: list[object] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        dtype = str(param.dtype if buffer is None else buffer.dtype)
        shape = () if buffer is None else [getattr(n, "value", 37) for n in buffer.shape]
        values = rng.integers(0, 2, shape) if dtype == "bool" else rng.normal(size=shape) * 3
        array = np.asarray(values).astype(tvm.nd.empty((0,), dtype).numpy().dtype)
        arguments.append(array.item() if buffer is None else array)
    return arguments


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_compute_what_the_program_says(api, built, name):
    program, module = built[name]
    func = program.reference or program.mod
    expected = arguments_of(func, np.random.default_rng(0))
    arrays = [
        tvm.nd.array(value, tvm.cuda(0)) if isinstance(value, np.ndarray) else value
        for value in expected
    ]
    api.seed = 7
    module(*arrays)
    interpret(func, *expected)
    for found, wanted in zip(arrays, expected, strict=True):
        if isinstance(wanted, np.ndarray):
            tolerance = 1e-2 if "float16" in str(wanted.dtype) else 1e-5
            np.testing.assert_allclose(
                found.numpy().astype("float64"), wanted.astype("float64"), tolerance, 1e-5
            )


def product(module, seed, api):
    """What a module makes of two matrices."""
    a, b = np.random.default_rng(1).normal(size=(2, 32, 32)).astype("float32")
    result = tvm.nd.empty((32, 32), "float32", tvm.cuda(0))
    api.seed = seed
    module(tvm.nd.array(a, tvm.cuda(0)), tvm.nd.array(b, tvm.cuda(0)), result)
    return result.numpy(), a @ b


def with_source(monkeypatch, module, change):
    """The module built anew, with another text of its kernels."""
    monkeypatch.setattr(
        "tilewright.target.codegen.device.compile.generate_kernels",
        lambda kernels, dialect: change(generate_kernels(kernels, dialect)),
    )
    return tvm.build(module, target="cuda")


@pytest.mark.parametrize("missing", [0, 1])
def test_a_barrier_that_is_missing_is_noticed(api, monkeypatch, missing):
    def without(text):
        parts = text.split(BARRIER)
        assert len(parts) == 3
        parts[missing : missing + 2] = ["".join(parts[missing : missing + 2])]
        return BARRIER.join(parts)

    module = with_source(monkeypatch, matmul(), without)
    results = [product(module, seed, api) for seed in range(4)]
    assert any(np.abs(found - wanted).max() > 0.1 for found, wanted in results)


def test_the_order_of_threads_changes_nothing_where_barriers_are(api):
    module = tvm.build(matmul(), target="cuda")
    results = [product(module, seed, api)[0] for seed in range(4)]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_a_barrier_that_some_threads_do_not_reach_is_reported(api, monkeypatch):
    def some(text):
        return text.replace(BARRIER, f"if (threadIdx.x < 3) {BARRIER}", 1)

    module = with_source(monkeypatch, matmul(), some)
    with pytest.raises(
        DeviceError, match=r"divergence in block \d, \d, 0: thread 0 waits at a bar"
    ):
        product(module, 0, api)
