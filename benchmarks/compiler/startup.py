"""How long `import tilewright` takes in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.compiler.measure import Figure

AIM_SECONDS = 0.35


def measure(repeat: int) -> list[Figure]:
    empty = run_times("pass", repeat)
    package = run_times("import tilewright", repeat)
    front_ends = run_times(
        "import tilewright as tvm; tvm.te, tvm.build; import tilewright.script.tir", repeat
    )
    base = sorted(empty)[len(empty) // 2]
    return [
        Figure("import tilewright", [t - base for t in package], "s", AIM_SECONDS,
               "beyond an empty interpreter"),
        Figure("import of te, script and build", [t - base for t in front_ends], "s", AIM_SECONDS),
    ]  # fmt: skip


def run_times(code: str, repeat: int) -> list[float]:
    """Seconds that fresh interpreters take to run `code`; the first, cold one does not count."""
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return times[1:]
