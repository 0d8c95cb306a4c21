"""The reference: a page for each public module, made from docstrings.

What is public in a module is what it defines or imports under a name without an underscore, and is
ours. A name that several modules have is described by the first of them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

MODULES: Final = (
    "te", "tir", "arith", "topi", "topi.nn", "topi.image", "topi.linalg", "relax", "relax.op",
    "relax.transform", "relax.dpl", "relax.frontend.torch", "relax.frontend.nn", "target",
    "transform", "runtime", "nd", "meta_schedule", "tune.database", "autotvm", "auto_scheduler",
    "dlight", "testing", "error",
)  # fmt: skip


class Name(NamedTuple):
    """A public name of a module.

    home: the full name under which it is described.
    """

    name: str
    value: Any
    home: str


def describe(directory: Path) -> None:
    """Write a page for each module into `directory`, and their list into the page beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    index = directory.with_suffix(".md")
    homes: dict[int, str] = {}
    rows: list[str] = ["\n## Modules\n"]
    for name in ("", *MODULES):
        module = importlib.import_module(f"tilewright.{name}".rstrip("."))
        page = name or "tilewright"
        names = list(names_of(module, homes))
        (directory / f"{page}.rst").write_text("\n".join(page_of(module, names)), encoding="utf-8")
        summary = (module.__doc__ or "").strip().partition("\n\n")[0].replace("\n", " ")
        rows.append(f"* {{doc}}`{module.__name__} <{directory.name}/{page}>`: {summary}")
    entries = "\n".join(f"{directory.name}/{name}" for name in ("tilewright", *MODULES))
    rows.append(f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n")
    text = index.read_text(encoding="utf-8") + "\n".join(rows)
    index.write_text(text, encoding="utf-8")


def names_of(module: ModuleType, homes: dict[int, str]) -> Iterator[Name]:
    """The public names of a module; `homes` has the pages of those that are described already."""
    for name in sorted(dir(module), key=str.lower):
        value = None if name.startswith("_") else getattr(module, name)
        is_ours = str(getattr(value, "__module__", "")).startswith("tilewright")
        if is_ours and callable(value) and not inspect.ismodule(value) and inspect.getdoc(value):
            yield Name(name, value, homes.setdefault(id(value), f"{module.__name__}.{name}"))


def page_of(module: ModuleType, names: list[Name]) -> Iterator[str]:
    """The lines of the page of a module."""
    yield from heading(module.__name__, "=")
    yield f".. automodule:: {module.__name__}\n   :no-members:\n"
    own = [name for name in names if name.home == f"{module.__name__}.{name.name}"]
    classes = [name for name in own if inspect.isclass(name.value)]
    functions = [name for name in own if not inspect.isclass(name.value)]
    others = [name for name in names if name not in own]
    if functions:
        yield from heading("Functions", "-")
        for name in functions:
            yield f".. autofunction:: {module.__name__}.{name.name}\n"
    if classes:
        yield from heading("Classes", "-")
        for name in classes:
            yield f".. autoclass:: {module.__name__}.{name.name}\n   :members:\n"
    if others:
        yield from heading("Names of other modules", "-")
        yield ", ".join(f":py:obj:`~{other.home}`" for other in others) + "\n"


def heading(text: str, line: str) -> tuple[str, str]:
    """A heading in reStructuredText."""
    return text, line * len(text) + "\n"
