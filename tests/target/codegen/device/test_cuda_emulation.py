"""The text of CUDA kernels, run by an emulation on the CPU."""

import sys

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.programs import matmul

import tilewright as tvm
from tilewright.target.codegen.device.compile import generate_kernels

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")

BARRIER = "__syncthreads();"


@pytest.fixture
def api(monkeypatch):
    """Emulated devices."""
    emulated = EmulatedCuda()
    use_emulation(monkeypatch, emulated)
    return emulated


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
