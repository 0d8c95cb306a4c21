"""Measures one model in a process of its own: `python -m benchmarks.torch_compile.child`.

It takes a request in JSON on the command line and writes an outcome in JSON to a file.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from benchmarks.harness import threads
from benchmarks.harness.child import WRONG, relative_error, runs_on_more_threads, summary
from benchmarks.harness.record import Record
from benchmarks.harness.request import TimingRequest
from benchmarks.harness.timing import interleave
from benchmarks.suite.work import Call
from benchmarks.torch_compile.zoo import ENTRIES, Work
from tilewright.driver.object_cache import DIRECTORY_VARIABLE

TOLERANCE: Final = 1e-4
"""The largest difference that counts as equal, relative to the largest element of an output."""
EAGER, INDUCTOR = "eager", "inductor"


@dataclass(frozen=True, kw_only=True)
class Request(TimingRequest):
    """What the child is to measure.

    Attributes:
        model: the title of a model.
        peers: some of ``"eager"`` and ``"inductor"``.
    """

    model: str
    peers: tuple[str, ...]


@dataclass
class Outcome:
    """What was found of a model.

    Attributes:
        model: its title.
        error: the largest difference from eager, relative to the largest element of an output.
        graphs: number of graphs that TorchDynamo made of it.
        fallbacks: why torch itself runs some of these; one line each.
        first: seconds of the first call, compilation included, with empty caches; by who compiles.
        records: the times beside each peer.
        problem: why something is missing.
    """

    model: str
    error: float | None = None
    graphs: int = 0
    fallbacks: list[str] = field(default_factory=list)
    first: dict[str, float] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    problem: str = ""

    def as_dictionary(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "records": [record.as_dictionary() for record in self.records]}

    @staticmethod
    def from_dictionary(entry: dict[str, Any]) -> Outcome:
        """The inverse of `as_dictionary`."""
        records = [Record.from_dictionary(record) for record in entry["records"]]
        return Outcome(**{**entry, "records": records})


def main() -> None:
    request = Request(**json.loads(sys.argv[1]))
    entry = next(entry for entry in ENTRIES if entry.title == request.model)
    outcome = Outcome(entry.title)
    try:
        with empty_caches():
            measure(entry.work(), request, outcome)
    except Exception as error:
        outcome.problem = f"failed: {summary(error)}"
    with open(request.output, "w", encoding="utf-8") as stream:
        json.dump(outcome.as_dictionary(), stream)


@contextmanager
def empty_caches() -> Iterator[None]:
    """Compilers find nothing that an earlier process made, unless the environment names caches."""
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as folder:
        for variable in (DIRECTORY_VARIABLE, "TORCHINDUCTOR_CACHE_DIR"):
            os.environ.setdefault(variable, os.path.join(folder, variable))
        yield


def measure(work: Work, request: Request, outcome: Outcome) -> None:
    """Compare what all compute, then time them in turns."""
    import torch

    torch.set_num_threads(threads.count())
    # For the whole process, as entering it for every call would cost a microsecond.
    with torch.inference_mode():
        expected = arrays(work.call(work.model))
        with fallbacks_of(outcome):
            ours = compiled(work, "tilewright", outcome)
        outcome.graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        outcome.error = difference(ours(), expected)
        if not outcome.error <= TOLERANCE:
            outcome.problem = f"{WRONG}: off by {outcome.error:.1e}"
            return
        calls = {"ours": ours}
        for peer in request.peers:
            try:
                calls[peer] = _peer(work, peer, expected, outcome)
            except Exception as error:  # a compiler of C++ may be missing
                outcome.problem = f"{peer} failed: {summary(error)}"
        for side, call in calls.items():
            if request.threads == 1 and runs_on_more_threads(call):
                outcome.problem = f"{side} runs on more than one thread"
                return
        samples = interleave(
            list(calls.values()), request.rounds, request.threads, request.batch_seconds,
            request.limit,
        )  # fmt: skip
    ours_samples, *others = samples
    for peer, theirs in zip(list(calls)[1:], others, strict=True):
        outcome.records.append(
            Record(
                "torch.compile",
                outcome.model,
                "default",
                peer,
                request.threads,
                ours=ours_samples,
                theirs=theirs,
                error=outcome.error,
            )
        )


def _peer(work: Work, peer: str, expected: list[Any], outcome: Outcome) -> Call:
    if peer == EAGER:
        return partial(work.call, work.model)
    call = compiled(work, peer, outcome)
    error = difference(call(), expected)
    if not error <= 10 * TOLERANCE:
        raise ValueError(f"its result is off by {error:.1e}")
    return call


def compiled(work: Work, backend: str, outcome: Outcome) -> Call:
    """The model compiled by a backend of `torch.compile`; the first call is made, and timed."""
    import torch

    call = partial(work.call, torch.compile(work.model, backend=backend))
    start = time.perf_counter()
    call()
    outcome.first[backend] = time.perf_counter() - start
    return call


@contextmanager
def fallbacks_of(outcome: Outcome) -> Iterator[None]:
    """Collect what the log says of graphs that torch itself runs."""
    handler = logging.Handler()
    handler.emit = lambda record: outcome.fallbacks.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("tilewright")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def arrays(outputs: Any) -> list[Any]:
    """The tensors of nested outputs as arrays of numpy."""
    from torch.utils._pytree import tree_leaves

    return [leaf.numpy(force=True) for leaf in tree_leaves(outputs) if hasattr(leaf, "numpy")]


def difference(outputs: Any, expected: list[Any]) -> float:
    """The largest relative difference of any output.

    Raises:
        ValueError: if numbers of outputs or their shapes differ.
    """
    pairs = zip(arrays(outputs), expected, strict=True)
    return max(relative_error(ours, theirs) for ours, theirs in pairs)


if __name__ == "__main__":
    main()
