"""What modules are exported as: functions, parameters, effects and subroutines."""

import numpy as np
import pytest
from tests.relax.frontend.nn.running import floats, same

import tilewright as tvm
from tilewright import relax
from tilewright.error import ArgumentError, ArgumentValueError, DTypeError, UnknownNameError
from tilewright.relax.frontend import nn
from tilewright.relax.frontend.nn import op
from tilewright.script import ir as I
from tilewright.script import relax as R

X = nn.spec.Tensor(["n", 4], "float32")


class Model(nn.Module):
    def __init__(self):
        self.hidden = nn.Linear(4, 8)

    def forward(self, x):
        return op.relu(self.hidden(x))

    def twice(self, x, y):
        return self.hidden(x), (y, self.hidden(y))


def exported(model, spec, **options):
    mod, params = model.export_tvm(spec, **options)
    relax.analysis.check_well_formed(mod)
    return mod, params


def test_the_form_of_functions():
    @I.ir_module
    class Expected:
        @R.function
        def forward(
            x: R.Tensor(("n", 4), "float32"),
            weight: R.Tensor((8, 4), "float32"),
            bias: R.Tensor((8,), "float32"),
        ):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                transposed = R.permute_dims(weight)
                product = R.matmul(x, transposed)
                hidden = R.add(product, bias)
                result = R.nn.relu(hidden)
                R.output(result)
            return result

    model = Model()
    mod, params = exported(model, {"forward": {"x": X}})
    tvm.ir.assert_structural_equal(mod, Expected)
    assert [p.name_hint for p in mod["forward"].params] == ["x", "hidden.weight", "hidden.bias"]
    assert params == [("hidden.weight", model.hidden.weight), ("hidden.bias", model.hidden.bias)]
    names = [b.var.name_hint for b in mod["forward"].body.blocks[0].bindings]
    assert names[:3] == ["permute_dims", "matmul", "add"]


def test_the_form_with_debug():
    @I.ir_module
    class Expected:
        @R.function
        def _initialize_effect():
            with R.dataflow():
                _io = R.null_value()
                state = (_io,)
                R.output(state)
            return state

        @R.function
        def forward(x: R.Tensor(("n", 4), "float32"), _io: R.Object):
            R.func_attr({"num_input": 2})
            with R.dataflow():
                y = R.nn.relu(x)
                result = (y, (_io,))
                R.output(result)
            return result

    mod, params = exported(nn.ReLU(), {"forward": {"x": X}}, debug=True)
    tvm.ir.assert_structural_equal(mod, Expected)
    assert params == []


def test_several_methods_and_nested_arguments():
    model = Model()
    spec = {"forward": {"x": X}, "twice": {"x": X, "y": nn.spec.Tensor([2, 4], "float32")}}
    mod, _ = exported(model, spec)
    assert [name.name_hint for name in mod.functions] == ["forward", "twice"]
    weight, bias = floats(8, 4), floats(8)
    model.load_state_dict({"hidden.weight": weight, "hidden.bias": bias})
    compiled = model.jit(spec, out_format="numpy")
    x, y = floats(3, 4, seed=1), floats(2, 4, seed=2)
    expected = x @ weight.T + bias, (y, y @ weight.T + bias)
    same(compiled["twice"](x, y), expected)
    same(compiled["forward"](x), np.maximum(expected[0], 0))


def test_tuples_sizes_and_lists_as_arguments():
    class Slices(nn.Module):
        def forward(self, pair, rows: int):
            first, (second, count) = pair
            assert isinstance(pair, tuple)
            return op.add(first, second), op.zeros([rows, count], "int32")

    a, b = floats(3, 4), floats(3, 4, seed=1)
    spec = {"forward": {"pair": (X, [X, "int"]), "rows": int}}
    mod, _ = exported(Slices(), spec)
    assert isinstance(mod["forward"].params[1].struct_info, relax.ShapeStructInfo)
    compiled = Slices().jit(spec, out_format="numpy")
    same(compiled((a, [b, 2]), 5), (a + b, np.zeros([5, 2], "int32")))
    with pytest.raises(ArgumentError, match=r"rows is a whole number, got 2\.5"):
        compiled((a, [b, 2]), 2.5)
    with pytest.raises(ArgumentError, match="pair is a tuple of 2"):
        compiled((a,), 2)


@pytest.mark.parametrize("effect_mode", ["plain", "packed"])
@pytest.mark.parametrize("param_mode", ["plain", "packed"])
def test_modes(param_mode, effect_mode):
    class Counter(nn.Module):
        def __init__(self):
            self.linear = nn.Linear(4, 4)
            self.keys, self.values = nn.KVCache(1, [4]), nn.KVCache(8, [2, 2])

        def forward(self, x, total: int):
            y = self.linear(x)
            self.keys.append(y)
            self.values.append(op.reshape(y, -1, 2, 2))
            return self.keys.view(total), self.values.view(total)

    model = Counter()
    weight, bias = floats(4, 4), floats(4)
    model.load_state_dict({"linear.weight": weight, "linear.bias": bias})
    modes = {"param_mode": param_mode, "effect_mode": effect_mode}
    spec = {"forward": {"x": X, "total": int, "$": modes}}
    mod, _ = exported(model, spec)
    counts = {"plain": 2, "packed": 1}
    function = mod["forward"]
    assert function.attrs["num_input"] == 2 + counts[effect_mode]
    assert len(function.params) == function.attrs["num_input"] + counts[param_mode]
    compiled = model.jit(spec, out_format="numpy")
    rows = np.empty((0, 4), "float32")
    for count in (2, 1, 3):
        x = floats(count, 4, seed=count)
        rows = np.concatenate([rows, x @ weight.T + bias])
        same(compiled(x, len(rows)), (rows, rows.reshape(-1, 2, 2)))
    with pytest.raises(ValueError, match="9 rows of a cache that has 7"):
        compiled(floats(1, 4), 9)


def test_functions_without_parameters_and_effects():
    spec = {"forward": {"x": X, "$": {"param_mode": "none", "effect_mode": "none"}}}
    mod, _ = exported(nn.ReLU(), spec, debug=True)
    assert len(mod["forward"].params) == 1
    with pytest.raises(ArgumentError, match="param_mode must not be 'none'"):
        Model().export_tvm(spec)


def test_a_cache_of_another_dtype():
    class Cache(nn.Module):
        def __init__(self):
            self.cache = nn.KVCache(2, [4], "float16")

        def forward(self, x):
            self.cache.append(x)
            return x

    with pytest.raises(DTypeError, match="the cache has dtype float16, the rows float32"):
        Cache().export_tvm({"forward": {"x": X}})


def test_names_are_the_same_size():
    class Add(nn.Module):
        def __init__(self):
            self.bias = nn.Parameter(["m"])

        def forward(self, x, y):
            return x + y + self.bias

    m = tvm.tir.Var("m", "int64")
    same_size = nn.spec.Tensor(["n", m], "float32")
    mod, _ = exported(Add(), {"forward": {"x": same_size, "y": same_size}})
    x, y, bias = (p.struct_info.extents for p in mod["forward"].params)
    assert (x[0] is y[0], x[1] is m, bias[0] is m) == (True, True, True)


def test_methods_do_not_share_sizes():
    model = Model()
    mod, _ = exported(model, {"forward": {"x": X}, "twice": {"x": X, "y": X}})
    first, second = (mod[name].params[0].struct_info.extents[0] for name in ("forward", "twice"))
    assert first is not second


def test_what_is_not_an_array():
    class State(nn.Object):
        def first(self):
            call = relax.op.call_pure_packed(
                "test.nn.first", self._expr, sinfo_args=relax.TensorStructInfo([4], "float32")
            )
            return nn.wrap_nested(call, "first")

    class Reader(nn.Module):
        def forward(self, state):
            return state.first() * 2

    spec = {"forward": {"state": nn.spec.Object(object_type=State)}}
    mod, _ = exported(Reader(), spec)
    assert isinstance(mod["forward"].params[0].struct_info, relax.ObjectStructInfo)


# --- debugging ------------------------------------------------------------------------------


def test_printing_and_calling_while_running(register, capfd):
    seen = []

    @register("test.nn.see")
    def see(line, *args):
        seen.append((line.rpartition("/")[2].partition(":")[0], *map(str, args)))

    class Chatty(nn.Module):
        def forward(self, x, count: int):
            op.print_(x)
            op.debug_func("test.nn.see", x * 2, count, 3, 1.5, "text")
            return x

    spec = {"forward": {"x": nn.spec.Tensor([2], "float32"), "count": int}}
    compiled = Chatty().jit(spec, debug=True, out_format="tvm")
    x = np.array([1, 2], "float32")
    same(compiled(x, 7).numpy(), x)
    assert seen == [("test_export.py", "[2. 4.]", "7", "3", "1.5", "text")]
    output = capfd.readouterr().out
    assert "test_export.py" in output
    assert "array([1., 2.]" in output


# --- subroutines ----------------------------------------------------------------------------


class Gate(nn.Module):
    define_subroutine = True

    def __init__(self, size, factor=1.0):
        self.linear, self.factor = nn.Linear(size, size), factor

    def forward(self, x, y):
        return self.linear(x) * self.factor + y


class Gates(nn.Module):
    def __init__(self, *gates):
        self.gates = nn.ModuleList(gates)

    def forward(self, x):
        for gate in self.gates:
            x = gate(x, y=x)
        return x


def test_subroutines():
    model = Gates(Gate(4), Gate(4), Gate(4, 2.0))
    mod, _ = exported(model, {"forward": {"x": X}})
    names = {name.name_hint: func for name, func in mod.functions.items()}
    assert set(names) == {"forward", "gate", "gate1"}  # equal ones are shared, others are not
    assert names["gate"].global_symbol is None
    assert [p.name_hint for p in names["gate"].params] == [
        "x",
        "y",
        "linear.weight",
        "linear.bias",
    ]
    values = {
        name: floats(*p.shape, seed=i) for i, (name, p) in enumerate(model.named_parameters())
    }
    model.load_state_dict(values)
    x = expected = floats(3, 4)
    for index, factor in enumerate((1, 1, 2)):
        weight, bias = (values[f"gates.{index}.linear.{name}"] for name in ("weight", "bias"))
        expected = (expected @ weight.T + bias) * np.float32(factor) + expected
    same(model.jit({"forward": {"x": X}}, out_format="numpy")(x), expected, 1e-4)


def test_subroutines_with_computed_sizes():
    class Double(nn.Module):
        define_subroutine = True

        def forward(self, x):
            return x * 2

    class Twice(nn.Module):
        def __init__(self):
            self.double = Double()

        def forward(self, x):
            return self.double(op.concat([x, x], 0)), self.double(x)

    compiled = Twice().jit({"forward": {"x": X}}, out_format="numpy")
    x = floats(3, 4)
    same(compiled(x), (np.concatenate([x, x]) * 2, x * 2))


def test_a_subroutine_as_the_whole_model():
    spec = {"forward": {"x": X, "y": X}}
    mod, _ = exported(Gate(4), spec)
    assert {name.name_hint for name in mod.functions} == {"forward", "gate"}


# --- compiling ------------------------------------------------------------------------------


def test_formats_of_results():
    torch = pytest.importorskip("torch")
    spec = {"forward": {"x": X}}
    x = torch.randn(3, 4, requires_grad=True)
    result = nn.ReLU().jit(spec)["forward"](x.T.contiguous().T)
    assert torch.equal(result, x.relu())
    assert isinstance(nn.ReLU().jit(spec, out_format="tvm")(x), tvm.nd.NDArray)
    with pytest.raises(ArgumentValueError, match="out_format is 'torch', 'numpy' or 'tvm'"):
        nn.ReLU().jit(spec, out_format="jax")


def test_mistakes_in_calls():
    compiled = nn.ReLU().jit({"forward": {"x": X}}, out_format="numpy")
    with pytest.raises(ArgumentError, match=r"forward takes 1 arguments \(x\), got 2"):
        compiled(1, 2)
    with pytest.raises(ArgumentError, match=r"methods \['forward'\], not 'backward'"):
        compiled["backward"]
    with pytest.raises(ValueError, match=r"argument 1 \(x\): shape\[1\] is 3, expected 4"):
        compiled(floats(2, 3))


def test_parameters_without_data():
    with pytest.raises(ArgumentError, match=r"parameter hidden\.weight has no data"):
        Model().jit({"forward": {"x": X}})


def test_pipelines():
    model = Model()
    model.load_state_dict({"hidden.weight": floats(8, 4), "hidden.bias": floats(8)})
    legalize = relax.transform.LegalizeOps()
    x = floats(3, 4)
    results = [
        model.jit({"forward": {"x": X}}, pipeline=pipeline, out_format="numpy")(x)
        for pipeline in (None, "zero", legalize)
    ]
    same(results[1:], [results[0]] * 2)


# --- specs ----------------------------------------------------------------------------------


def refused(error, match, spec, model=None):
    with pytest.raises(error, match=match):
        (model or Model()).export_tvm(spec)


def test_mistakes_in_specs():
    refused(UnknownNameError, "no method 'foward'; did you mean 'forward'", {"foward": {"x": X}})
    refused(UnknownNameError, "no argument 'y'", {"forward": {"x": X, "y": X}})
    refused(ArgumentError, "does not say what 'y' is", {"twice": {"x": X}})
    refused(ArgumentError, "'x' is int, nn.spec.Tensor", {"forward": {"x": 3.5}})
    refused(ArgumentError, "is a dictionary from methods", {})
    refused(ArgumentError, "is a dictionary from methods", [X])
    refused(ArgumentError, "dictionary from its arguments", {"forward": X})
    refused(UnknownNameError, "not 'mode'", {"forward": {"x": X, "$": {"mode": "plain"}}})
    refused(ArgumentError, "param_mode is one of", {"forward": {"x": X, "$": {"param_mode": "p"}}})
    with pytest.raises(ArgumentError, match="the shape is a list of extents"):
        nn.spec.Tensor(3, "float32")
    with pytest.raises(DTypeError):
        nn.spec.Tensor([3], "float31")


def test_a_spec_is_not_changed():
    spec = {"forward": {"x": X, "$": {"param_mode": "packed"}}}
    Model().export_tvm(spec)
    assert spec == {"forward": {"x": X, "$": {"param_mode": "packed"}}}


def test_specs_as_objects():
    model = Model()
    method = nn.spec.MethodSpec(model.forward, ["x"], [X])
    whole = nn.spec.ModuleSpec(model, ["forward"], [method])
    tvm.ir.assert_structural_equal(
        exported(model, whole)[0], exported(model, {"forward": {"x": X}})[0]
    )
    like = nn.spec.MethodSpec.from_torch([np.zeros((2, 3), "int8"), 4], model.twice)
    assert repr(like.arg_specs) == "[Tensor([2, 3], 'int8'), int]"


def test_building_outside_of_modules():
    builder = relax.BlockBuilder()
    assert relax.BlockBuilder.current() is None
    x = nn.Tensor.placeholder([2, 3], "float32", "x")
    with builder.function("main", [x._expr]):
        assert relax.BlockBuilder.current() is builder
        with builder.dataflow():
            result = builder.emit_output(op.softmax(x * 2)._expr)
        builder.emit_func_output(result)
    assert relax.BlockBuilder.current() is None
    assert len(builder.get()["main"].params) == 1


def test_printing_needs_an_effect():
    class Loud(nn.Module):
        define_subroutine = True

        def forward(self, x):
            op.print_(x)
            return x

    with pytest.raises(ArgumentError, match="define_subroutine = True"):
        Loud().export_tvm({"forward": {"x": X}}, debug=True)


def test_two_caches_of_equal_shape():
    class Caches(nn.Module):
        def __init__(self):
            self.first, self.second = nn.KVCache(2, [4]), nn.KVCache(2, [4])

        def forward(self, x):
            self.first.append(x)
            self.second.append(x * 2)
            return self.first.view(x.shape[0]), self.second.view(x.shape[0])

    x = floats(3, 4)
    same(Caches().jit({"forward": {"x": X}}, out_format="numpy")(x), (x, x * 2))
