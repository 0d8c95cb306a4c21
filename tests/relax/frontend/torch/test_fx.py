"""Models that torch.fx has traced."""

import numpy as np
import pytest
import torch

import tilewright as tvm
from tilewright import relax, tir
from tilewright.error import ArgumentError
from tilewright.relax.frontend.torch import from_fx


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.drop = torch.nn.Dropout(0.5)

    def forward(self, x, y):
        return self.drop(torch.relu(self.norm(self.linear(x)) + y))


INFO = [((3, 6), "float32"), ((3, 4), "float32")]


@pytest.mark.parametrize("keep", [False, True])
def test_a_traced_model_behaves_as_in_evaluation(keep):
    model = Model()
    model.norm.running_mean.add_(0.5)
    traced = torch.fx.symbolic_trace(model)
    module = from_fx(traced, INFO, keep_params_as_input=keep, unwrap_unit_return_tuple=True)
    assert model.norm.training
    assert traced.training
    weights = []
    if keep:
        module, params = relax.frontend.detach_params(module)
        weights = params["main"]
    inputs = [torch.randn(*shape) for shape, _ in INFO]
    with torch.no_grad():
        expected = model.eval()(*inputs)
    vm = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    result = vm["main"](*[tvm.nd.array(x.numpy()) for x in inputs], *weights)
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ([(3, 6)], r"input_info\[0\]: torch has no dtype 6"),
        ([(3, 6), "float32"], r"input_info\[0\]: torch has no dtype 6"),
        ([INFO[0], "float32"], r"input_info\[1\] is a pair"),
        ([((tir.Var("n", "int64"), 6), "float32")], "expected constant sizes"),
    ],
)
def test_wrong_information(info, message):
    with pytest.raises(ArgumentError, match=message):
        from_fx(torch.fx.symbolic_trace(Model()), info)


def test_no_model():
    with pytest.raises(ArgumentError, match="expected a traced model, got int"):
        from_fx(3, INFO)
