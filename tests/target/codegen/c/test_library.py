"""`tvm.build` for the target c."""

import numpy as np
import pytest
from tests.target.codegen.c.compiled import needs_compiler

import tilewright as tvm
from tilewright import te
from tilewright.error import ArgumentValueError, CodegenError
from tilewright.ir.dtype import DType


def module(formula, source="float32", target="c"):
    n = te.var("n")
    a = te.placeholder((n,), source, "A")
    b = te.compute((n,), lambda i: formula(a[i]), name="B")
    return tvm.build(te.create_schedule(b.op), [a, b], target=target, name="f")


def test_source_needs_no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    built = module(te.exp)
    assert "tw_exp_f32(A[i])" in built.get_source()
    assert built.get_source("c") == built.get_source()
    with pytest.raises(ArgumentValueError, match='"c" only'):
        built.get_source("asm")
    with pytest.raises(CodegenError, match="install one or set CC"):
        built["f"]


@needs_compiler
def test_functions_run_and_are_exported(tmp_path):
    built = module(lambda x: x * 2.0)
    a, b = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    built["f"](a, b)
    np.testing.assert_array_equal(b, a * 2)
    path = tmp_path / "f.so"
    built.export_library(path)
    tvm.runtime.load_module(path)["f"](b, a)
    np.testing.assert_array_equal(a, b * 2)


@needs_compiler
@pytest.mark.parametrize("name", ["exp", "tanh", "sin", "erf", "log1p"])
def test_c_and_llvm_agree(name):
    x = np.random.default_rng(0).uniform(0.1, 50, 1000).astype("float32")
    results = []
    for target in ("c", "llvm"):
        y = np.zeros_like(x)
        module(getattr(te, name), target=target)(x, y)
        results.append(y)
    steps = np.abs(results[0] - results[1]) / np.spacing(np.abs(results[0]))
    assert steps.max() <= 1


@needs_compiler
@pytest.mark.parametrize(("dtype", "bits"), [("float16", 10), ("bfloat16", 7)])
def test_float64_is_rounded_to_a_half_type_once(dtype, bits):
    unit = 2.0**-bits
    # Above the middle of two numbers by less than float32 can tell, the middle, and out of range.
    x = np.array([1 + unit / 2 + 2.0**-40, 1 + unit / 2, -1 - unit / 2 - 2.0**-40, 1e300, 1e-60])
    y = np.zeros(5, DType(dtype).numpy)
    module(lambda v: v.astype(dtype), "float64")(x, y)
    np.testing.assert_array_equal(y.astype("float64"), [1 + unit, 1, -1 - unit, np.inf, 0])
