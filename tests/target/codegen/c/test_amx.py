"""Tile registers in C: with a header that has them in software, and by the compiler's own."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.schedule_rules.test_dot_products import numbers, product
from tests.target.codegen.c.compiled import COMPILER, compile_source, needs_compiler

import tilewright as tvm
from tilewright.target import Target

pytestmark = needs_compiler
PLANNED = Target("llvm -num-cores=1 -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids")
WRITTEN = Target("c -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids")
HEADER = Path(__file__).with_name("tiles.h")
OPERANDS = [
    ("int8", "int8"), ("int8", "uint8"), ("uint8", "int8"), ("uint8", "uint8"),
    ("bfloat16", "bfloat16"),
]  # fmt: skip


def planned(func):
    """The default schedule for a processor with AMX."""
    return tvm.default_schedule(func, PLANNED).mod


def source_of(module, first_cache=49152):
    """The C source for a processor with AMX."""
    target = Target(f"{WRITTEN} -cache-sizes={first_cache},2097152,33554432")
    return tvm.build(module, target=target).get_source()


def in_software(source, status=0):
    """`source` with the registers in software, and the answer of the system about permission."""
    assert "#include <immintrin.h>" in source
    source = source.replace("#include <immintrin.h>", f'#include "{HEADER}"')
    return re.sub(r"syscall\(158, 4131, 18\)", str(status), source)


@settings(max_examples=12, deadline=None)
@given(
    operands=st.sampled_from(OPERANDS),
    shape=st.tuples(st.integers(24, 90), st.integers(32, 100), st.integers(64, 200)),
    transposed=st.booleans(),
    first_cache=st.sampled_from([8192, 49152]),  # rows of 200 numbers leave the smaller one
    seed=st.integers(0, 99),
)
def test_products(tmp_path_factory, operands, shape, transposed, first_cache, seed):
    (a, b), (m, n, k), rng = operands, shape, np.random.default_rng(seed)
    module = planned(product(m, n, k, a, b, transposed=transposed))
    assume("amx_operation" in module.script())  # else other instructions take less time
    source = source_of(module, first_cache)
    x, y = numbers(rng, (m, k), a), numbers(rng, (n, k) if transposed else (k, n), b)
    result = np.zeros((m, n), "float32" if a == "bfloat16" else "int32")
    directory = tmp_path_factory.mktemp("code")
    compile_source(in_software(source), directory, ("-std=c11", "-O1"))["main"](x, y, result)
    want = x.astype("float64") @ (y.T if transposed else y).astype("float64")
    if a == "bfloat16":
        bound = 1e-5 * np.abs(x).astype("float64") @ np.abs(y.T if transposed else y)
        assert (np.abs(result - want) <= bound).all()
    else:
        np.testing.assert_array_equal(result, want)


def test_the_compiler_knows_the_instructions(tmp_path):
    path = tmp_path / "code.c"
    path.write_text(source_of(planned(product(64, 64, 128, "uint8", "int8")), first_cache=4096))
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-march=sapphirerapids", "-S"]
    command = [*COMPILER.split(), *options, str(path), "-o", str(tmp_path / "code.s")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if "bad value" in result.stderr or "unsupported" in result.stderr:
        pytest.skip("the compiler is for another processor")
    assert result.returncode == 0, result.stderr
    code = (tmp_path / "code.s").read_text()
    names = "ldtilecfg", "tileloadd", "tileloaddt1", "tdpbusd", "tilestored", "tilerelease"
    assert set(names) <= set(re.findall(r"\w+", code))


def test_without_a_named_processor_the_loops_stay():
    module = planned(product(64, 64, 128, "uint8", "int8"))
    assert "_tile_" not in tvm.build(module, target="c").get_source()


def test_a_system_may_refuse(tmp_path):
    func = product(64, 64, 128, "uint8", "int8")
    source = in_software(source_of(planned(func)), status=-1)
    module = compile_source(source, tmp_path, ("-std=c11", "-O1"))
    x, y, result = (
        np.ones((64, 128), "uint8"),
        np.ones((128, 64), "int8"),
        np.ones((64, 64), "int32"),
    )
    with pytest.raises(RuntimeError, match="the system does not let this process use AMX"):
        module["main"](x, y, result)
