"""How fast the ports of a core can compute formulas: a bound for works that are not products.

The operations of a program are counted as they are after mathematical functions have become
polynomials, a vector of each at a time. Loads and stores of what may stay in registers are not
counted, so that no schedule of this program takes less.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tilewright import tir
from tilewright.ir import Expr, IntImm, Let, Op, Select, structural_equal, walk
from tilewright.target import Target
from tilewright.tir import BufferLoad, BufferStore, PrimFunc
from tilewright.tir.transform.lower_math import contract_fma, lower_math


class Use(NamedTuple):
    """What an operation on a vector needs, of 256 bits or, with AVX-512, of 512.

    Attributes:
        ports: those that can execute it, each by a character.
        cycles: for which it keeps one of them busy.
    """

    ports: str
    cycles: float = 1.0


ZEN_3: Final = {
    "multiply": Use("01"), "add": Use("23"), "compare": Use("03"), "blend": Use("01"),
    "logic": Use("0123"), "integer": Use("0123"), "shift": Use("12"), "divide": Use("d", 3.0),
    "load": Use("ab"), "store": Use("s"),
}  # fmt: skip
"""Ports 0 to 3; d is the divider, a and b load, s stores. Loops of one and of two kinds of
operations agree with it for multiplications, additions, maxima, blends and divisions; shifts,
loads and stores are as published."""
ZEN_5: Final = {
    "multiply": Use("01"), "add": Use("23"), "compare": Use("0123", 2.0), "blend": Use("0123"),
    "logic": Use("0123"), "integer": Use("0123"), "shift": Use("23"), "divide": Use("d", 2.5),
    "scale": Use("23", 2.0), "permute": Use("12"), "load": Use("ab"), "store": Use("s"),
}  # fmt: skip
"""Vectors of 512 bits. Loops of one and of two kinds of operations agree with it, but that
multiply-adds beside other operations run at three in a cycle, as if eight registers could be read
at once; two comparisons and extrema in a cycle are all, and no two ports."""
SKYLAKE: Final = {
    "multiply": Use("01"), "add": Use("01"), "compare": Use("01"), "blend": Use("015", 2.0),
    "logic": Use("015"), "integer": Use("015"), "shift": Use("01"), "divide": Use("d", 5.0),
    "load": Use("23"), "store": Use("4"),
}  # fmt: skip
"""Ports as tables of instructions say; not measured."""

PORTS: Final[Mapping[str, Mapping[str, Use]]] = {
    "znver3": ZEN_3, "znver5": ZEN_5, "skylake": SKYLAKE,
}  # fmt: skip
"""By the name of the processor; others have no such bound."""

KINDS: Final[Mapping[str, str]] = {
    "tir.fma": "multiply", "tir.sqrt": "divide", "tir.fabs": "logic", "tir.shift_left": "shift",
    "tir.shift_right": "shift", "tir.bitwise_and": "logic", "tir.bitwise_or": "logic",
    "tir.bitwise_xor": "logic", "tir.ldexp": "scale", "tir.lookup": "permute",
}  # fmt: skip
"""The kind of operation by the operator of a call; others count as nothing."""

FUNCTIONS: Final = re.compile(r"tir\.(exp\w*|tanh|erf|sigmoid|log\w*|sqrt|rsqrt)")

COMPARISONS: Final = (tir.LT, tir.LE, tir.GT, tir.GE)


def equivalent_operations(func: PrimFunc, target: Target) -> float:
    """How many operations multiply-adds of float32 could do in the least time of a program.

    Returns:
        The number; 0 where the program calls no functions, or the ports are not known.
    """
    ports = PORTS.get(target.cpu)
    if ports is None or not _calls_functions(func):
        return 0.0
    vectors = sum(cycles(counts, ports) for counts in counted(func, target))
    return 2 * len(ports["multiply"].ports) * vectors


def cycles(counts: Mapping[str, float], ports: Mapping[str, Use]) -> float:
    """The least time of operations, in cycles: that of the set of ports with the most to do."""
    names = sorted(set("".join(ports[kind].ports for kind in counts)))
    subsets = itertools.chain.from_iterable(
        itertools.combinations(names, size) for size in range(1, len(names) + 1)
    )
    return max(
        (
            sum(n * ports[k].cycles for k, n in counts.items() if set(ports[k].ports) <= set(some))
            / len(some)
            for some in subsets
        ),
        default=0.0,
    )


def _calls_functions(func: PrimFunc) -> bool:
    """Whether a program has mathematical functions or divisions, for which multiplications and
    additions are no measure."""
    return any(
        isinstance(node, tir.Div)
        or (isinstance(node, tir.Call) and FUNCTIONS.fullmatch(_operator(node)) is not None)
        for block in _blocks(func)
        for node in walk(block.body)
    )


def counted(func: PrimFunc, target: Target) -> Iterator[Counter[str]]:
    """The operations on elements of each block, by kind."""
    has_avx512 = target.machine.has_avx512
    for block in _blocks(contract_fma(lower_math(func, has_avx512=has_avx512))):
        extents = [item.dom.extent for item in block.iter_vars if item.dom is not None]
        count = math.prod(extent.value for extent in extents if isinstance(extent, IntImm))
        kinds = Counter(_kinds(block))
        yield Counter({kind: n * count for kind, n in kinds.items()})


def _blocks(func: PrimFunc) -> Iterator[tir.Block]:
    for node in walk(func.body):
        if isinstance(node, tir.Block) and node.iter_vars:
            yield node


def _kinds(block: tir.Block) -> Iterator[str]:
    """The kind of each operation that a block does for an element."""
    iterators = {item.var for item in block.iter_vars}
    skipped = {id(n.condition) for n in walk(block.body) if isinstance(n, Select) and _limits(n)}
    for node in walk(block.body):
        if isinstance(node, (BufferLoad, BufferStore)):
            # What does not depend on all iterators may stay in a register.
            if iterators <= {inner for index in node.indices for inner in walk(index)}:
                yield "load" if isinstance(node, BufferLoad) else "store"
        elif isinstance(node, Expr) and not isinstance(node, Let) and id(node) not in skipped:
            kind = _kind(node)
            if kind is not None:
                yield kind


def _kind(node: Expr) -> str | None:
    if isinstance(node, (tir.Add, tir.Sub)):
        return "add" if node.dtype.is_float else "integer"
    if isinstance(node, tir.Mul) and node.dtype.is_float:
        factors = node.a, node.b
        changes_sign = any(isinstance(x, tir.FloatImm) and x.value == -1.0 for x in factors)
        return None if changes_sign else "multiply"
    if isinstance(node, tir.Div):
        return "divide"
    if isinstance(node, Select):
        return "compare" if _limits(node) else "blend"
    if isinstance(node, (*COMPARISONS, tir.Max, tir.Min)):
        return "compare"
    return KINDS.get(_operator(node)) if isinstance(node, tir.Call) else None


def _operator(call: tir.Call) -> str:
    return call.op.name if isinstance(call.op, Op) else ""


def _limits(node: Select) -> bool:
    """Whether it is a minimum or maximum: one of the two that it compares."""
    test = node.condition
    if not isinstance(test, COMPARISONS):
        return False
    values = node.true_value, node.false_value
    return any(
        structural_equal(test.a, x) and structural_equal(test.b, y)
        for x, y in (values, values[::-1])
    )
