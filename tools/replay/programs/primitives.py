"""The examples of all schedule primitives, from their pages in the documentation."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from functools import cache
from pathlib import Path
from typing import Any

from tools.replay.program import Program, Texts
from tools.replay.record import record_build, trace_text
from tools.requirements import ROOT

from tilewright import tir

PAGES = ROOT / "docs" / "schedule"
_EXAMPLE = re.compile(r"^## Example\n\n```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)


@cache
def names() -> dict[str, Any]:
    """What examples find: the programs."""
    return {"tir": tir, **runpy.run_path(str(PAGES / "programs.py"))}


def example(page: Path) -> Program | None:
    """The program of a page, if it has an example."""
    found = _EXAMPLE.search(page.read_text())
    if found is None:
        return None

    def record(target: Any, texts: Texts) -> None:
        namespace = dict(names())
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(found["code"], str(page), "exec"), namespace)
        sch = namespace["sch"]
        texts["trace.py"] = trace_text(sch)
        record_build(sch.mod, None, target, texts)

    return Program(f"primitive/{page.stem}", record, ("avx512",))


PROGRAMS = tuple(filter(None, map(example, sorted(PAGES.glob("*.md")))))
