"""Random arguments never crash a compiled function, and are never accepted wrongly."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.budget(3)
def test_random_arguments_in_a_process_of_their_own(budget):
    seed = 1 if budget.seconds is None else int(time.time())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = Path(__file__).with_name("call_fuzzer.py")
    result = subprocess.run(
        [sys.executable, program, str(budget.seconds or 0), str(seed)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, f"seed {seed}:\n{result.stdout}{result.stderr}"
    _, accepted, _, refused = result.stdout.split()
    budget.count = int(accepted) + int(refused)
    assert int(accepted) > 100
    assert int(refused) > 100
