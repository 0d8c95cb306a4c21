"""The loops that a stage is computed in, and the memory that follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright.te.operation import ComputeOp, Operation, ScanOp, tensors_read
from tilewright.te.scan import scan_body
from tilewright.te.schedule.stage import Stage
from tilewright.te.schedule.stage_state import AttachType
from tilewright.tir.expr import IterVar

if TYPE_CHECKING:
    from tilewright.te.schedule.schedule import Schedule


class StageLoop(NamedTuple):
    """A loop of a stage."""

    stage: Stage
    loop: IterVar


class Attachments:
    """Where the stages of a normalized schedule are computed.

    Attributes:
        stages: those that are computed on their own, without the inlined ones.
        scans: for the operations that are computed step by step, the scan.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.stages = [s for s in schedule.stages if s.attach_type is not AttachType.INLINE]
        self.scans: dict[Operation, Stage] = {}
        for stage in self.stages:
            if isinstance(stage.op, ScanOp):
                for op in scan_body(stage.op):
                    self.scans[op] = stage
        self._paths: dict[Stage, tuple[StageLoop, ...]] = {}
        self._readers: dict[Operation, list[Stage]] = {}
        for stage in self.stages:
            for op in dict.fromkeys(tensor.op for tensor in stage.op.input_tensors):
                self._readers.setdefault(op, []).append(stage)

    def innermost(self, stage: Stage) -> StageLoop | None:
        """The innermost loop of another stage that `stage` is computed in; None for the root.

        A stage that is computed where its group is takes the place of the group.
        """
        spec = stage.attachment()
        if spec.attach_type is AttachType.SCOPE:
            parent, loop = spec.attach_stage, spec.attach_ivar
            assert parent is not None
            assert loop is not None
            if parent.attach_type is AttachType.INLINE:
                raise stage.error("compute_at", f"stage {parent.name} is inlined and has no loops")
            loop = parent.current_loop(loop)
            parent.position(f"compute_at of stage {stage.name}", loop)
            return StageLoop(parent, loop)
        scan = None if stage.is_group else self.scans.get(stage.op)
        return None if scan is None else StageLoop(scan, scan.leaf_iter_vars[0])

    def path(self, stage: Stage) -> tuple[StageLoop, ...]:
        """The loops of other stages around `stage`, the innermost first.

        Raises:
            TEScheduleError: if a loop is gone.
        """
        found = self._paths.get(stage)
        if found is not None:
            return found
        loops: list[StageLoop] = []
        place = self.innermost(stage)
        while place is not None:
            position = place.stage.position("compute_at", place.loop)
            leaves = place.stage.leaf_iter_vars[: position + 1]
            loops += [
                StageLoop(place.stage, leaf)
                for leaf in reversed(leaves)
                if not self.is_step(place.stage, leaf)
            ]
            place = self.innermost(place.stage)
        self._paths[stage] = tuple(loops)
        return self._paths[stage]

    def is_attached(self, stage: Stage) -> bool:
        """Whether `stage` is computed in a loop of a stage that it was attached to.

        Otherwise it is computed on its own, or step by step in the loop of its scan.
        """
        place = self.innermost(stage)
        return place is not None and place.stage is not self.scans.get(stage.op)

    def is_step(self, stage: Stage, leaf: IterVar) -> bool:
        """Whether `leaf` is the step of a scan, which has the loop."""
        op = stage.op
        return isinstance(op, ComputeOp) and op in self.scans and leaf is op.axis[0]

    def readers(self, stage: Stage) -> list[Stage]:
        """The stages that read what `stage` computes."""
        return self._readers.get(stage.op, [])

    def check(self, stage: Stage) -> None:
        """Require that all readers of `stage` are in the loop that it is computed in.

        Raises:
            TEScheduleError: if not.
        """
        place = self.innermost(stage)
        if place is None:
            return
        for reader in self.readers(stage):
            if reader is place.stage:
                self._check_init(stage, place)
            elif not any(same_loop(place, around) for around in self.path(reader)):
                raise stage.error(
                    "compute_at",
                    f"it is computed in loop {place.loop.name} of stage {place.stage.name}, but "
                    f"stage {reader.name}, which reads it, is computed outside of that loop",
                )

    def _check_init(self, stage: Stage, place: StageLoop) -> None:
        """The initialisation of a reduction is in front of the reduction loops."""
        op = place.stage.op
        if not isinstance(op, ComputeOp) or op.reduction is None:
            return
        starts = op.reduction.init or op.reduction.combiner.identity_element
        position = place.stage.position("compute_at", place.loop)
        leaves = place.stage.leaf_iter_vars[: position + 1]
        if any(map(place.stage.is_reduction, leaves)) and any(
            tensor.op is stage.op for tensor in tensors_read(*starts)
        ):
            raise stage.error(
                "compute_at",
                f"the starting values of stage {op.name} read it in front of its reduction loops, "
                f"so it cannot be computed inside of {place.loop.name}",
            )


def same_loop(one: StageLoop, other: StageLoop) -> bool:
    """Whether two loops are the same one."""
    return one.stage is other.stage and one.loop is other.loop


_RANKS = {"global": 0, "shared": 1, "warp": 2, "local": 3}
"""How near to one thread a kind of memory is."""

_DEFAULTS = ("global", "shared", "local")
"""The memory of a stage that is computed in no loop of threads, of blocks only, of threads."""


def memory_scope(stage: Stage, attachments: Attachments) -> str:
    """The kind of memory that the results of `stage` are in."""
    if stage.scope:
        return stage.scope
    around = (place.stage.threads.get(place.loop) for place in attachments.path(stage))
    ranks = [thread_rank(thread) + 1 for thread in around if thread is not None]
    return _DEFAULTS[max(ranks, default=0)]


def thread_rank(thread: IterVar) -> int:
    """0 for the blocks of a kernel, 1 for the threads of a block."""
    return 0 if thread.thread_tag.startswith("blockIdx") else 1


def is_shared_by(scope: str, thread: IterVar | None) -> bool:
    """Whether the iterations of a loop that is bound to `thread` share memory of a kind."""
    if thread is None:
        return False
    rank = _RANKS.get(scope.split(".")[0], 0)
    if rank == _RANKS["warp"]:
        return thread.thread_tag == "threadIdx.x"
    return rank <= thread_rank(thread)
