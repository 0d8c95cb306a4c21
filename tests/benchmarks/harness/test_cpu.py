"""A machine that stands for one with fewer instructions."""

import json
import subprocess
import sys

import pytest
from benchmarks.harness.command import parser
from benchmarks.harness.pairs import ROOT, environment
from benchmarks.harness.results import describe_machine

from benchmarks.harness import cpu


def test_without_an_option_it_is_this_processor(monkeypatch):
    monkeypatch.delenv(cpu.VARIABLE, raising=False)
    assert cpu.environment("") == {}
    assert cpu.target().is_host
    assert cpu.target(2).attrs["num-cores"] == 2
    assert " as " not in describe_machine()["processor"]


@pytest.mark.parametrize(("level", "bits"), [("x86-64-v2", 128), ("x86-64-v3", 256)])
def test_programs_are_compiled_for_a_level(monkeypatch, level, bits):
    options = parser().parse_args(["--cpu", level])
    for name, value in cpu.environment(options.cpu).items():
        monkeypatch.setenv(name, value)
    assert cpu.target(1).cpu == level
    assert cpu.target(1).vector_bits == bits
    assert describe_machine()["processor"].endswith(f" as {level}")


def test_numpy_does_without_what_a_level_lacks():
    """numpy refuses names that it does not know."""
    script = """
import json, numpy
from numpy._core._multiarray_umath import __cpu_features__
print(json.dumps([name for name, on in __cpu_features__.items() if on]))
"""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={**environment(1), **cpu.environment("x86-64-v3")},
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert not {"AVX512_ICL", "AVX512_SPR", "X86_V4"} & set(json.loads(run.stdout))
