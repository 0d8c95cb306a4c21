"""The notebooks of the site: run, with what they print, as pages and to download."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from tools.site.languages import DOCS, ROOT

NOTEBOOKS: Final = DOCS / "notebooks"
ENGLISH, CHINESE = "tutorials", "zh"
"""Where the notebooks of tutorials are in both languages; English comes first."""

TIME_LIMIT: Final = 600
"""Seconds that a cell may take."""


def publish(directory: Path, run: bool) -> None:
    """Write each notebook, and a page with it, into a directory."""
    for path in sorted(NOTEBOOKS.rglob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        target = directory / path.relative_to(NOTEBOOKS)
        target.parent.mkdir(parents=True, exist_ok=True)
        if run and path.parent.name == CHINESE:
            original = directory / ENGLISH / path.name
            take_outputs(notebook, nbformat.read(original, as_version=4))
        elif run:
            run_notebook(notebook)
        nbformat.write(notebook, target)
        target.with_suffix(".html").write_text(page_of(notebook), encoding="utf-8")


def page_of(notebook: nbformat.NotebookNode) -> str:
    """A notebook as a page that loads nothing from other sites."""
    scripts = dict.fromkeys(("mathjax_url", "require_js_url", "jquery_url", "mermaid_js_url"), "")
    text, _ = HTMLExporter(template_name="lab", **scripts).from_notebook_node(notebook)
    return text.replace('<script src=""></script>', "")


def take_outputs(notebook: nbformat.NotebookNode, original: nbformat.NotebookNode) -> None:
    """Give the cells of a translated tutorial the outputs of the original, which has equal code."""
    cells, others = (
        [cell for cell in one.cells if cell.cell_type == "code"] for one in (notebook, original)
    )
    for cell, other in zip(cells, others, strict=True):
        cell.outputs, cell.execution_count = other.outputs, other.execution_count


def run_notebook(notebook: nbformat.NotebookNode) -> None:
    """Run the cells of a notebook in an empty directory, which keeps its files."""
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    with tempfile.TemporaryDirectory() as directory:
        resources = {"metadata": {"path": directory}}
        NotebookClient(notebook, timeout=TIME_LIMIT, resources=resources).execute()
