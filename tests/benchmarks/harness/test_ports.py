"""The bound by the ports of a core is that of operations that are counted by hand."""

import pytest
from benchmarks.harness.ports import SKYLAKE, ZEN_3, counted, cycles, equivalent_operations
from benchmarks.suite.rows import softmax

from tilewright import te
from tilewright.target import Target

ZEN = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=znver3")


def elementwise(formula, size=64):
    X = te.placeholder((size,), name="X")
    return te.create_prim_func([X, te.compute((size,), lambda i: formula(X[i]), "Y")])


@pytest.mark.parametrize(
    ("counts", "zen", "skylake"),
    [
        ({"multiply": 4}, 2, 2),
        ({"multiply": 4, "add": 4}, 2, 4),
        ({"multiply": 2, "compare": 2, "blend": 2}, 2, 8 / 3),
        ({"multiply": 2, "add": 2, "logic": 4}, 2, 8 / 3),
        ({"divide": 1, "multiply": 2}, 3, 5),
        ({"load": 3, "store": 1}, 1.5, 1.5),
        ({}, 0, 0),
    ],
)
def test_the_ports_with_the_most_to_do_set_the_time(counts, zen, skylake):
    assert cycles(counts, ZEN_3) == pytest.approx(zen)
    assert cycles(counts, SKYLAKE) == pytest.approx(skylake)


def test_operations_are_counted():
    (counts,) = counted(elementwise(lambda x: te.max(x * 2.0 + 1.0, 0.5) / (x - 3.0)), ZEN)
    want = {"load": 2, "multiply": 1, "compare": 1, "add": 1, "divide": 1, "store": 1}
    assert counts == {kind: 64 * n for kind, n in want.items()}


def test_functions_are_counted_as_what_they_become():
    (counts,) = counted(elementwise(te.exp), ZEN)
    per_element = {kind: n // 64 for kind, n in counts.items()}
    assert per_element == {
        "load": 1, "store": 1, "multiply": 11, "add": 1, "compare": 2, "shift": 3, "integer": 2,
    }  # fmt: skip


def test_scaling_by_powers_of_two_may_be_an_instruction():
    (counts,) = counted(elementwise(te.exp), Target("llvm -mtriple=x86_64-linux-gnu -mcpu=znver5"))
    per_element = {kind: n // 64 for kind, n in counts.items()}
    assert per_element["scale"] == 1
    assert "shift" not in per_element


def test_elements_of_rows_are_not_loaded_for_each_column():
    counts = list(counted(softmax(4, 64), ZEN))
    assert [c["load"] for c in counts] == [256, 256, 256, 4, 256]
    assert [c["store"] for c in counts] == [0, 256, 0, 4, 256]


def test_operands_that_are_used_again_may_stay_in_registers():
    A, B = te.placeholder((8, 8), name="A"), te.placeholder((8, 8), name="B")
    k = te.reduce_axis((0, 8), "k")
    C = te.compute((8, 8), lambda i, j: te.sum(A[i, k] * B[k, j], k), "C")
    assert list(counted(te.create_prim_func([A, B, C]), ZEN)) == [{"multiply": 512}]


def test_the_time_is_told_in_multiply_adds():
    func = elementwise(lambda x: 1.0 / x, 8000)
    assert equivalent_operations(func, ZEN) == 4 * 3 * 8000
    assert equivalent_operations(func, Target("llvm -mtriple=x86_64-linux-gnu -mcpu=knl")) == 0


def test_other_programs_have_no_such_bound():
    assert equivalent_operations(elementwise(te.tanh), ZEN) > 0
    assert equivalent_operations(softmax(2, 2), ZEN) > 0
    assert equivalent_operations(elementwise(lambda x: x * 2.0 + 1.0), ZEN) == 0
