"""Values that are used again soon are loaded once, others again."""

import numpy as np
import pytest
from tests.passes import legalize_for, lower
from tests.target.llvm.programs import compiled, function, native
from tests.target.llvm.test_code import AVX512, innermost_loop

from tilewright import te, tir
from tilewright.ir import const
from tilewright.target.codegen.llvm.builder import RegisterWindow


def test_a_window_holds_as_many_values_as_there_are_registers():
    window = RegisterWindow(2)
    window.load("a", "%1")
    window.load("b", "%2")
    window.hold("a", "%1")
    window.hold("accumulator", "%t")
    assert window.held("a") == "%1"
    assert window.held("b") is None
    assert window.was_loaded("b")
    window.clear()
    assert window.held("a") is None
    assert not window.was_loaded("a")


def copies(places):
    """B[n] = A[places[n]], one statement after the other, in memory of the function."""
    A, B = (tir.decl_buffer((40,), "float32", name) for name in "AB")
    registers = tir.decl_buffer((len(places),), "float32", "registers", scope="local")
    body = tir.seq(
        *(tir.BufferStore(registers, A[n], (const(i),)) for i, n in enumerate(places)),
        *(tir.BufferStore(B, registers[i], (const(i),)) for i in range(len(places))),
    )
    extent = const(len(places))
    allocated = tir.Allocate(registers.data, registers.dtype, (extent,), const(True), body)
    return function([A, B], allocated)


@pytest.mark.parametrize(
    ("places", "loads", "barriers"),
    [([0, 0, 0], 1, 0), ([*range(10), 0], 10, 0), ([*range(33), 0], 34, 1)],
)
def test_loads_of_the_same_element(places, loads, barriers):
    func = copies(places)
    text = compiled(func, AVX512).llvm_ir
    assert text.count("load float, ptr %") == loads + len(places)  # and those of the registers
    assert text.count("asm sideeffect") == barriers
    source, result = np.arange(40, dtype="float32"), np.zeros(40, "float32")
    native(func)(source, result)
    np.testing.assert_array_equal(result[: len(places)], source[places])


def test_a_store_in_between_makes_a_load_necessary():
    A = tir.decl_buffer((4,), "float32", "A")
    B = tir.decl_buffer((4,), "float32", "B")
    body = tir.seq(
        tir.BufferStore(B, A[0], (const(0),)),
        tir.BufferStore(A, A[0] + const(1.0, "float32"), (const(0),)),
        tir.BufferStore(B, A[0], (const(1),)),
    )
    source, result = np.array([5, 0, 0, 0], "float32"), np.zeros(4, "float32")
    native(function([A, B], body))(source, result)
    assert result.tolist() == [5, 6, 0, 0]
    native(function([A, B], body))(source, source)  # B is A
    assert source.tolist() == [7, 7, 0, 0]


def test_a_convolution_unrolled_along_its_window_does_not_spill():
    """Neighbouring places of the window read the same elements: too many to keep them."""
    X = te.placeholder((8, 16), name="X")
    W = te.placeholder((8, 3, 32), name="W")
    c, r = te.reduce_axis((0, 8), "c"), te.reduce_axis((0, 3), "r")
    C = te.compute((14, 32), lambda x, o: te.sum(X[c, x + r] * W[c, r, o], axis=[c, r]), name="C")
    sch = tir.Schedule(te.create_prim_func([X, W, C]))
    x, o, channel, window = sch.get_loops("C")
    sch.reorder(channel, window, x, o)
    sch.unroll(window)
    sch.unroll(x)
    sch.vectorize(o)
    func = legalize_for(lower(sch.mod["main"]), AVX512)
    body = innermost_loop(compiled(func, AVX512).assembly, "vfmadd")
    assert len([line for line in body if "vfmadd" in line]) == 3 * 14 * 2
    assert not [line for line in body if "rsp" in line]
