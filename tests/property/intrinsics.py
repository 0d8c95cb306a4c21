"""Tensor intrinsics of random schedules, on parts of two elements in each dimension."""

from __future__ import annotations

import re
from typing import Any

from tilewright.script import from_source
from tilewright.tir import TensorIntrin

_TEXTS = {
    "product": (
        (("A", 2), ("B", 2), ("C", 2)),
        "for i, j, k in T.grid(2, 2, 2):\n"
        '    with T.block("update"):\n'
        '        vi, vj, vk = T.axis.remap("SSR", [i, j, k])\n'
        "        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n",
        "for k in range(2):\n"
        "    for i in T.unroll(2):\n"
        "        C[i, 0:2] = C[i, 0:2] + T.Broadcast(A[i, k], 2) * B[k, 0:2]\n",
    ),
    "sum": (
        (("A", 2), ("C", 1)),
        "for i, k in T.grid(2, 2):\n"
        '    with T.block("update"):\n'
        '        vi, vk = T.axis.remap("SR", [i, k])\n'
        "        C[vi] = C[vi] + A[vi, vk]\n",
        "for k in range(2):\n    for i in range(2):\n        C[i] = C[i] + A[i, k]\n",
    ),
    "add": (
        (("A", 2), ("B", 2), ("C", 2)),
        "for i, j in T.grid(2, 2):\n"
        '    with T.block("add"):\n'
        '        vi, vj = T.axis.remap("SS", [i, j])\n'
        "        C[vi, vj] = A[vi, vj] + B[vi, vj]\n",
        "for i in range(2):\n    C[i, 0:2] = A[i, 0:2] + B[i, 0:2]\n",
    ),
    "double": (
        (("A", 2), ("B", 2), ("C", 2)),
        "for i, j in T.grid(2, 2):\n"
        '    with T.block("double"):\n'
        '        vi, vj = T.axis.remap("SS", [i, j])\n'
        "        C[vi, vj] = A[vi, vj] * T.DTYPE(2) - B[vi, vj]\n",
        "for i in range(2):\n"
        "    C[i, 0:2] = A[i, 0:2] * T.Broadcast(T.DTYPE(2), 2) - B[i, 0:2]\n",
    ),
    "increment": (
        (("A", 2), ("C", 2)),
        "for i, j in T.grid(2, 2):\n"
        '    with T.block("increment"):\n'
        '        vi, vj = T.axis.remap("SS", [i, j])\n'
        "        C[vi, vj] = A[vi, vj] + T.DTYPE(1)\n",
        "for i in range(2):\n    C[i, 0:2] = A[i, 0:2] + T.Broadcast(T.DTYPE(1), 2)\n",
    ),
    "increment_row": (
        (("A", 1), ("C", 1)),
        "for i in range(2):\n"
        '    with T.block("increment"):\n'
        "        vi = T.axis.spatial(2, i)\n"
        "        C[vi] = A[vi] + T.DTYPE(1)\n",
        "C[0:2] = A[0:2] + T.Broadcast(T.DTYPE(1), 2)\n",
    ),
}  # fmt: skip

DTYPES = ("float32", "float64", "int32")

_LOOPS = {"product": 3, "sum": 2, "add": 2, "double": 2, "increment": 2, "increment_row": 1}


def intrinsics_of(dtype: str, loops: int, is_reduction: bool) -> list[str]:
    """The names of the intrinsics for a nest of so many loops."""
    return [
        f"random.{dtype}.{name}"
        for name, count in _LOOPS.items()
        if count == loops and dtype in DTYPES and (name in ("product", "sum")) is is_reduction
    ]


def register() -> None:
    """Register the intrinsics, once."""
    if TensorIntrin.get("random.int32.sum", allow_missing=True) is not None:
        return
    for dtype in DTYPES:
        for name, (buffers, described, implemented) in _TEXTS.items():
            desc, impl = (_function(buffers, body, dtype) for body in (described, implemented))
            TensorIntrin.register(f"random.{dtype}.{name}", desc, impl)


def _function(buffers: tuple[tuple[str, int], ...], body: str, dtype: str) -> Any:
    names = ", ".join(f"{name.lower()}: T.handle" for name, _ in buffers)
    lines = ["from tilewright.script import tir as T", "@T.prim_func", f"def f({names}):"]
    for name, rank in buffers:
        shape = (2,) * rank
        lines.append(
            f'    {name} = T.match_buffer({name.lower()}, {shape}, "{dtype}", offset_factor=1)'
        )
    regions = {name: f"{name}[{', '.join(['0:2'] * rank)}]" for name, rank in buffers}
    updates = re.search(r"= C\[", body) is not None
    reads = [region for name, region in regions.items() if updates or name != "C"]
    lines += [
        '    with T.block("root"):',
        f"        T.reads({', '.join(reads)})",
        f"        T.writes({regions['C']})",
    ]
    lines += ["        " + line for line in body.rstrip().split("\n")]
    return from_source("\n".join(lines).replace("DTYPE", dtype) + "\n")
