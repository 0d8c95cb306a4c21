"""Stages of random programs that compute elements from elements."""

from __future__ import annotations

from tests.property.block_programs import Array, BlockPrograms


def iterators(out: Array, first: int = 0) -> list[str]:
    """The iterators of the dimensions of a result."""
    return [f"v{n}" for n in range(first, len(out.shape))]


def _aligned(p: BlockPrograms, array: Array, shape: tuple[int, ...]) -> str:
    """An access of `array` at the iterators of a result of `shape`, wrapped where too small."""
    rank = len(shape)
    indices = []
    for axis, extent in enumerate(array.shape):
        choice = axis if axis < rank else rank - 1
        if p.rng.random() < 0.2:
            choice = p.rng.randrange(rank)
        name = f"v{choice}"
        indices.append(name if shape[choice] <= extent else f"{name} % {extent}")
    return array.at(*indices)


def pointwise(p: BlockPrograms) -> None:
    """An expression of two elements."""
    source, other = p.source(), p.source()
    out = p.new(source.shape, 2 * source.bound + other.bound + 1)
    a = source.at(*iterators(out))
    b = _aligned(p, other, out.shape)
    value = p.rng.choice(
        (f"{a} + {b}", f"{a} * {p.const(2)} - {b}", f"T.max({a}, {b})", f"{a} + {p.const(1)}",
         f"T.if_then_else({b} > {p.const(0)}, {a}, {b})", f"T.Select({a} < {b}, {a}, {p.const(0)})")
    )  # fmt: skip
    order = iterators(out)
    if p.rng.random() < 0.3:
        p.rng.shuffle(order)
    p.emit(out, [f"{out.at(*iterators(out))} = {value}"], order=order, free=True)


def stencil(p: BlockPrograms) -> None:
    """Sums of neighbours."""
    source = p.source()
    width = p.rng.choice((2, 3))
    if source.shape[0] <= width:
        pointwise(p)
        return
    out = p.new((source.shape[0] - width + 1, *source.shape[1:]), width * source.bound)
    rest = iterators(out, 1)
    terms = [source.at(f"v0 + {w}" if w else "v0", *rest) for w in range(width)]
    p.emit(out, [f"{out.at('v0', *rest)} = {' + '.join(terms)}"])


def padding(p: BlockPrograms) -> None:
    """A border of zeros around the first dimension, or around all of them."""
    source = p.source()
    padded = 1 if p.rng.random() < 0.6 else len(source.shape)
    extents = [e + 2 if n < padded else e for n, e in enumerate(source.shape)]
    out = p.new(tuple(extents), source.bound)
    inner = source.at(*(f"v{n} - 1" if n < padded else f"v{n}" for n in range(len(out.shape))))
    condition = " and ".join(f"1 <= v{n} and v{n} < {source.shape[n] + 1}" for n in range(padded))
    value = f"T.if_then_else({condition}, {inner}, {p.const(0)})"
    p.emit(out, [f"{out.at(*iterators(out))} = {value}"])


def strided(p: BlockPrograms) -> None:
    """Every second element."""
    source = p.source()
    out = p.new(((source.shape[0] + 1) // 2, *source.shape[1:]), source.bound)
    rest = iterators(out, 1)
    p.emit(out, [f"{out.at('v0', *rest)} = {source.at('v0 * 2', *rest)}"])


def transposed(p: BlockPrograms) -> None:
    """A matrix with its dimensions swapped, or a row turned around."""
    source = p.source(2)
    m, n = source.shape
    if p.rng.random() < 0.5:
        out = p.new((n, m), source.bound)
        p.emit(out, [f"{out}[v0, v1] = {source}[v1, v0]"])
    else:
        out = p.new((m, n), source.bound)
        p.emit(out, [f"{out}[v0, v1] = {source}[v0, {n - 1} - v1]"])


def flattened(p: BlockPrograms) -> None:
    """A matrix as one row, or a row as a matrix."""
    if p.rng.random() < 0.5:
        source = p.source(2)
        m, n = source.shape
        out = p.new((m * n,), source.bound)
        p.emit(out, [f"{out}[v0] = {source}[v0 // {n}, v0 % {n}]"])
    else:
        source = p.source(1)
        out = p.new(((source.shape[0] + 1) // 2, 2), source.bound)
        index = f"T.min(v0 * 2 + v1, {source.shape[0] - 1})"
        p.emit(out, [f"{out}[v0, v1] = {source}[{index}]"])


def scan(p: BlockPrograms) -> None:
    """Running sums, each element from the one before."""
    source = p.source()
    out = p.new(source.shape, source.bound * int(source.shape[0]))
    rest = iterators(out, 1)
    here, value = out.at("v0", *rest), source.at("v0", *rest)
    body = [
        "if v0 == 0:",
        f"    {here} = {value}",
        "else:",
        f"    {here} = {out.at('v0 - 1', *rest)} + {value}",
    ]
    p.emit(out, body)


def gather(p: BlockPrograms) -> None:
    """Elements at places that are data."""
    source = p.source(1)
    index = p.input((p.rng.choice((2, 3, 5)),), "int32")
    out = p.new(index.shape, source.bound)
    place = f"T.max(0, T.min({index}[v0], {source.shape[0] - 1}))"
    p.emit(out, [f"{out}[v0] = {source}[{place}]"])


def update(p: BlockPrograms) -> None:
    """An update of elements in place, of a result or a parameter."""
    choices = p.allocated or p.inputs[:1]
    out = p.rng.choice(choices) if p.rng.random() < 0.8 else p.inputs[0]
    target = out.at(*iterators(out))
    out.bound = 2 * out.bound + 1
    p.number += 1
    extents = {f"v{n}": e for n, e in enumerate(out.shape)}
    p.block(f"U{p.number}", extents, [f"{target} = {target} * {p.const(2)} + {p.const(1)}"])


STAGES = [
    pointwise, pointwise, pointwise, stencil, stencil, padding, strided, transposed, flattened,
    scan, gather, update,
]  # fmt: skip
