"""Modules: their parameters, containers, state dictionaries and mutators."""

import numpy as np
import pytest
from tests.relax.frontend.nn.running import floats, same, spec_of

import tilewright as tvm
from tilewright.error import ArgumentError, DTypeError, ShapeError, UnknownNameError
from tilewright.relax.frontend import nn


class Block(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x)


class Model(nn.Module):
    def __init__(self):
        self.scale = nn.Parameter((4,))
        self.blocks = nn.ModuleList([Block(), Block()])
        self.named = nn.ModuleDict({"norm": nn.LayerNorm(4), "act": nn.ReLU()})
        self.cache = nn.KVCache(8, [4])

    def forward(self, x):
        for name in self.named:
            x = self.named[name](x)
        return self.blocks(x * self.scale)


PATHS = [
    "scale", "blocks.0.linear.weight", "blocks.0.linear.bias", "blocks.1.linear.weight",
    "blocks.1.linear.bias", "named.norm.weight", "named.norm.bias",
]  # fmt: skip


def test_paths_of_parameters():
    model = Model()
    assert [name for name, _ in model.named_parameters()] == PATHS
    assert [name for name, _ in model.named_parameters("m")] == [f"m.{path}" for path in PATHS]
    assert next(model.parameters()) is model.scale
    assert list(model.state_dict()) == PATHS
    found = {"other": model.scale}
    assert model.state_dict(prefix="m", destination=found) is found
    assert list(found) == ["other", *(f"m.{path}" for path in PATHS)]


def test_a_parameter_that_two_layers_share():
    class Tied(nn.Module):
        def __init__(self):
            self.embed = nn.Embedding(5, 4)
            self.scores = nn.Linear(4, 5, bias=False)
            self.scores.weight = self.embed.weight

        def forward(self, x):
            return self.scores(self.embed(x))

    model = Tied()
    assert [name for name, _ in model.named_parameters()] == ["embed.weight"]
    assert list(model.state_dict()) == ["embed.weight", "scores.weight"]
    spec = {"forward": {"x": nn.spec.Tensor([2], "int32")}}
    mod, params = model.export_tvm(spec)
    assert len(params) == 1
    assert [p.name_hint for p in mod["forward"].params] == ["x", "embed.weight"]
    table = floats(5, 4)
    model.embed.weight.data = table
    x = np.array([4, 1], "int32")
    same(model.jit(spec, out_format="numpy")(x), table[x] @ table.T)


def test_state_dictionaries():
    values = {
        name: floats(*p.shape, seed=i) for i, (name, p) in enumerate(Model().state_dict().items())
    }
    model, other = Model(), Model()
    assert model.load_state_dict(values) == ([], [])
    other.load_state_dict(model.state_dict())
    for name, parameter in other.named_parameters():
        same(parameter.data.numpy(), values[name])
    extra = {**values, "more": values["scale"]}
    del extra["named.norm.bias"]
    with pytest.raises(
        UnknownNameError, match=r"missing: \['named.norm.bias'\]; unexpected: \['mo"
    ):
        model.load_state_dict(extra)
    with pytest.raises(KeyError):
        model.load_state_dict({})
    assert model.load_state_dict(extra, strict=False) == (["named.norm.bias"], ["more"])


def test_data_that_does_not_fit():
    model = Model()
    with pytest.raises(ShapeError, match=r"^scale: .*shape \(4,\) cannot hold .* \(5,\)"):
        model.load_state_dict({"scale": floats(5)}, strict=False)
    with pytest.raises(DTypeError, match="float32 cannot hold float64"):
        model.scale.data = np.zeros(4)
    with pytest.raises(ArgumentError, match="expected an array"):
        model.scale.data = [1, 2, 3, 4]
    symbolic = nn.Parameter(("n", 4))
    symbolic.data = floats(7, 4)
    assert symbolic.data.shape == (7, 4)
    with pytest.raises(ShapeError):
        symbolic.data = floats(7, 5)


def test_dtypes():
    model = Model()
    model.scale.data = floats(4)
    model.to("float16")
    assert {p.dtype for p in model.parameters()} == {"float16"}
    assert model.cache.dtype == "float16"
    same(model.scale.data.numpy(), floats(4).astype("float16"))
    try:
        nn.set_default_dtype("float64")
        assert nn.Parameter([2]).dtype == nn.get_default_dtype() == "float64"
    finally:
        nn.set_default_dtype("float32")
    with pytest.raises(DTypeError):
        nn.set_default_dtype("float31")


def test_lists_of_modules():
    first, second = nn.ReLU(), nn.SiLU()
    modules = nn.ModuleList([first])
    modules.append(second)
    assert (len(modules), list(modules)) == (2, [first, second])
    modules[0] = second
    assert modules[0] is second
    assert len(nn.Sequential(first, second)) == len(nn.Sequential([first, second])) == 2
    for mistake in (lambda: modules.append(3), lambda: nn.ModuleList([3])):
        with pytest.raises(ArgumentError, match=r"expected an nn\.Module"):
            mistake()


def test_dictionaries_of_modules():
    first, second = nn.ReLU(), nn.SiLU()
    modules = nn.ModuleDict({"a": first})
    modules["b"] = second
    assert list(modules) == list(modules.keys()) == ["a", "b"]
    assert list(modules.values()) == [first, second]
    assert dict(modules.items()) == {"a": first, "b": second}
    assert "a" in modules
    assert modules.get("c") is None
    assert modules.pop("a") is first
    modules.update({"c": first})
    assert len(modules) == 2
    modules.clear()
    assert len(modules) == 0
    with pytest.raises(ArgumentError):
        modules["d"] = 3


def test_a_module_that_contains_itself():
    block = Block()
    block.own = block
    with pytest.raises(ArgumentError, match="contains itself"):
        list(block.parameters())


def test_a_module_without_forward():
    class Empty(nn.Module):
        pass

    with pytest.raises(ArgumentError, match="Empty has no method `forward`"):
        Empty()(1)


def test_mutators():
    class Scaled(nn.Module):
        def __init__(self, linear):
            self.weight = linear.weight

        def forward(self, x):
            return nn.op.matmul(x, self.weight)

    class Replace(nn.Mutator):
        def __init__(self):
            self.seen = []

        def visit_module(self, name, node):
            self.seen.append(name)
            return Scaled(node) if isinstance(node, nn.Linear) else self.visit(name, node)

        def visit_param(self, name, node):
            self.seen.append(name)
            return nn.Parameter([8]) if name == "scale" else node

        def visit_effect(self, name, node):
            self.seen.append(name)
            return node

    model, mutator = Model(), Replace()
    assert mutator.visit_module("", model) is model
    assert mutator.seen == [
        "", "scale", "blocks.0", "blocks.0.linear", "blocks.1", "blocks.1.linear", "named.norm",
        "named.norm.weight", "named.norm.bias", "named.act", "cache",
    ]  # fmt: skip
    assert isinstance(model.blocks[0].linear, Scaled)
    assert model.scale.shape == [8]

    class Drop(nn.Mutator):
        def visit_modulelist(self, name, node):
            return nn.ModuleList([node[0]])

        def visit_moduledict(self, name, node):
            return nn.Identity()

    Drop().visit_module("", model)
    assert len(model.blocks) == 1
    assert isinstance(model.named, nn.Identity)


def test_tensors():
    x = nn.Tensor.placeholder([2, "n"], "float16")
    assert (x.shape[0], str(x.shape[1]), x.ndim, x.dtype) == (2, "n", 2, "float16")
    assert nn.Tensor.from_scalar(3, "int32").shape == []
    assert nn.Tensor.from_const(np.zeros([2, 3])).shape == [2, 3]
    info = tvm.relax.TensorStructInfo(None, "int8", ndim=2)
    unknown = nn.Tensor.from_struct_info(info)
    assert unknown.ndim == 2
    with pytest.raises(ShapeError, match="not known"):
        _ = unknown.shape
    assert x == x
    assert x != unknown
    with pytest.raises(ArgumentError, match="the name of a symbolic size is an identifier"):
        nn.Parameter(["2n"])
    with pytest.raises(ArgumentError, match="an extent is a number"):
        nn.Linear(2.5, 3)
    with pytest.raises(ArgumentError, match="graph value that is an array"):
        nn.Tensor(_expr=tvm.relax.ShapeExpr([2]))


def test_plain_lists_are_no_part_of_a_module():
    class Model(nn.Module):
        def __init__(self):
            self.blocks = [Block()]

        def forward(self, x):
            return self.blocks[0](x)

    with pytest.raises(ArgumentError, match=r"nn\.ModuleList"):
        Model().export_tvm({"forward": {"x": spec_of(floats(2, 4))}})
