"""Four proofs that programs for devices are right, without a GPU.

Each program of the collection runs on the OpenCL device of this machine, with right results; runs
under Oclgrind, which finds races, indices out of bounds, barriers that some threads miss, and
memory that nothing was written to; is compiled by NVRTC; and runs as CUDA C by an emulation, in
different orders of threads. `test_mutations` shows that what is wrong is found.
"""

import functools
import sys

import pytest
from tests.target.codegen.device.collection import GROUPS
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.oclgrind import complaints
from tests.target.codegen.device.programs import PROGRAMS, Program, assert_computes
from tests.target.codegen.device.test_nvrtc import requires_nvrtc

import tilewright as tvm
from tilewright.target.codegen.device import nvrtc

ARCHITECTURES = ("sm_75", "sm_90")


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_an_opencl_device(name):
    program = PROGRAMS[name]()
    assert_computes(program, program.build("opencl"), tvm.opencl(0))


SIMULATED = """
import sys
import tilewright as tvm
from tests.target.codegen.device.collection import programs_of
from tests.target.codegen.device.programs import assert_computes
for name, program in programs_of(sys.argv[1]).items():
    try:
        assert_computes(program, program.build("opencl"), tvm.opencl(0))
    except Exception as error:
        raise AssertionError(name) from error
"""


@pytest.mark.parametrize("group", GROUPS)
def test_under_a_simulator(group):
    assert not complaints(SIMULATED, group)


@functools.cache
def built_for_cuda(name: str) -> tuple[Program, tvm.runtime.Module]:
    """A program and its module, which NVRTC compiles and the emulation runs."""
    program = PROGRAMS[name]()
    return program, program.build("cuda")


@requires_nvrtc
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_for_cuda_devices(name):
    _, module = built_for_cuda(name)
    source = module.imported_modules[0].get_source()
    for architecture in ARCHITECTURES:
        assert nvrtc.compile_kernels(source, architecture).startswith(b"\x7fELF")


@pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")
@pytest.mark.parametrize("group", GROUPS)
def test_on_emulated_cuda(monkeypatch, group):
    built = list(map(built_for_cuda, GROUPS[group]))
    api = EmulatedCuda([module.imported_modules[0].get_source() for _, module in built])
    use_emulation(monkeypatch, api)
    for seed in range(2):
        api.seed = seed
        for program, module in built:
            assert_computes(program, module, tvm.cuda(0))
