"""Stages of random programs that reduce, and chains of them."""

from __future__ import annotations

from tests.property.block_programs import Array, BlockPrograms
from tests.property.plain_stages import iterators


def _sum(target: str, value: str, zero: str) -> list[str]:
    return ["with T.init():", f"    {target} = {zero}", f"{target} = {target} + {value}"]


def reduction(p: BlockPrograms) -> None:
    """The sum or maximum along one dimension."""
    source = p.source()
    if len(source.shape) < 2:
        kept, axis = [], 0
        shape: tuple[int, ...] = (1,)
    else:
        axis = p.rng.randrange(len(source.shape))
        kept = [n for n in range(len(source.shape)) if n != axis]
        shape = tuple(source.shape[n] for n in kept)
    out = p.new(shape, source.bound * int(source.shape[axis]) + 5)
    names = {n: f"v{place}" for place, n in enumerate(kept)} | {axis: "k0"}
    access = source.at(*(names[n] for n in range(len(source.shape))))
    target = out.at(*iterators(out))
    start, value = p.rng.choice(
        (("0", f"{target} + {access}"), ("0", f"{target} + {access}"),
         ("-99", f"T.max({target}, {access})"), ("5", f"{target} + {access}"),
         ("T.min_value", f"T.max({target}, {access})"))
    )  # fmt: skip
    first = f'T.min_value("{p.dtype}")' if start == "T.min_value" else p.const(int(start))
    order = [*iterators(out), "k0"]
    if p.rng.random() < 0.3:
        p.rng.shuffle(order)
    body = ["with T.init():", f"    {target} = {first}", f"{target} = {value}"]
    p.emit(out, body, {"k0": source.shape[axis]}, order=order)


def sum_of_all(p: BlockPrograms) -> None:
    """The sum over two dimensions."""
    source = p.source(2)
    m, n = source.shape
    out = p.new((1,), source.bound * int(m) * int(n))
    body = _sum(f"{out}[0]", f"{source}[k0, k1]", p.const(0))
    p.block(out.name, {"k0": m, "k1": n}, body, reduced={"k0", "k1"})


def _product(p: BlockPrograms, a: Array, b: Array, transpose: bool) -> Array:
    m, k = a.shape[0], min(a.shape[1], b.shape[1 if transpose else 0])
    n = b.shape[0 if transpose else 1]
    out = p.new((m, n), a.bound * b.bound * int(k))
    other = b.at("v1", "k0") if transpose else b.at("k0", "v1")
    target = out.at("v0", "v1")
    p.emit(out, _sum(target, f"{a}[v0, k0] * {other}", p.const(0)), {"k0": k})
    return out


def matmul(p: BlockPrograms) -> None:
    """A product of matrices."""
    _product(p, p.source(2), p.source(2), p.rng.random() < 0.3)


def convolution(p: BlockPrograms) -> None:
    """A convolution along the first dimension, usually with padding as a stage of its own."""
    source = p.source()
    width = 3
    padded = p.rng.random() < 0.7
    extent = source.shape[0] if padded else source.shape[0] - width + 1
    if extent <= 0:
        return
    weights = p.input((width,))
    out_bound = source.bound * weights.bound * width
    rest = [f"v{n}" for n in range(1, len(source.shape))]
    if padded:
        pad = p.new((source.shape[0] + 2, *source.shape[1:]), source.bound)
        value = source.at("v0 - 1", *rest)
        condition = f"1 <= v0 and v0 < {source.shape[0] + 1}"
        text = f"T.if_then_else({condition}, {value}, {p.const(0)})"
        p.emit(pad, [f"{pad.at('v0', *rest)} = {text}"])
        source = pad
    out = p.new((extent, *source.shape[1:]), out_bound)
    terms = f"{source.at('v0 + k0', *rest)} * {weights}[k0]"
    p.emit(out, _sum(out.at("v0", *rest), terms, p.const(0)), {"k0": width})


def softmax(p: BlockPrograms) -> Array:
    """What each row is above its maximum, and the sum of that."""
    source = p.source(2)
    m, n = source.shape
    most = p.new((m,), max(source.bound, 10**4))
    body = ["with T.init():", f"    {most}[v0] = {p.const(-10000)}",
            f"{most}[v0] = T.max({most}[v0], {source}[v0, k0])"]  # fmt: skip
    p.emit(most, body, {"k0": n})
    above = p.new((m, n), source.bound + most.bound)
    p.emit(above, [f"{above}[v0, v1] = {source}[v0, v1] - {most}[v0]"])
    total = p.new((m,), above.bound * int(n))
    p.emit(total, _sum(f"{total}[v0]", f"{above}[v0, k0]", p.const(0)), {"k0": n})
    out = p.new((m, n), above.bound + total.bound)
    p.emit(out, [f"{out}[v0, v1] = {above}[v0, v1] - {total}[v0]"])
    return out


def attention(p: BlockPrograms) -> None:
    """Products with the maximum of each row in between."""
    scores = _product(p, p.source(2), p.source(2), transpose=True)
    m, n = scores.shape
    most = p.new((m,), max(scores.bound, 10**4))
    body = ["with T.init():", f"    {most}[v0] = {p.const(-10000)}",
            f"{most}[v0] = T.max({most}[v0], {scores}[v0, k0])"]  # fmt: skip
    p.emit(most, body, {"k0": n})
    weights = p.new((m, n), 1)
    value = f"T.if_then_else({scores}[v0, v1] == {most}[v0], {p.const(1)}, {p.const(0)})"
    p.emit(weights, [f"{weights}[v0, v1] = {value}"])
    _product(p, weights, p.source(2), transpose=False)


def argmax(p: BlockPrograms) -> None:
    """Where the largest of values is, many of which are equal, and that value.

    The first or the last of them is found, in the order of the loops or in any order.
    """
    source = p.source(2)
    m, n = source.shape
    # What comes last is the result of the program, most of the time.
    most, best = p.new((m,), max(source.bound, 99999)), p.new((m,), int(n))
    place = f'T.Cast("{p.dtype}", k0)'
    access = source.at("v0", "k0")
    value = p.rng.choice(
        (access, f"T.max({access}, {p.const(0)})", f"T.min({access}, {p.const(0)})")
    )
    old, index = most.at("v0"), best.at("v0")
    better, way = p.rng.choice(((">", "<"), ("<", ">"), (">", ">")))
    tie = f"{old} == {value} and {index} {way} {place}"
    holds = p.rng.choice((f"{old} {better}= {value}", f"{old} {better} {value}",
                          f"{old} {better} {value} or {tie}"))  # fmt: skip
    limit = f'T.{"min" if better == ">" else "max"}_value("{p.dtype}")'
    start = p.const(p.rng.choice((-99999, 0, 1))) if p.rng.random() < 0.3 else limit
    body = [
        "with T.init():",
        f"    {best}[v0] = {p.const(-1)}",
        f"    {most}[v0] = {start}",
        f"v_best: T.{p.dtype} = T.Select({holds}, {index}, {place})",
        f"v_most: T.{p.dtype} = T.Select({holds}, {old}, {value})",
        f"{best}[v0] = v_best",
        f"{most}[v0] = v_most",
    ]  # fmt: skip
    order = ["v0", "k0"]
    if p.rng.random() < 0.3:
        order.reverse()
    p.emit(best, body, {"k0": n}, order=order)


def argmax_of_all(p: BlockPrograms) -> None:
    """Where the largest of the elements of two dimensions is: rows first, or columns first."""
    source = p.source(2)
    m, n = source.shape
    most, best = p.new((1,), max(source.bound, 99999)), p.new((1,), int(m) * int(n))
    place = f'T.Cast("{p.dtype}", k0 * {int(n)} + k1)'
    value = source.at("k0", "k1")
    tie = f" or {most}[0] == {value} and {best}[0] < {place}" if p.rng.random() < 0.4 else ""
    holds = f"{most}[0] {p.rng.choice(('>', '>='))} {value}{tie}"
    body = [
        "with T.init():",
        f"    {best}[0] = {p.const(-1)}",
        f'    {most}[0] = T.min_value("{p.dtype}")',
        f"v_best: T.{p.dtype} = T.Select({holds}, {best}[0], {place})",
        f"v_most: T.{p.dtype} = T.Select({holds}, {most}[0], {value})",
        f"{best}[0] = v_best",
        f"{most}[0] = v_most",
    ]
    order = ["k0", "k1"]
    p.rng.shuffle(order)
    p.block(best.name, {"k0": m, "k1": n}, body, reduced={"k0", "k1"}, order=order)


def triangle(p: BlockPrograms) -> None:
    """The sum of each row up to its diagonal: the inner loop ends where the outer one is."""
    source = p.source(2)
    m, n = source.shape
    if m > n:
        return
    out = p.new((m,), source.bound * int(m))
    p.lines += [
        f"    for i0 in range({m}):",
        "        for r0 in range(i0 + 1):",
        f'            with T.block("{out}"):',
        f"                v0 = T.axis.spatial({m}, i0)",
        f"                k0 = T.axis.reduce({m}, r0)",
        *("                " + line for line in _sum(f"{out}[v0]", f"{source}[v0, k0]",
                                                     p.const(0))),
    ]  # fmt: skip


def masked(p: BlockPrograms) -> None:
    """The sum of a part of each row, by a condition that the first element fulfils."""
    source = p.source(2)
    m, n = source.shape
    out = p.new((m,), source.bound * int(n))
    p.lines += [
        f"    for i0, r0 in T.grid({m}, {n}):",
        f'        with T.block("{out}"):',
        f"            v0 = T.axis.spatial({m}, i0)",
        f"            k0 = T.axis.reduce({n}, r0)",
        f"            T.where(r0 < {p.rng.choice((1, 2))} or r0 < i0)",
        *("            " + line for line in _sum(f"{out}[v0]", f"{source}[v0, k0]", p.const(0))),
    ]


STAGES = [
    reduction, reduction, reduction, sum_of_all, matmul, matmul, convolution, convolution, softmax,
    attention, argmax, argmax, argmax_of_all, triangle, masked,
]  # fmt: skip
