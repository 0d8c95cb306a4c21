"""What changes a search before it begins."""

from __future__ import annotations

import copy
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.auto_scheduler.measure_record import DEFAULT_FILE, open_log
from tilewright.tune.database import MemoryDatabase, TuningRecord
from tilewright.tune.database.record import this_machine
from tilewright.tune.database.selection import records_of
from tilewright.tune.measure.estimate import estimated_machine, is_estimated

if TYPE_CHECKING:
    from tilewright.auto_scheduler.search_policy import SearchPolicy

_logger = logging.getLogger(__name__)


class SearchCallback:
    """Changes a policy before its search begins; subclasses define `apply`."""

    def apply(self, policy: SearchPolicy) -> None:
        """Change the spaces of a policy, or what it knows."""
        raise NotImplementedError(f"{type(self).__name__} does not define `apply`")


class PreloadMeasuredStates(SearchCallback):
    """What a log has about the task is known: it is not measured again, and the search goes on.

    Records of other machines do not count. Lines of Apache TVM's auto-scheduler do not say where
    they were measured; they are taken to be of this machine.

    Args:
        filename: the log. If there is none, nothing is known, and a warning is logged.
    """

    def __init__(self, filename: str | os.PathLike[str] = DEFAULT_FILE) -> None:
        self.filename = Path(filename)

    def apply(self, policy: SearchPolicy) -> None:
        """Read the records of the task."""
        task = policy.task
        if not self.filename.exists():
            _logger.warning("PreloadMeasuredStates: there is no log %s", self.filename)
            return
        database = MemoryDatabase()
        database.commit_tuning_records(
            map(_of_a_machine, open_log(self.filename).get_all_tuning_records())
        )
        is_here = not is_estimated(task.target.kind.device_type)
        machine = None if is_here else estimated_machine(task.target)
        found = records_of(database, policy.context.mod, task.target, machine)
        policy.known.commit_tuning_records(found)
        _logger.info("%s: %d records of %s", self.filename, len(found), task.workload_key)


def _of_a_machine(record: TuningRecord) -> TuningRecord:
    """A record; one that does not say where it was measured as one of this machine."""
    if record.machine:
        return record
    own = copy.copy(record)
    own.machine = this_machine()
    return own
