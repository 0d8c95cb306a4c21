"""`python -m benchmarks kernels`: a table of counted costs of the default schedule for devices."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator

import tilewright as tvm
from benchmarks.kernels.counting import counts_of
from tilewright import te, tir, topi
from tilewright.te import Tensor


def works() -> Iterator[tuple[str, list[Tensor]]]:
    """Operators by name, with their tensors."""
    for size in (1024, 4096):
        a, b = (te.placeholder((size, size), name=name) for name in "ab")
        yield f"matmul {size}", [a, b, topi.matmul(a, b)]
    data, weight = te.placeholder((1, 64, 56, 56), name="data"), te.placeholder((64, 64, 3, 3))
    yield "conv 3x3", [data, weight, topi.nn.conv2d_nchw(data, weight, 1, 1, 1)]
    rows = te.placeholder((4096, 1024), name="rows")
    yield "softmax", [rows, topi.nn.softmax(rows)]
    scale, shift = te.placeholder((1024,), name="scale"), te.placeholder((1024,), name="shift")
    yield "layer norm", [rows, scale, shift, topi.nn.layer_norm(rows, scale, shift, [1])]
    square = te.placeholder((4096, 4096), name="square")
    yield "transpose", [square, topi.transpose(square)]
    vector = te.placeholder((1, 4096), name="vector")
    yield "matvec", [vector, square, topi.nn.dense(vector, square)]
    few = te.placeholder((4, 4096), name="few")
    yield "4 vectors", [few, square, topi.nn.dense(few, square)]
    thin, long = te.placeholder((64, 16384), name="thin"), te.placeholder((16384, 64), name="long")
    yield "thin matmul", [thin, long, topi.matmul(thin, long)]
    yield "add, relu", [rows, shift, topi.nn.relu(topi.add(rows, shift))]


def main(options: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks kernels", description=__doc__)
    parser.add_argument("--arch", default="sm_90", help="the architecture; sm_90 by default")
    parser.add_argument(
        "--disassembler", default=shutil.which("nvdisasm"),
        help="the path of nvdisasm, which counts instructions",
    )  # fmt: skip
    given = parser.parse_args(options)
    print(
        "| work | kernels | blocks x threads | bytes/FLOP | instructions/FMA | registers | "
        "shared memory | occupancy |\n|---|---|---|---|---|---|---|---|"
    )
    for name, tensors in works():
        func = te.create_prim_func(tensors)
        found = counts_of(func, given.arch, given.disassembler)
        work = tir.analysis.estimate_tir_flops(tvm.IRModule({"main": func}))
        each = "-" if found.per_multiply_add is None else f"{found.per_multiply_add:.2f}"
        moved = found.global_bytes
        ratio = f"{moved / work:.3f}" if work else f"{moved / 2**20:.0f} MiB"
        print(
            f"| {name} | {found.kernels} | {found.blocks} x {found.threads} | {ratio} | {each} | "
            f"{found.registers} | {found.shared_bytes} | {found.occupancy:.0%} |"
        )
