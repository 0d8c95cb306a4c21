"""Which rules a target gets."""

import pytest

from tilewright.target import Target
from tilewright.tune.mutator import Mutator
from tilewright.tune.parts import kind_of
from tilewright.tune.postproc import Postproc
from tilewright.tune.rule import ScheduleRule


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("llvm -mcpu=sapphirerapids", "vnni"),
        ("llvm -mcpu=haswell", "llvm"),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+neon,+dotprod", "dotprod"),
        ("llvm -mtriple=aarch64-linux-gnu", "llvm"),
        ("c", "c"),
        ("cuda", "cuda-tensorcore"),
        ("opencl", "opencl"),
    ],
)
def test_rules_for_the_features_of_a_target(target, kind):
    assert kind_of(Target(target)) == kind


@pytest.mark.parametrize(
    "kind",
    ["llvm", "c", "vnni", "avx512", "dotprod", "cuda", "cuda-tensorcore", "opencl", "hexagon"],
)
def test_all_parts_are_known_for_each_kind(kind):
    assert ScheduleRule.create(kind)
    assert Postproc.create(kind)
    assert Mutator.create(kind)
