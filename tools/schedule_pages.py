"""Make the page of each schedule primitive in docs/schedule from its docstring.

Usage: python -m tools.schedule_pages

A page has what the docstring says, and what its example really does: the program before and after,
and the trace.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator

from tools.schedule_examples import (
    PROGRAMS,
    ROOT,
    Example,
    first_sentence,
    parameters_of,
    run_example,
)

from tilewright.ir import structural_equal
from tilewright.tir import PrimFunc, Schedule
from tilewright.tir.schedule.primitive import PRIMITIVES, Primitive

DIRECTORY = ROOT / "docs" / "schedule"

GROUPS: dict[str, tuple[str, ...]] = {
    "Queries": (
        "get_block", "get_loops", "get_child_blocks", "get_producers", "get_consumers",
        "get_output_blocks",
    ),
    "Sampling": (
        "sample_categorical", "sample_perfect_tile", "sample_partitioned_tile",
        "sample_compute_location", "enter_postproc",
    ),
    "Loops": (
        "split", "fuse", "reorder", "merge", "loop_partition", "add_unit_loop",
        "reorder_block_iter_var",
    ),
    "Loop kinds": ("parallel", "vectorize", "unroll", "bind"),
    "Caching and layout": (
        "cache_read", "cache_write", "cache_inplace", "cache_index", "read_at", "write_at",
        "reindex", "reindex_cache_read", "reindex_cache_write", "transform_layout",
        "transform_block_layout", "set_axis_separator", "set_scope", "storage_align",
        "unsafe_set_dtype",
    ),
    "Compute location and inlining": (
        "compute_at", "reverse_compute_at", "compute_inline", "reverse_compute_inline",
    ),
    "Reductions and padding": (
        "decompose_reduction", "rfactor", "pad_einsum", "shift_zero_point", "decompose_padding",
    ),
    "Staging and guards": ("stage_mem", "lift_alloc", "add_guard", "rolling_buffer"),
    "Blockize and tensorize": ("blockize", "tensorize"),
    "Annotations": ("annotate", "unannotate", "unsafe_hide_buffer_access"),
}  # fmt: skip
"""The primitives as the index lists them."""

_INDEX = """# Schedule primitives

A [schedule](overview.md) transforms a program by these methods. Each page is made from the method's
docstring, and its example from what it really does. The examples schedule the programs in
[programs.py](programs.py). [Requirements](requirements.md) lists all that is checked, each with a
test that needs the check.
"""
_HEADINGS = {"Args": "Arguments", "Returns": "Returns", "Raises": "Raises"}


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    listed = [name for names in GROUPS.values() for name in names]
    if missing := sorted(set(PRIMITIVES) - set(listed)):
        raise LookupError(f"GROUPS in tools/schedule_pages.py does not list {', '.join(missing)}")
    texts = {f"{name}.md": page(primitive) for name, primitive in PRIMITIVES.items()}
    return {"index.md": index(), **texts}


def index() -> str:
    """The page that lists all primitives."""
    lines = [_INDEX]
    for group, names in GROUPS.items():
        lines += [f"## {group}", ""]
        for name in names:
            if name in PRIMITIVES:
                summary = _inline(first_sentence(PRIMITIVES[name].doc))
                lines.append(f"* [{name}]({name}.md): {summary[0].lower()}{summary[1:]}")
        lines.append("")
    return "\n".join([*lines, "## The schedule itself", "", *_own_members(), ""])


def _own_members() -> Iterator[str]:
    """What a schedule has besides the primitives."""
    for name, member in vars(Schedule).items():
        if not name.startswith("_") and name not in PRIMITIVES:
            summary = _inline(first_sentence(inspect.getdoc(member) or ""))
            yield f"* `{name}`: {summary[0].lower()}{summary[1:]}"


def page(primitive: Primitive) -> str:
    """The page of one primitive."""
    example = run_example(primitive.name)
    description = primitive.doc.partition("\nExample::\n")[0]
    lines = [f"# {primitive.name}", "", *_fenced("python skip", _signature(primitive, example))]
    for paragraph in _paragraphs(description):
        lines += _markdown(paragraph)
    lines += ["## Example", "", *_fenced("python", example.code)]
    if example.printed:
        lines += ["It prints", "", *_fenced("text", example.printed)]
    before, after = example.program, example.schedule.mod[_only_name(example)]
    if not structural_equal(before, after):
        lines += [f"`{before.attrs['global_symbol']}` in [programs.py]({PROGRAMS.name}) is", ""]
        lines += [*_fenced("python skip", _script(before)), "and becomes", ""]
        lines += _fenced("python skip", _script(after))
    trace = "\n".join(example.schedule.trace.as_python())
    lines += ["The trace:", "", *_fenced("python skip", trace)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _only_name(example: Example) -> str:
    (name,) = example.schedule.mod.get_global_vars()
    return name.name_hint


def _script(func: PrimFunc) -> str:
    return func.script().partition("\n\n")[2]


def _signature(primitive: Primitive, example: Example) -> str:
    parameters = parameters_of(primitive)
    line = f"Schedule.{primitive.name}({', '.join(parameters)}) -> {example.returns}"
    if len(line) <= 100:
        return line
    listed = "".join(f"    {item},\n" for item in parameters)
    return f"Schedule.{primitive.name}(\n{listed}) -> {example.returns}"


def _fenced(tag: str, code: str) -> list[str]:
    return [f"```{tag}", *code.strip("\n").splitlines(), "```", ""]


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a docstring; code that follows a ``::`` belongs to its paragraph."""
    paragraph: list[str] = []
    for line in text.splitlines():
        in_code = any(item.endswith("::") for item in paragraph)
        ends = not paragraph[-1].strip() if paragraph else False
        if ends and line and not (in_code and line.startswith("    ")):
            yield "\n".join(paragraph).rstrip()
            paragraph = []
        paragraph.append(line)
    yield "\n".join(paragraph).rstrip()


def _markdown(paragraph: str) -> list[str]:
    heading, _, rest = paragraph.partition("\n")
    if heading.rstrip(":") in _HEADINGS:
        name = heading.rstrip(":")
        items = textwrap.dedent(rest)
        listed = [_inline(items)] if name == "Returns" else _items(items)
        return [f"## {_HEADINGS[name]}", "", *listed, ""]
    text, _, code = paragraph.partition("::\n")
    if code:
        fenced = _fenced("python skip", textwrap.dedent(code.strip("\n")))
        return [f"{_inline(text)}:", "", *fenced]
    return [_inline(paragraph).replace("Requires:", "**Requires:**"), ""]


def _items(text: str) -> list[str]:
    """Bullets of the items ``name: what it is``."""
    joined = re.sub(r"\n +", " ", text)
    return [re.sub(r"^(\w+):", r"* `\1`:", _inline(line)) for line in joined.splitlines()]


def _inline(text: str) -> str:
    return text.replace("``", "`")


def main() -> None:
    """Write all pages."""
    for name, text in pages().items():
        (DIRECTORY / name).write_text(text)


if __name__ == "__main__":
    main()
