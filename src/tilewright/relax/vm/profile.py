"""Observing a graph function step by step, and timing its steps."""

from __future__ import annotations

import csv
import enum
import functools
import io
import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tilewright.driver.build_module import build
from tilewright.error import ArgumentValueError
from tilewright.ir.convert import cast, const
from tilewright.ir.module import IRModule
from tilewright.relax.vm.compile import LIBRARY_OBSERVER, compile_graphs, observed_name
from tilewright.relax.vm.emit import SKIP, Observer
from tilewright.relax.vm.function import Descriptions, GraphFunction, graph_function
from tilewright.relax.vm.steps import CallStep, PackedCallStep, Step, in_order, label_of
from tilewright.runtime.device import Device
from tilewright.runtime.module import Module
from tilewright.runtime.packed_func import PackedFunc
from tilewright.runtime.registry import register_func, remove_global_func
from tilewright.schedule_rules.eligible import IS_SCHEDULED
from tilewright.tir.analysis.cost import estimate_tir_flops
from tilewright.tir.function import PrimFunc
from tilewright.tir.op.calls import call_packed
from tilewright.tir.stmt import Evaluate, seq
from tilewright.tir.substitute import symbolic_sizes

if TYPE_CHECKING:
    from tilewright.relax.vm.executable import Executable


_numbers: Final = itertools.count()

Callback = Callable[..., Any]
"""Called with a step, whether it comes, and its arrays or symbolic sizes."""


class VMInstrumentReturnKind(enum.IntEnum):
    """What an instrument returns before a step."""

    NO_OP = 0
    """Go on."""
    SKIP_RUN = SKIP
    """Leave the step out."""


class ObservedFunctions:
    """The graph functions of an executable, compiled such that each step can be seen.

    The kernels are those of the executable.
    """

    def __init__(
        self, executable: Executable, sees_arrays: bool, device: Device | None = None
    ) -> None:
        compiled = executable.compiled
        self._name = f"tilewright.relax.observe{next(_numbers)}"
        self.steps: list[Step] = []
        observers = {}
        for name, program in compiled.graphs.programs.items():
            observers[name] = Observer(self._name, len(self.steps), sees_arrays)
            self.steps += in_order(program.steps)
        observed = compile_graphs(executable.mod, compiled.graphs, observers, compiled.units)
        self._module = observed.runtime_module()
        self._source = executable.mod
        self._descriptions = compiled.descriptions
        self.device = device

    def function(self, name: str) -> PackedFunc | GraphFunction:
        """One of the functions, which runs inside of `calling` only."""
        return graph_function(self._module, name, self._descriptions, self.device)

    @contextmanager
    def calling(self, callback: Callback) -> Iterator[None]:
        """Inside, `callback` is called before and after each step."""
        with observing(self._name, self.steps, callback):
            yield

    def operations(self, step: Step, sizes: Sequence[int]) -> float | None:
        """The floating-point operations of a step; None where they are not known."""
        return _flops(self._source, step, sizes)


class ObservedLibrary:
    """The graph functions of a library that was exported such that they can be observed."""

    def __init__(
        self, module: Module, descriptions: Descriptions, name: str, device: Device | None = None
    ) -> None:
        observed = observed_name(name)
        known = {observed: descriptions.functions[name]}
        self._function = graph_function(module, observed, Descriptions(known), device)
        self._labels = descriptions.observed[name].steps
        self.device = device

    def function(self, name: str) -> PackedFunc | GraphFunction:
        """The function, which runs inside of `calling` only."""
        del name
        return self._function

    @contextmanager
    def calling(self, callback: Callback) -> Iterator[None]:
        """Inside, `callback` is called before and after each step, with a step of that name."""
        steps = [PackedCallStep(label, (), frozenset()) for label in self._labels]
        with observing(LIBRARY_OBSERVER, steps, callback):
            yield

    def operations(self, step: Step, sizes: Sequence[int]) -> float | None:
        """None: a library does not say what its kernels compute."""
        del step, sizes


@contextmanager
def observing(name: str, steps: Sequence[Step], callback: Callback) -> Iterator[None]:
    """Inside, the registered function `name` calls `callback` with a step for its number."""

    def observe(number: int, before: bool, *values: Any) -> Any:
        return callback(steps[number], bool(before), *values)

    register_func(name, observe, override=True)
    try:
        yield
    finally:
        remove_global_func(name)


class InstrumentedFunction:
    """A graph function that tells an instrument about each step.

    The instrument is called as ``instrument(function, name, before_run, return_value, *args)``, as
    users of the virtual machine know it; there is no function value and no return value here, so
    both are None, and the last of `args` are the arrays that the step writes.
    """

    def __init__(self, observed: ObservedFunctions, name: str, instrument: Callback) -> None:
        self._observed, self._instrument = observed, instrument
        self._function = observed.function(name)

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        with self._observed.calling(self._tell):
            return self._function(*args)

    def _tell(self, step: Step, before: bool, *values: Any) -> int:
        answer = self._instrument(None, label_of(step), before, None, *values)
        return int(answer) if answer is not None else VMInstrumentReturnKind.NO_OP


WARM_UP = 2
"""Calls before those that count."""


class KernelTime(NamedTuple):
    """The time of a kernel or a registered function.

    Attributes:
        seconds: for all calls together.
        share: of the time of all kernels.
        flops: floating-point operations of all calls; None where they are not known.
    """

    name: str
    calls: int
    seconds: float
    share: float
    flops: float | None

    @property
    def flops_per_second(self) -> float | None:
        """The rate of operations."""
        return None if self.flops is None or not self.seconds else self.flops / self.seconds


class Profile(NamedTuple):
    """The result of `VirtualMachine.profile`; as text it is a table.

    Attributes:
        kernels: the most expensive first.
    """

    function: str
    kernels: tuple[KernelTime, ...]

    @property
    def seconds(self) -> float:
        """The time of all kernels."""
        return sum(kernel.seconds for kernel in self.kernels)

    def table(self) -> str:
        """A line for each kernel."""
        rows = [("kernel", "calls", "us", "share", "GFLOP/s")]
        for kernel in self.kernels:
            rate = kernel.flops_per_second
            rows.append((
                kernel.name, str(kernel.calls), f"{kernel.seconds * 1e6:.1f}",
                f"{kernel.share:.1%}", "" if not rate else f"{rate / 1e9:.1f}",
            ))  # fmt: skip
        calls = str(sum(kernel.calls for kernel in self.kernels))
        rows.append(("total", calls, f"{self.seconds * 1e6:.1f}", "", ""))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if not column else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )

    def json(self) -> str:
        """The kernels as JSON: a list of objects with the fields of `KernelTime`."""
        return json.dumps([kernel._asdict() for kernel in self.kernels])

    def csv(self) -> str:
        """A line for each kernel, the fields of `KernelTime` separated by commas."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(KernelTime._fields)
        writer.writerows(self.kernels)
        return text.getvalue()

    def __str__(self) -> str:
        return self.table()


def profile(
    observed: ObservedFunctions | ObservedLibrary, name: str, args: Sequence[Any], repeat: int
) -> Profile:
    """Time each step of a graph function.

    Args:
        observed: the functions, which see symbolic sizes.
        repeat: how often it runs; each step counts with the median of its times.
    """
    clock, begin = time.perf_counter, 0.0
    runs: list[list[tuple[Step, float, tuple[int, ...]]]] = []

    def note(step: Step, before: bool, *sizes: int) -> None:
        nonlocal begin
        if observed.device is not None:
            observed.device.sync()  # a step ends when the device is done
        now = clock()
        if not before:
            runs[-1].append((step, now - begin, sizes))
        begin = clock()

    function = observed.function(name)
    with observed.calling(note):
        for _ in range(WARM_UP + repeat):
            runs.append([])
            function(*args)
    timed = runs[WARM_UP:]
    gap = _gap()
    seconds: dict[str, float] = {}
    calls: dict[str, int] = {}
    flops: dict[str, float | None] = {}
    for position, (step, _, sizes) in enumerate(timed[0]):
        label = label_of(step)
        spent = statistics.median(run[position][1] for run in timed if position < len(run))
        seconds[label] = seconds.get(label, 0.0) + max(spent - gap, 0.0)
        calls[label] = calls.get(label, 0) + 1
        done, before = observed.operations(step, sizes), flops.get(label, 0.0)
        flops[label] = None if done is None or before is None else before + done
    total = sum(seconds.values()) or 1.0
    kernels = [
        KernelTime(label, calls[label], spent, spent / total, flops[label])
        for label, spent in seconds.items()
    ]
    return Profile(name, tuple(sorted(kernels, key=lambda kernel: -kernel.seconds)))


@functools.cache
def _gap() -> float:
    """Seconds from the end of a callback to the beginning of the next, at least, without a step."""
    clock, begin = time.perf_counter, 0.0
    name, gaps = "tilewright.relax.gap", []
    calls = [Evaluate(call_packed(name, 0, const(before), 1)) for before in (True, False)]
    function = build(PrimFunc((), seq(*calls), attrs={"global_symbol": "main"}), target="llvm")

    def note(step: Step, before: bool, *sizes: int) -> None:
        nonlocal begin
        now = clock()
        if not before:
            gaps.append((step, now - begin, sizes))
        begin = clock()

    nothing = PackedCallStep(name, (), frozenset())
    with observing(name, [nothing], note):
        for _ in range(100):
            function()
    return min(gap for _, gap, _ in gaps)  # a busy machine adds to most of them


def _flops(module: IRModule, step: Step, sizes: Sequence[int]) -> float | None:
    """The operations of a step; None where they are not known."""
    function = module.functions.get(step.callee) if isinstance(step, CallStep) else None
    if not isinstance(function, PrimFunc):
        return None
    if sizes and function.attrs.get(IS_SCHEDULED, False):
        return None  # parts of tiles that stick out would be counted as whole ones
    values = {
        size: cast(size.dtype, value)
        for size, value in zip(symbolic_sizes(function), sizes, strict=False)
    }
    try:
        return estimate_tir_flops(function.specialize(values) if values else function)
    except ArgumentValueError:
        return None
