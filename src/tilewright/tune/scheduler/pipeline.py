"""Candidates on their way through a builder and a runner that work in the background."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.tune.measure import BuilderResult, RunnerFuture, RunnerResult
from tilewright.tune.measure.interfaces import Future


class BuiltAndRun(RunnerFuture):
    """The result of a candidate that runs as soon as it is built.

    The thread of the builder calls `go_on`, before the result of the build has arrived.

    Args:
        run: begins to run what was built.
        built: is told the build, by whoever asks for the result.
    """

    def __init__(
        self, run: Callable[[BuilderResult], RunnerFuture], built: Callable[[BuilderResult], None]
    ) -> None:
        super().__init__()
        self._run, self._built = run, built
        self._running: RunnerFuture | None = None
        self._is_cancelled = self._is_told = False
        self.build: Future[BuilderResult] | None = None

    def go_on(self, build: BuilderResult) -> None:
        """The build is done."""
        if build.artifact_path is not None and not self._is_cancelled:
            self._running = self._run(build)

    def done(self) -> bool:
        """Whether the result has arrived."""
        assert self.build is not None
        return self.build.done() and (self._running is None or self._running.done())

    def result(self) -> RunnerResult:
        """The result, for which it waits."""
        assert self.build is not None
        build = self.build.result()
        if not self._is_told:
            self._is_told = True
            self._built(build)
        if self._running is None:
            return RunnerResult(None, build.error_msg, build.error_kind)
        return self._running.result()

    def cancel(self) -> None:
        """Cancel building and running, if they have not begun."""
        self._is_cancelled = True
        for part in (self.build, self._running):
            if part is not None:
                part.cancel()
