"""What tensor programs and graphs share: expressions, attributes, modules, and their visitors."""

from tilewright.ir import arithmetic, instrument, transform
from tilewright.ir.container import Array, Map
from tilewright.ir.convert import Attributes, as_expr, cast, const
from tilewright.ir.dtype import DType, PointerType, PrimType, Type
from tilewright.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryExpr,
    Broadcast,
    Call,
    Cast,
    CompareExpr,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Sub,
    SymbolicTruthError,
    Var,
)
from tilewright.ir.module import BaseFunc, DummyGlobalInfo, GlobalInfo, GlobalVar, IRModule, VDevice
from tilewright.ir.node import Node, Span
from tilewright.ir.op import CallEffectKind, Op
from tilewright.ir.range import Range
from tilewright.ir.rewrite import Rewriter, rewrite, walk
from tilewright.ir.structural import (
    assert_structural_equal,
    assert_structural_equal_ignore_global_symbol,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from tilewright.ir.text import load_json, save_json

PrimExpr = Expr
