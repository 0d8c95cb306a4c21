"""Random graph functions, of everything that a graph can have."""

import numpy as np
from hypothesis import strategies as st

from tilewright import relax
from tilewright.ir import GlobalVar, IRModule
from tilewright.ir.expr import SizeVar
from tilewright.ir.expr import Var as Size
from tilewright.relax import op
from tilewright.script import tir as T

UNARY = ("exp", "negative", "sigmoid", "tanh", "sqrt")
BINARY = ("add", "multiply", "maximum", "equal", "less")
NAMES = ("x", "y", "lv", "main", "n", "R", "def", "a b", "_")


@T.prim_func(private=True)
def kernel(A: T.Buffer((2,), "float32")):
    A[0] = T.float32(1)


def array(*shape, dtype="float32"):
    return relax.TensorStructInfo(shape, dtype)


class RandomGraph:
    """Makes one function; all arrays of a shape may be combined."""

    def __init__(self, draw):
        self.draw = draw
        kind = SizeVar if draw(st.booleans()) else Size
        self.sizes = [kind("n", "int64"), Size(draw(st.sampled_from(NAMES)), "int64")]
        self.builder = relax.BlockBuilder(IRModule({"kernel": kernel}))

    def one_of(self, items):
        return self.draw(st.sampled_from(list(items)))

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def module(self):
        n, m = self.sizes
        params = [
            relax.Var(self.one_of(NAMES), array(n, m)),
            relax.Var(self.one_of(NAMES), array(n + m * 2, 4)),
            relax.Var(self.one_of(NAMES), array(dtype="bool")),
            relax.Var("f", relax.FuncStructInfo([array(n, m)], array(n, m + 1))),
            relax.Var("s", relax.ShapeStructInfo(ndim=2)),
        ]
        pure = self.draw(st.booleans())
        private = self.draw(st.booleans())
        attrs = {"answer": 42, "names": ["a", "b"]} if self.draw(st.booleans()) else None
        with self.builder.function("main", params, attrs, pure, private):
            values = list(params)
            for _ in range(self.number(0, 3)):
                if self.draw(st.booleans()):
                    with self.builder.dataflow():
                        inside = self.statements(list(values), dataflow=True)
                        values += [self.builder.emit_output(v) for v in inside[-2:]]
                else:
                    values = self.statements(values, pure=pure)
            self.builder.emit_func_output(self.leaf(values))
        return self.builder.get()

    def statements(self, values, dataflow=False, pure=True, depth=0):
        for _ in range(self.number(0, 4)):
            actions = [self.unary, self.binary, self.tuple, self.field, self.kernel, self.packed]
            actions += [self.cast, self.alias, self.constant, self.call_parameter]
            if depth < 2 and not dataflow:
                actions += [self.branches]
            if depth < 2:
                actions += [self.closure]
            if not pure:
                actions += [self.effect]
            made = self.one_of(actions)(values, depth) if actions else None
            if made is not None:
                values = [*values, made]
        return values

    def arrays(self, values):
        kind = relax.TensorStructInfo
        return [v for v in values if isinstance(v.struct_info, kind) and v.struct_info.ndim == 2]

    def emit(self, value):
        return self.builder.emit(value, self.one_of(NAMES))

    def unary(self, values, _depth):
        floats = [v for v in self.arrays(values) if v.struct_info.dtype == "float32"]
        return self.emit(getattr(op, self.one_of(UNARY))(self.one_of(floats)))

    def binary(self, values, _depth):
        floats = [v for v in self.arrays(values) if v.struct_info.dtype == "float32"]
        value = self.one_of(floats)
        return self.emit(getattr(op, self.one_of(BINARY))(value, value))

    def tuple(self, values, _depth):
        fields = [self.leaf(values) for _ in range(self.number(0, 3))]
        return self.emit(relax.Tuple(fields))

    def field(self, values, _depth):
        tuples = [v for v in values if isinstance(v.struct_info, relax.TupleStructInfo)]
        tuples = [v for v in tuples if v.struct_info.fields]
        if tuples:
            value = self.one_of(tuples)
            return self.emit(value[self.number(0, len(value.struct_info.fields) - 1)])
        return None

    def kernel(self, values, _depth):
        args = [self.leaf(self.arrays(values)) for _ in range(self.number(0, 2))]
        n, m = self.sizes
        out = self.one_of([array(n, m * 3), [array(3), array(n)], relax.TupleStructInfo([])])
        if self.draw(st.booleans()):
            out = array(n)
            return self.emit(op.call_dps_packed("kernel", args, out))
        if isinstance(out, relax.TupleStructInfo):
            out = [array(1), array(2)]
        return self.emit(op.call_tir(GlobalVar("kernel"), args, out, self.one_of([None, [n, m]])))

    def packed(self, values, _depth):
        infos = [None, array(*self.sizes), [array(2), relax.ObjectStructInfo()]]
        args = [self.leaf(values) for _ in range(self.number(0, 3))]
        return self.emit(op.call_pure_packed("f.g", *args, sinfo_args=self.one_of(infos)))

    def effect(self, values, _depth):
        if self.draw(st.booleans()):
            return self.emit(op.print(self.leaf(values), format="{}"))
        call = op.call_packed("f", self.leaf(values), sinfo_args=array(3), level=2)
        return self.emit(call)

    def cast(self, values, depth):
        value = self.one_of(self.arrays(values))
        rows, columns = (Size(self.one_of(NAMES), "int64") for _ in range(2))
        info = array(rows, columns, dtype=value.struct_info.dtype)
        if not depth:
            self.sizes = [self.sizes[0], rows]
        return self.builder.match_cast(value, info)

    def alias(self, values, _depth):
        return self.emit(self.one_of(values))

    def constant(self, _values, _depth):
        shape = self.one_of([(), (1,), (2, 2), (0,)])
        dtype = self.one_of(["float32", "float16", "int64", "bool", "bfloat16", "uint8", "float64"])
        numbers = np.full(shape, self.one_of([0, 1, -1, 0.1, 1e4, float("inf"), 7]))
        if not dtype.startswith(("float", "bf")):
            numbers = np.abs(np.nan_to_num(numbers, posinf=3)) % 100
        return self.emit(relax.const(numbers, dtype))

    def call_parameter(self, values, _depth):
        functions = [v for v in values if isinstance(v.struct_info, relax.FuncStructInfo)]
        functions = [v for v in functions if len(v.struct_info.params) == 1]
        value = next(v for v in self.arrays(values) if v.struct_info.dtype == "float32")
        return self.emit(relax.Call(self.one_of(functions), [value]))

    def branches(self, values, depth):
        cond = values[2]
        bodies = []
        for _ in range(2):
            self.builder.begin_scope()
            inside = self.statements(list(values), depth=depth + 1)
            result = self.one_of([inside[-1], inside[0], self.leaf(inside)])
            blocks = self.builder.end_scope()
            bodies.append(relax.SeqExpr(blocks, result, result.struct_info))
        return self.emit(relax.If(cond, *bodies))

    def closure(self, values, depth):
        sizes = self.sizes
        own = Size(self.one_of(NAMES), "int64")
        param = relax.Var(self.one_of(NAMES), array(own, sizes[0]))
        self.builder.begin_scope([param])
        self.sizes = [sizes[0], own]
        inside = self.statements([param, *values[1:3], *values[3:]], depth=depth + 1)
        self.sizes = sizes
        blocks = self.builder.end_scope()
        info = inside[0].struct_info
        body = relax.SeqExpr(blocks, inside[0], info)
        return self.emit(relax.Function((param,), body, info))

    def leaf(self, values):
        n, m = self.sizes
        others = [
            relax.ShapeExpr([n, 3, m + 1]),
            relax.PrimValue(n * 2),
            relax.PrimValue(1.5),
            relax.PrimValue(True),
            relax.StringImm('a "text"'),
            relax.DataTypeImm("float16"),
            relax.ExternFunc("g"),
            relax.Tuple([values[0], relax.Tuple([])]) if values else relax.Tuple([]),
        ]
        return self.one_of([*values, *values, *others])


@st.composite
def random_modules(draw):
    """Modules with a random graph function ``main``."""
    return RandomGraph(draw).module()
