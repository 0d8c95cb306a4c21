"""The child process that computes what a program should compute."""

from __future__ import annotations

import math
import os
import pickle
import resource
import socket
from dataclasses import dataclass
from typing import Any

from tilewright.driver.build_module import build
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.tune.measure import expected_results
from tilewright.tune.measure.affinity import stay_on
from tilewright.tune.measure.arguments import random_arguments
from tilewright.tune.measure.process import channel
from tilewright.tune.measure.process.requests import error_text


@dataclass(frozen=True, slots=True)
class ExpectRequest:
    """Run a program and save what it computes; answered by ``{}`` or ``{"error_msg": text}``.

    Attributes:
        mod: the program, without a schedule.
        args_info: its arguments, as `ArgInfo.as_json` gives them.
        directory: for the results.
        default_schedule: whether to run it with the default schedule, and not as it is.
        cores: where to run.
        seconds: how much processor time it may take.
    """

    mod: IRModule
    args_info: list[Any]
    directory: str
    default_schedule: bool
    cores: frozenset[int]
    seconds: float


def main(connection: socket.socket) -> None:
    """Answer one request."""
    request: ExpectRequest = pickle.loads(channel.receive(connection))
    os.nice(5 if request.default_schedule else 19)  # the program as it is written takes long
    try:
        _answer(request)
        channel.send_json(connection, {})
    except Exception as error:
        channel.send_json(connection, {"error_msg": error_text(error)})


def _answer(request: ExpectRequest) -> None:
    stay_on(request.cores)
    limit = math.ceil(request.seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))  # should nobody wait for it
    with PassContext(config={"tir.default_schedule": request.default_schedule}):
        module = build(request.mod, target="llvm")
    arguments = random_arguments(request.args_info)
    module(*arguments)
    expected_results.save(arguments, random_arguments(request.args_info), request.directory)
