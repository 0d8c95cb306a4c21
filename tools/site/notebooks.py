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

TIME_LIMIT: Final = 600
"""Seconds that a cell may take."""


def publish(directory: Path, run: bool) -> None:
    """Write each notebook, and a page with it, into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in sorted((DOCS / "notebooks").rglob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if run:
            run_notebook(notebook)
        nbformat.write(notebook, directory / path.name)
        text, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
        (directory / path.name).with_suffix(".html").write_text(text, encoding="utf-8")


def run_notebook(notebook: nbformat.NotebookNode) -> None:
    """Run the cells of a notebook in an empty directory, which keeps its files."""
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    with tempfile.TemporaryDirectory() as directory:
        resources = {"metadata": {"path": directory}}
        NotebookClient(notebook, timeout=TIME_LIMIT, resources=resources).execute()
