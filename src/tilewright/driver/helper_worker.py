"""The child process that helps; see `tilewright.driver.helpers`."""

from __future__ import annotations

import base64
import pickle
import socket
import warnings

from tilewright.driver.helpers import Job, facts_about
from tilewright.garbage import few_collections
from tilewright.ir.pass_context import PassContext
from tilewright.ir.recursion import deep_recursion
from tilewright.processes import channel
from tilewright.processes.requests import dumps
from tilewright.target import Target


def main(connection: socket.socket) -> None:
    """Answer requests until the connection is closed."""
    job: Job | None = None
    with few_collections(), warnings.catch_warnings():
        warnings.simplefilter("error")  # they are for the user's process
        while True:
            request: Job | int = pickle.loads(channel.receive(connection))
            if isinstance(request, Job):
                job = request
            else:
                assert job is not None
                channel.send_json(connection, _answer(job, request))


def _answer(job: Job, number: int) -> str | None:
    try:
        return base64.b64encode(_result(job, number)).decode()
    except Exception:  # the user's process finds out what it is
        return None


@deep_recursion
def _result(job: Job, number: int) -> bytes:
    target = Target(dict(job.target))
    if facts_about(target) != job.facts:
        raise RuntimeError("this process has another machine or package")
    with PassContext(**job.context):
        return dumps(job.function(pickle.loads(job.items[number]), target))
