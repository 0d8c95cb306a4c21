"""What a program computes, in files, and how to compare with it.

The results of the program that is tuned, as it was before any schedule, are saved as ``.npy``
files, one for each argument that it changes. Both it and a candidate get the arguments that
`random_arguments` makes with the seed 0.

Integers and bools must be equal. Floats may differ, since a schedule may sum in another order. The
rounding errors of a sum of n terms are those of a random walk: they grow with the square root of n,
and their scale is that of the terms, which may be larger than the sum. So two floats agree if

    |computed - expected| <= tolerance * (|expected| + root mean square of the array)
    tolerance             =  16 * epsilon of the dtype * sqrt(n)

where n is the number of terms that all sums of the program have together, at least 1. A schedule
that misses a part of the program is off by much more than that: without one term of n, a sum is off
by about a part in sqrt(n) of itself. NaN agrees with NaN and an infinity with itself.
"""

from __future__ import annotations

import math
import os
import pickle
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tilewright.driver.build_module import build
from tilewright.ir.dtype import DType
from tilewright.ir.expr import IntImm
from tilewright.ir.module import IRModule
from tilewright.ir.pass_context import PassContext
from tilewright.operating_system import limit_processor_time
from tilewright.processes import channel
from tilewright.processes.requests import error_text
from tilewright.runtime.ndarray import NDArray
from tilewright.tir.expr import IterType
from tilewright.tir.function import PrimFunc
from tilewright.tir.stmt import Block
from tilewright.tir.transform.building.statements import statements
from tilewright.tune.measure.affinity import stay_on
from tilewright.tune.measure.arguments import random_arguments

FACTOR: Final = 16


def summed_terms(mod: IRModule) -> int:
    """Number of terms, in all sums of a module together, that lead to one element."""
    total = 0
    for function in mod.functions.values():
        if isinstance(function, PrimFunc):
            blocks = (s for s in statements(function.body) if isinstance(s, Block))
            total += sum(_terms(block) for block in blocks)
    return max(total, 1)


def _terms(block: Block) -> int:
    domains = [v.dom for v in block.iter_vars if v.iter_type is IterType.COMM_REDUCE]
    extents = [domain.extent for domain in domains if domain is not None]
    return math.prod(e.value for e in extents if isinstance(e, IntImm)) if extents else 0


def tolerance(dtype: DType, terms: int) -> float:
    """The relative error that is allowed."""
    import ml_dtypes

    if not dtype.is_float:
        return 0.0
    return FACTOR * float(ml_dtypes.finfo(dtype.numpy).eps) * math.sqrt(terms)


def save(arguments: Sequence[NDArray], before: Sequence[NDArray], directory: str | Path) -> None:
    """Write those of the arguments that have changed."""
    for position, (array, old) in enumerate(zip(arguments, before, strict=True)):
        if array.numpy().tobytes() != old.numpy().tobytes():
            np.save(_file(directory, position), _raw(array))


def difference(arguments: Sequence[NDArray], directory: str | Path, terms: int) -> str | None:
    """How arguments differ from those that were saved, None if they agree.

    Args:
        arguments: as a candidate left them.
        directory: where the expected ones are.
        terms: see `summed_terms`.
    """
    from tilewright.tune.measure.arguments import random_arguments

    info = [["TENSOR", str(array.dtype), array.shape] for array in arguments]
    for position, (array, before) in enumerate(zip(arguments, random_arguments(info), strict=True)):
        file = _file(directory, position)
        raw = np.load(file, allow_pickle=False) if file.exists() else _raw(before)
        found = _difference(array, raw.view(array.dtype.numpy), terms)
        if found is not None:
            changed = "" if file.exists() else ", which should not change"
            return f"argument {position + 1}{changed}: {found}"
    return None


def _file(directory: str | Path, position: int) -> Path:
    return Path(directory, f"argument{position}.npy")


def _raw(array: NDArray) -> np.ndarray:
    """The elements in a dtype that files can have."""
    values = array.numpy()
    return values if values.dtype.isbuiltin == 1 else values.view(f"u{values.dtype.itemsize}")


def _difference(array: NDArray, expected: np.ndarray, terms: int) -> str | None:
    values = array.numpy()
    with np.errstate(all="ignore"):
        bad = ~_agree(values, expected, tolerance(array.dtype, terms))
    count = int(np.count_nonzero(bad))
    if not count:
        return None
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    return (
        f"{count} of {bad.size} elements differ; the first at {list(index)} is {values[index]}, "
        f"expected {expected[index]}"
    )


def _agree(values: np.ndarray, expected: np.ndarray, relative: float) -> Any:
    if relative == 0.0:
        return values == expected
    values, expected = values.astype(np.float64), expected.astype(np.float64)
    finite = expected[np.isfinite(expected)]
    scale = math.sqrt(float(np.mean(np.square(finite)))) if finite.size else 0.0
    close = np.abs(values - expected) <= relative * (np.abs(expected) + scale)
    same = (values == expected) | (np.isnan(values) & np.isnan(expected))
    return close & np.isfinite(expected) | same


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
    limit_processor_time(math.ceil(request.seconds))  # should nobody wait for it
    with PassContext(config={"tir.default_schedule": request.default_schedule}):
        module = build(request.mod, target="llvm")
    arguments = random_arguments(request.args_info)
    module(*arguments)
    save(arguments, random_arguments(request.args_info), request.directory)
