"""Stages of random programs whose blocks or nests are out of the ordinary."""

from __future__ import annotations

from tests.property.block_programs import BlockPrograms
from tests.property.plain_stages import iterators


def halves(p: BlockPrograms) -> None:
    """Two blocks that write the halves of one buffer."""
    source = p.source()
    out = p.new(source.shape, source.bound + 2)
    rest = iterators(out, 1)
    middle = source.shape[0] // 2
    for name, low, high, plus in (("lo", 0, middle, 1), ("hi", middle, out.shape[0], 2)):
        if high == low:
            continue
        extents: dict[str, int] = {f"v{n}": e for n, e in enumerate(out.shape)}
        extents["v0"] = high - low
        place = f"v0 + {low}" if low else "v0"
        value = f"{source.at(place, *rest)} + {p.const(plus)}"
        p.block(f"{out}_{name}", extents, [f"{out.at(place, *rest)} = {value}"])


def nested(p: BlockPrograms) -> None:
    """Two stages under one loop: the second reads what the same iteration of the first made."""
    source = p.source(2)
    m, n = source.shape
    first, second = p.new((m, n), source.bound + 3), p.new((m, n), 2 * source.bound + 6)
    p.lines += [
        f"    for i0 in range({m}):",
        f"        for i1 in range({n}):",
        f'            with T.block("{first}"):',
        f"                v0 = T.axis.spatial({m}, i0)",
        f"                v1 = T.axis.spatial({n}, i1)",
        f"                {first}[v0, v1] = {source}[v0, v1] + {p.const(3)}",
        f"        for i1 in range({n}):",
        f'            with T.block("{second}"):',
        f"                v0 = T.axis.spatial({m}, i0)",
        f"                v1 = T.axis.spatial({n}, i1)",
        f"                {second}[v0, v1] = {first}[v0, {n - 1} - v1] * {p.const(2)}",
    ]


def block_of_blocks(p: BlockPrograms) -> None:
    """A block around a reduction of a row, with a buffer of its own."""
    source = p.source(2)
    m, n = source.shape
    out = p.new((m,), source.bound * int(n) + 1)
    p.lines += [
        f"    for i0 in range({m}):",
        f'        with T.block("{out}_o"):',
        f"            v0 = T.axis.spatial({m}, i0)",
        f'            {out}_t = T.alloc_buffer((1,), "{p.dtype}")',
        f"            for r0 in range({n}):",
        f'                with T.block("{out}_t"):',
        f"                    k0 = T.axis.reduce({n}, r0)",
        "                    with T.init():",
        f"                        {out}_t[0] = {p.const(0)}",
        f"                    {out}_t[0] = {out}_t[0] + {source}[v0, k0]",
        f'            with T.block("{out}"):',
        f"                {out}[v0] = {out}_t[0] + {p.const(1)}",
    ]


def two_stores(p: BlockPrograms) -> None:
    """A block that writes two buffers."""
    source = p.source()
    one = p.new(source.shape, source.bound + 1)
    other = p.new(source.shape, 2 * source.bound)
    here = iterators(one)
    body = [
        f"{one.at(*here)} = {source.at(*here)} + {p.const(1)}",
        f"{other.at(*here)} = {source.at(*here)} * {p.const(2)}",
    ]
    p.emit(one, body, free=True)


def row_in_a_block(p: BlockPrograms) -> None:
    """A block with a loop inside: it computes a row."""
    source = p.source(2)
    m, n = source.shape
    out = p.new((m, n), source.bound + 2)
    p.block(
        out.name,
        {"v0": m},
        [f"for j in range({n}):", f"    {out}[v0, j] = {source}[v0, j] - {p.const(2)}"],
    )


def while_loop(p: BlockPrograms) -> None:
    """A block that counts in a while loop."""
    source = p.source(1)
    out = p.new(source.shape, source.bound + 3)
    body = [
        # A maximum over nothing is the least value of the dtype, to which 2 may add nothing.
        f"{out}[v0] = T.max({source}[v0], {p.const(-source.bound)})",
        f"while {out}[v0] < {p.const(0)}:",
        f"    {out}[v0] = {out}[v0] + {p.const(2)}",
    ]
    p.emit(out, body)


def conditional(p: BlockPrograms) -> None:
    """A block that stores in both branches of a condition on data."""
    source = p.source()
    out = p.new(source.shape, 2 * source.bound)
    here = iterators(out)
    value = source.at(*here)
    body = [
        f"if {value} > {p.const(0)}:",
        f"    {out.at(*here)} = {value} * {p.const(2)}",
        "else:",
        f"    {out.at(*here)} = {p.const(0)} - {value}",
    ]
    p.emit(out, body)


STAGES = [halves, nested, block_of_blocks, two_stores, row_in_a_block, while_loop, conditional]
