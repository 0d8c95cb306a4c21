"""Factorizations of matrices give what torch gives, but for signs that are arbitrary."""

import pytest
import torch
from tests.relax.frontend.torch.programs import BATCH, Functions, difference, distance, imported
from torch import linalg

import tilewright as tvm
from tilewright import relax

FACTORIZATIONS = {
    "cholesky": lambda x, s, b: linalg.cholesky(s),
    "cholesky, upper": lambda x, s, b: linalg.cholesky(s, upper=True),
    "cholesky_ex of no such matrix": lambda x, s, b: linalg.cholesky_ex(s - 3 * torch.eye(4))[1],
    "cholesky_solve": lambda x, s, b: torch.cholesky_solve(b, linalg.cholesky(s)),
    "cholesky_inverse": lambda x, s, b: torch.cholesky_inverse(s.triu() + torch.eye(4), upper=True),
    "solve_triangular": lambda x, s, b: linalg.solve_triangular(s, b, upper=True),
    "solve_triangular, right": lambda x, s, b: linalg.solve_triangular(
        s, b.mT, upper=False, left=False
    ),
    "solve_triangular, unit": lambda x, s, b: linalg.solve_triangular(
        x, b[0], upper=False, unitriangular=True
    ),
    "triangular_solve": lambda x, s, b: torch.triangular_solve(b, s, transpose=True)[0],
    "inv": lambda x, s, b: linalg.inv(x),
    "inv of one matrix": lambda x, s, b: torch.inverse(x[0]),
    "matrix_exp": lambda x, s, b: linalg.matrix_exp(x - x.mT),
    "matrix_power": lambda x, s, b: linalg.matrix_power(x, -3),
    "solve": lambda x, s, b: linalg.solve(x, b),
    "solve for a vector": lambda x, s, b: linalg.solve(x[0], b[0, :, 0]),
    "solve for vectors": lambda x, s, b: linalg.solve(x, b[:, :, 0]),
    "solve, one for all": lambda x, s, b: linalg.solve(x[0], b),
    "solve, right": lambda x, s, b: linalg.solve(x, b.mT, left=False),
    "solve_ex of a singular matrix": lambda x, s, b: linalg.solve_ex(
        torch.ones(2, 4, 4) * x[0, 0, 0], b
    )[1],
    "det": lambda x, s, b: linalg.det(x),
    "det of a singular matrix": lambda x, s, b: linalg.det(x[:, :1] * x[:, :, :1]),
    "slogdet": lambda x, s, b: linalg.slogdet(-x)[0] * linalg.slogdet(x)[1],
    "logdet": lambda x, s, b: torch.logdet(s),
    "lu of more columns": lambda x, s, b: sum(part.sum() for part in linalg.lu(b.mT)),
    "lu": lambda x, s, b: linalg.lu(b)[0],
    "lu, lower": lambda x, s, b: linalg.lu(b)[1],
    "lu, upper": lambda x, s, b: linalg.lu(x)[2],
    "lu_factor": lambda x, s, b: linalg.lu_factor(x)[1],
    "lu_solve": lambda x, s, b: linalg.lu_solve(*linalg.lu_factor(x), b),
    "lu_unpack": lambda x, s, b: torch.lu_unpack(*linalg.lu_factor(x))[0],
    "qr": lambda x, s, b: linalg.qr(b)[0],
    "qr, complete": lambda x, s, b: linalg.qr(b, mode="complete")[0],
    "qr, triangle": lambda x, s, b: linalg.qr(b.mT, mode="r")[1],
    "householder_product": lambda x, s, b: linalg.householder_product(b, b[:, 0, :2]),
    "svd": lambda x, s, b: _product(*linalg.svd(b, full_matrices=False)),
    "svd of more columns": lambda x, s, b: _product(*linalg.svd(b.mT, full_matrices=False)),
    "svd, full": lambda x, s, b: linalg.svd(b)[0].square().sum(-1),
    "svd of rank one": lambda x, s, b: linalg.svd(x[:, :1] * x[:, :, :1])[0].square().sum(-1),
    "svdvals": lambda x, s, b: linalg.svdvals(b),
    "pinv": lambda x, s, b: linalg.pinv(b),
    "pinv, limit": lambda x, s, b: linalg.pinv(x, atol=1.0),
    "matrix_rank": lambda x, s, b: linalg.matrix_rank(x[:, :1] * x[:, :, :1]),
    "cond": lambda x, s, b: linalg.cond(x),
    "norm of singular values": lambda x, s, b: linalg.matrix_norm(b, "nuc"),
    "eigh": lambda x, s, b: _of_eigenvalues(*linalg.eigh(s), torch.exp),
    "eigh, upper": lambda x, s, b: _of_eigenvalues(*linalg.eigh(x, UPLO="U"), torch.exp),
    "eigvalsh": lambda x, s, b: linalg.eigvalsh(s),
}


def _product(left, values, right):
    return (left * values.unsqueeze(-2)) @ right


def _of_eigenvalues(values, vectors, function):
    """A function of a symmetric matrix, which does not depend on the signs of vectors."""
    return _product(vectors, function(values), vectors.mT)


def _matrices(count=2):
    torch.manual_seed(0)
    x, b = torch.randn(count, 4, 4), torch.randn(count, 4, 3)
    return x, x @ x.mT + torch.eye(4), b


@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated")
def test_each_through_the_evaluator():
    inputs, model = _matrices(), Functions(list(FACTORIZATIONS.values()))
    apart = difference(imported(model, inputs), model, inputs)
    wrong = dict(zip(FACTORIZATIONS, apart, strict=True))
    assert not {name: error for name, error in wrong.items() if error > 2e-5}


def test_compiled_for_any_number_of_matrices():
    names = ["cholesky", "inv", "solve", "det", "qr", "svd", "eigh", "lu"]
    model = Functions([FACTORIZATIONS[name] for name in names])
    module = imported(model, _matrices(), ({0: BATCH}, {0: BATCH}, {0: BATCH}))
    vm = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    for count in (2, 5):
        inputs = _matrices(count)
        for ours, theirs in zip(vm["main"](*inputs), model(*inputs), strict=True):
            assert distance(torch.from_dlpack(ours).numpy(), theirs.numpy()) < 1e-5


def test_orthogonal_parametrizations():
    square, tall = torch.nn.Linear(4, 4), torch.nn.Linear(3, 5)
    layers = [torch.nn.utils.parametrizations.orthogonal(layer) for layer in (square, tall)]
    model = Functions([lambda x: layers[0](x), lambda x: layers[1](x[..., :3])], layers)
    inputs = (torch.randn(2, 4),)
    assert max(difference(imported(model, inputs), model, inputs)) < 1e-5
