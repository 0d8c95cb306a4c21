"""Loops that are unrolled, in the text of kernels."""

import pytest
from tests.target.codegen.device.test_nvrtc import requires_nvrtc
from tests.target.codegen.device.test_vectors import body_of

import tilewright as tvm
from tilewright import te, tir

PRAGMA = "#pragma unroll"


def table(mark):
    """A thread fills a row of 3 times 4 elements; `mark` says what is to be unrolled."""
    a = te.placeholder((8, 3, 4), name="A")
    b = te.compute((8, 3, 4), lambda t, i, j: a[t, i, j] + 1.0, name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    thread, i, j = sch.get_loops("B")
    sch.bind(thread, "threadIdx.x")
    mark(sch, thread, i, j)
    return sch.mod


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_the_compiler_unrolls_a_loop(target):
    lines = body_of(table(lambda sch, _, i, j: sch.unroll(j)), target)
    assert [line.partition(" =")[0] for line in lines[:3]] == [
        "for (int32_t i", PRAGMA, "for (int32_t j",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("step", "explicit", "loops", "pragmas"),
    [(4, 0, 2, 1), (12, 0, 2, 2), (3, 0, 2, 0), (4, 1, 1, 0), (12, 1, 0, 0), (12, None, 2, 2)],
)
def test_pragmas(step, explicit, loops, pragmas):
    def mark(sch, thread, i, j):
        sch.annotate(thread, "pragma_auto_unroll_max_step", step)
        if explicit is not None:
            sch.annotate(thread, "pragma_unroll_explicit", explicit)

    lines = body_of(table(mark))
    assert sum(line.startswith("for") for line in lines) == loops
    assert lines.count(PRAGMA) == pragmas


def test_loops_become_straight_code_where_that_is_asked():
    def mark(sch, thread, i, j):
        sch.unroll(j)
        sch.annotate(thread, "pragma_unroll_explicit", 1)

    lines = body_of(table(mark))
    assert lines.count(PRAGMA) == 0
    assert sum(line.startswith("B[") for line in lines) == 4


@requires_nvrtc
def test_unrolled_loops_are_no_branches():
    def assembly(mark):
        return tvm.build(table(mark), target="cuda").imported_modules[0].get_source("ptx")

    assert "bra" not in assembly(lambda sch, _, i, j: [sch.unroll(i), sch.unroll(j)])
