"""What is measured: a program of ours, and the same computation in other packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tilewright import tir
from tilewright.target import Target
from tilewright.tir import PrimFunc

Call: TypeAlias = Callable[[], object]
"""Something to time: one run of the computation, which returns the result where it can."""


@dataclass(frozen=True)
class Work:
    """One computation of fixed sizes.

    Attributes:
        name: unique, with the sizes: ``"matmul 1024x1024x1024"``.
        program: makes the ordinary program, by `te.create_prim_func` or as TVMScript; its
            parameters are the inputs, then the outputs, of which the first is checked.
        schedule: the hand-written schedule; None where only the default one is measured.
        inputs: makes the inputs, in the order of the parameters.
        reference: the result, of the inputs in float64.
        peers: how others do it: given the inputs, the call to time. They import what they need,
            and run on as many threads as `benchmarks.harness.threads.count` says. Only those with
            names that begin with ``"torch"`` can import torch.
            `benchmarks.harness.peers` makes the usual ones.
        flop: floating-point (or integer) operations of one run, for GFLOP/s.
        bytes: the least that has to be read and written in one run, for GB/s.
        aim: the peer's time over ours, at least, against the fastest of `against`; 0 if
            nothing is aimed at.
        against: the peers that the aim is about.
        default_aim: the same for the default schedule; 0 if nothing is aimed at.
        tuned_aim: the same for what the tuner finds; 0 if nothing is aimed at.
        scaling: our time on one thread over that on two, at least; 0 if nothing is aimed at.
        relative_error: what is tolerated, relative to the largest absolute value of the reference.
    """

    name: str
    program: Callable[[], PrimFunc]
    schedule: Callable[[tir.Schedule, Target], None] | None
    inputs: Callable[[np.random.Generator], list[np.ndarray]]
    reference: Callable[..., np.ndarray]
    peers: Mapping[str, Callable[..., Call]]
    flop: float = 0
    bytes: float = 0
    aim: float = 1.0
    against: tuple[str, ...] = ("numpy", "torch")
    default_aim: float = 0.5
    tuned_aim: float = 0
    scaling: float = 0
    relative_error: float = 1e-5
