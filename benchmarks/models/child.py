"""Measures one model beside one peer, in a process of its own: `python -m benchmarks.models.child`.

It takes a request in JSON on the command line and writes a record in JSON to a file.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import threads
from benchmarks.harness.child import WRONG, runs_on_more_threads, summary
from benchmarks.harness.record import Record
from benchmarks.harness.request import TimingRequest
from benchmarks.harness.timing import interleave
from benchmarks.models.peers import PEERS
from benchmarks.models.works import MODELS, Model
from benchmarks.suite.work import Call


@dataclass(frozen=True, kw_only=True)
class Request(TimingRequest):
    """What the child is to measure.

    Attributes:
        model: the name of a model.
        peer: one of `PEERS`.
    """

    model: str
    peer: str


def main() -> None:
    request = Request(**json.loads(sys.argv[1]))
    model = next(model for model in MODELS if model.name == request.model)
    record = empty_record(model, request)
    measure(model, request, record)
    with open(request.output, "w", encoding="utf-8") as stream:
        json.dump(record.as_dictionary(), stream)


def empty_record(model: Model, request: Request) -> Record:
    """A record of nothing yet."""
    return Record(
        "models", model.name, "default", request.peer, request.threads, flop=model.flop,
        aim=model.aim or None,
    )  # fmt: skip


def measure(model: Model, request: Request, record: Record) -> None:
    """Check what both compute, then time them in turns."""
    import torch

    torch.set_num_threads(threads.count())
    module, inputs = model.make()
    # For the whole process, as entering it for every call would cost a microsecond.
    with torch.inference_mode():
        expected = listed(module(*inputs))
    try:
        ours = compile_model(model, module, inputs)
        record.error = distance(listed(ours()), expected)
    except Exception as error:
        record.problem = f"ours failed: {summary(error)}"
        return
    if not record.error <= model.error:
        record.problem = f"{WRONG}: off by {record.error:.1e}, at most {model.error:.0e} is right"
        return
    calls = [ours]
    with torch.inference_mode():
        try:
            theirs = PEERS[request.peer](module, inputs)
            error = distance(listed(theirs()), expected)
            if not error <= 10 * model.error:
                raise ValueError(f"its result is off by {error:.1e}")
            calls.append(theirs)
        except ModuleNotFoundError as error:
            record.problem = f"{error.name} is not installed"
        except Exception as error:
            record.problem = f"{request.peer} failed: {summary(error)}"
        for side, call in zip(("ours", request.peer), calls, strict=False):
            if request.threads == 1 and runs_on_more_threads(call):
                record.problem = f"{side} runs on more than one thread"
                return
        samples = interleave(
            calls, request.rounds, request.threads, request.batch_seconds, request.limit
        )
    record.ours = samples[0]
    record.theirs = samples[1] if len(samples) > 1 else []


def compile_model(model: Model, module: Any, inputs: Any) -> Call:
    """Our call of the torch module of a model."""
    import tilewright as tvm
    from tilewright import nd, relax
    from tilewright.relax.frontend.torch import from_exported_program

    imported = from_exported_program(model.export(module, inputs))
    machine = relax.VirtualMachine(relax.build(imported, target="llvm"), tvm.cpu())
    main = machine["main"]
    arrays = [nd.from_dlpack(tensor) for tensor in inputs]
    return partial(main, *arrays)


def listed(outputs: Any) -> list[np.ndarray]:
    """The outputs of a model, of whatever package."""
    several = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    return [np.from_dlpack(output) for output in several]


def distance(outputs: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The largest difference of any element, relative to the largest element of its output.

    Raises:
        ValueError: if the shapes differ.
    """
    shapes = [[array.shape for array in side] for side in (outputs, expected)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"the outputs have shapes {shapes[0]}, expected {shapes[1]}")
    pairs = zip(outputs, expected, strict=True)
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)


if __name__ == "__main__":
    main()
