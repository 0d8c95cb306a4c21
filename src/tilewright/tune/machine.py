"""The machine that measures."""

from __future__ import annotations

import functools

from tilewright.target.cpu import core_count, host, processor_name


@functools.cache
def this_machine() -> dict[str, str | int]:
    """What records say about this machine.

    ``cpu`` is the name that its maker gave it, ``llvm_cpu`` and ``triple`` what code for it is
    generated for, ``cores`` how many this process may use.
    """
    found = host()
    return {
        "cpu": processor_name(),
        "llvm_cpu": found.cpu,
        "triple": found.triple,
        "cores": core_count(),
    }
