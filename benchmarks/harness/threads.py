"""On how many threads a process measures: an environment variable says so to every package."""

from __future__ import annotations

import os
from typing import Final

VARIABLES: Final = (
    "TILEWRIGHT_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "TVM_NUM_THREADS",
)  # fmt: skip
"""The packages read these once, when they are loaded: they are set before the process starts."""


def environment(threads: int) -> dict[str, str]:
    """The variables for a process that measures on so many threads."""
    return dict.fromkeys(VARIABLES, str(threads))


def count() -> int:
    """Threads that a peer in this process is to use."""
    return int(os.environ.get(VARIABLES[0], "1"))
