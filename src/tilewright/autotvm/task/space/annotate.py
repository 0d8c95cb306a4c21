"""Knobs that choose how loops run, or where caches are computed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, Final

from tilewright.autotvm.task.space.axis import VirtualAxis
from tilewright.autotvm.task.space.knob import Entity, TransformSpace
from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.te.reducer import thread_axis
from tilewright.te.schedule import Schedule
from tilewright.tir.expr import IterVar

if TYPE_CHECKING:
    from tilewright.autotvm.task.space.config import Config

BLOCKS: Final = ("blockIdx.z", "blockIdx.y", "blockIdx.x")
VIRTUAL: Final = ("vthread", "vthread", "vthread")
THREADS: Final = ("threadIdx.z", "threadIdx.y", "threadIdx.x")
FUSE: Final = "fuse"

GPU_POLICIES: Final = {
    "bind_gpu": (BLOCKS, THREADS),
    "bind_gpu_virtual": (BLOCKS, VIRTUAL, THREADS),
}
"""Groups of thread axes; a policy takes the last one, two or three of each."""

LOOPS: Final = ("none", "unroll", "vec")
"""What may be done with a loop of a CPU."""

ANNOTATIONS: Final = (*LOOPS, *BLOCKS, *THREADS, "vthread", FUSE)


class AnnotateEntity(Entity):
    """How loops run, or at which of them caches are computed.

    Args:
        anns: for each loop ``"none"``, ``"unroll"``, ``"vec"``, a thread axis such as
            ``"threadIdx.x"``, or ``"fuse"`` for one loop with the next. For caches the position of
            the loop for each group of caches.
    """

    code = "an"

    def __init__(self, anns: Sequence[Any]) -> None:
        self.anns = list(anns)

    @property
    def value(self) -> list[Any]:
        """The annotations."""
        return self.anns

    def apply(
        self,
        sch: Schedule,
        op: Any,
        axes: Sequence[IterVar],
        axis_lens: Sequence[int] | None = None,
        max_unroll: int | None = None,
        vec_size: Sequence[int] | None = None,
        cfg: Config | None = None,
        source: Sequence[Sequence[Any]] | None = None,
    ) -> list[IterVar]:
        """Annotate loops of a stage, or compute caches in them.

        Args:
            sch: the schedule.
            op: the stage: a tensor or an operation.
            axes: the loops that the knob is about.
            axis_lens: how long they are, for the two limits.
            max_unroll: the most iterations to unroll.
            vec_size: the numbers of iterations that may be vectorised.
            cfg: the config, which is not valid if a limit is exceeded.
            source: groups of caches, for the policy ``"locate_cache"``.

        Returns:
            The loops; where loops are fused, the fused one stands for the last of them.

        Raises:
            TEScheduleError: if the schedule refuses.
        """
        loops = list(axes)
        if source is not None:
            for caches, position in zip(source, self.anns, strict=False):
                for cache in caches:
                    sch[cache].compute_at(sch[op], loops[position])
            return loops
        if (max_unroll or vec_size) and (axis_lens is None or cfg is None):
            raise ArgumentError(
                "AnnotateEntity.apply: `max_unroll` and `vec_size` need `axis_lens`, the lengths "
                "of the loops, and `cfg`, which is told if one is exceeded"
            )
        for position, annotation in enumerate(self.anns):
            if cfg is not None and axis_lens is not None:
                _check_limits(cfg, annotation, axis_lens[position], max_unroll, vec_size)
            self._annotate(sch[op], annotation, loops, position)
        return loops

    def _annotate(self, stage: Any, annotation: str, loops: list[IterVar], position: int) -> None:
        loop = loops[position]
        if annotation == "unroll":
            stage.unroll(loop)
        elif annotation == "vec":
            stage.vectorize(loop)
        elif annotation == FUSE:
            loops[position + 1] = stage.fuse(loop, loops[position + 1])
        elif annotation != "none":
            stage.bind(loop, thread_axis(annotation))

    def features(self) -> list[float]:
        """For each annotation which one it is; the positions for caches."""
        if not all(isinstance(annotation, str) for annotation in self.anns):
            return [float(position) for position in self.anns]
        return [float(known == own) for own in self.anns for known in ANNOTATIONS]


def _check_limits(cfg: Config, annotation: str, length: int, max_unroll: Any, lanes: Any) -> None:
    if annotation == "unroll" and max_unroll and length > max_unroll:
        cfg.raise_error(f"a loop of {length} iterations is not unrolled: at most {max_unroll} are")
    if annotation == "vec" and lanes and length not in lanes:
        cfg.raise_error(f"a loop of {length} iterations is not vectorised: {list(lanes)} are")


class AnnotateSpace(TransformSpace):
    """The annotations that a policy allows.

    Args:
        knob: the name of the knob, for messages.
        axes: the loops.
        policy: ``"unroll"`` and ``"vec"`` for each loop; ``"try_unroll"``, ``"try_vec"`` and
            ``"try_unroll_vec"`` for each loop or not; at most one loop is vectorised.
            ``"bind_gpu"`` binds the last loops to the axes of blocks and of threads, and fuses
            those before; ``"bind_gpu_virtual"`` has virtual threads in between.
            ``"locate_cache"`` chooses loops to compute caches in.
        num_anchor: number of loops that ``"locate_cache"`` chooses.
    """

    def __init__(
        self,
        knob: str,
        axes: Sequence[VirtualAxis],
        policy: str,
        *,
        num_anchor: int | None = None,
    ) -> None:
        self.policy = policy
        options: Any
        if policy in GPU_POLICIES:
            options = [_bound(knob, policy, len(axes))]
        elif policy == "locate_cache":
            if num_anchor is None:
                raise ArgumentError(
                    f"define_annotate {knob!r}: the policy 'locate_cache' needs `num_anchor`, the "
                    "number of loops to choose"
                )
            options = combinations(range(len(axes)), num_anchor)
        else:
            every = product(_loop_annotations(knob, policy), repeat=len(axes))
            options = (choice for choice in every if choice.count("vec") <= 1)
        super().__init__([AnnotateEntity(choice) for choice in options], len(axes))

    def __repr__(self) -> str:
        return f"Annotate(policy={self.policy}) len={len(self)}"


def _bound(knob: str, policy: str, count: int) -> list[str]:
    """What `count` loops are bound to."""
    groups = GPU_POLICIES[policy]
    of_each = min(count // len(groups), len(BLOCKS))
    if not of_each:
        raise ArgumentValueError(
            f"define_annotate {knob!r}: the policy {policy!r} binds at least {len(groups)} loops, "
            f"got {count}"
        )
    bound = [axis for group in groups for axis in group[-of_each:]]
    return [*[FUSE] * (count - len(bound)), *bound]


def _loop_annotations(knob: str, policy: Any) -> list[str]:
    words = str(policy).replace("try", "none").split("_")
    if not all(word in LOOPS for word in words):
        known = ("unroll", "vec", "try_unroll", "try_vec", "try_unroll_vec", "locate_cache")
        raise ArgumentValueError(
            f"define_annotate {knob!r}: the policy is one of {(*known, *GPU_POLICIES)}, got "
            f"{policy!r}"
        )
    return words
