"""The child process that runs candidates; `run_requests` describes its protocol."""

from __future__ import annotations

import math
import pickle
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tilewright.error import ArgumentError
from tilewright.processes import channel
from tilewright.processes.requests import error_text, received
from tilewright.runtime.device import CPU, Device, cpu, device
from tilewright.runtime.loading import load_module, load_object
from tilewright.runtime.module import Module
from tilewright.tune.measure import expected_results
from tilewright.tune.measure.affinity import stay_on
from tilewright.tune.measure.arguments import random_arguments, with_packed
from tilewright.tune.measure.interleaving import measure_interleaved
from tilewright.tune.measure.run_requests import (
    Candidate,
    CheckRequest,
    InterleavedRequest,
    MeasureRequest,
    ReferenceArtifact,
    RunSettings,
)
from tilewright.tune.measure.timing import Plan, Reference, Timed, measure


def main(connection: socket.socket) -> None:
    """Answer requests until the connection is closed."""
    worker = None
    try:
        worker = _Worker(pickle.loads(channel.receive(connection)))
        answer = {}
    except Exception as error:
        answer = {"error_msg": error_text(error)}
    channel.send_json(connection, answer)
    while worker is not None and not worker.is_spoilt:
        request = pickle.loads(channel.receive(connection))
        channel.send_json(connection, worker.answer(request))


class _Worker:
    """Answers requests.

    Attributes:
        is_spoilt: whether a device reported an error, after which nothing runs on it any more as
            long as the process lives.
    """

    def __init__(self, settings: RunSettings) -> None:
        stay_on(settings.cores)
        initializer = received(settings.initializer)
        if initializer is not None:
            initializer()
        self.is_spoilt = False
        self._settings = settings
        self._alloc: Callable[..., Any] = received(
            settings.f_alloc_argument, default_alloc_argument
        )
        self._evaluate: Callable[..., Any] | None = received(settings.f_run_evaluator)
        self._cleanup: Callable[..., Any] | None = received(settings.f_cleanup)
        self._device = cpu()
        self._arguments: tuple[Any, list[Any]] | None = None
        self._reference: tuple[str, Module] | None = None

    def answer(self, request: Any) -> dict[str, Any]:
        """What is sent back for a request."""
        start = time.monotonic()
        try:
            answer = self._answer(request)
            if self._cleanup is not None:
                self._cleanup()
        except Exception as error:
            answer = {"error_msg": error_text(error)}
            self.is_spoilt = self._device.device_type != CPU
        time.sleep(self._settings.cooldown_sec)
        return {**answer, "seconds": time.monotonic() - start}

    def _answer(self, request: Any) -> dict[str, Any]:
        if isinstance(request, MeasureRequest):
            return self._measure(request)
        if isinstance(request, InterleavedRequest):
            return self._measure_interleaved(request)
        return self._check(request)

    # --- requests -----------------------------------------------------------------------------

    def _measure(self, request: MeasureRequest) -> dict[str, Any]:
        candidate, config = request.candidate, self._settings.config
        module, place = _load(candidate.artifact_path), self._on(candidate)
        originals = self._arguments_of(candidate, place)
        repeated = [with_packed(module, candidate.packed, arguments) for arguments in originals]
        if self._evaluate is not None:
            with _limited(request.cpu_limit):
                run_secs = _seconds(self._evaluate(module, place, config, repeated))
            return {"run_secs": run_secs, "complete": True}
        plan = Plan(
            config.number, config.repeat, config.min_repeat_ms, request.best, request.seconds
        )
        run_secs, cpu_secs, complete = [], [], True
        for original, arguments in zip(originals, repeated, strict=True):
            timed = self._timed(module, arguments, place)
            reference = self._reference_with(request.reference, original, place)
            with _limited(request.cpu_limit):
                times = measure(timed, reference, plan)
            run_secs += times.run_secs
            cpu_secs += times.cpu_secs
            complete = times.complete
            if not complete:
                break
        return {"run_secs": run_secs, "cpu_secs": cpu_secs, "complete": complete}

    def _measure_interleaved(self, request: InterleavedRequest) -> dict[str, Any]:
        modules = [_load(candidate.artifact_path) for candidate in request.candidates]
        candidate = request.candidates[0]
        place = self._on(candidate)
        arguments = self._arguments_of(candidate, place)[0]
        timed = [
            self._timed(module, with_packed(module, candidate.packed, arguments), place)
            for module, candidate in zip(modules, request.candidates, strict=True)
        ]
        reference = self._reference_with(request.reference, arguments, place)
        found = measure_interleaved(timed, reference, request.seconds)
        return {"times": [{"run_secs": t.run_secs, "cpu_secs": t.cpu_secs} for t in found]}

    def _check(self, request: CheckRequest) -> dict[str, Any]:
        candidate = request.candidate
        arguments = random_arguments(candidate.args_info, device=self._on(candidate))
        module = _load(candidate.artifact_path)
        module(*with_packed(module, candidate.packed, arguments))
        difference = expected_results.difference(arguments, request.directory, request.terms)
        return {"difference": difference}

    # --- what requests need -------------------------------------------------------------------

    def _on(self, candidate: Candidate) -> Device:
        """The device on which a candidate runs."""
        self._device = device(candidate.device_type)
        return self._device

    def _timed(self, module: Module, arguments: Any, place: Device) -> Timed:
        """What is to be timed; a device has compiled and run it once."""
        settings = self._settings
        flush = settings.config.enable_cpu_cache_flush
        if place.device_type != CPU:
            module.entry_func(*arguments)
            place.sync()
        return Timed(module.entry_func, tuple(arguments), settings.single, flush, place)

    def _arguments_of(self, candidate: Candidate, place: Device) -> list[Any]:
        """Sets of arguments, which stay for the next candidate of the same workload."""
        info = candidate.args_info
        if self._arguments is None or self._arguments[0] != info:
            self._arguments = None  # there may not be memory for both
            sets = self._alloc(place, info, self._settings.alloc_repeat)
            self._arguments = info, [tuple(arguments) for arguments in sets]
        return self._arguments[1]

    def _reference_with(
        self, wanted: ReferenceArtifact | None, arguments: Any, place: Device
    ) -> Reference | None:
        if wanted is None:
            return None
        if self._reference is None or self._reference[0] != wanted.artifact_path:
            self._reference = wanted.artifact_path, _load(wanted.artifact_path)
        module = self._reference[1]
        timed = self._timed(module, with_packed(module, wanted.packed, arguments), place)
        return Reference(timed, wanted.nominal)


def default_alloc_argument(place: Device, args_info: list[Any], alloc_repeat: int) -> list[Any]:
    """Sets of random arguments."""
    return [random_arguments(args_info, seed, place) for seed in range(alloc_repeat)]


@contextmanager
def _limited(cpu_seconds: float | None) -> Iterator[None]:
    """Die if what is done inside takes more processor time; None for no limit.

    Not the time that passes: a machine with much else to do is not the candidate's fault.
    """
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds or 0.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _load(path: str) -> Module:
    return load_object(path) if path.endswith(".o") else load_module(path)


def _seconds(values: Any) -> list[float]:
    """What a user's evaluator returns."""
    if isinstance(values, (list, tuple)) and values:
        seconds = [float(value) for value in values if isinstance(value, (int, float))]
        if len(seconds) == len(values) and all(math.isfinite(s) and s >= 0 for s in seconds):
            return seconds
    raise ArgumentError(f"f_run_evaluator returns a list of seconds, got {values!r}")
