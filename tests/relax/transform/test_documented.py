"""The page about passes lists all of them."""

import re
from pathlib import Path

from tilewright.ir.transform import Pass
from tilewright.relax import transform

PAGE = Path(__file__).parents[3] / "docs" / "graph_passes.md"
BASES = {"FunctionPass", "DataflowBlockPass"}


def test_every_pass_is_listed():
    listed = set(re.findall(r"`(\w+)`", PAGE.read_text().split("## All passes")[1]))
    passes = {
        name
        for name, value in vars(transform).items()
        if isinstance(value, type) and issubclass(value, Pass)
    }
    assert listed - {"relax"} == passes - BASES
