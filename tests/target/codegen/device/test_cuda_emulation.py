"""The text of CUDA kernels, run by an emulation on the CPU."""

import sys

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.programs import PROGRAMS, assert_computes, matmul, reverse

import tilewright as tvm
from tilewright.error import DeviceError
from tilewright.target.codegen.device.compile import generate_kernels

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
        found[name] = program, tvm.build(program.func, target="cuda")
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


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compute_what_they_say(api, built, name):
    api.seed = 7
    assert_computes(*built[name], tvm.cuda(0))


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
    assert not all(np.allclose(found, wanted, atol=0.1) for found, wanted in results)


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


def test_shared_memory_that_nothing_was_written_to_is_noticed(api, monkeypatch):
    def unwritten(text):
        return "\n".join(line for line in text.splitlines() if not line.startswith("  row[i] ="))

    module = with_source(monkeypatch, reverse(), unwritten)
    arrays = [tvm.nd.array(np.zeros((4, 32), "float32"), tvm.cuda(0)) for _ in range(2)]
    module(*arrays)
    assert np.isnan(arrays[1].numpy()).all()
