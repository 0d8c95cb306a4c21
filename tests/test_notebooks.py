"""Notebooks are what their programs and tutorials are, which other tests run."""

import json

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


def test_notebooks_are_up_to_date():
    made = dict(notebooks.notebooks())
    assert set(notebooks.DIRECTORY.rglob("*.ipynb")) == set(made)
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, "run python -m tools.notebooks"


@pytest.mark.parametrize("name", notebooks.NAMES)
def test_the_notebook_of_a_program_is_code_with_an_introduction(name):
    kinds = [cell["cell_type"] for cell in json.loads(notebooks.notebook(name))["cells"]]
    assert kinds[0] == "markdown"
    assert set(kinds[1:]) == {"code"}


TUTORIAL = """# Title

See [a page](../te.md#schedules).

```python
print(1)
```

```text
1
```

Then

```
this
```

```python
x = functions["f"](page)
```

<!-- translates 0123456789ab -->
"""


def test_the_notebook_of_a_tutorial(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    page = tmp_path / "docs" / "tutorials" / "page.md"
    page.parent.mkdir(parents=True)
    page.write_text(TUTORIAL)
    cells = json.loads(notebooks.tutorial_notebook(page))["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == [
        ("markdown", f"# Title\n\nSee [a page]({notebooks.SOURCES}/docs/te.md#schedules)."),
        ("code", "print(1)"),
        ("markdown", "Then\n\n```\nthis\n```"),
        ("code", 'x = functions["f"](page)'),
    ]
