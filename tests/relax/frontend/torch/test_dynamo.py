"""`torch.compile` with this backend gives what the model itself gives."""

import logging

import pytest
import torch
from torch import nn

from tilewright.error import ArgumentError, UnsupportedOperatorError
from tilewright.relax.frontend.torch import dynamo
from tilewright.tune.database import ScheduleFnDatabase


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


@pytest.fixture
def compilations(monkeypatch):
    """The graphs that are compiled, each time that one is."""
    found = []
    original = dynamo.CompiledGraph._compile

    def counted(self, arguments):
        found.append(self)
        return original(self, arguments)

    monkeypatch.setattr(dynamo.CompiledGraph, "_compile", counted)
    return found


def compiled(model, **options):
    """A model or function that never runs in torch itself."""
    return torch.compile(model, backend="tilewright", options={"fallback": False, **options})


def assert_equal(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def layers():
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
    return model.eval()


def test_sizes_become_symbolic_when_they_change(compilations):
    model = layers()
    run = compiled(model)
    for batch in (3, 5, 7, 64):
        x = torch.randn(batch, 8)
        assert_equal(run(x), model(x))
    assert len(compilations) == 2  # for 3 rows, and for any number


def test_functions_that_torch_vectorizes():
    function = torch.vmap(torch.dot)
    rows = torch.randn(2, 3, 4)
    assert_equal(compiled(function)(*rows), function(*rows))


def test_all_sizes_symbolic():
    model = layers()
    run = torch.compile(model, backend="tilewright", dynamic=True, options={"fallback": False})
    for batch in (3, 5):
        x = torch.randn(batch, 8)
        assert_equal(run(x), model(x))


def test_a_cache_that_grows():
    def function(query, key, value, past_key, past_value):
        keys, values = torch.cat([past_key, key], 1), torch.cat([past_value, value], 1)
        return nn.functional.scaled_dot_product_attention(query, keys, values), keys, values

    run = compiled(function)
    for past in (4, 5, 6):
        inputs = (*torch.randn(3, 2, 1, 4), *torch.randn(2, 2, past, 4))
        assert_equal(run(*inputs), function(*inputs))


@pytest.mark.parametrize(("norm_first", "padding"), [(True, False), (False, True)])
def test_a_layer_that_torch_has_one_operator_for(norm_first, padding):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first).eval()
    mask = torch.tensor([[False, False, True], [False, True, True]]) if padding else None
    x = torch.randn(2, 3, 8)
    assert_equal(compiled(layer)(x, src_key_padding_mask=mask), layer(x, src_key_padding_mask=mask))


def test_attention_that_torch_has_one_operator_for():
    layer = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x, mask = torch.randn(2, 3, 8), torch.ones(3, 3, dtype=torch.bool).triu(1)
    assert_equal(compiled(layer)(x, x, x, attn_mask=mask), layer(x, x, x, attn_mask=mask))


def test_changed_weights_are_used_and_in_the_end_no_constants(compilations):
    model = layers()
    run, x = compiled(model), torch.randn(3, 8)
    for change in range(2 * dynamo.MOST_VERSIONS):
        assert_equal(run(x), model(x))
        model[change % 2 * 3].weight.mul_(-2)
    (graph,) = set(compilations)
    assert len(compilations) == dynamo.MOST_VERSIONS + 1
    assert not graph._roles.weights


def test_other_weights_of_the_same_shapes():
    model = layers()
    run, x = compiled(model), torch.randn(3, 8)
    run(x)
    model[0].weight = nn.Parameter(torch.randn(16, 8))
    model.load_state_dict({k: v * 2 for k, v in model.state_dict().items()})
    assert_equal(run(x), model(x))


def test_parts_between_what_cannot_be_followed(compilations):
    def function(x):
        y = torch.relu(x @ x)
        torch._dynamo.graph_break()
        return y.T + y.sum(), y

    x = torch.randn(6, 6)
    assert_equal(compiled(function)(x), function(x))
    assert len(compilations) == 2


def test_arguments_and_buffers_that_are_changed():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(3))

        def forward(self, x, cache):
            self.calls += 1
            cache[:, 1] = x
            return (x * self.calls).sum(), cache.mean()

    ours, theirs = Counting(), Counting()
    x, first, second = torch.randn(3), torch.zeros(3, 4), torch.zeros(3, 4)
    run = compiled(ours)
    for _ in range(3):
        assert_equal(run(x, first), theirs(x, second))
        assert_equal(first, second)
    assert_equal(ours.calls, torch.full((3,), 3.0))


def test_results_that_are_arguments_or_parts_of_them():
    def function(x, y):
        return x, None, x[1:, ::2], x + y, 7, y.T

    x, y = torch.randn(4, 4), torch.randn(4, 4)
    ours, theirs = compiled(function)(x, y), function(x, y)
    assert_equal(ours, theirs)
    assert ours[0] is x
    ours[2].zero_()
    ours[5][0, 1] = 5
    assert not x[1:, ::2].any()
    assert y[1, 0] == 5


def test_results_that_share_memory():
    def function(x):
        y = x.exp()
        return y[:, 0], y[1:, 1::2], y, y.reshape(-1)

    x = torch.randn(4, 5)
    first, part, whole, flat = compiled(function)(x)
    assert_equal((first, part, whole, flat), function(x))
    whole[2, 3] = 7
    assert part[1, 1] == 7
    assert flat[13] == 7


def test_numbers_that_change(compilations):
    def function(x, factor, count):
        return x * factor, x.reshape(count, -1), x.shape[0] * 2

    run, x = compiled(function), torch.randn(12)
    for factor, count in ((2, 3), (3, 3), (4, 4), (0.5, 4)):
        assert_equal(run(x, factor, count), function(x, factor, count))


def test_numbers_that_change_all_the_time_are_left_to_torch(caplog):
    run, x = torch.compile(lambda x, f: x * f, backend="tilewright"), torch.randn(5)
    with caplog.at_level(logging.WARNING):
        for number in range(12):
            assert_equal(run(x, number / 8), x * (number / 8))
    messages = [record.getMessage() for record in caplog.records]
    assert [m for m in messages if "numbers that change between calls" in m] == messages[-1:]


def test_memory_that_compiled_code_does_not_take_as_it_is():
    model = layers()
    run = compiled(model)
    wide, shifted = torch.randn(16, 3).T, torch.randn(25)
    for x in (wide[:, ::2], shifted[1:].reshape(3, 8), torch.randn(3, 8, requires_grad=True)):
        assert_equal(run(x), model(x))


def test_results_are_not_copied():
    results = []
    graph = compiled(lambda x: x + 1)
    original = torch.from_dlpack
    x = torch.randn(64)
    graph(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "from_dlpack", lambda array: results.append(array) or original(array))
        y = graph(x)
    assert y.data_ptr() == results[0].data_ptr()


def test_tensors_of_inference_mode():
    with torch.inference_mode():
        model, x = layers(), torch.randn(3, 8)
        run = compiled(model)
        assert_equal(run(x), model(x))
        model[0].bias.add_(1)
        assert_equal(run(x), model(x))


def test_what_has_no_counterpart_is_left_to_torch(caplog):
    def function(x):
        return torch.special.zeta(x, x) @ x

    x = torch.rand(4, 4) + 2
    with caplog.at_level(logging.WARNING):
        run = torch.compile(function, backend="tilewright")
        assert_equal(run(x), function(x))
        assert_equal(run(x), function(x))
    (record,) = caplog.records
    assert "torch itself runs a graph of" in record.getMessage()
    assert "special_zeta" in record.getMessage()
    assert "\n" not in record.getMessage()
    torch._dynamo.reset()
    with pytest.raises(UnsupportedOperatorError, match="special_zeta"):
        compiled(function)(x)


def test_gradients_are_left_to_torch(caplog):
    model = layers()
    x = torch.randn(3, 8)
    with torch.enable_grad(), caplog.at_level(logging.WARNING):
        torch.compile(model, backend="tilewright")(x).sum().backward()
        assert model[0].weight.grad is not None
        torch._dynamo.reset()
        with pytest.raises(Exception, match="needs gradients; call the model under"):
            compiled(model)(x)
    assert "it needs gradients" in caplog.text


def test_a_database_with_schedules():
    seen = []

    def schedule(sch):
        seen.append(sch.mod)
        return False

    compiled(layers(), database=ScheduleFnDatabase(schedule), target="llvm")(torch.randn(3, 8))
    assert seen


def test_an_option_that_does_not_exist():
    with pytest.raises(Exception, match=r"has no option 'targets'.*did you mean 'target'"):
        compiled(layers(), targets="llvm")(torch.randn(3, 8))
    with pytest.raises(ArgumentError):
        dynamo.Options.of({"cache": 1})
