"""Ctrl-C ends compiled code that runs for long."""

# ruff: noqa: B007, F821

import os
import signal
import threading

import numpy as np
import pytest

import tilewright as tvm
from tilewright import relax
from tilewright.ir.transform import PassContext
from tilewright.script import ir as I
from tilewright.script import relax as R
from tilewright.script import tir as T

TARGET = "llvm -num-cores=1"


@pytest.fixture
def press_soon():
    """Sends an interrupt after a while; the handler is that of an ordinary program."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    yield timer.start
    timer.cancel()
    timer.join()
    signal.signal(signal.SIGINT, before)


@T.prim_func
def spin(steps: T.int64, A: T.Buffer((4,), "int64")):
    # Each step depends on the one before, so that nothing is computed ahead.
    for i in T.serial(steps):
        for j in T.serial(1000):
            A[0] = A[0] * T.int64(6364136223846793005) + T.int64(1442695040888963407)


@T.prim_func
def spin_fixed(A: T.Buffer((4,), "int64")):
    for i, j in T.grid(1_000_000_000, 1000):
        A[0] = A[0] * T.int64(6364136223846793005) + T.int64(1442695040888963407)


@T.prim_func
def spin_with_workspace(steps: T.int64, A: T.Buffer((4,), "int64")):
    B = T.alloc_buffer((100_000,), "int64")
    for i in T.serial(steps):
        for j in T.serial(100_000):
            B[j] = A[0] * T.int64(6364136223846793005) + T.int64(j)
        for j in T.serial(1000):
            A[0] = B[j % 1000] + A[0]


def built(func):
    with PassContext(config={"tir.default_schedule": False}):
        return tvm.build(func, target=TARGET)


@pytest.mark.parametrize(
    ("func", "arguments"),
    [(spin, (10**12,)), (spin_fixed, ()), (spin_with_workspace, (10**12,))],
)
def test_an_interrupt_ends_a_call(func, arguments, press_soon):
    compiled, memory = built(func), np.ones(4, "int64")
    press_soon()
    with pytest.raises(KeyboardInterrupt):
        compiled(*arguments, memory)


def test_the_next_call_is_a_new_one(press_soon):
    compiled, memory = built(spin), np.ones(4, "int64")
    press_soon()
    with pytest.raises(KeyboardInterrupt):
        compiled(10**12, memory)
    expected = np.ones(4, "int64")
    with np.errstate(over="ignore"):
        for _ in range(3000):
            expected[0] = expected[0] * np.int64(6364136223846793005) + np.int64(
                1442695040888963407
            )
    memory[0] = 1
    compiled(3, memory)
    assert memory[0] == expected[0]


def test_a_handler_of_the_program_decides(press_soon):
    class StopError(Exception):
        pass

    def stop(*_):
        raise StopError("enough")

    compiled, memory = built(spin), np.ones(4, "int64")
    signal.signal(signal.SIGINT, stop)
    press_soon()
    with pytest.raises(StopError, match="enough"):
        compiled(10**12, memory)


def test_a_handler_that_raises_nothing_changes_nothing(press_soon):
    calls = []
    compiled = built(spin)
    memory, undisturbed = np.ones(4, "int64"), np.ones(4, "int64")
    compiled(1_000_000, undisturbed)
    signal.signal(signal.SIGINT, lambda *_: calls.append(len(calls)))
    press_soon()
    while not calls:
        memory[0] = 1
        compiled(1_000_000, memory)
    assert memory[0] == undisturbed[0]


def test_an_interrupt_ends_a_graph(press_soon):
    @I.ir_module
    class Module:
        @T.prim_func
        def spin(A: T.Buffer((4,), "int64"), B: T.Buffer((4,), "int64")):
            T.func_attr({"tir.noalias": True})
            for i in range(4):
                B[i] = A[i]
            for i, j in T.grid(1_000_000_000, 1000):
                B[0] = B[0] * T.int64(6364136223846793005) + T.int64(1442695040888963407)

        @R.function
        def main(x: R.Tensor((4,), "int64")):
            y = R.call_tir(cls.spin, (x,), R.Tensor((4,), "int64"))
            return R.add(y, y)

    with PassContext(config={"tir.default_schedule": False}):
        machine = relax.VirtualMachine(relax.build(Module, TARGET), tvm.cpu())
    press_soon()
    with pytest.raises(KeyboardInterrupt):
        machine["main"](tvm.nd.array(np.ones(4, "int64")))


def test_short_kernels_have_no_polls():
    @T.prim_func
    def short(A: T.Buffer((64, 64), "float32")):
        for i, j in T.grid(64, 64):
            A[i, j] = A[i, j] + T.float32(1)

    @T.prim_func
    def elements(n: T.int64, a: T.handle):
        A = T.match_buffer(a, (n,), "float32")
        for i in T.serial(n):
            A[i] = A[i] + T.float32(1)

    for func in (short, elements):
        assert "tilewright_poll" not in built(func).get_source("ll")
    assert "tilewright_poll" in built(spin).get_source("ll")
