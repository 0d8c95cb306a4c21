"""The dependences of a function, for people."""

from __future__ import annotations

from typing import Any

from tilewright.tir.analysis.dependence.linear import displayed
from tilewright.tir.analysis.dependence.program import Dependence, Program, analyze
from tilewright.tir.analysis.dependence.solver import MAX_OPERATIONS, answers, isl, limited
from tilewright.tir.analysis.dependence.statements import Statement
from tilewright.tir.analysis.dependence.violation import NotProved
from tilewright.tir.analysis.text_table import TextTable
from tilewright.tir.function import PrimFunc


class DependenceTable(TextTable[Dependence]):
    """A list of `Dependence` that prints as a table."""

    heading = ("source", "sink", "kind", "buffer", "relation")

    def row(self, item: Dependence) -> tuple[str, ...]:
        relation = relation_text(item)
        return item.source.name, item.sink.name, item.kind, item.memory, relation


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
