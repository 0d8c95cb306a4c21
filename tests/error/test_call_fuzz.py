"""Random arguments never crash a compiled function, and are never accepted wrongly.

``TILEWRIGHT_FUZZ_SECONDS`` sets how long to try; a longer run also starts from another seed.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

SECONDS = float(os.environ.get("TILEWRIGHT_FUZZ_SECONDS", "0"))


def test_random_arguments_in_a_process_of_their_own():
    seed = int(time.time()) if SECONDS else 1
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = Path(__file__).with_name("call_fuzzer.py")
    result = subprocess.run(
        [sys.executable, program, str(SECONDS), str(seed)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, f"seed {seed}:\n{result.stdout}{result.stderr}"
    _, accepted, _, refused = result.stdout.split()
    assert int(accepted) > 100
    assert int(refused) > 100
