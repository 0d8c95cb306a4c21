"""Builders and runners by the arguments that AutoTVM and the auto-scheduler give them."""

from __future__ import annotations

from typing import Any

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.tune.measure import local_builder, local_runner
from tilewright.tune.measure.interfaces import Builder, EvaluatorConfig, Runner


class LocalBuilder(local_builder.LocalBuilder):
    """Builds in processes of this machine; see `tilewright.tune.measure.LocalBuilder`.

    Args:
        timeout: seconds that a candidate may take.
        n_parallel: number of processes; by default one per core that is not needed for timing.
        build_func: ``"default"``, or a function as `f_build` of that class.
    """

    def __init__(
        self, timeout: float = 15, n_parallel: int | None = None, build_func: Any = "default"
    ) -> None:
        if build_func != "default" and not callable(build_func):
            raise ArgumentValueError(
                f"LocalBuilder: build_func is 'default' or a function, got {build_func!r}"
            )
        own = None if build_func == "default" else build_func
        super().__init__(timeout_sec=timeout, max_workers=n_parallel, f_build=own)


class LocalRunner(local_runner.LocalRunner):
    """Runs in a process of this machine; see `tilewright.tune.measure.LocalRunner`.

    Args:
        timeout: seconds that a candidate may take in all.
        number: runs per repetition, at least.
        repeat: repetitions; each gives one time.
        min_repeat_ms: how long a repetition takes at least, by more runs if need be.
        cooldown_interval: seconds of rest after each candidate.
        enable_cpu_cache_flush: start each run with caches that hold other data.
        device: for old programs; candidates run on the CPU.
    """

    def __init__(
        self,
        timeout: float = 10,
        number: int = 3,
        repeat: int = 1,
        min_repeat_ms: int = 100,
        cooldown_interval: float = 0.0,
        enable_cpu_cache_flush: bool = False,
        device: int = 0,
    ) -> None:
        del device
        config = EvaluatorConfig(number, repeat, min_repeat_ms, enable_cpu_cache_flush)
        super().__init__(timeout, config, cooldown_interval)


class RPCRunner:
    """A name that programs know: there is no such runner, and the error says what to use."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise ArgumentValueError(
            "RPCRunner: no tracker is asked for machines. LocalRunner() measures on this one; "
            'runner="ray" measures on a cluster'
        )


def require_parts(caller: str, builder: Any, runner: Any) -> None:
    """Refuse what is neither a builder or runner nor the name of one.

    Raises:
        ArgumentError: it names `caller`, the function that was called.
    """
    for name, part, kind in (("builder", builder, Builder), ("runner", runner, Runner)):
        if not isinstance(part, (str, kind)):
            hint = f"; give its `{name}`" if isinstance(getattr(part, name, None), kind) else ""
            raise ArgumentError(
                f"{caller}: {name} is 'local', a Local{kind.__name__}(...), or another {name} of "
                f"the tuner; got {part!r}{hint}"
            )
