"""Kernels compiled by NVRTC, for GPUs that need not be there."""

import importlib.util
import re
import sys

import pytest
from tests.target.codegen.device.programs import PROGRAMS, matmul, reverse

import tilewright as tvm
from tilewright.error import ArgumentValueError, CodegenError, TargetError
from tilewright.target.codegen.device import nvrtc
from tilewright.tir.analysis.kernel_limits import kernel_uses

HAS_NVRTC = all(map(importlib.util.find_spec, ("cuda", "nvidia")))
requires_nvrtc = pytest.mark.skipif(
    sys.platform == "darwin" or not HAS_NVRTC, reason="there is no NVRTC"
)
ELF = b"\x7fELF"


def kernels(module, target="cuda"):
    return tvm.build(module, target=target).imported_modules[0]


@requires_nvrtc
@pytest.mark.parametrize(
    ("target", "architecture"),
    [
        ("cuda", "sm_75"),
        ("cuda -arch=sm_80", "sm_80"),
        ("nvidia/nvidia-h100", "sm_90a"),
        ("nvidia/geforce-rtx-3070", "sm_86"),
    ],
)
def test_the_assembly_is_for_the_architecture_of_the_target(target, architecture):
    assembly = kernels(reverse(), target).get_source("ptx")
    assert f".target {architecture}\n" in assembly
    assert ".visible .entry reverse_kernel(" in assembly
    assert assembly.count("bar.sync") == 1


@requires_nvrtc
def test_the_assembly_of_a_product_uses_shared_memory():
    assembly = kernels(matmul(), "cuda -arch=sm_80").get_source("ptx")
    assert "st.shared" in assembly
    assert ".maxntid 16" in assembly


REGISTERS = re.compile(rb"\x04\x2f\x08\x00....(....)", re.DOTALL)
"""In machine code: the number of registers of a kernel, behind the number of its symbol."""


@requires_nvrtc
@pytest.mark.parametrize("name", ["tiled_product", "virtual_threads", "reversed_rows"])
def test_registers_are_estimated(name):
    func = PROGRAMS[name]().func
    cubin = nvrtc.compile_kernels(kernels(func).get_source(), "sm_80")
    (found,) = REGISTERS.findall(cubin)
    (kernel,) = kernel_uses(func)
    assert abs(kernel.registers - int.from_bytes(found, "little")) <= 24


@requires_nvrtc
def test_halves_are_converted_by_instructions():
    assembly = kernels(PROGRAMS["half_product"]().func).get_source("ptx")
    assert "cvt.rn.f16.f32" in assembly


def test_forms_of_sources():
    module = kernels(reverse())
    assert module.get_source() == module.get_source("cu") == module.get_source("cuda")
    with pytest.raises(ArgumentValueError, match=r"as 'cuda', 'cu', 'ptx', not 'asm'"):
        module.get_source("asm")
    with pytest.raises(ArgumentValueError, match=r"as 'opencl', 'cl', not 'ptx'"):
        kernels(reverse(), "opencl").get_source("ptx")


@requires_nvrtc
def test_a_device_gets_code_that_it_can_load():
    source = kernels(reverse()).get_source()
    assert nvrtc.compile_for_device(source, 8, 6).startswith(ELF)
    assert nvrtc.compile_for_device(source, 9, 0).startswith(ELF)
    newest = max(nvrtc.supported_architectures())
    assert f".target sm_{newest}\n".encode() in nvrtc.compile_for_device(source, 99, 0)
    with pytest.raises(TargetError, match="no architecture 'sm_50'"):
        nvrtc.compile_for_device(source, 5, 0)


@requires_nvrtc
@pytest.mark.parametrize("architecture", ["sm_50", "sm_99", "gfx90a", "90", "sm_90x"])
def test_unknown_architectures_are_refused(architecture):
    with pytest.raises(TargetError, match=rf"{architecture}'; one of sm_75, sm_80"):
        kernels(reverse(), f"cuda -arch={architecture}").get_source("ptx")


@requires_nvrtc
def test_what_nvrtc_refuses_is_told():
    with pytest.raises(
        CodegenError,
        match=r'for sm_80: line 2: .* return nothing; }\nkernels.cu\(2\): error: .*"nothing"',
    ):
        nvrtc.compile_kernels("\n__device__ int f() { return nothing; }", "sm_80")


def test_without_nvrtc(monkeypatch):
    nvrtc._load.cache_clear()
    nvrtc.supported_architectures.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    with pytest.raises(CodegenError, match=r"install tilewright\[cuda\]"):
        kernels(reverse()).get_source("ptx")
