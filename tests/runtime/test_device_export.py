"""Libraries with kernels in C programs, without Python."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import KERNEL, compile_library, emulated_source

import tilewright as tvm
from tilewright import relax, te
from tilewright.runtime import linking
from tilewright.target.codegen.device import compile as device_compile

DOCUMENT = Path(__file__).parents[2] / "docs" / "devices.md"
FAKE = Path(__file__).with_name("fake_cuda.cpp")
C_PROGRAM = "int main(void) {"
FUNCTION = "__tvm_ffi_scale(void *, const TilewrightValue *, int32_t, TilewrightValue *)"

pytestmark = pytest.mark.skipif(
    linking.find_compiler() is None or sys.platform != "linux", reason="no C compiler for Linux"
)


def documented_program(device):
    """The C program of the document, for a type of devices."""
    blocks = re.findall(r"```c\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    (program,) = (block for block in blocks if C_PROGRAM in block)
    return program.replace("TILEWRIGHT_OPENCL", f"TILEWRIGHT_{device}")


def built(target, name="scale"):
    n = te.size_var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: te.exp(a[i]), name="B")
    c = te.compute((n,), lambda i: b[n - 1 - i] * 2, name="C")
    return tvm.build(te.create_schedule(c.op), [a, c], target=target, name=name)


def built_graph(target):
    """The same as a graph, with memory between two kernels, constants, and a copy from the host."""
    twos = relax.const(np.array([2, 2], "float32"))
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    with builder.function("scale", [x]):
        with builder.dataflow():
            powers = builder.emit(relax.op.exp(x))
            sums = builder.emit(relax.op.cumsum(powers, axis=0))
            nothing = builder.emit(relax.op.subtract(sums, sums))
            turned = builder.emit(relax.op.flip(powers, axis=0))
            doubled = builder.emit(relax.op.multiply(turned, twos))
            result = builder.emit_output(relax.op.add(doubled, nothing))
        builder.emit_func_output(result)
    return relax.build(builder.get(), target)


def compiled(directory, module, program, *options):
    """Export a module, and compile a C program with it."""
    module.export_library(directory / "scale.so")
    (directory / "main.c").write_text(program)
    command = [linking.find_compiler(), "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main",
               f"-I{linking.include_directory()}", "./scale.so", *options, "-lm"]  # fmt: skip
    subprocess.run(command, cwd=directory, check=True)


def run(directory, **environment):
    return subprocess.run(
        [directory / "main"], cwd=directory, capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def pocl_environment():
    """How a program without Python finds the OpenCL drivers that are packages."""
    found = importlib.util.find_spec("pyopencl")
    if found is None:
        pytest.skip("the OpenCL loader of pyopencl is not installed")
    package = Path(found.origin).parent
    libraries = sorted((package / ".libs").glob("libOpenCL*"))
    if not libraries:
        pytest.skip("pyopencl has no OpenCL loader of its own")
    return {
        "TILEWRIGHT_OPENCL_LIBRARY": str(libraries[0]),
        "PYOPENCL_HOME": str(package),
        "LD_LIBRARY_PATH": str(package / ".libs"),
    }


def test_a_c_program_uses_opencl(tmp_path):
    compiled(tmp_path, built("opencl"), documented_program("OPENCL"))
    result = run(tmp_path, **pocl_environment())
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == ["5.43656", "2"]


def test_a_c_program_runs_a_graph(tmp_path):
    program = documented_program("OPENCL").replace("__tvm_ffi_scale", "__tvm_ffi_scale_into")
    graph = built_graph("opencl")
    assert len(graph.compiled.constants.arrays) > 0
    compiled(tmp_path, graph, program)
    result = run(tmp_path, **pocl_environment())
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == ["5.43656", "2"]


def test_libraries_of_a_program_share_arrays(tmp_path):
    call = "__tvm_ffi_scale(0, args, 2, &result)"
    program = documented_program("OPENCL").replace(
        call, f"{call} || {call.replace('_ffi_', '_ffi_re')}"
    )
    program = program.replace("int main", f"int {FUNCTION.replace('_ffi_', '_ffi_re')};\nint main")
    built("opencl", "rescale").export_library(tmp_path / "rescale.so")
    compiled(tmp_path, built("opencl"), program, "./rescale.so")
    result = run(tmp_path, **pocl_environment())
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == ["5.43656", "2"]


def test_without_a_driver_it_says_so(tmp_path):
    compiled(tmp_path, built("opencl"), documented_program("OPENCL"))
    result = run(tmp_path, TILEWRIGHT_OPENCL_LIBRARY="absent.so")
    assert result.returncode == 1
    assert result.stderr == (
        "DeviceError: OpenCL devices cannot be used: absent.so is not here: install a driver\n"
    )


@pytest.mark.skipif(tvm.cuda(0).exist, reason="there is a driver")
def test_a_kernel_without_a_driver(tmp_path):
    program = documented_program("CUDA").replace("tilewright_device_require(device, 0)", "0")
    program = re.sub(r"= tilewright_device_allocate\(.*?\)", "= (void *)64", program)
    program = re.sub(r"tilewright_device_(write|read)\(.*?\)", "0", program)
    compiled(tmp_path, built("cuda"), program)
    result = run(tmp_path)
    assert result.returncode == 1
    assert "CUDA devices cannot be used: libcuda.so.1 is not here" in result.stderr


def make_driver(directory, module):
    """A library in place of NVIDIA's driver, which emulates the kernels of a module."""
    source = module.imported_modules[0].get_source()
    found = [
        f'if (!strcmp(name, "{name}")) return (void *)source_0::emulate_{name}_0;'
        for name in KERNEL.findall(source)
    ]
    finder = "\n".join(["static void *emulated(const char *name) {", *found, "return 0;", "}"])
    text = "\n".join([emulated_source((source,)), finder, FAKE.read_text()])
    (directory / "driver.cpp").write_text(text)
    compile_library(directory / "driver.cpp", directory / "libcuda.so.1")


def test_a_c_program_runs_a_graph_by_cuda(tmp_path):
    pytest.importorskip("cuda.bindings.nvrtc")
    graph = built_graph("cuda")
    make_driver(tmp_path, graph.module)
    program = documented_program("CUDA").replace("__tvm_ffi_scale", "__tvm_ffi_scale_into")
    compiled(tmp_path, graph, program)
    result = run(tmp_path, LD_LIBRARY_PATH=str(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == ["5.43656", "2"]


def test_a_library_that_was_exported_without_nvrtc(tmp_path, monkeypatch):
    module = built("cuda")
    make_driver(tmp_path, module)
    monkeypatch.setattr(device_compile, "nvrtc_is_installed", lambda: False)
    compiled(tmp_path, module, documented_program("CUDA"))
    result = run(tmp_path, LD_LIBRARY_PATH=str(tmp_path))
    assert result.returncode == 1
    assert "export it where NVRTC is installed (tilewright[cuda])" in result.stderr
