"""Random modules compute what those of torch compute with the same weights, for any batch size."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.relax.frontend.nn.running import same

from tilewright.relax.frontend import nn

torch = pytest.importorskip("torch")


class Residual(nn.Module):
    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


class TorchResidual(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


ELEMENTWISE = [
    (nn.ReLU, torch.nn.ReLU), (nn.SiLU, torch.nn.SiLU), (nn.GELU, torch.nn.GELU),
    (nn.Identity, torch.nn.Identity),
]  # fmt: skip


class Called(nn.Linear):
    define_subroutine = True


@st.composite
def layers(draw, width, depth=0):
    """Layers of both kinds, and the length of their results."""
    kind = draw(st.sampled_from(["linear", "norm", "elementwise", *["residual"] * (depth < 2)]))
    if kind == "linear":
        size, bias = draw(st.integers(1, 9)), draw(st.booleans())
        layer = draw(st.sampled_from([nn.Linear, Called]))
        return layer(width, size, bias), torch.nn.Linear(width, size, bias), size
    if kind == "norm":
        return nn.LayerNorm(width, 1e-2), torch.nn.LayerNorm(width, 1e-2), width
    if kind == "elementwise":
        ours, theirs = draw(st.sampled_from(ELEMENTWISE))
        return ours(), theirs(), width
    ours, theirs, size = draw(sequences(width, depth + 1))
    if size != width:
        return ours, theirs, size
    return Residual(ours), TorchResidual(theirs), width


@st.composite
def sequences(draw, width, depth=0):
    """A few layers one after the other."""
    ours, theirs = [], []
    for _ in range(draw(st.integers(1, 4))):
        mine, other, width = draw(layers(width, depth))
        ours.append(mine)
        theirs.append(other)
    return nn.Sequential(*ours), torch.nn.Sequential(*theirs), width


@settings(max_examples=12)
@given(sequences(5), st.integers(0, 2**31))
def test_random_modules(models, seed):
    ours, theirs, _ = models
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.normal_(generator=generator)
    ours.load_state_dict(theirs.state_dict())
    spec = {"forward": {"x": nn.spec.Tensor(["batch", 5], "float32")}}
    compiled = ours.jit(spec, out_format="numpy")
    for batch in (1, 3):
        x = torch.randn(batch, 5, generator=generator)
        same(compiled(x), theirs(x).detach().numpy(), 1e-3)
    exported, _ = ours.export_tvm(spec)
    names = [param.name_hint for param in exported["forward"].params[1:]]
    assert names == list(theirs.state_dict())
    assert np.isfinite(compiled(x)).all()
