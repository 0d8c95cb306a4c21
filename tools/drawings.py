"""Make the drawings in docs/drawings.

Usage: python -m tools.drawings

A drawing is a list of shapes at coordinates in pixels. Labels are in English; the pages in Chinese
show the same drawings and explain them in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

DIRECTORY: Final = Path(__file__).parents[1] / "docs" / "drawings"

BLUE, LIGHT, ORANGE, GREEN, GREY = "#2563a8", "#dbe9f6", "#fbe3c8", "#d9efdc", "#eef0f2"

STYLE: Final = """
text { font: 14px system-ui, sans-serif; fill: #1f2328; text-anchor: middle; }
.small { font-size: 12px; fill: #59636e; }
.left { text-anchor: start; }
.code { font: 12px ui-monospace, monospace; text-anchor: start; white-space: pre; }
.title { font-weight: 600; }
.line { stroke: #59636e; stroke-width: 1.6; fill: none; }
.bad { stroke: #cf222e; stroke-width: 2.2; fill: none; }
.good { stroke: #1a7f37; stroke-width: 2.2; fill: none; }
"""


class Drawing:
    """Shapes on paper.

    Args:
        width: in pixels.
        height: in pixels.
        label: what is to be seen, for those who cannot see it.
    """

    def __init__(self, width: int, height: int, label: str) -> None:
        self._size = width, height
        self._label = label
        self._shapes: list[str] = []

    def box(
        self, x: float, y: float, width: float, height: float, lines: Sequence[str],
        colour: str = LIGHT,
    ) -> None:  # fmt: skip
        """A rectangle with lines of text in the middle; the first one is a title."""
        self._shapes.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{colour}" '
            'stroke="#9aa4ae"/>'
        )
        first = y + height / 2 - 9 * (len(lines) - 1) + 5
        for number, line in enumerate(lines):
            kind = "title" if number == 0 else "small"
            self.text(x + width / 2, first + 18 * number, line, kind)

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """A line of text, in the middle unless its kind is ``left`` or ``code``."""
        self._shapes.append(f'<text x="{x}" y="{y}" class="{kind}">{escape(text)}</text>')

    def code(self, x: float, y: float, lines: Sequence[str]) -> None:
        """Lines of a program."""
        for number, line in enumerate(lines):
            self.text(x, y + 17 * number, line, "code")

    def line(self, *points: tuple[float, float], kind: str = "line", arrow: bool = True) -> None:
        """A line through some points, which ends in an arrow."""
        path = " L ".join(f"{x} {y}" for x, y in points)
        end = f' marker-end="url(#{kind})"' if arrow else ""
        self._shapes.append(f'<path class="{kind}" d="M {path}"{end}/>')

    def dot(self, x: float, y: float, colour: str = BLUE, radius: float = 7) -> None:
        """A point."""
        self._shapes.append(f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{colour}"/>')

    def bar(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A rectangle without text."""
        self._shapes.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{colour}" '
            'stroke="#9aa4ae"/>'
        )

    def svg(self) -> str:
        """The file."""
        width, height = self._size
        heads = "".join(
            f'<marker id="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" fill="{colour}"/>'
            "</marker>"
            for kind, colour in (("line", "#59636e"), ("bad", "#cf222e"), ("good", "#1a7f37"))
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}" role="img" aria-label="{escape(self._label)}">',
                f"<style>{STYLE}</style><defs>{heads}</defs>",
                f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
                *self._shapes,
                "</svg>\n",
            ]
        )


def architecture() -> Drawing:
    """From front ends through one IR to machine code, with the tuner beside it."""
    paper = Drawing(900, 400, "The parts of the compiler, from front ends to machine code")
    fronts = (
        ("tensor expressions", "te.compute, topi"), ("scripts", "TVMScript"),
        ("graphs", "relax, PyTorch"),
    )  # fmt: skip
    for number, lines in enumerate(fronts):
        y = 30 + 100 * number
        paper.box(20, y, 170, 64, lines)
        paper.line((190, y + 32), (248, 132 + 16 * (number - 1)))
    paper.box(250, 92, 160, 80, ("tensor programs", "PrimFunc:", "blocks, loops, buffers"), ORANGE)
    paper.line((410, 132), (468, 132))
    paper.box(470, 92, 150, 80, ("schedule", "primitives", "with proofs"), GREEN)
    paper.line((620, 132), (678, 132))
    paper.box(680, 92, 200, 80, ("lowering", "vectors, registers,", "mathematics"), LIGHT)
    targets = (("LLVM", "x86-64, AArch64, RISC-V"), ("C", "any compiler"), ("OpenCL, CUDA", "GPUs"))
    for number, lines in enumerate(targets):
        y = 210 + 62 * number
        paper.box(680, y, 200, 52, lines, GREY)
    paper.line((780, 172), (780, 208))
    parts = "rules make sketches, a search decides, a model predicts,"
    paper.box(250, 260, 370, 110, ("tuner", parts, "candidates are measured, records are kept"))
    paper.line((545, 260), (545, 174))
    paper.text(570, 222, "traces", "small")
    paper.line((680, 330), (622, 330))
    paper.text(650, 322, "times", "small")
    paper.text(435, 392, "AutoTVM, auto-scheduler, MetaSchedule: front ends of the tuner", "small")
    return paper


def legality() -> Drawing:
    """Two loops over the same iterations: one carries a dependence, one does not."""
    paper = Drawing(900, 360, "Iterations of two loops, and the dependences between them")
    paper.code(30, 40, ("for i in range(4):", "    for j in range(6):",
                        "        A[i, j+1] += A[i, j]"))  # fmt: skip
    paper.text(30, 120, "Each dot is an instance of the block.", "left small")
    paper.text(30, 140, "An arrow leads from a write to", "left small")
    paper.text(30, 158, "the read of the same element.", "left small")
    left, top, step = 330, 70, 62
    for i in range(4):
        for j in range(6):
            x, y = left + step * j, top + step * i
            if j < 5:
                paper.line((x + 9, y), (x + step - 10, y))
            paper.dot(x, y)
        paper.text(left - 34, top + step * i + 5, f"i = {i}", "small")
    for j in range(6):
        paper.text(left + step * j, top - 28, f"j = {j}", "small")
    x = left + step * 5 + 50
    paper.line((x, top), (x, top + 3 * step), kind="good")
    paper.text(x + 18, top + 74, "parallel(i)", "left title")
    paper.text(x + 18, top + 96, "legal: no arrow leads", "left small")
    paper.text(x + 18, top + 112, "from row to row", "left small")
    y = top + 3 * step + 44
    paper.line((left, y), (left + 5 * step, y), kind="bad")
    paper.text(left, y + 30, "parallel(j)", "left title")
    paper.text(
        left + 84, y + 30, "refused: A[0, 1] is written at (0, 0), read at (0, 1)", "left small"
    )
    return paper


def lowering() -> Drawing:
    """One loop nest at four stages."""
    paper = Drawing(900, 430, "A matrix product at four stages of lowering")
    stages = (
        ("blocks", "what is computed",
         ("for i, j, k in grid(4, 8, 32):", "    with block(\"C\"):", "        with init():",
          "            C[i, j] = 0", "        C[i, j] += A[i, k] * B[k, j]")),
        ("loops", "LowerBlocks, FlattenBuffer",
         ("for i in range(4):", "    for j in vectorized(8):", "        C[8*i + j] = 0",
          "    for k in range(32):", "        for j in vectorized(8):",
          "            C[8*i + j] += A[32*i + k] * B[8*k + j]")),
        ("vectors", "VectorizeLoop",
         ("for i in range(4):", "    C[8*i : 8*i + 8] = broadcast(0, 8)", "    for k in range(32):",
          "        C[8*i : 8*i + 8] +=", "            broadcast(A[32*i + k], 8)",
          "            * B[8*k : 8*k + 8]")),
        ("registers", "PromoteRegisters, ContractFMA",
         ("for i in range(4):", "    c = broadcast(0, 8)", "    for k in range(32):",
          "        c = fma(broadcast(A[32*i + k], 8),", "                B[8*k : 8*k + 8], c)",
          "    C[8*i : 8*i + 8] = c")),
    )  # fmt: skip
    for number, (title, passes, lines) in enumerate(stages):
        x, y = 20 + 450 * (number % 2), 20 + 205 * (number // 2)
        paper.box(x, y, 410, 185, (), (ORANGE, LIGHT, LIGHT, GREEN)[number])
        paper.text(x + 14, y + 24, title, "left title")
        paper.text(x + 110, y + 24, passes, "left small")
        paper.code(x + 14, y + 54, lines)
    paper.line((430, 112), (468, 112))
    paper.line((675, 205), (675, 214), (225, 214), (225, 223))
    paper.line((430, 317), (468, 317))
    return paper


def cost_model() -> Drawing:
    """The time of a candidate, as the analytical model adds it up, and what the trees correct."""
    paper = Drawing(900, 330, "How the cost model predicts the time of a candidate")
    paper.box(20, 30, 190, 76, ("computing", "the longest of arithmetic,", "loads, stores, chains"))
    paper.box(
        20, 130, 190, 76, ("waiting for memory", "lines that each loop moves", "x cycles per line")
    )
    paper.line((210, 68), (268, 108))
    paper.line((210, 168), (268, 130))
    paper.box(270, 80, 200, 80, ("overlap", "the longer one", "+ 0.35 x the shorter one"), ORANGE)
    paper.line((470, 120), (528, 120))
    paper.box(530, 80, 150, 80, ("threads", "divided, + starting"), ORANGE)
    paper.line((680, 120), (738, 120))
    paper.box(740, 80, 140, 80, ("expected", "time"), GREEN)
    paper.box(270, 230, 200, 70, ("features", "164 numbers per store"), LIGHT)
    paper.box(530, 230, 150, 70, ("boosted trees", "learn the ratio", "measured / expected"), LIGHT)
    paper.box(740, 230, 140, 70, ("prediction", "ranks candidates"), GREEN)
    paper.line((470, 265), (528, 265))
    paper.line((680, 265), (738, 265))
    paper.line((810, 160), (810, 228))
    paper.text(120, 258, "target: vectors, registers,", "small")
    paper.text(120, 276, "caches, cores", "small")
    paper.line((120, 240), (120, 208))
    return paper


def numerics() -> Drawing:
    """The exponential as arithmetic: reduction, polynomial, and the exponent's bits."""
    paper = Drawing(900, 285, "How exp(x) is computed by vector arithmetic")
    steps = (
        ("x", "float32"), ("n = round(x / log 2)", "r = x - n * log 2, in two parts"),
        ("p = polynomial(r)", "degree 6, fused multiply-adds"),
        ("p * 2^n", "n into the exponent's bits"),
    )  # fmt: skip
    x = 20
    for number, lines in enumerate(steps):
        width = 90 if number == 0 else 225
        paper.box(x, 30, width, 66, lines, (GREY, LIGHT, ORANGE, GREEN)[number])
        if number < 3:
            paper.line((x + width, 63), (x + width + 28, 63))
        x += width + 30
    axis = 190
    paper.line((60, axis), (850, axis))
    for number in range(-3, 4):
        place = 450 + 120 * number
        paper.line((place, axis - 8), (place, axis + 8), arrow=False)
        paper.text(place, axis + 28, f"{number} log 2" if number else "0", "small")
    paper.bar(390, axis - 5, 120, 10, "#f2b36b")
    paper.text(
        450, axis - 18, "|r| <= log 2 / 2: here the polynomial is accurate to 1 ulp", "small"
    )
    reason = "Only additions, multiplications and bit operations: a loop over exp is vectorised."
    paper.text(450, 262, reason, "small")
    return paper


DRAWINGS: Final = (architecture, legality, lowering, cost_model, numerics)


def main() -> None:
    """Write the drawings."""
    DIRECTORY.mkdir(exist_ok=True)
    for make in DRAWINGS:
        (DIRECTORY / f"{make.__name__}.svg").write_text(make().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
