"""Interfaces of builders and runners: from modules to files, and from files to times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeVar, get_args

from tilewright.error import require_at_least
from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.tune.parts import Registry

ErrorKind = Literal[
    "build",  # it cannot be compiled
    "build-timeout",  # compiling takes too long
    "crash",  # the process that built or ran it died
    "timeout",  # running takes too long
    "illegal-instruction",  # it has instructions that the machine lacks
    "wrong-result",  # it computes other numbers than the program that was to be tuned
    "run",  # it reported an error while it ran, or cannot be loaded
    "illegal-schedule",  # a step of its schedule was refused
    "cancelled",  # nobody wanted to know any more
]

ERROR_KINDS: Final[tuple[ErrorKind, ...]] = get_args(ErrorKind)

CANCELLED: Final = "cancelled"
"""The kind of error of candidates that nobody waited for."""


@dataclass(slots=True, eq=False)
class BuilderInput:
    """What to build.

    Attributes:
        mod: the module, scheduled.
        target: for what.
        params: constants by name, for builders that link them in.
        cpu_seconds: how much processor time that may take; infinite for no limit.
        deadline: when it is given up, by `time.monotonic`.
    """

    mod: IRModule
    target: Target
    params: Mapping[str, Any] | None = None
    cpu_seconds: float = math.inf
    deadline: float = math.inf


@dataclass(slots=True, eq=False)
class BuilderResult:
    """The result of building: either the file or the error is set.

    Attributes:
        artifact_path: the file.
        error_msg: what went wrong; the first line says the most.
        error_kind: what kind of error it is.
        seconds: how long it took.
        cpu_seconds: how much processor time it took; 0 if that is not known.
    """

    artifact_path: str | None
    error_msg: str | None = None
    error_kind: ErrorKind | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.error_msg is not None and self.error_kind is None:
            self.error_kind = "build"


class Builder:
    """Compiles candidates. Subclasses define `build`, and `stream` if they have results early.

    Attributes:
        is_asynchronous: whether `begin` returns before it has the results.
    """

    is_asynchronous = False

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """Build all of them; the results are in the order of the inputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define `build(build_inputs)`")

    def stream(self, build_inputs: Sequence[BuilderInput]) -> Iterator[tuple[int, BuilderResult]]:
        """The results with the positions of their inputs, each as soon as it arrives."""
        yield from enumerate(self.build(build_inputs))

    def begin(
        self,
        build_inputs: Sequence[BuilderInput],
        built: Callable[[int, BuilderResult], None],
    ) -> Sequence[Future[BuilderResult]]:
        """Begin to build in the background; for asynchronous builders.

        Args:
            build_inputs: what to build.
            built: is told the position of each input and its result, in some other thread.

        Returns:
            the results in the order of the inputs, each there when `built` was told.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define `begin`")

    def close(self) -> None:
        """End the processes that it has; it cannot be used afterwards."""

    @staticmethod
    def create(kind: str = "local", *args: Any, **kwargs: Any) -> Builder:
        """A builder by its name.

        Args:
            kind: ``"local"`` is a `LocalBuilder`, ``"ray"`` a `RayBuilder`.
            args: of its constructor.
            kwargs: the same, by name.

        Raises:
            UnknownNameError: for an unknown name.
        """
        return BUILDERS.make(kind, *args, **kwargs)


class StreamingBuilder(Builder):
    """A builder that has results early. Subclasses define `stream`."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """Build all of them; the results are in the order of the inputs."""
        results = dict(self.stream(build_inputs))
        return [results[position] for position in range(len(build_inputs))]


BUILDERS: Final = Registry[Builder]("builder")
"""The builders by name."""


@dataclass(slots=True, frozen=True)
class EvaluatorConfig:
    """How often a candidate runs, as for `Module.time_evaluator`.

    Attributes:
        number: runs per repetition, at least.
        repeat: repetitions; each gives one of `RunnerResult.run_secs`.
        min_repeat_ms: how long a repetition takes at least, by more runs if need be.
        enable_cpu_cache_flush: start each run with caches that hold other data.
    """

    number: int = 3
    repeat: int = 1
    min_repeat_ms: int = 100
    enable_cpu_cache_flush: bool = False

    def __post_init__(self) -> None:
        for name, least in (("number", 1), ("repeat", 1), ("min_repeat_ms", 0)):
            require_at_least(f"EvaluatorConfig: {name}", getattr(self, name), least)


@dataclass(slots=True, eq=False)
class RunnerInput:
    """What to run.

    Attributes:
        artifact_path: the file that a builder wrote.
        device_type: such as ``"cpu"`` or ``"llvm"``.
        args_info: the types of the arguments, `TensorInfo`s.
        key: which workload it is a candidate of. Candidates with the same key are compared: their
            times are measured against a common reference, and one that is clearly slower than the
            best so far is given less time. Without a key a candidate is measured by itself.
        num_cores: number of cores that it may use (`Target.num_cores`); None for all. With 1
            it is pinned to the last core.
        seconds: how long it may take part in `Runner.remeasure`; None for the runner's own choice.
        packed: arguments that are constants, and are packed by a function of the module before
            anything else runs, see `tune.deployment`; by position, as they are after packing.
    """

    artifact_path: str
    device_type: str
    args_info: Sequence[Any]
    key: str | None = None
    num_cores: int | None = None
    seconds: float | None = None
    packed: Mapping[int, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class RunnerResult:
    """The result of running: either the times or the error are set.

    Attributes:
        run_secs: seconds per run, one per repetition. Those of candidates with a key are what they
            would be if the machine were always as fast as when its first one was measured.
        error_msg: what went wrong; the first line says the most.
        error_kind: what kind of error it is.
        cpu_secs: processor time per run of the calling thread as measured, one per repetition.
        seconds: how long measuring took.
        is_complete: whether all repetitions took place. A candidate that is clearly slower than the
            best so far gets fewer.
        machine: where it ran, as `TuningRecord.machine` says it; None for this machine.
    """

    run_secs: list[float] | None
    error_msg: str | None = None
    error_kind: ErrorKind | None = None
    cpu_secs: list[float] | None = None
    seconds: float = 0.0
    is_complete: bool = True
    machine: Mapping[str, Any] | None = None

    @property
    def is_estimate(self) -> bool:
        """Whether the times were not measured, see `TuningRecord.is_estimate`."""
        return self.machine is not None and "estimate" in self.machine

    def __post_init__(self) -> None:
        if self.error_msg is not None and self.error_kind is None:
            self.error_kind = "run"


T_co = TypeVar("T_co", covariant=True)


class Future(Protocol[T_co]):
    """A result that may be pending, as in `concurrent.futures`."""

    def done(self) -> bool:
        """Whether it has arrived."""
        ...

    def result(self) -> T_co:
        """The result, for which it waits."""
        ...

    def cancel(self) -> Any:
        """Give up waiting for it."""
        ...


class RunnerFuture:
    """A result that may not be there yet.

    Subclasses define `done` and `result`, or give them as functions.
    """

    def __init__(
        self,
        f_done: Callable[[], bool] | None = None,
        f_result: Callable[[], RunnerResult] | None = None,
        f_cancel: Callable[[], None] | None = None,
    ) -> None:
        self._done, self._result, self._cancel = f_done, f_result, f_cancel

    def done(self) -> bool:
        """Whether the result has arrived."""
        if self._done is None:
            raise NotImplementedError(f"{type(self).__name__} does not define `done()`")
        return self._done()

    def result(self) -> RunnerResult:
        """The result, for which it waits."""
        if self._result is None:
            raise NotImplementedError(f"{type(self).__name__} does not define `result()`")
        return self._result()

    def cancel(self) -> None:
        """Do not measure the candidate if that has not begun; nobody waits for the result."""
        if self._cancel is not None:
            self._cancel()


class Runner:
    """Times candidates. Subclasses define `run`; the other methods are optional.

    Attributes:
        packs_constants: whether it does what `RunnerInput.packed` says; without that, candidates
            pack constants in each run.
        is_elsewhere: whether candidates run on other machines, so that building and searching do
            not disturb them.
        concurrency: number of candidates that run at the same time.
    """

    packs_constants = False
    is_elsewhere = False
    concurrency = 1

    def run(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerFuture]:
        """Start to measure; the futures are in the order of the inputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define `run(runner_inputs)`")

    def remeasure(self, runner_inputs: Sequence[RunnerInput]) -> list[RunnerResult]:
        """Measure again, interleaved if possible, to tell which is the fastest.

        Candidates that run in turns meet the same disturbances.
        """
        return [future.result() for future in self.run(runner_inputs)]

    def start_remeasuring(
        self, runner_inputs: Sequence[RunnerInput]
    ) -> Callable[[], list[RunnerResult]]:
        """Begin `remeasure` in the background, if that is supported.

        Returns:
            a function that waits for the results.
        """
        return lambda: self.remeasure(runner_inputs)

    def machine(self, target: Target) -> Mapping[str, Any]:
        """Where candidates for a target run, as `TuningRecord.machine` says it.

        Raises:
            TargetError: if its code is known not to run there.
        """
        from tilewright.tune.database.record import this_machine

        del target
        return this_machine()

    def expect(self, runner_input: RunnerInput, workload_mod: IRModule) -> None:
        """Start to compute what `check` will need, in the background.

        Args:
            runner_input: its `args_info`, `key` and `num_cores` matter, the file does not.
            workload_mod: the program that is tuned, as it was before any schedule.
        """

    def can_check(self, runner_input: RunnerInput, workload_mod: IRModule) -> bool:
        """Whether `check` answers at once, without waiting for what `expect` started.

        Args:
            runner_input: the candidate.
            workload_mod: the program that is tuned, as it was before any schedule.
        """
        del runner_input, workload_mod
        return True

    def check(self, runner_input: RunnerInput, workload_mod: IRModule) -> str | None:
        """How the results of a candidate differ from those of the program that is tuned.

        It is called for candidates that become the best, and waits for what `expect` started.

        Args:
            runner_input: the candidate.
            workload_mod: the program that is tuned, as it was before any schedule.

        Returns:
            None if they agree, or if nothing is known to compare them with.
        """

    def close(self) -> None:
        """End the processes that it has; it cannot be used afterwards."""

    @staticmethod
    def create(kind: str = "local", *args: Any, **kwargs: Any) -> Runner:
        """A runner by its name.

        Args:
            kind: ``"local"`` is a `LocalRunner`, ``"ray"`` a `RayRunner`.
            args: of its constructor.
            kwargs: the same, by name.

        Raises:
            UnknownNameError: for an unknown name.
        """
        return RUNNERS.make(kind, *args, **kwargs)


RUNNERS: Final = Registry[Runner]("runner")
"""The runners by name."""
