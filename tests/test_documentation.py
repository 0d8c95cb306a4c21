"""The Python in the documentation runs, and prints what the documentation says.

The ```python blocks of a file share one namespace, in order. A ```text block right after one holds
its output. Blocks tagged ```python skip``` are not run.
"""

import contextlib
import io
import linecache
import re
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

import tilewright as tvm
from tilewright import error, te
from tilewright.ir.instrument import pass_instrument
from tilewright.runtime.linking import find_compiler
from tilewright.tir.numerics import KERNELS
from tilewright.transform import PassContext

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SCHEDULE = ROOT / "docs" / "schedule"
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
# test_schedule_pages runs the pages of primitives.
HOW_TO = sorted((ROOT / "docs" / "how_to").glob("*.md"))
RUN = [*FILES, *TUTORIALS, *HOW_TO, SCHEDULE / "overview.md"]
CHINESE = sorted((ROOT / "docs" / "zh").rglob("*.md"))  # the Python of which is that of others
LINKED = [*FILES, *TUTORIALS, *HOW_TO, *CHINESE, *sorted(SCHEDULE.glob("*.md"))]
BLOCK = re.compile(r"^```(?P<tag>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)#:]*)(?:#(?P<anchor>[^)]*))?\)")
HEADING = re.compile(r"^#+ (?P<title>.*)$", re.MULTILINE)


class Block(NamedTuple):
    """A piece of Python, and what it must print, if the text says so."""

    code: str
    output: str | None
    line: int


def blocks_of(text):
    """The Python blocks that are to be run."""
    found = list(BLOCK.finditer(text))
    blocks = []
    for position, match in enumerate(found):
        if match["tag"].split() != ["python"]:
            continue
        following = found[position + 1] if position + 1 < len(found) else None
        output = None
        if (
            following
            and following["tag"] == "text"
            and not text[match.end() : following.start()].strip()
        ):
            output = following["code"]
        blocks.append(Block(match["code"], output, text[: match.start()].count("\n") + 2))
    return blocks


def run(block, namespace, path):
    """Run one block, and return what it printed."""
    # Scripts are parsed from their source, which is looked up by file name.
    name = f"<{path.name}, line {block.line}>"
    linecache.cache[name] = (len(block.code), None, block.code.splitlines(keepends=True), name)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(block.code, name, "exec"), namespace)
    return output.getvalue()


def comparable(text):
    """Text without spaces at the ends of lines and empty lines at the ends."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


@pytest.mark.parametrize("path", RUN, ids=lambda path: path.name)
def test_python_blocks(path, tmp_path, monkeypatch):
    text = path.read_text()
    if "needs a C compiler" in text and find_compiler() is None:
        pytest.skip("there is no C compiler")
    if "needs torch" in text and find_spec("torch") is None:
        pytest.skip("torch is not installed")
    if "needs the package onnx" in text and find_spec("onnx") is None:
        pytest.skip("onnx is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    namespace = {"__name__": "documentation"}
    for block in blocks_of(text):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            printed = run(block, namespace, path)
        if block.output is not None:
            assert comparable(printed) == comparable(block.output), f"{path.name}:{block.line}"


def anchors_of(path):
    """The names of the headings of a page, as the site and repositories on the web give them."""
    titles = (match["title"] for match in HEADING.finditer(BLOCK.sub("", path.read_text())))
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).strip().lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


@pytest.mark.parametrize("path", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files(path):
    for match in LINK.finditer(BLOCK.sub("", path.read_text())):
        if match["target"].startswith(("http", "mailto")):
            continue
        target = path.parent / match["target"] if match["target"] else path
        assert target.exists(), f"{path.name} links to {target}"
        if match["anchor"] and target.suffix == ".md":
            assert match["anchor"] in anchors_of(target), f"{path.name}: {match[0]}"


def test_every_error_is_documented():
    text = (ROOT / "docs" / "errors.md").read_text()
    classes = [kind for kind in vars(error).values() if isinstance(kind, type)]
    names = [kind.__name__ for kind in classes if issubclass(kind, error.TVMError)]
    missing = [name for name in names[1:] if f"## {name}\n" not in text]
    assert not missing


def test_every_function_has_a_row_with_its_error():
    text = (ROOT / "docs" / "numerics.md").read_text()
    assert [name for name in (*KERNELS, "rsqrt") if f"| `{name}` |" not in text] == []


def test_every_pass_is_listed():
    text = (ROOT / "docs" / "lowering.md").read_text()
    names = []

    @pass_instrument
    class Note:
        def run_after_pass(self, mod, info):
            names.append(info.name)

    with PassContext(instruments=[Note()]):
        tvm.build(te.create_prim_func([te.placeholder((4,))]), target="llvm -mcpu=haswell")
    rows = [text.find(f"| `{name}` |") for name in names if "." in name]
    assert len(rows) > 25
    assert min(rows) > 0
    assert rows == sorted(rows)


def test_blocks_are_found():
    text = "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python skip\nboom\n```\n"
    assert blocks_of(text) == [Block("print(1)\n", "1\n", 2)]
