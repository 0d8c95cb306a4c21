"""Each operator of torch gives what torch gives, through the reference evaluator.

The functions of a family are imported as one program, and run on small arrays.
"""

import math

import pytest
import torch
from tests.relax.frontend.torch.programs import Functions, difference, imported
from torch.nn import functional as F

NONE = None


def floats(*shape, low=-3.0, high=3.0):
    return torch.rand(*shape) * (high - low) + low


def truths(*shape):
    return torch.rand(*shape) > 0.5


def integers(*shape, low=-7, high=8):
    return torch.randint(low, high, shape)


ARITHMETIC = {
    "add": lambda x, y, n: x + y,
    "add a number": lambda x, y, n: x + 2,
    "add scaled": lambda x, y, n: torch.add(x, y, alpha=3),
    "add of two dtypes": lambda x, y, n: x + n,
    "subtract from a number": lambda x, y, n: 2 - x,
    "subtract scaled": lambda x, y, n: torch.rsub(x, y, alpha=2),
    "multiply by a float": lambda x, y, n: n * 1.5,
    "divide": lambda x, y, n: x / y,
    "divide integers": lambda x, y, n: n / 4,
    "divide down": lambda x, y, n: torch.div(x, y, rounding_mode="floor"),
    "divide towards zero": lambda x, y, n: torch.div(x, y, rounding_mode="trunc"),
    "divide integers down": lambda x, y, n: n // 3,
    "divide integers towards zero": lambda x, y, n: torch.div(n, 3, rounding_mode="trunc"),
    "remainder": lambda x, y, n: n % 3,
    "remainder of floats": lambda x, y, n: x % 1.5,
    "fmod": lambda x, y, n: torch.fmod(n, 3),
    "square": lambda x, y, n: x**2,
    "cube": lambda x, y, n: x**3,
    "inverse": lambda x, y, n: x**-1,
    "power": lambda x, y, n: x.abs() ** 1.7,
    "power of a number": lambda x, y, n: 2**x,
    "power of integers": lambda x, y, n: torch.stack([n**0, n**1, n**5, n**6]),
    "ldexp": lambda x, y, n: torch.ldexp(x, n),
    "atan2": lambda x, y, n: torch.atan2(x, y[:1]),
    "hypot": lambda x, y, n: torch.hypot(x * 1e30, y),
    "copysign": lambda x, y, n: torch.copysign(x, -0.0 * y),
    "fmax": lambda x, y, n: torch.fmax(torch.sqrt(x), torch.sqrt(y)),
    "fmin": lambda x, y, n: torch.fmin(torch.sqrt(x), torch.sqrt(y)),
    "maximum": lambda x, y, n: torch.maximum(x, y),
    "minimum": lambda x, y, n: torch.min(x, y),
    "clamp": lambda x, y, n: torch.clamp(x, -1, 1.5),
    "clamp below": lambda x, y, n: torch.clamp(x, min=0.5),
    "clamp integers": lambda x, y, n: torch.clamp(n, -2, 3),
    "clamp by arrays": lambda x, y, n: torch.clamp(x, y - 1, y),
    "broadcast": lambda x, y, n: x[:, :1] + y[0],
    "lerp": lambda x, y, n: torch.lerp(x, y, 0.3),
    "addcmul": lambda x, y, n: torch.addcmul(x, x, y, value=0.5),
}
COMPARISONS = {
    "eq": lambda x, y, n, b: n == 2,
    "ne": lambda x, y, n, b: x != y,
    "lt": lambda x, y, n, b: x < 0.5,
    "le": lambda x, y, n, b: n <= x,
    "gt": lambda x, y, n, b: x > n,
    "ge of a float": lambda x, y, n, b: n >= 0.5,
    "and": lambda x, y, n, b: b & (x > 0),
    "or": lambda x, y, n, b: b | (x > 0),
    "xor": lambda x, y, n, b: b ^ (x > 0),
    "not": lambda x, y, n, b: ~b,
    "logical_and": lambda x, y, n, b: torch.logical_and(x, n),
    "logical_not": lambda x, y, n, b: torch.logical_not(n),
    "bitwise_and": lambda x, y, n, b: n & 3,
    "shift": lambda x, y, n, b: n << 2,
    "where": lambda x, y, n, b: torch.where(b, x, y),
    "where of a number": lambda x, y, n, b: torch.where(b, x, 0.0),
    "masked_fill": lambda x, y, n, b: x.masked_fill(b, float("-inf")),
    "isnan": lambda x, y, n, b: torch.isnan(x / x.relu()),
    "isinf": lambda x, y, n, b: torch.isinf(x / x.relu()),
    "add of truths": lambda x, y, n, b: b + 1,
}
FUNCTIONS = {
    name: getattr(torch, name)
    for name in (
        "abs", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor", "neg",
        "reciprocal", "round", "sigmoid", "sign", "sin", "sinh", "square", "tanh", "trunc",
    )
} | {
    "acos": lambda x: torch.acos(x / 4),
    "acosh": lambda x: torch.acosh(x.abs() + 1),
    "asin": lambda x: torch.asin(x / 4),
    "asinh": torch.asinh,
    "atanh": lambda x: torch.atanh(x / 4),
    "exp of little, less 1": lambda x: torch.expm1(x * 1e-6) * 1e6,
    "log of little more than 1": lambda x: torch.log1p(x * 1e-6) * 1e6,
    "log1p": lambda x: torch.log1p(x.abs()),
    "log": lambda x: torch.log(x.abs()),
    "log10": lambda x: torch.log10(x.abs()),
    "log2": lambda x: torch.log2(x.abs()),
    "rsqrt": lambda x: torch.rsqrt(x.abs()),
    "sqrt": lambda x: torch.sqrt(x.abs()),
    "tan": torch.tan,
    "lgamma": lambda x: torch.lgamma(3 * x),
    "digamma": lambda x: torch.digamma(3 * x),
    "lgamma at poles and beyond": lambda x: torch.lgamma(
        torch.tensor([0.0, -1, -2, math.inf, -math.inf, math.nan, 1e30, 1, 2]) + 0 * x.sum()
    ),
    "digamma at poles and beyond": lambda x: torch.digamma(
        torch.tensor([0.0, -0.0, -1, -2, math.inf, math.nan, 1e30]) * x.abs().sum().sign()
    ),
    "renorm": lambda x: torch.renorm(x.bfloat16(), 2, 0, 1).float(),
    "halves to even": lambda x: torch.round(torch.floor(x) + 0.5),
    "neg of bytes": lambda x: -x.abs().to(torch.uint8),
    "sqrt of integers": lambda x: torch.sqrt(x.abs().to(torch.int64)),
}  # fmt: skip
ACTIVATIONS = {
    name: getattr(F, name)
    for name in (
        "celu", "elu", "gelu", "glu", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
        "logsigmoid", "mish", "relu", "relu6", "selu", "silu", "softplus", "hardshrink",
        "softsign", "tanhshrink",
    )
} | {
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "leaky_relu 0.3": lambda x: F.leaky_relu(x, 0.3),
    "prelu": lambda x: F.prelu(x, torch.full((3,), 0.25)),
    "softmax": lambda x: F.softmax(x, 1),
    "hardswish of bfloat16": lambda x: F.hardswish(x.bfloat16()).float(),
    "hardsigmoid of halves": lambda x: F.hardsigmoid(x.half()).float(),
    "rms_norm of halves": lambda x: F.rms_norm((x * 1e-3).half(), x.shape[-1:]).float(),
    "rms_norm of bfloat16": lambda x: F.rms_norm((x * 1e-3).bfloat16(), x.shape[-1:]).float(),
    "softmax of integers": lambda x: F.softmax(x.to(torch.int64), -1, dtype=torch.float32),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "softplus of much": lambda x: F.softplus(40 * x, beta=2),
    "threshold": lambda x: F.threshold(x, 0.5, -1),
    "dropout": lambda x: F.dropout(x, 0.5, training=False),
}  # fmt: skip
REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: x.sum(-1),
    "sum of truths": lambda x: (x > 0).sum(1),
    "mean": lambda x: x.mean((0, 2), keepdim=True),
    "prod": lambda x: x.prod(1),
    "amax": lambda x: x.amax((1, 2)),
    "amin": lambda x: x.amin(0),
    "max": torch.max,
    "max along": lambda x: torch.max(x, 1)[0],
    "where the max is": lambda x: torch.max(x, 1, keepdim=True)[1],
    "min along": lambda x: torch.min(x, 2)[1],
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(-1, keepdim=True),
    "any": lambda x: (x > 2).any(),
    "all": lambda x: (x > -2).all(1),
    "var": lambda x: x.var(1),
    "var of the population": lambda x: x.var((0, 1), correction=0),
    "std": lambda x: x.std(),
    "var_mean": lambda x: torch.var_mean(x, 2)[0] + torch.var_mean(x, 2)[1],
    "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
    "norm of bfloat16": lambda x: torch.linalg.vector_norm(x.bfloat16(), dim=1).float(),
    "norm 1": lambda x: x.norm(p=1, dim=-1),
    "norm 3": lambda x: torch.linalg.vector_norm(x, 3, dim=(0, 2)),
    "norm 0": lambda x: torch.linalg.vector_norm(x.relu(), 0, dim=1),
    "norm inf": lambda x: torch.linalg.vector_norm(x, float("inf")),
    "logsumexp": lambda x: torch.logsumexp(x * 50, 1),
    "cumsum": lambda x: x.cumsum(1),
    "cumsum of integers": lambda x: x.to(torch.int32).cumsum(0),
    "cumprod": lambda x: x.cumprod(2),
    "cummax": lambda x: torch.cummax(x.round(), 1)[0],
    "places of cummax": lambda x: torch.cummax(x.round(), 2)[1],
    "cummin with NaN": lambda x: torch.cummin(torch.sqrt(x), 2)[0],
    "places of cummin with NaN": lambda x: torch.cummin(torch.sqrt(x), 2)[1],
    "cummin of integers": lambda x: torch.cummin((3 * x).to(torch.int32), 0)[0],
    "cummax of a number": lambda x: torch.cummax(x[0, 0, 0], 0)[1],
    "logcumsumexp": lambda x: torch.logcumsumexp(x * 50, 1),
    "logcumsumexp of infinities": lambda x: torch.logcumsumexp(torch.log(x.relu()) / 0.0, 2),
    "logcumsumexp with NaN": lambda x: torch.logcumsumexp(torch.log(x), 2),
    "histc": lambda x: torch.histc(x, 5, -1, 2),
    "histc between the extrema": lambda x: torch.histc(x, 7),
    "histc of equal elements": lambda x: torch.histc(x * 0 + 2, 4),
    "histc of float64": lambda x: torch.histc(x.double(), 5, -1, 2),
    "histc of one value": lambda x: torch.histc(x.round(), 4, 1, 1),
    "topk": lambda x: torch.topk(x, 2, 1)[0],
    "places of topk": lambda x: torch.topk(x, 2, -1, largest=False)[1],
    "sort": lambda x: torch.sort(x, 1, descending=True)[0],
    "sort with places": lambda x: torch.stack([y.double() for y in torch.sort(x, 1)]),
    "argsort": lambda x: torch.argsort(x, 1),
    "kthvalue": lambda x: torch.kthvalue(x, 2, 1)[0],
    "place of kthvalue": lambda x: torch.kthvalue(x, 3, keepdim=True)[1],
    "median": lambda x: x.median(),
    "median with NaN": lambda x: torch.sqrt(x).median(),
    "median along": lambda x: x.median(2)[0],
    "place of the median": lambda x: x.median(1, keepdim=True)[1],
    "median along with NaN": lambda x: torch.sqrt(x).median(2)[0],
    "place of NaN": lambda x: torch.sqrt(x).median(2)[1],
    "median of integers": lambda x: (5 * x).to(torch.int32).median(2)[0],
    "bucketize": lambda x: torch.bucketize(x.round(), torch.tensor([-1.0, 0, 2])),
    "bucketize to the right": lambda x: torch.bucketize(
        x.round(), torch.tensor([-1.0, 0, 2]), right=True, out_int32=True
    ),
    "searchsorted": lambda x: torch.searchsorted(x.sort()[0], x.flip(2)),
}
SHAPES = {
    "view": lambda x: x.view(-1, 4),
    "reshape": lambda x: x.reshape(2, 2, 6),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, -1)),
    "squeeze": lambda x: x.unsqueeze(1).squeeze(1),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(1, -1),
    "transpose twice": lambda x: x.transpose(0, 1).permute(1, 2, 0),
    "t": lambda x: x[0].t(),
    "mT": lambda x: x.mT,
    "movedim": lambda x: x.movedim((0, 1), (2, 0)),
    "expand": lambda x: x[:, :1].expand(-1, 5, -1),
    "cat": lambda x: torch.cat([x, x + 1], 1),
    "cat of dtypes": lambda x: torch.cat([x, x.to(torch.int64)], -1),
    "stack": lambda x: torch.stack([x, 2 * x], 1),
    "split": lambda x: torch.split(x, 2, 1)[1],
    "split of sizes": lambda x: torch.split(x, [1, 3], 2)[1],
    "chunk": lambda x: torch.chunk(x, 2, -1)[1],
    "unbind": lambda x: torch.unbind(x, 1)[2],
    "slice": lambda x: x[:, 1:, ::2],
    "slice from the end": lambda x: x[..., -3:-1],
    "empty slice": lambda x: x[:, 5:],
    "select": lambda x: x[:, -1] + x[:, 0],
    "narrow": lambda x: x.narrow(2, 1, 2),
    "flip": lambda x: x.flip((0, 2)),
    "roll": lambda x: x.roll((1, -3), (1, 2)),
    "roll of all": lambda x: x.roll(5),
    "repeat": lambda x: x.repeat(2, 1, 1, 3),
    "repeat_interleave": lambda x: x.repeat_interleave(3, 1),
    "tile": lambda x: x.tile((2,)),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=7.0),
    "negative pad": lambda x: F.pad(x, (-1, 1)),
    "pad by reflection": lambda x: F.pad(x, (2, 1), mode="reflect"),
    "pad by replication": lambda x: F.pad(x, (2, 1), mode="replicate"),
    "pad in a circle": lambda x: F.pad(x, (2, 1), mode="circular"),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.reshape(2, 4, 1, 3), 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x.reshape(1, 2, 4, 3)[..., :2], 2),
    "tril": lambda x: torch.tril(x, -1),
    "triu": lambda x: torch.triu(x, 1),
    "diagonal": lambda x: torch.diagonal(x, 0, 1, 2),
    "unfold": lambda x: x.unfold(1, 2, 1),
    "unfold in steps": lambda x: x.unfold(-1, 1, 2),
    "as_strided": lambda x: x.as_strided((2, 3), (1, 4), 2),
    "signbit": lambda x: torch.signbit(x.round() * 0),
    "signbit of integers": lambda x: torch.signbit(x.int()),
    "contiguous": lambda x: x.transpose(0, 1).contiguous().clone().detach(),
    "half": lambda x: x.half().float(),
    "to integers": lambda x: x.int(),
    "type_as": lambda x: x.type_as(torch.zeros(1, dtype=torch.float64)),
}
CREATION = {
    "zeros": lambda x: torch.zeros(2, x.shape[1]),
    "ones_like": lambda x: torch.ones_like(x, dtype=torch.int64),
    "full": lambda x: torch.full((x.shape[0], 2), 2.5),
    "new_full": lambda x: x.new_full((3,), 4),
    "arange": lambda x: torch.arange(5),
    "arange of a size": lambda x: torch.arange(x.shape[0]) * 2,
    "arange in steps": lambda x: torch.arange(1, 9, 3),
    "arange of floats": lambda x: torch.arange(0, 1, 0.25),
    "linspace": lambda x: torch.linspace(0, 1, 5),
    "eye": lambda x: torch.eye(3, 4),
    "one_hot": lambda x: F.one_hot(torch.arange(3), 5),
    "meshgrid": lambda x: torch.meshgrid(torch.arange(2), torch.arange(3), indexing="xy")[0],
    "constant": lambda x: torch.tensor([1.5, 2.0]) + x[0, 0],
    "changed in place": lambda x: torch.zeros(3, 4).fill_(2).add_(x[:, :4]),
    "part changed": lambda x: _with_part(x),
    "element changed": lambda x: _with_element(x),
    "many changed": lambda x: _with_many(x),
    "changed where a mask holds": lambda x: _with_masked(x),
}


def _with_part(x):
    y = x.clone()
    y[:, 1:3] = 0
    return y


def _with_element(x):
    y = x.clone()
    y[1] = x[0]
    return y


def _with_many(x):
    y = x.clone()
    y[:, 1::2] = x[:, :2]
    y[[0, 2], 1] = 7
    y[:, [3, 0]] = x[:, 1:3]
    y[[-1], :, None] = 2
    return y


def _with_masked(x):
    y = x.clone()
    y[x > 1] = 0
    y[:, x[0] < 0] = x.mean()
    return y


def _with_apart(x, i):
    y = torch.zeros(2, 3, 6)
    y[i[0] % 2, :, torch.arange(3) * 2] = x[:3]
    return y


BAGS = {
    "sum": lambda w, i, s: F.embedding_bag(i, w, mode="sum"),
    "mean": lambda w, i, s: F.embedding_bag(i[0], w, torch.tensor([0, 2, 2])),
    "max": lambda w, i, s: F.embedding_bag(i[0], w, torch.tensor([0, 1, 3]), mode="max"),
    "empty maximum": lambda w, i, s: F.embedding_bag(i[0], w, torch.tensor([0, 3]), mode="max"),
    "weights": lambda w, i, s: F.embedding_bag(i, w, mode="sum", per_sample_weights=s),
    "last offset": lambda w, i, s: F.embedding_bag(
        i[1], w, torch.tensor([0, 1, 3]), include_last_offset=True
    ),
    "padding": lambda w, i, s: F.embedding_bag(i[0] * 0 + 2, w, torch.tensor([0]), padding_idx=2),
    "mean with padding": lambda w, i, s: F.embedding_bag(i, w, padding_idx=1),
}
real, imaginary = torch.view_as_real, torch.view_as_complex
COMPLEX = {
    "product": lambda x: real(imaginary(x) * imaginary(x + 1)),
    "product with real numbers": lambda x: real(imaginary(x) * x[..., 0] * 2),
    "product with a number": lambda x: real(imaginary(x) * (2 - 1j)),
    "product with a constant": lambda x: real(imaginary(x) * torch.tensor([1j, 2 + 1j])),
    "quotient": lambda x: real(imaginary(x) / imaginary(x + 4)),
    "sum": lambda x: real(imaginary(x) + x[..., 1] - imaginary(x[:1])),
    "absolute value": lambda x: torch.cat([imaginary(x * 1e30).abs(), imaginary(x * 0).abs()]),
    "angle": lambda x: imaginary(x).angle(),
    "conjugate": lambda x: real(imaginary(x).conj().resolve_conj()),
    "parts": lambda x: torch.complex(x[..., 0], x[..., 1]).imag + imaginary(x).real,
    "polar": lambda x: real(torch.polar(x[..., 0].abs(), x[..., 1])),
    "rearranged": lambda x: real(torch.cat([imaginary(x)[:, 1:], imaginary(x)], 1).transpose(0, 1)),
    "fft": lambda x: real(torch.fft.fft(imaginary(x), norm="ortho")),
    "ifft of more": lambda x: real(torch.fft.ifft(imaginary(x), 5, dim=1)),
    "fft of composite size": lambda x: torch.fft.fft(x.flatten().repeat(11)).imag,
    "fft2": lambda x: torch.fft.fft2(x).abs(),
    "rfft": lambda x: real(torch.fft.rfft(x.flatten())),
    "rfft of an odd size": lambda x: real(torch.fft.rfft(x.flatten()[:7])),
    "irfft": lambda x: torch.fft.irfft(torch.fft.rfft(x.flatten()) * 1j),
    "irfft of an odd size": lambda x: torch.fft.irfft(imaginary(x[0]), 3),
    "irfft2": lambda x: torch.fft.irfft2(imaginary(x)),
    "stft": lambda x: real(torch.stft(
        x.flatten(), 4, 2, window=torch.hann_window(4), return_complex=True
    )),
}  # fmt: skip
INDEXING = {
    "embedding": lambda x, i: F.embedding(i, x),
    "index_select": lambda x, i: x.index_select(1, i[0] % 3),
    "index": lambda x, i: x[i],
    "index of the second": lambda x, i: x[:, i % 3],
    "two indices": lambda x, i: x[i, i % 3],
    "index from the end": lambda x, i: x[i - 4, 1],
    "gather": lambda x, i: x.gather(0, i[:, :2]),
    "scatter": lambda x, i: x.scatter(1, i[:, :1] % 3, x[:2, :1]),
    "index_put": lambda x, i: x.index_put((i, i % 3), x[:2, :3]),
    "index_put of a row": lambda x, i: x.index_put((i[:1],), x[:3]),
    "index_put added": lambda x, i: x.index_put((i % 2,), x[0], accumulate=True),
    "index_put, not side by side": lambda x, i: _with_apart(x, i),
    "masked_scatter": lambda x, i: x.masked_scatter(x[:1] > 0, 10 * x),
    "scatter_add": lambda x, i: x.scatter_add(0, i[:, :2], x[:2, :2]),
}
SIZES_FROM_DATA = {
    "nonzero": lambda x, i: torch.nonzero(x > 0),
    "nonzero of one element": lambda x, i: torch.nonzero(x.sum()),
    "where": lambda x, i: torch.where(x > 0)[1] + 1,
    "mask": lambda x, i: x[x > 0] * 2,
    "mask of columns": lambda x, i: x[:, x[0] > 0].sum(1) + x[x[:, 0] > 0].sum(),
    "masked_select": lambda x, i: torch.masked_select(x, x[0] > 0),
    "many changed where a mask holds": lambda x, i: x.index_put((x > 0,), (2 * x)[x > 0]),
    "unique": lambda x, i: torch.unique(i),
    "unique, which": lambda x, i: torch.unique(i, return_inverse=True)[1],
    "unique, how many": lambda x, i: torch.unique(i, return_counts=True)[1],
    "unique rows": lambda x, i: torch.unique(i % 2, dim=0),
    "unique_consecutive": lambda x, i: torch.unique_consecutive(i % 2),
    "unique_consecutive, which": lambda x, i: torch.unique_consecutive(i % 2, return_inverse=True)[
        1
    ],
    "unique_consecutive, how many": lambda x, i: torch.unique_consecutive(
        i % 2, return_counts=True
    )[1],
    "unique_consecutive rows": lambda x, i: torch.unique_consecutive(x.round() > 9, dim=0),
    "unique_consecutive columns": lambda x, i: torch.unique_consecutive(i % 2, dim=1),
    "unique_consecutive of nothing": lambda x, i: torch.unique_consecutive(i[0, :0]),
    "bincount": lambda x, i: torch.bincount(i[0]),
    "bincount of weights": lambda x, i: torch.bincount(i[0], x[0], minlength=9),
    "bincount of nothing": lambda x, i: torch.bincount(i[0, :0], minlength=2),
    "repeat_interleave": lambda x, i: x.repeat_interleave(i[0], 1),
    "number of an element": lambda x, i: _as_many(i[0, 1].item()),
}


def _as_many(count):
    torch._check(count >= 0)
    return torch.arange(count) + torch.ones(count)


PRODUCTS = {
    "linear": lambda x, y, w, b: F.linear(x, w, b),
    "linear without bias": lambda x, y, w, b: F.linear(x, w),
    "matmul": lambda x, y, w, b: x @ y,
    "bmm": lambda x, y, w, b: torch.bmm(x, y),
    "mm": lambda x, y, w, b: torch.mm(x[0], y[1]),
    "mv": lambda x, y, w, b: torch.mv(x[0], b.repeat(2)[:4]),
    "dot": lambda x, y, w, b: torch.dot(b, b),
    "outer": lambda x, y, w, b: torch.outer(b, b),
    "addmm": lambda x, y, w, b: torch.addmm(b[:2], x[0], y[0], beta=0.5, alpha=2),
    "baddbmm": lambda x, y, w, b: torch.baddbmm(x[:, :, :2], x, y),
    "addbmm": lambda x, y, w, b: torch.addbmm(b[:2], x, y, beta=0.5, alpha=2),
    "addbmm without": lambda x, y, w, b: torch.addbmm(b[:2], x, y, beta=0),
    "bilinear": lambda x, y, w, b: F.bilinear(x, x + 1, y[:, :, :1] + w[0], b[:2]),
    "cdist": lambda x, y, w, b: torch.cdist(x, w),
    "cdist 1": lambda x, y, w, b: torch.cdist(x, x, p=1),
    "einsum": lambda x, y, w, b: torch.einsum("bij,bjk->bik", x, y),
    "cosine_similarity": lambda x, y, w, b: F.cosine_similarity(x, x + 1, -1),
}
SAMPLING = {
    f"{mode}, {padding}, {corners}": lambda x, grid, options=(mode, padding, corners): (
        F.grid_sample(x, grid, *options)
    )
    for mode in ("bilinear", "nearest")
    for padding in ("zeros", "border")
    for corners in (True, False)
}
RESIZING = {
    f"{mode} to {size}{' by corners' * corners}": lambda x, o=(size, mode, corners): F.interpolate(
        x, o[0], mode=o[1], align_corners=o[2], antialias=True
    )
    for mode in ("bilinear", "bicubic")
    for size in ((3, 4), (9, 2), (7, 13), (1, 20))
    for corners in (False, True)
} | {
    f"{mode} by {factors}, which give no whole extents": lambda x, o=(mode, factors): F.interpolate(
        x, mode=o[0], scale_factor=o[1]
    )
    for mode in ("nearest", "bilinear", "bicubic")
    for factors in ((1.7, 0.6), (1.1, 0.3))
} | {
    "sequences by a factor": lambda x: F.interpolate(x[0], scale_factor=1.3, mode="linear"),
    "places of maxima": lambda x: F.max_pool2d(
        x.round(), (3, 2), (2, 3), (1, 0), 2, ceil_mode=True, return_indices=True
    )[1],
    "places of maxima with NaN": lambda x: F.max_pool2d(torch.sqrt(x), 1, return_indices=True)[1],
    "places of maxima of volumes": lambda x: F.max_pool3d(x, 2, 1, 1, return_indices=True)[1],
    "places of maxima of sequences": lambda x: F.max_pool1d(x[0], 3, return_indices=True)[1],
    "places of adaptive maxima": lambda x: F.adaptive_max_pool2d(x, (4, 11), True)[1],
    "places of uneven adaptive maxima": lambda x: F.adaptive_max_pool2d(x.round(), (3, 4), True)[1],
    "places of adaptive maxima of volumes": lambda x: F.adaptive_max_pool3d(x, (1, 3, 4), True)[1],
    "averages with a divisor": lambda x: F.avg_pool2d(x, 3, 2, 1, True, divisor_override=4),
    "averages of volumes with a divisor": lambda x: F.avg_pool3d(
        x[None], (1, 3, 2), (1, 2, 3), ceil_mode=True, divisor_override=5
    ),
    "maxima put back": lambda x: F.max_unpool2d(
        *F.max_pool2d(x, 2, return_indices=True), 2, output_size=(8, 11)
    ),
    "volumes by a factor": lambda x: F.interpolate(x[None], scale_factor=1.3, mode="trilinear"),
    "by factors": lambda x: F.interpolate(
        x, scale_factor=(0.7, 1.3), mode="bicubic", antialias=True
    ),
}  # fmt: skip
FAMILIES = {
    "arithmetic": (ARITHMETIC, lambda: (floats(3, 4), floats(3, 4), integers(3, 4))),
    "comparisons": (
        COMPARISONS, lambda: (floats(3, 4), floats(3, 4), integers(3, 4, low=0), truths(3, 4))
    ),
    "functions": (FUNCTIONS, lambda: (floats(3, 4),)),
    "activations": (ACTIVATIONS, lambda: (floats(2, 3, 4),)),
    "reductions": (REDUCTIONS, lambda: (floats(2, 3, 4),)),
    "shapes": (SHAPES, lambda: (floats(2, 3, 4),)),
    "creation": (CREATION, lambda: (floats(3, 4),)),
    "indexing": (INDEXING, lambda: (floats(4, 3), integers(2, 3, low=0, high=4))),
    "sizes from data": (
        SIZES_FROM_DATA, lambda: (floats(3, 5), integers(2, 5, low=0, high=6)),
    ),
    "complex numbers": (COMPLEX, lambda: (floats(4, 2, 2),)),
    "bags": (
        BAGS, lambda: (floats(4, 3), torch.tensor([[1, 3, 1], [2, 2, 0]]), floats(2, 3)),
    ),
    "sampling": (
        SAMPLING, lambda: (floats(2, 3, 4, 5), torch.cat([
            floats(2, 2, 4, 2, low=-1.3, high=1.3), torch.tensor([[70.0, -3e3]] * 8)
            .reshape(2, 1, 4, 2), torch.tensor([[-1.0, 1.0]] * 8).reshape(2, 1, 4, 2),
        ], 1)),
    ),
    "resizing": (RESIZING, lambda: (floats(1, 2, 8, 11),)),
    "products": (PRODUCTS, lambda: (floats(2, 3, 4), floats(2, 4, 2), floats(5, 4), floats(5))),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family):
    functions, make_inputs = FAMILIES[family]
    torch.manual_seed(0)
    inputs = make_inputs()
    model = Functions(list(functions.values()))
    apart = dict(zip(functions, difference(imported(model, inputs), model, inputs), strict=True))
    assert not {name: error for name, error in apart.items() if error > 1e-5}
