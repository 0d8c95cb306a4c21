"""What a process of its own finds out about one model: `python -m benchmarks.onnx_models.child`.

It takes what to do, and the folder of the model, and prints figures in JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.harness import threads
from benchmarks.harness.timing import interleave
from benchmarks.models.costs import largest_memory
from benchmarks.models.peers import bound_call, onnx_session
from benchmarks.onnx_models.files import steps_of

BATCH_SECONDS: Final = 0.01


def measuring(path: Path, rounds: str, limit: str, products: str) -> dict[str, Any]:
    """Compile the model, compare its results with onnxruntime's, and time both in turns.

    The results are those of onnxruntime without optimisations, which do what the model says: those
    of the optimised model are two steps of quantisation away from them in networks of transformers.

    Args:
        products: ``"floats"`` to multiply what quantised arrays stand for, not their integers.
    """
    import tilewright as tvm
    from tilewright import nd, relax
    from tilewright.relax.frontend.onnx import from_onnx

    inputs = _inputs(path)
    left_out = ["FakeQuantizationToInteger"] if products == "floats" else []
    begin = time.perf_counter()
    with tvm.transform.PassContext(disabled_pass=left_out):
        target = f"llvm -num-cores={threads.count()}"
        executable = relax.build(from_onnx(path), target)
    main = relax.VirtualMachine(executable, tvm.cpu())["main"]
    figures: dict[str, Any] = {"compiling": time.perf_counter() - begin}
    executable.export_library(path.with_suffix(".so"))
    call = bound_call(str(path), inputs)
    theirs = _run(onnx_session(str(path), is_optimised=False), inputs)
    ours = main(*map(nd.array, inputs))
    several = ours if isinstance(ours, (tuple, list)) else [ours]
    call()
    pairs = [(part.numpy(), other) for part, other in zip(several, theirs, strict=True)]
    # Where numbers are large, relative to the largest.
    figures["apart"] = max(float(np.abs(a - b).max() / max(1, np.abs(b).max())) for a, b in pairs)
    figures["steps"] = [
        float(np.abs(a - b).max()) / step
        for (a, b), step in zip(pairs, steps_of(path), strict=True)
        if step is not None
    ]
    arguments = [nd.array(array) for array in inputs]
    calls = [partial(main, *arguments), call]
    samples = interleave(calls, int(rounds), 1, BATCH_SECONDS, float(limit))
    figures["ours"], figures["theirs"] = ([sample.cpu for sample in side] for side in samples)
    return figures


def _inputs(path: Path) -> list[np.ndarray]:
    with np.load(path.with_name("inputs.npz")) as arrays:
        return [arrays[name] for name in arrays.files]


def running(path: Path) -> dict[str, Any]:
    """The largest memory of a process that runs the library."""
    import tilewright as tvm
    from tilewright import relax

    library = tvm.runtime.load_module(str(path.with_suffix(".so")))
    main = relax.VirtualMachine(library, tvm.cpu())["main"]
    inputs = _inputs(path)
    for _ in range(3):
        main(*inputs)
    return {"mebibytes": largest_memory()}


def running_onnxruntime(path: Path) -> dict[str, Any]:
    """The largest memory of a process in which onnxruntime runs the model."""
    session, inputs = onnx_session(str(path)), _inputs(path)
    for _ in range(3):
        _run(session, inputs)
    return {"mebibytes": largest_memory()}


def _run(session: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    names = [parameter.name for parameter in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))


WORKERS: Final[dict[str, Callable[..., dict[str, Any]]]] = {
    "measure": measuring,
    "memory": running,
    "memory of onnxruntime": running_onnxruntime,
}


def main() -> None:
    what, path, *options = sys.argv[1:]
    print(json.dumps(WORKERS[what](Path(path), *options)))


if __name__ == "__main__":
    main()
