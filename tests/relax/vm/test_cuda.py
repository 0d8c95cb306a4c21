"""Graphs for CUDA, started on an emulated driver."""

import gc
import importlib.util
import sys

import numpy as np
import pytest
from tests.relax.vm.test_devices import Module, X
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation

import tilewright as tvm
from tilewright import relax
from tilewright.target.codegen.device import nvrtc


@pytest.fixture(scope="module")
def executable():
    names = ("network", "tuples", "branch", "constant")
    return relax.build(tvm.IRModule({name: Module[name] for name in names}), "cuda")


@pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")
def test_a_graph_runs(executable, monkeypatch):
    emulation = EmulatedCuda()
    use_emulation(monkeypatch, emulation)
    machine = relax.VirtualMachine(executable.compiled.runtime_module(), tvm.cuda(1))
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    a, (b, s), given = machine["tuples"](x, (X,))
    e = np.exp(x + X)
    for result, expected in ((a, x + X), (b, e / e.sum(1, keepdims=True)), (given, x)):
        assert result.device == tvm.cuda(1)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(s.numpy(), b.numpy().sum(0), rtol=1e-5)
    np.testing.assert_array_equal(machine["branch"](X, np.array(False)).numpy(), 3 * X)
    constant = machine["constant"]()
    assert constant.device == tvm.cuda(1)
    np.testing.assert_array_equal(constant.numpy(), [1, 2])
    del machine, a, b, s, given, result, constant
    gc.collect()
    tvm.cuda(1).empty_pool()
    assert not emulation.memory


@pytest.mark.skipif(not importlib.util.find_spec("nvidia"), reason="there is no NVRTC")
def test_all_kernels_compile(executable):
    source = executable.module.imported_modules[0].get_source()
    assert source.count("__global__") >= 8
    for architecture in ("sm_75", "sm_80", "sm_90"):
        assert nvrtc.compile_kernels(source, architecture).startswith(b"\x7fELF")
