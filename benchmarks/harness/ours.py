"""The program of a work, compiled and ready to be called."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

import tilewright as tvm
from benchmarks.harness import cpu
from benchmarks.suite.work import Call, Work
from benchmarks.tuner.places import OURS, folder_of
from tilewright.target import Target
from tilewright.tir import PrimFunc

HAND, DEFAULT = "hand", "default"
"""The names of the two schedules of a work."""
TUNED = "tuned"
"""The name of the schedule that the tuner found."""


class Ours(NamedTuple):
    """A compiled program with its arguments."""

    call: Call
    result: tvm.nd.NDArray
    """Where a call writes the first output."""


def schedules(work: Work) -> list[str]:
    """Which schedules the work has."""
    return [HAND, DEFAULT] if work.schedule is not None else [DEFAULT]


def compile_work(
    work: Work, schedule: str, inputs: Sequence[np.ndarray], threads: int, tuned: str = ""
) -> Ours:
    """Build the program under one of its schedules, with memory for its results.

    Args:
        work: the work.
        schedule: one of `schedules`, or `TUNED`.
        inputs: the arguments.
        threads: on how many threads it may run.
        tuned: the folder with what tuning found.
    """
    target = cpu.target(threads)
    function = work.program()
    outputs = [
        tvm.nd.array(np.full([int(n) for n in buffer.shape], 0, str(buffer.dtype)))
        for buffer in list(function.buffer_map.values())[len(inputs) :]
    ]
    if schedule == HAND:
        assert work.schedule is not None, f"{work.name} has no hand-written schedule"
        sch = tvm.tir.Schedule(function)
        work.schedule(sch, target)
        module = tvm.build(sch.mod, target=target)
    elif schedule == TUNED:
        module = tvm.build(tuned_schedule(work, function, target, tuned).mod, target=target)
    else:
        module = tvm.build(function, target=target)
    arrays = [shared(array) for array in inputs]
    name = str(function.attrs["global_symbol"])
    return Ours(partial(module[name], *arrays, *outputs), outputs[0])


def tuned_schedule(work: Work, function: PrimFunc, target: Target, tuned: str) -> tvm.tir.Schedule:
    """The best that tuning found."""
    from tilewright import meta_schedule as ms

    database = ms.database.JSONDatabase(work_dir=str(folder_of(tuned, work.name, OURS)))
    found = ms.tir_integration.compile_tir(database, function, target)
    assert found is not None, f"there are no records of {work.name} in {tuned}"
    return found


def shared(array: np.ndarray) -> tvm.nd.NDArray:
    """The same memory where DLPack can say so; numpy's has no bfloat16."""
    return tvm.nd.from_dlpack(array) if array.dtype.kind != "V" else tvm.nd.array(array)


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy in memory that is aligned as that of new arrays: ours and the peers share it."""
    padded = np.empty(array.nbytes + tvm.runtime.ndarray.ALIGNMENT, "uint8")
    start = -padded.ctypes.data % tvm.runtime.ndarray.ALIGNMENT
    copy = padded[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
