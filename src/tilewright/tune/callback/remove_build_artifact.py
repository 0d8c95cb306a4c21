"""What was built is deleted when it was measured."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.tune.callback.measure_callback import MeasureCallback

if TYPE_CHECKING:
    from tilewright.tune.scheduler.task_scheduler import TaskScheduler


class RemoveBuildArtifact(MeasureCallback):
    """Deletes the files that the builder made, and their directories when they are empty."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[Any],
        builder_results: Sequence[Any],
        runner_results: Sequence[Any],
    ) -> None:
        """Delete the files of a batch."""
        for result in builder_results:
            if result.artifact_path is not None:
                remove(Path(result.artifact_path))


def remove(path: Path) -> None:
    """Delete a file, or a directory with all that is in it, and its parent if it is empty then."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    path.unlink(missing_ok=True)
    try:
        path.parent.rmdir()
    except OSError:
        return  # other artifacts are there
