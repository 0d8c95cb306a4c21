"""Dependences between the instances of blocks, with isl: what a transformation has to respect.

`analyze` makes a `Program` of a function, `check_order` compares two programs, and `carried_by`
asks about one loop. Answers are None (nothing is wrong), a `Violation` (a counterexample with
concrete numbers) or `NotProved`; a question that is too hard gives the last one, never an
exception. Buffers with different pointers are different memory.
"""

from tilewright.tir.analysis.dependence.carried import (
    carried_between,
    carried_by,
    memory_in_doubt,
)
from tilewright.tir.analysis.dependence.coverage import check_written, runs_whole_domain
from tilewright.tir.analysis.dependence.order import check_order
from tilewright.tir.analysis.dependence.program import (
    Dependence,
    DependenceTable,
    Program,
    analyze,
    dependences,
)
from tilewright.tir.analysis.dependence.statements import Statement
from tilewright.tir.analysis.dependence.violation import (
    Example,
    Instance,
    NotProved,
    Violation,
)
