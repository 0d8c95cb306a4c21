"""The programs of the child processes in which candidates are built and run."""

from __future__ import annotations

from typing import Final

from tilewright.processes import ForkServer, shared_fork_server

BUILDING: Final = "tilewright.tune.measure.build_worker"
RUNNING: Final = "tilewright.tune.measure.run_worker"
EXPECTING: Final = "tilewright.tune.measure.expected_results"


def fork_server() -> ForkServer:
    """The fork server of this process, which has imported these programs if it starts now."""
    return shared_fork_server((BUILDING, RUNNING, EXPECTING))
