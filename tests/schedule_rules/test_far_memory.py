"""Results that go past the caches, and operands that are asked for early."""

import platform

import numpy as np
import pytest
from tests.schedule_rules.programs import TWO_CORES, loops_of, matmul, names_of, scheduled

import tilewright as tvm
from tilewright import te
from tilewright.ir import IRModule
from tilewright.schedule_rules import far_memory
from tilewright.schedule_rules.default import schedule_module
from tilewright.tir.transform.machine import Machine

NEAR = Machine(own_cache=512 << 10)
FAR = Machine(own_cache=2 << 20)
"""Beside caches of cores as large as that, the shared one is far away."""

HALF_LINES = FAR._replace(
    vector_bits=256, vector_registers=16, has_avx512=False, first_cache=48 << 10
)


def squares(count):
    X = te.placeholder((count,), name="X")
    return te.create_prim_func([X, te.compute((count,), lambda i: X[i] * X[i], name="Y")])


def large(func, machine):
    """The schedule of a function that is too large to be interpreted."""
    return schedule_module(IRModule.from_expr(func), machine)


def annotations(count, machine):
    sch = large(squares(count), machine)
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


@pytest.mark.parametrize(
    ("machine", "order", "ahead"),
    [(Machine(), ["ax0_0", "ax1", "ax0_1", "ax0_2"], 1),
     (FAR, ["ax1_0", "ax0_0", "ax1_1", "ax0_1", "ax0_2"], 0)],
)  # fmt: skip
def test_a_few_rows_from_far_away_are_copied_to_all_panels_before_the_next_ones(
    machine, order, ahead
):
    sch = large(matmul(512, 4096, 512), machine)
    panels, *loops = sch.get_loops("B_global")
    assert [sch.get(loop).loop_var.name for loop in loops] == order
    assert machine is not FAR or loops_of(sch, "B_global")[3] == ("serial", 8)
    asked = sch.get(panels).annotations["software_prefetch"]
    assert {str(name): int(distance) for name, distance in asked.items()} == {"B": ahead}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the tiles are those of AVX2")
def test_copies_of_a_few_rows_at_a_time_are_right(monkeypatch):
    monkeypatch.setattr(far_memory, "LARGE_CACHE", 0)
    target = "llvm -mcpu=x86-64-v3 -num-cores=1 -cache-sizes=8192,32768,65536"
    func = matmul(200, 131, 40)
    copies = tvm.default_schedule(func, target)
    assert copies.get(copies.get_loops("B_global")[3]).loop_var.name == "ax1_1"
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype("float32") for shape in ((200, 40), (40, 131)))
    c = tvm.nd.empty((200, 131))
    tvm.build(func, target=target)(tvm.nd.array(a), tvm.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a.astype("float64") @ b, atol=1e-4)


@pytest.mark.parametrize(
    ("rows", "machine", "steps"),
    [(24, FAR, 32), (64, FAR, 40), (24, HALF_LINES, 32), (64, HALF_LINES, 32)],
)
def test_hardware_follows_the_rows_of_a_block(rows, machine, steps):
    """It asks for so many lines from far away; those of wide rows are there in time."""
    loops = loops_of(large(matmul(rows, 3000, 3000), machine), "C")
    step, unrolled = (loops[n][1] for n in (-5, -4))
    assert step * unrolled == steps


@pytest.mark.parametrize(("cores", "blocks"), [(1, 3), (2, 4)])
def test_cores_have_as_many_blocks_of_panels(cores, blocks):
    sch = large(matmul(64, 4096, 4096), FAR._replace(cores=cores))
    kind = "serial" if cores == 1 else "parallel"
    assert loops_of(sch, "C")[0] == (kind, blocks)


def test_rows_that_no_cache_holds_are_read_for_several_panels_at_once():
    """43 panels are a prime number of them."""
    sch = large(matmul(1024, 1024, 1024), HALF_LINES)
    assert loops_of(sch, "C")[:3] == [("serial", 9), ("serial", 256), ("serial", 5)]


@pytest.mark.parametrize(
    ("rows", "size", "machine", "is_packed"),
    [
        (32, 2048, HALF_LINES, False),
        (64, 2048, HALF_LINES, True),
        (48, 1024, HALF_LINES, True),
        (64, 1024, HALF_LINES, True),
        (64, 2048, FAR, False),
    ],
)
def test_parts_of_lines_from_far_away_are_packed_for_some_rows(rows, size, machine, is_packed):
    sch = large(matmul(rows, size, size), machine)
    assert ("B_global" in names_of(sch)) == is_packed


@pytest.mark.parametrize(
    ("rows", "size", "is_packed"), [(200, 400, True), (180, 400, False), (200, 350, False)]
)
def test_what_many_rows_use_of_a_large_cache_is_packed(rows, size, is_packed):
    sch = large(matmul(rows, size, size), FAR)
    assert ("B_global" in names_of(sch)) == is_packed
