"""Whole programs: sizes, weights, outputs, and what is refused."""

import numpy as np
import pytest
import torch
from tests.relax.frontend.torch.programs import Functions, difference, imported
from torch import nn
from torch.nn import functional as F

from tilewright import ir, relax
from tilewright.error import ArgumentError, UnsupportedOperatorError
from tilewright.ir import assert_structural_equal
from tilewright.relax.frontend import detach_params
from tilewright.relax.frontend.torch import from_exported_program
from tilewright.relax.interpreter import evaluate

BATCH, LENGTH = torch.export.Dim("batch"), torch.export.Dim("length", max=16)


def operators(module):
    """The names of the operators that the main function calls, in their order."""
    bindings = [b for block in module["main"].body.blocks for b in block.bindings]
    calls = [b.value for b in bindings if isinstance(b, relax.VarBinding)]
    return [call.op.name.removeprefix("relax.") for call in calls if isinstance(call, relax.Call)]


# --- sizes ----------------------------------------------------------------------------------


def test_a_dynamic_batch():
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Flatten(0)).eval()
    module = imported(model, (torch.randn(2, 4),), ({0: BATCH},))
    extents = module["main"].params[0].struct_info.extents
    assert isinstance(extents[0], ir.Expr)
    for batch in (1, 3):
        assert max(difference(module, model, (torch.randn(batch, 4),))) < 1e-6


class Sizes(nn.Module):
    """Sizes in all places that they can have."""

    def forward(self, x):
        batch, length = x.shape
        return (
            torch.arange(length) * batch,
            x.reshape(-1, length, 1),
            x[:, 1:] + x[:, :-1],
            x[:, -1],
            x / length,
            x.mean(1) * (batch * length / 4),
            torch.cat([x, x.new_zeros(batch, length // 2)], 1),
            torch.full((batch, 1), float("-inf")),
            x.expand(3, -1, -1),
            x.var(),
            torch.tril(torch.ones(length, length)),
            x.unsqueeze(1).repeat(1, 2, 1).flatten(1),
            x.roll((1, -2), (0, 1)),
            x.diagonal(),
            x.diagonal(-1),
            x.diagonal(1),
            F.layer_norm(x, [length]),
            F.rms_norm(x, [length], eps=0.1),
        )


def test_symbolic_sizes():
    model = Sizes()
    sizes = {0: BATCH, 1: torch.export.Dim("length", min=4)}
    module = imported(model, (torch.randn(4, 6),), (sizes,))
    for shape in ((4, 5), (2, 16)):
        assert max(difference(module, model, (torch.randn(*shape),))) < 1e-5


def test_sizes_that_depend_on_each_other():
    half = torch.export.Dim("half")
    model = Functions([lambda x, y: x + y[::2], lambda x, y: y.reshape(2, -1)])
    inputs = (torch.randn(3), torch.randn(6))
    module = imported(model, inputs, ({0: half}, {0: 2 * half}))
    assert not max(difference(module, model, (torch.randn(5), torch.randn(10))))


def test_an_extent_that_is_even():
    even = 2 * torch.export.Dim("half", max=4)
    model = Functions([lambda x: x.reshape(-1, 2, 3) + 1, lambda x: torch.exp(x)[::2]])
    module = imported(model, (torch.randn(6, 3),), ({0: even},))
    assert module.script().count("match_cast") == 1
    assert max(difference(module, model, (torch.randn(8, 3),))) < 1e-6
    compiled = relax.VirtualMachine(relax.build(module, "llvm"))["main"]
    assert compiled(np.ones((8, 3), "float32"))[0].shape == (4, 2, 3)
    for run in (compiled, lambda x: evaluate(module, x)):
        for rows in (5, 10):  # an odd number, and one that is too large
            with pytest.raises(ValueError, match=f"{rows}"):
                run(np.ones((rows, 3), "float32"))


def test_the_largest_size_is_checked():
    module = imported(Functions([lambda x: x + 1]), (torch.randn(2, 4),), ({0: BATCH, 1: LENGTH},))
    compiled = relax.VirtualMachine(relax.build(module, "llvm"))["main"]
    for run in (compiled, lambda x: evaluate(module, x)):
        assert len(run(np.ones((3, 16), "float32"))) == 1
        with pytest.raises(ValueError, match="is 17, it can be at most 16"):
            run(np.ones((3, 17), "float32"))


# --- inputs and weights ---------------------------------------------------------------------


def test_weights_are_constants_over_the_memory_of_the_model():
    model = nn.Linear(64, 3).eval()
    (constant,) = [
        argument
        for block in imported(model, (torch.randn(1, 64),))["main"].body.blocks
        for binding in block.bindings
        for argument in getattr(binding.value, "args", ())
        if isinstance(argument, relax.Constant) and len(argument.data.shape) == 2
    ]
    assert constant.data.data_ptr() == model.weight.data_ptr()


def test_weights_as_inputs():
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).eval()
    inputs = (torch.randn(2, 4),)
    module, params = detach_params(imported(model, inputs, keep_params_as_input=True))
    main = module["main"]
    assert main.attrs["num_input"] == 1
    assert len(main.params) == 1 + len(params["main"])
    assert "params" not in main.attrs
    (result,) = evaluate(module, *(x.numpy() for x in inputs), *params["main"])
    np.testing.assert_allclose(np.asarray(result), model(*inputs).detach(), rtol=1e-5, atol=1e-6)


def test_layers_that_share_a_weight_share_a_constant():
    words = nn.Embedding(5, 4)
    output = nn.Linear(4, 5, bias=False)
    output.weight = words.weight
    model, inputs = nn.Sequential(words, output), (torch.tensor([[1, 3]]),)
    module = imported(model, inputs)
    (block,) = module["main"].body.blocks
    constants = [a for b in block.bindings for a in getattr(b.value, "args", ())
                 if isinstance(a, relax.Constant)]  # fmt: skip
    assert len(constants) == 2
    assert constants[0] is constants[1]


def test_a_module_without_weights_stays_as_it_is():
    module = imported(Functions([lambda x: x + 1]), (torch.randn(2),))
    detached, params = detach_params(module)
    assert params == {}
    assert_structural_equal(detached, module)


class Settings(nn.Module):
    """Inputs that are not tensors, nested and named inputs, and a constant."""

    def forward(self, pair, scale, *, flag=None, offset):
        total = pair["a"] * scale + pair["b"]
        return {"sum": total + torch.tensor([1.0, 2.0]), "rest": (offset - total, total.shape[0])}


def test_nested_inputs_and_numbers():
    inputs = ({"a": torch.ones(3, 2), "b": torch.zeros(2)}, 4)
    program = torch.export.export(Settings(), inputs, {"offset": torch.ones(2)})
    module = from_exported_program(program)
    assert [param.name_hint for param in module["main"].params] == ["pair_a", "pair_b", "offset"]
    total, rest, size = evaluate(module, *(np.ones(s, "float32") for s in ((3, 2), 2, 2)))
    np.testing.assert_array_equal(np.asarray(total), [[6, 7]] * 3)
    np.testing.assert_array_equal(np.asarray(rest), [[-4, -4]] * 3)
    assert size == 3


# --- outputs --------------------------------------------------------------------------------


def test_one_output_is_a_tuple_unless_it_is_unwrapped():
    model, inputs = Functions([lambda x: x + 1]), (torch.zeros(2),)
    module = imported(model, inputs)
    assert isinstance(module["main"].ret_struct_info, relax.TupleStructInfo)
    module = imported(model, inputs, unwrap_unit_return_tuple=True)
    np.testing.assert_array_equal(np.asarray(evaluate(module, np.zeros(2, "float32"))), [1, 1])


def test_outputs_that_are_nothing_are_left_out():
    model = Functions([lambda x: None, lambda x: {"y": x + 1, "z": None}])
    (result,) = evaluate(imported(model, (torch.zeros(2),)), np.zeros(2, "float32"))
    np.testing.assert_array_equal(np.asarray(result), [1, 1])


def test_the_tuple_of_outputs_need_not_be_bound():
    model, inputs = Functions([lambda x: x + 1, lambda x: x]), (torch.zeros(2),)
    assert isinstance(imported(model, inputs)["main"].body.body, relax.Var)
    module = imported(model, inputs, no_bind_return_tuple=True)
    assert isinstance(module["main"].body.body, relax.Tuple)
    assert not max(difference(module, model, inputs))


# --- what becomes of operators --------------------------------------------------------------


def test_operators_stay_whole():
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Softmax(1))
    called = operators(imported(model, (torch.randn(1, 2, 5, 5),)))
    for name in ("nn.conv2d", "nn.batch_norm", "nn.gelu", "nn.softmax"):
        assert called.count(name) == 1


def test_the_transpositions_around_attention_vanish():
    def attend(x):
        heads = x.view(2, 3, 2, 4).transpose(1, 2)
        return F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).reshape(2, 3, 8)

    module = relax.transform.DeadCodeElimination()(
        imported(Functions([attend]), (torch.ones(2, 3, 8),))
    )
    assert operators(module) == ["reshape", "nn.attention", "reshape"]


def test_an_operator_without_a_conversion_is_decomposed():
    model, inputs = Functions([lambda x: F.hardshrink(x) + F.linear(x, x)]), (torch.randn(3, 3),)
    called = operators(imported(model, inputs))
    assert "linear" in called
    assert "where" in called


# --- branches -------------------------------------------------------------------------------


class Branches(nn.Module):
    """A branch in a branch, with weights of its own and two results."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, flag):
        def first(x):
            return self.linear(x) + x, x.flatten().exp()

        def second(x):
            def small(x):
                return x - 1, 2 * x.flatten()

            return torch.cond(x.sum() > 100, first, small, (x,))

        y, z = torch.cond(flag, first, second, (x.tanh(),))
        return y * 2, z.sum(), x


def test_branches():
    model, inputs = Branches(), (torch.randn(2, 4), torch.tensor(True))
    module = imported(model, inputs, ({0: BATCH}, None))
    compiled = relax.VirtualMachine(relax.build(module, "llvm"))["main"]
    for flag in (True, False):
        inputs = (torch.randn(3, 4), torch.tensor(flag))
        assert max(difference(module, model, inputs)) < 1e-6
        for ours, theirs in zip(compiled(*inputs), model(*inputs), strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.detach(), rtol=1e-5, atol=1e-6)


def test_what_is_not_supported_in_branches_is_listed():
    def forward(x):
        zeta = torch.special.zeta
        return torch.cond(x.sum() > 0, lambda x: zeta(x, x).sum(), lambda x: x.sum(), (x,))

    with pytest.raises(UnsupportedOperatorError, match=r"aten\.special_zeta"):
        imported(Functions([forward]), (torch.ones(2, 2),))


class Loop(nn.Module):
    """A layer that is applied as long as a number has not been reached."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, times):
        def body(step, y):
            return step + 1, self.layer(y).tanh() + x

        start = torch.zeros((), dtype=torch.int64), 2 * x
        return torch._higher_order_ops.while_loop(lambda step, y: step < times, body, start)


def test_loops():
    model = Loop()
    module = imported(model, (torch.randn(2, 4), torch.tensor(5)), ({0: BATCH}, None))
    compiled = relax.VirtualMachine(relax.build(module, "llvm"))["main"]
    for times in (0, 1, 6, 2000):
        inputs = (torch.randn(3, 4), torch.tensor(times))
        if times < 10:
            assert max(difference(module, model, inputs)) < 1e-6
        for ours, theirs in zip(compiled(*inputs), model(*inputs), strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.detach(), rtol=1e-5, atol=1e-5)


# --- random numbers -------------------------------------------------------------------------


def draws(x):
    weights = x.softmax(-1)
    return (
        torch.rand(4, 3), torch.rand(4, 3), torch.randn_like(x), torch.randint(2, 5, (300,)),
        torch.bernoulli(weights), torch.normal(x, weights), torch.multinomial(weights, 2),
        torch.multinomial(weights, 300, True), torch.randperm(50), torch.empty(9).uniform_(1, 2),
        torch.empty(9).exponential_(), F.dropout(torch.ones(300), 0.25, True),
    )  # fmt: skip


class Draws(nn.Module):
    def forward(self, x):
        return draws(x)


def test_random_numbers():
    x = torch.tensor([[0.0, 1, 2], [9, 0, 0]])
    module = imported(Draws(), (x,), random_seed="input")
    assert module["main"].params[-1].name_hint == "seed"
    compiled = relax.VirtualMachine(relax.build(module, "llvm"))["main"]
    first, again, other = ([y.numpy() for y in compiled(x, np.array(n))] for n in (1, 1, 2))
    for ours, same, theirs in zip(first, again, draws(x), strict=True):
        np.testing.assert_array_equal(ours, same)
        assert (ours.shape, str(ours.dtype)) == (tuple(theirs.shape), str(theirs.dtype)[6:])
    assert not np.array_equal(first[0], other[0])
    assert not np.array_equal(first[0], first[1])
    for ours, evaluated in zip(first, evaluate(module, x.numpy(), np.array(1)), strict=True):
        np.testing.assert_allclose(ours, evaluated, rtol=1e-5, atol=1e-6)
    assert sorted(first[8]) == list(range(50))
    assert set(first[11].tolist()) == {0, np.float32(1 / 0.75)}
    places = np.bincount(first[7][0], minlength=3) / 300
    np.testing.assert_allclose(places, x[0].softmax(-1), atol=0.1)
    assert all(len({*row}) == 2 for row in first[6].tolist())  # without replacement


def test_random_numbers_need_a_seed():
    with pytest.raises(UnsupportedOperatorError, match="random_seed=0"):
        imported(Draws(), (torch.ones(2, 3),))
    with pytest.raises(ArgumentError, match="random_seed is an integer of 64 bits"):
        imported(Draws(), (torch.ones(2, 3),), random_seed=1.5)


# --- what is refused ------------------------------------------------------------------------


class Inner(nn.Module):
    def forward(self, x):
        return torch.linalg.ldl_factor(x)[0]


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Inner(), Inner()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x + torch.special.zeta(x, x)


def test_everything_that_is_not_supported_is_listed():
    with pytest.raises(UnsupportedOperatorError) as caught:
        imported(Outer(), (torch.randn(3, 3),))
    text = str(caught.value)
    for part in (
        "aten.linalg_ldl_factor_ex",
        "module blocks.0",
        "module blocks.1",
        "zeta",
        "test_program.py",
    ):
        assert part in text
    assert "return torch.linalg.ldl_factor(x)[0]" in text


def test_training_is_refused():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout()).train()
    program = torch.export.export(model, (torch.randn(2, 4),))
    with pytest.raises(UnsupportedOperatorError, match=r"model.eval\(\)"):
        from_exported_program(program)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


def test_state_is_refused():
    with pytest.raises(UnsupportedOperatorError, match=r"count \(buffer\).*keep_state_as_input"):
        imported(Counter(), (torch.randn(2),))


def test_sizes_keep_the_names_of_their_dims():
    batch, x = torch.export.Dim("batch", max=9), torch.export.Dim("x", max=7)
    shapes = {"x": {0: 2 * batch, 1: x}, "y": {0: batch}}
    module = imported(Halves(), (torch.randn(6, 4), torch.randn(3)), dynamic=shapes)
    first, second = (param.struct_info.extents for param in module["main"].params)
    assert str(first[0]) == "T.int64(2) * batch"
    assert str(second[0]) == "batch"
    assert str(first[1]) != "x", "an input has this name"
    assert module["main"].attrs["tir_var_upper_bound"]["batch"] == 9


class Halves(nn.Module):
    def forward(self, x, y):
        return x[: y.shape[0]] + x[y.shape[0] :], y


def test_state_comes_in_and_goes_out():
    class Mixer(Counter):
        def forward(self, x, y):
            y.mul_(2)
            return super().forward(x) + y

    model, inputs = Mixer(), (torch.randn(2), torch.randn(2))
    module = imported(model, inputs, keep_state_as_input=True)
    assert [param.name_hint for param in module["main"].params] == ["x", "y", "b_count"]
    assert module["main"].attrs["state"] == ("b_count", "y")
    x, y = (value.numpy() for value in inputs)
    count = np.array([5], "float32")
    result, new_count, new_y = evaluate(module, x, y, count)
    np.testing.assert_allclose(result, x + 6 + 2 * y, rtol=1e-6)
    np.testing.assert_array_equal(new_count, [6])
    np.testing.assert_array_equal(new_y, 2 * y)


def test_numbers_that_depend_on_elements():
    model = Functions([lambda x, i: x[i[0]]])
    inputs = (torch.randn(4, 2), torch.tensor([1, 2]))
    module = imported(model, inputs)
    for first in (3, 0, -2):
        assert difference(module, model, (inputs[0], torch.tensor([first, 1]))) == [0]


def test_floats_that_depend_on_elements_are_refused():
    with pytest.raises(UnsupportedOperatorError, match="only integers of a tensor"):
        imported(Functions([lambda x: x[1:] * x[0].item()]), (torch.ones(3),))


def test_an_overload_without_a_conversion_is_refused():
    with pytest.raises(UnsupportedOperatorError, match=r"aten\.searchsorted\.Scalar"):
        imported(Functions([lambda x: torch.searchsorted(x, 2.0)]), (torch.ones(2),))


def test_an_input_of_complex_numbers_is_refused():
    with pytest.raises(UnsupportedOperatorError, match=r"input inputs_0.*complex64"):
        imported(Functions([lambda x: x.real]), (torch.ones(2, dtype=torch.complex64),))


def test_complex_numbers_that_are_refused():
    turned = torch.view_as_complex
    with pytest.raises(UnsupportedOperatorError, match=r"output 0.*view_as_real"):
        imported(Functions([turned]), (torch.ones(3, 2),))
    with pytest.raises(UnsupportedOperatorError, match=r"aten\.sqrt.*for complex numbers"):
        imported(Functions([lambda x: turned(x).sqrt().abs()]), (torch.ones(3, 2),))


def test_operators_with_effects_are_refused():
    with pytest.raises(UnsupportedOperatorError, match=r"aten\.linalg_ldl_factor_ex") as caught:
        imported(Functions([torch.linalg.ldl_factor]), (torch.eye(2),))
    assert "with_effects" not in str(caught.value)


def test_an_output_that_is_text_is_refused():
    with pytest.raises(UnsupportedOperatorError, match="output 1"):
        imported(Functions([lambda x: x, lambda x: "text"]), (torch.ones(2),))


def test_a_model_is_no_program():
    with pytest.raises(ArgumentError, match=r"torch.export.export"):
        from_exported_program(nn.Linear(2, 2))
