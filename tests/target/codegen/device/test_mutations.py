"""What is wrong with a kernel is noticed by the simulator and by the emulation."""

import sys

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.mutations import MUTATIONS, mutated
from tests.target.codegen.device.oclgrind import complaints

import tilewright as tvm
from tilewright.error import DeviceError

SIMULATED = """
import numpy as np
import tilewright as tvm
from tests.target.codegen.device.mutations import MUTATIONS, mutated
for name in MUTATIONS:
    arrays = [tvm.nd.array(np.ones((4, 32), "float32"), tvm.opencl(0)) for _ in range(2)]
    try:
        mutated(name, "opencl")(*arrays)
        arrays[1].numpy()
    except Exception as error:
        print(name, error)
"""
COMPLAINTS = {
    "without_barrier": "data race",
    "barrier_for_some": "divergence detected (barrier)",
    "shared_index_too_far": "Invalid write of size 4 at local memory",
    "index_too_far": "Invalid write of size 4 at global memory",
    "unwritten_memory": "Uninitialized value written to global memory",
}


def test_by_the_simulator():
    found = complaints(SIMULATED)
    for name in MUTATIONS:
        reports = [text for text in found.split("\n\n") if f" {name}_kernel" in text]
        assert any(COMPLAINTS[name] in text for text in reports), f"{name}\n{found[:3000]}"


@pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")
def test_by_the_emulation(monkeypatch):
    modules = {name: mutated(name, "cuda") for name in MUTATIONS}
    api = EmulatedCuda([module.imported_modules[0].get_source() for module in modules.values()])
    use_emulation(monkeypatch, api)
    values = np.random.default_rng(0).normal(size=(4, 32)).astype("float32")
    for name, module in modules.items():
        arrays = [tvm.nd.array(a, tvm.cuda(0)) for a in (values, np.zeros_like(values))]
        if name in FAULTS:
            with pytest.raises(DeviceError, match=FAULTS[name]):
                module(*arrays)
        else:
            module(*arrays)
            assert not np.allclose(arrays[1].numpy(), np.exp(values[:, ::-1])), name


FAULTS = {
    "barrier_for_some": r"divergence in block \d, 0, 0: thread 0 waits at a barrier",
    "shared_index_too_far": r"index 32 is out of bounds",
    "index_too_far": "writes outside of memory",
}
