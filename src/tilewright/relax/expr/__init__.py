"""Graphs: expressions over arrays, tuples, shapes and functions, and the functions that they form.

A function's body is normalised: each operation is bound to a variable of its own, in blocks, of
which a `DataflowBlock` promises that nothing in it has an effect.
"""

from tilewright.relax.expr.function import (
    Binding,
    BindingBlock,
    DataflowBlock,
    Function,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from tilewright.relax.expr.leaves import (
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    FieldIndexError,
    PrimValue,
    RelaxExpr,
    ShapeExpr,
    StringImm,
    Var,
)
from tilewright.relax.expr.operations import (
    Call,
    If,
    Tuple,
    TupleGetItem,
    as_relax,
    as_shape,
    const,
)
