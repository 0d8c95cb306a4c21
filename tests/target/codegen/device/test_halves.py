"""float16 and bfloat16 in kernels."""

import re
import sys

import numpy as np
import pytest
from tests.target.codegen.device.emulated_cuda import EmulatedCuda, use_emulation
from tests.target.codegen.device.programs import Program, named
from tests.target.codegen.device.test_nvrtc import requires_nvrtc
from tests.target.codegen.device.test_vectors import body_of

import tilewright as tvm
from tilewright import te, tir
from tilewright.tir.interpreter import interpret

N = 1 << 13


def computed(dtype, function, inputs=1, name="computed"):
    values = [te.placeholder((N,), dtype, name=letter) for letter in "abc"[:inputs]]
    result = te.compute((N,), lambda i: function(*(value[i] for value in values)), name="result")
    sch = tir.Schedule(te.create_prim_func([*values, result]))
    block, thread = sch.split(sch.get_loops("result")[0], [None, 64])
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    return Program(named(sch.mod["main"], name))


OPERATIONS = {
    "sum": (2, lambda a, b: a + b - a * b),
    "quotient": (2, lambda a, b: a / b),
    "fused": (3, lambda a, b, c: tir.fma(a, b, c)),
    "extremes": (2, lambda a, b: tir.max(tir.min(a, b), tir.const(0.5, a.dtype))),
    "chosen": (2, lambda a, b: tir.Select(a < b, a, tir.sqrt(tir.abs(b)))),
    "wide": (1, lambda a: (a.astype("float32") * 3.0).astype(a.dtype)),
    "negated": (1, lambda a: tir.if_then_else(tir.isnan(a), a, -tir.floor(a))),
    "copied": (1, lambda a: a),
}


def bits(rng, dtype):
    """Numbers of all sizes, infinities and NaN, as the bits of a half type."""
    return rng.integers(0, 1 << 16, N, dtype="uint16").view(tvm.nd.empty((0,), dtype).numpy().dtype)


def assert_exact(program, module, device):
    rng = np.random.default_rng(0)
    func = program.func
    expected = [bits(rng, str(func.buffer_map[param].dtype)) for param in func.params]
    arrays = [tvm.nd.array(value, device) for value in expected]
    module(*arrays)
    with np.errstate(all="ignore"):
        interpret(func, *expected)
    found, wanted = (a.astype("float64") for a in (arrays[-1].numpy(), expected[-1]))
    np.testing.assert_array_equal(found, wanted)


CASES = [(dtype, name) for dtype in ("float16", "bfloat16") for name in OPERATIONS]


@pytest.mark.parametrize(("dtype", "name"), CASES)
def test_results_are_rounded_as_they_should(dtype, name):
    program = computed(dtype, OPERATIONS[name][1], OPERATIONS[name][0], f"{name}_{dtype}")
    assert_exact(program, tvm.build(program.func, target="opencl"), tvm.opencl(0))


@pytest.mark.skipif(sys.platform != "linux", reason="the emulation needs ucontext.h")
def test_results_of_cuda_are_rounded_as_they_should(monkeypatch):
    programs = [
        computed(dtype, OPERATIONS[name][1], OPERATIONS[name][0], f"{name}_{dtype}")
        for dtype, name in CASES
    ]
    modules = [tvm.build(program.func, target="cuda") for program in programs]
    api = EmulatedCuda([module.imported_modules[0].get_source() for module in modules])
    use_emulation(monkeypatch, api)
    for program, module in zip(programs, modules, strict=True):
        assert_exact(program, module, tvm.cuda(0))


def test_cuda_computes_with_float16():
    func = computed("float16", lambda a, b: a * b + tir.const(2, "float16"), 2).func
    place = "i_0 * 64 + i_1"
    assert [line.replace("result_", "i_") for line in body_of(func)] == [
        f"result[{place}] = a[{place}] * b[{place}] + tw_round_f16(2.0f);"
    ]


def instructions(func, target):
    assembly = tvm.build(func, target=target).imported_modules[0].get_source("ptx")
    return set(re.findall(r"^\s*([a-z][\w.]*f16[\w.]*)\s", assembly, re.MULTILINE))


@requires_nvrtc
def test_instructions_of_float16():
    func = computed("float16", lambda a, b, c: tir.fma(a, b, c) + a * b - c, 3).func
    assert instructions(func, "cuda -arch=sm_80") == {
        "fma.rn.f16", "mul.rn.f16", "add.rn.f16", "sub.rn.f16",
    }  # fmt: skip


@requires_nvrtc
@pytest.mark.parametrize(("architecture", "has_them"), [("sm_75", False), ("sm_80", True)])
def test_instructions_of_bfloat16(architecture, has_them):
    func = computed("bfloat16", lambda a, b: a * b, 2).func
    found = instructions(func, f"cuda -arch={architecture}")
    assert found == ({"cvt.rn.bf16.f32"} if has_them else set())
