"""Candidates for the tests of measuring, good ones and others, and functions that children run."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import ClassVar

import pytest
from tests.target.codegen.device.emulated_cuda import (
    EmulatedCuda,
    Int,
    Pointer,
    Size,
    Status,
    Text,
    put,
    use_emulation,
)

import tilewright as tvm
from tilewright.script import tir as T
from tilewright.target import Target
from tilewright.tune.candidate import ArgInfo
from tilewright.tune.measure import BuilderInput, RunnerInput
from tilewright.tune.measure.build_worker import default_build

ONE_CORE = Target("llvm -num-cores=1")


@T.prim_func
def add_one(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0


@T.prim_func
def add_two(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 2.0


@T.prim_func
def add_one_many_times(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for _ in range(50):
        for i, j in T.grid(64, 64):
            B[i, j] = A[i, j] + 1.0


@T.prim_func
def overwrite_input(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        B[i, j] = A[i, j] + 1.0
        A[i, j] = 0.0


@T.prim_func
def raise_signal(
    number: T.int32, A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")
):
    T.evaluate(T.call_extern("int32", "raise", number))
    B[0, 0] = A[0, 0]


@T.prim_func
def hang(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    T.evaluate(T.call_extern("int32", "pause"))
    B[0, 0] = A[0, 0]


@T.prim_func
def spin(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for _ in T.serial(T.int64(1 << 50)):
        T.evaluate(T.call_extern("int64", "clock"))
    B[0, 0] = A[0, 0]


@T.prim_func
def fail(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    assert A[0, 0] > 100.0, "the element is too small"
    B[0, 0] = A[0, 0]


@T.prim_func
def take_all_memory(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    with T.block("root"):
        C = T.alloc_buffer((1 << 20, 1 << 20), "float32")
        for i, j in T.grid(1 << 20, 1 << 20):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi % 64, vj % 64]
        for i, j in T.grid(64, 64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi * 1000, vj * 1000]


@T.prim_func
def matmul(
    A: T.Buffer((16, 300), "float32"),
    B: T.Buffer((300, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    for i, j, k in T.grid(16, 16, 300):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def matmul_that_hangs(
    A: T.Buffer((16, 300), "float32"),
    B: T.Buffer((300, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    T.evaluate(T.call_extern("int32", "pause"))
    C[0, 0] = A[0, 0] + B[0, 0]


def module(func):
    """A module with the function as its ``main``."""
    return tvm.IRModule.from_expr(func.with_attr("global_symbol", "main"))


def dying_of(number):
    """A module that raises a signal."""
    return module(raise_signal.specialize({raise_signal.params[0]: int(number)}))


def to_build(func):
    """The input of a builder."""
    return BuilderInput(func if isinstance(func, tvm.IRModule) else module(func), ONE_CORE)


def to_run(build_result, func=add_one, key=None):
    """The input of a runner for what a builder made."""
    assert build_result.error_msg is None, build_result.error_msg
    info = ArgInfo.from_prim_func(func)
    # Times that are compared are of one core; the rest may run where there is room.
    num_cores = None if key is None else 1
    return RunnerInput(build_result.artifact_path, "cpu", info, key, num_cores)


# --- what children run ------------------------------------------------------------------------


def build_as_named(mod, target, params):
    """Do what the name of the function says."""
    (func,) = mod.functions.values()
    name = next(iter(mod.functions)).name_hint
    if name == "sleeps":
        time.sleep(60)
    while name == "computes":
        pass
    if name == "aborts":
        os.abort()
    if name == "exits":
        os._exit(3)
    if name == "raises":
        raise ValueError("no code for this")
    return default_build(tvm.IRModule.from_expr(func), target, params)


def named(name, **limits):
    """The input of a builder for `build_as_named`."""
    mod = tvm.IRModule({name: add_one.with_attr("global_symbol", "main")})
    return BuilderInput(mod, ONE_CORE, **limits)


def export_library(mod, path):
    """A library by the system's linker."""
    return mod.export_library(path)


def broken_initializer():
    """An initializer that fails."""
    raise RuntimeError("not today")


def leave_a_mark(path):
    """An initializer or a cleanup that is seen to be called."""
    with Path(path).open("a") as stream:
        stream.write("called\n")


def three_seconds(mod, device, evaluator_config, repeated_args):
    """An evaluator that has its own clock."""
    mod(*repeated_args[0])
    return [float(evaluator_config.number)] * len(repeated_args)


def no_list(mod, device, evaluator_config, repeated_args):
    """An evaluator that returns something else."""
    return {"mean": 3.0}


def ones(device, args_info, alloc_repeat):
    """Arguments that are all one."""
    sets = range(alloc_repeat)
    arrays = [[tvm.nd.empty(shape, dtype, device) for _, dtype, shape in args_info] for _ in sets]
    for arguments in arrays:
        for array in arguments:
            array[...] = 1
    return arrays


FIRST_LAUNCH_SECONDS = 0.7
EMULATIONS = []
"""They live as long as the process, as devices do."""


def emulate_a_device_that_faults():
    """Let there be a CUDA device on which kernels do nothing, but those with a 404 in them fault.

    After a fault, nothing works any more, as on every such device. The first launch of a kernel
    takes long.
    """

    class Faulting(EmulatedCuda):
        started: ClassVar = set()

        def cuModuleLoadDataEx(
            self, module: Pointer, image: Text, count: Int, options: Pointer, values: Pointer
        ) -> Status:
            return put(module, Size, 1 + (b"404" in image))

        def cuModuleGetFunction(self, function: Pointer, module: Pointer, name: Text) -> Status:
            return put(function, Size, module)

        def cuLaunchKernel(
            self, function: Pointer, bx: Int, by: Int, bz: Int, tx: Int, ty: Int, tz: Int,
            shared: Int, stream: Pointer, arguments: Pointer, extra: Pointer,
        ) -> Status:  # fmt: skip
            if function not in self.started:
                time.sleep(FIRST_LAUNCH_SECONDS)
            self.started.add(function)
            if self.fault:
                return self.fail(Status.CUDA_ERROR_LAUNCH_FAILED, self.fault)
            self.fault = "unspecified launch failure" if function > 1 else ""
            return Status.CUDA_SUCCESS

    api = Faulting()
    use_emulation(pytest.MonkeyPatch(), api)
    EMULATIONS.append(api)
