"""Notebooks are what their programs are, and run."""

import json
import os
import subprocess
import sys

import pytest
from tools import notebooks

PROGRAM = '''"""What it does.

In more words.

    python examples/program.py [--size N]
"""

from __future__ import annotations

import argparse

import numpy as np

# The size
# of things
SIZE = 8


def double(x: int) -> int:
    return 2 * x


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--work-dir", help="a place")
    options = parser.parse_args()
    n = double(options.size)

    for _ in range(2):

        print(n)
    print(np.ones(n))


if __name__ == "__main__":
    main()
'''


def test_the_cells_of_a_program():
    assert notebooks.code_cells(PROGRAM) == [
        "import numpy as np",
        "# The size\n# of things\nSIZE = 8",
        "def double(x: int) -> int:\n    return 2 * x",
        "from types import SimpleNamespace\n\noptions = SimpleNamespace(size=SIZE, work_dir=None)",
        "n = double(options.size)",
        "for _ in range(2):\n\n    print(n)\nprint(np.ones(n))",
    ]


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_notebooks_are_up_to_date(name):
    text = (notebooks.DIRECTORY / f"{name}.ipynb").read_text()
    assert text == notebooks.notebook(name), "run python -m tools.notebooks"
    kinds = [cell["cell_type"] for cell in json.loads(text)["cells"]]
    assert kinds[0] == "markdown"
    assert set(kinds[1:]) == {"code"}


def test_every_notebook_is_of_a_program():
    assert {path.stem for path in notebooks.DIRECTORY.iterdir()} == set(notebooks.NAMES)


def test_a_notebook_runs(tmp_path):
    path = notebooks.DIRECTORY / "custom_sketch_rule.ipynb"
    run = (
        "import json, sys\n"
        "names = {'__name__': '__main__'}\n"
        "for cell in json.load(open(sys.argv[1]))['cells']:\n"
        "    if cell['cell_type'] == 'code':\n"
        "        exec(compile(''.join(cell['source']), cell['id'], 'exec'), names)\n"
    )
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", run, str(path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(notebooks.ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert "the best one is correct" in found.stdout
