"""Parts of the tuner: registered by names, and told their task."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tilewright.error import UnknownNameError, did_you_mean
from tilewright.target import Target
from tilewright.tir.tensor_intrin import TensorIntrin

if TYPE_CHECKING:
    from typing_extensions import Self

    from tilewright.tune.context import TuneContext


T = TypeVar("T")


class Registry(Generic[T]):
    """Functions that make a part of the tuner, by name.

    Args:
        what: what they make, for messages.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._makers: dict[str, Callable[..., T]] = {}

    def add(self, *names: str) -> Callable[[Any], Any]:
        """Decorator: a class, or a function that makes a part, under these names."""

        def register(maker: Any) -> Any:
            for name in names:
                self._makers[name] = maker
            return maker

        return register

    @property
    def names(self) -> list[str]:
        """The names that are known."""
        return sorted(self._makers)

    def make(self, name: str, *args: Any, **kwargs: Any) -> T:
        """The part of that name.

        Raises:
            UnknownNameError: if there is none.
        """
        maker = self._makers.get(name)
        if maker is None:
            hint = did_you_mean(name, self._makers, f"; known are {', '.join(self.names)}")
            raise UnknownNameError(f"there is no {self.what} {name!r}{hint}")
        return maker(*args, **kwargs)


class TaskPart:
    """A part of the tuner that is told its task, and cloned for other tasks."""

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take what is needed of the task; called before anything else.

        Args:
            context: the task.
        """

    def clone(self) -> Self:
        """One like this for another task."""
        return copy.copy(self)


class TargetPart(TaskPart):
    """A part that wants to know the target.

    Attributes:
        target: what the schedule is for. Without a task it is the current target, and without
            that one this machine.
    """

    _target: Target | None = None

    @property
    def target(self) -> Target:
        """What the schedule is for."""
        return Target.given_or_current(self._target)

    def initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take the target of the task."""
        self._target = context.target


TENSOR_CORE = "wmma_sync_16x16x16_f16f16f32"
"""The intrinsic that tells whether those for tensor cores are registered."""


def kind_of(target: Target) -> str:
    """The name of the rules for a target: its kind, or more special ones that its features allow.

    That is ``"vnni"`` for x86 CPUs with AVX-512 VNNI, ``"dotprod"`` for ARM CPUs with dot products,
    ``"cuda-tensorcore"`` for CUDA where there are intrinsics for tensor cores.
    """
    name = target.kind.name
    if name == "llvm" and target.architecture == "x86_64" and "avx512vnni" in target.features:
        return "vnni"
    if name == "llvm" and target.architecture == "aarch64" and "dotprod" in target.features:
        return "dotprod"
    if name == "cuda" and TensorIntrin.get(TENSOR_CORE, allow_missing=True) is not None:
        return "cuda-tensorcore"
    return name
