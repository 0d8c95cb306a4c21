"""A model as torch runs it, and as it is built here: what `resnet18.py` and `bert.py` print."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import tilewright as tvm
from tilewright import relax
from tilewright.relax.frontend.torch import from_exported_program

Case = tuple[str, tuple[torch.Tensor, ...]]
ROUNDS = 7
TOLERANCE = 1e-4
"""How much the outputs may differ."""


def compare(name: str, model: Any, cases: Sequence[Case], dynamic_shapes: Any) -> None:
    """Build a model once for all sizes, and once for those of the first case; print a table."""
    torch.set_num_threads(1)
    tvm.runtime.set_num_threads(1)
    table = Table(title=f"{name}, on one core")
    for heading in ("inputs", "built for", "compiled in", "ours", "torch", "ratio", "difference"):
        table.add_column(heading, justify="right")
    label, first = cases[0]
    program = torch.export.export(model, first)
    run, seconds = build(program)
    table.add_row(label, "this size", f"{seconds:.1f} s", *beside(run, model, first))
    examples = cases[1][1]  # torch takes a size of 1 for one that never changes
    program = torch.export.export(model, examples, dynamic_shapes=dynamic_shapes)
    run, seconds = build(program)
    for label, inputs in cases:
        # All of them run what was compiled once.
        when = f"{seconds:.1f} s" if label == cases[0][0] else ""
        table.add_row(label, "any size", when, *beside(run, model, inputs))
    Console(width=100).print(table)


def build(program: torch.export.ExportedProgram) -> tuple[Callable[..., Any], float]:
    """The compiled model, and the seconds that this took."""
    begin = time.perf_counter()
    module = from_exported_program(program)
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    return machine["main"], time.perf_counter() - begin


def beside(run: Callable[..., Any], model: Any, inputs: Sequence[Any]) -> tuple[str, ...]:
    """Both times, their ratio, and the largest difference of the outputs."""
    with torch.inference_mode():
        theirs = model(*inputs)
        theirs = theirs if isinstance(theirs, tuple) else (theirs,)
        ours = [torch.from_dlpack(output) for output in run(*inputs)]
        apart = max((a - b).abs().max().item() for a, b in zip(ours, theirs, strict=True))
        times = [(seconds(run, inputs), seconds(model, inputs)) for _ in range(ROUNDS)]
    if not apart < TOLERANCE:
        raise SystemExit(f"The outputs differ by {apart:.1e}.")
    ratio = median(b / a for a, b in times)
    mine, other = (median(column) * 1e3 for column in zip(*times, strict=True))
    return f"{mine:.2f} ms", f"{other:.2f} ms", f"{ratio:.2f}", f"{apart:.1e}"


def seconds(run: Callable[..., Any], inputs: Sequence[Any]) -> float:
    """How long one call takes, without what other programs take from this thread."""
    begin = time.thread_time()
    run(*inputs)
    return time.thread_time() - begin
