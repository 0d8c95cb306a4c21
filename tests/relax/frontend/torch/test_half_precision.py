"""Operators of several steps on half precision: steps in single precision, rounded at the end."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from tilewright import relax  # noqa: E402
from tilewright.relax.frontend.torch import from_exported_program  # noqa: E402

OPERATORS = {
    "log1p": (lambda x: torch.log1p(x.abs()), [(20, 30)]),
    "expm1": (torch.expm1, [(20, 30)]),
    "exp2": (torch.exp2, [(20, 30)]),
    "erfc": (torch.erfc, [(20, 30)]),
    "elu": (F.elu, [(20, 30)]),
    "celu": (lambda x: F.celu(x, 0.7), [(20, 30)]),
    "selu": (F.selu, [(20, 30)]),
    "softplus": (F.softplus, [(20, 30)]),
    "log_sigmoid": (F.logsigmoid, [(20, 30)]),
    "mish": (F.mish, [(20, 30)]),
    "glu": (F.glu, [(20, 30)]),
    "var": (lambda x: x.var(-1), [(20, 30)]),
    "std": (lambda x: x.std(0), [(20, 30)]),
    "batch_norm": (
        lambda x, m, v: F.batch_norm(x, m, v.abs()), [(2, 8, 5, 5), (8,), (8,)],
    ),
    "linear": (F.linear, [(20, 30), (17, 30), (17,)]),
    "addmm": (lambda b, x, y: torch.addmm(b, x, y, beta=2, alpha=0.5), [(17,), (20, 30), (30, 17)]),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, padding=1), [(1, 6, 20), (9, 6, 3), (9,)]),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, 2), [(2, 6, 9, 9), (5, 6, 3, 3), (5,)]),
}  # fmt: skip


class Operator(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arrays):
        return self.function(*arrays)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", OPERATORS)
def test_results_are_rounded_once(name, dtype):
    """Half a unit in the last place, and what single precision loses to cancellation."""
    function, shapes = OPERATORS[name]
    torch.manual_seed(0)
    arrays = [torch.randn(*shape).to(dtype) for shape in shapes]
    module = from_exported_program(torch.export.export(Operator(function), tuple(arrays)))
    (got,) = relax.VirtualMachine(relax.build(module, "llvm -num-cores=1"))["main"](*arrays)
    want = function(*(array.double() for array in arrays))
    assert got.dtype == dtype
    unit = torch.finfo(dtype).eps / 2
    allowed = unit * want.abs() * 1.02 + max(unit * torch.finfo(dtype).tiny, 1e-5)
    assert ((got.double() - want).abs() <= allowed).all()
