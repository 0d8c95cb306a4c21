"""Importing the runtime does not import torch, nor bindings of CUDA that are of no use."""

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


@pytest.mark.parametrize("has_driver", [False, True])
def test_bindings_of_cuda_are_imported_where_there_is_a_driver(tmp_path, has_driver):
    package = tmp_path / "cuda" / "bindings"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("print('bindings are imported')\n")
    (package / "driver.py").write_text("raise ImportError\n")
    script = (
        "import os.path as p; exists = p.exists; "
        f"p.exists = lambda name: {has_driver} if name[:5] in ('/proc', '/dev/') else exists(name);"
        "from tilewright import nd; print(nd.array([1]).shape)"
    )
    expected = ["bindings are imported"] if has_driver else []
    assert run(script, tmp_path) == [*expected, "(1,)"]


def test_torch_that_is_imported_already_stays():
    pytest.importorskip("torch")
    script = "import torch, sys; from tilewright import nd; print('torch' in sys.modules)"
    assert run(script) == ["True"]
