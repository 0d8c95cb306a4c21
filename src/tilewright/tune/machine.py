"""The machine that measures."""

from __future__ import annotations

import functools
import platform
from pathlib import Path

from tilewright.target.cpu import core_count, host


@functools.cache
def this_machine() -> dict[str, str | int]:
    """What records say about this machine.

    ``cpu`` is the name that its maker gave it, ``llvm_cpu`` and ``triple`` what code for it is
    generated for, ``cores`` how many this process may use.
    """
    found = host()
    return {
        "cpu": _cpu_name() or found.cpu,
        "llvm_cpu": found.cpu,
        "triple": found.triple,
        "cores": core_count(),
    }


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model"):
            return value.strip()
    return platform.processor()
