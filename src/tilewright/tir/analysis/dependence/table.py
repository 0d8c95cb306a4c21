"""The dependences of a function, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.tir.analysis.dependence.linear import displayed
from tilewright.tir.analysis.dependence.program import Dependence, Program, analyze
from tilewright.tir.analysis.dependence.solver import MAX_OPERATIONS, answers, isl, limited
from tilewright.tir.analysis.dependence.statements import Statement
from tilewright.tir.analysis.dependence.violation import NotProved
from tilewright.tir.function import PrimFunc


class DependenceTable(Sequence[Dependence]):
    """A list of `Dependence` that prints as a table."""

    def __init__(self, items: Sequence[Dependence]) -> None:
        self._items = tuple(items)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __iter__(self) -> Iterator[Dependence]:
        return iter(self._items)

    def __str__(self) -> str:
        rows = [("source", "sink", "kind", "buffer", "relation")]
        rows += [
            (d.source.name, d.sink.name, d.kind, d.memory, relation_text(d)) for d in self._items
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = []
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
            lines.append("  ".join((*cells, row[4])).rstrip())
        return "\n".join(lines)

    __repr__ = __str__


def dependences(func: PrimFunc | Program) -> DependenceTable | NotProved:
    """The pairs of blocks of which instances touch the same element, at least one writing it.

    An instance of a block is the values of its iterators, so the result does not change when loops
    are split, fused or reordered. Two updates of one reduction are not ordered, so a reduction
    depends on itself only through the instance that initialises::

        >>> print(tvm.tir.analysis.dependences(func))
        source  sink  kind    buffer  relation
        C       C     flow    C       (v_m, v_l, 0) -> (v_m, v_l, v_k') : v_k' > 0
        C       D     flow    C       (v_m, v_l, v_k) -> (v_m, v_l)
    """
    program = func if isinstance(func, Program) else analyze(func)
    return _table(program)


@answers
def _table(program: Program) -> DependenceTable:
    with limited(10 * MAX_OPERATIONS):
        return DependenceTable(program.dependences())


def relation_text(dependence: Dependence) -> str:
    """The pairs of instances, in the notation of isl with the names of iterators."""
    kinds = isl().dim_type
    relation = dependence.relation
    taken: set[str] = set()
    for kind, statement in ((kinds.in_, dependence.source), (kinds.out, dependence.sink)):
        for place, name in enumerate(_names(statement)):
            while name in taken:
                name += "'"
            taken.add(name)
            relation = relation.set_dim_name(kind, place, name)
    relation = relation.gist_domain(_domain(dependence.source)).gist_range(_domain(dependence.sink))
    for place in range(relation.dim(kinds.param)):
        name = relation.get_dim_name(kinds.param, place)
        relation = relation.set_dim_name(kinds.param, place, displayed(name))
    text = str(relation)
    return text[text.index("{") + 1 : text.rindex("}")].strip().replace("[", "(").replace("]", ")")


def _names(statement: Statement) -> list[str]:
    return [var.name for var in statement.iterators]


def _domain(statement: Statement) -> Any:
    from tilewright.tir.analysis.dependence.relations import footprint

    return footprint(statement).domain
