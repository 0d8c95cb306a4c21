"""Layers compute what those of torch compute with the same weights."""

import math

import numpy as np
import pytest
from tests.relax.frontend.nn.running import floats, same, spec_of

from tilewright.error import ArgumentValueError, StructInfoError
from tilewright.relax.frontend import nn
from tilewright.relax.frontend.nn import op

torch = pytest.importorskip("torch")
F = torch.nn.functional

CASES = {
    "linear": (nn.Linear(4, 5), torch.nn.Linear(4, 5), (2, 3, 4)),
    "linear without bias": (
        nn.Linear(4, 5, bias=False), torch.nn.Linear(4, 5, bias=False), (3, 4),
    ),
    "conv1d": (
        nn.Conv1D(4, 6, 3, stride=2, padding=1, groups=2),
        torch.nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, 9),
    ),
    "conv2d": (
        nn.Conv2D(3, 4, [3, 2], padding=1, dilation=2),
        torch.nn.Conv2d(3, 4, (3, 2), padding=1, dilation=2), (2, 3, 8, 7),
    ),
    "conv2d without bias": (
        nn.Conv2D(2, 3, 1, bias=False), torch.nn.Conv2d(2, 3, 1, bias=False), (1, 2, 4, 4),
    ),
    "conv3d": (nn.Conv3D(2, 3, 2), torch.nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 3)),
    "conv1d transposed": (
        nn.ConvTranspose1D(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
        torch.nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
        (2, 4, 5),
    ),
    "layer norm": (nn.LayerNorm(4, eps=1e-3), torch.nn.LayerNorm(4, eps=1e-3), (2, 3, 4)),
    "layer norm over two": (nn.LayerNorm([3, 4]), torch.nn.LayerNorm([3, 4]), (2, 3, 4)),
    "layer norm alone": (
        nn.LayerNorm(4, elementwise_affine=False),
        torch.nn.LayerNorm(4, elementwise_affine=False), (2, 4),
    ),
    "rms norm": (nn.RMSNorm(4, -1, bias=False), torch.nn.RMSNorm(4, eps=1e-5), (2, 3, 4)),
    "group norm": (nn.GroupNorm(2, 4), torch.nn.GroupNorm(2, 4), (2, 4, 3, 3)),
    "relu": (nn.ReLU(), torch.nn.ReLU(), (2, 3)),
    "silu": (nn.SiLU(), torch.nn.SiLU(), (2, 3)),
    "gelu": (nn.GELU(), torch.nn.GELU(), (2, 3)),
    "identity": (nn.Identity(), torch.nn.Identity(), (2, 3)),
    "sequence": (
        nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)),
        torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2)),
        (2, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_layers_with_the_weights_of_torch(name):
    ours, theirs, shape = CASES[name]
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.uniform_(-1, 1, generator=generator)
    ours.load_state_dict(theirs.state_dict())
    x = floats(*shape)
    compiled = ours.jit({"forward": {"x": spec_of(x)}}, out_format="numpy")
    same(compiled["forward"](x), theirs(torch.from_numpy(x)).detach().numpy(), 1e-4)


@pytest.mark.parametrize("shape", [(5,), (2, 3)])
def test_embedding(shape):
    ours, theirs = nn.Embedding(10, 4), torch.nn.Embedding(10, 4)
    ours.load_state_dict(theirs.state_dict())
    x = torch.arange(math.prod(shape), dtype=torch.int32).reshape(shape)
    compiled = ours.jit({"forward": {"x": nn.spec.Tensor(list(shape), "int32")}})
    assert torch.equal(compiled(x), theirs(x))


def test_sizes_of_layers_may_be_symbolic():
    class Model(nn.Module):
        def __init__(self):
            self.embed = nn.Embedding("vocab", 4)
            self.scores = nn.Linear(4, "vocab", bias=False)

        def forward(self, x):
            return self.scores(self.embed(x))

    model = Model()
    mod, _ = model.export_tvm({"forward": {"x": nn.spec.Tensor([1, "n"], "int32")}})
    (n,) = {str(p.struct_info.extents[0]) for p in mod["forward"].params[1:]}
    assert n == "vocab"
    table, weight = floats(7, 4), floats(7, 4, seed=1)
    model.embed.weight.data, model.scores.weight.data = table, weight
    compiled = model.jit({"forward": {"x": nn.spec.Tensor([1, "n"], "int32")}}, out_format="numpy")
    x = np.array([[3, 0, 6]], "int32")
    same(compiled(x), table[x] @ weight.T)


def test_linear_with_another_dtype_of_the_result():
    layer = nn.Linear(4, 3, dtype="float16", out_dtype="float32")
    assert (layer.weight.dtype, layer.bias.dtype) == ("float16", "float32")
    weight, bias = floats(3, 4).astype("float16"), floats(3)
    layer.weight.data, layer.bias.data = weight, bias
    x = floats(2, 4).astype("float16")
    compiled = layer.jit({"forward": {"x": spec_of(x)}}, out_format="numpy")
    same(compiled(x), x.astype("float32") @ weight.T.astype("float32") + bias, 1e-3)


def test_data_layouts():
    layer = nn.Conv2D(3, 4, 3, padding=1, data_layout="NHWC")
    weight, bias, x = floats(4, 3, 3, 3), floats(4), floats(1, 5, 5, 3)
    layer.weight.data, layer.bias.data = weight, bias
    compiled = layer.jit({"forward": {"x": spec_of(x)}}, out_format="numpy")
    images = torch.from_numpy(x).permute(0, 3, 1, 2)
    expected = F.conv2d(images, torch.from_numpy(weight), torch.from_numpy(bias), padding=1)
    same(compiled(x), expected.permute(0, 2, 3, 1).numpy(), 1e-4)


@pytest.mark.parametrize("cross", [False, True])
def test_attention(cross):
    torch.manual_seed(0)
    layer = nn.Attention(8, 6 if cross else None, heads=2, dim_head=4, norm_num_groups=2)
    for weight in layer.parameters():
        weight.data = torch.randn(weight.shape)
    hidden, other = torch.randn(2, 5, 8), torch.randn(2, 3, 6)
    arguments = {"hidden_states": hidden} | ({"encoder_hidden_states": other} if cross else {})
    specs = {name: spec_of(value.numpy()) for name, value in arguments.items()}
    result = layer.jit({"forward": specs})["forward"](*arguments.values())
    weights = {name: torch.from_dlpack(p.data) for name, p in layer.named_parameters()}
    norm = [weights[f"group_norm.{name}"] for name in ("weight", "bias")]
    normal = F.group_norm(hidden.mT, 2, *norm).mT
    source = other if cross else normal
    heads = [
        (x @ weights[f"to_{name}.weight"].T).unflatten(-1, (2, 4)).transpose(1, 2)
        for name, x in (("q", normal), ("k", source), ("v", source))
    ]
    attended = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
    expected = F.linear(attended, weights["to_out.0.weight"], weights["to_out.0.bias"])
    same(result.numpy(), expected.numpy(), 1e-4)


def test_timesteps():
    class Model(nn.Module):
        def __init__(self):
            self.steps = nn.Timesteps(6, flip_sin_to_cos=True, downscale_freq_shift=0)
            self.embed = nn.TimestepEmbedding(6, 8, out_dim=4, post_act_fn="gelu", cond_proj_dim=3)

        def forward(self, x, condition):
            return self.embed(self.steps(x), condition)

    torch.manual_seed(0)
    model = Model()
    for weight in model.parameters():
        weight.data = torch.randn(weight.shape)
    x, condition = torch.tensor([1, 20]), torch.randn(2, 3)
    spec = {"x": nn.spec.Tensor([2], "int64"), "condition": nn.spec.Tensor([2, 3], "float32")}
    result = model.jit({"forward": spec})(x, condition)
    w = {name: torch.from_dlpack(p.data) for name, p in model.embed.named_parameters()}
    angles = x[:, None] * torch.exp(-math.log(10000) * torch.arange(3) / 3)
    sample = torch.cat([angles.cos(), angles.sin()], -1) + condition @ w["cond_proj.weight"].T
    hidden = F.silu(F.linear(sample, w["linear_1.weight"], w["linear_1.bias"]))
    expected = F.gelu(F.linear(hidden, w["linear_2.weight"], w["linear_2.bias"]))
    same(result.numpy(), expected.numpy(), 1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"size": [7, 3]},
        {"size": 5, "mode": "bilinear"},
        {"scale_factor": 2, "mode": "bilinear", "align_corners": True},
        {"scale_factor": [1.5, 2.0], "mode": "bicubic"},
        {"scale_factor": 2.0},
    ],
)
def test_interpolate(options):
    class Model(nn.Module):
        def forward(self, x):
            return op.interpolate(x, **options)

    x = floats(1, 2, 4, 6)
    compiled = Model().jit({"forward": {"x": spec_of(x)}}, out_format="numpy")
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    same(compiled(x), F.interpolate(torch.from_numpy(x), **given).numpy(), 1e-4)


# --- mistakes -------------------------------------------------------------------------------


class Model(nn.Module):
    """A model with a layer that does not fit."""

    def __init__(self, width=8, dtype="float32"):
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 8), nn.ReLU())])
        self.last = nn.ModuleDict({"scores": nn.Linear(width, 2, dtype=dtype)})

    def forward(self, x):
        return self.last["scores"](self.blocks(x))


@pytest.mark.parametrize(
    ("model", "shape", "path"),
    [
        (Model(), [3, 5], r"blocks\.0\.0 \(Linear\)"),
        (Model(width=7), [3, 4], r"last\.scores \(Linear\)"),
        (Model(dtype="float16"), [3, 4], r"last\.scores \(Linear\)"),
    ],
)
def test_an_error_names_the_layer(model, shape, path):
    with pytest.raises(StructInfoError, match=f"^method forward: in layer {path}: R.matmul"):
        model.export_tvm({"forward": {"x": nn.spec.Tensor(shape, "float32")}})


def test_layers_refuse_what_does_not_fit():
    with pytest.raises(ArgumentValueError, match="Conv2D: kernel_size has 2 extents"):
        nn.Conv2D(2, 3, [3, 3, 3])
    with pytest.raises(ArgumentValueError, match="Conv1D: 3 groups do not divide 4 channels"):
        nn.Conv1D(4, 6, 3, groups=3)
    with pytest.raises(ArgumentValueError, match="the activation is 'silu'"):
        nn.TimestepEmbedding(2, 4, act_fn="tanh")
