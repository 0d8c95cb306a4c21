"""Whole models: graphs of operators, and their passes, compiler and virtual machine."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from tilewright.relax.block_builder import BlockBuilder
from tilewright.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    RelaxExpr,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    const,
)
from tilewright.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

if TYPE_CHECKING:
    from tilewright.relax import (
        analysis,
        dpl,
        expr_functor,
        frontend,
        interpreter,
        op,
        transform,
        vm,
    )
    from tilewright.relax.mutator import PyExprMutator
    from tilewright.relax.pipeline import get_pipeline, register_pipeline
    from tilewright.relax.visitor import PyExprVisitor
    from tilewright.relax.vm import Executable, VirtualMachine, build

Expr = RelaxExpr

_MODULES: Final = (
    "analysis", "dpl", "expr_functor", "frontend", "interpreter", "op", "transform", "vm",
)  # fmt: skip
"""Parts that are imported when they are first used, because that takes a while."""

_CALLS: Final = (
    "assert_op", "call_dps_packed", "call_inplace_packed", "call_packed", "call_pure_packed",
    "call_tir", "call_tir_inplace", "call_tir_with_grad", "invoke_closure", "invoke_pure_closure",
    "make_closure", "null_value", "print", "shape_of", "shape_to_tensor", "tensor_to_shape",
    "to_vdevice", "hint_on_device",
)  # fmt: skip
"""Operators that this package exports, too, next to the expressions."""

_HOME: Final = {
    **dict.fromkeys(_CALLS, "tilewright.relax.op"),
    "get_shape_of": "tilewright.relax.op.view",
    "Executable": "tilewright.relax.vm",
    "PyExprMutator": "tilewright.relax.mutator",
    "PyExprVisitor": "tilewright.relax.visitor",
    "VirtualMachine": "tilewright.relax.vm",
    "build": "tilewright.relax.vm",
    "get_pipeline": "tilewright.relax.pipeline",
    "register_pipeline": "tilewright.relax.pipeline",
}
"""The module that defines each name that is imported when it is first used."""


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"tilewright.relax.{name}")
    else:
        raise AttributeError(f"module 'tilewright.relax' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_HOME})
