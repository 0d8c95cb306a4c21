"""Programs of these tests as text."""

from __future__ import annotations

from tilewright.script import from_source
from tilewright.tir import For, PrimFunc


def function(body: str, arguments: str = "A: T.Buffer((8,), 'float32')") -> PrimFunc:
    """A function with that body, whose lines may be indented alike."""
    lines = [line for line in body.split("\n") if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    text = "\n".join("    " + line[margin:] for line in lines)
    return from_source(f"@T.prim_func\ndef f({arguments}):\n{text}\n")


def find_loop(node: object, name: str) -> For:
    """The loop over the variable of that name."""
    found = _find_loop(node, name)
    assert found is not None, name
    return found


def _find_loop(node: object, name: str) -> For | None:
    if isinstance(node, For) and node.loop_var.name == name:
        return node
    found = (_find_loop(item, name) for item in node.children())  # type: ignore[attr-defined]
    return next((item for item in found if item is not None), None)


CHAIN = """
A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 8), "float32"),
E: T.Buffer((8, 4), "float32"), F: T.Buffer((8, 4), "float32"),
C: T.Buffer((8, 8), "float32"), D: T.Buffer((8, 8), "float32")
""".replace("\n", " ")
"""The arguments of F = exp(A @ B) @ E."""

BLOCKS = {
    "C": """
with T.block("C"):
    vm, vl = T.axis.spatial(8, {m}), T.axis.spatial(8, {l})
    vk = T.axis.reduce(16, {k})
    with T.init():
        C[vm, vl] = T.float32(0)
    C[vm, vl] = C[vm, vl] + A[vm, vk] * B[vk, vl]
""",
    "D": """
with T.block("D"):
    vm, vl = T.axis.spatial(8, {m}), T.axis.spatial(8, {l})
    D[vm, vl] = T.exp(C[vm, vl])
""",
    "F": """
with T.block("F"):
    vm, vq = T.axis.spatial(8, {m}), T.axis.spatial(4, {q})
    vl = T.axis.reduce(8, {l})
    with T.init():
        F[vm, vq] = T.float32(0)
    F[vm, vq] = F[vm, vq] + D[vm, vl] * E[vl, vq]
""",
}


def chain(nest: str) -> PrimFunc:
    """F = exp(A @ B) @ E in a loop nest in which lines such as ``C(m, l, k)`` stand for blocks."""
    lines = []
    for line in nest.split("\n"):
        stripped = line.strip()
        if stripped[:2] in ("C(", "D(", "F("):
            name, values = stripped[0], stripped[2:-1].split(", ")
            keys = {"C": "mlk", "D": "ml", "F": "mql"}[name]
            text = BLOCKS[name].format(**dict(zip(keys, values, strict=True))).strip()
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + part for part in text.split("\n")]
        else:
            lines.append(line)
    return function("\n".join(lines), CHAIN)


SEPARATE = """
for m, l, k in T.grid(8, 8, 16):
    C(m, l, k)
for m, l in T.grid(8, 8):
    D(m, l)
for m, q, l in T.grid(8, 4, 8):
    F(m, q, l)
"""
