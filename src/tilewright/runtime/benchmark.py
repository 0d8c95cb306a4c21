"""Timing compiled functions.

The repetitions run in a native loop between two readings of the clock, so that functions of less
than a microsecond are timed and not the call from Python.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import tvm_ffi
from tvm_ffi import core

from tilewright.error import ArgumentError, ArgumentValueError, TVMError, require_at_least
from tilewright.runtime.device import CPU, Device, cpu, driver_of
from tilewright.runtime.ndarray import alias, from_dlpack
from tilewright.runtime.packed_func import PackedFunc
from tilewright.runtime.registry import get_global_func

GROWTH: Final = 1.618
"""By how much the number of runs grows at least while a repetition is too short."""

SHORTEST_ON_DEVICE: Final = 5e-5
"""Seconds that a repetition on a device takes at least: the clocks of devices count half
microseconds."""

_CLOCK_MONOTONIC: Final = 6 if sys.platform == "darwin" else 1

_LOOP: Final = f"""
declare i32 @clock_gettime(i32, ptr)

define i64 @run(ptr %function, ptr %handle, ptr %args, i32 %num_args, i64 %number, ptr %result, \
ptr %release) {{
entry:
  %start = alloca [2 x i64]
  %stop = alloca [2 x i64]
  %ignored = call i32 @clock_gettime(i32 {_CLOCK_MONOTONIC}, ptr %start)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %next_run ]
  %status = call i32 %function(ptr %handle, ptr %args, i32 %num_args, ptr %result)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %error, label %returned
returned:
  %kind = load i32, ptr %result
  %is_object = icmp sge i32 %kind, 64
  br i1 %is_object, label %drop, label %next_run
drop:
  %object_place = getelementptr i8, ptr %result, i64 8
  %object = load ptr, ptr %object_place
  %ignored3 = call i32 %release(ptr %object)
  store i64 0, ptr %result
  br label %next_run
next_run:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %number
  br i1 %more, label %loop, label %done
error:
  ret i64 -1
done:
  %ignored2 = call i32 @clock_gettime(i32 {_CLOCK_MONOTONIC}, ptr %stop)
  %s0 = load i64, ptr %start
  %s1 = load i64, ptr %stop
  %seconds = sub i64 %s1, %s0
  %start_ns = getelementptr i64, ptr %start, i64 1
  %stop_ns = getelementptr i64, ptr %stop, i64 1
  %n0 = load i64, ptr %start_ns
  %n1 = load i64, ptr %stop_ns
  %nanoseconds = sub i64 %n1, %n0
  %scaled = mul i64 %seconds, 1000000000
  %elapsed = add i64 %scaled, %nanoseconds
  ret i64 %elapsed
}}
"""


class BenchmarkResult:
    """Run times of a function, in seconds per run.

    Attributes:
        results: one per repetition: the mean of the runs of that repetition.
        mean: of the repetitions.
        median: of the repetitions.
        max: the slowest repetition.
        min: the quickest repetition.
        std: the standard deviation of the repetitions (of the population).
    """

    def __init__(self, results: Sequence[float]) -> None:
        self.results = tuple(results)
        if not self.results:
            raise ArgumentValueError("BenchmarkResult: there are no results")
        self.mean, self.median = float(np.mean(results)), float(np.median(results))
        self.max, self.min = max(results), min(results)
        self.std = float(np.std(results))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BenchmarkResult) and self.results == other.results

    def __hash__(self) -> int:
        return hash(self.results)

    def __repr__(self) -> str:
        names = ("mean", "median", "max", "min", "std", "results")
        listed = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"BenchmarkResult({listed})"

    def __str__(self) -> str:
        names = ("mean", "median", "max", "min", "std")
        values = (self.mean, self.median, self.max, self.min, self.std)
        head = " ".join(f"{name + ' (ms)':^12}" for name in names)
        row = " ".join(f"{value * 1e3:^12.4g}" for value in values)
        return f"Execution time summary:\n{head}\n{row}"


class _Value(ctypes.Union):
    _fields_ = (
        ("integer", ctypes.c_int64), ("real", ctypes.c_double), ("pointer", ctypes.c_void_p),
    )  # fmt: skip


class _Any(ctypes.Structure):
    """``TVMFFIAny``."""

    _fields_ = (("type_index", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", _Value))


class TimeEvaluator:
    """Times one function; call it with the arguments of the function.

    See `Module.time_evaluator` for the parameters.
    """

    def __init__(
        self,
        function: PackedFunc,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str = "",
        device: Device | None = None,
    ) -> None:
        for name, value, least in (
            ("number", number, 1), ("repeat", repeat, 1), ("min_repeat_ms", min_repeat_ms, 0),
            ("limit_zero_time_iterations", limit_zero_time_iterations, 0),
            ("cooldown_interval_ms", cooldown_interval_ms, 0),
            ("repeats_to_cooldown", repeats_to_cooldown, 1),
            ("cache_flush_bytes", cache_flush_bytes, 0),
        ):  # fmt: skip
            if not isinstance(value, (int, np.integer)):
                raise ArgumentError(f"time_evaluator: {name} is an integer, got {value!r}")
            require_at_least(f"time_evaluator: {name}", value, least)
        self._function = function
        self._number, self._repeat, self._min_repeat_ms = number, repeat, min_repeat_ms
        self._limit_zero = limit_zero_time_iterations
        self._cooldown = cooldown_interval_ms / 1e3
        self._repeats_to_cooldown = repeats_to_cooldown
        self._flushed = np.zeros(cache_flush_bytes, np.uint8) if cache_flush_bytes else None
        self._prepare = get_global_func(f_preproc) if f_preproc else None
        self._device = device or cpu()
        self._shortest = 0.0 if self._device.device_type == CPU else SHORTEST_ON_DEVICE

    def __call__(self, *args: Any) -> BenchmarkResult:
        """Run the function once to warm up, then time it."""
        self._function(*args)
        run = timed_loop(self._function, args, self._device)
        results = []
        for repetition in range(self._repeat):
            if self._prepare is not None:
                self._prepare(*args)
            if self._flushed is not None:
                self._flushed += 1
            results.append(self._measure(run))
            if self._cooldown and (repetition + 1) % self._repeats_to_cooldown == 0:
                time.sleep(self._cooldown)
        return BenchmarkResult(results)

    def _measure(self, run: Callable[[int], float]) -> float:
        """Seconds per run, of enough runs to take `min_repeat_ms`, and to be seen by the clock."""
        least = max(self._min_repeat_ms / 1e3, self._shortest)
        number, zeros = self._number, 0
        while True:
            seconds = run(number)
            if seconds >= least and seconds > 0:
                self._number = number
                return seconds / number
            if seconds <= 0:
                zeros += 1
                if zeros > self._limit_zero:
                    return 0.0
            elif least == 0:
                return seconds / number
            needed = least / max(seconds / number, 1e-9)
            number = int(max(needed + 1, number * GROWTH + 1))


def timed_loop(
    function: PackedFunc, args: tuple[Any, ...], device: Device
) -> Callable[[int], float]:
    """A function that runs `function` a number of times and returns the seconds that it took.

    Args:
        function: compiled.
        args: its arguments.
        device: where it runs. Its own clock is read, before the first run and after the last.
    """
    run = native_loop(function, args)
    if device.device_type == CPU:
        return run
    driver, device_id = driver_of(device, "time_evaluator"), device.device_id

    def timed(number: int) -> float:
        start = driver.record(device_id)
        try:
            run(number)
        finally:
            seconds = driver.elapsed(device_id, start, driver.record(device_id))
        return seconds

    return timed


def native_loop(function: PackedFunc, args: tuple[Any, ...]) -> Callable[[int], float]:
    """A function that runs `function` a number of times and returns the seconds that it took."""
    owners = [_as_array(arg) for arg in args]
    packed = (_Any * max(len(args), 1))()
    for slot, owner in zip(packed, owners, strict=False):
        _pack(slot, owner)
    result = _Any()
    handle = function.__chandle__()
    call = ctypes.cast(tvm_ffi.LIB.TVMFFIFunctionCall, ctypes.c_void_p)
    release = ctypes.cast(tvm_ffi.LIB.TVMFFIObjectDecRef, ctypes.c_void_p)

    def run(number: int) -> float:
        elapsed = _loop()(call, handle, packed, len(owners), number, ctypes.byref(result), release)
        if elapsed < 0:
            function(*args)  # raises the error again, as an exception
            raise TVMError(f"{function.name} failed while it was timed")
        return elapsed / 1e9

    return run


def _as_array(arg: Any) -> Any:
    if isinstance(arg, core.Tensor) or not hasattr(arg, "__dlpack__"):
        return arg
    if isinstance(arg, np.ndarray) and (arg.dtype.isbuiltin != 1 or not arg.flags.writeable):
        return alias(arg)
    return from_dlpack(arg)


def _pack(slot: Any, arg: Any) -> None:
    if isinstance(arg, core.Tensor):
        slot.type_index, slot.value.pointer = 70, arg.__chandle__()
    elif isinstance(arg, (bool, np.bool_)):
        slot.type_index, slot.value.integer = 2, bool(arg)
    elif isinstance(arg, (int, np.integer)):
        slot.type_index, slot.value.integer = 1, int(arg)
    elif isinstance(arg, (float, np.floating)):
        slot.type_index, slot.value.real = 3, float(arg)
    elif arg is not None:
        raise ArgumentError(f"time_evaluator: only arrays and numbers can be passed, got {arg!r}")


@functools.cache
def _loop() -> Callable[..., int]:
    """The native loop."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_LOOP), machine)
    engine.finalize_object()
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32,
        ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p,
    )  # fmt: skip
    function = prototype(engine.get_function_address("run"))
    function.engine = engine  # type: ignore[attr-defined]
    return function
