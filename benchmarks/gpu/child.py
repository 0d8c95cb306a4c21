"""Measures one work on a device, in a process of its own: `python -m benchmarks.gpu.child`.

It takes a request in JSON on the command line, and prints a record in JSON as its last line.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import tilewright as tvm
from benchmarks.gpu.roof import least_seconds, target_of
from benchmarks.gpu.works import ERRORS, ON_A_GPU, TINY, WITHOUT_ONE, Work, works
from benchmarks.harness.child import relative_error, summary
from tilewright import meta_schedule as ms
from tilewright import te
from tilewright.target import Target
from tilewright.tir import PrimFunc, Schedule
from tilewright.tir.expr import IterType

SIZES = {"gpu": ON_A_GPU, "small": WITHOUT_ONE, "tiny": TINY}
THREADS = 64
"""Of a block, where each element has a thread."""
RESNET = "ResNet-18 {}x3x{}x{} float32"
Run = Callable[[], Any]


@dataclass(frozen=True)
class Request:
    """What to measure.

    Attributes:
        work: its name.
        device: ``"cuda"`` or ``"opencl"``.
        sizes: one of `SIZES`.
        trials: of the tuner; 0 for the default schedule.
        rounds: how often both sides are timed.
        seconds: what a side takes in a round, at least.
    """

    work: str
    device: str
    sizes: str
    trials: int = 0
    rounds: int = 21
    seconds: float = 0.02


@dataclass
class Record:
    """What came of it.

    Attributes:
        work: its name.
        schedule: ``"default"`` or ``"tuned"``.
        peer: what it was compared with.
        ours: seconds of a run, of each round.
        theirs: the same of the peer.
        least: seconds that the device needs at least; 0 where that is not known.
        aim: the ratio that is aimed at; 0 for none.
        error: the largest difference from the reference.
        problem: why something is missing.
    """

    work: str
    schedule: str
    peer: str
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    least: float = 0.0
    aim: float = 0.0
    error: float = 0.0
    problem: str = ""


def main() -> None:
    request = Request(**json.loads(sys.argv[1]))
    print(json.dumps(asdict(measure(request))))


def measure(request: Request) -> Record:
    """Build, check and time one work; what goes wrong is in the record."""
    has_gpu = request.device == "cuda"
    peer = "torch" if has_gpu else "a thread for each element"
    record = Record(request.work, "tuned" if request.trials else "default", peer)
    try:
        if request.work.startswith("ResNet"):
            runs = resnet(request, record)
        else:
            found = works(SIZES[request.sizes], half=has_gpu)
            runs = program(next(w for w in found if w.name == request.work), request, record)
        wait = tvm.device(request.device, 0).sync
        samples = interleaved(runs, [wait] * len(runs), request.rounds, request.seconds)
        record.ours, record.theirs = (*samples, [])[:2]
    except Exception as error:
        record.problem = record.problem or summary(error)
    return record


def program(work: Work, request: Request, record: Record) -> list[Run]:
    """Our run of a program, and that of the peer if there is one."""
    device = tvm.device(request.device, 0)
    record.aim = work.aim if request.device == "cuda" else 0.0
    if request.device == "cuda":
        record.least = least_seconds(device, work.flop, work.bytes, work.dtype, work.is_product)
    random = np.random.default_rng(0)
    dtype = tvm.nd.empty((0,), work.dtype).numpy().dtype
    inputs = [(random.normal(size=shape) / 4).astype(dtype) for shape in work.shapes]
    reference = work.reference(*(values.astype("float64") for values in inputs))
    func = te.create_prim_func(work.tensors())
    target = target_of(device) if request.device == "cuda" else Target(request.device)
    module = tuned(func, target, request.trials) if request.trials else tvm.build(func, target)
    arrays = [tvm.nd.array(values, device) for values in inputs]

    def checked(module: Any) -> Run:
        result = tvm.nd.empty(reference.shape, work.dtype, device)
        module(*arrays, result)
        record.error = relative_error(result.numpy().astype("float64"), reference)
        if not record.error <= ERRORS[work.dtype]:
            raise ValueError(f"WRONG RESULT: off by {record.error:.1e}")
        return lambda: module(*arrays, result)

    runs = [checked(module)]
    try:
        if request.device == "cuda":
            runs.append(torch_run(work, inputs))
        else:
            runs.append(checked(tvm.build(thread_for_each_element(func), target)))
    except Exception as error:
        record.problem = f"{record.peer}: {summary(error)}"
    return runs


def tuned(func: PrimFunc, target: Target, trials: int) -> Any:
    """The module of the best candidate."""
    database = ms.tune_tir(func, target, None, trials, database="memory", seed=1)
    found = database.query_schedule(func, target)
    if found is None:
        raise ValueError(f"tuning found nothing in {trials} trials")
    return tvm.build(found.mod, target)


def thread_for_each_element(func: PrimFunc) -> PrimFunc:
    """The program without tiles and copies: what a beginner writes."""
    sch = Schedule(func)
    for block in sch.get_child_blocks(sch.get_block("root")):
        loops = sch.get_loops(block)
        kinds = [item.iter_type for item in sch.get(block).iter_vars]
        spatial = zip(loops, kinds, strict=True)
        own = [loop for loop, kind in spatial if kind is IterType.DATA_PAR]
        others = [loop for loop in loops if loop not in own]
        if others and own:
            sch.reorder(*own, *others)
        loop = sch.fuse(*own) if own else sch.add_unit_loop(block if not loops else loops[0])
        outer, inner = sch.split(loop, [None, THREADS])
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
    return sch.mod["main"]


def torch_run(work: Work, inputs: Sequence[np.ndarray]) -> Run:
    """The run of torch on the same device."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    dtype = getattr(torch, work.dtype)
    tensors = [torch.from_numpy(x.astype("float32")).to("cuda", dtype) for x in inputs]
    stream = torch.cuda.current_stream()

    def run() -> Any:
        with torch.inference_mode():
            return work.torch(torch, *tensors)

    run()
    stream.synchronize()
    return run


def resnet(request: Request, record: Record) -> list[Run]:
    """Our run of the whole model, and that of torch, without a GPU on the processor."""
    import torch
    from examples.resnet18 import random_resnet18

    from tilewright import relax
    from tilewright.relax.frontend.torch import from_exported_program

    has_gpu = request.device == "cuda"
    record.peer, record.aim = ("torch", 1.0) if has_gpu else ("torch on the processor", 0.0)
    batch, size = resnet_shape(request.sizes)
    model, data = random_resnet18(), torch.randn(batch, 3, size, size)
    with torch.inference_mode():
        reference = model(data).double().numpy()
    device = tvm.device(request.device, 0)
    target = target_of(device) if has_gpu else Target(request.device)
    imported = from_exported_program(torch.export.export(model, (data,)))
    main = relax.VirtualMachine(relax.build(imported, target=target), device)["main"]
    array = tvm.nd.array(data.numpy(), device)
    found = main(array)
    result = (found if hasattr(found, "numpy") else found[0]).numpy()
    record.error = relative_error(result.astype("float64"), reference)
    if not record.error <= 1e-3:
        raise ValueError(f"WRONG RESULT: off by {record.error:.1e}")
    if has_gpu:
        model, data = model.to("cuda"), data.to("cuda")

    def theirs() -> Any:
        with torch.inference_mode():
            return model(data)

    return [lambda: main(array), theirs]


def resnet_shape(sizes: str) -> tuple[int, int]:
    """The batch, and the height and width of its images."""
    return {"gpu": (16, 224), "small": (1, 64), "tiny": (1, 32)}[sizes]


def interleaved(
    runs: Sequence[Run], waits: Sequence[Run], rounds: int, seconds: float
) -> list[list[float]]:
    """Seconds of a run of each side, one a round; every other round goes backwards.

    Args:
        runs: what is timed; it may return before the device is done.
        waits: wait for the device.
        rounds: how often.
        seconds: what a side takes in a round, at least: short runs are repeated.
    """

    def timed(side: int, count: int) -> float:
        waits[side]()
        start = time.perf_counter()
        for _ in range(count):
            runs[side]()
        waits[side]()
        return (time.perf_counter() - start) / count

    counts = []
    for side in range(len(runs)):
        timed(side, 1)
        counts.append(max(1, round(seconds / max(timed(side, 3), 1e-7))))
    samples: list[list[float]] = [[] for _ in runs]
    for position in range(rounds):
        order = range(len(runs)) if position % 2 == 0 else reversed(range(len(runs)))
        for side in order:
            samples[side].append(timed(side, counts[side]))
    return samples


def ratios(record: Record) -> tuple[float, float, float] | None:
    """The quartiles of the peer's time over ours, round by round."""
    if len(record.theirs) < 2:
        return None
    found = [b / a for a, b in zip(record.ours, record.theirs, strict=True)]
    low, median, high = statistics.quantiles(found, n=4)
    return low, median, high


if __name__ == "__main__":
    main()
