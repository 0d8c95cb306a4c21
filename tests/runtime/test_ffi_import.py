"""Importing the runtime does not import torch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright

SOURCES = str(Path(tilewright.__file__).parents[1])


def run(script, *folders):
    """The lines that a script writes in a process that also imports from `folders`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([SOURCES, *map(str, folders)])}
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    ).stdout.split("\n")[:-1]


def test_torch_is_not_imported(tmp_path):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("print('torch is imported')\n")
    script = "from tilewright import nd; print(nd.array([1]).shape); import torch"
    assert run(script, tmp_path) == ["(1,)", "torch is imported"]


def test_torch_that_is_imported_already_stays():
    pytest.importorskip("torch")
    script = "import torch, sys; from tilewright import nd; print('torch' in sys.modules)"
    assert run(script) == ["True"]
