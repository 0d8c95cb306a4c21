"""Results that go past the caches, and operands that are asked for early."""

import pytest
from tests.schedule_rules.programs import TWO_CORES, scheduled

from tilewright import te
from tilewright.ir import IRModule
from tilewright.schedule_rules import far_memory
from tilewright.schedule_rules.default import schedule_module
from tilewright.tir.transform.machine import Machine

NEAR = Machine(own_cache=512 << 10)
FAR = Machine(own_cache=2 << 20)
"""Beside caches of cores as large as that, the shared one is far away."""


def squares(count):
    X = te.placeholder((count,), name="X")
    return te.create_prim_func([X, te.compute((count,), lambda i: X[i] * X[i], name="Y")])


def annotations(count, machine):
    sch = schedule_module(IRModule.from_expr(squares(count)), machine)
    found = {}
    for loop in sch.get_loops("Y"):
        found |= sch.get(loop).annotations
    return found


@pytest.mark.parametrize(
    ("machine", "elements", "streamed"),
    [
        (NEAR, 1 << 20, 0),
        (NEAR, 1 << 21, 1),
        (FAR, 1 << 22, 0),
        (FAR, 1 << 23, 1),
        (FAR._replace(cores=2), 1 << 23, 1),
    ],
)
def test_from_which_size_on_results_go_past_the_caches(machine, elements, streamed):
    assert annotations(elements, machine)["nontemporal_stores"] == {"Y": streamed}


@pytest.mark.parametrize(
    ("machine", "is_far"),
    [(NEAR, False), (FAR, True), (FAR._replace(cores=2), False)],
)
def test_lines_that_are_far_apart_go_past_a_large_cache_sooner(machine, is_far):
    assert far_memory.is_far(4 << 20, machine, scattered=True) == is_far
    assert not far_memory.is_far(4 << 20, machine)


def test_operands_in_a_far_cache_are_asked_for_early():
    assert annotations(1 << 20, FAR)["software_prefetch"] == {"X": far_memory.AHEAD}
    assert "software_prefetch" not in annotations(1 << 18, FAR)
    assert "software_prefetch" not in annotations(1 << 20, NEAR)


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_may_be_too_short_to_ask_ahead(monkeypatch, rows):
    monkeypatch.setattr(far_memory, "LARGE_CACHE", 0)
    X = te.placeholder((rows, 200), name="X")
    Y = te.compute((rows, 200), lambda i, j: X[i, 199 - j] + X[i, j], name="Y")
    sch = scheduled(te.create_prim_func([X, Y]), TWO_CORES)
    asked = [sch.get(loop).annotations.get("software_prefetch") for loop in sch.get_loops("Y")]
    assert not any(asked)
