"""What a builder is: from modules to files that a runner loads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tilewright.ir.module import IRModule
from tilewright.target import Target
from tilewright.tune.measure.error_kind import ErrorKind
from tilewright.tune.registry import Registry


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
    """What came of it: either the file or the error is there.

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
    """Compiles candidates. Subclasses define `build`, and `stream` if they have results early."""

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """Build all of them; the results are in the order of the inputs."""
        raise NotImplementedError(f"{type(self).__name__} does not define `build(build_inputs)`")

    def stream(self, build_inputs: Sequence[BuilderInput]) -> Iterator[tuple[int, BuilderResult]]:
        """The results with the positions of their inputs, each as soon as it is there."""
        yield from enumerate(self.build(build_inputs))

    def close(self) -> None:
        """End the processes that it has; it cannot be used afterwards."""

    @staticmethod
    def create(kind: str = "local", *args: Any, **kwargs: Any) -> Builder:
        """A builder by its name.

        Args:
            kind: ``"local"`` is a `LocalBuilder`.
            args: of its constructor.
            kwargs: the same, by name.

        Raises:
            UnknownNameError: for an unknown name.
        """
        return BUILDERS.make(kind, *args, **kwargs)


BUILDERS: Final = Registry[Builder]("builder")
"""The builders by name."""
